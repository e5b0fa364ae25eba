/* Flash forward on the host shim against float64: every class of width, edges of tiles, all sizes of tiles. */
#include "long_attention.h"

namespace
{

/* In parts of part_rows keys or queries; 0 = not cut. */
void check(const pk_chip &chip, size_t batch, size_t seq, size_t dim, int causal, size_t part_rows = 0)
{
    if (!is_checked(batch, seq, dim, 1100000, 300000))
        return;
    attention a(batch, seq, dim, causal, 1 / std::sqrt((float)dim));
    pk_shim_shared_most = chip.shared_bytes;
    expect_launched(part_rows ? launch_in_parts(pk_k_flash_forward, chip, a.at, part_rows, dim + 2)
                              : launch_whole(pk_k_flash_forward, chip, a.at),
                    "flash forward", dim);
    expect_all(a.o, a.o64, seq + dim, 4, "flash forward o", a);
    expect_all(a.lse, a.lse64, dim, 4, "flash forward lse", a);
}

/* Scores of hundreds: one key has all the weight, and no exponential may overflow. */
void check_large_scores(float scale)
{
    attention a(1, 130, 16, 1, scale);
    expect_launched(launch_whole(pk_k_flash_forward, chips[0], a.at), "large scores", 16);
    for (size_t i = 0; i < a.n; i++)
        expect(a.o[i], a.o64[i], 2e-2, "large scores", 16, i);
    expect_all(a.lse, a.lse64, 16, 4, "large scores lse", a);
}

void check_refusal(size_t seq, size_t dim, const pk_chip &chip)
{
    attention a(1, 1, 1, 0, 1);
    a.at.seq = seq, a.at.dim = dim;
    if (!launch_whole(pk_k_flash_forward, chip, a.at) && failures++ < 10)
        std::printf("seq %zu dim %zu was not refused\n", seq, dim);
}

} // namespace

int main(int n, char **arguments)
{
    if (n > 1)
        return only_long_forward(pk_k_flash_forward, {1 << 20, HOPPER_SHARED}, arguments[1], 1e-5);
    int causal = 0;
    for (size_t dim : {1, 3, 16, 20, 64, 100, 128, 256})
        for (size_t seq : {1, 7, 33, 130}) {
            check(chips[0], seq < 130 ? 2 : 1, seq, dim, causal);
            check(chips[6], 1, seq, dim, causal = !causal);
        }
    for (const pk_chip &chip : chips)
        for (size_t dim : {16, 31, 64, 127, 160})
            check(chip, 2, 130, dim, causal = !causal);
    check(chips[0], 1, 300, 16, 1);
    check_large_scores(100);
    check_large_scores(-30);
    check_large_scores(0);
    check_refusal(1, 257, chips[0]);
    check_refusal((size_t)1 << 31, 1, chips[0]);
    check_refusal(1, 64, {132, 16 << 10});
    check_choice(pk_k_flash_forward, 8, 1024, 128, 128);
    check_choice(pk_k_flash_forward, 99, 256, 99, 128);
    check_choice(pk_k_flash_forward, 98, 256, 196, 128);
    /* parts all as long, a last one of two or less, one that is long: blocks see a part whole, to the mask, or not at all */
    for (const auto &[seq, rows] : {std::pair<size_t, size_t>{128, 64}, {130, 64}, {200, 128}})
        for (size_t dim : {3, 64, 160}) {
            check(chips[0], 2, seq, dim, causal, rows);
            check(chips[6], 1, seq, dim, causal = !causal, rows);
        }
    const pk_attention nothing = {};
    expect_launched(launch_whole(pk_k_flash_forward, chips[0], nothing), "nothing", 0);
    return report();
}
