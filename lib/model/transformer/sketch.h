/* Sketch: a few hundred numbers from which the distance of two gradients of any size is estimated, so that they need not lie in
 * one process, or in memory at once.
 *
 * CountSketch (Charikar, Chen and Farach-Colton 2002): element i is added, with a sign, to one of PK_SKETCH numbers, both from a hash of
 * i. The sum of squared differences of two sketches estimates the squared distance of the arrays without bias, with a relative
 * standard deviation of at most sqrt(2 / PK_SKETCH), 9 %. */
#pragma once

#include "model/transformer/transformer.h"

enum { PK_SKETCH = 256 };

struct pk_sketch {
    double norm; /* exact */
    double v[PK_SKETCH];
};

/* Of t->g; host memory of the largest parameter's size for the time of the call. PK_E_CHECK names the first parameter whose gradient is not
 * finite. */
enum pk_code pk_transformer_sketch(struct pk_transformer *t, struct pk_sketch *out,
                                   struct pk_err *err) PK_MUST_CHECK;
