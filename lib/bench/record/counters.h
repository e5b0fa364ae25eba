/* Counters: the results of counter passes as rows of the store: medians of events per case and region, the metrics of groups, and the
 * place of each case in the roofline. */
#pragma once

#include "bench/plan/plan.h"
#include "counter/select.h"
#include "ops/ceilings/ceilings.h"
#include "store/store.h"
#include "store/table/table.h"

struct pk_counter_inputs;

/* Counter pass k of a case is its slice of pass "counter" and invocation k + 1: that of counters->plans[k]. Events get their median over
 * the steady samples, of one iteration; metrics are derived from those medians, the timing passes' medians, declared work and the
 * ceilings. Scaled counts are approximate, and no metric is computed from counts that were scaled differently. A row "perturbation" per
 * region says by how much the slowest of the counter passes was slower than the timing passes, and which source's that was (native); its
 * note is empty where that is more than the difference between processes, which is not known for one process. Every case that was timed
 * has its roofline (below), by counted work where it was counted. case_ids are those of the plan's cases. Reads the store only;
 * rows that are there already are replaced. */
enum pk_code pk_record_counters(struct pk_store *s, int64_t run_id, const struct pk_case_plan *plan,
                                const int64_t *case_ids, const struct pk_counters *counters,
                                const struct pk_ceilings *top, struct pk_arena *a,
                                struct pk_err *err) PK_MUST_CHECK;

/* The rows of a case that has only the region iteration and no declared work, from these data: the case of a command. */
enum pk_code pk_record_command_counters(struct pk_store *s, int64_t case_id,
                                        const struct pk_counters *counters,
                                        const struct pk_counter_inputs *inputs, struct pk_arena *a,
                                        struct pk_err *err) PK_MUST_CHECK;

/* --- counter_inputs.c: data of a run's cases in the store after their passes: times, declared work, counts ---- */

/* Of one region of one case, or of its iteration; medians, of one iteration. NaN = not known. */
struct pk_counter_place {
    double
        time_ns; /* of the timing passes; of the iteration the sum of its outermost regions, as all but counts */
    double fastest_ns, slowest_ns; /* of the processes that were timed */
    int64_t processes;             /* how many those were */
    double flops, bytes, tensor_flops;
    double bandwidth; /* bytes per second of the level in which the case's bytes live: v_case_level */
    double *pass_ns;  /* [plan]: of its counter pass */
    double **count;   /* [plan][event] */
};

/* How an event was counted, over all places of a case. */
struct pk_event_quality {
    double scaled_from; /* 1, or the least share of the time that was counted */
    const char *why;    /* why some were not counted; NULL = not known */
};

struct pk_counter_inputs {
    struct pk_counter_place *at;       /* [n_places] */
    struct pk_event_quality **quality; /* [plan][event] */
};

struct pk_counter_inputs_run {
    const struct pk_case_plan *plan;
    const struct pk_counters *counters;
    struct pk_arena *arena;
    size_t n_places; /* the probe's regions, then the iteration */
    struct pk_rows samples, times, quality;
};

enum pk_code pk_counter_inputs_read(struct pk_counter_inputs_run *k, struct pk_store *s, int64_t run_id,
                                    const struct pk_case_plan *plan, const struct pk_counters *counters,
                                    struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* Nothing but the room for it. In the arena. */
struct pk_counter_inputs pk_counter_inputs_empty(const struct pk_counters *counters, size_t n_places,
                                                 struct pk_arena *a);

/* Case i of the plan, which is case_id in the store. In the arena. */
struct pk_counter_inputs pk_counter_inputs_case(const struct pk_counter_inputs_run *k, size_t i,
                                                int64_t case_id);
/* "forward", "iteration" */
const char *pk_counter_inputs_name(const struct pk_counter_inputs_run *k, size_t place);

/* --- roofline.c ---
 *
 * the place of work in the roofline of its device: the rate attainable at its arithmetic intensity, which of the two limits applies, and
 * the share that was reached. As rows of v_counter, group "roofline".
 *
 *     attainable = min(peak_flops_per_s, peak_bytes_per_s * flops / bytes)
 *     share      = max(flops / peak_flops_per_s, bytes / peak_bytes_per_s) / time
 *
 * which is rate / attainable wherever there are FLOPs, and holds without them too. The peaks are the device's own measured ceilings:
 * peak_bytes_per_s of memory where the bytes were counted there, else of the level in which the bytes of the case live. */

/* FLOPs or bytes of one iteration, and their source. */
struct pk_roofline_amount {
    double value;       /* NaN = not known */
    const char *source; /* "declared", or the source that counted it: "cpu-events" */
    const char *native; /* the events that were added up: "dram_read_bytes + dram_write_bytes" */
    bool approximate;
    size_t plan; /* counted: in which pass */
};

struct pk_roofline_work {
    double time_ns; /* of the timing passes */
    struct pk_roofline_amount flops, bytes;
    double bandwidth;    /* of the level in which declared bytes live; NaN or 0 = that of memory */
    double tensor_flops; /* declared, of any type; where there are some, the attainable rate is not known */
};

enum { PK_ROOFLINE_ROWS = 7 };
/* "flops", "bytes", "intensity", "flops_per_s", "attainable_flops_per_s", "share_of_roof", "memory_bound" (1, or 0: by computing) of a
 * region of a case. What is not known is NaN, with its reason. Returns how many rows: 0 when there is no time or no work. */
size_t pk_roofline_rows(const struct pk_roofline_work *w, const struct pk_ceilings *top, int64_t case_id,
                        const char *region, struct pk_counter_row out[PK_ROOFLINE_ROWS]);
