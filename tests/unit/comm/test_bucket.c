/* Buckets: how they are filled, what the model says of them, and whether the link agrees. */
#include "comm/bucket_model.h"

#include "base/rng.h"
#include "comm/comm.h"
#include "device/null.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static const size_t five[] = {3, 4, 10, 1, 1};

static void test_greedy(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buckets b;
    pk_buckets_plan(five, 5, 7, 0, &a, &b); /* 3 4 | 10 | 1 1 */
    const size_t first[] = {0, 2, 3}, elements[] = {7, 10, 2}, start[] = {0, 7, 17};
    assert_int_equal(b.n, 3);
    assert_int_equal(b.oversize, 1);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(b.v[i].first, first[i]);
        assert_int_equal(b.v[i].elements, elements[i]);
        assert_int_equal(b.v[i].start, start[i]);
    }
    const struct pk_bucket_sizes s = pk_buckets_sizes(&b);
    assert_int_equal(s.least, 2);
    assert_int_equal(s.most, 10);
    assert_true(fabs(s.mean - 19.0 / 3) < 1e-12);
}

/* 3 4 10 1 1 cut at every cap: each element is in one bucket, and a bucket is full with its last tensor. */
static void test_split(void **state)
{
    static const struct {
        size_t cap, first, n, firsts[8], counts[8], elements[8];
    } rows[] = {
        {5, 0, 4, {0, 1, 2, 2}, {2, 2, 1, 3}, {5, 5, 5, 4}},
        {7, 0, 3, {0, 2, 2}, {2, 1, 3}, {7, 7, 5}},
        {5, 3, 5, {0, 1, 2, 2, 4}, {1, 2, 1, 2, 1}, {3, 5, 5, 5, 1}},
        {100, 0, 1, {0}, {5}, {19}},
        {100, 100, 1, {0}, {5}, {19}},
        {19, 0, 1, {0}, {5}, {19}},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_buckets b;
        struct pk_bucket_progress f;
        size_t start = 0, from, to, started = 0;
        pk_buckets_split(five, 5, rows[r].cap, rows[r].first, &a, &b);
        assert_int_equal(b.n, rows[r].n);
        assert_int_equal(b.oversize, 0);
        for (size_t i = 0; i < b.n; start += b.v[i++].elements) {
            assert_int_equal(b.v[i].first, rows[r].firsts[i]);
            assert_int_equal(b.v[i].n, rows[r].counts[i]);
            assert_int_equal(b.v[i].elements, rows[r].elements[i]);
            assert_int_equal(b.v[i].start, start);
        }
        assert_int_equal(start, 19);
        pk_bucket_progress_init(&f, &b, &a);
        for (size_t t = 0; t < 5; t++) {
            pk_bucket_progress_ready(&f, t, &from, &to);
            assert_int_equal(from, started);
            for (; started < to; started++)
                assert_true(b.v[started].first + b.v[started].n - 1 <= t);
            assert_true(started == b.n || b.v[started].first + b.v[started].n - 1 > t);
        }
        assert_int_equal(started, b.n);
    }
}

static void test_caps(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buckets b;
    pk_buckets_plan(five, 5, 1, 0, &a, &b); /* smaller than nearly every tensor: one each */
    assert_int_equal(b.n, 5);
    assert_int_equal(b.oversize, 3);
    pk_buckets_plan(five, 5, 1000, 0, &a, &b); /* larger than the model */
    assert_int_equal(b.n, 1);
    assert_int_equal(b.oversize, 0);
    pk_buckets_plan(five, 5, 1000, 3, &a, &b); /* a small one first */
    assert_int_equal(b.n, 2);
    assert_int_equal(b.v[0].n, 1);
    pk_buckets_plan(NULL, 0, 1000, 0, &a, &b);
    assert_int_equal(b.n, 0);
    assert_int_equal(pk_buckets_sizes(&b).least, 0);
}

/* Handed out in order, whatever the order of readiness. */
static void test_filling(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buckets b;
    struct pk_bucket_progress f;
    pk_buckets_plan(five, 5, 7, 0, &a, &b);
    pk_bucket_progress_init(&f, &b, &a);
    const size_t order[] = {2, 0, 1, 4, 3}, until[] = {0, 0, 2, 2, 3};
    for (int pass = 0; pass < 2; pass++) {
        size_t from, to, done = 0;
        for (size_t i = 0; i < 5; i++) {
            pk_bucket_progress_ready(&f, order[i], &from, &to);
            assert_int_equal(from, done);
            assert_int_equal(to, until[i]);
            done = to;
        }
        pk_bucket_progress_reset(&f);
    }
}

/* Six cases that were measured over MPI with 32 MiB of gradients: what their model said, in KiB. */
static void test_known_optima(void **state)
{
    const double s = 32 << 20;
    const struct {
        double compute, launch_us, w, general, report;
        enum pk_bucket_regime regime;
    } known[] = {
        {2, 24.2, 2.57e9, 61, 1411, PK_BUCKET_COMPUTE_BOUND},
        {1, 24.2, 2.57e9, 1411, 1411, PK_BUCKET_COMM_BOUND},
        {0.5, 24.2, 2.57e9, 1995, 1411, PK_BUCKET_COMM_BOUND},
        {2, 272, 1.54e9, 409, 3662, PK_BUCKET_COMPUTE_BOUND},
        {1, 272, 1.54e9, 3662, 3662, PK_BUCKET_COMM_BOUND},
        {0.5, 272, 1.54e9, 5179, 3662, PK_BUCKET_COMM_BOUND},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const struct pk_bucket_rates r = {s, known[i].w / known[i].compute, known[i].launch_us * 1e3,
                                          known[i].w};
        const struct pk_bucket_optimum best = pk_bucket_optimum(&r);
        assert_int_equal(best.regime, known[i].regime);
        assert_true(fabs(best.bytes / 1024 / known[i].general - 1) < 0.005);
        assert_true(fabs(best.report_bytes / 1024 / known[i].report - 1) < 0.005);
    }
}

/* All-reduce time that the backward pass does not hide, with buckets of `bytes`: the first is complete after its gradients c, the others
 * follow as fast as gradients or the link (m a bucket) let them. */
static double overhead_ns(const struct pk_bucket_rates *r, double bytes)
{
    const double n = r->gradient_bytes / bytes, c = bytes / r->produced_bytes_per_s * 1e9;
    const double m = r->launch_ns + bytes / r->link_bytes_per_s * 1e9;
    return c + (n - 1) * fmax(c, m) + m - n * c;
}

/* No other size has less overhead, by a scan of a thousand. */
static void test_optimum_is_least(void **state)
{
    struct pk_rng rng = {5};
    for (int i = 0; i < 200; i++) {
        const struct pk_bucket_rates r = {
            1e6 * exp(8 * pk_rng_uniform(&rng)), 1e8 * exp(6 * pk_rng_uniform(&rng)),
            1e3 * exp(6 * pk_rng_uniform(&rng)), 1e8 * exp(6 * pk_rng_uniform(&rng))};
        const double best = overhead_ns(&r, pk_bucket_optimum(&r).bytes);
        for (int k = 1; k <= 1000; k++) {
            const double other = overhead_ns(&r, r.gradient_bytes * pow(k / 1000.0, 3));
            assert_true(best <= other * (1 + 1e-9) + 1e-3);
        }
    }
}

/* Random tensors and times of readiness. */
static void draw(struct pk_rng *rng, size_t n, size_t *elements, double *ready_ns)
{
    double t = 0;
    for (size_t i = 0; i < n; i++) {
        elements[i] = 1 + (size_t)(1000 * exp(3 * pk_rng_normal(rng)));
        t += 1e3 * exp(pk_rng_normal(rng));
        ready_ns[i] = floor(t);
    }
}

/* The time at which division `mask` ends: bit i: a bucket ends behind tensor i. */
static double end_of(unsigned mask, size_t n, const size_t *elements, const double *ready_ns, double o,
                     double w)
{
    double end = 0, bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += (double)elements[i] * 4;
        if (i + 1 < n && !(mask >> i & 1))
            continue;
        end = fmax(end, ready_ns[i]) + o + bytes / w * 1e9;
        bytes = 0;
    }
    return end;
}

static void test_ideal_is_least_of_all(void **state)
{
    enum { N = 9 };
    struct pk_rng rng = {11};
    for (int trial = 0; trial < 50; trial++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        size_t elements[N], used;
        double ready_ns[N], least = INFINITY, o = 3e3, w = 4e9;
        draw(&rng, N, elements, ready_ns);
        for (unsigned mask = 0; mask < 1u << (N - 1); mask++)
            least = fmin(least, end_of(mask, N, elements, ready_ns, o, w));
        const double ideal = pk_buckets_ideal_ns(elements, N, 4, ready_ns, o, w, &a, &used);
        assert_true(fabs(ideal - least) < 1e-6 * least);
        assert_in_range(used, 1, N);
    }
}

static struct pk_device null; /* its clock goes on */

static int open_null(void **state)
{
    struct pk_err err;
    return (int)pk_device_open(&null, "null", &(struct pk_device_options){0}, &err);
}

static int close_null(void **state)
{
    pk_device_close(&null);
    return 0;
}

/* One backward pass and the wait behind it, really sent over a virtual link. */
static uint64_t sent_ns(const struct pk_buckets *b, const double *ready_ns,
                        const struct pk_virtual_link *link, struct pk_timed_reduce *timed, struct pk_arena *a)
{
    struct pk_comm comm;
    struct pk_bucket_progress f;
    struct pk_err err = {0};
    struct pk_reduce *r = pk_new_n(a, struct pk_reduce, b->n);
    const uint64_t began = pk_device_now_ns(&null);
    assert_int_equal(pk_comm_open(&comm, PK_COMM_LINK, &null, &(struct pk_comm_options){.link = *link}, &err),
                     PK_OK);
    pk_bucket_progress_init(&f, b, a);
    for (size_t t = 0, from, to; t < b->n_tensors; t++) {
        pk_null_advance(&null, began + (uint64_t)ready_ns[t] - pk_device_now_ns(&null));
        for (pk_bucket_progress_ready(&f, t, &from, &to); from < to; from++)
            assert_int_equal(pk_comm_start(&comm, &r[from], NULL, b->v[from].elements, PK_FP32, &err), PK_OK);
    }
    for (size_t i = 0; i < b->n; i++) {
        assert_int_equal(pk_comm_wait(&comm, &r[i], &err), PK_OK);
        if (timed)
            timed[i] = (struct pk_timed_reduce){(double)b->v[i].elements * 4,
                                                (double)(r[i].ended_ns - r[i].began_ns)};
    }
    const uint64_t end = pk_device_now_ns(&null);
    pk_comm_close(&comm);
    return end - began;
}

/* What the model plays through and what the link does is the same, except for rounding to whole ns. */
static void test_link_does_what_the_model_says(void **state)
{
    enum { N = 100 };
    struct pk_rng rng = {3};
    const struct pk_virtual_link link = {.latency_ns = 7000, .bytes_per_s = 5e9};
    for (size_t cap = 100; cap < 10000000; cap *= 10) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        size_t elements[N];
        double ready_ns[N];
        struct pk_buckets b;
        draw(&rng, N, elements, ready_ns);
        pk_buckets_plan(elements, N, cap, 0, &a, &b);
        assert_true(fabs((double)sent_ns(&b, ready_ns, &link, NULL, &a) -
                         pk_buckets_end_ns(&b, 4, ready_ns, 7000, 5e9)) <= N);
    }
}

enum { CAPS = 9, TENSORS = 120, STEPS = 9 };

/* The median of some steps, each with jitter of its own; their all-reduces behind the n of `timed`. */
static double measured_ns(const struct pk_buckets *b, const double *ready_ns, struct pk_virtual_link *link,
                          struct pk_timed_reduce *timed, size_t *n, struct pk_arena *a)
{
    double step_ns[STEPS];
    for (int i = 0; i < STEPS; i++, *n += b->n, link->seed++)
        step_ns[i] = (double)sent_ns(b, ready_ns, link, timed + *n, a);
    return pk_summarize(step_ns, STEPS).median;
}

/* On a link with jitter: fit o and w from what was sent, choose, and see how much longer the choice takes than the best. */
static double regret(uint64_t seed)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rng rng = {seed};
    struct pk_virtual_link link = {.latency_ns = 20000, .bytes_per_s = 10e9, .jitter = 0.05, .seed = seed};
    size_t elements[TENSORS], caps[CAPS], n = 0;
    double ready_ns[TENSORS], step_ns[CAPS], best = INFINITY;
    struct pk_timed_reduce *timed = pk_new_n(&a, struct pk_timed_reduce, (size_t)CAPS * TENSORS * STEPS);
    draw(&rng, TENSORS, elements, ready_ns);
    for (size_t i = 0; i < CAPS; i++) {
        struct pk_buckets b;
        caps[i] = (size_t)1000 << 2 * i;
        pk_buckets_plan(elements, TENSORS, caps[i], 0, &a, &b);
        step_ns[i] = measured_ns(&b, ready_ns, &link, timed, &n, &a);
        best = fmin(best, step_ns[i]);
    }
    const struct pk_link_fit fit = pk_fit_link(timed, n, 0, INFINITY);
    assert_true(fit.launch_ns >= 0 && fit.link_bytes_per_s > 0);
    return step_ns[pk_buckets_best(elements, TENSORS, caps, CAPS, 0, 4, ready_ns, fit.launch_ns,
                                   fit.link_bytes_per_s, &a)] /
               best -
           1;
}

static void test_regret(void **state)
{
    int good = 0;
    for (uint64_t seed = 1; seed <= 50; seed++)
        good += regret(1000 * seed) <= 0.05;
    assert_in_range(good, 45, 50);
}

/* The fastest of each size on a line: found whatever the others are. */
static void test_fit(void **state)
{
    struct pk_rng rng = {9};
    struct pk_timed_reduce v[300];
    for (size_t i = 0; i < 300; i++) {
        v[i].bytes = 1e5 * (double)(1 + i % 30);
        v[i].ns = 25000 + v[i].bytes / 8 + (i < 30 ? 0 : 1e6 * pk_rng_uniform(&rng));
    }
    struct pk_link_fit f = pk_fit_link(v, 300, 0, INFINITY);
    assert_int_equal(f.sizes, 30);
    assert_true(fabs(f.launch_ns - 25000) < 1 && fabs(f.link_bytes_per_s - 8e9) < 1e3);
    assert_true(f.launch_ci.lo <= f.launch_ns && f.launch_ns <= f.launch_ci.hi);
    assert_true(f.link_ci.lo <= f.link_bytes_per_s && f.link_bytes_per_s <= f.link_ci.hi);
}

/* Beyond the window another algorithm is at work: it is not asked. */
static void test_fit_window(void **state)
{
    struct pk_timed_reduce v[20];
    for (size_t i = 0; i < 20; i++)
        v[i] = (struct pk_timed_reduce){(double)(i + 1) * 1000, i < 10 ? 500 + (double)i * 1000 : 1e7};
    struct pk_link_fit f = pk_fit_link(v, 20, 1000, 10000);
    assert_int_equal(f.sizes, 10);
    assert_true(fabs(f.link_bytes_per_s - 1e9) < 1);
    assert_true(isnan(pk_fit_link(v, 20, 1000, 2000).launch_ns));
    for (size_t i = 0; i < 20; i++)
        v[i].ns = 5;
    assert_true(isnan(pk_fit_link(v, 20, 0, INFINITY).link_bytes_per_s));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_split),
        cmocka_unit_test(test_caps),
        cmocka_unit_test(test_filling),
        cmocka_unit_test(test_known_optima),
        cmocka_unit_test(test_optimum_is_least),
        cmocka_unit_test(test_ideal_is_least_of_all),
        cmocka_unit_test(test_link_does_what_the_model_says),
        cmocka_unit_test(test_regret),
        cmocka_unit_test(test_fit),
        cmocka_unit_test(test_fit_window),
    };
    return cmocka_run_group_tests(tests, open_null, close_null);
}
