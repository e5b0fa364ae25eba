/* Breakdown: sums, unions and gaps of made-up intervals, and kernels to regions by when they were asked for. */
#include "counter/breakdown.h"
#include "counter/tracing.h"
#include "device/lane.h"
#include "ops/ops.h"

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
                              .copied_bytes = 10,
                              .declared = {.flops = 1000, .bytes = 30}};
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

static void assert_declared(const struct pk_family_time *f, double flops, double bytes)
{
    assert_non_null(f);
    assert_float_equal(f->declared.flops, flops, 0);
    assert_float_equal(f->declared.bytes, bytes, 0);
}

/* Overlap counts once in the union and twice in the sum; gaps are within occurrences, except the whole. */
static void unions_and_gaps(void **state)
{
    struct pk_kernel v[] = {
        piece(FORWARD, 0, PK_FAMILY_GEMM, 100, 200),    piece(FORWARD, 0, PK_FAMILY_SOFTMAX, 150, 260),
        piece(FORWARD, 0, PK_FAMILY_GEMM, 170, 180),    piece(FORWARD, 0, PK_FAMILY_COPY, 300, 310),
        piece(FORWARD, 1, PK_FAMILY_GEMM, 1000, 1100),  piece(BACKWARD, 2, PK_FAMILY_OTHER, 1200, 1200),
        piece(PK_NO_REGION, 0, PK_FAMILY_COMM, 50, 60),
    };
    const struct pk_trace t = {.v = v, .n = sizeof v / sizeof *v};
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
    assert_int_equal(f->copied_bytes, 50);
    assert_int_equal(all->copied_bytes, 70);
    assert_declared(family(&b, FORWARD, PK_FAMILY_GEMM), 3000, 90);
    assert_declared(family(&b, PK_WHOLE, PK_FAMILY_GEMM), 3000, 90);
    assert_float_equal(family(&b, FORWARD, PK_FAMILY_GEMM)->share, 210.0 / 330, 1e-12);
    assert_null(family(&b, FORWARD, PK_FAMILY_COMM));
    assert_int_equal(family(&b, PK_NO_REGION, PK_FAMILY_COMM)->time_ns, 10);
}

static struct pk_kernel gemm_launched(uint64_t at, uint64_t begin, uint64_t end)
{
    struct pk_kernel k = piece(FORWARD, 0, PK_FAMILY_GEMM, begin, end);
    k.launched_ns = at;
    return k;
}

/* Idle time is the host's until it begins to launch what comes next, and the launch's from there on. */
static void gaps_are_the_hosts_or_the_launchs(void **state)
{
    struct pk_kernel v[] = {
        gemm_launched(10, 100, 200),  gemm_launched(20, 230, 300), /* launched long before: 30 of launch */
        gemm_launched(350, 400, 500),                              /* 50 of the host, 50 of launch */
        gemm_launched(380, 450, 460),                              /* overlaps: no gap */
        gemm_launched(0, 600, 700),                                /* not known: 100 of neither */
        gemm_launched(800, 790, 900), /* the clocks of launches and kernels agree to 1 us: 90 of the host */
    };
    const struct pk_trace ops = {0}, t = {.v = v, .n = sizeof v / sizeof *v, .ops = &ops};
    struct pk_breakdown b;
    pk_breakdown_make(&t, &arena, &b);
    const struct pk_region_time *f = region(&b, FORWARD);
    assert_true(b.launched);
    assert_int_equal(f->gap_ns, 30 + 100 + 100 + 90);
    assert_int_equal(f->host_ns, 50 + 90);
    assert_int_equal(f->launch_ns, 30 + 50);
    assert_int_equal(b.regions[0].host_ns, f->host_ns);
    assert_int_equal(b.regions[0].launch_ns, f->launch_ns);
}

static void order_does_not_matter_and_the_longest_is_first(void **state)
{
    struct pk_kernel v[] = {piece(FORWARD, 0, PK_FAMILY_COPY, 300, 310),
                            piece(FORWARD, 0, PK_FAMILY_SOFTMAX, 150, 260),
                            piece(FORWARD, 0, PK_FAMILY_GEMM, 100, 200)};
    const struct pk_trace t = {.v = v, .n = 3, .dropped = 2};
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
        v[N - 1 - i] = (struct pk_kernel){.launched_ns = expect[i].asked, .begin_ns = 5000, .end_ns = 6000};
    pk_breakdown_regions(v, N, &marks);
    for (size_t i = 0; i < N; i++) {
        assert_int_equal(v[i].launched_ns, expect[i].asked);
        assert_int_equal(v[i].region, expect[i].region);
        assert_int_equal(v[i].occurrence, expect[i].occurrence);
    }
}

/* An outer region has the kernels of those inside it, whose union and gaps are its own. */
static void regions_with_what_is_inside(void **state)
{
    enum { STEP = 4 };
    struct pk_mark m[] = {mark(STEP, 100, 500), mark(FORWARD, 100, 200), mark(BACKWARD, 300, 400),
                          mark(STEP, 600, 900), mark(FORWARD, 600, 700), mark(PK_REGIONS_MAX - 1, 950, 960)};
    const struct pk_marks marks = {.v = m, .n = sizeof m / sizeof *m};
    static const uint64_t asked[] = {650, 0, 550, 450, 350, 150, 100};
    struct pk_kernel v[sizeof asked / sizeof *asked];
    const struct pk_trace t = {.v = v, .n = sizeof v / sizeof *v};
    for (size_t i = 0; i < t.n; i++) {
        v[i] = piece(PK_NO_REGION, 0, PK_FAMILY_GEMM, 1000 * asked[i], 1000 * asked[i] + 60000);
        v[i].launched_ns = asked[i];
    }
    pk_breakdown_regions(v, t.n, &marks);
    const struct pk_region_time step = pk_breakdown_within(&t, &marks, STEP),
                                forward = pk_breakdown_within(&t, &marks, FORWARD),
                                none = pk_breakdown_within(&t, &marks, PK_REGIONS_MAX - 1);
    assert_int_equal(step.calls, 5);
    assert_int_equal(step.occurrences, 2);
    assert_int_equal(step.time_ns, 5 * 60000);
    assert_int_equal(step.busy_ns, 4 * 60000 + 50000); /* the first two overlap by 10000 */
    assert_int_equal(step.gap_ns, 140000 + 40000);
    assert_int_equal(step.copied_bytes, 50);
    assert_int_equal(forward.calls, 3);
    assert_int_equal(none.calls + none.occurrences + none.busy_ns, 0);
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
    assert_declared(family(&b, PK_NO_REGION, PK_FAMILY_COPY), 0, 2 * 4096); /* read, and written */
    assert_declared(family(&b, FORWARD, PK_FAMILY_ELEMENTWISE), 0, pk_work_scale(PK_FP32, 1 << 18).bytes);
    assert_declared(family(&b, FORWARD, PK_FAMILY_SOFTMAX), 0, pk_work_softmax(PK_FP32, 512, 512).bytes);
    assert_int_equal(region(&b, FORWARD)->gap_ns, 0);
    pk_tracing_close(tracing);
    assert_null(dev.trace);
    pk_device_free(&dev, x);
    pk_device_free(&dev, y);
    pk_device_close(&dev);
}

/* An op of a GPU, as its wrapper writes it down: its host time, and what it declares. */
static struct pk_kernel op(int region, enum pk_kernel_family family, uint64_t begin, uint64_t end,
                           double flops)
{
    return (struct pk_kernel){.name = "op",
                              .region = region,
                              .family = family,
                              .launched_ns = begin,
                              .begin_ns = begin,
                              .end_ns = end,
                              .declared = {flops, flops / 10}};
}

/* A kernel of a GPU, asked for and run. */
static struct pk_kernel launched(int region, enum pk_kernel_family by_name, uint64_t asked, uint64_t begin,
                                 uint64_t end)
{
    return (struct pk_kernel){.name = "kernel",
                              .region = region,
                              .family = by_name,
                              .launched_ns = asked,
                              .begin_ns = begin,
                              .end_ns = end};
}

/* Whatever its name, a kernel is of the op that asked for it; of what no op asked for the name tells. */
static void kernels_are_of_the_op_that_asked(void **state)
{
    struct pk_kernel ops[] = {
        op(FORWARD, PK_FAMILY_ATTENTION_MATMUL, 100, 200, 500), op(FORWARD, PK_FAMILY_SOFTMAX, 200, 210, 50),
        op(FORWARD, PK_FAMILY_GEMM, 300, 400, 700), op(BACKWARD, PK_FAMILY_NORM, 500, 500, 70)};
    struct pk_kernel v[] = {launched(FORWARD, PK_FAMILY_GEMM, 0, 2990, 3000),
                            launched(FORWARD, PK_FAMILY_GEMM, 99, 3000, 3010),
                            launched(FORWARD, PK_FAMILY_GEMM, 100, 3010, 3030),
                            launched(FORWARD, PK_FAMILY_OTHER, 199, 3030, 3040),
                            launched(FORWARD, PK_FAMILY_OTHER, 200, 3040, 3050),
                            launched(FORWARD, PK_FAMILY_OTHER, 210, 3050, 3060),
                            launched(FORWARD, PK_FAMILY_GEMM, 350, 3060, 3100),
                            launched(BACKWARD, PK_FAMILY_OTHER, 500, 3100, 3110)};
    static const enum pk_kernel_family expect[] = {PK_FAMILY_GEMM,
                                                   PK_FAMILY_GEMM,
                                                   PK_FAMILY_ATTENTION_MATMUL,
                                                   PK_FAMILY_ATTENTION_MATMUL,
                                                   PK_FAMILY_SOFTMAX,
                                                   PK_FAMILY_OTHER,
                                                   PK_FAMILY_GEMM,
                                                   PK_FAMILY_OTHER};
    const struct pk_trace asked = {.v = ops, .n = 4}, t = {.v = v, .n = 8, .ops = &asked};
    struct pk_breakdown b;
    pk_breakdown_families(v, 8, &asked);
    for (size_t i = 0; i < 8; i++)
        assert_int_equal(v[i].family, expect[i]);
    pk_breakdown_make(&t, &arena, &b);
    assert_true(b.whole && !b.folded);
    assert_int_equal(family(&b, FORWARD, PK_FAMILY_ATTENTION_MATMUL)->calls, 2);
    assert_int_equal(family(&b, FORWARD, PK_FAMILY_ATTENTION_MATMUL)->time_ns, 30);
    assert_declared(family(&b, FORWARD, PK_FAMILY_ATTENTION_MATMUL), 500, 50);
    assert_declared(family(&b, FORWARD, PK_FAMILY_GEMM), 700, 70);
    assert_declared(family(&b, PK_WHOLE, PK_FAMILY_GEMM), 700, 70);
    const struct pk_family_time *lost =
        family(&b, BACKWARD, PK_FAMILY_NORM); /* declared, and no kernel known as it */
    assert_declared(lost, 70, 7);
    assert_int_equal(lost->calls + lost->time_ns, 0);
}

static void what_is_declared_without_a_kernel_is_shown(void **state)
{
    struct pk_kernel ops[] = {op(BACKWARD, PK_FAMILY_NORM, 100, 200, 70)};
    const struct pk_trace asked = {.v = ops, .n = 1, .dropped = 1}, t = {.ops = &asked};
    struct pk_breakdown b;
    pk_breakdown_make(&t, &arena, &b);
    assert_false(b.whole); /* an op was dropped: its work is missing */
    assert_int_equal(b.n_regions, 2);
    assert_declared(family(&b, BACKWARD, PK_FAMILY_NORM), 70, 7);
    assert_declared(family(&b, PK_WHOLE, PK_FAMILY_NORM), 70, 7);
}

/* Region by region: forward has kernels known as attention's products, backward has none. */
static void products_of_attention_are_folded_where_names_do_not_tell(void **state)
{
    struct pk_kernel ops[] = {
        op(FORWARD, PK_FAMILY_ATTENTION_MATMUL, 1, 2, 500), op(FORWARD, PK_FAMILY_GEMM, 2, 3, 40),
        op(BACKWARD, PK_FAMILY_ATTENTION_MATMUL, 3, 4, 1000), op(BACKWARD, PK_FAMILY_GEMM, 4, 5, 80)};
    struct pk_kernel v[] = {launched(FORWARD, PK_FAMILY_ATTENTION_MATMUL, 1, 10, 20),
                            launched(FORWARD, PK_FAMILY_GEMM, 2, 20, 25),
                            launched(BACKWARD, PK_FAMILY_GEMM, 3, 30, 60)};
    const struct pk_trace asked = {.v = ops, .n = 4}, t = {.v = v, .n = 3, .ops = &asked};
    struct pk_breakdown b;
    pk_breakdown_make(&t, &arena, &b);
    assert_true(b.folded);
    assert_declared(family(&b, FORWARD, PK_FAMILY_ATTENTION_MATMUL), 500, 50);
    assert_declared(family(&b, FORWARD, PK_FAMILY_GEMM), 40, 4);
    assert_null(family(&b, BACKWARD, PK_FAMILY_ATTENTION_MATMUL));
    assert_declared(family(&b, BACKWARD, PK_FAMILY_GEMM), 1080, 108);
    assert_declared(family(&b, PK_WHOLE, PK_FAMILY_GEMM), 1120, 112);
    assert_declared(family(&b, PK_WHOLE, PK_FAMILY_ATTENTION_MATMUL), 500, 50);
}

static enum pk_code begin_graph(struct pk_device *dev, struct pk_err *err)
{
    return PK_OK;
}

static enum pk_code end_graph(struct pk_device *dev, enum pk_code work, void **exec, struct pk_err *err)
{
    *exec = NULL;
    return work;
}

static enum pk_code replay_graph(struct pk_device *dev, void *exec, struct pk_err *err)
{
    return PK_OK;
}

static const struct pk_graph_ops graphs = {.begin = begin_graph, .end = end_graph, .replay = replay_graph};

static enum pk_code work_of_a_graph(struct pk_device *dev, float *x, struct pk_err *err)
{
    enum pk_code rc = pk_op_scale(dev, PK_FP32, 2, x, x, 100, err);
    pk_mark_begin(dev, FORWARD, PK_LANE_COMPUTE);
    for (int i = 0; i < 3 && !rc; i++)
        rc = pk_op_scale(dev, PK_FP32, 2, x, x, 1000, err);
    pk_mark_begin(dev, BACKWARD, PK_LANE_COMPUTE);
    if (!rc)
        rc = pk_op_softmax(dev, PK_FP32, x, x, 10, 100, err);
    pk_mark_end(dev, BACKWARD, PK_LANE_COMPUTE);
    pk_mark_end(dev, FORWARD, PK_LANE_COMPUTE);
    return rc;
}

/* The null device, given graphs. What is captured is declared at every replay that is traced, by the regions of the capture; beside it stands
 * what is asked for by itself. */
static void a_graph_declares_what_was_captured(void **state)
{
    const struct pk_device_options none = {0};
    struct pk_device dev;
    struct pk_err err;
    struct pk_graph *g = NULL, *failed = NULL;
    struct pk_kernel rows[8];
    struct pk_trace t = {.v = rows, .cap = 8};
    struct pk_breakdown b;
    assert_int_equal(pk_device_open(&dev, "null", &none, &err), 0);
    struct pk_device_ops with = *dev.ops;
    with.graphs = &graphs;
    dev.ops = &with;
    float *x = pk_device_alloc(&dev, 1 << 20, PK_TAG_ACTIVATIONS);
    assert_int_equal(pk_graph_begin(&dev, &err), 0);
    assert_int_equal(pk_graph_end(&dev, work_of_a_graph(&dev, x, &err), &g, &err), 0);
    assert_null(dev.trace);
    dev.trace = &t;
    assert_int_equal(pk_graph_begin(&dev, &err), 0); /* while something is traced: that knows nothing of it */
    assert_int_equal(pk_op_scale(&dev, PK_FP32, 2, x, x, 9, &err), 0);
    assert_int_equal(pk_graph_end(&dev, PK_E_OOM, &failed, &err), PK_E_OOM);
    assert_null(failed);
    assert_ptr_equal(dev.trace, &t);
    assert_int_equal(t.n, 0);
    pk_marks_clear(&dev.marks);
    bool was = pk_timed_region(true);
    assert_int_equal(pk_graph_replay(&dev, g, &err), 0);
    assert_int_equal(pk_graph_replay(&dev, g, &err), 0);
    assert_int_equal(pk_op_scale(&dev, PK_FP32, 2, x, x, 1000, &err), 0);
    pk_timed_region(was);
    dev.trace = NULL;
    assert_int_equal(pk_graph_replay(&dev, g, &err), 0);
    assert_int_equal(t.n, 7);
    pk_breakdown_regions(t.v, t.n, &dev.marks);
    pk_breakdown_make(&t, &arena, &b);
    assert_declared(family(&b, FORWARD, PK_FAMILY_ELEMENTWISE), 0, 2 * 3 * 8000);
    assert_declared(family(&b, BACKWARD, PK_FAMILY_SOFTMAX), 0, 2 * 8000);
    assert_declared(family(&b, PK_NO_REGION, PK_FAMILY_ELEMENTWISE), 0, 2 * 800 + 8000);
    assert_null(family(&b, FORWARD, PK_FAMILY_SOFTMAX));
    pk_device_free(&dev, x);
    pk_device_close(&dev);
}

static enum pk_code captured_attention(struct pk_device *dev, const struct pk_attention *at,
                                       struct pk_err *err)
{
    pk_mark_begin(dev, FORWARD, PK_LANE_COMPUTE);
    enum pk_code rc = pk_op_fused_forward(dev, at, err);
    pk_mark_end(dev, FORWARD, PK_LANE_COMPUTE);
    pk_mark_begin(dev, BACKWARD, PK_LANE_COMPUTE);
    rc = rc ? rc : pk_op_fused_backward(dev, at, err);
    pk_mark_end(dev, BACKWARD, PK_LANE_COMPUTE);
    return rc;
}

/* Its kernels in a graph are the product library's and softmax's: nothing is left to a family without calls, and nothing is lost. */
static void fused_attention_in_a_graph_is_products_and_softmax(void **state)
{
    const struct pk_device_options none = {0};
    struct pk_device dev;
    struct pk_err err;
    struct pk_graph *g = NULL;
    struct pk_kernel rows[8], ran[] = {launched(FORWARD, PK_FAMILY_GEMM, 1, 10, 20),
                                       launched(FORWARD, PK_FAMILY_SOFTMAX, 1, 20, 30),
                                       launched(BACKWARD, PK_FAMILY_GEMM, 1, 30, 40),
                                       launched(BACKWARD, PK_FAMILY_SOFTMAX, 1, 40, 50)};
    struct pk_trace ops = {.v = rows, .cap = 8}, t = {.v = ran, .n = 4, .ops = &ops};
    struct pk_breakdown b;
    assert_int_equal(pk_device_open(&dev, "null", &none, &err), 0);
    struct pk_device_ops with = *dev.ops;
    with.graphs = &graphs;
    dev.ops = &with;
    float *x = pk_device_alloc(&dev, 1 << 20, PK_TAG_ACTIVATIONS);
    const struct pk_attention at = {.batch = 2,
                                    .seq = 64,
                                    .dim = 16,
                                    .causal = 1,
                                    .scale = 0.25f,
                                    .q = x,
                                    .k = x,
                                    .v = x,
                                    .o = x,
                                    .p = x,
                                    .d_o = x,
                                    .dq = x,
                                    .dk = x,
                                    .dv = x};
    assert_int_equal(pk_graph_begin(&dev, &err), 0);
    assert_int_equal(pk_graph_end(&dev, captured_attention(&dev, &at, &err), &g, &err), 0);
    dev.trace = &ops;
    pk_marks_clear(&dev.marks);
    assert_int_equal(pk_graph_replay(&dev, g, &err), 0);
    dev.trace = NULL;
    pk_breakdown_make(&t, &arena, &b);
    assert_true(b.folded);
    assert_null(family(&b, FORWARD, PK_FAMILY_ATTENTION));
    assert_null(family(&b, BACKWARD, PK_FAMILY_ATTENTION));
    const double scores = 2 * 64 * 65 / 2.0, all_rows = 2 * 64 * 16;
    assert_declared(family(&b, FORWARD, PK_FAMILY_GEMM), 2 * 2 * scores * 16, 8 * scores + 16 * all_rows);
    assert_declared(family(&b, FORWARD, PK_FAMILY_SOFTMAX), 0, 8 * scores);
    assert_declared(family(&b, BACKWARD, PK_FAMILY_GEMM), 4 * 2 * scores * 16, 16 * scores + 32 * all_rows);
    assert_declared(family(&b, BACKWARD, PK_FAMILY_SOFTMAX), 0, 12 * scores);
    pk_device_free(&dev, x);
    pk_device_close(&dev);
}

/* A slot is its time on the lane. */
static uint64_t slots_apart(struct pk_device *dev, size_t from, size_t to)
{
    return to - from;
}

static struct pk_mark marked(uint16_t region, uint32_t begin, uint32_t end)
{
    return (struct pk_mark){
        .region = region, .begin_host_ns = 1000, .end_host_ns = 1100, .begin_slot = begin, .end_slot = end};
}

/* step 0-100, forward 2-40, backward 42-98; the kernels' clock shows 5000 where the lane's begins, and they span 94 of its 100. */
static void kernels_of_a_graph_by_their_place_on_the_lane(void **state)
{
    enum { STEP = 7 };
    static const struct pk_device_ops ops = {.elapsed_ns = slots_apart};
    struct pk_mark m[] = {marked(STEP, 50, 150),
                          marked(FORWARD, 52, 90),
                          marked(BACKWARD, 92, 148),
                          {.region = FORWARD, .begin_host_ns = 1000, .end_host_ns = 1000}};
    struct pk_device dev = {.ops = &ops, .marks = {.v = m, .n = 4}};
    struct pk_kernel v[] = {
        launched(0, PK_FAMILY_GEMM, 900, 5000, 5001),  launched(0, PK_FAMILY_GEMM, 1000, 5003, 5020),
        launched(0, PK_FAMILY_NORM, 1000, 5020, 5038), launched(0, PK_FAMILY_COPY, 1000, 5040, 5042),
        launched(0, PK_FAMILY_GEMM, 1000, 5043, 5097), launched(0, PK_FAMILY_GEMM, 1100, 5050, 5060)};
    static const int expect[] = {PK_NO_REGION, FORWARD, FORWARD, STEP, BACKWARD, PK_NO_REGION};
    pk_breakdown_regions(v, 6, &dev.marks);
    pk_breakdown_replayed(v, 6, &dev);
    for (size_t i = 0; i < 6; i++)
        assert_int_equal(v[i].region, expect[i]);
    assert_int_equal(v[4].occurrence, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unions_and_gaps),
        cmocka_unit_test(gaps_are_the_hosts_or_the_launchs),
        cmocka_unit_test(order_does_not_matter_and_the_longest_is_first),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(kernels_to_regions),
        cmocka_unit_test(regions_with_what_is_inside),
        cmocka_unit_test(ops_are_written_down),
        cmocka_unit_test(kernels_are_of_the_op_that_asked),
        cmocka_unit_test(what_is_declared_without_a_kernel_is_shown),
        cmocka_unit_test(products_of_attention_are_folded_where_names_do_not_tell),
        cmocka_unit_test(a_graph_declares_what_was_captured),
        cmocka_unit_test(fused_attention_in_a_graph_is_products_and_softmax),
        cmocka_unit_test(kernels_of_a_graph_by_their_place_on_the_lane),
    };
    return cmocka_run_group_tests(tests, NULL, free_arena);
}
