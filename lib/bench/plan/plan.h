/* Plan: turns the user's options into the list of cases, their estimates, and their order.
 *
 * Built by the parent; nothing is measured. Every refusal names the value, the allowed ones, and an example. */
#pragma once

#include "bench/worker/request.h"
#include "opt/opt.h"

enum { PK_CASES_MAX = 1 << 20 };

struct pk_case_plan_request {
    const struct pk_probe *probe;
    const char *preset;      /* NULL = the probe's first whose cases all fit and are sound, else its first */
    const char *const *axes; /* of -a, "name=values": each replaces the axis in every block of the preset */
    size_t n_axes;
    const char *const *variants; /* --variant names, commas allowed; none = all that have a case here */
    size_t n_variants;
    const char *filter;       /* NULL = none */
    const char *device;       /* "cpu" */
    const char *const *peers; /* --peer names: each adds a variant of its own to every point */
    size_t n_peers;
    int64_t limit_bytes; /* device memory limit, for estimates; 0 = unknown */
    const char *cpus;    /* "0-3", which ranks divide; NULL = all that are ours */
    unsigned threads;    /* of each; 0 = its share */
};

struct pk_planned_case {
    struct pk_case c;        /* variant index is meaningless for peers */
    const char *variant;     /* name: the probe's or the peer's */
    int provider;            /* 0 = native worker, i = peer i-1 */
    unsigned ranks;          /* native workers that measure it together (probe.h); 0 = one, for itself */
    int64_t predicted_bytes; /* of the native variant; -1 for peers */
    /* Of one iteration, a region within another counted once: max(flops / rate, bytes / bandwidth), and the same by the work's effort. NaN = unknown,
     * until pk_case_plan_floors (estimate.h). */
    double floor_ns, least_ns;
    const char *skip; /* reason it is left out, NULL = measured */
    const char
        *too_large; /* more predicted bytes than the limit, and what would fit: recorded as OOM, not tried */
    const char *would_fit; /* of it: "batch=140 would fit within 16.0 MiB"; NULL = not known */
    int64_t largest;       /* and that number (pk_probe_largest), where would_fit is not NULL */
};

struct pk_case_plan {
    const struct pk_probe *probe;
    const struct pk_preset *preset;
    const char *device;
    enum pk_device_kind kind;
    int64_t limit_bytes; /* as requested */
    size_t n;
    struct pk_planned_case *v;
    struct pk_axis_sweep *sweeps; /* those of the request, in its order */
    size_t n_sweeps;
    struct pk_texts implied;  /* "transport=mpi": what the request's axes imply for others */
    struct pk_texts warnings; /* of the probe's validate, each once, in the order of the cases */
    bool differ[PK_AXES_MAX]; /* axes in which the cases are not all equal */
};

/* Points in the order of the blocks, at each point the variants in the order of the probe's table, then the peers. A variant
 * of which every case is skipped is left out unless it was named, or the first variant's are skipped, too.
 * PK_E_USAGE for names and values; the errors of the probe's validate; PK_E_NOTHING when the filter leaves no case. */
enum pk_code pk_case_plan_make(const struct pk_case_plan_request *r, struct pk_arena *a,
                               struct pk_case_plan *out, struct pk_err *err) PK_MUST_CHECK;

/* Cases that will be tried: neither skipped nor too large. */
size_t pk_case_plan_to_try(const struct pk_case_plan *plan);

/* A pk_expects_fn (worker.h), of a plan. PK_E_USAGE when the plan lacks the case, with the value that no case of it has. */
enum pk_code pk_case_plan_expects(const void *plan, const struct pk_request *r, const struct pk_case *c,
                                  struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* For printed text: the axes in which the cases of the plan differ name them ("d_model=16 seq_len=256"); those in which they agree
 * belong in a title ("batch=8 causal=off"). In the arena; "" = none. */
const char *pk_case_plan_case_text(const struct pk_case_plan *plan, size_t i, struct pk_arena *a);
const char *pk_case_plan_common_text(const struct pk_case_plan *plan, struct pk_arena *a);

/* A random order of n cases for one invocation; equal for equal (seed, invocation). In the arena. */
const size_t *pk_case_plan_order(size_t n, uint64_t seed, int invocation, struct pk_arena *a);

/* A sentence about a sweep whose axis applies to no case of the plan, with what would make it apply; NULL when the axis is used. */
const char *pk_case_plan_unused_axis(const struct pk_case_plan *plan, const struct pk_axis_sweep *s,
                                     struct pk_arena *a);
