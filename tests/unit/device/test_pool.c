/* The pool on the null device: every figure is computed by hand. */
#include "device/pool.h"

#include "device/device.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static int open_null(void **state)
{
    static struct pk_device dev;
    struct pk_err err;
    const struct pk_device_options opt = {.limit_bytes = 10240};
    *state = &dev;
    return pk_device_open(&dev, "null", &opt, &err);
}

static int close_null(void **state)
{
    pk_device_close(*state);
    return 0;
}

static void rounds_and_accounts(void **state)
{
    struct pk_device *dev = *state;
    struct pk_pool *p = &dev->pool;
    void *a = pk_device_alloc(dev, 1, PK_TAG_INPUT), *b = pk_device_alloc(dev, 257, PK_TAG_ACTIVATIONS),
         *zero = pk_device_alloc(dev, 0, PK_TAG_OTHER);
    assert_true(a && b && zero && a != b && b != zero);
    assert_int_equal(p->current, 256 + 512 + 256);
    assert_int_equal(p->peak, 1024);
    assert_int_equal(p->reserved, 1024);
    assert_int_equal(p->tag_current[PK_TAG_ACTIVATIONS], 512);
    pk_device_free(dev, b);
    pk_device_free(dev, NULL);
    assert_int_equal(p->current, 512);
    assert_int_equal(p->peak, 1024);
    assert_int_equal(p->reserved, 1024);
    assert_int_equal(p->tag_current[PK_TAG_ACTIVATIONS], 0);
    assert_int_equal(p->tag_peak[PK_TAG_ACTIVATIONS], 512);
    pk_pool_reset_peak(p);
    assert_int_equal(p->peak, 512);
    assert_int_equal(p->tag_peak[PK_TAG_ACTIVATIONS], 0);
    pk_device_free(dev, a);
    pk_device_free(dev, zero);
    assert_int_equal(p->current, 0);
    pk_pool_trim(p);
    assert_int_equal(p->reserved, 0);
}

static void warm_takes_nothing_new(void **state)
{
    struct pk_device *dev = *state;
    void *first[3], *again[3];
    static const size_t sizes[3] = {1000, 2000, 1000};
    for (int i = 0; i < 3; i++)
        first[i] = pk_device_alloc(dev, sizes[i], PK_TAG_OTHER);
    for (int i = 0; i < 3; i++)
        pk_device_free(dev, first[i]);
    size_t reserved = dev->pool.reserved;
    for (int i = 0; i < 3; i++)
        again[i] = pk_device_alloc(dev, sizes[i], PK_TAG_OTHER);
    assert_int_equal(dev->pool.reserved, reserved);
    assert_int_equal(reserved, 1024 + 2048 + 1024);
    assert_ptr_equal(again[1], first[1]);
    assert_true(again[0] != again[2]);
    for (int i = 0; i < 3; i++)
        pk_device_free(dev, again[i]);
}

static void limit_is_of_live_bytes(void **state)
{
    struct pk_device *dev = *state;
    struct pk_pool *p = &dev->pool;
    struct pk_err err;
    void *a = pk_device_alloc(dev, 8192, PK_TAG_OTHER);
    assert_null(pk_device_alloc(dev, 2049, PK_TAG_OTHER));
    assert_int_equal(p->refused_bytes, 2304);
    assert_int_equal(pk_device_oom(dev, &err), PK_E_OOM);
    assert_non_null(strstr(err.what, "null"));
    assert_non_null(strstr(err.why, "in use"));
    void *b = pk_device_alloc(dev, 2048, PK_TAG_OTHER);
    assert_non_null(b);
    pk_device_free(dev, a);
    pk_device_free(dev, b);
    assert_int_equal(p->reserved, 10240);
    /* live bytes would fit, reserved would not: idle blocks go back first */
    a = pk_device_alloc(dev, 4096, PK_TAG_OTHER);
    assert_non_null(a);
    assert_true(p->reserved <= 10240);
    assert_null(pk_device_alloc(dev, SIZE_MAX, PK_TAG_OTHER));
    assert_null(pk_device_alloc(dev, SIZE_MAX - 4096, PK_TAG_OTHER));
    pk_device_free(dev, a);
}

static void many_sizes_and_blocks(void **state)
{
    struct pk_device *dev = *state;
    enum { N = 2000 };
    static void *p[N];
    dev->pool.limit = SIZE_MAX;
    for (int round = 0; round < 3; round++) {
        size_t sum = 0;
        for (int i = 0; i < N; i++) {
            p[i] = pk_device_alloc(dev, (size_t)(1 + i % 500) * 256, PK_TAG_OTHER);
            sum += (size_t)(1 + i % 500) * 256;
        }
        assert_int_equal(dev->pool.current, sum);
        assert_int_equal(dev->pool.reserved, sum);
        for (int i = 0; i < N; i++)
            pk_device_free(dev, p[(i * 7) % N]);
        assert_int_equal(dev->pool.current, 0);
    }
}

static void nth_allocation_fails(void **state)
{
    struct pk_device *dev = *state;
    dev->pool.fail_at = 2;
    void *a = pk_device_alloc(dev, 1, PK_TAG_OTHER);
    assert_non_null(a);
    assert_null(pk_device_alloc(dev, 1, PK_TAG_OTHER));
    void *b = pk_device_alloc(dev, 1, PK_TAG_OTHER);
    assert_non_null(b);
    pk_device_free(dev, a);
    pk_device_free(dev, b);
}

static void reclaims_what_leaked(void **state)
{
    struct pk_device *dev = *state;
    void *kept = pk_device_alloc(dev, 1, PK_TAG_OTHER);
    uint64_t since = dev->pool.serial;
    pk_device_alloc(dev, 512, PK_TAG_OTHER);
    pk_device_alloc(dev, 1024, PK_TAG_OTHER);
    assert_int_equal(pk_pool_reclaim(&dev->pool, since), 1536);
    assert_int_equal(dev->pool.current, 256);
    pk_device_free(dev, kept);
}

static int64_t observed[4];
static size_t observed_n;

static void observe(void *user, int64_t bytes, enum pk_tag tag, size_t current)
{
    assert_int_equal(tag, PK_TAG_GRADIENTS);
    observed[observed_n++] = bytes;
    observed[observed_n++] = (int64_t)current;
}

static void observer_sees_everything(void **state)
{
    struct pk_device *dev = *state;
    dev->pool.observer = observe;
    pk_device_free(dev, pk_device_alloc(dev, 300, PK_TAG_GRADIENTS));
    const int64_t expected[] = {512, 512, -512, 0};
    assert_memory_equal(observed, expected, sizeof expected);
}

static void tags_have_names(void **state)
{
    for (unsigned t = 0; t < PK_TAGS; t++)
        assert_true(pk_tag_name(t)[0] != '\0');
}

#define ON_NULL(f) cmocka_unit_test_setup_teardown(f, open_null, close_null)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_NULL(rounds_and_accounts),      ON_NULL(warm_takes_nothing_new),   ON_NULL(limit_is_of_live_bytes),
        ON_NULL(many_sizes_and_blocks),    ON_NULL(nth_allocation_fails),     ON_NULL(reclaims_what_leaked),
        ON_NULL(observer_sees_everything), cmocka_unit_test(tags_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
