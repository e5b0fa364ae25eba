/* Slicing benchmark: BERT's weights divided among tp devices, one operation a leaf and one for all, against a dense copy of
 * as many bytes (the copy ceiling) and the memory ceiling, all in the same round; medians of paired ratios are printed.
 *
 *     bench-slicing [rounds]
 *     bench-slicing check     12L-768H alone: 1 when its batched slices stay below 80 % of the dense copy in three tries,
 *                             77 when they are near that on a virtual machine
 *
 * Wants an idle machine. */
#include "base/clock.h"
#include "device/cpu/cpu.h"
#include "model/tree/bert.h"
#include "model/tree/weights.h"
#include "ops/ceilings/ceilings.h"

#include "timed.h"
#include "virtual_machine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 31, REPEATS = 5, WAYS = 2 };
enum { OF_COPY, OF_MEMORY, CEILINGS };

struct cell {
    int64_t layers, hidden, tp;
};
static const struct cell cells[] = {{2, 256, 2}, {4, 768, 2}, {12, 768, 2}, {12, 768, 4}, {12, 768, 8}};

static struct pk_device dev;

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return (v[(n - 1) / 2] + v[n / 2]) / 2;
}

static double bytes_per_s(enum pk_slicing how, const struct pk_copy2d *v, size_t n)
{
    double ns[REPEATS];
    struct pk_slices slices;
    must(pk_slices_make(&dev, how, v, n, &slices, &err));
    for (size_t i = 0; i < REPEATS; i++) {
        uint64_t begin = pk_clock_ns();
        must(pk_slices_cut(&dev, &slices, &err));
        ns[i] = (double)(pk_clock_ns() - begin);
    }
    pk_slices_free(&dev, &slices);
    return pk_work_copy2d(v, n).bytes / median(ns, REPEATS) * 1e9;
}

/* The first bytes of the whole model over the pieces: one long row. */
static double dense_copy(const struct pk_weights *whole, const struct pk_weights *pieces)
{
    size_t n = (size_t)pieces->bytes;
    const struct pk_copy2d one = {whole->block, pieces->block, 1, n, n, n};
    return bytes_per_s(PK_SLICE_BATCHED, &one, 1);
}

/* Takes seconds, which a check of ratios to the dense copy can do without. */
static double memory_bytes_per_s(void)
{
    struct pk_ceilings ceilings;
    struct pk_curves curves;
    must(pk_ceilings_measure(&dev, false, &ceilings, &curves, &err));
    return ceilings.memory_bytes_per_s;
}

/* Returns what batched reaches of a dense copy; prints the rates, too. */
static double measure(const struct cell *c, size_t rounds, bool beside_memory)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_bert config = {c->layers, c->hidden, 4 * c->hidden, 30522, 512, 2};
    const struct pk_bert_plan *plan = pk_bert_prepare(&config, &a);
    struct pk_bump b;
    struct pk_tree whole_tree, divided_tree;
    struct pk_weights whole, pieces;
    struct pk_copy2d *v;
    double rate[WAYS][ROUNDS_MAX], share[CEILINGS][WAYS][ROUNDS_MAX];
    pk_bump_init(&b, &a, 1 << 20);
    pk_bert_make(plan, false, &b, &whole_tree);
    pk_bert_make(plan, true, &b, &divided_tree);
    must(pk_weights_new(&dev, &whole_tree, 1, PK_WEIGHTS_LOCAL, PK_FP32, 1, &a, &whole, &err));
    must(pk_weights_new(&dev, &divided_tree, c->tp, PK_WEIGHTS_DIVIDED, PK_FP32, 1, &a, &pieces, &err));
    must(pk_weights_fill(&dev, &whole, &err));
    size_t n = pk_weights_slices(&whole, &pieces, &a, &v);
    for (size_t r = 0; r < rounds; r++) {
        const double memory = beside_memory ? memory_bytes_per_s() : NAN;
        double copy = dense_copy(&whole, &pieces);
        for (size_t how = 0; how < WAYS; how++) {
            rate[how][r] = bytes_per_s((enum pk_slicing)how, v, n);
            share[OF_COPY][how][r] = rate[how][r] / copy;
            share[OF_MEMORY][how][r] = rate[how][r] / memory;
        }
    }
    must(pk_weights_check(&dev, &divided_tree, &pieces, true, 0, 0, &a, &err));
    for (size_t how = 0; how < WAYS; how++) {
        printf("%3lldL-%lldH tp=%lld %-9s %4zu copies %7.1f MB %6.2f GB/s %5.1f %% of a dense copy",
               (long long)c->layers, (long long)c->hidden, (long long)c->tp,
               how == PK_SLICE_BATCHED ? "batched" : "per-leaf", n, pk_work_copy2d(v, n).bytes / 1e6,
               median(rate[how], rounds) / 1e9, 100 * median(share[OF_COPY][how], rounds));
        if (beside_memory)
            printf(" %5.1f %% of memory", 100 * median(share[OF_MEMORY][how], rounds));
        printf("\n");
    }
    pk_weights_free(&dev, &pieces);
    pk_weights_free(&dev, &whole);
    pk_pool_trim(&dev.pool);
    return median(share[OF_COPY][PK_SLICE_BATCHED], rounds);
}

/* What others do to the memory meanwhile is in both sides of a ratio, but not evenly. */
static int check_cell(const struct cell *c)
{
    enum { TRIES = 3, ROUNDS = 3, SKIPPED = 77 };
    static const double least = 0.8;
    double most = 0;
    for (int i = 0; i < TRIES && most < least; i++) {
        const double share = measure(c, ROUNDS, false);
        most = share > most ? share : most;
    }
    if (most >= least)
        return 0;
    const bool near = virtual_machine() && most >= least * (1 - GUEST_MARGIN);
    printf("%s: batched slices below %.0f %% of a dense copy%s\n", near ? "skipped: busy" : "LOST",
           100 * least, near ? ", and other guests may share this virtual machine's host" : "");
    return near ? SKIPPED : 1;
}

int main(int argc, char **argv)
{
    size_t rounds = argc > 1 ? (size_t)atoi(argv[1]) : 7;
    if (rounds < 1 || rounds > ROUNDS_MAX)
        rounds = 7;
    must(pk_device_open(&dev, "cpu", &(struct pk_device_options){0}, &err));
    const bool check = argc > 1 && !strcmp(argv[1], "check");
    int status = 0;
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        if (!check)
            measure(&cells[i], rounds, true);
        else if (cells[i].layers == 12 && status != 1) {
            const int of_cell = check_cell(&cells[i]);
            status = of_cell ? of_cell : status;
        }
    pk_device_close(&dev);
    return status;
}
