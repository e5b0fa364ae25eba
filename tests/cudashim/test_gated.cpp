/* The gated unit on the host shim against float64, forward and backward: rows apart, in place, aligned or not; values beyond where the
 * exponential overflows. */
#include "layers.h"

namespace
{

double sigmoid64(double x)
{
    return 1 / (1 + std::exp(-x));
}

void forward(enum pk_dtype type, size_t rows, size_t cols, size_t stride, size_t off)
{
    array in(type, rows * stride + off + cols, 0, 4), up(type, rows * stride, off);
    results y(rows * cols, type);
    const pk_glu g = {rows, cols, stride, type, in.data(), up.data(), y.data()};
    expect_launched(pk_k_glu(nullptr, &g), "glu", cols);
    for (size_t i = 0; i < rows * cols; i++) {
        const size_t at = i / cols * stride + i % cols;
        const double x = in.wide[at], want = x * sigmoid64(x) * up.wide[at];
        expect(y[i], want, near(type, want, 0), "glu", cols, i);
    }
}

/* Gate and up are halves of rows, as one product makes them; with `over`, gradients go where values were. */
void backward(enum pk_dtype type, size_t rows, size_t cols, bool over, bool wanted)
{
    const size_t stride = 2 * cols, bytes = pk_dtype_bytes(type);
    array in(type, rows * stride, 0, 4), d_y(type, rows * cols);
    results out(rows * stride, type), y(rows * cols, type);
    auto *gate = static_cast<char *>(in.data()), *d_gate = over ? gate : reinterpret_cast<char *>(out.data());
    void *const again = over ? d_y.data() : y.data();
    const pk_glu_backward g = {rows,
                               cols,
                               stride,
                               type,
                               gate,
                               gate + cols * bytes,
                               d_y.data(),
                               d_gate,
                               d_gate + cols * bytes,
                               wanted ? again : nullptr};
    expect_launched(pk_k_glu_backward(nullptr, &g), "glu backward", cols);
    for (size_t i = 0; i < rows * cols; i++) {
        const size_t at = i / cols * stride + i % cols;
        const double x = in.wide[at], u = in.wide[at + cols], d = d_y.wide[i], s = sigmoid64(x);
        const double want_gate = d * u * s * (1 + x * (1 - s)), want_up = d * x * s;
        expect(over ? in[at] : out[at], want_gate, near(type, want_gate, std::fabs(d * u * s)), "d_gate",
               cols, i);
        expect(over ? in[at + cols] : out[at + cols], want_up, near(type, want_up, 0), "d_up", cols, i);
        if (wanted)
            expect(over ? d_y[i] : y[i], x * s * u, near(type, x * s * u, 0), "y again", cols, i);
    }
}

void extremes()
{
    enum { N = 8 };
    const float gate[N] = {-1e4f, -100, -88.5f, -20, 0, 20, 100, 1e4f}, up[N] = {1, 1, 1, 1, 1, 1, 1, 1};
    results y(N);
    const pk_glu g = {1, N, N, PK_FP32, gate, up, y.data()};
    expect_launched(pk_k_glu(nullptr, &g), "glu of extremes", N);
    for (size_t i = 0; i < N; i++) {
        const double want = gate[i] * sigmoid64(gate[i]);
        expect(y[i], want, 1e-6 * std::fabs(want) + 1e-35, "glu of extremes", N, i);
    }
}

} // namespace

int main()
{
    for (enum pk_dtype type : {PK_FP32, PK_BF16}) {
        for (size_t cols : {1, 7, 64, 1280, 4100})
            for (size_t off : {0, 1})
                forward(type, 3, cols, cols + 8 * off, off);
        forward(type, 0, 8, 8, 0);
        for (size_t cols : {1, 7, 64, 1280, 4100})
            for (bool over : {false, true})
                backward(type, 3, cols, over, cols != 64);
    }
    extremes();
    return report();
}
