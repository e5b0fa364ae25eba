/* Epoch on the null device and on the CPU: its time is that of its parts to the nanosecond; windows, last ones and ranks without samples;
 * the loader gives the same micro-batches whoever makes them. */
#include "epoch_model.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "device/cpu/cpu.h"
#include "machine/machine.h"

#include <sched.h>
#include <string.h>

static struct pk_err err;
static const struct pk_virtual_link slow = {.latency_ns = 1000, .bytes_per_s = 1e9};

struct trial {
    struct pk_arena arena;
    struct pk_device dev;
    struct pk_comm comm;
    struct pk_tokens tokens;
    struct pk_loader loader;
    struct pk_epoch epoch;
    struct pk_epoch_input input;
    struct counted_model model;
};

static void ok(enum pk_code rc)
{
    if (rc)
        fail_msg("%s; %s", err.what, err.why);
}

static void open_trial_on(struct trial *t, const char *device, const struct pk_device_options *d,
                          struct pk_schedule s, struct pk_epoch_options o, unsigned workers)
{
    *t = (struct trial){0};
    ok(pk_device_open(&t->dev, device, d, &err));
    ok(pk_comm_open(&t->comm, PK_COMM_LINK, &t->dev,
                    &(struct pk_comm_options){.ranks = s.ranks, .link = slow}, &err));
    ok(pk_tokens_open(&t->tokens, NULL, 5, 50, 3, &err));
    ok(pk_loader_open(&t->loader, &t->dev, &t->tokens, &s, workers, &t->arena, &err));
    t->model = (struct counted_model){.epoch = &t->epoch, .dev = &t->dev};
    t->model.memory = pk_device_alloc(&t->dev, 1024, PK_TAG_OTHER);
    t->input.tokens = pk_device_alloc(&t->dev, 1024, PK_TAG_INPUT);
    t->input.targets = pk_device_alloc(&t->dev, 1024, PK_TAG_INPUT);
    const struct pk_epoch_model m = model_of_delays(&t->model);
    ok(pk_epoch_open(&t->epoch, &t->dev, &t->comm, &t->loader, &m, &o, &t->input, &t->arena, &err));
}

static void open_trial(struct trial *t, const char *device, struct pk_schedule s, struct pk_epoch_options o,
                       unsigned workers)
{
    open_trial_on(t, device, &(struct pk_device_options){.threads = 1, .no_bind = true}, s, o, workers);
}

static void close_trial(struct trial *t)
{
    pk_loader_close(&t->loader);
    pk_epoch_free(&t->epoch);
    pk_device_free(&t->dev, t->model.memory);
    pk_device_free(&t->dev, t->input.tokens);
    pk_device_free(&t->dev, t->input.targets);
    assert_int_equal(t->dev.pool.current, 0);
    pk_comm_close(&t->comm);
    pk_device_close(&t->dev);
    pk_arena_free(&t->arena);
}

static void run(struct trial *t)
{
    pk_marks_clear(&t->dev.marks);
    pk_timed_region(true);
    const enum pk_code rc = pk_epoch_run(&t->epoch, &err);
    pk_timed_region(false);
    ok(rc);
    assert_false(t->dev.marks.unbalanced || t->dev.marks.overflow);
    assert_int_equal(t->dev.marks.n_open, 0);
}

static uint64_t sum_of(struct trial *t, unsigned region, unsigned *count)
{
    uint64_t sum = 0;
    *count = 0;
    for (size_t i = 0; i < t->dev.marks.n; i++)
        if (t->dev.marks.v[i].region == region) {
            sum += pk_mark_lane_ns(&t->dev, &t->dev.marks.v[i]);
            ++*count;
        }
    return sum;
}

static void assert_region(struct trial *t, unsigned region, unsigned count, uint64_t ns)
{
    unsigned n;
    assert_int_equal(sum_of(t, region, &n), ns);
    assert_int_equal(n, count);
}

/* 22 samples on 2 ranks in micro-batches of 2: 6 micro-steps, the last of a partial window. */
static void an_epoch_is_its_parts_to_the_nanosecond(void **state)
{
    const uint64_t link = 1000 + 50 * sizeof(float);
    for (int i = 0; i < 4; i++) {
        struct trial t;
        const bool every = i & 1, overlapped = i & 2;
        open_trial(
            &t, "null", (struct pk_schedule){.samples = 22, .validation = 5, .batch = 2, .ranks = 2},
            (struct pk_epoch_options){
                .accum = 4, .every = every, .overlapped = overlapped, .bucket = 50, .virtual_ranks = true},
            overlapped ? 2 : 0);
        for (int n = 0; n < 2; n++)
            run(&t);
        const unsigned syncs = every ? 6 : 2;
        const uint64_t copy = 1; /* 24 bytes, rounded up to a nanosecond */
        const uint64_t training =
            6 * (FORWARD_NS + LOSS_NS + copy + BACKWARD_NS + 2 * copy) + 2 * UPDATE_NS + syncs * 2 * link;
        assert_int_equal(t.epoch.reduces_n, syncs * 2);
        assert_region(&t, PK_EPOCH_FORWARD, 6, 6 * FORWARD_NS);
        assert_region(&t, PK_EPOCH_LOSS, 6, 6 * (LOSS_NS + copy));
        assert_region(&t, PK_EPOCH_BACKWARD, 6, 6 * BACKWARD_NS);
        assert_region(&t, PK_EPOCH_ALL_REDUCE, syncs, syncs * 2 * link);
        assert_region(&t, PK_EPOCH_OPTIMIZER, 2, 2 * UPDATE_NS);
        assert_region(&t, PK_EPOCH_WAIT, 1, 0);
        /* overlapped: the copy of the first micro-batch of validation is one of training, on a device without queues */
        assert_region(&t, PK_EPOCH_TRAINING, 1, training + (overlapped ? 2 * copy : 0));
        assert_region(&t, PK_EPOCH_VALIDATION, 1,
                      2 * (FORWARD_NS + LOSS_NS + copy) + (overlapped ? 1 : 2) * 2 * copy);
        unsigned one;
        assert_int_equal(sum_of(&t, PK_EPOCH, &one),
                         sum_of(&t, PK_EPOCH_TRAINING, &one) + sum_of(&t, PK_EPOCH_VALIDATION, &one));
        close_trial(&t);
    }
}

/* Of real ranks the last micro-batch has 2 samples on rank 0 and none on rank 1, which clears its gradients where the window begins. */
static void a_rank_without_samples_takes_part(void **state)
{
    for (unsigned rank = 0; rank < 2; rank++)
        for (size_t accum = 1; accum <= 3; accum += 2) {
            struct trial t;
            open_trial(&t, "null", (struct pk_schedule){.samples = 10, .batch = 2, .ranks = 2, .rank = rank},
                       (struct pk_epoch_options){.accum = accum, .bucket = 1000}, 0);
            run(&t);
            assert_int_equal(t.epoch.micro_steps, 3);
            assert_int_equal(t.model.forwards, rank ? 2 : 3);
            assert_int_equal(t.model.backwards, rank ? 2 : 3);
            assert_int_equal(t.model.cleared, rank && accum == 1 ? 1 : 0);
            assert_int_equal(t.model.updates, accum == 1 ? 3 : 1);
            assert_int_equal(t.epoch.reduces_n, t.model.updates);
            unsigned n;
            sum_of(&t, PK_EPOCH_FORWARD, &n);
            assert_int_equal(n, 3); /* the same marks on every rank */
            /* sums of 2 samples, averaged over 2 ranks: 4 samples make 1; 2 make 2; 10 in a window make 0.4 */
            assert_true(t.model.factors[0] == (accum == 1 ? 1.0f : 0.4f));
            if (accum == 1)
                assert_true(t.model.factors[2] == 2.0f);
            close_trial(&t);
        }
}

static void counts_add_up_to_the_samples(void **state)
{
    for (size_t samples = 1; samples < 40; samples++)
        for (unsigned ranks = 1; ranks < 4; ranks++)
            for (size_t batch = 1; batch < 4; batch++)
                for (int drop = 0; drop < 2; drop++) {
                    struct pk_schedule s = {.samples = samples,
                                            .validation = 7,
                                            .batch = batch,
                                            .ranks = ranks,
                                            .drop_last = drop};
                    const size_t steps = pk_schedule_training(&s), all = steps + pk_schedule_validation(&s);
                    size_t trained = 0, validated = 0, next = 0;
                    for (size_t k = 0; k < all; k++)
                        for (s.rank = 0; s.rank < ranks; s.rank++) {
                            const struct pk_part_of_set p = pk_schedule_part(&s, k);
                            assert_true(p.n <= batch);
                            *(k < steps ? &trained : &validated) += p.n;
                            if (p.n && !drop)
                                assert_int_equal(p.first, next);
                            next = p.n ? p.first + p.n : next;
                        }
                    assert_int_equal(trained, pk_schedule_trained(&s));
                    assert_int_equal(trained, drop ? samples / (batch * ranks) * batch * ranks : samples);
                    assert_int_equal(validated, 7);
                }
}

/* Two epochs of every micro-batch, made by the caller or by threads. */
static void threads_make_what_the_caller_makes(void **state)
{
    const struct pk_schedule s = {.samples = 31, .validation = 6, .batch = 2, .ranks = 2, .rank = 1};
    struct trial one, more;
    open_trial(&one, "cpu", s, (struct pk_epoch_options){.accum = 1, .bucket = 1000}, 0);
    open_trial(&more, "cpu", s, (struct pk_epoch_options){.accum = 1, .bucket = 1000}, 3);
    for (int epoch = 0; epoch < 2; epoch++) {
        pk_loader_begin(&one.loader);
        pk_loader_begin(&more.loader);
        for (size_t k = 0; k < one.loader.steps; k++) {
            const struct pk_slot *a = pk_loader_take(&one.loader, k), *b = pk_loader_take(&more.loader, k);
            assert_int_equal(a->n, b->n);
            assert_memory_equal(a->tokens, b->tokens, a->n * 3 * sizeof *a->tokens);
            assert_memory_equal(a->targets, b->targets, a->n * 3 * sizeof *a->targets);
            for (size_t i = 0; i + 1 < 3 && a->n; i++)
                assert_int_equal(a->targets[i], a->tokens[i + 1]);
            pk_loader_release(&one.loader);
            pk_loader_release(&more.loader);
        }
    }
    close_trial(&one);
    close_trial(&more);
}

/* The CPU device's own threads keep their CPUs as long as there are others; the device unbinds its caller when it is closed. */
static void threads_leave_the_cpus_that_measure(void **state)
{
    struct pk_cpus all;
    all.n = pk_machine_cpus(all.v, PK_CPUS_MAX);
    for (int row = 0; row < 3; row++) {
        const bool every = row == 1, free_to_move = row == 2;
        const struct pk_device_options d = {.threads = every ? all.n : 1, .no_bind = free_to_move};
        struct trial t;
        cpu_set_t before, on;
        assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
        open_trial_on(&t, "cpu", &d, (struct pk_schedule){.samples = 4, .batch = 2, .ranks = 1},
                      (struct pk_epoch_options){.accum = 1, .bucket = 1000}, 2);
        pk_loader_begin(&t.loader);
        for (size_t k = 0; k < 2; k++) { /* one of each thread: both are bound by then */
            assert_non_null(pk_loader_take(&t.loader, k));
            pk_loader_release(&t.loader);
        }
        for (unsigned i = 0; i < 2; i++) {
            assert_int_equal(pthread_getaffinity_np(t.loader.threads[i].id, sizeof on, &on), 0);
            assert_true(free_to_move ? CPU_EQUAL(&on, &before) : CPU_COUNT(&on) > 0);
            for (unsigned c = 0; c < all.n && !free_to_move; c++)
                assert_int_equal(!!CPU_ISSET(all.v[c], &on), every || all.n == 1 || c > 0);
        }
        close_trial(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_epoch_is_its_parts_to_the_nanosecond),
        cmocka_unit_test(a_rank_without_samples_takes_part),
        cmocka_unit_test(counts_add_up_to_the_samples),
        cmocka_unit_test(threads_make_what_the_caller_makes),
        cmocka_unit_test(threads_leave_the_cpus_that_measure),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
