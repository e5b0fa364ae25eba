/* Requests: what the parent asks for arrives as it was asked, what a message leaves out has its default, and a rank refuses a case that its
 * own command line lacks. */
#include "bench/worker/request.h"

#include "base/clock.h"
#include "bench/plan/plan.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static void a_request_survives_its_message(void **state)
{
    PK_JSON_CLEANUP json_t *axes = json_pack("{s:i}", "n", 2),
                           *choices = json_pack("{s:s}", "bf16", "onednn"),
                           *counters = json_pack("{s:s}", "source", "fake");
    const struct pk_request sent = {
        .id = 7,
        .experiment = "selftest",
        .variant = "ok",
        .device = "null",
        .axes = axes,
        .pass = PK_PASS_COUNTER,
        .invocation = 3,
        .check = true,
        .seed = 5,
        .stop = {.min_samples = 4,
                 .max_samples = 9,
                 .min_time_ns = 10,
                 .max_time_ns = 20,
                 .max_noise = 0.25,
                 .warmup = 2,
                 .profile = 1},
        .device_options =
            {.threads = 2, .no_bind = true, .cpus = "0-1", .cold = true, .limit_bytes = 99, .seed = 8},
        .counters = counters,
        .choices = choices};
    PK_JSON_CLEANUP json_t *message = pk_request_json(&sent);
    struct pk_request got;
    pk_request_read(message, &got);
    assert_string_equal(json_string_value(json_object_get(message, "type")), "measure");
    assert_int_equal(got.id, 7);
    assert_string_equal(got.experiment, "selftest");
    assert_string_equal(got.variant, "ok");
    assert_string_equal(got.device, "null");
    assert_true(json_equal(got.axes, axes) && json_equal(got.choices, choices) &&
                json_equal(got.counters, counters));
    assert_int_equal(got.pass, PK_PASS_COUNTER);
    assert_int_equal(got.invocation, 3);
    assert_true(got.check && got.seed == 5);
    assert_true(got.stop.min_samples == 4 && got.stop.max_samples == 9 && got.stop.min_time_ns == 10 &&
                got.stop.max_time_ns == 20);
    assert_true(got.stop.max_noise == 0.25 && got.stop.warmup == 2 && got.stop.profile == 1);
    assert_true(got.device_options.threads == 2 && got.device_options.no_bind && got.device_options.cold);
    assert_string_equal(got.device_options.cpus, "0-1");
    assert_true(got.device_options.limit_bytes == 99 && got.device_options.seed == 8);
}

static void what_is_left_out_has_its_default(void **state)
{
    PK_JSON_CLEANUP json_t *message = json_pack("{s:s}", "type", "measure");
    struct pk_request r;
    pk_request_read(message, &r);
    assert_true(r.pass == PK_PASS_TIMING && r.invocation == 1 && r.seed == 1 && !r.check && !r.axes);
    assert_true(r.stop.min_samples == 15 && r.stop.max_samples == 10000 && r.stop.warmup == -1);
    assert_true(r.stop.min_time_ns == 200 * PK_NS_PER_MS && r.stop.max_time_ns == PK_NS_PER_S);
    assert_true(!r.device_options.no_bind && !r.device_options.cpus && !r.choices && !r.counters);
}

/* Seeds have 64 bits, the protocol 63. */
static void a_seed_stays_a_number_of_the_protocol(void **state)
{
    PK_JSON_CLEANUP json_t *axes = json_object();
    const struct pk_request sent = {
        .experiment = "x", .variant = "y", .device = "null", .axes = axes, .seed = UINT64_MAX};
    PK_JSON_CLEANUP json_t *message = pk_request_json(&sent);
    struct pk_request got;
    pk_request_read(message, &got);
    assert_true(got.seed == INT64_MAX);
}

/* --- a rank's own plan ------------------------------------------------------------------------------------------------- */

static struct pk_case_plan plan(const char *axis, const char *variant, struct pk_arena *a)
{
    struct pk_case_plan p;
    struct pk_err err;
    const struct pk_case_plan_request r = {.probe = pk_probe_find("selftest"),
                                           .axes = &axis,
                                           .n_axes = 1,
                                           .variants = &variant,
                                           .n_variants = 1,
                                           .device = "null"};
    assert_int_equal(pk_case_plan_make(&r, a, &p, &err), PK_OK);
    return p;
}

/* Rank 0 asks for the first case of another plan. */
static void a_rank_refuses_a_case_that_its_plan_lacks(void **state)
{
    static const struct {
        const char *axis, *variant, *strange; /* NULL = it is there */
    } rows[] = {{"busy_ns=2000", "ok", NULL},
                {"busy_ns=3000", "ok", "busy_ns=3000;"},
                {"busy_ns=2000", "drift", "variant=drift;"},
                {"busy_ns=3000", "drift", "variant=drift busy_ns=3000;"}};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_case_plan own = plan("busy_ns=1000,2000", "ok", &a);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pk_case_plan other = plan(rows[i].axis, rows[i].variant, &a);
        const struct pk_case *c = &other.v[0].c;
        PK_JSON_CLEANUP json_t *axes = json_loads(pk_point_json(&c->at, &a), 0, NULL);
        const struct pk_request r = {.experiment = "selftest", .variant = rows[i].variant, .axes = axes};
        struct pk_err err = {0};
        assert_int_equal(pk_case_plan_expects(&own, &r, c, &a, &err), rows[i].strange ? PK_E_USAGE : PK_OK);
        if (rows[i].strange)
            assert_memory_equal(err.why, rows[i].strange, strlen(rows[i].strange));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_request_survives_its_message),
                                       cmocka_unit_test(what_is_left_out_has_its_default),
                                       cmocka_unit_test(a_seed_stays_a_number_of_the_protocol),
                                       cmocka_unit_test(a_rank_refuses_a_case_that_its_plan_lacks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
