/* Check: hidden states of the last batch against a model in float64, and the bytes that a pass stored. */
#include "extraction/pipeline.h"

#include "model/transformer/check.h"
#include "model/transformer/reference.h"

#include <math.h>

enum { PREFIX = 2 };

static double tolerance(const struct pk_transformer_config *c, double want)
{
    return (c->dtype == PK_BF16 ? 0.05 : 2e-4) * fmax(1, fabs(want));
}

static enum pk_code wrong(struct pk_err *err, unsigned layer, size_t token, size_t feature, double got,
                          double want)
{
    pk_fail(err, PK_E_CHECK, "the hidden state of layer %u is wrong", layer);
    pk_why(err, "feature %zu of token %zu is %.6g on the device, %.6g in float64", feature, token, got, want);
    return pk_fix(err,
                  "this is a bug of perfkit or of a library it uses: please report it with `perfkit doctor`");
}

/* Row r of `rows` is a token of the reference; `at` is where it lies in the layer on the device. */
static enum pk_code check_layer(struct pk_extraction *x, const struct pk_reference *r, size_t i, size_t skip,
                                struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_transformer_config *c = &x->o.model;
    const size_t rows = r->sequences * r->prefix, width = c->width, n = pk_transformer_tokens(c) * width;
    const size_t size = pk_dtype_bytes(c->dtype);
    const unsigned layer = x->o.shards.layers[i];
    double *want = pk_new_n(&a, double, rows *width);
    float *got = pk_new_n(&a, float, n);
    struct pk_range_error range_error;
    enum pk_code rc = pk_reference_hidden(r, layer + 1, want, &range_error, err);
    if (!rc)
        rc = pk_device_copy_now(x->dev, PK_COPY_DEVICE_TO_HOST, got, x->staging[0] + i * n * size, n * size,
                                err);
    if (rc)
        return rc;
    if (c->dtype == PK_BF16)
        pk_bf16_widen(got, n);
    for (size_t row = 0; row < rows; row++)
        for (size_t f = 0; f < width; f++) {
            const size_t token = skip + row / r->prefix * c->seq + row % r->prefix;
            const double w = want[row * width + f], g = (double)got[token * width + f];
            if (!(fabs(g - w) <= tolerance(c, w)))
                return wrong(err, layer, token, f, g, w);
        }
    return PK_OK;
}

/* The report printed 784.1 MB for 9 samples of 512 tokens: that was of 1,736 tokens each. */
static enum pk_code check_bytes(const struct pk_extraction *x, struct pk_err *err)
{
    return x->o.dry ? PK_OK
                    : pk_shard_bytes_check(&x->o.shards, x->facts.samples, x->facts.stored.raw_bytes, err);
}

enum pk_code pk_extraction_check(struct pk_extraction *x, bool full, struct pk_err *err)
{
    const struct pk_transformer_config *c = &x->o.model;
    const size_t last = x->batches - 1, skip = full ? 0 : (c->batch - 1) * c->seq;
    const struct pk_reference r = {.c = c,
                                   .l = &x->t.layout,
                                   .fetch = pk_transformer_fetch,
                                   .user = &x->t,
                                   .tokens = x->tokens + last * pk_transformer_tokens(c) + skip,
                                   .sequences = full ? c->batch : 1,
                                   .prefix = full || c->seq < PREFIX ? c->seq : PREFIX};
    enum pk_code rc = check_bytes(x, err);
    if (!rc)
        rc = pk_extraction_stage(x, last, err);
    for (size_t i = 0; !rc && i < x->o.shards.n_layers; i++)
        if (full || i + 1 == x->o.shards.n_layers)
            rc = check_layer(x, &r, i, skip, err);
    return rc;
}
