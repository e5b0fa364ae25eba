/* Comparison: case pairs and geometric means with their verdicts, one table per unit. */
#include "judge/report/comparison.h"

#include "base/text/buf.h"
#include "base/text/words.h"
#include "judge/report/outcome.h"
#include "judge/report/report.h"

#include <math.h>
#include <string.h>

#define COUNT(v) (sizeof(v) / sizeof *(v))

/* --- the runs ------------------------------------------------------------------------------------------------- */

static const struct pk_column run_columns[] = {
    {.key = "side", .heading = "Side", .left = true},
    {.key = "entry", .heading = "Entry", .left = true, .machine = true},
    {.key = "run_id", .heading = "Run", .decimals = -1},
    {.key = "label", .heading = "Label", .left = true},
    {.key = "started_at", .heading = "Started (UTC)", .left = true},
    {.key = "git_commit", .heading = "Commit", .left = true},
    {.key = "version", .heading = "perfkit", .left = true, .optional = 1},
    {.key = "status", .heading = "Status", .left = true, .state = true},
    {.key = "cases", .heading = "Cases", .decimals = -1},
    {.key = "cases_ok", .heading = "OK", .decimals = -1},
};

void pk_compare_begin_runs(struct pk_out *out)
{
    pk_out_table(out, "runs", "Compared", PK_COLUMNS(run_columns));
}

void pk_compare_run_row(struct pk_out *out, const char *side, const struct pk_run_facts *r)
{
    struct pk_row *row = pk_row_begin(out);
    pk_put_nonempty(row, "side", side);
    pk_put_nonempty(row, "entry", r->entry);
    pk_put_int(row, "run_id", r->run_id);
    pk_put_nonempty(row, "label", r->label);
    pk_put_nonempty(row, "started_at", r->started_at);
    pk_put_nonempty(row, "git_commit", r->git_commit);
    pk_put_nonempty(row, "version", r->version);
    pk_put_nonempty(row, "status", r->status);
    pk_put_int(row, "cases", r->cases);
    pk_put_int(row, "cases_ok", r->cases_ok);
    pk_row_end(row);
}

void pk_compare_print_differences(struct pk_out *out, const char *const *differences, size_t n, bool refused,
                                  struct pk_arena *a)
{
    if (n)
        pk_out_note(out, "The setups differ: these ratios may not be due to the code.");
    for (size_t i = 0; i < n; i++)
        pk_out_note(out, pk_printf(a, "  %s", differences[i]));
    if (refused)
        pk_out_note(out, "No row is judged; --allow-host-mismatch judges the rows anyway.");
}

/* --- the pairs ------------------------------------------------------------------------------------------------ */

static const struct pk_column columns[] = {
    {.key = "row", .heading = "Row", .left = true, .machine = true}, /* "case" or "geomean" */
    {.key = "entry", .heading = "Entry", .left = true},
    {.key = "experiment", .heading = "Experiment", .left = true, .machine = true},
    {.key = "variant", .heading = "Variant", .left = true},
    {.key = "value", .heading = "Value", .left = true, .machine = true},
    PK_FIGURE_COLUMNS,
    {.key = "base", .heading = "Base", .decimals = -1, .optional = 4},
    {.key = "new", .heading = "New", .decimals = -1, .optional = 4},
    {.key = "ratio", .heading = "New / base", .decimals = 3},
    {.key = "ratio_low", .heading = "95 % interval", .decimals = 3, .interval = true},
    {.key = "ratio_high", .heading = "to"},
    {.key = "speedup", .heading = "Speed-up", .decimals = 2, .optional = 3},
    {.key = "verdict", .heading = "Verdict", .left = true, .state = true},
    {.key = "mde", .heading = "MDE (%)", .scale = 0.01, .decimals = 1, .optional = 2},
    {.key = "needed", .heading = "Needs more", .decimals = -1, .optional = 1},
    {.key = "p", .heading = "p", .decimals = 4, .machine = true},
    {.key = "p_adjusted", .heading = "p adjusted", .decimals = 4, .machine = true},
    {.key = "reason", .heading = "Why", .left = true, .machine = true},
    {.key = "disturbed", .heading = "Disturbed", .decimals = -1, .machine = true},
    {.key = "slow_base", .heading = "Slow base", .decimals = -1, .machine = true},
    {.key = "slow_new", .heading = "Slow new", .decimals = -1, .machine = true},
    {.key = "slow_size", .heading = "Slow by", .decimals = 3, .machine = true},
    {.key = "slow_found", .heading = "Share found", .decimals = 3, .machine = true},
    /* in place of a ratio, where a figure is not positive */
    {.key = "difference", .heading = "Difference", .machine = true},
    {.key = "difference_low", .heading = "from", .machine = true},
    {.key = "difference_high", .heading = "to", .machine = true},
    {.key = "base_invocations", .heading = "n base", .decimals = -1, .optional = 1},
    {.key = "new_invocations", .heading = "n new", .decimals = -1, .optional = 1},
    {.key = "cases", .heading = "Cases", .decimals = -1, .machine = true},
};

struct pk_column *pk_compare_columns(const struct pk_comparison *c, const struct pk_column *of, size_t n,
                                     const char *by, const char *unit, bool hidden, struct pk_arena *a)
{
    struct pk_column *cols = pk_columns_copy(a, of, n), *value = pk_column_of(cols, n, "value");
    double least = INFINITY;
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].new_->unit, unit) == 0 && (hidden || !c->v[i].hidden))
            least = fmin(least, fmin(c->v[i].base->median, c->v[i].new_->median));
    pk_value_column(pk_column_of(cols, n, "base"), unit, least, a);
    pk_value_column(pk_column_of(cols, n, "new"), unit, least, a);
    if (by) {
        value->heading = by;
        value->machine = false;
        pk_column_of(cols, n, "variant")->machine = strcmp(by, "variant") == 0;
    }
    return cols;
}

static void begin_table(struct pk_out *out, const struct pk_comparison *c, const char *by, const char *unit,
                        struct pk_arena *a)
{
    const size_t n = COUNT(columns);
    struct pk_column *cols = pk_compare_columns(c, columns, n, by, unit, true, a);
    size_t same = 1; /* rows of the first one's experiment */
    while (same < c->n && strcmp(c->v[same].new_->experiment, c->v[0].new_->experiment) == 0)
        same++;
    if (strcmp(unit, "ns") != 0)
        pk_column_of(cols, n, "speedup")->heading = "Gain"; /* of bytes nothing becomes faster */
    pk_column_of(cols, n, "ratio_low")->heading = pk_printf(a, "%.4g %% interval", 100 * c->level);
    pk_column_of(cols, n, "entry")->machine = !c->v[0].entry;
    pk_column_of(cols, n, "experiment")->machine = same == c->n;
    const char *title = by ? pk_printf(a, "Each %s against %s", by, c->base_value) : "New against base";
    if (*c->common)
        title = pk_printf(a, "%s, all with %s", title, c->common);
    pk_out_table(out, pk_printf(a, "compare%s", pk_key_tail(unit, a)), title, cols, n);
}

static void put_ratio(struct pk_row *row, const struct pk_ratio *r, double speedup)
{
    pk_put_real(row, "ratio", r->ratio);
    pk_put_real(row, "ratio_low", r->ci.lo);
    pk_put_real(row, "ratio_high", r->ci.hi);
    pk_put_real(row, "speedup", speedup);
    pk_put_real(row, "p", r->p);
}

/* A worsening of more than ten times is no figure to plan with: of two wild pairs it would have forty digits. */
static const double largest_mde = 10;

static void put_decision(struct pk_row *row, const struct pk_decision *d)
{
    pk_put_nonempty(row, "verdict", pk_verdict_name(d->verdict));
    if (!d->absolute && d->mde <= largest_mde)
        pk_put_real(row, "mde", d->mde);
    if (d->needed && d->needed != PK_PAIRS_NEVER)
        pk_put_int(row, "needed", (int64_t)d->needed);
    pk_put_real(row, "p_adjusted", d->p_adjusted);
    pk_put_nonempty(row, "reason", pk_reason_text(d->reason));
    pk_put_int(row, "disturbed", (int64_t)d->disturbed);
    if (d->slow_size > 0) {
        pk_put_int(row, "slow_base", (int64_t)d->slow_base);
        pk_put_int(row, "slow_new", (int64_t)d->slow_new);
        pk_put_real(row, "slow_size", d->slow_size);
        pk_put_real(row, "slow_found", d->slow_found);
    }
    if (!d->absolute || isnan(d->ratio))
        return;
    pk_put_real(row, "difference", d->ratio);
    pk_put_real(row, "difference_low", d->ci.lo);
    pk_put_real(row, "difference_high", d->ci.hi);
}

static void pair_row(struct pk_out *out, const struct pk_compared *p)
{
    const struct pk_figures *f = p->new_;
    struct pk_row *row = pk_row_begin(out);
    pk_put_text(row, "row", "case");
    pk_put_nonempty(row, "entry", p->entry);
    pk_put_nonempty(row, "experiment", f->experiment);
    pk_put_nonempty(row, "variant", f->variant);
    pk_put_nonempty(row, "value", p->value);
    pk_put_figure(row, p->place, f);
    pk_put_real(row, "base", p->base->median);
    pk_put_real(row, "new", f->median);
    put_ratio(row, &p->ratio, p->speedup);
    if (p->judged)
        put_decision(row, &p->decision);
    pk_put_int(row, "base_invocations", (int64_t)p->base->n);
    pk_put_int(row, "new_invocations", (int64_t)f->n);
    pk_row_end(row);
}

static void mean_row(struct pk_out *out, const struct pk_compare_mean *m, struct pk_arena *a)
{
    struct pk_row *row = pk_row_begin(out);
    pk_put_text(row, "row", "geomean");
    pk_put_nonempty(row, "value", m->value);
    pk_put_text(row, "case", pk_printf(a, "geomean of %s", pk_plural(m->cases, "case", a)));
    pk_put_nonempty(row, "metric", m->metric);
    pk_put_nonempty(row, "unit", m->unit);
    pk_put_nonempty(row, "direction", m->direction);
    put_ratio(row, &m->ratio, m->speedup);
    pk_put_int(row, "cases", (int64_t)m->cases);
    pk_row_end(row);
}

static void left_out_note(struct pk_out *out, const char *kind, const char *where, const char *const *cases,
                          size_t n, struct pk_arena *a)
{
    enum { MOST_NAMED = 4 };
    const char *named = pk_list(cases, n < MOST_NAMED ? n : MOST_NAMED, "; ", a);
    if (n)
        pk_out_note(out, pk_printf(a, "%s of %s unmatched: %s%s", pk_plural(n, kind, a), where, named,
                                   n > MOST_NAMED ? "; ..." : ""));
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

/* Of a row that has no ratio, because a figure is not positive. */
static const char *difference(const struct pk_compared *row, struct pk_arena *a)
{
    const struct pk_decision *d = &row->decision;
    if (!d->absolute || isnan(d->ratio))
        return NULL;
    const char *sees = isfinite(d->mde) ? pk_printf(a, "; MDE %.3g %s", d->mde, row->new_->unit) : "";
    return pk_printf(a, "By difference: %s%s.", pk_report_row(row, a), sees);
}

/* Of a row whose verdict depends on slow processes: how many, of which side. */
static const char *slow_processes(const struct pk_compared *row, struct pk_arena *a)
{
    const struct pk_decision *d = &row->decision;
    if (!(d->slow_size > 0) || d->verdict == PK_SAME || d->verdict == PK_SLOWER || d->verdict == PK_FASTER)
        return NULL;
    return pk_printf(a, "%s of %s%s%s: %s.", row->new_->metric, row->new_->variant, *row->place ? " " : "",
                     row->place, pk_report_slow(row, a));
}

/* The notes of the first rows that have one; text: NULL = none. */
static void row_notes(struct pk_out *out, const struct pk_comparison *c, struct pk_arena *a,
                      const char *(*text)(const struct pk_compared *, struct pk_arena *))
{
    enum { MOST_PRINTED = 8 };
    for (size_t i = 0, printed = 0; i < c->n && printed < MOST_PRINTED; i++) {
        const char *note = c->v[i].judged && !c->v[i].hidden ? text(&c->v[i], a) : NULL;
        if (note) {
            pk_out_note(out, note);
            printed++;
        }
    }
}

/* Of a row whose median did not change. */
static const char *moved_tails(const struct pk_compared *row, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    const char *last = NULL;
    for (int t = 0; t < PK_TAILS && row->judged; t++) {
        const struct pk_ratio *r = &row->tail[t];
        if (!(r->ratio > 0))
            continue;
        last = pk_tail_kinds[t].name;
        pk_buf_printf(&b, ", %s %+.1f %% (%+.1f to %+.1f %%)", last, 100 * (r->ratio - 1),
                      100 * (r->ci.lo - 1), 100 * (r->ci.hi - 1));
    }
    const struct pk_figures *f = row->new_;
    return last ? pk_printf(a, "%s of %s: median %s%s; --metric %s:%s judges it", f->metric,
                            pk_report_case(f->variant, f->axes, a), pk_verdict_name(row->decision.verdict),
                            pk_buf_text(&b), f->metric, last)
                : NULL;
}

static void tail_notes(struct pk_out *out, const struct pk_comparison *c, struct pk_arena *a)
{
    enum { MOST_PRINTED = 8 };
    size_t found = 0;
    for (size_t i = 0; i < c->n; i++) {
        const char *moved = moved_tails(&c->v[i], a);
        if (moved && found++ < MOST_PRINTED)
            pk_out_note(out, pk_printf(a, "The slow samples changed and the median did not: %s.", moved));
    }
    if (found > MOST_PRINTED)
        pk_out_note(out, pk_printf(a, "The same for %s more.", pk_plural(found - MOST_PRINTED, "row", a)));
}

/* Of a short output: a table of three failures. */
enum { FAILURE_LINES = 8 };

/* What the interval is of. */
static const char *const interval_notes[] = {
    [PK_DESIGN_GATE] =
        "New / base is the geometric mean over pairs of processes that ran in turns, outlier pairs left "
        "out; MDE (minimum detectable effect) is the smallest regression that would have been found 19 times "
        "in 20.",
    [PK_DESIGN_PAIRS] = "New / base is the geometric mean over rounds, in which each command ran once.",
    [PK_DESIGN_WITHIN] =
        "New / base is the ratio of the medians, as `perfkit run` has it; its interval follows from the ends "
        "of both. Verdicts are of the pairs of processes that measured both, which detect smaller changes.",
    [PK_DESIGN_STORED] = "New / base is the ratio of the medians of two runs; its interval follows from the "
                         "ends of both. Of several base runs it is the "
                         "ratio of the geometric means; with five its interval is for one more run, and "
                         "processes that are outliers are left out.",
};

void pk_compare_summary(struct pk_out *out, const struct pk_comparison *c, struct pk_arena *a)
{
    if (pk_out_is_shortened(out) && c->n)
        pk_out_note(out, pk_outcome_sentence(c, a));
}

void pk_compare_print(struct pk_out *out, const struct pk_comparison *c, const char *by, struct pk_arena *a)
{
    /* of stored runs alone: sides that are measured in turns have the same machine, and values of an axis are other work */
    const double shift = c->design == PK_DESIGN_STORED ? pk_common_shift(c, a) : 1;
    pk_out_reserve(out, c->n_unmatched ? FAILURE_LINES : 0);
    for (size_t i = 0; i < c->n; i++) {
        const char *unit = c->v[i].new_->unit;
        size_t earlier = 0;
        while (strcmp(c->v[earlier].new_->unit, unit) != 0)
            earlier++;
        if (earlier < i)
            continue;
        pk_out_detail(out, i > 0);
        begin_table(out, c, by, unit, a);
        pk_out_fit(out);
        for (size_t k = i; k < c->n; k++)
            if (strcmp(c->v[k].new_->unit, unit) == 0 && !c->v[k].hidden)
                pair_row(out, &c->v[k]);
        for (size_t k = 0; k < c->n_means; k++)
            if (strcmp(c->means[k].unit, unit) == 0)
                mean_row(out, &c->means[k], a);
    }
    pk_out_detail(out, true);
    pk_out_note(out, interval_notes[c->design]);
    pk_out_detail(out, false);
    if (shift != 1)
        pk_out_note(
            out,
            pk_printf(a,
                      "All times changed equally (median %+.1f %%): the cause may be the machine, not the "
                      "code. `perfkit gate` measures both sides in turns.",
                      100 * (shift - 1)));
    pk_out_detail(out, true);
    row_notes(out, c, a, difference);
    row_notes(out, c, a, slow_processes);
    tail_notes(out, c, a);
    reason_notes(out, c, a);
}

double pk_compare_read_change(const json_t *printed)
{
    const char *name;
    json_t *table, *row;
    double most = NAN;
    bool any_slower = false;
    size_t i;
    json_object_foreach(json_object_get(printed, "tables"), name, table)
    {
        json_array_foreach(json_object_get(table, "rows"), i, row)
        {
            enum pk_verdict v;
            const double ratio = pk_json_num(row, "ratio", NAN);
            const bool higher = pk_higher_is_better(pk_json_str(row, "direction", ""));
            const double change = higher ? 1 / ratio : ratio;
            if (strncmp(name, "compare", 7) != 0 || !(change > 0) ||
                !pk_verdict_parse(pk_json_str(row, "verdict", ""), &v))
                continue;
            const bool slower = v == PK_SLOWER || v == PK_SLOWER_IN_SOME;
            if (isnan(most) || slower > any_slower ||
                (slower == any_slower && fabs(log(change)) > fabs(log(most))))
                most = change;
            any_slower |= slower;
        }
    }
    return most;
}

void pk_compare_note_unmatched(struct pk_out *out, const struct pk_comparison *c, const char *by,
                               struct pk_arena *a)
{
    enum { MOST_NAMED = 8 };
    const size_t n = c->n_not_judged < MOST_NAMED ? c->n_not_judged : MOST_NAMED;
    const char *base = by ? pk_printf(a, "%s=%s", by, c->base_value) : "base";
    left_out_note(out, "case", base, c->only_base, c->n_only_base, a);
    left_out_note(out, "metric", "base", c->metrics_base, c->n_metrics_base, a);
    left_out_note(out, "metric", "new", c->metrics_new, c->n_metrics_new, a);
    left_out_note(out, "case", by ? pk_printf(a, "other values of %s", by) : "new", c->only_new,
                  c->n_only_new, a);
    if (n)
        pk_out_note(out,
                    pk_printf(a, "Metrics of both sides that are not judged: %s%s. --metric NAME judges one.",
                              pk_list(c->not_judged, n, ", ", a), n < c->n_not_judged ? ", ..." : ""));
}
