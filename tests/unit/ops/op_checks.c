/* Op checks: products, rows and attention. */
#include "op_checks.h"

#include "reference.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static void check_gemm_shape(struct trial *t, struct pk_gemm g)
{
    const size_t n_a = g.m * g.k * g.batch, n_b = g.k * g.n * g.batch, n_c = g.m * g.n * g.batch;
    struct pk_gemm host = g;
    float *a = trial_random(t, n_a, 1), *b = trial_random(t, n_b, 2), *c = trial_random(t, n_c, 3);
    g.a = trial_stored(t, g.ab_type, a, n_a);
    g.b = trial_stored(t, g.ab_type, b, n_b);
    g.c = g.beta != 0 ? trial_stored(t, g.c_type, c, n_c)
                      : trial_bytes(t, NULL, n_c * pk_dtype_bytes(g.c_type));
    host.a = a, host.b = b, host.c = c;
    double *want = pk_new_n(&t->arena, double, n_c);
    pk_reference_gemm(&host, want);
    trial_ran(t, "gemm", pk_op_gemm(t->dev, &g, &t->err));
    char what[96];
    snprintf(what, sizeof what, "gemm %zu x %zu x %zu, batch %zu, %c%c", g.m, g.n, g.k, g.batch, "NT"[g.ta],
             "NT"[g.tb]);
    trial_close(t, what, g.c_type, g.c, want, n_c, trial_allowed(g.ab_type, g.math, g.c_type, g.k));
    trial_end(t);
}

void check_gemm(struct trial *t, const struct pk_gemm *of, enum op_size upto)
{
    static const struct {
        enum op_size size;
        struct pk_gemm g;
    } shapes[] = {
        {OPS_TINY, {.m = 1, .n = 1, .k = 1, .batch = 1, .alpha = 1}},
        {OPS_TINY, {.m = 7, .n = 3, .k = 130, .batch = 3, .alpha = 0.5f}},
        {OPS_TINY, {.m = 130, .n = 100, .k = 7, .batch = 2, .alpha = -2, .beta = 1}},
        {OPS_USUAL, {.m = 257, .n = 301, .k = 300, .batch = 1, .alpha = 1, .beta = 0.25f}},
        {OPS_LARGE, {.m = 1025, .n = 33, .k = 130, .batch = 2, .alpha = 1}},
        {OPS_LARGE, {.m = 33, .n = 130, .k = 8193, .batch = 1, .alpha = 1}},
        {OPS_LARGE, {.m = 8193, .n = 7, .k = 130, .batch = 1, .alpha = 1, .beta = -1}},
        {OPS_LARGE, {.m = 1, .n = 8193, .k = 33, .batch = 3, .alpha = 1}},
    };
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int kind = 0; kind < 4 && shapes[i].size <= upto; kind++) {
            struct pk_gemm g = shapes[i].g;
            g.ta = kind & 1 ? PK_T : PK_N;
            g.tb = kind & 2 ? PK_T : PK_N;
            g.ab_type = of->ab_type, g.c_type = of->c_type, g.math = of->math;
            check_gemm_shape(t, g);
        }
}

/* ds = p * (dp - rowsum(dp * p)) */
static void softmax_gradient(const double *p, const float *dp, double *ds, size_t rows, size_t cols)
{
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t i = r * cols; i < (r + 1) * cols; i++)
            sum += p[i] * dp[i];
        for (size_t i = r * cols; i < (r + 1) * cols; i++)
            ds[i] = p[i] * (dp[i] - sum);
    }
}

static void check_softmax_shape(struct trial *t, size_t rows, size_t cols)
{
    const size_t n = rows * cols;
    float *host_s = trial_random(t, n, 4), *host_dp = trial_random(t, n, 5);
    double *s64 = pk_new_n(&t->arena, double, n), *p64 = pk_new_n(&t->arena, double, n),
           *ds64 = pk_new_n(&t->arena, double, n);
    if (cols > 2)
        host_s[1] = -INFINITY;
    for (size_t i = 0; i < n; i++)
        s64[i] = host_s[i] = 2 * host_s[i];
    pk_reference_softmax(s64, p64, rows, cols);
    softmax_gradient(p64, host_dp, ds64, rows, cols);
    float *s = trial_input(t, host_s, n), *p = trial_output(t, n), *dp = trial_input(t, host_dp, n),
          *ds = trial_output(t, n);
    char what[96];
    snprintf(what, sizeof what, "softmax %zu x %zu", rows, cols);
    trial_ran(t, what, pk_op_softmax(t->dev, s, p, rows, cols, &t->err));
    trial_near(t, what, p, p64, n, cols);
    if (cols > 2)
        assert_true(((const float *)trial_fetch(t, p, 2 * sizeof *p))[1] == 0);
    snprintf(what, sizeof what, "softmax backward %zu x %zu", rows, cols);
    trial_ran(t, what, pk_op_softmax_backward(t->dev, p, dp, ds, rows, cols, &t->err));
    if (cols > 1) /* one column: the gradient is 0, and rounding is all there is */
        trial_near(t, what, ds, ds64, n, cols);
    trial_ran(t, what, pk_op_softmax_backward(t->dev, p, dp, dp, rows, cols, &t->err));
    trial_ran(t, what, pk_op_softmax(t->dev, s, s, rows, cols, &t->err));
    trial_near(t, "softmax in place", s, p64, n, cols);
    if (cols > 1)
        trial_near(t, "softmax backward in place", dp, ds64, n, cols);
    trial_end(t);
}

void check_softmax(struct trial *t, enum op_size upto)
{
    static const struct {
        enum op_size size;
        size_t rows, cols;
    } shapes[] = {{OPS_TINY, 1, 1},      {OPS_TINY, 5, 7},       {OPS_USUAL, 1000, 130},
                  {OPS_USUAL, 3, 40000}, {OPS_LARGE, 33, 1025},  {OPS_LARGE, 7, 8193},
                  {OPS_LARGE, 130, 33},  {OPS_LARGE, 8193, 7},   {OPS_LARGE, 1025, 130},
                  {OPS_TINY, 3, 1025},   {OPS_LARGE, 100003, 1}, {OPS_LARGE, 1025, 4096}};
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (shapes[i].size <= upto)
            check_softmax_shape(t, shapes[i].rows, shapes[i].cols);
}

static const struct {
    enum op_size size;
    size_t n;
} lengths[] = {{OPS_TINY, 1},   {OPS_TINY, 7},     {OPS_TINY, 33},    {OPS_USUAL, 130},
               {OPS_TINY, 501}, {OPS_LARGE, 1025}, {OPS_LARGE, 8193}, {OPS_LARGE, 3000001}};

void check_scale(struct trial *t, enum op_size upto)
{
    for (size_t l = 0; l < COUNT(lengths); l++) {
        const size_t n = lengths[l].n, bytes = n * sizeof(float);
        if (lengths[l].size > upto)
            continue;
        const float *host = trial_random(t, n, 6);
        float *x = trial_input(t, host, n), *y = trial_output(t, n);
        trial_ran(t, "scale", pk_op_scale(t->dev, -0.5f, x, y, n, &t->err));
        trial_ran(t, "scale in place", pk_op_scale(t->dev, -0.5f, x, x, n, &t->err));
        const float *got = trial_fetch(t, y, bytes), *in_place = trial_fetch(t, x, bytes);
        for (size_t i = 0; i < n; i++)
            assert_true(got[i] == -0.5f * host[i] && in_place[i] == got[i]);
        trial_end(t);
    }
}

void check_causal_mask(struct trial *t, enum op_size upto)
{
    for (size_t l = 0; l < COUNT(lengths); l++) {
        const size_t seq = lengths[l].n, n = 2 * seq * seq;
        if (lengths[l].size > upto || seq > 2000)
            continue;
        const float *host = trial_random(t, n, 6);
        float *x = trial_input(t, host, n), *y = trial_output(t, n);
        trial_ran(t, "causal_mask", pk_op_causal_mask(t->dev, x, y, 2, seq, &t->err));
        const float *got = trial_fetch(t, y, n * sizeof *got);
        for (size_t i = 0; i < n; i++)
            assert_true(i % seq > i / seq % seq ? got[i] == -INFINITY : got[i] == host[i]);
        trial_end(t);
    }
}

struct variant {
    const char *name;
    enum pk_code (*forward)(struct pk_device *, const struct pk_attention *, struct pk_err *);
    enum pk_code (*backward)(struct pk_device *, const struct pk_attention *, struct pk_err *);
    bool keeps_p;
};

static struct pk_reference_attention expect(struct trial *t, const struct pk_attention *host)
{
    const size_t s = host->batch * host->seq, n = s * host->dim;
    struct pk_reference_attention e = {.p = pk_new_n(&t->arena, double, s * host->seq),
                                       .o = pk_new_n(&t->arena, double, n),
                                       .lse = pk_new_n(&t->arena, double, s),
                                       .dq = pk_new_n(&t->arena, double, n),
                                       .dk = pk_new_n(&t->arena, double, n),
                                       .dv = pk_new_n(&t->arena, double, n)};
    pk_reference_attention(host, &e);
    return e;
}

static void check_results(struct trial *t, const char *variant, const struct pk_attention *at,
                          const struct pk_reference_attention *e)
{
    const size_t s = at->batch * at->seq, n = s * at->dim;
    char what[96];
    const struct {
        const char *name;
        const float *got;
        const double *want;
        size_t n;
    } rows[] = {{"o", at->o, e->o, n},    {"dv", at->dv, e->dv, n},    {"dq", at->dq, e->dq, n},
                {"dk", at->dk, e->dk, n}, {"lse", at->lse, e->lse, s}, {"p", at->p, e->p, s * at->seq}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!rows[i].got || (at->seq == 1 && rows[i].name[0] == 'd' && rows[i].name[1] != 'v'))
            continue; /* one key: the gradient of q and k is 0 */
        snprintf(what, sizeof what, "%s %s, batch %zu seq %zu dim %zu causal %d", variant, rows[i].name,
                 at->batch, at->seq, at->dim, at->causal);
        trial_near(t, what, rows[i].got, rows[i].want, rows[i].n, at->seq + at->dim);
    }
}

/* Inputs of host on the device, results poisoned. */
static struct pk_attention on_device(struct trial *t, const struct pk_attention *host, bool keeps_p)
{
    const size_t s = host->batch * host->seq, n = s * host->dim;
    struct pk_attention at = *host;
    at.q = trial_input(t, host->q, n);
    at.k = trial_input(t, host->k, n);
    at.v = trial_input(t, host->v, n);
    at.d_o = trial_input(t, host->d_o, n);
    at.o = trial_output(t, n);
    at.dq = trial_output(t, n);
    at.dk = trial_output(t, n);
    at.dv = trial_output(t, n);
    at.p = keeps_p ? trial_output(t, s * host->seq) : NULL;
    at.lse = keeps_p ? NULL : trial_output(t, s);
    return at;
}

static void check_attention_shape(struct trial *t, const struct variant *v, struct pk_attention host)
{
    const size_t n = host.batch * host.seq * host.dim;
    host.scale = 1.0f / sqrtf((float)host.dim);
    host.q = trial_random(t, n, 7);
    host.k = trial_random(t, n, 8);
    host.v = trial_random(t, n, 9);
    host.d_o = trial_random(t, n, 10);
    const struct pk_reference_attention e = expect(t, &host);
    const struct pk_attention at = on_device(t, &host, v->keeps_p);
    const size_t before = t->dev->pool.current;
    trial_ran(t, v->name, v->forward(t->dev, &at, &t->err));
    trial_ran(t, v->name, v->backward(t->dev, &at, &t->err));
    check_results(t, v->name, &at, &e);
    assert_int_equal(t->dev->pool.current, before);
    trial_end(t);
}

static void check_attention(struct trial *t, const struct variant *v, enum op_size upto)
{
    static const size_t seqs[] = {1, 7, 130}, dims[] = {1, 3, 16, 100}, batches[] = {1, 3};
    for (size_t i = 0; i < COUNT(seqs) * COUNT(dims) * COUNT(batches) * 2; i++)
        if (upto > OPS_TINY || i % 7 == 3) /* a sample that has every size */
            check_attention_shape(t, v,
                                  (struct pk_attention){.seq = seqs[i / 16],
                                                        .dim = dims[i / 4 % 4],
                                                        .batch = batches[i / 2 % 2],
                                                        .causal = (int)i % 2});
    static const struct {
        enum op_size size;
        struct pk_attention at;
    } more[] = {
        {OPS_USUAL, {.batch = 1, .seq = 500, .dim = 64, .causal = 1}},
        {OPS_USUAL, {.batch = 1, .seq = 192, .dim = 64}},
        {OPS_LARGE, {.batch = 3, .seq = 33, .dim = 128, .causal = 1}},
        {OPS_LARGE, {.batch = 8, .seq = 256, .dim = 32}},
        {OPS_LARGE, {.batch = 2, .seq = 1025, .dim = 64}},
        {OPS_LARGE, {.batch = 1, .seq = 1025, .dim = 128, .causal = 1}},
    };
    for (size_t i = 0; i < COUNT(more); i++)
        if (more[i].size <= upto)
            check_attention_shape(t, v, more[i].at);
}

void check_fused(struct trial *t, enum op_size upto)
{
    check_attention(t, &(struct variant){"fused", pk_op_fused_forward, pk_op_fused_backward, true}, upto);
}

void check_flash(struct trial *t, enum op_size upto)
{
    check_attention(t, &(struct variant){"flash", pk_op_flash_forward, pk_op_flash_backward, false}, upto);
}

void check_large_scores(struct trial *t)
{
    enum { S = 130, D = 16, N = S * D };
    struct pk_attention host = {.batch = 1,
                                .seq = S,
                                .dim = D,
                                .scale = 100,
                                .q = trial_random(t, N, 11),
                                .k = trial_random(t, N, 12),
                                .v = trial_random(t, N, 13),
                                .d_o = trial_random(t, N, 14)};
    const struct pk_reference_attention e = expect(t, &host);
    const struct pk_attention at = on_device(t, &host, false);
    trial_ran(t, "flash", pk_op_flash_forward(t->dev, &at, &t->err));
    assert_true(trial_error(t, at.o, e.o, N) <
                1e-2); /* a score of 1000 is known to 6e-5, and e^s to as much */
    trial_end(t);
}

void check_refused_workspace(struct trial *t, const unsigned least[3])
{
    static const struct {
        const char *name;
        enum pk_code (*op)(struct pk_device *, const struct pk_attention *, struct pk_err *);
    } ops[] = {{"flash forward", pk_op_flash_forward},
               {"flash backward", pk_op_flash_backward},
               {"fused backward", pk_op_fused_backward}};
    enum { S = 200, D = 16, N = S * D, MOST = 16 };
    const float *x = trial_random(t, N, 1);
    const struct pk_attention host = {
        .batch = 1, .seq = S, .dim = D, .scale = 1, .q = x, .k = x, .v = x, .d_o = x};
    struct pk_attention at = on_device(t, &host, true);
    at.lse = trial_output(t, S);
    for (size_t i = 0; i < COUNT(ops); i++) {
        const size_t before = t->dev->pool.current;
        unsigned refused = 0;
        enum pk_code rc = PK_E_OOM;
        for (; rc == PK_E_OOM && refused < MOST; refused++) {
            t->dev->pool.fail_at = refused + 1;
            rc = ops[i].op(t->dev, &at, &t->err);
            t->dev->pool.fail_at = 0;
            assert_int_equal(t->dev->pool.current, before);
        }
        trial_ran(t, ops[i].name, rc);
        assert_true(refused - 1 >= least[i]);
    }
    trial_end(t);
}
