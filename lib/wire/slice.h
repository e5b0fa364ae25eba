/* Slice: the unit of recording: what one invocation measured of one case in one pass.
 *
 * Built by a worker, carried by the wire protocol, written by the store in one transaction. Plain data in one arena. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pk_status { PK_ST_OK, PK_ST_OOM, PK_ST_TIMEOUT, PK_ST_SKIPPED, PK_ST_FAILED, PK_ST_INTERRUPTED };
enum pk_phase { PK_PHASE_FIRST, PK_PHASE_WARMUP, PK_PHASE_STEADY, PK_PHASE_DISTURBED, PK_PHASES };
/* PK_PASS_OTHER, "calibration", is of a request that is not for a case (bench/worker/replies.h). */
enum pk_pass { PK_PASS_TIMING, PK_PASS_COUNTER, PK_PASS_TRACE, PK_PASS_MEMORY, PK_PASS_POWER, PK_PASS_OTHER };

const char *pk_status_name(enum pk_status s); /* "ok", "oom", ... as in SPEC */
const char *pk_phase_name(enum pk_phase p);   /* "first", "warmup", "steady", "disturbed" */
const char *pk_pass_name(enum pk_pass p);
/* The words of each, in the order of its enum, NULL-terminated. */
extern const char *const pk_status_words[], *const pk_phase_words[], *const pk_pass_words[];
bool pk_status_parse(const char *name, enum pk_status *s);
bool pk_phase_parse(const char *name, enum pk_phase *p);
bool pk_pass_parse(const char *name, enum pk_pass *p);

/* How a metric reads and combines; the words of the protocol and of the store:
 *   direction  "lower" | "higher" | "none"
 *   class      "time" | "exact" | "rate" | "memory"
 *   combine    "median" | "min" | "max" | "sum" | "mean"   over the samples of one invocation
 *   ranks      the same words, over the ranks of one sample
 *   source     "region" | "mark" | "allocator" | "formula" | "counter" | "reported"
 *              | "program" (peak_bytes of a command that reports its own) */
struct pk_metric_decl {
    const char *name, *unit, *direction, *class, *combine, *ranks, *source;
};

/* Values of one metric, one rank, one region instance, one phase. value[i] belongs to ordinal[i]; a value is the total of
 * `reps` repetitions (views divide). Exactly one of integer and real is set; a non-finite real is stored as NULL. */
struct pk_series {
    size_t metric; /* index into the slice's metrics */
    int rank, instance;
    enum pk_phase phase;
    int64_t reps;
    size_t n;
    const int64_t *ordinal;
    const int64_t *integer;
    const double *real;
};

/* A fact about the slice: why it stopped, how many samples were cut as warm-up, drift, outliers ... Values are JSON text. */
struct pk_note {
    const char *key, *json;
};

struct pk_slice {
    enum pk_pass pass;
    int invocation; /* 1-based */
    enum pk_status status;
    const char *message; /* why not ok; "" when ok */
    uint64_t started_wall_ns;
    uint64_t elapsed_ns; /* everything: set-up, warm-up, checks, measuring */
    size_t n_metrics, n_series, n_notes;
    const struct pk_metric_decl *metrics;
    const struct pk_series *series;
    const struct pk_note *notes;
};

/* Adds n notes behind those of a slice. In the arena. */
void pk_slice_add_notes(struct pk_slice *s, const struct pk_note *notes, size_t n, struct pk_arena *a);

/* Makes the steady samples of a slice samples of the warm-up: they are recorded, and no figure is made of them. */
void pk_slice_set_warmup(struct pk_slice *s, struct pk_arena *a);

/* True if the notes of a slice forbid a verdict from its times: they report what makes everything slower for longer than a pair of processes
 * takes. That is the class "slowdown", the doubts "throttled" and "clock-fell", and every doubt about a GPU's state (doubts:gpu). Other
 * doubts (view v_doubt) are noise, which intervals include. */
bool pk_slice_unstable(const struct pk_slice *s);

/* The same for all notes as the store keeps them: one JSON object. Fast if the result is false. */
bool pk_notes_unstable(const char *notes);
