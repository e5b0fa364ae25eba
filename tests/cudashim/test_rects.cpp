/* Rectangles on the host shim: every byte that should be copied or filled and no other, at all alignments, by argument and by table. */
#include "check.h"

namespace
{

/* Rectangles within two images, each some bytes after the one before: addresses are offsets until the images are there. */
struct image {
    std::vector<pk_copy2d> v;
    size_t src_bytes = 0, dst_bytes = 0;

    void add(size_t rows, size_t row_bytes, size_t src_gap, size_t dst_gap, size_t shift)
    {
        pk_copy2d c = {};
        c.rows = rows, c.row_bytes = row_bytes;
        c.src_stride = row_bytes + src_gap, c.dst_stride = row_bytes + dst_gap;
        c.src = reinterpret_cast<void *>(src_bytes + shift);
        c.dst = reinterpret_cast<void *>(dst_bytes + 2 * shift);
        src_bytes += (shift + (rows + 1) * c.src_stride + 127) / 64 * 64;
        dst_bytes += (2 * shift + (rows + 1) * c.dst_stride + 127) / 64 * 64;
        v.push_back(c);
    }
};

struct alignas(64) line {
    unsigned char bytes[64];
};

unsigned char *start(std::vector<line> &v)
{
    return v.data()->bytes;
}

/* As pk_k_copy2d, or through a table. */
int copy(const std::vector<pk_copy2d> &v, bool table)
{
    if (!table)
        return pk_k_copy2d(nullptr, v.data(), v.size());
    std::vector<pk_copy_piece> pieces(v.size());
    const size_t tiles = pk_k_copy_pieces(v.data(), v.size(), pieces.data());
    return pk_k_copy_table(nullptr, pieces.data(), pieces.size(), tiles);
}

void check_image(const image &m, bool table)
{
    std::vector<line> src(m.src_bytes / 64 + 1), dst(m.dst_bytes / 64 + 1);
    for (size_t i = 0; i < src.size() * 64; i++)
        start(src)[i] = (unsigned char)pk_rng_next(&rng);
    std::memset(start(dst), 0xa5, dst.size() * 64);
    std::vector<line> want = dst;
    std::vector<pk_copy2d> v = m.v;
    for (pk_copy2d &c : v) {
        c.src = start(src) + reinterpret_cast<uintptr_t>(c.src);
        unsigned char *plain = start(want) + reinterpret_cast<uintptr_t>(c.dst);
        c.dst = start(dst) + reinterpret_cast<uintptr_t>(c.dst);
        for (size_t r = 0; r < c.rows; r++)
            std::memcpy(plain + r * c.dst_stride,
                        static_cast<const unsigned char *>(c.src) + r * c.src_stride, c.row_bytes);
    }
    expect_launched(copy(v, table), "copy2d", v.size());
    for (size_t i = 0; i < dst.size() * 64; i++)
        expect(start(dst)[i], start(want)[i], 0, table ? "copy by table" : "copy2d", v.size(), i);
}

void check_copies(const image &m)
{
    check_image(m, false);
    check_image(m, true);
}

void every_shape()
{
    image all;
    for (size_t rows : {0, 1, 2, 7, 60})
        for (size_t bytes : {0, 1, 3, 16, 63, 64, 65, 132, 1000}) {
            all.add(rows, bytes, 0, 0, 0);
            all.add(rows, bytes, 13, 0, 1);
            all.add(rows, bytes, 64, 5, 7);
            all.add(rows, bytes, 16, 32, 16);
            all.add(rows, bytes, 4, 8, 4);
        }
    check_copies(all);
}

/* More than a tile of each unit, in rows shorter and longer than a tile. */
void several_tiles()
{
    image m;
    m.add(1, 100001, 0, 0, 1);
    m.add(3, 40000, 16, 32, 0);
    m.add(300, 768, 768, 0, 0);
    m.add(77, 5 * 16, 16, 0, 0);
    m.add(5, 9004, 4, 12, 4);
    m.add(7, 2049, 1, 0, 3);
    check_copies(m);
    for (const pk_copy2d &c : m.v) {
        image one;
        one.add(c.rows, c.row_bytes, c.src_stride - c.row_bytes, c.dst_stride - c.row_bytes, 0);
        check_copies(one);
    }
}

void set(float &to, float v)
{
    to = v;
}

void set(uint16_t &to, float v)
{
    to = pk_bf16_of_float(v);
}

template <typename T> void check_fills(const std::vector<pk_fill> &shapes, pk_dtype type, size_t shift)
{
    std::vector<pk_fill> v = shapes;
    size_t elements = shift;
    for (const pk_fill &f : v)
        elements += (f.rows * f.cols + 4) / 4 * 4;
    std::vector<line> memory(elements * sizeof(T) / 64 + 2);
    std::memset(start(memory), 0xff, memory.size() * 64);
    std::vector<line> want = memory;
    T *at = reinterpret_cast<T *>(start(memory)) + shift;
    T *plain = reinterpret_cast<T *>(start(want)) + shift;
    for (pk_fill &f : v) {
        f.dst = at;
        f.dtype = type;
        for (size_t k = 0; k < f.rows * f.cols; k++)
            set(plain[k], pk_fill_value(f.seed, k / f.cols * f.columns + k % f.cols));
        at += (f.rows * f.cols + 4) / 4 * 4; /* at least an element is left between two */
        plain += (f.rows * f.cols + 4) / 4 * 4;
    }
    expect_launched(pk_k_fill(nullptr, v.data(), v.size()), "fill", v.size());
    for (size_t i = 0; i < memory.size() * 64; i++)
        expect(start(memory)[i], start(want)[i], 0, "fill", v.size(), i / sizeof(T));
}

void fills()
{
    std::vector<pk_fill> v;
    for (size_t rows : {0, 1, 2, 15, 33, 100})
        for (size_t cols : {0, 1, 2, 15, 16, 17, 100}) {
            v.push_back({nullptr, rows, cols, cols, v.size(), PK_FP32});
            v.push_back({nullptr, rows, cols, 2 * cols + 1, UINT64_MAX - v.size(), PK_FP32});
        }
    v.push_back({nullptr, 3, 5001, 7000, 9, PK_FP32});
    v.push_back({nullptr, 2500, 5, 5, 11, PK_FP32});
    for (size_t shift = 0; shift < 4; shift++) {
        check_fills<float>(v, PK_FP32, shift);
        check_fills<uint16_t>(v, PK_BF16, shift);
    }
    check_fills<float>({}, PK_FP32, 0);
}

} // namespace

int main()
{
    check_copies({});
    every_shape();
    several_tiles();
    fills();
    return report();
}
