/* Flash forward with 3xtf32 products on the host shim, whose tensor cores read tf32: as near to float64 as fp32 is, which products of
 * plain tf32 are not. */
#include "long_attention.h"

namespace
{

/* In parts of part_rows keys or queries; 0 = not cut. */
void check(const pk_chip &chip, size_t batch, size_t seq, size_t dim, int causal, size_t part_rows = 0)
{
    if (!is_checked(batch, seq, dim, 300000, 100000))
        return;
    attention a(batch, seq, dim, causal, 1 / std::sqrt((float)dim));
    expect_launched(part_rows ? launch_in_parts(pk_k_flash_forward_3xtf32, chip, a.at, part_rows, dim + 2)
                              : launch_whole(pk_k_flash_forward_3xtf32, chip, a.at),
                    "flash forward 3xtf32", dim);
    expect_all(a.o, a.o64, seq + dim, 4, "flash forward 3xtf32 o", a);
    expect_all(a.lse, a.lse64, dim, 4, "flash forward 3xtf32 lse", a);
}

void check_refusal(size_t dim, const pk_chip &chip)
{
    attention a(1, 1, 1, 0, 1);
    a.at.dim = dim;
    if (!launch_whole(pk_k_flash_forward_3xtf32, chip, a.at) && failures++ < 10)
        std::printf("dim %zu was not refused\n", dim);
}

/* The error of the result, and that of exact arithmetic with inputs in tf32. */
void check_that_tf32_would_fail()
{
    attention a(1, 130, 64, 0, 0.125f), b(1, 130, 64, 0, 0.125f);
    as_tf32(a, b);
    expect_launched(launch_whole(pk_k_flash_forward_3xtf32, chips[0], a.at), "3xtf32", 64);
    const double error = relative_error(a.o, a.o64), of_tf32 = relative_error(b.o64, a.o64);
    std::printf("relative error of o: %.2g, operands in tf32 %.2g\n", error, of_tf32);
    expect(error, 0, NEAR_FP32, "relative error", 64, 0);
    if (of_tf32 < 100 * NEAR_FP32 && failures++ < 10)
        std::printf("tf32 is no worse\n");
}

} // namespace

int main(int n, char **arguments)
{
    const pk_chip small_tiles = {1 << 20, HOPPER_SHARED};
    if (n > 1)
        return only_long_forward(pk_k_flash_forward_3xtf32, small_tiles, arguments[1], 4 * FP32_SUMS);
    int causal = 0;
    for (size_t dim : {1, 3, 16, 20, 64, 100, 128})
        for (size_t seq : {1, 7, 33, 70}) {
            check(chips[0], 1, seq, dim, causal);
            check(chips[6], 1, seq, dim, causal = !causal);
        }
    check(chips[0], 2, 130, 64, 0);
    check(chips[0], 2, 130, 64, 1);
    if (!SANITIZED)
        check_that_tf32_would_fail();
    check_long_forward(pk_k_flash_forward_3xtf32, small_tiles, 4096, 64, FP32_SUMS);
    check_long_forward(pk_k_flash_forward_3xtf32, small_tiles, 16384, 16, 2 * FP32_SUMS);
    check_refusal(129, chips[0]);
    check_refusal(64, {132, 4 << 10});
    check_choice(pk_k_flash_forward_3xtf32, 8, 1024, 128, 128);
    check_choice(pk_k_flash_forward_3xtf32, 99, 64, 99, 128);
    check_choice(pk_k_flash_forward_3xtf32, 98, 64, 392, 32);
    check_choice(pk_k_flash_forward_3xtf32, 8, 512, 256, 32);
    /* parts all as long, a last one of two or less, one that is long: blocks see a part whole, to the mask, or not at all */
    for (const auto &[seq, rows] : {std::pair<size_t, size_t>{128, 64}, {130, 64}, {200, 128}})
        for (size_t dim : {3, 100}) {
            check(chips[0], 2, seq, dim, causal, rows);
            check(chips[6], 1, seq, dim, causal = !causal, rows);
        }
    const pk_attention nothing = {};
    expect_launched(launch_whole(pk_k_flash_forward_3xtf32, chips[0], nothing), "nothing", 0);
    return report();
}
