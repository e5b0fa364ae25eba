/* Embed backward on the host shim against float64: tokens that occur often, seldom or never, lists that fill up, and the same bits twice. */
#include "layers.h"

namespace
{

enum spread { EVEN, ONE_TOKEN, FEW_TOKENS };

struct problem {
    enum pk_dtype type;
    size_t rows, cols, vocab, off;
    enum spread spread;
};

int32_t token(const problem &p)
{
    return (int32_t)(p.spread == ONE_TOKEN    ? p.vocab - 1
                     : p.spread == FEW_TOKENS ? pk_rng_below(&rng, 3)
                                              : pk_rng_below(&rng, p.vocab));
}

void check(const problem &p)
{
    array d_out(p.type, p.rows * p.cols, p.off);
    std::vector<int32_t> tokens(p.rows);
    std::vector<double> want(p.vocab * p.cols), size(p.vocab * p.cols);
    results d_table(p.vocab * p.cols), again(p.vocab * p.cols);
    for (size_t r = 0; r < p.rows; r++) {
        tokens[r] = token(p);
        for (size_t c = 0; c < p.cols; c++) {
            want[(size_t)tokens[r] * p.cols + c] += d_out.wide[r * p.cols + c];
            size[(size_t)tokens[r] * p.cols + c] += std::fabs(d_out.wide[r * p.cols + c]);
        }
    }
    pk_embed_backward e = {p.rows, p.cols, p.vocab, p.type, tokens.data(), d_out.data(), d_table.data(), 0};
    expect_launched(pk_k_embed_backward(nullptr, &e), "embed backward", p.rows);
    e.d_table = again.data();
    expect_launched(pk_k_embed_backward(nullptr, &e), "embed backward", p.rows);
    for (size_t i = 0; i < p.vocab * p.cols; i++) {
        expect(d_table[i], want[i], 1e-6 * size[i], "embed backward", p.rows, i);
        expect(again[i], d_table[i], 0, "embed backward, again", p.rows, i);
    }
    e.add = 1;
    expect_launched(pk_k_embed_backward(nullptr, &e), "embed backward, added", p.rows);
    for (size_t i = 0; i < p.vocab * p.cols; i++)
        expect(again[i], 2 * want[i], 3e-6 * size[i], "embed backward, added", p.rows, i);
}

} // namespace

int main()
{
    for (enum pk_dtype type : {PK_FP32, PK_BF16}) {
        check({type, 21, 64, 100, 0, EVEN});
        check({type, 500, 40, 33, 0, EVEN});
        check({type, 500, 7, 70, 1, EVEN});
        check({type, 0, 8, 5, 0, EVEN});
        check({type, 300, 264, 3, 0,
               FEW_TOKENS}); /* many of a token, and more columns than a warp takes at once */
    }
    check({PK_BF16, 7000, 8, 40, 0, ONE_TOKEN}); /* more rows than a list holds */
    check({PK_FP32, 7000, 4, 3, 0, FEW_TOKENS});
    return report();
}
