/* Breakdown: sums, unions and gaps of made-up intervals, and kernels to regions by when they were asked for. */
#include "counter/breakdown.h"
#include "counter/tracing.h"
#include "device/device.h"
#include "ops/ops.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { FORWARD, BACKWARD };

static struct pk_arena arena;

static int free_arena(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static struct pk_kernel piece(int region, uint32_t occurrence, enum pk_kernel_family family, uint64_t begin,
                              uint64_t end)
{
    return (struct pk_kernel){.name = "made up",
                              .region = region,
                              .occurrence = occurrence,
                              .family = family,
                              .begin_ns = begin,
                              .end_ns = end,
                              .bytes = 10};
}

static const struct pk_region_time *region(const struct pk_breakdown *b, int which)
{
    for (size_t i = 0; i < b->n_regions; i++)
        if (b->regions[i].region == which)
            return &b->regions[i];
    return NULL;
}

static const struct pk_family_time *family(const struct pk_breakdown *b, int which, enum pk_kernel_family f)
{
    for (size_t i = 0; i < b->n_families; i++)
        if (b->families[i].region == which && b->families[i].family == f)
            return &b->families[i];
    return NULL;
}

/* Overlap counts once in the union and twice in the sum; gaps are within occurrences, but for the whole. */
static void unions_and_gaps(void **state)
{
    struct pk_kernel v[] = {
        piece(FORWARD, 0, PK_FAMILY_GEMM, 100, 200),    piece(FORWARD, 0, PK_FAMILY_SOFTMAX, 150, 260),
        piece(FORWARD, 0, PK_FAMILY_GEMM, 170, 180),    piece(FORWARD, 0, PK_FAMILY_COPY, 300, 310),
        piece(FORWARD, 1, PK_FAMILY_GEMM, 1000, 1100),  piece(BACKWARD, 2, PK_FAMILY_OTHER, 1200, 1200),
        piece(PK_NO_REGION, 0, PK_FAMILY_COMM, 50, 60),
    };
    const struct pk_trace t = {v, sizeof v / sizeof *v, 10, 0};
    struct pk_breakdown b;
    pk_breakdown_make(&t, &arena, &b);
    assert_true(b.whole);
    const struct pk_region_time *f = region(&b, FORWARD), *all = region(&b, PK_WHOLE),
                                *back = region(&b, BACKWARD);
    assert_int_equal(f->calls, 5);
    assert_int_equal(f->occurrences, 2);
    assert_int_equal(f->time_ns, 100 + 110 + 10 + 10 + 100);
    assert_int_equal(f->busy_ns, 160 + 10 + 100);
    assert_int_equal(f->gap_ns, 40);
    assert_int_equal(back->busy_ns + back->gap_ns, 0);
    assert_int_equal(back->calls, 1);
    assert_int_equal(all->calls, 7);
    assert_int_equal(all->busy_ns, 10 + 160 + 10 + 100);
    assert_int_equal(all->gap_ns, 1200 - 50 - all->busy_ns);
    assert_int_equal(b.regions[0].region, PK_WHOLE);
    assert_int_equal(b.regions[b.n_regions - 1].region, PK_NO_REGION);
    assert_int_equal(family(&b, FORWARD, PK_FAMILY_GEMM)->calls, 3);
    assert_int_equal(family(&b, FORWARD, PK_FAMILY_GEMM)->time_ns, 210);
    assert_int_equal(family(&b, FORWARD, PK_FAMILY_GEMM)->bytes, 30);
    assert_float_equal(family(&b, FORWARD, PK_FAMILY_GEMM)->share, 210.0 / 330, 1e-12);
    assert_null(family(&b, FORWARD, PK_FAMILY_COMM));
    assert_int_equal(family(&b, PK_NO_REGION, PK_FAMILY_COMM)->time_ns, 10);
}

static void order_does_not_matter_and_the_longest_is_first(void **state)
{
    struct pk_kernel v[] = {piece(FORWARD, 0, PK_FAMILY_COPY, 300, 310),
                            piece(FORWARD, 0, PK_FAMILY_SOFTMAX, 150, 260),
                            piece(FORWARD, 0, PK_FAMILY_GEMM, 100, 200)};
    const struct pk_trace t = {v, 3, 3, 2};
    struct pk_breakdown b;
    pk_breakdown_make(&t, &arena, &b);
    assert_false(b.whole); /* two were dropped */
    assert_int_equal(b.n_families, 6);
    assert_int_equal(b.families[0].family, PK_FAMILY_SOFTMAX);
    assert_int_equal(b.families[2].family, PK_FAMILY_COPY);
    assert_int_equal(b.regions[0].busy_ns, 170);
    assert_int_equal(b.regions[0].gap_ns, 40);
}

static void nothing_is_nothing(void **state)
{
    const struct pk_trace t = {0};
    struct pk_breakdown b;
    pk_breakdown_make(&t, &arena, &b);
    assert_int_equal(b.n_regions + b.n_families, 0);
}

static void agreement_with_the_timing(void **state)
{
    const struct pk_region_time r = {.busy_ns = 900, .gap_ns = 130};
    assert_float_equal(pk_breakdown_off(&r, 1000), 0.03, 1e-12);
    assert_true(fabs(pk_breakdown_off(&r, 1000)) < PK_BREAKDOWN_AGREES);
    assert_true(isnan(pk_breakdown_off(&r, 0)));
}

static struct pk_mark mark(uint16_t region, uint64_t begin, uint64_t end)
{
    return (struct pk_mark){.region = region, .begin_host_ns = begin, .end_host_ns = end};
}

/* The innermost; ranges may cross; what runs later than its region still belongs to it. */
static void kernels_to_regions(void **state)
{
    struct pk_mark m[] = {mark(7, 100, 1000), mark(1, 200, 300), mark(2, 250, 500), mark(1, 600, 700)};
    const struct pk_marks marks = {.v = m, .n = 4};
    static const struct {
        uint64_t asked;
        int region;
        uint32_t occurrence;
    } expect[] = {
        {0, PK_NO_REGION, 0}, {99, PK_NO_REGION, 0}, {100, 7, 0}, {220, 1, 1}, {299, 2, 2},
        {400, 2, 2},          {500, 7, 0},           {650, 1, 3}, {700, 7, 0}, {1000, PK_NO_REGION, 0}};
    enum { N = sizeof expect / sizeof *expect };
    struct pk_kernel v[N];
    for (size_t i = 0; i < N; i++)
        v[N - 1 - i] = (struct pk_kernel){.asked_ns = expect[i].asked, .begin_ns = 5000, .end_ns = 6000};
    pk_breakdown_regions(v, N, &marks);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(v[i].asked_ns, expect[i].asked);
        assert_int_equal(v[i].region, expect[i].region);
        assert_int_equal(v[i].occurrence, expect[i].occurrence);
    }
}

/* Ops of a device that computes on this thread, in regions; on the null device their times are exact. */
static void ops_are_written_down(void **state)
{
    const struct pk_device_options none = {0};
    struct pk_device dev;
    struct pk_err err;
    struct pk_tracing *tracing;
    const struct pk_trace *t;
    struct pk_breakdown b;
    assert_int_equal(pk_device_open(&dev, "null", &none, &err), 0);
    assert_int_equal(pk_tracing_open(&pk_counter_host, &dev, 4, &arena, &tracing, &err), 0);
    float *x = pk_device_alloc(&dev, 1 << 20, PK_TAG_ACTIVATIONS),
          *y = pk_device_alloc(&dev, 1 << 20, PK_TAG_ACTIVATIONS);
    assert_int_equal(pk_op_scale(&dev, PK_FP32, 2, x, y, 1024, &err), 0); /* before: not traced */
    for (int iteration = 0; iteration < 2; iteration++) {
        pk_marks_clear(&dev.marks);
        assert_int_equal(pk_tracing_start(tracing, &err), 0);
        bool was = pk_timed_region(true);
        pk_mark_begin(&dev, FORWARD, PK_LANE_COMPUTE);
        assert_int_equal(pk_op_scale(&dev, PK_FP32, 2, x, y, 1 << 18, &err), 0);
        assert_int_equal(pk_op_softmax(&dev, PK_FP32, x, y, 512, 512, &err), 0);
        pk_mark_end(&dev, FORWARD, PK_LANE_COMPUTE);
        pk_mark_begin(&dev, BACKWARD, PK_LANE_COMPUTE);
        assert_int_equal(pk_op_softmax_backward(&dev, PK_FP32, x, y, y, 512, 512, &err), 0);
        pk_mark_end(&dev, BACKWARD, PK_LANE_COMPUTE);
        assert_int_equal(pk_device_copy(&dev, PK_LANE_COPY, PK_COPY_ON_DEVICE, y, x, 4096, &err), 0);
        if (iteration)
            assert_int_equal(pk_op_scale(&dev, PK_FP32, 2, x, y, 1 << 18, &err), 0);
        pk_timed_region(was);
        assert_int_equal(pk_tracing_stop(tracing, &t, &err), 0);
        assert_int_equal(t->n, 4);
        assert_int_equal(t->dropped, iteration); /* the fifth found no room, and is told of */
    }
    pk_breakdown_make(t, &arena, &b);
    assert_false(b.whole);
    const double scale_ns = pk_work_scale(PK_FP32, 1 << 18).bytes / 1024;
    assert_float_equal((double)family(&b, FORWARD, PK_FAMILY_ELEMENTWISE)->time_ns, scale_ns, 0);
    assert_int_equal(family(&b, FORWARD, PK_FAMILY_SOFTMAX)->calls, 1);
    assert_int_equal(family(&b, BACKWARD, PK_FAMILY_SOFTMAX)->calls, 1);
    assert_int_equal(family(&b, PK_NO_REGION, PK_FAMILY_COPY)->bytes, 4096);
    assert_int_equal(region(&b, FORWARD)->gap_ns, 0);
    pk_tracing_close(tracing);
    assert_null(dev.trace);
    pk_device_free(&dev, x);
    pk_device_free(&dev, y);
    pk_device_close(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_and_gaps),
        cmocka_unit_test(order_does_not_matter_and_the_longest_is_first),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(agreement_with_the_timing),
        cmocka_unit_test(kernels_to_regions),
        cmocka_unit_test(ops_are_written_down),
    };
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
