/* Compare: what is paired with what, ratios, means, refusals with their reasons, and that equal things compare equal. */
#include "judge/pair/pair.h"

#include "base/rng.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

static struct pk_arena arena;
static struct pk_err err;
static const struct pk_compare_options times = {.level = 0.95};

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static const int64_t invocations[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};

/* forward_ns of one case of experiment demo; values are the figures of invocations 1, 2, ... */
static struct pk_figures figures(const char *variant, const char *axes, const double *values, size_t n)
{
    return (struct pk_figures){.experiment = "demo",
                               .revision = 1,
                               .variant = variant,
                               .device = "cpu",
                               .axes = axes,
                               .identity = axes,
                               .metric = "forward_ns",
                               .unit = "ns",
                               .direction = "lower",
                               .class = "time",
                               .median = values[0],
                               .n = n,
                               .figure = values,
                               .invocation = invocations};
}

static struct pk_compare_side side(const char *name, const struct pk_figures *v, size_t n)
{
    return (struct pk_compare_side){.name = name, .v = v, .n = n};
}

static const double ten[] = {10, 10.1, 9.9}, twenty[] = {20, 20.2, 19.8}, thirty[] = {30, 30.3, 29.7},
                    lone[] = {5};

static void runs_are_paired_by_identity(void **state)
{
    struct pk_figures b[] = {figures("vanilla", "{\"n\":1}", ten, 3),
                             figures("flash", "{\"n\":1}", twenty, 3),
                             figures("flash", "{\"n\":2}", thirty, 3)};
    struct pk_figures w[] = {figures("flash", "{\"n\":1}", ten, 3),
                             figures("vanilla", "{\"n\":1}", thirty, 3),
                             figures("flash", "{\"n\":4}", ten, 3)};
    w[1].device = "cpu:0";              /* the ordinal is a setting */
    w[1].axes = "{\"born\":0,\"n\":1}"; /* an axis that was born later, at its default */
    w[1].identity = "{\"n\":1}";
    struct pk_compare_side base = side("run 1", b, 3), new_ = side("run 2", w, 3);
    struct pk_comparison c;
    assert_int_equal(pk_compare_runs(&base, &new_, &times, &arena, &c, &err), PK_OK);
    assert_int_equal(c.n, 2);
    assert_ptr_not_equal(c.v[0].base, c.v[1].base);
    assert_string_equal(c.v[0].new_->variant, "flash");
    assert_true(fabs(c.v[0].ratio.ratio - 0.5) < 1e-12 && fabs(c.v[0].speedup - 2) < 1e-12);
    assert_true(fabs(c.v[1].ratio.ratio - 3) < 1e-12 && c.v[1].ratio.ci.lo < 3 && c.v[1].ratio.ci.hi > 3);
    assert_int_equal(c.n_only_base, 0);
    assert_int_equal(c.n_unmatched, 1);
    assert_int_equal(c.unmatched[0].kind, PK_MISSING);
    assert_string_equal(c.unmatched[0].axes, "{\"n\":2}");
    assert_int_equal(c.n_only_new, 1);
    assert_null(c.base_value);
}

static void direction_decides_what_is_better(void **state)
{
    static const char *const directions[] = {"lower", "higher", "none"};
    static const double expected[] = {0.5, 2, NAN};
    for (int i = 0; i < 3; i++) {
        struct pk_figures b = figures("x", "{}", ten, 3), w = figures("x", "{}", twenty, 3);
        b.direction = w.direction = directions[i];
        struct pk_compare_side base = side("run 1", &b, 1), new_ = side("run 2", &w, 1);
        struct pk_comparison c;
        assert_int_equal(pk_compare_runs(&base, &new_, &times, &arena, &c, &err), PK_OK);
        assert_true(isnan(expected[i]) ? isnan(c.v[0].speedup) : fabs(c.v[0].speedup - expected[i]) < 1e-12);
    }
}

static void metrics_are_chosen(void **state)
{
    struct pk_figures v[] = {figures("x", "{}", ten, 3), figures("x", "{}", ten, 3),
                             figures("x", "{}", ten, 3), figures("x", "{}", ten, 3)};
    v[1].metric = "forward_host_ns";
    v[2].metric = "only_host_ns";
    v[3].metric = "peak_bytes";
    v[3].unit = "bytes";
    v[3].class = "memory";
    struct pk_compare_side s = side("run 1", v, 4);
    struct pk_comparison c;
    assert_int_equal(pk_compare_runs(&s, &s, &times, &arena, &c, &err), PK_OK);
    assert_int_equal(c.n, 2);
    assert_string_equal(c.v[1].new_->metric, "only_host_ns");
    struct pk_compare_options o = {.all_metrics = true, .level = 0.95};
    assert_int_equal(pk_compare_runs(&s, &s, &o, &arena, &c, &err), PK_OK);
    assert_int_equal(c.n, 4);
    const char *const names[] = {"peak_bytes"}, *const wrong[] = {"peak_byte"};
    o = (struct pk_compare_options){.metrics = names, .n_metrics = 1, .level = 0.95};
    assert_int_equal(pk_compare_runs(&s, &s, &o, &arena, &c, &err), PK_OK);
    assert_int_equal(c.n, 1);
    o.metrics = wrong;
    assert_int_equal(pk_compare_runs(&s, &s, &o, &arena, &c, &err), PK_E_USAGE);
    assert_non_null(strstr(err.what, "'peak_byte'"));
    assert_non_null(strstr(err.fix, "'peak_bytes'"));
}

static void unreplicated_has_no_interval(void **state)
{
    struct pk_figures b = figures("x", "{}", lone, 1), w = figures("x", "{}", ten, 3);
    struct pk_compare_side base = side("run 1", &b, 1), new_ = side("run 2", &w, 1);
    struct pk_comparison c;
    assert_int_equal(pk_compare_runs(&base, &new_, &times, &arena, &c, &err), PK_OK);
    assert_true(isnan(c.v[0].ratio.ci.lo) && c.v[0].ratio.ratio > 1.9);
}

static void zero_has_no_ratio(void **state)
{
    const double zero[] = {0, 0, 0};
    struct pk_figures b[] = {figures("x", "{\"n\":1}", zero, 3), figures("x", "{\"n\":2}", ten, 3),
                             figures("x", "{\"n\":3}", ten, 3)};
    struct pk_compare_side s = side("run 1", b, 3);
    struct pk_comparison c;
    assert_int_equal(pk_compare_runs(&s, &s, &times, &arena, &c, &err), PK_OK);
    assert_true(isnan(c.v[0].ratio.ratio));
    assert_int_equal(c.n_means, 1);
    assert_int_equal(c.means[0].cases, 2);
}

static void within_a_run_by_variant_and_by_axis(void **state)
{
    struct pk_figures v[] = {
        figures("vanilla", "{\"dtype\":\"fp32\",\"n\":1}", thirty, 3),
        figures("flash", "{\"dtype\":\"fp32\",\"n\":1}", ten, 3),
        figures("fused", "{\"dtype\":\"fp32\",\"n\":1}", twenty, 3),
        figures("vanilla", "{\"dtype\":\"fp32\",\"n\":2}", thirty, 3),
        figures("flash", "{\"dtype\":\"fp32\",\"n\":2}", ten, 3),
        figures("flash", "{\"dtype\":\"bf16\",\"n\":2}", lone, 1),
        figures("flash", "{\"dtype\":\"fp32\",\"n\":3}", ten, 3),
    };
    struct pk_compare_side run = side("run 1", v, 7);
    struct pk_compare_options o = {.by = "variant", .level = 0.95};
    struct pk_comparison c;
    assert_int_equal(pk_compare_by(&run, &o, &arena, &c, &err), PK_OK);
    assert_string_equal(c.base_value, "vanilla");
    assert_int_equal(c.n, 3);
    assert_string_equal(c.v[0].value, "flash");
    assert_string_equal(c.v[0].place, "n=1");
    assert_true(fabs(c.v[0].speedup - 3) < 1e-12);
    assert_string_equal(c.v[1].value, "fused");
    assert_int_equal(c.n_means, 1); /* of flash: two cases; fused has one */
    assert_string_equal(c.means[0].value, "flash");
    assert_int_equal(c.n_only_base, 0);
    assert_int_equal(c.n_only_new, 2);

    o.by = "dtype";
    assert_int_equal(pk_compare_by(&run, &o, &arena, &c, &err), PK_OK);
    assert_string_equal(c.base_value, "fp32");
    assert_int_equal(c.n, 1);
    assert_string_equal(c.v[0].value, "bf16");
    assert_int_equal(c.n_only_base, 5);
}

static void refusals_say_why(void **state)
{
    struct pk_figures b = figures("vanilla", "{\"n\":1}", ten, 3), w = b;
    struct pk_compare_side base = side("run 1", &b, 1), new_ = side("run 2", &w, 1),
                           none = side("run 3", NULL, 0);
    struct pk_comparison c;
    struct {
        const char **field, *value, *word;
    } cases[] = {{&w.experiment, "other", "experiment: demo in run 1, other in run 2"},
                 {&w.device, "cuda:0", "device: cpu in run 1, cuda in run 2"},
                 {&w.variant, "flash", "variant: vanilla in run 1, flash in run 2"},
                 {&w.metric, "backward_ns", "metric: "},
                 {&w.identity, "{\"n\":2}", "same device, variant, axes and metric"},
                 {&w.axes, "{\"n\":2}", "cases: vanilla n=1 in run 1, vanilla n=2 in run 2"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        w = b;
        *cases[i].field = cases[i].value;
        w.identity = cases[i].field == &w.axes ? "{\"n\":2}" : w.identity;
        assert_int_equal(pk_compare_runs(&base, &new_, &times, &arena, &c, &err), PK_E_NOT_COMPARABLE);
        assert_non_null(strstr(err.why, cases[i].word));
        assert_true(err.fix[0]);
    }
    w = b;
    w.revision = 2;
    assert_int_equal(pk_compare_runs(&base, &new_, &times, &arena, &c, &err), PK_E_NOT_COMPARABLE);
    assert_non_null(strstr(err.why, "revision of the experiment: 1 in run 1, 2 in run 2"));
    assert_int_equal(pk_compare_runs(&base, &none, &times, &arena, &c, &err), PK_E_NOT_COMPARABLE);
    assert_non_null(strstr(err.why, "run 3 has no case"));

    struct pk_compare_options o = {.by = "n", .level = 0.95};
    assert_int_equal(pk_compare_by(&base, &o, &arena, &c, &err), PK_E_NOT_COMPARABLE);
    assert_non_null(strstr(err.why, "n=1"));
    o.by = "varian";
    assert_int_equal(pk_compare_by(&base, &o, &arena, &c, &err), PK_E_USAGE);
    assert_non_null(strstr(err.fix, "'variant'"));
}

static void differing_setups_are_named(void **state)
{
    struct pk_run_facts x = {.machine = "{\"cpu\":\"A\",\"cores\":2}",
                             .settings = "{\"threads\":2,\"seed\":1}",
                             .worker_facts = "{}"};
    struct pk_run_facts y = {.machine = "{\"cpu\":\"B\",\"cores\":2}",
                             .settings = "{\"threads\":4,\"seed\":2}",
                             .worker_facts = "{\"blas\":\"SkylakeX\"}"};
    const char *const *d;
    assert_int_equal(pk_compare_setups(&x, &x, &arena, &d), 0);
    assert_int_equal(pk_compare_setups(&x, &y, &arena, &d), 3);
    assert_string_equal(d[0], "cpu A → B");
    assert_string_equal(d[1], "setting threads 2 → 4");
    assert_string_equal(d[2], "worker blas nothing → SkylakeX");
}

/* --- a comparison of a thing with itself ---------------------------------------------------------------------- */

enum { CASES = 8, PROCESSES = 5, TRIALS = 3000 };

/* Every process has an effect of its own on all its cases, as caches and clocks do, and one on each case. */
static void measure(struct pk_rng *r, double values[CASES][PROCESSES])
{
    for (int k = 0; k < PROCESSES; k++) {
        double process = 0.01 * pk_rng_normal(r);
        for (int i = 0; i < CASES; i++)
            values[i][k] = 1e6 * (i + 1) * exp(process + 0.005 * pk_rng_normal(r));
    }
}

static void never_cries_wolf(void **state)
{
    static const char *const axes[CASES] = {"{\"n\":1}", "{\"n\":2}", "{\"n\":3}", "{\"n\":4}",
                                            "{\"n\":5}", "{\"n\":6}", "{\"n\":7}", "{\"n\":8}"};
    struct pk_rng r = {2026};
    int pair_cries = 0, mean_cries = 0;
    for (int t = 0; t < TRIALS; t++) {
        double base[CASES][PROCESSES], new_[CASES][PROCESSES];
        struct pk_figures b[CASES], w[CASES];
        measure(&r, base);
        measure(&r, new_);
        for (int i = 0; i < CASES; i++) {
            b[i] = figures("x", axes[i], base[i], PROCESSES);
            w[i] = figures("x", axes[i], new_[i], PROCESSES);
        }
        struct pk_compare_side x = side("run 1", b, CASES), y = side("run 2", w, CASES);
        struct pk_comparison c;
        assert_int_equal(pk_compare_runs(&x, &y, &times, &arena, &c, &err), PK_OK);
        for (int i = 0; i < CASES; i++)
            pair_cries += c.v[i].ratio.ci.lo > 1 || c.v[i].ratio.ci.hi < 1;
        mean_cries += c.means[0].ratio.ci.lo > 1 || c.means[0].ratio.ci.hi < 1;
        pk_arena_free(&arena);
    }
    double pairs = (double)pair_cries / TRIALS / CASES, means = (double)mean_cries / TRIALS;
    /* from the ends of two intervals: less than the 0.05 of either */
    if (!pair_cries || pairs > 0.02 || means > 0.02)
        fail_msg("pairs %.4f, means %.4f of 0.05", pairs, means);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(runs_are_paired_by_identity, free_arena),
        cmocka_unit_test_teardown(direction_decides_what_is_better, free_arena),
        cmocka_unit_test_teardown(metrics_are_chosen, free_arena),
        cmocka_unit_test_teardown(unreplicated_has_no_interval, free_arena),
        cmocka_unit_test_teardown(zero_has_no_ratio, free_arena),
        cmocka_unit_test_teardown(within_a_run_by_variant_and_by_axis, free_arena),
        cmocka_unit_test_teardown(refusals_say_why, free_arena),
        cmocka_unit_test_teardown(differing_setups_are_named, free_arena),
        cmocka_unit_test_teardown(never_cries_wolf, free_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
