/* Verdicts: the verdict of a gate for each row, stored with its samples (v_verdict), so that it is printed again without being computed
 * again.
 *
 * A row belongs to a case of each run of the gate and is removed with the first of them that is pruned. */
#pragma once

#include "stats/verdict/verdict.h"
#include "store/store.h"

struct pk_verdict_row {
    const char *experiment, *metric;
    const char *variant[2], *device[2], *axes[2]; /* of the cases of base and new, as they were recorded */
    double margin, min_change;                    /* share; in the unit of the metric, 0 = none */
    const char *criteria;                         /* JSON object */
    struct pk_decision decision; /* without stage, wanted, suspected, modes_suspected, p_same and sd */
    int64_t ordinal;             /* read: of new's case in its run */
    const char *base_uuid;       /* read: of base's run; "" when it was judged against a base by name */
};

/* Records verdicts for cases of these two runs of this store. One transaction. */
enum pk_code pk_store_verdicts(struct pk_store *s, int64_t base_run_id, int64_t run_id,
                               const struct pk_verdict_row *v, size_t n, struct pk_err *err) PK_MUST_CHECK;

/* What a gate judged a stored run against. */
struct pk_verdict_base {
    const char *name; /* as it was given: "main", "other.db:nightly" */
    const char *runs; /* the ids of its runs, in their file: "3,4,7,8,9" */
};
/* Records verdicts for cases of the run with this uuid, by their ordinals, in place of those against a base of the same name. Nothing is
 * recorded when this store does not have the run. One transaction. */
enum pk_code pk_store_baseline_verdicts(struct pk_store *s, const char *run_uuid,
                                        const struct pk_verdict_base *base, const struct pk_verdict_row *v,
                                        size_t n, struct pk_err *err) PK_MUST_CHECK;

/* The verdicts in which this run is the new side, in the order of its cases; of one case those of the gate that measured it first, then the
 * newest. */
enum pk_code pk_store_read_verdicts(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                    struct pk_verdict_row **v, size_t *n, struct pk_err *err) PK_MUST_CHECK;
