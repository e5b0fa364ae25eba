/* The fp64 attention check: right results pass, a wrong element of any array is found. */
#include "ops/attention_check.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "base/rng.h"

#include <math.h>
#include <string.h>

struct problem {
    struct pk_arena a;
    struct pk_attention_host h;
    float *o, *dq, *dk, *dv, *lse, *p;
};

static float *random_array(struct pk_arena *a, struct pk_rng *rng, size_t n)
{
    float *x = pk_new_n(a, float, n);
    for (size_t i = 0; i < n; i++)
        x[i] = (float)pk_rng_normal(rng);
    return x;
}

static double product(const float *x, const float *y, size_t n)
{
    double s = 0;
    for (size_t i = 0; i < n; i++)
        s += (double)x[i] * y[i];
    return s;
}

/* Attention by definition, all in one place and in another order than the code under test. */
static void solve(struct problem *t)
{
    const struct pk_attention_host *h = &t->h;
    size_t S = h->seq, D = h->dim;
    for (size_t i = 0; i < S; i++) {
        size_t end = h->causal ? i + 1 : S;
        double sum = 0;
        for (size_t j = 0; j < end; j++)
            sum += exp(h->scale * product(h->q + i * D, h->k + j * D, D));
        t->lse[i] = (float)log(sum);
        for (size_t j = 0; j < end; j++)
            t->p[i * S + j] = (float)(exp(h->scale * product(h->q + i * D, h->k + j * D, D)) / sum);
    }
    for (size_t i = 0; i < S; i++)
        for (size_t c = 0; c < D; c++) {
            double o = 0;
            for (size_t j = 0; j < S; j++)
                o += (double)t->p[i * S + j] * h->v[j * D + c];
            t->o[i * D + c] = (float)o;
        }
    for (size_t i = 0; i < S; i++) {
        double delta = product(h->d_o + i * D, t->o + i * D, D);
        for (size_t j = 0; j < S; j++) {
            double p = t->p[i * S + j],
                   ds = h->scale * p * (product(h->d_o + i * D, h->v + j * D, D) - delta);
            for (size_t c = 0; c < D; c++) {
                t->dq[i * D + c] += (float)(ds * h->k[j * D + c]);
                t->dk[j * D + c] += (float)(ds * h->q[i * D + c]);
                t->dv[j * D + c] += (float)(p * h->d_o[i * D + c]);
            }
        }
    }
}

static enum pk_code column_of_p(void *user, size_t j, float *column, struct pk_err *err)
{
    const struct problem *t = user;
    for (size_t i = 0; i < t->h.seq; i++)
        column[i] = t->p[i * t->h.seq + j];
    return PK_OK;
}

static void make(struct problem *t, size_t seq, size_t dim, bool causal)
{
    memset(t, 0, sizeof *t);
    struct pk_rng rng = {seq * 1000 + dim};
    t->h =
        (struct pk_attention_host){.seq = seq, .dim = dim, .causal = causal, .scale = 1 / sqrt((double)dim)};
    t->h.q = random_array(&t->a, &rng, seq * dim);
    t->h.k = random_array(&t->a, &rng, seq * dim);
    t->h.v = random_array(&t->a, &rng, seq * dim);
    t->h.d_o = random_array(&t->a, &rng, seq * dim);
    t->h.o = t->o = pk_new_n(&t->a, float, seq *dim);
    t->h.dq = t->dq = pk_new_n(&t->a, float, seq *dim);
    t->h.dk = t->dk = pk_new_n(&t->a, float, seq *dim);
    t->h.dv = t->dv = pk_new_n(&t->a, float, seq *dim);
    t->h.lse = t->lse = pk_new_n(&t->a, float, seq);
    t->p = pk_new_n(&t->a, float, seq *seq);
    solve(t);
}

static void expect(struct problem *t, enum pk_code full, enum pk_code sampled)
{
    struct pk_err err = {0};
    assert_int_equal(pk_attention_check_full(&t->h, &t->a, &err), full);
    assert_int_equal(pk_attention_check_sampled(&t->h, 8, 1, &t->a, &err), sampled);
    t->h.p_column = column_of_p;
    t->h.p_user = t;
    assert_int_equal(pk_attention_check_sampled(&t->h, 8, 1, &t->a, &err), sampled);
    t->h.p_column = NULL;
    if (full)
        assert_true(strlen(err.what) > 10 && strlen(err.why) > 10);
}

static void right_results_pass(void **state)
{
    static const size_t shapes[][2] = {{1, 1}, {7, 3}, {130, 100}, {64, 16}, {200, 8}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int causal = 0; causal < 2; causal++) {
            struct problem t;
            make(&t, shapes[i][0], shapes[i][1], causal);
            expect(&t, PK_OK, PK_OK);
            pk_arena_free(&t.a);
        }
}

/* One element is off by a thousandth of its array's size: a full check finds it wherever it is; a sampled one
 * when it lies on a sampled row (the last always is). */
static void one_wrong_element_is_found(void **state)
{
    for (int array = 0; array < 4; array++) {
        struct problem t;
        make(&t, 130, 16, false);
        float *arrays[] = {t.o, t.dq, t.dk, t.dv};
        arrays[array][129 * 16 + 5] += 0.01f;
        expect(&t, PK_E_CHECK, PK_E_CHECK);
        pk_arena_free(&t.a);
    }
}

static void a_missing_share_is_found_by_projection(void **state)
{
    struct problem t;
    make(&t, 130, 16, false);
    for (size_t j = 0; j < 130; j++)
        for (size_t c = 0; c < 16; c++)
            t.dv[j * 16 + c] *= 0.99f;
    expect(&t, PK_E_CHECK, PK_E_CHECK);
    pk_arena_free(&t.a);
}

static void not_a_number_is_found(void **state)
{
    struct problem t;
    make(&t, 33, 4, true);
    t.o[32 * 4] = NAN;
    t.dk[3] = INFINITY;
    expect(&t, PK_E_CHECK, PK_E_CHECK);
    pk_arena_free(&t.a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(right_results_pass),
        cmocka_unit_test(one_wrong_element_is_found),
        cmocka_unit_test(a_missing_share_is_found_by_projection),
        cmocka_unit_test(not_a_number_is_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
