/* Probe: the code of one experiment. One file under probes/ exports one const struct pk_probe.
 *
 * The descriptor is tables (axes, variants, regions, metrics, presets, fits) and a few hooks. The harness calls the
 * hooks in the order they stand here; only `run` is timed. A probe declares its work; rates, % of floor, stopping,
 * recording and printing follow from the descriptor. Probes include this header, repeat.h, and what is below bench.
 * docs/adding-an-experiment.md walks through one. */
#pragma once

#include "comm/comm.h"
#include "device/device.h"
#include "ops/ops.h"
#include "opt/axis.h"
#include "json/json.h"

struct pk_case {
    const struct pk_probe *probe;
    unsigned variant;   /* index into probe->variants */
    struct pk_point at; /* axis values, by row index of probe->axes */
    unsigned threads;   /* of the CPU that it is measured on; 0 = as many as this process may use */
};

static inline int64_t pk_case_int(const struct pk_case *c, unsigned axis)
{
    return c->at.v[axis].i;
}

/* What the hooks of one case see. */
struct pk_ctx {
    const struct pk_case *c;
    struct pk_device *dev;
    struct pk_arena *arena; /* host memory of this case; gone after teardown */
    void *state;            /* the probe's own, made in setup */
    uint64_t seed;          /* equal for every variant of a point, so that inputs are */
    /* The processes that measure this case together, all of which call the same hooks (probe.ranks); NULL = it is one, and no more. The
     * harness's: open for many cases, nothing pending between hooks. */
    struct pk_comm *comm;
    bool dry; /* the device does no arithmetic (null): results are not to be checked */
    json_t *
        found; /* setup and check may make an object of what is no metric, such as a loss: the slice's note "found" */
    uint32_t reps[PK_REGIONS_MAX]; /* how often pk_repeat (repeat.h) does a region's work; 0 counts as 1 */
};

struct pk_variant {
    const char *name;    /* "flash"; ends the table when NULL. Row 0 is the plain reference, never deleted. */
    const char *summary; /* a sentence */
    const char *(*unavailable)(enum pk_device_kind kind); /* optional: reason it cannot run there, or NULL */
    bool
        captured; /* on a device with graphs (device/graph.h) `run` is captured, and replays are measured; marks on lanes only */
};

/* A region named by marks. Region "forward" gives the metrics forward_ns and forward_host_ns. */
struct pk_region {
    const char *name; /* ends the table when NULL */
    const char *summary;
    bool (*applies)(const struct pk_case *c); /* optional: cases in which it does not occur answer false */
    /* optional: in cases for which it answers true the region is timed by pk_repeat (repeat.h): a second time costs what the first did
     * and undoes nothing */
    bool (*repeatable)(const struct pk_case *c);
    /* optional. The region whose time this one's is a part of; where that does not occur, it is a part of what that is inside. Parts of
     * one region do not overlap. A region inside none occurs in every case in which its parts do. */
    const char *inside;
};

/* For regions that are repeatable in every case. */
static inline bool pk_always(const struct pk_case *c)
{
    (void)c;
    return true;
}

enum pk_direction { PK_LOWER_IS_BETTER, PK_HIGHER_IS_BETTER, PK_NO_DIRECTION };
enum pk_metric_class { PK_CLASS_TIME, PK_CLASS_EXACT, PK_CLASS_RATE, PK_CLASS_MEMORY };
enum pk_combine { PK_COMBINE_MEDIAN, PK_COMBINE_MIN, PK_COMBINE_MAX, PK_COMBINE_SUM, PK_COMBINE_MEAN };
enum pk_metric_source { PK_FROM_GAUGE, PK_FROM_POOL_PEAK };

/* A metric that is not a region's time. Region times get their rows from the harness. */
struct pk_metric {
    const char *name; /* with its unit: "peak_bytes"; ends the table when NULL */
    const char *unit; /* "bytes", "ns", "1" */
    const char *summary;
    enum pk_direction direction;
    enum pk_metric_class class;
    enum pk_combine over_samples; /* repetitions of one invocation */
    enum pk_combine over_ranks;
    enum pk_metric_source source;
    unsigned index; /* gauge number for PK_FROM_GAUGE */
    /* optional: heading of its column in what --dry-run prints, of a count that is known beforehand (predict_gauge, class exact);
     * bytes are shown in MB */
    const char *planned;
};

/* A named set of sweeps and stopping settings: quick, seed, full. `blocks` are grids one after the other, each a list
 * "axis=sweep axis=sweep"; axes left out take their default; -a replaces an axis in every block. */
struct pk_preset {
    const char *name; /* ends the table when NULL */
    const char *summary;
    const char *const *blocks;   /* NULL-terminated */
    const char *const *settings; /* "min-samples=3", option names of `run`; NULL-terminated; may be NULL */
    const char *const *variants; /* the only ones, unless others are named; NULL-terminated; NULL = all */
};

/* A fit computed when a run ends: metric = coef * x^exponent on log-log (PK_FIT_POWER) or metric = slope * x + intercept
 * (PK_FIT_LINE, least squares), for every group of cases that differ in x only. Needs three distinct values. x is an axis, or an exact metric of
 * the case ("leaves"): axes that vary with it, as a model's layers and width do, are then named in `ignore`. */
enum pk_fit_kind { PK_FIT_POWER, PK_FIT_LINE };
struct pk_fit_row {
    const char *name;          /* "forward_time_exponent"; ends the table when NULL */
    const char *metric, *axis; /* axis: x, an axis or a metric of class exact */
    enum pk_fit_kind kind;
    const char
        *ignore; /* axes in which the cases of a group may differ: "layers hidden"; NULL = none but x */
};

struct pk_probe {
    const char *name; /* equals the file's name with '-' for '_' */
    const char *summary;
    unsigned revision; /* bumped when a case's meaning changes: old results are then not comparable */
    bool hidden;       /* left out of `list` unless --all: the harness's own test subject */
    const struct pk_axis *axes;
    const struct pk_variant *variants;
    const struct pk_region *regions;
    const struct pk_metric *metrics;
    const struct pk_preset *presets; /* the first is the default */
    const struct pk_fit_row *fits;   /* may be NULL */
    /* Points at which `check` compares fully, small and odd ("seq_len=7 d_model=3"): NULL-terminated; may be NULL.
     * Axes not named are taken from the case being measured. */
    const char *const *check_points;
    const char *const *tables; /* names of the tables in NAME.sql that `run` prints, in order */

    /* optional. The axis, of integers, whose largest value with which a case would fit is said where it does not. */
    const char *shrink;
    /* optional. A reason to leave this combination out ("causal needs ..."), or NULL. */
    const char *(*skip)(const struct pk_case *c, enum pk_device_kind kind);
    /* optional. How many processes measure this case together, each a rank of ctx->comm; 0 = it is measured by one, without a comm. They
     * are started over MPI, or were by mpirun or srun. What they disagree on before `run` fails the case; an error of run, on
     * any rank, ends them all. Samples of a region combine as the maximum over the ranks, gauges as the metric says. */
    unsigned (*ranks)(const struct pk_case *c);
    /* optional. True where an axis, by row, means nothing to a variant: its cases are without that axis, one for all its values.
     * Peers have all axes. */
    bool (*idle)(unsigned variant, size_t axis);
    /* optional. Is this case sound? Asked by the parent for every case of a native variant that is not skipped, before anything is
     * measured: an error refuses the whole run, a warning is shown once, whatever cases have it, and recorded. Memory in `a`
     * is gone after the call. */
    enum pk_code (*validate)(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                             struct pk_err *err);
    /* required. Peak device bytes this case is predicted to take: the plan's memory estimate, printed beside the
     * measured; PK_BYTES_BEYOND (base/text/units.h) where it is more than can be counted, which the store has as none. */
    int64_t (*predict_bytes)(const struct pk_case *c, enum pk_device_kind kind);
    /* optional. Predicted value of a gauge metric; < 0 = none, and PK_BYTES_BEYOND is none. A count (`planned`) is asked of skipped cases
     * too, which validate has not seen. */
    int64_t (*predict_gauge)(const struct pk_case *c, unsigned gauge);
    /* required. Work of one occurrence of a region, summed over its instances in one iteration; of a repeatable one, of one
     * repetition. Its flops are NAN where nobody can count it. */
    struct pk_work (*work)(const struct pk_case *c, unsigned region);
    /* optional. How often a variant does the work of a region over, at the least: a time that is said beforehand counts it, a floor
     * does not. Absent = 1. */
    double (*effort)(const struct pk_case *c, unsigned region);
    /* required. Allocates and fills inputs. PK_E_OOM makes the case an OOM row. */
    enum pk_code (*setup)(struct pk_ctx *ctx, struct pk_err *err);
    /* required. One unit of work with marks; the only timed code. May allocate device memory, nothing else. */
    enum pk_code (*run)(struct pk_ctx *ctx, struct pk_err *err);
    /* required unless the probe computes nothing. Compares what the last run left with the reference: fully at check
     * points, at the real shape by sampled rows and random projections. PK_E_CHECK with the worst element. */
    enum pk_code (*check)(struct pk_ctx *ctx, bool full, struct pk_err *err);
    /* optional. Untimed, after every sample: is what it left such that its time means something? An error fails the case. Not asked of
     * a device that computes nothing. */
    enum pk_code (*sound)(struct pk_ctx *ctx, struct pk_err *err);
    /* optional. Asked once, behind the last sample: when the parts of that iteration happened that all-reduces gradients; the slice's
     * note "timeline", or NULL where there is none. Times are ns since the backward pass began:
     *   {"backward_ns": when it ended, "tensors": [[bytes, ready_ns], ...], in the order of readiness
     *    "reduces": [[bytes, ready_ns, started_ns, ended_ns, least_ns], ...]}
     * started: it had the transport; least: from started to ended, the shortest of all iterations. */
    json_t *(*timeline)(struct pk_ctx *ctx);
    /* optional. Untimed, before every sample but the first. With it, nothing is repeated within a sample. */
    void (*reset)(struct pk_ctx *ctx);
    /* required. Frees device memory; afterwards the pool's current must be what it was before setup. Called after a failed
     * setup or run too: everything not made is NULL. */
    void (*teardown)(struct pk_ctx *ctx);
};

/* Every experiment in the build list, sorted by name, NULL-terminated (generated: probes/meson.build). */
extern const struct pk_probe *const pk_probes[];

/* NULL when there is none. */
const struct pk_probe *pk_probe_find(const char *name);
/* PK_E_USAGE with a did-you-mean when there is none of this name. */
enum pk_code pk_probe_named(const char *name, const struct pk_probe **p, struct pk_err *err) PK_MUST_CHECK;
struct pk_texts; /* opt/opt.h */
/* Adds the names of the experiments that are shown. */
void pk_probe_names(struct pk_texts *names, struct pk_arena *a);

/* NAME.sql, embedded. */
const char *pk_probe_sql(const struct pk_probe *p);

bool pk_region_applies(const struct pk_case *c, unsigned region);

/* The row of the innermost region around it in this case; -1 = none, it is a part of the iteration itself. */
int pk_region_around(const struct pk_case *c, unsigned region);

/* Of a probe with `shrink`: the largest value of that axis with which the case is predicted to take limit_bytes at most; one less than
 * the axis's least where it has none. */
int64_t pk_probe_largest(const struct pk_case *c, enum pk_device_kind kind, int64_t limit_bytes);

/* The metric rows of a probe: two per region (X_ns, X_host_ns), then probe->metrics. In the arena. */
struct pk_metric_decl;
size_t pk_probe_metrics(const struct pk_probe *p, struct pk_arena *a, struct pk_metric_decl **out);
