/* AdamW on the host shim against float64: the step in one pass, in all its passes one by one, aligned or not, and the state's tick. */
#include "layers.h"

namespace
{

const pk_adamw_state START = {1e-2f, 0.9f, 0.95f, 1e-8f, 0.1f, 1, 1};

struct arrays {
    array p, m, v;
    results scratch;
    std::vector<uint16_t> narrow;
    arrays(size_t n, size_t off) : p(PK_FP32, n, off), m(PK_FP32, n), v(PK_FP32, n), scratch(n), narrow(n)
    {
        for (size_t i = 0; i < n; i++)
            v.floats()[i] = v.wide[i] *= v.wide[i];
    }
};

/* What a step makes of element i, in float64. */
void compare(const arrays &a, const array &g, const pk_adamw_state &s, size_t n, const char *what)
{
    for (size_t i = 0; i < n; i++) {
        const double m = a.m.wide[i] + (1 - (double)s.beta1) * ((double)g.wide[i] - a.m.wide[i]),
                     v = a.v.wide[i] + (1 - (double)s.beta2) * ((double)g.wide[i] * g.wide[i] - a.v.wide[i]),
                     d = std::sqrt(v / (1 - (double)s.beta2_t)) + s.eps,
                     p = a.p.wide[i] * (1 - (double)s.lr * s.decay) - s.lr / (1 - (double)s.beta1_t) * m / d;
        const double size = std::fabs(a.p.wide[i]) + std::fabs(s.lr / (1 - (double)s.beta1_t) * m / d);
        expect(a.m[i], m, 1e-6 * (std::fabs(a.m.wide[i]) + std::fabs(g.wide[i])), what, n, i);
        expect(a.v[i], v, 1e-6 * (a.v.wide[i] + g.wide[i] * g.wide[i]), what, n, i);
        expect(a.p[i], p, 2e-6 * size, what, n, i);
    }
}

void check(enum pk_dtype g_type, size_t n, size_t off, bool one_by_one)
{
    arrays a(n, off);
    array g(g_type, n);
    pk_adamw_state state = START;
    for (int t = 0; t < 3; t++)
        expect_launched(pk_k_adamw_tick(nullptr, &state), "tick", n);
    expect(state.beta1_t, std::pow(0.9, 3), 1e-6, "beta1^t", n, 0);
    expect(state.beta2_t, std::pow(0.95, 3), 1e-6, "beta2^t", n, 0);
    const unsigned all = PK_ADAMW_FUSED | PK_ADAMW_NARROW;
    for (unsigned pass = 1; pass <= PK_ADAMW_NARROW; pass *= 2) {
        const pk_adamw x = {n,
                            one_by_one ? pass : all,
                            &state,
                            a.p.floats(),
                            a.m.floats(),
                            a.v.floats(),
                            g.data(),
                            g_type,
                            one_by_one ? a.scratch.data() : nullptr,
                            a.narrow.data()};
        expect_launched(pk_k_adamw(nullptr, &x), "adamw", n);
        if (!one_by_one)
            break;
    }
    compare(a, g, state, n, one_by_one ? "adamw pass by pass" : "adamw");
    for (size_t i = 0; i < n; i++)
        expect(a.narrow[i], pk_bf16_of_float(a.p[i]), 0, "adamw narrow", n, i);
}

/* What is not asked for is not touched, nor read: the rest of the arrays is not there. */
void decay_alone()
{
    array p(PK_FP32, 101);
    pk_adamw_state state = START;
    const pk_adamw x = {101,     PK_ADAMW_DECAY, &state,  p.floats(), nullptr,
                        nullptr, nullptr,        PK_FP32, nullptr,    nullptr};
    expect_launched(pk_k_adamw(nullptr, &x), "adamw decay", 101);
    for (size_t i = 0; i < 101; i++)
        expect(p[i], p.wide[i] * (1 - 1e-2 * 0.1), 1e-6, "adamw decay", 101, i);
}

} // namespace

int main()
{
    for (enum pk_dtype g_type : {PK_FP32, PK_BF16})
        for (size_t n : {1, 3, 4, 1001, 4096})
            for (size_t off : {0, 1})
                for (bool one_by_one : {false, true})
                    check(g_type, n, off, one_by_one);
    decay_alone();
    return report();
}
