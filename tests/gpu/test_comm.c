/* Communication on a GPU: order between lanes, calls of the host in them, and every way of averaging gradients over the virtual link, and over
 * NCCL with one rank. Of two ranks nothing: that takes mpiexec (stage ranks of gpu-check). */
#include "given.h"
#include "isolated.h"

#include "base/clock.h"
#include "device/lane.h"
#include "model/averaging.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdatomic.h>
#include <string.h>

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

static void need_queues(void)
{
    if (pk_lanes_queue(&dev))
        return;
    print_message("lanes of device %s are no queues\n", given.device);
    skip();
}

/* --- lanes --- */

static void lanes_wait_and_overlap(void **state)
{
    enum { ROUNDS = 5 };
    const uint64_t ns = 5 * PK_NS_PER_MS;
    uint64_t behind = UINT64_MAX, beside = UINT64_MAX;
    struct pk_lane_event p[3];
    need_queues();
    for (int i = 0; i < 3; i++)
        must(pk_lane_event_make(&dev, &p[i], &err));
    for (int i = 0; i < 2 * ROUNDS; i++) {
        must(pk_lanes_anchor(&dev, &err));
        must(pk_lane_event_record(&dev, PK_LANE_COMPUTE, &p[0], &err));
        pk_device_delay(&dev, PK_LANE_COMPUTE, ns);
        must(pk_lane_event_record(&dev, PK_LANE_COMPUTE, &p[1], &err));
        if (i & 1)
            must(pk_lane_await(&dev, PK_LANE_COMM, &p[1], &err));
        pk_device_delay(&dev, PK_LANE_COMM, ns);
        must(pk_lane_event_record(&dev, PK_LANE_COMM, &p[2], &err));
        must(pk_device_sync(&dev, &err));
        const uint64_t took = pk_lane_event_ns(&dev, &p[2]) - pk_lane_event_ns(&dev, &p[0]);
        uint64_t *least = i & 1 ? &behind : &beside;
        *least = took < *least ? took : *least;
    }
    print_message("two delays of 5 ms: beside each other %.3f ms, behind each other %.3f ms\n",
                  (double)beside / 1e6, (double)behind / 1e6);
    assert_true(behind >= 2 * ns * 9 / 10);
    assert_true(beside < 2 * ns * 9 / 10);
    for (int i = 0; i < 3; i++)
        pk_lane_event_drop(&dev, &p[i]);
}

static void look(void *user)
{
    atomic_int *seen = user;
    atomic_store(&seen[1], atomic_load(&seen[0]));
}

/* The lane comes to the call behind the copy before it, and copies what it left. */
static void calls_are_in_order(void **state)
{
    need_queues();
    atomic_int *host = pk_lanes_pin(&dev, 2 * sizeof *host);
    int *x = pk_device_alloc(&dev, 2 * sizeof *x, PK_TAG_OTHER), first[2] = {42, 0}, then[2] = {0};
    assert_true(host && x);
    must(pk_device_copy(&dev, PK_LANE_COMM, PK_COPY_HOST_TO_DEVICE, x, first, sizeof first, &err));
    pk_device_delay(&dev, PK_LANE_COMM, 2 * PK_NS_PER_MS);
    must(pk_device_copy(&dev, PK_LANE_COMM, PK_COPY_DEVICE_TO_HOST, host, x, sizeof first, &err));
    must(pk_lane_call(&dev, PK_LANE_COMM, look, host, &err));
    must(pk_device_copy(&dev, PK_LANE_COMM, PK_COPY_HOST_TO_DEVICE, x, host, sizeof first, &err));
    must(pk_device_copy(&dev, PK_LANE_COMM, PK_COPY_DEVICE_TO_HOST, then, x, sizeof then, &err));
    must(pk_device_sync(&dev, &err));
    assert_true(then[0] == 42 && then[1] == 42);
    pk_lanes_unpin(&dev, host);
    pk_device_free(&dev, x);
}

/* --- averaging --- */

static const struct pk_gradient four[] = {
    {"d", 500000, 0.25}, {"c", 3, 0}, {"b", 300000, 0.25}, {"a", 2000000, 0.5}};
static const struct pk_gradients model = {4, 2800003, four};
static const struct pk_gradient four_tiny[] = {
    {"d", 50000, 0.25}, {"c", 3, 0}, {"b", 30000, 0.25}, {"a", 200000, 0.5}};
static const struct pk_gradients model_tiny = {4, 280003, four_tiny};

static void average(struct pk_comm *comm, enum pk_averaging_way way, int kind)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_averaging v;
    const struct pk_averaging_options o = {.way = way,
                                           .type = kind & 1 ? PK_BF16 : PK_FP32,
                                           .copy = (kind & 2) && pk_averaging_contiguous(way),
                                           .cap = given.tiny ? 60000 : 600000,
                                           .forward_ns = PK_NS_PER_MS,
                                           .backward_ns = 4 * PK_NS_PER_MS};
    must(pk_averaging_new(&dev, comm, &o, given.tiny ? &model_tiny : &model, false, &a, &v, &err));
    for (int step = 0; step < 3; step++) {
        pk_marks_clear(&dev.marks);
        must(pk_averaging_step(&v, &err));
        must(pk_averaging_check(&v, true, 1, &a, &err));
    }
    const bool sent = way != PK_AVERAGE_NONE && comm->ops == pk_comm_kinds[PK_COMM_LINK];
    assert_true(!sent || (v.comm_ns && v.exposed_ns));
    assert_true(v.made_ns[3] >= 4 * PK_NS_PER_MS * 9 / 10);
    pk_averaging_free(&v);
}

static void every_way(enum pk_comm_kind kind, const struct pk_comm_options *o)
{
    struct pk_comm comm;
    const enum pk_code rc = pk_comm_open(&comm, kind, &dev, o, &err);
    if (rc == PK_E_UNAVAILABLE) {
        print_message("%s: %s\n", err.what, err.why);
        skip();
    }
    must(rc);
    for (int way = 0; way < PK_AVERAGING_WAYS; way++)
        for (int i = 0; i < 4; i++)
            average(&comm, way, i);
    pk_comm_close(&comm);
}

static void averages_over_the_link(void **state)
{
    every_way(PK_COMM_LINK, &(struct pk_comm_options){.link = {.latency_ns = 20000, .bytes_per_s = 10e9}});
}

static void averages_over_nccl(void **state)
{
    every_way(PK_COMM_NCCL, &(struct pk_comm_options){.ranks = 1});
}

static void begin(int argc, char **argv)
{
    given = given_device(argc, argv);
}

int main(int argc, char **argv)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_device, close_device)
    const struct CMUnitTest tests[] = {
        TEST(lanes_wait_and_overlap),
        TEST(calls_are_in_order),
        TEST(averages_over_the_link),
        TEST(averages_over_nccl),
    };
    return isolated_run(tests, sizeof tests / sizeof *tests, begin, argc, argv);
}
