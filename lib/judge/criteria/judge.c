/* Judge: from figures measured twice to decisions, by how they were measured and how their metric behaves; rows in the order of their
 * importance, and counted; the rows of several comparisons judged as one family. */
#include "judge/criteria/criteria.h"

#include "judge/pair/match.h"
#include "judge/pair/pair.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXACT_PAIRS = 2 }; /* a figure that does not repeat shows itself in the second process */

/* --- pairs: invocations that both sides have ------------------------------------------------------------------- */

struct pair_arrays {
    double *base, *new_;
    size_t n, n_screen;
};

static struct pair_arrays pair_up(const struct pk_figures *b, const struct pk_figures *w, int64_t screened,
                                  struct pk_arena *a)
{
    size_t most = b->n < w->n ? b->n : w->n;
    struct pair_arrays p = {pk_new_n(a, double, most + 1), pk_new_n(a, double, most + 1), 0, 0};
    for (size_t i = 0, k = 0; i < b->n && k < w->n;) {
        if (b->invocation[i] < w->invocation[k]) {
            i++;
        } else if (b->invocation[i] > w->invocation[k]) {
            k++;
        } else {
            p.n_screen += !screened || b->invocation[i] <= screened;
            p.base[p.n] = b->figure[i++];
            p.new_[p.n++] = w->figure[k++];
        }
    }
    return p;
}

struct pk_pairs pk_compare_pairs(const struct pk_compared *c, struct pk_arena *a)
{
    const struct pair_arrays p = pair_up(c->base, c->new_, 0, a);
    return (struct pk_pairs){p.base, p.new_, p.n};
}

/* --- runs ------------------------------------------------------------------------------------------------------- */

/* What a side says run by run, and what these runs are means of: its figures when they are runs', else one of all processes. */
static const double *runs_of(const struct pk_figures *f, bool of_runs, size_t *n,
                             const struct pk_run_processes **of, struct pk_arena *a)
{
    *n = f->n;
    *of = f->runs;
    if (of_runs)
        return f->figure;
    double *one = pk_new(a, double);
    struct pk_run_processes *processes = pk_new(a, struct pk_run_processes);
    *one = pk_figures_centre(f);
    *processes = (struct pk_run_processes){f->figure, f->n};
    *of = processes;
    *n = 1;
    return one;
}

/* --- what cannot be random -------------------------------------------------------------------------------------- */

static struct pk_decision decide_exact(const struct pk_compared *c, const struct pk_judging *j)
{
    if (!c->base->n || !c->new_->n)
        return (struct pk_decision){.verdict = PK_UNDECIDED,
                                    .reason = PK_REASON_MORE_PAIRS,
                                    .stage = PK_GATE_STAGE_SCREEN,
                                    .wanted = EXACT_PAIRS,
                                    .ratio = NAN};
    const struct pk_baseline_series s = {.higher_is_better = pk_higher_is_better(c->new_->direction),
                                         .min_change = c->min_change,
                                         .base = c->base->figure,
                                         .n_base = c->base->n,
                                         .new_ = c->new_->figure,
                                         .n_new = c->new_->n};
    struct pk_decision d = pk_decide_exact(&s, c->min_effect);
    if (j->design == PK_DESIGN_GATE && d.pairs < EXACT_PAIRS && !c->closed) {
        d.wanted = EXACT_PAIRS - d.pairs;
        d.stage = PK_GATE_STAGE_SCREEN;
    }
    return d;
}

/* --- all rows ----------------------------------------------------------------------------------------------------- */

static void decide_random(struct pk_compared **v, size_t n, const struct pk_judging *j, struct pk_arena *a)
{
    struct pk_pair_series *t = pk_new_n(a, struct pk_pair_series, n + 1);
    struct pk_baseline_series *s = pk_new_n(a, struct pk_baseline_series, n + 1);
    struct pk_decision *d = pk_new_n(a, struct pk_decision, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct pk_compared *c = v[i];
        if (j->design == PK_DESIGN_STORED) {
            s[i] = (struct pk_baseline_series){.higher_is_better = pk_higher_is_better(c->new_->direction),
                                               .min_effect = c->min_effect,
                                               .min_change = c->min_change,
                                               .unstable = c->unstable};
            s[i].base = runs_of(c->base, c->base_runs > 1, &s[i].n_base, &s[i].base_of, a);
            s[i].new_ = runs_of(c->new_, c->new_runs > 1, &s[i].n_new, &s[i].new_of, a);
            continue;
        }
        const struct pair_arrays p = pair_up(c->base, c->new_, j->screened, a);
        const size_t screen = j->design == PK_DESIGN_GATE ? p.n_screen : p.n;
        t[i] = (struct pk_pair_series){.higher_is_better = pk_higher_is_better(c->new_->direction),
                                       .min_effect = c->min_effect,
                                       .min_change = c->min_change,
                                       .max_pairs = c->max_pairs,
                                       .unstable = c->unstable,
                                       .screen = {p.base, p.new_, screen},
                                       .confirm = {p.base + screen, p.new_ + screen, p.n - screen}};
    }
    if (j->design == PK_DESIGN_STORED)
        pk_decide_stored(s, n, &j->rule, d);
    else if (j->design == PK_DESIGN_GATE && !j->rule.until_clear)
        pk_decide_gate(t, n, &j->rule, d);
    else
        pk_decide_pairs(t, n, &j->rule, d);
    for (size_t i = 0; i < n; i++)
        v[i]->decision = d[i];
}

static void show_decided(struct pk_compared *c)
{
    const struct pk_decision *d = &c->decision;
    c->ratio = (struct pk_ratio){.ratio = d->ratio, .ci = d->ci, .p = d->p, .df = NAN};
    c->speedup = pk_speedup(c->new_->direction, d->ratio);
}

/* The ratio that is shown is the one that was judged, where that has an interval; runs that stand alone, and the cases of one, keep that of
 * their medians. */
static void set_judged_ratio(struct pk_compared *c, enum pk_design design)
{
    const struct pk_decision *d = &c->decision;
    if (d->absolute || isnan(d->ratio) || isnan(d->ci.lo))
        return;
    c->ratio.p = d->p;
    if (design != PK_DESIGN_WITHIN)
        show_decided(c);
}

void pk_judge(struct pk_compared *v, size_t n, const struct pk_judging *j)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_compared **random = pk_new_n(&a, struct pk_compared *, n + 1);
    size_t n_random = 0;
    for (size_t i = 0; i < n; i++) {
        v[i].judged = pk_has_direction(v[i].new_->direction) && !j->equal;
        if (!v[i].judged)
            continue;
        if (pk_figures_exact(v[i].new_))
            v[i].decision = decide_exact(&v[i], j);
        else
            random[n_random++] = &v[i];
    }
    decide_random(random, n_random, j, &a);
    for (size_t i = 0; i < n; i++)
        if (v[i].judged)
            set_judged_ratio(&v[i], j->design);
}

static const char *row_key(int64_t ordinal, const char *metric, const char *base_uuid, struct pk_arena *a)
{
    return pk_printf(a, "%" PRId64 "\x1f%s\x1f%s", ordinal, metric, base_uuid);
}

bool pk_apply_stored_verdicts(struct pk_compared *v, size_t n, const struct pk_verdict_row *rows,
                              size_t n_rows, const char *base_uuid)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char **keys = pk_new_n(&a, const char *, n_rows + 1);
    size_t *of = pk_new_n(&a, size_t, n + 1);
    for (size_t k = 0; k < n_rows; k++)
        keys[k] = row_key(rows[k].ordinal, rows[k].metric, rows[k].base_uuid, &a);
    const struct pk_match m = pk_match_make(keys, n_rows, &a);
    for (size_t i = 0; i < n; i++) {
        const struct pk_figures *f = v[i].new_;
        of[i] = pk_match_find(&m, row_key(f->ordinal, f->metric, base_uuid, &a), true);
        if (pk_has_direction(f->direction) && of[i] == SIZE_MAX)
            return false;
    }
    for (size_t i = 0; i < n; i++) {
        v[i].judged = pk_has_direction(v[i].new_->direction);
        if (!v[i].judged)
            continue;
        v[i].decision = rows[of[i]].decision;
        if (!v[i].decision.absolute && !isnan(v[i].decision.ratio))
            show_decided(&v[i]);
    }
    return true;
}

int pk_compared_side(const struct pk_compared *c)
{
    const int side = pk_ratio_side(c->ratio.ci);
    return pk_higher_is_better(c->new_->direction) ? side : -side;
}

/* --- order ---------------------------------------------------------------------------------------------------------- */

enum { SAME_RANK = 5, WORSE_RANK, BETTER_RANK, LIKE_RANK, NO_RANK };

static int severity(const struct pk_compared *c)
{
    static const int ranks[] = {
        [PK_SLOWER] = 0,   [PK_SLOWER_IN_SOME] = 1, [PK_FASTER] = 2,
        [PK_UNSTABLE] = 3, [PK_UNDECIDED] = 4,      [PK_SAME] = SAME_RANK,
    };
    if (!c->judged)
        return NO_RANK;
    if (c->decision.verdict != PK_UNREPLICATED)
        return ranks[c->decision.verdict];
    const int side = pk_compared_side(c);
    return side < 0 ? WORSE_RANK : side > 0 ? BETTER_RANK : LIKE_RANK;
}

/* How far from 1; cases of which nothing is known keep their order, which is the experiment's. */
static double size(const struct pk_compared *c)
{
    const int rank = severity(c);
    if (rank == SAME_RANK || rank >= LIKE_RANK || !(c->ratio.ratio > 0))
        return 0;
    return fabs(log(c->ratio.ratio));
}

struct row_position {
    struct pk_compared row;
    size_t place;
};

static int by_severity(const void *x, const void *y)
{
    const struct row_position *a = x, *b = y;
    int d = severity(&a->row) - severity(&b->row);
    double s = size(&b->row) - size(&a->row);
    return d ? d : s < 0 ? -1 : s > 0 ? 1 : (a->place > b->place) - (a->place < b->place);
}

void pk_compare_sort(struct pk_compared *v, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct row_position *p = pk_new_n(&a, struct row_position, n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (struct row_position){v[i], i};
    if (n)
        qsort(p, n, sizeof *p, by_severity);
    for (size_t i = 0; i < n; i++)
        v[i] = p[i].row;
}

struct pk_verdicts pk_compare_count(const struct pk_comparison *c)
{
    struct pk_verdicts v = {0};
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_decision *d = &c->v[i].decision;
        if (!c->v[i].judged)
            continue;
        v.rows++;
        v.of[d->verdict]++;
        v.slower += d->verdict == PK_SLOWER || d->verdict == PK_SLOWER_IN_SOME;
        v.refused += d->verdict == PK_UNREPLICATED || d->verdict == PK_UNSTABLE ||
                     d->reason == PK_REASON_MORE_PAIRS || d->reason == PK_REASON_NEEDS_ABSOLUTE;
    }
    return v;
}

/* --- a family ------------------------------------------------------------------------------------------------------- */

/* Appends the rows of the refused parts, or of the others. */
static size_t add_parts(const struct pk_compare_family *f, bool refused, struct pk_comparison *all,
                        struct pk_expected_rows *parts)
{
    size_t n = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct pk_compare_part *p = &f->v[i];
        struct pk_compared *rows = all->v + all->n;
        if (p->refused != refused)
            continue;
        for (size_t k = 0; k < p->of->n; k++) {
            rows[k] = p->of->v[k];
            rows[k].entry = p->name;
        }
        pk_criteria_apply(&p->criteria, rows, p->of->n);
        parts[n++] = (struct pk_expected_rows){.rows = rows,
                                               .n = p->of->n,
                                               .missing = p->of->missing,
                                               .n_missing = p->of->n_missing,
                                               .criteria = p->criteria};
        all->n += p->of->n;
    }
    return n;
}

enum pk_code pk_compare_judge_family(const struct pk_compare_family *f, struct pk_arena *a,
                                     struct pk_comparison *out, struct pk_errs *wrong, struct pk_err *err)
{
    const struct pk_judging j = {.rule = f->rule, .design = PK_DESIGN_STORED};
    const struct pk_compare_options what = {.level = f->level, .design = PK_DESIGN_STORED};
    struct pk_expected_rows *parts = pk_new_n(a, struct pk_expected_rows, f->n + 1);
    struct pk_comparison all = {0};
    size_t most = 0;
    for (size_t i = 0; i < f->n; i++)
        most += f->v[i].of->n;
    all.v = pk_new_n(a, struct pk_compared, most + 1);
    const size_t n = add_parts(f, false, &all, parts), n_judged = all.n;
    add_parts(f, true, &all, parts + n);
    pk_judge(all.v, n_judged, &j);
    *out = (struct pk_comparison){0};
    pk_compare_finish(all.v, all.n, &what, a, out);
    const enum pk_code rc = pk_expected_rows_check(parts, f->n, true, wrong, err);
    pk_compare_sort(out->v, out->n);
    return rc;
}
