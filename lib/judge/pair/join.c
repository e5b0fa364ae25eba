/* Join: several runs as one side. */
#include "base/index.h"
#include "judge/pair/pair.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

struct join_row {
    const char *key;
    struct pk_figures f;
    double *figure, *tail[PK_TAILS];
    int64_t *invocation;
    struct pk_run_processes *runs;
    size_t unstable; /* runs */
};

/* A run's, as its figure: the geometric mean over its processes. NaN when one of them has none. */
static double tail_of_run(const struct pk_figures *f, int t)
{
    if (!f->tail[t])
        return NAN;
    struct pk_figures of = *f;
    of.figure = f->tail[t];
    of.median = NAN;
    return pk_figures_centre(&of);
}

struct join_state {
    struct join_row *v;
    size_t n, cap;
};

struct join_key {
    const struct join_state *j;
    const char *key;
};

static bool same_key(const void *wanted, uint32_t row)
{
    const struct join_key *w = wanted;
    return strcmp(w->j->v[row].key, w->key) == 0;
}

static struct join_row *joined_row(struct join_state *j, struct pk_index *x, const struct pk_figures *f,
                                   size_t runs, struct pk_arena *a)
{
    const char *key = pk_key_between_runs(f, a);
    const struct join_key w = {j, key};
    uint32_t row = pk_index_row(x, pk_hash_bytes(0, key, strlen(key)), same_key, &w, (uint32_t)j->n);
    if (row < j->n)
        return &j->v[row];
    j->v = pk_grow(a, j->v, sizeof *j->v, j->n, &j->cap);
    j->v[j->n] = (struct join_row){key,
                                   *f,
                                   pk_new_n(a, double, runs),
                                   {0},
                                   pk_new_n(a, int64_t, runs),
                                   pk_new_n(a, struct pk_run_processes, runs),
                                   0};
    for (int t = 0; t < PK_TAILS; t++)
        j->v[j->n].tail[t] = pk_new_n(a, double, runs);
    j->v[j->n].f.n = j->v[j->n].f.processes = j->v[j->n].f.measured = 0;
    return &j->v[j->n++];
}

struct pk_compare_side pk_compare_join(const struct pk_compare_side *runs, size_t n, const char *name,
                                       struct pk_arena *a)
{
    struct join_state j = {0};
    struct pk_index x = {.arena = a};
    struct pk_compare_side side = runs[0];
    side.name = name;
    if (n == 1)
        return side;
    struct pk_unfinished_case *unfinished = NULL;
    size_t n_unfinished = 0, cap = 0;
    for (size_t r = 0; r < n; r++) {
        for (size_t i = 0; i < runs[r].n; i++) {
            struct join_row *row = joined_row(&j, &x, &runs[r].v[i], n, a);
            row->unstable += runs[r].v[i].unstable;
            row->f.processes += runs[r].v[i].processes;
            row->f.measured += runs[r].v[i].measured;
            for (int t = 0; t < PK_TAILS; t++)
                row->tail[t][row->f.n] = tail_of_run(&runs[r].v[i], t);
            if (runs[r].v[i].samples < row->f.samples)
                row->f.samples = runs[r].v[i].samples;
            row->figure[row->f.n] = pk_figures_centre(&runs[r].v[i]);
            row->runs[row->f.n] = (struct pk_run_processes){runs[r].v[i].figure, runs[r].v[i].n};
            row->invocation[row->f.n++] = (int64_t)r + 1;
        }
        for (size_t i = 0; i < runs[r].n_unfinished; i++) {
            unfinished = pk_grow(a, unfinished, sizeof *unfinished, n_unfinished, &cap);
            unfinished[n_unfinished++] = runs[r].unfinished[i];
        }
    }
    struct pk_figures *all = pk_new_n(a, struct pk_figures, j.n + 1);
    for (size_t i = 0; i < j.n; i++) {
        all[i] = j.v[i].f;
        all[i].figure = j.v[i].figure;
        memcpy(all[i].tail, j.v[i].tail, sizeof all[i].tail);
        all[i].invocation = j.v[i].invocation;
        all[i].runs = j.v[i].runs;
        all[i].unstable = 2 * j.v[i].unstable > all[i].n;
        all[i].median = pk_figures_median(&all[i], a);
    }
    return (struct pk_compare_side){name, all, j.n, unfinished, n_unfinished, n};
}
