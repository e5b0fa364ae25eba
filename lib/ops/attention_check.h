/* Attention check: compares results of an attention variant with plain fp64 arithmetic, by rows and columns.
 *
 * A row i of one problem costs O(seq * dim): scores s_ij = scale * q_i . k_j, lse_i, p_ij, then
 *     o_i  = sum_j p_ij v_j                     dq_i = scale * sum_j ds_ij k_j
 *     ds_ij = p_ij * (do_i . v_j - delta_i)     delta_i = do_i . o_i
 * A column j needs p_ij of every row:
 *     dv_j = sum_i p_ij do_i                    dk_j = scale * sum_i ds_ij q_i
 * A full check computes every row and then every column in fp64. A sampled check takes some rows, and some columns with p_ij from what
 * the variant saved (p, or lse), which the sampled rows have verified; two projections that need no p cover all of dv and dk: sum_j dv_j
 * = sum_i do_i and <q, dq> = <k, dk>.
 *
 * Tolerance: |got - want| <= u * rms + l * larger rms. rms is that of the reference row, and at least a tenth of the whole array's; u =
 * 64 * 2^-23 * sqrt(seq + dim), because rounding errors of fp32 sums of seq + dim terms grow like a random walk; 64 is headroom. The
 * larger rms is at least that of the whole array: rounding errors of operands before a sum neither shrink when terms cancel nor grow
 * with the number of terms. In bf16 l = 2^-4, 16 roundings: results have 8 bits, as do o, p and ds, from which gradients are computed.
 * In tf32 l = 2^-7, 16 roundings of operands to 11 bits. */
#pragma once

#include "base/arena.h"
#include "ops/dtype.h"

#include <stdbool.h>
#include <stdint.h>

/* One problem on the host: arrays [seq, dim], row-major, widened from `dtype` to fp32. p is [seq, seq] and lse [seq]; a sampled check
 * needs one of them. */
struct pk_attention_host {
    size_t seq, dim;
    bool causal;
    double scale;
    enum pk_dtype dtype; /* these two set the tolerance */
    enum pk_math math;
    const float *q, *k, *v, *o, *d_o, *dq, *dk, *dv, *lse;
    enum pk_code (*p_column)(void *user, size_t j, float *column, struct pk_err *err);
    void *p_user;
};

enum pk_code pk_attention_check_full(const struct pk_attention_host *h, struct pk_arena *a,
                                     struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_attention_check_sampled(const struct pk_attention_host *h, size_t samples, uint64_t seed,
                                        struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
