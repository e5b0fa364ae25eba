/* The CPU's ops against the fp64 reference: every instruction set this CPU has, odd shapes, few and many
 * problems, with and without a BLAS library. */
#include "base/rng.h"
#include "device/cpu.h"
#include "ops/cpu/kernels.h"
#include "reference.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pk_err err;
static struct pk_device dev;
static struct pk_arena arena;

static void open_device(unsigned threads)
{
    if (pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = threads, .limit_bytes = 1 << 30},
                       &err))
        fail_msg("%s: %s", err.what, err.why);
}

static void close_device(void)
{
    pk_device_close(&dev);
    pk_arena_free(&arena);
}

static float *device_floats(size_t n)
{
    float *p = pk_device_alloc(&dev, n * sizeof *p, PK_TAG_OTHER);
    assert_non_null(p);
    for (size_t i = 0; i < n; i++)
        p[i] = NAN; /* an op may not read what it writes */
    return p;
}

static float *random_floats(size_t n, uint64_t seed)
{
    struct pk_rng r = {seed};
    float *p = device_floats(n);
    for (size_t i = 0; i < n; i++)
        p[i] = (float)pk_rng_normal(&r);
    return p;
}

static void free_all(float **p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pk_device_free(&dev, p[i]);
}

/* Largest |got - want| over |want| plus the root mean square of want; infinite when something is not a
 * number. */
static double error_of(const float *got, const double *want, size_t n)
{
    double worst = 0, squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += want[i] * want[i];
    const double rms = sqrt(squares / (double)n) + 1e-30;
    for (size_t i = 0; i < n; i++) {
        double e = fabs(got[i] - want[i]) / (fabs(want[i]) + rms);
        worst = isnan(e) ? INFINITY : fmax(worst, e);
    }
    return worst;
}

/* fp32 sums of n terms wander by about sqrt(n) roundings; 8 is headroom. */
static void assert_near(const char *what, const float *got, const double *want, size_t n, size_t terms)
{
    double error = error_of(got, want, n), allowed = 8 * 0x1p-23 * sqrt((double)terms + 16);
    if (error > allowed)
        fail_msg("%s with %s: error %g, allowed %g", what, pk_isa_name(pk_cpu_isa(&dev)), error, allowed);
}

static void for_each_isa(void (*check)(void))
{
    for (int isa = (int)pk_isa_detect(); isa >= 0; isa--) {
        pk_cpu_lower_isa(&dev, (enum pk_isa)isa);
        check();
    }
}

static void check_gemm_shape(size_t m, size_t n, size_t k, size_t batch, float alpha, float beta)
{
    for (int t = 0; t < 4; t++) {
        struct pk_gemm g = {.m = m,
                            .n = n,
                            .k = k,
                            .batch = batch,
                            .ta = t & 1 ? PK_T : PK_N,
                            .tb = t & 2 ? PK_T : PK_N,
                            .alpha = alpha,
                            .beta = beta};
        float *a = random_floats(m * k * batch, 1), *b = random_floats(k * n * batch, 2);
        float *c = beta != 0 ? random_floats(m * n * batch, 3) : device_floats(m * n * batch);
        double *want = pk_new_n(&arena, double, m *n *batch);
        g.a = a;
        g.b = b;
        g.c = c;
        pk_reference_gemm(&g, want);
        assert_int_equal(pk_op_gemm(&dev, &g, &err), PK_OK);
        assert_near("gemm", c, want, m * n * batch, k);
        free_all((float *[]){a, b, c}, 3);
    }
}

static void check_gemm(void)
{
    check_gemm_shape(1, 1, 1, 1, 1, 0);
    check_gemm_shape(7, 3, 130, 3, 0.5f, 0);
    check_gemm_shape(130, 100, 7, 2, -2, 1);
    check_gemm_shape(257, 301, 300, 1, 1, 0.25f);
}

static void gemm_matches(void **state)
{
    open_device(3);
    for_each_isa(check_gemm);
    close_device();
    setenv("PERFKIT_BLAS", "own", 1);
    open_device(3);
    for_each_isa(check_gemm);
    assert_int_equal(pk_cpu_blas(&dev)->kind, PK_BLAS_OWN);
    close_device();
    unsetenv("PERFKIT_BLAS");
}

static void check_exp(void)
{
    enum { N = 200003 };
    const struct pk_kernels *k = pk_kernels_of(pk_cpu_isa(&dev));
    float *x = device_floats(N), *y = device_floats(N);
    for (size_t i = 0; i < N; i++)
        x[i] = -87.3f + 175.3f * (float)i / N;
    k->exp(x, y, N);
    double worst = 0;
    for (size_t i = 0; i < N; i++)
        worst = fmax(worst, fabs(y[i] / exp((double)x[i]) - 1));
    if (worst > 2 * 0x1p-23)
        fail_msg("exp with %s: relative error %g", k->isa, worst);
    const float edge[3] = {-INFINITY, -1000, 0};
    k->exp(edge, y, 3);
    assert_true(y[0] == 0 && y[1] == 0 && y[2] == 1);
    const float none = NAN;
    k->exp(&none, y, 1);
    assert_true(isnan(y[0]));
    free_all((float *[]){x, y}, 2);
}

static void check_softmax_shape(size_t rows, size_t cols)
{
    const size_t n = rows * cols;
    float *s = random_floats(n, 4), *p = device_floats(n), *dp = random_floats(n, 5), *ds = device_floats(n);
    double *s64 = pk_new_n(&arena, double, n), *p64 = pk_new_n(&arena, double, n),
           *ds64 = pk_new_n(&arena, double, n);
    assert_int_equal(pk_op_scale(&dev, 2, s, s, n, &err), PK_OK);
    if (cols > 2)
        s[1] = -INFINITY;
    for (size_t i = 0; i < n; i++)
        s64[i] = s[i];
    pk_reference_softmax(s64, p64, rows, cols);
    assert_int_equal(pk_op_softmax(&dev, s, p, rows, cols, &err), PK_OK);
    assert_near("softmax", p, p64, n, cols);
    if (cols > 2)
        assert_true(p[1] == 0);
    for (size_t r = 0; r < rows; r++) {
        double sum = 0;
        for (size_t i = r * cols; i < (r + 1) * cols; i++)
            sum += p64[i] * dp[i];
        for (size_t i = r * cols; i < (r + 1) * cols; i++)
            ds64[i] = p64[i] * (dp[i] - sum);
    }
    assert_int_equal(pk_op_softmax_backward(&dev, p, dp, ds, rows, cols, &err), PK_OK);
    if (cols > 1) /* one column: the gradient is 0, and rounding is all there is */
        assert_near("softmax backward", ds, ds64, n, cols);
    free_all((float *[]){s, p, dp, ds}, 4);
}

static void check_softmax(void)
{
    check_softmax_shape(1, 1);
    check_softmax_shape(5, 7);
    check_softmax_shape(1000, 130);
    check_softmax_shape(3, 40000);
}

static void check_scale_and_mask(void)
{
    enum { B = 2, S = 37, N = B * S * S };
    float *x = random_floats(N, 6), *y = device_floats(N);
    assert_int_equal(pk_op_scale(&dev, -0.5f, x, y, N, &err), PK_OK);
    for (size_t i = 0; i < N; i++)
        assert_true(y[i] == -0.5f * x[i]);
    assert_int_equal(pk_op_causal_mask(&dev, x, y, B, S, &err), PK_OK);
    for (size_t i = 0; i < N; i++)
        assert_true(i % S > i / S % S ? y[i] == -INFINITY : y[i] == x[i]);
    free_all((float *[]){x, y}, 2);
}

static void rows_match(void **state)
{
    open_device(3);
    for_each_isa(check_exp);
    for_each_isa(check_softmax);
    for_each_isa(check_scale_and_mask);
    close_device();
}

struct expected {
    double *o, *lse, *dq, *dk, *dv, *p;
};

static struct expected expect(const struct pk_attention *at)
{
    size_t n = at->batch * at->seq * at->dim, s = at->batch * at->seq;
    struct expected e = {pk_new_n(&arena, double, n), pk_new_n(&arena, double, s),
                         pk_new_n(&arena, double, n), pk_new_n(&arena, double, n),
                         pk_new_n(&arena, double, n), pk_new_n(&arena, double, s * at->seq)};
    pk_reference_attention(at, &(struct pk_reference_attention){
                                   .p = e.p, .o = e.o, .lse = e.lse, .dq = e.dq, .dk = e.dk, .dv = e.dv});
    return e;
}

static void check_results(const char *variant, const struct pk_attention *at, const struct expected *e)
{
    size_t n = at->batch * at->seq * at->dim, s = at->batch * at->seq;
    char what[96];
    const struct {
        const char *name;
        const float *got;
        const double *want;
        size_t n;
    } rows[] = {{"o", at->o, e->o, n},    {"dv", at->dv, e->dv, n},    {"dq", at->dq, e->dq, n},
                {"dk", at->dk, e->dk, n}, {"lse", at->lse, e->lse, s}, {"p", at->p, e->p, s * at->seq}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!rows[i].got || (at->seq == 1 && rows[i].name[0] == 'd' && rows[i].name[1] != 'v'))
            continue; /* one key: the gradient of q and k is 0 */
        snprintf(what, sizeof what, "%s %s, batch %zu seq %zu dim %zu causal %d", variant, rows[i].name,
                 at->batch, at->seq, at->dim, at->causal);
        assert_near(what, rows[i].got, rows[i].want, rows[i].n, at->seq + at->dim);
    }
}

static void check_attention_shape(size_t batch, size_t seq, size_t dim, int causal)
{
    const size_t n = batch * seq * dim;
    float *x[] = {random_floats(n, 7),       random_floats(n, 8), random_floats(n, 9),
                  random_floats(n, 10),      device_floats(n),    device_floats(n),
                  device_floats(n),          device_floats(n),    device_floats(batch * seq * seq),
                  device_floats(batch * seq)};
    struct pk_attention at = {.batch = batch,
                              .seq = seq,
                              .dim = dim,
                              .causal = causal,
                              .scale = 1.0f / sqrtf((float)dim),
                              .q = x[0],
                              .k = x[1],
                              .v = x[2],
                              .d_o = x[3],
                              .o = x[4],
                              .dq = x[5],
                              .dk = x[6],
                              .dv = x[7]};
    struct expected e = expect(&at);
    size_t before = dev.pool.current;
    at.p = x[8];
    assert_int_equal(pk_op_fused_forward(&dev, &at, &err), PK_OK);
    assert_int_equal(pk_op_fused_backward(&dev, &at, &err), PK_OK);
    check_results("fused", &at, &e);
    for (size_t i = 4; i < 8; i++)
        memset(x[i], 0xff, n * sizeof(float));
    at.p = NULL;
    at.lse = x[9];
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_OK);
    assert_int_equal(pk_op_flash_backward(&dev, &at, &err), PK_OK);
    check_results("flash", &at, &e);
    assert_int_equal(dev.pool.current, before);
    free_all(x, sizeof x / sizeof *x);
}

static void check_attention(void)
{
    static const size_t seqs[] = {1, 7, 130}, dims[] = {1, 3, 16, 100};
    for (size_t s = 0; s < sizeof seqs / sizeof *seqs; s++)
        for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
            for (int causal = 0; causal < 2; causal++) {
                check_attention_shape(1, seqs[s], dims[d], causal);
                check_attention_shape(3, seqs[s], dims[d], causal);
            }
    check_attention_shape(1, 500, 64, 1);
    check_attention_shape(1, 192, 64, 0);
}

static void attention_matches(void **state)
{
    for (unsigned threads = 1; threads <= 5; threads += 2) {
        open_device(threads);
        if (threads == 3)
            for_each_isa(check_attention);
        else
            check_attention();
        close_device();
    }
    setenv("PERFKIT_BLAS", "own", 1);
    open_device(2);
    check_attention();
    close_device();
    unsetenv("PERFKIT_BLAS");
}

/* Scores of +-1000: what is subtracted before the exponential must be the maximum. */
static void large_scores_do_not_overflow(void **state)
{
    open_device(2);
    enum { S = 130, D = 16, N = S * D };
    float *q = random_floats(N, 11), *k = random_floats(N, 12), *v = random_floats(N, 13),
          *o = device_floats(N);
    float *lse = device_floats(S);
    struct pk_attention at = {
        .batch = 1, .seq = S, .dim = D, .scale = 100, .q = q, .k = k, .v = v, .o = o, .lse = lse};
    double *p = pk_new_n(&arena, double, S *S), *want = pk_new_n(&arena, double, N);
    pk_reference_attention(&at, &(struct pk_reference_attention){.p = p, .o = want});
    assert_int_equal(pk_op_flash_forward(&dev, &at, &err), PK_OK);
    assert_true(error_of(o, want, N) < 1e-2); /* a score of 1000 is known to 6e-5, and e^s to as much */
    free_all((float *[]){q, k, v, o, lse}, 5);
    close_device();
}

static void a_refused_workspace_is_oom(void **state)
{
    open_device(3);
    enum { S = 200, D = 16, N = S * D };
    float *x = random_floats(N, 1), *y = device_floats(N), *p = device_floats(S * S), *lse = device_floats(S);
    struct pk_attention at = {.batch = 1,
                              .seq = S,
                              .dim = D,
                              .scale = 1,
                              .q = x,
                              .k = x,
                              .v = x,
                              .o = y,
                              .p = p,
                              .lse = lse,
                              .d_o = x,
                              .dq = y,
                              .dk = y,
                              .dv = y};
    enum pk_code (*const ops[])(struct pk_device *, const struct pk_attention *, struct pk_err *) = {
        pk_op_flash_forward, pk_op_flash_backward, pk_op_fused_backward};
    for (size_t i = 0; i < 3; i++)
        for (unsigned long n = 1; n <= (i ? 2 : 1); n++) {
            size_t before = dev.pool.current;
            dev.pool.fail_at = n;
            assert_int_equal(ops[i](&dev, &at, &err), PK_E_OOM);
            assert_int_equal(dev.pool.current, before);
            dev.pool.fail_at = 0;
        }
    free_all((float *[]){x, y, p, lse}, 4);
    close_device();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gemm_matches),
        cmocka_unit_test(rows_match),
        cmocka_unit_test(attention_matches),
        cmocka_unit_test(large_scores_do_not_overflow),
        cmocka_unit_test(a_refused_workspace_is_oom),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
