/* Api: the static CUDA runtime's functions. */
#include "device/cuda/api.h"

#define PK_CUDA_ENTRY(name) .name = name,
const struct pk_cuda_api pk_cuda_runtime = {PK_CUDA_CALLS(PK_CUDA_ENTRY)};
