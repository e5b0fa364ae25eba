/* The GPU's ceilings on the fake runtime and with a fake cuBLASLt: rates are those at which the stand-ins for the kernels and the library's
 * fastest candidate pass time; nothing is left; refusals. */
#include "ops/ceilings/ceilings.h"

#include "../device/fake_cuda.h"
#include "device/cuda/cuda.h"
#include "fake_lt.h"
#include "ops/cuda/kernels.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static struct pk_device dev;
static struct pk_err err;
static struct pk_curves curves;

/* Every run lasts ms, as on a GPU, whose arrays are larger: the resolution of events is less than a part in a thousand of it. */
enum { FLOPS_PER_NS = 60000, EXPS_PER_NS = 4000, PRODUCT_NS = 2000000 };
static const double COPY_BYTES_PER_NS = 0.040, TRIAD_BYTES_PER_NS = 0.043;
static size_t most_bytes; /* of a copied array */
static size_t rounded;    /* elements */
static struct fake_lt *lt;
extern double fake_copy_bytes_per_ns;

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
    most_bytes = n * sizeof *x > most_bytes ? n * sizeof *x : most_bytes;
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

int pk_k_narrow(pk_stream s, const float *x, uint16_t *y, size_t n)
{
    rounded += n;
    return 0;
}

/* The rest of elementwise.cu, which nobody calls. */
int pk_k_causal_mask(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t batch, size_t seq)
{
    return 1;
}

int pk_k_map(pk_stream s, enum pk_map map, enum pk_dtype type, const void *a, const void *b, void *y,
             size_t n)
{
    return 1;
}

static void take_time(uint64_t ns)
{
    fake_cuda_work(pk_cuda_stream(&dev, PK_LANE_COMPUTE), ns);
}

static bool open_library(void)
{
    const char *folder = getenv("FAKE_LT");
    char path[512];
    setenv("PERFKIT_CUDA_LIBS", folder, 1);
    snprintf(path, sizeof path, "%s/libcublasLt.so.%d", folder, CUDART_VERSION / 1000);
    void *handle = dlopen(path, RTLD_NOW);
    lt = handle ? dlsym(handle, "fake_lt") : NULL;
    if (lt)
        *lt = (struct fake_lt){
            .work = take_time, .idle = 1, .ns = {3 * PRODUCT_NS, PRODUCT_NS, 2 * PRODUCT_NS}};
    return lt;
}

static int open_device(void **state)
{
    fake_cuda_reset();
    fake_cuda.memory_bytes = 1 << 30;
    most_bytes = 0;
    fake_copy_bytes_per_ns = COPY_BYTES_PER_NS;
    pk_cuda_use(&fake_cuda_api);
    rounded = 0;
    if (!open_library())
        return -1;
    return (int)pk_device_open(&dev, "cuda", &(struct pk_device_options){0}, &err);
}

static int close_device(void **state)
{
    const size_t left = dev.pool.current;
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    return left || fake_cuda.live_blocks || fake_cuda.live_events || fake_cuda.live_streams || lt->live;
}

static void rates_are_those_of_the_kernels(void **state)
{
    struct pk_ceilings c;
    if (pk_ceilings_measure(&dev, true, &c, &curves, &err))
        fail_msg("%s: %s", err.what, err.why);
    const size_t l2 = pk_cuda_traits(&dev)->l2_bytes;
    assert_true(c.cache_bytes == (double)l2);
    const struct pk_curve *curve = &curves.v[0];
    assert_true(curves.n == 1 && curve->stop == PK_CURVE_FLAT &&
                curve->lanes == (unsigned)pk_cuda_traits(&dev)->multiprocessors);
    assert_true(curve->points[curve->n - 3].bytes >= 4 * l2 && curve->points[curve->n - 4].bytes < 4 * l2);
    assert_true(2 * most_bytes == curve->points[curve->n - 1].bytes);
    assert_true(curve->points[0].level == PK_LEVEL_L2 && curve->points[0].bytes < l2);
    assert_true(c.level[PK_LEVEL_L2].to_bytes == (double)l2 && c.level[PK_LEVEL_L2].bytes_per_s > 0);
    assert_float_equal(c.fp32_flops_per_s / (FLOPS_PER_NS * 1e9), 1, 1e-3);
    assert_float_equal(c.exp_per_s / (EXPS_PER_NS * 1e9), 1, 1e-3);
    assert_float_equal(c.memory_bytes_per_s / (TRIAD_BYTES_PER_NS * 1e9), 1, 1e-3);
    assert_float_equal(c.copy_bytes_per_s / (COPY_BYTES_PER_NS * 1e9), 1, 1e-3);
    const double side = 128, product = 2 * side * side * side / PRODUCT_NS * 1e9;
    assert_true(side * side <= 16 * (double)l2 / 4 && 4 * side * side > 16 * (double)l2 / 4);
    assert_float_equal(c.tf32_flops_per_s / product, 1, 1e-3);
    assert_float_equal(c.bf16_flops_per_s / product, 1, 1e-3);
    assert_true(lt->tf32 > 0 && lt->tf32 < lt->products && lt->last == 1);
    assert_true(rounded == 2 * (size_t)(side * side));
    assert_true(dev.pool.current == 0 && dev.pool.reserved == 0);
}

static void without_the_library(void **state)
{
    struct pk_ceilings c;
    char folder[] = "/tmp/perfkit-no-lt-XXXXXX", other[64];
    assert_non_null(mkdtemp(folder));
    snprintf(other, sizeof other, "%s/libcublasLt.so.7", folder); /* of another version: it is refused */
    assert_int_equal(symlink("/dev/null", other), 0);
    setenv("PERFKIT_CUDA_LIBS", folder, 1);
    assert_int_equal(pk_ceilings_measure(&dev, true, &c, &curves, &err), PK_OK);
    assert_true(c.fp32_flops_per_s > 0 && c.tf32_flops_per_s == 0 && c.bf16_flops_per_s == 0);
    unlink(other);
    rmdir(folder);
}

/* What is wrong with it is said, and no rate made up. */
static void products_that_fail(void **state)
{
    struct pk_ceilings c;
    lt->fail_products = 20; /* trials are 12 */
    assert_int_equal(pk_ceilings_measure(&dev, true, &c, &curves, &err), PK_E_INTERNAL);
    assert_string_equal(err.what, "cuBLASLt failed: a matrix product");
}

static void no_room(void **state)
{
    struct pk_ceilings c;
    assert_int_equal(pk_ceilings_measure(&dev, true, &c, &curves, &err), PK_OK);
    const unsigned sizes = (unsigned)curves.v[0].n; /* the sink, each size, three operands */
    for (unsigned at = 1; at <= 1 + sizes + 3; at++) {
        const bool is_size = at > 2 && at <= 1 + sizes;
        dev.pool.fail_at = at;
        assert_int_equal(pk_ceilings_measure(&dev, true, &c, &curves, &err), is_size ? PK_OK : PK_E_OOM);
        assert_true(!is_size || (curves.v[0].n == at - 2 && curves.v[0].stop == PK_CURVE_NO_ROOM));
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
        refused += pk_ceilings_measure(&dev, true, &c, &curves, &err) != PK_OK;
        fake_cuda.fail_at = 0;
        assert_int_equal(dev.pool.current, 0);
    }
    assert_true(refused > 50);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(rates_are_those_of_the_kernels), TEST(without_the_library),
                                       TEST(products_that_fail), TEST(no_room), TEST(calls_that_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
