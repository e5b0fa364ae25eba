/* Parts: scales, effects and sizes that the designs of verdict share. */
#include "stats/verdict/parts.h"

#include "stats/dist.h"
#include "stats/infer.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

struct pk_scale pk_scale_for(bool logs, bool higher_is_better, double relative, double min_change,
                             const double *base, size_t n_base, const struct pk_rule *rule)
{
    struct pk_scale s = {.logs = logs, .worse = higher_is_better ? -1 : 1};
    double within = rule->same_within > 0 ? rule->same_within : relative > 0 ? relative : rule->min_effect;
    if (!logs) {
        s.min_effect = s.same_within = min_change;
        return s;
    }
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *scratch = pk_new_n(&a, double, n_base + 1);
    double least = min_change > 0 && n_base ? log1p(min_change / pk_median_copy(base, n_base, scratch)) : 0;
    s.min_effect = fmax(log1p(relative > 0 ? relative : rule->min_effect), least);
    s.same_within = fmax(log1p(within), least);
    return s;
}

size_t pk_clean_differences(const struct pk_pairs *p, bool logs, const struct pk_rule *rule, double *d,
                            struct pk_decision *out, bool *refused)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    bool *flags = pk_new_n(&a, bool, p->n + 1);
    const struct pk_disturbed found = pk_find_disturbed(p, rule, flags);
    size_t n = 0;
    for (size_t i = 0; i < p->n; i++) {
        if (!flags[i])
            d[n++] = logs ? log(p->new_[i] / p->base[i]) : p->new_[i] - p->base[i];
    }
    out->pairs += n;
    out->disturbed += found.pairs;
    out->disturbed_base += found.base;
    out->disturbed_new += found.new_;
    *refused |= found.refused;
    return n;
}

void pk_report_effect(struct pk_decision *out, const struct pk_mean_test *t, const struct pk_scale *s,
                      double sd)
{
    out->absolute = !s->logs;
    out->ratio = s->logs ? exp(t->estimate) : t->estimate;
    out->ci = s->logs ? (struct pk_interval){exp(t->ci.lo), exp(t->ci.hi)} : t->ci;
    out->sd = sd;
    out->p_same = pk_test_within(t, -s->same_within, s->same_within);
    size_t all = out->pairs + out->disturbed;
    out->p_disturbed = pk_fisher_exact(out->disturbed_base, all - out->disturbed_base, out->disturbed_new,
                                       all - out->disturbed_new);
}

/* True when the estimate is beyond the margin, in the direction `towards`: 1 worse, -1 better. */
static bool beyond(const struct pk_mean_test *t, int towards, const struct pk_scale *s)
{
    static const double rounding = 1e-12; /* 2 % of 100 is 102, whatever the logarithms say */
    return towards * s->worse * t->estimate >= s->min_effect * (1 - rounding);
}

/* More pairs than `have` that would probably settle a case whose effect is the estimate. */
static size_t needed(double estimate, double sd, size_t have, const struct pk_scale *s, double alpha,
                     const struct pk_rule *rule)
{
    double size = fabs(estimate);
    size_t n;
    if (size >= s->min_effect) {
        n = pk_pairs_to_detect(sd, rule->strict ? size - s->min_effect : size, alpha, rule->power);
    } else {
        size_t centred = pk_pairs_to_prove(sd, s->same_within, rule->alpha, rule->power);
        n = pk_pairs_to_detect(sd, s->same_within - size, 2 * rule->alpha, rule->power);
        n = n > centred ? n : centred;
    }
    return n == PK_PAIRS_NEVER ? n : n > have ? n - have : 1;
}

double pk_p_shown(const struct pk_mean_test *t, const struct pk_scale *s, const struct pk_rule *rule)
{
    if (!rule->strict)
        return t->p;
    struct pk_mean_test sized = *t;
    sized.estimate = fabs(t->estimate);
    return fmin(1, 2 * pk_test_above(&sized, s->min_effect));
}

enum pk_reason pk_refuse_pairs(const struct pk_decision *o, bool refused, const struct pk_scale *s,
                               const struct pk_rule *rule)
{
    if (o->pairs < 2)
        return PK_REASON_FEW_PAIRS;
    if (refused || (double)o->disturbed > rule->most_disturbed * (double)(o->pairs + o->disturbed))
        return PK_REASON_DISTURBED;
    return s->min_effect > 0 ? PK_REASON_PROVED : PK_REASON_NEEDS_ABSOLUTE;
}

void pk_settle(struct pk_decision *o, const struct pk_test_results *f, const struct pk_mean_test *t,
               const struct pk_scale *s, double alpha, const struct pk_rule *rule)
{
    o->reason = f->refusal;
    if (f->refusal == PK_REASON_PROVED && f->significant && beyond(t, f->significant, s))
        o->verdict = f->significant > 0 ? PK_SLOWER : PK_FASTER;
    else if (f->refusal == PK_REASON_PROVED && o->p_same < rule->alpha)
        o->verdict = PK_SAME;
    else {
        if (f->refusal == PK_REASON_PROVED)
            o->reason = f->significant ? PK_REASON_BETWEEN : f->otherwise;
        o->verdict = pk_reason_verdict(o->reason);
    }
    if (o->verdict == PK_UNDECIDED && o->reason != PK_REASON_MORE_PAIRS && s->min_effect > 0 && o->pairs > 1)
        o->needed = needed(t->estimate, o->sd, o->pairs, s, alpha, rule);
}

double pk_as_share(double size, const struct pk_scale *s)
{
    return s->logs ? expm1(size) : size;
}
