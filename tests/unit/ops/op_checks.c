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

void check_gemm_shape(struct trial *t, struct pk_gemm g)
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

/* fp32 results of exact arithmetic, or the same rounded to bf16 where that is the type. */
static void near(struct trial *t, const char *what, enum pk_dtype type, const void *got, const double *want,
                 size_t n, size_t terms)
{
    trial_close(t, what, type, got, want, n, trial_allowed(PK_FP32, PK_MATH_IEEE, type, terms));
}

static void *poisoned(struct trial *t, enum pk_dtype type, size_t n)
{
    return trial_bytes(t, NULL, n * pk_dtype_bytes(type));
}

static double *widened(struct trial *t, const float *x, size_t n)
{
    double *wide = pk_new_n(&t->arena, double, n);
    for (size_t i = 0; i < n; i++)
        wide[i] = x[i];
    return wide;
}

void check_softmax_shape(struct trial *t, enum pk_dtype type, size_t rows, size_t cols)
{
    const size_t n = rows * cols;
    float *host_s = trial_random(t, n, 4);
    double *p64 = pk_new_n(&t->arena, double, n);
    if (cols > 2)
        host_s[1] = -INFINITY;
    for (size_t i = 0; i < n; i++)
        host_s[i] *= 2;
    void *s = trial_stored(t, type, host_s, n), *p = poisoned(t, type, n);
    pk_reference_softmax(widened(t, host_s, n), p64, rows, cols);
    char what[96];
    snprintf(what, sizeof what, "softmax %zu x %zu", rows, cols);
    trial_ran(t, what, pk_op_softmax(t->dev, type, s, p, rows, cols, &t->err));
    near(t, what, type, p, p64, n, cols);
    if (cols > 2)
        assert_memory_equal((const char *)trial_fetch(t, p, 2 * pk_dtype_bytes(type)) + pk_dtype_bytes(type),
                            &(float){0}, pk_dtype_bytes(type));
    trial_ran(t, what, pk_op_softmax(t->dev, type, s, s, rows, cols, &t->err));
    near(t, "softmax in place", type, s, p64, n, cols);
    trial_end(t);
}

/* Of probabilities as stored: those of a softmax, rounded. */
static void check_softmax_backward_shape(struct trial *t, enum pk_dtype type, size_t rows, size_t cols)
{
    const size_t n = rows * cols;
    float *host_p = trial_random(t, n, 4), *host_dp = trial_random(t, n, 5);
    double *p64 = pk_new_n(&t->arena, double, n), *ds64 = pk_new_n(&t->arena, double, n);
    pk_reference_softmax(widened(t, host_p, n), p64, rows, cols);
    for (size_t i = 0; i < n; i++)
        host_p[i] = (float)p64[i];
    void *p = trial_stored(t, type, host_p, n), *dp = trial_stored(t, type, host_dp, n),
         *ds = poisoned(t, type, n);
    softmax_gradient(widened(t, host_p, n), host_dp, ds64, rows, cols);
    char what[96];
    snprintf(what, sizeof what, "softmax backward %zu x %zu", rows, cols);
    trial_ran(t, what, pk_op_softmax_backward(t->dev, type, p, dp, ds, rows, cols, &t->err));
    trial_ran(t, what, pk_op_softmax_backward(t->dev, type, p, dp, dp, rows, cols, &t->err));
    if (cols > 1) { /* one column: the gradient is 0, and rounding is all there is */
        near(t, what, type, ds, ds64, n, cols);
        near(t, "softmax backward in place", type, dp, ds64, n, cols);
    }
    trial_end(t);
}

void check_softmax(struct trial *t, enum pk_dtype type, enum op_size upto)
{
    static const struct {
        enum op_size size;
        size_t rows, cols;
    } shapes[] = {{OPS_TINY, 1, 1},      {OPS_TINY, 5, 7},       {OPS_USUAL, 1000, 130},
                  {OPS_USUAL, 3, 40000}, {OPS_LARGE, 33, 1025},  {OPS_LARGE, 7, 8193},
                  {OPS_LARGE, 130, 33},  {OPS_LARGE, 8193, 7},   {OPS_LARGE, 1025, 130},
                  {OPS_TINY, 3, 1025},   {OPS_LARGE, 100003, 1}, {OPS_LARGE, 1025, 4096}};
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (shapes[i].size <= upto) {
            check_softmax_shape(t, type, shapes[i].rows, shapes[i].cols);
            check_softmax_backward_shape(t, type, shapes[i].rows, shapes[i].cols);
        }
}

static const struct {
    enum op_size size;
    size_t n;
} lengths[] = {{OPS_TINY, 1},   {OPS_TINY, 7},     {OPS_TINY, 33},    {OPS_USUAL, 130},
               {OPS_TINY, 501}, {OPS_LARGE, 1025}, {OPS_LARGE, 8193}, {OPS_LARGE, 3000001}};

/* Powers of two: exact in every type. */
void check_scale(struct trial *t, enum pk_dtype type, enum op_size upto)
{
    for (size_t l = 0; l < COUNT(lengths); l++) {
        const size_t n = lengths[l].n;
        if (lengths[l].size > upto)
            continue;
        float *host = trial_random(t, n, 6);
        void *x = trial_stored(t, type, host, n), *y = poisoned(t, type, n);
        trial_ran(t, "scale", pk_op_scale(t->dev, type, -0.5f, x, y, n, &t->err));
        trial_ran(t, "scale in place", pk_op_scale(t->dev, type, -0.5f, x, x, n, &t->err));
        double *want = widened(t, host, n);
        for (size_t i = 0; i < n; i++)
            want[i] *= -0.5;
        trial_close(t, "scale", type, y, want, n, 0);
        trial_close(t, "scale in place", type, x, want, n, 0);
        trial_end(t);
    }
}

void check_causal_mask(struct trial *t, enum pk_dtype type, enum op_size upto)
{
    for (size_t l = 0; l < COUNT(lengths); l++) {
        const size_t seq = lengths[l].n, n = 2 * seq * seq;
        if (lengths[l].size > upto || seq > 2000)
            continue;
        float *host = trial_random(t, n, 6);
        void *x = trial_stored(t, type, host, n), *y = poisoned(t, type, n);
        trial_ran(t, "causal_mask", pk_op_causal_mask(t->dev, type, x, y, 2, seq, &t->err));
        const float *got = trial_wide(t, type, y, n);
        for (size_t i = 0; i < n; i++)
            assert_true(i % seq > i / seq % seq ? got[i] == -INFINITY : got[i] == host[i]);
        trial_end(t);
    }
}

struct variant {
    const char *name;
    attention_fn *forward, *backward;
    bool keeps_p;
    enum pk_dtype type;
    enum pk_math math;
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

/* Of o and the gradients. Where operands lose digits, so do scores, probabilities and their gradients, each time they are read. */
static double attention_allowed(enum pk_dtype type, enum pk_math math, size_t terms)
{
    const double sums = trial_allowed(type, math, PK_FP32, terms);
    return type == PK_BF16 ? sums + 16 * 0x1p-8 : math == PK_MATH_TF32 ? sums + 16 * 0x1p-11 : sums;
}

static void check_results(struct trial *t, const char *variant, const struct pk_attention *at,
                          const struct pk_reference_attention *e)
{
    const size_t s = at->batch * at->seq, n = s * at->dim;
    char what[96];
    const struct {
        const char *name;
        const void *got;
        const double *want;
        size_t n;
    } rows[] = {{"o", at->o, e->o, n},    {"dv", at->dv, e->dv, n},    {"dq", at->dq, e->dq, n},
                {"dk", at->dk, e->dk, n}, {"lse", at->lse, e->lse, s}, {"p", at->p, e->p, s * at->seq}};
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (!rows[i].got || (at->seq == 1 && rows[i].name[0] == 'd' && rows[i].name[1] != 'v'))
            continue; /* one key: the gradient of q and k is 0 */
        snprintf(what, sizeof what, "%s %s, batch %zu seq %zu dim %zu causal %d", variant, rows[i].name,
                 at->batch, at->seq, at->dim, at->causal);
        const enum pk_dtype type = rows[i].got == at->lse ? PK_FP32 : at->dtype;
        trial_close(t, what, type, rows[i].got, rows[i].want, rows[i].n,
                    attention_allowed(at->dtype, at->math, at->seq + at->dim));
    }
}

/* Random inputs on the device, and as they are there in fp32 in *host; results poisoned. */
static struct pk_attention on_device(struct trial *t, struct pk_attention *host, bool keeps_p)
{
    const size_t s = host->batch * host->seq, n = s * host->dim;
    const enum pk_dtype type = host->dtype;
    struct pk_attention at = *host;
    const void **wide[] = {&host->q, &host->k, &host->v, &host->d_o},
               **stored[] = {&at.q, &at.k, &at.v, &at.d_o};
    for (size_t i = 0; i < COUNT(wide); i++) {
        float *x = trial_random(t, n, 7 + i);
        *stored[i] = trial_stored(t, type, x, n);
        *wide[i] = x;
    }
    at.o = poisoned(t, type, n);
    at.dq = poisoned(t, type, n);
    at.dk = poisoned(t, type, n);
    at.dv = poisoned(t, type, n);
    at.p = keeps_p ? poisoned(t, type, s * host->seq) : NULL;
    at.lse = keeps_p ? NULL : trial_output(t, s);
    return at;
}

static void check_attention_shape(struct trial *t, const struct variant *v, struct pk_attention host)
{
    host.scale = 1.0f / sqrtf((float)host.dim);
    host.dtype = v->type, host.math = v->math;
    const struct pk_attention at = on_device(t, &host, v->keeps_p);
    const struct pk_reference_attention e = expect(t, &host);
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
        {OPS_USUAL, {.batch = 1, .seq = 520, .dim = 64, .causal = 1}}, /* flash on a GPU: in parts */
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

void check_fused(struct trial *t, enum pk_dtype type, enum pk_math math, enum op_size upto)
{
    const struct variant v = {"fused", pk_op_fused_forward, pk_op_fused_backward, true, type, math};
    check_attention(t, &v, upto);
}

void check_fused_shape(struct trial *t, const struct pk_attention *at, attention_fn *backward)
{
    const struct variant v = {"fused", pk_op_fused_forward, backward, true, at->dtype, at->math};
    check_attention_shape(t, &v, *at);
}

void check_flash(struct trial *t, enum pk_dtype type, enum pk_math math, enum op_size upto)
{
    const struct variant v = {"flash", pk_op_flash_forward, pk_op_flash_backward, false, type, math};
    check_attention(t, &v, upto);
}

void check_large_scores(struct trial *t)
{
    enum { S = 130, D = 16, N = S * D };
    struct pk_attention host = {.batch = 1, .seq = S, .dim = D, .scale = 100};
    const struct pk_attention at = on_device(t, &host, false);
    const struct pk_reference_attention e = expect(t, &host);
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
    enum { S = 200, D = 16, MOST = 16 };
    struct pk_attention host = {.batch = 1, .seq = S, .dim = D, .scale = 1};
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
