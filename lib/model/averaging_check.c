/* Averaging check: every gradient was sent once, and is what a single process would have. */
#include "model/averaging_parts.h"

#include "base/rng.h"

#include <math.h>

enum { CHUNK = 16384, SAMPLES = 8 };

/* bf16 has 8 bits: sums are rounded at every step. */
#define BF16_TOLERANCE (1.0 / 64)
#define FP32_TOLERANCE 1e-5 /* of a training's: sums of other orders */

static void store(void *dst, size_t i, enum pk_dtype type, float x)
{
    if (type == PK_FP32)
        ((float *)dst)[i] = x;
    else
        ((uint16_t *)dst)[i] = pk_bf16_of_float(x);
}

static float load(const void *src, size_t i, enum pk_dtype type)
{
    return type == PK_FP32 ? ((const float *)src)[i] : pk_bf16_to_float(((const uint16_t *)src)[i]);
}

double pk_averaging_tolerance(const struct pk_averaging *v)
{
    return v->o.type == PK_BF16 ? BF16_TOLERANCE : v->o.training ? FP32_TOLERANCE : 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static enum pk_code fill_one(struct pk_averaging *v, size_t t, void *host, struct pk_err *err)
{
    const size_t n = v->gradients->v[t].elements, size = pk_dtype_bytes(v->o.type);
    enum pk_code rc = PK_OK;
    for (size_t at = 0; !rc && at < n; at += CHUNK) {
        const size_t m = smaller(n - at, CHUNK);
        for (size_t i = 0; i < m; i++)
            store(host, i, v->o.type, pk_averaging_value(t, at + i, v->comm->rank));
        rc = pk_device_copy(v->dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, v->grad[t] + at * size, host,
                            m * size, err);
        if (!rc)
            rc = pk_device_sync(v->dev, err);
    }
    return rc;
}

enum pk_code pk_averaging_fill(struct pk_averaging *v, struct pk_arena *a, struct pk_err *err)
{
    void *host = pk_new_n(a, float, CHUNK);
    enum pk_code rc = PK_OK;
    for (size_t t = 0; !rc && t < v->gradients->n; t++)
        rc = fill_one(v, t, host, err);
    return rc;
}

/* The mean of the ranks' numbers: ranks 0 .. processes-1 add their own to what is equal; virtual ranks are this one. */
static double expected_rank(const struct pk_averaging *v)
{
    return v->o.way == PK_AVERAGE_NONE ? v->comm->rank : (v->comm->processes - 1) / 2.0;
}

static enum pk_code compare(const struct pk_averaging *v, size_t t, size_t at, const void *host, size_t n,
                            struct pk_err *err)
{
    const double tolerance = pk_averaging_tolerance(v);
    for (size_t i = 0; i < n; i++) {
        const double is = load(host, i, v->o.type), should = pk_averaging_value(t, at + i, expected_rank(v));
        if (fabs(is - should) <= tolerance * fabs(should))
            continue;
        pk_fail(err, PK_E_CHECK, "rank %u: element %zu of the gradient of %s is %g", v->comm->rank, at + i,
                v->gradients->v[t].name, is);
        return pk_why(err, "the mean over %u ranks is %g", v->comm->size, should);
    }
    return PK_OK;
}

static enum pk_code check_part(struct pk_averaging *v, size_t t, size_t at, size_t n, void *host,
                               struct pk_err *err)
{
    const size_t size = pk_dtype_bytes(v->o.type);
    enum pk_code rc = pk_device_copy(v->dev, PK_LANE_COMPUTE, PK_COPY_DEVICE_TO_HOST, host,
                                     v->grad[t] + at * size, n * size, err);
    if (!rc)
        rc = pk_device_sync(v->dev, err);
    return rc ? rc : compare(v, t, at, host, n, err);
}

static enum pk_code check_one(struct pk_averaging *v, size_t t, bool full, struct pk_rng *rng, void *host,
                              struct pk_err *err)
{
    const size_t n = v->gradients->v[t].elements;
    enum pk_code rc = PK_OK;
    for (size_t at = 0; full && !rc && at < n; at += CHUNK)
        rc = check_part(v, t, at, smaller(n - at, CHUNK), host, err);
    for (int i = 0; !full && !rc && i < SAMPLES; i++)
        rc = check_part(v, t, i ? pk_rng_below(rng, n) : n - 1, 1, host, err);
    return rc;
}

static enum pk_code check_sent(const struct pk_averaging *v, struct pk_err *err)
{
    const size_t bytes = v->gradients->elements * pk_dtype_bytes(v->o.type);
    const size_t should = v->o.way == PK_AVERAGE_NONE ? 0 : bytes;
    if (v->reduced_bytes == should)
        return PK_OK;
    pk_fail(err, PK_E_CHECK, "a step sent %llu bytes of gradients", (unsigned long long)v->reduced_bytes);
    return pk_why(err, "every gradient sent once is %zu bytes", should);
}

enum pk_code pk_averaging_check(struct pk_averaging *v, bool full, uint64_t seed, struct pk_arena *a,
                                struct pk_err *err)
{
    struct pk_rng rng = {seed};
    void *host = pk_new_n(a, float, CHUNK);
    enum pk_code rc = check_sent(v, err);
    if (rc || v->o.training)
        return rc ? rc : pk_averaging_check_training(v, full, seed, a, err);
    for (size_t t = 0; !rc && t < v->gradients->n; t++)
        rc = check_one(v, t, full, &rng, host, err);
    return rc;
}
