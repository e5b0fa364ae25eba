/* Gemm benchmark: a transformer's fp32 products by OpenBLAS and by oneDNN, in turns, on the device's threads. For each shape the median of
 * the paired ratios, and which one a run would choose (ops/cpu/gemm_library.c).
 *
 *     bench-gemm [rounds [threads]]
 *
 * Wants an idle machine. With one thread, as it is by itself, it reads the thread's CPU time, so that others on the machine take less
 * from it; a run chooses by the wall clock all the same. */
#include "device/choices.h"
#include "device/cpu/cpu.h"
#include "ops/ops.h"

#include "timed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS_MAX = 101, MOST = 1024 * 10000 };

static struct pk_device by[3]; /* OpenBLAS, oneDNN, what a run chooses */
static float *array[3];

static const struct {
    const char *what;
    size_t m, n, k, batch;
    enum pk_trans ta, tb;
} shapes[] = {
    {"q, of 512 tokens, width 512", 512, 512, 512, 1, PK_N, PK_T},
    {"its d_x", 512, 512, 512, 1, PK_N, PK_N},
    {"its d_w", 512, 512, 512, 1, PK_T, PK_N},
    {"q k v", 512, 1536, 512, 1, PK_N, PK_T},
    {"its d_x", 512, 512, 1536, 1, PK_N, PK_N},
    {"its d_w", 1536, 512, 512, 1, PK_T, PK_N},
    {"gate, of 2048", 512, 2048, 512, 1, PK_N, PK_T},
    {"its d_x", 512, 512, 2048, 1, PK_N, PK_N},
    {"its d_w", 2048, 512, 512, 1, PK_T, PK_N},
    {"gate up", 512, 4096, 512, 1, PK_N, PK_T},
    {"its d_x", 512, 512, 4096, 1, PK_N, PK_N},
    {"its d_w", 4096, 512, 512, 1, PK_T, PK_N},
    {"down", 512, 512, 2048, 1, PK_N, PK_T},
    {"its d_x", 512, 2048, 512, 1, PK_N, PK_N},
    {"its d_w", 512, 2048, 512, 1, PK_T, PK_N},
    {"head, of 10000", 512, 10000, 512, 1, PK_N, PK_T},
    {"its d_x", 512, 512, 10000, 1, PK_N, PK_N},
    {"its d_w", 10000, 512, 512, 1, PK_T, PK_N},
    {"scores of 32 heads", 128, 128, 64, 32, PK_N, PK_T},
    {"their values", 128, 64, 128, 32, PK_N, PK_N},
    {"their d_k", 128, 64, 128, 32, PK_T, PK_N},
    {"square", 1024, 1024, 1024, 1, PK_N, PK_N},
};

static double ns_of(struct pk_device *dev, size_t shape)
{
    const struct pk_gemm g = {shapes[shape].m,
                              shapes[shape].n,
                              shapes[shape].k,
                              shapes[shape].batch,
                              shapes[shape].ta,
                              shapes[shape].tb,
                              1,
                              0,
                              array[0],
                              array[1],
                              array[2],
                              PK_FP32,
                              PK_FP32,
                              PK_MATH_IEEE};
    const double begin = now_ns(dev);
    must(pk_op_gemm(dev, &g, &err));
    return now_ns(dev) - begin;
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
    qsort(v, n, sizeof *v, by_value);
    return v[n / 2];
}

static void keep_word(void *user, const char *key, const char *value)
{
    if (!strncmp(key, PK_CHOICE_PREFIX, strlen(PK_CHOICE_PREFIX)))
        snprintf(user, 16, "%s", value);
}

static void measure(size_t shape, size_t rounds)
{
    double ns[2][ROUNDS_MAX], ratio[ROUNDS_MAX];
    char word[16] = "(small)";
    for (int i = 0; i < 3; i++)
        ns_of(&by[i], shape);
    pk_choices_report(&by[2], keep_word, word);
    for (size_t r = 0; r < rounds; r++) {
        for (int i = 0; i < 2; i++)
            ns[i][r] = ns_of(&by[i], shape);
        ratio[r] = ns[1][r] / ns[0][r];
    }
    const double flops =
        2.0 * (double)(shapes[shape].m * shapes[shape].n) * (double)(shapes[shape].k * shapes[shape].batch);
    printf("%-28s %5zux%5zux%5zu b%-2zu %c%c %7.1f %7.1f GFLOP/s  onednn / openblas %5.3f  %s\n",
           shapes[shape].what, shapes[shape].m, shapes[shape].n, shapes[shape].k, shapes[shape].batch,
           "NT"[shapes[shape].ta], "NT"[shapes[shape].tb], flops / median(ns[0], rounds),
           flops / median(ns[1], rounds), median(ratio, rounds), word);
}

static void open_by(struct pk_device *dev, const char *library, unsigned threads)
{
    if (library)
        setenv("PERFKIT_BLAS", library, 1);
    else
        unsetenv("PERFKIT_BLAS");
    must(pk_device_open(dev, "cpu", &(struct pk_device_options){.threads = threads}, &err));
    pk_cpu_blas(dev);
    pk_cpu_other_blas(dev);
}

int main(int argc, char **argv)
{
    const size_t asked = argc > 1 ? (size_t)atoi(argv[1]) : 15;
    const size_t rounds = asked < 1 || asked > ROUNDS_MAX ? 15 : asked;
    const unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    open_by(&by[0], "openblas", threads);
    open_by(&by[1], "onednn", threads);
    open_by(&by[2], NULL, threads);
    printf("%s (%s), %s, %u threads\n", pk_cpu_blas(&by[0])->name, pk_cpu_blas(&by[0])->core,
           pk_cpu_blas(&by[1])->name, pk_cpu_threads(&by[0]));
    for (int i = 0; i < 3; i++) {
        if (!(array[i] = pk_device_alloc(&by[0], MOST * sizeof(float), PK_TAG_OTHER)))
            must(pk_device_oom(&by[0], &err));
        for (size_t k = 0; k < MOST; k++)
            array[i][k] = pk_fill_value((uint64_t)i, k);
    }
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
        measure(s, rounds);
    for (int i = 0; i < 3; i++)
        pk_device_free(&by[0], array[i]);
    for (int i = 0; i < 3; i++)
        pk_device_close(&by[i]);
    return 0;
}
