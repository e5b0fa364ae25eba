/* Environment: variables by which NVIDIA's libraries make products in another way than they are asked to. */
#include "device/cuda/parts.h"

#include <stdlib.h>

static const char *const names[] = {
    "NVIDIA_TF32_OVERRIDE",            /* 0: tf32 products are ieee ones */
    "CUBLAS_EMULATE_SINGLE_PRECISION", /* ieee products are made of nine of bf16, where the chip can */
};

const char *pk_cuda_forget_overrides(struct pk_arena *a)
{
    const char *found = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]) && unsetenv(names[i]) == 0)
            found = found ? pk_printf(a, "%s, %s", found, names[i]) : names[i];
    return found;
}
