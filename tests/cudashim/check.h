/* Check: what the tests of kernels on the host share: data, poisoned results, and a count of what is wrong.
 *
 * A test calls pk_k_* with host arrays and null as the stream, and ends with `return report();`. Other guards and NaNs than these are
 * the test's own: see test_elementwise.cpp. */
#pragma once

#include "ops/cuda/kernels.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

namespace
{

std::mt19937 rng(7);
int failures;

inline std::vector<float> random_values(size_t n, float deviation = 1)
{
    std::normal_distribution<float> normal(0, deviation);
    std::vector<float> v(n);
    for (float &x : v)
        x = normal(rng);
    return v;
}

/* Where a kernel writes: n values that are no numbers, between guards that have to be there afterwards. */
class results
{
    static constexpr size_t GUARD = 64;
    static constexpr unsigned char POISON = 0xff; /* a NaN as a float or a double */
    std::vector<float> all;

  public:
    explicit results(size_t n) : all(n + 2 * GUARD)
    {
        std::memset(all.data(), POISON, all.size() * sizeof(float));
    }
    float *data()
    {
        return all.data() + GUARD;
    }
    float operator[](size_t i) const
    {
        return all[GUARD + i];
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
