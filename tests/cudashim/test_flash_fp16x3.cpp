/* Flash forward with fp16x3 products on the host shim, whose tensor cores cut sums off: as near to float64 as fp32 is, also with rows of
 * very different sizes. */
#include "long_attention.h"

namespace
{

/* Workspace as the program gives it: poisoned, and between guards. */
int launch(pk_stream s, const pk_chip *chip, const pk_attention *at, const pk_flash_parts *parts, float *)
{
    results memory(pk_fp16x3_bytes(at) / sizeof(float));
    pk_shim_spared = 1;
    return pk_k_flash_forward_fp16x3(s, chip, at, parts, memory.data());
}

void check(const pk_chip &chip, size_t batch, size_t seq, size_t dim, int causal)
{
    if (!is_checked(batch, seq, dim, 300000, 100000))
        return;
    attention a(batch, seq, dim, causal, 1 / std::sqrt((float)dim));
    expect_launched(launch_whole(launch, chip, a.at), "flash forward fp16x3", dim);
    expect_all(a.o, a.o64, seq + dim, 4, "flash forward fp16x3 o", a);
    expect_all(a.lse, a.lse64, dim, 4, "flash forward fp16x3 lse", a);
}

void check_refusal(const pk_chip &chip, size_t dim, size_t parts)
{
    attention a(1, 1, 1, 0, 1);
    a.at.dim = dim;
    const pk_flash_parts cut = {parts, 64, 0};
    if (!launch(nullptr, &chip, &a.at, &cut, nullptr) && failures++ < 10)
        std::printf("dim %zu in %zu parts was not refused\n", dim, parts);
}

/* Keys and features of values from 2^-30 to 2^30 times as large, queries so much smaller that no score is large. */
void check_sizes()
{
    attention a(1, 130, 64, 0, 0.125f);
    const auto size = [](size_t i) { return std::ldexp(1.0f, (int)(i * 7 % 61) - 30); };
    for (size_t i = 0; i < 130; i++)
        for (size_t c = 0; c < 64; c++) {
            a.q[i * 64 + c] *= size(i) * 0x1p-60f;
            a.k[i * 64 + c] *= size(i + 3);
            a.v[i * 64 + c] *= size(c);
        }
    a.solve();
    expect_launched(launch_whole(launch, chips[0], a.at), "fp16x3, sizes", 64);
    for (size_t i = 0; i < a.n; i++) /* of each feature by itself */
        expect(a.o[i], a.o64[i], 1e-5 * size(i % 64), "fp16x3 of different sizes", 64, i);
    expect_all(a.lse, a.lse64, 64, 4, "fp16x3 of different sizes, lse", a);
}

/* The error of the result, and that of exact arithmetic with inputs in tf32, which have as many bits as fp16. */
void check_that_one_number_would_fail()
{
    attention a(1, 130, 64, 0, 0.125f), b(1, 130, 64, 0, 0.125f);
    as_tf32(a, b);
    expect_launched(launch_whole(launch, chips[0], a.at), "fp16x3", 64);
    const double error = relative_error(a.o, a.o64), of_one = relative_error(b.o64, a.o64);
    std::printf("relative error of o: %.2g, operands of 11 bits %.2g\n", error, of_one);
    expect(error, 0, NEAR_FP32, "relative error", 64, 0);
    if (of_one < 100 * NEAR_FP32 && failures++ < 10)
        std::printf("one number is no worse\n");
}

} // namespace

int main(int n, char **arguments)
{
    const pk_chip two_groups = {1, HOPPER_SHARED}, one_group = {1 << 20, HOPPER_SHARED};
    constexpr double ALLOWED = 2e-6; /* for 65536 tokens */
    if (n > 1)
        return only_long_forward(launch, two_groups, arguments[1], ALLOWED);
    int causal = 0;
    for (size_t dim : {1, 3, 20, 64, 100, 128})
        for (size_t seq : {1, 7, 33, 70}) {
            check(two_groups, 1, seq, dim, causal);
            check(one_group, 1, seq, dim, causal = !causal);
        }
    check(two_groups, 1, 300, 1, 0); /* more tiles than are kept, small enough for every sanitizer */
    check(one_group, 1, 300, 1, 1);
    for (size_t dim : {64, 128})
        for (const pk_chip &chip : {two_groups, one_group}) {
            check(chip, 2, 200, dim, 0);
            check(chip, 2, 200, dim, 1);
        }
    if (!SANITIZED) {
        check_that_one_number_would_fail();
        check_sizes();
    }
    check_long_forward(launch, two_groups, 1024, 64, ALLOWED / 4);
    check_refusal(two_groups, 129, 1);
    check_refusal(two_groups, 64, 2);
    check_refusal({132, 4 << 10}, 64, 1);
    const pk_attention nothing = {};
    expect_launched(launch_whole(launch, two_groups, nothing), "nothing", 0);
    return report();
}
