/* Verdicts of given figures: each rule, each reason, each refusal; and what intervals of the other designs promise,
 * simulated. */
#include "stats/verdict/verdict.h"

#include "base/rng.h"
#include "stats/infer.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

enum { MOST = 64 };

static const double A8[] = {10.12, 10.05, 10.31, 9.98, 10.22, 10.17, 10.09, 10.44};
static const double B8[] = {10.41, 10.36, 10.29, 10.55, 10.62, 10.33, 10.78, 10.47};

static void assert_near(double seen, double expected, double relative)
{
    if (!(fabs(seen - expected) <= relative * fabs(expected)))
        fail_msg("%.17g is not %.17g", seen, expected);
}

/* Pairs with a ratio and a scatter that is the same every time: +, -, +, - ... */
struct made {
    double base[MOST], new_[MOST];
};
static struct pk_pairs make(struct made *m, size_t n, double ratio, double scatter)
{
    for (size_t i = 0; i < n; i++) {
        m->base[i] = 1e6 * (1 + scatter * ((double)(i % 3) - 1));
        m->new_[i] = m->base[i] * ratio * (1 + (i % 2 ? scatter : -scatter));
    }
    return (struct pk_pairs){m->base, m->new_, n};
}

static struct pk_decision pairs_of(struct pk_pair_series t)
{
    struct pk_decision d;
    pk_decide_pairs(&t, 1, &pk_rule_default, &d);
    return d;
}

static struct pk_decision gate_of(struct pk_pair_series t)
{
    struct pk_decision d;
    pk_decide_gate(&t, 1, &pk_rule_default, &d);
    return d;
}

static void assert_says(const struct pk_decision *d, enum pk_verdict v, enum pk_reason r)
{
    assert_string_equal(pk_verdict_name(d->verdict), pk_verdict_name(v));
    assert_string_equal(pk_reason_text(d->reason), pk_reason_text(r));
}

/* --- numbers --- */

static void numbers_are_those_of_the_vectors(void **state)
{
    struct pk_rule rule = pk_rule_default;
    rule.min_effect = 0.05;
    struct pk_decision d;
    struct pk_pair_series t = {.screen = {A8, B8, 8}};
    pk_decide_pairs(&t, 1, &rule, &d);
    assert_near(d.ratio, 1.0298433363276245, 1e-12);
    assert_near(d.ci.lo, 1 + 0.009483356306325156, 1e-12);
    assert_near(d.ci.hi, 1 + 0.05061395094124066, 1e-12);
    assert_near(d.p, 0.010233646265299571, 1e-12);
    assert_near(d.p_adjusted, 0.010233646265299571, 1e-12);
    assert_near(d.p_same, 0.027682479454948117, 1e-12);
    assert_near(d.sd, 0.02388459180309856, 1e-12);
    assert_near(d.mde, expm1(log(1.05) + 1.8945786050613054 * d.sd / sqrt(8)), 1e-9); /* t of .95, 7 df */
    assert_says(&d, PK_SAME, PK_REASON_PROVED);
    assert_int_equal(d.needed, 0);
    d = pairs_of(t);
    assert_says(&d, PK_SLOWER, PK_REASON_PROVED);
    t.higher_is_better = true;
    d = pairs_of(t);
    assert_says(&d, PK_FASTER, PK_REASON_PROVED);
    assert_near(d.ratio, 1.0298433363276245, 1e-12);
}

static void cases_share_the_risk(void **state)
{
    struct pk_pair_series t[6];
    struct pk_decision d[6];
    struct made same;
    t[0] = (struct pk_pair_series){.screen = {A8, B8, 8}};
    for (int i = 1; i < 6; i++)
        t[i] = (struct pk_pair_series){.screen = make(&same, 8, 1, 0.01)};
    pk_decide_pairs(t, 6, &pk_rule_default, d);
    assert_near(d[0].p_adjusted, 6 * d[0].p, 1e-12);
    assert_true(d[0].verdict == PK_UNDECIDED && d[0].needed > 0 && d[0].needed < 10);
    assert_true(d[0].mde > 0.02);
}

/* --- reasons --- */

static void small_and_noisy_differences(void **state)
{
    struct made m;
    struct pk_decision d = pairs_of((struct pk_pair_series){.screen = make(&m, 10, 1.005, 0.001)});
    assert_says(&d, PK_SAME, PK_REASON_PROVED); /* real, and of no interest */
    assert_true(d.p < 1e-4);
    d = pairs_of((struct pk_pair_series){.screen = make(&m, 10, 1.0185, 0.004)});
    assert_says(&d, PK_UNDECIDED, PK_REASON_BETWEEN);
    d = pairs_of((struct pk_pair_series){.screen = make(&m, 10, 1.03, 0.08)});
    assert_says(&d, PK_UNDECIDED, PK_REASON_NOISE);
    assert_true(d.needed > 20 && d.needed < 200 && d.mde > 0.05);
    d = pairs_of((struct pk_pair_series){.screen = make(&m, 10, 1.03, 0.08), .min_effect = 0.5});
    assert_says(&d, PK_SAME, PK_REASON_PROVED);
    d = pairs_of((struct pk_pair_series){.screen = make(&m, 10, 1.03, 0.004), .min_effect = 0.05});
    assert_true(d.verdict == PK_SAME);
}

static void exactly_the_margin_counts(void **state)
{
    double base[6], new_[6];
    for (int i = 0; i < 6; i++) {
        base[i] = 100;
        new_[i] = 102;
    }
    struct pk_decision d = pairs_of((struct pk_pair_series){.screen = {base, new_, 6}});
    assert_says(&d, PK_SLOWER, PK_REASON_PROVED);
    d = pairs_of((struct pk_pair_series){.screen = {base, base, 6}});
    assert_says(&d, PK_SAME, PK_REASON_PROVED);
    assert_true(d.ratio == 1 && d.p == 1 && d.mde == pk_rule_default.min_effect);
}

static void absolute_floors(void **state)
{
    struct made m;
    struct pk_pair_series t = {.screen = make(&m, 10, 1.03, 0.004), .min_change = 25000};
    struct pk_decision d = pairs_of(t);
    assert_says(&d, PK_SLOWER, PK_REASON_PROVED); /* 30,000 of 1,000,000 */
    t.min_change = 50000;
    d = pairs_of(t);
    assert_says(&d, PK_SAME, PK_REASON_PROVED);
}

static void strict_wants_the_whole_interval_beyond(void **state)
{
    struct pk_rule rule = pk_rule_default;
    rule.strict = true;
    struct made m, fresh;
    struct pk_decision d;
    struct pk_pair_series t = {.screen = make(&m, 14, 1.025, 0.015)};
    pk_decide_pairs(&t, 1, &rule, &d);
    assert_says(&d, PK_UNDECIDED, PK_REASON_NOISE);
    assert_true(pairs_of(t).verdict == PK_SLOWER);
    t.screen = make(&m, 14, 1.05, 0.015);
    pk_decide_pairs(&t, 1, &rule, &d);
    assert_says(&d, PK_SLOWER, PK_REASON_PROVED);
    t.screen = make(&m, 6, 1.025, 0.015);
    t.confirm = make(&fresh, 14, 1.025, 0.015);
    pk_decide_gate(&t, 1, &rule, &d);
    assert_says(&d, PK_UNDECIDED, PK_REASON_UNCONFIRMED);
    assert_true(gate_of(t).verdict == PK_SLOWER);
}

static void figures_that_are_not_positive(void **state)
{
    double base[8] = {0, 1, -1, 0, 2, 0, 1, -1}, new_[8];
    for (int i = 0; i < 8; i++)
        new_[i] = base[i] + 10 + 0.1 * (i % 2);
    struct pk_pair_series t = {.screen = {base, new_, 8}};
    struct pk_decision d = pairs_of(t);
    assert_says(&d, PK_UNDECIDED, PK_REASON_NEEDS_ABSOLUTE);
    assert_true(d.absolute && d.needed == 0);
    assert_near(d.ratio, 10.05, 1e-12);
    t.min_change = 5;
    d = pairs_of(t);
    assert_says(&d, PK_SLOWER, PK_REASON_PROVED);
    assert_true(d.ci.lo > 9.9 && d.ci.hi < 10.2);
    t.min_change = 20;
    assert_true(pairs_of(t).verdict == PK_SAME);
    assert_true(gate_of((struct pk_pair_series){.screen = {base, new_, 6}}).reason ==
                PK_REASON_NEEDS_ABSOLUTE);
}

static void refusals(void **state)
{
    struct made m;
    struct pk_decision d = pairs_of((struct pk_pair_series){.screen = make(&m, 1, 1.5, 0)});
    assert_says(&d, PK_UNREPLICATED, PK_REASON_FEW_PAIRS);
    assert_near(d.ratio, 1.5, 1e-12);
    assert_true(isnan(d.ci.lo) && isnan(d.mde));
    d = pairs_of((struct pk_pair_series){0});
    assert_says(&d, PK_UNREPLICATED, PK_REASON_FEW_PAIRS);
    d = pairs_of((struct pk_pair_series){.screen = make(&m, 10, 1.5, 0.001), .unstable = true});
    assert_says(&d, PK_UNSTABLE, PK_REASON_ENVIRONMENT);
    make(&m, 10, 1, 0.001);
    m.new_[0] *= 2;
    m.base[3] *= 2;
    d = pairs_of((struct pk_pair_series){.screen = {m.base, m.new_, 10}});
    assert_says(&d, PK_SAME, PK_REASON_PROVED);
    assert_true(d.disturbed == 2 && d.slow_base == 1 && d.slow_new == 1);
    assert_near(d.slow_size, 2, 0.01);
    for (int i = 0; i < 9; i++) /* of ten pairs two are left */
        (i % 2 ? m.base : m.new_)[i] = 2e6;
    d = pairs_of((struct pk_pair_series){.screen = {m.base, m.new_, 10}});
    assert_says(&d, PK_UNSTABLE, PK_REASON_DISTURBED);
}

/* --- pairs --- */

static struct pk_modes modes_of(const struct made *m, size_t n, double least, signed char *class)
{
    double v[2 * MOST];
    for (size_t i = 0; i < n; i++) {
        v[i] = log(m->base[i]);
        v[n + i] = log(m->new_[i]);
    }
    return pk_find_modes(v, n, n, least, 1, &pk_rule_default, class);
}

static void modes_are_found_blind_to_the_side(void **state)
{
    struct made m, other;
    signed char class[2 * MOST];
    make(&m, 12, 1.005, 0.01);
    assert_int_equal(modes_of(&m, 12, 0.02, class).apart, 0);
    m.base[2] *= 1.5;
    m.new_[7] *= 1.6;
    m.new_[8] *= 1.6;
    struct pk_modes found = modes_of(&m, 12, 0.02, class);
    assert_true(found.apart == 1 && found.slow_base == 1 && found.slow_new == 2 && found.n_base == 12);
    assert_true(class[2] == 1 && class[12 + 7] == 1 && class[0] == 0);
    assert_near(found.slow - found.fast, log(1.6), 0.05);
    memcpy(other.base, m.new_, sizeof m.new_);
    memcpy(other.new_, m.base, sizeof m.base);
    found = modes_of(&other, 12, 0.02, class);
    assert_true(found.slow_base == 2 && found.slow_new == 1);
    make(&m, 12, 1, 0.01);
    m.new_[3] /= 2; /* of one that is fast, all others are slow */
    found = modes_of(&m, 12, 0.02, class);
    assert_true(found.apart == -1 && found.slow_base == 12 && found.slow_new == 11 && class[12 + 3] == -1);
}

static void near_ones_are_not_apart(void **state)
{
    struct made m;
    signed char class[2 * MOST];
    make(&m, 12, 1, 0.0001);
    m.new_[3] *= 1.015; /* a hundred standard deviations, but under the margin */
    assert_int_equal(modes_of(&m, 12, log(1.02), class).apart, 0);
    assert_int_equal(modes_of(&m, 12, log(1.01), class).apart, 1);
    make(&m, 2, 3, 0.0001);
    assert_int_equal(modes_of(&m, 2, 0.02, class).apart, 0); /* too few for a mode */
    double ticks[16] = {5, 5, 5, 5, 5, 5, 5, 6, 5, 5, 5, 5, 5, 5, 5, 5};
    /* most are equal: no measure of what is far */
    assert_int_equal(pk_find_modes(ticks, 8, 8, 0, 1, &pk_rule_default, class).apart, 0);
    assert_int_equal(pk_find_modes(ticks, 8, 8, 0.5, 1, &pk_rule_default, class).slow_base, 1);
    assert_int_equal(pk_find_modes(ticks, 0, 0, 0.5, 1, &pk_rule_default, class).apart, 0);
}

static void sides_that_lie_apart_are_compared_whole(void **state)
{
    struct made m;
    const struct pk_pairs p = {m.base, m.new_, 12};
    for (size_t i = 0; i < 12; i++) { /* one side is constant */
        m.base[i] = 1e6 * (1 + 0.0005 * (double)(i * 5 % 12));
        m.new_[i] = 1.5e6;
    }
    struct pk_decision d = pairs_of((struct pk_pair_series){.screen = p});
    assert_says(&d, PK_SLOWER, PK_REASON_PROVED);
    assert_true(d.disturbed == 0 && d.slow_new == 0); /* the mean says it */
    m.base[3] *= 2;
    d = pairs_of((struct pk_pair_series){.screen = p});
    assert_says(&d, PK_SLOWER, PK_REASON_PROVED);
    d = pairs_of((struct pk_pair_series){.screen = p, .higher_is_better = true});
    assert_true(d.verdict == PK_FASTER || d.verdict == PK_UNDECIDED);
}

/* --- slow processes of one side --- */

/* n pairs of which the first k of new take `size` times as long. */
static struct pk_pairs slow_new(struct made *m, size_t n, size_t k, double size)
{
    struct pk_pairs p = make(m, n, 1, 0.001);
    for (size_t i = 0; i < k; i++)
        m->new_[i] *= size;
    return p;
}

static void slow_in_some(void **state)
{
    struct made m;
    struct pk_decision d = pairs_of((struct pk_pair_series){.screen = slow_new(&m, 30, 6, 2)});
    assert_says(&d, PK_SLOWER_IN_SOME, PK_REASON_PROVED);
    assert_true(d.slow_new == 6 && d.slow_base == 0 && d.pairs == 24 && d.disturbed == 6);
    assert_near(d.p_adjusted, 4 * 30.0 * 29 * 28 * 27 * 26 * 25 / (60.0 * 59 * 58 * 57 * 56 * 55), 1e-9);
    assert_near(d.ratio, 1, 0.001); /* of the others */
    assert_true(d.slow_found > 0.2 && d.slow_found < 0.3);
    d = pairs_of((struct pk_pair_series){.screen = slow_new(&m, 30, 5, 2)});
    assert_says(&d, PK_UNDECIDED, PK_REASON_ONE_SIDED);
    assert_true(d.needed > 5 && d.needed < 40);
    d = pairs_of((struct pk_pair_series){.screen = slow_new(&m, 30, 6, 1.015)}); /* under the margin */
    assert_true(d.verdict == PK_SAME && d.slow_new == 0);
    d = pairs_of((struct pk_pair_series){.screen = slow_new(&m, 30, 6, 2), .min_effect = 1.5});
    assert_says(&d, PK_SAME, PK_REASON_PROVED);
}

static void slow_in_some_is_of_the_new_side(void **state)
{
    struct made m;
    slow_new(&m, 30, 8, 2);
    struct pk_decision d = pairs_of((struct pk_pair_series){.screen = {m.new_, m.base, 30}});
    assert_says(&d, PK_UNDECIDED, PK_REASON_ONE_SIDED); /* nothing became slower, nor is it the same */
    slow_new(&m, 30, 8, 0.5);
    d = pairs_of((struct pk_pair_series){.screen = {m.base, m.new_, 30}, .higher_is_better = true});
    assert_says(&d, PK_SLOWER_IN_SOME, PK_REASON_PROVED);
    d = pairs_of(
        (struct pk_pair_series){.screen = {m.new_, m.base, 30}}); /* the base has a fast mode, new lost it */
    assert_says(&d, PK_SLOWER_IN_SOME, PK_REASON_PROVED);
    assert_true(d.slow_new == 30 && d.slow_base == 22);
}

static void slow_ones_on_both_sides(void **state)
{
    struct made m;
    const struct pk_pairs p = slow_new(&m, 20, 3, 2);
    for (int i = 10; i < 13; i++)
        m.base[i] *= 2;
    struct pk_decision d = pairs_of((struct pk_pair_series){.screen = p});
    assert_says(&d, PK_SAME, PK_REASON_PROVED);
    m.new_[15] *= 2;
    d = pairs_of((struct pk_pair_series){.screen = p});
    assert_says(&d, PK_UNDECIDED, PK_REASON_MODES);
    assert_true(d.slow_base == 3 && d.slow_new == 4);
}

static void a_gate_goes_on_with_slow_ones(void **state)
{
    struct made m, fresh;
    struct pk_pair_series t = {.screen = slow_new(&m, 6, 1, 2)};
    struct pk_decision d = gate_of(t);
    assert_says(&d, PK_UNDECIDED, PK_REASON_MORE_PAIRS);
    assert_true(d.stage == PK_GATE_STAGE_CONFIRM && d.wanted == 14 && d.modes_suspected && !d.suspected);
    t.confirm = make(&fresh, 14, 1, 0.001);
    d = gate_of(t);
    assert_says(&d, PK_UNDECIDED, PK_REASON_ONE_SIDED); /* never the same */
    assert_true(d.pairs == 19 && d.disturbed == 1 && d.slow_new == 1 && d.wanted == 0);
    t.confirm = slow_new(&fresh, 18, 6, 2);
    d = gate_of(t);
    assert_says(&d, PK_SLOWER_IN_SOME, PK_REASON_PROVED);
    assert_true(d.slow_new == 7 && d.slow_found > 0.25 && d.slow_found < 0.45);
}

static void looks_at_slow_ones_are_allowed_for(void **state)
{
    struct pk_rule rule = pk_rule_default;
    struct made m;
    struct pk_decision d;
    rule.until_clear = true;
    for (size_t k = 8; k <= 9; k++) { /* 1 in 2^k, times what the mixture costs */
        struct pk_pair_series t = {.screen = slow_new(&m, 29, k, 2)};
        pk_decide_pairs(&t, 1, &rule, &d);
        assert_int_equal(d.verdict, k < 9 ? PK_UNDECIDED : PK_SLOWER_IN_SOME);
        assert_int_equal(d.wanted, k < 9);
    }
}

static void pairs_make_the_stages(void **state)
{
    struct pk_rule rule = pk_rule_default;
    pk_rule_of_pairs(&rule, 60);
    assert_true(rule.screen_pairs == 18 && rule.confirm_pairs == 42 && rule.max_pairs == 60);
    pk_rule_of_pairs(&rule, 20);
    assert_true(rule.screen_pairs == 6 && rule.confirm_pairs == 14);
    pk_rule_of_pairs(&rule, 6);
    assert_true(rule.screen_pairs == 6 && rule.confirm_pairs == 0);
}

static void pairs_are_ordered_in_blocks(void **state)
{
    bool first[2001], again[2001];
    size_t blocks = 0;
    pk_pair_order(9, 2001, first);
    pk_pair_order(9, 2001, again);
    assert_memory_equal(first, again, sizeof first);
    for (size_t i = 0; i < 2000; i += 2) {
        assert_true(first[i] != first[i + 1]);
        blocks += first[i];
    }
    assert_true(blocks > 430 && blocks < 570);
}

static void turns_favour_no_place(void **state)
{
    enum { N = 3, ROUNDS = 6000 };
    struct pk_rng r = {11};
    size_t order[N], before[N], at[N][N] = {{0}}, kept = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        memcpy(before, order, sizeof order);
        pk_turn_order(&r, round, order, N);
        for (size_t i = 0; i < N; i++) {
            at[i][order[i]]++;
            if (round % 2)
                assert_int_equal(order[i], before[N - 1 - i]);
            else if (round % 4)
                assert_int_equal(order[i], before[i]);
        }
        kept += round % 4 == 0 && memcmp(order, before, sizeof order) == 0;
    }
    for (size_t i = 0; i < N; i++)
        for (size_t k = 0; k < N; k++)
            assert_true(at[i][k] > ROUNDS / N - 300 && at[i][k] < ROUNDS / N + 300);
    assert_true(kept > 150 && kept < 350); /* one block in six begins as the last one ended */
}

/* --- the gate's stages --- */

static void a_gate_asks_for_what_it_needs(void **state)
{
    struct made m, fresh;
    struct pk_pair_series t = {0};
    struct pk_decision d = gate_of(t);
    assert_says(&d, PK_UNDECIDED, PK_REASON_MORE_PAIRS);
    assert_true(d.stage == PK_GATE_STAGE_SCREEN && d.wanted == 6);
    t.screen = make(&m, 4, 1, 0.001);
    d = gate_of(t);
    assert_true(d.stage == PK_GATE_STAGE_SCREEN && d.wanted == 2);
    t.screen = make(&m, 6, 1, 0.001);
    d = gate_of(t);
    assert_says(&d, PK_SAME, PK_REASON_PROVED);
    assert_true(d.stage == PK_GATE_STAGE_DONE && d.wanted == 0 && d.suspected == 0 && isnan(d.p));
    t.screen = make(&m, 6, 1.05, 0.01);
    d = gate_of(t);
    assert_says(&d, PK_UNDECIDED, PK_REASON_MORE_PAIRS);
    assert_true(d.stage == PK_GATE_STAGE_CONFIRM && d.wanted == 14 && d.suspected == 1);
    t.confirm = make(&fresh, 14, 1.05, 0.01);
    d = gate_of(t);
    assert_says(&d, PK_SLOWER, PK_REASON_PROVED);
    assert_true(d.pairs == 20 && d.wanted == 0 && d.p < 1e-6);
    assert_near(d.mde, expm1(log(1.02) + 1.7291328115 * d.sd / sqrt(20)), 1e-8); /* t of .95, 19 df */
    t.confirm = make(&fresh, 14, 1, 0.01);
    d = gate_of(t);
    assert_says(&d, PK_SAME, PK_REASON_PROVED); /* by fresh pairs */
    t.confirm = make(&fresh, 14, 1, 0.1);
    d = gate_of(t);
    assert_says(&d, PK_UNDECIDED, PK_REASON_UNCONFIRMED);
    assert_true(d.needed > 20);
}

static void a_gate_suspects_both_ways(void **state)
{
    struct made m, fresh;
    struct pk_rule rule = pk_rule_default;
    struct pk_decision d;
    struct pk_pair_series t = {.screen = make(&m, 6, 0.95, 0.01), .confirm = make(&fresh, 14, 0.95, 0.01)};
    d = gate_of(t);
    assert_true(d.suspected == -1 && d.verdict == PK_FASTER);
    rule.confirm_faster = false;
    t.confirm.n = 0;
    pk_decide_gate(&t, 1, &rule, &d);
    assert_says(&d, PK_UNDECIDED, PK_REASON_NOISE);
    assert_true(d.wanted == 0);
    t.confirm.n = 14;
    t.higher_is_better = true;
    pk_decide_gate(&t, 1, &rule, &d);
    assert_true(d.suspected == 1 && d.verdict == PK_SLOWER);
}

static void pairs_with_slow_ones_are_run_again(void **state)
{
    struct made m;
    struct pk_pair_series t = {.screen = slow_new(&m, 6, 2, 1.4)};
    struct pk_decision d = gate_of(t);
    assert_true(d.stage == PK_GATE_STAGE_SCREEN && d.wanted == 2 && d.disturbed == 2);
    t.screen = slow_new(&m, 8, 3, 1.4);
    d = gate_of(t); /* no more than a quarter is run again */
    assert_true(d.stage == PK_GATE_STAGE_CONFIRM && d.wanted == 14);
}

static void cases_not_confirmed_yet_count(void **state)
{
    struct made m, fresh;
    struct pk_pair_series t[3];
    struct pk_decision d[3];
    for (int i = 0; i < 3; i++)
        t[i] = (struct pk_pair_series){.screen = make(&m, 6, 1.03, 0.01)};
    t[0].confirm = make(&fresh, 14, 1.03, 0.03);
    pk_decide_gate(t, 3, &pk_rule_default, d);
    assert_near(d[0].p_adjusted, 3 * 3 * d[0].p,
                1e-12); /* a third of the risk: others are for slow processes */
    assert_true(isnan(d[1].p) && d[1].p_adjusted == 1 && d[1].wanted == 14);
}

/* --- until clear --- */

static void looking_often_is_allowed_for(void **state)
{
    enum { TRIALS = 400, CASES = 3 };
    struct pk_rule rule = pk_rule_default;
    rule.until_clear = true;
    struct pk_rng r = {11};
    int wrong = 0, same = 0, found = 0, pairs = 0;
    for (int k = 0; k < TRIALS; k++) {
        struct made m[CASES];
        struct pk_pair_series t[CASES];
        struct pk_decision d[CASES];
        for (int i = 0; i < CASES; i++)
            t[i] = (struct pk_pair_series){.screen = {m[i].base, m[i].new_, 0}};
        for (bool more = true; more;) {
            more = false;
            pk_decide_pairs(t, CASES, &rule, d);
            for (int i = 0; i < CASES; i++) {
                more |= d[i].wanted > 0;
                for (size_t w = 0; w < d[i].wanted; w++, t[i].screen.n++) {
                    m[i].base[t[i].screen.n] = 1e6 * exp(0.01 * pk_rng_normal(&r));
                    m[i].new_[t[i].screen.n] = 1e6 * exp(0.01 * pk_rng_normal(&r) + (i == 2 ? log(1.05) : 0));
                }
            }
        }
        wrong += d[0].verdict == PK_SLOWER || d[0].verdict == PK_FASTER || d[1].verdict == PK_SLOWER ||
                 d[1].verdict == PK_FASTER;
        same += d[0].verdict == PK_SAME;
        found += d[2].verdict == PK_SLOWER;
        pairs += (int)t[2].screen.n;
        assert_true(isnan(d[0].p) && t[0].screen.n <= rule.max_pairs);
    }
    print_message("until clear: wrong %.1f %%, same %.1f %%, +5 %% found %.1f %% after %.1f pairs\n",
                  100.0 * wrong / TRIALS, 100.0 * same / TRIALS, 100.0 * found / TRIALS,
                  (double)pairs / TRIALS);
    assert_true(wrong <= 0.01 * TRIALS && same >= 0.9 * TRIALS && found >= 0.97 * TRIALS &&
                pairs < 15 * TRIALS);
}

static void cases_share_the_risk_until_clear(void **state)
{
    struct pk_rule rule = pk_rule_default;
    rule.until_clear = true;
    struct pk_pair_series t[20];
    struct pk_decision d[20];
    struct made m;
    for (int i = 0; i < 20; i++)
        t[i] = (struct pk_pair_series){.screen = make(&m, 6, 1.04, 0.015)};
    pk_decide_pairs(t, 1, &rule, d);
    assert_says(&d[0], PK_SLOWER, PK_REASON_PROVED);
    pk_decide_pairs(t, 20, &rule, d);
    assert_says(&d[0], PK_UNDECIDED, PK_REASON_NOISE);
    assert_int_equal(d[0].wanted, 1);
}

/* --- stored baselines --- */

static struct pk_decision stored(const double *base, size_t nb, const double *new_, size_t nn)
{
    const struct pk_baseline_series s = {.base = base, .n_base = nb, .new_ = new_, .n_new = nn};
    struct pk_decision d;
    pk_decide_stored(&s, 1, &pk_rule_default, &d);
    return d;
}

static void a_baseline_is_five_runs(void **state)
{
    double new_[] = {10.7, 10.71, 10.69, 10.68, 10.72};
    struct pk_decision d = stored(A8, 4, new_, 1);
    assert_says(&d, PK_UNREPLICATED, PK_REASON_FEW_RUNS);
    d = stored(A8, 0, new_, 1);
    assert_says(&d, PK_UNREPLICATED, PK_REASON_FEW_RUNS);
    d = stored(A8, 8, new_, 1);
    assert_says(&d, PK_SLOWER, PK_REASON_PROVED);
    /* the interval of one more value: t of .975 with 7 df, sd sqrt(1 + 1/8) */
    double mean = 0, squares = 0;
    for (int i = 0; i < 8; i++)
        mean += log(A8[i]) / 8;
    for (int i = 0; i < 8; i++)
        squares += (log(A8[i]) - mean) * (log(A8[i]) - mean);
    double half = 2.364624251592785 * sqrt(squares / 7 * 1.125);
    assert_near(log(d.ci.hi), log(10.7) - mean + half, 1e-12);
    assert_near(log(d.ci.lo), log(10.7) - mean - half, 1e-11);
    d = stored(A8, 8, new_, 5); /* Welch */
    assert_true(d.verdict == PK_SLOWER && d.ci.hi - d.ci.lo < 2 * half);
    d = stored(A8, 8, B8, 1);
    assert_says(&d, PK_UNDECIDED, PK_REASON_NOISE);
    assert_true(d.needed >= 1 && d.mde > 0.03);
}

/* Sessions differ, and every process of a session shares that: the interval of stored baselines knows. */
static void stored_baselines_rarely_cry_wolf(void **state)
{
    enum { TRIALS = 6000 };
    struct pk_rng r = {12};
    for (size_t runs = 5; runs <= 20; runs += 15) {
        for (size_t fresh = 1; fresh <= 6; fresh += 5) {
            int outside = 0, red = 0;
            for (int k = 0; k < TRIALS; k++) {
                double base[20], new_[6];
                for (size_t i = 0; i < runs; i++)
                    base[i] = 1e6 * exp(0.01 * pk_rng_normal(&r));
                for (size_t i = 0; i < fresh; i++)
                    new_[i] = 1e6 * exp(0.01 * pk_rng_normal(&r));
                struct pk_decision d = stored(base, runs, new_, fresh);
                outside += !(d.ci.lo <= 1 && 1 <= d.ci.hi);
                red += d.verdict == PK_SLOWER;
            }
            print_message("stored: %zu runs against %zu: outside %.1f %%, red %.1f %%\n", runs, fresh,
                          100.0 * outside / TRIALS, 100.0 * red / TRIALS);
            assert_true(outside > 0.03 * TRIALS && outside < 0.06 * TRIALS && red < 0.03 * TRIALS);
        }
    }
}

enum { RUNS = 5, PROCESSES = 6 };

/* Five runs of six processes and one run more, of which some processes take `size` times as long: a share of each side. The sessions of
 * runs differ by 1 %, processes by .3 %. */
static struct pk_decision stored_processes(struct pk_rng *r, double base_share, double new_share, double size)
{
    double figure[RUNS + 1][PROCESSES], mean[RUNS + 1] = {0};
    struct pk_run_processes of[RUNS + 1];
    for (int i = 0; i <= RUNS; i++) {
        const double session = 0.01 * pk_rng_normal(r);
        for (int k = 0; k < PROCESSES; k++) {
            const bool slow = pk_rng_uniform(r) < (i < RUNS ? base_share : new_share);
            figure[i][k] = 1e6 * exp(session + 0.003 * pk_rng_normal(r)) * (slow ? size : 1);
            mean[i] += log(figure[i][k]) / PROCESSES;
        }
        mean[i] = exp(mean[i]);
        of[i] = (struct pk_run_processes){figure[i], PROCESSES};
    }
    const struct pk_baseline_series s = {.base = mean,
                                         .n_base = RUNS,
                                         .new_ = mean + RUNS,
                                         .n_new = 1,
                                         .base_of = of,
                                         .new_of = of + RUNS,
                                         .min_effect = 0.1};
    struct pk_decision d;
    pk_decide_stored(&s, 1, &pk_rule_default, &d);
    return d;
}

/* Verdicts of so many comparisons, by enum pk_verdict. */
static void stored_verdicts(double base_share, double new_share, double size, int trials, int *verdicts)
{
    struct pk_rng r = {21};
    memset(verdicts, 0, (PK_UNSTABLE + 1) * sizeof *verdicts);
    for (int k = 0; k < trials; k++) {
        const struct pk_decision d = stored_processes(&r, base_share, new_share, size);
        verdicts[d.verdict]++;
        if (d.slow_new * d.of_base > d.slow_base * d.of_new)
            assert_true(d.verdict != PK_SAME && d.verdict != PK_FASTER);
        assert_int_equal(d.needed && d.slow_size > 0, 0);
    }
    print_message(
        "stored: slow %.0f / %.0f %% x %.2f: slower %.1f, in some %.1f, same %.1f, undecided %.1f %%\n",
        100 * base_share, 100 * new_share, size, 100.0 * verdicts[PK_SLOWER] / trials,
        100.0 * verdicts[PK_SLOWER_IN_SOME] / trials, 100.0 * verdicts[PK_SAME] / trials,
        100.0 * verdicts[PK_UNDECIDED] / trials);
}

/* The mean of a run of which a process is slow is a matter of chance: with slow processes of 3 % on both sides, a base that met none seems
 * to be certain of its level. */
static void rare_slow_processes_of_stored_runs_are_not_red(void **state)
{
    enum { TRIALS = 2000 };
    static const double shares[] = {0.03, 0.1, 0.3};
    int v[PK_UNSTABLE + 1];
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++) {
        stored_verdicts(shares[i], shares[i], 2, TRIALS, v);
        assert_true(v[PK_SLOWER] + v[PK_SLOWER_IN_SOME] <= 0.025 * TRIALS);
    }
    stored_verdicts(0, 0, 2, TRIALS, v);
    assert_true(v[PK_SAME] >= 0.95 * TRIALS);
}

static void slow_processes_of_a_stored_run_are_never_the_same(void **state)
{
    enum { TRIALS = 1000 };
    int v[PK_UNSTABLE + 1];
    stored_verdicts(0, 0.2, 1.3, TRIALS, v); /* the mean stays within the margin */
    assert_true(v[PK_SAME] < 0.3 * TRIALS);  /* those without a slow process: .8^6 */
    stored_verdicts(0, 0.5, 2, TRIALS, v);
    assert_true(v[PK_SLOWER_IN_SOME] + v[PK_SLOWER] > 0.85 * TRIALS && v[PK_SLOWER_IN_SOME] > 0.5 * TRIALS);
    stored_verdicts(0, 1, 1.3, TRIALS, v);
    assert_true(v[PK_SLOWER] == TRIALS);
}

/* --- exact figures --- */

static void exact_figures(void **state)
{
    double hundred[] = {100, 100}, more[] = {101, 101}, mixed[] = {99, 101}, zero[] = {0, 0};
    struct pk_baseline_series s = {.base = hundred, .n_base = 2, .new_ = more, .n_new = 2};
    struct pk_decision d = pk_decide_exact(&s, 0);
    assert_says(&d, PK_SLOWER, PK_REASON_PROVED);
    assert_near(d.ratio, 1.01, 1e-15);
    assert_true(pk_decide_exact(&s, 0.01).verdict == PK_SAME);
    s.min_change = 1;
    assert_true(pk_decide_exact(&s, 0).verdict == PK_SAME);
    s.min_change = 0;
    s.higher_is_better = true;
    assert_true(pk_decide_exact(&s, 0).verdict == PK_FASTER);
    s.new_ = hundred;
    assert_true(pk_decide_exact(&s, 0).verdict == PK_SAME);
    s.new_ = mixed;
    d = pk_decide_exact(&s, 0);
    assert_says(&d, PK_UNDECIDED, PK_REASON_INEXACT);
    assert_true(pk_decide_exact(&s, 0.02).verdict == PK_SAME);
    s.base = mixed;
    s.new_ = hundred; /* above one of the repeats, below the other */
    d = pk_decide_exact(&s, 0);
    assert_says(&d, PK_UNDECIDED, PK_REASON_INEXACT);
    s.new_ = mixed;
    s.base = zero;
    d = pk_decide_exact(&s, 0);
    assert_true(d.absolute && d.verdict == PK_FASTER && d.ratio == 100);
    s.new_ = zero;
    assert_true(pk_decide_exact(&s, 0).verdict == PK_SAME);
}

/* --- noise --- */

static bool measured(const struct pk_pairs *p, struct pk_pair_noise *noise)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    return pk_measure_noise(p, &pk_rule_default, pk_simulate_gates(&pk_rule_default, &a), noise);
}

static void noise_says_what_a_gate_could_see(void **state)
{
    struct made m;
    struct pk_pair_noise noise;
    const struct pk_pairs p = make(&m, 20, 1, 0.01);
    assert_true(measured(&p, &noise));
    assert_int_equal(noise.pairs, 20);
    assert_int_equal(noise.disturbed, 0);
    assert_true(noise.sd > 0.0095 && noise.sd < 0.0105); /* the scatter of the ratios */
    assert_true(noise.between > 0.008 && noise.between < 0.0145);
    assert_true(fabs(noise.ratio - 1) < 0.001 && noise.p > 0.5);
    assert_true(noise.floor < noise.min_effect && noise.min_effect < noise.mde);
    /* at least what each condition of its own takes: the screening (t of 5 df at .9 and .8), the margin (of 19 df at .95) */
    assert_true(noise.floor > expm1((1.4758840488 + 0.9195437802) * noise.sd / sqrt(6)));
    assert_true(noise.mde > 0.99 * expm1(log1p(noise.min_effect) + 1.7291328115 * noise.sd / sqrt(20)));
}

static void little_noise_is_no_advice_for_less_than_a_percent(void **state)
{
    struct made m;
    struct pk_pair_noise noise;
    struct pk_pairs p = make(&m, 20, 1, 0.0001);
    assert_true(measured(&p, &noise));
    assert_true(noise.floor < 0.0002);
    assert_near(noise.min_effect, 0.01, 1e-12);
    p = make(&m, 20, 1, 0);
    assert_true(measured(&p, &noise));
    assert_true(noise.floor == 0 && noise.sd == 0);
    assert_near(noise.mde, 0.01, 1e-9);
}

static void disturbed_pairs_are_no_noise_unless_they_are_many(void **state)
{
    struct made m;
    struct pk_pair_noise quiet, few, many;
    struct pk_pairs p = make(&m, 20, 1, 0.01);
    assert_true(measured(&p, &quiet));
    m.new_[3] *= 1.5;
    m.base[8] *= 1.5;
    assert_true(measured(&p, &few));
    assert_int_equal(few.disturbed, 2);
    assert_near(few.sd, quiet.sd, 0.1);
    assert_true(few.between > 3 * quiet.between);
    for (size_t i = 0; i < 18; i++)
        (i % 2 ? m.base : m.new_)[i] = 1.5e6;
    assert_true(measured(&p, &many));
    assert_int_equal(many.disturbed, 0);
    assert_true(many.sd > 10 * quiet.sd);
}

static void noise_that_cannot_be_known(void **state)
{
    struct made m;
    struct pk_pair_noise noise;
    struct pk_pairs p = make(&m, 3, 1, 0.01);
    assert_false(measured(&p, &noise));
    p = make(&m, 20, 1, 0.01);
    m.base[7] = 0;
    assert_false(measured(&p, &noise));
}

static struct pk_pairs drawn(struct made *m, size_t n, double cv, struct pk_rng *r)
{
    for (size_t i = 0; i < n; i++) {
        m->base[i] = 1e6 * exp(cv * pk_rng_normal(r));
        m->new_[i] = 1e6 * exp(cv * pk_rng_normal(r));
    }
    return (struct pk_pairs){m->base, m->new_, n};
}

/* The share of gates of one case that find this worsening, in normal noise. */
static double found_by_gates(double sd, double worsening, double margin, struct pk_rng *r)
{
    enum { GATES = 2000 };
    struct pk_rule rule = pk_rule_default;
    int found = 0;
    rule.min_effect = margin;
    for (int i = 0; i < GATES; i++) {
        struct made screen, fresh;
        struct pk_pair_series t = {.screen = drawn(&screen, 6, sd / sqrt(2), r),
                                   .confirm = drawn(&fresh, 14, sd / sqrt(2), r)};
        struct pk_decision d;
        for (int k = 0; k < MOST; k++) {
            screen.new_[k] *= 1 + worsening;
            fresh.new_[k] *= 1 + worsening;
        }
        pk_decide_gate(&t, 1, &rule, &d);
        found += d.verdict == PK_SLOWER;
    }
    return (double)found / GATES;
}

/* "8 times in 10" and "19 times in 20" are that. */
static void noise_is_what_gates_find(void **state)
{
    struct made m = {0};
    struct pk_rng r = {21};
    static const double scatters[] = {0.002, 0.02};
    for (size_t i = 0; i < sizeof scatters / sizeof *scatters; i++) {
        struct pk_pair_noise noise;
        const struct pk_pairs p = make(&m, 20, 1, scatters[i]);
        assert_true(measured(&p, &noise));
        const double floor = found_by_gates(noise.sd, noise.floor, 1e-9, &r),
                     mde = found_by_gates(noise.sd, noise.mde, noise.min_effect, &r);
        print_message("pairs +- %.2g %%: of the floor %.1f %% are found, of the MDE %.1f %%\n",
                      100 * noise.sd, 100 * floor, 100 * mde);
        assert_true(fabs(floor - 0.8) < 0.025 && fabs(mde - 0.95) < 0.015);
    }
}

static void names_are_read_back(void **state)
{
    enum pk_verdict v = PK_SAME;
    enum pk_reason r = PK_REASON_NOISE;
    for (int i = PK_FASTER; i <= PK_UNSTABLE; i++) {
        assert_true(pk_verdict_parse(pk_verdict_name((enum pk_verdict)i), &v));
        assert_int_equal(v, i);
    }
    for (int i = PK_REASON_PROVED; i <= PK_REASON_INEXACT; i++) {
        assert_true(pk_reason_parse(pk_reason_name((enum pk_reason)i), &r));
        assert_int_equal(r, i);
    }
    assert_false(pk_verdict_parse("slow", &v) || pk_reason_parse("", &r));
    assert_true(v == PK_UNSTABLE && r == PK_REASON_INEXACT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_are_read_back),
        cmocka_unit_test(numbers_are_those_of_the_vectors),
        cmocka_unit_test(cases_share_the_risk),
        cmocka_unit_test(small_and_noisy_differences),
        cmocka_unit_test(exactly_the_margin_counts),
        cmocka_unit_test(absolute_floors),
        cmocka_unit_test(strict_wants_the_whole_interval_beyond),
        cmocka_unit_test(figures_that_are_not_positive),
        cmocka_unit_test(refusals),
        cmocka_unit_test(modes_are_found_blind_to_the_side),
        cmocka_unit_test(near_ones_are_not_apart),
        cmocka_unit_test(sides_that_lie_apart_are_compared_whole),
        cmocka_unit_test(slow_in_some),
        cmocka_unit_test(slow_in_some_is_of_the_new_side),
        cmocka_unit_test(slow_ones_on_both_sides),
        cmocka_unit_test(a_gate_goes_on_with_slow_ones),
        cmocka_unit_test(looks_at_slow_ones_are_allowed_for),
        cmocka_unit_test(pairs_make_the_stages),
        cmocka_unit_test(pairs_are_ordered_in_blocks),
        cmocka_unit_test(turns_favour_no_place),
        cmocka_unit_test(a_gate_asks_for_what_it_needs),
        cmocka_unit_test(a_gate_suspects_both_ways),
        cmocka_unit_test(pairs_with_slow_ones_are_run_again),
        cmocka_unit_test(cases_not_confirmed_yet_count),
        cmocka_unit_test(looking_often_is_allowed_for),
        cmocka_unit_test(cases_share_the_risk_until_clear),
        cmocka_unit_test(a_baseline_is_five_runs),
        cmocka_unit_test(stored_baselines_rarely_cry_wolf),
        cmocka_unit_test(rare_slow_processes_of_stored_runs_are_not_red),
        cmocka_unit_test(slow_processes_of_a_stored_run_are_never_the_same),
        cmocka_unit_test(exact_figures),
        cmocka_unit_test(noise_says_what_a_gate_could_see),
        cmocka_unit_test(little_noise_is_no_advice_for_less_than_a_percent),
        cmocka_unit_test(disturbed_pairs_are_no_noise_unless_they_are_many),
        cmocka_unit_test(noise_that_cannot_be_known),
        cmocka_unit_test(noise_is_what_gates_find),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
