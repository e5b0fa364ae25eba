/* tree-patch: memory and work are what the shapes say; every way is right on the CPU, with weights too. */
#include "bench/measure/measure.h"
#include "device/null.h"
#include "device/trace.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <string.h>

static struct pk_arena arena;
static const char tiny[] = "\"layers\":2,\"hidden\":64,\"intermediate\":128,\"vocab\":40";

static struct pk_case case_of(unsigned variant, const char *more)
{
    struct pk_err err = {0};
    const struct pk_probe *p = pk_probe_find("tree-patch");
    struct pk_case c = {.probe = p, .variant = variant};
    json_t *axes = json_loads(pk_printf(&arena, "{%s%s}", tiny, more), 0, NULL);
    if (pk_point_from_json(p->axes, axes, &arena, &c.at, &err))
        fail_msg("%s: %s", err.what, err.why);
    json_decref(axes);
    return c;
}

static void measure(const char *device, const struct pk_case *c, struct pk_slice *out)
{
    struct pk_err err = {0};
    struct pk_device dev;
    const struct pk_device_options opt = {0};
    if (pk_device_open(&dev, device, &opt, &err))
        fail_msg("%s: %s", err.what, err.why);
    const struct pk_measure m = {.c = c,
                                 .dev = &dev,
                                 .pass = PK_PASS_TIMING,
                                 .invocation = 1,
                                 .check = true,
                                 .seed = 7,
                                 .stop = {.min_samples = 3, .max_samples = 3, .max_noise = 1, .warmup = 0}};
    pk_measure_case(&m, &arena, out);
    pk_device_close(&dev);
    if (out->status != PK_ST_OK)
        fail_msg("%s: %s", c->probe->variants[c->variant].name, out->message);
}

/* Of the first iteration, all occurrences added up; -1 when the metric has no samples. */
static int64_t value_of(const struct pk_slice *s, const char *metric)
{
    int64_t sum = -1;
    for (size_t i = 0; i < s->n_series; i++)
        if (!strcmp(s->metrics[s->series[i].metric].name, metric) && s->series[i].phase == PK_PHASE_STEADY)
            sum = (sum < 0 ? 0 : sum) + s->series[i].integer[0] / s->series[i].reps;
    return sum;
}

#define LAYER_BY_LAYER ",\"weights\":\"real\",\"tp\":2,\"staging\":\"layer\""

static void right_with_weights_and_memory_as_predicted(void **state)
{
    static const char *const more[] = {",\"weights\":\"real\",\"tp\":2,\"slicing\":\"per-leaf\"",
                                       ",\"weights\":\"real\",\"tp\":8,\"slicing\":\"batched\"",
                                       ",\"weights\":\"real\",\"tp\":4,\"patches\":5,\"matcher\":\"fnmatch\"",
                                       ",\"weights\":\"real\",\"tp\":4,\"dtype\":\"bf16\"",
                                       LAYER_BY_LAYER ",\"dtype\":\"bf16\"",
                                       LAYER_BY_LAYER ",\"slicing\":\"per-leaf\",\"patches\":3"};
    static const char *const devices[] = {"cpu", "null"};
    for (unsigned v = 0; pk_probe_find("tree-patch")->variants[v].name; v++)
        for (size_t i = 0; i < sizeof more / sizeof *more; i++)
            for (size_t d = 0; d < 2; d++) {
                struct pk_slice s;
                const struct pk_case c = case_of(v, more[i]);
                if ((c.probe->skip)(&c, PK_DEVICE_CPU)) /* cmocka has a macro of that name */
                    continue;
                measure(devices[d], &c, &s);
                assert_int_equal(value_of(&s, "peak_bytes"),
                                 c.probe->predict(&c, PK_DEVICE_NULL, PK_PEAK_BYTES));
                pk_arena_free(&arena);
            }
}

/* A case without weights takes no device memory, and has the regions that its operation has. */
static void regions_of_each_operation(void **state)
{
    static const struct {
        const char *more;
        bool match, tree_op, partition, unflatten;
    } rows[] = {{"", true, true, false, false},
                {",\"op\":\"combine\"", false, true, true, false},
                {",\"op\":\"flatten\"", false, true, false, true}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pk_slice s;
        const struct pk_case c = case_of(0, rows[i].more);
        measure("cpu", &c, &s);
        assert_int_equal(value_of(&s, "match_ns") >= 0, rows[i].match);
        assert_int_equal(value_of(&s, "transform_ns") >= 0, rows[i].match);
        assert_int_equal(value_of(&s, "tree_op_ns") >= 0, rows[i].tree_op);
        assert_int_equal(value_of(&s, "partition_ns") >= 0, rows[i].partition);
        assert_int_equal(value_of(&s, "unflatten_ns") >= 0, rows[i].unflatten);
        assert_int_equal(value_of(&s, "peak_bytes"), 0);
        assert_int_equal(value_of(&s, "leaves"), 16 * 2 + 10);
        assert_int_equal(value_of(&s, "nodes"), 49 * 2 + 34);
        pk_arena_free(&arena);
    }
}

enum { CREATE, MATCH, TRANSFORM, TREE_OP };

/* The nodes above the targets of 2 layers: root, bert, encoder, layer (2 slots), six a layer, once read and once written. Slices: half of
 * every divided array, read and written. */
static void work_is_what_the_shapes_say(void **state)
{
    const struct pk_case plain = case_of(0, ""), real = case_of(0, ",\"weights\":\"real\",\"tp\":2");
    const double nodes = 16.0 * (4 + 6 * 2);
    const double slots = 8.0 * (2 + 2 + 1 + 2 + 2 * (3 + 2 + 4 + 3 + 1 + 3));
    assert_float_equal(plain.probe->work(&plain, TREE_OP).bytes, 2 * (nodes + slots), 0);
    assert_float_equal(plain.probe->work(&plain, CREATE).bytes, 16.0 * (49 * 2 + 34) + 8 * (49 * 2 + 33), 0);
    /* six modules a layer: 8 parameters divided of column, 2 of row ones */
    assert_float_equal(plain.probe->work(&plain, TRANSFORM).bytes, 2 * 2 * (6 * 32 + 10 * 24), 0);
    const double h = 64, i = 128;
    const double halves = 2 * 4 * (3 * (h * h + h) + (i * h + i) + (h * i) + (h * h)) / 2;
    assert_float_equal(real.probe->work(&real, TRANSFORM).bytes, 2 * halves, 0);
    pk_arena_free(&arena);
}

/* One iteration's ops and copies, summed by region as they are asked for. */
static void trace(const struct pk_case *c, struct pk_tape *tape)
{
    struct pk_err err = {0};
    struct pk_device dev;
    struct pk_arena host = {0};
    struct pk_trace t = {.tape = tape};
    *tape = (struct pk_tape){0};
    assert_int_equal(pk_device_open(&dev, "cpu", &(struct pk_device_options){0}, &err), PK_OK);
    struct pk_ctx ctx = {.c = c, .dev = &dev, .arena = &host};
    assert_int_equal(c->probe->setup(&ctx, &err), PK_OK);
    pk_marks_clear(&dev.marks);
    dev.trace = &t;
    assert_int_equal(c->probe->run(&ctx, &err), PK_OK);
    dev.trace = NULL;
    c->probe->teardown(&ctx);
    pk_device_close(&dev);
    pk_arena_free(&host);
}

static double bytes_in(const struct pk_tape *tape, unsigned region)
{
    double bytes = 0;
    for (size_t f = 0; f < PK_FAMILIES; f++)
        bytes += tape->of[1 + region][f].bytes;
    return bytes;
}

/* With real weights a region declares what is asked of the device in it, uploads too; other variants' trees are the host's. */
static void asked_for_with(const char *more)
{
    const struct pk_variant *v = pk_probe_find("tree-patch")->variants;
    for (unsigned i = 0; v[i].name; i++) {
        struct pk_tape tape;
        const struct pk_case c = case_of(i, more);
        if ((c.probe->skip)(&c, PK_DEVICE_CPU)) /* cmocka has a macro of that name */
            continue;
        const bool on_device[] = {[CREATE] = true,
                                  [TRANSFORM] = strcmp(v[i].name, "built-in"),
                                  [TREE_OP] = !strcmp(v[i].name, "resident")};
        trace(&c, &tape);
        for (unsigned region = CREATE; region <= TREE_OP; region++) {
            const double asked = bytes_in(&tape, region);
            assert_int_equal(asked > 0, on_device[region]);
            if (on_device[region])
                assert_float_equal(c.probe->work(&c, region).bytes, asked, 0);
        }
        pk_arena_free(&arena);
    }
}

static void work_is_what_is_asked_for(void **state)
{
    asked_for_with(",\"weights\":\"real\",\"tp\":2");
    asked_for_with(",\"weights\":\"real\",\"tp\":2,\"dtype\":\"bf16\"");
    asked_for_with(LAYER_BY_LAYER ",\"dtype\":\"bf16\"");
}

/* What is not divided, the slices, and the whole weights of one layer; the times are those of the bytes, on the null device to the
 * nanosecond: a rounding for each layer's mark at most. */
static void layer_by_layer_on_the_null_device(void **state)
{
    enum { H = 64, I = 128, V = 40, LAYERS = 2 };
    struct pk_slice s;
    const struct pk_case c = case_of(0, LAYER_BY_LAYER ",\"dtype\":\"bf16\"");
    const int64_t layer = 2 * (3 * (H * H + H) + (I * H + I) + I * H + H * H);
    const int64_t shared = 2 * (LAYERS * (6 * H) + (V + 512 + 2) * H + 2 * H + H * H + H + 2 * H + V);
    measure("null", &c, &s);
    const int64_t peak = value_of(&s, "peak_bytes");
    assert_true(peak >= shared + LAYERS * layer / 2 + layer);
    assert_true(peak < shared + LAYERS * layer / 2 + layer + 256 * (16 * LAYERS + 10 + 10 * LAYERS + 10));
    const double ns = 1.0 / PK_NULL_BYTES_PER_NS;
    assert_float_equal(value_of(&s, "create_ns"), (double)(shared + LAYERS * layer) * ns, LAYERS + 1);
    assert_float_equal(value_of(&s, "transform_ns"), 2.0 * LAYERS * (double)layer / 2 * ns, LAYERS + 1);
    pk_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_with_weights_and_memory_as_predicted),
        cmocka_unit_test(regions_of_each_operation),
        cmocka_unit_test(work_is_what_the_shapes_say),
        cmocka_unit_test(work_is_what_is_asked_for),
        cmocka_unit_test(layer_by_layer_on_the_null_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
