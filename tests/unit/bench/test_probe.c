/* Descriptors: the registry, the metric rows, and what makes a descriptor unsound. */
#include "bench/measure/measure.h"
#include "probe_invalid.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static struct pk_arena arena;

static int forget(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static void every_probe_is_sound(void **state)
{
    size_t n = 0;
    for (const struct pk_probe *const *p = pk_probes; *p; p++, n++) {
        const char *bad = probe_invalid(*p, &arena);
        if (bad)
            fail_msg("%s", bad);
        assert_ptr_equal(pk_probe_find((*p)->name), *p);
        if (n)
            assert_true(strcmp(p[-1]->name, (*p)->name) < 0);
    }
    assert_true(n > 0);
    assert_null(pk_probe_find("no-such-thing"));
    assert_null(pk_probe_find("self"));
}

static void tables_are_embedded(void **state)
{
    assert_non_null(strstr(pk_probe_sql(pk_probe_find("selftest")), "-- table: outcomes"));
    const struct pk_probe stranger = {.name = "stranger"};
    assert_string_equal(pk_probe_sql(&stranger), "");
}

static void metrics_follow_from_regions(void **state)
{
    struct pk_metric_decl *v;
    assert_int_equal(pk_probe_metrics(pk_probe_find("selftest"), &arena, &v), 8);
    static const char *const names[] = {"work_ns", "work_host_ns", "part_ns",    "part_host_ns",
                                        "tick_ns", "tick_host_ns", "held_bytes", "peak_bytes"};
    for (size_t i = 0; i < 8; i++)
        assert_string_equal(v[i].name, names[i]);
    assert_string_equal(v[0].unit, "ns");
    assert_string_equal(v[0].class, "time");
    assert_string_equal(v[0].combine, "median");
    assert_string_equal(v[6].unit, "bytes");
    assert_string_equal(v[6].direction, "lower");
    assert_string_equal(v[7].combine, "max");
}

static struct pk_probe broken;

static void assert_invalid(const char *text)
{
    const char *bad = probe_invalid(&broken, &arena);
    if (!bad || !strstr(bad, text))
        fail_msg("'%s' instead of '%s'", bad ? bad : "sound", text);
    broken = *pk_probe_find("selftest");
}

static void broken_promises_are_named(void **state)
{
    broken = *pk_probe_find("selftest");
    assert_null(probe_invalid(&broken, &arena));

    broken.name = "Self_Test";
    assert_invalid("joined by '-'");
    broken.revision = 0;
    assert_invalid("revisions");
    broken.setup = NULL;
    assert_invalid("setup and run are required");
    broken.shrink = "busy_ns";
    broken.predict = NULL;
    assert_invalid("shrink needs predict");

    struct pk_axis axes[3] = {broken.axes[0], broken.axes[1]};
    broken.axes = axes;
    axes[0].name = "variant";
    assert_invalid("axis 'variant': the name is reserved");
    axes[0].name = "memory";
    broken.axes = axes;
    assert_invalid("the name is taken");
    axes[0] = broken.axes[0];
    axes[0].def = "0:10:*2";
    broken.axes = axes;
    assert_invalid("axis 'busy_ns': def:");
    axes[0] = broken.axes[0];
    axes[0] = (struct pk_axis){"file", PK_AXIS_FILE, .def = "a/b", .born = "a", .help = "x"};
    broken.axes = axes;
    assert_invalid("axis 'file': def and born of a file must be words");
    axes[0] = broken.axes[0];
    axes[0].born = "1,2";
    broken.axes = axes;
    assert_invalid("one value");

    static const char *const two[] = {"a", "b", NULL}, *const one[] = {"x", NULL},
                             *const three[] = {"x", "y", "z", NULL};
    axes[0] = (struct pk_axis){"kind",      PK_AXIS_ENUM, .choices = two, .choices_also = two,
                               .sets = two, .def = "a",   .born = "a",    .help = "x"};
    const struct pk_axis matching = axes[0];
    static const char *const *const other_lengths[] = {one, three};
    for (size_t i = 0; i < 2; i++) {
        axes[0] = matching;
        axes[0].choices_also = other_lengths[i];
        broken.axes = axes;
        assert_invalid("axis 'kind': sets and choices_also have one text for each choice");
        axes[0] = matching;
        axes[0].sets = other_lengths[i];
        broken.axes = axes;
        assert_invalid("axis 'kind': sets and choices_also have one text for each choice");
    }

    broken.variants = (const struct pk_variant[]){{0}};
    assert_invalid("no variant");
    broken.variants = (const struct pk_variant[]){{"a", "x"}, {"a", "x"}, {0}};
    assert_invalid("twice");
    broken.variants = (const struct pk_variant[]){{"a", "x", "memory speed"}, {0}};
    assert_invalid("variant 'a' ignores 'speed', which is no axis");
    broken.regions = (const struct pk_region[]){{"work", ""}, {0}};
    assert_invalid("region 'work' has no summary");
    broken.regions = (const struct pk_region[]){{"work", "a", .inside = "step"}, {0}};
    assert_invalid("region 'work' is inside one that does not exist");
    broken.regions =
        (const struct pk_region[]){{"step", "a", .inside = "work"}, {"work", "b", .inside = "step"}, {0}};
    assert_invalid("region 'step' is inside itself");
    broken.metrics = (const struct pk_metric[]){{"peak", "bytes", "x"}, {0}};
    assert_invalid("must end in its unit");
    broken.metrics = (const struct pk_metric[]){{"a", "1", "x", .gauge = PK_GAUGES_MAX}, {0}};
    assert_invalid("metric 'a': gauges count from 0 to 31");
    broken.metrics =
        (const struct pk_metric[]){{"a", "1", "x", .gauge = 3}, {"b", "1", "x", .gauge = 3}, {0}};
    assert_invalid("metrics 'a' and 'b' are one gauge");
    broken.metrics =
        (const struct pk_metric[]){{"a", "1", "x", .class = PK_CLASS_MEMORY, .planned = "A"}, {0}};
    assert_invalid("metric 'a' is not known beforehand");
    broken.metrics = (const struct pk_metric[]){{"work_ns", "ns", "x"}, {0}};
    assert_invalid("metric 'work_ns' is there twice");
    broken.presets = (const struct pk_preset[]){{"quick", "x", (const char *const[]){"speed=1", NULL}}, {0}};
    assert_invalid("preset 'quick'");
    broken.check_points = (const char *const[]){"memory=0", NULL};
    assert_invalid("memory");
    static const struct {
        struct pk_fit_row fit;
        const char *bad;
    } fits[] = {{{"f", "work_ns", "speed", PK_FIT_LINE}, "a metric that does not exist"},
                {{"f", "speed_ns", "busy_ns", PK_FIT_LINE}, "of a metric that does not exist"},
                {{"f", "work_ns", "peak_bytes", PK_FIT_LINE}, "not exact"},
                {{"f", "work_ns", "busy_ns", PK_FIT_LINE, "memory busy_ns"}, "ignores 'busy_ns'"},
                {{"f", "work_ns", "busy_ns", PK_FIT_LINE, "layers"}, "ignores 'layers'"}};
    for (size_t i = 0; i < sizeof fits / sizeof *fits; i++) {
        broken.fits = (const struct pk_fit_row[]){fits[i].fit, {0}};
        assert_invalid(fits[i].bad);
    }
    broken.fits = (const struct pk_fit_row[]){{"f", "work_ns", "leaves", PK_FIT_LINE, "memory"}, {0}};
    broken.metrics = (const struct pk_metric[]){{"leaves", "1", "x", .class = PK_CLASS_EXACT}, {0}};
    assert_null(probe_invalid(&broken, &arena));
    broken.metrics = (const struct pk_metric[]){{"memory", "1", "x", .class = PK_CLASS_EXACT}, {0}};
    broken.fits = (const struct pk_fit_row[]){{"f", "work_ns", "memory", PK_FIT_LINE}, {0}};
    assert_invalid("an axis and a metric");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_probe_is_sound, forget),
        cmocka_unit_test_teardown(tables_are_embedded, forget),
        cmocka_unit_test_teardown(metrics_follow_from_regions, forget),
        cmocka_unit_test_teardown(broken_promises_are_named, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
