/* Rectangles and tree-patch's weights on the fake runtime: by launches, by a table, by a graph; what it costs in calls; refusals. */
#include "ops/ops.h"

#include "../device/fake_cuda.h"
#include "bench/measure/measure.h"
#include "device/cuda/cuda.h"
#include "model/tree/weights.h"
#include "op_checks.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static struct pk_device dev;
static struct pk_err err;
static struct pk_arena arena;
static struct trial trial = {.dev = &dev, .label = "the fake runtime"};

static int open_device(void **state)
{
    fake_cuda_reset();
    fake_cuda.memory_bytes = 1 << 28;
    pk_cuda_use(&fake_cuda_api);
    return (int)pk_device_open(&dev, "cuda", &(struct pk_device_options){0}, &err);
}

static int close_device(void **state)
{
    const size_t left = dev.pool.current;
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    pk_arena_free(&arena);
    return left || fake_cuda.live_blocks || fake_cuda.live_events || fake_cuda.live_streams ||
           fake_cuda.live_graphs || fake_cuda.live_execs;
}

static void rectangles_match(void **state)
{
    check_copies(&trial, OPS_USUAL);
    check_fills(&trial);
}

enum { N = 5, BYTES = 256 };

/* Copies of `from` to `to`, and what both hold before. */
static void make(struct pk_copy2d v[N], unsigned char **from, unsigned char **to)
{
    *from = pk_device_alloc(&dev, N * BYTES, PK_TAG_OTHER);
    *to = pk_device_alloc(&dev, N * BYTES, PK_TAG_OTHER);
    assert_true(*from && *to);
    memset(*from, 0, N * BYTES);
    memset(*to, 0xff, N * BYTES);
    for (size_t i = 0; i < N; i++) {
        (*from)[i * BYTES] = (unsigned char)(i + 1);
        v[i] = (struct pk_copy2d){*from + i * BYTES, *to + i * BYTES, 1, BYTES, BYTES, BYTES};
    }
}

/* What a cut asks of the runtime besides launches: nothing is uploaded in a timed region. */
static void every_way_cuts(void **state)
{
    static const struct {
        enum pk_slicing how;
        unsigned long calls;
        int launches;
    } ways[] = {{PK_SLICE_PER_LEAF, 0, N}, {PK_SLICE_BATCHED, 0, 1}, {PK_SLICE_GRAPH, 1, 0}};
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        struct pk_copy2d v[N];
        struct pk_slices s;
        unsigned char *from, *to;
        make(v, &from, &to);
        const size_t before = dev.pool.current;
        assert_int_equal(pk_slices_make(&dev, ways[w].how, v, N, &s, &err), PK_OK);
        assert_int_equal(to[0], 0xff); /* nothing is copied yet */
        assert_int_equal(dev.pool.current > before, ways[w].how == PK_SLICE_BATCHED);
        const unsigned long calls = fake_cuda.calls;
        const int launches = fake_cuda.launches;
        assert_int_equal(pk_slices_cut(&dev, &s, &err), PK_OK);
        assert_int_equal(fake_cuda.calls - calls, ways[w].calls);
        assert_int_equal(fake_cuda.launches - launches, ways[w].launches);
        assert_memory_equal(from, to, N * BYTES);
        memset(from, 7, N * BYTES); /* and again, of what is there then */
        assert_int_equal(pk_slices_cut(&dev, &s, &err), PK_OK);
        assert_memory_equal(from, to, N * BYTES);
        pk_slices_free(&dev, &s);
        assert_int_equal(dev.pool.current, before);
        pk_device_free(&dev, from);
        pk_device_free(&dev, to);
    }
}

static void nothing_to_copy(void **state)
{
    struct pk_copies none;
    assert_int_equal(pk_copies_make(&dev, NULL, 0, &none, &err), PK_OK);
    assert_int_equal(pk_op_copies(&dev, &none, &err), PK_OK);
    assert_int_equal(dev.pool.current, 0);
    pk_copies_free(&dev, &none);
}

/* A table that does not fit, an upload and a capture that fail: the error, and no memory or graph left. */
static void refusals(void **state)
{
    struct pk_copy2d v[N];
    struct pk_slices s;
    unsigned char *from, *to;
    make(v, &from, &to);
    dev.pool.fail_at = 1;
    assert_int_equal(pk_slices_make(&dev, PK_SLICE_BATCHED, v, N, &s, &err), PK_E_OOM);
    pk_slices_free(&dev, &s);
    for (unsigned long at = 1; at <= 4; at++) {
        fake_cuda.fail_at = at;
        fake_cuda.fail_with = cudaErrorInvalidValue;
        assert_int_equal(pk_slices_make(&dev, PK_SLICE_GRAPH, v, N, &s, &err), PK_E_INTERNAL);
        pk_slices_free(&dev, &s);
        fake_cuda.fail_at = 0;
    }
    pk_device_free(&dev, from);
    pk_device_free(&dev, to);
}

static struct pk_case case_of(unsigned variant, const char *slicing, const char *dtype, const char *staging)
{
    struct pk_case c = {.probe = pk_probe_find("tree-patch"), .variant = variant};
    json_t *axes = json_pack("{s:i, s:i, s:i, s:i, s:s, s:i, s:s, s:s, s:s}", "layers", 2, "hidden", 64,
                             "intermediate", 128, "vocab", 40, "weights", "real", "tp", 4, "slicing", slicing,
                             "dtype", dtype, "staging", staging);
    assert_int_equal(pk_point_from_json(c.probe->axes, axes, &arena, &c.at, &err), PK_OK);
    json_decref(axes);
    return c;
}

static const struct pk_slice *measure(struct pk_case c, struct pk_slice *out)
{
    pk_measure_case(&(struct pk_measure){.c = &c,
                                         .dev = &dev,
                                         .check = true,
                                         .seed = 7,
                                         .stop = {.min_samples = 3, .max_samples = 3, .max_noise = 1}},
                    &arena, out);
    return out;
}

/* Checked by the probe against what a fill defines: at its check points and at this size. */
static void tree_patch_slices_in_every_way(void **state)
{
    static const char *const ways[] = {"per-leaf", "batched", "graph"}, *const types[] = {"fp32", "bf16"},
                             *const stagings[] = {"model", "layer"};
    const struct pk_variant *variants = pk_probe_find("tree-patch")->variants;
    for (unsigned v = 0; variants[v].name; v++)
        for (size_t i = 0; i < 3 * 2 * 2; i++) {
            struct pk_slice s;
            const struct pk_case c = case_of(v, ways[i / 4], types[i / 2 % 2], stagings[i % 2]);
            if ((c.probe->skip)(&c, PK_DEVICE_CUDA)) { /* cmocka has a macro of that name */
                assert_true(!strcmp(variants[v].name, "resident") && i % 2);
                continue;
            }
            if (measure(c, &s)->status != PK_ST_OK)
                fail_msg("%s, %s %s %s: %s", variants[v].name, ways[i / 4], types[i / 2 % 2], stagings[i % 2],
                         s.message);
            assert_int_equal(dev.pool.current, 0);
        }
}

/* Layer by layer the host only puts operations into a lane: the buffer is used again without a wait. */
static void no_wait_between_layers(void **state)
{
    const struct pk_case c = case_of(0, "batched", "bf16", "layer");
    struct pk_ctx ctx = {.c = &c, .dev = &dev, .arena = &arena};
    assert_int_equal(c.probe->setup(&ctx, &err), PK_OK);
    pk_marks_clear(&dev.marks);
    fake_cuda.host_waits = 0;
    assert_int_equal(c.probe->run(&ctx, &err), PK_OK);
    assert_int_equal(fake_cuda.host_waits, 0);
    assert_int_equal(pk_device_sync(&dev, &err), PK_OK);
    assert_int_equal(c.probe->check(&ctx, true, &err), PK_OK);
    c.probe->teardown(&ctx);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(rectangles_match),
        TEST(every_way_cuts),
        TEST(nothing_to_copy),
        TEST(refusals),
        TEST(tree_patch_slices_in_every_way),
        TEST(no_wait_between_layers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
