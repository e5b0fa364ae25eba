/* Verdicts: writing what a gate concluded, and reading it again. */
#include "store/record/verdicts.h"

#include "store/db.h"
#include "store/table.h"

#include <math.h>

/* --- writing ---------------------------------------------------------------------------------------------------------- */

static enum pk_code insert(struct pk_store *s, int64_t base, int64_t new_, const struct pk_verdict_row *v,
                           struct pk_err *err)
{
    const struct pk_decision *d = &v->decision;
    const double r[] = {d->ratio, d->ci.lo, d->ci.hi};
    const bool abs = d->absolute;
    return pk_db_run(s, err,
                     "INSERT INTO main.verdict(new_case_id, base_case_id, metric_id, verdict, reason, ratio, "
                     "ratio_low, ratio_high,"
                     " difference, difference_low, difference_high, margin, min_change, p, p_adjusted, mde, "
                     "needed, pairs, disturbed,"
                     " criteria)"
                     " SELECT n.id, b.id, m.metric_id, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, "
                     "?21, ?22, ?23, ?24, ?25, ?26, ?27"
                     " FROM main.run_case n JOIN main.summary m ON m.case_id = n.id JOIN main.metric k ON "
                     "k.id = m.metric_id"
                     " JOIN main.run_case b ON b.run_id = ?1 AND b.experiment = ?3 AND b.variant = ?4 AND "
                     "b.device = ?5 AND b.axes = ?6"
                     " WHERE n.run_id = ?2 AND n.experiment = ?3 AND n.variant = ?7 AND n.device = ?8 AND "
                     "n.axes = ?9 AND k.name = ?10",
                     "iittttttttttfffffffffffiiit", base, new_, v->experiment, v->variant[0], v->device[0],
                     v->axes[0], v->variant[1], v->device[1], v->axes[1], v->metric,
                     pk_verdict_name(d->verdict), pk_reason_name(d->reason), abs ? NAN : r[0],
                     abs ? NAN : r[1], abs ? NAN : r[2], abs ? r[0] : NAN, abs ? r[1] : NAN, abs ? r[2] : NAN,
                     v->margin, v->min_change > 0 ? v->min_change : NAN, d->p, d->p_adjusted, d->mde,
                     d->needed == PK_PAIRS_NEVER ? (int64_t)-1 : (int64_t)d->needed, (int64_t)d->pairs,
                     (int64_t)d->disturbed, v->criteria);
}

enum pk_code pk_store_verdicts(struct pk_store *s, int64_t base_run_id, int64_t run_id,
                               const struct pk_verdict_row *v, size_t n, struct pk_err *err)
{
    if (pk_db_begin(s, "record verdicts", err))
        return err->code;
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < n; i++)
        rc = insert(s, base_run_id, run_id, &v[i], err);
    return pk_db_end(s, rc, err);
}

/* --- reading ---------------------------------------------------------------------------------------------------------- */

static struct pk_decision decision_of(const struct pk_cell *c)
{
    const bool abs = c[4].type == PK_CELL_NULL && c[7].type != PK_CELL_NULL;
    const struct pk_cell *r = abs ? c + 7 : c + 4;
    struct pk_decision d = {.absolute = abs,
                            .ratio = pk_cell_number(&r[0]),
                            .ci = {pk_cell_number(&r[1]), pk_cell_number(&r[2])},
                            .p = pk_cell_number(&c[12]),
                            .p_adjusted = pk_cell_number(&c[13]),
                            .mde = pk_cell_number(&c[14]),
                            .needed = c[15].i < 0 ? PK_PAIRS_NEVER : (size_t)c[15].i,
                            .pairs = (size_t)c[16].i,
                            .disturbed = (size_t)c[17].i};
    pk_verdict_parse(pk_cell_string(&c[2]), &d.verdict);
    pk_reason_parse(pk_cell_string(&c[3]), &d.reason);
    return d;
}

enum pk_code pk_store_read_verdicts(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                    struct pk_verdict_row **v, size_t *n, struct pk_err *err)
{
    static const char sql[] = "SELECT experiment, metric, verdict, reason, ratio, ratio_low, ratio_high, "
                              "difference, difference_low,"
                              " difference_high, margin, min_change, p, p_adjusted, mde, needed, pairs, "
                              "disturbed, criteria, ordinal, base_uuid,"
                              " base_variant, variant, base_device, device, base_axes, axes"
                              " FROM v_verdict WHERE run_id = :run ORDER BY ordinal, metric";
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows rows;
    if (pk_store_query(s, sql, &run, 1, a, &rows, err))
        return err->code;
    *v = pk_new_n(a, struct pk_verdict_row, rows.n + 1);
    for (*n = 0; *n < rows.n; ++*n) {
        const struct pk_cell *c = rows.cells + *n * rows.n_cols;
        (*v)[*n] =
            (struct pk_verdict_row){.experiment = pk_cell_string(&c[0]),
                                    .metric = pk_cell_string(&c[1]),
                                    .variant = {pk_cell_string(&c[21]), pk_cell_string(&c[22])},
                                    .device = {pk_cell_string(&c[23]), pk_cell_string(&c[24])},
                                    .axes = {pk_cell_string(&c[25]), pk_cell_string(&c[26])},
                                    .margin = pk_cell_number(&c[10]),
                                    .min_change = c[11].type == PK_CELL_NULL ? 0 : pk_cell_number(&c[11]),
                                    .criteria = pk_cell_string(&c[18]),
                                    .decision = decision_of(c),
                                    .ordinal = c[19].i,
                                    .base_uuid = pk_cell_string(&c[20])};
    }
    return PK_OK;
}
