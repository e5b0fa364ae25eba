/* Gradients: the parameter tensors of a model, in the order in which a backward pass computes their gradients: the last layer's first. */
#pragma once

#include "base/arena.h"
#include "model/shape/shape.h"
#include "model/transformer/config.h"

#include <stddef.h>

struct pk_gradient {
    const char *name; /* "layers.11.ffn.w2.weight" */
    size_t elements;
    double
        share; /* share of the backward time between the previous gradient and this one; the sum of all is 1 */
};

struct pk_gradients {
    size_t n, elements;
    const struct pk_gradient *v;
};

/* The parameters of a transformer. Time is proportional to the elements of matrices; norms and the embedding take none. */
void pk_gradients_of_transformer(const struct pk_transformer_config *c, struct pk_arena *a,
                                 struct pk_gradients *out);

/* The parameters of a model by its sizes. PK_E_USAGE for one that is too large. */
enum pk_code pk_gradients_of_shape(const struct pk_model_shape *s, struct pk_arena *a,
                                   struct pk_gradients *out, struct pk_err *err) PK_MUST_CHECK;

enum { PK_GRADIENTS_MAX = 100000 };

/* Reads a file of lines "NAME ELEMENTS" in the order of the model; gradients have the reverse order. '#' begins a comment. Time is
 * proportional to elements. PK_E_USAGE with the line number for an invalid file. */
enum pk_code pk_gradients_read(const char *path, struct pk_arena *a, struct pk_gradients *out,
                               struct pk_err *err) PK_MUST_CHECK;
