/* Launch: how kernel files say what differs between nvcc and the host shim that tests them (tests/cudashim).
 *
 *   PK_LAUNCH(kernel, grid, block, shared_bytes, stream, arguments...)   the launch; its error is the value of PK_LAUNCHED()
 *   PK_SHARED(type, name)                                                the block's dynamic shared memory
 * A kernel template with several parameters is put into parentheses: PK_LAUNCH((softmax<32, 4>), ...). */
#pragma once

#ifdef PK_CUDA_SHIM
#include "cuda_shim.h"
#else
#include <cuda_runtime.h>
#define PK_LAUNCH(kernel, grid, block, shared_bytes, stream, ...)                                            \
    kernel<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__)
#define PK_LAUNCHED() ((int)cudaPeekAtLastError())
/* More than 48 KB have to be asked for, per kernel. */
#define PK_ALLOW_SHARED(kernel, bytes)                                                                       \
    ((int)cudaFuncSetAttribute((const void *)(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,          \
                               (int)(bytes)))
#define PK_SHARED(type, name)                                                                                \
    extern __shared__ __align__(16) unsigned char pk_shared_block[];                                         \
    type *name = reinterpret_cast<type *>(pk_shared_block)
#endif
