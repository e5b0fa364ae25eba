/* Heads on the host shim: every element where it belongs, rotated as float64 rotates it, and back; widths of every pack, in place. */
#include "layers.h"

namespace
{

std::vector<float> rope_table_of(size_t seq, size_t dim)
{
    std::vector<float> rope_table(seq * dim);
    for (size_t t = 0; t < seq; t++)
        for (size_t i = 0; i < dim / 2; i++) {
            const double angle = (double)t * std::pow(10000.0, -2.0 * (double)i / (double)dim);
            rope_table[(t * (dim / 2) + i) * 2] = (float)std::cos(angle);
            rope_table[(t * (dim / 2) + i) * 2 + 1] = (float)std::sin(angle);
        }
    return rope_table;
}

/* Element k of a head at position t, from the dim elements that begin at x. */
double rotated(const std::vector<float> &rope_table, const float *x, size_t t, size_t k, size_t dim,
               bool turn, bool back)
{
    if (!turn)
        return x[k];
    const double c = rope_table[(t * (dim / 2) + k / 2) * 2],
                 s = rope_table[(t * (dim / 2) + k / 2) * 2 + 1] * (back ? -1 : 1);
    return k % 2 ? x[k - 1] * s + x[k] * c : x[k] * c - x[k + 1] * s;
}

void check(enum pk_dtype type, const pk_heads &shape, bool merge, size_t off)
{
    pk_heads h = shape;
    const size_t repeat = pk_heads_repeat(&h), part = h.batch * h.seq * h.heads * repeat * h.dim;
    const size_t stride = pk_heads_stride(&h), all = h.batch * h.seq * stride;
    const std::vector<float> rope_table = rope_table_of(h.seq, h.dim);
    array in_rows(type, all, off), in_q(type, part), in_k(type, part), in_v(type, part);
    results rows(all, type), q(part, type), k(part, type), v(part, type);
    const array *in_head[] = {&in_q, &in_k, &in_v};
    const results *head[] = {&q, &k, &v};
    h.dtype = type;
    h.rope_table = h.rotated ? rope_table.data() : nullptr;
    h.rows = merge ? rows.data() : in_rows.data();
    h.head[0] = merge ? in_q.data() : q.data();
    h.head[1] = merge ? in_k.data() : k.data();
    h.head[2] = merge ? in_v.data() : v.data();
    expect_launched(merge ? pk_k_merge_heads(nullptr, &h) : pk_k_split_heads(nullptr, &h), "heads", h.dim);
    for (size_t b = 0; b < h.batch; b++)
        for (size_t t = 0; t < h.seq; t++)
            for (size_t p = 0; p < h.parts; p++)
                for (size_t n = 0; n < h.heads; n++)
                    for (size_t e = 0; e < h.dim; e++) {
                        const size_t row = (b * h.seq + t) * stride + (p * h.heads + n) * h.dim;
                        double sum = 0;
                        for (size_t r = 0; r < repeat; r++) {
                            const size_t at = (((b * h.heads + n) * repeat + r) * h.seq + t) * h.dim;
                            const float *from = merge ? &in_head[p]->wide[at] : &in_rows.wide[row];
                            const double want =
                                rotated(rope_table, from, t, e, h.dim, h.rotated >> p & 1, merge);
                            sum += want;
                            if (!merge)
                                expect((*head[p])[at + e], want, near(type, want, h.rotated ? 1 : 0),
                                       "split heads", h.dim, row + e);
                        }
                        if (merge)
                            expect(rows[row + e], sum,
                                   near(type, sum, h.rotated || repeat > 1 ? 1 : 0) * (double)repeat,
                                   "merged heads", h.dim, row + e);
                    }
}

void in_place(enum pk_dtype type)
{
    enum { SEQ = 9, DIM = 32 };
    const std::vector<float> rope_table = rope_table_of(SEQ, DIM);
    array x(type, SEQ * DIM);
    pk_heads h = {1, SEQ, 1, DIM, 1, 1, type, rope_table.data(), x.data(), {x.data()}, 0, 0};
    expect_launched(pk_k_split_heads(nullptr, &h), "heads in place", DIM);
    for (size_t i = 0; i < SEQ * DIM; i++) {
        const double want = rotated(rope_table, &x.wide[i / DIM * DIM], i / DIM, i % DIM, DIM, true, false);
        expect(x[i], want, near(type, want, 1), "heads in place", DIM, i);
    }
}

} // namespace

int main()
{
    const pk_heads shapes[] = {
        {2, 5, 3, 64, 3, 3, PK_FP32, nullptr, nullptr, {}, 0, 0},
        {1, 4, 12, 64, 1, 1, PK_FP32, nullptr, nullptr, {}, 0, 0},
        {2, 3, 5, 6, 2, 1, PK_FP32, nullptr, nullptr, {}, 0, 0},
        {1, 3, 2, 7, 3, 0, PK_FP32, nullptr, nullptr, {}, 0, 0},
        {1, 2, 37, 128, 3, 2, PK_FP32, nullptr, nullptr, {}, 0, 0},
        {1, 2, 2, 4096, 1, 1, PK_FP32, nullptr, nullptr, {}, 0, 0},
        {3, 1, 300, 2, 1, 0, PK_FP32, nullptr, nullptr, {}, 0, 0},
        {0, 1, 1, 2, 1, 0, PK_FP32, nullptr, nullptr, {}, 0, 0},
        {2, 3, 2, 64, 2, 1, PK_FP32, nullptr, nullptr, {}, 14 * 64, 7},
        {1, 4, 1, 6, 2, 1, PK_FP32, nullptr, nullptr, {}, 26, 3},
        {1, 4, 1, 6, 2, 0, PK_FP32, nullptr, nullptr, {}, 25, 3},
        {3, 1, 1, 640, 1, 0, PK_FP32, nullptr, nullptr, {}, 0, 2},
    };
    for (enum pk_dtype type : {PK_FP32, PK_BF16}) {
        for (const pk_heads &h : shapes)
            for (bool merge : {false, true}) {
                check(type, h, merge, 0);
                check(type, h, merge, 1);
            }
        in_place(type);
    }
    return report();
}
