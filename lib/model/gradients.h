/* Gradients: the parameter tensors of a model, in the order in which a backward pass has their gradients: the last layer's first. */
#pragma once

#include "base/arena.h"
#include "model/transformer/config.h"

#include <stddef.h>

struct pk_gradient {
    const char *name; /* "layers.11.ffn.w2.weight" */
    size_t elements;
    double share; /* of the backward pass, up to this gradient from the one before; all of them are 1 */
};

struct pk_gradients {
    size_t n, elements;
    const struct pk_gradient *v;
};

/* The parameters of a transformer. Time goes to the products: that of a matrix is in proportion to its elements, norms and the embedding
 * take none. */
void pk_gradients_of_transformer(const struct pk_transformer_config *c, struct pk_arena *a,
                                 struct pk_gradients *out);

enum { PK_GRADIENTS_MAX = 100000 };

/* A file of lines "NAME ELEMENTS" in the order of the model, whose gradients come in the reverse; '#' begins a comment. Time is in
 * proportion to elements. What is wrong with it is PK_E_USAGE that names the line. */
enum pk_code pk_gradients_read(const char *path, struct pk_arena *a, struct pk_gradients *out,
                               struct pk_err *err) PK_MUST_CHECK;
