/* Verdicts: writing what a gate concluded, and reading it again. */
#include "store/record/verdicts.h"

#include "base/clock.h"
#include "store/db.h"
#include "store/table/table.h"

enum pk_code pk_db_tail_metric(struct pk_store *s, int64_t run_id, const char *uuid, const char *metric,
                               struct pk_err *err)
{
    enum pk_tail t;
    size_t length;
    if (!pk_tail_of_metric(metric, &t, &length))
        return PK_OK;
    return pk_db_run(s, err, "insert_tail_metric", "itt", run_id, metric, uuid);
}

enum pk_code pk_store_verdicts(struct pk_store *s, int64_t base_run_id, int64_t run_id,
                               const struct pk_verdict_row *v, size_t n, struct pk_err *err)
{
    if (pk_db_begin(s, "record verdicts", err))
        return err->code;
    enum pk_code code = PK_OK;
    for (; n-- && !code; v++) {
        const struct pk_decision *d = &v->decision;
        code = pk_db_tail_metric(s, run_id, NULL, v->metric, err);
        if (!code)
            code = pk_db_run(s, err, "insert_verdict", "iittttttttttiffffffffiiitiiff", base_run_id, run_id,
                             v->experiment, v->variant[0], v->device[0], v->axes[0], v->variant[1],
                             v->device[1], v->axes[1], v->metric, pk_verdict_name(d->verdict),
                             pk_reason_name(d->reason), (int64_t)d->absolute, d->ratio, d->ci.lo, d->ci.hi,
                             v->margin, v->min_change, d->p, d->p_adjusted, d->mde, (int64_t)d->needed,
                             (int64_t)d->pairs, (int64_t)d->disturbed, v->criteria, (int64_t)d->slow_base,
                             (int64_t)d->slow_new, d->slow_size, d->slow_found);
    }
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_baseline_verdicts(struct pk_store *s, const char *run_uuid,
                                        const struct pk_verdict_base *base, const struct pk_verdict_row *v,
                                        size_t n, struct pk_err *err)
{
    const int64_t now = (int64_t)pk_wall_ns();
    if (pk_db_begin(s, "record verdicts", err))
        return err->code;
    enum pk_code code = pk_db_run(s, err, "forget_baseline_verdicts", "tt", run_uuid, base->name);
    for (; n-- && !code; v++) {
        const struct pk_decision *d = &v->decision;
        code = pk_db_tail_metric(s, 0, run_uuid, v->metric, err);
        if (!code)
            code = pk_db_run(s, err, "insert_baseline_verdict", "tttiitttiffffffffiiitiiff", run_uuid,
                             base->name, base->runs, now, v->ordinal, v->metric, pk_verdict_name(d->verdict),
                             pk_reason_name(d->reason), (int64_t)d->absolute, d->ratio, d->ci.lo, d->ci.hi,
                             v->margin, v->min_change, d->p, d->p_adjusted, d->mde, (int64_t)d->needed,
                             (int64_t)d->pairs, (int64_t)d->disturbed, v->criteria, (int64_t)d->slow_base,
                             (int64_t)d->slow_new, d->slow_size, d->slow_found);
    }
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_read_verdicts(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                    struct pk_verdict_row **v, size_t *n, struct pk_err *err)
{
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows rows;
    if (pk_query(s, "verdicts", &run, 1, a, &rows, err))
        return err->code;
    *v = pk_new_n(a, struct pk_verdict_row, rows.n + 1);
    for (*n = 0; *n < rows.n; ++*n) {
        struct pk_verdict_row *w = &(*v)[*n];
        struct pk_decision *d = &w->decision;
        const char *verdict, *reason;
        pk_db_row(&rows, *n, "ttttttttttbffffffffzzztitzzff", &w->experiment, &w->variant[0], &w->device[0],
                  &w->axes[0], &w->variant[1], &w->device[1], &w->axes[1], &w->metric, &verdict, &reason,
                  &d->absolute, &d->ratio, &d->ci.lo, &d->ci.hi, &w->margin, &w->min_change, &d->p,
                  &d->p_adjusted, &d->mde, &d->needed, &d->pairs, &d->disturbed, &w->criteria, &w->ordinal,
                  &w->base_uuid, &d->slow_base, &d->slow_new, &d->slow_size, &d->slow_found);
        pk_verdict_parse(verdict, &d->verdict);
        pk_reason_parse(reason, &d->reason);
        d->of_base = d->of_new =
            d->pairs + d->disturbed; /* of a gate; those of stored runs are judged again */
    }
    return PK_OK;
}
