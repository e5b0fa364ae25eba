/* Pack: reads and writes elements of any stored type as fp32, one at a time or W as a pack. For kernel files.
 *
 * A pack keeps the stored type: W elements of 16 or 8 bytes in total are one access; one or two elements are accessed one by one, at any
 * address. A kernel uses the widest pack to which every array and row is aligned: pk_can_pack of their addresses and row lengths in
 * bytes. */
#pragma once

#include "ops/cuda/launch.h"
#include "ops/dtype.h"

namespace
{

typedef uint16_t bf16;

__device__ float load(const float *x, size_t i)
{
    return x[i];
}
__device__ float load(const bf16 *x, size_t i)
{
    return pk_bf16_to_float(x[i]);
}
__device__ void store(float *y, size_t i, float v)
{
    y[i] = v;
}
__device__ void store(bf16 *y, size_t i, float v)
{
    y[i] = pk_bf16_of_float(v);
}

template <typename T, int W> constexpr size_t pack_alignment()
{
    return W <= 2 ? sizeof(T) : W * sizeof(T) % 16 == 0 ? 16 : W * sizeof(T);
}

template <typename T, int W> struct alignas(pack_alignment<T, W>()) pack {
    T v[W];
};

/* Elements of the type in 16 bytes. */
template <typename T> constexpr int FULL = 16 / sizeof(T);

inline uintptr_t pk_bits_of(const void *p)
{
    return reinterpret_cast<uintptr_t>(p);
}

/* True for packs of 16 bytes; bits: addresses and lengths in bytes, combined by or. */
inline bool pk_can_pack(uintptr_t bits)
{
    return bits % 16 == 0;
}

/* The i-th pack of an array. */
template <int W, typename T> __device__ pack<T, W> pack_at(const T *x, size_t i)
{
    return reinterpret_cast<const pack<T, W> *>(x)[i];
}

template <int W> __device__ void widen(const pack<float, W> &p, float (&x)[W])
{
#pragma unroll
    for (int k = 0; k < W; k++)
        x[k] = p.v[k];
}

/* Two elements per word. */
template <int W> struct words {
    uint32_t v[W / 2];
};

template <int W> __device__ words<W> words_of(const pack<bf16, W> &p)
{
    words<W> w;
    memcpy(&w, &p, sizeof w);
    return w;
}

/* The first of a word is its lower half. */
template <int W> __device__ void widen(const pack<bf16, W> &p, float (&x)[W])
{
    if constexpr (W % 2) {
#pragma unroll
        for (int k = 0; k < W; k++)
            x[k] = pk_bf16_to_float(p.v[k]);
    } else {
        const words<W> w = words_of(p);
#pragma unroll
        for (int k = 0; k < W; k += 2) {
            x[k] = pk_bf16_to_float((bf16)w.v[k / 2]);
            x[k + 1] = pk_bf16_to_float((bf16)(w.v[k / 2] >> 16));
        }
    }
}

template <int W> __device__ void narrow(const float (&x)[W], pack<float, W> &p)
{
#pragma unroll
    for (int k = 0; k < W; k++)
        p.v[k] = x[k];
}

template <int W> __device__ void narrow(const float (&x)[W], pack<bf16, W> &p)
{
    if constexpr (W % 2) {
#pragma unroll
        for (int k = 0; k < W; k++)
            p.v[k] = pk_bf16_of_float(x[k]);
    } else {
        words<W> w;
#pragma unroll
        for (int k = 0; k < W; k += 2)
            w.v[k / 2] = pk_bf16_two(x[k], x[k + 1]);
        memcpy(&p, &w, sizeof p);
    }
}

/* The maximum; NaNs are ignored, as by fmaxf. */
template <typename T, int W> __device__ float largest(const pack<T, W> &p)
{
    float x[W];
    widen(p, x);
#pragma unroll
    for (int k = 1; k < W; k++)
        x[0] = fmaxf(x[0], x[k]);
    return x[0];
}

template <typename T, int W> __device__ void store_pack(T *y, size_t i, const float (&x)[W])
{
    pack<T, W> p;
    narrow(x, p);
    reinterpret_cast<pack<T, W> *>(y)[i] = p;
}

template <int W, typename T> __device__ void load_pack(const T *x, size_t i, float (&to)[W])
{
    widen(pack_at<W>(x, i), to);
}

} // namespace
