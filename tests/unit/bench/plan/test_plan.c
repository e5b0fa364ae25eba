/* Plans of selftest: presets, overrides, names, filters, estimates and orders. */
#include "bench/plan/estimate.h"
#include "bench/plan/plan.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <string.h>

enum { BUSY_NS, MEMORY, VARIANTS = 17 };

static struct pk_arena arena;
static struct pk_case_plan plan;
static struct pk_err err;

static int forget(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static struct pk_case_plan_request request(void)
{
    return (struct pk_case_plan_request){.probe = pk_probe_find("selftest"), .device = "null"};
}

static void make(const struct pk_case_plan_request *r)
{
    if (pk_case_plan_make(r, &arena, &plan, &err))
        fail_msg("%s: %s", err.what, err.why);
}

static void assert_refused(const struct pk_case_plan_request *r, enum pk_code code, const char *what,
                           const char *why)
{
    assert_int_equal(pk_case_plan_make(r, &arena, &plan, &err), code);
    if (!strstr(err.what, what) || !strstr(err.why, why))
        fail_msg("what: %s; why: %s", err.what, err.why);
}

static void nothing_asked_is_the_first_preset(void **state)
{
    const struct pk_case_plan_request r = request();
    make(&r);
    assert_string_equal(plan.preset->name, "quick");
    assert_int_equal(plan.kind, PK_DEVICE_NULL);
    assert_int_equal(plan.n, VARIANTS);
    assert_string_equal(plan.v[0].variant, "ok");
    assert_string_equal(plan.v[1].variant, "slow-start");
    assert_int_equal(pk_case_int(&plan.v[0].c, BUSY_NS), 100000);
    assert_int_equal(plan.v[0].predicted_bytes, 2 * 4096);
    assert_false(plan.v[0].too_large);
    assert_null(plan.v[0].skip);
    assert_true(isnan(plan.v[0].floor_ns));
}

/* Ways without buckets have one case for all bucket sizes, and none that knows of one. */
static void axes_that_mean_nothing_to_a_variant(void **state)
{
    struct pk_case_plan_request r = {.probe = pk_probe_find("ddp-bucket"), .device = "null"};
    r.variants = (const char *const[]){"naive", "flat", "bucket"};
    r.n_variants = 3;
    r.axes = (const char *const[]){"bucket_bytes=1MB,4MB", "gradients=views,copy", "compute_ms=1"};
    r.n_axes = 3;
    make(&r);
    size_t n[3] = {0};
    for (size_t i = 0; i < plan.n; i++) {
        const bool bucket = !strcmp(plan.v[i].variant, "bucket");
        const char *axes = pk_point_json(&plan.v[i].c.at, &arena);
        assert_int_equal(strstr(axes, "bucket_bytes") != NULL, bucket);
        assert_int_equal(strstr(axes, "gradients") != NULL, strcmp(plan.v[i].variant, "naive") != 0);
        n[bucket ? 2 : plan.v[i].variant[0] == 'f']++;
    }
    assert_int_equal(n[0], 1);
    assert_int_equal(n[1], 2);
    assert_int_equal(n[2], 4);
}

static void blocks_follow_each_other(void **state)
{
    struct pk_case_plan_request r = request();
    r.preset = "grid";
    r.variants = (const char *const[]){"ok"};
    r.n_variants = 1;
    make(&r);
    assert_int_equal(plan.n, 5);
    static const int64_t busy[] = {20000, 40000, 80000, 160000, 20000},
                         memory[] = {4096, 4096, 4096, 4096, 65536};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(pk_case_int(&plan.v[i].c, BUSY_NS), busy[i]);
        assert_int_equal(pk_case_int(&plan.v[i].c, MEMORY), memory[i]);
    }
}

static void overrides_replace_in_every_block(void **state)
{
    struct pk_case_plan_request r = request();
    r.preset = "grid";
    r.variants = (const char *const[]){"noisy,ok", "ok"};
    r.n_variants = 2;
    r.axes = (const char *const[]){"memory=1KiB"};
    r.n_axes = 1;
    make(&r);
    /* the second block's point is one of the first's now */
    assert_int_equal(plan.n, 4 * 2);
    assert_string_equal(plan.v[0].variant, "ok"); /* the table's order */
    assert_string_equal(plan.v[1].variant, "noisy");
    assert_int_equal(pk_case_int(&plan.v[7].c, MEMORY), 1024);
}

static void filters_apply_to_points_and_variants(void **state)
{
    struct pk_case_plan_request r = request();
    r.preset = "grid";
    r.filter = "busy_ns>=80000,variant=ok|leak";
    make(&r);
    assert_int_equal(plan.n, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(pk_case_int(&plan.v[i].c, BUSY_NS) >= 80000);
    r.filter = "busy_ns=7";
    assert_refused(&r, PK_E_NOTHING, "busy_ns=7", "selftest");
    r.filter = "bussy_ns=7";
    assert_int_equal(pk_case_plan_make(&r, &arena, &plan, &err), PK_E_USAGE);
}

static void peers_are_variants_of_their_own(void **state)
{
    struct pk_case_plan_request r = request();
    r.variants = (const char *const[]){"ok"};
    r.n_variants = 1;
    r.peers = (const char *const[]){"torch-eager", "numpy"};
    r.n_peers = 2;
    r.limit_bytes = 1;
    make(&r);
    assert_int_equal(plan.n, 3);
    assert_int_equal(plan.v[0].provider, 0);
    assert_true(plan.v[0].too_large);
    assert_int_equal(plan.v[2].provider, 2);
    assert_string_equal(plan.v[2].variant, "numpy");
    assert_int_equal(plan.v[2].predicted_bytes, -1);
    assert_false(plan.v[2].too_large);
    r.peers = (const char *const[]){"ok"};
    r.n_peers = 1;
    assert_refused(&r, PK_E_USAGE, "peer 'ok'", "name");
}

static void names_get_suggestions(void **state)
{
    struct pk_case_plan_request r = request();
    r.preset = "qick";
    assert_refused(&r, PK_E_USAGE, "no preset 'qick'", "did you mean 'quick'?");
    r = request();
    r.variants = (const char *const[]){"nosy"};
    r.n_variants = 1;
    assert_refused(&r, PK_E_USAGE, "no variant 'nosy'", "did you mean 'noisy'?");
    r.variants = (const char *const[]){"ok,"};
    assert_refused(&r, PK_E_USAGE, "no variant ''", "one of");
    r = request();
    r.device = "nul";
    assert_refused(&r, PK_E_USAGE, "'nul'", "devices are cpu, null, cuda");
    r = request();
    r.axes = (const char *const[]){"busy=1"};
    r.n_axes = 1;
    assert_refused(&r, PK_E_USAGE, "busy", "busy_ns");
    r.axes = (const char *const[]){"busy_ns=1", "busy_ns=2"};
    r.n_axes = 2;
    assert_refused(&r, PK_E_USAGE, "busy_ns is given twice", "");
}

/* What a probe offers it must not refuse. */
static void every_preset_can_be_planned(void **state)
{
    for (const struct pk_probe *const *p = pk_probes; *p; p++)
        for (const struct pk_preset *s = (*p)->presets; s->name; s++) {
            const struct pk_case_plan_request r = {.probe = *p, .device = "null", .preset = s->name};
            if (pk_case_plan_make(&r, &arena, &plan, &err))
                fail_msg("%s, preset %s: %s: %s", (*p)->name, s->name, err.what, err.why);
        }
}

static unsigned validated;

static enum pk_code say_memory(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                               struct pk_err *e)
{
    validated++;
    warn(user, pk_printf(a, "memory is %d", (int)pk_case_int(c, MEMORY)));
    warn(user, "always");
    return pk_case_int(c, MEMORY) == 16 ? pk_fail(e, PK_E_USAGE, "not 16") : PK_OK;
}

static const char *skip_small(const struct pk_case *c, enum pk_device_kind kind)
{
    return pk_case_int(c, MEMORY) == 4 ? "too small" : NULL;
}

static void cases_are_validated(void **state)
{
    struct pk_probe probe = *pk_probe_find("selftest");
    probe.validate = say_memory;
    probe.skip = skip_small;
    validated = 0;
    struct pk_case_plan_request r = {.probe = &probe,
                                     .device = "null",
                                     .axes = (const char *const[]){"memory=4,8,12"},
                                     .n_axes = 1,
                                     .variants = (const char *const[]){"ok,noisy"},
                                     .n_variants = 1,
                                     .peers = (const char *const[]){"numpy"},
                                     .n_peers = 1,
                                     .limit_bytes = 1};
    make(&r);
    assert_int_equal(plan.n, 9);
    assert_int_equal(validated, 4); /* not what is skipped, not a peer's, but what is over the limit */
    assert_int_equal(plan.warnings.n, 3);
    assert_string_equal(plan.warnings.v[0], "memory is 8");
    assert_string_equal(plan.warnings.v[1], "always");
    assert_string_equal(plan.warnings.v[2], "memory is 12");
    r.axes = (const char *const[]){"memory=8,16"};
    assert_refused(&r, PK_E_USAGE, "not 16", "");
}

static const char *const big[] = {"memory=1GiB", NULL}, *const small[] = {"memory=1KiB", NULL};

static void the_preset_that_fits_is_chosen(void **state)
{
    const struct pk_preset presets[] = {
        {"big", "x", big},
        {"small", "x", small},
        {0},
    };
    struct pk_probe probe = *pk_probe_find("selftest");
    probe.presets = presets;
    struct pk_case_plan_request r = request();
    r.probe = &probe;
    make(&r);
    assert_string_equal(plan.preset->name, "big");
    r.limit_bytes = 1 << 20;
    make(&r);
    assert_string_equal(plan.preset->name, "small");
    r.limit_bytes = 100; /* none fits: the first, whose cases say so */
    make(&r);
    assert_string_equal(plan.preset->name, "big");
    assert_true(plan.v[0].too_large);
    r.preset = "big";
    r.limit_bytes = 1 << 20;
    make(&r);
    assert_true(plan.v[0].too_large);
}

static enum pk_code refuse_1_kib(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                                 struct pk_err *e)
{
    warn(user, pk_printf(a, "memory is %d", (int)pk_case_int(c, MEMORY)));
    return pk_case_int(c, MEMORY) == 1024 ? pk_fail(e, PK_E_USAGE, "not 1 KiB") : PK_OK;
}

/* A case that cannot be takes no memory, perhaps; of a preset that nobody asked for it is no reason to refuse. */
static void a_preset_that_cannot_be_is_not_chosen(void **state)
{
    const struct pk_preset presets[] = {{"big", "x", big}, {"small", "x", small}, {0}};
    struct pk_probe probe = *pk_probe_find("selftest");
    probe.presets = presets;
    probe.validate = refuse_1_kib;
    struct pk_case_plan_request r = request();
    r.probe = &probe;
    r.limit_bytes = 1 << 20;
    make(&r);
    assert_string_equal(plan.preset->name, "big");
    assert_true(plan.v[0].too_large);
    assert_int_equal(plan.warnings.n, 1);
    assert_string_equal(plan.warnings.v[0], "memory is 1073741824");
    r.preset = "small";
    assert_refused(&r, PK_E_USAGE, "not 1 KiB", "");
}

static void floors_come_from_ceilings(void **state)
{
    const struct pk_ceilings top = {.fp32_flops_per_s = 1e12, .memory_bytes_per_s = 1e9};
    struct pk_case_plan_request r = request();
    make(&r);
    pk_case_plan_floors(&plan, &top);
    assert_true(fabs(plan.v[0].floor_ns - 8192) < 1e-6); /* 8192 bytes at one per ns */
    pk_case_plan_floors(&plan, NULL);
    assert_true(isnan(plan.v[0].floor_ns));
}

/* The step holds the other regions: it counts once, and its parts tell more of it where each is bound by another rate. */
static void a_region_within_another_counts_once(void **state)
{
    const struct pk_ceilings top = {
        .fp32_flops_per_s = 1e11, .bf16_flops_per_s = 1e11, .memory_bytes_per_s = 1e12};
    const char *const axes[] = {"mode=forward+backward,step", "dtype=fp32,bf16"}, *const eager[] = {"eager"};
    struct pk_case_plan_request r = {.probe = pk_probe_find("mixed-precision"), .device = "cpu"};
    r.axes = axes;
    r.n_axes = 2;
    r.variants = eager;
    r.n_variants = 1;
    make(&r);
    pk_case_plan_floors(&plan, &top);
    assert_int_equal(plan.n, 4);
    for (size_t i = 0; i < plan.n; i++) {
        const double step_ns = r.probe->work(&plan.v[i].c, 0).flops / top.fp32_flops_per_s * 1e9;
        assert_true(plan.v[i].floor_ns > 0.95 * step_ns && plan.v[i].floor_ns < 1.1 * step_ns);
        assert_true(plan.v[i].least_ns == plan.v[i].floor_ns);
    }
}

/* Tensor cores' products take their own rate, and no time where it is not known. */
static void products_of_tensor_cores_have_their_own_rate(void **state)
{
    struct pk_ceilings top = {.fp32_flops_per_s = 1e11, .memory_bytes_per_s = 1e15};
    const char *const axes[] = {"mode=step", "dtype=bf16"}, *const eager[] = {"eager"};
    struct pk_case_plan_request r = {.probe = pk_probe_find("mixed-precision"), .device = "cpu"};
    r.axes = axes;
    r.n_axes = 2;
    r.variants = eager;
    r.n_variants = 1;
    make(&r);
    pk_case_plan_floors(&plan, &top);
    const double unknown = plan.v[0].floor_ns;
    top.bf16_flops_per_s = 1e11;
    pk_case_plan_floors(&plan, &top);
    const double slow = plan.v[0].floor_ns;
    top.bf16_flops_per_s = 8e11;
    pk_case_plan_floors(&plan, &top);
    assert_true(unknown < 0.1 * slow);
    assert_true(fabs(plan.v[0].floor_ns / slow - 1.0 / 8) < 0.01);
}

/* 8192 ns an iteration; the first and three more take 32768 ns. */
static void what_cannot_end_in_time_is_skipped(void **state)
{
    const struct pk_ceilings top = {.fp32_flops_per_s = 1e12, .memory_bytes_per_s = 1e9};
    struct pk_case_plan_request r = request();
    r.device = "cpu";
    make(&r);
    pk_case_plan_floors(&plan, &top);
    pk_case_plan_leave_out_endless(&plan, 3, 32768, &arena);
    assert_null(plan.v[0].skip);
    plan.v[1].provider = 1;
    pk_case_plan_leave_out_endless(&plan, 3, 32767, &arena);
    assert_string_equal(
        plan.v[0].skip,
        "would take at least 32.8 us: 4 iterations of 8.19 us or more; limit --timeout 32767ns");
    assert_null(plan.v[1].skip); /* a peer's work is its own */
    r.device = "null";
    make(&r);
    pk_case_plan_floors(&plan, &top);
    pk_case_plan_leave_out_endless(&plan, 3, 1, &arena);
    assert_null(plan.v[0].skip); /* its clock is not ours */
}

static void axes_of_no_case_are_told(void **state)
{
    struct pk_case_plan_request r = request();
    make(&r);
    struct pk_axis_sweep s;
    assert_int_equal(pk_axis_assign(r.probe->axes, "memory=8KiB", &arena, &s, &err), PK_OK);
    assert_null(pk_case_plan_unused_axis(&plan, &s, &arena));
    assert_int_equal(pk_axis_assign(r.probe->axes, "copies=2,4", &arena, &s, &err), PK_OK);
    assert_string_equal(
        pk_case_plan_unused_axis(&plan, &s, &arena),
        "-a copies=2,4 changes nothing: copies applies to none of these cases, but would with busy_ns=0");
    const char *const axes[] = {"busy_ns=0,5", "copies=2"};
    r.axes = axes;
    r.n_axes = 2;
    make(&r);
    assert_int_equal(plan.n_sweeps, 2);
    assert_null(pk_case_plan_unused_axis(&plan, &plan.sweeps[1], &arena));
}

static const char *skip_short(const struct pk_case *c, enum pk_device_kind kind)
{
    return pk_case_int(c, BUSY_NS) < 50000 ? "too short" : NULL;
}

static const char *not_here(enum pk_device_kind kind)
{
    return kind == PK_DEVICE_NULL ? "not on null" : NULL;
}

static void skipped_cases_stay_with_their_reason(void **state)
{
    static const struct pk_variant variants[] = {{"ok", "x"}, {"other", "x", .unavailable = not_here}, {0}};
    struct pk_probe probe = *pk_probe_find("selftest");
    probe.skip = skip_short;
    probe.variants = variants;
    struct pk_case_plan_request r = request();
    r.probe = &probe;
    r.axes = (const char *const[]){"busy_ns=10000,60000"};
    r.n_axes = 1;
    make(&r); /* what has no case and was not named is left out */
    assert_int_equal(plan.n, 2);
    assert_string_equal(plan.v[0].skip, "too short");
    assert_null(plan.v[1].skip);
    r.variants = (const char *const[]){"ok,other"};
    r.n_variants = 1;
    make(&r);
    assert_int_equal(plan.n, 4);
    assert_string_equal(plan.v[0].skip, "too short");
    assert_string_equal(plan.v[1].skip, "not on null");
    assert_null(plan.v[2].skip);
    assert_string_equal(plan.v[3].skip, "not on null");
    r.n_variants = 0;
    r.axes = (const char *const[]){"busy_ns=10000"};
    make(&r); /* the first has none either: nobody is left out */
    assert_int_equal(plan.n, 2);
    assert_string_equal(plan.v[0].skip, "too short");
    assert_string_equal(plan.v[1].skip, "not on null");
}

static void orders_are_shuffles(void **state)
{
    enum { N = 50 };
    const size_t *a = pk_case_plan_order(N, 7, 1, &arena), *b = pk_case_plan_order(N, 7, 2, &arena),
                 *c = pk_case_plan_order(N, 8, 1, &arena), *again = pk_case_plan_order(N, 7, 1, &arena);
    bool seen[N] = {false};
    for (size_t i = 0; i < N; i++) {
        assert_true(a[i] < N && !seen[a[i]]);
        seen[a[i]] = true;
    }
    assert_memory_equal(a, again, N * sizeof *a);
    assert_memory_not_equal(a, b, N * sizeof *a);
    assert_memory_not_equal(a, c, N * sizeof *a);
    assert_memory_not_equal(b, c, N * sizeof *a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_asked_is_the_first_preset, forget),
        cmocka_unit_test_teardown(axes_that_mean_nothing_to_a_variant, forget),
        cmocka_unit_test_teardown(blocks_follow_each_other, forget),
        cmocka_unit_test_teardown(overrides_replace_in_every_block, forget),
        cmocka_unit_test_teardown(filters_apply_to_points_and_variants, forget),
        cmocka_unit_test_teardown(peers_are_variants_of_their_own, forget),
        cmocka_unit_test_teardown(names_get_suggestions, forget),
        cmocka_unit_test_teardown(every_preset_can_be_planned, forget),
        cmocka_unit_test_teardown(cases_are_validated, forget),
        cmocka_unit_test_teardown(the_preset_that_fits_is_chosen, forget),
        cmocka_unit_test_teardown(a_preset_that_cannot_be_is_not_chosen, forget),
        cmocka_unit_test_teardown(floors_come_from_ceilings, forget),
        cmocka_unit_test_teardown(a_region_within_another_counts_once, forget),
        cmocka_unit_test_teardown(products_of_tensor_cores_have_their_own_rate, forget),
        cmocka_unit_test_teardown(what_cannot_end_in_time_is_skipped, forget),
        cmocka_unit_test_teardown(axes_of_no_case_are_told, forget),
        cmocka_unit_test_teardown(skipped_cases_stay_with_their_reason, forget),
        cmocka_unit_test_teardown(orders_are_shuffles, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
