/* History, rows: a table of all series, then one table per series with a line per run. */
#include "cmd/history/rows.h"

#include "base/buf.h"
#include "base/plural.h"
#include "cmd/compare/value_column.h"
#include "cmd/history/plot.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_SERIES = 20, MOST_LINES = 40, BAR = 16, SPARK = 40, DATE = 10 };

static struct pk_cell text(const char *s)
{
    return (struct pk_cell){.type = s && *s ? PK_CELL_TEXT : PK_CELL_NULL, .s = s};
}

static struct pk_cell whole(int64_t i)
{
    return (struct pk_cell){.type = PK_CELL_INT, .i = i};
}

static struct pk_cell real(double f)
{
    return (struct pk_cell){.type = PK_CELL_REAL, .f = f};
}

/* People do not read a thousandth of a percent. */
static struct pk_cell change_cell(double change, const struct pk_history_view *view)
{
    return real(view->people ? round(1000 * change) / 1000 + 0.0 : change);
}

static int64_t run_id(const struct pk_history_view *view, const struct pk_history_series *s, size_t point)
{
    return view->runs[s->points[point].run].facts.run_id;
}

/* --- all series ------------------------------------------------------------------------------------------------------- */

enum {
    VARIANT,
    PLACE,
    METRIC,
    UNIT,
    DIRECTION,
    DEVICE,
    AXES,
    SETUP,
    RUNS,
    FIRST_RUN,
    LAST_RUN,
    STEPS,
    CHANGE,
    WORDS,
    SPARKLINE,
    SERIES_COLUMNS
};

static const struct pk_column series_columns[SERIES_COLUMNS] = {
    [VARIANT] = {.key = "variant", .heading = "Variant", .left = true},
    [PLACE] = {.key = "case", .heading = "Case", .left = true},
    [METRIC] = {.key = "metric", .heading = "Metric", .left = true},
    [UNIT] = {.key = "unit", .heading = "Unit", .left = true, .machine = true},
    [DIRECTION] = {.key = "direction", .heading = "Direction", .left = true, .machine = true},
    [DEVICE] = {.key = "device", .heading = "Device", .left = true, .machine = true},
    [AXES] = {.key = "axes", .heading = "Axes", .left = true, .json = true, .machine = true},
    [SETUP] = {.key = "setup", .heading = "Setup", .decimals = -1},
    [RUNS] = {.key = "runs", .heading = "Runs", .decimals = -1},
    [FIRST_RUN] = {.key = "first_run", .heading = "First", .decimals = -1, .machine = true},
    [LAST_RUN] = {.key = "last_run", .heading = "Last", .decimals = -1, .machine = true},
    [STEPS] = {.key = "steps", .heading = "Steps", .decimals = -1, .machine = true},
    [CHANGE] = {.key = "change", .heading = "Last / first (%)", .scale = 0.01, .decimals = 1, .optional = 1},
    [WORDS] = {.key = "words", .heading = "What happened", .left = true},
    [SPARKLINE] = {.key = "plot", .heading = "Plot", .left = true, .optional = 2},
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

static const char *sparkline(const struct pk_history_series *s, double min_effect, struct pk_arena *a)
{
    size_t from = s->n > SPARK ? s->n - SPARK : 0;
    double *v = pk_new_n(a, double, s->n);
    for (size_t i = from; i < s->n; i++)
        v[i - from] = s->points[i].f->median;
    const struct range r = range_of(s, from, min_effect);
    return pk_plot_spark(v, s->n - from, r.lo, r.hi, pk_plot_blocks(), a);
}

static void series_row(struct pk_out *out, const struct pk_history_series *s,
                       const struct pk_history_view *view, struct pk_arena *a)
{
    const struct pk_figures *f = s->newest;
    double first = s->points[0].f->median;
    pk_out_row(out, (struct pk_cell[SERIES_COLUMNS]){
                        [VARIANT] = text(f->variant),
                        [PLACE] = text(s->place),
                        [METRIC] = text(f->metric),
                        [UNIT] = text(f->unit),
                        [DIRECTION] = text(f->direction),
                        [DEVICE] = text(f->device),
                        [AXES] = text(f->axes),
                        [SETUP] = whole((int64_t)s->setup),
                        [RUNS] = whole((int64_t)s->n),
                        [FIRST_RUN] = whole(run_id(view, s, 0)),
                        [LAST_RUN] = whole(run_id(view, s, s->n - 1)),
                        [STEPS] = whole((int64_t)s->n_steps),
                        [CHANGE] = change_cell(first > 0 ? f->median / first - 1 : NAN, view),
                        [WORDS] = text(pk_history_words(s, view->runs, view->min_effect, a)),
                        [SPARKLINE] = text(view->people ? sparkline(s, view->min_effect, a) : NULL),
                    });
}

/* "Setup 2 (4 runs, from run 11): cpu A → B; setting threads 2 → 4". */
static void setup_notes(struct pk_out *out, const struct pk_history *h, const struct pk_history_view *view,
                        struct pk_arena *a)
{
    for (size_t i = 1; i < h->n_setups; i++) {
        const struct pk_setup *s = &h->setups[i];
        struct pk_buf b = {.arena = a};
        pk_buf_printf(&b, "Setup %zu (%s, from run %" PRId64 ") is not setup %zu: ", i + 1,
                      pk_plural(s->runs, "run", a), view->runs[s->first].facts.run_id, i);
        for (size_t k = 0; k < s->n_differences; k++)
            pk_buf_printf(&b, "%s%s", k ? "; " : "", s->differences[k]);
        pk_buf_char(&b, '.');
        pk_out_note(out, pk_buf_text(&b));
    }
    if (h->n_setups > 1)
        pk_out_note(out, "Runs of different setups are never compared with each other.");
    if (h->left_out)
        pk_out_note(out, pk_printf(a, "%s with a single run of one setup left out.",
                                   pk_plural(h->left_out, "case", a)));
}

static void series_table(struct pk_out *out, const struct pk_history *h, const struct pk_history_view *view,
                         struct pk_arena *a)
{
    struct pk_column cols[SERIES_COLUMNS];
    memcpy(cols, series_columns, sizeof cols);
    cols[SETUP].machine = h->n_setups < 2;
    const char *title = pk_printf(a, "%s over its runs", view->experiment);
    if (*h->common)
        title = pk_printf(a, "%s, all with %s", title, h->common);
    pk_out_table(out, "series", title, cols, view->people ? SERIES_COLUMNS : SPARKLINE);
    size_t shown = view->people && !view->all && h->n > MOST_SERIES ? MOST_SERIES : h->n;
    for (size_t i = 0; i < shown; i++)
        series_row(out, &h->v[i], view, a);
    if (shown < h->n)
        pk_out_note(out, pk_printf(a, "%s more; --all shows them, --filter and --metric choose.",
                                   pk_plural(h->n - shown, "case", a)));
    setup_notes(out, h, view, a);
}

/* --- one series --------------------------------------------------------------------------------------------------------- */

enum {
    RUN_VARIANT,
    RUN_PLACE,
    RUN_METRIC,
    RUN_AXES,
    RUN_SETUP,
    RUN,
    STARTED,
    LABEL,
    COMMIT,
    MEDIAN,
    HALF_WIDTH,
    RUN_CHANGE,
    STEP,
    STEP_P,
    BARS,
    RUN_COLUMNS
};

static const struct pk_column run_columns[RUN_COLUMNS] = {
    [RUN_VARIANT] = {.key = "variant", .heading = "Variant", .left = true, .machine = true},
    [RUN_PLACE] = {.key = "case", .heading = "Case", .left = true, .machine = true},
    [RUN_METRIC] = {.key = "metric", .heading = "Metric", .left = true, .machine = true},
    [RUN_AXES] = {.key = "axes", .heading = "Axes", .left = true, .json = true, .machine = true},
    [RUN_SETUP] = {.key = "setup", .heading = "Setup", .decimals = -1, .machine = true},
    [RUN] = {.key = "run_id", .heading = "Run", .decimals = -1},
    [STARTED] = {.key = "started_at", .heading = "Date (UTC)", .left = true, .optional = 3},
    [LABEL] = {.key = "label", .heading = "Label", .left = true, .optional = 2},
    [COMMIT] = {.key = "git_commit", .heading = "Commit", .left = true},
    [MEDIAN] = {.key = "median", .heading = "Median", .decimals = -1},
    [HALF_WIDTH] = {.key = "uncertainty", .heading = "± %", .scale = 0.01, .decimals = 1, .optional = 1},
    [RUN_CHANGE] = {.key = "change", .heading = "Change (%)", .scale = 0.01, .decimals = 1},
    [STEP] = {.key = "step", .heading = "Step (%)", .scale = 0.01, .decimals = 1},
    [STEP_P] = {.key = "step_p", .heading = "p", .machine = true},
    [BARS] = {.key = "plot", .heading = "Plot", .left = true, .optional = 4},
};

static const struct pk_step *step_at(const struct pk_history_series *s, size_t point)
{
    for (size_t i = 0; i < s->n_steps; i++)
        if (s->steps[i].at == point)
            return &s->steps[i];
    return NULL;
}

static void run_row(struct pk_out *out, const struct pk_history_series *s, size_t i,
                    const struct pk_history_view *view, struct range r, struct pk_arena *a)
{
    const struct pk_history_point *p = &s->points[i];
    const struct pk_run_facts *run = &view->runs[p->run].facts;
    const struct pk_step *step = step_at(s, i);
    pk_out_row(out,
               (struct pk_cell[RUN_COLUMNS]){
                   [RUN_VARIANT] = text(p->f->variant),
                   [RUN_PLACE] = text(s->place),
                   [RUN_METRIC] = text(p->f->metric),
                   [RUN_AXES] = text(p->f->axes),
                   [RUN_SETUP] = whole((int64_t)s->setup),
                   [RUN] = whole(run->run_id),
                   [STARTED] = text(view->people ? pk_strndup(a, run->started_at, DATE) : run->started_at),
                   [LABEL] = text(run->label),
                   [COMMIT] = text(run->git_commit),
                   [MEDIAN] = real(p->f->median),
                   [HALF_WIDTH] = real(p->uncertainty),
                   [RUN_CHANGE] = change_cell(p->change, view),
                   [STEP] = change_cell(step ? step->change : NAN, view),
                   [STEP_P] = real(step ? step->p : NAN),
                   [BARS] = text(
                       view->people ? pk_plot_bar(p->f->median, r.lo, r.hi, BAR, pk_plot_blocks(), a) : NULL),
               });
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
    struct pk_column cols[RUN_COLUMNS];
    const struct range r = range_of(s, 0, view->min_effect);
    const char *unit = s->newest->unit;
    memcpy(cols, run_columns, sizeof cols);
    pk_value_column(&cols[MEDIAN], unit, r.lo, a);
    pk_out_table(out, pk_printf(a, "history%s", pk_key_tail(unit, a)), series_title(h, s, a), cols,
                 view->people ? RUN_COLUMNS : BARS);
    for (size_t i = 0; i < s->n; i++)
        run_row(out, s, i, view, r, a);
    if (view->people)
        pk_out_note(out, pk_history_words(s, view->runs, view->min_effect, a));
}

void pk_history_print(struct pk_out *out, const struct pk_history *h, const struct pk_history_view *view,
                      struct pk_arena *a)
{
    size_t lines = 0, i = 0;
    series_table(out, h, view, a);
    for (; i < h->n; i++) {
        lines += h->v[i].n;
        if (i && lines > MOST_LINES && view->people && !view->all)
            break;
        run_table(out, h, &h->v[i], view, a);
    }
    if (!view->people)
        return;
    pk_out_note(out, "Bars do not start at zero. Change is against the run before, step is what lasts.");
    if (i < h->n)
        pk_out_note(out, pk_printf(a, "Run by run: %zu of %zu; --all shows the others.", i, h->n));
}
