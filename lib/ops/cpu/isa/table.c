/* Table: one instruction set's kernels. */
#include "ops/cpu/isa/table.h"

#define PK_TEXT2(x) #x
#define PK_TEXT(x)  PK_TEXT2(x)

const struct pk_kernels PK_ISA(pk_kernels) = {
    .isa = PK_TEXT(PK_ISA_SUFFIX),
    .scale = PK_ISA(pk_scale),
    .exp = PK_ISA(pk_exp),
    .softmax = PK_ISA(pk_softmax),
    .softmax_backward = PK_ISA(pk_softmax_backward),
    .softmax_backward_delta = PK_ISA(pk_softmax_backward_delta),
    .dot = PK_ISA(pk_dot),
    .add = PK_ISA(pk_add),
    .widen = PK_ISA(pk_widen),
    .narrow = PK_ISA(pk_narrow),
    .cross_entropy = PK_ISA(pk_cross_entropy),
    .log_softmax = PK_ISA(pk_log_softmax),
    .nll_backward = PK_ISA(pk_nll_backward),
    .map = PK_ISA(pk_map),
    .glu = PK_ISA(pk_glu),
    .glu_backward = PK_ISA(pk_glu_backward),
    .rotate = PK_ISA(pk_rotate),
    .norm = PK_ISA(pk_norm),
    .norm_backward = PK_ISA(pk_norm_backward),
    .adamw = PK_ISA(pk_adamw),
    .sgemm = PK_ISA(pk_sgemm),
    .sgemm_scratch_floats = PK_ISA(pk_sgemm_scratch_floats),
    .flash_forward = PK_ISA(pk_flash_forward),
    .flash_forward_scratch_floats = PK_ISA(pk_flash_forward_scratch_floats),
    .flash_backward = PK_ISA(pk_flash_backward),
    .flash_backward_scratch_floats = PK_ISA(pk_flash_backward_scratch_floats),
    .flash_rows = PK_FLASH_ROWS,
    .peak = PK_ISA(pk_peak),
    .triad = PK_ISA(pk_triad),
    .copy2d = PK_ISA(pk_copy2d),
    .fill = PK_ISA(pk_fill),
};
