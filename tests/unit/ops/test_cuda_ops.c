/* The CUDA ops on the fake runtime and a fake cuBLASLt: how products are asked for, which candidate is taken, what the fused variant
 * is made of, and a whole case of attention-scaling with its own check. */
#include "ops/ops.h"

#include "../device/fake_cuda.h"
#include "base/rng.h"
#include "bench/measure/measure.h"
#include "device/choices.h"
#include "device/cuda/cuda.h"
#include "fake_flash.h"
#include "fake_lt.h"
#include "op_checks.h"
#include "ops/cuda/cuda_ops.h"
#include "ops/cuda/gemm/gemm.h"
#include "reference.h"
#include "json/json.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <cublasLt.h>
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static struct pk_device dev;
static struct trial trial = {.dev = &dev, .label = "fake cuBLASLt"};
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
    *lt = (struct fake_lt){.work = take_time, .ns = {3000, 1000, 2000}, .workspace_bytes = {0, 128, 4096}};
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

static void asked(cublasComputeType_t how, cudaDataType_t operands, cudaDataType_t result)
{
    assert_int_equal(lt->compute_type, how);
    assert_int_equal(lt->scale_type, CUDA_R_32F);
    assert_int_equal(lt->a_type, operands);
    assert_int_equal(lt->b_type, operands);
    assert_int_equal(lt->c_type, result);
    /* a bf16 result is not where parts of a product are added up */
    assert_int_equal(lt->sums, result == CUDA_R_16BF ? CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE
                                                     : CUBLASLT_REDUCTION_SCHEME_MASK);
}

/* With beta, what a product adds to is not spoilt by the trials. */
static void products_of_every_class_match(void **state)
{
    check_gemm(&trial, &(struct pk_gemm){0}, OPS_TINY);
    asked(CUBLAS_COMPUTE_32F, CUDA_R_32F, CUDA_R_32F);
    check_gemm(&trial, &(struct pk_gemm){.math = PK_MATH_TF32}, OPS_TINY);
    asked(CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F, CUDA_R_32F);
    check_gemm(&trial, &(struct pk_gemm){.ab_type = PK_BF16, .c_type = PK_BF16}, OPS_TINY);
    asked(CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_16BF);
    check_gemm(&trial, &(struct pk_gemm){.ab_type = PK_BF16, .math = PK_MATH_TF32}, OPS_TINY);
    asked(CUBLAS_COMPUTE_32F, CUDA_R_16BF, CUDA_R_32F); /* math is of fp32 operands */
}

static void what_the_library_has_not_is_refused(void **state)
{
    float *x = floats(1, 1);
    const struct pk_gemm g = {
        .m = 1, .n = 1, .k = 1, .batch = 1, .a = x, .b = x, .c = x, .math = PK_MATH_3XTF32};
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_E_UNAVAILABLE);
    assert_non_null(strstr(err.what, "3xtf32"));
    assert_int_equal(lt->products, 0);
    pk_device_free(&dev, x);
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

/* m x m x m; no transposes, alpha 1. */
static struct pk_gemm square(size_t m, float beta, const float *a, const float *b, float *c)
{
    return (struct pk_gemm){
        .m = m, .n = m, .k = m, .batch = 1, .alpha = 1, .beta = beta, .a = a, .b = b, .c = c};
}

static void multiply_once(size_t m, enum pk_math math)
{
    float *a = floats(m * m, 1), *b = floats(m * m, 2), *c = floats(m * m, 3);
    struct pk_gemm g = square(m, 0, a, b, c);
    g.math = math;
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_OK);
    free_all((float *const[]){a, b, c}, 3);
}

static void the_fastest_is_chosen_once_per_shape(void **state)
{
    multiply_once(4, PK_MATH_IEEE);
    assert_int_equal(lt->asked, 1);
    assert_int_equal(lt->last, 1);
    assert_true(lt->products > FAKE_LT_CANDIDATES);
    const int products = lt->products;
    multiply_once(4, PK_MATH_IEEE);
    assert_int_equal(lt->products, products + 1);
    assert_int_equal(lt->asked, 1);
    multiply_once(5, PK_MATH_IEEE);
    assert_int_equal(lt->asked, 2);
    assert_int_equal(lt->tf32, 0);
    multiply_once(5, PK_MATH_TF32); /* another numerics is another plan */
    assert_int_equal(lt->asked, 3);
    assert_true(lt->tf32 > 0);
}

/* --- choices of a run --- */

static char told[4][2][256];
static size_t n_told;

static void hear(void *user, const char *key, const char *value)
{
    assert_true(n_told < COUNT(told));
    snprintf(told[n_told][0], sizeof told[0][0], "%s", key);
    snprintf(told[n_told++][1], sizeof told[0][1], "%s", value);
}

static void listen(void)
{
    n_told = 0;
    pk_choices_report(&dev, hear, NULL);
}

/* Another process of the same run. */
static void start_again(void)
{
    pk_device_close(&dev);
    assert_int_equal(pk_device_open(&dev, "cuda", &(struct pk_device_options){0}, &err), PK_OK);
    lt->asked = lt->checked = lt->products = 0;
}

static void a_choice_is_told_once_and_taken(void **state)
{
    multiply_once(5, PK_MATH_IEEE);
    multiply_once(5, PK_MATH_IEEE);
    listen();
    assert_int_equal(n_told, 1);
    assert_non_null(strstr(told[0][0], "choice:gemm "));
    assert_non_null(strstr(told[0][0], " 5x5x5 b1 NN fp32>fp32 "));
    assert_int_equal(strlen(told[0][1]), 128);
    char key[256], value[256];
    snprintf(key, sizeof key, "%s", told[0][0] + strlen(PK_CHOICE_PREFIX));
    snprintf(value, sizeof value, "%s", told[0][1]);
    listen();
    assert_int_equal(n_told, 0);
    start_again();
    lt->ns[0] = 1; /* it would choose another */
    pk_choice_give(&dev, key, value);
    multiply_once(5, PK_MATH_IEEE);
    assert_int_equal(lt->last, 1);
    assert_true(lt->asked == 0 && lt->checked == 1 && lt->products == 1);
    listen();
    assert_int_equal(n_told, 0); /* nothing new */
    multiply_once(5, PK_MATH_TF32);
    assert_int_equal(lt->asked, 1); /* another numerics is another choice */
    assert_int_equal(lt->last, 0);
}

static void a_choice_that_is_refused_is_made_anew(void **state)
{
    multiply_once(5, PK_MATH_IEEE);
    listen();
    char key[256], value[256];
    snprintf(key, sizeof key, "%s", told[0][0] + strlen(PK_CHOICE_PREFIX));
    snprintf(value, sizeof value, "%s", told[0][1]);
    static const char *const reasons[] = {"CUBLAS_STATUS_FAKE", "not an algorithm", "not an algorithm",
                                          "more workspace"};
    for (size_t i = 0; i < COUNT(reasons); i++) {
        start_again();
        lt->refuse = i == 0;
        lt->workspace_bytes[1] = i == 3 ? 1000 : 128;
        pk_choice_give(&dev, key, i == 1 ? "0" : i == 2 ? "zz" : value);
        multiply_once(5, PK_MATH_IEEE);
        assert_int_equal(lt->asked, 1);
        listen();
        assert_int_equal(n_told, 2);
        assert_string_equal(told[0][0] + strlen(PK_CHOICE_PREFIX), key);
        assert_string_equal(told[1][0], "choice_warning");
        assert_non_null(strstr(told[1][1], reasons[i]));
    }
}

/* Keys of different products differ, also where the text for people does not. */
static void keys_of_choices(void **state)
{
    char text[2][PK_LT_KEY_TEXT];
    struct pk_lt_key k;
    float *x = floats(256, 1);
    struct pk_lt_gemm g = {
        .m = SIZE_MAX >> 40, .n = SIZE_MAX >> 40, .k = SIZE_MAX >> 40, .batch = 1 << 30, .beta = 1};
    g.a = g.b = g.c = x;
    g.ab_type = PK_BF16;
    pk_lt_key_of(&g, &k);
    pk_lt_key_text(&k, 130100, text[0]);
    assert_non_null(strstr(text[0], "b1073741824 NN bf16>fp32 +c "));
    assert_int_equal(strlen(strrchr(text[0], ' ')), 17);
    const struct pk_lt_gemm same = g;
    for (int i = 0; i < 4; i++) {
        g = same;
        g.alpha = i == 0 ? 3 : 0; /* no part of it */
        g.lda = i == 1;
        g.stride_c = i == 2;
        g.a = i == 3 ? x + 1 : x;
        pk_lt_key_of(&g, &k);
        pk_lt_key_text(&k, 130100, text[1]);
        assert_int_equal(strcmp(text[0], text[1]) == 0, i == 0);
    }
    pk_device_free(&dev, x);
}

/* The trials' memory is not the case's; what every product is given is. The candidate that wants more is not proposed. */
static void memory_of_products(void **state)
{
    float *a = floats(16, 1), *b = floats(16, 2), *c = floats(16, 3);
    pk_pool_reset_peak(&dev.pool);
    const struct pk_gemm g = square(4, 1, a, b, c);
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_OK);
    assert_int_equal(dev.pool.tag_peak[PK_TAG_WORKSPACE], pk_workspace_gemm(&g));
    assert_int_equal(dev.pool.peak, 4 * PK_POOL_ALIGN);
    assert_int_equal(lt->last, 1);
    lt->ns[1] = lt->ns[0] + 1;
    multiply_once(5, PK_MATH_IEEE);
    assert_int_equal(lt->last, 0);
    multiply_once(20, PK_MATH_IEEE); /* room for it */
    assert_int_equal(lt->last, 2);
    free_all((float *const[]){a, b, c}, 3);
}

static void a_product_that_fails_says_so(void **state)
{
    float *a = floats(16, 1), *b = floats(16, 2), *c = floats(16, 3);
    const struct pk_gemm g = square(4, 0, a, b, c);
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_OK);
    lt->fail_products = 1;
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "a matrix product"));
    assert_true(err.why[0] && err.fix[0]);
    dev.pool.fail_at = 1;
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_E_OOM);
    free_all((float *const[]){a, b, c}, 3);
}

/* Short of memory for trials, the first proposal is taken; with any other error the GPU is lost, and the product not made. */
static void trials_without_room(void **state)
{
    float *a = floats(16, 1), *b = floats(16, 2), *c = floats(16, 3);
    struct pk_gemm g = square(4, 0, a, b, c);
    pk_device_free(&dev, pk_device_alloc(&dev, pk_workspace_gemm(&g), PK_TAG_WORKSPACE));
    fake_cuda.fail_at = 1;
    fake_cuda.fail_with = cudaErrorMemoryAllocation;
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_OK);
    assert_int_equal(lt->last, 0);
    assert_int_equal(lt->products, 1);
    g.m = 3;
    fake_cuda.fail_at = 1;
    fake_cuda.fail_with = cudaErrorNotSupported;
    assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "to test products"));
    assert_true(pk_device_broken(&dev));
    assert_int_equal(lt->products, 1);
    free_all((float *const[]){a, b, c}, 3);
}

static void without_the_library(void **state)
{
    float *a = floats(16, 1), *b = floats(16, 2), *c = floats(16, 3);
    const struct pk_gemm g = square(4, 0, a, b, c);
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

static struct pk_fused_blocks cut;

static enum pk_code backward_by_cut(struct pk_device *d, const struct pk_attention *at, struct pk_err *e)
{
    return pk_cuda_fused_backward_by(d, at, &cut, e);
}

/* Blocks of several problems, the last with fewer; of rows, the last with fewer, which add to dk and dv. */
static void fused_matches(void **state)
{
    static const struct {
        struct pk_attention at;
        struct pk_fused_blocks cut; /* none: as it comes */
    } shapes[] = {
        {{.batch = 1, .seq = 1, .dim = 1}, {0}},       {{.batch = 3, .seq = 7, .dim = 5}, {0}},
        {{.batch = 2, .seq = 65, .dim = 16}, {0}},     {{.batch = 5, .seq = 33, .dim = 4}, {2, 33}},
        {{.batch = 2, .seq = 130, .dim = 3}, {1, 50}},
    };
    static const struct {
        enum pk_dtype type;
        enum pk_math math;
    } classes[] = {{PK_FP32, PK_MATH_IEEE}, {PK_FP32, PK_MATH_TF32}, {PK_BF16, PK_MATH_IEEE}};
    for (size_t i = 0; i < 2 * COUNT(shapes) * COUNT(classes); i++) {
        struct pk_attention at = shapes[i / 2 % COUNT(shapes)].at;
        cut = shapes[i / 2 % COUNT(shapes)].cut;
        at.causal = (int)(i % 2);
        at.dtype = classes[i / 2 / COUNT(shapes)].type, at.math = classes[i / 2 / COUNT(shapes)].math;
        cut.sums_apart = at.dtype == PK_BF16 && cut.rows < at.seq;
        check_fused_shape(&trial, &at, cut.rows ? backward_by_cut : pk_op_fused_backward);
        assert_int_equal(lt->tf32 > 0, at.math == PK_MATH_TF32);
        assert_int_equal(lt->a_type, at.dtype == PK_BF16 ? CUDA_R_16BF : CUDA_R_32F);
        lt->tf32 = 0;
    }
}

/* Told of the chip, on its memory alone; what fails says so, and a width without kernels is refused before a launch. */
static void flash_is_launched(void **state)
{
    enum { BATCH = 2, SEQ = 9, DIM = 5, N = BATCH * SEQ * DIM };
    float *v[9];
    for (size_t i = 0; i < 9; i++)
        v[i] = floats(N, i);
    struct pk_attention at = {.batch = BATCH, .seq = SEQ, .dim = DIM, .scale = 1};
    at.q = v[0], at.k = v[1], at.v = v[2], at.d_o = v[3];
    at.o = v[4], at.dq = v[5], at.dk = v[6], at.dv = v[7], at.lse = v[8];
    pk_pool_reset_peak(&dev.pool);
    const size_t before = dev.pool.current;
    fake_flash_chip = (struct pk_chip){0};
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_OK);
    assert_int_equal(pk_op_flash_backward(&dev, &at, &err), PK_OK);
    assert_int_equal(fake_flash_chip.multiprocessors, pk_cuda_traits(&dev)->multiprocessors);
    assert_int_equal(fake_flash_chip.shared_bytes, pk_cuda_traits(&dev)->shared_bytes);
    assert_int_equal(dev.pool.peak, before);
    fake_flash_fail = 1;
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "launching flash attention"));
    assert_int_equal(pk_op_flash_backward(&dev, &at, &err), PK_E_INTERNAL);
    fake_flash_fail = 0;
    at.math = PK_MATH_TF32;
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_E_UNAVAILABLE);
    at.math = PK_MATH_IEEE, at.dtype = PK_BF16;
    assert_int_equal(pk_op_flash_backward(&dev, &at, &err), PK_E_UNAVAILABLE);
    assert_non_null(strstr(err.what, "bf16"));
    at.dtype = PK_FP32, at.dim = PK_FLASH_DIM + 1;
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_E_UNAVAILABLE);
    assert_int_equal(pk_op_flash_backward(&dev, &at, &err), PK_E_UNAVAILABLE);
    assert_int_equal(fake_flash_3xtf32, 0);
    assert_true(strstr(err.what, "257 features") && strstr(err.why, "256") && strstr(err.fix, "heads"));
    at.math = PK_MATH_3XTF32, at.dim = PK_FLASH_3XTF32_DIM + 1;
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_E_UNAVAILABLE);
    assert_true(strstr(err.why, "128") && strstr(err.fix, "ieee"));
    at.dim = DIM;
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_OK);
    assert_int_equal(pk_op_flash_backward(&dev, &at, &err), PK_OK);
    assert_int_equal(fake_flash_3xtf32, 2);
    free_all(v, 9);
}

static void long_sequences_are_cut(void **state)
{
    struct pk_attention at = {.batch = 8, .seq = 256, .dim = 16};
    struct pk_fused_blocks b = pk_fused_blocks(&at);
    assert_true(b.problems == 8 && b.rows == 256 && !b.sums_apart);
    at.seq = 1024;
    b = pk_fused_blocks(&at);
    assert_true(b.problems == 6 && b.rows == 1024);
    at.seq = 16384;
    b = pk_fused_blocks(&at);
    assert_true(b.problems == 1 && b.rows == 384 && !b.sums_apart);
    at.dtype = PK_BF16;
    b = pk_fused_blocks(&at);
    assert_true(b.rows == 768 && b.sums_apart);
    at.seq = 1 << 20;
    b = pk_fused_blocks(&at);
    assert_true(b.rows == 64);
}

/* Few blocks are made more by parts of what they see, from the shape alone: two blocks for each of 132 multiprocessors, or as many as leave
 * parts of 256 tokens. */
static void few_blocks_see_parts(void **state)
{
    static const struct {
        size_t batch, seq, dim;
        enum pk_math math;
        bool backward;
        size_t n, rows;
    } shapes[] = {
        {1, 4096, 64, PK_MATH_IEEE, false, 8, 512},
        {1, 4096, 64, PK_MATH_IEEE, true, 4, 1024},
        {1, 4096, 64, PK_MATH_3XTF32, false, 4, 1024},
        {1, 4096, 256, PK_MATH_IEEE, false, 4, 1024},
        {1, 4096, 256, PK_MATH_IEEE, true, 1, 4096},
        {16, 512, 64, PK_MATH_IEEE, false, 2, 256},
        {17, 512, 64, PK_MATH_IEEE, false, 1, 512},
        {1, 11264, 64, PK_MATH_IEEE, false, 3, 3776},
        {1, 11265, 64, PK_MATH_IEEE, false, 1, 11265},
        {1, 1000, 64, PK_MATH_IEEE, false, 3, 384},
        {1, 511, 64, PK_MATH_IEEE, false, 1, 511},
        {1, SIZE_MAX / 4, 64, PK_MATH_IEEE, true, 1, SIZE_MAX / 4},
        {SIZE_MAX / 4, 1000, 64, PK_MATH_IEEE, true, 1, 1000},
    };
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const struct pk_attention at = {
            .batch = shapes[i].batch, .seq = shapes[i].seq, .dim = shapes[i].dim, .math = shapes[i].math};
        const struct pk_flash_parts parts = pk_flash_parts(&at, shapes[i].backward);
        if (parts.n != shapes[i].n || parts.rows != shapes[i].rows)
            fail_msg("shape %zu: %zu parts of %zu", i, parts.n, parts.rows);
        assert_true(parts.n == 1 || (parts.rows % PK_FLASH_PART_STEP == 0 && parts.n * parts.rows >= at.seq));
    }
}

/* Results of parts are in workspace, as much as is said, and given back; without room nothing is launched. */
static void parts_have_workspace(void **state)
{
    enum { SEQ = 512, DIM = 8, N = SEQ * DIM };
    float *v[9];
    for (size_t i = 0; i < 9; i++)
        v[i] = floats(N, i);
    struct pk_attention at = {.batch = 1, .seq = SEQ, .dim = DIM, .scale = 1};
    at.q = v[0], at.k = v[1], at.v = v[2], at.d_o = v[3];
    at.o = v[4], at.dq = v[5], at.dk = v[6], at.dv = v[7], at.lse = v[8];
    const size_t before = dev.pool.current;
    pk_pool_reset_peak(&dev.pool);
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_OK);
    assert_int_equal(fake_flash_parts, 2);
    assert_int_equal(dev.pool.peak - before, 2 * SEQ * (DIM + 2) * sizeof(float));
    assert_int_equal(pk_op_flash_backward(&dev, &at, &err), PK_OK);
    assert_int_equal(fake_flash_parts, 2);
    assert_int_equal(dev.pool.peak - before, 2 * 2 * N * sizeof(float));
    assert_int_equal(dev.pool.tag_peak[PK_TAG_WORKSPACE], pk_workspace_flash_backward(&at));
    assert_int_equal(dev.pool.current, before);
    fake_flash_parts = 0;
    for (int backward = 0; backward < 2; backward++) {
        dev.pool.fail_at = 1;
        const enum pk_code rc =
            backward ? pk_op_flash_backward(&dev, &at, &err) : pk_op_flash_forward(&dev, &at, &err);
        assert_int_equal(rc, PK_E_OOM);
    }
    assert_int_equal(fake_flash_parts, 0);
    free_all(v, 9);
}

static int64_t peak_of(const struct pk_slice *s)
{
    for (size_t i = 0; i < s->n_series; i++)
        if (!strcmp(s->metrics[s->series[i].metric].name, "peak_bytes") &&
            s->series[i].phase == PK_PHASE_STEADY)
            return s->series[i].integer[0];
    return -1;
}

/* Measures one case, which checks itself; its memory is what was predicted, to the byte. */
static void measure(const char *variant, const char *dtype, const char *math, int dim, bool causal, int seq)
{
    struct pk_slice s;
    struct pk_case c = {.probe = pk_probe_find("attention-scaling")};
    while (strcmp(c.probe->variants[c.variant].name, variant) != 0)
        c.variant++;
    json_t *j = json_pack("{s:i, s:i, s:i, s:i, s:b, s:s}", "batch", 2, "heads", 1, "d_model", dim, "seq_len",
                          seq, "causal", (int)causal, "dtype", dtype);
    if (math)
        json_object_set_new(j, "math", json_string(math));
    assert_int_equal(pk_point_from_json(c.probe->axes, j, &arena, &c.at, &err), PK_OK);
    pk_measure_case(
        &(struct pk_measure){.c = &c,
                             .dev = &dev,
                             .check = true,
                             .seed = 1,
                             .stop = {.min_samples = 3, .max_samples = 5, .max_time_ns = 1000000}},
        &arena, &s);
    json_decref(j);
    if (s.status != PK_ST_OK)
        fail_msg("%s in %s: %s", variant, dtype, s.message);
    assert_int_equal(peak_of(&s), c.probe->predict(&c, PK_DEVICE_CUDA, PK_PEAK_BYTES));
}

static void cases_check_themselves(void **state)
{
    static const char *const dtypes[] = {"fp32", "tf32", "bf16"};
    for (size_t i = 0; i < COUNT(dtypes); i++)
        for (int causal = 0; causal < 2; causal++) {
            measure("vanilla", dtypes[i], NULL, 8, causal, 33);
            measure("fused", dtypes[i], NULL, 8, causal, 33);
        }
    measure("flash", "fp32", NULL, 8, true, 33);
    measure("flash", "fp32", NULL, 8, true, 512); /* in parts */
    assert_int_equal(fake_flash_parts, 2);
    const int before = fake_flash_3xtf32;
    measure("flash", "fp32", "3xtf32", 8, true, 33);
    assert_true(fake_flash_3xtf32 > before);
}

/* fp16x3 runs where it is switched on, with memory for its numbers; heads that are too narrow, few blocks, and backward are those of 3xtf32. */
static void fp16x3_is_chosen_by_shape(void **state)
{
    enum { BATCH = 2, SEQ = 9, DIM = 40, N = BATCH * SEQ * DIM };
    float *v[9];
    for (size_t i = 0; i < 9; i++)
        v[i] = floats(N, i);
    struct pk_attention at = {.batch = BATCH, .seq = SEQ, .dim = DIM, .scale = 1, .math = PK_MATH_FP16X3};
    at.q = v[0], at.k = v[1], at.v = v[2], at.d_o = v[3];
    at.o = v[4], at.dq = v[5], at.dk = v[6], at.dv = v[7], at.lse = v[8];
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_E_UNAVAILABLE);
    assert_true(strstr(err.what, "fp16x3") && strstr(err.fix, "PERFKIT_FP16X3=on"));
    setenv("PERFKIT_FP16X3", "on", 1);
    const int of_3xtf32 = fake_flash_3xtf32, of_fp16x3 = fake_flash_fp16x3;
    pk_pool_reset_peak(&dev.pool);
    const size_t before = dev.pool.current;
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_OK);
    assert_int_equal(fake_flash_fp16x3, of_fp16x3 + 1);
    assert_int_equal(dev.pool.peak - before, pk_workspace_flash_forward(&at));
    assert_true(dev.pool.peak - before >= pk_fp16x3_bytes(&at));
    assert_int_equal(pk_op_flash_backward(&dev, &at, &err), PK_OK);
    at.dim = 32;
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_OK);
    assert_int_equal(fake_flash_fp16x3, of_fp16x3 + 1);
    assert_int_equal(fake_flash_3xtf32, of_3xtf32 + 2);
    free_all(v, 9);
    measure("flash", "fp32", "fp16x3", 40, true, 33);
    unsetenv("PERFKIT_FP16X3");
    at = (struct pk_attention){.batch = 1, .seq = 4096, .dim = 64, .math = PK_MATH_FP16X3};
    assert_false(pk_flash_has_fp16x3(&at)); /* in four parts */
    at.batch = 8;
    assert_true(pk_flash_has_fp16x3(&at));
    at.dim = 129;
    assert_false(pk_flash_has_fp16x3(&at));
}

/* Five products where they are switched on, with memory for row sums; other widths and elements have seven. */
static void five_products_are_switched_on(void **state)
{
    struct pk_attention at = {.batch = 2, .seq = 33, .dim = 40};
    const int before = fake_flash_five;
    measure("flash", "fp32", "3xtf32", 40, true, 33);
    assert_int_equal(fake_flash_five, before);
    assert_int_equal(pk_workspace_flash_backward(&at), 0);
    setenv("PERFKIT_FIVE_PRODUCTS", "on", 1);
    assert_true(pk_workspace_flash_backward(&at) >= 2 * 33 * sizeof(float));
    measure("flash", "fp32", "3xtf32", 40, true, 33);
    const int of_3xtf32 = fake_flash_five;
    assert_true(of_3xtf32 > before);
    measure("flash", "fp32", NULL, 40, true, 512); /* in parts */
    assert_int_equal(fake_flash_parts, 2);
    assert_true(fake_flash_five > of_3xtf32);
    const struct {
        size_t dim;
        enum pk_dtype dtype;
        bool backward;
        int five;
    } rows[] = {{32, PK_FP32, true, 0},  {33, PK_FP32, true, 1}, {128, PK_FP32, true, 1},
                {129, PK_FP32, true, 0}, {64, PK_BF16, true, 0}, {64, PK_FP32, false, 0}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        at.dim = rows[i].dim, at.dtype = rows[i].dtype;
        assert_int_equal(pk_flash_parts(&at, rows[i].backward).five, rows[i].five);
    }
    unsetenv("PERFKIT_FIVE_PRODUCTS");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(products_of_every_class_match),
        TEST(what_the_library_has_not_is_refused),
        TEST(strides_are_kept),
        TEST(the_fastest_is_chosen_once_per_shape),
        TEST(a_choice_is_told_once_and_taken),
        TEST(a_choice_that_is_refused_is_made_anew),
        TEST(keys_of_choices),
        TEST(memory_of_products),
        TEST(a_product_that_fails_says_so),
        TEST(trials_without_room),
        TEST(without_the_library),
        TEST(fused_matches),
        TEST(flash_is_launched),
        TEST(fp16x3_is_chosen_by_shape),
        TEST(five_products_are_switched_on),
        TEST(long_sequences_are_cut),
        TEST(few_blocks_see_parts),
        TEST(parts_have_workspace),
        TEST(cases_check_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
