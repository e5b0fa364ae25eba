/* Nccl api: the functions of libnccl.so.2 that perfkit calls, declared by hand.
 *
 * The library is opened at run time, so that the build does not need nccl.h. The binary interface is that of major version 2 from 2.14
 * on; tests/unit/comm/test_nccl_abi.c compares the numbers and structs below with nccl.h, if it is there. Names are the library's.
 * Private to lib/comm/transport. */
#pragma once

#include "device/cuda/library.h"

#include <stddef.h>

struct CUstream_st;
struct pk_nccl_comm; /* ncclComm_t points to it */

enum pk_nccl_result {
    PK_NCCL_SUCCESS,
    PK_NCCL_UNHANDLED_CUDA_ERROR,
    PK_NCCL_SYSTEM_ERROR,
    PK_NCCL_INTERNAL_ERROR,
    PK_NCCL_INVALID_ARGUMENT,
    PK_NCCL_INVALID_USAGE,
    PK_NCCL_REMOTE_ERROR,
    PK_NCCL_IN_PROGRESS,
};

enum { PK_NCCL_FLOAT32 = 7, PK_NCCL_BFLOAT16 = 9, PK_NCCL_AVG = 4, PK_NCCL_ID_BYTES = 128 };

struct pk_nccl_id {
    char bytes[PK_NCCL_ID_BYTES];
};

/* As in 2.14. Later versions use defaults for the fields that they added, because `version` is lower than theirs. */
struct pk_nccl_config {
    size_t size; /* of this struct */
    unsigned magic, version;
    int blocking;
};
#define PK_NCCL_CONFIG_MAGIC   0xcafebeefu
#define PK_NCCL_CONFIG_VERSION 21400u

/* X(name, result, arguments): every function. */
#define PK_NCCL_CALLS(X)                                                                                     \
    X(ncclGetUniqueId, int, (struct pk_nccl_id *))                                                           \
    X(ncclCommInitRankConfig, int,                                                                           \
      (struct pk_nccl_comm **, int ranks, struct pk_nccl_id, int rank, struct pk_nccl_config *))             \
    X(ncclCommFinalize, int, (struct pk_nccl_comm *))                                                        \
    X(ncclCommDestroy, int, (struct pk_nccl_comm *))                                                         \
    X(ncclCommAbort, int, (struct pk_nccl_comm *))                                                           \
    X(ncclCommGetAsyncError, int, (struct pk_nccl_comm *, int *))                                            \
    X(ncclGetErrorString, const char *, (int))                                                               \
    X(ncclGetLastError, const char *, (struct pk_nccl_comm *))                                               \
    X(ncclGroupStart, int, (void))                                                                           \
    X(ncclGroupEnd, int, (void))                                                                             \
    X(ncclAllReduce, int,                                                                                    \
      (const void *, void *, size_t, int type, int op, struct pk_nccl_comm *, struct CUstream_st *))

#define PK_NCCL_FIELD(name, result, arguments) result(*name) arguments;
struct pk_nccl_api {
    struct pk_library library;
    PK_NCCL_CALLS(PK_NCCL_FIELD)
};
#undef PK_NCCL_FIELD
