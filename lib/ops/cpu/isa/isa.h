/* Isa: the instruction set that a source is compiled for. Sources in this folder are compiled once per instruction set
 * (lib/ops/cpu/meson.build defines PK_ISA_SUFFIX and the flags), so the same source gives SSE, AVX2 and AVX-512 code, and NEON on Arm.
 * PK_ISA(f) is f's name in this set. */
#pragma once

#define PK_ISA_JOIN2(f, s) f##_##s
#define PK_ISA_JOIN(f, s)  PK_ISA_JOIN2(f, s)
#define PK_ISA(f)          PK_ISA_JOIN(f, PK_ISA_SUFFIX)

/* floats in a vector */
#if defined(__AVX512F__)
enum { VL = 16 };
#elif defined(__AVX2__)
enum { VL = 8 };
#else
enum { VL = 4 };
#endif
