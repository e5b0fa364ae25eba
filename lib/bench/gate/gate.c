/* Gate: the loop: decide, measure what is wanted, decide again. */
#include "bench/gate/gate.h"

#include "base/clock.h"
#include "bench/compare/parts.h"

#include <string.h>

enum { FIRST_PAIRS = 2 };

struct gate {
    struct pk_arm *arms;
    struct pk_ledger *ledger;
    const struct pk_gate_options *o;
    const struct pk_gate_events *ev;
    struct pk_gate_result *out;
    bool *base_first;
    size_t most_pairs; /* more would mean that what is wanted is never said */
    uint64_t began_ns;
    uint64_t longest_ns; /* of a pair */
};

static bool stopped(const struct gate *g)
{
    return *g->arms[PK_BASE].stop_flag != 0;
}

/* --- deciding ------------------------------------------------------------------------------------------------------ */

/* Rows with their decisions. */
static size_t decide(struct gate *g, struct pk_arena *a, struct pk_compared **rows, size_t **case_of)
{
    const struct pk_judging j = {.rule = g->o->rule, .design = PK_DESIGN_GATE, .screened = g->out->screened};
    size_t n = pk_ledger_compared(g->ledger, &g->o->what, g->o->own_times, a, rows, case_of);
    pk_thresholds_apply(g->o->thresholds, g->o->n_thresholds, *rows, n);
    pk_judge(*rows, n, &j);
    return n;
}

/* What is wanted next: pairs per case, and of which stage. The screening of all comes first. */
static enum pk_stage next_wants(struct gate *g, size_t *wants)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_compared *rows;
    size_t *case_of, n = decide(g, &a, &rows, &case_of);
    enum pk_stage stage = PK_STAGE_DONE;
    for (size_t i = 0; i < n; i++)
        if (rows[i].judged && rows[i].decision.wanted &&
            (stage == PK_STAGE_DONE || rows[i].decision.stage < stage))
            stage = rows[i].decision.stage;
    for (size_t i = 0; i < n; i++) {
        const struct pk_decision *d = &rows[i].decision;
        if (rows[i].judged && d->stage == stage && d->wanted > wants[case_of[i]])
            wants[case_of[i]] = d->wanted;
    }
    return stage;
}

/* --- measuring ------------------------------------------------------------------------------------------------------ */

static enum pk_code measure_pair(struct gate *g, const bool *wanted, struct pk_err *err)
{
    int k = (int)g->out->pairs + 1, first = g->base_first[k - 1] ? PK_BASE : PK_NEW;
    uint64_t began = pk_clock_ns();
    for (int i = 0; i < PK_SIDES && !stopped(g); i++) {
        struct pk_arm *arm = &g->arms[i ? PK_SIDES - 1 - first : first];
        if (arm->kind->process(arm, k, wanted, err))
            return err->code;
    }
    if (stopped(g))
        return PK_OK;
    uint64_t took = pk_clock_ns() - began;
    g->longest_ns = took > g->longest_ns ? took : g->longest_ns;
    g->out->pairs++;
    return PK_OK;
}

static bool time_for_another(const struct gate *g)
{
    uint64_t spent = pk_clock_ns() - g->began_ns;
    return !g->o->budget_ns || !g->out->pairs || spent + g->longest_ns <= (uint64_t)g->o->budget_ns;
}

static void tell(const struct gate *g, size_t left)
{
    size_t done = g->out->pairs;
    if (g->ev && g->ev->pair && done)
        g->ev->pair(g->ev->user, done, done + left, (int64_t)((pk_clock_ns() - g->began_ns) / done * left));
}

/* Pairs until every case has what it wants. */
static enum pk_code measure_round(struct gate *g, const size_t *wants, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    size_t n = g->ledger->n_cases, most = 0;
    bool *wanted = pk_new_n(&a, bool, n + 1);
    for (size_t i = 0; i < n; i++)
        most = wants[i] > most ? wants[i] : most;
    for (size_t pair = 0; pair < most && !stopped(g) && g->out->pairs < g->most_pairs; pair++) {
        bool any = false;
        for (size_t i = 0; i < n; i++)
            any |= wanted[i] = wants[i] > pair && !g->ledger->cases[i].closed;
        if (!any)
            return PK_OK;
        g->out->out_of_time = !time_for_another(g);
        if (g->out->out_of_time)
            return PK_OK;
        if (measure_pair(g, wanted, err))
            return err->code;
        tell(g, most - pair - 1);
    }
    return PK_OK;
}

static enum pk_code check_metrics(struct gate *g, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_compare_options *o = &g->o->what;
    struct pk_figures *all = pk_new_n(&a, struct pk_figures, g->ledger->n_rows + 1);
    for (size_t i = 0; i < g->ledger->n_rows; i++)
        all[i] = g->ledger->rows[i].f[PK_NEW];
    const struct pk_compare_side side = {.name = "what was measured", .v = all, .n = g->ledger->n_rows};
    if (g->ledger->conflict) {
        pk_fail(err, PK_E_NOT_COMPARABLE, "the two sides cannot be compared");
        pk_why(err, "%s", g->ledger->conflict);
        return pk_fix(err, "let both report it in the same unit, or under two names");
    }
    return pk_compare_check_metrics(&side, o, true, &a, err);
}

/* A threshold of nothing is found out when it is known what there is, not when all is measured. */
static enum pk_code check_thresholds(struct gate *g, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_compared *rows;
    size_t *case_of, n = decide(g, &a, &rows, &case_of);
    return n ? pk_thresholds_check(g->o->thresholds, g->o->n_thresholds, rows, n, err) : PK_OK;
}

static enum pk_code measure(struct gate *g, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    size_t *wants = pk_new_n(&a, size_t, g->ledger->n_cases + 1);
    for (size_t i = 0; i < g->ledger->n_cases; i++)
        wants[i] = FIRST_PAIRS;
    if (measure_round(g, wants, err) || check_metrics(g, err) || check_thresholds(g, err))
        return err->code;
    while (!stopped(g) && !g->out->out_of_time && g->out->pairs < g->most_pairs) {
        wants = pk_new_n(&a, size_t, g->ledger->n_cases + 1);
        enum pk_stage stage = next_wants(g, wants);
        if (stage == PK_STAGE_DONE)
            break;
        if (stage == PK_STAGE_CONFIRM && !g->out->screened)
            g->out->screened = (int64_t)g->out->pairs;
        if (measure_round(g, wants, err))
            return err->code;
    }
    return PK_OK;
}

enum pk_code pk_gate_run(struct pk_arm *arms, struct pk_ledger *ledger, const struct pk_gate_options *o,
                         const struct pk_gate_events *ev, struct pk_arena *a, struct pk_gate_result *out,
                         struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    struct gate g = {.arms = arms, .ledger = ledger, .o = o, .ev = ev, .out = out};
    *out = (struct pk_gate_result){0};
    const struct pk_rule *rule = &o->rule;
    g.most_pairs = 2 * (rule->until_clear ? rule->max_pairs : rule->screen_pairs + rule->confirm_pairs);
    g.base_first = pk_new_n(&own, bool, g.most_pairs + 1);
    pk_pair_order(o->seed, g.most_pairs, g.base_first);
    g.began_ns = pk_clock_ns();
    enum pk_code rc = measure(&g, err);
    for (int i = 0; i < PK_SIDES; i++)
        arms[i].kind->end(&arms[i]);
    if (rc)
        return rc;
    struct pk_compared *rows;
    size_t *case_of, n = decide(&g, a, &rows, &case_of);
    out->interrupted = stopped(&g);
    struct pk_compare_options what = o->what;
    what.design = PK_DESIGN_GATE;
    pk_compare_finish(rows, n, &what, a, &out->comparison);
    return PK_OK;
}
