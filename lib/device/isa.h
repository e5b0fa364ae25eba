/* Isa: which of the instruction sets that kernels are compiled for this CPU has. */
#pragma once

enum pk_isa { PK_ISA_BASELINE, PK_ISA_AVX2, PK_ISA_AVX512, PK_ISAS }; /* AVX2 means with FMA */

/* The best one the CPU and the system offer. */
enum pk_isa pk_isa_detect(void);
const char *pk_isa_name(enum pk_isa isa); /* "baseline", "avx2", "avx512" */
