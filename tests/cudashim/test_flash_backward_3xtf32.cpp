/* Flash backward with 3xtf32 products on the host shim, whose tensor cores read tf32: as near to float64 as fp32 is, which products of
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
    const saved forward(a);
    for (int way = 0; way < ways_of_backward(dim); way++) {
        const char *const name = way ? "flash backward 3xtf32, five" : "flash backward 3xtf32";
        for (results *r : {&a.dq, &a.dk, &a.dv})
            r->poison();
        expect_launched(way ? launch_five(pk_k_flash_backward_3xtf32, chip, a.at, part_rows)
                        : part_rows
                            ? launch_in_parts(pk_k_flash_backward_3xtf32, chip, a.at, part_rows, 2 * dim)
                            : launch_whole(pk_k_flash_backward_3xtf32, chip, a.at),
                        name, dim);
        expect_all(a.dv, a.dv64, seq + dim, 8, name, a);
        expect_gradients(a.dq, a.dq64, seq + dim, 8, name, a);
        expect_gradients(a.dk, a.dk64, seq + dim, 8, name, a);
    }
}

/* The gradients' errors, and those of exact arithmetic with inputs in tf32. */
void check_that_tf32_would_fail()
{
    attention a(1, 130, 64, 0, 0.125f), b(1, 130, 64, 0, 0.125f);
    as_tf32(a, b);
    const saved forward(a);
    expect_launched(launch_whole(pk_k_flash_backward_3xtf32, chips[0], a.at), "3xtf32", 64);
    const struct {
        const char *name;
        const results &got;
        const std::vector<double> &want, &tf32;
    } rows[] = {{"dq", a.dq, a.dq64, b.dq64}, {"dk", a.dk, a.dk64, b.dk64}, {"dv", a.dv, a.dv64, b.dv64}};
    for (const auto &r : rows) {
        const double error = relative_error(r.got, r.want), of_tf32 = relative_error(r.tf32, r.want);
        std::printf("relative error of %s: %.2g, operands in tf32 %.2g\n", r.name, error, of_tf32);
        expect(error, 0, NEAR_FP32, r.name, 64, 0);
        if (of_tf32 < 100 * NEAR_FP32 && failures++ < 10)
            std::printf("tf32 is no worse\n");
    }
}

void check_refusal(size_t dim, const pk_chip &chip)
{
    attention a(1, 1, 1, 0, 1);
    a.at.dim = dim;
    if (!launch_whole(pk_k_flash_backward_3xtf32, chip, a.at) && failures++ < 10)
        std::printf("dim %zu was not refused\n", dim);
}

} // namespace

int main(int argc, char **argv)
{
    const pk_chip small_tiles = {1 << 20, HOPPER_SHARED};
    if (argc > 1)
        return only_long_backward(pk_k_flash_backward_3xtf32, chips[0], argv[1], 1e-5);
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
    check_long_backward(pk_k_flash_backward_3xtf32, small_tiles, 4096, 64, FP32_SUMS);
    check_long_five(pk_k_flash_backward_3xtf32, chips[0], 4096, 64, FP32_SUMS);
    check_refusal(129, chips[0]);
    check_refusal(1, {132, 1 << 10});
    check_choice(pk_k_flash_backward_3xtf32, 8, 1024, 128, 128);
    check_choice(pk_k_flash_backward_3xtf32, 99, 64, 99, 128);
    check_choice(pk_k_flash_backward_3xtf32, 98, 64, 392, 32);
    /* parts all as long, a last one of two or less, one that is long: blocks see a part whole, to the mask, or not at all */
    for (const auto &[seq, rows] : {std::pair<size_t, size_t>{128, 64}, {130, 64}, {200, 128}})
        for (size_t dim : {size_t(3), seq == rows * 2 ? size_t(100) : size_t(36)}) {
            check(chips[0], 2, seq, dim, causal, rows);
            check(chips[6], 1, seq, dim, causal = !causal, rows);
        }
    const pk_attention nothing = {};
    expect_launched(launch_whole(pk_k_flash_backward_3xtf32, chips[0], nothing), "nothing", 0);
    return report();
}
