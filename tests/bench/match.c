/* Match benchmark: fnmatch against compiled, on BERT and the reports' plan. Each round runs fnmatch once and compiled about as
 * long; their ratio is taken within the round. Medians are printed. Reads the thread's CPU time, so that others on the machine
 * take less from it.
 *
 *     bench-match [least ratio at 100 layers]
 *
 * With a least ratio it exits 1 below it. */
#include "model/patch/match.h"

#include "base/clock.h"
#include "model/tree/bert.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 41, COMPILED_RUNS = 50 };

static const int64_t layers[] = {4, 12, 100};

static double now_ns(void)
{
    return (double)pk_thread_cpu_ns();
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *v)
{
    qsort(v, ROUNDS, sizeof *v, by_value);
    return v[ROUNDS / 2];
}

struct subject {
    struct pk_tree tree;
    const struct pk_matcher *matcher;
    struct pk_targets by_fnmatch, by_compiled;
};

static double fnmatch_ns(struct subject *s)
{
    double begin = now_ns();
    pk_match_fnmatch(&pk_patch_plan_reports, &s->tree, &s->by_fnmatch);
    return now_ns() - begin;
}

static double compiled_ns(struct subject *s)
{
    double begin = now_ns();
    for (int i = 0; i < COMPILED_RUNS; i++)
        pk_match_compiled(s->matcher, &s->tree, &s->by_compiled);
    return (now_ns() - begin) / COMPILED_RUNS;
}

static double compile_ns(struct subject *s, struct pk_arena *a)
{
    double begin = now_ns();
    s->matcher = pk_matcher_compile(&pk_patch_plan_reports, &s->tree, a);
    return now_ns() - begin;
}

static void same_targets(const struct subject *s)
{
    const struct pk_targets *f = &s->by_fnmatch, *c = &s->by_compiled;
    pk_assert(f->n == c->n);
    for (size_t i = 0; i < f->n; i++)
        pk_assert(f->v[i].node == c->v[i].node && f->v[i].rule == c->v[i].rule);
}

static double measure(int64_t n, struct pk_arena *a)
{
    struct pk_bert config = {n, 768, 3072, 30522, 512, 2};
    struct subject s;
    struct pk_bump b;
    double f[ROUNDS], c[ROUNDS], compile[ROUNDS], ratio[ROUNDS];
    pk_bump_init(&b, a, 4096 * ((size_t)n + 1));
    pk_bert_make(pk_bert_prepare(&config, a), false, &b, &s.tree);
    pk_targets_init(&s.by_fnmatch, &s.tree, a);
    pk_targets_init(&s.by_compiled, &s.tree, a);
    for (int i = 0; i < ROUNDS; i++) {
        compile[i] = compile_ns(&s, a);
        f[i] = fnmatch_ns(&s);
        c[i] = compiled_ns(&s);
        ratio[i] = f[i] / c[i];
    }
    same_targets(&s);
    /* the root is no candidate */
    double paths = (double)s.by_fnmatch.cap - 1, fm = median(f), cm = median(c), r = median(ratio);
    printf("%6lld %6.0f %6zu %12.0f %12.0f %10.1f %10.1f %7.1f %12.0f\n", (long long)n, paths, s.by_fnmatch.n,
           fm, cm, fm / paths, cm / paths, r, median(compile));
    return r;
}

int main(int argc, char **argv)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double least = argc > 1 ? atof(argv[1]) : 0, ratio = 0;
    printf("%6s %6s %6s %12s %12s %10s %10s %7s %12s\n", "layers", "paths", "found", "fnmatch ns",
           "compiled ns", "ns/path", "ns/path", "ratio", "compile ns");
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        ratio = measure(layers[i], &a);
    if (ratio >= least)
        return 0;
    fprintf(stderr, "fnmatch / compiled at 100 layers is %.1f; it has to be at least %.1f\n", ratio, least);
    return 1;
}
