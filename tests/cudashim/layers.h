/* Layers: arrays that layers read and write, at any distance from an aligned address, in the type that is tested. */
#pragma once

#include "check.h"

namespace
{

/* n random values as stored, beginning `off` elements behind an aligned address, and what they are; a kernel may write over them. */
class array
{
    enum pk_dtype type;
    size_t off;
    std::vector<float> memory; /* aligned by its first 16 bytes */

    unsigned char *begin() const
    {
        const auto at = reinterpret_cast<uintptr_t>(memory.data());
        return reinterpret_cast<unsigned char *>((at + 15) / 16 * 16) + off * pk_dtype_bytes(type);
    }

  public:
    std::vector<float> wide;
    array(enum pk_dtype type_, size_t n, size_t off_ = 0, float deviation = 1)
        : type(type_), off(off_), memory(n + off_ + 8), wide(random_values(n, deviation))
    {
        for (size_t i = 0; i < n; i++) {
            const uint16_t narrow = pk_bf16_of_float(wide[i]);
            if (type == PK_BF16) {
                std::memcpy(begin() + i * sizeof narrow, &narrow, sizeof narrow);
                wide[i] = pk_bf16_to_float(narrow);
            } else {
                std::memcpy(begin() + i * sizeof(float), &wide[i], sizeof(float));
            }
        }
    }
    array(const array &) = delete;
    void *data()
    {
        return begin();
    }
    float *floats()
    {
        return reinterpret_cast<float *>(begin());
    }
    float operator[](size_t i) const
    {
        if (type == PK_BF16) {
            uint16_t narrow;
            std::memcpy(&narrow, begin() + i * sizeof narrow, sizeof narrow);
            return pk_bf16_to_float(narrow);
        }
        float v;
        std::memcpy(&v, begin() + i * sizeof v, sizeof v);
        return v;
    }
};

/* Of a result of the size `want`, made of numbers of about `parts` added up. */
inline double near(enum pk_dtype type, double want, double parts)
{
    return 2e-6 * (std::fabs(want) + parts) + rounding(type) * std::fabs(want);
}

} // namespace
