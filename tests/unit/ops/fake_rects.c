/* Fake rects: what rects.cu exports, as plain loops in the fake runtime's streams, so that captures record them. The real kernels are
 * checked in tests/cudashim. */
#include "../device/fake_cuda.h"
#include "ops/cuda/kernels.h"

#include <string.h>

static void copy_one(const void *args)
{
    const struct pk_copy2d *c = args;
    for (size_t r = 0; r < c->rows; r++)
        memcpy((char *)c->dst + r * c->dst_stride, (const char *)c->src + r * c->src_stride, c->row_bytes);
}

static void fill_one(const void *args)
{
    const struct pk_fill *f = args;
    for (size_t k = 0; k < f->rows * f->cols; k++) {
        const float x = pk_fill_value(f->seed, k / f->cols * f->columns + k % f->cols);
        if (f->dtype == PK_BF16)
            ((uint16_t *)f->dst)[k] = pk_bf16_of_float(x);
        else
            ((float *)f->dst)[k] = x;
    }
}

struct table {
    const struct pk_copy_piece *v;
    size_t n;
};

/* Read when it runs, as the kernel does. */
static void copy_all(const void *args)
{
    const struct table *t = args;
    for (size_t i = 0; i < t->n; i++)
        copy_one(&t->v[i].c);
}

/* Read + written, of pk_k_copy2d; 0 = a copy takes no time. */
extern double fake_copy_bytes_per_ns;
double fake_copy_bytes_per_ns;

int pk_k_copy2d(pk_stream s, const struct pk_copy2d *v, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        fake_cuda_launch(s, copy_one, &v[i], sizeof v[i]);
        if (fake_copy_bytes_per_ns > 0)
            fake_cuda_work(s, (uint64_t)(2 * (double)(v[i].rows * v[i].row_bytes) / fake_copy_bytes_per_ns));
    }
    return 0;
}

size_t pk_k_copy_pieces(const struct pk_copy2d *v, size_t n, struct pk_copy_piece *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (struct pk_copy_piece){v[i], i};
    return n;
}

int pk_k_copy_table(pk_stream s, const struct pk_copy_piece *table, size_t n, size_t tiles)
{
    const struct table t = {table, n};
    fake_cuda_launch(s, copy_all, &t, sizeof t);
    return 0;
}

int pk_k_fill(pk_stream s, const struct pk_fill *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fake_cuda_launch(s, fill_one, &v[i], sizeof v[i]);
    return 0;
}

struct patches {
    uint64_t *table;
    const struct pk_table_patch *v;
    size_t n;
};

static void patch_all(const void *args)
{
    const struct patches *p = args;
    for (size_t i = 0; i < p->n; i++)
        p->table[p->v[i].index] = p->v[i].value;
}

int pk_k_table_patch(pk_stream s, uint64_t *table, const struct pk_table_patch *v, size_t n)
{
    const struct patches p = {table, v, n};
    fake_cuda_launch(s, patch_all, &p, sizeof p);
    return 0;
}
