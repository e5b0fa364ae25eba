/* Check: what the tests of kernels on the host share: data, poisoned results, and a count of what is wrong.
 *
 * A test calls pk_k_* with host arrays and null as the stream, and ends with `return report();`. Other guards and NaNs than these are
 * the test's own: see test_elementwise.cpp. */
#pragma once

#include "ops/cuda/kernels.h"
extern "C" {
#include "base/rng.h"
}

#include <cmath>
#include <cstdio>
#include <cstring>
#include <vector>

namespace
{

/* Under ThreadSanitizer (WATCHED) all takes ten times as long, under AddressSanitizer five times: sizes that only add to rounding are left out
 * there. They are for the test without sanitizers. */
#ifdef PK_WATCHED
constexpr bool WATCHED = true;
#else
constexpr bool WATCHED = false;
#endif
#if defined PK_WATCHED || defined __SANITIZE_ADDRESS__
constexpr bool SANITIZED = true;
#else
constexpr bool SANITIZED = false;
#endif

struct pk_rng rng = {7};
int failures;

inline std::vector<float> random_values(size_t n, float deviation = 1)
{
    std::vector<float> v(n);
    for (float &x : v)
        x = deviation * (float)pk_rng_normal(&rng);
    return v;
}

/* The values as a kernel gets them when they are stored as `type`, and what they are then. */
class stored
{
    enum pk_dtype type;
    std::vector<uint16_t> narrow;

  public:
    std::vector<float> wide;
    stored(enum pk_dtype type_, const std::vector<float> &v) : type(type_), wide(v)
    {
        if (type == PK_BF16)
            for (float &x : wide) {
                narrow.push_back(pk_bf16_of_float(x));
                x = pk_bf16_to_float(narrow.back());
            }
    }
    void *data()
    {
        return type == PK_BF16 ? static_cast<void *>(narrow.data()) : wide.data();
    }
    /* of what a kernel wrote over them */
    float operator[](size_t i) const
    {
        return type == PK_BF16 ? pk_bf16_to_float(narrow[i]) : wide[i];
    }
};

/* One rounding of a result, relative to its size. */
inline double rounding(enum pk_dtype type)
{
    return type == PK_BF16 ? 0x1p-8 : 0;
}

/* Where a kernel writes: n values that are no numbers, between guards that have to be there afterwards. */
class results
{
    static constexpr size_t GUARD = 64;
    static constexpr unsigned char POISON = 0xff; /* a NaN as a float or a double */
    std::vector<float> all;
    enum pk_dtype type;

  public:
    explicit results(size_t n, enum pk_dtype type_ = PK_FP32)
        : all((n * pk_dtype_bytes(type_) + sizeof(float) - 1) / sizeof(float) + 2 * GUARD), type(type_)
    {
        poison();
    }
    float *data()
    {
        return all.data() + GUARD;
    }
    void poison()
    {
        std::memset(all.data(), POISON, all.size() * sizeof(float));
    }
    float operator[](size_t i) const
    {
        if (type == PK_FP32)
            return all[GUARD + i];
        uint16_t narrow;
        std::memcpy(&narrow, reinterpret_cast<const char *>(all.data() + GUARD) + i * sizeof narrow,
                    sizeof narrow);
        return pk_bf16_to_float(narrow);
    }
    size_t size() const
    {
        return all.size() - 2 * GUARD;
    }
    ~results()
    {
        const auto *bytes = reinterpret_cast<const unsigned char *>(all.data());
        const size_t guard = GUARD * sizeof(float), end = all.size() * sizeof(float);
        for (size_t i = 0; i < guard; i++)
            if ((bytes[i] != POISON || bytes[end - 1 - i] != POISON) && failures++ < 10)
                std::printf("%zu results: something was written beside them\n", size());
    }
};

/* `size` is what the case is called by, `at` the element. A NaN is never near. */
inline void expect(double got, double want, double tolerance, const char *what, size_t size, size_t at)
{
    if (got == want || std::fabs(got - want) <= tolerance)
        return;
    if (failures++ < 10)
        std::printf("%s of size %zu: element %zu is %g, float64 gives %g\n", what, size, at, got, want);
}

/* What a launch returned. */
inline void expect_launched(int rc, const char *what, size_t size)
{
    if (rc && failures++ < 10)
        std::printf("%s of size %zu: the launch answered %d\n", what, size, rc);
}

/* The exit status of main. */
inline int report()
{
    std::printf("%d wrong\n", failures);
    return failures != 0;
}

} // namespace
