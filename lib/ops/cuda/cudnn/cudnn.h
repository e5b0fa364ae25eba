/* Cudnn: the functions of cuDNN's backend interface, opened at run time, and what sdpa.c keeps of them. Private to lib/ops/cuda/cudnn. */
#pragma once

#include "device/cuda/library.h"

#include <cudnn_graph.h>

/* X(name): every function of the library that perfkit calls. */
#define PK_CUDNN_CALLS(X)                                                                                    \
    X(cudnnCreate)                                                                                           \
    X(cudnnDestroy)                                                                                          \
    X(cudnnSetStream)                                                                                        \
    X(cudnnGetErrorString)                                                                                   \
    X(cudnnGetLastErrorString)                                                                               \
    X(cudnnBackendCreateDescriptor)                                                                          \
    X(cudnnBackendDestroyDescriptor)                                                                         \
    X(cudnnBackendSetAttribute)                                                                              \
    X(cudnnBackendGetAttribute)                                                                              \
    X(cudnnBackendFinalize)                                                                                  \
    X(cudnnBackendExecute)

#define PK_CUDNN_FIELD(name) __typeof__(&name) name;
struct pk_cudnn {
    struct pk_library library;
    PK_CUDNN_CALLS(PK_CUDNN_FIELD)
    cudnnHandle_t handle; /* NULL: plans are made for `device`, and cannot be executed */
    cudnnBackendDescriptor_t
        device;            /* description of a GPU that is not present, for tests; NULL = the handle's */
    struct pk_err refused; /* after an attempt: why there is no handle */
    struct pk_cudnn_plans *plans;             /* sdpa.c */
    void (*free_plans)(struct pk_cudnn *lib); /* frees the plans; set with them */
};
#undef PK_CUDNN_FIELD

struct pk_device;

/* Opens the library without a handle; close it with pk_library_close(&out->library). */
enum pk_code pk_cudnn_open(struct pk_cudnn *out, struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* The library with the device's handle, opened by the first call and closed with the device; or the error of the first attempt. */
enum pk_code pk_cudnn_of_device(struct pk_device *dev, struct pk_cudnn **out,
                                struct pk_err *err) PK_MUST_CHECK;

/* PK_OK, or the library's error. */
enum pk_code pk_cudnn_check(const struct pk_cudnn *lib, cudnnStatus_t rc, const char *what,
                            struct pk_err *err) PK_MUST_CHECK;
