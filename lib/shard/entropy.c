/* Entropy: counts of bytes, and Shannon's sums. */
#include "shard/entropy.h"

#include <math.h>

void pk_entropy_add(struct pk_entropy *e, const void *elements, size_t n)
{
    const unsigned char *at = elements;
    e->elements += n;
    for (; e->type == PK_BF16 && n--; at += sizeof(uint16_t)) {
        uint16_t v;
        memcpy(&v, at, sizeof v);
        e->plane[0][v >> 7 & 255]++;
        e->plane[1][(v & 127) << 1 | v >> 15]++;
    }
    for (; e->type == PK_FP32 && n--; at += sizeof(uint32_t)) {
        uint32_t v;
        memcpy(&v, at, sizeof v);
        e->plane[0][v >> 23 & 255]++;
        e->plane[1][v >> 15 & 255]++;
        e->plane[2][v >> 7 & 255]++;
        e->plane[3][(v & 127) << 1 | v >> 31]++;
    }
}

static double bits_of(const uint64_t count[256], double n)
{
    double sum = 0;
    for (unsigned i = 0; i < 256; i++)
        if (count[i])
            sum -= (double)count[i] / n * log2((double)count[i] / n);
    return sum;
}

struct pk_entropy_bounds pk_entropy_bounds(const struct pk_entropy *e)
{
    const unsigned planes = (unsigned)pk_dtype_bytes(e->type);
    const double bits = 8.0 * planes, n = (double)e->elements;
    if (!e->elements)
        return (struct pk_entropy_bounds){NAN, NAN, NAN};
    double sum = 0;
    for (unsigned i = 0; i < planes; i++)
        sum += bits_of(e->plane[i], n);
    const double exponent_bits = bits_of(e->plane[0], n);
    return (struct pk_entropy_bounds){exponent_bits, bits / (bits - 8 + exponent_bits), bits / sum};
}
