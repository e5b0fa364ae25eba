/* Gate decision: decides from interleaved pairs, in two stages. Every case is screened; a suspicious one is decided by fresh pairs. */
#include "stats/verdict/verdict.h"

#include "stats/dist.h"
#include "stats/infer.h"
#include "stats/stats.h"
#include "stats/verdict/parts.h"

#include <math.h>

/* What is suspicious when screened: two-sided p below this, with half the least effect of interest. */
static const double screen_p = 0.2;

struct row {
    struct pk_scale scale;
    struct pk_mean_test screen, fresh, all; /* of differences; fresh of the confirming pairs alone */
    double sd;                              /* of all undisturbed differences */
    size_t n_screen;
    size_t target;  /* confirming pairs */
    bool confirmed; /* all pairs of the second stage are there */
    bool refused;   /* disturbed pairs could not be left out */
};

/* How many pairs a stage of `target` still wants. Disturbed ones are replaced by a quarter more at most, and a single one is not: where a
 * tenth of the processes is disturbed that costs half a pair a case, and finds and proves no more. */
static size_t pairs_wanted(size_t target, size_t clean, size_t measured)
{
    size_t most = target + (target + 3) / 4;
    size_t missing = clean < target ? target - clean : 0, left = measured < most ? most - measured : 0;
    if (measured >= target && missing == 1)
        return 0;
    return missing < left ? missing : left;
}

/* Tests what there is of a case and says what it wants next. */
static void decide_case(const struct pk_pair_series *t, const struct pk_rule *rule, struct row *r,
                        struct pk_decision *o)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *d = pk_new_n(&a, double, t->screen.n + t->confirm.n + 1), level = 1 - rule->alpha;
    bool logs =
        pk_all_positive(t->screen.base, t->screen.n) && pk_all_positive(t->screen.new_, t->screen.n) &&
        pk_all_positive(t->confirm.base, t->confirm.n) && pk_all_positive(t->confirm.new_, t->confirm.n);
    *o = (struct pk_decision){.p = NAN, .p_adjusted = NAN};
    r->scale = pk_scale_for(logs, t->higher_is_better, t->min_effect, t->min_change, t->screen.base,
                            t->screen.n, rule);
    r->target = t->max_pairs ? t->max_pairs - rule->screen_pairs : rule->confirm_pairs;
    size_t n = r->n_screen = pk_clean_differences(&t->screen, logs, rule, d, o, &r->refused);
    r->screen = pk_test_mean(d, n, level);
    o->wanted = pairs_wanted(rule->screen_pairs, n, t->screen.n);
    o->stage = o->wanted ? PK_STAGE_SCREEN : PK_STAGE_DONE;
    const double worse = r->scale.worse * r->screen.estimate, least = r->scale.min_effect / 2;
    if (!o->wanted && r->screen.p < screen_p && fabs(worse) >= least && least > 0)
        o->suspected = worse > 0 ? 1 : rule->confirm_faster ? -1 : 0;
    if (o->suspected) {
        size_t fresh = pk_clean_differences(&t->confirm, logs, rule, d + n, o, &r->refused);
        r->fresh = pk_test_mean(d + n, fresh, level);
        o->wanted = pairs_wanted(r->target, fresh, t->confirm.n);
        o->stage = o->wanted ? PK_STAGE_CONFIRM : PK_STAGE_DONE;
        r->confirmed = !o->wanted;
        n += fresh;
    }
    r->all = pk_test_mean(d, n, level);
    r->sd = sqrt(pk_moments(d, n).variance);
    pk_report_effect(o, &r->all, &r->scale, r->sd);
}

/* Holm over the cases suspected in one direction; those whose fresh pairs are missing count as 1. */
static void adjust(const struct row *rows, size_t n, int towards, const struct pk_rule *rule,
                   struct pk_decision *out, double *p)
{
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        p[i] = NAN;
        if (out[i].suspected != towards)
            continue;
        struct pk_mean_test t = r->fresh;
        t.estimate *= towards * r->scale.worse;
        /* doubled: the risk is for false alarms in both directions */
        p[i] = r->confirmed ? fmin(1, 2 * pk_test_above(&t, rule->strict ? r->scale.min_effect : 0)) : 1;
        out[i].p = r->confirmed ? p[i] : NAN;
    }
    pk_adjust_holm(p, n, p);
    for (size_t i = 0; i < n; i++) {
        if (out[i].suspected == towards)
            out[i].p_adjusted = p[i];
    }
}

double pk_gate_reach(size_t n, size_t m, double sd, double margin, const struct pk_rule *rule)
{
    if (n < 2 || m < 2)
        return NAN;
    double luck = pk_t_quantile(rule->power, (double)(n + m - 1)) * sd / sqrt((double)(n + m));
    double seen = pk_mde_quick(n, sd, screen_p, rule->power);
    double confirmed = pk_mde_quick(m, sd, rule->alpha, rule->power) + (rule->strict ? margin : 0);
    return fmax(fmax(seen, confirmed), margin + luck);
}

void pk_decide_gate(const struct pk_pair_series *t, size_t n, const struct pk_rule *rule,
                    struct pk_decision *out)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct row *rows = pk_new_n(&a, struct row, n + 1);
    double *p = pk_new_n(&a, double, n + 1);
    for (size_t i = 0; i < n; i++)
        decide_case(&t[i], rule, &rows[i], &out[i]);
    adjust(rows, n, 1, rule, out, p);
    adjust(rows, n, -1, rule, out, p);
    for (size_t i = 0; i < n; i++) {
        const struct row *r = &rows[i];
        out[i].mde =
            pk_as_share(pk_gate_reach(r->n_screen, r->target, r->sd, r->scale.min_effect, rule), &r->scale);
        /* Equivalence may be claimed twice: four fifths of the risk for the screening, which has few pairs, one fifth for the fresh
         * ones, which need no more. */
        const double within = r->scale.same_within;
        out[i].p_same = fmin(1, r->confirmed ? 5 * pk_test_within(&r->fresh, -within, within)
                                             : 1.25 * pk_test_within(&r->screen, -within, within));
        bool significant = out[i].suspected && out[i].p_adjusted < rule->alpha;
        const struct pk_test_results f = {
            .refusal = t[i].unstable   ? PK_REASON_ENVIRONMENT
                       : out[i].wanted ? PK_REASON_MORE_PAIRS
                                       : pk_refuse_pairs(&out[i], r->refused, &r->scale, rule),
            .significant = significant ? out[i].suspected : 0,
            .otherwise = out[i].suspected ? PK_REASON_UNCONFIRMED : PK_REASON_NOISE};
        pk_settle(&out[i], &f, &r->all, &r->scale, rule->alpha, rule);
    }
}
