/* Events: a timeline in Chrome's trace format, written event by event. Perfetto (ui.perfetto.dev), chrome://tracing and speedscope open it.
 *
 * A process has tracks, and a track has lanes, each of which is a thread of the file: viewers lose slices of one thread that overlap without
 * one being within the other, so such a slice goes to the track's next lane ("stream 7 #2"). Slices of a track come in the order in
 * which they begin, of equal ones the longest first.
 *
 * Times are ns in, and microseconds with three decimals in the file. Texts may be anything: what is no valid UTF-8 or no visible character
 * is replaced. What cannot be shown (a time out of range, too many processes, tracks or lanes) is counted in left_out. Memory does not
 * grow with the number of events. */
#pragma once

#include "base/text/buf.h"
#include "json/json.h"

#include <stdio.h>

enum {
    PK_EVENTS_PROCESSES_MAX = 1 << 10,
    PK_EVENTS_TRACKS_MAX = 1 << 12,
    PK_EVENTS_LANES_MAX = 1 << 7, /* of a track */
    PK_EVENTS_DEPTH_MAX = 1 << 6, /* slices of a lane that are open at once */
};
#define PK_EVENTS_TIME_MAX                                                                                   \
    (INT64_C(1) << 52) /* ns: 52 days, which a double in microseconds still tells apart */

/* Whether slices of a lane may lie within each other (regions and what they contain), or one must end before the next begins (a GPU's
 * stream, where a slice within another would look as if it were a part of it). */
enum pk_nesting { PK_NESTED, PK_FLAT };

struct pk_events {
    FILE *f;
    struct pk_arena *arena;
    struct pk_buf *text; /* the last text that was made safe */
    struct pk_event_process *processes;
    struct pk_track *tracks;
    size_t n_processes, cap_processes, n_tracks, cap_tracks;
    uint64_t slices, counters, flows, left_out; /* how many */
    int tids;
    bool begun;
};

/* Writes the beginning; about: an object for "otherData", stolen. */
void pk_events_open(struct pk_events *e, FILE *f, json_t *about, struct pk_arena *a);
/* The process of this name; -1: there are too many. */
int pk_events_process(struct pk_events *e, const char *name);
/* The track of this name of a process; NULL: there are too many, or there is no process. Valid until the next call. */
struct pk_track *pk_events_track(struct pk_events *e, int process, const char *name, enum pk_nesting nesting);

struct pk_event_slice {
    const char *name, *category;
    int64_t begin_ns, length_ns;
};
/* Returns the thread in which it is, 0 when it was left out. args (may be NULL) is stolen. */
int pk_events_slice(struct pk_events *e, struct pk_track *t, const struct pk_event_slice *s, json_t *args);
/* A moment of the first lane of a track. */
void pk_events_instant(struct pk_events *e, const struct pk_track *t, const char *name, int64_t at_ns,
                       json_t *args);
/* Values from this moment on; args: an object of numbers, stolen. */
void pk_events_counter(struct pk_events *e, int process, const char *name, int64_t at_ns, json_t *args);
/* An arrow to the slice that begins at to_ns in `thread` of `process`, from what is open at from_ns in the first lane of `from`. */
void pk_events_flow(struct pk_events *e, const struct pk_track *from, int64_t from_ns, int process,
                    int thread, int64_t to_ns);
/* Writes the end. Whether all was written is ferror's to say. */
void pk_events_close(struct pk_events *e);
