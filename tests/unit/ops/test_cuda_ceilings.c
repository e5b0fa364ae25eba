/* The GPU's ceilings on the fake runtime: rates are those at which the stand-ins for the kernels pass time; nothing is left; refusals. */
#include "ops/ceilings.h"

#include "../device/fake_cuda.h"
#include "device/cuda/cuda.h"
#include "ops/cuda/kernels.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

static struct pk_device dev;
static struct pk_err err;

enum { FLOPS_PER_NS = 60000, EXPS_PER_NS = 4000, COPY_BYTES_PER_NS = 40, TRIAD_BYTES_PER_NS = 43 };
static size_t least_bytes; /* that a stream was asked for */

/* Nobody reads what they write. */
static int work(pk_stream s, double amount, double per_ns)
{
    fake_cuda_work(s, (uint64_t)(amount / per_ns));
    return 0;
}

int pk_k_fma_peak(pk_stream s, float *sink, size_t iterations, int blocks)
{
    return work(s, 2.0 * PK_PEAK_FMAS * PK_PEAK_THREADS * blocks * (double)iterations, FLOPS_PER_NS);
}

int pk_k_exp_peak(pk_stream s, float *sink, size_t iterations, int blocks)
{
    return work(s, 1.0 * PK_PEAK_EXPS * PK_PEAK_THREADS * blocks * (double)iterations, EXPS_PER_NS);
}

int pk_k_copy(pk_stream s, const float *x, float *y, size_t n)
{
    least_bytes = n * sizeof *x < least_bytes ? n * sizeof *x : least_bytes;
    return work(s, 2.0 * sizeof *x * (double)n, COPY_BYTES_PER_NS);
}

int pk_k_triad(pk_stream s, const float *x, const float *y, float *z, float alpha, size_t n)
{
    return work(s, 3.0 * sizeof *x * (double)n, TRIAD_BYTES_PER_NS);
}

/* An update in place: slower than the others here. */
int pk_k_scale(pk_stream s, enum pk_dtype type, float alpha, const void *x, void *y, size_t n)
{
    return work(s, 2.0 * (double)pk_dtype_bytes(type) * (double)n, COPY_BYTES_PER_NS / 2);
}

/* Of the same file as scale; nobody calls them. */
int pk_k_causal_mask(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t batch, size_t seq)
{
    return 1;
}

int pk_k_narrow(pk_stream s, const float *x, uint16_t *y, size_t n)
{
    return 1;
}

static int open_device(void **state)
{
    fake_cuda_reset();
    fake_cuda.memory_bytes = 1 << 30;
    least_bytes = SIZE_MAX;
    pk_cuda_use(&fake_cuda_api);
    return (int)pk_device_open(&dev, "cuda", &(struct pk_device_options){0}, &err);
}

static int close_device(void **state)
{
    const size_t left = dev.pool.current;
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    return left || fake_cuda.live_blocks || fake_cuda.live_events || fake_cuda.live_streams;
}

static void rates_are_those_of_the_kernels(void **state)
{
    struct pk_ceilings c;
    if (pk_ceilings_measure(&dev, &c, &err))
        fail_msg("%s: %s", err.what, err.why);
    const size_t l2 = pk_cuda_traits(&dev)->l2_bytes;
    assert_true(c.cache_bytes == (double)l2);
    assert_true(least_bytes >= 8 * l2);
    assert_float_equal(c.fp32_flops_per_s / (FLOPS_PER_NS * 1e9), 1, 1e-3);
    assert_float_equal(c.exp_per_s / (EXPS_PER_NS * 1e9), 1, 1e-3);
    assert_float_equal(c.memory_bytes_per_s / (TRIAD_BYTES_PER_NS * 1e9), 1, 1e-3);
    assert_true(c.copy_bytes_per_s > 0);
    assert_true(dev.pool.current == 0 && dev.pool.reserved == 0);
}

static void no_room(void **state)
{
    struct pk_ceilings c;
    for (unsigned at = 1; at <= 4; at++) {
        dev.pool.fail_at = at;
        assert_int_equal(pk_ceilings_measure(&dev, &c, &err), PK_E_OOM);
        assert_int_equal(dev.pool.current, 0);
    }
}

/* Whichever call of the runtime refuses: an error, or a rate that was measured without it, and nothing left. */
static void calls_that_fail(void **state)
{
    struct pk_ceilings c;
    unsigned long refused = 0;
    for (unsigned long at = 1; at < 60; at++) {
        fake_cuda.fail_at = at;
        fake_cuda.fail_with = cudaErrorInvalidValue;
        refused += pk_ceilings_measure(&dev, &c, &err) != PK_OK;
        fake_cuda.fail_at = 0;
        assert_int_equal(dev.pool.current, 0);
    }
    assert_true(refused > 50);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(rates_are_those_of_the_kernels), TEST(no_room),
                                       TEST(calls_that_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
