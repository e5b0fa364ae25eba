/* Moved tails, simulated with fixed seeds: how often a note about slow samples is wrong, and how often it comes. Samples are made up: a
 * process has a level, samples scatter about it, and some of them are slow. */
#include "base/rng.h"
#include "judge/criteria/criteria.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

enum { PAIRS = 6, SAMPLES = 120, ROWS = 20 };

static const int64_t invocations[PAIRS] = {2, 3, 4, 5, 6, 7};

struct side {
    double figure[PAIRS], tail[PK_TAILS][PAIRS];
    struct pk_figures f;
};

/* From least to most of the samples are slow, half as much again. A share of 10 % is the worst: the p90 of a process is then now of the slow
 * samples, now of the others. */
struct mix {
    const char *name;
    double least, most;
};
static const struct mix no_mode = {"no slow mode", 0, 0}, far = {"2 to 6 % slow", 0.02, 0.06},
                        at_p90 = {"5 to 15 % slow", 0.05, 0.15};

/* `slow`: of a side whose tail moved. */
static void one_process(struct side *s, size_t i, const struct mix *m, double slow, struct pk_rng *r)
{
    double v[SAMPLES];
    const double level = 0.01 * pk_rng_normal(r), share = m->least + (m->most - m->least) * pk_rng_uniform(r);
    for (size_t k = 0; k < SAMPLES; k++) {
        const bool is_slow = pk_rng_uniform(r) < share;
        v[k] = 1e6 * exp(level + 0.02 * pk_rng_normal(r) + (is_slow ? log(1.5 * slow) : 0));
    }
    s->figure[i] = pk_summarize(v, SAMPLES).median; /* it sorts */
    for (enum pk_tail t = 0; t < PK_TAILS; t++)
        s->tail[t][i] = pk_tail_quantile(v, SAMPLES, t);
}

static void measure(struct side *s, const struct mix *m, double slow, struct pk_rng *r)
{
    for (size_t i = 0; i < PAIRS; i++)
        one_process(s, i, m, slow, r);
    s->f = (struct pk_figures){.experiment = "demo",
                               .variant = "x",
                               .device = "cpu",
                               .axes = "{}",
                               .identity = "{}",
                               .metric = "work_ns",
                               .unit = "ns",
                               .direction = "lower",
                               .class = "time",
                               .source = "region",
                               .n = PAIRS,
                               .samples = SAMPLES,
                               .figure = s->figure,
                               .invocation = invocations,
                               .tail = {s->tail[PK_P90], s->tail[PK_P99]}};
}

struct found {
    size_t gates; /* with a note about a row whose tail did not move */
    size_t rows;  /* whose tail moved, with a note */
};

/* The tails of the first `moved` rows are slower. */
static struct found simulate(const struct mix *m, size_t gates, size_t moved, double slow, uint64_t seed)
{
    static struct side base[ROWS], new_[ROWS];
    struct pk_compared rows[ROWS];
    const struct pk_judging j = {.rule = pk_rule_default, .design = PK_DESIGN_GATE};
    struct pk_rng r = {seed};
    struct found found = {0};
    for (size_t g = 0; g < gates; g++) {
        size_t wrong = 0;
        for (size_t i = 0; i < ROWS; i++) {
            measure(&base[i], m, 1, &r);
            measure(&new_[i], m, i < moved ? slow : 1, &r);
            rows[i] = pk_compare_figures(&base[i].f, &new_[i].f, 0.95);
        }
        pk_judge(rows, ROWS, &j);
        pk_find_moved_tails(rows, ROWS, &j);
        for (size_t i = 0; i < ROWS; i++) {
            const bool said = rows[i].tail[PK_P90].ratio > 0 || rows[i].tail[PK_P99].ratio > 0;
            wrong += i >= moved && said;
            found.rows += i < moved && said;
        }
        found.gates += wrong > 0;
    }
    return found;
}

static void rarely_noted(const struct mix *m, size_t gates, double most)
{
    const struct found f = simulate(m, gates, 0, 1, 1);
    print_message("%s: %.2f %% of gates have a note\n", m->name, 100.0 * (double)f.gates / (double)gates);
    assert_true((double)f.gates <= most * (double)gates);
}

static void equal_tails_are_rarely_noted(void **state)
{
    rarely_noted(&no_mode, 300, 0.01);
    rarely_noted(&far, 500, 0.01);
    rarely_noted(&at_p90, 500, 0.03);
}

static void slower_tails_are_noted(void **state)
{
    enum { GATES = 40, MOVED = 4 };
    static const struct {
        const struct mix *mix;
        double slow, found;
    } trials[] = {{&far, 1.2, 0.35}, {&far, 1.6, 0.5}, {&at_p90, 1.2, 0.9}, {&at_p90, 1.6, 0.95}};
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        const struct found f = simulate(trials[i].mix, GATES, MOVED, trials[i].slow, 2);
        print_message("%s, these %.0f %% slower: noted in %.1f %%\n", trials[i].mix->name,
                      100 * (trials[i].slow - 1), 100.0 * (double)f.rows / (GATES * MOVED));
        assert_true((double)f.rows >= trials[i].found * GATES * MOVED);
        assert_true(f.gates <= GATES / 10);
    }
}

static struct pk_arena arena;

/* What a row has of these: a row of its own, another direction, too few samples. */
static void some_rows_have_no_note(void **state)
{
    const struct pk_judging j = {.rule = pk_rule_default, .design = PK_DESIGN_GATE};
    static struct side base, new_;
    struct pk_rng r = {3};
    measure(&base, &far, 1, &r);
    measure(&new_, &far, 2, &r);
    const struct pk_figures *const p99[] = {pk_figures_tail(&base.f, PK_P99, &arena),
                                            pk_figures_tail(&new_.f, PK_P99, &arena)};
    struct pk_compared rows[] = {pk_compare_figures(&base.f, &new_.f, 0.95),
                                 pk_compare_figures(p99[0], p99[1], 0.95)};
    assert_string_equal(p99[1]->metric, "work_ns:p99");
    pk_judge(rows, 1, &j);
    pk_find_moved_tails(rows, 1, &j);
    assert_true(rows[0].tail[PK_P99].ratio > 1.5);
    rows[0] = pk_compare_figures(&base.f, &new_.f, 0.95);
    pk_judge(rows, 2, &j);
    pk_find_moved_tails(rows, 2, &j);
    assert_true(rows[0].tail[PK_P99].ratio == 0);
    new_.f.direction = base.f.direction = "higher";
    rows[0] = pk_compare_figures(&base.f, &new_.f, 0.95);
    pk_judge(rows, 1, &j);
    pk_find_moved_tails(rows, 1, &j);
    assert_true(rows[0].tail[PK_P99].ratio == 0);
    new_.f.direction = base.f.direction = "lower";
    new_.tail[PK_P99][3] = NAN; /* of a process with too few samples */
    rows[0] = pk_compare_figures(&base.f, &new_.f, 0.95);
    pk_judge(rows, 1, &j);
    pk_find_moved_tails(rows, 1, &j);
    assert_true(rows[0].tail[PK_P99].ratio == 0 && !pk_figures_tail(&new_.f, PK_P99, &arena));
    pk_arena_free(&arena);
}

static void quantiles(void **state)
{
    double v[1000];
    for (size_t i = 0; i < 1000; i++)
        v[i] = (double)i + 1;
    assert_true(isnan(pk_tail_quantile(v, 9, PK_P90)) && isnan(pk_tail_quantile(v, 99, PK_P99)));
    /* numpy.quantile(numpy.arange(1, n + 1), p, method="median_unbiased") */
    assert_true(fabs(pk_tail_quantile(v, 10, PK_P90) - 9.633333333333333) < 1e-12);
    assert_true(fabs(pk_tail_quantile(v, 100, PK_P90) - 90.63333333333333) < 1e-12);
    assert_true(fabs(pk_tail_quantile(v, 100, PK_P99) - 99.66333333333333) < 1e-12);
    assert_true(fabs(pk_tail_quantile(v, 1000, PK_P99) - 990.6633333333333) < 1e-11);
    enum pk_tail t;
    size_t length;
    assert_true(pk_tail_of_metric("work_ns:p99", &t, &length) && t == PK_P99 && length == 7);
    assert_true(pk_tail_of_metric("a:b:p90", &t, &length) && t == PK_P90 && length == 3);
    const char *const others[] = {"work_ns",  "work_ns:p50x", "work_ns:p101",
                                  "work_ns:", ":p99",         "work_ns:P99"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(pk_tail_of_metric(others[i], &t, &length));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_tails_are_rarely_noted),
        cmocka_unit_test(slower_tails_are_noted),
        cmocka_unit_test(some_rows_have_no_note),
        cmocka_unit_test(quantiles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
