/* Config: counts and validity of a transformer's shape. */
#include "model/transformer/config.h"

#include <math.h>

/* The number of heads nearest to those asked for that makes them of an even number of features. */
static size_t nearest_heads(const struct pk_transformer_config *c)
{
    for (size_t off = 1; off < c->heads || c->heads + off <= c->width; off++) {
        if (off < c->heads && c->width % (2 * (c->heads - off)) == 0)
            return c->heads - off;
        if (c->width % (2 * (c->heads + off)) == 0)
            return c->heads + off;
    }
    return 1;
}

static enum pk_code check_step(const char *axis, const char *what, size_t width, struct pk_err *err)
{
    const size_t below = width / PK_WIDTH_STEP * PK_WIDTH_STEP;
    if (width == below)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "a %s of %zu, %s, is no multiple of %d", what, width, axis, PK_WIDTH_STEP);
    pk_why(err, "every row has to start where wide loads may");
    return below ? pk_fix(err, "choose %s=%zu or %s=%zu", axis, below, axis, below + PK_WIDTH_STEP)
                 : pk_fix(err, "choose %s=%d", axis, PK_WIDTH_STEP);
}

enum pk_code pk_transformer_valid(const struct pk_transformer_config *c, struct pk_err *err)
{
    if (check_step("d_model", "width", c->width, err) || check_step("d_ff", "feed-forward width", c->ff, err))
        return err->code;
    if (c->width % c->heads) {
        pk_fail(err, PK_E_USAGE, "a width of %zu cannot be divided into %zu heads", c->width, c->heads);
        pk_why(err, "every head has as many features as the others: heads must divide d_model");
        return pk_fix(err, "choose another number, such as heads=%zu", nearest_heads(c));
    }
    if (c->width / c->heads % 2) {
        pk_fail(err, PK_E_USAGE, "heads of %zu features cannot have rotary positions", c->width / c->heads);
        pk_why(err, "features are turned in pairs: d_model / heads must be even");
        return pk_fix(err, "choose another number, such as heads=%zu, or another d_model", nearest_heads(c));
    }
    if (c->seq > PK_CONTEXT_MAX) {
        pk_fail(err, PK_E_USAGE, "a context of %zu tokens", c->seq);
        pk_why(err, "the longest has %d", PK_CONTEXT_MAX);
        return pk_fix(err, "choose a shorter one");
    }
    return PK_OK;
}

size_t pk_transformer_parameters(const struct pk_transformer_config *c)
{
    const size_t block = 4 * c->width * c->width + 3 * c->width * c->ff + 2 * c->width;
    return 2 * c->vocab * c->width + c->layers * block + c->width;
}

double pk_transformer_flops(const struct pk_transformer_config *c)
{
    const double width = (double)c->width, seq = (double)c->seq;
    const double weights =
        (double)c->layers * (4 * width * width + 3 * width * (double)c->ff) + (double)c->vocab * width;
    const double pairs = (double)c->batch * seq * (seq + 1) / 2;
    return 2 * weights * (double)pk_transformer_tokens(c) + 4 * width * pairs * (double)c->layers;
}

struct pk_attention_shape pk_transformer_attention(const struct pk_transformer_config *c)
{
    const size_t dim = c->width / c->heads;
    return (struct pk_attention_shape){.problems = c->batch * c->heads,
                                       .seq = c->seq,
                                       .dim = dim,
                                       .causal = 1,
                                       .scale = 1.0f / sqrtf((float)dim),
                                       .dtype = c->dtype,
                                       .math = c->math};
}
