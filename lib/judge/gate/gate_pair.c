/* Gate pair: what is recorded of a gate: its mark in the settings of both runs, written and read, and the verdicts of its rows. */
#include "judge/gate/gate.h"

#include "bench/plan/declared_work.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

/* --- writing ------------------------------------------------------------------------------------------------------ */

static json_t *thresholds_json(const struct pk_threshold *v, size_t n)
{
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        json_array_append_new(list, json_string(v[i].text));
    return list;
}

json_t *pk_gate_mark_json(const struct pk_gate_mark *m)
{
    const struct pk_rule *r = &m->rule;
    const struct pk_criteria *k = &m->criteria;
    json_t *criteria = NULL; /* nothing but what the rule says */
    if (k->n_own || k->n_all || m->metrics.n || m->all_metrics)
        criteria =
            json_pack("{s:o, s:o, s:o, s:f, s:b, s:b}", "metrics", pk_json_texts(m->metrics.v, m->metrics.n),
                      "own_thresholds", thresholds_json(k->own, k->n_own), "thresholds",
                      thresholds_json(k->all, k->n_all), "own_min_effect", k->min_effect, "typed",
                      (int)k->typed, "all_metrics", (int)m->all_metrics);
    return json_pack("{s:s, s:s, s:s, s:f, s:f, s:b, s:b, s:I, s:I, s:I, s:b, s:o*, s:o*}", "id", m->id,
                     "side", m->side, "what", m->text, "alpha", r->alpha, "min_effect", r->min_effect,
                     "strict", (int)r->strict, "until_clear", (int)r->until_clear, "max_pairs",
                     (json_int_t)r->max_pairs, "screen_pairs", (json_int_t)r->screen_pairs, "confirm_pairs",
                     (json_int_t)r->confirm_pairs, "equal", (int)m->equal, "asked", criteria, "calibration",
                     m->calibration ? json_true() : NULL);
}

/* --- reading ------------------------------------------------------------------------------------------------------ */

static bool is_side(const json_t *gate, const char *side)
{
    return strcmp(pk_json_str(gate, "side", ""), side) == 0;
}

static const char *const *texts_of(const json_t *list, struct pk_arena *a, size_t *n)
{
    const char **v = pk_new_n(a, const char *, json_array_size(list) + 1);
    *n = 0;
    for (size_t i = 0; i < json_array_size(list); i++)
        if (json_is_string(json_array_get(list, i)))
            v[(*n)++] = pk_strdup(a, json_string_value(json_array_get(list, i)));
    return v;
}

static const struct pk_threshold *thresholds_of(const json_t *list, struct pk_arena *a, size_t *n)
{
    struct pk_err ignored;
    size_t texts;
    const char *const *text = texts_of(list, a, &texts);
    struct pk_threshold *v = pk_new_n(a, struct pk_threshold, texts + 1);
    *n = 0;
    for (size_t i = 0; i < texts; i++)
        *n += !pk_threshold_parse(text[i], a, &v[*n], &ignored);
    return v;
}

bool pk_gate_pair_read(const struct pk_run_facts *base, const struct pk_run_facts *new_, struct pk_arena *a,
                       struct pk_gate_pair *out)
{
    PK_JSON_CLEANUP json_t *b = json_loads(base->settings, 0, NULL), *w = json_loads(new_->settings, 0, NULL),
                           *worker_facts = json_loads(new_->worker_facts, 0, NULL);
    const json_t *gb = json_object_get(b, "gate"), *gw = json_object_get(w, "gate");
    if (!gb || !gw || strcmp(pk_json_str(gb, "id", "b"), pk_json_str(gw, "id", "w")) != 0)
        return false;
    if (!is_side(gb, "base") || !is_side(gw, "new"))
        return false;
    struct pk_rule *r = &out->judging.rule;
    r->alpha = pk_json_num(gw, "alpha", r->alpha);
    r->min_effect = pk_json_num(gw, "min_effect", r->min_effect);
    r->strict = pk_json_bool(gw, "strict", r->strict);
    r->until_clear = pk_json_bool(gw, "until_clear", r->until_clear);
    r->max_pairs = (size_t)pk_json_int(gw, "max_pairs", (int64_t)r->max_pairs);
    r->screen_pairs = (size_t)pk_json_int(gw, "screen_pairs", (int64_t)r->screen_pairs);
    r->confirm_pairs = (size_t)pk_json_int(gw, "confirm_pairs", (int64_t)r->confirm_pairs);
    const json_t *recorded = json_object_get(gw, "asked");
    struct pk_criteria *k = &out->criteria;
    out->metrics = texts_of(json_object_get(recorded, "metrics"), a, &out->n_metrics);
    out->all_metrics = pk_json_bool(recorded, "all_metrics", false);
    k->own = thresholds_of(json_object_get(recorded, "own_thresholds"), a, &k->n_own);
    k->all = thresholds_of(json_object_get(recorded, "thresholds"), a, &k->n_all);
    k->min_effect = pk_json_num(recorded, "own_min_effect", 0);
    k->typed = pk_json_bool(recorded, "typed", false);
    out->judging.equal = pk_json_bool(gw, "equal", false);
    out->judging.design = PK_DESIGN_GATE;
    out->judging.screened = strtoll(pk_json_str(worker_facts, "gate_screened", "0"), NULL, 10);
    return true;
}

/* --- verdicts, by the cases of the two runs -------------------------------------------------------------- */

struct pk_verdict_row pk_verdict_row(const struct pk_compared *r, const struct pk_rule *rule,
                                     struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *criteria =
        json_pack("{s:f, s:b, s:b, s:s?}", "alpha", rule->alpha, "strict", (int)rule->strict, "until_clear",
                  (int)rule->until_clear, "threshold", r->threshold ? r->threshold->text : NULL);
    struct pk_decision d = r->decision;
    if (!d.absolute) { /* as printed: without an interval of its own the row has the ratio of the figures */
        d.ratio = r->ratio.ratio;
        d.ci = r->ratio.ci;
        d.p = r->ratio.p;
    }
    return (struct pk_verdict_row){
        .experiment = r->new_->experiment,
        .metric = r->new_->metric,
        .margin = r->min_effect > 0 || pk_figures_exact(r->new_) ? r->min_effect : rule->min_effect,
        .min_change = r->min_change,
        .criteria = pk_json_text(a, criteria, PK_JSON_CANON),
        .decision = d,
        .ordinal = r->new_->ordinal};
}

size_t pk_gate_verdicts(const struct pk_comparison *c, const struct pk_gate_samples *l, size_t part,
                        const struct pk_case_plan *const plans[PK_SIDES], size_t first,
                        const struct pk_rule *rule, struct pk_arena *a, struct pk_verdict_row **rows)
{
    struct pk_verdict_row *v = *rows = pk_new_n(a, struct pk_verdict_row, c->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_compared *r = &c->v[i];
        const size_t at = (size_t)r->base->ordinal;
        if (!r->judged || l->cases[at].part != part)
            continue;
        v[n] = pk_verdict_row(r, rule, a);
        for (int s = 0; s < PK_SIDES; s++) { /* cases of an experiment are shown without what a side sets */
            const struct pk_case_info info =
                plans[s] ? pk_planned_case_info(plans[s], at - first, a) : l->cases[at].info;
            v[n].variant[s] = info.variant;
            v[n].device[s] = info.device;
            v[n].axes[s] = info.axes;
        }
        n++;
    }
    return n;
}
