/* Verdict options: criteria as options of a command give them. */
#include "judge/criteria/criteria.h"

#include <math.h>

struct pk_threshold *pk_verdict_thresholds(const struct pk_verdict_options *o, struct pk_arena *a,
                                           struct pk_errs *wrong)
{
    struct pk_threshold *v = pk_new_n(a, struct pk_threshold, o->thresholds.n + 1);
    struct pk_err err;
    for (size_t i = 0; i < o->thresholds.n; i++)
        if (pk_threshold_parse(o->thresholds.v[i], a, &v[i], &err))
            pk_errs_add(wrong, &err);
    return v;
}

struct pk_compare_options pk_verdict_what(const struct pk_verdict_options *o)
{
    return (struct pk_compare_options){.metrics = o->metrics.v,
                                       .n_metrics = o->metrics.n,
                                       .all_metrics = o->all_metrics,
                                       .level = 1 - o->alpha};
}

struct pk_rule pk_verdict_rule(const struct pk_verdict_options *o)
{
    struct pk_rule r = pk_rule_default;
    r.alpha = o->alpha;
    r.min_effect = o->min_effect;
    r.strict = o->strict;
    return r;
}

void pk_verdict_hide(const struct pk_verdict_options *o, struct pk_comparison *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->v[i].hidden = o->only_changed && c->v[i].judged && c->v[i].decision.verdict == PK_SAME;
}

void pk_verdict_hide_counters(const struct pk_verdict_options *o, struct pk_comparison *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_compared *row = &c->v[i];
        c->v[i].hidden = o->only_changed && (row->base->median == row->new_->median ||
                                             fabs(log(row->ratio.ratio)) <= log1p(o->min_effect));
    }
}
