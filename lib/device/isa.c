/* Isa: asked of CPUID, through the compiler's runtime. */
#include "device/isa.h"

enum pk_isa pk_isa_detect(void)
{
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return PK_ISA_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return PK_ISA_AVX2;
#endif
    return PK_ISA_BASELINE;
}

const char *pk_isa_name(enum pk_isa isa)
{
    static const char *const name[PK_ISAS] = {"baseline", "avx2", "avx512"};
    return name[isa];
}
