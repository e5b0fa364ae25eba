/* Simulations with fixed seeds: intervals cover as often as they claim, warm-ups are found, drift and
 * comparisons don't cry wolf. Noise profiles as measured elsewhere: quiet (sd 0.4 %, lag-1 correlation 0.7),
 * noisy (sd 1.5 %, 0.5, 1 % spikes). */
#include "stats/stats.h"

#include "base/rng.h"
#include "stats/verdict/verdict.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

enum { LONGEST = 400 };

struct noise {
    const char *name;
    double sd, correlation, spikes, spike_size;
};
static const struct noise quiet = {"quiet", 0.004, 0.7, 0.002, 0.1}, noisy = {"noisy", 0.015, 0.5, 0.01, 0.3};

/* exp of AR(1) noise around ln(level), with rare exponential spikes. */
static void series(struct pk_rng *r, const struct noise *noise, double level, double *v, size_t n)
{
    double x = pk_rng_normal(r), keep = noise->correlation;
    for (size_t i = 0; i < n; i++) {
        x = i ? keep * x + sqrt(1 - keep * keep) * pk_rng_normal(r) : x;
        double spike = pk_rng_uniform(r) < noise->spikes ? -noise->spike_size * log1p(-pk_rng_uniform(r)) : 0;
        v[i] = level * exp(noise->sd * x + spike);
    }
}

static void assert_share(double count, double of, double least, double most)
{
    double share = count / of;
    if (share < least || share > most)
        fail_msg("share %.4f outside [%.4f, %.4f]", share, least, most);
}

static bool holds(struct pk_interval i, double x)
{
    return i.lo <= x && x <= i.hi;
}

/* --- intervals --- */

static int median_coverage(const struct noise *noise, size_t n, int trials)
{
    struct pk_rng r = {1};
    double v[LONGEST];
    int held = 0;
    for (int t = 0; t < trials; t++) {
        series(&r, noise, 10, v, n);
        held += holds(pk_median_interval(v, n, 0.95), 10);
    }
    return held;
}

static void median_interval_covers(void **state)
{
    static const struct noise independent = {"independent", 0.01, 0, 0, 0};
    enum { TRIALS = 4000 };
    for (size_t n = 15; n <= 120; n *= 2)
        assert_share(median_coverage(&independent, n, TRIALS), TRIALS, 0.94, 0.985);
    static const struct noise correlated[] = {
        {"0.3", 0.01, 0.3, 0, 0}, {"0.5", 0.01, 0.5, 0, 0}, {"0.7", 0.01, 0.7, 0, 0}};
    for (int i = 0; i < 3; i++) {
        assert_share(median_coverage(&correlated[i], 100, TRIALS), TRIALS, 0.92, 0.985);
        assert_share(median_coverage(&correlated[i], 400, TRIALS), TRIALS, 0.935, 0.985);
    }
}

/* What the stretching is for: without it a correlated series is covered far too rarely. */
static void correlation_is_stretched(void **state)
{
    struct pk_rng r = {2};
    double v[100], shuffled[100];
    int held = 0;
    for (int t = 0; t < 2000; t++) {
        series(&r, &quiet, 10, v, 100);
        size_t order[100];
        for (size_t i = 0; i < 100; i++)
            order[i] = i;
        pk_rng_shuffle(&r, order, 100);
        for (size_t i = 0; i < 100; i++)
            shuffled[i] = v[order[i]];
        held += holds(pk_median_interval(shuffled, 100, 0.95), 10);
    }
    assert_share(held, 2000, 0.4, 0.75);
}

/* Figures of processes: `share` of them slower by `slow` (a mode), a tail of mean `tail`, Student's t with five degrees of freedom. */
struct processes {
    const char *name;
    double sd, share, slow, tail;
    bool t5;
};

static double figure(struct pk_rng *r, const struct processes *p)
{
    double x = pk_rng_normal(r);
    if (p->t5) {
        double squares = 0;
        for (int i = 0; i < 5; i++) {
            const double z = pk_rng_normal(r);
            squares += z * z;
        }
        x *= sqrt(3 / squares); /* of variance 1 */
    }
    const bool struck = pk_rng_uniform(r) < p->share;
    const double u = pk_rng_uniform(r);
    return 10 * exp(p->sd * x + (struck ? log1p(p->slow) - p->tail * log1p(-u) : 0));
}

static const struct processes many_processes[] = {
    {"1 %", 0.01, 0, 0, 0, false},
    {"10 %", 0.1, 0, 0, 0, false},
    {"50 %", 0.5, 0, 0, 0, false},
    {"t5", 0.01, 0, 0, 0, true},
    {"two modes", 0.01, 0.3, 0.15, 0, false},
    {"tail", 0.01, 0.3, 0, 0.15, false},
};

/* The share of intervals over n processes that contain the median of all processes; also: the median of their own. */
static double process_coverage(const struct processes *p, size_t n, double median, int trials)
{
    struct pk_rng r = {5};
    int held = 0;
    for (int t = 0; t < trials; t++) {
        double v[100];
        for (size_t i = 0; i < n; i++)
            v[i] = figure(&r, p);
        const struct pk_interval ci = pk_invocations_interval(v, n, 0.95);
        held += holds(ci, median);
        assert_true(holds(ci, pk_median_of(v, n)));
    }
    return held;
}

static double median_of_all(const struct processes *p)
{
    enum { MANY = 200001 };
    static double v[MANY];
    struct pk_rng r = {4};
    for (size_t i = 0; i < MANY; i++)
        v[i] = figure(&r, p);
    return pk_median_of(v, MANY);
}

static void invocations_interval_covers(void **state)
{
    enum { TRIALS = 20000 };
    static const size_t sizes[] = {6, 10, 30, 100};
    for (size_t i = 0; i < sizeof many_processes / sizeof *many_processes; i++) {
        const double median = median_of_all(&many_processes[i]);
        for (int s = 0; s < 4; s++) {
            const double exact = pk_invocations_level(sizes[s], 0.95);
            assert_share(process_coverage(&many_processes[i], sizes[s], median, TRIALS), TRIALS,
                         exact - 0.003, exact + 0.003);
            assert_true(exact >= 0.95 && exact < 0.98);
        }
    }
    for (size_t n = 3; n < 6; n++) /* approximate: right for logarithms that are normal */
        assert_share(process_coverage(&many_processes[0], n, 10, TRIALS), TRIALS, 0.93, 0.96);
}

/* One process in five is far off: the interval keeps to where the others are. */
static void few_invocations_keep_to_the_data(void **state)
{
    double v[] = {1, 1, 1, 1, 1.5}, w[] = {1, 1, 1000};
    const struct pk_interval five = pk_invocations_interval(v, 5, 0.95),
                             three = pk_invocations_interval(w, 3, 0.95);
    assert_true(five.lo >= 1 / 1.5 && five.lo <= 1 && five.hi >= 1 && five.hi <= 1.5 * 1.5);
    assert_true(three.lo >= 1e-3 && three.hi <= 1e6);
}

/* --- warm-up --- */

struct shape {
    const char *name;
    double rise, tau; /* exp(-i / tau) */
    double step;      /* first 30 % of the samples */
};

static double slowed(const struct shape *s, size_t i, size_t n)
{
    return (1 + s->rise * exp(-(double)i / s->tau)) * (i * 10 < 3 * n ? 1 + s->step : 1);
}

struct found {
    double cuts, unsettled, bias, bias_uncut; /* means over the trials; bias of the median of what is kept */
};

static struct found find_warmups(const struct shape *s, const struct noise *noise, size_t n, int trials)
{
    struct pk_rng r = {4};
    struct found f = {0};
    double v[LONGEST], scratch[LONGEST];
    for (int t = 0; t < trials; t++) {
        series(&r, noise, 10, v, n);
        for (size_t i = 0; i < n; i++)
            v[i] *= slowed(s, i, n);
        struct pk_warmup w = pk_find_warmup(v, n, scratch);
        assert_true(w.cut <= n / 2);
        f.cuts += w.cut > 0;
        f.unsettled += !w.settled;
        f.bias += log(pk_summarize(v + w.cut, n - w.cut).median / 10) / trials;
        f.bias_uncut += log(pk_summarize(v, n).median / 10) / trials;
    }
    f.cuts /= trials;
    f.unsettled /= trials;
    return f;
}

static void no_warmup_no_cut(void **state)
{
    static const struct shape flat = {"flat", 0, 1, 0};
    assert_true(find_warmups(&flat, &quiet, 200, 1000).cuts < 0.05);
    assert_true(find_warmups(&flat, &noisy, 200, 1000).cuts < 0.06);
    assert_true(find_warmups(&flat, &noisy, 60, 1000).cuts < 0.1);
    assert_true(find_warmups(&flat, &noisy, 15, 1000).cuts < 0.25);
    assert_true(fabs(find_warmups(&flat, &noisy, 15, 1000).bias) < 0.002);
}

static void warmups_are_cut(void **state)
{
    static const struct shape shapes[] = {
        {"+20 %, tau 20", 0.2, 20, 0}, {"+5 %, tau 40", 0.05, 40, 0}, {"+10 % for a while", 0, 1, 0.1}};
    for (int i = 0; i < 3; i++) {
        struct found f = find_warmups(&shapes[i], &quiet, 200, 500);
        assert_true(f.cuts > 0.99);
        assert_true(f.bias < 0.0025 && f.bias < 0.6 * f.bias_uncut);
        f = find_warmups(&shapes[i], &noisy, 200, 500);
        assert_true(f.cuts > 0.8);
        assert_true(f.bias < 0.006 && f.bias < 0.7 * f.bias_uncut);
    }
}

static void short_series_are_cut_too(void **state)
{
    static const struct shape steep = {"+100 %, tau 2", 1, 2, 0};
    struct found f = find_warmups(&steep, &quiet, 30, 500);
    assert_true(f.cuts > 0.99 && f.bias < 0.001 && f.bias_uncut > 0.002);
}

static void endless_warmup_is_not_settled(void **state)
{
    static const struct shape endless = {"still falling at the end", 1, 400, 0};
    assert_true(find_warmups(&endless, &quiet, 200, 300).unsettled > 0.95);
}

static void exact_series(void **state)
{
    double v[200], scratch[200];
    for (size_t i = 0; i < 200; i++)
        v[i] = 1000;
    struct pk_warmup w = pk_find_warmup(v, 200, scratch);
    assert_int_equal(w.cut, 0);
    assert_true(w.settled);
    for (size_t i = 0; i < 10; i++)
        v[i] = 2000;
    w = pk_find_warmup(v, 200, scratch);
    assert_int_equal(w.cut, 10);
    assert_true(w.settled);
    for (size_t n = 0; n < 10; n++)
        assert_int_equal(pk_find_warmup(v + 10, n, scratch).cut, 0);
}

/* --- drift --- */

static double drift_alarms(const struct noise *noise, double slope, size_t n)
{
    enum { TRIALS = 2000 };
    struct pk_rng r = {5};
    double v[LONGEST], scratch[LONGEST];
    int alarms = 0;
    for (int t = 0; t < TRIALS; t++) {
        series(&r, noise, 10, v, n);
        for (size_t i = 0; i < n; i++)
            v[i] *= 1 + slope * (double)i / (double)n;
        alarms += pk_find_drift(v, n, scratch).p < 0.01;
    }
    return (double)alarms / TRIALS;
}

static void drift_is_rarely_imagined(void **state)
{
    assert_true(drift_alarms(&quiet, 0, 400) < 0.025);
    assert_true(drift_alarms(&noisy, 0, 400) < 0.02);
    assert_true(drift_alarms(&noisy, 0, 100) < 0.02);
}

static void drift_is_found(void **state)
{
    assert_true(drift_alarms(&quiet, 0.02, 400) > 0.95);
    assert_true(drift_alarms(&noisy, -0.05, 400) > 0.95);
    double v[100], scratch[100];
    for (size_t i = 0; i < 100; i++)
        v[i] = 10 + (double)i * 0.01 + (i % 2 ? 0.3 : -0.3);
    struct pk_drift d = pk_find_drift(v, 100, scratch);
    assert_true(fabs(d.ratio - 0.095) < 0.01);
    for (size_t i = 0; i < 100; i++)
        v[i] = 10 + (double)i * 0.01;
    d = pk_find_drift(v, 100, scratch); /* a clean ramp: every sample is like its neighbour */
    assert_true(fabs(d.ratio - 0.095) < 0.01 && d.p < 1e-6);
}

/* --- comparisons --- */

/* Share of comparisons of the same thing with itself whose interval leaves 1 out. */
static double wolf(size_t nb, size_t nn, double sd_base, double sd_new, bool paired)
{
    enum { TRIALS = 8000 };
    struct pk_rng r = {6};
    int cries = 0;
    for (int t = 0; t < TRIALS; t++) {
        double base[20], new_[20];
        for (size_t i = 0; i < nb; i++)
            base[i] = 1e6 * exp(sd_base * pk_rng_normal(&r));
        for (size_t i = 0; i < nn; i++)
            new_[i] = 1e6 * exp(sd_new * pk_rng_normal(&r));
        struct pk_ratio ratio =
            paired ? pk_ratio_paired(base, new_, nb, 0.95) : pk_ratio_welch(base, nb, new_, nn, 0.95);
        cries += !holds(ratio.ci, 1);
        assert_int_equal(ratio.p < 0.05, !holds(ratio.ci, 1));
    }
    return (double)cries / TRIALS;
}

static void equal_things_compare_equal(void **state)
{
    for (size_t n = 2; n <= 20; n += 6) {
        assert_share(wolf(n, n, 0.01, 0.01, true), 1, 0.042, 0.058);
        assert_true(wolf(n, n, 0.01, 0.01, false) < 0.057);
    }
    assert_share(wolf(10, 10, 0.01, 0.01, false), 1, 0.04, 0.057);
    assert_share(wolf(10, 5, 0.01, 0.04, false), 1, 0.03, 0.06);
}

/* Equal sides, with normal noise of 2 %. Valid until the next call. */
static struct pk_pairs drawn(size_t n, struct pk_rng *r)
{
    static double base[20], new_[20];
    for (size_t i = 0; i < n; i++) {
        base[i] = 1e6 * exp(0.02 * pk_rng_normal(r));
        new_[i] = 1e6 * exp(0.02 * pk_rng_normal(r));
    }
    return (struct pk_pairs){base, new_, n};
}

/* Nine in ten of later calibrations find a floor below the advice, whatever the number of pairs it rests on. */
static void advice_holds_later(void **state)
{
    enum { TRIALS = 300 };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_simulated_gates *gates = pk_simulate_gates(&pk_rule_default, &a);
    struct pk_rng rng = {20261121};
    for (size_t pairs = 6; pairs <= 20; pairs += 14) {
        int held = 0;
        for (int i = 0; i < TRIALS; i++) {
            struct pk_pair_noise first, later;
            struct pk_pairs p = drawn(pairs, &rng);
            assert_true(pk_measure_noise(&p, &pk_rule_default, gates, &first));
            p = drawn(20, &rng);
            assert_true(pk_measure_noise(&p, &pk_rule_default, gates, &later));
            held += later.floor <= first.min_effect;
        }
        assert_true(held > 0.88 * TRIALS && held < 0.96 * TRIALS); /* the advice is rounded up */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(median_interval_covers),
        cmocka_unit_test(correlation_is_stretched),
        cmocka_unit_test(invocations_interval_covers),
        cmocka_unit_test(few_invocations_keep_to_the_data),
        cmocka_unit_test(no_warmup_no_cut),
        cmocka_unit_test(warmups_are_cut),
        cmocka_unit_test(short_series_are_cut_too),
        cmocka_unit_test(endless_warmup_is_not_settled),
        cmocka_unit_test(exact_series),
        cmocka_unit_test(drift_is_rarely_imagined),
        cmocka_unit_test(drift_is_found),
        cmocka_unit_test(equal_things_compare_equal),
        cmocka_unit_test(advice_holds_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
