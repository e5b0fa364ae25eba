/* Epoch on a GPU's lanes, over a fake runtime: the time of the device is that of the region that took it, the time of the host that of the
 * region in which it waited; overlapped, the host waits only behind training and behind validation. */
#include "epoch_model.h"

#include "device/cuda/cuda.h"
#include "device/fake_cuda.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

enum { STEPS = 6, WINDOWS = 2, VALIDATIONS = 2 };

static struct pk_err err;
static struct pk_device dev;
static struct pk_device_ops clocked;
static struct pk_arena arena;
static struct pk_comm comm;
static struct pk_tokens tokens;
static struct pk_loader loader;
static struct pk_epoch epoch;
static struct pk_epoch_input input;
static struct counted_model model;

static void ok(enum pk_code rc)
{
    if (rc)
        fail_msg("%s; %s", err.what, err.why);
}

static uint64_t host_ns(struct pk_device *d)
{
    return fake_cuda.host_ns;
}

static void open_epoch(bool overlapped)
{
    const struct pk_schedule s = {.samples = 22, .validation = 5, .batch = 2, .ranks = 2};
    const struct pk_epoch_options o = {
        .accum = 4, .overlapped = overlapped, .bucket = 1000, .virtual_ranks = true};
    const struct pk_virtual_link link = {.latency_ns = 7000, .bytes_per_s = 1e12};
    fake_cuda_reset();
    fake_cuda.parallel = true;
    pk_cuda_use(&fake_cuda_api);
    ok(pk_device_open(&dev, "cuda", &(struct pk_device_options){.no_bind = true}, &err));
    clocked = *dev.ops;
    clocked.now_ns = host_ns;
    dev.ops = &clocked;
    ok(pk_comm_open(&comm, PK_COMM_LINK, &dev, &(struct pk_comm_options){.ranks = 2, .link = link}, &err));
    ok(pk_tokens_open(&tokens, NULL, 5, 50, 3, &err));
    ok(pk_loader_open(&loader, &dev, &tokens, &s, overlapped ? 2 : 0, &arena, &err));
    model = (struct counted_model){.epoch = &epoch, .dev = &dev};
    model.memory = pk_device_alloc(&dev, 1024, PK_TAG_OTHER);
    input.tokens = pk_device_alloc(&dev, 1024, PK_TAG_INPUT);
    input.targets = pk_device_alloc(&dev, 1024, PK_TAG_INPUT);
    const struct pk_epoch_model m = model_of_delays(&model);
    ok(pk_epoch_open(&epoch, &dev, &comm, &loader, &m, &o, &input, &arena, &err));
}

static void close_epoch(void)
{
    pk_loader_close(&loader);
    pk_epoch_free(&epoch);
    pk_device_free(&dev, model.memory);
    pk_device_free(&dev, input.tokens);
    pk_device_free(&dev, input.targets);
    pk_comm_close(&comm);
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    pk_arena_free(&arena);
    assert_true(!fake_cuda.live_events && !fake_cuda.live_pinned && !fake_cuda.live_blocks);
}

static void run(void)
{
    for (int n = 0; n < 2; n++) { /* the first one makes what is kept */
        pk_marks_clear(&dev.marks);
        fake_cuda.host_waits = 0;
        ok(pk_epoch_run(&epoch, &err));
    }
}

struct both {
    uint64_t lane_ns, host_ns;
};

static struct both sum_of(unsigned region)
{
    struct both sum = {0};
    for (size_t i = 0; i < dev.marks.n; i++)
        if (dev.marks.v[i].region == region) {
            sum.lane_ns += pk_mark_lane_ns(&dev, &dev.marks.v[i]);
            sum.host_ns += dev.marks.v[i].end_host_ns - dev.marks.v[i].begin_host_ns;
        }
    return sum;
}

static void assert_lane(unsigned region, uint64_t ns, size_t spans)
{
    const struct both got = sum_of(region);
    if (!fake_cuda_agrees(got.lane_ns, ns, spans))
        fail_msg("region %u took %llu ns, not %llu", region, (unsigned long long)got.lane_ns,
                 (unsigned long long)ns);
}

static void work_is_charged_to_its_region(void **state)
{
    for (int overlapped = 0; overlapped < 2; overlapped++) {
        open_epoch(overlapped);
        run();
        assert_lane(PK_EPOCH_FORWARD, STEPS * FORWARD_NS, STEPS);
        assert_lane(PK_EPOCH_LOSS, STEPS * (LOSS_NS + FAKE_COPY_NS), STEPS);
        assert_lane(PK_EPOCH_BACKWARD, STEPS * BACKWARD_NS, STEPS);
        assert_lane(PK_EPOCH_OPTIMIZER, WINDOWS * UPDATE_NS, WINDOWS);
        const struct both backward = sum_of(PK_EPOCH_BACKWARD), forward = sum_of(PK_EPOCH_FORWARD);
        /* nobody waits there: the host only launches */
        assert_true(backward.host_ns < backward.lane_ns && forward.host_ns < forward.lane_ns);
        close_epoch();
    }
}

static void the_host_waits_where_it_is_said(void **state)
{
    open_epoch(false);
    run();
    /* every lane in each copy, behind training and behind validation */
    assert_int_equal(fake_cuda.host_waits, PK_LANE_HOST * (STEPS + VALIDATIONS + 2));
    close_epoch();
    open_epoch(true);
    run();
    assert_int_equal(fake_cuda.host_waits, PK_LANE_HOST * 2);
    close_epoch();
}

static void parts_add_up_to_at_most_the_whole(void **state)
{
    for (int overlapped = 0; overlapped < 2; overlapped++) {
        struct both parts = {0};
        open_epoch(overlapped);
        run();
        for (unsigned r = PK_EPOCH_DATA; r <= PK_EPOCH_WAIT; r++) {
            parts.lane_ns += sum_of(r).lane_ns;
            parts.host_ns += sum_of(r).host_ns;
        }
        const struct both training = sum_of(PK_EPOCH_TRAINING), all = sum_of(PK_EPOCH),
                          validation = sum_of(PK_EPOCH_VALIDATION);
        assert_true(parts.host_ns <= training.host_ns &&
                    training.host_ns + validation.host_ns <= all.host_ns);
        /* events are exact to their resolution */
        assert_true(parts.lane_ns <= training.lane_ns + FAKE_EVENT_NS * STEPS * 7);
        assert_true(training.lane_ns + validation.lane_ns <= all.lane_ns + 2 * FAKE_EVENT_NS);
        close_epoch();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(work_is_charged_to_its_region),
        cmocka_unit_test(the_host_waits_where_it_is_said),
        cmocka_unit_test(parts_add_up_to_at_most_the_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
