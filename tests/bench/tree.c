/* Tree benchmark: the ways of patching on BERT and the reports' plan, and how the naive one grows.
 *
 * Every round runs each way about as long as the others; ratios are taken within a round, medians are printed. A way is
 * repeated until it takes a millisecond, and what an empty loop of calls takes is subtracted. Reads the thread's CPU time, so
 * that others on the machine take less from it.
 *
 *     bench-tree [check]
 *
 * With `check` it exits 1 when a figure is lost. */
#include "model/patch/workbench.h"

#include "base/clock.h"
#include "stats/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 9, LEAST_NS = 1000000, MEMCPY = PK_PATCH_BUILT_IN, ROWS };

static const char *const names[ROWS] = {"naive",   "naive-1pass", "batched",  "path-copy",
                                        "grouped", "cached",      "in-place", "memcpy of grouped's bytes"};

static double now_ns(void)
{
    return (double)pk_thread_cpu_ns();
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(const double *v, size_t n)
{
    double sorted[ROUNDS];
    memcpy(sorted, v, n * sizeof *v);
    qsort(sorted, n, sizeof *sorted, by_value);
    return sorted[n / 2];
}

typedef void unit_fn(void *user);

static void nothing(void *user)
{
    __asm__ volatile("" : : "r"(user) : "memory");
}

static double loop_ns(unit_fn *unit, void *user, long n)
{
    unit_fn *volatile hidden = unit; /* a call each time */
    double begin = now_ns();
    for (long i = 0; i < n; i++)
        hidden(user);
    return now_ns() - begin;
}

static double unit_ns(unit_fn *unit, void *user)
{
    long n = 1;
    double ns = loop_ns(unit, user, n);
    if (ns < LEAST_NS) {
        while (loop_ns(unit, user, n) < LEAST_NS)
            n *= 2;
        ns = loop_ns(unit, user, n);
    }
    return (ns - loop_ns(nothing, user, n)) / (double)n;
}

struct block {
    unsigned char *from, *to;
    size_t bytes;
};

static void copy(void *user)
{
    const struct block *b = user;
    memcpy(b->to, b->from, b->bytes);
    nothing(b->to);
}

struct bench {
    struct pk_workbench way[PK_PATCH_BUILT_IN];
    struct block block;
    double ns[ROWS][ROUNDS];
};

static void open_bench(struct bench *b, int64_t layers, size_t patches, unsigned ways, struct pk_arena *a)
{
    const struct pk_subject_options o = {.bert = {layers, 768, 3072, 30522, 512, 2}, .patches = patches};
    struct pk_err err;
    memset(b, 0, sizeof *b);
    for (unsigned w = 0; w < ways; w++) {
        struct pk_workbench *bench = &b->way[w];
        pk_assert(!pk_subject_open(&o, a, &bench->s, &err));
        pk_workbench_for_patch(bench, (enum pk_patch_way)w,
                               pk_matcher_compile(&bench->s.plan, &bench->s.tree, a), a);
        pk_make_tree(bench);
        pk_find_modules(bench);
        pk_make_replacements(bench);
        pk_put_in(bench);
        pk_assert(!pk_workbench_check(bench, a, &err));
    }
    b->block.bytes = b->way[0].s.least_bytes;
    b->block.from = pk_alloc(a, b->block.bytes);
    b->block.to = pk_alloc(a, b->block.bytes);
}

static void print_table(const struct bench *b, int64_t layers)
{
    const struct pk_subject *s = &b->way[0].s;
    printf("\n%lld layers, %zu leaves, %zu patches\n%-26s %12s %10s %10s %10s %12s\n", (long long)layers,
           s->count.leaves, s->n, "way", "median ns", "ns/leaf", "ns/patch", "objects", "bytes");
    for (unsigned w = 0; w < ROWS; w++) {
        const double ns = median(b->ns[w], ROUNDS);
        const struct pk_allocation_counts all = w < MEMCPY ? pk_workbench_allocated(&b->way[w])
                                                           : (struct pk_allocation_counts){0, s->least_bytes};
        const uint64_t n = w < MEMCPY ? b->way[w].applied : 1;
        printf("%-26s %12.1f %10.2f %10.2f %10llu %12llu\n", names[w], ns, ns / (double)s->count.leaves,
               ns / (double)s->n, (unsigned long long)(all.objects / n), (unsigned long long)(all.bytes / n));
    }
}

static void measure(struct bench *b)
{
    for (int r = 0; r < ROUNDS; r++) {
        for (unsigned w = 0; w < MEMCPY; w++)
            b->ns[w][r] = unit_ns(pk_put_in, &b->way[w]);
        b->ns[MEMCPY][r] = unit_ns(copy, &b->block);
    }
}

static double ratio(const struct bench *b, unsigned slow, unsigned fast)
{
    double v[ROUNDS];
    for (int r = 0; r < ROUNDS; r++)
        v[r] = b->ns[slow][r] / b->ns[fast][r];
    return median(v, ROUNDS);
}

/* Exponent of naive's time in x: medians over rounds that go through all sizes. */
static double growth(const int64_t *layers, const size_t *patches, const double *x, struct pk_arena *a)
{
    enum { SIZES = 4, PASSES = 5 };
    double y[SIZES], ns[SIZES][PASSES], work[2 * SIZES];
    static struct bench b[SIZES];
    for (int i = 0; i < SIZES; i++)
        open_bench(&b[i], layers[i], patches[i], 1, a);
    for (int r = 0; r < PASSES; r++)
        for (int i = 0; i < SIZES; i++)
            ns[i][r] = unit_ns(pk_put_in, &b[i].way[PK_PATCH_NAIVE]);
    for (int i = 0; i < SIZES; i++)
        y[i] = median(ns[i], PASSES);
    return pk_fit_power(x, y, SIZES, work).slope;
}

struct figure {
    const char *what;
    double value, least, most;
};

static int print_figures(const struct figure *f, size_t n)
{
    int lost = 0;
    printf("\n%-64s %10s  %s\n", "figure", "measured", "has to be");
    for (size_t i = 0; i < n; i++) {
        const int out = !(f[i].value >= f[i].least && f[i].value <= f[i].most);
        printf("%-64s %10.2f  %g to %g%s\n", f[i].what, f[i].value, f[i].least, f[i].most,
               out ? "  LOST" : "");
        lost += out;
    }
    return lost;
}

/* `b` is the bench of 100 layers and 600 patches, measured. */
static int figures_lost(const struct bench *b, struct pk_arena *a)
{
    static const int64_t same[] = {100, 100, 100, 100}, growing[] = {25, 50, 100, 200};
    static const size_t few[] = {75, 150, 300, 600}, fixed[] = {100, 100, 100, 100};
    static const double patches[] = {75, 150, 300, 600}, leaves[] = {410, 810, 1610, 3210};
    const struct figure figures[] = {
        {"naive: exponent of time in patches, 100 layers", growth(same, few, patches, a), 0.9, 1.1},
        {"naive: exponent of time in leaves, 100 patches", growth(growing, fixed, leaves, a), 0.9, 1.1},
        {"naive / batched, 100 layers, 600 patches", ratio(b, PK_PATCH_NAIVE, PK_PATCH_BATCHED), 500,
         INFINITY},
        {"grouped / in-place", ratio(b, PK_PATCH_GROUPED, PK_PATCH_IN_PLACE), 0, 6},
        {"grouped / memcpy of the bytes it writes", ratio(b, PK_PATCH_GROUPED, MEMCPY), 0, 40},
    };
    return print_figures(figures, sizeof figures / sizeof *figures);
}

/* Others on the host can spoil one measurement of memory in a cache: a figure counts as lost when it is lost TRIES times. */
int main(int argc, char **argv)
{
    enum { TRIES = 3 };
    static const int64_t sizes[] = {4, 12, 100};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    static struct bench b;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        open_bench(&b, sizes[i], 0, PK_PATCH_BUILT_IN, &a);
        measure(&b);
        print_table(&b, sizes[i]);
    }
    int lost = figures_lost(&b, &a);
    for (int again = 1; lost && again < TRIES; again++) {
        measure(&b);
        lost = figures_lost(&b, &a);
    }
    return argc > 1 && !strcmp(argv[1], "check") && lost;
}
