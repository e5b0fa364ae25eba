/* Stored: reading, pairing, judging; stored_answer.c answers. */
#include "cmd/stored.h"

#include "base/units.h"
#include "cmd/compare_rows.h"
#include "judge/gate/arms.h"
#include "judge/gate/gate_pair.h"
#include "machine/machine.h"

#include <math.h>
#include <string.h>

/* --- options ---------------------------------------------------------------------------------------------------------- */

enum pk_code pk_verdict_options_check(const struct pk_app *app, const struct pk_verdict_options *o,
                                      struct pk_threshold **thresholds, struct pk_err *err)
{
    static const char *const one_by_one[] = {"metric", NULL};
    if (pk_opt_apart(&app->tables[1], "all-metrics", one_by_one, "one chooses metrics, the other takes all",
                     err))
        return err->code;
    *thresholds = pk_new_n(app->arena, struct pk_threshold, o->thresholds.n + 1);
    enum pk_code rc = PK_OK;
    struct pk_err next;
    for (size_t i = 0; i < o->thresholds.n; i++)
        if (pk_threshold_parse(o->thresholds.v[i], app->arena, &(*thresholds)[i], &next))
            rc = pk_another_error(rc, &next, err);
    return rc;
}

enum pk_code pk_verdict_thresholds_check(const struct pk_verdict_options *o,
                                         const struct pk_threshold *thresholds, const struct pk_comparison *c,
                                         const struct pk_compare_side *measured, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_errs wrong = {.arena = &a};
    pk_thresholds_check(thresholds, o->thresholds.n, c->v, c->n, measured, &wrong);
    return pk_all_errors(&wrong, err);
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

/* --- reading ------------------------------------------------------------------------------------------------------------ */

/* Everything of one run. */
struct read {
    struct pk_run_facts facts;
    struct pk_run_state state;
    struct pk_compare_side figures, counters;
};

static enum pk_code read_run(struct pk_store *s, int64_t id, struct pk_arena *a, struct read *r,
                             struct pk_err *err)
{
    struct pk_figures *v;
    if (pk_store_run_facts(s, id, a, &r->facts, err) ||
        pk_store_figures(s, id, a, &v, &r->figures.n, &r->facts.cases_ok, err) ||
        pk_store_counter_figures(s, id, a, &r->counters.v, &r->counters.n, err))
        return err->code;
    r->figures.v = v;
    if (r->facts.cases_ok < r->facts.cases &&
        pk_store_unfinished(s, id, a, &r->figures.unfinished, &r->figures.n_unfinished, err))
        return err->code;
    return pk_run_state_read(s, id, a, &r->state, err);
}

static bool has(const struct pk_stored_side *side, const struct pk_run_facts *run)
{
    for (size_t i = 0; side && i < side->n_runs; i++)
        if (strcmp(side->facts[i].uuid, run->uuid) == 0)
            return true;
    return false;
}

static size_t leave_out(const struct pk_stored_side *except, struct read *runs, size_t n)
{
    size_t left = 0;
    for (size_t i = 0; i < n; i++)
        if (!has(except, &runs[i].facts))
            runs[left++] = runs[i];
    return left ? left : n;
}

static void join(const struct read *runs, size_t n, struct pk_arena *a, struct pk_stored_side *side)
{
    struct pk_compare_side *figures = pk_new_n(a, struct pk_compare_side, n),
                           *counters = pk_new_n(a, struct pk_compare_side, n);
    side->n_runs = n;
    side->facts = pk_new_n(a, struct pk_run_facts, n);
    side->states = pk_new_n(a, struct pk_run_state, n);
    for (size_t i = 0; i < n; i++) {
        side->facts[i] = runs[i].facts;
        side->states[i] = runs[i].state;
        figures[i] = runs[i].figures;
        counters[i] = runs[i].counters;
    }
    side->figures = pk_compare_join(figures, n, side->name, a);
    side->counters = pk_compare_join(counters, n, side->name, a);
}

enum pk_code pk_stored_read(struct pk_app *app, const char *ref, const struct pk_entry_name *of,
                            const struct pk_stored_side *except, struct pk_stored_side *side,
                            struct pk_err *err)
{
    struct pk_arena *a = app->arena;
    struct pk_store *s;
    int64_t *ids;
    size_t n;
    if (pk_open_runs(app, ref, of, &s, &ids, &n, err))
        return err->code;
    struct read *runs = pk_new_n(a, struct read, n);
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < n; i++)
        rc = read_run(s, ids[i], a, &runs[i], err);
    struct pk_kernel_figure *kernels = NULL;
    const size_t named = n;
    if (!rc) {
        n = leave_out(except, runs, n);
        rc = pk_store_kernels(s, runs[n - 1].facts.run_id, a, &kernels, &side->kernels.n, err);
    }
    side->kernels.v = kernels;
    pk_store_close(s);
    if (rc)
        return rc;
    side->name = n > 1       ? pk_printf(a, "runs %s", ref)
                 : named > 1 ? pk_printf(a, "run %lld", (long long)runs[0].facts.run_id)
                             : pk_printf(a, "run %s", ref);
    side->instead = NULL;
    join(runs, n, a, side);
    return PK_OK;
}

/* What is held against itself differs in nothing, however slow it is. */
static enum pk_code refuse_itself(const struct pk_stored_side *except, const struct pk_stored_side *side,
                                  struct pk_err *err)
{
    for (size_t i = 0; i < side->n_runs; i++)
        if (!has(except, &side->facts[i]))
            return PK_OK;
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s would be compared with itself", side->name);
    pk_why(err, "base has no run that is not among what is judged, %s", except->name);
    return pk_fix(err,
                  "name another base (`perfkit list runs`), or measure once more; cases of one run: perfkit "
                  "compare --by AXIS RUN");
}

/* Other names say what they are. */
static bool may_be_of_git(const char *ref)
{
    int64_t number;
    struct pk_err ignored;
    return !strpbrk(ref, "@:,") && pk_parse_int(ref, &number, &ignored) != PK_OK;
}

enum pk_code pk_stored_base(struct pk_app *app, const char *ref, const struct pk_entry_name *of,
                            const struct pk_stored_side *except, struct pk_stored_side *side,
                            struct pk_err *err)
{
    struct pk_arena *a = app->arena;
    struct pk_err ignored;
    const char *commit;
    enum pk_code rc = pk_stored_read(app, ref, of, except, side, err);
    if (!rc)
        return except ? refuse_itself(except, side, err) : PK_OK;
    if ((rc != PK_E_USAGE && rc != PK_E_NOT_COMPARABLE) || !may_be_of_git(ref) ||
        pk_machine_merge_base(ref, a, &commit, &ignored))
        return rc;
    if (pk_stored_read(app, pk_printf(a, "commit:%s", commit), of, except, side, err))
        return pk_within(err, "%s", ref);
    side->instead = pk_printf(
        a,
        "No baseline and no run has the name %s: taken are the runs of commit %.12s, at which HEAD left it.",
        ref, commit);
    return except ? refuse_itself(except, side, err) : PK_OK;
}

/* --- comparing ---------------------------------------------------------------------------------------------------------- */

static bool known(const char *const *v, size_t n, const char *text)
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
            if (known(all, n, some[k]))
                continue;
            all = pk_grow(a, all, sizeof *all, n, &cap);
            all[n++] = some[k];
        }
    }
    p->differences = all;
    p->n_differences = n;
}

static bool typed(const struct pk_app *app, const char *option)
{
    const char *origin = pk_opt_origin(&app->tables[1], 1, option);
    return origin && strcmp(origin, "default") != 0;
}

/* What the gate was asked for holds, unless something else is asked for now. */
static void keep(const struct pk_app *app, const struct pk_gate_pair *gate, struct pk_compare_options *what,
                 struct pk_judging *j, struct pk_criteria *criteria)
{
    const struct pk_rule now = j->rule;
    *j = gate->judging;
    if (typed(app, "min-effect"))
        j->rule.min_effect = now.min_effect;
    if (typed(app, "alpha"))
        j->rule.alpha = now.alpha;
    if (typed(app, "strict"))
        j->rule.strict = now.strict;
    if (!what->n_metrics && !what->all_metrics) {
        what->metrics = gate->metrics;
        what->n_metrics = gate->n_metrics;
        what->all_metrics = gate->all_metrics;
    }
    if (!typed(app, "threshold"))
        *criteria = gate->criteria;
    if (typed(app, "min-effect"))
        criteria->min_effect = 0;
}

/* Pairs, and what stands between judging them. */
static enum pk_code pair_up(struct pk_app *app, const struct pk_compare_options *what, bool of_one_gate,
                            bool allow_host_mismatch, struct pk_stored_pair *p, struct pk_err *err)
{
    struct pk_comparison *c = &p->comparison;
    if (pk_compare_runs(&p->base.figures, &p->new_.figures, what, app->arena, c, err))
        return err->code;
    for (size_t i = 0; i < c->n; i++) {
        c->v[i].base_runs = p->base.n_runs;
        c->v[i].new_runs = p->new_.n_runs;
    }
    find_differences(p, app->arena);
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

static bool own_time(const char *metric)
{
    for (const char *const *t = pk_command_own_times; *t; t++)
        if (strcmp(metric, *t) == 0)
            return true;
    return false;
}

/* Without times that a gate of commands does not judge: where the programs of both sides report times, those that perfkit takes of any
 * command; else all of them but the first. */
static struct pk_compare_side as_the_gate(const struct pk_compare_side *side,
                                          const struct pk_compare_side *other, struct pk_arena *a)
{
    struct pk_figures *v = pk_new_n(a, struct pk_figures, side->n + 1);
    struct pk_compare_side out = *side;
    bool reported = false;
    for (size_t i = 0; i < side->n; i++)
        reported |= strcmp(side->v[i].class, "time") == 0 && !own_time(side->v[i].metric) &&
                    has_metric(other, side->v[i].metric);
    out.v = v;
    out.n = 0;
    for (size_t i = 0; i < side->n; i++)
        if (!own_time(side->v[i].metric) ||
            (!reported && strcmp(side->v[i].metric, pk_command_own_times[0]) == 0))
            v[out.n++] = side->v[i];
    return out;
}

enum pk_code pk_stored_compare(struct pk_app *app, const char *base, const char *new_,
                               const struct pk_verdict_options *o, const struct pk_threshold *thresholds,
                               struct pk_stored_pair *out, struct pk_err *err)
{
    struct pk_compare_options what = pk_verdict_what(o);
    struct pk_judging j = {.rule = pk_verdict_rule(o), .design = PK_DESIGN_STORED};
    struct pk_criteria criteria = {.all = thresholds, .n_all = o->thresholds.n, .typed = true};
    struct pk_gate_pair gate = {.judging = j};
    struct pk_comparison *c = &out->comparison;
    if (pk_stored_read(app, new_, NULL, NULL, &out->new_, err) ||
        pk_stored_base(app, base, NULL, &out->new_, &out->base, err))
        return err->code;
    bool of_one_gate = out->base.n_runs == 1 && out->new_.n_runs == 1 &&
                       pk_gate_pair_read(&out->base.facts[0], &out->new_.facts[0], app->arena, &gate);
    if (of_one_gate)
        keep(app, &gate, &what, &j, &criteria);
    out->equal = of_one_gate && j.equal;
    const bool commands = strcmp(out->base.facts[0].experiment, "exec") == 0;
    what.by_ordinal = of_one_gate && !commands;
    if (of_one_gate && commands && !what.n_metrics && !what.all_metrics) {
        const struct pk_compare_side whole = out->base.figures;
        out->base.figures = as_the_gate(&whole, &out->new_.figures, app->arena);
        out->new_.figures = as_the_gate(&out->new_.figures, &whole, app->arena);
    }
    what.design = j.design;
    if (pair_up(app, &what, of_one_gate, o->allow_host_mismatch, out, err) ||
        pk_verdict_thresholds_check(o, thresholds, c, &out->new_.figures, err))
        return err->code;
    pk_compare_counters(&out->base.counters, &out->new_.counters, &what, app->arena, &out->counters);
    pk_verdict_hide_counters(o, &out->counters);
    pk_criteria_apply(&criteria, c->v, c->n);
    if (!out->refused)
        pk_judge(c->v, c->n, &j);
    pk_compare_sort(c->v, c->n);
    pk_verdict_hide(o, c);
    return PK_OK;
}

enum pk_code pk_stored_entry(struct pk_app *app, const char *base, const char *new_,
                             const struct pk_entry_name *of, const struct pk_verdict_options *o,
                             struct pk_stored_pair *out, struct pk_err *err)
{
    const struct pk_compare_options what = pk_verdict_what(o);
    if (pk_stored_read(app, new_, of, NULL, &out->new_, err) ||
        pk_stored_base(app, base, of, &out->new_, &out->base, err))
        return err->code;
    return pair_up(app, &what, false, o->allow_host_mismatch, out, err);
}

/* --- saying ---------------------------------------------------------------------------------------------------------------- */

/* Of times that look changed, proved or not: what the traces and the counter passes of both sides say of it. */
static void reasons(const struct pk_stored_pair *p, struct pk_out *out, struct pk_arena *a)
{
    enum { MOST_TOLD = 8 };
    char percent[32];
    size_t told = 0;
    for (size_t i = 0; i < p->comparison.n && told < MOST_TOLD; i++) {
        const struct pk_compared *row = &p->comparison.v[i];
        if (row->hidden || (row->judged && row->decision.verdict == PK_SAME) ||
            !(fabs(row->ratio.ratio - 1) > pk_rule_default.min_effect))
            continue;
        const char *kernel = pk_compare_kernel(row, &p->base.kernels, &p->new_.kernels, a);
        const char *counts = pk_compare_counts(row, &p->counters, a);
        if (!kernel && !counts)
            continue;
        pk_out_note(out,
                    pk_printf(a, "%s of %s%s%s %s %%: %s%s%s%s%s.", row->new_->metric, row->new_->variant,
                              *row->place ? " " : "", row->place,
                              pk_format_percent(row->ratio.ratio - 1, percent, sizeof percent),
                              kernel ? "in the traces " : "", kernel ? kernel : "",
                              kernel && counts ? "; " : "", counts ? "counted " : "", counts ? counts : ""));
        told++;
    }
}

static void print_states(const struct pk_stored_pair *p, struct pk_out *out, struct pk_arena *a)
{
    const size_t n = p->base.n_runs + p->new_.n_runs;
    struct pk_run_state *v = pk_new_n(a, struct pk_run_state, n);
    for (size_t i = 0; i < n; i++) {
        const bool is_base = i < p->base.n_runs;
        v[i] = is_base ? p->base.states[i] : p->new_.states[i - p->base.n_runs];
        v[i].side = is_base ? "base" : "new";
    }
    pk_run_states_print(out, v, n, a);
}

void pk_stored_print(const struct pk_stored_pair *p, struct pk_out *out, struct pk_arena *a)
{
    pk_compare_begin_runs(out);
    for (size_t i = 0; i < p->base.n_runs; i++)
        pk_compare_run_row(out, "base", &p->base.facts[i]);
    for (size_t i = 0; i < p->new_.n_runs; i++)
        pk_compare_run_row(out, "new", &p->new_.facts[i]);
    if (p->base.instead)
        pk_out_note(out, p->base.instead);
    pk_compare_print_differences(out, p->differences, p->n_differences, p->refused, a);
    pk_compare_print(out, &p->comparison, NULL, a);
    pk_stored_say_missing(p, out, a);
    if (p->equal)
        pk_out_note(out,
                    "equal: for the gate that measured them both sides were the same program with the same "
                    "words, or settings of the same cases. What differs is noise, and nothing is judged.");
    reasons(p, out, a);
    pk_failures_print(pk_stored_failures(p, NULL, a), p->comparison.n_unmatched, out);
    pk_compare_print_counters(out, &p->counters, NULL, a);
    print_states(p, out, a);
}
