/* Stop: decides when enough samples were taken and which of them are warm-up, for the files of this
 * folder. measure.h describes the rule.
 *
 * Each check costs a sort, so it is done when the number of samples grew by a quarter, or after 20 ms. */
#pragma once

#include "bench/measure/sample.h"
#include "wire/slice.h"
#include "json/json.h"

struct pk_stop {
    int64_t min_samples, max_samples; /* steady; defaults 15 and 10000 */
    int64_t min_time_ns, max_time_ns; /* of steady samples, of the loop; defaults 0.2 s and 1 s */
    double max_noise;                 /* relative half-width; default 0.005 */
    int64_t warmup;                   /* iterations; -1 = find */
    int64_t profile; /* for nsys and ncu: so many iterations in their range, and no check; 0 = measure */
};

struct pk_stopper {
    const struct pk_stop *rule;
    const struct pk_sampler *s;
    double *v, *scratch;
    uint64_t started_ns, checked_ns; /* device clock */
    size_t next_check;               /* samples */
    const char *reason;              /* once pk_stop_now answered true */
    size_t cut;                      /* leading samples, the first iteration not counted, that are warm-up */
    bool settled;                    /* false: the warm-up found took half of the samples */
    double noise;                    /* NaN: too few samples */
    size_t disturbed;                /* samples after the cut that are set aside */
    bool kept;                       /* most were disturbed: they count like the others, disturbed is 0 */
};

void pk_stopper_init(struct pk_stopper *st, const struct pk_stop *rule, const struct pk_sampler *s,
                     uint64_t now_ns);
bool pk_stop_now(struct pk_stopper *st, uint64_t now_ns);

/* Counts disturbances again: some may have been detected after the last check. */
void pk_stop_recount(struct pk_stopper *st);

/* The phase of sample i under the cut found last. */
enum pk_phase pk_stop_phase(const struct pk_stopper *st, size_t i);

/* Times of the steady samples, of one repetition, in time order: of one region, or of all when region is negative. Returns how
 * many; v has room for s->n. */
size_t pk_stop_steady(const struct pk_stopper *st, int region, double *v);

/* notes.c */
struct pk_notes {
    struct pk_arena *arena;
    struct pk_note *v;
    size_t n, cap;
};

void pk_note_json(struct pk_notes *notes, const char *key, json_t *stolen);
void pk_note_text(struct pk_notes *notes, const char *key, const char *text);
void pk_note_int(struct pk_notes *notes, const char *key, int64_t value);

/* Adds the notes about repeatable regions, where the case has any. */
void pk_notes_of_repeats(struct pk_notes *notes, const struct pk_stopper *st);

/* Adds the notes about the steady samples' times, in time order. */
void pk_notes_of_samples(struct pk_notes *notes, const struct pk_stopper *st);

/* series.c: fills out->metrics and out->series, in `a`: per region instance and phase its _ns and _host_ns, per gauge and phase its bytes, and
 * peak_bytes once. */
void pk_series_pack(const struct pk_stopper *st, size_t peak_bytes, struct pk_arena *a, struct pk_slice *out);
