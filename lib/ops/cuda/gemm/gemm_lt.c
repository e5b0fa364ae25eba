/* Gemm by cuBLASLt: row-major products as column-major ones, the fastest candidate per shape.
 *
 * The library is column-major: it sees a row-major array as its transpose, and computes C^T = op(B)^T op(A)^T. Its A is our B, its m our
 * n. */
#include "ops/cuda/gemm/gemm.h"

#include "base/err.h"
#include "device/choices.h"
#include "device/cuda/api.h"
#include "device/cuda/cuda.h"
#include "device/cuda/library.h"
#include "ops/workspace.h"

#include <math.h>
#include <string.h>

enum { CANDIDATES = 8, TRIALS = 3 };

/* X(name): every function of the library that perfkit calls. */
#define PK_LT_CALLS(X)                                                                                       \
    X(cublasLtCreate)                                                                                        \
    X(cublasLtDestroy)                                                                                       \
    X(cublasLtMatmul)                                                                                        \
    X(cublasLtMatmulDescCreate)                                                                              \
    X(cublasLtMatmulDescDestroy)                                                                             \
    X(cublasLtMatmulDescSetAttribute)                                                                        \
    X(cublasLtMatrixLayoutCreate)                                                                            \
    X(cublasLtMatrixLayoutDestroy)                                                                           \
    X(cublasLtMatrixLayoutSetAttribute)                                                                      \
    X(cublasLtMatmulPreferenceCreate)                                                                        \
    X(cublasLtMatmulPreferenceDestroy)                                                                       \
    X(cublasLtMatmulPreferenceSetAttribute)                                                                  \
    X(cublasLtMatmulAlgoGetHeuristic)                                                                        \
    X(cublasLtMatmulAlgoCheck)                                                                               \
    X(cublasLtGetVersion)                                                                                    \
    X(cublasLtGetStatusName)

#define PK_LT_FIELD(name) __typeof__(&name) name;
struct pk_lt {
    struct pk_library library;
    PK_LT_CALLS(PK_LT_FIELD)
    cublasLtHandle_t handle;
    struct pk_err refused; /* why there is no handle, once it was tried */
    struct pk_lt_plan *plans;
};
#undef PK_LT_FIELD

/* PK_OK, or the library's error. */
static enum pk_code lt_check(const struct pk_lt *lt, cublasStatus_t rc, const char *what, struct pk_err *err)
{
    if (rc == CUBLAS_STATUS_SUCCESS)
        return PK_OK;
    pk_fail(err, PK_E_INTERNAL, "cuBLASLt failed: %s", what);
    pk_why(err, "%s", lt->cublasLtGetStatusName(rc));
    return pk_fix(err, "perfkit doctor shows which library is in use");
}

struct pk_lt_plan {
    struct pk_lt_plan *next;
    struct pk_lt_key key;
    cublasLtMatmulDesc_t desc;
    cublasLtMatrixLayout_t la, lb, lc; /* the library's A is our b */
    cublasLtMatmulAlgo_t algo;
    size_t workspace_bytes; /* what every product of this shape gets (ops/workspace.h) */
};

static enum pk_code make_layout(const struct pk_lt *lt, enum pk_dtype type, size_t rows, size_t cols,
                                size_t ld, size_t batch, size_t stride, cublasLtMatrixLayout_t *out,
                                struct pk_err *err)
{
    static const cudaDataType_t types[] = {[PK_FP32] = CUDA_R_32F, [PK_BF16] = CUDA_R_16BF};
    const int32_t count = (int32_t)batch;
    const int64_t offset = (int64_t)stride;
    cublasStatus_t rc = lt->cublasLtMatrixLayoutCreate(out, types[type], rows, cols, (int64_t)ld);
    if (!rc)
        rc = lt->cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count,
                                                  sizeof count);
    if (!rc)
        rc = lt->cublasLtMatrixLayoutSetAttribute(*out, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset,
                                                  sizeof offset);
    return lt_check(lt, rc, "describing a matrix", err);
}

static enum pk_code describe(const struct pk_lt *lt, const struct pk_lt_gemm *g, struct pk_lt_plan *p,
                             struct pk_err *err)
{
    static const cublasComputeType_t types[] = {
        [PK_MATH_IEEE] = CUBLAS_COMPUTE_32F, [PK_MATH_TF32] = CUBLAS_COMPUTE_32F_FAST_TF32};
    static const cublasOperation_t ops[] = {[PK_N] = CUBLAS_OP_N, [PK_T] = CUBLAS_OP_T};
    const bool ta = g->ta == PK_T, tb = g->tb == PK_T;
    cublasStatus_t rc = lt->cublasLtMatmulDescCreate(&p->desc, types[p->key.g.math], CUDA_R_32F);
    if (!rc)
        rc = lt->cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSA, &ops[g->tb],
                                                sizeof ops[0]);
    if (!rc)
        rc = lt->cublasLtMatmulDescSetAttribute(p->desc, CUBLASLT_MATMUL_DESC_TRANSB, &ops[g->ta],
                                                sizeof ops[0]);
    if (rc)
        return lt_check(lt, rc, "describing a product", err);
    enum pk_code made = make_layout(lt, g->ab_type, tb ? g->k : g->n, tb ? g->n : g->k, g->ldb, g->batch,
                                    g->stride_b, &p->la, err);
    if (!made)
        made = make_layout(lt, g->ab_type, ta ? g->m : g->k, ta ? g->k : g->m, g->lda, g->batch, g->stride_a,
                           &p->lb, err);
    return made ? made : make_layout(lt, g->c_type, g->n, g->m, g->ldc, g->batch, g->stride_c, &p->lc, err);
}

static enum pk_code candidates(const struct pk_lt *lt, const struct pk_lt_plan *p,
                               cublasLtMatmulHeuristicResult_t found[CANDIDATES], int *n, struct pk_err *err)
{
    const size_t most = p->workspace_bytes;
    /* a product of parts may be summed up in the type of its result, which bf16 is too short for */
    const uint32_t sums =
        p->key.g.c_type == PK_FP32 ? CUBLASLT_REDUCTION_SCHEME_MASK : CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    const struct {
        cublasLtMatmulPreferenceAttributes_t attribute;
        const void *value;
        size_t bytes;
    } wishes[] = {{CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most},
                  {CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &sums, sizeof sums},
                  {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, &p->key.align_b, sizeof p->key.align_b},
                  {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, &p->key.align_a, sizeof p->key.align_a},
                  {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, &p->key.align_c, sizeof p->key.align_c},
                  {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, &p->key.align_c, sizeof p->key.align_c}};
    cublasLtMatmulPreference_t preference = NULL;
    cublasStatus_t rc = lt->cublasLtMatmulPreferenceCreate(&preference);
    for (size_t i = 0; !rc && i < sizeof wishes / sizeof *wishes; i++)
        rc = lt->cublasLtMatmulPreferenceSetAttribute(preference, wishes[i].attribute, wishes[i].value,
                                                      wishes[i].bytes);
    if (!rc)
        rc = lt->cublasLtMatmulAlgoGetHeuristic(lt->handle, p->desc, p->la, p->lb, p->lc, p->lc, preference,
                                                CANDIDATES, found, n);
    if (preference)
        lt->cublasLtMatmulPreferenceDestroy(preference);
    return lt_check(lt, !rc && !*n ? CUBLAS_STATUS_NOT_SUPPORTED : rc, "asking for algorithms for this shape",
                    err);
}

static cublasStatus_t multiply(struct pk_device *dev, const struct pk_lt *lt, const struct pk_lt_plan *p,
                               const struct pk_lt_gemm *g, const cublasLtMatmulAlgo_t *algo, void *d,
                               void *workspace, size_t bytes)
{
    return lt->cublasLtMatmul(lt->handle, p->desc, &g->alpha, g->b, p->la, g->a, p->lb, &g->beta, g->c, p->lc,
                              d, p->lc, algo, workspace, bytes, pk_cuda_stream(dev, PK_LANE_COMPUTE));
}

/* Memory for timing candidates, outside the pool, so that it is not part of a case's peak. */
struct trial_setup {
    const struct pk_cuda_api *api;
    cudaEvent_t from, to;
    char *workspace;
    void *d; /* results, where the product adds to c */
};

/* False when there is no room to try: the library's first proposal is taken. */
static bool bench_make(struct pk_device *dev, struct trial_setup *b, const struct pk_lt_gemm *g,
                       size_t workspace)
{
    void *memory = NULL;
    const size_t results = (g->batch - 1) * g->stride_c + (g->m - 1) * g->ldc + g->n,
                 extra = g->beta != 0 ? results * pk_dtype_bytes(g->c_type) : 0;
    cudaError_t rc = b->api->cudaMalloc(&memory, workspace + extra);
    if (!rc)
        rc = b->api->cudaEventCreateWithFlags(&b->from, cudaEventDefault);
    if (!rc)
        rc = b->api->cudaEventCreateWithFlags(&b->to, cudaEventDefault);
    b->workspace = memory;
    b->d = extra ? b->workspace + workspace : g->c;
    return pk_cuda_room(dev, rc, "allocating memory to test products");
}

static void bench_free(const struct trial_setup *b)
{
    if (b->workspace)
        b->api->cudaFree(b->workspace);
    if (b->from)
        b->api->cudaEventDestroy(b->from);
    if (b->to)
        b->api->cudaEventDestroy(b->to);
}

/* Milliseconds of one product, or infinity when this candidate cannot do it. */
static float trial(struct pk_device *dev, const struct pk_lt *lt, const struct pk_lt_plan *p,
                   const struct pk_lt_gemm *g, const struct trial_setup *b,
                   const cublasLtMatmulHeuristicResult_t *c)
{
    cudaStream_t stream = pk_cuda_stream(dev, PK_LANE_COMPUTE);
    float ms = INFINITY;
    for (int i = 0; i <= TRIALS; i++) { /* the first, untimed, loads the kernel */
        if (i == 1 && b->api->cudaEventRecordWithFlags(b->from, stream, cudaEventRecordDefault))
            return INFINITY;
        if (multiply(dev, lt, p, g, &c->algo, b->d, b->workspace, c->workspaceSize))
            return INFINITY;
    }
    if (b->api->cudaEventRecordWithFlags(b->to, stream, cudaEventRecordDefault) ||
        b->api->cudaEventSynchronize(b->to) || b->api->cudaEventElapsedTime(&ms, b->from, b->to))
        return INFINITY;
    return ms / TRIALS;
}

static enum pk_code choose(struct pk_device *dev, const struct pk_lt *lt, struct pk_lt_plan *p,
                           const struct pk_lt_gemm *g, const cublasLtMatmulHeuristicResult_t *found, int n,
                           struct pk_err *err)
{
    struct trial_setup b = {.api = pk_cuda_api_of(dev)};
    int best = 0;
    float best_ms = INFINITY;
    if (n > 1 && bench_make(dev, &b, g, p->workspace_bytes))
        for (int i = 0; i < n; i++) {
            const float ms = found[i].state ? INFINITY : trial(dev, lt, p, g, &b, &found[i]);
            best = ms < best_ms ? i : best;
            best_ms = fminf(ms, best_ms);
        }
    bench_free(&b);
    p->algo = found[best].algo;
    return pk_cuda_check(dev, cudaSuccess, "trying products", err);
}

static void plan_end(const struct pk_lt *lt, const struct pk_lt_plan *p)
{
    const cublasLtMatrixLayout_t layouts[] = {p->la, p->lb, p->lc};
    for (size_t i = 0; i < 3; i++)
        if (layouts[i])
            lt->cublasLtMatrixLayoutDestroy(layouts[i]);
    if (p->desc)
        lt->cublasLtMatmulDescDestroy(p->desc);
}

static void end(struct pk_device *dev, void *state)
{
    struct pk_lt *lt = state;
    if (!lt->handle)
        return;
    for (const struct pk_lt_plan *p = lt->plans; p; p = p->next)
        plan_end(lt, p);
    lt->plans = NULL;
    lt->cublasLtDestroy(lt->handle);
    pk_library_close(&lt->library);
}

static enum pk_code open_library(struct pk_device *dev, struct pk_lt *lt, struct pk_err *err)
{
#define SYMBOL(name) {#name, (void (**)(void)) & lt->name},
    const struct pk_symbol symbols[] = {PK_LT_CALLS(SYMBOL){0}};
#undef SYMBOL
    enum pk_code rc = pk_library_open(PK_LIB_CUBLASLT, symbols, &dev->arena, &lt->library, err);
    if (!rc)
        rc = lt_check(lt, lt->cublasLtCreate(&lt->handle), "opening cuBLASLt", err);
    if (rc)
        pk_library_close(&lt->library);
    return rc;
}

/* The device's, opened by the first call, which may be in the first, timed, iteration, and ended with it; the error of the first attempt
 * otherwise. */
static enum pk_code lt_of_device(struct pk_device *dev, struct pk_lt **lt, struct pk_err *err)
{
    const bool timed = pk_timed_region(false);
    *lt = pk_cuda_user_state(dev, sizeof **lt, end);
    if (!(*lt)->handle && !(*lt)->refused.code)
        (*lt)->refused.code = open_library(dev, *lt, &(*lt)->refused);
    pk_timed_region(timed);
    if ((*lt)->refused.code)
        *err = (*lt)->refused;
    return (*lt)->refused.code;
}

/* What another process of the run chose: NULL when it is the plan's algorithm now, else why this library refuses it. */
static const char *take_given(const struct pk_lt *lt, struct pk_lt_plan *p, const char *given)
{
    cublasLtMatmulHeuristicResult_t result = {0};
    if (!pk_lt_algo_parse(given, &p->algo))
        return "it is not an algorithm";
    const cublasStatus_t rc =
        lt->cublasLtMatmulAlgoCheck(lt->handle, p->desc, p->la, p->lb, p->lc, p->lc, &p->algo, &result);
    if (rc)
        return lt->cublasLtGetStatusName(rc);
    return result.workspaceSize > p->workspace_bytes ? "it needs more workspace than is available" : NULL;
}

/* A given choice, or one found by timing and passed on. */
static enum pk_code find_algorithm(struct pk_device *dev, const struct pk_lt *lt, struct pk_lt_plan *p,
                                   const struct pk_lt_gemm *g, struct pk_err *err)
{
    cublasLtMatmulHeuristicResult_t found[CANDIDATES];
    char name[PK_LT_KEY_TEXT], text[PK_LT_ALGO_TEXT];
    int n = 0;
    pk_lt_key_text(&p->key, lt->cublasLtGetVersion(), name);
    const char *given = pk_choice_of(dev, name), *refused = given ? take_given(lt, p, given) : NULL;
    if (given && !refused)
        return PK_OK;
    if (candidates(lt, p, found, &n, err) || choose(dev, lt, p, g, found, n, err))
        return err->code;
    pk_lt_algo_text(&p->algo, text);
    pk_choice_make(dev, name, text, refused);
    return PK_OK;
}

/* A cold path: the first time that a shape occurs. */
static enum pk_code make_plan(struct pk_device *dev, struct pk_lt *lt, const struct pk_lt_key *key,
                              const struct pk_lt_gemm *g, struct pk_lt_plan **out, struct pk_err *err)
{
    struct pk_lt_plan *p = pk_new(&dev->arena, struct pk_lt_plan);
    p->key = *key;
    p->workspace_bytes = pk_workspace_gemm(&(struct pk_gemm){
        .m = g->m, .n = g->n, .k = g->k, .batch = g->batch, .ab_type = g->ab_type, .c_type = g->c_type});
    if (describe(lt, g, p, err) || find_algorithm(dev, lt, p, g, err)) {
        plan_end(lt, p);
        return err->code;
    }
    p->next = lt->plans;
    *out = lt->plans = p;
    return PK_OK;
}

static enum pk_code plan_of(struct pk_device *dev, struct pk_lt *lt, const struct pk_lt_gemm *g,
                            struct pk_lt_plan **out, struct pk_err *err)
{
    struct pk_lt_key key;
    pk_lt_key_of(g, &key);
    *out = lt->plans;
    while (*out && memcmp(&(*out)->key, &key, sizeof key) != 0)
        *out = (*out)->next;
    if (*out)
        return PK_OK;
    const bool timed = pk_timed_region(false);
    enum pk_code rc = make_plan(dev, lt, &key, g, out, err);
    pk_timed_region(timed);
    return rc;
}

enum pk_code pk_lt_gemm(struct pk_device *dev, const struct pk_lt_gemm *g, struct pk_err *err)
{
    struct pk_lt *lt;
    struct pk_lt_plan *p;
    void *workspace = NULL;
    pk_assert(g->batch <= INT32_MAX);
    if (g->ab_type == PK_FP32 && g->math > PK_MATH_TF32) {
        pk_fail(err, PK_E_UNAVAILABLE, "gemm of %s cannot run on device cuda", pk_math_name(g->math));
        pk_why(err, "cuBLASLt supports ieee and tf32 products of fp32 elements");
        return pk_fix(err, "choose math=ieee, or dtype=tf32");
    }
    if (lt_of_device(dev, &lt, err) || plan_of(dev, lt, g, &p, err))
        return err->code;
    if (!(workspace = pk_device_alloc(dev, p->workspace_bytes, PK_TAG_WORKSPACE)))
        return pk_device_oom(dev, err);
    const cublasStatus_t rc = multiply(dev, lt, p, g, &p->algo, g->c, workspace, p->workspace_bytes);
    pk_device_free(dev, workspace); /* the lane's next user of it comes after this product */
    return lt_check(lt, rc, "a matrix product", err);
}

struct pk_lt_gemm pk_lt_of(const struct pk_gemm *g)
{
    return (struct pk_lt_gemm){.m = g->m,
                               .n = g->n,
                               .k = g->k,
                               .batch = g->batch,
                               .ta = g->ta,
                               .tb = g->tb,
                               .ab_type = g->ab_type,
                               .c_type = g->c_type,
                               .math = g->math,
                               .alpha = g->alpha,
                               .beta = g->beta,
                               .a = g->a,
                               .b = g->b,
                               .c = g->c,
                               .lda = g->ta == PK_T ? g->m : g->k,
                               .ldb = g->tb == PK_T ? g->k : g->n,
                               .ldc = g->n,
                               .stride_a = g->m * g->k,
                               .stride_b = g->k * g->n,
                               .stride_c = g->m * g->n};
}
