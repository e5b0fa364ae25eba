/* A device's own promises on real hardware: its pool, marks, copies, graphs, and what is left after memory ran out. */
#include "build_config.h"
#include "device/lane.h"
#include "given.h"
#include "isolated.h"
#include "ops/ops.h"
#ifdef PK_HAVE_CUDA
#include "device/cuda/cuda.h"
#endif

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

enum { N = 8193, BYTES = N * sizeof(float) };

static struct given given;
static struct pk_device dev;
static struct pk_err err;

static int open_device(void **state)
{
    given_open(&dev, &given, &(struct pk_device_options){0});
    return 0;
}

static int close_device(void **state)
{
    given_close(&dev);
    return 0;
}

static void must(enum pk_code rc)
{
    if (rc)
        fail_msg("%s: %s", err.what, err.why);
}

static void *taken(size_t bytes)
{
    void *p = pk_device_alloc(&dev, bytes, PK_TAG_OTHER);
    assert_non_null(p);
    return p;
}

static void copy(enum pk_lane lane, enum pk_copy dir, void *dst, const void *src)
{
    must(pk_device_copy(&dev, lane, dir, dst, src, BYTES, &err));
}

static void pool_counts(void **state)
{
    const size_t unit = 1 << 20;
    void *a = taken(unit), *b = taken(2 * unit);
    assert_true(dev.pool.current == 3 * unit && dev.pool.peak == 3 * unit && dev.pool.reserved >= 3 * unit);
    pk_device_free(&dev, b);
    assert_true(dev.pool.current == unit && dev.pool.peak == 3 * unit);
    const size_t reserved = dev.pool.reserved;
    void *again = taken(2 * unit);
    assert_true(again == b && dev.pool.reserved == reserved); /* nothing new from the device */
    pk_device_free(&dev, again);
    pk_device_free(&dev, a);
    pk_pool_trim(&dev.pool);
    assert_true(dev.pool.reserved == 0 && dev.pool.current == 0);
    assert_true((uintptr_t)a % 64 == 0 && (uintptr_t)b % 64 == 0);
}

static void fill_bytes(unsigned char *v, unsigned seed)
{
    for (size_t i = 0; i < BYTES; i++)
        v[i] = (unsigned char)(i * 31 + i / 256 + seed);
}

static void copies_on_every_lane(void **state)
{
    static unsigned char from[BYTES], to[BYTES];
    unsigned char *x = taken(BYTES), *y = taken(BYTES);
    for (unsigned lane = 0; lane < PK_LANE_HOST; lane++) {
        fill_bytes(from, lane);
        memset(to, 0, sizeof to);
        copy(lane, PK_COPY_HOST_TO_DEVICE, x, from);
        copy(lane, PK_COPY_ON_DEVICE, y, x);
        copy(lane, PK_COPY_DEVICE_TO_HOST, to, y);
        must(pk_device_sync(&dev, &err));
        assert_memory_equal(from, to, BYTES);
    }
    pk_device_free(&dev, x);
    pk_device_free(&dev, y);
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A lane that is kept busy for 5 ms shows 5 ms; the least of a few, as other processes only add. */
static void marks_see_a_delay(void **state)
{
    enum { ROUNDS = 5 }; /* the first makes events */
    const uint64_t ns = 5000000;
    uint64_t busy = UINT64_MAX, idle = UINT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        pk_marks_clear(&dev.marks);
        pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
        pk_device_delay(&dev, PK_LANE_COMPUTE, ns);
        pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
        pk_mark_begin(&dev, 1, PK_LANE_COMPUTE);
        pk_mark_end(&dev, 1, PK_LANE_COMPUTE);
        must(pk_device_sync(&dev, &err));
        busy = least(busy, pk_mark_lane_ns(&dev, &dev.marks.v[0]));
        idle = least(idle, pk_mark_lane_ns(&dev, &dev.marks.v[1]));
    }
    print_message("a delay of %.3f ms is %.3f ms by marks, nothing is %.6f ms\n", (double)ns / 1e6,
                  (double)busy / 1e6, (double)idle / 1e6);
    assert_in_range(busy, ns * 9 / 10, ns * 20); /* a machine that is shared may stop the host for long */
    assert_true(idle < ns / 10);
}

static void many_marks(void **state)
{
    enum { MARKS = 2000 };
    pk_marks_clear(&dev.marks);
    for (int i = 0; i < MARKS; i++) {
        pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
        pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    }
    must(pk_device_sync(&dev, &err));
    assert_int_equal(dev.marks.n, MARKS);
    for (int i = 0; i < MARKS; i++)
        assert_true(pk_mark_lane_ns(&dev, &dev.marks.v[i]) < 1000000000);
}

/* The limit and the hardware's own end: an answer with sizes, and everything works on. */
static void out_of_memory_is_recoverable(void **state)
{
    dev.pool.limit = 1 << 20;
    assert_null(pk_device_alloc(&dev, 2 << 20, PK_TAG_OTHER));
    assert_int_equal(pk_device_oom(&dev, &err), PK_E_OOM);
    assert_true(err.what[0] && err.why[0] && err.fix[0]);
    dev.pool.limit = SIZE_MAX;
    assert_null(pk_device_alloc(&dev, (size_t)1 << 46, PK_TAG_OTHER)); /* 64 TiB */
    assert_int_equal(pk_device_oom(&dev, &err), PK_E_OOM);
    must(pk_device_sync(&dev, &err));
    assert_false(pk_device_broken(&dev));
    copies_on_every_lane(NULL);
}

/* y = x / 2, marked: what is captured below. */
static enum pk_code halve(const float *x, float *y)
{
    pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
    enum pk_code rc = pk_op_scale(&dev, PK_FP32, 0.5f, x, y, N, &err);
    pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    return rc;
}

static void graphs_replay_with_marks(void **state)
{
    if (!pk_graph_supported(&dev) || !pk_ops_of(&dev)->scale) {
        print_message("%s has no graphs, or no op to capture\n", given.device);
        skip();
    }
    static float host[N], got[N];
    float *x = taken(BYTES), *y = taken(BYTES);
    struct pk_graph *g = NULL;
    must(halve(x, y)); /* so that the capture reserves nothing */
    must(pk_device_sync(&dev, &err));
    must(pk_graph_begin(&dev, &err));
    pk_marks_clear(&dev.marks);
    must(pk_graph_end(&dev, halve(x, y), &g, &err));
    for (int round = 1; round < 4; round++) {
        for (size_t i = 0; i < N; i++)
            host[i] = (float)(i * round);
        copy(PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, x, host);
        must(pk_graph_replay(&dev, g, &err));
        copy(PK_LANE_COMPUTE, PK_COPY_DEVICE_TO_HOST, got, y);
        must(pk_device_sync(&dev, &err));
        for (size_t i = 0; i < N; i++)
            assert_true(got[i] == 0.5f * host[i]);
        assert_in_range(pk_mark_lane_ns(&dev, &dev.marks.v[0]), 1, 100000000);
    }
    pk_graph_free(&dev, g);
    pk_device_free(&dev, x);
    pk_device_free(&dev, y);
}

#ifdef PK_HAVE_CUDA
static void cuda_only(void)
{
    if (dev.kind != PK_DEVICE_CUDA) {
        print_message("%s is not a GPU\n", given.device);
        skip();
    }
}

static void pinned_memory(void **state)
{
    cuda_only();
    unsigned char *from = pk_cuda_pinned(&dev, BYTES), *to = pk_cuda_pinned(&dev, BYTES);
    assert_true(from && to);
    unsigned char *x = taken(BYTES);
    fill_bytes(from, 3);
    memset(to, 0, BYTES);
    copy(PK_LANE_COPY, PK_COPY_HOST_TO_DEVICE, x, from);
    copy(PK_LANE_COPY, PK_COPY_DEVICE_TO_HOST, to, x);
    must(pk_device_sync(&dev, &err));
    assert_memory_equal(from, to, BYTES);
    pk_device_free(&dev, x);
    pk_cuda_unpin(&dev, from); /* `to` is forgotten on purpose: closing frees it */
}

static void the_l2_is_flushed(void **state)
{
    cuda_only();
    const struct pk_cuda_traits *traits = pk_cuda_traits(&dev);
    print_message("%s, capability %d, %d multiprocessors, L2 %zu bytes\n", traits->name, traits->capability,
                  traits->multiprocessors, traits->l2_bytes);
    assert_true(traits->capability >= 70 && traits->multiprocessors > 0 && traits->l2_bytes > 0);
    const size_t before = dev.pool.current;
    must(pk_cuda_flush_l2(&dev, &err)); /* takes its memory */
    pk_marks_clear(&dev.marks);
    pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
    must(pk_cuda_flush_l2(&dev, &err));
    pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    must(pk_device_sync(&dev, &err));
    const uint64_t ns = pk_mark_lane_ns(&dev, &dev.marks.v[0]);
    assert_true(dev.pool.current == before);
    assert_true(2 * traits->l2_bytes / (ns + 1) < 100000); /* no GPU writes 100 TB/s: it did write */
}

static enum pk_code takes_memory(void)
{
    assert_null(pk_device_alloc(&dev, (size_t)64 << 20, PK_TAG_OTHER));
    return pk_device_oom(&dev, &err);
}

static enum pk_code takes_pinned_memory(void)
{
    assert_null(pk_cuda_pinned(&dev, BYTES));
    return PK_OK;
}

static enum pk_code waits(void)
{
    return pk_device_sync(&dev, &err);
}

/* What a capture forbids costs that capture: the device goes on, and captures again. */
static void captures_refuse_what_they_forbid(void **state)
{
    cuda_only();
    static enum pk_code (*const forbidden[])(void) = {takes_memory, takes_pinned_memory, waits};
    float *x = taken(BYTES), *y = taken(BYTES);
    must(halve(x, y));
    must(pk_device_sync(&dev, &err));
    for (size_t i = 0; i < sizeof forbidden / sizeof *forbidden; i++) {
        struct pk_graph *g = NULL;
        must(pk_graph_begin(&dev, &err));
        pk_marks_clear(&dev.marks);
        const enum pk_code refused = forbidden[i]();
        assert_int_equal(pk_graph_end(&dev, refused, &g, &err), PK_E_INTERNAL);
        print_message("%s: %s\n", err.what, err.why);
        assert_null(g);
        assert_false(pk_device_broken(&dev));
        must(pk_device_sync(&dev, &err));
        graphs_replay_with_marks(NULL);
    }
    pk_device_free(&dev, x);
    pk_device_free(&dev, y);
}

/* A kernel that reads where there is no memory: its error stays, whatever follows, and closing the device ends all the same. */
static void a_bad_address_breaks_the_context(void **state)
{
    cuda_only();
    static char host[BYTES];
    const float *nowhere = (const float *)(uintptr_t)4096;
    float *y = taken(BYTES);
    isolated_renew();
    const enum pk_code launched = pk_op_scale(&dev, PK_FP32, 0.5f, nowhere, y, N, &err);
    assert_true(launched || pk_device_sync(&dev, &err));
    print_message("%s: %s\n", err.what, err.why);
    assert_true(pk_device_broken(&dev));
    assert_int_not_equal(pk_device_copy(&dev, PK_LANE_COPY, PK_COPY_DEVICE_TO_HOST, host, y, BYTES, &err),
                         PK_OK);
    assert_int_not_equal(pk_device_sync(&dev, &err), PK_OK);
    assert_null(pk_device_alloc(&dev, (size_t)64 << 20, PK_TAG_OTHER));
    assert_int_equal(pk_device_oom(&dev, &err), PK_E_INTERNAL); /* not "out of memory" */
}

static void a_new_process_works(void **state)
{
    cuda_only();
    assert_false(pk_device_broken(&dev));
    copies_on_every_lane(NULL);
}
#endif

#define ON_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_device, close_device)

static void begin(int argc, char **argv)
{
    given = given_device(argc, argv);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ON_DEVICE(pool_counts),
        ON_DEVICE(copies_on_every_lane),
        ON_DEVICE(marks_see_a_delay),
        ON_DEVICE(many_marks),
        ON_DEVICE(graphs_replay_with_marks),
#ifdef PK_HAVE_CUDA
        ON_DEVICE(pinned_memory),
        ON_DEVICE(the_l2_is_flushed),
        ON_DEVICE(captures_refuse_what_they_forbid),
#endif
        ON_DEVICE(out_of_memory_is_recoverable),
#ifdef PK_HAVE_CUDA
        ON_DEVICE(a_bad_address_breaks_the_context),
        ON_DEVICE(a_new_process_works),
#endif
    };
    return isolated_run(tests, sizeof tests / sizeof *tests, begin, argc, argv);
}
