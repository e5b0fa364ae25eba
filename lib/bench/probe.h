/* Probe: the code of one experiment. One file under probes/ exports one const struct pk_probe.
 *
 * The descriptor is tables (axes, variants, regions, metrics, presets, fits) and at most twelve hooks, of which work, setup, run and check are
 * required. They stand here in the order in which the harness calls them; only `run` is timed. A probe declares its work; rates, % of
 * floor, peak_bytes, stopping, recording and printing follow from the descriptor. Probes include this header, repeat.h, and what is below bench.
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

/* What starting this process took, in ns; 0 = not known. */
struct pk_startup_times {
    uint64_t load_ns;   /* from its start to its first line, in steps of 10 ms (the kernel's clock ticks) */
    uint64_t group_ns;  /* joining the other ranks */
    uint64_t device_ns; /* opening the device */
};

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
    struct pk_startup_times started;
    bool dry;      /* the device does no arithmetic (null): results are not to be checked */
    json_t *notes; /* what is not a metric, such as a loss: notes of the slice (pk_ctx_note) */
    uint32_t reps[PK_REGIONS_MAX]; /* how often pk_repeat (repeat.h) does a region's work; 0 counts as 1 */
};

/* For setup, inspect and check. Takes the value over, and returns it: more may be added to it. */
json_t *pk_ctx_note(struct pk_ctx *ctx, const char *key, json_t *value);

struct pk_variant {
    const char *name;    /* "flash"; ends the table when NULL. Row 0 is the plain reference, never deleted. */
    const char *summary; /* a sentence */
    /* optional: "bucket_bytes gradients", axes that mean nothing to it: its cases are without them, one for all their values. Peers have
     * all axes. */
    const char *ignores;
    const char *(*unavailable)(enum pk_device_kind kind); /* optional: reason it cannot run there, or NULL */
    bool captured; /* on a device with graphs (device/lane.h): replays are measured; marks on lanes only */
};

/* A region named by marks. Region "forward" gives the metrics forward_ns and forward_host_ns. */
struct pk_region {
    const char *name; /* ends the table when NULL */
    const char *summary;
    bool (*applies)(const struct pk_case *c); /* optional: false for cases in which it does not occur */
    /* optional: in cases for which it is true the region is timed by pk_repeat (repeat.h): a second time costs what the first did
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

/* A metric that is not a region's time: a number that `run` sets with pk_mark_value or pk_mark_bytes. Region times and peak_bytes, the highest
 * live device memory, get their rows from the harness. */
struct pk_metric {
    const char *name; /* with its unit: "saved_bytes"; ends the table when NULL */
    const char *unit; /* "bytes", "ns", "1" */
    const char *summary;
    enum pk_direction direction;
    enum pk_metric_class class;
    enum pk_combine over_samples; /* repetitions of one invocation */
    enum pk_combine over_ranks;
    unsigned gauge; /* its number in the marks */
    /* optional: heading of its column in what --dry-run prints, of a count that is known beforehand (predict, class exact);
     * bytes are shown in MB */
    const char *planned;
};

/* What metrics of live memory have in common. */
#define PK_MEMORY_METRIC                                                                                     \
    .class = PK_CLASS_MEMORY, .over_samples = PK_COMBINE_MAX, .over_ranks = PK_COMBINE_MAX

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
    const char *ignore; /* axes that may differ in a group: "layers hidden"; NULL = none but x */
};

struct pk_store;
struct pk_own; /* bench/own/own.h */

/* Of predict: the highest live device memory. */
enum { PK_PEAK_BYTES = PK_GAUGES_MAX };

struct pk_probe {
    const char *name; /* equals the file's name with '-' for '_' */
    const char *summary;
    unsigned revision;  /* bumped when a case's meaning changes: old results are then not comparable */
    bool hidden;        /* left out of `list` unless --all: the harness's own test subject */
    struct pk_own *own; /* it is described by a program, which measures it; NULL = it is built in */
    const char *sql;    /* of such an experiment; NULL = NAME.sql */
    const struct pk_axis *axes;
    const struct pk_variant *variants;
    const struct pk_region *regions;
    const struct pk_metric *metrics; /* optional */
    const struct pk_preset
        *presets; /* optional; the first is the default; absent = every axis at its default */
    const struct pk_fit_row *fits; /* optional */
    /* optional. Points at which `check` compares fully, small and odd ("seq_len=7 d_model=3"): NULL-terminated. Axes not named are taken
     * from the case being measured. */
    const char *const *check_points;
    /* optional. An axis of integers: for a case that does not fit into memory (predict), the largest value that would is shown. */
    const char *shrink;

    /* --- planning, in the parent --- */

    /* optional. How many processes measure this case together, each a rank of ctx->comm; 0 = it is measured by one, without a comm. They
     * are started over MPI, or were by mpirun or srun. What they disagree on before `run` fails the case; an error of run, on
     * any rank, ends them all. Samples of a region combine as the maximum over the ranks, gauges as over_ranks of the metric. */
    unsigned (*ranks)(const struct pk_case *c);
    /* optional. A reason to leave this combination out ("causal needs ..."), or NULL. */
    const char *(*skip)(const struct pk_case *c, enum pk_device_kind kind);
    /* optional. The predicted value of a gauge, or of PK_PEAK_BYTES (of that kind of device): what a dry run and the tables show beside what was
     * measured, and what is compared with a memory limit. < 0 = not known; PK_BYTES_BEYOND (base/text/units.h) = more bytes than can
     * be counted. Counts (`planned`) are predicted for skipped cases too, which validate has not seen. */
    int64_t (*predict)(const struct pk_case *c, enum pk_device_kind kind, unsigned gauge);
    /* optional. Is this case sound? Asked by the parent for every case of a native variant that is not skipped, before anything is
     * measured: an error refuses the whole run, a warning is shown once, whatever cases have it, and recorded. Memory in `a`
     * is gone after the call. */
    enum pk_code (*validate)(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                             struct pk_err *err);
    /* required. Work of one occurrence of a region, summed over its instances in one iteration; of a repeatable one, of one
     * repetition. Its flops are NAN where they cannot be counted. */
    struct pk_work (*work)(const struct pk_case *c, unsigned region);

    /* --- one case, in a worker --- */

    /* required. Allocates and fills inputs. PK_E_OOM makes the case an OOM row. */
    enum pk_code (*setup)(struct pk_ctx *ctx, struct pk_err *err);
    /* optional. Untimed, before every sample but the first. With it, nothing is repeated within a sample. */
    void (*reset)(struct pk_ctx *ctx);
    /* required. One unit of work with marks; the only timed code. May allocate device memory, nothing else. */
    enum pk_code (*run)(struct pk_ctx *ctx, struct pk_err *err);
    /* optional. Untimed, after every sample, and once more behind the last with `last`. Is what it left such that its time means something? An
     * error fails the case. A device that computes nothing (ctx->dry) left nothing. */
    enum pk_code (*inspect)(struct pk_ctx *ctx, bool last, struct pk_err *err);
    /* required unless the probe computes nothing. Compares what the last run left with the reference: fully at check
     * points, at the real shape by sampled rows and random projections. PK_E_CHECK with the worst element. */
    enum pk_code (*check)(struct pk_ctx *ctx, bool full, struct pk_err *err);
    /* optional. Frees what setup and run made besides memory of the arena and of the device, which the harness takes back. With it, device
     * memory that it leaves is an error. Called after a failed setup or run too: everything not made is NULL. */
    void (*teardown)(struct pk_ctx *ctx);

    /* --- when the run is over, in the parent --- */

    /* optional. Figures that follow from what was recorded, besides `fits`: as fits and predicted work of its cases. Reads and writes the store
     * only, and may be called again for any run. */
    enum pk_code (*derive)(struct pk_store *s, int64_t run_id, struct pk_arena *a, struct pk_err *err);
};

/* Whether it is the experiment of commands, which has no probe. */
bool pk_is_exec(const char *experiment);

/* Every experiment in the build list, sorted by name, NULL-terminated (generated: probes/meson.build). */
extern const struct pk_probe *const pk_probes[];

/* NULL when there is none. */
const struct pk_probe *pk_probe_find(const char *name);
/* PK_E_USAGE with a did-you-mean when there is none of this name. */
enum pk_code pk_probe_named(const char *name, const struct pk_probe **p, struct pk_err *err) PK_MUST_CHECK;
struct pk_texts; /* opt/opt.h */
/* Adds the names of the experiments that are shown. */
void pk_probe_names(struct pk_texts *names, struct pk_arena *a);

/* Its presets, or the default one. */
const struct pk_preset *pk_probe_presets(const struct pk_probe *p);

/* The predicted highest device memory; -1 = not known. */
int64_t pk_probe_peak_bytes(const struct pk_case *c, enum pk_device_kind kind);

/* NAME.sql, embedded: `run` prints its tables in their order. "" = there is none: the built-in tables show times, memory and counts. */
const char *pk_probe_sql(const struct pk_probe *p);

bool pk_region_applies(const struct pk_case *c, unsigned region);

/* The row of the innermost region around it in this case; -1 = none, it is a part of the iteration itself. */
int pk_region_around(const struct pk_case *c, unsigned region);

/* Of a probe with `shrink`: the largest value of that axis with which the case is predicted to take limit_bytes at most; one less than
 * the axis's least where it has none. */
int64_t pk_probe_largest(const struct pk_case *c, enum pk_device_kind kind, int64_t limit_bytes);

/* The metric rows of a probe: two per region (X_ns, X_host_ns), then probe->metrics, then peak_bytes. In the arena. */
struct pk_metric_decl;
size_t pk_probe_metrics(const struct pk_probe *p, struct pk_arena *a, struct pk_metric_decl **out);
/* The row of peak_bytes. */
extern const struct pk_metric pk_peak_metric;
