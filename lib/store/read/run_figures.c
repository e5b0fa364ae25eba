/* Run figures: what the processes of a run measured, case by case.
 *
 * A run may have a hundred thousand cases, and its slices lie in the file as they were measured, in another order in every process.
 * So the tables are gone through once each, as they lie, and what belongs together is put together here. */
#include "store/read/figures.h"

#include "base/err.h"
#include "base/index.h"
#include "store/db.h"
#include "store/table/table.h"
#include "wire/slice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of cases_of_range, slices_of_range and figures_of_range. */
enum { CASE_ID, ORDINAL, REVISION, EXPERIMENT, VARIANT, DEVICE, AXES, IDENTITY };
enum { SLICE_ID, OF_CASE, STATUS, INVOCATION, NOTES };
enum { OF_SLICE, METRIC, FIGURE, SAMPLES, FIRST_TAIL };

/* The figure of a metric of a case from one process. */
struct process_figure {
    struct process_figure *next;
    double figure, tail[PK_TAILS];
    int64_t invocation, samples;
};

/* A metric of a case, and its figures in the order of the file. */
struct gathered {
    struct gathered *next;
    size_t metric; /* index into figure_reader.metrics */
    size_t n;
    struct process_figure *first, **end;
};

struct of_case {
    struct pk_figures f; /* what all its figures say */
    struct gathered *metrics;
    size_t ok, spoiled, judged, unstable; /* slices; the latter two with a figure */
};

/* Ids of rows, ascending. place_of is the only way from a number in a file to an index of an array. */
struct ids {
    int64_t *v;
    size_t n, cap;
};

struct figure_reader {
    struct pk_store *s;
    struct pk_arena *a;  /* of the result */
    struct pk_arena own; /* of what is put together */
    struct pk_param run[5];
    struct pk_index index;
    const char **texts; /* words that many cases share, once */
    size_t n_texts, texts_cap;
    const struct pk_figures *metrics; /* what every figure of a metric says, as in metric_ids */
    struct ids metric_ids, case_ids;
    struct of_case *cases; /* as in case_ids until they are sorted */
    size_t n_cases, cases_cap;
    size_t n_figures;
};

enum { RUN, FIRST_CASE, LAST_CASE, FIRST_SLICE, LAST_SLICE, PARAMS };

/* --- ids ------------------------------------------------------------------------------------------------------------ */

static void add_id(struct figure_reader *r, struct ids *ids, int64_t id)
{
    ids->v = pk_grow(&r->own, ids->v, sizeof *ids->v, ids->n, &ids->cap);
    ids->v[ids->n++] = id;
}

static bool place_of(const struct ids *ids, int64_t id, size_t *place)
{
    size_t low = 0, high = ids->n;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        if (ids->v[mid] < id)
            low = mid + 1;
        else
            high = mid;
    }
    *place = low;
    return low < ids->n && ids->v[low] == id;
}

/* --- texts ---------------------------------------------------------------------------------------------------------- */

static const char *column(sqlite3_stmt *stmt, int i)
{
    const char *s = (const char *)sqlite3_column_text(stmt, i);
    return s ? s : "";
}

struct text_key {
    const struct figure_reader *r;
    const char *text;
};

static bool same_text(const void *wanted, uint32_t row)
{
    const struct text_key *w = wanted;
    return strcmp(w->r->texts[row], w->text) == 0;
}

static const char *shared(struct figure_reader *r, const char *s)
{
    const struct text_key w = {r, s};
    uint32_t row =
        pk_index_row(&r->index, pk_hash_bytes(0, s, strlen(s)), same_text, &w, (uint32_t)r->n_texts);
    if (row == r->n_texts) {
        r->texts = pk_grow(r->a, r->texts, sizeof *r->texts, r->n_texts, &r->texts_cap);
        r->texts[r->n_texts++] = pk_strdup(r->a, s);
    }
    return r->texts[row];
}

/* --- metrics -------------------------------------------------------------------------------------------------------- */

static enum pk_code read_metrics(struct pk_store *s, struct figure_reader *r, struct pk_err *err)
{
    struct pk_rows rows;
    if (pk_query(s, "metrics", NULL, 0, r->a, &rows, err))
        return err->code;
    struct pk_figures *m = pk_new_n(r->a, struct pk_figures, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++) {
        const struct pk_cell *c = &rows.cells[i * rows.n_cols];
        add_id(r, &r->metric_ids, c[0].i);
        m[i] = (struct pk_figures){
            .metric = c[1].s, .unit = c[2].s, .direction = c[3].s, .class = c[4].s, .source = c[5].s};
    }
    r->metrics = m;
    return PK_OK;
}

/* --- cases ---------------------------------------------------------------------------------------------------------- */

/* Sets two parameters to the ends of a range; to an empty one when there are no rows. */
static enum pk_code find_range(struct pk_store *s, struct figure_reader *r, const char *query, size_t first,
                               struct pk_err *err)
{
    static const char *const names[PARAMS] = {":run", ":first_case", ":last_case", ":first_slice",
                                              ":last_slice"};
    struct pk_rows rows;
    if (pk_query(s, query, r->run, first, &r->own, &rows, err))
        return err->code;
    const bool any = rows.cells[0].type == PK_CELL_INT;
    r->run[first] = pk_param_int(names[first], any ? rows.cells[0].i : 0);
    r->run[first + 1] = pk_param_int(names[first + 1], any ? rows.cells[1].i : -1);
    return PK_OK;
}

static void take_case(struct figure_reader *r, sqlite3_stmt *c)
{
    add_id(r, &r->case_ids, sqlite3_column_int64(c, CASE_ID));
    r->cases = pk_grow(&r->own, r->cases, sizeof *r->cases, r->n_cases, &r->cases_cap);
    r->cases[r->n_cases++] = (struct of_case){.f = {.ordinal = sqlite3_column_int64(c, ORDINAL),
                                                    .revision = sqlite3_column_int64(c, REVISION),
                                                    .experiment = shared(r, column(c, EXPERIMENT)),
                                                    .variant = shared(r, column(c, VARIANT)),
                                                    .device = shared(r, column(c, DEVICE)),
                                                    .axes = pk_strdup(r->a, column(c, AXES)),
                                                    .identity = pk_strdup(r->a, column(c, IDENTITY))}};
}

static enum pk_code read_cases(struct pk_store *s, struct figure_reader *r, struct pk_err *err)
{
    sqlite3_stmt *c;
    int rc;
    if (find_range(s, r, "case_range", FIRST_CASE, err) ||
        find_range(s, r, "slice_range", FIRST_SLICE, err) ||
        pk_db_prepare(s, pk_db_statement("cases_of_range"), r->run, PARAMS, &c, err))
        return err->code;
    while ((rc = sqlite3_step(c)) == SQLITE_ROW)
        take_case(r, c);
    sqlite3_finalize(c);
    return rc == SQLITE_DONE ? PK_OK : pk_db_fail(s, err);
}

/* --- slices --------------------------------------------------------------------------------------------------------- */

static struct gathered *gathered_of(struct figure_reader *r, struct of_case *c, size_t metric)
{
    struct gathered **at = &c->metrics;
    while (*at && (*at)->metric != metric)
        at = &(*at)->next;
    if (*at)
        return *at;
    *at = pk_new(&r->own, struct gathered);
    **at = (struct gathered){.metric = metric, .end = &(*at)->first};
    r->n_figures++;
    return *at;
}

static enum pk_code take_figure(struct figure_reader *r, struct of_case *c, int64_t invocation,
                                sqlite3_stmt *f, struct pk_err *err)
{
    const int64_t id = sqlite3_column_int64(f, METRIC);
    size_t metric;
    if (!c || sqlite3_column_type(f, FIGURE) == SQLITE_NULL)
        return PK_OK;
    if (!place_of(&r->metric_ids, id, &metric))
        return pk_db_no_parent(r->s, "slice_summary", sqlite3_column_int64(f, OF_SLICE), "metric", id, err);
    struct gathered *g = gathered_of(r, c, metric);
    struct process_figure *p = pk_new(&r->own, struct process_figure);
    *p = (struct process_figure){.figure = sqlite3_column_double(f, FIGURE),
                                 .invocation = invocation,
                                 .samples = sqlite3_column_int64(f, SAMPLES)};
    for (int t = 0; t < PK_TAILS; t++)
        p->tail[t] = sqlite3_column_type(f, FIRST_TAIL + t) == SQLITE_NULL
                         ? NAN
                         : sqlite3_column_double(f, FIRST_TAIL + t);
    *g->end = p;
    g->end = &p->next;
    g->n++;
    return PK_OK;
}

/* Two statements in step: slices, and what is summed up of each. */
static enum pk_code read_slices(struct pk_store *s, struct figure_reader *r, struct pk_err *err)
{
    sqlite3_stmt *l = NULL, *f = NULL;
    enum pk_code code = pk_db_prepare(s, pk_db_statement("slices_of_range"), r->run, PARAMS, &l, err);
    if (!code)
        code = pk_db_prepare(s, pk_db_statement("figures_of_range"), r->run, PARAMS, &f, err);
    int figure = code ? SQLITE_DONE : sqlite3_step(f);
    while (!code && sqlite3_step(l) == SQLITE_ROW) {
        const int64_t id = sqlite3_column_int64(l, SLICE_ID);
        size_t place;
        struct of_case *c =
            place_of(&r->case_ids, sqlite3_column_int64(l, OF_CASE), &place) ? &r->cases[place] : NULL;
        bool judged = false; /* those of a gate's first processes are not (warm-up) */
        for (; !code && figure == SQLITE_ROW && sqlite3_column_int64(f, OF_SLICE) <= id;
             figure = sqlite3_step(f))
            if (sqlite3_column_int64(f, OF_SLICE) == id) {
                code = take_figure(r, c, sqlite3_column_int64(l, INVOCATION), f, err);
                judged = true;
            }
        if (c) { /* as v_case decides: any timing slice that did not end ok spoils it, except one that was interrupted */
            const char *status = column(l, STATUS);
            const bool ok = strcmp(status, "ok") == 0;
            c->ok += ok;
            c->spoiled += !ok && strcmp(status, "interrupted") != 0;
            c->judged += ok && judged;
            c->unstable += ok && judged && pk_notes_unstable(column(l, NOTES));
        }
    }
    /* SQLite's error is that of its last call, which may be the step of the other statement: reset gives each its own again */
    if (!code && (sqlite3_reset(l) != SQLITE_OK || sqlite3_reset(f) != SQLITE_OK))
        code = pk_db_fail(s, err);
    sqlite3_finalize(l);
    sqlite3_finalize(f);
    return code;
}

/* --- the result ----------------------------------------------------------------------------------------------------- */

static int by_invocation(const void *x, const void *y)
{
    const struct process_figure *const *a = x, *const *b = y;
    return ((*a)->invocation > (*b)->invocation) - ((*a)->invocation < (*b)->invocation);
}

static const struct process_figure **in_order_of_invocations(struct figure_reader *r,
                                                             const struct gathered *g)
{
    const struct process_figure **v = pk_new_n(&r->own, const struct process_figure *, g->n + 1);
    size_t n = 0;
    for (const struct process_figure *p = g->first; p; p = p->next)
        v[n++] = p;
    qsort(v, n, sizeof *v, by_invocation);
    return v;
}

static const double *tails_of(struct figure_reader *r, const struct process_figure *const *v, size_t n, int t)
{
    double *tails = NULL;
    for (size_t i = 0; i < n; i++)
        if (!isnan(v[i]->tail[t]) && !tails)
            tails = pk_new_n(r->a, double, n);
    for (size_t i = 0; tails && i < n; i++)
        tails[i] = v[i]->tail[t];
    return tails;
}

static struct pk_figures figures_of(struct figure_reader *r, const struct of_case *c,
                                    const struct gathered *g)
{
    struct pk_figures f = c->f;
    const struct pk_figures *m = &r->metrics[g->metric];
    f.metric = m->metric;
    f.unit = m->unit;
    f.direction = m->direction;
    f.class = m->class;
    f.source = m->source;
    f.n = f.measured = g->n;
    f.processes = c->judged;
    f.unstable = 2 * c->unstable > c->judged;
    const struct process_figure **v = in_order_of_invocations(r, g);
    double *figure = pk_new_n(r->a, double, g->n);
    int64_t *invocation = pk_new_n(r->a, int64_t, g->n);
    for (size_t i = 0; i < g->n; i++)
        figure[i] = v[i]->figure;
    f.median = pk_summarize(figure, g->n).median; /* it sorts */
    for (size_t i = 0; i < g->n; i++) {
        figure[i] = v[i]->figure;
        invocation[i] = v[i]->invocation;
        if (!i || (size_t)v[i]->samples < f.samples)
            f.samples = (size_t)v[i]->samples;
    }
    for (int t = 0; t < PK_TAILS; t++)
        f.tail[t] = tails_of(r, v, g->n, t);
    f.figure = figure;
    f.invocation = invocation;
    return f;
}

static int by_name(const void *x, const void *y)
{
    const struct pk_figures *a = x, *b = y;
    int c = strcmp(a->metric, b->metric);
    return c ? c : strcmp(a->unit, b->unit);
}

static int by_ordinal(const void *x, const void *y)
{
    const struct of_case *a = x, *b = y;
    return (a->f.ordinal > b->f.ordinal) - (a->f.ordinal < b->f.ordinal);
}

static struct pk_figures *put_together(struct figure_reader *r, size_t *n, int64_t *cases_ok)
{
    struct pk_figures *v = pk_new_n(r->a, struct pk_figures, r->n_figures + 1);
    bool in_order = true;
    for (size_t i = 1; i < r->n_cases && in_order; i++)
        in_order = by_ordinal(&r->cases[i - 1], &r->cases[i]) <= 0;
    if (!in_order)
        qsort(r->cases, r->n_cases, sizeof *r->cases, by_ordinal);
    for (size_t i = 0; i < r->n_cases; i++) {
        const struct of_case *c = &r->cases[i];
        const size_t first = *n;
        if (c->spoiled)
            continue;
        *cases_ok += c->ok > 0;
        for (const struct gathered *g = c->metrics; g; g = g->next)
            v[(*n)++] = figures_of(r, c, g);
        qsort(v + first, *n - first, sizeof *v, by_name);
    }
    return v;
}

enum pk_code pk_store_figures(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                              struct pk_figures **figures, size_t *n, int64_t *cases_ok, struct pk_err *err)
{
    struct figure_reader r = {.s = s, .a = a, .index = {.arena = a}, .run = {pk_param_int(":run", run_id)}};
    *figures = NULL;
    *n = 0;
    *cases_ok = 0;
    enum pk_code code = read_metrics(s, &r, err);
    if (!code)
        code = read_cases(s, &r, err);
    if (!code)
        code = read_slices(s, &r, err);
    if (!code)
        *figures = put_together(&r, n, cases_ok);
    pk_arena_free(&r.own);
    return code;
}
