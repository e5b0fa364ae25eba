/* Lt: cuBLASLt's functions, opened at run time, and what gemm_lt.c keeps of them. Private to lib/ops/cuda. */
#pragma once

#include "device/cuda/library.h"

#include <cublasLt.h>

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
    struct pk_err refused;    /* why there is no handle, once it was tried */
    struct pk_lt_plan *plans; /* gemm_lt.c */
};
#undef PK_LT_FIELD

struct pk_device;

/* The device's, opened by the first call and ended with it; the error of the first attempt otherwise. */
enum pk_code pk_lt_of_device(struct pk_device *dev, struct pk_lt **lt, struct pk_err *err) PK_MUST_CHECK;

/* PK_OK, or what the library said. */
enum pk_code pk_lt_check(const struct pk_lt *lt, cublasStatus_t rc, const char *what,
                         struct pk_err *err) PK_MUST_CHECK;

/* gemm_lt.c: ends what plans hold. */
void pk_lt_plans_free(struct pk_lt *lt);
