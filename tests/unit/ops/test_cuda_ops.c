/* The CUDA ops on the fake runtime and a fake cuBLASLt: how products are asked for, which candidate is taken, what the fused variant
 * is made of, and a whole case of attention-scaling with its own check. */
#include "ops/ops.h"

#include "../device/fake_cuda.h"
#include "base/rng.h"
#include "bench/measure/measure.h"
#include "device/cuda/cuda.h"
#include "fake_lt.h"
#include "ops/cuda/gemm_lt.h"
#include "reference.h"
#include "json/json.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct pk_device dev;
static struct pk_err err;
static struct pk_arena arena;
static struct fake_lt *lt;

static void take_time(uint64_t ns)
{
    fake_cuda_work(pk_cuda_stream(&dev, PK_LANE_COMPUTE), ns);
}

static int open_device(void **state)
{
    fake_cuda_reset();
    fake_cuda.memory_bytes = 1 << 30;
    pk_cuda_use(&fake_cuda_api);
    const char *folder = getenv("FAKE_LT");
    setenv("PERFKIT_CUDA_LIBS", folder, 1);
    void *handle = dlopen(pk_printf(&arena, "%s/libcublasLt.so.%d", folder, CUDART_VERSION / 1000), RTLD_NOW);
    lt = handle ? dlsym(handle, "fake_lt") : NULL;
    if (!lt)
        return -1;
    *lt = (struct fake_lt){.work = take_time, .ns = {3000, 1000, 2000}, .workspace_bytes = {0, 1024, 4096}};
    return pk_device_open(&dev, "cuda", &(struct pk_device_options){0}, &err);
}

/* Nothing is left: memory of products, events of trials, descriptors of plans. */
static int close_device(void **state)
{
    const size_t left = dev.pool.current;
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    pk_arena_free(&arena);
    return left || fake_cuda.live_blocks || fake_cuda.live_events || fake_cuda.live_streams ||
           fake_cuda.live_graphs || fake_cuda.live_execs || lt->live;
}

/* Device memory is host memory here. */
static float *floats(size_t n, uint64_t seed)
{
    float *v = pk_device_alloc(&dev, n * sizeof *v, PK_TAG_OTHER);
    struct pk_rng rng = {seed};
    assert_non_null(v);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(2 * pk_rng_uniform(&rng) - 1);
    return v;
}

static void free_all(float *const *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pk_device_free(&dev, v[i]);
}

static void assert_near(const float *got, const double *want, size_t n, size_t terms)
{
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += want[i] * want[i];
    const double allowed = 8 * 0x1p-23 * sqrt((double)terms + 16), rms = sqrt(squares / (double)n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs(got[i] - want[i]) <= allowed * (fabs(want[i]) + rms)))
            fail_msg("element %zu is %g, should be %g", i, (double)got[i], want[i]);
}

/* --- products --- */

static void check_gemm(size_t m, size_t n, size_t k, size_t batch, float alpha, float beta)
{
    for (int t = 0; t < 4; t++) {
        float *a = floats(m * k * batch, 1), *b = floats(k * n * batch, 2), *c = floats(m * n * batch, 3);
        const struct pk_gemm g = {m,    n, k, batch, t & 1 ? PK_T : PK_N, t & 2 ? PK_T : PK_N, alpha,
                                  beta, a, b, c};
        double *want = pk_new_n(&arena, double, m *n *batch);
        pk_reference_gemm(&g, want);
        if (pk_op_gemm(&dev, &g, &err))
            fail_msg("%s: %s", err.what, err.why);
        assert_near(c, want, m * n * batch, k);
        free_all((float *const[]){a, b, c}, 3);
    }
}

static void products_match(void **state)
{
    check_gemm(1, 1, 1, 1, 1, 0);
    check_gemm(7, 3, 13, 3, 0.5f, 0);
    check_gemm(30, 10, 7, 2, -2, 1); /* what it adds to is not spoilt by the trials */
    check_gemm(25, 31, 30, 1, 1, 0.25f);
}

/* A block within larger arrays, at addresses that are aligned to 4 bytes only. */
static void strides_are_kept(void **state)
{
    enum { M = 5, N = 4, K = 3, LDA = 9, LDB = 8, LDC = 7, BATCH = 2, STRIDE = 100 };
    float *a = floats(300, 1), *b = floats(300, 2), *c = floats(300, 3);
    float before[300];
    memcpy(before, c, sizeof before);
    const struct pk_lt_gemm g = {.m = M,
                                 .n = N,
                                 .k = K,
                                 .batch = BATCH,
                                 .alpha = 1,
                                 .a = a + 1,
                                 .b = b + 3,
                                 .c = c + 5,
                                 .lda = LDA,
                                 .ldb = LDB,
                                 .ldc = LDC,
                                 .stride_a = STRIDE,
                                 .stride_b = STRIDE,
                                 .stride_c = STRIDE};
    assert_int_equal(pk_lt_gemm(&dev, &g, &err), PK_OK);
    for (size_t z = 0; z < BATCH; z++)
        for (size_t i = 0; i < M; i++)
            for (size_t j = 0; j < N; j++) {
                double sum = 0;
                for (size_t k = 0; k < K; k++)
                    sum += (double)a[1 + z * STRIDE + i * LDA + k] * (double)b[3 + z * STRIDE + k * LDB + j];
                float *at = &c[5 + z * STRIDE + i * LDC + j];
                assert_true(fabs(*at - sum) < 1e-5);
                *at = before[at - c];
            }
    assert_memory_equal(c, before, sizeof before); /* nothing else was written */
    free_all((float *const[]){a, b, c}, 3);
}

static void multiply_once(size_t m, enum pk_lt_math math)
{
    float *a = floats(m * m, 1), *b = floats(m * m, 2), *c = floats(m * m, 3);
    struct pk_lt_gemm g = pk_lt_of(&(struct pk_gemm){m, m, m, 1, PK_N, PK_N, 1, 0, a, b, c});
    g.math = math;
    assert_int_equal(pk_lt_gemm(&dev, &g, &err), PK_OK);
    free_all((float *const[]){a, b, c}, 3);
}

static void the_fastest_is_chosen_once_per_shape(void **state)
{
    multiply_once(4, PK_LT_IEEE);
    assert_int_equal(lt->asked, 1);
    assert_int_equal(lt->last, 1);
    assert_true(lt->products > FAKE_LT_CANDIDATES);
    const int products = lt->products;
    multiply_once(4, PK_LT_IEEE);
    assert_int_equal(lt->products, products + 1);
    assert_int_equal(lt->asked, 1);
    multiply_once(5, PK_LT_IEEE);
    assert_int_equal(lt->asked, 2);
    assert_int_equal(lt->tf32, 0);
    multiply_once(5, PK_LT_TF32); /* another numerics is another plan */
    assert_int_equal(lt->asked, 3);
    assert_true(lt->tf32 > 0);
}

/* The trials' memory is not the case's; the chosen one's workspace is. */
static void memory_of_products(void **state)
{
    float *a = floats(16, 1), *b = floats(16, 2), *c = floats(16, 3);
    pk_pool_reset_peak(&dev.pool);
    const struct pk_gemm g = {4, 4, 4, 1, PK_N, PK_N, 1, 1, a, b, c};
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_OK);
    assert_int_equal(dev.pool.tag_peak[PK_TAG_WORKSPACE], 1024);
    assert_int_equal(dev.pool.peak, 3 * PK_POOL_ALIGN + 1024);
    free_all((float *const[]){a, b, c}, 3);
}

static void a_product_that_fails_says_so(void **state)
{
    float *a = floats(16, 1), *b = floats(16, 2), *c = floats(16, 3);
    const struct pk_gemm g = {4, 4, 4, 1, PK_N, PK_N, 1, 0, a, b, c};
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_OK);
    lt->fail_products = 1;
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "a matrix product"));
    assert_true(err.why[0] && err.fix[0]);
    dev.pool.fail_at = 1;
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_E_OOM);
    free_all((float *const[]){a, b, c}, 3);
}

static void without_the_library(void **state)
{
    float *a = floats(16, 1), *b = floats(16, 2), *c = floats(16, 3);
    const struct pk_gemm g = {4, 4, 4, 1, PK_N, PK_N, 1, 0, a, b, c};
    char folder[] = "/tmp/perfkit-no-lt-XXXXXX";
    assert_non_null(mkdtemp(folder));
    const char *other = pk_printf(&arena, "%s/libcublasLt.so.7", folder);
    assert_int_equal(symlink("/dev/null", other), 0);
    setenv("PERFKIT_CUDA_LIBS", folder, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_E_UNAVAILABLE);
        assert_non_null(strstr(err.why, "libcublasLt.so.7 is another major version"));
    }
    unlink(other);
    rmdir(folder);
    free_all((float *const[]){a, b, c}, 3);
}

/* --- attention --- */

static void check_fused(size_t batch, size_t seq, size_t dim, int causal)
{
    const size_t n = batch * seq * dim, scores = batch * seq * seq;
    float *v[9];
    for (size_t i = 0; i < 8; i++)
        v[i] = floats(n, i);
    v[8] = floats(scores, 9);
    const struct pk_attention at = {.batch = batch,
                                    .seq = seq,
                                    .dim = dim,
                                    .causal = causal,
                                    .scale = 0.7f,
                                    .q = v[0],
                                    .k = v[1],
                                    .v = v[2],
                                    .d_o = v[3],
                                    .o = v[4],
                                    .dq = v[5],
                                    .dk = v[6],
                                    .dv = v[7],
                                    .p = v[8]};
    const struct pk_reference_attention want = {.p = pk_new_n(&arena, double, scores),
                                                .o = pk_new_n(&arena, double, n),
                                                .dq = pk_new_n(&arena, double, n),
                                                .dk = pk_new_n(&arena, double, n),
                                                .dv = pk_new_n(&arena, double, n)};
    pk_reference_attention(&at, &want);
    assert_int_equal(pk_op_fused_forward(&dev, &at, &err), PK_OK);
    assert_int_equal(pk_op_fused_backward(&dev, &at, &err), PK_OK);
    assert_near(at.p, want.p, scores, seq);
    assert_near(at.o, want.o, n, seq);
    assert_near(at.dq, want.dq, n, 4 * seq);
    assert_near(at.dk, want.dk, n, 4 * seq);
    assert_near(at.dv, want.dv, n, 4 * seq);
    free_all(v, 9);
}

/* Whole problems in a block, several blocks of problems, several blocks of rows. */
static void fused_matches(void **state)
{
    for (int causal = 0; causal < 2; causal++) {
        check_fused(1, 1, 1, causal);
        check_fused(3, 7, 5, causal);
        check_fused(2, 65, 16, causal);
    }
    check_fused(100, 7, 3, 1);
    check_fused(3, 130, 3, 1);
    assert_int_equal(dev.pool.tag_peak[PK_TAG_WORKSPACE] / 1024, (64 * 130 * 4 + 1024) / 1024);
}

static const struct pk_slice *measure(const char *variant, bool causal, struct pk_slice *out)
{
    struct pk_case c = {.probe = pk_probe_find("attention-scaling")};
    while (strcmp(c.probe->variants[c.variant].name, variant) != 0)
        c.variant++;
    json_t *j = json_pack("{s:i, s:i, s:i, s:i, s:b, s:s, s:s}", "batch", 2, "heads", 1, "d_model", 8,
                          "seq_len", 33, "causal", (int)causal, "dtype", "fp32", "math", "ieee");
    assert_int_equal(pk_point_from_json(c.probe->axes, j, &arena, &c.at, &err), PK_OK);
    pk_measure_case(
        &(struct pk_measure){.c = &c,
                             .dev = &dev,
                             .check = true,
                             .seed = 1,
                             .stop = {.min_samples = 3, .max_samples = 5, .max_time_ns = 1000000}},
        &arena, out);
    json_decref(j);
    return out;
}

static void cases_check_themselves(void **state)
{
    struct pk_slice s;
    assert_int_equal(measure("vanilla", false, &s)->status, PK_ST_OK);
    assert_int_equal(measure("fused", true, &s)->status, PK_ST_OK);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(products_match),
        TEST(strides_are_kept),
        TEST(the_fastest_is_chosen_once_per_shape),
        TEST(memory_of_products),
        TEST(a_product_that_fails_says_so),
        TEST(without_the_library),
        TEST(fused_matches),
        TEST(cases_check_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
