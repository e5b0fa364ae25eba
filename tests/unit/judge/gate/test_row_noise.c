/* Row noise: which calibrations hold for a gate, and which thresholds they refuse. */
#include "judge/gate/row_noise.h"

#include "judge/gate/gate.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static struct pk_arena arena;
static struct pk_err err;

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static struct pk_calibration made(int64_t run_id, const char *axes, double floor)
{
    return (struct pk_calibration){
        .run_id = run_id,
        .measured_at = "2026-11-21T12:00:00Z",
        .machine = "{\"cpu\":\"x\"}",
        .settings = "{\"device\":\"cpu\",\"threads\":0,\"seed\":7}",
        .identity = axes,
        .unit = "ns",
        .direction = "lower",
        .revision = 1,
        .of = {.experiment = "demo",
               .variant = "flash",
               .device = "cpu",
               .axes = axes,
               .metric = "work_ns",
               .noise = {.pairs = 20, .floor = floor, .min_effect = 1.5 * floor, .between = floor}}};
}

static void the_newest_of_this_setup_holds(void **state)
{
    struct pk_calibration all[] = {made(9, "{\"n\":1}", 0.09), made(8, "{\"n\":1}", 0.08),
                                   made(7, "{\"n\":1}", 0.07), made(6, "{\"n\":1}", 0.06),
                                   made(5, "{\"n\":2}", 0.05)};
    struct pk_calibration *here;
    all[0].machine = "{\"cpu\":\"y\"}";
    all[1].settings = "{\"device\":\"cpu\",\"threads\":1,\"seed\":7}";
    const size_t n = pk_calibrations_here(all, 5, "{\"cpu\":\"x\"}",
                                          "{\"device\":\"cpu\",\"threads\":0,\"seed\":8}", &arena, &here);
    assert_int_equal(n, 2);
    assert_int_equal(here[0].run_id, 7);
    assert_int_equal(here[1].run_id, 5);
}

static struct pk_row_noise known(double floor)
{
    const struct pk_calibration c = made(3, "{\"n\":1}", floor);
    return (struct pk_row_noise){c, "flash", "{\"n\":1}"};
}

static enum pk_code check(double floor, double min_effect, bool asked, const char *threshold)
{
    struct pk_rule rule = pk_rule_default;
    struct pk_threshold t;
    const struct pk_row_noise k[] = {known(0.001), known(floor)};
    rule.min_effect = min_effect;
    if (threshold)
        assert_int_equal(pk_threshold_parse(threshold, &arena, &t, &err), PK_OK);
    const struct pk_criteria of_all = {.all = &t, .n_all = threshold != NULL};
    return pk_noise_check(k, 2, &of_all, &rule, asked, &err);
}

/* As the gate will judge: what is an entry's own comes first. */
static void an_entrys_own_is_what_is_asked(void **state)
{
    const struct pk_row_noise k = known(0.03);
    struct pk_threshold all, own;
    assert_int_equal(pk_threshold_parse("work_ns=1%", &arena, &all, &err), PK_OK);
    assert_int_equal(pk_threshold_parse("work_ns=5%", &arena, &own, &err), PK_OK);
    struct pk_criteria criteria = {.own = &own, .n_own = 1, .all = &all, .n_all = 1};
    assert_int_equal(pk_noise_check(&k, 1, &criteria, &pk_rule_default, false, &err), PK_OK);
    criteria = (struct pk_criteria){.min_effect = 0.05, .all = &all, .n_all = 1};
    assert_int_equal(pk_noise_check(&k, 1, &criteria, &pk_rule_default, false, &err), PK_OK);
    criteria.typed = true;
    assert_int_equal(pk_noise_check(&k, 1, &criteria, &pk_rule_default, false, &err), PK_E_UNDECIDED);
    criteria = (struct pk_criteria){.own = &all, .n_own = 1, .min_effect = 0.05};
    assert_int_equal(pk_noise_check(&k, 1, &criteria, &pk_rule_default, false, &err), PK_E_UNDECIDED);
}

static void what_noise_hides_is_refused(void **state)
{
    assert_int_equal(check(0.03, 0.02, true, NULL), PK_E_UNDECIDED);
    assert_non_null(strstr(err.what, "2 % in work_ns of variant=flash,n=1 is below its noise floor, 3 %"));
    assert_non_null(strstr(err.why, "run 3 (2026-11-21, 20 pairs)"));
    assert_non_null(strstr(err.fix, "--threshold 'work_ns[variant=flash,n=1]=4.5%'"));
    assert_int_equal(check(0.03, 0.05, true, "work_ns[n=1]=1%"), PK_E_UNDECIDED);
}

static void what_can_be_seen_and_what_nobody_asked_for_is_not(void **state)
{
    assert_int_equal(check(0.03, 0.03, true, NULL), PK_OK);
    assert_int_equal(check(0.03, 0.02, false, NULL), PK_OK);             /* the default */
    assert_int_equal(check(0.03, 0.02, true, "work_ns=4%"), PK_OK);      /* what was given for it counts */
    assert_int_equal(check(0.03, 0.02, true, "*=5us"), PK_OK);           /* its share is not known before */
    assert_int_equal(check(0.03, 0.05, true, "work_ns[n=2]=1%"), PK_OK); /* of other cases */
}

static void rows_that_noise_hides_are_counted(void **state)
{
    const struct pk_row_noise k[] = {known(0.01), known(0.02), known(0.03)};
    assert_int_equal(pk_rows_below_noise(k, 3, 0.02), 1);
    assert_int_equal(pk_rows_below_noise(k, 3, 0.001), 3);
}

static bool same(const char *x, const char *y)
{
    const char *const a[] = {x, "input", NULL}, *const b[] = {y, "input", NULL};
    return pk_same_program(a, b, &arena);
}

static void programs_that_are_the_same(void **state)
{
    const char *const sh[] = {"sh", NULL}, *const sh_x[] = {"sh", "x", NULL};
    assert_true(same("sh", "sh"));
    assert_true(same("/bin/sh", "sh"));
    assert_false(same("sh", "cat"));
    assert_false(same("sh", "no-such-program"));
    assert_false(pk_same_program(sh, sh_x, &arena));
    assert_false(pk_same_program(sh_x, sh, &arena));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_newest_of_this_setup_holds, free_arena),
        cmocka_unit_test_teardown(an_entrys_own_is_what_is_asked, free_arena),
        cmocka_unit_test_teardown(what_noise_hides_is_refused, free_arena),
        cmocka_unit_test_teardown(what_can_be_seen_and_what_nobody_asked_for_is_not, free_arena),
        cmocka_unit_test_teardown(rows_that_noise_hides_are_counted, free_arena),
        cmocka_unit_test_teardown(programs_that_are_the_same, free_arena),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
