/* Attention bf16: groups of problems, converted on the way in and out. */
#include "ops/cpu/cpu_ops.h"

enum { GROUP_BYTES = 4 << 20 }; /* per thread: enough problems to share, few enough for a cache */

enum array { Q, K, V, O, D_O, DQ, DK, DV, ARRAYS };

struct conversion {
    const uint16_t *from; /* NULL: narrow `wide` to `to` */
    float *wide;
    uint16_t *to;
    size_t n;
};

static void convert_run(const struct pk_cpu_pass *p, size_t run)
{
    const struct conversion *c = p->op;
    const size_t at = run * PK_CPU_RUN, n = pk_cpu_run_length(c->n, run);
    if (c->from)
        p->kernels->widen(c->from + at, c->wide + at, n);
    else
        p->kernels->narrow(c->wide + at, c->to + at, n);
}

struct group {
    size_t first, n; /* problems */
    float *wide;     /* ARRAYS of them */
    size_t floats;   /* of an array */
};

static void widen(struct pk_device *dev, const struct group *g, const void *const *from, size_t each)
{
    for (int i = 0; i < ARRAYS; i++)
        if (from[i])
            pk_cpu_each_run(dev,
                            &(struct conversion){.from = (const uint16_t *)from[i] + g->first * each,
                                                 .wide = g->wide + (size_t)i * g->floats,
                                                 .n = g->n * each},
                            g->n * each, convert_run);
}

static void narrow(struct pk_device *dev, const struct group *g, void *const *to, size_t each)
{
    for (int i = 0; i < ARRAYS; i++)
        if (to[i])
            pk_cpu_each_run(dev,
                            &(struct conversion){.wide = g->wide + (size_t)i * g->floats,
                                                 .to = (uint16_t *)to[i] + g->first * each,
                                                 .n = g->n * each},
                            g->n * each, convert_run);
}

/* The group's problems, over its wide arrays. */
static struct pk_attention part(const struct pk_attention *at, const struct group *g)
{
    struct pk_attention a = *at;
    a.batch = g->n;
    a.q = g->wide + Q * g->floats, a.k = g->wide + K * g->floats, a.v = g->wide + V * g->floats;
    a.o = g->wide + O * g->floats, a.d_o = g->wide + D_O * g->floats;
    a.dq = g->wide + DQ * g->floats, a.dk = g->wide + DK * g->floats, a.dv = g->wide + DV * g->floats;
    if (at->p)
        a.p = (uint16_t *)at->p + g->first * at->seq * at->seq;
    if (at->lse)
        a.lse = at->lse + g->first * at->seq;
    return a;
}

static size_t arrays_of(bool backward)
{
    return backward ? ARRAYS : O + 1;
}

/* Problems of a group. */
static size_t group_of(const struct pk_attention *at, bool backward, unsigned threads)
{
    const size_t each = at->seq * at->dim;
    const size_t fit = threads * (GROUP_BYTES / (arrays_of(backward) * each * sizeof(float)) + 1);
    return fit < at->batch ? fit : at->batch;
}

size_t pk_cpu_attention_bf16_bytes(const struct pk_attention *at, bool backward, unsigned threads,
                                   size_t (*bytes)(const struct pk_attention *at, unsigned threads))
{
    if (at->dtype == PK_FP32)
        return bytes(at, threads);
    struct pk_attention group = *at, rest = *at;
    group.batch = group_of(at, backward, threads);
    rest.batch = at->batch % group.batch;
    const size_t wide = arrays_of(backward) * group.batch * at->seq * at->dim * sizeof(float);
    const size_t of_group = bytes(&group, threads), of_rest = rest.batch ? bytes(&rest, threads) : 0;
    return pk_pool_rounded(wide) + (of_group > of_rest ? of_group : of_rest);
}

enum pk_code pk_cpu_attention_bf16(struct pk_device *dev, const struct pk_attention *at, bool backward,
                                   pk_cpu_attention_fn *fn, struct pk_err *err)
{
    if (at->dtype == PK_FP32)
        return fn(dev, at, err);
    const size_t each = at->seq * at->dim;
    struct group g = {.n = group_of(at, backward, pk_cpu_threads(dev))};
    g.floats = g.n * each;
    g.wide = pk_device_alloc(dev, arrays_of(backward) * g.floats * sizeof *g.wide, PK_TAG_WORKSPACE);
    if (!g.wide)
        return pk_device_oom(dev, err);
    const void *const from[ARRAYS] = {[Q] = at->q,
                                      [K] = at->k,
                                      [V] = at->v,
                                      [O] = backward ? at->o : NULL,
                                      [D_O] = backward ? at->d_o : NULL};
    void *const to[ARRAYS] = {[O] = backward ? NULL : at->o,
                              [DQ] = backward ? at->dq : NULL,
                              [DK] = backward ? at->dk : NULL,
                              [DV] = backward ? at->dv : NULL};
    enum pk_code rc = PK_OK;
    for (; g.first < at->batch && !rc; g.first += g.n) {
        g.n = at->batch - g.first < g.n ? at->batch - g.first : g.n;
        widen(dev, &g, from, each);
        const struct pk_attention a = part(at, &g);
        rc = fn(dev, &a, err);
        if (!rc)
            narrow(dev, &g, to, each);
    }
    pk_device_free(dev, g.wide);
    return rc;
}
