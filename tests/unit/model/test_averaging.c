/* Averaging: every way has every gradient averaged, takes the time that its all-reduces leave exposed, and the memory it says. */
#include "model/averaging.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "base/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct pk_virtual_link slow = {.latency_ns = 1000, .bytes_per_s = 1e9}; /* a byte a ns */

struct trial {
    struct pk_device dev;
    struct pk_comm comm;
    struct pk_averaging v;
};

static void open_trial(struct trial *t, const char *device, const struct pk_averaging_options *o,
                       const struct pk_gradients *g, struct pk_arena *a)
{
    struct pk_err err = {0};
    const struct pk_device_options how = {.threads = 1, .no_bind = true};
    const bool dry = !strcmp(device, "null");
    assert_int_equal(pk_device_open(&t->dev, device, &how, &err), PK_OK);
    assert_int_equal(pk_comm_open(&t->comm, PK_COMM_LINK, &t->dev,
                                  &(struct pk_comm_options){.ranks = 2, .link = slow}, &err),
                     PK_OK);
    assert_int_equal(pk_averaging_new(&t->dev, &t->comm, o, g, dry, a, &t->v, &err), PK_OK);
}

static void close_trial(struct trial *t)
{
    pk_averaging_free(&t->v);
    assert_int_equal(t->dev.pool.current, 0);
    pk_comm_close(&t->comm);
    pk_device_close(&t->dev);
}

static const struct pk_gradient three[] = {{"c", 5000, 0.5}, {"b", 300, 0}, {"a", 20000, 0.5}};
static const struct pk_gradients model = {3, 25300, three};

static struct pk_averaging_options options(enum pk_averaging_way way, enum pk_dtype type, bool copy)
{
    return (struct pk_averaging_options){.way = way,
                                         .type = type,
                                         .copy = copy && pk_averaging_contiguous(way),
                                         .cap = 6000,
                                         .forward_ns = 10000,
                                         .backward_ns = 20000};
}

static void every_way_is_right(void **state)
{
    for (int way = 0; way < PK_AVERAGING_WAYS; way++) {
        for (int kind = 0; kind < 4; kind++) {
            PK_ARENA_CLEANUP struct pk_arena a = {0};
            const struct pk_averaging_options o = options(way, kind & 1 ? PK_BF16 : PK_FP32, kind & 2);
            struct pk_err err = {0};
            struct trial t;
            open_trial(&t, "cpu", &o, &model, &a);
            assert_int_equal(t.dev.pool.current, pk_averaging_bytes(&o, &model));
            for (int step = 0; step < 3; step++) {
                pk_marks_clear(&t.dev.marks);
                assert_int_equal(pk_averaging_step(&t.v, &err), PK_OK);
                assert_int_equal(pk_averaging_check(&t.v, step < 2, 1, &a, &err), PK_OK);
            }
            close_trial(&t);
        }
    }
}

/* A gradient that was changed, and one that was not sent, are noticed. */
static void wrong_is_noticed(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_averaging_options o = options(PK_AVERAGE_BUCKET, PK_FP32, false);
    struct pk_err err = {0};
    struct trial t;
    open_trial(&t, "cpu", &o, &model, &a);
    assert_int_equal(pk_averaging_step(&t.v, &err), PK_OK);
    ((float *)t.v.grad[1])[299] += 1;
    assert_int_equal(pk_averaging_check(&t.v, true, 1, &a, &err), PK_E_CHECK);
    assert_non_null(strstr(err.what, "element 299 of the gradient of b"));
    assert_int_equal(pk_averaging_check(&t.v, false, 1, &a, &err),
                     PK_E_CHECK); /* the last is always looked at */
    ((float *)t.v.grad[1])[299] -= 1;
    t.v.reduced_bytes -= 1200;
    assert_int_equal(pk_averaging_check(&t.v, true, 1, &a, &err), PK_E_CHECK);
    assert_non_null(strstr(err.what, "sent 100000 bytes"));
    close_trial(&t);
}

struct trained {
    struct pk_device dev;
    struct pk_comm comm;
    struct pk_training training;
    struct pk_gradients gradients;
    struct pk_averaging v;
    size_t training_bytes;
};

static void open_trained(struct trained *t, struct pk_averaging_options o, struct pk_arena *a)
{
    static const struct pk_transformer_config c = {.layers = 2,
                                                   .width = 64,
                                                   .heads = 2,
                                                   .ff = 128,
                                                   .vocab = 64,
                                                   .seq = 7,
                                                   .batch = 2,
                                                   .fused = true,
                                                   .attention = PK_ATTENTION_FLASH};
    struct pk_err err = {0};
    assert_int_equal(
        pk_device_open(&t->dev, "cpu", &(struct pk_device_options){.threads = 1, .no_bind = true}, &err),
        PK_OK);
    assert_int_equal(pk_comm_open(&t->comm, PK_COMM_LINK, &t->dev,
                                  &(struct pk_comm_options){.ranks = 2, .link = slow}, &err),
                     PK_OK);
    assert_int_equal(pk_training_open(&t->training, &t->dev, &c, 5, 0, false, a, &err), PK_OK);
    t->training_bytes = t->dev.pool.current;
    pk_gradients_of_transformer(&c, a, &t->gradients);
    o.work = PK_WORK_TRANSFORMER;
    o.training = &t->training;
    assert_int_equal(pk_averaging_new(&t->dev, &t->comm, &o, &t->gradients, false, a, &t->v, &err), PK_OK);
}

static void close_trained(struct trained *t)
{
    pk_averaging_free(&t->v);
    pk_transformer_close(&t->training.t);
    assert_int_equal(t->dev.pool.current, 0);
    pk_comm_close(&t->comm);
    pk_device_close(&t->dev);
}

/* A transformer's gradients, in every way, are to the bit those of a single process. */
static void gradients_of_a_transformer(void **state)
{
    for (int way = 0; way < PK_AVERAGING_WAYS; way++) {
        for (int kind = 0; kind < 4; kind++) {
            PK_ARENA_CLEANUP struct pk_arena a = {0};
            const struct pk_averaging_options o = options(way, kind & 1 ? PK_BF16 : PK_FP32, kind & 2);
            struct pk_err err = {0};
            struct trained t;
            open_trained(&t, o, &a);
            assert_int_equal(t.dev.pool.current - t.training_bytes, pk_averaging_bytes(&t.v.o, &t.gradients));
            for (int step = 0; step < 2; step++) {
                pk_marks_clear(&t.dev.marks);
                assert_int_equal(pk_averaging_step(&t.v, &err), PK_OK);
                if (pk_averaging_check(&t.v, step == 0, 1, &a, &err))
                    fail_msg("way %d kind %d: %s: %s", way, kind, err.what, err.why);
            }
            close_trained(&t);
        }
    }
}

/* The flat array cut at 3001 elements, inside of tensors: as right as whole tensors, in as much memory. */
static void split_is_right(void **state)
{
    for (int kind = 0; kind < 8; kind++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_averaging_options o = options(PK_AVERAGE_BUCKET, kind & 1 ? PK_BF16 : PK_FP32, kind & 2);
        struct pk_err err = {0};
        o.split = true;
        o.cap = 3001;
        o.first_cap = kind & 4 ? 17 : 0;
        struct trial t;
        open_trial(&t, "cpu", &o, &model, &a);
        assert_int_equal(t.dev.pool.current, pk_averaging_bytes(&o, &model));
        for (int step = 0; step < 3; step++) {
            pk_marks_clear(&t.dev.marks);
            assert_int_equal(pk_averaging_step(&t.v, &err), PK_OK);
            assert_int_equal(t.v.reduces_n, kind & 4 ? 1 + 9 : 9); /* 25300, 25283 / 3001 */
            assert_int_equal(pk_averaging_check(&t.v, true, 1, &a, &err), PK_OK);
        }
        close_trial(&t);
        struct trained x;
        o.forward_ns = o.backward_ns = 0;
        open_trained(&x, o, &a);
        for (int step = 0; step < 2; step++) {
            pk_marks_clear(&x.dev.marks);
            assert_int_equal(pk_averaging_step(&x.v, &err), PK_OK);
            if (pk_averaging_check(&x.v, true, 1, &a, &err))
                fail_msg("kind %d: %s: %s", kind, err.what, err.why);
        }
        close_trained(&x);
    }
}

/* Every gradient is told of once, the last layer's first, and when. */
static void gradients_are_told_in_order(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct trained t;
    open_trained(&t, options(PK_AVERAGE_OVERLAP, PK_FP32, false), &a);
    assert_int_equal(pk_averaging_step(&t.v, &err), PK_OK);
    assert_string_equal(t.gradients.v[0].name, "lm_head.weight");
    for (size_t i = 0; i < t.gradients.n; i++) {
        assert_true(i == 0 || t.v.made_ns[i - 1] <= t.v.made_ns[i]);
        assert_true(t.v.least_ns[i] >= 1000 && t.v.reduces[i].bytes == t.gradients.v[i].elements * 4);
    }
    assert_true(t.v.made_ns[0] > 0);
    assert_true(t.v.made_ns[t.gradients.n - 1] <= t.v.backward_ended_ns - t.v.backward_began_ns);
    ((float *)t.v.grad[3])[7] += 1;
    assert_int_equal(pk_averaging_check(&t.v, true, 1, &a, &err), PK_E_CHECK);
    assert_non_null(strstr(err.what, "element 7 of the gradient of layers.1.ffn.w3.weight"));
    close_trained(&t);
}

/* Ready at 10000, 10000 and 20000 of backward; 20000, 1200 and 80000 bytes, a byte a ns and 1000 ns each. */
static void times_are_exact(void **state)
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
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        const struct pk_averaging_options o = options(known[i].way, PK_FP32, false);
        struct pk_err err = {0};
        struct trial t;
        open_trial(&t, "null", &o, &model, &a);
        assert_int_equal(pk_averaging_step(&t.v, &err), PK_OK);
        assert_int_equal(t.v.exposed_ns, known[i].exposed_ns);
        assert_int_equal(t.v.comm_ns, known[i].comm_ns);
        assert_int_equal(t.v.reduces_n, known[i].calls);
        assert_int_equal(pk_device_now_ns(&t.dev), 30000 + known[i].exposed_ns);
        close_trial(&t);
    }
}

/* Parts of 5000 elements: c alone at 10000, then b and a, in five, at 20000. The link is busy until 31000. */
static void times_of_a_cut_array_are_exact(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_averaging_options o = options(PK_AVERAGE_BUCKET, PK_FP32, false);
    struct pk_err err = {0};
    struct trial t;
    o.split = true;
    o.cap = 5000;
    open_trial(&t, "null", &o, &model, &a);
    assert_int_equal(pk_averaging_step(&t.v, &err), PK_OK);
    assert_int_equal(t.v.reduces_n, 6);
    assert_int_equal(t.v.comm_ns, 6 * 1000 + 4 * 25300);
    assert_int_equal(t.v.exposed_ns, 31000 + 5 * 1000 + 4 * 20300 - 20000);
    assert_int_equal(pk_device_now_ns(&t.dev), 30000 + t.v.exposed_ns);
    close_trial(&t);
}

/* Copies are the device's work: compute goes on behind them, so the step is longer by all of them. */
static void copies_take_time(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_averaging_options o = options(PK_AVERAGE_FLAT, PK_FP32, true);
    struct pk_err err = {0};
    struct trial t;
    open_trial(&t, "null", &o, &model, &a);
    assert_int_equal(pk_averaging_step(&t.v, &err), PK_OK);
    const uint64_t once =
        (40000 + 1023) / 1024 + (2400 + 1023) / 1024 + (160000 + 1023) / 1024; /* 1024 bytes a ns */
    assert_int_equal(pk_device_now_ns(&t.dev), 30000 + 102200 + 2 * once);
    close_trial(&t);
}

static void models_of_the_reports(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_gradients g;
    pk_gradients_of_transformer(
        &(struct pk_transformer_config){.layers = 12, .width = 768, .heads = 12, .ff = 3072, .vocab = 10000},
        &a, &g);
    assert_int_equal(g.n, 111);
    assert_int_equal(g.elements, 128625408);
    pk_gradients_of_transformer(
        &(struct pk_transformer_config){.layers = 36, .width = 1280, .heads = 20, .ff = 5120, .vocab = 10000},
        &a, &g);
    assert_int_equal(g.n, 327);
    assert_int_equal(g.elements, 969411840);
    assert_int_equal(g.v[0].elements, 12800000); /* the head, first of all */
    assert_int_equal(g.v[1].elements, 1280);
    assert_true(g.v[1].share == 0 && g.v[2].share > 0);
    assert_true(g.v[326].elements == 12800000 && g.v[326].share == 0);
    double share = 0;
    for (size_t t = 0; t < g.n; t++)
        share += g.v[t].share;
    assert_true(share > 1 - 1e-9 && share < 1 + 1e-9);
}

/* The least of many passes through what is done for each gradient of the large model besides sending it: below 1 % of the shortest
 * backward pass that anybody could want to average (10 ms). */
static void bookkeeping_is_small(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_gradients g;
    struct pk_bucket_progress f;
    struct pk_buckets b;
    uint64_t least = UINT64_MAX;
    size_t from, to = 0;
    pk_gradients_of_transformer(
        &(struct pk_transformer_config){.layers = 36, .width = 1280, .heads = 20, .ff = 5120, .vocab = 10000},
        &a, &g);
    size_t *elements = pk_new_n(&a, size_t, g.n);
    for (size_t t = 0; t < g.n; t++)
        elements[t] = g.v[t].elements;
    for (int pass = 0; pass < 200; pass++) {
        const uint64_t began = pk_clock_ns();
        pk_buckets_plan(elements, g.n, 25000000 / 4, 0, &a, &b);
        pk_bucket_progress_init(&f, &b, &a);
        for (size_t t = 0; t < g.n; t++)
            pk_bucket_progress_ready(&f, t, &from, &to);
        const uint64_t took = pk_clock_ns() - began;
        least = took < least ? took : least;
    }
    assert_int_equal(to, b.n);
    assert_true(least < 10 * PK_NS_PER_MS / 100);
}

static enum pk_code read_list(const char *text, struct pk_arena *a, struct pk_gradients *g,
                              struct pk_err *err)
{
    char path[] = "/tmp/perfkit-gradients-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
    close(fd);
    *err = (struct pk_err){0};
    enum pk_code rc = pk_gradients_read(path, a, g, err);
    unlink(path);
    return rc;
}

static void lists(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_gradients g;
    struct pk_err err;
    assert_int_equal(read_list("# mine\nfirst 10\n\n second\t30 # of two\r\n", &a, &g, &err), PK_OK);
    assert_int_equal(g.n, 2);
    assert_string_equal(g.v[0].name, "second");
    assert_int_equal(g.v[0].elements, 30);
    assert_true(g.v[1].share == 0.25);
    static const struct {
        const char *text, *what, *why;
    } bad[] = {
        {"", ":1:", "names no tensor"},
        {"a 1\nb\n", ":2: 'b'", "a name and an integer"},
        {"a -1\n", ":1:", "a name and an integer"},
        {"a 1x\n", ":1:", "a name and an integer"},
        {"a 0\n", ":1:", "at least one element"},
        {"a 99999999999999999999\n", ":1:", "at most 2^40"},
        {"a 1099511627776\nb 1\n", ":2:", "at most 2^40"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(read_list(bad[i].text, &a, &g, &err), PK_E_USAGE);
        assert_non_null(strstr(err.what, bad[i].what));
        assert_non_null(strstr(err.why, bad[i].why));
        assert_true(*err.fix);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_way_is_right),
        cmocka_unit_test(wrong_is_noticed),
        cmocka_unit_test(times_are_exact),
        cmocka_unit_test(times_of_a_cut_array_are_exact),
        cmocka_unit_test(split_is_right),
        cmocka_unit_test(copies_take_time),
        cmocka_unit_test(models_of_the_reports),
        cmocka_unit_test(lists),
        cmocka_unit_test(bookkeeping_is_small),
        cmocka_unit_test(gradients_of_a_transformer),
        cmocka_unit_test(gradients_are_told_in_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
