/* History: runs sorted into setups, series gathered from them, their change points, their order, and what they did in words. */
#include "judge/history/history.h"

#include "base/index.h"
#include "base/text/buf.h"
#include "base/text/units.h"
#include "judge/pair/pair.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum pk_code pk_history_read(struct pk_store *s, const struct pk_run_wanted *wanted, const int64_t *ids,
                             size_t n, struct pk_arena *a, struct pk_history_run **runs, struct pk_err *err)
{
    if (n < 2) {
        pk_fail(err, PK_E_NOTHING, "%s has no history yet", wanted->experiment);
        pk_why(err, "%s of it%s%s is complete, and a history needs two", n ? "one run" : "no run",
               wanted->label ? " with this label" : "", wanted->gates ? "" : ", without sides of gates,");
        return pk_fix(err, wanted->gates ? "measure it once more" : "measure it once more, or add --gates");
    }
    *runs = pk_new_n(a, struct pk_history_run, n);
    for (size_t i = 0; i < n; i++) {
        struct pk_history_run *r = &(*runs)[i];
        struct pk_figures *v;
        if (pk_store_run_facts(s, ids[i], a, &r->facts, err) ||
            pk_store_figures(s, ids[i], a, &v, &r->figures.n, &r->facts.cases_ok, err) ||
            (wanted->gates && pk_store_read_verdicts(s, ids[i], a, &r->verdicts, &r->n_verdicts, err)))
            return err->code;
        r->figures.v = v;
    }
    return PK_OK;
}

/* --- setups: runs that were measured under the same conditions --- */

static bool same_setup(const struct pk_run_facts *x, const struct pk_run_facts *y, struct pk_arena *a)
{
    const char *const *differences;
    return (!strcmp(x->machine, y->machine) && !strcmp(x->settings, y->settings) &&
            !strcmp(x->worker_facts, y->worker_facts)) ||
           !pk_compare_setups(x, y, a, &differences);
}

static size_t setups_of(const struct pk_history_run *runs, size_t n, size_t *setup_of, struct pk_arena *a,
                        const struct pk_setup **setups)
{
    struct pk_setup *v = pk_new_n(a, struct pk_setup, n + 1);
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < found && !same_setup(&runs[v[k].first].facts, &runs[i].facts, a))
            k++;
        if (k == found) {
            v[found] = (struct pk_setup){.first = i};
            if (found)
                v[found].n_differences = pk_compare_setups(&runs[v[found - 1].first].facts, &runs[i].facts, a,
                                                           &v[found].differences);
            found++;
        }
        v[k].runs++;
        setup_of[i] = k + 1;
    }
    *setups = v;
    return found;
}

/* --- series --- */

struct series_builder {
    const char *key;
    struct pk_history_series s;
    struct pk_history_point *points; /* newest first */
    size_t cap;
};

struct series_set {
    struct pk_arena *a;
    struct pk_index index;
    struct series_builder *v;
    size_t n, cap;
};

struct series_key {
    const struct series_set *g;
    const char *key;
};

static bool same_series(const void *wanted, uint32_t row)
{
    const struct series_key *w = wanted;
    return strcmp(w->g->v[row].key, w->key) == 0;
}

static struct series_builder *series_of(struct series_set *g, const struct pk_figures *f, size_t setup)
{
    const char *key = pk_printf(g->a, "%zu\x1f%s", setup, pk_key_between_runs(f, g->a));
    const struct series_key w = {g, key};
    uint32_t row =
        pk_index_row(&g->index, pk_hash_bytes(0, key, strlen(key)), same_series, &w, (uint32_t)g->n);
    if (row == g->n) {
        g->v = pk_grow(g->a, g->v, sizeof *g->v, g->n, &g->cap);
        g->v[g->n++] = (struct series_builder){
            .key = key, .s = {.newest = f, .place = "", .setup = setup, .exact = pk_figures_exact(f)}};
    }
    return &g->v[row];
}

/* As the gate stored it: nothing is judged again. */
static const char *verdict_of(const struct pk_history_run *run, const struct pk_figures *f)
{
    for (size_t i = 0; i < run->n_verdicts; i++)
        if (run->verdicts[i].ordinal == f->ordinal && strcmp(run->verdicts[i].metric, f->metric) == 0)
            return pk_verdict_name(run->verdicts[i].decision.verdict);
    return NULL;
}

static void gather_run(struct series_set *g, const struct pk_history_run *run, size_t index, size_t setup,
                       const struct pk_history_options *o, const struct pk_case_filter *filter)
{
    for (size_t i = 0; i < run->figures.n; i++) {
        const struct pk_figures *f = &run->figures.v[i];
        if (!pk_compare_selects(&run->figures, f, &o->what, g->a) || !pk_case_wanted(filter, f, g->a))
            continue;
        struct series_builder *s = series_of(g, f, setup);
        if (s->s.n && s->points[s->s.n - 1].run == index)
            continue; /* the same case on another device of one class: the first counts */
        s->points = pk_grow(g->a, s->points, sizeof *s->points, s->s.n, &s->cap);
        s->points[s->s.n++] =
            (struct pk_history_point){.run = index, .f = f, .verdict = verdict_of(run, f), .change = NAN};
    }
}

/* Points into time order, then what follows from their values. */
static void finish_series(struct series_builder *g, double min_effect, struct pk_arena *a)
{
    struct pk_history_series *s = &g->s;
    double *v = pk_new_n(a, double, s->n);
    for (size_t i = 0; i < s->n / 2; i++) {
        struct pk_history_point p = g->points[i];
        g->points[i] = g->points[s->n - 1 - i];
        g->points[s->n - 1 - i] = p;
    }
    for (size_t i = 0; i < s->n; i++) {
        v[i] = g->points[i].f->median;
        g->points[i].uncertainty = pk_figures_uncertainty(g->points[i].f);
        if (i && v[i - 1] > 0)
            g->points[i].change = v[i] / v[i - 1] - 1;
    }
    s->points = g->points;
    s->n_change_points = pk_find_change_points(v, s->n, min_effect, s->exact, a, &s->change_points);
    size_t from = s->n_change_points ? s->change_points[s->n_change_points - 1].at : 0;
    s->trend = s->exact ? 0 : pk_find_trend(v + from, s->n - from, min_effect);
}

/* --- order ---------------------------------------------------------------------------------------------------------- */

struct series_rank {
    struct pk_history_series s;
    double change, trend;
    size_t order;
};

static int by_importance(const void *x, const void *y)
{
    const struct series_rank *a = x, *b = y;
    if (a->change != b->change)
        return a->change < b->change ? 1 : -1;
    if (a->trend != b->trend)
        return a->trend < b->trend ? 1 : -1;
    return (a->order > b->order) - (a->order < b->order);
}

static void sort(struct pk_history_series *v, size_t n, struct pk_arena *a)
{
    struct series_rank *r = pk_new_n(a, struct series_rank, n + 1);
    for (size_t i = 0; i < n; i++) {
        double largest = 0;
        for (size_t k = 0; k < v[i].n_change_points; k++) {
            const double change = v[i].change_points[k].change;
            largest = fmax(largest, isnan(change) ? INFINITY : fabs(log1p(change)));
        }
        r[i] = (struct series_rank){v[i], largest, fabs(v[i].trend), i};
    }
    qsort(r, n, sizeof *r, by_importance);
    for (size_t i = 0; i < n; i++)
        v[i] = r[i].s;
}

/* --- all of it -------------------------------------------------------------------------------------------------------- */

static struct pk_compare_side all_figures(const struct pk_history_run *runs, size_t n, const char *experiment,
                                          struct pk_arena *a)
{
    size_t total = 0;
    for (size_t i = 0; i < n; i++)
        total += runs[i].figures.n;
    struct pk_figures *v = pk_new_n(a, struct pk_figures, total + 1);
    total = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < runs[i].figures.n; k++)
            v[total++] = runs[i].figures.v[k];
    return (struct pk_compare_side){
        .name = pk_printf(a, "the history of %s", experiment), .v = v, .n = total};
}

static enum pk_code no_history(size_t n_runs, const char *experiment, const struct series_set *g,
                               size_t setups, const char *filter, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "%s has no history yet", experiment);
    if (!g->n && filter)
        pk_why(err, "no case that ended ok matches '%.200s'", filter);
    else if (!g->n)
        pk_why(err, "no case of its %zu runs ended ok with this metric", n_runs);
    else if (setups > 1)
        pk_why(err, "no two of its %zu runs measured the same case with the same machine and settings",
               n_runs);
    else
        pk_why(err, "no two of its %zu runs measured the same case", n_runs);
    return !g->n && filter
               ? pk_fix(err, "`perfkit history %s` without a filter shows its cases", experiment)
               : pk_fix(err, "`perfkit list runs` lists the runs; measure once more with the same settings");
}

enum pk_code pk_history_make(const struct pk_history_run *runs, size_t n, const char *experiment,
                             const struct pk_history_options *o, struct pk_arena *a, struct pk_history *out,
                             struct pk_err *err)
{
    struct series_set g = {.a = a, .index = {.arena = a}};
    struct pk_history_run *with_tails = pk_new_n(a, struct pk_history_run, n + 1);
    for (size_t i = 0; i < n; i++) {
        with_tails[i] = runs[i];
        with_tails[i].figures = pk_compare_with_tails(&runs[i].figures, &o->what, a);
    }
    const struct pk_compare_side all = all_figures(with_tails, n, experiment, a);
    size_t *setup_of = pk_new_n(a, size_t, n + 1);
    struct pk_case_filter *filter;
    *out = (struct pk_history){.common = ""};
    if (pk_compare_check_metrics(&all, &o->what, a, err) ||
        pk_case_filter_make(o->filter, all.v, all.n, a, &filter, err))
        return err->code;
    out->n_setups = setups_of(runs, n, setup_of, a, &out->setups);
    for (size_t i = n; i-- > 0;)
        gather_run(&g, &with_tails[i], i, setup_of[i], o, filter);
    out->v = pk_new_n(a, struct pk_history_series, g.n + 1);
    for (size_t i = 0; i < g.n; i++) {
        if (g.v[i].s.n < 2)
            continue;
        finish_series(&g.v[i], o->min_effect, a);
        out->v[out->n++] = g.v[i].s;
    }
    out->left_out = g.n - out->n;
    if (!out->n)
        return no_history(n, experiment, &g, out->n_setups, o->filter, err);
    struct pk_compared *rows = pk_new_n(a, struct pk_compared, out->n);
    for (size_t i = 0; i < out->n; i++)
        rows[i].new_ = out->v[i].newest;
    out->common = pk_compare_places(rows, out->n, NULL, a);
    for (size_t i = 0; i < out->n; i++)
        out->v[i].place = rows[i].place;
    sort(out->v, out->n, a);
    return PK_OK;
}

/* --- words --- */

static const struct pk_run_facts *run_at(const struct pk_history_series *s, const struct pk_history_run *runs,
                                         size_t point)
{
    return &runs[s->points[point].run].facts;
}

/* "+7.2 %, worse", or the two levels where a change has no ratio. */
static void put_change(struct pk_buf *b, const struct pk_history_series *s,
                       const struct pk_change_point *change_point)
{
    if (isnan(change_point->change)) {
        pk_buf_printf(b, "%.6g to %.6g", change_point->before, change_point->after);
        return;
    }
    char percent[32];
    double gain = pk_speedup(s->newest->direction, 1 + change_point->change);
    pk_buf_printf(b, "%s %%%s", pk_format_percent(change_point->change, percent, sizeof percent),
                  isnan(gain) ? ""
                  : gain > 1  ? ", better"
                              : ", worse");
}

bool pk_history_too_short(const struct pk_history_series *s)
{
    return !s->n_change_points && s->trend == 0 && !s->exact && s->n < PK_CHANGE_POINT_RUNS;
}

static const char *without_change_points(const struct pk_history_series *s, double min_effect,
                                         struct pk_arena *a)
{
    char percent[32];
    if (s->trend != 0)
        return pk_printf(a, "no change point, but a trend: %s %% over %zu runs",
                         pk_format_percent(s->trend, percent, sizeof percent), s->n);
    if (s->exact)
        return pk_printf(a, "no change in %zu runs", s->n);
    if (pk_history_too_short(s))
        return pk_printf(a, "%zu runs: too few to find a change point, which needs %d", s->n,
                         PK_CHANGE_POINT_RUNS);
    return pk_printf(a, "no change point of %g %% or more in %zu runs", 100 * min_effect, s->n);
}

const char *pk_history_words(const struct pk_history_series *s, const struct pk_history_run *runs,
                             double min_effect, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    char percent[32];
    if (!s->n_change_points)
        return without_change_points(s, min_effect, a);
    for (size_t i = 0; i < s->n_change_points; i++) {
        const struct pk_change_point *change_point = &s->change_points[i];
        const struct pk_run_facts *run = run_at(s, runs, change_point->at);
        pk_buf_printf(&b, "%srun %" PRId64, i ? "; " : "", run->run_id);
        if (run->git_commit)
            pk_buf_printf(&b, " (commit %s)", run->git_commit);
        pk_buf_str(&b, ": ");
        put_change(&b, s, change_point);
        if (change_point->until < s->n)
            pk_buf_printf(&b, ", until run %" PRId64, run_at(s, runs, change_point->until - 1)->run_id);
        else if (s->trend != 0)
            pk_buf_printf(&b, ", since then a trend, %s %%",
                          pk_format_percent(s->trend, percent, sizeof percent));
        else
            pk_buf_str(&b, ", since then stable");
    }
    return pk_buf_text(&b);
}
