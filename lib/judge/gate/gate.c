/* Gate: the loop: decide, measure what is wanted, decide again. */
#include "judge/gate/gate.h"

#include "base/clock.h"
#include "judge/pair/pair.h"

#include <string.h>

enum { WARMUP_PAIRS = 1, FIRST_PAIRS = 2 };

/* Time taken of a budget. */
struct spending {
    uint64_t ns, longest_ns; /* of all pairs, of one that is judged */
    bool over;               /* another would not fit */
};

struct gate_run {
    struct pk_gate_part *parts;
    size_t n_parts;
    struct spending *spent; /* of each part */
    struct pk_gate_samples *samples;
    const struct pk_gate_options *o;
    const struct pk_gate_events *ev;
    struct pk_gate_result *out;
    bool *base_first;
    size_t most_pairs; /* more would mean that wanted pairs never end */
    struct spending all;
};

static bool stopped(const struct gate_run *g)
{
    return *g->parts[0].runners[PK_BASE].stop_flag != 0;
}

/* --- deciding ------------------------------------------------------------------------------------------------------ */

/* A part's rows, with what they are judged by. */
static size_t rows_of(struct gate_run *g, size_t part, struct pk_arena *a, struct pk_compared *rows,
                      size_t *case_of)
{
    const struct pk_gate_part *p = &g->parts[part];
    size_t n = pk_gate_samples_compared(g->samples, part, &p->what, p->commands, a, rows, case_of);
    for (size_t i = 0; i < n; i++) {
        rows[i].entry = p->name;
        rows[i].max_pairs = p->max_pairs;
    }
    pk_criteria_apply(&p->criteria, rows, n);
    return n;
}

static struct pk_judging judging_of(const struct gate_run *g)
{
    return (struct pk_judging){.rule = g->o->rule, .design = PK_DESIGN_GATE, .screened = g->out->screened};
}

/* Rows with their decisions. */
static size_t decide(struct gate_run *g, struct pk_arena *a, struct pk_compared **rows, size_t **case_of)
{
    const struct pk_judging j = judging_of(g);
    size_t n = 0;
    *rows = pk_new_n(a, struct pk_compared, pk_gate_samples_most(g->samples));
    *case_of = pk_new_n(a, size_t, pk_gate_samples_most(g->samples));
    for (size_t part = 0; part < g->n_parts; part++)
        n += rows_of(g, part, a, *rows + n, *case_of + n);
    pk_judge(*rows, n, &j);
    return n;
}

static bool is_over(const struct gate_run *g, size_t c)
{
    return g->spent[g->samples->cases[c].part].over;
}

/* What is wanted next: pairs per case, and of which stage. The screening of all comes first. */
static enum pk_gate_stage next_pairs(struct gate_run *g, size_t *pairs)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_compared *rows;
    size_t *case_of, n = decide(g, &a, &rows, &case_of);
    enum pk_gate_stage stage = PK_GATE_STAGE_DONE;
    for (size_t i = 0; i < n; i++)
        if (rows[i].judged && rows[i].decision.wanted && !is_over(g, case_of[i]) &&
            (stage == PK_GATE_STAGE_DONE || rows[i].decision.stage < stage))
            stage = rows[i].decision.stage;
    for (size_t i = 0; i < n; i++) {
        const struct pk_decision *d = &rows[i].decision;
        if (rows[i].judged && d->stage == stage && d->wanted > pairs[case_of[i]])
            pairs[case_of[i]] = d->wanted;
    }
    return stage;
}

/* --- measuring ------------------------------------------------------------------------------------------------------ */

/* Whether another pair would probably end in time; the first one that is judged always may. */
static void look_at_budget(const struct gate_run *g, struct spending *s, int64_t budget_ns)
{
    s->over |= budget_ns && s->longest_ns && s->ns + s->longest_ns > (uint64_t)budget_ns;
    g->out->out_of_time |= s->over;
}

static void spend(struct spending *s, uint64_t ns, bool warmup)
{
    s->ns += ns;
    s->longest_ns = !warmup && ns > s->longest_ns ? ns : s->longest_ns;
}

/* The cases that were known when it began. A command may name more meanwhile: it is measured whole. */
struct round {
    bool *wanted; /* in the pair that is measured */
    size_t n;
};

static bool takes_part(const struct gate_run *g, size_t part, const struct round *r)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->wanted[i] && g->samples->cases[i].part == part)
            return true;
    return false;
}

/* A process of each side, one right after the other. Those of the warm-up come in the opposite order to the first pair. */
static enum pk_code measure_part(struct gate_run *g, size_t part, bool warmup, const bool *wanted,
                                 struct pk_err *err)
{
    const int first = g->base_first[g->out->pairs] != warmup ? PK_BASE : PK_NEW;
    const struct pk_gate_turn turn = {(int)g->out->pairs + (warmup ? 1 : 1 + WARMUP_PAIRS), warmup, wanted};
    uint64_t began = pk_clock_ns();
    for (int i = 0; i < PK_SIDES && !stopped(g); i++) {
        struct pk_side_runner *runner = &g->parts[part].runners[i ? PK_SIDES - 1 - first : first];
        if (runner->kind->process(runner, &turn, err))
            return err->code;
    }
    spend(&g->spent[part], pk_clock_ns() - began, warmup);
    return PK_OK;
}

static enum pk_code measure_pair(struct gate_run *g, const struct round *r, bool warmup, struct pk_err *err)
{
    uint64_t began = pk_clock_ns();
    for (size_t part = 0; part < g->n_parts && !stopped(g); part++)
        if (takes_part(g, part, r) && measure_part(g, part, warmup, r->wanted, err))
            return err->code;
    if (stopped(g))
        return PK_OK;
    spend(&g->all, pk_clock_ns() - began, warmup);
    ++*(warmup ? &g->out->warmup_pairs : &g->out->pairs);
    return PK_OK;
}

static void report_pair(const struct gate_run *g, size_t left)
{
    const size_t done = g->out->warmup_pairs + g->out->pairs;
    if (g->ev && g->ev->pair && done)
        g->ev->pair(g->ev->user, done, done + left, (int64_t)(g->all.ns / done * left));
}

static enum pk_code measure_warmup(struct gate_run *g, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const size_t n = g->samples->n_cases;
    const struct round r = {pk_new_n(&a, bool, n + 1), n};
    memset(r.wanted, true, n);
    if (measure_pair(g, &r, true, err))
        return err->code;
    report_pair(g, g->o->rule.screen_pairs);
    return PK_OK;
}

/* Measures pairs until every case has the requested number. */
static enum pk_code measure_round(struct gate_run *g, const size_t *pairs, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const size_t n = g->samples->n_cases;
    const struct round r = {pk_new_n(&a, bool, n + 1), n};
    size_t most = 0;
    for (size_t i = 0; i < n; i++)
        most = pairs[i] > most ? pairs[i] : most;
    for (size_t pair = 0; pair < most && !stopped(g) && g->out->pairs < g->most_pairs; pair++) {
        bool any = false;
        for (size_t i = 0; i < g->n_parts; i++)
            look_at_budget(g, &g->spent[i], g->parts[i].budget_ns);
        for (size_t i = 0; i < n; i++)
            any |= r.wanted[i] = pairs[i] > pair && !g->samples->cases[i].closed && !is_over(g, i);
        if (!any)
            return PK_OK;
        look_at_budget(g, &g->all, g->o->budget_ns);
        if (g->all.over)
            return PK_OK;
        if (measure_pair(g, &r, false, err))
            return err->code;
        report_pair(g, most - pair - 1);
    }
    return PK_OK;
}

/* What either side reported in a part, compared or not. */
static struct pk_compare_side measured(const struct gate_run *g, size_t part, struct pk_arena *a)
{
    const struct pk_gate_samples *l = g->samples;
    struct pk_figures *all = pk_new_n(a, struct pk_figures, l->n_rows + 1);
    struct pk_compare_side side = {.name = "what was measured", .v = all};
    for (size_t i = 0; i < l->n_rows; i++)
        if (l->cases[l->rows[i].c].part == part)
            all[side.n++] = l->rows[i].f[l->rows[i].f[PK_NEW].n ? PK_NEW : PK_BASE];
    return pk_compare_with_tails(&side, &g->parts[part].what, a);
}

static enum pk_code check_comparable(const struct gate_run *g, struct pk_err *err)
{
    for (size_t i = 0; i < g->n_parts; i++)
        if (pk_gate_samples_check(g->samples, i, &g->parts[i].what, err))
            return g->parts[i].name ? pk_within(err, "[%s]", g->parts[i].name) : err->code;
    return PK_OK;
}

static bool has_cases(const struct gate_run *g, size_t part)
{
    for (size_t i = 0; i < g->samples->n_cases; i++)
        if (g->samples->cases[i].part == part && g->samples->cases[i].closed)
            return false; /* what it would have had */
    return true;
}

/* Metrics and thresholds that fit no row are refused as soon as the rows are known, not when all is measured. */
static enum pk_code check_criteria(struct gate_run *g, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_expected_rows *parts = pk_new_n(&a, struct pk_expected_rows, g->n_parts);
    struct pk_compare_side *sides = pk_new_n(&a, struct pk_compare_side, g->n_parts);
    size_t *case_of = pk_new_n(&a, size_t, pk_gate_samples_most(g->samples)), n = 0;
    for (size_t i = 0; i < g->n_parts; i++) {
        const struct pk_gate_part *p = &g->parts[i];
        if (!has_cases(g, i))
            continue;
        struct pk_compared *rows = pk_new_n(&a, struct pk_compared, pk_gate_samples_most(g->samples));
        struct pk_comparison lacking = {0};
        pk_gate_samples_unmatched(
            g->samples, i, &p->what, p->commands,
            (const char *const[]){p->runners[PK_BASE].option, p->runners[PK_NEW].option}, &a, &lacking);
        sides[n] = measured(g, i, &a);
        parts[n] = (struct pk_expected_rows){.place = p->name ? pk_printf(&a, "[%s]", p->name) : NULL,
                                             .side = &sides[n],
                                             .what = &p->what,
                                             .rows = rows,
                                             .n = rows_of(g, i, &a, rows, case_of),
                                             .missing = lacking.missing,
                                             .n_missing = lacking.n_missing,
                                             .criteria = p->criteria};
        n++;
    }
    return pk_expected_rows_check(parts, n, n == g->n_parts, &g->out->wrong, err);
}

static enum pk_code measure(struct gate_run *g, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (measure_warmup(g, err))
        return err->code;
    size_t *pairs = pk_new_n(&a, size_t, g->samples->n_cases + 1);
    for (size_t i = 0; i < g->samples->n_cases; i++)
        pairs[i] = FIRST_PAIRS;
    if (measure_round(g, pairs, err) || check_comparable(g, err) || check_criteria(g, err))
        return err->code;
    while (!stopped(g) && !g->all.over && g->out->pairs < g->most_pairs) {
        pairs = pk_new_n(&a, size_t, g->samples->n_cases + 1);
        enum pk_gate_stage stage = next_pairs(g, pairs);
        if (stage == PK_GATE_STAGE_DONE)
            break;
        if (stage == PK_GATE_STAGE_CONFIRM && !g->out->screened)
            g->out->screened = (int64_t)(WARMUP_PAIRS + g->out->pairs);
        if (measure_round(g, pairs, err) || check_comparable(g, err))
            return err->code;
    }
    return PK_OK;
}

/* Appends the texts of a part. */
static void add_texts(const char *const **all, size_t *n_all, const char *const *v, size_t n,
                      struct pk_arena *a)
{
    const char **both = pk_new_n(a, const char *, *n_all + n + 1);
    for (size_t i = 0; i < *n_all + n; i++)
        both[i] = i < *n_all ? (*all)[i] : v[i - *n_all];
    *all = both;
    *n_all += n;
}

/* What one side alone has, of every part. */
static void find_unmatched(const struct gate_run *g, struct pk_arena *a, struct pk_comparison *out)
{
    struct pk_texts not_judged = {0};
    struct pk_failure *all = NULL;
    size_t cap = 0;
    for (size_t part = 0; part < g->n_parts; part++) {
        const struct pk_gate_part *p = &g->parts[part];
        const char *const names[PK_SIDES] = {p->runners[PK_BASE].option, p->runners[PK_NEW].option};
        struct pk_comparison c = {0};
        pk_gate_samples_unmatched(g->samples, part, &p->what, p->commands, names, a, &c);
        for (size_t i = 0; i < c.n_unmatched; i++) {
            all = pk_grow(a, all, sizeof *all, out->n_unmatched, &cap);
            all[out->n_unmatched] = c.unmatched[i];
            all[out->n_unmatched].side = names[PK_NEW];
            all[out->n_unmatched++].entry = p->name;
        }
        add_texts(&out->only_new, &out->n_only_new, c.only_new, c.n_only_new, a);
        add_texts(&out->metrics_base, &out->n_metrics_base, c.metrics_base, c.n_metrics_base, a);
        add_texts(&out->metrics_new, &out->n_metrics_new, c.metrics_new, c.n_metrics_new, a);
        for (size_t i = 0; i < c.n_not_judged; i++)
            pk_texts_add_new(&not_judged, c.not_judged[i], a);
    }
    out->not_judged = not_judged.v;
    out->n_not_judged = not_judged.n;
    out->unmatched = all;
}

/* All stages of the case that may have the most, and as many again that were disturbed. */
static size_t most_pairs(const struct gate_run *g)
{
    const struct pk_rule *rule = &g->o->rule;
    size_t most = rule->until_clear ? rule->max_pairs : rule->screen_pairs + rule->confirm_pairs;
    for (size_t i = 0; i < g->n_parts; i++)
        most = g->parts[i].max_pairs > most ? g->parts[i].max_pairs : most;
    return 2 * most;
}

enum pk_code pk_gate_run(struct pk_gate_part *parts, size_t n_parts, struct pk_gate_samples *samples,
                         const struct pk_gate_options *o, const struct pk_gate_events *ev, struct pk_arena *a,
                         struct pk_gate_result *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    struct gate_run g = {
        .parts = parts, .n_parts = n_parts, .samples = samples, .o = o, .ev = ev, .out = out};
    *out = (struct pk_gate_result){.wrong = {.arena = a}};
    g.spent = pk_new_n(&own, struct spending, n_parts);
    g.most_pairs = most_pairs(&g);
    g.base_first = pk_new_n(&own, bool, g.most_pairs + 1);
    pk_pair_order(o->seed, g.most_pairs, g.base_first);
    enum pk_code rc = measure(&g, err);
    for (size_t i = 0; i < n_parts; i++)
        for (int s = 0; s < PK_SIDES; s++)
            parts[i].runners[s].kind->end(&parts[i].runners[s]);
    if (rc == PK_E_NOT_COMPARABLE)
        find_unmatched(&g, a, &out->comparison);
    if (rc && !pk_first_unmatched(&out->comparison, false))
        return rc;
    if (rc) {
        out->refused = *err;
        return PK_OK;
    }
    struct pk_compared *rows;
    size_t *case_of, n = decide(&g, a, &rows, &case_of);
    const struct pk_judging j = judging_of(&g);
    pk_find_moved_tails(rows, n, &j);
    out->interrupted = stopped(&g);
    struct pk_compare_options what = parts[0].what;
    what.design = PK_DESIGN_GATE;
    pk_compare_finish(rows, n, &what, a, &out->comparison);
    if (!out->interrupted)
        find_unmatched(&g, a, &out->comparison);
    return PK_OK;
}
