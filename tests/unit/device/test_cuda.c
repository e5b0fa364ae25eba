/* The CUDA device's own logic over a fake runtime: opening, lanes, marks, memory, graphs, errors at every call. */
#include "device/cuda/cuda.h"

#include "bench/worker/worker.h"
#include "device/lane.h"
#include "fake_cuda.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pk_device dev;
static struct pk_err err;
/* Unbound: where the fake GPU hangs is asked of no topology, which takes 12 ms to read. */
static const struct pk_device_options defaults = {.no_bind = true};

static int reset(void **state)
{
    fake_cuda_reset();
    pk_cuda_use(&fake_cuda_api);
    return 0;
}

static int restore(void **state)
{
    pk_cuda_use(NULL);
    return 0;
}

static void open_or_fail(void)
{
    assert_int_equal(pk_device_open(&dev, "cuda", &defaults, &err), PK_OK);
}

static void assert_nothing_live(void)
{
    assert_int_equal(fake_cuda.live_blocks, 0);
    assert_int_equal(fake_cuda.live_pinned, 0);
    assert_int_equal(fake_cuda.live_streams, 0);
    assert_int_equal(fake_cuda.live_events, 0);
    assert_int_equal(fake_cuda.live_graphs, 0);
    assert_int_equal(fake_cuda.live_execs, 0);
    assert_int_equal(fake_cuda.used_bytes, 0);
}

static void close_clean(void)
{
    pk_device_close(&dev);
    assert_nothing_live();
}

static void assert_three_parts(void)
{
    assert_true(err.what[0] && err.why[0] && err.fix[0]);
}

static struct CUstream_st *compute(void)
{
    return pk_cuda_stream(&dev, PK_LANE_COMPUTE);
}

/* --- opening --- */

static void count_facts(void *user, const char *key, const char *value)
{
    assert_true(value[0]);
    if (!strcmp(key, "gpu"))
        assert_string_equal(value, "Fake GPU");
    if (!strcmp(key, "compute_capability"))
        assert_string_equal(value, "9.0");
    ++*(int *)user;
}

static void opens_and_closes(void **state)
{
    int n = 0;
    open_or_fail();
    assert_int_equal(fake_cuda.live_streams, PK_LANES - 1);
    assert_int_equal(fake_cuda.greatest_priority_streams, 1); /* comm alone */
    assert_int_equal(pk_cuda_traits(&dev)->capability, 90);
    assert_int_equal(dev.pool.limit, (1 << 20) / 20 * 19);
    assert_ptr_not_equal(pk_cuda_stream(&dev, PK_LANE_COMPUTE), pk_cuda_stream(&dev, PK_LANE_COPY));
    pk_device_facts(&dev, count_facts, &n);
    assert_true(n >= 6);
    close_clean();
}

struct fact {
    const char *key;
    char value[256];
};

static void take_fact(void *user, const char *key, const char *value)
{
    struct fact *f = user;
    if (strcmp(key, f->key) == 0)
        snprintf(f->value, sizeof f->value, "%s", value);
}

/* A fact of the device; "" where it has none. */
static struct fact fact_of(const char *key)
{
    struct fact f = {.key = key};
    pk_device_facts(&dev, take_fact, &f);
    return f;
}

/* Whoever sets them means other programs; a library that read them would compute in another way than the row says. */
static void overrides_of_numerics_are_ignored(void **state)
{
    setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
    setenv("CUBLAS_EMULATE_SINGLE_PRECISION", "1", 1);
    open_or_fail();
    assert_true(!getenv("NVIDIA_TF32_OVERRIDE") && !getenv("CUBLAS_EMULATE_SINGLE_PRECISION"));
    assert_non_null(strstr(fact_of("numerics_warning").value,
                           "NVIDIA_TF32_OVERRIDE, CUBLAS_EMULATE_SINGLE_PRECISION would change"));
    close_clean();
    open_or_fail();
    assert_string_equal(fact_of("numerics_warning").value, "");
    close_clean();
}

/* --- dependent launch --- */

static void launches_overlap_where_kernels_can_wait(void **state)
{
    static const struct {
        const char *variable;
        int compiled_for;
        bool overlaps;
        const char *fact;
    } rows[] = {
        {NULL, 90, false, ""},
        {"off", 90, false, ""},
        {"on", 90, true, "on"},
        {"on", 80, false, "refused: the kernels are not compiled for compute capability 9.0"},
        {"on", 0, false, "refused: the kernels are not compiled for compute capability 9.0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].variable)
            setenv("PERFKIT_DEPENDENT_LAUNCH", rows[i].variable, 1);
        fake_cuda.compiled_for = rows[i].compiled_for;
        open_or_fail();
        assert_int_equal(pk_cuda_may_overlap(compute()), rows[i].overlaps);
        assert_string_equal(fact_of("dependent_launch").value, rows[i].fact);
        close_clean();
        unsetenv("PERFKIT_DEPENDENT_LAUNCH");
    }
}

/* Five products in flash attention's backward pass: dq is not the same every time, which a run says. */
static void five_products_are_a_fact(void **state)
{
    for (int on = 0; on < 2; on++) {
        setenv("PERFKIT_FIVE_PRODUCTS", on ? "on" : "off", 1);
        open_or_fail();
        assert_string_equal(fact_of("five_products").value, on ? "on" : "");
        assert_int_equal(strstr(fact_of("five_products_warning").value, "differ from run to run") != NULL,
                         on);
        close_clean();
    }
    unsetenv("PERFKIT_FIVE_PRODUCTS");
}

/* In a graph such an edge lies between two kernels: none begins at a copy, at a fill or at the event of a mark. */
static void in_a_capture_only_what_follows_a_kernel_overlaps(void **state)
{
    static char x[8], y[8];
    struct pk_graph *g = NULL;
    open_or_fail();
    assert_true(pk_cuda_overlap(&dev, true));
    pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
    assert_true(pk_cuda_may_overlap(compute())); /* outside a capture the driver decides */
    pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    assert_int_equal(pk_device_sync(&dev, &err), PK_OK);
    assert_int_equal(pk_graph_begin(&dev, &err), PK_OK);
    assert_false(pk_cuda_may_overlap(compute()));
    fake_cuda_work(compute(), 10);
    assert_true(pk_cuda_may_overlap(compute()));
    pk_mark_begin(&dev, 1, PK_LANE_COMPUTE);
    assert_false(pk_cuda_may_overlap(compute()));
    fake_cuda_work(compute(), 10);
    assert_true(pk_cuda_may_overlap(compute()));
    assert_int_equal(pk_device_copy(&dev, PK_LANE_COMPUTE, PK_COPY_ON_DEVICE, y, x, sizeof x, &err), PK_OK);
    assert_false(pk_cuda_may_overlap(compute()));
    fake_cuda_work(compute(), 10);
    for (int call = 1; call <= 2; call++) { /* a question that fails costs nothing but the overlap */
        fake_cuda.fail_at = (unsigned long)call;
        fake_cuda.fail_with = cudaErrorInvalidValue;
        assert_false(pk_cuda_may_overlap(compute()));
        assert_int_equal(fake_cuda.last, cudaSuccess);
    }
    pk_mark_end(&dev, 1, PK_LANE_COMPUTE);
    assert_int_equal(pk_graph_end(&dev, PK_OK, &g, &err), PK_OK);
    pk_graph_free(&dev, g);
    assert_false(pk_cuda_overlap(&dev, false));
    assert_false(pk_cuda_may_overlap(compute()));
    close_clean();
}

static void ordinals(void **state)
{
    fake_cuda.devices = 2;
    assert_int_equal(pk_device_open(&dev, "cuda:1", &defaults, &err), PK_OK);
    assert_int_equal(fake_cuda.device_set, 1);
    close_clean();
    assert_int_equal(pk_device_open(&dev, "cuda:2", &defaults, &err), PK_E_USAGE);
    assert_non_null(strstr(err.what, "cuda:2"));
    assert_non_null(strstr(err.why, "2 GPUs"));
    assert_three_parts();
    assert_nothing_live();
}

static void says_why_there_is_none(void **state)
{
    static const struct {
        int driver, devices;
        cudaError_t rc;
        const char *said;
    } rows[] = {
        {0, 0, cudaErrorInsufficientDriver, "no NVIDIA driver"},
        {12020, 0, cudaErrorInsufficientDriver, "too old: it supports CUDA 12.2, perfkit's runtime is 13."},
        {13000, 0, cudaErrorNoDevice, "sees no GPU"},
        {13000, 0, cudaSuccess, "sees no GPU"},
        {13000, 0, cudaErrorSystemNotReady, "cannot be used: as the test asked for"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fake_cuda_reset();
        fake_cuda.driver_version = rows[i].driver;
        fake_cuda.devices = rows[i].devices;
        fake_cuda.count_rc = rows[i].rc;
        assert_non_null(strstr(pk_device_unavailable(PK_DEVICE_CUDA), rows[i].said));
        assert_int_equal(pk_device_open(&dev, "cuda", &defaults, &err), PK_E_UNAVAILABLE);
        assert_three_parts();
    }
}

/* Ranks of one host: 0 1 0 1 of two GPUs. */
static void gpus_are_taken_by_turns(void **state)
{
    fake_cuda.devices = 2;
    for (unsigned turn = 0; turn < 4; turn++) {
        const struct pk_device_options o = {.local_rank = turn, .no_bind = true};
        assert_int_equal(pk_device_open(&dev, "cuda", &o, &err), PK_OK);
        assert_int_equal(fake_cuda.device_set, turn % 2);
        assert_int_equal(dev.ordinal, turn % 2);
        close_clean();
    }
}

/* --- marks --- */

static uint64_t lane_ns(size_t i)
{
    return pk_mark_lane_ns(&dev, &dev.marks.v[i]);
}

static void marks_nest_and_overlap(void **state)
{
    open_or_fail();
    pk_marks_clear(&dev.marks);
    pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
    fake_cuda_work(compute(), 1000);
    pk_mark_begin(&dev, 1, PK_LANE_COPY);
    fake_cuda_work(compute(), 2000);
    pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    fake_cuda_work(compute(), 4000);
    pk_mark_end(&dev, 1, PK_LANE_COPY);
    pk_mark_begin(&dev, 2, PK_LANE_HOST);
    fake_cuda_work(compute(), 4000);
    pk_mark_end(&dev, 2, PK_LANE_HOST);
    assert_int_equal(pk_device_sync(&dev, &err), PK_OK);
    assert_true(fake_cuda_agrees(lane_ns(0), 3000, 1));
    assert_true(fake_cuda_agrees(lane_ns(1), 6000, 1));
    assert_int_equal(lane_ns(2), dev.marks.v[2].end_host_ns - dev.marks.v[2].begin_host_ns);
    close_clean();
}

static void time_does_not_go_backwards(void **state)
{
    open_or_fail();
    pk_marks_clear(&dev.marks);
    pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
    fake_cuda_work(compute(), 3000);
    pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    assert_true(fake_cuda_agrees(
        dev.ops->elapsed_ns(&dev, dev.marks.v[0].begin_slot, dev.marks.v[0].end_slot), 3000, 1));
    assert_int_equal(dev.ops->elapsed_ns(&dev, dev.marks.v[0].end_slot, dev.marks.v[0].begin_slot), 0);
    close_clean();
}

/* More marks than events exist at first; the second round makes none. */
static void many_marks_grow_the_table(void **state)
{
    int made = 0;
    open_or_fail();
    for (int round = 0; round < 2; round++) {
        pk_marks_clear(&dev.marks);
        pk_timed_region(true);
        for (unsigned i = 0; i < 1000; i++) {
            pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
            fake_cuda_work(compute(), i * 1000);
            pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
        }
        pk_timed_region(false);
        assert_int_equal(pk_device_sync(&dev, &err), PK_OK);
        for (unsigned i = 0; i < 1000; i++)
            assert_true(fake_cuda_agrees(lane_ns(i), i * 1000, 1));
        assert_true(round == 0 || fake_cuda.live_events == made);
        made = fake_cuda.live_events;
    }
    assert_in_range(made, 2000, 4000);
    close_clean();
}

static void events_refused_are_seen_by_the_next_check(void **state)
{
    open_or_fail();
    pk_marks_clear(&dev.marks);
    fake_cuda.fail_with = cudaErrorMemoryAllocation;
    fake_cuda.fail_at = 3; /* the third event to be made */
    pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
    pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    assert_int_equal(pk_device_sync(&dev, &err), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "making events"));
    assert_non_null(strstr(err.why, "cudaErrorMemoryAllocation"));
    close_clean();
}

/* --- memory --- */

static void copies_go_both_ways(void **state)
{
    char from[300], to[300] = {0};
    memset(from, 7, sizeof from);
    open_or_fail();
    char *x = pk_device_alloc(&dev, sizeof from, PK_TAG_OTHER), *y = pk_device_alloc(&dev, 300, PK_TAG_OTHER);
    assert_int_equal(pk_device_copy(&dev, PK_LANE_COPY, PK_COPY_HOST_TO_DEVICE, x, from, 300, &err), PK_OK);
    assert_int_equal(pk_device_copy(&dev, PK_LANE_COPY, PK_COPY_ON_DEVICE, y, x, 300, &err), PK_OK);
    assert_int_equal(pk_device_copy(&dev, PK_LANE_COPY, PK_COPY_DEVICE_TO_HOST, to, y, 300, &err), PK_OK);
    assert_int_equal(pk_device_sync(&dev, &err), PK_OK);
    assert_memory_equal(from, to, sizeof to);
    pk_device_free(&dev, x);
    pk_device_free(&dev, y);
    close_clean();
}

static void out_of_memory_is_recoverable(void **state)
{
    const struct pk_device_options opt = {.limit_bytes = 16 << 20}; /* more than the GPU has */
    assert_int_equal(pk_device_open(&dev, "cuda", &opt, &err), PK_OK);
    void *half = pk_device_alloc(&dev, 600 << 10, PK_TAG_OTHER);
    assert_non_null(half);
    assert_null(pk_device_alloc(&dev, 600 << 10, PK_TAG_OTHER));
    assert_int_equal(pk_device_oom(&dev, &err), PK_E_OOM);
    assert_three_parts();
    assert_int_equal(fake_cuda.last, cudaSuccess); /* or the next launch would be blamed */
    pk_device_free(&dev, half);
    void *again = pk_device_alloc(&dev, 900 << 10, PK_TAG_OTHER); /* idle blocks make room */
    assert_non_null(again);
    pk_device_free(&dev, again);
    assert_int_equal(pk_device_sync(&dev, &err), PK_OK);
    close_clean();
}

/* An error of earlier work may be told by whatever is called next. */
static void a_broken_gpu_is_not_out_of_memory(void **state)
{
    static const cudaError_t with[] = {cudaErrorIllegalAddress, cudaErrorNotSupported};
    for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
        for (int pinned = 0; pinned < 2; pinned++) {
            fake_cuda_reset();
            open_or_fail();
            fake_cuda.fail_at = 1;
            fake_cuda.fail_with = with[i];
            assert_null(pinned ? pk_cuda_pinned(&dev, 64) : pk_device_alloc(&dev, 64, PK_TAG_OTHER));
            fake_cuda.broken = fake_cuda.last = cudaSuccess; /* even if the runtime forgot */
            assert_true(pk_device_broken(&dev));
            assert_int_equal(pk_device_oom(&dev, &err), PK_E_INTERNAL);
            assert_non_null(strstr(err.what, pinned ? "taking pinned memory" : "taking memory"));
            assert_non_null(strstr(err.why, "cudaErrorFake"));
            assert_three_parts();
            close_clean();
        }
    }
}

static void pinned_memory_is_freed(void **state)
{
    open_or_fail();
    char *kept = pk_cuda_pinned(&dev, 100), *given_back = pk_cuda_pinned(&dev, 200);
    memset(kept, 1, 100);
    memset(given_back, 1, 200);
    pk_cuda_unpin(&dev, given_back);
    pk_cuda_unpin(&dev, NULL);
    assert_int_equal(fake_cuda.live_pinned, 1);
    fake_cuda.fail_at = 1;
    fake_cuda.fail_with = cudaErrorMemoryAllocation;
    assert_null(pk_cuda_pinned(&dev, 100));
    assert_int_equal(fake_cuda.last, cudaSuccess);
    close_clean();
}

/* The caller chose a GPU or MIG instance that is not there. */
static void what_is_not_visible_is_named(void **state)
{
    fake_cuda.count_rc = cudaErrorNoDevice;
    setenv("CUDA_VISIBLE_DEVICES", "MIG-41b36413", 1);
    assert_string_equal(pk_device_unavailable(PK_DEVICE_CUDA),
                        "the NVIDIA driver sees no GPU 'MIG-41b36413' "
                        "(CUDA_VISIBLE_DEVICES; nvidia-smi -L lists them)");
    unsetenv("CUDA_VISIBLE_DEVICES");
    assert_string_equal(pk_device_unavailable(PK_DEVICE_CUDA), "the NVIDIA driver sees no GPU");
}

/* On compute capability 9.0: 2048 threads, 65536 registers in four parts, 227 KiB for blocks, 32 blocks. */
static void kernels_occupy_what_they_leave_room_for(void **state)
{
    static const struct {
        struct pk_cuda_needs needs;
        double share;
        const char *limit;
    } kernels[] = {
        {{1024, 32, 0, 0}, 1, NULL},
        {{256, 32, 16384, 0}, 1, NULL},
        {{128, 168, 0, 0}, 0.1875, "registers"}, /* 3 warps of 5376 registers in each part of 16384 */
        {{128, 64, 1024, 100 << 10}, 0.125, "shared memory"},
        {{384, 168, 0, 227 << 10}, 0.1875, "registers"}, /* wgmma: one block, by both */
        {{32, 32, 0, 0}, 0.5, "blocks"},
        {{96, 20, 0, 0}, 0.984375, "threads"}, /* 21 blocks of 3 warps */
        {{128, 32, 0, 228 << 10}, 0, NULL},    /* more than a block can have */
        {{0, 32, 0, 0}, 0, NULL},
    };
    open_or_fail();
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++) {
        const char *limit = "not set";
        const double share = pk_cuda_occupancy(&dev, &kernels[i].needs, &limit);
        if (share != kernels[i].share || !limit != !kernels[i].limit ||
            (limit && strcmp(limit, kernels[i].limit)))
            fail_msg("%zu: %g by %s", i, share, limit ? limit : "nothing");
    }
    close_clean();
}

static void the_l2_is_overwritten(void **state)
{
    open_or_fail();
    assert_int_equal(pk_cuda_flush_l2(&dev, &err), PK_OK);
    assert_int_equal(fake_cuda.set_bytes, 2 * 4096);
    assert_int_equal(pk_cuda_flush_l2(&dev, &err), PK_OK);
    assert_int_equal(fake_cuda.live_blocks, 1);
    assert_int_equal(dev.pool.peak, 0); /* no case pays for it */
    close_clean();
}

/* --- graphs --- */

static enum pk_code capture(enum pk_code work, struct pk_graph **g)
{
    enum pk_code rc = pk_graph_begin(&dev, &err);
    if (rc)
        return rc;
    pk_marks_clear(&dev.marks);
    pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
    fake_cuda_work(compute(), 5000);
    pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    return pk_graph_end(&dev, work, g, &err);
}

static void graphs_replay_with_marks(void **state)
{
    struct pk_graph *g;
    open_or_fail();
    assert_true(pk_graph_supported(&dev));
    const uint64_t before = fake_cuda.now_ns;
    assert_int_equal(capture(PK_OK, &g), PK_OK);
    assert_int_equal(fake_cuda.now_ns, before); /* recorded, not run */
    for (int i = 1; i <= 3; i++) {
        assert_int_equal(pk_graph_replay(&dev, g, &err), PK_OK);
        assert_int_equal(pk_device_sync(&dev, &err), PK_OK);
        assert_int_equal(fake_cuda.now_ns, before + (uint64_t)i * 5000);
        assert_int_equal(lane_ns(0), 5000);
    }
    assert_int_equal(fake_cuda.replays, 3);
    pk_graph_free(&dev, g);
    pk_graph_free(&dev, NULL);
    close_clean();
}

static void failed_work_leaves_no_graph(void **state)
{
    struct pk_graph *g;
    open_or_fail();
    assert_int_equal(capture(pk_fail(&err, PK_E_OOM, "the work's own"), &g), PK_E_OOM);
    assert_string_equal(err.what, "the work's own");
    assert_int_equal(fake_cuda.live_graphs, 0);
    assert_int_equal(pk_device_sync(&dev, &err), PK_OK); /* the stream is usable */
    assert_int_equal(capture(PK_OK, &g), PK_OK);
    pk_graph_free(&dev, g);
    close_clean();
}

/* Whatever call of a capture fails by misuse alone: an error, no graph, and a device that goes on. */
static void a_capture_that_is_refused_breaks_nothing(void **state)
{
    static const cudaError_t with[] = {cudaErrorInvalidValue, cudaErrorStreamCaptureInvalidated};
    for (size_t w = 0; w < sizeof with / sizeof *with; w++)
        for (unsigned long n = 1; n <= 6; n++) {
            struct pk_graph *g;
            fake_cuda_reset();
            open_or_fail();
            assert_int_equal(capture(PK_OK, &g), PK_OK); /* its events are there */
            pk_graph_free(&dev, g);
            fake_cuda.fail_at = n;
            fake_cuda.fail_with = with[w];
            assert_int_equal(capture(PK_OK, &g), PK_E_INTERNAL);
            assert_three_parts();
            assert_false(pk_device_broken(&dev));
            assert_int_equal(fake_cuda.last, cudaSuccess);
            assert_int_equal(capture(PK_OK, &g), PK_OK);
            pk_graph_free(&dev, g);
            close_clean();
        }
}

/* A capture that does `forbidden` in its middle. */
static enum pk_code capture_with(enum pk_code (*forbidden)(void))
{
    struct pk_graph *g;
    assert_int_equal(pk_graph_begin(&dev, &err), PK_OK);
    pk_marks_clear(&dev.marks);
    pk_mark_begin(&dev, 0, PK_LANE_COMPUTE);
    const enum pk_code work = forbidden();
    fake_cuda_work(compute(), 5000);
    pk_mark_end(&dev, 0, PK_LANE_COMPUTE);
    return pk_graph_end(&dev, work, &g, &err);
}

static enum pk_code takes_memory(void)
{
    assert_null(pk_device_alloc(&dev, 4096, PK_TAG_OTHER));
    return pk_device_oom(&dev, &err);
}

static enum pk_code takes_pinned_memory(void)
{
    assert_null(pk_cuda_pinned(&dev, 64));
    return PK_OK;
}

static enum pk_code flushes_l2(void)
{
    return pk_cuda_flush_l2(&dev, &err);
}

static enum pk_code waits(void)
{
    return pk_device_sync(&dev, &err);
}

/* What a capture forbids costs the capture: its error is said, idle memory is kept, and the device goes on. */
static void what_a_capture_forbids_breaks_nothing(void **state)
{
    static const struct {
        enum pk_code (*forbidden)(void);
        const char *what, *why;
    } rows[] = {
        {takes_memory, "captured work allocates new memory", "4.0 KiB"},
        {takes_pinned_memory, "ending a capture", "900"},
        {flushes_l2, "taking memory to flush L2 with", "900"},
        {waits, "waiting for its work", "900"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pk_graph *g;
        fake_cuda_reset();
        open_or_fail();
        void *idle = pk_device_alloc(&dev, 1024, PK_TAG_OTHER);
        pk_device_free(&dev, idle);
        assert_int_equal(capture(PK_OK, &g), PK_OK); /* its events are there */
        pk_graph_free(&dev, g);
        assert_int_equal(capture_with(rows[i].forbidden), PK_E_INTERNAL);
        assert_non_null(strstr(err.what, rows[i].what));
        assert_non_null(strstr(err.why, rows[i].why));
        assert_three_parts();
        assert_false(pk_device_broken(&dev));
        assert_int_equal(fake_cuda.last, cudaSuccess);
        assert_int_equal(dev.pool.reserved, 1024);
        assert_int_equal(pk_device_sync(&dev, &err), PK_OK);
        assert_int_equal(capture(PK_OK, &g), PK_OK);
        pk_graph_free(&dev, g);
        close_clean();
    }
}

/* --- errors --- */

static void sticky_errors_stay(void **state)
{
    open_or_fail();
    void *p = pk_device_alloc(&dev, 64, PK_TAG_OTHER);
    fake_cuda.fail_with = cudaErrorIllegalAddress;
    fake_cuda.fail_at = 1;
    assert_int_equal(pk_device_sync(&dev, &err), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "waiting for its work"));
    assert_three_parts();
    fake_cuda.broken = cudaSuccess; /* even if the runtime forgot */
    char host[64] = {0};
    assert_int_equal(pk_device_copy(&dev, PK_LANE_COPY, PK_COPY_HOST_TO_DEVICE, p, host, 64, &err),
                     PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "waiting for its work")); /* the first message, not the last */
    assert_int_equal(pk_cuda_check(&dev, cudaSuccess, "launching", &err), PK_E_INTERNAL);
    assert_true(pk_device_broken(&dev));
    pk_device_free(&dev, p);
    close_clean();
}

/* By number, as driver_types.h of CUDA 13.0 has them. */
static void which_errors_end_the_process(void **state)
{
    static const int lost[] = {214, 220, 226, 700, 702, 710, 714, 715,
                               716, 717, 718, 719, 721, 810, 911, 999};
    size_t found = 0;
    open_or_fail();
    for (int rc = 1; rc < 1000; rc++) {
        assert_int_equal(pk_cuda_check(&dev, rc, "trying", &err), PK_E_INTERNAL);
        if (!pk_device_broken(&dev))
            continue;
        assert_true(found < sizeof lost / sizeof *lost);
        assert_int_equal(rc, lost[found++]);
        close_clean();
        fake_cuda_reset();
        open_or_fail();
    }
    assert_int_equal(found, sizeof lost / sizeof *lost);
    close_clean();
}

static void others_do_not(void **state)
{
    char host[64] = {0};
    open_or_fail();
    void *p = pk_device_alloc(&dev, 64, PK_TAG_OTHER);
    fake_cuda.fail_with = cudaErrorInvalidValue;
    fake_cuda.fail_at = 1;
    assert_int_equal(pk_device_copy(&dev, PK_LANE_COPY, PK_COPY_HOST_TO_DEVICE, p, host, 64, &err),
                     PK_E_INTERNAL);
    assert_int_equal(fake_cuda.last, cudaSuccess);
    assert_int_equal(pk_cuda_check(&dev, cudaSuccess, "launching", &err), PK_OK);
    assert_false(pk_device_broken(&dev));
    pk_device_free(&dev, p);
    close_clean();
}

/* Answers to two requests, the n-th call of the runtime failing (0 = none). */
static void serve_two(unsigned long n, char *answers, size_t cap)
{
    static const char request[] =
        "{\"type\":\"measure\",\"id\":%d,\"experiment\":\"selftest\",\"variant\":\"ok\",\"device\":\"cuda\","
        "\"axes\":{\"busy_ns\":1000,\"memory\":4096,\"input\":\"random\"},\"stop\":{\"max_time_ns\":1000000}}"
        "\n";
    int in[2], out[2];
    assert_int_equal(pipe(in) | pipe(out), 0);
    assert_true(fcntl(out[1], F_SETPIPE_SZ, 1 << 20) > 0);
    dprintf(in[1], request, 1);
    dprintf(in[1], request, 2);
    close(in[1]);
    fake_cuda.fail_at = n;
    fake_cuda.fail_with = cudaErrorIllegalAddress;
    assert_int_equal(pk_worker_serve(&(struct pk_worker_io){.in_fd = in[0], .wire_fd = out[1]}, &err), PK_OK);
    close(out[1]);
    size_t got = 0;
    for (ssize_t part; got < cap - 1 && (part = read(out[0], answers + got, cap - 1 - got)) > 0;)
        got += (size_t)part;
    answers[got] = '\0';
    close(in[0]);
    close(out[0]);
}

/* The case fails with what happened, nothing else is taken, and the parent is told to start another worker. */
static void a_broken_gpu_ends_its_worker(void **state)
{
    static char answers[1 << 20];
    serve_two(0, answers, sizeof answers);
    assert_null(strstr(answers, "\"status\":\"failed\""));
    assert_non_null(strstr(answers, "\"id\":2"));
    assert_null(strstr(answers, "\"bye\""));
    fake_cuda_reset();
    serve_two(600, answers, sizeof answers); /* past opening and the making of events */
    assert_non_null(strstr(answers, "\"bye\""));
    assert_non_null(strstr(answers, "\"status\":\"failed\""));
    assert_non_null(strstr(answers, "the GPU failed"));
    assert_null(strstr(answers, "\"id\":2"));
    assert_nothing_live();
}

/* Everything the device does, once. */
static enum pk_code everything(void)
{
    struct pk_graph *g = NULL;
    char host[64] = {0};
    enum pk_code rc = pk_device_open(&dev, "cuda", &defaults, &err);
    if (rc)
        return rc;
    void *p = pk_device_alloc(&dev, 64, PK_TAG_OTHER);
    rc = p ? pk_device_copy(&dev, PK_LANE_COPY, PK_COPY_HOST_TO_DEVICE, p, host, 64, &err)
           : pk_device_oom(&dev, &err);
    if (!rc)
        rc = pk_cuda_flush_l2(&dev, &err);
    if (!rc)
        rc = capture(PK_OK, &g);
    if (!rc)
        rc = pk_graph_replay(&dev, g, &err);
    if (!rc)
        rc = pk_device_sync(&dev, &err);
    if (!rc && lane_ns(0) != 5000)
        rc = pk_device_sync(&dev, &err);
    pk_graph_free(&dev, g);
    pk_device_free(&dev, p);
    pk_device_close(&dev);
    return rc;
}

/* Every call fails once: an answer in three parts, and nothing is left behind. */
static void fails_at_every_call(void **state)
{
    static const cudaError_t with[] = {cudaErrorMemoryAllocation, cudaErrorInvalidValue,
                                       cudaErrorIllegalAddress};
    for (size_t w = 0; w < sizeof with / sizeof *with; w++) {
        fake_cuda_reset();
        assert_int_equal(everything(), PK_OK);
        const unsigned long calls = fake_cuda.calls;
        unsigned long failed = 0;
        for (unsigned long n = 1; n <= calls; n++) {
            fake_cuda_reset();
            fake_cuda.fail_at = n;
            fake_cuda.fail_with = with[w];
            err = (struct pk_err){0};
            if (everything()) {
                failed++;
                assert_three_parts();
            }
            assert_nothing_live();
        }
        assert_true(failed > calls / 2);
    }
}

static void take_binding(void *user, const char *key, const char *value)
{
    if (!strcmp(key, "binding"))
        snprintf(user, 64, "%s", value);
}

/* To the CPUs that are asked for; else to those nearest the GPU, where it is known which these are. */
static void the_host_thread_is_bound(void **state)
{
    char binding[64] = "", cpu[16], said[32];
    cpu_set_t before, now;
    int first = 0;
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    while (!CPU_ISSET(first, &before))
        first++;
    snprintf(cpu, sizeof cpu, "%d", first);
    snprintf(said, sizeof said, "cpus %d", first);
    assert_int_equal(pk_device_open(&dev, "cuda", &(struct pk_device_options){.cpus = cpu}, &err), PK_OK);
    pk_device_facts(&dev, take_binding, binding);
    assert_string_equal(binding, said);
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_COUNT(&now) == 1 && CPU_ISSET(first, &now));
    close_clean();
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    assert_int_equal(pk_device_open(&dev, "cuda", &(struct pk_device_options){0}, &err), PK_OK);
    pk_device_facts(&dev, take_binding, binding);
    assert_true(!strcmp(binding, "off") || strstr(binding, ", nearest the GPU"));
    close_clean();
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    open_or_fail();
    pk_device_facts(&dev, take_binding, binding);
    assert_string_equal(binding, "off");
    close_clean();
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, reset, restore)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(opens_and_closes),
        TEST(gpus_are_taken_by_turns),
        TEST(overrides_of_numerics_are_ignored),
        TEST(launches_overlap_where_kernels_can_wait),
        TEST(five_products_are_a_fact),
        TEST(in_a_capture_only_what_follows_a_kernel_overlaps),
        TEST(ordinals),
        TEST(says_why_there_is_none),
        TEST(marks_nest_and_overlap),
        TEST(time_does_not_go_backwards),
        TEST(many_marks_grow_the_table),
        TEST(events_refused_are_seen_by_the_next_check),
        TEST(copies_go_both_ways),
        TEST(out_of_memory_is_recoverable),
        TEST(a_broken_gpu_is_not_out_of_memory),
        TEST(pinned_memory_is_freed),
        TEST(the_l2_is_overwritten),
        TEST(what_is_not_visible_is_named),
        TEST(kernels_occupy_what_they_leave_room_for),
        TEST(graphs_replay_with_marks),
        TEST(failed_work_leaves_no_graph),
        TEST(a_capture_that_is_refused_breaks_nothing),
        TEST(what_a_capture_forbids_breaks_nothing),
        TEST(sticky_errors_stay),
        TEST(which_errors_end_the_process),
        TEST(others_do_not),
        TEST(a_broken_gpu_ends_its_worker),
        TEST(fails_at_every_call),
        TEST(the_host_thread_is_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
