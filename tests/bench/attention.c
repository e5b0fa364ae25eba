/* Attention benchmark: flash and fused against vanilla, vanilla against a plain rendering, all against the measured
 * multiply-add ceiling. Interleaved: each round runs every implementation once, ratios are paired within the round, their
 * median is printed.
 *
 *     bench-attention [rounds [threads]]
 *     bench-attention check
 *
 * Wants an idle machine. With one thread it reads the thread's CPU time, so that others on the machine take less from
 * it. `check` does so: it measures what the checks below need, and exits 1 when one is lost, 77 when the machine was busy meanwhile. */
#include "ops/attention.h"
#include "base/clock.h"
#include "base/rng.h"
#include "device/cpu/cpu.h"
#include "machine/machine.h"
#include "machine/state.h"
#include "ops/ceilings/ceilings.h"
#include "ops/cpu/kernels.h"
#include "plain.h"
#include "timed.h"
#include "virtual_machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The variants the CPU has come first in enum pk_attention_variant. */
enum { ROUNDS_MAX = 101, VARIANTS = PK_ATTENTION_FLASH + 1, PLAIN = VARIANTS, IMPLEMENTATIONS };

static const char *const names[IMPLEMENTATIONS] = {"vanilla", "fused", "flash", "plain"};

struct cell {
    size_t dim, seq, batch;
};
static const struct cell shown[] = {{16, 1024, 8}, {16, 4096, 8},  {64, 256, 8}, {64, 1024, 8},
                                    {64, 4096, 8}, {128, 1024, 8}, {64, 1024, 1}};

static struct pk_device dev;

/* The multiply-add micro-kernel on every thread for about 20 ms: what each round is measured against. */
struct peak {
    const struct pk_kernels *k;
    float *scratch;
    size_t scratch_floats, steps;
};

static void peak_task(void *arg, size_t task, unsigned thread)
{
    const struct peak *p = arg;
    p->k->peak(p->steps, p->scratch + task * p->scratch_floats);
}

static double peak_flops_per_s(const struct peak *p)
{
    const size_t threads = pk_cpu_threads(&dev);
    const uint64_t begin = now_ns(&dev);
    pk_cpu_parallel_for(&dev, peak_task, (void *)p, threads);
    const double ns = (double)(now_ns(&dev) - begin);
    return (double)(p->steps * threads) * p->k->peak(1, p->scratch) / ns * 1e9;
}

static struct peak find_peak(void)
{
    struct peak p = {.k = pk_kernels_of(pk_cpu_isa(&dev)), .steps = 16};
    p.scratch_floats = p.k->sgemm_scratch_floats();
    p.scratch = pk_device_alloc(&dev, p.scratch_floats * pk_cpu_threads(&dev) * sizeof(float), PK_TAG_OTHER);
    if (!p.scratch)
        must(pk_device_oom(&dev, &err));
    for (uint64_t ns = 0; ns < 20 * PK_NS_PER_MS; p.steps *= 2) {
        const uint64_t begin = now_ns(&dev);
        pk_cpu_parallel_for(&dev, peak_task, &p, pk_cpu_threads(&dev));
        ns = now_ns(&dev) - begin;
    }
    return p;
}

struct timings {
    double peak[ROUNDS_MAX]; /* flops per second, measured in the same round */
    double forward_ns[IMPLEMENTATIONS][ROUNDS_MAX], backward_ns[IMPLEMENTATIONS][ROUNDS_MAX];
    double peak_bytes[IMPLEMENTATIONS][ROUNDS_MAX];
};

struct bench {
    struct peak peak;
    struct plain_threads *threads;
};

static float *floats(size_t n, uint64_t seed)
{
    float *p = pk_device_alloc(&dev, n * sizeof *p, PK_TAG_OTHER);
    if (!p)
        must(pk_device_oom(&dev, &err));
    struct pk_rng r = {seed};
    for (size_t i = 0; seed && i < n; i++)
        p[i] = (float)pk_rng_normal(&r);
    return p;
}

static void run_op(const struct pk_attention_step *in, enum pk_attention_variant v, bool with_backward,
                   double *forward, double *backward)
{
    struct pk_attention_step t = *in;
    uint64_t t0 = now_ns(&dev);
    must(pk_attention_forward(&dev, v, &t, &err));
    uint64_t t1 = now_ns(&dev);
    if (with_backward)
        must(pk_attention_backward(&dev, v, &t, &err));
    uint64_t t2 = now_ns(&dev);
    pk_attention_forget(&dev, &t);
    *forward = (double)(t1 - t0);
    *backward = (double)(t2 - t1);
}

/* Takes its memory from the same pool, in the same sizes, so that both run on warm pages. */
static void run_plain(struct plain_threads *threads, const struct pk_attention_step *in, double *forward,
                      double *backward)
{
    const size_t n = in->s.problems * in->s.seq * in->s.dim, scores = in->s.problems * in->s.seq * in->s.seq;
    struct plain a = {.problems = in->s.problems,
                      .seq = in->s.seq,
                      .dim = in->s.dim,
                      .scale = in->s.scale,
                      .q = in->q,
                      .k = in->k,
                      .v = in->v,
                      .d_o = in->d_o};
    float **const matrices[] = {&a.s, &a.t, &a.ds, &a.dt}, **const vectors[] = {&a.o, &a.dq, &a.dk, &a.dv};
    for (size_t i = 0; i < 4; i++) {
        *matrices[i] = floats(scores, 0);
        *vectors[i] = floats(n, 0);
    }
    a.p = a.s; /* what nobody needs any more is used again, as the allocator does for vanilla */
    a.dp = a.t;
    uint64_t t0 = now_ns(&dev);
    plain_forward(threads, &a);
    uint64_t t1 = now_ns(&dev);
    plain_backward(threads, &a);
    uint64_t t2 = now_ns(&dev);
    for (size_t i = 0; i < 4; i++) {
        pk_device_free(&dev, *matrices[i]);
        pk_device_free(&dev, *vectors[i]);
    }
    *forward = (double)(t1 - t0);
    *backward = (double)(t2 - t1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *v, size_t n)
{
    double sorted[ROUNDS_MAX];
    for (size_t i = 0; i < n; i++)
        sorted[i] = v[i];
    qsort(sorted, n, sizeof *sorted, by_value);
    return n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
}

static double median_ratio(const double *a, const double *b, size_t n)
{
    double ratio[ROUNDS_MAX];
    for (size_t i = 0; i < n; i++)
        ratio[i] = a[i] / b[i];
    return median(ratio, n);
}

static double median_of_peak(const double *ns, double flops, const double *peak, size_t n)
{
    double share[ROUNDS_MAX];
    for (size_t i = 0; i < n; i++)
        share[i] = flops / ns[i] * 1e9 / peak[i];
    return median(share, n);
}

static double forward_flops_of(const struct cell *c)
{
    return 4.0 * (double)(c->batch * c->seq * c->seq * c->dim);
}

static double backward_flops_of(const struct cell *c, int implementation)
{
    return forward_flops_of(c) * (implementation == PK_ATTENTION_FLASH ? 2.5 : 2);
}

static void print_cell(const struct cell *c, const struct timings *t, size_t rounds)
{
    const double forward_flops = forward_flops_of(c);
    for (int i = 0; i < IMPLEMENTATIONS; i++) {
        const double f = median(t->forward_ns[i], rounds), b = median(t->backward_ns[i], rounds);
        const double backward_flops = backward_flops_of(c, i);
        printf("%4zu %5zu %3zu %-8s %9.3f %6.2f %6.0f %5.1f%% %10.3f %6.2f %6.0f %5.1f%%\n", c->dim, c->seq,
               c->batch, names[i], f / 1e6, median_ratio(t->forward_ns[i], t->forward_ns[0], rounds),
               forward_flops / f, 100 * median_of_peak(t->forward_ns[i], forward_flops, t->peak, rounds),
               b / 1e6, median_ratio(t->backward_ns[i], t->backward_ns[0], rounds), backward_flops / b,
               100 * median_of_peak(t->backward_ns[i], backward_flops, t->peak, rounds));
    }
    fflush(stdout);
}

static struct pk_attention_step inputs(const struct cell *c)
{
    const size_t n = c->batch * c->seq * c->dim;
    return (struct pk_attention_step){.s = {c->batch, c->seq, c->dim, 0, 1 / sqrtf((float)c->dim)},
                                      .q = floats(n, 1),
                                      .k = floats(n, 2),
                                      .v = floats(n, 3),
                                      .d_o = floats(n, 4)};
}

static void forget(const struct pk_attention_step *in)
{
    pk_device_free(&dev, (void *)in->q);
    pk_device_free(&dev, (void *)in->k);
    pk_device_free(&dev, (void *)in->v);
    pk_device_free(&dev, (void *)in->d_o);
    pk_pool_trim(&dev.pool);
}

/* What a round measures: the peak, and bits of 1 << implementation. The backward pass of plain is measured with its forward pass. */
struct parts {
    bool peak;
    unsigned forward, backward;
};
static const struct parts all_parts = {true, ~0u, ~0u};

static void one_round(const struct bench *b, const struct pk_attention_step *in, struct parts of,
                      struct timings *t, size_t at)
{
    t->peak[at] = of.peak ? peak_flops_per_s(&b->peak) : NAN;
    for (int v = 0; v < VARIANTS; v++) {
        if (!(of.forward >> v & 1))
            continue;
        pk_pool_reset_peak(&dev.pool);
        run_op(in, (enum pk_attention_variant)v, of.backward >> v & 1, &t->forward_ns[v][at],
               &t->backward_ns[v][at]);
        t->peak_bytes[v][at] = (double)dev.pool.peak;
    }
    if (of.forward >> PLAIN & 1)
        run_plain(b->threads, in, &t->forward_ns[PLAIN][at], &t->backward_ns[PLAIN][at]);
}

static void measure(const struct cell *c, const struct bench *b, size_t rounds)
{
    static struct timings t;
    const struct pk_attention_step in = inputs(c);
    one_round(b, &in, all_parts, &t, 0); /* warms up */
    for (size_t r = 0; r < rounds; r++)
        one_round(b, &in, all_parts, &t, r);
    print_cell(c, &t, rounds);
    forget(&in);
}

/* What has to hold: the median over rounds of one figure over another, from low to high. The target is what the figure was
 * promised to be; where machines in a cloud measure it with noise of its own size, the limit leaves room for that. Where vanilla is near
 * the peak itself, nothing can be so much faster: what reaches `enough` of the peak has held. */
enum { D16_S1024, D16_S2048, D16_S4096, D64_S4096, CHECKED };
static const struct cell checked[CHECKED] = {{16, 1024, 2}, {16, 2048, 2}, {16, 4096, 2}, {64, 4096, 1}};

enum figure { FORWARD, BACKWARD, STEP, PEAK_BYTES, OF_PEAK };
static const struct check {
    size_t cell;
    const char *what;
    enum figure figure;
    int of, over;
    double low, high;
    const char *target;
    double enough; /* 0 = there is no such share */
} checks[] = {
    {D64_S4096, "flash / vanilla, forward", FORWARD, PK_ATTENTION_FLASH, PK_ATTENTION_VANILLA, 0, 0.6,
     "<= 0.6", 0.8},
    {D16_S4096, "flash / vanilla, forward", FORWARD, PK_ATTENTION_FLASH, PK_ATTENTION_VANILLA, 0, 0.35,
     "<= 0.35"},
    {D64_S4096, "flash / vanilla, backward", BACKWARD, PK_ATTENTION_FLASH, PK_ATTENTION_VANILLA, 0, 0.75,
     "<= 0.75", 0.8},
    {D16_S1024, "fused / vanilla, forward", FORWARD, PK_ATTENTION_FUSED, PK_ATTENTION_VANILLA, 0, 0.8,
     "<= 0.8"},
    {D16_S2048, "fused / vanilla, forward", FORWARD, PK_ATTENTION_FUSED, PK_ATTENTION_VANILLA, 0, 0.8,
     "<= 0.8"},
    {D16_S4096, "fused / vanilla, forward", FORWARD, PK_ATTENTION_FUSED, PK_ATTENTION_VANILLA, 0, 0.8,
     "<= 0.8"},
    {D64_S4096, "vanilla / plain, forward", FORWARD, PK_ATTENTION_VANILLA, PLAIN, 0.8, 1.25, "0.9 to 1.1"},
    {D64_S4096, "vanilla / plain, backward", BACKWARD, PK_ATTENTION_VANILLA, PLAIN, 0.8, 1.25, "0.9 to 1.1"},
    {D16_S4096, "vanilla / plain, step", STEP, PK_ATTENTION_VANILLA, PLAIN, 0.8, 1.25, "0.9 to 1.1"},
    {D64_S4096, "flash / peak, forward", OF_PEAK, PK_ATTENTION_FLASH, 0, 0.65, INFINITY, ">= 0.75"},
    {D64_S4096, "flash / vanilla, peak bytes", PEAK_BYTES, PK_ATTENTION_FLASH, PK_ATTENTION_VANILLA, 0,
     1.0 / 15, "<= 1/15"},
};
enum { CHECKS = sizeof checks / sizeof *checks };

static double figure(const struct check *k, const struct timings *t, size_t rounds)
{
    double of[ROUNDS_MAX], over[ROUNDS_MAX];
    for (size_t r = 0; r < rounds; r++) {
        of[r] = t->forward_ns[k->of][r] + t->backward_ns[k->of][r];
        over[r] = t->forward_ns[k->over][r] + t->backward_ns[k->over][r];
    }
    switch (k->figure) {
    case FORWARD:
        return median_ratio(t->forward_ns[k->of], t->forward_ns[k->over], rounds);
    case BACKWARD:
        return median_ratio(t->backward_ns[k->of], t->backward_ns[k->over], rounds);
    case PEAK_BYTES:
        return median_ratio(t->peak_bytes[k->of], t->peak_bytes[k->over], rounds);
    case OF_PEAK:
        return median_of_peak(t->forward_ns[k->of], forward_flops_of(&checked[k->cell]), t->peak, rounds);
    case STEP:
        break;
    }
    return median_ratio(of, over, rounds);
}

static double margin; /* GUEST_MARGIN on a virtual machine */

static const char *verdict(const struct check *k, double x, const struct timings *t, size_t rounds)
{
    const struct cell *c = &checked[k->cell];
    const bool forward = k->figure == FORWARD;
    if (x >= k->low && x <= k->high)
        return "held";
    return k->enough > 0 && median_of_peak(forward ? t->forward_ns[k->of] : t->backward_ns[k->of],
                                           forward ? forward_flops_of(c) : backward_flops_of(c, k->of),
                                           t->peak, rounds) >= k->enough
               ? "held: near the peak"
           : x >= k->low * (1 - margin) && x <= k->high * (1 + margin)
               ? "near the limit, on a virtual machine"
               : "LOST";
}

struct losses {
    size_t lost, near; /* near: not decided on a virtual machine */
};

/* How many checks of a cell did not hold; prints each when asked. */
static struct losses losses(size_t cell, const struct timings *t, size_t rounds, bool print)
{
    struct losses n = {0};
    for (const struct check *k = checks; k < checks + CHECKS; k++) {
        if (k->cell != cell)
            continue;
        const double x = figure(k, t, rounds);
        const char *word = verdict(k, x, t, rounds);
        n.lost += !strcmp(word, "LOST");
        n.near += !strncmp(word, "near", 4);
        if (print)
            printf("%4zu %5zu  %-28s %6.3f  target %-10s  limits %.3f to %.3f  %2zu rounds  %s\n",
                   checked[cell].dim, checked[cell].seq, k->what, x, k->target, k->low, k->high, rounds,
                   word);
    }
    return n;
}

static struct parts parts_checked(size_t cell)
{
    struct parts p = {0};
    for (const struct check *k = checks; k < checks + CHECKS; k++) {
        if (k->cell != cell)
            continue;
        const unsigned both = 1u << k->of | 1u << k->over;
        p.peak |= k->figure == OF_PEAK || k->enough > 0;
        p.forward |= both;
        if (k->figure != FORWARD && k->figure != OF_PEAK)
            p.backward |= both;
    }
    return p;
}

/* A median that a busy machine has spoilt gets better with more rounds, a ratio that is lost does not. */
static struct losses check_cell(size_t cell, const struct bench *b)
{
    enum { ROUNDS_LEAST = 3, PATIENCE_S = 2 };
    static struct timings t;
    const struct parts of = parts_checked(cell);
    const uint64_t end = pk_clock_ns() + PATIENCE_S * PK_NS_PER_S;
    const struct pk_attention_step in = inputs(&checked[cell]);
    size_t rounds = 0;
    struct losses n = {0};
    one_round(b, &in, of, &t, 0); /* warms up */
    while (rounds < ROUNDS_LEAST || (rounds < ROUNDS_MAX && pk_clock_ns() < end && n.lost + n.near)) {
        one_round(b, &in, of, &t, rounds++);
        n = losses(cell, &t, rounds, false);
    }
    forget(&in);
    return losses(cell, &t, rounds, true);
}

/* 1 when a figure is lost; 77 when it is lost while something else took the machine's time, or is near its limit where other guests may have
 * taken it. */
static int check_all(const struct bench *b, const unsigned *cpus, unsigned n_cpus)
{
    enum { SKIPPED = 77 };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *doubts[PK_DOUBTS + 1];
    struct pk_state_span span = {.n_cpus = n_cpus};
    struct losses n = {0};
    pk_state_read("/", cpus, n_cpus, &a, &span.before);
    for (size_t i = 0; i < CHECKED; i++) {
        const struct losses of = check_cell(i, b);
        n.lost += of.lost, n.near += of.near;
    }
    pk_state_read("/", cpus, n_cpus, &a, &span.after);
    const bool busy = pk_state_doubts(&span, doubts) > 0;
    if (!busy && n.near && !n.lost)
        printf("skipped: busy: near a limit, and other guests may share this virtual machine's host\n");
    if (!busy || !(n.lost + n.near))
        return n.lost ? 1 : n.near ? SKIPPED : 0;
    printf("skipped: busy:");
    for (size_t i = 0; doubts[i]; i++)
        printf(" %s", doubts[i]);
    printf(" (docs/machine-state.md)\n");
    return SKIPPED;
}

static void show(const struct bench *b, size_t rounds)
{
    struct pk_ceilings ceilings;
    struct pk_curves curves;
    must(pk_ceilings_measure(&dev, false, &ceilings, &curves, &err));
    printf("ceilings: %.1f GFLOP/s, %.2f Gexp/s, %.1f GB/s; %s, %u threads\n",
           ceilings.fp32_flops_per_s / 1e9, ceilings.exp_per_s / 1e9, ceilings.memory_bytes_per_s / 1e9,
           pk_cpu_blas(&dev)->name, pk_cpu_threads(&dev));
    printf("%4s %5s %3s %-8s %9s %6s %6s %6s %10s %6s %6s %6s\n", "d", "S", "B", "variant", "fwd ms", "ratio",
           "GF/s", "peak", "bwd ms", "ratio", "GF/s", "peak");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        measure(&shown[i], b, rounds);
}

int main(int argc, char **argv)
{
    const bool check = argc > 1 && !strcmp(argv[1], "check");
    const unsigned threads = check ? 1 : argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    size_t rounds = argc > 1 ? (size_t)atoi(argv[1]) : 7;
    int status = 0;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        rounds = 7;
    unsigned cpus[64];
    const unsigned n_cpus = pk_machine_cpus(cpus, 64);
    setenv("PERFKIT_BLAS", "openblas", 1); /* for all: ratios are of algorithms, not of libraries */
    must(pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = threads}, &err));
    const struct bench b = {find_peak(), plain_start(pk_cpu_threads(&dev), cpus, pk_cpu_blas(&dev))};
    margin = virtual_machine() ? GUEST_MARGIN : 0;
    if (check)
        status = check_all(&b, cpus, n_cpus);
    else
        show(&b, rounds);
    plain_stop(b.threads);
    pk_device_free(&dev, b.peak.scratch);
    pk_device_close(&dev);
    return status;
}
