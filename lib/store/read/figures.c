/* Figures: what fits start from, and what a run says of itself; run_figures.c reads what was measured. */
#include "store/read/figures.h"

#include "base/err.h"
#include "base/text/words.h"
#include "store/table.h"
#include "json/json.h"

#include <math.h>
#include <string.h>

static int64_t whole(const struct pk_cell *c)
{
    return c->type == PK_CELL_INT ? c->i : 0;
}

static const struct pk_cell *row_of(const struct pk_rows *r, size_t i)
{
    return r->cells + i * r->n_cols;
}

/* How many rows from i on have the same first `n_keys` columns. */
static size_t equal_rows(const struct pk_rows *r, size_t i, size_t n_keys)
{
    size_t n = 1;
    for (; i + n < r->n; n++) {
        const struct pk_cell *a = row_of(r, i), *b = row_of(r, i + n);
        for (size_t k = 0; k < n_keys; k++) {
            if (whole(&a[k]) != whole(&b[k]) || strcmp(pk_cell_string(&a[k]), pk_cell_string(&b[k])) != 0)
                return n;
        }
    }
    return n;
}

static const double *reals(const struct pk_rows *r, size_t from, size_t n, size_t column, struct pk_arena *a)
{
    double *v = pk_new_n(a, double, n);
    for (size_t i = 0; i < n; i++)
        v[i] = pk_cell_number(&row_of(r, from + i)[column]);
    return v;
}

/* A merge patch (RFC 7396) that removes x and what is ignored from an object. */
static const char *without(const char *x, const char *ignore, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *patch = json_object();
    json_object_set_new(patch, x, json_null());
    for (const char *rest = ignore, *name; rest && (name = pk_next_part(&rest, ' ', a));)
        json_object_set_new(patch, name, json_null());
    return pk_json_text(a, patch, PK_JSON_COMPACT);
}

enum pk_code pk_store_fit_groups(struct pk_store *s, int64_t run_id, const char *metric, const char *x,
                                 const char *ignore, struct pk_arena *a, struct pk_fit_group **groups,
                                 size_t *n, struct pk_err *err)
{
    static const char sql[] =
        "SELECT * FROM (SELECT c.experiment, c.variant, c.device, json_patch(c.axes, :without) AS fixed,"
        "  coalesce(json_extract(c.axes, :path), z.median) AS x, m.median AS y"
        "  FROM v_case c JOIN v_summary m ON m.case_id = c.case_id"
        "  LEFT JOIN v_summary z ON z.case_id = c.case_id AND z.metric = :x"
        "  WHERE c.run_id = :run AND c.status = 'ok' AND m.metric = :metric)"
        " WHERE typeof(x) IN ('integer', 'real') AND y IS NOT NULL"
        " ORDER BY experiment, variant, device, fixed, x";
    enum { KEYS = 4, X = 4, Y = 5 };
    const struct pk_param params[] = {pk_param_int(":run", run_id), pk_param_text(":metric", metric),
                                      pk_param_text(":x", x),
                                      pk_param_text(":path", pk_printf(a, "$.\"%s\"", x)),
                                      pk_param_text(":without", without(x, ignore, a))};
    struct pk_rows r;
    size_t cap = 0;
    *groups = NULL;
    *n = 0;
    if (pk_store_query(s, sql, PK_PARAMS(params), a, &r, err))
        return err->code;
    for (size_t i = 0, same; i < r.n; i += same) {
        same = equal_rows(&r, i, KEYS);
        const struct pk_cell *c = row_of(&r, i);
        *groups = pk_grow(a, *groups, sizeof **groups, *n, &cap);
        (*groups)[(*n)++] = (struct pk_fit_group){.experiment = pk_cell_string(&c[0]),
                                                  .variant = pk_cell_string(&c[1]),
                                                  .device = pk_cell_string(&c[2]),
                                                  .fixed = pk_cell_string(&c[3]),
                                                  .n = same,
                                                  .x = reals(&r, i, same, X, a),
                                                  .y = reals(&r, i, same, Y, a)};
    }
    return PK_OK;
}

/* Few runs have traces, and the index alone says so. */
static enum pk_code has_traces(struct pk_store *s, const struct pk_param *run, bool *has, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows r;
    if (pk_store_query(s,
                       "SELECT 1 FROM main.slice WHERE pass = 'trace' AND case_id BETWEEN"
                       " (SELECT min(id) FROM main.run_case WHERE run_id = :run) AND"
                       " (SELECT max(id) FROM main.run_case WHERE run_id = :run) LIMIT 1",
                       run, 1, &a, &r, err))
        return err->code;
    *has = r.n > 0;
    return PK_OK;
}

enum pk_code pk_store_kernels(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                              struct pk_kernel_figure **kernels, size_t *n, struct pk_err *err)
{
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    bool any = false;
    *n = 0;
    if (has_traces(s, &run, &any, err))
        return err->code;
    if (!any)
        return PK_OK;
    if (pk_store_query(s, "SELECT variant, axes, region, name, time_ns FROM v_kernel WHERE run_id = :run",
                       &run, 1, a, &r, err))
        return err->code;
    *kernels = pk_new_n(a, struct pk_kernel_figure, r.n + 1);
    for (; *n < r.n; ++*n) {
        const struct pk_cell *c = row_of(&r, *n);
        (*kernels)[*n] = (struct pk_kernel_figure){.variant = pk_cell_string(&c[0]),
                                                   .axes = pk_cell_string(&c[1]),
                                                   .region = pk_cell_string(&c[2]),
                                                   .name = pk_cell_string(&c[3]),
                                                   .time_ns = whole(&c[4])};
    }
    return PK_OK;
}

enum pk_code pk_store_run_facts(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                struct pk_run_facts *facts, struct pk_err *err)
{
    /* limit_bytes is the memory that happened to be free: it differs between any two runs and changes no time; choices follow from the
     * library, which is said; not_counted is about what was asked beside the times */
    static const char sql[] =
        "SELECT r.label, r.started_at, r.status, r.version,"
        " substr(r.git_commit, 1, 12) || CASE r.git_dirty WHEN 1 THEN '+' ELSE '' END, r.machine, r.settings,"
        " (SELECT json_group_object(key, said) FROM"
        "   (SELECT key, group_concat(value, ' | ') AS said FROM"
        "     (SELECT DISTINCT key, value FROM v_setting WHERE run_id = :run AND key NOT IN ('limit_bytes', "
        "'not_counted', 'uncounted') AND key NOT GLOB 'not_*.*' AND key NOT LIKE '%choice:%' ORDER BY key, "
        "value) GROUP "
        "BY "
        "key)),"
        " (SELECT count(*) FROM main.run_case WHERE run_id = :run), r.experiment, r.uuid,"
        " CASE WHEN json_valid(r.tags) THEN r.tags ->> 'entry' END"
        " FROM v_run r WHERE r.run_id = :run";
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    if (pk_store_query(s, sql, &run, 1, a, &r, err))
        return err->code;
    pk_assert(r.n == 1); /* the caller resolved it */
    const struct pk_cell *c = r.cells;
    *facts = (struct pk_run_facts){.run_id = run_id,
                                   .label = c[0].s,
                                   .started_at = pk_cell_string(&c[1]),
                                   .status = pk_cell_string(&c[2]),
                                   .version = pk_cell_string(&c[3]),
                                   .git_commit = c[4].s,
                                   .machine = pk_cell_string(&c[5]),
                                   .settings = pk_cell_string(&c[6]),
                                   .said = pk_cell_string(&c[7]),
                                   .cases = whole(&c[8]),
                                   .experiment = pk_cell_string(&c[9]),
                                   .uuid = pk_cell_string(&c[10]),
                                   .entry = c[11].s};
    return PK_OK;
}

enum pk_code pk_store_unfinished(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                 const struct pk_unfinished **v, size_t *n, struct pk_err *err)
{
    static const char sql[] = "SELECT ordinal, revision, experiment, variant, device, axes, identity,"
                              " coalesce(status, 'running'), message FROM v_case"
                              " WHERE run_id = :run AND status IS NOT 'ok' ORDER BY ordinal";
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    if (pk_store_query(s, sql, &run, 1, a, &r, err))
        return err->code;
    struct pk_unfinished *list = pk_new_n(a, struct pk_unfinished, r.n + 1);
    for (size_t i = 0; i < r.n; i++) {
        const struct pk_cell *c = row_of(&r, i);
        list[i] = (struct pk_unfinished){.of = {.ordinal = whole(&c[0]),
                                                .revision = whole(&c[1]),
                                                .experiment = pk_cell_string(&c[2]),
                                                .variant = pk_cell_string(&c[3]),
                                                .device = pk_cell_string(&c[4]),
                                                .axes = pk_cell_string(&c[5]),
                                                .identity = pk_cell_string(&c[6]),
                                                .metric = "",
                                                .unit = ""},
                                         .status = pk_cell_string(&c[7]),
                                         .message = pk_cell_string(&c[8])};
    }
    *v = list;
    *n = r.n;
    return PK_OK;
}

enum pk_code pk_store_cases_ok(struct pk_store *s, int64_t run_id, int64_t *n, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    if (pk_store_query(s, "SELECT count(*) FROM v_case WHERE run_id = :run AND status = 'ok'", &run, 1, &a,
                       &r, err))
        return err->code;
    *n = whole(r.cells);
    return PK_OK;
}

/* --- counters ------------------------------------------------------------------------------------------------------- */

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
