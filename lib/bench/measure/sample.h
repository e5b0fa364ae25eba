/* Sample: takes the samples of a case after set-up, into arrays allocated before. Private to lib/bench/measure.
 *
 * A sample is `reps` runs of the probe's unit of work. Its row holds, per instance of every region, the sums of lane time and host time
 * over the repetitions, and per gauge the last value. The first iteration determines which instances exist; an iteration that marks
 * others fails, because its numbers could not be assigned. A region may do its work several times in one occurrence (repeat.h): a
 * column's time is that of `reps` times `mark_reps` repetitions. How often is chosen in reps.c.
 *
 * The samples of a captured variant, the first iteration apart, are replays of one graph that holds all repetitions; it is captured
 * anew when their number changes. Lane times are those of the replay. The host only launches: the host time of every region is that of
 * the launch of the whole graph. */
#pragma once

#include "bench/probe.h"
#include "device/lane.h"

struct pk_sampler;
struct pk_stopper;
struct pk_notes;
struct pk_slice;

/* Takes part in every sample after attach: it calls iterate one or more times, and counts or traces around it. */
typedef enum pk_code pk_iterate_fn(struct pk_sampler *s, struct pk_err *err);
struct pk_observer {
    enum pk_code (*sample)(void *user, struct pk_sampler *s, pk_iterate_fn *iterate, struct pk_err *err);
    void (*attach)(void *user,
                   struct pk_sampler *s); /* optional: makes room for as many samples as s has room for */
    /* optional: its results, as notes and series of a slice that has the sampler's times */
    void (*pack)(void *user, const struct pk_stopper *st, struct pk_notes *notes, struct pk_slice *out);
    void (*close)(void *user); /* optional; without attach too */
    void *user;
};

/* Times of one region instance in one sample, all repetitions together. */
struct pk_times {
    uint64_t lane_ns, host_ns;
};

struct pk_sampler {
    struct pk_ctx *ctx;
    size_t n_regions;
    size_t first_column[PK_REGIONS_MAX],
        n_instances[PK_REGIONS_MAX]; /* by region; 0 instances: does not apply */
    size_t n_columns;                /* instances of all regions, those of outermost ones first */
    size_t n_outer_columns;          /* of the outermost regions: together they are the iteration */
    uint32_t gauges;                 /* which an iteration sets, as in pk_marks */
    size_t n_gauges;
    unsigned gauge[PK_GAUGES_MAX];         /* their numbers */
    size_t cap, n;                         /* samples; sample 0 is the first iteration, of 1 repetition */
    int64_t reps;                          /* of the samples after it */
    uint32_t *first_mark_reps, *mark_reps; /* [n_columns] repetitions in one occurrence, likewise */
    double unit_overhead_ns;               /* of one repetition of a repeatable region */
    uint64_t overhead_ns[PK_REGIONS_MAX];  /* subtracted from each occurrence of a region, never below 0 */
    struct pk_times *times;                /* [cap][n_columns] */
    int64_t *bytes;                        /* [cap][n_gauges] */
    double *iteration_ns;                  /* [cap] lane times of the outer columns, one repetition of each */
    bool *disturbed;                       /* [cap] */
    bool captured;
    struct pk_graph *graph; /* of graph_reps repetitions, whose marks are the device's marks */
    int64_t graph_reps;
    const struct pk_observer *observer; /* NULL = samples are timed only */
};

/* Runs the first iteration, learns which instances exist, and makes the arrays, in ctx->arena, for up to `cap` samples (fewer
 * when that would take more than PK_SAMPLE_BYTES_MAX). Fails when a region that applies is never marked, is not
 * ended, or when the probe fails. */
enum { PK_SAMPLE_BYTES_MAX = 256 << 20 };
enum pk_code pk_sampler_first(struct pk_sampler *s, struct pk_ctx *ctx, size_t cap,
                              struct pk_err *err) PK_MUST_CHECK;

/* Frees the graph. After a failed pk_sampler_first too. */
void pk_sampler_end(struct pk_sampler *s);

/* Takes one sample of s->reps repetitions and writes it to row s->n, which the caller then keeps (s->n++) or not. */
enum pk_code pk_sample_take(struct pk_sampler *s, struct pk_err *err) PK_MUST_CHECK;

/* Repetitions that a column's time in sample i is the total of. */
static inline int64_t pk_sample_reps(const struct pk_sampler *s, size_t i, size_t column)
{
    return i ? s->reps * s->mark_reps[column] : s->first_mark_reps[column];
}

/* Lane time of one repetition of a region in sample i: the sum over its instances. */
double pk_sample_region_ns(const struct pk_sampler *s, size_t i, unsigned region);

/* Lane time of sample i: of the outer columns and all repetitions, with the overhead that was subtracted. */
double pk_sample_spent_ns(const struct pk_sampler *s, size_t i);

/* s->observer is o from now on; attaches it. */
void pk_sampler_observe(struct pk_sampler *s, const struct pk_observer *o);

/* Makes ranks begin each sample together. Called again after another participant was attached. With one process it does nothing. */
struct pk_sample_barrier {
    struct pk_observer observer;
    const struct pk_observer *inner;
    struct pk_comm *comm;
};
void pk_sample_barrier_attach(struct pk_sample_barrier *l, struct pk_sampler *s);

/* An occurrence of a repeatable region, and a sample's regions together, last at least this long. */
#define PK_SAMPLE_MIN_NS 20000.0
enum { PK_SAMPLE_REPS_MAX = 10000, PK_REGION_REPS_MAX = 20000 };

/* Chooses ctx->reps of the regions that are repeatable, then s->reps; takes how many samples that needs and keeps none. Returns
 * through *runs how often the probe ran. The samples of a probe with a reset hook are not repeated, nor anything
 * on a cold device (the second repetition would find the first one's data in the caches), nor are regions in which
 * no time passes. unit_overhead_ns: what to subtract for one repetition of a region (repeat.h). */
enum pk_code pk_sampler_choose_reps(struct pk_sampler *s, double unit_overhead_ns, int64_t *runs,
                                    struct pk_err *err) PK_MUST_CHECK;
