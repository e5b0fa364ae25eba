/* Workspace: what ops on a GPU take of the pool beside their operands, from shapes alone.
 *
 * Bytes are in the pool's rounding. They depend on no measurement and on nothing of the chip, so that a case's memory is the same in every process and is predicted before
 * anything runs. Those of a CPU depend on its threads and instructions, and on whether bf16 is widened. */
#pragma once

#include "ops/shapes.h"

#include <stdbool.h>

/* What a product is given, whether its algorithm takes it all or not: as many bytes as its operands have, up to what NVIDIA advises for
 * Hopper. Only the shape and the types are read, here as below. */
enum { PK_GEMM_WORKSPACE_MOST = 32 << 20 };
size_t pk_workspace_gemm(const struct pk_gemm *g);

/* How the fused backward pass is cut: whole problems, or rows of one problem; the last block may be smaller. */
struct pk_fused_blocks {
    size_t problems, rows;
    int sums_apart; /* dk and dv of a problem are gathered in fp32 [seq, dim] each, and rounded at its end */
};
struct pk_fused_blocks pk_fused_blocks(const struct pk_attention *at);

/* At the most at one time. */
size_t pk_workspace_fused_forward(const struct pk_attention *at);
size_t pk_workspace_fused_backward(const struct pk_attention *at);

/* How flash attention divides what a block sees. n is 1 where blocks of the largest tiles fill an H100 by themselves, and where parts would
 * be short. The shape alone decides, whatever the chip is. The workspace holds the results of the parts; 0 bytes where n is 1. */
struct pk_flash_parts pk_flash_parts(const struct pk_attention *at, bool backward);
size_t pk_workspace_flash_forward(const struct pk_attention *at);
size_t pk_workspace_flash_backward(const struct pk_attention *at);

/* The gradient of a norm's weights is summed in parts, a row of fp32 [cols] each, so that the order of sums is that of the shape. */
size_t pk_norm_parts(const struct pk_norm_backward *n);
size_t pk_workspace_norm_backward(const struct pk_norm_backward *n);

/* The row sum and dQ in fp32; without what the library asks for by itself, which is known only when there is a plan. */
size_t pk_workspace_cudnn_backward(const struct pk_attention *at);

/* Of this machine's CPU with so many threads, at the most: with products by a library and bf16 operands widened. */
size_t pk_workspace_cpu_gemm(const struct pk_gemm *g, unsigned threads);
size_t pk_workspace_cpu_fused(const struct pk_attention *at, bool backward, unsigned threads);
size_t pk_workspace_cpu_flash(const struct pk_attention *at, bool backward, unsigned threads);
size_t pk_workspace_cpu_norm_backward(const struct pk_norm_backward *n);
