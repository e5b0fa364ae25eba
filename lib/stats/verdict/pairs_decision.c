/* Pairs decision: interleaved pairs in one stage, as many as there are, or until the verdict is clear. */
#include "stats/verdict/verdict.h"

#include "stats/dist.h"
#include "stats/infer.h"
#include "stats/stats.h"
#include "stats/verdict/parts.h"

#include <math.h>

struct pairs_row {
    struct pk_scale scale;
    struct pk_mean_test test;
    struct pk_interval anytime, anytime_same; /* with until_clear */
    struct pk_modes modes;
};

static void decide_case(const struct pk_pair_series *t, size_t cases, const struct pk_rule *rule,
                        struct pairs_row *r, struct pk_decision *o)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_pairs *p = &t->screen;
    double *d = pk_new_n(&a, double, p->n + 1), share = rule->alpha / (double)cases;
    bool logs = pk_all_positive(p->base, p->n) && pk_all_positive(p->new_, p->n);
    *o = (struct pk_decision){.p_adjusted = NAN, .mde = NAN, .slow_found = NAN};
    r->scale = pk_scale_for(logs, t->higher_is_better, t->min_effect, t->min_change, p->base, p->n, rule);
    const struct pk_processes all = pk_processes_of(p, NULL, &r->scale, rule, &a);
    const size_t n = pk_clean_differences(&all, 0, all.n, d);
    o->pairs = n;
    o->disturbed = all.n - n;
    r->modes = all.modes;
    r->test = pk_test_mean(d, n, 1 - rule->alpha);
    if (rule->until_clear) {
        r->test.ci = pk_anytime_interval(d, n, 1 - rule->alpha);
        r->anytime = pk_anytime_interval(d, n, 1 - share);
        r->anytime_same = pk_anytime_interval(d, n, 1 - 2 * rule->alpha);
    }
    o->p = rule->until_clear ? NAN : r->test.p;
    pk_report_effect(o, &r->test, &r->scale, sqrt(pk_moments(d, n).variance));
    pk_report_modes(o, &r->modes, &r->scale);
    if (r->modes.apart)
        o->slow_found = pk_slow_found(all.n, share / pk_slow_share, rule->power);
    if (n < 2)
        return;
    double least = rule->strict ? r->scale.min_effect : 0,
           luck = pk_t_quantile(rule->mde_power, (double)(n - 1));
    o->mde = pk_as_share(fmax(least + pk_effect_found(n, o->sd, share, rule->mde_power),
                              r->scale.min_effect + luck * o->sd / sqrt((double)n)),
                         &r->scale);
}

/* 1 worse, -1 better, 0 neither. */
static int significant(const struct pairs_row *r, const struct pk_decision *o, const struct pk_rule *rule)
{
    double least = rule->strict ? r->scale.min_effect : 0;
    int side = r->test.estimate * r->scale.worse > 0 ? 1 : -1;
    if (rule->until_clear)
        return r->anytime.lo > least || r->anytime.hi < -least ? side : 0;
    return o->p_adjusted < rule->alpha ? side : 0;
}

/* p of there being no more slow processes on the new side; NaN where none lies apart. */
static double p_slow(const struct pairs_row *r, const struct pk_rule *rule)
{
    const struct pk_modes *m = &r->modes;
    if (!m->apart)
        return NAN;
    return rule->until_clear ? pk_modes_p_anytime(m) : pk_modes_p(m, 1);
}

static void set_verdict(const struct pk_pair_series *t, size_t cases, const struct pk_rule *rule,
                        const struct pairs_row *r, double p, struct pk_decision *o)
{
    const struct pk_test_results f = {
        .refusal = t->unstable ? PK_REASON_ENVIRONMENT : pk_refuse_pairs(o, &r->scale, rule),
        .significant = pk_modes_divided(&r->modes) ? 0 : significant(r, o, rule),
        .more_slow = p < rule->alpha,
        .otherwise = PK_REASON_NOISE,
        .modes = &r->modes};
    if (rule->until_clear) { /* proved or not; the p of one look means nothing */
        bool same = r->anytime_same.lo > -r->scale.same_within && r->anytime_same.hi < r->scale.same_within;
        o->p_same = same ? 0 : 1;
    }
    pk_settle(o, &f, &r->test, &r->scale, rule->alpha / (double)cases, rule);
    if (!rule->until_clear)
        return;
    o->p_same = NAN;
    /* further pairs could give a verdict */
    const bool open = o->reason == PK_REASON_FEW_PAIRS || o->reason == PK_REASON_DISTURBED ||
                      (o->verdict == PK_UNDECIDED && o->reason != PK_REASON_NEEDS_ABSOLUTE);
    o->wanted = open && t->screen.n < (t->max_pairs ? t->max_pairs : rule->max_pairs);
    if (o->wanted && t->screen.n < rule->screen_pairs) /* no look says anything before */
        o->wanted = rule->screen_pairs - t->screen.n;
    o->stage = o->wanted ? PK_GATE_STAGE_SCREEN : PK_GATE_STAGE_DONE;
}

void pk_decide_pairs(const struct pk_pair_series *t, size_t n, const struct pk_rule *rule,
                     struct pk_decision *out)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pairs_row *rows = pk_new_n(&a, struct pairs_row, n + 1);
    double *p = pk_new_n(&a, double, 2 * n + 1); /* of the means, then of slow processes */
    for (size_t i = 0; i < n; i++) {
        decide_case(&t[i], n, rule, &rows[i], &out[i]);
        p[i] = rule->until_clear || pk_modes_divided(&rows[i].modes)
                   ? NAN
                   : pk_p_shown(&rows[i].test, &rows[i].scale, rule);
        p[n + i] = p_slow(&rows[i], rule);
    }
    pk_adjust_holm(p, n, p);
    pk_adjust_holm(p + n, n, p + n);
    for (size_t i = 0; i < n; i++) {
        out[i].p_adjusted = p[i];
        set_verdict(&t[i], n, rule, &rows[i], p[n + i], &out[i]);
        if (out[i].verdict == PK_SLOWER_IN_SOME)
            out[i].p_adjusted = p[n + i];
    }
}
