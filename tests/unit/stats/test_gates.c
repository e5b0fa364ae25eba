/* Gates simulated with seeds fixed beforehand: how often they cry wolf, what they find, what they prove. Figures are
 * printed; `test-stats-gates 2000` simulates that many gates without a difference on each machine, and 300 with one, instead of the few
 * that fit a suite. */
#include "gate_model.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int aa_gates; /* 0: each test's own number */

static const struct machine clean = {"clean", .cv = 0.01, .inside = 0.002};
static const struct machine noisy = {"5 % everywhere", .cv = 0.05, .inside = 0.002};
/* Rows of .3 to 3 %, as suites are. */
static const struct machine mixed = {"mixed rows", .cv = 0.01, .cv_spread = 0.6, .inside = 0.002};
static const struct machine drifting = {"mixed rows, drifting", .cv = 0.01, .cv_spread = 0.6, .inside = 0.002,
                                        .drift = 0.5};
static const struct machine remembering = {"autocorrelated", .cv = 0.01, .inside = 0.002, .memory = 0.6};
static const struct machine disturbed = {"10 % disturbed", .cv = 0.01, .inside = 0.002, .disturbed = 0.1};
static const struct machine bimodal = {"bimodal rows", .cv = 0.01, .cv_spread = 0.6, .inside = 0.002,
                                       .slow_mode = 0.3};

/* Every fourth process 5 % slower: in step with ABBA, so that a fixed order of turns gives it to one side. */
static const struct machine beating = {"every fourth + 5 %", .cv = 0.01, .inside = 0.002, .beat = 0.05};

static const struct machine normal = {"normal", .cv = 0.01, .normal = true};
static const struct machine remembering_normal = {"normal, autocorrelated", .cv = 0.01, .normal = true,
                                                  .memory = 0.6};

static struct tally told(const struct machine *m, const char *what, struct tally t)
{
    print_message(
        "%-21s %-5s %4.0f gates, red %.2f glad %.2f %%; slower %.1f faster %.1f same %.1f undecided %.1f "
        "unstable %.1f %%; %.2f "
        "pairs a row\n",
        m->name, what, t.gates, 100 * t.red / t.gates, 100 * t.glad / t.gates, 100 * t.slower / t.rows,
        100 * t.faster / t.rows, 100 * t.same / t.rows, 100 * t.undecided / t.rows, 100 * t.unstable / t.rows,
        t.pairs);
    return t;
}

/* Gates of fifty rows without a difference: at most `red` of them may be red, for at most `pairs` pairs a row. */
static void quiet(const struct machine *m, int gates, double red, double pairs)
{
    struct tally t = told(m, "A/A", run_gates(m, 1, aa_gates ? aa_gates : gates, 50, 0, 0, &pk_rule_default));
    assert_true(t.red <= red * t.gates);
    assert_true(t.glad <= red * t.gates);
    assert_true(t.pairs <= pairs);
}

static void identical_code_is_rarely_red(void **state)
{
    quiet(&clean, 150, 0.01, 8);
    quiet(&mixed, 500, 0.01, 8);
    quiet(&drifting, 1000, 0.01, 8);
    quiet(&remembering, 100, 0.01, 8);
    quiet(&noisy, 1000, 0.01, 17); /* no margin hides false alarms of 50 tests */
}

static void trouble_is_not_red_either(void **state)
{
    quiet(&disturbed, 100, 0.01, 18); /* rows with a slow process go on to their most pairs */
    quiet(&bimodal, 400, 0.01, 13);
}

static void a_beat_is_not_red(void **state)
{
    quiet(&beating, 500, 0.01, 11);
}

/* The mean difference, over `pairs` pairs in the order of a seed, that every fourth process with log 1.05 makes where nothing else does. */
static double difference_by_beat(uint64_t seed, size_t pairs, size_t beat_at)
{
    bool base_first[40];
    double sum = 0;
    assert_true(pairs <= sizeof base_first);
    pk_pair_order(seed, pairs, base_first);
    for (size_t i = 0; i < 2 * pairs; i++)
        if (i % 4 == beat_at)
            sum += base_first[i / 2] == (i % 2 == 0) ? -log(1.05) : log(1.05);
    return sum / (double)pairs;
}

/* Over seeds no side is favoured, whichever processes are slow; one order kept for ever favours one by up to 0.8 % (2.4 %
 * when blocks of two are drawn). */
static void orders_of_turns_favour_no_side(void **state)
{
    enum { SEEDS = 4000 };
    static const size_t pairs[] = {6, 20};
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++)
        for (size_t beat_at = 0; beat_at < 4; beat_at++) {
            double sum = 0, squares = 0, most = 0;
            for (uint64_t seed = 0; seed < SEEDS; seed++) {
                const double d = difference_by_beat(pk_rng_mix(seed), pairs[p], beat_at);
                sum += d;
                squares += d * d;
                most = fmax(most, fabs(d));
            }
            const double mean = sum / SEEDS, error = sqrt(squares) / SEEDS;
            print_message("%zu pairs, beat at %zu: mean %+.4f %%, standard error %.4f %%, most %.1f %%\n",
                          pairs[p], beat_at, 100 * mean, 100 * error, 100 * most);
            assert_true(fabs(mean) <= 4 * error + 1e-12);
        }
}

/* A fifth of fifty rows takes exp(effect) times as long; at least `found` of them are found. */
static struct tally find(const struct machine *m, double percent, double found)
{
    char what[16];
    snprintf(what, sizeof what, "%+g %%", percent);
    const int gates = aa_gates ? 300 : 40;
    struct tally t = told(m, what, run_gates(m, 2, gates, 50, 10, log1p(percent / 100), &pk_rule_default));
    assert_true(t.slower >= found * t.rows);
    assert_true(t.faster == 0 && t.red + t.glad <= 0.05 * t.gates);
    return t;
}

static void slowdowns_are_found(void **state)
{
    find(&clean, 3, 0.95);
    find(&clean, 5, 0.97);
    find(&mixed, 3, 0.86); /* of 3000 cases; of 400 chance takes its share */
    find(&mixed, 5, 0.96);
    find(&drifting, 3, 0.86);
    find(&drifting, 5, 0.97);
    find(&remembering, 5, 0.97);
    find(&disturbed, 3, 0.6);
    find(&disturbed, 5, 0.7);
    find(&bimodal, 5, 0.75);
    assert_true(find(&clean, 10, 0.97).same == 0);
}

static void a_single_case_is_found(void **state)
{
    struct tally t = told(&clean, "one", run_gates(&clean, 3, 500, 1, 1, log(1.05), &pk_rule_default));
    assert_true(t.slower >= 0.97 * t.rows);
    t = told(&clean, "none", run_gates(&clean, 4, 1000, 1, 0, 0, &pk_rule_default));
    assert_true(t.red <= 0.01 * t.gates);
}

/* A worsening of the size that a decision names is found as often as it says: 19 times in 20. */
static void the_smallest_effect_is_as_named(void **state)
{
    double sd = sqrt(2) * hypot(clean.cv, clean.inside);
    double least =
        log1p(0.02) + 1.729 * sd / sqrt(20); /* T + t of .95 with 19 df; the other limits are below */
    struct tally t = told(&clean, "mde", run_gates(&clean, 8, 1000, 1, 1, least, &pk_rule_default));
    assert_true(t.slower > 0.925 * t.rows && t.slower < 0.975 * t.rows);
}

static void speedups_are_found(void **state)
{
    struct tally t = told(&clean, "-5 %", run_gates(&clean, 5, 40, 50, 10, -log(1.05), &pk_rule_default));
    assert_true(t.faster >= 0.97 * t.rows && t.slower == 0);
}

/* Gates of one case, of which some processes take `size` times as long: shares of base and new. */
static struct tally strike(double base, double new_, double size, size_t pairs)
{
    const struct machine m = {"slow processes", .cv = 0.01, .normal = true, .slow = {base, new_},
                              .slow_size = log(size)};
    struct pk_rule rule = pk_rule_default;
    char what[64];
    pk_rule_of_pairs(&rule, pairs);
    snprintf(what, sizeof what, "%.0f %% / %.0f %% x %.2f, %zu pairs:", 100 * base, 100 * new_, size, pairs);
    const struct tally t = told(&m, what, run_gates(&m, 9, aa_gates ? 4 * aa_gates : 400, 1, 0, 0, &rule));
    assert_true(t.hidden == 0); /* seen on one side alone: never the same */
    return t;
}

/* Few pairs are no reason to find modes where there are none. */
static void clean_gates_of_few_pairs_are_judged(void **state)
{
    static const struct machine *const machines[] = {&normal, &clean};
    static const size_t pairs[] = {8, 10, 20};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
            struct pk_rule rule = pk_rule_default;
            char what[32];
            pk_rule_of_pairs(&rule, pairs[k]);
            snprintf(what, sizeof what, "%zu pairs:", pairs[k]);
            const struct tally t = told(machines[i], what, run_gates(machines[i], 10, 2000, 1, 0, 0, &rule));
            assert_true(t.unstable == 0 && t.red + t.glad <= 0.005 * t.gates);
        }
}

static void slow_processes_of_one_side_are_found(void **state)
{
    const struct tally t = strike(0, 0.2, 2, 60);
    assert_true(t.slower >= 0.95 * t.gates);
    strike(0, 0.1, 2, 20);
    strike(0, 0.2, 2, 20);
    strike(0, 0.3, 2, 20);
    strike(0.1, 0.3, 2, 20);
    strike(0.1, 0.3, 2, 60);
}

static void slow_processes_of_both_sides_are_not_red(void **state)
{
    static const double share[] = {0.1, 0.2, 0.3, 0.5}, size[] = {1.15, 2};
    for (size_t i = 0; i < sizeof share / sizeof *share; i++)
        for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
            const struct tally t = strike(share[i], share[i], size[k], 20);
            assert_true(t.red <= 0.01 * t.gates && t.unstable <= 0.15 * t.gates);
        }
}

/* "same" is wrong where the true difference is the margin or more: no oftener than alpha. */
static void same_is_proved(void **state)
{
    static const struct machine *const machines[] = {&clean,   &mixed,  &drifting,          &disturbed,
                                                     &bimodal, &normal, &remembering_normal};
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            struct tally t = told(
                machines[i], sign < 0 ? "-2 %" : "+2 %",
                run_gates(machines[i], 6, aa_gates ? 200 : 30, 50, 50, sign * log1p(0.02), &pk_rule_default));
            /* pairs of correlated processes are correlated, too */
            assert_true(t.same <= (machines[i]->memory > 0 ? 0.08 : pk_rule_default.alpha) * t.rows);
        }
    }
    struct tally t = run_gates(&clean, 7, 40, 50, 0, 0, &pk_rule_default);
    assert_true(t.same >= 0.7 * t.rows); /* and it is said where it is true */
}

int main(int argc, char **argv)
{
    aa_gates = argc > 1 ? atoi(argv[1]) : 0;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(identical_code_is_rarely_red),
        cmocka_unit_test(trouble_is_not_red_either),
        cmocka_unit_test(a_beat_is_not_red),
        cmocka_unit_test(orders_of_turns_favour_no_side),
        cmocka_unit_test(slowdowns_are_found),
        cmocka_unit_test(a_single_case_is_found),
        cmocka_unit_test(the_smallest_effect_is_as_named),
        cmocka_unit_test(speedups_are_found),
        cmocka_unit_test(clean_gates_of_few_pairs_are_judged),
        cmocka_unit_test(slow_processes_of_one_side_are_found),
        cmocka_unit_test(slow_processes_of_both_sides_are_not_red),
        cmocka_unit_test(same_is_proved),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
