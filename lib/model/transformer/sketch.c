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
    }
    out->norm = sqrt(out->norm);
    return PK_OK;
}
