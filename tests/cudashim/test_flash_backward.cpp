/* Flash backward on the host shim against float64: every class of width, edges of tiles, all sizes of tiles. What forward saved is
 * given in fp32 as float64 knows it. */
#include "long_attention.h"

namespace
{

/* In parts of part_rows keys or queries; 0 = not cut. */
void check(const pk_chip &chip, size_t batch, size_t seq, size_t dim, int causal, size_t part_rows = 0)
{
    if (!is_checked(batch, seq, dim, 1100000, 300000))
        return;
    attention a(batch, seq, dim, causal, 1 / std::sqrt((float)dim));
    const saved forward(a);
    pk_shim_shared_most = chip.shared_bytes;
    for (int way = 0; way < ways_of_backward(dim); way++) {
        const char *const name = way ? "flash backward, five" : "flash backward";
        for (results *r : {&a.dq, &a.dk, &a.dv})
            r->poison();
        expect_launched(way         ? launch_five(pk_k_flash_backward, chip, a.at, part_rows)
                        : part_rows ? launch_in_parts(pk_k_flash_backward, chip, a.at, part_rows, 2 * dim)
                                    : launch_whole(pk_k_flash_backward, chip, a.at),
                        name, dim);
        expect_all(a.dv, a.dv64, seq + dim, 8, name, a);
        expect_gradients(a.dq, a.dq64, seq + dim, 8, name, a);
        expect_gradients(a.dk, a.dk64, seq + dim, 8, name, a);
    }
}

/* Scores of hundreds: weights are 0 or 1 but for few, and nothing may overflow, past the end of a tile neither: of problems with
 * one key the log-sum-exp is its score, of either sign. */
void check_large_scores(float scale)
{
    static const struct {
        size_t batch, seq, dim;
        int causal;
    } rows[] = {{1, 130, 16, 1}, {1, 130, 33, 1}, {8, 1, 33, 0}};
    for (const auto &r : rows) {
        attention a(r.batch, r.seq, r.dim, r.causal, scale);
        const saved forward(a);
        expect_launched(r.dim == 16 ? launch_whole(pk_k_flash_backward, chips[0], a.at)
                                    : launch_five(pk_k_flash_backward, chips[0], a.at),
                        "large scores", r.dim);
        const double wide = (double)r.dim / 16, size = (1 + std::fabs((double)scale)) * wide;
        for (size_t i = 0; i < a.n; i++) {
            expect(a.dv[i], a.dv64[i], 2e-2 * wide, "large scores dv", r.dim, i);
            expect(a.dq[i], a.dq64[i], 5e-2 * size, "large scores dq", r.dim, i);
            expect(a.dk[i], a.dk64[i], 5e-2 * size, "large scores dk", r.dim, i);
        }
    }
}

void check_refusal(size_t seq, size_t dim, const pk_chip &chip)
{
    attention a(1, 1, 1, 0, 1);
    const saved forward(a);
    a.at.seq = seq, a.at.dim = dim;
    if (!launch_whole(pk_k_flash_backward, chip, a.at) && failures++ < 10)
        std::printf("seq %zu dim %zu was not refused\n", seq, dim);
}

/* Five products have kernels for some widths alone. */
void check_refusal_of_five(size_t dim)
{
    attention a(1, 1, dim, 0, 1);
    const saved forward(a);
    if (!launch_five(pk_k_flash_backward, chips[0], a.at) && failures++ < 10)
        std::printf("five products for dim %zu were not refused\n", dim);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1)
        return only_long_backward(pk_k_flash_backward, chips[0], argv[1], 1e-5);
    int causal = 0;
    for (size_t dim : {1, 3, 16, 20, 64, 100, 128, 256})
        for (size_t seq : {1, 7, 33, 130}) {
            check(chips[0], seq < 130 ? 2 : 1, seq, dim, causal);
            check(chips[6], 1, seq, dim, causal = !causal);
        }
    for (const pk_chip &chip : chips)
        for (size_t dim : {16, 31, 64, 127, 160})
            check(chip, 2, 130, dim, causal = !causal);
    check_large_scores(100);
    check_large_scores(-30);
    check_large_scores(0);
    check_refusal(1, 257, chips[0]);
    check_refusal((size_t)1 << 31, 1, chips[0]);
    check_refusal(1, 1, {132, 4 << 10});
    check_refusal_of_five(32);
    check_refusal_of_five(129);
    check_choice(pk_k_flash_backward, 8, 1024, 128, 128);
    check_choice(pk_k_flash_backward, 99, 128, 99, 128);
    check_choice(pk_k_flash_backward, 98, 128, 196, 128);
    /* parts all as long, a last one of two or less, one that is long: blocks see a part whole, to the mask, or not at all */
    for (const auto &[seq, rows] : {std::pair<size_t, size_t>{128, 64}, {130, 64}, {200, 128}})
        for (size_t dim : {3, 64, 160}) {
            check(chips[0], 2, seq, dim, causal, rows);
            check(chips[6], 1, seq, dim, causal = !causal, rows);
        }
    const pk_attention nothing = {};
    expect_launched(launch_whole(pk_k_flash_backward, chips[0], nothing), "nothing", 0);
    return report();
}
