/* Config: counts and validity of a transformer's shape. */
#include "model/transformer/config.h"

#include <math.h>

enum pk_code pk_transformer_valid(const struct pk_transformer_config *c, struct pk_err *err)
{
    if (c->width % c->heads) {
        pk_fail(err, PK_E_USAGE, "a width of %zu cannot be divided into %zu heads", c->width, c->heads);
        pk_why(err, "every head has as many features as the others");
        return pk_fix(err, "choose heads that divide the width");
    }
    if (c->width / c->heads % 2) {
        pk_fail(err, PK_E_USAGE, "heads of %zu features cannot have rotary positions", c->width / c->heads);
        pk_why(err, "features are turned in pairs");
        return pk_fix(err, "choose a width that gives heads of an even number of features");
    }
    if (c->width % PK_WIDTH_STEP || c->ff % PK_WIDTH_STEP) {
        pk_fail(err, PK_E_USAGE, "a width of %zu with a feed-forward width of %zu", c->width, c->ff);
        pk_why(err, "both have to be multiples of %d, so that every row starts where wide loads may",
               PK_WIDTH_STEP);
        return pk_fix(err, "choose multiples of %d", PK_WIDTH_STEP);
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
