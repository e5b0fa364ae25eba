/* Workspace: the bytes that ops allocate from the pool besides their operands, computed from shapes.
 *
 * Bytes are rounded as by the pool. They do not depend on measurements or on the GPU's model, so that a case's memory is the same in
 * every process and can be predicted. Those of a CPU depend on its threads and instruction set, and on whether bf16 is widened. */
#pragma once

#include "ops/shapes.h"

#include <stdbool.h>

/* The workspace of a product, even if its algorithm uses less: as many bytes as its operands have, at most the size that NVIDIA
 * recommends for Hopper. Reads only the shape and the types, like the functions below. */
enum { PK_GEMM_WORKSPACE_MAX = 32 << 20 };
size_t pk_workspace_gemm(const struct pk_gemm *g);

/* How the fused backward pass is divided into blocks: whole problems, or rows of one problem; the last block may be smaller. */
struct pk_fused_blocks {
    size_t problems, rows;
    int sums_apart; /* dk and dv of a problem are summed in fp32 arrays [seq, dim], and rounded at its end */
};
struct pk_fused_blocks pk_fused_blocks(const struct pk_attention *at);

/* The largest number of bytes at one time. */
size_t pk_workspace_fused_forward(const struct pk_attention *at);
size_t pk_workspace_fused_backward(const struct pk_attention *at);

/* How flash attention divides the keys or queries of a block. n is 1 when blocks of the largest tiles fill an H100, and when parts would
 * be short. Depends only on the shape, not on the GPU. The workspace is for the results of the parts, none when n is 1, and with five products
 * for row sums behind them. Five are for fp32 elements, where PERFKIT_FIVE_PRODUCTS=on (docs/command-line.md). */
struct pk_flash_parts pk_flash_parts(const struct pk_attention *at, bool backward);
/* With fp16x3: whether the forward pass of the shape has kernels of its own; else it is that of 3xtf32, like every backward pass. They have
 * the operands as fp16 numbers in the workspace. */
bool pk_flash_has_fp16x3(const struct pk_attention *at);
/* Whether the user has switched on math fp16x3 (PERFKIT_FP16X3=on): no GPU has confirmed its kernels. */
bool pk_fp16x3_is_on(void);

size_t pk_workspace_flash_forward(const struct pk_attention *at);
size_t pk_workspace_flash_backward(const struct pk_attention *at);

/* The gradient of a norm's weights is summed in parts, each a row of fp32 [cols], so that the order of sums depends only on the shape. */
size_t pk_norm_parts(const struct pk_norm_backward *n);
size_t pk_workspace_norm_backward(const struct pk_norm_backward *n);

/* The row sum and dQ in fp32, without the library's own workspace, which is known only after planning. */
size_t pk_workspace_cudnn_backward(const struct pk_attention *at);

/* Upper bounds for this machine's CPU with this number of threads: products by a library, bf16 operands widened. */
size_t pk_workspace_cpu_gemm(const struct pk_gemm *g, unsigned threads);
size_t pk_workspace_cpu_fused(const struct pk_attention *at, bool backward, unsigned threads);
size_t pk_workspace_cpu_flash(const struct pk_attention *at, bool backward, unsigned threads);
size_t pk_workspace_cpu_norm_backward(const struct pk_norm_backward *n);
