/* Plain: vanilla attention as one would write it by hand for this machine: BLAS, pthreads, loops for the compiler. The
 * yardstick of the yardstick; one problem per thread at a time, a barrier after each kernel. */
#pragma once

#include "device/cpu/blas.h"

#include <stddef.h>

struct plain {
    size_t problems, seq, dim;
    float scale;
    const float *q, *k, *v, *d_o;
    float *s, *t, *p; /* [problems, seq, seq]; p may be s */
    float *dp, *ds, *dt;
    float *o, *dq, *dk, *dv;
};

struct plain_threads;
struct plain_threads *plain_start(unsigned threads, const unsigned *cpus, const struct pk_blas *blas);
void plain_stop(struct plain_threads *c);
void plain_forward(struct plain_threads *c, const struct plain *a);
void plain_backward(struct plain_threads *c, const struct plain *a);
