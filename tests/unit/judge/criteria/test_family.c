/* Family: rows of several entries are judged together, each by what its entry says. */
#include "judge/criteria/criteria.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

enum { RUNS = 6 };

static struct pk_arena arena;
static struct pk_err err;
static const int64_t runs[] = {1, 2, 3, 4, 5, 6};
static const double noise[RUNS] = {0.999, 1.001, 1, 1.0005, 0.9995, 1};

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

/* So many runs of one case of the experiment, at about so many ns. */
static const struct pk_figures *figures(const char *experiment, double ns, size_t n)
{
    double *v = pk_new_n(&arena, double, RUNS);
    for (size_t i = 0; i < RUNS; i++)
        v[i] = ns * noise[i];
    struct pk_figures *f = pk_new(&arena, struct pk_figures);
    *f = (struct pk_figures){.experiment = experiment,
                             .revision = 1,
                             .variant = "x",
                             .device = "cpu",
                             .axes = "{}",
                             .identity = "{}",
                             .metric = "work_ns",
                             .unit = "ns",
                             .direction = "lower",
                             .class = "time",
                             .source = "region",
                             .median = ns,
                             .n = n,
                             .figure = v,
                             .invocation = runs};
    return f;
}

/* Five runs against one that takes `factor` as long. */
static struct pk_compare_part part(const char *name, double factor)
{
    const struct pk_compare_side base = {.name = "base", .v = figures("demo", 1000, 5), .n = 1},
                                 new_ = {.name = "new", .v = figures("demo", 1000 * factor, 1), .n = 1};
    const struct pk_compare_options o = {.level = 0.95};
    struct pk_comparison *c = pk_new(&arena, struct pk_comparison);
    assert_int_equal(pk_compare_runs(&base, &new_, &o, &arena, c, &err), PK_OK);
    c->v[0].base_runs = 5;
    c->v[0].new_runs = 1;
    return (struct pk_compare_part){.name = name, .of = c};
}

static struct pk_compare_family family(const struct pk_compare_part *v, size_t n)
{
    return (struct pk_compare_family){.v = v, .n = n, .rule = pk_rule_default, .level = 0.95};
}

static const struct pk_compared *row(const struct pk_comparison *c, const char *entry)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->v[i].entry, entry) == 0)
            return &c->v[i];
    return NULL;
}

/* Nothing is wrong with it. */
static void judge(const struct pk_compare_family *f, struct pk_comparison *out)
{
    struct pk_errs wrong = {.arena = &arena};
    assert_int_equal(pk_compare_judge_family(f, &arena, out, &wrong, &err), PK_OK);
}

static void all_rows_share_the_risk(void **state)
{
    struct pk_compare_part v[] = {part("a", 1.05), part("b", 1.05), part("c", 1)};
    struct pk_compare_family f = family(v, 3);
    struct pk_comparison all, alone;
    judge(&f, &all);
    assert_int_equal(all.n, 3);
    assert_int_equal(row(&all, "a")->decision.verdict, PK_SLOWER);
    assert_int_equal(row(&all, "b")->decision.verdict, PK_SLOWER);
    assert_int_equal(row(&all, "c")->decision.verdict, PK_SAME);
    assert_string_equal(all.v[2].entry, "c"); /* the gravest first */
    f.n = 1;
    judge(&f, &alone);
    assert_true(row(&all, "a")->decision.p_adjusted == 3 * row(&alone, "a")->decision.p_adjusted);
}

static void an_entry_has_its_own_margin(void **state)
{
    struct pk_compare_part v[] = {part("a", 1.05), part("b", 1.05), part("c", 1.05)};
    struct pk_threshold all, own;
    struct pk_comparison c;
    assert_int_equal(pk_threshold_parse("*=3%", &arena, &all, &err), PK_OK);
    assert_int_equal(pk_threshold_parse("work_ns=20%", &arena, &own, &err), PK_OK);
    v[0].criteria = (struct pk_criteria){.own = &own, .n_own = 1};
    v[1].criteria.min_effect = 0.2;
    struct pk_compare_family f = family(v, 3);
    judge(&f, &c);
    assert_int_equal(row(&c, "a")->decision.verdict, PK_SAME);
    assert_int_equal(row(&c, "b")->decision.verdict, PK_SAME);
    assert_int_equal(row(&c, "c")->decision.verdict, PK_SLOWER);
    for (size_t i = 0; i < 3; i++) {
        v[i].criteria.all = &all;
        v[i].criteria.n_all = 1;
    }
    judge(&f, &c);
    assert_int_equal(row(&c, "a")->decision.verdict, PK_SAME);
    assert_int_equal(row(&c, "b")->decision.verdict, PK_SAME); /* its own */
    v[1].criteria.typed = true;
    judge(&f, &c);
    assert_int_equal(row(&c, "b")->decision.verdict, PK_SLOWER);
}

static void rows_of_another_setup_are_shown_and_not_judged(void **state)
{
    struct pk_compare_part v[] = {part("a", 1.5), part("b", 1)};
    v[0].refused = true;
    const struct pk_compare_family f = family(v, 2);
    struct pk_comparison c;
    judge(&f, &c);
    assert_int_equal(c.n, 2);
    assert_false(row(&c, "a")->judged);
    assert_int_equal(row(&c, "b")->decision.verdict, PK_SAME);
    assert_int_equal(pk_compare_count(&c).rows, 1);
}

static void all_thresholds_of_nothing_are_told(void **state)
{
    struct pk_compare_part v[] = {part("a", 1), part("b", 1)};
    struct pk_threshold own[2];
    struct pk_comparison c;
    struct pk_errs wrong = {.arena = &arena};
    assert_int_equal(pk_threshold_parse("play_ns=3%", &arena, &own[0], &err), PK_OK);
    assert_int_equal(pk_threshold_parse("work_ns=3KiB", &arena, &own[1], &err), PK_OK);
    own[0].place = "perf.ini:4: [b]";
    v[0].criteria = (struct pk_criteria){.all = own, .n_all = 1};
    v[1].criteria = (struct pk_criteria){.own = own, .n_own = 2, .all = own, .n_all = 1};
    struct pk_compare_family f = family(v, 2);
    assert_int_equal(pk_compare_judge_family(&f, &arena, &c, &wrong, &err), PK_E_USAGE);
    assert_int_equal(wrong.n, 3);
    assert_int_equal(wrong.v[0].code, PK_E_USAGE);
    assert_non_null(strstr(wrong.v[0].what, "perf.ini:4: [b]: --threshold 'play_ns=3%'"));
    assert_non_null(strstr(wrong.v[1].why, "its unit is not the metric's"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(all_rows_share_the_risk, free_arena),
        cmocka_unit_test_teardown(an_entry_has_its_own_margin, free_arena),
        cmocka_unit_test_teardown(rows_of_another_setup_are_shown_and_not_judged, free_arena),
        cmocka_unit_test_teardown(all_thresholds_of_nothing_are_told, free_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
