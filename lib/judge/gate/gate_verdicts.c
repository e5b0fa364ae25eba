/* Gate verdicts: the judged rows of a gate as they are recorded, by the cases of its two runs. */
#include "judge/gate/gate.h"

#include "bench/plan/declared_work.h"
#include "json/json.h"

static const char *criteria_of(const struct pk_compared *row, const struct pk_rule *rule, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j =
        json_pack("{s:f, s:b, s:b, s:s?}", "alpha", rule->alpha, "strict", (int)rule->strict, "until_clear",
                  (int)rule->until_clear, "threshold", row->threshold ? row->threshold->text : NULL);
    return pk_json_text(a, j, PK_JSON_CANON);
}

size_t pk_gate_verdicts(const struct pk_comparison *c, const struct pk_gate_samples *l, size_t part,
                        const struct pk_plan *const plans[PK_SIDES], size_t first, const struct pk_rule *rule,
                        struct pk_arena *a, struct pk_verdict_row **rows)
{
    struct pk_verdict_row *v = *rows = pk_new_n(a, struct pk_verdict_row, c->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_compared *r = &c->v[i];
        const size_t at = (size_t)r->base->ordinal;
        if (!r->judged || l->cases[at].part != part)
            continue;
        v[n] = (struct pk_verdict_row){
            .experiment = r->new_->experiment,
            .metric = r->new_->metric,
            .margin = r->min_effect > 0 || pk_figures_exact(r->new_) ? r->min_effect : rule->min_effect,
            .min_change = r->min_change,
            .criteria = criteria_of(r, rule, a),
            .decision = r->decision};
        for (int s = 0; s < PK_SIDES; s++) { /* cases of an experiment are shown without what a side sets */
            const struct pk_case_info info =
                plans[s] ? pk_planned_info(plans[s], at - first, a) : l->cases[at].info;
            v[n].variant[s] = info.variant;
            v[n].device[s] = info.device;
            v[n].axes[s] = info.axes;
        }
        n++;
    }
    return n;
}
