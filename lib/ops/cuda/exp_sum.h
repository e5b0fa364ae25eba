/* Exp sum: the sum of the exponentials of a row, relative to its maximum, for softmax and cross-entropy. For kernel files. */
#pragma once

#include "ops/cuda/pack.h"
#include "ops/cuda/reduce.h"

namespace
{

constexpr float LOG2E = 1.44269504f, LN2 = 0.693147181f;

/* Of a row, or of a thread's part of it. */
struct row_sum {
    float top, base, sum; /* the maximum; top * LOG2E, rounded; the sum of exp_below(x, base) */
};

/* e^x * 2^-base: one multiply-add and one exponential. */
__device__ float exp_below(float x, float base)
{
    return pk_exp2(fmaf(x, LOG2E, -base));
}

/* The logarithm of the sum of exp(x - top); base is top * LOG2E only up to rounding. */
__device__ float log_sum(const row_sum &of)
{
    return logf(of.sum) - fmaf(of.top, LOG2E, -of.base) * LN2;
}

/* Sets the elements of pack i of a row after column `cols` to -inf: their exponential is 0. */
template <int W, typename T> __device__ void mask(pack<T, W> &p, unsigned i, unsigned cols)
{
    constexpr float NONE = -INFINITY;
#pragma unroll
    for (int k = 0; k < W; k++)
        if (i * W + k >= cols)
            store(p.v, k, NONE);
}

/* Pack i of a row of `cols` columns, masked after them. */
template <int W, typename T> __device__ pack<T, W> masked_at(const T *row, unsigned i, unsigned cols)
{
    pack<T, W> p = pack_at<W>(row, i);
    if ((i + 1) * W > cols)
        mask(p, i, cols);
    return p;
}

/* Adds a pack of a row to the sum and updates the maximum. */
template <int W, typename T> __device__ void take(row_sum &of, const pack<T, W> &p)
{
    float x[W];
    widen(p, x);
    const float top = fmaxf(of.top, largest(p));
    const float base = top == -INFINITY ? 0.0f : top * LOG2E; /* only -inf so far */
    of.sum *= of.top == -INFINITY ? 0.0f : pk_exp2(of.base - base);
#pragma unroll
    for (int k = 0; k < W; k++)
        of.sum += exp_below(x[k], base);
    of.top = top;
    of.base = base;
}

/* The sum of a row from the parts of GROUP threads. */
template <int GROUP> __device__ row_sum joined(const row_sum &part)
{
    const float top = reduce<GROUP, larger>(part.top), base = top * LOG2E;
    const float sum = part.top == -INFINITY ? 0.0f : part.sum * pk_exp2(part.base - base);
    return {top, base, reduce<GROUP, add>(sum)};
}

} // namespace
