/* Key ranges: boundaries, partial copies of dq and their sum. */
#include "ops/cpu/cpu_ops.h"

#include <math.h>

enum {
    KEYS_MIN = 64,       /* a range with fewer repeats more packing than it shares work */
    SUM_FLOATS = 1 << 14 /* per task */
};

static size_t dq_floats(const struct pk_key_ranges *r)
{
    return r->at->batch * r->at->seq * r->at->dim;
}

static size_t ranges_of(const struct pk_attention *at, unsigned threads)
{
    return pk_cpu_parts(threads, at->batch, at->seq / KEYS_MIN);
}

size_t pk_key_ranges_bytes(const struct pk_attention *at, unsigned threads)
{
    const struct pk_key_ranges r = {.at = at, .n = ranges_of(at, threads)};
    return r.n == 1 ? 0 : pk_pool_rounded((r.n - 1) * dq_floats(&r) * sizeof *r.partial);
}

enum pk_code pk_key_ranges_init(struct pk_key_ranges *r, struct pk_device *dev, const struct pk_attention *at,
                                struct pk_err *err)
{
    *r = (struct pk_key_ranges){.at = at, .n = ranges_of(at, pk_cpu_threads(dev))};
    if (r->n == 1)
        return PK_OK;
    r->partial = pk_device_alloc(dev, (r->n - 1) * dq_floats(r) * sizeof *r->partial, PK_TAG_WORKSPACE);
    return r->partial ? PK_OK : pk_device_oom(dev, err);
}

/* Causal: key j is seen by seq - j queries, so the first of n equal shares of the triangle is the narrowest.
 */
size_t pk_key_ranges_begin(const struct pk_key_ranges *r, size_t range)
{
    double share = (double)range / (double)r->n;
    if (r->at->causal)
        share = 1 - sqrt(1 - share);
    return range == r->n ? r->at->seq : (size_t)(share * (double)r->at->seq);
}

float *pk_key_ranges_dq(const struct pk_key_ranges *r, size_t problem, size_t range)
{
    float *dq = r->at->dq;
    if (range)
        dq = r->partial + (range - 1) * dq_floats(r);
    return dq + problem * r->at->seq * r->at->dim;
}

struct sum_job {
    const struct pk_key_ranges *r;
    const struct pk_kernels *k;
};

static void sum_task(void *arg, size_t task, unsigned thread)
{
    const struct sum_job *j = arg;
    float *dq = j->r->at->dq;
    size_t all = dq_floats(j->r), at = task * SUM_FLOATS, n = all - at < SUM_FLOATS ? all - at : SUM_FLOATS;
    for (size_t i = 1; i < j->r->n; i++)
        j->k->add(PK_FP32, j->r->partial + (i - 1) * all + at, dq + at, n);
}

void pk_key_ranges_sum(struct pk_key_ranges *r, struct pk_device *dev, const struct pk_kernels *k)
{
    if (r->n == 1)
        return;
    struct sum_job j = {r, k};
    pk_cpu_parallel_for(dev, sum_task, &j, (dq_floats(r) + SUM_FLOATS - 1) / SUM_FLOATS);
    pk_device_free(dev, r->partial);
}
