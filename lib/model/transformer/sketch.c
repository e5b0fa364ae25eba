/* Sketch: gradients fetched parameter by parameter, added up by hash. */
#include "model/transformer/sketch.h"

#include "base/rng.h"
#include "model/transformer/pass.h"

#include <math.h>

static void add(struct pk_sketch *s, const float *x, size_t n, size_t first)
{
    for (size_t i = 0; i < n; i++) {
        const uint64_t h = pk_rng_mix(first + i + 1);
        const double v = (double)x[i];
        s->v[h % PK_SKETCH] += h >> 63 ? v : -v;
        s->norm += v * v;
    }
}

static enum pk_code overflows(const struct pk_parameter *w, struct pk_err *err)
{
    pk_fail(err, PK_E_CHECK, "the gradient of %s has elements that are no finite number", w->name);
    pk_why(err, "weights or activations left the range of their type; a step by it leaves no weights");
    return pk_fix(err, "choose another dtype, or other sizes or weights; or a mode without a backward pass");
}

enum pk_code pk_transformer_sketch(struct pk_transformer *t, struct pk_sketch *out, struct pk_err *err)
{
    *out = (struct pk_sketch){0};
    for (size_t i = 0; i < t->layout.n; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        const struct pk_parameter *w = &t->layout.v[i];
        const size_t n = w->rows * w->cols;
        float *host = pk_new_n(&a, float, n);
        enum pk_code rc =
            pk_copy_now(t->dev, PK_COPY_DEVICE_TO_HOST, host, t->g + w->offset, n * sizeof *host, err);
        if (rc)
            return rc;
        add(out, host, n, w->offset);
        if (!isfinite(out->norm))
            return overflows(w, err);
    }
    out->norm = sqrt(out->norm);
    return PK_OK;
}
