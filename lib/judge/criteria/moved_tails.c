/* Moved tails: rows whose median did not change while the p90 or p99 of their processes did. */
#include "judge/criteria/criteria.h"

#include "stats/rank.h"

#include <math.h>
#include <string.h>

/* A note that nobody asked for must be right: a fifth of the risk of a verdict, shared by all tails of all rows. A quantile that lies between
 * two modes of the samples jumps from one to the other, which a few processes may do side by side: so the sides must differ by rank, too,
 * and no pair is left out as disturbed (of the processes in a slow mode, that would leave those of the other one). */
static const double share_of_alpha = 0.2, most_rank_p = 0.005;

struct tail_row {
    struct pk_compared *of;
    enum pk_tail t;
};

static bool is_row(const struct pk_compared *v, size_t n, const char *metric)
{
    size_t i = 0;
    while (i < n && strcmp(v[i].new_->metric, metric) != 0)
        i++;
    return i < n;
}

/* Of a rate the slow samples are at the other end, and exact figures have no noise that could hide a change. */
static bool may_move(const struct pk_compared *c, const struct pk_judging *j)
{
    if (!c->judged || pk_higher_is_better(c->new_->direction) || pk_figures_exact(c->new_))
        return false;
    if (j->design == PK_DESIGN_STORED &&
        (c->base_runs < j->rule.fewest_runs || c->new_runs < j->rule.fewest_runs))
        return false;
    return c->decision.verdict != PK_SLOWER && c->decision.verdict != PK_FASTER &&
           c->decision.verdict != PK_SLOWER_IN_SOME;
}

static bool differ_by_rank(const struct pk_compared *c)
{
    return pk_mann_whitney(c->base->figure, c->base->n, c->new_->figure, c->new_->n).p <= most_rank_p;
}

static size_t tail_rows(struct pk_compared *v, size_t n, const struct pk_judging *j, struct pk_arena *a,
                        struct pk_compared *rows, struct tail_row *of)
{
    bool selected = false; /* some row is of a tail: it speaks for itself */
    size_t found = 0;
    for (size_t i = 0; i < n; i++)
        selected |= strchr(v[i].new_->metric, ':') != NULL;
    for (size_t i = 0; i < n; i++)
        for (enum pk_tail t = 0; t < PK_TAILS && may_move(&v[i], j); t++) {
            const struct pk_figures *base = v[i].base->n ? pk_figures_tail(v[i].base, t, a) : NULL,
                                    *new_ = v[i].new_->n ? pk_figures_tail(v[i].new_, t, a) : NULL;
            if (!base || !new_ || (selected && is_row(v, n, new_->metric)))
                continue;
            rows[found] = pk_compare_figures(base, new_, 1 - j->rule.alpha);
            rows[found].min_effect = v[i].min_effect;
            rows[found].min_change = v[i].min_change;
            rows[found].base_runs = v[i].base_runs;
            rows[found].new_runs = v[i].new_runs;
            of[found++] = (struct tail_row){&v[i], t};
        }
    return found;
}

void pk_find_moved_tails(struct pk_compared *v, size_t n, const struct pk_judging *j)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_judging of_tails = *j;
    size_t may = 0;
    for (size_t i = 0; i < n; i++)
        may += may_move(&v[i], j);
    struct pk_compared *rows = pk_new_n(&a, struct pk_compared, PK_TAILS * may + 1);
    struct tail_row *of = pk_new_n(&a, struct tail_row, PK_TAILS * may + 1);
    const size_t found = tail_rows(v, n, j, &a, rows, of);
    if (j->design == PK_DESIGN_GATE) /* all pairs at once: nothing more is measured for them */
        of_tails.design = PK_DESIGN_PAIRS;
    of_tails.rule.until_clear = false;
    of_tails.rule.alpha *= share_of_alpha;
    of_tails.rule.apart_sd = INFINITY;
    pk_judge(rows, found, &of_tails);
    for (size_t i = 0; i < found; i++)
        if ((rows[i].decision.verdict == PK_SLOWER || rows[i].decision.verdict == PK_FASTER) &&
            differ_by_rank(&rows[i]))
            of[i].of->tail[of[i].t] = rows[i].ratio;
}
