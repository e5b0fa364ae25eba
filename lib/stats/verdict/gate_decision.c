/* Gate decision: decides from interleaved pairs, in two stages. Every case is screened; a suspicious one is decided by fresh pairs. */
#include "stats/verdict/verdict.h"

#include "stats/dist.h"
#include "stats/infer.h"
#include "stats/stats.h"
#include "stats/verdict/parts.h"

#include <math.h>

/* What is suspicious when screened: two-sided p below this, with half the least effect of interest. */
static const double screen_p = 0.2;

struct paired_row {
    struct pk_scale scale;
    struct pk_mean_test screen, fresh, all; /* of differences; fresh of the confirming pairs alone */
    struct pk_modes modes;                  /* of all pairs */
    double sd;                              /* of all undisturbed differences */
    double p_slow;           /* of both sides having as many slow processes, adjusted; NaN = not tested */
    int more_slow;           /* 1: the new side seems to have more, -1: fewer */
    size_t n_screen;         /* screened and undisturbed */
    size_t screened, target; /* pairs of each stage */
    bool confirmed;          /* all pairs of the second stage are there */
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

static void suspect(const struct pk_processes *screen, const struct pk_rule *rule, const struct paired_row *r,
                    struct pk_decision *o)
{
    const double worse = r->scale.worse * r->screen.estimate, least = r->scale.min_effect / 2;
    if (r->screen.p < screen_p && fabs(worse) >= least && least > 0)
        o->suspected = worse > 0 ? 1 : rule->confirm_faster ? -1 : 0;
    o->modes_suspected = screen->modes.apart;
}

/* Tests what there is of a case and says what it wants next. */
static void decide_case(const struct pk_pair_series *t, const struct pk_rule *rule, struct paired_row *r,
                        struct pk_decision *o)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rule own = *rule;
    double *d = pk_new_n(&a, double, t->screen.n + t->confirm.n + 1), level = 1 - rule->alpha;
    bool logs =
        pk_all_positive(t->screen.base, t->screen.n) && pk_all_positive(t->screen.new_, t->screen.n) &&
        pk_all_positive(t->confirm.base, t->confirm.n) && pk_all_positive(t->confirm.new_, t->confirm.n);
    if (t->max_pairs)
        pk_rule_of_pairs(&own, t->max_pairs);
    *o = (struct pk_decision){.p = NAN, .p_adjusted = NAN, .slow_found = NAN};
    *r = (struct paired_row){.screened = own.screen_pairs, .target = own.confirm_pairs, .p_slow = NAN};
    r->scale = pk_scale_for(logs, t->higher_is_better, t->min_effect, t->min_change, t->screen.base,
                            t->screen.n, rule);
    const struct pk_processes screen = pk_processes_of(&t->screen, NULL, &r->scale, rule, &a),
                              all = t->confirm.n
                                        ? pk_processes_of(&t->screen, &t->confirm, &r->scale, rule, &a)
                                        : screen;
    size_t n = r->n_screen = pk_clean_differences(&screen, 0, screen.n, d), measured = screen.n;
    r->screen = pk_test_mean(d, n, level);
    r->modes = all.modes;
    o->wanted = pairs_wanted(r->screened, n, screen.n);
    o->stage = o->wanted ? PK_GATE_STAGE_SCREEN : PK_GATE_STAGE_DONE;
    if (!o->wanted)
        suspect(&screen, rule, r, o);
    /* also in pairs that other cases wanted */
    o->modes_suspected |= !o->wanted && all.modes.apart;
    if (o->suspected || o->modes_suspected) {
        n = pk_clean_differences(&all, 0, screen.n, d);
        const size_t fresh = pk_clean_differences(&all, screen.n, all.n, d + n);
        r->fresh = pk_test_mean(d + n, fresh, level);
        o->wanted = pairs_wanted(r->target, fresh, t->confirm.n);
        o->stage = o->wanted ? PK_GATE_STAGE_CONFIRM : PK_GATE_STAGE_DONE;
        r->confirmed = !o->wanted;
        n += fresh;
        measured = all.n;
    }
    /* A suspicion does not know the sides: all pairs may be tested. */
    o->pairs = n;
    o->disturbed = measured - n;
    r->all = pk_test_mean(d, n, level);
    r->sd = sqrt(pk_moments(d, n).variance);
    pk_report_effect(o, &r->all, &r->scale, r->sd);
    pk_report_modes(o, &r->modes, &r->scale);
}

/* Holm over the tests of the cases suspected in one direction; those whose fresh pairs are missing count as 1. */
static void adjust(const struct paired_row *rows, size_t n, int towards, const struct pk_rule *rule,
                   struct pk_decision *out, double *p)
{
    for (size_t i = 0; i < n; i++) {
        const struct paired_row *r = &rows[i];
        p[i] = NAN;
        if (out[i].suspected != towards || (r->confirmed && pk_modes_divided(&r->modes)))
            continue;
        struct pk_mean_test t = r->fresh;
        t.estimate *= towards * r->scale.worse;
        const double above = pk_test_above(&t, rule->strict ? r->scale.min_effect : 0);
        p[i] = r->confirmed ? fmin(1, pk_mean_share * above) : 1;
        out[i].p = r->confirmed ? fmin(1, 2 * above) : NAN; /* two-sided */
    }
    pk_adjust_holm(p, n, p);
    for (size_t i = 0; i < n; i++) {
        if (out[i].suspected == towards)
            out[i].p_adjusted = p[i];
    }
}

/* Holm over the tests of slow processes, of the cases that have any: a family of its own, or rows with a few slow processes, which are many
 * on a disturbed machine, would hide what the means find. */
static void adjust_slow(struct paired_row *rows, size_t n, int towards, const struct pk_decision *out,
                        double *p)
{
    for (size_t i = 0; i < n; i++) {
        const bool tested = !out[i].wanted && (towards > 0 || pk_modes_shifted(&rows[i].modes));
        p[i] = !out[i].modes_suspected ? NAN : tested ? pk_modes_p(&rows[i].modes, towards) : 1;
    }
    pk_adjust_holm(p, n, p);
    for (size_t i = 0; i < n; i++)
        if (p[i] < rows[i].p_slow || isnan(rows[i].p_slow)) {
            rows[i].p_slow = p[i];
            rows[i].more_slow = towards;
        }
}

struct pk_gate_limits pk_gate_limits(size_t n, size_t m, const struct pk_rule *rule)
{
    return (struct pk_gate_limits){pk_t_quantile(1 - screen_p / 2, (double)(n - 1)),
                                   pk_t_quantile(1 - rule->alpha / pk_mean_share, (double)(m - 1))};
}

/* In units of differences: the smallest worsening that is suspected after n pairs, confirmed by m fresh ones and as large as the
 * margin, each with rule.mde_power. NaN under two of either. */
static double detection_limit(size_t n, size_t m, double sd, double margin, const struct pk_rule *rule)
{
    if (n < 2 || m < 2)
        return NAN;
    double luck = pk_t_quantile(rule->mde_power, (double)(n + m - 1)) * sd / sqrt((double)(n + m));
    double seen = pk_effect_found(n, sd, screen_p, rule->mde_power);
    double confirmed = pk_effect_found(m, sd, 2 * rule->alpha / pk_mean_share, rule->mde_power) +
                       (rule->strict ? margin : 0);
    return fmax(fmax(seen, confirmed), margin + luck);
}

static void set_verdict(const struct pk_pair_series *t, const struct pk_rule *rule, struct paired_row *r,
                        struct pk_decision *o)
{
    o->mde =
        pk_as_share(detection_limit(r->n_screen, r->target, r->sd, r->scale.min_effect, rule), &r->scale);
    /* Equivalence may be claimed twice: four fifths of the risk for the screening, which has few pairs, one fifth for the fresh
     * ones, which need no more. */
    const double within = r->scale.same_within;
    o->p_same = fmin(1, r->confirmed ? 5 * pk_test_within(&r->fresh, -within, within)
                                     : 1.25 * pk_test_within(&r->screen, -within, within));
    const struct pk_test_results f = {.refusal = t->unstable ? PK_REASON_ENVIRONMENT
                                                 : o->wanted ? PK_REASON_MORE_PAIRS
                                                             : pk_refuse_pairs(o, &r->scale, rule),
                                      .significant =
                                          o->suspected && o->p_adjusted < rule->alpha ? o->suspected : 0,
                                      .more_slow = r->p_slow < rule->alpha ? r->more_slow : 0,
                                      .otherwise = o->suspected ? PK_REASON_UNCONFIRMED : PK_REASON_NOISE,
                                      .modes = &r->modes};
    pk_settle(o, &f, &r->all, &r->scale, rule->alpha, rule);
    if (f.more_slow && (o->verdict == PK_SLOWER_IN_SOME || isnan(o->p_adjusted))) {
        o->p = fmin(1, pk_modes_p(&r->modes, f.more_slow) * 2 / pk_slow_share); /* two-sided */
        o->p_adjusted = r->p_slow;
    }
}

void pk_decide_gate(const struct pk_pair_series *t, size_t n, const struct pk_rule *rule,
                    struct pk_decision *out)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct paired_row *rows = pk_new_n(&a, struct paired_row, n + 1);
    double *p = pk_new_n(&a, double, n + 1);
    for (size_t i = 0; i < n; i++)
        decide_case(&t[i], rule, &rows[i], &out[i]);
    adjust(rows, n, 1, rule, out, p);
    adjust(rows, n, -1, rule, out, p);
    adjust_slow(rows, n, 1, out, p);
    adjust_slow(rows, n, -1, out, p);
    size_t pairs = 0; /* most rows have as many as the row before */
    double found = NAN;
    for (size_t i = 0; i < n; i++) {
        set_verdict(&t[i], rule, &rows[i], &out[i]);
        if (!rows[i].modes.apart)
            continue;
        if (rows[i].modes.n_new != pairs)
            found = pk_slow_found(rows[i].modes.n_new, rule->alpha / pk_slow_share, rule->power);
        pairs = rows[i].modes.n_new;
        out[i].slow_found = found;
    }
}
