/* Ceilings' kernels on the host shim: peaks reach what the recurrence does in float64, streams write every element. */
#include "check.h"

namespace
{

double multiply_add(double x)
{
    return 0.75 * x + 0.125;
}

double exponential(double x)
{
    return std::exp(-x);
}

void check_peak(int (*launch)(pk_stream, float *, size_t, int), double (*step)(double), int chains,
                size_t iterations, const char *what)
{
    constexpr int BLOCKS = 3;
    results sink(BLOCKS * PK_PEAK_THREADS);
    expect_launched(launch(nullptr, sink.data(), iterations, BLOCKS), what, iterations);
    for (size_t i = 0; i < sink.size(); i++) {
        double sum = 0;
        for (int c = 0; c < chains; c++) {
            double x = (double)(i % PK_PEAK_THREADS + c) / PK_PEAK_THREADS;
            for (size_t k = 0; k < iterations; k++)
                x = step(x);
            sum += x;
        }
        expect(sink[i], sum, 1e-5 * sum, what, iterations, i);
    }
}

void check_streams(size_t n)
{
    const std::vector<float> x = random_values(n + 4), y = random_values(n + 4);
    results copied(n), added(n);
    expect_launched(pk_k_copy(nullptr, x.data(), copied.data(), n), "copy", n);
    expect_launched(pk_k_triad(nullptr, x.data(), y.data(), added.data(), -0.7f, n), "triad", n);
    for (size_t i = 0; i < n; i++) {
        expect(copied[i], x[i], 0, "copy", n, i);
        expect(added[i], x[i] - (double)0.7f * y[i], 1e-6 * (std::fabs(x[i]) + std::fabs(y[i])), "triad", n,
               i);
    }
}

/* What is done twice shows where the result is also what is read. */
void once_in_place(size_t n)
{
    const std::vector<float> x = random_values(n), y = random_values(n);
    std::vector<float> z = x;
    expect_launched(pk_k_triad(nullptr, z.data(), y.data(), z.data(), 1, n), "triad in place", n);
    for (size_t i = 0; i < n; i++)
        expect(z[i], x[i] + y[i], 0, "triad in place", n, i);
}

} // namespace

int main()
{
    for (size_t iterations : {0, 1, 7, 8, 9, 100}) {
        check_peak(pk_k_fma_peak, multiply_add, PK_PEAK_FMAS, iterations, "multiply-adds");
        check_peak(pk_k_exp_peak, exponential, PK_PEAK_EXPS, iterations, "exponentials");
    }
    for (size_t n : {0, 1, 3, 4, 5, 1023, 1024, 1027, 4095, 4096, 4097, 9001, 20000})
        check_streams(n);
    once_in_place(9002);
    return report();
}
