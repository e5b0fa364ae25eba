/* Stored pair: two sides of the store compared and judged, or those of every entry of a suite; what is unmatched, and the outcome. */
#include "judge/gate/stored_sides.h"

#include "base/text/buf.h"
#include "base/text/words.h"
#include "bench/own/own.h"
#include "bench/record/runinfo.h"
#include "judge/gate/gate.h"
#include "judge/report/outcome.h"
#include "json/json.h"

#include <math.h>
#include <string.h>

/* Axes of base that new lacks: its cases would be paired with those of the born values, which they may not mean. */
static void find_removed_axes(const struct pk_own *base, const struct pk_own *new_, struct pk_arena *a,
                              struct pk_texts *out)
{
    if (!base || !new_ || strcmp(base->probe.name, new_->probe.name) != 0 ||
        base->probe.revision != new_->probe.revision)
        return;
    for (const struct pk_axis *x = base->probe.axes; x->name; x++)
        if (pk_axis_index(new_->probe.axes, x->name) < 0)
            pk_texts_add(
                out,
                pk_printf(a, "axis %s: removed; a higher `revision` starts a new series of results", x->name),
                a);
}

/* Every run of either side against the first of base. */
static void find_differences(struct pk_stored_pair *p, struct pk_arena *a)
{
    struct pk_texts all = {0};
    for (size_t i = 0; i < p->base.n_runs + p->new_.n_runs; i++) {
        const struct pk_run_facts *f =
            i < p->base.n_runs ? &p->base.facts[i] : &p->new_.facts[i - p->base.n_runs];
        const char *const *some;
        const size_t n = pk_compare_setups(&p->base.facts[0], f, a, &some);
        for (size_t k = 0; k < n; k++)
            pk_texts_add_new(&all, some[k], a);
    }
    find_removed_axes(p->base.own, p->new_.own, a, &all);
    p->differences = all.v;
    p->n_differences = all.n;
}

/* False for a name that no case has. A quantile of too few samples is a metric: its error says what to do. */
static bool has_metric(const struct pk_stored_pair *p, const char *metric, struct pk_arena *a)
{
    const struct pk_compare_options of = {.metrics = &metric, .n_metrics = 1};
    const struct pk_compare_side base = pk_compare_with_tails(&p->base.figures, &of, a),
                                 new_ = pk_compare_with_tails(&p->new_.figures, &of, a);
    struct pk_err ignored;
    return pk_compare_check_tails(&p->base.figures, &of, a, &ignored) ||
           pk_compare_check_tails(&p->new_.figures, &of, a, &ignored) ||
           !pk_compare_check_known(&base, &new_, &of, a, &ignored);
}

/* The gate's metrics, without those that no case has: nobody gave them to this command. */
static void keep_metrics(const struct pk_gate_pair *gate, struct pk_arena *a, struct pk_stored_pair *p,
                         struct pk_compare_options *what)
{
    struct pk_texts of_cases = {0}, of_none = {0};
    for (size_t i = 0; i < gate->n_metrics; i++)
        pk_texts_add(has_metric(p, gate->metrics[i], a) ? &of_cases : &of_none, gate->metrics[i], a);
    what->metrics = of_cases.v;
    what->n_metrics = of_cases.n;
    what->all_metrics = gate->all_metrics;
    if (of_none.n)
        p->unknown_metrics =
            pk_printf(a, "--metric %s of the gate is not applied: no case has such a metric.",
                      pk_list(of_none.v, of_none.n, ",", a));
}

/* The criteria of the gate hold, unless options give others now. */
static void keep(const struct pk_verdict_given *given, const struct pk_gate_pair *gate, struct pk_arena *a,
                 struct pk_stored_pair *p, struct pk_compare_options *what, struct pk_judging *j,
                 struct pk_criteria *criteria)
{
    const struct pk_rule now = j->rule;
    *j = gate->judging;
    if (given->min_effect)
        j->rule.min_effect = now.min_effect;
    if (given->alpha)
        j->rule.alpha = now.alpha;
    if (given->strict)
        j->rule.strict = now.strict;
    if (!what->n_metrics && !what->all_metrics)
        keep_metrics(gate, a, p, what);
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
    p->not_comparable = (struct pk_err){0};
    if (pk_compare_runs(&p->base.figures, &p->new_.figures, what, from->arena, c, err)) {
        if (err->code != PK_E_NOT_COMPARABLE || !c->n_unmatched)
            return err->code;
        if (!c->n || pk_first_unmatched(c, false))
            p->not_comparable = *err;
    }
    for (size_t i = 0; i < c->n; i++) {
        c->v[i].base_runs = p->base.n_runs;
        c->v[i].new_runs = p->new_.n_runs;
    }
    find_differences(p, from->arena);
    p->refused = p->n_differences && !of_one_gate && !allow_host_mismatch;
    return PK_OK;
}

/* Without the own times that a gate of commands does not judge. */
static struct pk_compare_side without_own_times(const struct pk_compare_side *side,
                                                const struct pk_compare_side *base, struct pk_arena *a)
{
    struct pk_figures *v = pk_new_n(a, struct pk_figures, side->n + 1);
    struct pk_compare_side out = *side;
    bool reported = false;
    for (size_t i = 0; i < base->n; i++)
        reported |= strcmp(base->v[i].class, "time") == 0 && !pk_is_own_time(base->v[i].metric);
    out.v = v;
    out.n = 0;
    for (size_t i = 0; i < side->n; i++)
        if (pk_own_time_counts(side->v[i].metric, reported))
            v[out.n++] = side->v[i];
    return out;
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
    out->unknown_metrics = NULL;
    if (pk_stored_read(from, new_, NULL, NULL, &out->new_, err) ||
        pk_stored_base(from, base, NULL, &out->new_, &out->base, err))
        return err->code;
    bool of_one_gate = out->base.n_runs == 1 && out->new_.n_runs == 1 &&
                       pk_gate_pair_read(&out->base.facts[0], &out->new_.facts[0], from->arena, &gate);
    if (of_one_gate)
        keep(&o->given, &gate, from->arena, out, &what, &j, &criteria);
    out->equal = of_one_gate && j.equal;
    const bool commands = pk_is_exec(out->base.facts[0].experiment);
    what.by_ordinal = of_one_gate && !commands;
    if (of_one_gate && commands && !what.n_metrics && !what.all_metrics) {
        out->new_.figures = without_own_times(&out->new_.figures, &out->base.figures, from->arena);
        out->base.figures = without_own_times(&out->base.figures, &out->base.figures, from->arena);
    }
    what.design = j.design;
    what.level = 1 - j.rule.alpha;
    if (pair_up(from, &what, of_one_gate, o->allow_host_mismatch, out, err))
        return err->code;
    const struct pk_expected_rows rows = {.side = &out->new_.figures,
                                          .rows = c->v,
                                          .n = c->n,
                                          .missing = c->missing,
                                          .n_missing = c->n_missing,
                                          .criteria = criteria_now};
    if (pk_expected_rows_check(&rows, 1, true, &out->wrong, err))
        return err->code;
    pk_compare_counters(&out->base.counters, &out->new_.counters, &what, from->arena, &out->counters);
    pk_verdict_hide_counters(o, &out->counters);
    pk_criteria_apply(&criteria, c->v, c->n);
    /* verdicts of a gate stand unless options ask for others */
    const struct pk_verdict_given *now = &o->given;
    const bool again = now->min_effect || now->alpha || now->strict || now->thresholds || o->metrics.n ||
                       o->all_metrics || !of_one_gate || j.equal;
    if (!out->refused && (again || !pk_apply_stored_verdicts(c->v, c->n, out->new_.verdicts,
                                                             out->new_.n_verdicts, out->base.facts[0].uuid)))
        pk_judge(c->v, c->n, &j);
    if (!out->refused)
        pk_find_moved_tails(c->v, c->n, &j);
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

bool pk_stored_not_comparable(const struct pk_run_source *from, const char *base, const char *new_,
                              struct pk_err *err)
{
    const struct pk_compare_options all = {.all_metrics = true, .level = 0.95};
    struct pk_stored_side b, w;
    struct pk_comparison c;
    return !pk_stored_read(from, base, NULL, NULL, &b, err) &&
           !pk_stored_read(from, new_, NULL, NULL, &w, err) &&
           pk_compare_runs(&b.figures, &w.figures, &all, from->arena, &c, err) == PK_E_NOT_COMPARABLE;
}

/* --- sentences ------------------------------------------------------------------------------------------------------- */

static void add_option(struct pk_texts *to, const char *option, const char *value, struct pk_arena *a)
{
    if (value && *value)
        pk_texts_add(to, pk_printf(a, " %s %s", option, pk_shell_quote(value, a)), a);
}

/* " --preset quick", " -a seq_len=64": the options of an experiment's run that select its cases. */
static struct pk_texts options_of(const struct pk_run_facts *run, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *s = json_loads(run->settings, 0, NULL);
    static const char *const lists[][2] = {{"axes", "-a"}, {"variants", "--variant"}};
    struct pk_texts options = {0};
    add_option(&options, "--preset", pk_json_str(s, "preset", ""), a);
    for (size_t l = 0; l < 2; l++) {
        const json_t *list = json_object_get(s, lists[l][0]);
        for (size_t i = 0; i < json_array_size(list); i++)
            add_option(&options, lists[l][1], json_string_value(json_array_get(list, i)), a);
    }
    add_option(&options, "--filter", pk_json_str(s, "filter", ""), a);
    return options;
}

/* Those that the other does not have. */
static const char *own_options(const struct pk_texts *options, const struct pk_texts *other,
                               struct pk_arena *a)
{
    struct pk_texts own = {0};
    for (size_t i = 0; i < options->n; i++)
        if (!pk_texts_has(other, options->v[i]))
            pk_texts_add(&own, options->v[i], a);
    return own.n ? pk_list(own.v, own.n, "", a) : " the defaults";
}

static const char *settling_command(const struct pk_stored_pair *p, struct pk_arena *a)
{
    const struct pk_run_facts *run = &p->new_.facts[p->new_.n_runs - 1];
    const struct pk_texts options = options_of(run, a);
    if (strstr(run->settings, "\"import\":{"))
        return "import the results of more runs of the base, with one --label";
    return pk_is_exec(p->new_.facts[0].experiment)
               ? "perfkit gate --a 'OLD COMMAND' --b 'NEW COMMAND'"
               : pk_printf(a, "perfkit gate %s%s",
                           p->new_.own ? "./PROGRAM --a OLD/PROGRAM --b ./PROGRAM"
                                       : pk_printf(a, "%s --a OLD/build --b NEW/build", run->experiment),
                           pk_list(options.v, options.n, "", a));
}

const char *pk_stored_advice(const struct pk_stored_pair *p, struct pk_arena *a)
{
    const size_t needed = pk_rule_default.fewest_runs;
    static const char *const no_interval[] = {"without a ratio (a value is not positive)",
                                              "without an interval (it needs three processes)",
                                              "without an interval (it needs two runs of the base)"};
    size_t least = needed, rows = 0, of[3] = {0}, without[3] = {0}; /* worse, not told apart, better */
    struct pk_verdicts all = pk_compare_count(&p->comparison);
    struct pk_buf kinds = {.arena = a};
    for (size_t i = 0; i < p->comparison.n; i++) {
        const struct pk_compared *row = &p->comparison.v[i];
        const size_t runs = row->base->n < p->base.n_runs ? row->base->n : p->base.n_runs;
        if (!row->judged || row->decision.reason != PK_REASON_FEW_RUNS)
            continue;
        least = runs < least ? runs : least;
        rows++;
        all.of[row->decision.verdict]--;
        if (isnan(row->ratio.ci.lo))
            without[isnan(row->ratio.ratio) ? 0 : pk_figures_of_runs(row->base, row->new_) ? 2 : 1]++;
        else
            of[1 + pk_compared_side(row)]++;
    }
    if (!rows)
        return NULL;
    for (size_t i = 0; i < 3; i++)
        if (without[i])
            pk_buf_printf(&kinds, ", %zu %s", without[i], no_interval[i]);
    if (all.rows > rows)
        pk_buf_printf(&kinds, "; %s with a verdict: %s", pk_plural(all.rows - rows, "row", a),
                      pk_outcome_counts(&all, a));
    return pk_printf(a,
                     "Stored runs, %s: %zu slower, %zu faster, %zu not told apart%s. "
                     "The cause cannot be determined: that needs %zu separate runs of the base (it has %zu). "
                     "To decide: %s",
                     pk_plural(all.rows, "row", a), of[0], of[2], of[1], pk_buf_text(&kinds), needed, least,
                     settling_command(p, a));
}

const char *pk_stored_unmatched(const struct pk_stored_pair *p, struct pk_arena *a)
{
    const struct pk_comparison *c = &p->comparison;
    size_t missing = c->n_only_base;
    for (size_t i = 0; i < c->n_unmatched; i++)
        missing += c->unmatched[i].kind == PK_MISSING && !c->unmatched[i].metric;
    if (!missing && !c->n_only_new)
        return NULL;
    const struct pk_texts base = options_of(&p->base.facts[p->base.n_runs - 1], a),
                          new_ = options_of(&p->new_.facts[p->new_.n_runs - 1], a);
    const char *of_base = own_options(&base, &new_, a), *of_new = own_options(&new_, &base, a);
    const char *why =
        "both were measured with the same options, so the programs that measured them have other cases";
    if (pk_is_exec(p->base.facts[0].experiment))
        why = "commands are paired by their names, so give both the same --name";
    else if (strcmp(of_base, of_new) != 0)
        why = pk_printf(a, "%s was measured with%s, %s with%s", p->base.name, of_base, p->new_.name, of_new);
    return pk_printf(a, "Unmatched: %s of %s, %s of %s; %s.", pk_plural(missing, "case", a), p->base.name,
                     pk_plural(c->n_only_new, "case", a), p->new_.name, why);
}

/* --- the outcome ---------------------------------------------------------------------------------------------------- */

/* PK_E_CHECK when a case that ended ok in base did not in new. */
static enum pk_code case_failed(const struct pk_stored_pair *p, struct pk_arena *a, struct pk_err *err)
{
    const struct pk_failure *f = pk_first_unmatched(&p->comparison, true);
    if (!f)
        return PK_OK;
    pk_fail(err, PK_E_CHECK, "the judged run (%s) ended '%s' in %s, which ended ok in the base (%s)",
            p->new_.name, f->status, pk_report_case(f->variant, f->axes, a), p->base.name);
    pk_why(err, "%s", *f->message ? f->message : "none of its processes ended ok");
    return pk_fix(err, "`perfkit show %lld` prints that run", (long long)p->new_.facts[0].run_id);
}

static enum pk_code nothing_in_common(const struct pk_stored_pair *p, struct pk_err *err)
{
    *err = p->not_comparable;
    if (pk_first_unmatched(&p->comparison, false))
        return err->code;
    pk_fail(err, PK_E_NOTHING, "nothing was compared");
    pk_why(err, "%s lacks all that would be compared, and --allow-missing accepts that", p->new_.name);
    return pk_fix(err, "choose other metrics with --metric, or measure the same cases on both sides");
}

enum pk_code pk_stored_outcome(const struct pk_stored_pair *p, const struct pk_verdict_options *o,
                               struct pk_arena *a, struct pk_err *err)
{
    const struct pk_outcome_options q = {.new_name = p->new_.name, .fail_on_undecided = o->fail_on_undecided};
    if (case_failed(p, a, err))
        return err->code;
    if (p->not_comparable.code && !p->comparison.n)
        return nothing_in_common(p, err);
    if (!p->refused)
        return pk_outcome(&p->comparison, &q, a, err);
    pk_fail(err, PK_E_NOT_COMPARABLE, "the setups of %s and %s differ", p->base.name, p->new_.name);
    pk_why(err, "%s%s", p->differences[0], p->n_differences > 1 ? ", and more" : "");
    return pk_fix(
        err, "measure both here: perfkit gate --a ... --b ...; --allow-host-mismatch judges them anyway");
}

/* --- a suite -------------------------------------------------------------------------------------------------------- */

/* Of all entries, which they name. */
static void take_unmatched(struct pk_stored_suite *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++)
        n += s->pairs[i].comparison.n_unmatched;
    struct pk_failure *v = pk_new_n(s->arena, struct pk_failure, n + 1);
    s->all.unmatched = v;
    s->all.n_unmatched = n;
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->pairs[i].comparison.n_unmatched; k++, v++) {
            *v = s->pairs[i].comparison.unmatched[k];
            v->entry = s->parts[i].name;
        }
}

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
    const struct pk_judging j = {.rule = f.rule, .design = PK_DESIGN_STORED};
    const enum pk_code rc = pk_compare_judge_family(&f, s->arena, &s->all, &s->wrong, err);
    pk_find_moved_tails(s->all.v, s->all.n, &j);
    take_unmatched(s);
    return rc;
}

void pk_stored_suite_of_one(struct pk_stored_suite *s)
{
    s->parts = pk_new(s->arena, struct pk_compare_part);
    s->n = 1;
    s->all = s->pairs[0].comparison;
}

size_t pk_stored_verdicts(const struct pk_stored_suite *s, size_t entry, const struct pk_rule *rule,
                          struct pk_verdict_row **rows, struct pk_verdict_base *base)
{
    const struct pk_stored_pair *p = &s->pairs[entry];
    const char *name = s->parts[entry].name, *runs = "";
    size_t n = 0;
    *rows = pk_new_n(s->arena, struct pk_verdict_row, s->all.n + 1);
    for (size_t i = 0; i < p->base.n_runs; i++)
        runs = pk_printf(s->arena, "%s%s%lld", runs, i ? "," : "", (long long)p->base.facts[i].run_id);
    base->runs = runs;
    if (p->refused || p->new_.n_runs > 1 || p->comparison.design != PK_DESIGN_STORED)
        return 0;
    for (size_t i = 0; i < s->all.n; i++) {
        const struct pk_compared *r = &s->all.v[i];
        if (r->judged && (!name || strcmp(r->entry, name) == 0))
            (*rows)[n++] = pk_verdict_row(r, rule, s->arena);
    }
    return n;
}

/* Of the first entry that has one. */
static enum pk_code first_failed_case(const struct pk_stored_suite *s, struct pk_err *err)
{
    for (size_t i = 0; i < s->n; i++)
        if (case_failed(&s->pairs[i], s->arena, err))
            return pk_within(err, "[%s]", s->parts[i].name);
    return PK_OK;
}

/* Whether an entry alone decides how the suite ends, unless something is slower. */
static bool is_the_outcome(const struct pk_stored_suite *s, const struct pk_stored_pair *p)
{
    const bool nothing = p->not_comparable.code && !p->comparison.n;
    return p->refused || (nothing && (!s->all.n || pk_first_unmatched(&p->comparison, false)));
}

/* A regression counts, whatever else could not be judged. */
enum pk_code pk_stored_suite_outcome(const struct pk_stored_suite *s, const struct pk_verdict_options *o,
                                     struct pk_err *err)
{
    const struct pk_outcome_options q = {.new_name = pk_printf(s->arena, "suite %s", s->name),
                                         .fail_on_undecided = o->fail_on_undecided};
    const bool slower = pk_compare_count(&s->all).slower;
    size_t alone = 0;
    if (!s->name)
        return pk_stored_outcome(s->pairs, o, s->arena, err);
    if (first_failed_case(s, err))
        return err->code;
    while (alone < s->n && !is_the_outcome(s, &s->pairs[alone]))
        alone++;
    if (slower || alone == s->n)
        return pk_outcome(&s->all, &q, s->arena, err);
    return pk_stored_outcome(&s->pairs[alone], o, s->arena, err)
               ? pk_within(err, "[%s]", s->parts[alone].name)
               : PK_OK;
}
