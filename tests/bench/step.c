/* Step benchmark: a whole fp32 step of the transformer with products by OpenBLAS, by oneDNN, and by what a run chooses for each shape, in turns;
 * for each variant the medians of the paired ratios to OpenBLAS alone.
 *
 *     bench-step [rounds [threads]]
 *
 * Wants an idle machine. With one thread, as it is by itself, it reads the thread's CPU time, so that others on the machine take less
 * from it. */
#include "device/cpu/cpu.h"
#include "model/transformer/transformer.h"

#include "timed.h"

#include <stdio.h>
#include <stdlib.h>

enum { WAYS = 3, ROUNDS_MAX = 51, BATCH = 4, SEQ = 128, TOKENS = BATCH * SEQ, VOCAB = 10000 };
static const char *const names[WAYS] = {"openblas", "onednn", NULL}; /* the last: chosen */

static struct pk_arena arena;
static struct pk_device dev[WAYS];
static struct pk_transformer model[WAYS];

static double step_ns(struct pk_transformer *t)
{
    const double begin = now_ns(&dev[0]);
    must(pk_transformer_forward(t, true, &err));
    must(pk_transformer_backward(t, &err));
    must(pk_transformer_update(t, &err));
    return now_ns(&dev[0]) - begin;
}

static void open_way(size_t way, unsigned threads)
{
    if (names[way])
        setenv("PERFKIT_BLAS", names[way], 1);
    else
        unsetenv("PERFKIT_BLAS");
    must(pk_device_open(&dev[way], "cpu", &(struct pk_device_options){.threads = threads}, &err));
    pk_cpu_blas(&dev[way]);
    pk_cpu_other_blas(&dev[way]);
}

static void open_model(size_t way, bool fused)
{
    static int32_t tokens[TOKENS];
    const struct pk_transformer_config c = {.layers = 2,
                                            .width = 512,
                                            .heads = 8,
                                            .ff = 2048,
                                            .vocab = VOCAB,
                                            .seq = SEQ,
                                            .batch = BATCH,
                                            .attention = fused ? PK_ATTENTION_FLASH : PK_ATTENTION_VANILLA,
                                            .fused = fused};
    for (int32_t i = 0; i < TOKENS; i++)
        tokens[i] = i * 19 % VOCAB;
    must(pk_transformer_open(&model[way], &dev[way], &c, PK_NEEDS_OPTIMIZER, &arena, &err));
    must(pk_transformer_fill(&model[way], &(struct pk_origin){.seed = 1}, &err));
    must(pk_transformer_batch(&model[way], tokens, tokens, &err));
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *v, size_t n, double q)
{
    qsort(v, n, sizeof *v, by_value);
    return v[(size_t)(q * (double)(n - 1))];
}

static void measure(const char *variant, size_t rounds)
{
    static double ns[WAYS][ROUNDS_MAX], ratio[ROUNDS_MAX];
    for (size_t way = 0; way < WAYS; way++)
        step_ns(&model[way]); /* what is chosen is chosen here */
    for (size_t r = 0; r < rounds; r++)
        for (size_t way = 0; way < WAYS; way++)
            ns[way][r] = step_ns(&model[way]);
    for (size_t way = 1; way < WAYS; way++) {
        for (size_t r = 0; r < rounds; r++)
            ratio[r] = ns[way][r] / ns[0][r];
        const double low = quantile(ratio, rounds, 0.25), high = quantile(ratio, rounds, 0.75);
        printf("%-8s %-8s / openblas %.3f (half of the pairs in %.3f to %.3f)\n", variant,
               names[way] ? names[way] : "chosen", quantile(ratio, rounds, 0.5), low, high);
    }
    printf("%-8s openblas %.1f ms\n", variant, quantile(ns[0], rounds, 0.5) / 1e6);
}

int main(int argc, char **argv)
{
    const size_t asked = argc > 1 ? (size_t)atoi(argv[1]) : 9;
    const size_t rounds = asked < 1 || asked > ROUNDS_MAX ? 9 : asked;
    for (size_t way = 0; way < WAYS; way++)
        open_way(way, argc > 2 ? (unsigned)atoi(argv[2]) : 1);
    for (int fused = 0; fused < 2; fused++) {
        for (size_t way = 0; way < WAYS; way++)
            open_model(way, fused);
        measure(fused ? "compiled" : "eager", rounds);
        for (size_t way = 0; way < WAYS; way++)
            pk_transformer_close(&model[way]);
    }
    for (size_t way = 0; way < WAYS; way++)
        pk_device_close(&dev[way]);
    pk_arena_free(&arena);
    return 0;
}
