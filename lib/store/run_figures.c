/* Run figures: what the processes of a run measured, case by case.
 *
 * Two statements in step, cases in their order and what their timing slices say, straight from the tables: a run may have a
 * hundred thousand cases, and the views would look each up several times. */
#include "store/figures.h"

#include "base/index.h"
#include "store/rows.h"
#include "store/table.h"

#include <stdlib.h>
#include <string.h>

static const char cases_sql[] = "SELECT id, ordinal, revision, experiment, variant, device, axes, identity"
                                " FROM main.run_case WHERE run_id = :run ORDER BY ordinal";
enum { CASE_ID, ORDINAL, REVISION, EXPERIMENT, VARIANT, DEVICE, AXES, IDENTITY };

static const char slices_sql[] =
    "SELECT c.id, l.status, l.invocation, s.metric_id, s.figure FROM main.run_case c"
    " CROSS JOIN main.slice l ON l.case_id = c.id AND l.pass = 'timing'"
    " LEFT JOIN main.slice_summary s ON s.slice_id = l.id"
    " WHERE c.run_id = :run ORDER BY c.ordinal";
enum { OF_CASE, STATUS, INVOCATION, METRIC, FIGURE };

/* A metric of the case being read; the next case takes over its arrays. */
struct gathered {
    int64_t metric; /* index into reading.metrics */
    size_t n, cap, invocation_cap;
    double *figure;
    int64_t *invocation;
};

struct reading {
    struct pk_arena *a;
    sqlite3_stmt *cases, *slices;
    int slice; /* what stepping `slices` answered last */
    struct pk_index index;
    const char **texts; /* words that many cases share, once */
    size_t n_texts, texts_cap;
    const struct pk_figures *metrics; /* what every figure of a metric says, by id */
    size_t n_metrics;
    struct gathered *of_case;
    size_t n_of_case, of_case_cap;
    struct pk_figures *v;
    size_t n, cap;
    int64_t cases_ok;
};

/* --- texts ---------------------------------------------------------------------------------------------------------- */

static const char *column(sqlite3_stmt *stmt, int i)
{
    const char *s = (const char *)sqlite3_column_text(stmt, i);
    return s ? s : "";
}

struct wanted {
    const struct reading *r;
    const char *text;
};

static bool same_text(const void *wanted, uint32_t row)
{
    const struct wanted *w = wanted;
    return strcmp(w->r->texts[row], w->text) == 0;
}

static const char *shared(struct reading *r, const char *s)
{
    const struct wanted w = {r, s};
    uint32_t row =
        pk_index_row(&r->index, pk_hash_bytes(0, s, strlen(s)), same_text, &w, (uint32_t)r->n_texts);
    if (row == r->n_texts) {
        r->texts = pk_grow(r->a, r->texts, sizeof *r->texts, r->n_texts, &r->texts_cap);
        r->texts[r->n_texts++] = pk_strdup(r->a, s);
    }
    return r->texts[row];
}

/* --- metrics -------------------------------------------------------------------------------------------------------- */

static enum pk_code read_metrics(struct pk_store *s, struct reading *r, struct pk_err *err)
{
    struct pk_rows rows;
    if (pk_store_query(s, "SELECT id, name, unit, direction, class, source FROM main.metric ORDER BY id",
                       NULL, 0, r->a, &rows, err))
        return err->code;
    r->n_metrics = rows.n ? (size_t)rows.cells[(rows.n - 1) * rows.n_cols].i + 1 : 0;
    struct pk_figures *m = pk_new_n(r->a, struct pk_figures, r->n_metrics + 1);
    for (size_t i = 0; i < rows.n; i++) {
        const struct pk_cell *c = &rows.cells[i * rows.n_cols];
        m[c[0].i] = (struct pk_figures){
            .metric = c[1].s, .unit = c[2].s, .direction = c[3].s, .class = c[4].s, .source = c[5].s};
    }
    r->metrics = m;
    return PK_OK;
}

/* --- a case --------------------------------------------------------------------------------------------------------- */

static struct gathered *gathered_of(struct reading *r, int64_t metric)
{
    for (size_t i = 0; i < r->n_of_case; i++)
        if (r->of_case[i].metric == metric)
            return &r->of_case[i];
    r->of_case = pk_grow(r->a, r->of_case, sizeof *r->of_case, r->n_of_case, &r->of_case_cap);
    struct gathered *g = &r->of_case[r->n_of_case++];
    g->metric = metric;
    g->n = 0;
    return g;
}

static void gather(struct reading *r)
{
    struct gathered *g = gathered_of(r, sqlite3_column_int64(r->slices, METRIC));
    g->figure = pk_grow(r->a, g->figure, sizeof *g->figure, g->n, &g->cap);
    g->invocation = pk_grow(r->a, g->invocation, sizeof *g->invocation, g->n, &g->invocation_cap);
    int64_t invocation = sqlite3_column_int64(r->slices, INVOCATION);
    size_t i = g->n++;
    for (; i && g->invocation[i - 1] > invocation; i--) { /* nearly always they come in order */
        g->figure[i] = g->figure[i - 1];
        g->invocation[i] = g->invocation[i - 1];
    }
    g->figure[i] = sqlite3_column_double(r->slices, FIGURE);
    g->invocation[i] = invocation;
}

/* As v_case decides: any timing slice that did not end ok, but for one that was interrupted. */
static bool spoils(const char *status)
{
    return strcmp(status, "ok") != 0 && strcmp(status, "interrupted") != 0;
}

/* Everything the slices say of one case; false when it did not end ok. */
static bool read_slices(struct reading *r, int64_t case_id)
{
    bool ok = true, any = false;
    r->n_of_case = 0;
    for (; r->slice == SQLITE_ROW && sqlite3_column_int64(r->slices, OF_CASE) == case_id;
         r->slice = sqlite3_step(r->slices)) {
        const char *status = column(r->slices, STATUS);
        ok &= !spoils(status);
        any |= strcmp(status, "ok") == 0;
        if (sqlite3_column_type(r->slices, FIGURE) != SQLITE_NULL)
            gather(r);
    }
    r->cases_ok += ok && any;
    return ok;
}

static int by_name(const void *x, const void *y)
{
    const struct pk_figures *a = x, *b = y;
    int c = strcmp(a->metric, b->metric);
    return c ? c : strcmp(a->unit, b->unit);
}

static struct pk_figures described(struct reading *r)
{
    sqlite3_stmt *c = r->cases;
    return (struct pk_figures){.ordinal = sqlite3_column_int64(c, ORDINAL),
                               .revision = sqlite3_column_int64(c, REVISION),
                               .experiment = shared(r, column(c, EXPERIMENT)),
                               .variant = shared(r, column(c, VARIANT)),
                               .device = shared(r, column(c, DEVICE)),
                               .axes = pk_strdup(r->a, column(c, AXES)),
                               .identity = pk_strdup(r->a, column(c, IDENTITY))};
}

static struct pk_figures figures_of(struct reading *r, const struct pk_figures *of_case,
                                    const struct gathered *g)
{
    struct pk_figures f = *of_case;
    const struct pk_figures *m = &r->metrics[g->metric];
    f.metric = m->metric;
    f.unit = m->unit;
    f.direction = m->direction;
    f.class = m->class;
    f.source = m->source;
    f.n = g->n;
    double *figure = pk_new_n(r->a, double, g->n);
    int64_t *invocation = pk_new_n(r->a, int64_t, g->n);
    memcpy(figure, g->figure, g->n * sizeof *figure);
    f.median = pk_summarize(figure, g->n).median;
    memcpy(figure, g->figure, g->n * sizeof *figure);
    memcpy(invocation, g->invocation, g->n * sizeof *invocation);
    f.figure = figure;
    f.invocation = invocation;
    return f;
}

static void take_case(struct reading *r)
{
    if (!read_slices(r, sqlite3_column_int64(r->cases, CASE_ID)) || !r->n_of_case)
        return;
    const struct pk_figures of_case = described(r);
    const size_t first = r->n;
    for (size_t i = 0; i < r->n_of_case; i++) {
        r->v = pk_grow(r->a, r->v, sizeof *r->v, r->n, &r->cap);
        r->v[r->n++] = figures_of(r, &of_case, &r->of_case[i]);
    }
    qsort(r->v + first, r->n - first, sizeof *r->v, by_name);
}

static enum pk_code read_all(struct pk_store *s, struct reading *r, struct pk_err *err)
{
    int rc;
    r->slice = sqlite3_step(r->slices);
    while ((rc = sqlite3_step(r->cases)) == SQLITE_ROW)
        take_case(r);
    if (rc != SQLITE_DONE || r->slice != SQLITE_DONE)
        return pk_db_fail(s, err);
    return PK_OK;
}

enum pk_code pk_store_figures(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                              struct pk_figures **figures, size_t *n, int64_t *cases_ok, struct pk_err *err)
{
    const struct pk_param run = pk_param_int(":run", run_id);
    struct reading r = {.a = a, .index = {.arena = a}};
    *figures = NULL;
    *n = 0;
    enum pk_code rc = read_metrics(s, &r, err);
    if (!rc)
        rc = pk_db_prepare(s, cases_sql, &run, 1, &r.cases, err);
    if (!rc)
        rc = pk_db_prepare(s, slices_sql, &run, 1, &r.slices, err);
    if (!rc)
        rc = read_all(s, &r, err);
    sqlite3_finalize(r.cases);
    sqlite3_finalize(r.slices);
    *figures = r.v;
    *n = rc ? 0 : r.n;
    *cases_ok = r.cases_ok;
    return rc;
}
