/* Wire: the protocol between the parent and a program that measures (a worker, a peer, a rank, any program). Version 1, frozen.
 *
 * One JSON object per line, UTF-8, over a file descriptor (PERFKIT_WIRE_FD) or a file. docs/protocol.md is
 * the specification; this header is its C face. Unknown types and keys are ignored, a truncated last line is
 * tolerated, null (and NaN, Infinity) in values means "not a number". Lines longer than PK_WIRE_LINE_MAX are
 * garbage.
 *
 *   to the parent     hello setting case metric samples note fit mark status bye
 *   to the worker     measure quit
 *
 * The reader never trusts its input: types, ranges, and sizes are checked, and it is fuzzed. */
#pragma once

#include "wire/slice.h"
#include "json/json.h"

enum {
    PK_WIRE_VERSION = 1,
    PK_WIRE_LINE_MAX = 8 << 20,
    PK_WIRE_LINE_NESTED_MAX =
        1
        << 18 /* lists and objects of one line: parsed, an empty object has 100 times the bytes of its text */
};

#define PK_WIRE_FD_ENV "PERFKIT_WIRE_FD"

enum pk_wire_type {
    PK_WIRE_HELLO,   /* version, program, pid */
    PK_WIRE_SETTING, /* key, value: how this worker measures (threads, BLAS core, binding) */
    PK_WIRE_CASE, /* experiment, variant, device, axes: a program names the case its next samples belong to */
    PK_WIRE_METRIC,  /* a pk_metric_decl; applies to the samples after it */
    PK_WIRE_SAMPLES, /* metric, phase, rank, instance, ordinal (of the first value), reps, values */
    PK_WIRE_NOTE,    /* key, value */
    PK_WIRE_FIT,     /* name, metric, coefficient ... kept as the note "fit:NAME" */
    PK_WIRE_MARK,    /* name, lane, rank, begin_ns, end_ns: trace passes */
    PK_WIRE_STATUS,  /* id, status, message, pass, invocation, started_wall_ns, elapsed_ns: ends the slice */
    PK_WIRE_BYE,     /* no further message after the current slice */
    PK_WIRE_MEASURE, /* parent to worker: id, experiment, variant, device, axes, pass, invocation, options */
    PK_WIRE_QUIT,    /* parent to worker */
    PK_WIRE_UNKNOWN, /* well-formed, of a type this version does not know: ignore */
    PK_WIRE_GARBAGE, /* not a JSON object with a type, or a known type with broken members; `problem` says
                        what */
};

struct pk_wire_msg {
    enum pk_wire_type type;
    json_t *json;        /* the whole object; NULL for garbage; valid until the next call */
    const char *problem; /* GARBAGE only: a sentence that names the member and quotes the start of the line */
    struct pk_metric_decl metric; /* METRIC: complete, defaults filled in */
    const char *samples_metric;   /* SAMPLES: name, and the series below (metric index and ordinals unset) */
    int64_t samples_ordinal; /* SAMPLES: of the first value; -1 = not given, goes on where the metric's last
                                ended */
    struct pk_series series; /* SAMPLES: arrays in the reader's arena, until the next call */
    enum pk_status status;   /* STATUS */
    const char
        *text;       /* STATUS: message; SETTING: value, as JSON text unless a string; NOTE, FIT: JSON text */
    const char *key; /* SETTING, NOTE; FIT: "fit:NAME" */
};

/* Fills *msg from a line without its newline. Arrays and texts are in `a` or in msg->json, of which the caller owns one reference. A bad
 * line becomes a message of type PK_WIRE_GARBAGE, with the error in msg->problem. */
void pk_wire_parse(const char *line, size_t n, struct pk_arena *a, struct pk_wire_msg *msg);

/* Makes *msg a message of type PK_WIRE_GARBAGE, for an error that no line has. */
void pk_wire_garbage(struct pk_wire_msg *msg, const char *problem);

struct pk_wire_reader;

struct pk_wire_reader *pk_wire_reader_new(void);
void pk_wire_reader_free(struct pk_wire_reader *r);

/* Adds bytes that were received. */
void pk_wire_feed(struct pk_wire_reader *r, const char *bytes, size_t n);

/* The next complete message; false if more bytes are needed. An unfinished last line is never returned. */
bool pk_wire_next(struct pk_wire_reader *r, struct pk_wire_msg *msg);

/* For workers: reads fd, and blocks, until a message is complete. PK_E_IO at the end of the file. */
enum pk_code pk_wire_read(struct pk_wire_reader *r, int fd, struct pk_wire_msg *msg,
                          struct pk_err *err) PK_MUST_CHECK;

/* Writers: each writes one whole line, or fails with PK_E_IO. They have no buffer. They are not called inside timed regions. On a socket they
 * raise no SIGPIPE. */
enum pk_code pk_wire_write(int fd, json_t *obj_stolen, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_wire_hello(int fd, const char *program, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_wire_bye(int fd, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_wire_setting(int fd, const char *key, const char *value, struct pk_err *err) PK_MUST_CHECK;
/* A whole slice: its metrics, samples, notes and, last, its status. id: of the measure request it answers; -1
 * = none. */
enum pk_code pk_wire_slice(int fd, int64_t id, const struct pk_slice *s, struct pk_err *err) PK_MUST_CHECK;

/* Collects messages into a slice. pk_collect returns true when a status message completes it. *problem is the error of a message that a
 * worker may not send (garbage, samples of a metric that was not declared, a metric declared twice and differently, more than a reply can
 * hold, anything after the status), else NULL; such a message is dropped, and what was collected before stays. Messages that are not
 * part of a slice (hello, setting, case, mark, bye) are for the caller; settings are counted.
 *
 * A reply is what a worker writes for one request, or a command in one run with all its cases. Its limits keep the memory of the reader
 * below a gigabyte, whatever is written. The largest reply that was measured (ddp-bucket with --max-samples 10000, the default) has 180,055
 * values in 55 series and 2,616 bytes of notes. */
enum {
    PK_REPLY_VALUES_MAX = 16 << 20, /* 16 bytes each, twice while an array grows */
    PK_REPLY_SERIES_MAX = 1 << 17,
    PK_REPLY_SETTINGS_MAX = 4096,
    PK_REPLY_TEXT_MAX = 64 << 20, /* bytes of names, notes, settings and messages */
    PK_SLICE_METRICS_MAX = 1024,
    PK_SLICE_NOTES_MAX = 4096
};

struct pk_collector;
struct pk_collector *pk_collector_new(void);
void pk_collector_free(struct pk_collector *c);
/* What c collects counts for the limits of the reply to which `first` belongs, which outlives c. */
void pk_collector_join(struct pk_collector *c, struct pk_collector *first);
bool pk_collect(struct pk_collector *c, const struct pk_wire_msg *msg, const char **problem);
/* The finished (or, after a crash, unfinished) slice; valid until pk_collector_reset, which starts the next
 * one and forgets metrics too; the next reply begins when the first collector of this one is reset. The caller may complete what the worker left out (message, status of a crash,
 * times). */
struct pk_slice *pk_collected(struct pk_collector *c);
void pk_collector_reset(struct pk_collector *c);
