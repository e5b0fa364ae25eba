/* Bucket advice: the model's choices, each tried in simulation. */
#include "model/bucket/bucket_advice.h"

#include "comm/comm.h"
#include "model/averaging.h"

#include <math.h>

/* Caps that are played through: from all gradients down to a millionth, by factors of sqrt(2). */
enum { CAPS = 41 };

struct advisor {
    const struct pk_bucket_inputs *q;
    struct pk_arena *a;
    struct pk_bucket_advice *out;
    const size_t *elements;
    const double *ready_ns;
};

static size_t element_bytes(const struct advisor *v)
{
    return pk_dtype_bytes(v->q->type);
}

static size_t cap_of(const struct advisor *v, double bytes)
{
    return (size_t)fmax(floor(bytes / (double)element_bytes(v)), 1);
}

static struct pk_bucket_rates rates_of(const struct pk_bucket_inputs *q)
{
    const double s = (double)(q->gradients->elements * pk_dtype_bytes(q->type));
    const double bytes_ns = pk_comm_link_ns(&q->link, q->ranks, s) - (double)q->link.latency_ns;
    return (struct pk_bucket_rates){.gradient_bytes = s,
                                    .produced_bytes_per_s = s * 1e9 / (double)q->backward_ns,
                                    .launch_ns = (double)q->link.latency_ns,
                                    .link_bytes_per_s = s * 1e9 / bytes_ns};
}

static double played_bytes(const struct advisor *v)
{
    const struct pk_bucket_rates *r = &v->out->rates;
    size_t caps[CAPS];
    for (int i = 0; i < CAPS; i++)
        caps[i] = cap_of(v, r->gradient_bytes * pow(2, -i / 2.0));
    const size_t best = pk_buckets_best(v->elements, v->q->gradients->n, caps, CAPS, 0, element_bytes(v),
                                        v->ready_ns, r->launch_ns, r->link_bytes_per_s, v->a);
    return (double)(caps[best] * element_bytes(v));
}

/* A step on the null device, whose clock is exact and which needs no memory. */
static enum pk_code step(const struct advisor *v, struct pk_device *dev, size_t cap,
                         struct pk_bucket_choice *c, struct pk_err *err)
{
    struct pk_comm comm;
    struct pk_averaging s;
    const struct pk_averaging_options o = {
        .way = PK_AVERAGE_BUCKET, .type = v->q->type, .cap = cap, .backward_ns = v->q->backward_ns};
    if (pk_comm_open(&comm, PK_COMM_LINK, dev,
                     &(struct pk_comm_options){.ranks = v->q->ranks, .link = v->q->link}, err))
        return err->code;
    enum pk_code rc = pk_averaging_new(dev, &comm, &o, v->q->gradients, true, v->a, &s, err);
    if (!rc)
        rc = pk_averaging_step(&s, err);
    c->simulated_ns = s.exposed_ns;
    pk_averaging_free(&s);
    pk_comm_close(&comm);
    return rc;
}

static enum pk_code choose(const struct advisor *v, double bytes, struct pk_bucket_choice *c,
                           struct pk_err *err)
{
    const struct pk_bucket_rates *r = &v->out->rates;
    const size_t cap = cap_of(v, bytes);
    c->bytes = bytes;
    pk_buckets_plan(v->elements, v->q->gradients->n, cap, 0, v->a, &c->buckets);
    c->exposed_ns =
        pk_buckets_end_ns(&c->buckets, element_bytes(v), v->ready_ns, r->launch_ns, r->link_bytes_per_s) -
        (double)v->q->backward_ns;
    struct pk_device dev;
    if (pk_device_open(&dev, "null", &(struct pk_device_options){.limit_bytes = INT64_MAX}, err))
        return err->code;
    enum pk_code rc = step(v, &dev, cap, c, err);
    pk_device_close(&dev);
    return rc;
}

enum pk_code pk_bucket_advise(const struct pk_bucket_inputs *q, struct pk_arena *a,
                              struct pk_bucket_advice *out, struct pk_err *err)
{
    struct advisor v = {.q = q, .a = a, .out = out};
    *out = (struct pk_bucket_advice){.rates = rates_of(q)};
    out->optimum = pk_bucket_optimum(&out->rates);
    const struct pk_gradients *g = q->gradients;
    size_t *elements = pk_new_n(a, size_t, g->n);
    double *ready_ns = pk_new_n(a, double, g->n), share = 0;
    for (size_t t = 0; t < g->n; t++) {
        share += g->v[t].share;
        elements[t] = g->v[t].elements;
        ready_ns[t] = round(fmin(share, 1) * (double)q->backward_ns);
    }
    v.elements = elements;
    v.ready_ns = ready_ns;
    const double bytes[PK_BUCKET_CHOICES] = {
        [PK_CHOOSE_PLAYED] = played_bytes(&v),           [PK_CHOOSE_EQUAL] = out->optimum.bytes,
        [PK_CHOOSE_REPORT] = out->optimum.report_bytes,  [PK_CHOOSE_FLAT] = out->rates.gradient_bytes,
        [PK_CHOOSE_OVERLAP] = (double)element_bytes(&v),
    };
    enum pk_code rc = PK_OK;
    for (int i = 0; !rc && i < PK_BUCKET_CHOICES; i++)
        rc = choose(&v, bytes[i], &out->choice[i], err);
    out->ideal_ns =
        pk_buckets_ideal_ns(v.elements, q->gradients->n, element_bytes(&v), v.ready_ns, out->rates.launch_ns,
                            out->rates.link_bytes_per_s, a, &out->ideal_buckets) -
        (double)q->backward_ns;
    return rc;
}
