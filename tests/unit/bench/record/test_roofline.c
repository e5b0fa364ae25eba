/* Which roof is the lower one, how near the work came to it, and what is said where that is not known. */
#include "bench/record/counters.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* The roofs meet at 8 FLOPs per byte. */
static const struct pk_ceilings top = {.fp32_flops_per_s = 800e9, .memory_bytes_per_s = 100e9};

static struct pk_counter_row rows[PK_ROOFLINE_ROWS];

static struct pk_roofline_work work(double flops, double bytes, double time_ns)
{
    return (struct pk_roofline_work){.time_ns = time_ns,
                                     .flops = {.value = flops, .source = "declared", .native = "flops"},
                                     .bytes = {.value = bytes, .source = "declared", .native = "bytes"}};
}

static const struct pk_counter_row *row(const char *name)
{
    for (size_t i = 0; i < PK_ROOFLINE_ROWS; i++)
        if (!strcmp(rows[i].name, name))
            return &rows[i];
    fail_msg("no row %s", name);
    return NULL;
}

static bool is(const char *name, double value)
{
    return fabs(row(name)->value - value) <= 1e-12 * fabs(value);
}

static void make(const struct pk_roofline_work *w, const struct pk_ceilings *c)
{
    memset(rows, 0, sizeof rows);
    assert_int_equal(pk_roofline_rows(w, c, 7, "forward", rows), PK_ROOFLINE_ROWS);
    for (size_t i = 0; i < PK_ROOFLINE_ROWS; i++) {
        assert_int_equal(rows[i].case_id, 7);
        assert_string_equal(rows[i].region, "forward");
        assert_string_equal(rows[i].group, "roofline");
    }
}

static void the_lower_roof_counts(void **state)
{
    static const struct {
        double flops, bytes, time_ns, intensity, rate, attainable, share, memory_bound;
    } cases[] = {
        {400e6, 100e6, 2e6, 4, 200e9, 400e9, 0.5, 1},   /* left of where they meet */
        {1600e6, 100e6, 4e6, 16, 400e9, 800e9, 0.5, 0}, /* right */
        {800e6, 100e6, 1e6, 8, 800e9, 800e9, 1, 0},     /* there */
        {0, 100e6, 2e6, 0, 0, 0, 0.5, 1},               /* a copy: its bandwidth */
        {400e6, 100e6, 0.5e6, 4, 800e9, 400e9, 2, 1},   /* from a cache */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct pk_roofline_work w = work(cases[i].flops, cases[i].bytes, cases[i].time_ns);
        make(&w, &top);
        assert_true(is("flops", cases[i].flops) && is("bytes", cases[i].bytes));
        assert_true(is("intensity", cases[i].intensity) && is("flops_per_s", cases[i].rate));
        assert_true(is("attainable_flops_per_s", cases[i].attainable));
        assert_true(is("share_of_roof", cases[i].share) && is("memory_bound", cases[i].memory_bound));
        assert_string_equal(row("share_of_roof")->quality, "derived");
        assert_string_equal(row("flops")->source, "declared");
    }
}

/* Declared bytes live where the case does; bytes that were counted at the memory were there. */
static void the_level_in_which_bytes_live(void **state)
{
    struct pk_roofline_work w = work(400e6, 100e6, 0.5e6);
    w.bandwidth = 400e9;
    make(&w, &top);
    assert_true(is("attainable_flops_per_s", 800e9) && is("share_of_roof", 1) && is("memory_bound", 0));
    w.bytes.source = "cpu-events";
    make(&w, &top);
    assert_true(is("attainable_flops_per_s", 400e9) && is("share_of_roof", 2) && is("memory_bound", 1));
}

static void work_without_bytes_is_bound_by_computing(void **state)
{
    const struct pk_roofline_work w = work(400e6, 0, 1e6);
    make(&w, &top);
    assert_true(isnan(row("intensity")->value));
    assert_string_equal(row("intensity")->note, "bytes is 0");
    assert_true(is("attainable_flops_per_s", 800e9) && is("share_of_roof", 0.5) && is("memory_bound", 0));
}

static void an_unknown_roof_has_its_reason(void **state)
{
    static const char *const of_roofs[] = {"attainable_flops_per_s", "share_of_roof", "memory_bound"};
    struct pk_roofline_work w = work(400e6, 100e6, 1e6);
    for (int tensor = 0; tensor < 2; tensor++) {
        const struct pk_ceilings none = {0};
        w.tensor_flops = tensor ? 1 : 0;
        make(&w, tensor ? &top : &none);
        assert_true(is("intensity", 4) && is("flops_per_s", 400e9));
        for (size_t i = 0; i < 3; i++) {
            assert_true(isnan(row(of_roofs[i])->value));
            assert_non_null(strstr(row(of_roofs[i])->note, tensor ? "tensor cores" : "doctor --ceilings"));
        }
    }
}

static void counts_that_do_not_belong_together_are_said(void **state)
{
    struct pk_roofline_work w = work(400e6, 100e6, 2e6);
    w.flops.source = "cpu-events";
    w.bytes.source = "uncore";
    w.bytes.plan = 1;
    make(&w, &top);
    assert_string_equal(row("share_of_roof")->quality, "approximate");
    assert_string_equal(row("share_of_roof")->note, "FLOPs and bytes were counted in different passes");
    assert_string_equal(row("flops")->quality, "exact");
    w.bytes.plan = 0;
    make(&w, &top);
    assert_string_equal(row("share_of_roof")->quality, "derived");
    w.flops.approximate = true;
    make(&w, &top);
    assert_string_equal(row("flops")->quality, "approximate");
    assert_string_equal(row("share_of_roof")->quality, "approximate");
}

static void nothing_is_said_of_no_time_or_no_work(void **state)
{
    const struct pk_roofline_work none[] = {work(1, 1, NAN), work(1, 1, 0), work(0, 0, 1), work(NAN, NAN, 1)};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(pk_roofline_rows(&none[i], &top, 1, "forward", rows), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_lower_roof_counts),
        cmocka_unit_test(the_level_in_which_bytes_live),
        cmocka_unit_test(work_without_bytes_is_bound_by_computing),
        cmocka_unit_test(an_unknown_roof_has_its_reason),
        cmocka_unit_test(counts_that_do_not_belong_together_are_said),
        cmocka_unit_test(nothing_is_said_of_no_time_or_no_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
