/* Components of variance: against a published table, and in simulation; what it suggests gives the interval that was asked for. */
#include "stats/infer.h"

#include "base/rng.h"
#include "stats/stats.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

enum { MOST = 400 };

/* Dyestuff: Davies, Statistical Methods in Research and Production (1947), table 6.3; six batches of five. lme4 and SAS give 1764.05 and
 * 2451.25 as the variances of batches and within them. */
static void a_published_table(void **state)
{
    static const double yield[6][5] = {{1545, 1440, 1440, 1520, 1580}, {1540, 1555, 1490, 1560, 1495},
                                       {1595, 1550, 1605, 1510, 1560}, {1445, 1440, 1595, 1465, 1545},
                                       {1595, 1630, 1515, 1635, 1625}, {1520, 1455, 1450, 1480, 1445}};
    struct pk_process_samples v[6];
    for (int i = 0; i < 6; i++) {
        const struct pk_moments m = pk_moments(yield[i], 5);
        v[i] = (struct pk_process_samples){m.mean, m.variance, 5};
    }
    const struct pk_components c = pk_variance_components(v, 6, 1);
    assert_float_equal(c.between * c.between, 1764.05, 1e-6);
    assert_float_equal(c.within * c.within, 2451.25, 1e-6);
    assert_float_equal(pk_figure_sd(&c, 5), sqrt(1764.05 + 2451.25 / 5), 1e-9);
}

static void one_sample_a_process_shows_only_the_sum(void **state)
{
    const struct pk_process_samples v[] = {{1, 0, 1}, {2, 0, 1}, {3, 0, 1}};
    const struct pk_components c = pk_variance_components(v, 3, pk_factor_of_medians);
    assert_float_equal(c.between, 1, 1e-12);
    assert_true(isnan(c.within));
    const struct pk_sample_sizes s = pk_cheapest_sample_sizes(&c, 1e9, 0, 10, 0.95, 10000);
    assert_int_equal(s.samples, 1);
    assert_int_equal(s.processes, 6);
}

/* The median of the samples of a process, and their variance. */
static struct pk_process_samples process(struct pk_rng *r, double between, double within, size_t n)
{
    double v[MOST], level = between * pk_rng_normal(r);
    for (size_t i = 0; i < n; i++)
        v[i] = level + within * pk_rng_normal(r);
    const double variance = pk_moments(v, n).variance;
    return (struct pk_process_samples){pk_median_of(v, n), variance, n};
}

static void components_are_found(void **state)
{
    static const struct {
        double between, within;
        size_t samples;
    } of[] = {{0.01, 0.02, 15}, {0.005, 0.03, 41}, {0, 0.02, 15}, {0.02, 0.001, 9}};
    for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
        struct pk_rng r = {k + 1};
        double between = 0, within = 0;
        enum { TIMES = 200, PROCESSES = 40 };
        for (int t = 0; t < TIMES; t++) {
            struct pk_process_samples v[PROCESSES];
            for (int i = 0; i < PROCESSES; i++)
                v[i] = process(&r, of[k].between, of[k].within, of[k].samples);
            const struct pk_components c = pk_variance_components(v, PROCESSES, pk_factor_of_medians);
            between += c.between * c.between / TIMES;
            within += c.within * c.within / TIMES;
        }
        assert_float_equal(sqrt(within), of[k].within, 0.03 * of[k].within);
        /* without any, what is estimated below 0 counts as 0 */
        assert_float_equal(sqrt(between), of[k].between,
                           of[k].between > 0 ? 0.06 * of[k].between : 0.1 * of[k].within);
    }
}

/* Kalibera and Jones: sqrt(cost of a process / of a sample * variance within / between) samples of each process. */
static void many_processes_follow_the_formula(void **state)
{
    static const double cost[] = {10, 100, 2500}, share[] = {0.5, 1, 4};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            const struct pk_components c = {0.01, 0.01 * share[k], 1};
            const struct pk_sample_sizes s = pk_cheapest_sample_sizes(&c, cost[i], 1, 0.0005, 0.95, 10000);
            const double ideal = sqrt(cost[i]) * share[k];
            assert_true(s.processes > 500);
            const double variance = 1 + share[k] * share[k] / round(ideal); /* in units of between */
            const double at_ideal = variance * (cost[i] + round(ideal)),
                         here = pk_figure_sd(&c, s.samples) / 0.01;
            assert_true(here * here * (cost[i] + (double)s.samples) <= 1.01 * at_ideal);
            assert_true((double)s.samples > 0.8 * ideal - 1 && (double)s.samples < 1.25 * ideal + 1);
        }
}

/* Measuring as suggested gives an interval of the width that was wanted. */
static void what_is_suggested_suffices(void **state)
{
    static const double between[] = {0.01, 0.003, 0}, within[] = {0.02, 0.03, 0.02};
    for (int k = 0; k < 3; k++) {
        const struct pk_components c = {between[k], within[k], pk_factor_of_medians};
        const struct pk_sample_sizes s = pk_cheapest_sample_sizes(&c, 50, 1, 0.004, 0.95, 300);
        assert_true(s.processes >= 6 && s.processes <= MOST);
        struct pk_rng r = {k + 1};
        double half = 0;
        enum { TIMES = 300 };
        for (int t = 0; t < TIMES; t++) {
            double figures[MOST];
            for (size_t i = 0; i < s.processes; i++)
                figures[i] = process(&r, between[k], within[k], s.samples).figure;
            const struct pk_interval ci = pk_invocations_interval(figures, s.processes, 0.95);
            half += (ci.hi - ci.lo) / 2 / TIMES;
        }
        assert_true(half > 0.92 * 0.004 && half < 1.05 * 0.004);
    }
}

static void nothing_suffices_for_a_hair(void **state)
{
    const struct pk_components c = {0.5, 0.1, 1};
    assert_true(pk_cheapest_sample_sizes(&c, 1, 1, 1e-5, 0.95, 100).processes == SIZE_MAX);
    const struct pk_components none = {0, 0, 1};
    const struct pk_sample_sizes s = pk_cheapest_sample_sizes(&none, 1, 1, 0.01, 0.95, 100);
    assert_true(s.processes == 6 && s.samples == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_published_table),
        cmocka_unit_test(one_sample_a_process_shows_only_the_sum),
        cmocka_unit_test(components_are_found),
        cmocka_unit_test(many_processes_follow_the_formula),
        cmocka_unit_test(what_is_suggested_suffices),
        cmocka_unit_test(nothing_suffices_for_a_hair),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
