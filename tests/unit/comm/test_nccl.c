/* All-reduces on a GPU's lanes over a fake runtime: NCCL's, those staged through the host for MPI, and the virtual link's: what is put into
 * which stream in which order, that the host waits for none of it within a step, times, and everything that goes wrong. */
#include "comm/comm.h"

#include "base/clock.h"
#include "comm/transport/nccl_api.h"
#include "device/cuda/cuda.h"
#include "device/fake_cuda.h"
#include "device/lane.h"
#include "fake_nccl.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct fake_nccl *nccl;
static struct pk_device dev;
static struct pk_comm comm, world;
static struct pk_err err;

static int reset(void **state)
{
    fake_cuda_reset();
    fake_cuda.memory_bytes = (size_t)50 << 20;
    fake_cuda.parallel = true;
    pk_cuda_use(&fake_cuda_api);
    setenv("PERFKIT_CUDA_LIBS", getenv("FAKE_NCCL"), 1);
    setenv("FAKE_MPI", "", 1);
    *nccl = (struct fake_nccl){.work = fake_cuda_work, .aborted = fake_cuda_release};
    const struct pk_device_options how = {.no_bind = true};
    assert_int_equal(pk_device_open(&dev, "cuda", &how, &err), PK_OK);
    fake_cuda.said[0] = '\0';
    comm = world = (struct pk_comm){0};
    err = (struct pk_err){0};
    return 0;
}

static int close_all(void **state)
{
    pk_comm_close(&comm);
    pk_comm_close(&world);
    pk_pool_reclaim(&dev.pool, 0);
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    assert_int_equal(fake_cuda.live_events, 0);
    assert_int_equal(fake_cuda.live_pinned, 0);
    assert_int_equal(nccl->comms, 0);
    return 0;
}

static enum pk_code open_nccl(struct pk_comm_options o)
{
    return pk_comm_open(&comm, PK_COMM_NCCL, &dev, &o, &err);
}

static void open_world(const char *mode)
{
    setenv("FAKE_MPI", mode, 1);
    assert_int_equal(pk_comm_open(&world, PK_COMM_MPI, &dev, &(struct pk_comm_options){0}, &err), PK_OK);
}

static float *taken(size_t n)
{
    float *x = pk_device_alloc(&dev, n * sizeof *x, PK_TAG_GRADIENTS);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++) /* host memory, in truth */
        x[i] = (float)(i % 100);
    return x;
}

static void step_of(struct pk_comm *c, struct pk_reduce *r, void *x, size_t n)
{
    assert_int_equal(pk_comm_start(c, r, x, n, PK_FP32, &err), PK_OK);
    assert_int_equal(pk_comm_wait(c, r, &err), PK_OK);
}

static void assert_three_parts(void)
{
    assert_true(err.what[0] && err.why[0] && err.fix[0]);
}

/* --- lane events --- */

static void lanes_wait_for_moments(void **state)
{
    struct pk_lane_event p[2];
    assert_true(pk_lanes_queue(&dev));
    for (int i = 0; i < 2; i++)
        assert_int_equal(pk_lane_event_make(&dev, &p[i], &err), PK_OK);
    assert_int_equal(pk_lanes_anchor(&dev, &err), PK_OK);
    pk_device_delay(&dev, PK_LANE_COMPUTE, 5000);
    assert_int_equal(pk_lane_event_record(&dev, PK_LANE_COMPUTE, &p[0], &err), PK_OK);
    assert_int_equal(pk_lane_await(&dev, PK_LANE_COMM, &p[0], &err), PK_OK);
    pk_device_delay(&dev, PK_LANE_COMM, 2000);
    pk_device_delay(&dev, PK_LANE_COMM, 0); /* nothing is launched */
    assert_int_equal(pk_lane_event_record(&dev, PK_LANE_COMM, &p[1], &err), PK_OK);
    assert_false(pk_lane_event_passed(&dev, &p[1]));
    assert_string_equal(fake_cuda.said, "r0 k0 r0 w1 k1 r1 ");
    assert_int_equal(fake_cuda.host_waits, 0);
    assert_int_equal(pk_device_sync(&dev, &err), PK_OK);
    assert_true(pk_lane_event_passed(&dev, &p[1]));
    assert_true(fake_cuda_agrees(pk_lane_event_ns(&dev, &p[1]) - pk_lane_event_ns(&dev, &p[0]), 2000, 1));
    for (int i = 0; i < 2; i++)
        pk_lane_event_drop(&dev, &p[i]);
}

/* --- nccl --- */

static void one_rank_needs_nobody(void **state)
{
    struct pk_reduce r[2] = {0};
    float *x = taken(1000);
    nccl->in_progress = 3; /* calls that are not over at once */
    assert_int_equal(open_nccl((struct pk_comm_options){0}), PK_OK);
    assert_int_equal(comm.size, 1);
    assert_true(nccl->ids == 1 && nccl->ranks == 1 && nccl->id == 7 && nccl->blocking == 0);
    assert_int_equal(pk_lanes_anchor(&dev, &err), PK_OK);
    fake_cuda.said[0] = '\0';
    pk_device_delay(&dev, PK_LANE_COMPUTE, 3000);
    assert_int_equal(pk_comm_start(&comm, &r[0], x, 500, PK_FP32, &err), PK_OK);
    pk_device_delay(&dev, PK_LANE_COMPUTE, 1000); /* compute goes on */
    const struct pk_part parts[] = {{x, 100}, {x + 500, 200}};
    assert_int_equal(pk_comm_start_group(&comm, &r[1], parts, 2, PK_BF16, &err), PK_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pk_comm_wait(&comm, &r[i], &err), PK_OK);
    assert_string_equal(fake_cuda.said, "k0 r0 w1 r1 k1 r1 k0 r0 w1 r1 k1 r1 w0 w0 ");
    assert_int_equal(fake_cuda.host_waits, 0);
    assert_int_equal(pk_comm_settle(&comm, &err), PK_OK);
    assert_int_equal(fake_cuda.host_waits, 0); /* it looks, and naps */
    const uint64_t at = r[0].queued_ns;
    assert_int_equal(r[0].began_ns - at, 0);
    assert_true(fake_cuda_agrees(r[0].ended_ns - at, 3000, 1)); /* a latency, and a ns a byte */
    assert_true(fake_cuda_agrees(r[1].queued_ns - at, 1000, 1));
    assert_int_equal(r[1].began_ns, r[0].ended_ns); /* one at a time */
    assert_true(fake_cuda_agrees(r[1].ended_ns - at, 3000 + 1600, 1));
    assert_true(nccl->groups == 2 && nccl->reduces == 3 && nccl->elements == 800 && !nccl->outside);
    assert_true(nccl->type == PK_NCCL_BFLOAT16 && nccl->op == PK_NCCL_AVG);
    const int events = fake_cuda.live_events;
    for (int step = 0; step < 3; step++) {
        step_of(&comm, &r[0], x, 1000);
        assert_int_equal(pk_comm_settle(&comm, &err), PK_OK);
    }
    assert_int_equal(fake_cuda.live_events, events); /* a later step makes none */
    const char *lines[1];
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    assert_int_equal(pk_comm_gather(&comm, "mine", &a, lines, &err), PK_OK);
    assert_string_equal(lines[0], "mine");
    assert_int_equal(pk_comm_barrier(&comm, &err), PK_OK);
    pk_comm_close(&comm);
    assert_true(nccl->finalized == 1 && nccl->destroyed == 1 && nccl->aborts == 0);
}

/* Who the others are is said by MPI; so are lines and barriers. */
static void ranks_are_found_over_mpi(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *lines[2];
    open_world("");
    assert_int_equal(open_nccl((struct pk_comm_options){.ranks = 2, .world = &world}), PK_OK);
    assert_true(nccl->ranks == 2 && nccl->rank == 0 && comm.size == 2 && comm.processes == 2);
    assert_int_equal(pk_comm_gather(&comm, "mine", &a, lines, &err), PK_OK);
    assert_string_equal(lines[1], "mine");
    assert_int_equal(pk_comm_barrier(&comm, &err), PK_OK);
    unsigned seven = 7;
    assert_int_equal(pk_comm_bcast(&comm, &seven, sizeof seven, &err), PK_OK);
}

/* All know it before any of them looks for the others, which would take its whole time, and none is left at another call. */
static void a_rank_without_the_library_stops_all(void **state)
{
    open_world("unable");
    assert_int_equal(open_nccl((struct pk_comm_options){.ranks = 2, .world = &world}), PK_E_UNAVAILABLE);
    assert_string_equal(err.what, "rank 1: no library");
    assert_three_parts();
    assert_int_equal(nccl->ids + nccl->inits, 0);
    setenv("FAKE_MPI", "", 1);
    assert_int_equal(open_nccl((struct pk_comm_options){.ranks = 2, .world = &world}),
                     PK_OK); /* the world goes on */
}

static void refuses_to_open(void **state)
{
    struct pk_device cpu;
    const struct pk_device_options how = {.threads = 1, .no_bind = true};
    assert_int_equal(open_nccl((struct pk_comm_options){.ranks = 4}), PK_E_USAGE);
    assert_string_equal(err.what, "4 ranks were requested and there is 1");
    assert_three_parts();
    assert_int_equal(pk_device_open(&cpu, "cpu", &how, &err), PK_OK);
    assert_int_equal(pk_comm_open(&comm, PK_COMM_NCCL, &cpu, &(struct pk_comm_options){0}, &err),
                     PK_E_UNAVAILABLE);
    assert_string_equal(err.what, "NCCL on device cpu");
    assert_three_parts();
    pk_device_close(&cpu);
    nccl->id_rc = PK_NCCL_SYSTEM_ERROR;
    assert_int_equal(open_nccl((struct pk_comm_options){0}), PK_E_IO);
    assert_non_null(strstr(err.what, "creating the id"));
    assert_non_null(strstr(err.why, "message of NCCL 2.28.7: other"));
    nccl->id_rc = 0;
    nccl->init_rc = PK_NCCL_INTERNAL_ERROR;
    nccl->last_error = "no socket";
    assert_int_equal(open_nccl((struct pk_comm_options){0}), PK_E_IO);
    assert_non_null(strstr(err.why, "other: no socket"));
    setenv("PERFKIT_CUDA_LIBS", getenv("MADE_UP_LIBRARIES"),
           1); /* no libnccl.so.2 there: the search goes on */
}

/* Two ranks on one GPU: the library says so behind the call. */
static void two_ranks_on_one_gpu(void **state)
{
    open_world("");
    nccl->in_progress = 2;
    nccl->async_rc = PK_NCCL_INVALID_USAGE;
    nccl->last_error = "Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 3b000";
    assert_int_equal(open_nccl((struct pk_comm_options){.world = &world}), PK_E_USAGE);
    assert_string_equal(err.what, "rank 0: NCCL refuses two ranks on one GPU");
    assert_non_null(strstr(err.why, "CUDA device 3b000"));
    assert_non_null(strstr(err.fix, "--transport mpi"));
    assert_int_equal(nccl->aborts, 1);
    nccl->async_rc = 0;
    assert_int_equal(open_nccl((struct pk_comm_options){.world = &world}), PK_OK); /* the world goes on */
}

static void ranks_that_do_not_come(void **state)
{
    nccl->in_progress = -1;
    const uint64_t began = pk_clock_ns();
    assert_int_equal(open_nccl((struct pk_comm_options){.timeout_ns = 50 * PK_NS_PER_MS}), PK_E_TIMEOUT);
    assert_true(pk_clock_ns() - began < 20 * PK_NS_PER_S);
    assert_non_null(strstr(err.what, "rank 0: finding the other ranks did not end within"));
    assert_int_equal(nccl->aborts, 1);
    assert_in_range(nccl->polls, 10, 20000); /* it does not keep a core busy */
}

/* Between ranks the library launches behind the call: the host takes little longer than that, at best of a few. */
static void the_host_goes_on_soon(void **state)
{
    enum { ROUNDS = 50 };
    struct pk_reduce r = {0};
    uint64_t best = UINT64_MAX;
    float *x = taken(10);
    open_world("");
    assert_int_equal(open_nccl((struct pk_comm_options){.ranks = 2, .world = &world}), PK_OK);
    for (int i = 0; i < ROUNDS; i++) {
        const uint64_t began = pk_clock_ns();
        assert_int_equal(pk_comm_start(&comm, &r, x, 10, PK_FP32, &err), PK_OK);
        const uint64_t ns = pk_clock_ns() - began;
        best = ns < best ? ns : best;
        assert_int_equal(pk_comm_wait(&comm, &r, &err), PK_OK);
        assert_int_equal(pk_comm_settle(&comm, &err), PK_OK);
    }
    assert_in_range(best, FAKE_NCCL_GROUP_NS, FAKE_NCCL_GROUP_NS + 20000);
}

/* A rank that ended, and one that hangs: an error at the end of the step, and the GPU is free again. */
static void failures_on_the_way(void **state)
{
    struct pk_reduce r = {0};
    float *x = taken(10);
    assert_int_equal(open_nccl((struct pk_comm_options){0}), PK_OK);
    step_of(&comm, &r, x, 10);
    nccl->async_rc = PK_NCCL_REMOTE_ERROR;
    assert_int_equal(pk_comm_settle(&comm, &err), PK_E_IO);
    assert_string_equal(err.what, "rank 0: an all-reduce failed");
    assert_non_null(strstr(err.fix, "another rank has ended"));
    assert_int_equal(nccl->aborts, 1);
    assert_int_equal(pk_comm_start(&comm, &r, x, 10, PK_FP32, &err), PK_E_IO); /* broken from then on */
    pk_comm_close(&comm);
    nccl->async_rc = 0;
    nccl->hang_ns = 100000 * PK_NS_PER_S;
    assert_int_equal(open_nccl((struct pk_comm_options){.timeout_ns = 50 * PK_NS_PER_MS}), PK_OK);
    step_of(&comm, &r, x, 10);
    assert_int_equal(pk_comm_settle(&comm, &err), PK_E_TIMEOUT);
    assert_three_parts();
    assert_int_equal(nccl->aborts, 2);
    pk_comm_close(&comm);
    nccl->hang_ns = 0;
    nccl->group_rc = PK_NCCL_UNHANDLED_CUDA_ERROR;
    assert_int_equal(open_nccl((struct pk_comm_options){0}), PK_OK);
    assert_int_equal(pk_comm_start(&comm, &r, x, 10, PK_FP32, &err), PK_E_IO);
    assert_string_equal(err.what, "rank 0: starting an all-reduce failed");
    assert_int_equal(nccl->nested, 0);
    pk_comm_abort(&comm);
    assert_int_equal(nccl->aborts, 3);
}

/* --- mpi, through the host --- */

static void arrays_go_through_the_host(void **state)
{
    struct pk_reduce r[2] = {0};
    float *x = taken(1000), *y = taken(10);
    open_world("add");
    assert_int_equal(pk_lanes_anchor(&dev, &err), PK_OK);
    fake_cuda.said[0] = '\0';
    fake_cuda.host_waits = 0;
    pk_device_delay(&dev, PK_LANE_COMPUTE, 3000);
    assert_int_equal(pk_comm_start(&world, &r[0], x, 1000, PK_FP32, &err), PK_OK);
    const struct pk_part parts[] = {{y, 4}, {y + 9, 0}, {y + 5, 5}};
    assert_int_equal(pk_comm_start_group(&world, &r[1], parts, 3, PK_FP32, &err), PK_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pk_comm_wait(&world, &r[i], &err), PK_OK);
    assert_string_equal(fake_cuda.said, "k0 r0 w1 r1 c1 h1 c1 r1 r0 w1 r1 c1 c1 h1 c1 c1 r1 w0 w0 ");
    assert_int_equal(fake_cuda.host_waits, 0);
    assert_int_equal(pk_comm_settle(&world, &err), PK_OK);
    assert_true(fake_cuda_agrees(r[0].ended_ns - r[0].began_ns, 2 * FAKE_COPY_NS, 1));
    assert_int_equal(r[1].began_ns, r[0].ended_ns);
    for (size_t i = 0; i < 1000; i++)
        assert_true(x[i] == (float)(i % 100) + 0.5f); /* the mean with a rank that has one more */
    for (size_t i = 0; i < 10; i++)
        assert_true(y[i] == (float)i + (i != 4 ? 0.5f : 0));
    assert_int_equal(pk_comm_start(&world, &r[0], y, 0, PK_FP32, &err), PK_OK); /* an empty one is one too */
    assert_int_equal(pk_comm_wait(&world, &r[0], &err), PK_OK);
    assert_int_equal(pk_comm_barrier(&world, &err), PK_OK);
    assert_int_equal(pk_comm_settle(&world, &err), PK_OK);
}

/* More than the buffer holds, with borders inside of parts. */
static void large_arrays_go_in_batches(void **state)
{
    enum { N = 5 << 19 };
    struct pk_reduce r = {0};
    float *x = taken(N), *y = taken(N);
    open_world("add");
    const struct pk_part parts[] = {{x, N}, {y, N}};
    fake_cuda.said[0] = '\0';
    assert_int_equal(pk_comm_start_group(&world, &r, parts, 2, PK_FP32, &err), PK_OK);
    assert_string_equal(fake_cuda.said, "r0 w1 r1 c1 c1 h1 c1 c1 c1 h1 c1 r1 ");
    assert_int_equal(pk_comm_wait(&world, &r, &err), PK_OK);
    assert_int_equal(pk_comm_settle(&world, &err), PK_OK);
    for (size_t i = 0; i < N; i += 101)
        assert_true(x[i] == (float)(i % 100) + 0.5f && y[i] == x[i]);
}

static void failures_through_the_host(void **state)
{
    struct pk_reduce r[2] = {0};
    float *x = taken(10);
    open_world("fail");
    for (int i = 0; i < 2; i++)
        step_of(&world, &r[i], x, 10);
    assert_int_equal(pk_comm_settle(&world, &err), PK_E_IO);
    assert_non_null(strstr(err.why, "the network is gone"));
    pk_comm_close(&world);
    open_world("slow");
    world.timeout_ns = PK_NS_PER_MS;
    for (int i = 0; i < 2; i++)
        step_of(&world, &r[i], x, 10);
    assert_int_equal(pk_comm_settle(&world, &err), PK_E_TIMEOUT);
    assert_non_null(strstr(err.what, "rank 0: an all-reduce did not end within"));
    usleep(500000); /* the library's own memory is not ours to free under it */
    pk_comm_close(&world);
    open_world("");
    fake_cuda.fail_at = 1; /* pinned memory */
    fake_cuda.fail_with = cudaErrorMemoryAllocation;
    assert_int_equal(pk_comm_start(&world, &r[0], x, 10, PK_FP32, &err), PK_E_OOM);
    assert_non_null(strstr(err.what, "pinned host memory"));
    assert_three_parts();
}

/* --- the virtual link --- */

static void the_link_keeps_its_lane_busy(void **state)
{
    struct pk_reduce r[2] = {0};
    const struct pk_virtual_link link = {.latency_ns = 10000, .bytes_per_s = 1e9};
    assert_int_equal(pk_comm_open(&comm, PK_COMM_LINK, &dev, &(struct pk_comm_options){.link = link}, &err),
                     PK_OK);
    assert_int_equal(pk_lanes_anchor(&dev, &err), PK_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pk_comm_start(&comm, &r[i], NULL, 1000, PK_FP32, &err), PK_OK);
    for (int i = 0; i < 2; i++)
        assert_int_equal(pk_comm_wait(&comm, &r[i], &err), PK_OK);
    assert_int_equal(pk_comm_settle(&comm, &err), PK_OK);
    assert_true(fake_cuda_agrees(r[0].ended_ns - r[0].began_ns, 14000, 1));
    assert_true(fake_cuda_agrees(r[1].ended_ns - r[0].began_ns, 28000, 1));
}

/* Every call of the runtime fails once: an error, no leak, no hang. */
static void every_call_may_fail(void **state)
{
    float *x = taken(10);
    for (unsigned long n = 1; n < 40; n++) {
        struct pk_reduce r = {0};
        const struct pk_virtual_link link = {.latency_ns = 10000, .bytes_per_s = 1e9};
        enum pk_code rc =
            n & 1 ? open_nccl((struct pk_comm_options){0})
                  : pk_comm_open(&comm, PK_COMM_LINK, &dev, &(struct pk_comm_options){.link = link}, &err);
        assert_int_equal(rc, PK_OK);
        fake_cuda.fail_at = n / 2 + 1;
        fake_cuda.fail_with = cudaErrorInvalidValue;
        if (!rc)
            rc = pk_comm_start(&comm, &r, x, 10, PK_FP32, &err);
        if (!rc)
            rc = pk_comm_wait(&comm, &r, &err);
        if (!rc)
            rc = pk_comm_settle(&comm, &err);
        const bool failed = !fake_cuda.fail_at;
        fake_cuda.fail_at = 0;
        assert_true(rc || !failed || pk_device_broken(&dev));
        pk_comm_close(&comm);
        if (pk_device_broken(&dev))
            break;
    }
}

int main(void)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/libnccl.so.2", getenv("FAKE_NCCL"));
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    nccl = handle ? dlsym(handle, "fake_nccl") : NULL;
    assert_non_null(nccl);
#define TEST(f) cmocka_unit_test_setup_teardown(f, reset, close_all)
    const struct CMUnitTest tests[] = {
        TEST(lanes_wait_for_moments),
        TEST(one_rank_needs_nobody),
        TEST(ranks_are_found_over_mpi),
        TEST(a_rank_without_the_library_stops_all),
        TEST(refuses_to_open),
        TEST(two_ranks_on_one_gpu),
        TEST(ranks_that_do_not_come),
        TEST(the_host_goes_on_soon),
        TEST(failures_on_the_way),
        TEST(arrays_go_through_the_host),
        TEST(large_arrays_go_in_batches),
        TEST(failures_through_the_host),
        TEST(the_link_keeps_its_lane_busy),
        TEST(every_call_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
