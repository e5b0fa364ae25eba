/* Transports self and link: exact on the null device's clock, overlapped on the CPU's. */
#include "comm/comm.h"

#include "base/clock.h"
#include "device/null.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const struct pk_virtual_link ten_us_1gb = {.latency_ns = 10000, .bytes_per_s = 1e9};

struct both {
    struct pk_device dev;
    struct pk_comm comm;
};

static void open_both(struct both *b, const char *device, enum pk_comm_kind kind, struct pk_comm_options o)
{
    const struct pk_device_options how = {.threads = 1, .no_bind = true};
    struct pk_err err = {0};
    assert_int_equal(pk_device_open(&b->dev, device, &how, &err), PK_OK);
    assert_int_equal(pk_comm_open(&b->comm, kind, &b->dev, &o, &err), PK_OK);
}

static void close_both(struct both *b)
{
    pk_comm_close(&b->comm);
    pk_device_close(&b->dev);
}

static void start(struct both *b, struct pk_reduce *r, float *data, size_t n)
{
    struct pk_err err = {0};
    assert_int_equal(pk_comm_start(&b->comm, r, data, n, PK_FP32, &err), PK_OK);
}

static void wait_for(struct both *b, struct pk_reduce *r)
{
    struct pk_err err = {0};
    assert_int_equal(pk_comm_wait(&b->comm, r, &err), PK_OK);
}

/* o + b * 2(R-1)/R / w, for two ranks and for eight. */
static void test_time_of_one(void **state)
{
    for (unsigned ranks = 2; ranks <= 8; ranks *= 4) {
        struct both b;
        struct pk_reduce r = {0};
        open_both(&b, "null", PK_COMM_LINK, (struct pk_comm_options){.ranks = ranks, .link = ten_us_1gb});
        assert_int_equal(b.comm.size, ranks);
        start(&b, &r, NULL, 1000);
        wait_for(&b, &r);
        assert_int_equal(pk_device_now_ns(&b.dev), 10000 + 4000 * 2 * (ranks - 1) / ranks);
        assert_int_equal(b.comm.reduced_bytes, 4000);
        close_both(&b);
    }
}

/* One at a time, in order; what is started while the link is busy begins when it is free. */
static void test_serial_and_overlapped(void **state)
{
    struct both b;
    struct pk_reduce r[3] = {0};
    open_both(&b, "null", PK_COMM_LINK, (struct pk_comm_options){.link = ten_us_1gb});
    start(&b, &r[0], NULL, 1000); /* 0 .. 14000 */
    pk_null_advance(&b.dev, 5000);
    start(&b, &r[1], NULL, 500); /* 14000 .. 26000 */
    pk_null_advance(&b.dev, 45000);
    start(&b, &r[2], NULL, 0); /* 50000 .. 60000 */
    for (int i = 0; i < 3; i++)
        wait_for(&b, &r[i]);
    assert_int_equal(r[0].ended_ns, 14000);
    assert_int_equal(r[1].queued_ns, 5000);
    assert_int_equal(r[1].began_ns, 14000);
    assert_int_equal(r[1].ended_ns, 26000);
    assert_int_equal(r[2].began_ns, 50000);
    assert_int_equal(pk_device_now_ns(&b.dev), 60000);
    close_both(&b);
}

/* Three arrays in one call: their bytes, and the latency once. */
static void test_group(void **state)
{
    struct both b;
    struct pk_reduce r = {0};
    struct pk_err err = {0};
    const struct pk_part parts[] = {{NULL, 100}, {NULL, 0}, {NULL, 400}};
    open_both(&b, "null", PK_COMM_LINK, (struct pk_comm_options){.link = ten_us_1gb});
    assert_int_equal(pk_comm_start_group(&b.comm, &r, parts, 3, PK_BF16, &err), PK_OK);
    wait_for(&b, &r);
    assert_int_equal(pk_device_now_ns(&b.dev), 10000 + 1000);
    assert_int_equal(b.comm.reduces, 1);
    close_both(&b);
}

static uint64_t with_jitter(uint64_t seed)
{
    struct both b;
    struct pk_reduce r = {0};
    struct pk_virtual_link l = ten_us_1gb;
    l.jitter = 0.1;
    l.seed = seed;
    open_both(&b, "null", PK_COMM_LINK, (struct pk_comm_options){.link = l});
    start(&b, &r, NULL, 1000);
    wait_for(&b, &r);
    close_both(&b);
    return r.ended_ns;
}

static void test_jitter_is_seeded(void **state)
{
    assert_int_equal(with_jitter(1), with_jitter(1));
    assert_int_not_equal(with_jitter(1), with_jitter(2));
    assert_in_range(with_jitter(1), 7000, 28000); /* within seven standard deviations */
}

/* The link works while this thread does something else: both together take no longer than the link. */
static void test_overlap_on_the_cpu(void **state)
{
    struct both b;
    struct pk_reduce r = {0};
    float x = 3;
    open_both(&b, "cpu", PK_COMM_LINK,
              (struct pk_comm_options){.link = {.latency_ns = 20 * PK_NS_PER_MS, .bytes_per_s = 1e9}});
    start(&b, &r, &x, 1);
    pk_pause_until(&b.dev, r.queued_ns + 25 * PK_NS_PER_MS);
    const uint64_t before = pk_device_now_ns(&b.dev);
    wait_for(&b, &r);
    assert_true(pk_device_now_ns(&b.dev) - before < 20 * PK_NS_PER_MS);
    assert_true(before - r.queued_ns >= 25 * PK_NS_PER_MS);
    assert_int_equal(r.ended_ns - r.began_ns, 20 * PK_NS_PER_MS + 4);
    assert_true(x == 3); /* the mean of equal ranks */
    close_both(&b);
}

static void test_self(void **state)
{
    struct both b;
    struct pk_reduce r = {0};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    const char *lines[1];
    int number = 7;
    open_both(&b, "null", PK_COMM_SELF, (struct pk_comm_options){0});
    start(&b, &r, NULL, 1 << 20);
    wait_for(&b, &r);
    assert_int_equal(pk_device_now_ns(&b.dev), 0);
    assert_int_equal(pk_comm_barrier(&b.comm, &err), PK_OK);
    assert_int_equal(pk_comm_bcast(&b.comm, &number, sizeof number, &err), PK_OK);
    assert_int_equal(number, 7);
    assert_int_equal(pk_comm_gather(&b.comm, "a line", &a, lines, &err), PK_OK);
    assert_string_equal(lines[0], "a line");
    close_both(&b);
}

static void test_refusals(void **state)
{
    const struct {
        enum pk_comm_kind kind;
        struct pk_comm_options o;
        const char *what;
    } bad[] = {
        {PK_COMM_SELF, {.ranks = 2}, "2 ranks by the transport self"},
        {PK_COMM_LINK, {.link = {.bytes_per_s = 0}}, "0 bytes per second"},
        {PK_COMM_LINK, {.link = {.bytes_per_s = 1e9, .jitter = -1}}, "jitter -1"},
    };
    struct pk_device dev;
    struct pk_err err = {0};
    assert_int_equal(pk_device_open(&dev, "null", &(struct pk_device_options){0}, &err), PK_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct pk_comm c;
        assert_int_equal(pk_comm_open(&c, bad[i].kind, &dev, &bad[i].o, &err), PK_E_USAGE);
        assert_non_null(strstr(err.what, bad[i].what));
        assert_true(*err.why && *err.fix);
        pk_comm_close(&c); /* allowed */
    }
    pk_device_close(&dev);
}

/* After an abort every call is an error, and what is pending may be left. */
static void test_broken(void **state)
{
    struct both b;
    struct pk_reduce r = {0}, later = {0};
    struct pk_err err = {0};
    open_both(&b, "null", PK_COMM_LINK, (struct pk_comm_options){.link = ten_us_1gb});
    start(&b, &r, NULL, 1);
    pk_comm_abort(&b.comm);
    assert_int_equal(pk_comm_wait(&b.comm, &r, &err), PK_E_IO);
    assert_int_equal(pk_comm_start(&b.comm, &later, NULL, 1, PK_FP32, &err), PK_E_IO);
    assert_int_equal(pk_comm_barrier(&b.comm, &err), PK_E_IO);
    assert_non_null(strstr(err.what, "no longer work together"));
    close_both(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time_of_one),
        cmocka_unit_test(test_serial_and_overlapped),
        cmocka_unit_test(test_jitter_is_seeded),
        cmocka_unit_test(test_overlap_on_the_cpu),
        cmocka_unit_test(test_self),
        cmocka_unit_test(test_group),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_broken),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
