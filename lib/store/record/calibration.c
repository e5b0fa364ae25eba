/* Calibration: writing what was found, and reading it again. */
#include "store/record/calibration.h"

#include "store/db.h"
#include "store/table.h"

#include <math.h>

/* Pooled over the processes of the case, as a share of their means; NaN when none has two samples. */
static enum pk_code within(struct pk_store *s, int64_t run_id, const struct pk_calibrated *c, double *out,
                           struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    static const char sql[] = "SELECT sum((i.n - 1) * (i.sd / i.mean) * (i.sd / i.mean)) / sum(i.n - 1)"
                              " FROM v_case c JOIN v_invocation i USING (case_id) WHERE c.run_id = :run AND "
                              "c.experiment = :experiment"
                              " AND c.variant = :variant AND c.device = :device AND c.axes = :axes AND "
                              "i.metric = :metric AND i.n > 1";
    const struct pk_param params[] = {
        pk_param_int(":run", run_id),          pk_param_text(":experiment", c->experiment),
        pk_param_text(":variant", c->variant), pk_param_text(":device", c->device),
        pk_param_text(":axes", c->axes),       pk_param_text(":metric", c->metric)};
    struct pk_rows rows;
    if (pk_store_query(s, sql, PK_PARAMS(params), &a, &rows, err))
        return err->code;
    *out = sqrt(pk_cell_number(rows.cells));
    return PK_OK;
}

static enum pk_code insert(struct pk_store *s, int64_t run_id, const struct pk_calibrated *c,
                           struct pk_err *err)
{
    const struct pk_pair_noise *k = &c->noise;
    double within_cv;
    if (within(s, run_id, c, &within_cv, err))
        return err->code;
    return pk_db_run(
        s, err,
        "INSERT INTO main.calibration(case_id, metric_id, pairs, disturbed, ratio, p, between_cv, within_cv, "
        "pair_sd, floor, min_effect, mde)"
        " SELECT c.id, m.metric_id, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16 FROM main.run_case c"
        " JOIN main.summary m ON m.case_id = c.id JOIN main.metric n ON n.id = m.metric_id"
        " WHERE c.run_id = ?1 AND c.experiment = ?2 AND c.variant = ?3 AND c.device = ?4 AND c.axes = ?5 AND "
        "n.name = ?6",
        "itttttiiffffffff", run_id, c->experiment, c->variant, c->device, c->axes, c->metric,
        (int64_t)k->pairs, (int64_t)k->disturbed, k->ratio, k->p, k->between, within_cv, k->sd, k->floor,
        k->min_effect, k->mde);
}

enum pk_code pk_store_calibrate(struct pk_store *s, int64_t run_id, const struct pk_calibrated *v, size_t n,
                                struct pk_err *err)
{
    if (pk_db_begin(s, "record a calibration", err))
        return err->code;
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < n; i++)
        rc = insert(s, run_id, &v[i], err);
    return pk_db_end(s, rc, err);
}

static struct pk_calibration read_row(const struct pk_cell *c)
{
    return (struct pk_calibration){
        .run_id = c[0].i,
        .measured_at = pk_cell_string(&c[1]),
        .machine = pk_cell_string(&c[2]),
        .settings = pk_cell_string(&c[3]),
        .identity = pk_cell_string(&c[4]),
        .unit = pk_cell_string(&c[5]),
        .direction = pk_cell_string(&c[6]),
        .revision = c[7].i,
        .of = {.experiment = pk_cell_string(&c[8]),
               .variant = pk_cell_string(&c[9]),
               .device = pk_cell_string(&c[10]),
               .axes = pk_cell_string(&c[11]),
               .metric = pk_cell_string(&c[12]),
               .ordinal = c[22].i,
               .noise = {.pairs = (size_t)c[13].i,
                         .disturbed = (size_t)c[14].i,
                         .ratio = pk_cell_number(&c[15]),
                         .p = pk_cell_number(&c[16]),
                         .between = pk_cell_number(&c[17]),
                         .sd = pk_cell_number(&c[18]),
                         .floor = pk_cell_number(&c[19]),
                         .min_effect = pk_cell_number(&c[20]),
                         .mde = pk_cell_number(&c[21])}},
    };
}

enum pk_code pk_store_calibrations(struct pk_store *s, const char *experiment, struct pk_arena *a,
                                   struct pk_calibration **v, size_t *n, struct pk_err *err)
{
    static const char sql[] =
        "SELECT run_id, measured_at, machine, settings, identity, unit, direction, revision, experiment,"
        " variant, device, axes, metric, pairs, disturbed, ratio, p, between_cv, pair_sd, floor, min_effect, "
        "mde, ordinal"
        " FROM v_calibration WHERE run_id IN (SELECT run_id FROM v_run WHERE experiment = :experiment)"
        " ORDER BY run_id DESC, ordinal, metric";
    const struct pk_param p = pk_param_text(":experiment", experiment);
    struct pk_rows rows;
    if (pk_store_query(s, sql, &p, 1, a, &rows, err))
        return err->code;
    *v = pk_new_n(a, struct pk_calibration, rows.n + 1);
    for (*n = 0; *n < rows.n; ++*n)
        (*v)[*n] = read_row(rows.cells + *n * rows.n_cols);
    return PK_OK;
}
