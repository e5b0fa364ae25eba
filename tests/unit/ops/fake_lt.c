/* Fake cuBLASLt: column-major products on the host for the layouts given, three candidates for each; a library that is opened as
 * libcublasLt is. It refuses operands that are less aligned than the heuristic was told. */
#include "fake_lt.h"

#include "ops/dtype.h"

#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

struct fake_lt fake_lt;

struct desc {
    cublasComputeType_t type;
    cudaDataType_t scale;
    cublasOperation_t ta, tb;
};
struct layout {
    cudaDataType type;
    uint64_t rows, cols;
    int64_t ld, stride;
    int32_t batch;
};
struct preference {
    uint64_t workspace;
    uint32_t sums, align[4]; /* A B C D */
};

#define OF(type, opaque) ((struct type *)(void *)(opaque))

size_t cublasLtGetVersion(void)
{
    return CUBLAS_VERSION;
}

const char *cublasLtGetStatusName(cublasStatus_t status)
{
    return status ? "CUBLAS_STATUS_FAKE" : "CUBLAS_STATUS_SUCCESS";
}

static void *make(size_t bytes)
{
    fake_lt.live++;
    return calloc(1, bytes);
}

static cublasStatus_t drop(void *p)
{
    fake_lt.live--;
    free(p);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t *handle)
{
    *handle = make(8);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle)
{
    return drop(handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t *desc, cublasComputeType_t type,
                                        cudaDataType_t scale)
{
    *desc = make(sizeof **desc);
    *OF(desc, *desc) = (struct desc){.type = type, .scale = scale};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc)
{
    return drop(desc);
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attr,
                                              const void *value, size_t bytes)
{
    if (bytes != sizeof(cublasOperation_t))
        return CUBLAS_STATUS_INVALID_VALUE;
    memcpy(attr == CUBLASLT_MATMUL_DESC_TRANSA ? &OF(desc, desc)->ta : &OF(desc, desc)->tb, value, bytes);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t *layout, cudaDataType type, uint64_t rows,
                                          uint64_t cols, int64_t ld)
{
    if ((type != CUDA_R_32F && type != CUDA_R_16BF) || ld < (int64_t)rows)
        return CUBLAS_STATUS_INVALID_VALUE;
    *layout = make(sizeof **layout);
    *OF(layout, *layout) = (struct layout){type, rows, cols, ld, 0, 1};
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout)
{
    return drop(layout);
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attr, const void *value,
                                                size_t bytes)
{
    struct layout *l = OF(layout, layout);
    if (attr == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT && bytes == sizeof l->batch)
        memcpy(&l->batch, value, bytes);
    else if (attr == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET && bytes == sizeof l->stride)
        memcpy(&l->stride, value, bytes);
    else
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t *preference)
{
    *preference = make(sizeof **preference);
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference)
{
    return drop(preference);
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attr,
                                                    const void *value, size_t bytes)
{
    struct preference *p = OF(preference, preference);
    if (attr == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES && bytes == sizeof p->workspace)
        memcpy(&p->workspace, value, bytes);
    else if (attr == CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK && bytes == sizeof p->sums)
        memcpy(&p->sums, value, bytes);
    else if (bytes == sizeof p->align[0])
        memcpy(&p->align[attr - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES], value, bytes);
    else
        return CUBLAS_STATUS_INVALID_VALUE;
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t *out, int *n)
{
    const struct preference *p = OF(preference, preference);
    fake_lt.asked++;
    fake_lt.sums = p->sums;
    *n = 0;
    for (int i = 0; *n < most && i < FAKE_LT_CANDIDATES; i++) {
        cublasLtMatmulHeuristicResult_t *r = &out[*n];
        if (fake_lt.workspace_bytes[i] > p->workspace)
            continue;
        *r = (cublasLtMatmulHeuristicResult_t){.workspaceSize = fake_lt.workspace_bytes[i]};
        r->algo.data[0] = (uint64_t)i;
        for (int k = 0; k < 4; k++)
            r->algo.data[1 + k] = p->align[k];
        ++*n;
    }
    return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t *algo, cublasLtMatmulHeuristicResult_t *out)
{
    fake_lt.checked++;
    if (algo->data[0] >= FAKE_LT_CANDIDATES || fake_lt.refuse)
        return CUBLAS_STATUS_NOT_SUPPORTED;
    out->workspaceSize = fake_lt.workspace_bytes[algo->data[0]];
    return CUBLAS_STATUS_SUCCESS;
}

static size_t bytes_of(const struct layout *l)
{
    return pk_dtype_bytes(l->type == CUDA_R_16BF ? PK_BF16 : PK_FP32);
}

static float get(const void *m, const struct layout *l, uint64_t i)
{
    return l->type == CUDA_R_16BF ? pk_bf16_to_float(((const uint16_t *)m)[i]) : ((const float *)m)[i];
}

static void put(void *m, const struct layout *l, uint64_t i, float v)
{
    if (l->type == CUDA_R_16BF)
        ((uint16_t *)m)[i] = pk_bf16_of_float(v);
    else
        ((float *)m)[i] = v;
}

static float at(const void *m, const struct layout *l, cublasOperation_t op, uint64_t row, uint64_t col)
{
    return get(m, l, op == CUBLAS_OP_T ? col + row * (uint64_t)l->ld : row + col * (uint64_t)l->ld);
}

static void multiply(const struct desc *op, const void *a, const struct layout *la, const void *b,
                     const struct layout *lb, float alpha, float beta, const void *c, void *d,
                     const struct layout *lc)
{
    const uint64_t depth = op->ta == CUBLAS_OP_T ? la->rows : la->cols;
    for (uint64_t j = 0; j < lc->cols; j++)
        for (uint64_t i = 0; i < lc->rows; i++) {
            double sum = 0;
            for (uint64_t k = 0; k < depth; k++)
                sum += (double)at(a, la, op->ta, i, k) * (double)at(b, lb, op->tb, k, j);
            const uint64_t to = i + j * (uint64_t)lc->ld;
            put(d, lc, to, alpha * (float)sum + (beta != 0 ? beta * get(c, lc, to) : 0));
        }
}

static void *problem(const void *m, const struct layout *l, int32_t i)
{
    return (char *)(void *)m + (size_t)(i * l->stride) * bytes_of(l);
}

static void note(const struct desc *d, const struct layout *la, const struct layout *lb,
                 const struct layout *lc)
{
    fake_lt.products++;
    fake_lt.tf32 += d->type == CUBLAS_COMPUTE_32F_FAST_TF32;
    fake_lt.compute_type = (int)d->type;
    fake_lt.scale_type = (int)d->scale;
    fake_lt.a_type = (int)la->type;
    fake_lt.b_type = (int)lb->type;
    fake_lt.c_type = (int)lc->type;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void *alpha,
                              const void *a, cublasLtMatrixLayout_t adesc, const void *b,
                              cublasLtMatrixLayout_t bdesc, const void *beta, const void *c,
                              cublasLtMatrixLayout_t cdesc, void *d, cublasLtMatrixLayout_t ddesc,
                              const cublasLtMatmulAlgo_t *algo, void *workspace, size_t bytes,
                              cudaStream_t stream)
{
    const struct layout *la = OF(layout, adesc), *lb = OF(layout, bdesc), *lc = OF(layout, cdesc);
    const void *operands[] = {a, b, c, d};
    const uint64_t candidate = algo->data[0];
    for (int i = 0; i < 4; i++)
        if ((uintptr_t)operands[i] % algo->data[1 + i])
            return CUBLAS_STATUS_INVALID_VALUE;
    if (bytes < fake_lt.workspace_bytes[candidate] || (bytes && !workspace))
        return CUBLAS_STATUS_INVALID_VALUE;
    if (fake_lt.fail_products && --fake_lt.fail_products == 0)
        return CUBLAS_STATUS_EXECUTION_FAILED;
    memset(workspace ? workspace : &(char){0}, 0x5A, bytes);
    for (int32_t i = 0; i < lc->batch && !fake_lt.idle; i++)
        multiply(OF(desc, desc), problem(a, la, i), la, problem(b, lb, i), lb, *(const float *)alpha,
                 *(const float *)beta, problem(c, lc, i), problem(d, lc, i), lc);
    note(OF(desc, desc), la, lb, lc);
    fake_lt.last = (int)candidate;
    if (fake_lt.work)
        fake_lt.work(fake_lt.ns[candidate]);
    return CUBLAS_STATUS_SUCCESS;
}
