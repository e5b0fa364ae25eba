/* Averaging check: every gradient was sent once, and is what a single process would have, made again where a transformer is trained. */
#include "model/averaging_parts.h"

#include "base/rng.h"

#include <math.h>

enum { CHUNK = 16384, SAMPLES = 8 };

/* bf16 has 8 bits: sums are rounded at every step. */
#define BF16_TOLERANCE (1.0 / 64)
#define FP32_TOLERANCE 1e-5 /* of a training's: sums of other orders */

static float load(const void *src, size_t i, enum pk_dtype type)
{
    return type == PK_FP32 ? ((const float *)src)[i] : pk_bf16_to_float(((const uint16_t *)src)[i]);
}

/* How far the averaged gradients may be from what they should be, in units of the largest that is looked at. */
static double tolerance_of(const struct pk_averaging *v)
{
    return v->o.type == PK_BF16 ? BF16_TOLERANCE : v->o.training ? FP32_TOLERANCE : 0;
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

enum pk_code pk_averaging_fill(struct pk_averaging *v, struct pk_arena *a, struct pk_err *err)
{
    void *host = pk_new_n(a, float, CHUNK);
    enum pk_code rc = PK_OK;
    for (size_t t = 0; !rc && t < v->gradients->n; t++) {
        const size_t n = v->gradients->v[t].elements, size = pk_dtype_bytes(v->o.type);
        for (size_t at = 0; !rc && at < n; at += CHUNK) {
            const size_t m = smaller(n - at, CHUNK);
            for (size_t i = 0; i < m; i++) {
                const float x = pk_averaging_value(t, at + i, v->comm->rank);
                if (v->o.type == PK_FP32)
                    ((float *)host)[i] = x;
                else
                    ((uint16_t *)host)[i] = pk_bf16_of_float(x);
            }
            rc = pk_device_copy_now(v->dev, PK_COPY_HOST_TO_DEVICE, v->grad[t] + at * size, host, m * size,
                                    err);
        }
    }
    return rc;
}

static enum pk_code check_part(struct pk_averaging *v, size_t t, size_t at, size_t n, void *host,
                               struct pk_err *err)
{
    const size_t size = pk_dtype_bytes(v->o.type);
    const double tolerance = tolerance_of(v);
    /* The mean of the ranks' numbers: ranks 0 .. processes-1 add their own to what is equal; virtual ranks are this one. */
    const double rank = v->o.way == PK_AVERAGE_NONE ? v->comm->rank : (v->comm->processes - 1) / 2.0;
    if (pk_device_copy_now(v->dev, PK_COPY_DEVICE_TO_HOST, host, v->grad[t] + at * size, n * size, err))
        return err->code;
    for (size_t i = 0; i < n; i++) {
        const double is = load(host, i, v->o.type), should = pk_averaging_value(t, at + i, rank);
        if (fabs(is - should) <= tolerance * fabs(should))
            continue;
        pk_fail(err, PK_E_CHECK, "rank %u: element %zu of the gradient of %s is %g", v->comm->rank, at + i,
                v->gradients->v[t].name, is);
        return pk_why(err, "the mean over %u ranks is %g", v->comm->size, should);
    }
    return PK_OK;
}

/* --- of a transformer: against the gradients of every rank, made again by this process --- */

/* Elements of one gradient that are looked at: all of them, or some. */
struct sample {
    size_t n, *at;  /* at NULL: all */
    float *is;      /* [n] what averaging left */
    double *should; /* [n] the mean over the ranks */
};

struct gradient_check {
    struct pk_averaging *v;
    struct sample *of; /* [tensors] */
    void *host;        /* of the largest gradient */
};

static enum pk_code to_host(struct gradient_check *k, size_t t, const void *src, enum pk_dtype type,
                            struct pk_err *err)
{
    return pk_device_copy_now(k->v->dev, PK_COPY_DEVICE_TO_HOST, k->host, src,
                              k->v->gradients->v[t].elements * pk_dtype_bytes(type), err);
}

/* What one rank gives to the mean, rounded as it is sent. */
static enum pk_code add_rank(struct gradient_check *k, unsigned rank, double weight, struct pk_err *err)
{
    struct pk_averaging *v = k->v;
    enum pk_code rc = pk_training_batch(v->o.training, rank, err);
    if (!rc)
        rc = pk_training_gradients(v->o.training, err);
    for (size_t t = 0; !rc && t < v->gradients->n; t++) {
        struct sample *s = &k->of[t];
        rc = to_host(k, t, pk_averaging_source(v, t), PK_FP32, err);
        for (size_t i = 0; !rc && i < s->n; i++) {
            const float x = load(k->host, s->at ? s->at[i] : i, PK_FP32);
            const float sent = v->o.type == PK_BF16 ? pk_bf16_to_float(pk_bf16_of_float(x)) : x;
            s->should[i] += weight * (double)sent;
        }
    }
    return rc;
}

static enum pk_code compare_sample(const struct gradient_check *k, size_t t, double tolerance,
                                   struct pk_err *err)
{
    const struct sample *s = &k->of[t];
    double largest = 0;
    for (size_t i = 0; i < s->n; i++)
        largest = fmax(largest, fabs(s->should[i]));
    for (size_t i = 0; i < s->n; i++) {
        if (fabs((double)s->is[i] - s->should[i]) <= tolerance * largest)
            continue;
        pk_fail(err, PK_E_CHECK, "rank %u: element %zu of the gradient of %s is %.9g", k->v->comm->rank,
                s->at ? s->at[i] : i, k->v->gradients->v[t].name, (double)s->is[i]);
        return pk_why(err, "a single process that computes the gradients of all %u ranks has %.9g",
                      k->v->comm->size, s->should[i]);
    }
    return PK_OK;
}

/* Of a training: gradients are the mean over the ranks' own. */
static enum pk_code check_training(struct pk_averaging *v, bool full, uint64_t seed, struct pk_arena *a,
                                   struct pk_err *err)
{
    struct pk_rng rng = {seed};
    struct gradient_check k = {.v = v, .of = pk_new_n(a, struct sample, v->gradients->n)};
    size_t most = 0;
    for (size_t t = 0; t < v->gradients->n; t++) {
        const size_t elements = v->gradients->v[t].elements, n = full ? elements : SAMPLES;
        struct sample *s = &k.of[t];
        *s = (struct sample){n, full ? NULL : pk_new_n(a, size_t, n), pk_new_n(a, float, n),
                             pk_new_n(a, double, n)};
        for (size_t i = 0; s->at && i < n; i++)
            s->at[i] = i ? pk_rng_below(&rng, elements) : elements - 1;
        most = elements > most ? elements : most;
    }
    k.host = pk_new_n(a, float, most);
    const bool alone = v->o.way == PK_AVERAGE_NONE || v->comm->processes == 1;
    enum pk_code rc = PK_OK;
    for (size_t t = 0; !rc && t < v->gradients->n; t++) {
        struct sample *s = &k.of[t];
        rc = to_host(&k, t, v->grad[t], v->o.type, err);
        for (size_t i = 0; !rc && i < s->n; i++)
            s->is[i] = load(k.host, s->at ? s->at[i] : i, v->o.type);
    }
    /* Virtual ranks all have this one's gradients, and so has who sends nothing. */
    if (!rc && alone)
        rc = add_rank(&k, v->comm->rank, 1, err);
    for (unsigned r = 0; !rc && !alone && r < v->comm->processes; r++)
        rc = add_rank(&k, r, 1.0 / v->comm->processes, err);
    if (!rc && !alone)
        rc = pk_training_batch(v->o.training, v->comm->rank, err);
    for (size_t t = 0; !rc && t < v->gradients->n; t++)
        rc = compare_sample(&k, t, alone ? 0 : tolerance_of(v), err);
    return rc;
}

enum pk_code pk_averaging_check(struct pk_averaging *v, bool full, uint64_t seed, struct pk_arena *a,
                                struct pk_err *err)
{
    struct pk_rng rng = {seed};
    void *host = pk_new_n(a, float, CHUNK);
    const size_t bytes = v->gradients->elements * pk_dtype_bytes(v->o.type);
    const size_t should = v->o.way == PK_AVERAGE_NONE ? 0 : bytes;
    if (v->reduced_bytes != should) {
        pk_fail(err, PK_E_CHECK, "a step sent %llu bytes of gradients", (unsigned long long)v->reduced_bytes);
        return pk_why(err, "every gradient sent once would be %zu bytes", should);
    }
    if (v->o.training)
        return check_training(v, full, seed, a, err);
    enum pk_code rc = PK_OK;
    for (size_t t = 0; !rc && t < v->gradients->n; t++) {
        const size_t n = v->gradients->v[t].elements;
        for (size_t at = 0; full && !rc && at < n; at += CHUNK)
            rc = check_part(v, t, at, smaller(n - at, CHUNK), host, err);
        for (int i = 0; !full && !rc && i < SAMPLES; i++)
            rc = check_part(v, t, i ? pk_rng_below(&rng, n) : n - 1, 1, host, err);
    }
    return rc;
}
