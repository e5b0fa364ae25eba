/* Flash bench: launches between marks of the compute lane. */
#include "flash_bench.h"

#include "device/cuda/cuda.h"
#include "device/mark.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RUNS = 7 };

static void must(const struct flash_bench *b, enum pk_code rc)
{
    if (rc) {
        fprintf(stderr, "%s\n  why: %s\n", b->err.what, b->err.why);
        exit(EXIT_FAILURE);
    }
}

static size_t elements(const struct flash_bench *b)
{
    return b->at.batch * b->at.seq * b->at.dim;
}

void *flash_memory(struct flash_bench *b, size_t bytes)
{
    void *x = bytes ? pk_device_alloc(b->dev, bytes, PK_TAG_OTHER) : NULL;
    if (bytes && !x)
        must(b, pk_device_oom(b->dev, &b->err));
    return x;
}

double flash_best_ns(struct flash_bench *b, const struct pk_flash_parts *parts, float *memory)
{
    const struct pk_cuda_traits *t = pk_cuda_traits(b->dev);
    const struct pk_chip chip = {t->multiprocessors, t->shared_bytes};
    double best = INFINITY;
    for (int run = 0; run <= RUNS; run++) {
        pk_marks_clear(&b->dev->marks);
        pk_mark_begin(b->dev, 0, PK_LANE_COMPUTE);
        const int rc = b->launch(pk_cuda_stream(b->dev, PK_LANE_COMPUTE), &chip, &b->at, parts, memory);
        pk_mark_end(b->dev, 0, PK_LANE_COMPUTE);
        must(b, pk_cuda_check(b->dev, rc, "launching flash attention", &b->err));
        must(b, pk_device_sync(b->dev, &b->err));
        const double ns = fmax(1, (double)pk_mark_lane_ns(b->dev, &b->dev->marks.v[0]));
        best = run ? fmin(best, ns) : best;
    }
    return best;
}

float *flash_results(struct flash_bench *b)
{
    const size_t n = elements(b), each = n * sizeof(float);
    void *const from[] = {b->backward ? b->at.dq : b->at.o, b->at.dk, b->at.dv};
    const size_t arrays = b->backward ? 3 : 1;
    float *host = malloc(arrays * each);
    pk_assert(host);
    for (size_t i = 0; i < arrays; i++)
        must(b, pk_device_copy(b->dev, PK_LANE_COMPUTE, PK_COPY_DEVICE_TO_HOST, host + i * n, from[i], each,
                               &b->err));
    must(b, pk_device_sync(b->dev, &b->err));
    return host;
}

double flash_difference(const float *a, const float *b, size_t n)
{
    double off = 0, size = 0;
    for (size_t i = 0; i < n; i++) {
        off += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        size += (double)a[i] * a[i];
    }
    return sqrt(off / size);
}

void flash_take(struct flash_bench *b)
{
    enum { ARRAYS = 8 };
    const size_t n = elements(b);
    float *v[ARRAYS];
    for (size_t i = 0; i < ARRAYS; i++) {
        v[i] = flash_memory(b, n * sizeof(float));
        must(b, pk_op_fill(b->dev, &(struct pk_fill){v[i], 1, n, n, i}, 1, &b->err));
    }
    b->at.q = v[0], b->at.k = v[1], b->at.v = v[2], b->at.d_o = v[3];
    b->at.o = v[4], b->at.dq = v[5], b->at.dk = v[6], b->at.dv = v[7];
    b->at.lse = flash_memory(b, b->at.batch * b->at.seq * sizeof(float));
}

void flash_free(struct flash_bench *b)
{
    const void *const arrays[] = {b->at.q,  b->at.k,  b->at.v,  b->at.d_o, b->at.o,
                                  b->at.dq, b->at.dk, b->at.dv, b->at.lse};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        pk_device_free(b->dev, (void *)(uintptr_t)arrays[i]);
}
