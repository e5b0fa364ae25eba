/* A step of averaging on a GPU's lanes, over a fake runtime: every way is right over every transport, overlaps as the virtual link of the
 * null device does, to the resolution of events, and the host waits once a lane, behind the step. */
#include "model/averaging.h"

#include "base/clock.h"
#include "comm/fake_nccl.h"
#include "device/cuda/cuda.h"
#include "device/fake_cuda.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct pk_virtual_link slow = {.latency_ns = FAKE_NCCL_LATENCY_NS,
                                            .bytes_per_s = 1e9}; /* as the fake */
static const struct pk_gradient three[] = {{"c", 5000, 0.5}, {"b", 300, 0}, {"a", 20000, 0.5}};
static const struct pk_gradients model = {3, 25300, three};

static struct fake_nccl *nccl;
static struct pk_device dev;
static struct pk_comm comm;
static struct pk_averaging v;
static struct pk_err err;

static int reset(void **state)
{
    fake_cuda_reset();
    fake_cuda.parallel = true;
    pk_cuda_use(&fake_cuda_api);
    setenv("PERFKIT_CUDA_LIBS", getenv("FAKE_NCCL"), 1);
    setenv("FAKE_MPI", "add", 1);
    *nccl = (struct fake_nccl){.work = fake_cuda_work, .aborted = fake_cuda_release};
    err = (struct pk_err){0};
    assert_int_equal(pk_device_open(&dev, "cuda", &(struct pk_device_options){.no_bind = true}, &err), PK_OK);
    return 0;
}

static int close_device(void **state)
{
    pk_pool_reclaim(&dev.pool, 0); /* of a test that failed */
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    assert_true(!fake_cuda.live_events && !fake_cuda.live_pinned && !fake_cuda.live_blocks);
    assert_int_equal(nccl->comms, 0);
    return 0;
}

static struct pk_averaging_options options(enum pk_averaging_way way, enum pk_dtype type, bool copy)
{
    return (struct pk_averaging_options){.way = way,
                                         .type = type,
                                         .copy = copy && pk_averaging_contiguous(way),
                                         .cap = 6000,
                                         .forward_ns = 10000,
                                         .backward_ns = 20000};
}

static void open_trial(enum pk_comm_kind kind, const struct pk_averaging_options *o, struct pk_arena *a)
{
    assert_int_equal(pk_comm_open(&comm, kind, &dev, &(struct pk_comm_options){.link = slow}, &err), PK_OK);
    assert_int_equal(pk_averaging_new(&dev, &comm, o, &model, false, a, &v, &err), PK_OK);
}

static void close_trial(void)
{
    pk_averaging_free(&v);
    assert_int_equal(dev.pool.current, 0);
    pk_comm_close(&comm);
}

static void step(void)
{
    pk_marks_clear(&dev.marks);
    fake_cuda.host_waits = 0;
    pk_timed_region(true);
    const enum pk_code rc = pk_averaging_step(&v, &err);
    pk_timed_region(false);
    assert_int_equal(rc, PK_OK);
    assert_int_equal(fake_cuda.host_waits, PK_LANE_HOST); /* each lane, behind the step */
}

/* The made-up MPI adds one to the other rank's, every time: its gradients are looked at behind the first step. */
static void every_way_is_right(void **state)
{
    static const enum pk_comm_kind kinds[] = {PK_COMM_SELF, PK_COMM_LINK, PK_COMM_NCCL, PK_COMM_MPI};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int i = 0; i < PK_AVERAGING_WAYS * 4; i++) {
            PK_ARENA_CLEANUP struct pk_arena a = {0};
            const struct pk_averaging_options o = options(i / 4, i & 1 ? PK_BF16 : PK_FP32, i & 2);
            open_trial(kinds[k], &o, &a);
            step();
            assert_int_equal(pk_averaging_check(&v, true, 1, &a, &err), PK_OK);
            step();
            assert_int_equal(dev.marks.unbalanced, false);
            close_trial();
        }
}

/* As over the virtual link on the null device: tests/unit/model/test_averaging.c. */
static void times_are_those_of_the_link(void **state)
{
    static const struct {
        enum pk_averaging_way way;
        uint64_t exposed_ns, comm_ns, calls;
    } known[] = {
        {PK_AVERAGE_NONE, 0, 0, 0},
        {PK_AVERAGE_NAIVE, 104200, 104200, 3},
        {PK_AVERAGE_COALESCED, 102200, 102200, 1},
        {PK_AVERAGE_FLAT, 102200, 102200, 1},
        {PK_AVERAGE_OVERLAP, 94200, 104200, 3}, /* busy from 10000 on */
        {PK_AVERAGE_BUCKET, 93200, 103200, 2},  /* c and b together */
    };
    for (size_t i = 0; i < 2 * sizeof known / sizeof *known; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        const struct pk_averaging_options o = options(known[i / 2].way, PK_FP32, false);
        open_trial(i & 1 ? PK_COMM_NCCL : PK_COMM_LINK, &o, &a);
        for (int n = 0; n < 2; n++)
            step();
        assert_true(fake_cuda_agrees(v.exposed_ns, known[i / 2].exposed_ns, 1));
        assert_true(fake_cuda_agrees(v.comm_ns, known[i / 2].comm_ns, known[i / 2].calls));
        assert_int_equal(v.reduces_n, known[i / 2].calls);
        for (size_t t = 0; t < model.n; t++)
            assert_true(fake_cuda_agrees(v.made_ns[t], t < 2 ? 10000 : 20000, 1));
        assert_true(fake_cuda_agrees(v.backward_ended_ns - v.backward_began_ns, 20000, 1));
        const uint64_t step_ns = pk_mark_lane_ns(&dev, &dev.marks.v[0]);
        assert_true(fake_cuda_agrees(step_ns, 30000 + known[i / 2].exposed_ns, 1));
        if (o.way == PK_AVERAGE_BUCKET)
            assert_true(fake_cuda_agrees(v.reduces[0].began_ns - v.backward_began_ns, 10000, 1));
        close_trial();
    }
}

/* The flat array cut at 5000 elements: right over every transport, and as on the null device. */
static void split_is_right_and_takes_its_time(void **state)
{
    static const enum pk_comm_kind kinds[] = {PK_COMM_LINK, PK_COMM_NCCL, PK_COMM_SELF, PK_COMM_MPI};
    for (int i = 0; i < 4 * 4; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_averaging_options o = options(PK_AVERAGE_BUCKET, i & 1 ? PK_BF16 : PK_FP32, i & 2);
        o.split = true;
        o.cap = 5000;
        open_trial(kinds[i / 4], &o, &a);
        step();
        assert_int_equal(v.reduces_n, 6);
        assert_int_equal(pk_averaging_check(&v, true, 1, &a, &err), PK_OK);
        if (i / 4 < 2 && i % 4 == 0) {
            assert_true(fake_cuda_agrees(v.comm_ns, 6 * 1000 + 4 * 25300, 6));
            assert_true(fake_cuda_agrees(v.exposed_ns, 31000 + 5 * 1000 + 4 * 20300 - 20000, 1));
        }
        close_trial();
    }
}

static uint64_t host_ns(struct pk_device *d)
{
    return fake_cuda.host_ns;
}

struct reduce_times {
    uint64_t queued_ns, began_ns, ended_ns; /* since the step began */
};

static void assert_times(uint64_t began_ns, const struct reduce_times *expected)
{
    assert_true(fake_cuda_agrees(v.backward_began_ns - began_ns, 10000, 1));
    assert_true(fake_cuda_agrees(v.backward_ended_ns - began_ns, 30000, 1));
    assert_int_equal(v.reduces_n, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_true(fake_cuda_agrees(v.reduces[i].queued_ns - began_ns, expected[i].queued_ns, 1));
        assert_true(fake_cuda_agrees(v.reduces[i].began_ns - began_ns, expected[i].began_ns, 1));
        assert_true(fake_cuda_agrees(v.reduces[i].ended_ns - began_ns, expected[i].ended_ns, 1));
        assert_int_equal(v.reduces[i].began_ns == v.reduces[i].ended_ns, comm.ops == &pk_comm_self);
    }
}

/* Steps an hour after each other, in which the GPU's clock drifts by more than a step is long: the times of each are those of the host's
 * clock. */
static void timelines_are_on_the_hosts_clock(void **state)
{
    static const struct {
        enum pk_comm_kind kind;
        struct reduce_times reduces[2];
    } known[] = {
        {PK_COMM_SELF, {{20000, 20000, 20000}, {30000, 30000, 30000}}},
        {PK_COMM_LINK, {{20000, 20000, 42200}, {30000, 42200, 123200}}},
        {PK_COMM_NCCL, {{20000, 20000, 42200}, {30000, 42200, 123200}}},
    };
    static struct pk_device_ops clocked;
    clocked = *dev.ops;
    clocked.now_ns = host_ns;
    dev.ops = &clocked;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        const struct pk_averaging_options o = options(PK_AVERAGE_BUCKET, PK_FP32, false);
        open_trial(known[i].kind, &o, &a);
        for (int n = 0; n < 3; n++) {
            fake_cuda.host_ns += 3600 * PK_NS_PER_S;
            const uint64_t began_ns = fake_cuda.host_ns;
            step();
            assert_times(began_ns, known[i].reduces);
        }
        close_trial();
    }
}

/* A gradient that was changed on the device is noticed there. */
static void wrong_is_noticed(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_averaging_options o = options(PK_AVERAGE_BUCKET, PK_FP32, false);
    open_trial(PK_COMM_NCCL, &o, &a);
    step();
    ((float *)(void *)v.grad[1])[299] += 1; /* host memory, in truth */
    assert_int_equal(pk_averaging_check(&v, true, 1, &a, &err), PK_E_CHECK);
    assert_non_null(strstr(err.what, "element 299 of the gradient of b"));
    close_trial();
}

/* A rank that hangs ends the step with a message, and the GPU is free. */
static void a_hang_ends(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_averaging_options o = options(PK_AVERAGE_BUCKET, PK_FP32, false);
    open_trial(PK_COMM_NCCL, &o, &a);
    comm.timeout_ns = 100 * PK_NS_PER_MS;
    nccl->hang_ns = 100000 * PK_NS_PER_S;
    assert_int_equal(pk_averaging_step(&v, &err), PK_E_TIMEOUT);
    assert_non_null(strstr(err.what, "rank 0: an all-reduce did not end"));
    assert_int_equal(nccl->aborts, 1);
    assert_int_equal(pk_device_sync(&dev, &err), PK_OK);
    close_trial();
}

/* Whichever call of the runtime fails: an error, and nothing is left. */
static void every_call_may_fail(void **state)
{
    bool failed = true;
    for (unsigned long n = 1; failed; n++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        const struct pk_averaging_options o = options(PK_AVERAGE_BUCKET, PK_FP32, true);
        open_trial(n & 1 ? PK_COMM_NCCL : PK_COMM_MPI, &o, &a);
        pk_marks_clear(&dev.marks);
        fake_cuda.fail_at = (n + 1) / 2;
        fake_cuda.fail_with = cudaErrorInvalidValue;
        const enum pk_code rc = pk_averaging_step(&v, &err);
        failed = !fake_cuda.fail_at;
        fake_cuda.fail_at = 0;
        assert_true(!rc == !failed || pk_device_broken(&dev));
        close_trial();
        close_device(NULL);
        reset(NULL);
    }
}

int main(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libnccl.so.2", getenv("FAKE_NCCL"));
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    nccl = handle ? dlsym(handle, "fake_nccl") : NULL;
    assert_non_null(nccl);
#define TEST(f) cmocka_unit_test_setup_teardown(f, reset, close_device)
    const struct CMUnitTest tests[] = {
        TEST(every_way_is_right),
        TEST(times_are_those_of_the_link),
        TEST(split_is_right_and_takes_its_time),
        TEST(timelines_are_on_the_hosts_clock),
        TEST(wrong_is_noticed),
        TEST(a_hang_ends),
        TEST(every_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
