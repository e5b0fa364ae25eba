/* Gate: the loop with sides that are made up: who is asked when, what closes a case, when it ends. */
#include "judge/gate/gate.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

enum { CASES = 3, MOST = 200 };

/* A side that answers at once: case i takes 1000 * (i + 1) * factor[i] ns. */
struct made_up {
    double factor[CASES];
    double first;       /* the first process takes so many times as long; 0 = once */
    const char *doubts; /* of each process; NULL = none */
    int fails_at;       /* invocation in which case 1 fails; 0 = never */
    char *order;        /* of processes: "ABBA", shared; "ab" those of the warm-up */
    size_t *asked;      /* how often a case was asked of this side, without the warm-up */
    volatile int *stop;
    int stop_at;
};

static struct pk_arena arena;
static struct pk_err err;
static volatile int stop_flag;

/* i counts the cases of one part; the ledger has those of all. */
static void answer(struct pk_side_runner *runner, size_t i, const struct pk_gate_turn *turn)
{
    const struct made_up *m = runner->state;
    const int invocation = turn->invocation;
    static const int64_t ordinal = 0;
    const double noise[] = {0.999, 1.001, 1.0, 1.0005, 0.9995};
    const double value = 1000 * (double)(i + 1) * m->factor[i] * noise[(invocation * 2 + runner->side) % 5] *
                         (turn->warmup && m->first > 0 ? m->first : 1);
    const struct pk_metric_decl metric = {"work_ns", "ns", "lower", "time", "median", "max", "region"};
    const struct pk_series series = {
        .phase = PK_PHASE_STEADY, .reps = 1, .n = 1, .ordinal = &ordinal, .real = &value};
    const bool bad = i == 1 && m->fails_at == invocation;
    const struct pk_note note = {"doubts", m->doubts};
    struct pk_slice s = {.invocation = invocation,
                         .n_notes = m->doubts != NULL,
                         .notes = &note,
                         .status = bad ? PK_ST_FAILED : PK_ST_OK,
                         .message = bad ? "it broke" : "",
                         .n_metrics = 1,
                         .metrics = &metric,
                         .n_series = bad ? 0 : 1,
                         .series = &series};
    if (turn->warmup)
        pk_slice_set_warmup(&s, &arena);
    pk_gate_samples_add(runner->samples, runner->side, runner->part * CASES + i, &s);
}

static enum pk_code process(struct pk_side_runner *runner, const struct pk_gate_turn *turn, struct pk_err *e)
{
    struct made_up *m = runner->state;
    m->order[strlen(m->order)] = (turn->warmup ? "ab" : "AB")[runner->side];
    for (size_t i = 0; i < CASES; i++)
        if (turn->wanted[runner->part * CASES + i]) {
            m->asked[i] += !turn->warmup;
            answer(runner, i, turn);
        }
    if (m->stop_at == turn->invocation)
        stop_flag = 1;
    return e->code = PK_OK;
}

static void end(struct pk_side_runner *runner)
{
}

struct trial {
    struct made_up side[PK_SIDES];
    char order[MOST];
    size_t asked[PK_SIDES][CASES];
    struct pk_gate_samples samples;
    struct pk_gate_options options;
    struct pk_gate_part part;
    struct pk_gate_result result;
};

static void add_cases(struct trial *t, size_t part)
{
    for (size_t i = 0; i < CASES; i++) {
        const char *axes = pk_printf(&arena, "{\"n\":%zu}", i);
        const struct pk_case_info info = {.experiment = "demo",
                                          .revision = 1,
                                          .variant = "x",
                                          .device = "null",
                                          .axes = axes,
                                          .identity = axes};
        assert_int_equal(pk_gate_samples_case(&t->samples, part, &info), part * CASES + i);
    }
}

static struct trial *fresh(void)
{
    struct trial *t = pk_new(&arena, struct trial);
    stop_flag = 0;
    t->samples.arena = &arena;
    t->options = (struct pk_gate_options){.rule = pk_rule_default, .seed = 1};
    t->part = (struct pk_gate_part){.what = {.level = 0.95}};
    for (int s = 0; s < PK_SIDES; s++)
        t->side[s] = (struct made_up){{1, 1, 1}, .order = t->order, .asked = t->asked[s]};
    add_cases(t, 0);
    return t;
}

static void make_sides(struct trial *t, struct pk_gate_part *p, size_t part, struct made_up *side)
{
    static const struct pk_side_runner_kind kind = {process, end};
    for (int s = 0; s < PK_SIDES; s++)
        p->runners[s] = (struct pk_side_runner){&kind, &t->samples, part, s, &stop_flag, &side[s]};
}

static enum pk_code run(struct trial *t)
{
    make_sides(t, &t->part, 0, t->side);
    return pk_gate_run(&t->part, 1, &t->samples, &t->options, NULL, &arena, &t->result, &err);
}

static const struct pk_decision *decision_of(const struct trial *t, size_t i)
{
    const char *axes = t->samples.cases[i].info.axes;
    for (size_t k = 0; k < t->result.comparison.n; k++)
        if (strcmp(t->result.comparison.v[k].new_->axes, axes) == 0)
            return &t->result.comparison.v[k].decision;
    return NULL;
}

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static void equal_sides_are_screened_only(void **state)
{
    struct trial *t = fresh();
    assert_int_equal(run(t), PK_OK);
    assert_int_equal(t->result.pairs, 6);
    assert_int_equal(t->result.warmup_pairs, 1);
    assert_int_equal(t->result.screened, 0);
    for (size_t i = 0; i < CASES; i++) {
        assert_int_equal(decision_of(t, i)->verdict, PK_SAME);
        assert_int_equal(t->asked[PK_NEW][i], 6);
    }
    assert_int_equal(strlen(t->order), 14);
    assert_true(!strncmp(t->order, "abBA", 4) || !strncmp(t->order, "baAB", 4));
    for (size_t i = 2; i < 14; i += 4)
        assert_true(!strncmp(t->order + i, "ABBA", 4) || !strncmp(t->order + i, "BAAB", 4));
}

static const char *order_of(uint64_t seed)
{
    struct trial *t = fresh();
    t->options.seed = seed;
    assert_int_equal(run(t), PK_OK);
    return t->order;
}

static void a_seed_is_an_order(void **state)
{
    enum { SEEDS = 20 };
    const char *first = order_of(1);
    size_t others = 0;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        const char *order = order_of(seed);
        assert_string_equal(order, order_of(seed));
        others += strcmp(order, first) != 0;
    }
    assert_true(others > SEEDS / 2);
}

/* Slow, fast, throttled or on one side alone: the first processes count for nothing. */
static void first_processes_are_not_judged(void **state)
{
    static const double first[][PK_SIDES] = {{1.3, 1.3}, {1.3, 1}, {1, 1.3}, {0.5, 1}};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        for (int slower = 0; slower < 2; slower++) {
            struct trial *plain = fresh(), *t = fresh();
            for (int s = 0; s < PK_SIDES; s++)
                t->side[s].first = first[i][s];
            plain->side[PK_NEW].factor[0] = t->side[PK_NEW].factor[0] = slower ? 1.05 : 1;
            assert_int_equal(run(plain), PK_OK);
            assert_int_equal(run(t), PK_OK);
            assert_int_equal(t->result.pairs, plain->result.pairs);
            for (size_t k = 0; k < CASES; k++) {
                assert_int_equal(decision_of(t, k)->verdict, decision_of(plain, k)->verdict);
                assert_true(decision_of(t, k)->ratio == decision_of(plain, k)->ratio);
                assert_int_equal(decision_of(t, k)->pairs, t->asked[PK_NEW][k]);
            }
            assert_int_equal(decision_of(t, 0)->verdict, slower ? PK_SLOWER : PK_SAME);
        }
}

static void only_suspects_are_asked_again(void **state)
{
    struct trial *t = fresh();
    t->side[PK_NEW].factor[2] = 1.05;
    assert_int_equal(run(t), PK_OK);
    assert_int_equal(t->result.pairs, 20);
    assert_int_equal(t->result.screened, 7);
    assert_int_equal(t->asked[PK_BASE][0], 6);
    assert_int_equal(t->asked[PK_BASE][2], 20);
    assert_int_equal(decision_of(t, 0)->verdict, PK_SAME);
    assert_int_equal(decision_of(t, 2)->verdict, PK_SLOWER);
    assert_true(fabs(decision_of(t, 2)->ratio - 1.05) < 0.002);
    assert_int_equal(t->result.comparison.n_means, 1); /* over the pairs that all cases have */
    assert_true(t->result.comparison.means[0].ratio.ci.lo > 1);
}

static void a_case_that_fails_is_closed(void **state)
{
    struct trial *t = fresh();
    t->side[PK_NEW].fails_at = 3;
    assert_int_equal(run(t), PK_OK);
    assert_int_equal(t->asked[PK_NEW][1], 2);
    assert_true(t->asked[PK_BASE][1] <= 2 && t->asked[PK_BASE][0] == 6);
    assert_null(decision_of(t, 1));
    assert_string_equal(t->samples.cases[1].message[PK_NEW], "it broke");
    assert_int_equal(t->result.comparison.n, 2);
}

static void it_stops_when_told(void **state)
{
    struct trial *t = fresh();
    t->side[PK_NEW].stop_at = 3;
    assert_int_equal(run(t), PK_OK);
    assert_true(t->result.interrupted && t->result.pairs <= 3);
    assert_int_equal(decision_of(t, 0)->reason, PK_REASON_MORE_PAIRS);
}

static void one_pair_is_always_in_the_budget(void **state)
{
    struct trial *t = fresh();
    t->options.budget_ns = 1;
    assert_int_equal(run(t), PK_OK);
    assert_int_equal(t->result.pairs, 1);
    assert_true(t->result.out_of_time);
}

static void until_clear_ends_sooner(void **state)
{
    struct trial *t = fresh();
    t->options.rule.until_clear = true;
    t->side[PK_NEW].factor[0] = 1.2;
    assert_int_equal(run(t), PK_OK);
    assert_true(t->result.pairs < 15);
    assert_int_equal(decision_of(t, 0)->verdict, PK_SLOWER);
    assert_int_equal(decision_of(t, 1)->verdict, PK_SAME);
}

static void thresholds_are_of_rows(void **state)
{
    struct trial *t = fresh();
    struct pk_threshold threshold;
    assert_int_equal(pk_threshold_parse("work_ns[n=2]=10%,50ns", &arena, &threshold, &err), PK_OK);
    assert_true(threshold.min_effect == 0.1 && threshold.min_change == 50);
    t->part.criteria = (struct pk_criteria){.all = &threshold, .n_all = 1};
    t->side[PK_NEW].factor[1] = t->side[PK_NEW].factor[2] = 1.05;
    assert_int_equal(run(t), PK_OK);
    assert_int_equal(decision_of(t, 1)->verdict, PK_SLOWER);
    assert_int_equal(decision_of(t, 2)->verdict, PK_SAME);
}

static void a_metric_that_nobody_has(void **state)
{
    struct trial *t = fresh();
    const char *const names[] = {"wokr_ns"};
    t->part.what.metrics = names;
    t->part.what.n_metrics = 1;
    assert_int_equal(run(t), PK_E_USAGE);
    assert_non_null(strstr(err.fix, "work_ns"));
}

/* --- a suite ---------------------------------------------------------------------------------------------------------- */

/* The same cases once more, as a second entry. */
struct pair {
    struct trial *t;
    struct made_up second[PK_SIDES];
    size_t asked[PK_SIDES][CASES];
    struct pk_gate_part parts[2];
};

static struct pair *two_parts(void)
{
    struct pair *p = pk_new(&arena, struct pair);
    p->t = fresh();
    add_cases(p->t, 1);
    for (int s = 0; s < PK_SIDES; s++)
        p->second[s] = (struct made_up){{1, 1, 1}, .order = p->t->order, .asked = p->asked[s]};
    p->parts[0] = (struct pk_gate_part){.name = "first", .what = {.level = 0.95}};
    p->parts[1] = (struct pk_gate_part){.name = "second", .what = {.level = 0.95}};
    make_sides(p->t, &p->parts[0], 0, p->t->side);
    make_sides(p->t, &p->parts[1], 1, p->second);
    return p;
}

static enum pk_code run_both(struct pair *p)
{
    return pk_gate_run(p->parts, 2, &p->t->samples, &p->t->options, NULL, &arena, &p->t->result, &err);
}

/* Rows come part by part, in the order of the cases. */
static const struct pk_compared *row(const struct pair *p, size_t part, size_t i)
{
    const struct pk_compared *c = &p->t->result.comparison.v[part * CASES + i];
    assert_string_equal(c->entry, p->parts[part].name);
    return c;
}

static void parts_are_one_family(void **state)
{
    struct pair *p = two_parts();
    p->t->side[PK_NEW].factor[0] = 1.05;
    p->second[PK_NEW].factor[2] = 1.06;
    assert_int_equal(run_both(p), PK_OK);
    assert_int_equal(p->t->result.comparison.n, 2 * CASES);
    const struct pk_decision *a = &row(p, 0, 0)->decision, *b = &row(p, 1, 2)->decision;
    assert_int_equal(a->verdict, PK_SLOWER);
    assert_int_equal(b->verdict, PK_SLOWER);
    assert_true(fmin(a->p_adjusted, b->p_adjusted) == 2 * 3 * fmin(a->p, b->p));
    assert_int_equal(p->t->asked[PK_NEW][0], 20);
    assert_int_equal(p->t->asked[PK_NEW][2], 6);
    assert_int_equal(p->asked[PK_NEW][2], 20);
}

/* A B of the first entry, then of the second: the processes of a pair are neighbours. */
static void pairs_of_parts_follow_each_other(void **state)
{
    struct pair *p = two_parts();
    assert_int_equal(run_both(p), PK_OK);
    for (size_t i = 4; i < 4 * 7; i += 4)
        assert_true(!strncmp(p->t->order + i, "ABAB", 4) || !strncmp(p->t->order + i, "BABA", 4));
}

static void what_a_part_is_judged_by_is_its_own(void **state)
{
    struct pair *p = two_parts();
    struct pk_threshold all, own;
    assert_int_equal(pk_threshold_parse("*=30%", &arena, &all, &err), PK_OK);
    assert_int_equal(pk_threshold_parse("work_ns[n=0]=1ns", &arena, &own, &err), PK_OK);
    p->parts[0].criteria = (struct pk_criteria){.all = &all, .n_all = 1};
    p->parts[1].criteria =
        (struct pk_criteria){.own = &own, .n_own = 1, .min_effect = 0.05, .all = &all, .n_all = 1};
    p->parts[1].max_pairs = 10;
    for (size_t i = 0; i < CASES; i++)
        p->t->side[PK_NEW].factor[i] = p->second[PK_NEW].factor[i] = 1.08;
    assert_int_equal(run_both(p), PK_OK);
    for (size_t i = 0; i < CASES; i++)
        assert_int_equal(row(p, 0, i)->decision.verdict, PK_SAME);
    assert_true(row(p, 1, 0)->threshold == &own && row(p, 1, 1)->threshold == &all);
    assert_int_equal(row(p, 1, 0)->decision.verdict, PK_SLOWER);
    assert_int_equal(row(p, 1, 1)->decision.verdict, PK_SLOWER);
    assert_int_equal(p->asked[PK_NEW][0], 10);
    p = two_parts();
    p->parts[0].criteria = (struct pk_criteria){.all = &all, .n_all = 1, .typed = true};
    p->parts[1].criteria = (struct pk_criteria){.min_effect = 0.05, .all = &all, .n_all = 1, .typed = true};
    p->second[PK_NEW].factor[1] = 1.08;
    assert_int_equal(run_both(p), PK_OK);
    assert_int_equal(row(p, 1, 1)->decision.verdict, PK_SAME);
}

static void a_threshold_of_nothing_says_where_it_stands(void **state)
{
    struct pair *p = two_parts();
    struct pk_threshold own;
    assert_int_equal(pk_threshold_parse("play_ns=5%", &arena, &own, &err), PK_OK);
    own.place = "perf.ini:4: [second]";
    p->parts[1].criteria = (struct pk_criteria){.own = &own, .n_own = 1};
    assert_int_equal(run_both(p), PK_E_USAGE);
    assert_non_null(strstr(err.what, "perf.ini:4: [second]: --threshold 'play_ns=5%'"));
    assert_int_equal(p->t->result.pairs, 2);
}

static void the_budget_of_a_part_ends_that_part(void **state)
{
    struct pair *p = two_parts();
    p->parts[0].budget_ns = 1;
    assert_int_equal(run_both(p), PK_OK);
    assert_int_equal(p->t->asked[PK_NEW][0], 1);
    assert_int_equal(p->asked[PK_NEW][0], 6);
    assert_true(p->t->result.out_of_time);
    assert_int_equal(row(p, 0, 0)->decision.reason, PK_REASON_MORE_PAIRS);
    assert_int_equal(row(p, 1, 0)->decision.verdict, PK_SAME);
}

static void a_throttled_side_is_not_judged(void **state)
{
    struct trial *t = fresh();
    t->side[PK_NEW].factor[0] = 1.2;
    t->side[PK_NEW].doubts = "[\"throttled\"]";
    assert_int_equal(run(t), PK_OK);
    for (size_t i = 0; i < CASES; i++) {
        assert_int_equal(decision_of(t, i)->verdict, PK_UNSTABLE);
        assert_int_equal(decision_of(t, i)->reason, PK_REASON_ENVIRONMENT);
    }
    t = fresh();
    t->side[PK_NEW].factor[0] = 1.2;
    t->side[PK_NEW].doubts = "[\"crowded\"]";
    assert_int_equal(run(t), PK_OK);
    assert_int_equal(decision_of(t, 0)->verdict, PK_SLOWER);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_throttled_side_is_not_judged, free_arena),
        cmocka_unit_test_teardown(equal_sides_are_screened_only, free_arena),
        cmocka_unit_test_teardown(a_seed_is_an_order, free_arena),
        cmocka_unit_test_teardown(first_processes_are_not_judged, free_arena),
        cmocka_unit_test_teardown(only_suspects_are_asked_again, free_arena),
        cmocka_unit_test_teardown(a_case_that_fails_is_closed, free_arena),
        cmocka_unit_test_teardown(it_stops_when_told, free_arena),
        cmocka_unit_test_teardown(one_pair_is_always_in_the_budget, free_arena),
        cmocka_unit_test_teardown(until_clear_ends_sooner, free_arena),
        cmocka_unit_test_teardown(thresholds_are_of_rows, free_arena),
        cmocka_unit_test_teardown(a_metric_that_nobody_has, free_arena),
        cmocka_unit_test_teardown(parts_are_one_family, free_arena),
        cmocka_unit_test_teardown(pairs_of_parts_follow_each_other, free_arena),
        cmocka_unit_test_teardown(what_a_part_is_judged_by_is_its_own, free_arena),
        cmocka_unit_test_teardown(a_threshold_of_nothing_says_where_it_stands, free_arena),
        cmocka_unit_test_teardown(the_budget_of_a_part_ends_that_part, free_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
