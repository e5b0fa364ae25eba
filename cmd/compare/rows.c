/* Compare, rows: case pairs and geometric means with their verdicts, one table per unit. */
#include "cmd/compare/rows.h"

#include "base/buf.h"
#include "base/plural.h"
#include "cmd/compare/value_column.h"
#include "judge/report/report.h"
#include "json/json.h"

#include <math.h>
#include <string.h>

#define COUNT(v) (sizeof(v) / sizeof *(v))

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

/* --- the runs ------------------------------------------------------------------------------------------------- */

static const struct pk_column run_columns[] = {
    {.key = "side", .heading = "Side", .left = true},
    {.key = "entry", .heading = "Entry", .left = true, .machine = true},
    {.key = "run_id", .heading = "Run", .decimals = -1},
    {.key = "label", .heading = "Label", .left = true},
    {.key = "started_at", .heading = "Started (UTC)", .left = true},
    {.key = "git_commit", .heading = "Commit", .left = true},
    {.key = "version", .heading = "perfkit", .left = true, .optional = 1},
    {.key = "status", .heading = "Status", .left = true},
    {.key = "cases", .heading = "Cases", .decimals = -1},
    {.key = "cases_ok", .heading = "OK", .decimals = -1},
};

void pk_compare_begin_runs(struct pk_out *out)
{
    pk_out_table(out, "runs", "Compared", run_columns, COUNT(run_columns));
}

void pk_compare_run_row(struct pk_out *out, const char *side, const struct pk_run_facts *r)
{
    pk_out_row(out, (struct pk_cell[]){text(side), text(r->entry), whole(r->run_id), text(r->label),
                                       text(r->started_at), text(r->git_commit), text(r->version),
                                       text(r->status), whole(r->cases), whole(r->cases_ok)});
}

void pk_compare_print_differences(struct pk_out *out, const char *const *differences, size_t n, bool refused,
                                  struct pk_arena *a)
{
    if (n)
        pk_out_note(out, "The setups differ: these ratios may not be due to the code.");
    for (size_t i = 0; i < n; i++)
        pk_out_note(out, pk_printf(a, "  %s", differences[i]));
    if (refused)
        pk_out_note(out, "No row is judged; --allow-host-mismatch judges them nevertheless.");
}

/* --- the pairs ------------------------------------------------------------------------------------------------ */

enum {
    ROW,
    ENTRY,
    EXPERIMENT,
    VARIANT,
    VALUE,
    PLACE,
    METRIC,
    UNIT,
    DIRECTION,
    DEVICE,
    AXES,
    BASE,
    NEW,
    RATIO,
    LOW,
    HIGH,
    SPEEDUP,
    VERDICT,
    SEES,
    NEEDS,
    P,
    P_ADJUSTED,
    REASON,
    DISTURBED,
    DIFFERENCE,
    DIFFERENCE_LOW,
    DIFFERENCE_HIGH,
    BASE_N,
    NEW_N,
    CASES,
    COLUMNS
};

static const struct pk_column columns[COLUMNS] = {
    [ROW] = {.key = "row", .heading = "Row", .left = true, .machine = true}, /* "case" or "geomean" */
    [ENTRY] = {.key = "entry", .heading = "Entry", .left = true},
    [EXPERIMENT] = {.key = "experiment", .heading = "Experiment", .left = true, .machine = true},
    [VARIANT] = {.key = "variant", .heading = "Variant", .left = true},
    [VALUE] = {.key = "value", .heading = "Value", .left = true, .machine = true},
    [PLACE] = {.key = "case", .heading = "Case", .left = true},
    [METRIC] = {.key = "metric", .heading = "Metric", .left = true},
    [UNIT] = {.key = "unit", .heading = "Unit", .left = true, .machine = true},
    [DIRECTION] = {.key = "direction", .heading = "Direction", .left = true, .machine = true},
    [DEVICE] = {.key = "device", .heading = "Device", .left = true, .machine = true},
    [AXES] = {.key = "axes", .heading = "Axes", .left = true, .json = true, .machine = true},
    [BASE] = {.key = "base", .heading = "Base", .decimals = -1},
    [NEW] = {.key = "new", .heading = "New", .decimals = -1},
    [RATIO] = {.key = "ratio", .heading = "New / base", .decimals = 3},
    [LOW] = {.key = "ratio_low", .heading = "95 % from", .decimals = 3, .optional = 3},
    [HIGH] = {.key = "ratio_high", .heading = "to", .decimals = 3, .optional = 3},
    [SPEEDUP] = {.key = "speedup", .heading = "Speed-up", .decimals = 2, .optional = 2},
    [VERDICT] = {.key = "verdict", .heading = "Verdict", .left = true},
    [SEES] = {.key = "mde", .heading = "MDE (%)", .scale = 0.01, .decimals = 1, .optional = 1},
    [NEEDS] = {.key = "needed", .heading = "Needs more", .decimals = -1, .optional = 1},
    [P] = {.key = "p", .heading = "p", .decimals = 4, .machine = true},
    [P_ADJUSTED] = {.key = "p_adjusted", .heading = "p adjusted", .decimals = 4, .machine = true},
    [REASON] = {.key = "reason", .heading = "Why", .left = true, .machine = true},
    [DISTURBED] = {.key = "disturbed", .heading = "Disturbed", .decimals = -1, .machine = true},
    /* in place of a ratio, where a figure is not positive */
    [DIFFERENCE] = {.key = "difference", .heading = "Difference", .machine = true},
    [DIFFERENCE_LOW] = {.key = "difference_low", .heading = "from", .machine = true},
    [DIFFERENCE_HIGH] = {.key = "difference_high", .heading = "to", .machine = true},
    [BASE_N] = {.key = "base_invocations", .heading = "n base", .decimals = -1, .optional = 1},
    [NEW_N] = {.key = "new_invocations", .heading = "n new", .decimals = -1, .optional = 1},
    [CASES] = {.key = "cases", .heading = "Cases", .decimals = -1, .machine = true},
};

static double smallest(const struct pk_comparison *c, const char *unit)
{
    double least = INFINITY;
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->v[i].new_->unit, unit) == 0)
            least = fmin(least, fmin(c->v[i].base->median, c->v[i].new_->median));
    }
    return least;
}

static bool several_experiments(const struct pk_comparison *c)
{
    for (size_t i = 1; i < c->n; i++) {
        if (strcmp(c->v[i].new_->experiment, c->v[0].new_->experiment) != 0)
            return true;
    }
    return false;
}

static void begin_table(struct pk_out *out, const struct pk_comparison *c, const char *by, const char *unit,
                        struct pk_arena *a)
{
    struct pk_column cols[COLUMNS];
    memcpy(cols, columns, sizeof cols);
    double least = smallest(c, unit);
    pk_value_column(&cols[BASE], unit, least, a);
    pk_value_column(&cols[NEW], unit, least, a);
    if (strcmp(unit, "ns") != 0)
        cols[SPEEDUP].heading = "Gain"; /* of bytes nothing becomes faster */
    cols[ENTRY].machine = !c->v[0].entry;
    cols[EXPERIMENT].machine = !several_experiments(c);
    if (by) {
        cols[VALUE].heading = by;
        cols[VALUE].machine = false;
        cols[VARIANT].machine = strcmp(by, "variant") == 0;
    }
    const char *title = by ? pk_printf(a, "Each %s against %s", by, c->base_value) : "New against base";
    if (*c->common)
        title = pk_printf(a, "%s, all with %s", title, c->common);
    pk_out_table(out, pk_printf(a, "compare%s", pk_key_tail(unit, a)), title, cols, COLUMNS);
}

static void ratio_cells(struct pk_cell *cells, const struct pk_ratio *r, double speedup)
{
    cells[RATIO] = real(r->ratio);
    cells[LOW] = real(r->ci.lo);
    cells[HIGH] = real(r->ci.hi);
    cells[SPEEDUP] = real(speedup);
    cells[P] = real(r->p);
}

/* A worsening of more than ten times is no figure to plan with: of two wild pairs it would have forty digits. */
static const double most_seen = 10;

static void verdict_cells(struct pk_cell *cells, const struct pk_compared *p)
{
    const struct pk_decision *d = &p->decision;
    if (!p->judged)
        return;
    cells[VERDICT] = text(pk_verdict_name(d->verdict));
    cells[REASON] = text(pk_reason_text(d->reason));
    cells[P_ADJUSTED] = real(d->p_adjusted);
    cells[DISTURBED] = whole((int64_t)d->disturbed);
    if (!d->absolute && d->mde <= most_seen)
        cells[SEES] = real(d->mde);
    if (d->needed && d->needed != PK_PAIRS_NEVER)
        cells[NEEDS] = whole((int64_t)d->needed);
    if (!d->absolute || isnan(d->ratio))
        return;
    cells[DIFFERENCE] = real(d->ratio);
    cells[DIFFERENCE_LOW] = real(d->ci.lo);
    cells[DIFFERENCE_HIGH] = real(d->ci.hi);
}

static void pair_row(struct pk_out *out, const struct pk_compared *p)
{
    const struct pk_figures *f = p->new_;
    struct pk_cell cells[COLUMNS] = {
        [ROW] = text("case"),
        [ENTRY] = text(p->entry),
        [EXPERIMENT] = text(f->experiment),
        [VARIANT] = text(f->variant),
        [VALUE] = text(p->value),
        [PLACE] = text(p->place),
        [METRIC] = text(f->metric),
        [UNIT] = text(f->unit),
        [DIRECTION] = text(f->direction),
        [DEVICE] = text(f->device),
        [AXES] = text(f->axes),
        [BASE] = real(p->base->median),
        [NEW] = real(f->median),
        [BASE_N] = whole((int64_t)p->base->n),
        [NEW_N] = whole((int64_t)f->n),
    };
    ratio_cells(cells, &p->ratio, p->speedup);
    verdict_cells(cells, p);
    pk_out_row(out, cells);
}

static void mean_row(struct pk_out *out, const struct pk_compare_mean *m, struct pk_arena *a)
{
    struct pk_cell cells[COLUMNS] = {
        [ROW] = text("geomean"),
        [VALUE] = text(m->value),
        [PLACE] = text(pk_printf(a, "geomean of %s", pk_plural(m->cases, "case", a))),
        [METRIC] = text(m->metric),
        [UNIT] = text(m->unit),
        [DIRECTION] = text(m->direction),
        [CASES] = whole((int64_t)m->cases),
    };
    ratio_cells(cells, &m->ratio, m->speedup);
    pk_out_row(out, cells);
}

static void unit_table(struct pk_out *out, const struct pk_comparison *c, const char *by, const char *unit,
                       struct pk_arena *a)
{
    begin_table(out, c, by, unit, a);
    for (size_t i = 0; i < c->n; i++) {
        if (strcmp(c->v[i].new_->unit, unit) == 0 && !c->v[i].hidden)
            pair_row(out, &c->v[i]);
    }
    for (size_t i = 0; i < c->n_means; i++) {
        if (strcmp(c->means[i].unit, unit) == 0)
            mean_row(out, &c->means[i], a);
    }
}

static void left_out_note(struct pk_out *out, const char *kind, const char *where, const char *const *cases,
                          size_t n, struct pk_arena *a)
{
    enum { MOST_NAMED = 4 };
    struct pk_buf b = {.arena = a};
    if (!n)
        return;
    pk_buf_printf(&b, "%s of %s without a counterpart: ", pk_plural(n, kind, a), where);
    for (size_t i = 0; i < n && i < MOST_NAMED; i++)
        pk_buf_printf(&b, "%s%s", i ? "; " : "", cases[i]);
    pk_buf_str(&b, n > MOST_NAMED ? "; ..." : "");
    pk_out_note(out, pk_buf_text(&b));
}

/* "3 undecided: too few processes or runs for so much noise", for each way not to know. */
static void reason_notes(struct pk_out *out, const struct pk_comparison *c, struct pk_arena *a)
{
    for (int r = PK_REASON_PROVED + 1; r <= PK_REASON_INEXACT; r++) {
        size_t n = 0;
        const char *word = "";
        for (size_t i = 0; i < c->n; i++)
            if (c->v[i].judged && c->v[i].decision.reason == (enum pk_reason)r) {
                word = pk_verdict_name(c->v[i].decision.verdict);
                n++;
            }
        if (n)
            pk_out_note(out, pk_printf(a, "%zu %s: %s.", n, word, pk_reason_text((enum pk_reason)r)));
    }
}

/* Rows that have no ratio, because a figure is not positive. */
static void difference_notes(struct pk_out *out, const struct pk_comparison *c, struct pk_arena *a)
{
    enum { MOST_SAID = 8 };
    size_t said = 0;
    for (size_t i = 0; i < c->n && said < MOST_SAID; i++) {
        const struct pk_compared *row = &c->v[i];
        const struct pk_decision *d = &row->decision;
        if (!row->judged || row->hidden || !d->absolute || isnan(d->ratio))
            continue;
        const char *sees = isfinite(d->mde) ? pk_printf(a, "; MDE %.3g %s", d->mde, row->new_->unit) : "";
        pk_out_note(out, pk_printf(a, "By difference: %s%s.", pk_report_row(row, a), sees));
        said++;
    }
}

/* What the interval is of. */
static const char *interval_note(const struct pk_comparison *c)
{
    switch (c->design) {
    case PK_DESIGN_GATE:
        return "New / base is the geometric mean over pairs of processes that ran in turns, disturbed pairs "
               "left out; "
               "MDE is the minimum detectable effect: the smallest worsening that would have been found 8 "
               "times in 10.";
    case PK_DESIGN_PAIRS:
        return "New / base is the geometric mean over processes that measured both.";
    case PK_DESIGN_STORED:
        break;
    }
    return "New / base is that of the geometric means of the processes' medians; its interval is between the "
           "processes, or, with five base runs, for one more run.";
}

/* Of stored runs alone: sides that are measured in turns have the same machine, and values of an axis are other work. */
static void common_shift_note(struct pk_out *out, const struct pk_comparison *c, struct pk_arena *a)
{
    const double shift = c->design == PK_DESIGN_STORED ? pk_common_shift(c, a) : 1;
    if (shift != 1)
        pk_out_note(
            out, pk_printf(a,
                           "All times changed alike (median %+.1f %%): the cause may be the machine, not the "
                           "code. `perfkit gate` measures both sides in turns.",
                           100 * (shift - 1)));
}

void pk_compare_print(struct pk_out *out, const struct pk_comparison *c, const char *by, struct pk_arena *a)
{
    for (size_t i = 0; i < c->n; i++) {
        size_t earlier = 0;
        while (strcmp(c->v[earlier].new_->unit, c->v[i].new_->unit) != 0)
            earlier++;
        if (earlier == i)
            unit_table(out, c, by, c->v[i].new_->unit, a);
    }
    pk_out_note(out, interval_note(c));
    common_shift_note(out, c, a);
    difference_notes(out, c, a);
    reason_notes(out, c, a);
    const char *base = by ? pk_printf(a, "%s=%s", by, c->base_value) : "base";
    left_out_note(out, "case", base, c->only_base, c->n_only_base, a);
    left_out_note(out, "metric", "new", c->metrics_new, c->n_metrics_new, a);
    left_out_note(out, "case", by ? pk_printf(a, "other values of %s", by) : "new", c->only_new,
                  c->n_only_new, a);
}

/* --- failures -------------------------------------------------------------------------------------------------- */

static const struct pk_column failure_columns[] = {
    {.key = "side", .heading = "Side", .left = true},
    {.key = "entry", .heading = "Entry", .left = true, .optional = 1},
    {.key = "variant", .heading = "Variant", .left = true},
    {.key = "axes", .heading = "Case", .left = true, .json = true},
    {.key = "metric", .heading = "Metric", .left = true, .optional = 1},
    {.key = "status", .heading = "Status", .left = true},
    {.key = "message", .heading = "Message", .left = true},
};

void pk_failures_print(const struct pk_failure *v, size_t n, struct pk_out *out)
{
    if (n)
        pk_out_table(out, "not_compared", "Not compared", failure_columns, COUNT(failure_columns));
    for (size_t i = 0; i < n; i++)
        pk_out_row(out,
                   (struct pk_cell[]){text(v[i].side), text(v[i].entry), text(v[i].variant), text(v[i].axes),
                                      text(v[i].metric), text(v[i].status), text(v[i].message)});
}
