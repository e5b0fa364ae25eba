/* Training: weights of all ranks, tokens of one. */
#include "model/training.h"

#include "base/rng.h"

enum { WEIGHTS_SEED = 1 };

enum pk_code pk_training_batch(struct pk_training *v, unsigned rank, struct pk_err *err)
{
    struct pk_rng rng = {v->seed + rank};
    const double vocab = (double)v->t.c.vocab;
    for (size_t i = 0; i < pk_transformer_tokens(&v->t.c); i++) {
        v->tokens[i] = (int32_t)(pk_rng_uniform(&rng) * vocab);
        v->targets[i] = (int32_t)(pk_rng_uniform(&rng) * vocab);
    }
    return pk_transformer_batch(&v->t, v->tokens, v->targets, err);
}

enum pk_code pk_training_open(struct pk_training *v, struct pk_device *dev,
                              const struct pk_transformer_config *c, uint64_t seed, unsigned rank, bool dry,
                              struct pk_arena *a, struct pk_err *err)
{
    *v = (struct pk_training){.seed = seed};
    enum pk_code rc = pk_transformer_open(&v->t, dev, c, PK_NEEDS_GRADIENTS, a, err);
    if (rc || dry)
        return rc;
    v->tokens = pk_new_n(a, int32_t, pk_transformer_tokens(c));
    v->targets = pk_new_n(a, int32_t, pk_transformer_tokens(c));
    rc = pk_transformer_fill(&v->t, &(struct pk_origin){.seed = WEIGHTS_SEED}, err);
    return rc ? rc : pk_training_batch(v, rank, err);
}

enum pk_code pk_training_gradients(struct pk_training *v, struct pk_err *err)
{
    const struct pk_gradient_hook hook = v->t.hook;
    v->t.hook = (struct pk_gradient_hook){0};
    enum pk_code rc = pk_transformer_forward(&v->t, true, err);
    if (!rc)
        rc = pk_transformer_backward(&v->t, err);
    pk_transformer_forget(&v->t);
    v->t.hook = hook;
    return rc;
}
