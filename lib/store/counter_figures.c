/* Counter figures: what the counter passes of a run counted, in the shape that comparing takes. */
#include "store/figures.h"

#include "store/table.h"

/* The roofline is of every timed case and follows from its times; perturbation is of the passes, not of the case. */
static const char sql[] =
    "SELECT c.ordinal, c.revision, c.experiment, c.variant, c.device, c.axes, c.identity,"
    " k.region || iif(k.group_name = '', '', '.' || k.group_name) || '.' || k.name, k.unit, k.group_name, "
    "k.source, k.value"
    " FROM main.run r CROSS JOIN main.run_case c ON c.run_id = r.id CROSS JOIN main.counter k ON k.case_id = "
    "c.id"
    " WHERE r.id = :run AND ifnull(json_extract(r.settings, '$.counters'), 0) <> 0 AND k.group_name <> "
    "'roofline'"
    "   AND NOT (k.group_name = '' AND k.name = 'perturbation') AND k.value IS NOT NULL"
    " ORDER BY c.ordinal, k.region = 'iteration', k.region, k.group_name, k.name";
enum { ORDINAL, REVISION, EXPERIMENT, VARIANT, DEVICE, AXES, IDENTITY, METRIC, UNIT, GROUP, SOURCE, VALUE };

enum pk_code pk_store_counter_figures(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                      const struct pk_figures **figures, size_t *n, struct pk_err *err)
{
    static const int64_t only = 1;
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    *n = 0;
    if (pk_store_query(s, sql, &run, 1, a, &r, err))
        return err->code;
    struct pk_figures *v = pk_new_n(a, struct pk_figures, r.n + 1);
    double *values = pk_new_n(a, double, r.n + 1);
    for (; *n < r.n; ++*n) {
        const struct pk_cell *c = r.cells + *n * r.n_cols;
        values[*n] = c[VALUE].f; /* the column is REAL */
        v[*n] = (struct pk_figures){.experiment = c[EXPERIMENT].s,
                                    .revision = c[REVISION].i,
                                    .ordinal = c[ORDINAL].i,
                                    .variant = c[VARIANT].s,
                                    .device = c[DEVICE].s,
                                    .axes = c[AXES].s,
                                    .identity = c[IDENTITY].s,
                                    .metric = c[METRIC].s,
                                    .unit = c[UNIT].s,
                                    .direction = "none",
                                    .class = c[GROUP].s,
                                    .source = c[SOURCE].s,
                                    .median = values[*n],
                                    .n = 1,
                                    .figure = &values[*n],
                                    .invocation = &only};
    }
    *figures = v;
    return PK_OK;
}
