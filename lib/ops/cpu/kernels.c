/* Kernels: which table serves which instruction set. */
#include "ops/cpu/kernels.h"

extern const struct pk_kernels pk_kernels_baseline;
#if defined(__x86_64__)
extern const struct pk_kernels pk_kernels_avx2, pk_kernels_avx512;
#endif

const struct pk_kernels *pk_kernels_of(enum pk_isa isa)
{
    static const struct pk_kernels *const tables[PK_ISAS] = {
        [PK_ISA_BASELINE] = &pk_kernels_baseline,
#if defined(__x86_64__)
        [PK_ISA_AVX2] = &pk_kernels_avx2,
        [PK_ISA_AVX512] = &pk_kernels_avx512,
#endif
    };
    while (!tables[isa])
        isa--;
    return tables[isa];
}
