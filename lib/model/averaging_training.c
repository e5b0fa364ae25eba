/* Averaging training: averaged gradients of a transformer against those of every rank, made again by this process. */
#include "model/averaging_parts.h"

#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { SAMPLES = 8 };

/* Elements of one gradient that are looked at: all of them, or some. */
struct sample {
    size_t n, *at;  /* at NULL: all */
    float *is;      /* [n] what averaging left */
    double *should; /* [n] the mean over the ranks */
};

struct checker {
    struct pk_averaging *v;
    struct sample *of; /* [tensors] */
    void *host;        /* of the largest gradient */
};

static void choose(struct checker *k, size_t t, bool full, struct pk_rng *rng, struct pk_arena *a)
{
    const size_t elements = k->v->gradients->v[t].elements;
    struct sample *s = &k->of[t];
    s->n = full ? elements : SAMPLES;
    s->is = pk_new_n(a, float, s->n);
    s->should = pk_new_n(a, double, s->n);
    if (full)
        return;
    s->at = pk_new_n(a, size_t, s->n);
    for (size_t i = 0; i < s->n; i++)
        s->at[i] = i ? pk_rng_below(rng, elements) : elements - 1;
}

static enum pk_code to_host(struct checker *k, size_t t, const void *src, enum pk_dtype type,
                            struct pk_err *err)
{
    enum pk_code rc = pk_device_copy(k->v->dev, PK_LANE_COMPUTE, PK_COPY_DEVICE_TO_HOST, k->host, src,
                                     k->v->gradients->v[t].elements * pk_dtype_bytes(type), err);
    return rc ? rc : pk_device_sync(k->v->dev, err);
}

static float number(const void *x, size_t i, enum pk_dtype type)
{
    return type == PK_BF16 ? pk_bf16_to_float(((const uint16_t *)x)[i]) : ((const float *)x)[i];
}

static enum pk_code read_averaged(struct checker *k, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    for (size_t t = 0; !rc && t < k->v->gradients->n; t++) {
        struct sample *s = &k->of[t];
        rc = to_host(k, t, k->v->grad[t], k->v->o.type, err);
        for (size_t i = 0; !rc && i < s->n; i++)
            s->is[i] = number(k->host, s->at ? s->at[i] : i, k->v->o.type);
    }
    return rc;
}

/* What one rank gives to the mean, rounded as it is sent. */
static enum pk_code add_rank(struct checker *k, unsigned rank, double weight, struct pk_err *err)
{
    struct pk_averaging *v = k->v;
    enum pk_code rc = pk_training_batch(v->o.training, rank, err);
    if (!rc)
        rc = pk_training_gradients(v->o.training, err);
    for (size_t t = 0; !rc && t < v->gradients->n; t++) {
        struct sample *s = &k->of[t];
        rc = to_host(k, t, pk_averaging_source(v, t), PK_FP32, err);
        for (size_t i = 0; !rc && i < s->n; i++) {
            const float x = number(k->host, s->at ? s->at[i] : i, PK_FP32);
            const float sent = v->o.type == PK_BF16 ? pk_bf16_to_float(pk_bf16_of_float(x)) : x;
            s->should[i] += weight * (double)sent;
        }
    }
    return rc;
}

/* Virtual ranks all have this one's gradients, and so has who sends nothing. */
static enum pk_code add_ranks(struct checker *k, bool alone, struct pk_err *err)
{
    const struct pk_comm *c = k->v->comm;
    if (alone)
        return add_rank(k, c->rank, 1, err);
    enum pk_code rc = PK_OK;
    for (unsigned r = 0; !rc && r < c->processes; r++)
        rc = add_rank(k, r, 1.0 / c->processes, err);
    return rc ? rc : pk_training_batch(k->v->o.training, c->rank, err);
}

static enum pk_code compare(const struct checker *k, size_t t, double tolerance, struct pk_err *err)
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
        return pk_why(err, "a single process that makes the gradients of all %u ranks has %.9g",
                      k->v->comm->size, s->should[i]);
    }
    return PK_OK;
}

enum pk_code pk_averaging_check_training(struct pk_averaging *v, bool full, uint64_t seed, struct pk_arena *a,
                                         struct pk_err *err)
{
    struct pk_rng rng = {seed};
    struct checker k = {.v = v, .of = pk_new_n(a, struct sample, v->gradients->n)};
    size_t most = 0;
    for (size_t t = 0; t < v->gradients->n; t++) {
        choose(&k, t, full, &rng, a);
        most = v->gradients->v[t].elements > most ? v->gradients->v[t].elements : most;
    }
    k.host = pk_new_n(a, float, most);
    const bool alone = v->o.way == PK_AVERAGE_NONE || v->comm->processes == 1;
    enum pk_code rc = read_averaged(&k, err);
    if (!rc)
        rc = add_ranks(&k, alone, err);
    for (size_t t = 0; !rc && t < v->gradients->n; t++)
        rc = compare(&k, t, alone ? 0 : pk_averaging_tolerance(v), err);
    return rc;
}
