/* Library: NVIDIA's libraries, opened at run time: cublasLt, cudnn, nccl, cupti, nvml.
 *
 * A library is used when its major version is the one that perfkit was built with and its minor version is at least that; others are
 * refused with both versions. It is searched in this order: $PERFKIT_CUDA_LIBS (a colon-separated list of folders; ignored in a set-uid
 * program), the loader's own search by soname, $VIRTUAL_ENV and $CONDA_PREFIX (lib/python3.N/site-packages/nvidia/x/lib and
 * nvidia/cu13/lib), $CUDA_HOME/lib64, /usr/local/cuda/lib64, and the site-packages under the prefix of the python3 on PATH (only folders
 * are read: no interpreter is started). Libraries that a library opens itself (cudnn's engines, cublasLt's nvrtc) are opened first, from
 * the same folder; where no function of it is wanted, only those without which it cannot tell its version: they are hundreds of MB. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

enum pk_cuda_library {
    PK_LIB_CUBLASLT,
    PK_LIB_CUDNN,
    PK_LIB_NCCL,
    PK_LIB_CUPTI,
    PK_LIB_NVML,
    PK_CUDA_LIBRARIES
};

struct pk_library {
    enum pk_cuda_library which;
    void *handle;
    const char *path;    /* in the arena given at opening */
    const char *version; /* "13.1.0" */
};

/* One symbol of a table to fill: name and where its address goes. */
struct pk_symbol {
    const char *name; /* ends the table when NULL */
    void (**at)(void);
};

/* With a smaller RLIMIT_AS no library is opened: where one gets no memory it may end the process. */
#define PK_LIBRARY_ADDRESS_SPACE (8ull << 30)

/* symbols: NULL where only its version is wanted.
 * PK_E_UNAVAILABLE: not found (with the searched folders), refused (with both versions), a symbol is missing, or the address space is too
 * small. */
enum pk_code pk_library_open(enum pk_cuda_library which, const struct pk_symbol *symbols, struct pk_arena *a,
                             struct pk_library *out, struct pk_err *err) PK_MUST_CHECK;
void pk_library_close(struct pk_library *l);
const char *pk_library_name(enum pk_cuda_library which); /* "cuBLASLt" */
