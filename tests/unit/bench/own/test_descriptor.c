/* Descriptors: what is read, what is refused and why, what may change, and that the tables made of them are sound SQL. */
#include "bench/own/descriptor.h"
#include "store/store.h"
#include "store/table/table.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static struct pk_arena arena;
static struct pk_err err;

static int forget(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static enum pk_code parse(const char *text, struct pk_own **own)
{
    PK_JSON_CLEANUP json_t *j = json_loads(text, 0, NULL);
    assert_non_null(j);
    err = (struct pk_err){0};
    return pk_descriptor_read(j, "it", &arena, own, &err);
}

static struct pk_own *sound(const char *text)
{
    struct pk_own *own = NULL;
    if (parse(text, &own))
        fail_msg("%s: %s", err.what, err.why);
    return own;
}

#define WITH(members) "{\"name\":\"x\",\"variants\":[{\"name\":\"a\"},{\"name\":\"b\"}]," members "}"
#define AXES(axes)    WITH("\"axes\":[" axes "]")

static void the_least_has_one_time(void **state)
{
    const struct pk_own *own = sound("{\"name\":\"x\",\"variants\":[{\"name\":\"a\"}]}");
    struct pk_metric_decl *v;
    assert_int_equal(pk_axes_count(own->probe.axes), 0);
    assert_int_equal(own->probe.revision, 1);
    assert_string_equal(own->yardstick, "a");
    assert_string_equal(own->headline, "time_ns");
    assert_int_equal(pk_probe_metrics(&own->probe, &arena, &v), 3);
    assert_string_equal(v[0].source, "region");
    assert_true(pk_own_runs_on(own, PK_DEVICE_CPU) && !pk_own_runs_on(own, PK_DEVICE_CUDA));
}

static void axes_have_types_ranges_and_defaults(void **state)
{
    const struct pk_own *own = sound(
        AXES("{\"name\":\"n\",\"type\":\"int\",\"default\":[0,7]},"
             "{\"name\":\"bytes\",\"type\":\"size\",\"default\":[\"1MiB\",3000000]},"
             "{\"name\":\"p\",\"type\":\"float\",\"min\":0,\"max\":1,\"default\":0.25},"
             "{\"name\":\"mode\",\"type\":\"choice\",\"choices\":[\"train\",\"torch.eval\"]},"
             "{\"name\":\"fused\",\"type\":\"bool\",\"default\":[false,true],\"applies\":{\"axis\":\"mode\","
             "\"values\":[\"train\"]},\"born\":true}"));
    static const struct {
        enum pk_axis_type type;
        const char *def, *born;
    } expected[] = {{PK_AXIS_INT, "0,7", "0"},
                    {PK_AXIS_SIZE, "1MiB,3MB", "1MiB"},
                    {PK_AXIS_FLOAT, "0.25", "0.25"},
                    {PK_AXIS_ENUM, "train", "train"},
                    {PK_AXIS_BOOL, "off,on", "on"}};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(own->probe.axes[i].type, expected[i].type);
        assert_string_equal(own->probe.axes[i].def, expected[i].def);
        assert_string_equal(own->probe.axes[i].born, expected[i].born);
    }
    assert_true(own->probe.axes[0].min == 0 && own->probe.axes[1].min == 1);
    struct pk_point p = {.axes = own->probe.axes, .n = 5};
    assert_true(pk_axis_applies(&p, 4));
    p.v[3].i = 1;
    assert_false(pk_axis_applies(&p, 4));
    p.absent[3] = true;
    assert_false(pk_axis_applies(&p, 4));
}

static void metrics_are_regions_or_gauges(void **state)
{
    const struct pk_own *own = sound(
        WITH("\"metrics\":[{\"name\":\"moved_bytes\"},{\"name\":\"step_ns\"},{\"name\":\"step_host_ns\"},"
             "{\"name\":\"peak_bytes\"},{\"name\":\"hits\",\"class\":\"exact\",\"direction\":\"higher\"}]"));
    assert_string_equal(own->headline, "step_ns");
    assert_string_equal(own->probe.regions[0].name, "step");
    assert_null(own->probe.regions[1].name);
    assert_string_equal(own->probe.metrics[0].name, "moved_bytes");
    assert_int_equal(own->probe.metrics[0].class, PK_CLASS_MEMORY);
    assert_int_equal(own->probe.metrics[1].direction, PK_HIGHER_IS_BETTER);
    assert_int_equal(own->probe.metrics[1].gauge, 1);
}

static void what_is_wrong_is_named(void **state)
{
    static const struct {
        const char *text, *why;
    } wrong[] = {
        {"{}", "name: a name is not"},
        {"{\"name\":\"exec\"}", "'exec' is the name of something"},
        {"{\"name\":\"x\"}", "variants: there is none"},
        {WITH("\"revision\":0"), "revision"},
        {WITH("\"summary\":\"a\\nb\""), "control characters"},
        {WITH("\"axes\":{}"), "axes: it is not a list"},
        {AXES("{\"name\":\"N\"}"), "axes[0]"},
        {AXES("{\"name\":\"variant\"}"), "is reserved"},
        {AXES("{\"name\":\"n\",\"type\":\"list\"}"), "`type` is not one of int"},
        {AXES("{\"name\":\"n\",\"min\":5,\"max\":4}"), "not a range"},
        {AXES("{\"name\":\"n\",\"default\":\"x\"}"), "not an integer from 1"},
        {AXES("{\"name\":\"n\",\"default\":1.5}"), "not an integer from 1"},
        {AXES("{\"name\":\"n\",\"max\":4,\"default\":5}"), "not an integer from 1 to 4"},
        {AXES("{\"name\":\"n\",\"type\":\"choice\"}"), "needs `choices`"},
        {AXES("{\"name\":\"n\",\"type\":\"choice\",\"choices\":[\"a\",\"a\"]}"), "given twice"},
        {AXES("{\"name\":\"n\",\"applies\":{\"axis\":\"n\",\"values\":[1]}}"), "stands before"},
        {WITH("\"metrics\":[{\"name\":\"a_ns\"},{\"name\":\"a_ns\"}]"), "given twice"},
        {WITH("\"metrics\":[{\"name\":\"speedup\"}]"), "is reserved, or that of an axis"},
        {WITH("\"axes\":[{\"name\":\"n\"}],\"metrics\":[{\"name\":\"n\"}]"),
         "is reserved, or that of an axis"},
        {WITH("\"metrics\":[{\"name\":\"a_ns\",\"direction\":\"higher\"}]"), "lower is better"},
        {WITH("\"metrics\":[{\"name\":\"peak_bytes\",\"unit\":\"GB\"}]"), "in bytes"},
        {WITH("\"presets\":[{\"name\":\"p\",\"variants\":[\"c\"]}]"), "presets[0]"},
        {WITH("\"yardstick\":\"c\""), "yardstick"},
        {WITH("\"devices\":[\"tpu\"]"), "devices"},
        {WITH("\"sql\":\"\\u0007\""), "sql"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct pk_own *own;
        assert_int_equal(parse(wrong[i].text, &own), PK_E_USAGE);
        if (!strstr(err.why, wrong[i].why))
            fail_msg("%s: '%s' is not in '%s'", wrong[i].text, wrong[i].why, err.why);
        assert_true(*err.fix);
    }
}

static enum pk_code follow(const char *before, const char *now, struct pk_own **own)
{
    struct pk_own *earlier = sound(before);
    *own = sound(now);
    return pk_descriptor_check_changes(*own, earlier, "run 1", &arena, &err);
}

static void later_descriptions_keep_what_cases_are_called(void **state)
{
    static const char first[] = AXES("{\"name\":\"n\",\"unit\":\"rows\",\"default\":[1,2]}");
    struct pk_own *own;
    assert_int_equal(
        follow(first, AXES("{\"name\":\"n\",\"unit\":\"rows\",\"default\":[4]},{\"name\":\"k\"}"), &own),
        PK_OK);
    assert_string_equal(own->probe.axes[0].born, "1");
    assert_string_equal(own->probe.axes[0].def, "4");
    assert_string_equal(own->probe.axes[1].born, "1");
    assert_non_null(strstr(own->json, "\"born\":\"1\",\"default\":[4]"));
    static const struct {
        const char *now, *what;
    } changed[] = {
        {AXES("{\"name\":\"n\",\"unit\":\"columns\"}"), "axis n"},
        {AXES("{\"name\":\"n\",\"unit\":\"rows\",\"type\":\"float\"}"), "axis n"},
        {AXES("{\"name\":\"n\",\"unit\":\"rows\",\"born\":2}"), "born value of axis n"},
        {AXES("{\"name\":\"n\",\"unit\":\"rows\",\"min\":2,\"default\":2}"), "axis n"},
    };
    for (size_t i = 0; i < sizeof changed / sizeof *changed; i++) {
        assert_int_equal(follow(first, changed[i].now, &own), PK_E_NOT_COMPARABLE);
        assert_non_null(strstr(err.what, changed[i].what));
    }
    assert_int_equal(
        follow(first, WITH("\"revision\":2,\"axes\":[{\"name\":\"n\",\"type\":\"bool\"}]"), &own), PK_OK);
    assert_int_equal(
        follow(WITH("\"metrics\":[{\"name\":\"a_ns\"},{\"name\":\"hits\"}]"),
               WITH("\"metrics\":[{\"name\":\"a_ns\"},{\"name\":\"hits\",\"direction\":\"lower\"}]"), &own),
        PK_E_NOT_COMPARABLE);
    assert_non_null(strstr(err.why, "better none"));
}

static void tables_follow_from_the_description(void **state)
{
    static const char *const texts[] = {
        "{\"name\":\"x\",\"variants\":[{\"name\":\"F.scaled(dot)[0]\"}]}",
        AXES("{\"name\":\"order\"},{\"name\":\"group\",\"type\":\"bool\"},{\"name\":\"select\",\"type\":"
             "\"choice\","
             "\"choices\":[\"a\"]},{\"name\":\"size\",\"type\":\"size\",\"unit\":\"a|b\"},{\"name\":"
             "\"dtype\",\"type\":"
             "\"choice\",\"choices\":[\"fp32\"]}"),
        WITH("\"metrics\":[{\"name\":\"from_ns\"},{\"name\":\"to_ns\"},{\"name\":\"where\",\"unit\":\"a|{b}"
             "\"},"
             "{\"name\":\"left_bytes\"}]"),
    };
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    assert_int_equal(pk_store_open(":memory:", PK_STORE_WRITE, NULL, &s, &err), PK_OK);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (pk_limited_check(s, sound(texts[i])->probe.sql, &err))
            fail_msg("%s: %s: %s", texts[i], err.what, err.why);
    assert_string_equal(sound(WITH("\"metrics\":[{\"name\":\"hits\"}]"))->probe.sql, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(the_least_has_one_time, forget),
        cmocka_unit_test_teardown(axes_have_types_ranges_and_defaults, forget),
        cmocka_unit_test_teardown(metrics_are_regions_or_gauges, forget),
        cmocka_unit_test_teardown(what_is_wrong_is_named, forget),
        cmocka_unit_test_teardown(later_descriptions_keep_what_cases_are_called, forget),
        cmocka_unit_test_teardown(tables_follow_from_the_description, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
