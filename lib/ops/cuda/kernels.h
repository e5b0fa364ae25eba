/* Kernels: the exported functions of the .cu files: plain C functions that launch on a stream.
 *
 * Each returns 0, or the cudaError_t of its launch. Arrays are device memory, row-major, fp32 or of `type`. Every kernel reads each
 * input element once and writes each output element once unless its comment says otherwise. Sizes may be odd. The head of a kernel file
 * describes grid, block and shared memory. tests/cudashim also compiles the kernels for the host and compares them with the float64
 * reference; mma.sync is emulated (attention/mma.h). */
#pragma once

#include "ops/shapes.h"

#ifdef __cplusplus
extern "C" {
#endif

struct CUstream_st;
typedef struct CUstream_st *pk_stream;

/* elementwise.cu */
int pk_k_scale(pk_stream s, enum pk_dtype type, float alpha, const void *x, void *y, size_t n);
int pk_k_causal_mask(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t batch, size_t seq);
int pk_k_narrow(pk_stream s, const float *x, uint16_t *y, size_t n); /* fp32 to bf16 */
int pk_k_map(pk_stream s, enum pk_map map, enum pk_dtype type, const void *a, const void *b, void *y,
             size_t n);

/* attention/softmax.cu: x may be y, ds may be dp. With causal_seq > 0, rows belong to problems [causal_seq, cols], and columns after the
 * row's index within its problem become 0. */
int pk_k_softmax(pk_stream s, enum pk_dtype type, const void *x, void *y, size_t rows, size_t cols,
                 size_t causal_seq);
int pk_k_softmax_backward(pk_stream s, enum pk_dtype type, const void *p, const void *dp, void *ds,
                          size_t rows, size_t cols);

/* attention/flash_forward.cu, attention/flash_backward.cu: fp32 without tensor cores. dim up to PK_FLASH_DIM, else
 * cudaErrorInvalidValue. Inputs are read once for each tile of the other side. The largest tiles are used that fit the chip and give a
 * block to three of four multiprocessors, else the smallest; results are deterministic, except dq with parts->five. The keys or queries of
 * a block are divided by `parts`; with more than one part, `memory` is workspace: forward n x rows x (dim + 2) floats, backward
 * 2 x n x rows x dim; with parts->five, rows more (ops/workspace.h). Then other dims than those of PK_FLASH_FIVE_MIN are
 * cudaErrorInvalidValue. */
enum { PK_FLASH_DIM = 256 };
struct pk_chip {
    int multiprocessors;
    size_t shared_bytes; /* the most that a block may opt in to */
};
int pk_k_flash_forward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                       const struct pk_flash_parts *parts, float *memory);
int pk_k_flash_backward(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                        const struct pk_flash_parts *parts, float *memory);

/* The same on tensor cores (compute capability 8.0), with three tf32 products for each fp32 product. dim up to PK_FLASH_3XTF32_DIM. */
enum { PK_FLASH_3XTF32_DIM = 128 };
int pk_k_flash_forward_3xtf32(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                              const struct pk_flash_parts *parts, float *memory);
int pk_k_flash_backward_3xtf32(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                               const struct pk_flash_parts *parts, float *memory);

/* Forward only, with three fp16 products for each fp32 product (compute capability 9.0, code for sm_90a). Results are as near to fp32. dim up
 * to PK_FLASH_3XTF32_DIM, one part; memory: pk_workspace_flash_forward. */
int pk_k_flash_forward_fp16x3(pk_stream s, const struct pk_chip *chip, const struct pk_attention *at,
                              const struct pk_flash_parts *parts, float *memory);

/* layers: the ops of ops/shapes.h, a file each: 16-byte accesses if arrays and rows are aligned to 16 bytes, else single elements.
 * norm_backward.cu: partial [parts, cols] is workspace, parts > 0 (ops/workspace.h). embed.cu, backward: rows up to 2^27, else
 * cudaErrorInvalidValue; tokens are read once for every 32 entries of the vocabulary. */
int pk_k_norm(pk_stream s, const struct pk_norm *n);
int pk_k_norm_backward(pk_stream s, const struct pk_norm_backward *n, float *partial, size_t parts);
int pk_k_split_heads(pk_stream s, const struct pk_heads *h);
int pk_k_merge_heads(pk_stream s, const struct pk_heads *h);
int pk_k_glu(pk_stream s, const struct pk_glu *g);
int pk_k_glu_backward(pk_stream s, const struct pk_glu_backward *g);
int pk_k_cross_entropy(pk_stream s, const struct pk_cross_entropy *x);
int pk_k_log_softmax(pk_stream s, const struct pk_log_softmax *x);
int pk_k_embed(pk_stream s, const struct pk_embed *e);
int pk_k_embed_backward(pk_stream s, const struct pk_embed_backward *e);

/* layers/loss.cu */
int pk_k_nll(pk_stream s, const struct pk_nll *x);
int pk_k_nll_backward(pk_stream s, const struct pk_nll_backward *x);
int pk_k_mean(pk_stream s, const float *x, size_t n, float *out);

/* layers/adamw.cu: state is device memory */
int pk_k_adamw_tick(pk_stream s, struct pk_adamw_state *state);
int pk_k_adamw(pk_stream s, const struct pk_adamw *a);

/* rects.cu: v is host memory; up to PK_RECTS_A_LAUNCH rectangles are arguments of one launch. With a table any number needs one launch:
 * pk_k_copy_pieces writes its rows to out[n] in host memory, and the caller copies them to device memory. It returns the number of
 * tiles, below 2^31 for less than 4 TB. */
enum { PK_RECTS_A_LAUNCH = 64 };
struct pk_copy_piece {
    struct pk_copy2d c;
    uint64_t first_tile; /* tiles of all previous pieces */
};
struct pk_fill_piece {
    struct pk_fill f;
    uint64_t first_tile;
};
int pk_k_copy2d(pk_stream s, const struct pk_copy2d *v, size_t n);
size_t pk_k_copy_pieces(const struct pk_copy2d *v, size_t n, struct pk_copy_piece *out);
int pk_k_copy_table(pk_stream s, const struct pk_copy_piece *table, size_t n, size_t tiles);
int pk_k_fill(pk_stream s, const struct pk_fill *v, size_t n);

/* table and v are device memory; n > 0. */
int pk_k_table_patch(pk_stream s, uint64_t *table, const struct pk_table_patch *v, size_t n);

/* ceilings.cu. Peak kernels keep their operands in registers: each thread does PK_PEAK_FMAS multiply-adds or PK_PEAK_EXPS exponentials
 * per iteration; sink [blocks, PK_PEAK_THREADS] gets their results, so that the compiler keeps them. Memory kernels, with 16-byte
 * aligned arrays: y = x, and z = x + alpha y; z may be x. */
enum { PK_PEAK_THREADS = 256, PK_PEAK_FMAS = 16, PK_PEAK_EXPS = 8 };
int pk_k_fma_peak(pk_stream s, float *sink, size_t iterations, int blocks);
int pk_k_exp_peak(pk_stream s, float *sink, size_t iterations, int blocks);
int pk_k_copy(pk_stream s, const float *x, float *y, size_t n);
int pk_k_triad(pk_stream s, const float *x, const float *y, float *z, float alpha, size_t n);

#ifdef __cplusplus
}
#endif
