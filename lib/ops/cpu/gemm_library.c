/* Gemm library: which of two BLAS libraries makes products of a shape faster, found by trying them in turns. */
#include "base/clock.h"
#include "base/err.h"
#include "device/choices.h"
#include "ops/cpu/cpu_ops.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIALS = 5,
    TRY_NS = 500 * 1000 * 1000,
    FLOPS_LEAST = 10 * 1000 * 1000,
    KEY_TEXT = PK_CHOICE_KEY_MAX + 1
};
typedef void multiply_fn(struct pk_device *dev, const void *job);
static const double max_ratio =
    0.97; /* of the first library's time: smaller differences are not visible in a few trials */

/* What the choice depends on; compared as bytes. */
struct key {
    size_t m, n, k, batch;
    uint32_t ta, tb, ab_type, c_type;
};

struct chosen {
    struct chosen *next;
    struct key key;
    const struct pk_blas *blas;
};

static const char *const words[] = {[PK_BLAS_OPENBLAS] = "openblas", [PK_BLAS_ONEDNN] = "onednn"};

static void key_text(const struct pk_device *dev, const struct key *k, const struct pk_blas *const library[2],
                     char out[KEY_TEXT])
{
    static const char *const types[] = {[PK_FP32] = "fp32", [PK_BF16] = "bf16"};
    const int n = snprintf(out, KEY_TEXT, "gemm %.20s, %.20s %zux%zux%zu b%zu %c%c %s>%s t%u",
                           library[0]->name, library[1]->name, k->m, k->n, k->k, k->batch, "NT"[k->ta],
                           "NT"[k->tb], types[k->ab_type], types[k->c_type], pk_cpu_threads(dev));
    pk_assert(n < KEY_TEXT);
}

static double trial_ns(struct pk_device *dev, struct pk_cpu_run *run, const struct pk_blas *library,
                       multiply_fn *multiply, const void *job)
{
    run->blas = library;
    const uint64_t begin = pk_clock_ns();
    multiply(dev, job);
    return (double)(pk_clock_ns() - begin);
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* By the median of ratios of adjacent trials, which a slow phase of the machine does not affect; after a warm-up turn, unless the
 * product takes so long that one trial is enough. */
static const struct pk_blas *try_both(struct pk_device *dev, struct pk_cpu_run *run,
                                      const struct pk_blas *const library[2], multiply_fn *multiply,
                                      const void *job)
{
    const uint64_t begin = pk_clock_ns();
    double ratio[TRIALS];
    int n = 0;
    for (int turn = 0; n < TRIALS && (!n || pk_clock_ns() - begin < TRY_NS); turn++) {
        const double first = trial_ns(dev, run, library[0], multiply, job),
                     other = trial_ns(dev, run, library[1], multiply, job);
        if (turn || first > TRY_NS / TRIALS)
            ratio[n++] = other / first;
    }
    qsort(ratio, (size_t)n, sizeof *ratio, by_value);
    return library[ratio[n / 2] < max_ratio];
}

static const struct pk_blas *library_named(const char *word, const struct pk_blas *const library[2])
{
    for (int i = 0; word && i < 2; i++)
        if (!strcmp(word, words[library[i]->kind]))
            return library[i];
    return NULL;
}

/* A cold path: the first time that a shape occurs. */
static const struct pk_blas *choose(struct pk_device *dev, const struct key *k, struct pk_cpu_run *run,
                                    multiply_fn *multiply, const void *job)
{
    const struct pk_blas *const library[2] = {pk_cpu_blas(dev), pk_cpu_other_blas(dev)};
    char name[KEY_TEXT];
    if (!library[1])
        return library[0];
    key_text(dev, k, library, name);
    const char *word = pk_choice_of(dev, name);
    const struct pk_blas *blas = library_named(word, library);
    if (!blas) {
        blas = try_both(dev, run, library, multiply, job);
        pk_choice_make(dev, name, words[blas->kind], word ? "it is not a library name" : NULL);
    }
    return blas;
}

void pk_cpu_gemm_library(struct pk_device *dev, const struct pk_gemm *g, struct pk_cpu_run *run,
                         multiply_fn *multiply, const void *job)
{
    if (run->blas->kind == PK_BLAS_OWN || g->beta != 0 || pk_work_gemm(g).flops < FLOPS_LEAST)
        return;
    const struct key key = {g->m, g->n, g->k, g->batch, g->ta, g->tb, g->ab_type, g->c_type};
    struct chosen **all = (struct chosen **)(void *)pk_cpu_user_state(dev), *c = *all;
    while (c && memcmp(&c->key, &key, sizeof key) != 0)
        c = c->next;
    if (!c) {
        const bool timed = pk_timed_region(false);
        c = pk_new(&dev->arena, struct chosen);
        *c = (struct chosen){.next = *all, .key = key, .blas = choose(dev, &key, run, multiply, job)};
        *all = c;
        pk_timed_region(timed);
    }
    run->blas = c->blas;
}
