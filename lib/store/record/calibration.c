/* Calibration: writing what was found, and reading it again. */
#include "store/record/calibration.h"

#include "store/db.h"
#include "store/table/table.h"

#include <math.h>

enum pk_code pk_store_calibrate(struct pk_store *s, int64_t run_id, const struct pk_calibration_row *c,
                                size_t n, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (pk_db_begin(s, "record a calibration", err))
        return err->code;
    enum pk_code code = PK_OK;
    for (; n-- && !code; c++) {
        const struct pk_param params[] = {
            pk_param_int(":run", run_id),          pk_param_text(":experiment", c->experiment),
            pk_param_text(":variant", c->variant), pk_param_text(":device", c->device),
            pk_param_text(":axes", c->axes),       pk_param_text(":metric", c->metric)};
        const struct pk_pair_noise *k = &c->noise;
        struct pk_rows within;
        code = pk_query(s, "noise_within", PK_PARAMS(params), &a, &within, err);
        if (!code)
            code = pk_db_tail_metric(s, run_id, NULL, c->metric, err);
        if (!code)
            code = pk_db_run(s, err, "insert_calibration", "itttttiiffffffff", run_id, c->experiment,
                             c->variant, c->device, c->axes, c->metric, (int64_t)k->pairs,
                             (int64_t)k->disturbed, k->ratio, k->p, k->between,
                             sqrt(pk_cell_number(within.cells)), k->sd, k->floor, k->min_effect, k->mde);
    }
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_calibrations(struct pk_store *s, const char *experiment, struct pk_arena *a,
                                   struct pk_calibration **v, size_t *n, struct pk_err *err)
{
    const struct pk_param p = pk_param_text(":experiment", experiment);
    struct pk_rows rows;
    if (pk_query(s, "calibrations", &p, 1, a, &rows, err))
        return err->code;
    *v = pk_new_n(a, struct pk_calibration, rows.n + 1);
    for (*n = 0; *n < rows.n; ++*n) {
        struct pk_calibration *c = &(*v)[*n];
        struct pk_pair_noise *k = &c->of.noise;
        pk_db_row(&rows, *n, "ittttttitttttizzfffffff", &c->run_id, &c->measured_at, &c->machine,
                  &c->settings, &c->identity, &c->unit, &c->direction, &c->revision, &c->of.experiment,
                  &c->of.variant, &c->of.device, &c->of.axes, &c->of.metric, &c->of.ordinal, &k->pairs,
                  &k->disturbed, &k->ratio, &k->p, &k->between, &k->sd, &k->floor, &k->min_effect, &k->mde);
    }
    return PK_OK;
}
