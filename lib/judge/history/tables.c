/* History, tables: all series with a plot, then one table per series with a line per run. */
#include "judge/history/history.h"

#include "base/text/buf.h"
#include "base/text/words.h"
#include "judge/report/report.h"
#include "out/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_SERIES = 20, MOST_LINES = 40, MOST_ON_SCREEN = 20, BAR = 16, SPARK = 40, DATE = 10 };

/* People do not read a thousandth of a percent. */
static double shown_change(double change, const struct pk_history_view *view)
{
    return view->people ? round(1000 * change) / 1000 + 0.0 : change;
}

static int64_t run_id(const struct pk_history_view *view, const struct pk_history_series *s, size_t point)
{
    return view->runs[s->points[point].run].facts.run_id;
}

/* --- all series ------------------------------------------------------------------------------------------------------- */

static const struct pk_column series_columns[] = {
    {.key = "variant", .heading = "Variant", .left = true},
    PK_FIGURE_COLUMNS,
    {.key = "setup", .heading = "Setup", .decimals = -1},
    {.key = "runs", .heading = "Runs", .decimals = -1},
    {.key = "first_run", .heading = "First", .decimals = -1, .machine = true},
    {.key = "last_run", .heading = "Last", .decimals = -1, .machine = true},
    {.key = "steps", .heading = "Steps", .decimals = -1, .machine = true},
    {.key = "change", .heading = "Last / first (%)", .scale = 0.01, .decimals = 1, .optional = 1},
    {.key = "words", .heading = "What happened", .left = true},
    {.key = "plot", .heading = "Plot", .left = true, .optional = 2}, /* last: for people alone */
};

/* What a plot of points from `from` on spans: at least four times what is of interest, so that noise looks small. */
struct range {
    double lo, hi;
};

static struct range range_of(const struct pk_history_series *s, size_t from, double min_effect)
{
    double lo = INFINITY, hi = -INFINITY;
    for (size_t i = from; i < s->n; i++) {
        lo = fmin(lo, s->points[i].f->median);
        hi = fmax(hi, s->points[i].f->median);
    }
    double more = fmax(0, 2 * min_effect * fabs(lo + hi) / 2 - (hi - lo) / 2);
    return (struct range){lo - more, hi + more};
}

static size_t short_series(const struct pk_history *h)
{
    size_t n = 0;
    for (size_t i = 0; i < h->n; i++)
        n += pk_history_too_short(&h->v[i]);
    return n;
}

static const char *sparkline(const struct pk_history_series *s, double min_effect, struct pk_arena *a)
{
    size_t from = s->n > SPARK ? s->n - SPARK : 0;
    double *v = pk_new_n(a, double, s->n);
    for (size_t i = from; i < s->n; i++)
        v[i - from] = s->points[i].f->median;
    const struct range r = range_of(s, from, min_effect);
    return pk_text_spark(v, s->n - from, r.lo, r.hi, a);
}

static void series_row(struct pk_out *out, const struct pk_history_series *s,
                       const struct pk_history_view *view, struct pk_arena *a)
{
    const struct pk_figures *f = s->newest;
    double first = s->points[0].f->median;
    struct pk_row *row = pk_row_begin(out);
    pk_put_nonempty(row, "variant", f->variant);
    pk_put_figure(row, s->place, f);
    pk_put_int(row, "setup", (int64_t)s->setup);
    pk_put_int(row, "runs", (int64_t)s->n);
    pk_put_int(row, "first_run", run_id(view, s, 0));
    pk_put_int(row, "last_run", run_id(view, s, s->n - 1));
    pk_put_int(row, "steps", (int64_t)s->n_change_points);
    pk_put_real(row, "change", shown_change(first > 0 ? f->median / first - 1 : NAN, view));
    if (!view->screen || !pk_history_too_short(s))
        pk_put_nonempty(row, "words", pk_history_words(s, view->runs, view->min_effect, a));
    if (view->people)
        pk_put_nonempty(row, "plot", sparkline(s, view->min_effect, a));
    pk_row_end(row);
}

/* "Setup 2 (4 runs, from run 11): cpu A → B; setting threads 2 → 4". */
static void setup_notes(struct pk_out *out, const struct pk_history *h, const struct pk_history_view *view,
                        struct pk_arena *a)
{
    for (size_t i = 1; i < h->n_setups; i++) {
        const struct pk_setup *s = &h->setups[i];
        pk_out_note(out, pk_printf(a, "Setup %zu (%s, from run %" PRId64 ") is not setup %zu: %s.", i + 1,
                                   pk_plural(s->runs, "run", a), view->runs[s->first].facts.run_id, i,
                                   pk_list(s->differences, s->n_differences, "; ", a)));
    }
    if (h->n_setups > 1)
        pk_out_note(out, "Runs of different setups are never compared with each other.");
    if (h->left_out)
        pk_out_note(out, pk_printf(a, "%s with a single run of one setup omitted.",
                                   pk_plural(h->left_out, "case", a)));
}

static void series_table(struct pk_out *out, const struct pk_history *h, const struct pk_history_view *view,
                         struct pk_arena *a)
{
    const size_t n = sizeof series_columns / sizeof *series_columns;
    struct pk_column *cols = pk_columns_copy(a, series_columns, n);
    const size_t n_short = short_series(h); /* a screen is told once, other formats in the words of each */
    pk_column_of(cols, n, "words")->machine = view->screen && n_short == h->n;
    pk_column_of(cols, n, "setup")->machine = h->n_setups < 2;
    const char *title = pk_printf(a, "%s over its runs", view->experiment);
    if (*h->common)
        title = pk_printf(a, "%s, all with %s", title, h->common);
    pk_out_detail(out, h->n == 1); /* whose runs are the headline */
    pk_out_table(out, "series", title, cols, view->people ? n : n - 1);
    size_t shown = view->people && !view->all && h->n > MOST_SERIES ? MOST_SERIES : h->n;
    if (h->n > 1)
        pk_out_fit(out);
    for (size_t i = 0; i < shown; i++)
        series_row(out, &h->v[i], view, a);
    pk_out_detail(out, false);
    if (shown < h->n)
        pk_out_note(out, pk_printf(a, "%s more; --all shows them, --filter and --metric choose.",
                                   pk_plural(h->n - shown, "case", a)));
    if (view->screen && n_short)
        pk_out_note(out, pk_printf(a, "Too few runs to find a change point, which needs %d: %s%s.",
                                   PK_CHANGE_POINT_RUNS,
                                   n_short == h->n ? "all cases" : pk_plural(n_short, "case", a),
                                   n_short == h->n ? "" : pk_printf(a, " of %zu", h->n)));
    setup_notes(out, h, view, a);
}

/* --- one series --------------------------------------------------------------------------------------------------------- */

static const struct pk_column run_columns[] = {
    {.key = "variant", .heading = "Variant", .left = true, .machine = true},
    {.key = "case", .heading = "Case", .left = true, .machine = true},
    {.key = "metric", .heading = "Metric", .left = true, .machine = true},
    {.key = "axes", .heading = "Axes", .left = true, .json = true, .machine = true},
    {.key = "setup", .heading = "Setup", .decimals = -1, .machine = true},
    {.key = "run_id", .heading = "Run", .decimals = -1},
    {.key = "started_at", .heading = "Date (UTC)", .left = true, .optional = 3},
    {.key = "label", .heading = "Label", .left = true, .optional = 2},
    {.key = "git_commit", .heading = "Commit", .left = true},
    {.key = "median", .heading = "Median", .decimals = -1},
    {.key = "uncertainty", .heading = "± %", .scale = 0.01, .decimals = 1, .optional = 1},
    {.key = "change", .heading = "Change (%)", .scale = 0.01, .decimals = 1},
    {.key = "step", .heading = "Change point (%)", .scale = 0.01, .decimals = 1},
    {.key = "step_p", .heading = "p", .machine = true},
    {.key = "verdict", .heading = "Gate", .left = true, .state = true}, /* with --gates */
    {.key = "plot", .heading = "Plot", .left = true, .optional = 4},    /* last: for people alone */
};

static const struct pk_change_point *change_point_at(const struct pk_history_series *s, size_t point)
{
    for (size_t i = 0; i < s->n_change_points; i++)
        if (s->change_points[i].at == point)
            return &s->change_points[i];
    return NULL;
}

static void run_row(struct pk_out *out, const struct pk_history_series *s, size_t i,
                    const struct pk_history_view *view, double most, struct pk_arena *a)
{
    const struct pk_history_point *p = &s->points[i];
    const struct pk_run_facts *run = &view->runs[p->run].facts;
    const struct pk_change_point *change_point = change_point_at(s, i);
    struct pk_row *row = pk_row_begin(out);
    pk_put_nonempty(row, "variant", p->f->variant);
    pk_put_nonempty(row, "case", s->place);
    pk_put_nonempty(row, "metric", p->f->metric);
    pk_put_nonempty(row, "axes", p->f->axes);
    pk_put_int(row, "setup", (int64_t)s->setup);
    pk_put_int(row, "run_id", run->run_id);
    pk_put_nonempty(row, "started_at", view->people ? pk_strndup(a, run->started_at, DATE) : run->started_at);
    pk_put_nonempty(row, "label", run->label);
    pk_put_nonempty(row, "git_commit", run->git_commit);
    pk_put_real(row, "median", p->f->median);
    pk_put_real(row, "uncertainty", p->uncertainty);
    pk_put_real(row, "change", shown_change(p->change, view));
    pk_put_real(row, "step", shown_change(change_point ? change_point->change : NAN, view));
    pk_put_real(row, "step_p", change_point ? change_point->p : NAN);
    if (view->gates)
        pk_put_nonempty(row, "verdict", p->verdict);
    if (view->people)
        pk_put_nonempty(row, "plot", pk_text_bar(p->f->median, 0, most, BAR, a));
    pk_row_end(row);
}

static const char *series_title(const struct pk_history *h, const struct pk_history_series *s,
                                struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    pk_buf_printf(&b, "%s of %s", s->newest->metric, s->newest->variant);
    if (*s->place)
        pk_buf_printf(&b, " %s", s->place);
    if (h->n_setups > 1)
        pk_buf_printf(&b, ", setup %zu", s->setup);
    return pk_buf_text(&b);
}

static void run_table(struct pk_out *out, const struct pk_history *h, const struct pk_history_series *s,
                      const struct pk_history_view *view, struct pk_arena *a)
{
    size_t n = sizeof run_columns / sizeof *run_columns, judged = 0;
    struct pk_column *cols = pk_columns_copy(a, run_columns, n), *verdict = pk_column_of(cols, n, "verdict");
    double least = INFINITY, most = 0;
    const char *unit = s->newest->unit;
    for (size_t i = 0; i < s->n; i++) {
        judged += s->points[i].verdict != NULL;
        least = fmin(least, s->points[i].f->median);
        most = fmax(most, s->points[i].f->median);
    }
    verdict->machine = !judged;
    if (!view->gates)
        *verdict = cols[--n];
    pk_value_column(pk_column_of(cols, n, "median"), unit, least, a);
    pk_out_table(out, pk_printf(a, "history%s", pk_key_tail(unit, a)), series_title(h, s, a), cols,
                 view->people ? n : n - 1);
    for (size_t i = 0; i < s->n; i++)
        run_row(out, s, i, view, most, a);
    if (h->n == 1)
        pk_out_fit(out);
    if (view->people && (!view->screen || !pk_history_too_short(s)))
        pk_out_note(out, pk_history_words(s, view->runs, view->min_effect, a));
}

/* "3 of 16 cases changed lastingly." */
static const char *changed_cases(const struct pk_history *h, struct pk_arena *a)
{
    size_t changed = 0;
    for (size_t i = 0; i < h->n; i++)
        changed += h->v[i].n_change_points > 0 || fabs(h->v[i].trend) > 0;
    return pk_printf(a, "%zu of %s changed lastingly.", changed, pk_plural(h->n, "case", a));
}

void pk_history_print(struct pk_out *out, const struct pk_history *h, const struct pk_history_view *view,
                      struct pk_arena *a)
{
    size_t lines = view->screen ? h->n < MOST_SERIES ? h->n : MOST_SERIES : 0, i = 0;
    if (pk_out_is_shortened(out) && short_series(h) < h->n)
        pk_out_note(out, changed_cases(h, a));
    series_table(out, h, view, a);
    pk_out_detail(out, h->n > 1);
    for (; i < h->n; i++) {
        lines += h->v[i].n;
        if (i && lines > (view->screen ? MOST_ON_SCREEN : MOST_LINES) && view->people && !view->all)
            break;
        run_table(out, h, &h->v[i], view, a);
    }
    if (!view->people)
        return;
    pk_out_detail(out, true);
    pk_out_note(out, "Bars start at zero, the plots of all cases do not. ± is that of the median over the "
                     "processes of a run. Change is "
                     "against the previous run.");
    if (i < h->n)
        pk_out_note(out, pk_printf(a, "Run by run: %zu of %zu; --all shows the others.", i, h->n));
}
