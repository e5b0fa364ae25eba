/* Embed on the host shim: every row is the one of its token, aligned or not. */
#include "layers.h"

namespace
{

void check(enum pk_dtype type, size_t rows, size_t cols, size_t off)
{
    constexpr size_t VOCAB = 19;
    array table(type, VOCAB * cols, off);
    std::vector<int32_t> tokens(rows);
    for (int32_t &t : tokens)
        t = (int32_t)pk_rng_below(&rng, VOCAB);
    results out(rows * cols, type);
    const pk_embed e = {rows, cols, VOCAB, type, tokens.data(), table.data(), out.data()};
    expect_launched(pk_k_embed(nullptr, &e), "embed", cols);
    for (size_t i = 0; i < rows * cols; i++)
        expect(out[i], table.wide[(size_t)tokens[i / cols] * cols + i % cols], 0, "embed", cols, i);
}

} // namespace

int main()
{
    for (enum pk_dtype type : {PK_FP32, PK_BF16}) {
        for (size_t cols : {1, 7, 64, 768, 1280})
            for (size_t off : {0, 1})
                check(type, 21, cols, off);
        check(type, 0, 8, 0);
    }
    return report();
}
