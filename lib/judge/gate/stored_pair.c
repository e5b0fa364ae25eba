/* Stored pair: two sides of the store compared and judged, or those of every entry of a suite; what is unmatched, and the outcome. */
#include "judge/gate/stored.h"

#include "judge/gate/gate.h"
#include "judge/report/outcome.h"

#include <string.h>

static bool is_listed(const char *const *v, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(v[i], text) == 0)
            return true;
    return false;
}

/* Every run of either side against the first of base. */
static void find_differences(struct pk_stored_pair *p, struct pk_arena *a)
{
    const char **all = NULL;
    size_t n = 0, cap = 0;
    for (size_t i = 0; i < p->base.n_runs + p->new_.n_runs; i++) {
        const struct pk_run_facts *f =
            i < p->base.n_runs ? &p->base.facts[i] : &p->new_.facts[i - p->base.n_runs];
        const char *const *some;
        size_t m = pk_compare_setups(&p->base.facts[0], f, a, &some);
        for (size_t k = 0; k < m; k++) {
            if (is_listed(all, n, some[k]))
                continue;
            all = pk_grow(a, all, sizeof *all, n, &cap);
            all[n++] = some[k];
        }
    }
    p->differences = all;
    p->n_differences = n;
}

/* The criteria of the gate hold, unless options give others now. */
static void keep(const struct pk_verdict_given *given, const struct pk_gate_pair *gate,
                 struct pk_compare_options *what, struct pk_judging *j, struct pk_criteria *criteria)
{
    const struct pk_rule now = j->rule;
    *j = gate->judging;
    if (given->min_effect)
        j->rule.min_effect = now.min_effect;
    if (given->alpha)
        j->rule.alpha = now.alpha;
    if (given->strict)
        j->rule.strict = now.strict;
    if (!what->n_metrics && !what->all_metrics) {
        what->metrics = gate->metrics;
        what->n_metrics = gate->n_metrics;
        what->all_metrics = gate->all_metrics;
    }
    if (!given->thresholds)
        *criteria = gate->criteria;
    if (given->min_effect)
        criteria->min_effect = 0;
}

/* Pairs, and what stands between judging them. */
static enum pk_code pair_up(const struct pk_run_source *from, const struct pk_compare_options *what,
                            bool of_one_gate, bool allow_host_mismatch, struct pk_stored_pair *p,
                            struct pk_err *err)
{
    struct pk_comparison *c = &p->comparison;
    if (pk_compare_runs(&p->base.figures, &p->new_.figures, what, from->arena, c, err))
        return err->code;
    for (size_t i = 0; i < c->n; i++) {
        c->v[i].base_runs = p->base.n_runs;
        c->v[i].new_runs = p->new_.n_runs;
    }
    find_differences(p, from->arena);
    p->refused = p->n_differences && !of_one_gate && !allow_host_mismatch;
    return PK_OK;
}

static bool has_metric(const struct pk_compare_side *side, const char *metric)
{
    for (size_t i = 0; i < side->n; i++)
        if (strcmp(side->v[i].metric, metric) == 0)
            return true;
    return false;
}

/* Without the own times that a gate of commands does not judge. */
static struct pk_compare_side without_own_times(const struct pk_compare_side *side,
                                                const struct pk_compare_side *other, struct pk_arena *a)
{
    struct pk_figures *v = pk_new_n(a, struct pk_figures, side->n + 1);
    struct pk_compare_side out = *side;
    bool reported = false;
    for (size_t i = 0; i < side->n; i++)
        reported |= strcmp(side->v[i].class, "time") == 0 && !pk_is_own_time(side->v[i].metric) &&
                    has_metric(other, side->v[i].metric);
    out.v = v;
    out.n = 0;
    for (size_t i = 0; i < side->n; i++)
        if (pk_own_time_counts(side->v[i].metric, reported))
            v[out.n++] = side->v[i];
    return out;
}

/* Verdicts of a gate stand unless options ask for others. */
static bool takes_verdicts(const struct pk_verdict_options *o)
{
    const struct pk_verdict_given *g = &o->given;
    return !(g->min_effect || g->alpha || g->strict || g->thresholds || o->metrics.n || o->all_metrics);
}

enum pk_code pk_stored_compare(const struct pk_run_source *from, const char *base, const char *new_,
                               const struct pk_verdict_options *o, const struct pk_threshold *thresholds,
                               struct pk_stored_pair *out, struct pk_err *err)
{
    struct pk_compare_options what = pk_verdict_what(o);
    struct pk_judging j = {.rule = pk_verdict_rule(o), .design = PK_DESIGN_STORED};
    const struct pk_criteria criteria_now = {.all = thresholds, .n_all = o->thresholds.n, .typed = true};
    struct pk_criteria criteria = criteria_now;
    struct pk_gate_pair gate = {.judging = j};
    struct pk_comparison *c = &out->comparison;
    out->wrong = (struct pk_errs){.arena = from->arena};
    if (pk_stored_read(from, new_, NULL, NULL, &out->new_, err) ||
        pk_stored_base(from, base, NULL, &out->new_, &out->base, err))
        return err->code;
    bool of_one_gate = out->base.n_runs == 1 && out->new_.n_runs == 1 &&
                       pk_gate_pair_read(&out->base.facts[0], &out->new_.facts[0], from->arena, &gate);
    if (of_one_gate)
        keep(&o->given, &gate, &what, &j, &criteria);
    out->equal = of_one_gate && j.equal;
    const bool commands = strcmp(out->base.facts[0].experiment, "exec") == 0;
    what.by_ordinal = of_one_gate && !commands;
    if (of_one_gate && commands && !what.n_metrics && !what.all_metrics) {
        const struct pk_compare_side whole = out->base.figures;
        out->base.figures = without_own_times(&whole, &out->new_.figures, from->arena);
        out->new_.figures = without_own_times(&out->new_.figures, &whole, from->arena);
    }
    what.design = j.design;
    if (pair_up(from, &what, of_one_gate, o->allow_host_mismatch, out, err))
        return err->code;
    const struct pk_expected_rows rows = {
        .side = &out->new_.figures, .rows = c->v, .n = c->n, .criteria = criteria_now};
    if (pk_expected_rows_check(&rows, 1, true, &out->wrong, err))
        return err->code;
    pk_compare_counters(&out->base.counters, &out->new_.counters, &what, from->arena, &out->counters);
    pk_verdict_hide_counters(o, &out->counters);
    pk_criteria_apply(&criteria, c->v, c->n);
    if (!out->refused &&
        !(of_one_gate && !j.equal && takes_verdicts(o) &&
          pk_take_verdicts(c->v, c->n, out->new_.verdicts, out->new_.n_verdicts, out->base.facts[0].uuid)))
        pk_judge(c->v, c->n, &j);
    pk_compare_sort(c->v, c->n);
    pk_verdict_hide(o, c);
    return PK_OK;
}

enum pk_code pk_stored_entry(const struct pk_run_source *from, const char *base, const char *new_,
                             const struct pk_entry_name *of, const struct pk_verdict_options *o,
                             struct pk_stored_pair *out, struct pk_err *err)
{
    const struct pk_compare_options what = pk_verdict_what(o);
    if (pk_stored_read(from, new_, of, NULL, &out->new_, err) ||
        pk_stored_base(from, base, of, &out->new_, &out->base, err))
        return err->code;
    return pair_up(from, &what, false, o->allow_host_mismatch, out, err);
}

/* --- the outcome ---------------------------------------------------------------------------------------------------- */

const struct pk_failure *pk_stored_failures(const struct pk_stored_pair *p, const char *entry,
                                            struct pk_arena *a)
{
    const struct pk_comparison *c = &p->comparison;
    struct pk_failure *v = pk_new_n(a, struct pk_failure, c->n_unmatched + 1);
    for (size_t i = 0; i < c->n_unmatched; i++) {
        const struct pk_unmatched *l = &c->unmatched[i];
        v[i] = (struct pk_failure){.side = "new",
                                   .entry = entry,
                                   .experiment = p->new_.facts[0].experiment,
                                   .variant = l->variant,
                                   .axes = l->axes,
                                   .metric = l->metric,
                                   .status = l->status,
                                   .message = l->message};
    }
    return v;
}

static const struct pk_unmatched *first_unmatched(const struct pk_comparison *c, bool metric)
{
    for (size_t i = 0; i < c->n_unmatched; i++)
        if ((c->unmatched[i].metric != NULL) == metric)
            return &c->unmatched[i];
    return NULL;
}

enum pk_code pk_stored_case_failed(const struct pk_stored_pair *p, struct pk_arena *a, struct pk_err *err)
{
    const struct pk_unmatched *l = first_unmatched(&p->comparison, false);
    if (!l)
        return PK_OK;
    pk_fail(err, PK_E_CHECK, "the judged run (%s) ended '%s' in %s, which ended ok in the base (%s)",
            p->new_.name, l->status, l->what, p->base.name);
    pk_why(err, "%s", *l->message ? l->message : "none of its processes ended ok");
    return pk_fix(err, "`perfkit show %lld` prints that run", (long long)p->new_.facts[0].run_id);
}

enum pk_code pk_stored_metrics_missing(const struct pk_stored_pair *p, struct pk_arena *a, struct pk_err *err)
{
    const struct pk_unmatched *l = first_unmatched(&p->comparison, true);
    if (!l)
        return PK_OK;
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s of %s cannot be compared: %s", l->metric, l->what, l->status);
    pk_why(err, "%s", l->message);
    return pk_fix(err, "choose other metrics with --metric, or measure base and new with the same metrics");
}

enum pk_code pk_stored_outcome(const struct pk_stored_pair *p, const struct pk_verdict_options *o,
                               struct pk_arena *a, struct pk_err *err)
{
    const struct pk_outcome_options q = {.new_name = p->new_.name, .fail_on_undecided = o->fail_on_undecided};
    if (pk_stored_case_failed(p, a, err))
        return err->code;
    if (!p->refused && !pk_compare_count(&p->comparison).of[PK_SLOWER] &&
        pk_stored_metrics_missing(p, a, err))
        return err->code;
    if (!p->refused)
        return pk_outcome(&p->comparison, &q, a, err);
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s and %s were not measured under the same conditions", p->base.name,
            p->new_.name);
    pk_why(err, "%s%s", p->differences[0], p->n_differences > 1 ? ", and more" : "");
    return pk_fix(
        err, "measure both here: perfkit gate --a ... --b ...; --allow-host-mismatch judges them anyway");
}

/* --- a suite -------------------------------------------------------------------------------------------------------- */

enum pk_code pk_stored_suite_judge(struct pk_stored_suite *s, const struct pk_compare_family *family,
                                   struct pk_err *err)
{
    struct pk_compare_family f = *family;
    struct pk_compare_part *parts = pk_new_n(s->arena, struct pk_compare_part, f.n + 1);
    for (size_t i = 0; i < f.n; i++) {
        parts[i] = family->v[i];
        parts[i].of = &s->pairs[i].comparison;
        parts[i].refused = s->pairs[i].refused;
    }
    f.v = s->parts = parts;
    s->n = f.n;
    s->wrong = (struct pk_errs){.arena = s->arena};
    return pk_compare_judge_family(&f, s->arena, &s->all, &s->wrong, err);
}

void pk_stored_suite_of_one(struct pk_stored_suite *s)
{
    s->parts = pk_new(s->arena, struct pk_compare_part);
    s->n = 1;
    s->all = s->pairs[0].comparison;
}

const struct pk_failure *pk_stored_suite_failures(const struct pk_stored_suite *s, size_t *n)
{
    size_t most = 1;
    for (size_t i = 0; i < s->n; i++)
        most += s->pairs[i].comparison.n_unmatched;
    struct pk_failure *v = pk_new_n(s->arena, struct pk_failure, most);
    *n = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct pk_failure *of_entry = pk_stored_failures(&s->pairs[i], s->parts[i].name, s->arena);
        for (size_t k = 0; k < s->pairs[i].comparison.n_unmatched; k++)
            v[(*n)++] = of_entry[k];
    }
    return v;
}

typedef enum pk_code missing_fn(const struct pk_stored_pair *p, struct pk_arena *a, struct pk_err *err);

/* Of the first entry that misses something. */
static enum pk_code first_missing(const struct pk_stored_suite *s, missing_fn *of_pair, struct pk_err *err)
{
    for (size_t i = 0; i < s->n; i++)
        if (of_pair(&s->pairs[i], s->arena, err))
            return pk_within(err, "[%s]", s->parts[i].name);
    return PK_OK;
}

/* A regression counts, whatever else could not be judged. */
enum pk_code pk_stored_suite_outcome(const struct pk_stored_suite *s, const struct pk_verdict_options *o,
                                     struct pk_err *err)
{
    const struct pk_outcome_options q = {.new_name = pk_printf(s->arena, "suite %s", s->name),
                                         .fail_on_undecided = o->fail_on_undecided};
    const bool slower = pk_compare_count(&s->all).of[PK_SLOWER];
    size_t refused = 0;
    if (!s->name)
        return pk_stored_outcome(s->pairs, o, s->arena, err);
    if (first_missing(s, pk_stored_case_failed, err) ||
        (!slower && first_missing(s, pk_stored_metrics_missing, err)))
        return err->code;
    while (refused < s->n && !s->pairs[refused].refused)
        refused++;
    if (slower || refused == s->n)
        return pk_outcome(&s->all, &q, s->arena, err);
    return pk_stored_outcome(&s->pairs[refused], o, s->arena, err)
               ? pk_within(err, "[%s]", s->parts[refused].name)
               : PK_OK;
}
