/* Planes: the bytes of 16- and 32-bit words apart and together again, compiled once per instruction set. Plain loops, which compilers turn
 * into vectors: 10 GB/s and more in each set. */
#include "shard/filter.h"

#define PK_ISA_JOIN2(f, s) f##_##s
#define PK_ISA_JOIN(f, s)  PK_ISA_JOIN2(f, s)
#define PK_ISA(f)          PK_ISA_JOIN(f, PK_ISA_SUFFIX)
#define PK_INLINE          static inline __attribute__((always_inline))

typedef uint16_t __attribute__((aligned(1), may_alias)) half_word;
typedef uint32_t __attribute__((aligned(1), may_alias)) word;

PK_INLINE void split2(const half_word *restrict x, uint8_t *restrict high, uint8_t *restrict low, size_t n,
                      const unsigned rotate)
{
    for (size_t i = 0; i < n; i++) {
        const uint16_t v = (uint16_t)(rotate ? x[i] << 1 | x[i] >> 15 : x[i]);
        high[i] = (uint8_t)(v >> 8);
        low[i] = (uint8_t)v;
    }
}

PK_INLINE void join2(const uint8_t *restrict high, const uint8_t *restrict low, half_word *restrict x,
                     size_t n, const unsigned rotate)
{
    for (size_t i = 0; i < n; i++) {
        const uint16_t v = (uint16_t)(high[i] << 8 | low[i]);
        x[i] = (uint16_t)(rotate ? v >> 1 | v << 15 : v);
    }
}

PK_INLINE void split4(const word *restrict x, uint8_t *restrict a, uint8_t *restrict b, uint8_t *restrict c,
                      uint8_t *restrict d, size_t n, const unsigned rotate)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t v = rotate ? x[i] << 1 | x[i] >> 31 : x[i];
        a[i] = (uint8_t)(v >> 24);
        b[i] = (uint8_t)(v >> 16);
        c[i] = (uint8_t)(v >> 8);
        d[i] = (uint8_t)v;
    }
}

PK_INLINE void join4(const uint8_t *restrict a, const uint8_t *restrict b, const uint8_t *restrict c,
                     const uint8_t *restrict d, word *restrict x, size_t n, const unsigned rotate)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t v = (uint32_t)a[i] << 24 | (uint32_t)b[i] << 16 | (uint32_t)c[i] << 8 | d[i];
        x[i] = rotate ? v >> 1 | v << 31 : v;
    }
}

static void split_halves(const void *x, uint8_t *to, size_t n, unsigned rotate)
{
    rotate ? split2(x, to, to + n, n, 1) : split2(x, to, to + n, n, 0);
}

static void join_halves(const uint8_t *from, void *x, size_t n, unsigned rotate)
{
    rotate ? join2(from, from + n, x, n, 1) : join2(from, from + n, x, n, 0);
}

static void split_words(const void *x, uint8_t *to, size_t n, unsigned rotate)
{
    rotate ? split4(x, to, to + n, to + 2 * n, to + 3 * n, n, 1)
           : split4(x, to, to + n, to + 2 * n, to + 3 * n, n, 0);
}

static void join_words(const uint8_t *from, void *x, size_t n, unsigned rotate)
{
    rotate ? join4(from, from + n, from + 2 * n, from + 3 * n, x, n, 1)
           : join4(from, from + n, from + 2 * n, from + 3 * n, x, n, 0);
}

const struct pk_planes PK_ISA(pk_planes) = {
    .split = {[PK_FP32] = split_words, [PK_BF16] = split_halves},
    .join = {[PK_FP32] = join_words, [PK_BF16] = join_halves},
};
