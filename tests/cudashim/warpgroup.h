/* Warpgroup: ops/cuda/attention/wgmma.h on the host, as the PTX ISA states it (wgmma, cp.async.bulk, mbarrier), as late as it allows.
 *
 * Products are made when they are waited for, of what the operands are then. A copy's destination is poisoned when it is begun, and written
 * when its barrier is waited for: what reads it too early or overwrites it sees that. Sums are those of tensor_core.h. */
#pragma once

#include "cuda_shim.h"

#define PK_HAS_WGMMA 1

/* Within the block's dynamic shared memory. */
unsigned pk_shared_address(const void *p);

void pk_bar_init(uint64_t *bar, unsigned count);
static inline void pk_bar_made()
{
}
void pk_bar_arrive(uint64_t *bar);
void pk_bar_expect(uint64_t *bar, unsigned bytes);
void pk_shim_bar_wait(uint64_t *bar, unsigned parity, const pk_shim_site &site);
static inline void pk_bar_wait(uint64_t *bar, unsigned parity, PK_SITE_OF_CALLER)
{
    pk_shim_bar_wait(bar, parity, {"pk_bar_wait", file, line});
}
void pk_copy_bulk(void *to, const void *from, unsigned bytes, uint64_t *bar);

/* a: registers, or null and then `lines`. */
void pk_shim_wgmma(float *d, unsigned columns, const uint32_t *a, uint64_t lines, uint64_t b, bool add);
template <int N> static inline void pk_wgmma(float (&d)[N], uint64_t a, uint64_t b, bool add)
{
    pk_shim_wgmma(d, 2 * N, nullptr, a, b, add);
}
template <int N> static inline void pk_wgmma(float (&d)[N], const uint32_t (&a)[4], uint64_t b, bool add)
{
    pk_shim_wgmma(d, 2 * N, a, 0, b, add);
}
void pk_wgmma_begin();
void pk_shim_wgmma_end();
template <int N> static inline void pk_wgmma_end(float (&)[N])
{
    pk_shim_wgmma_end();
}

template <int> static inline void pk_registers_leave()
{
}
template <int> static inline void pk_registers_take()
{
}

/* To the nearest, even where both are as near; what is too large becomes infinite. */
uint16_t pk_shim_f16(float x);
float pk_shim_of_f16(uint16_t bits);
static inline uint32_t pk_f16_two(float low, float high)
{
    return (uint32_t)pk_shim_f16(high) << 16 | pk_shim_f16(low);
}
static inline float pk_f16_low(uint32_t two)
{
    return pk_shim_of_f16((uint16_t)two);
}
static inline float pk_f16_high(uint32_t two)
{
    return pk_shim_of_f16((uint16_t)(two >> 16));
}
