/* Embed: rows of a table by their tokens, and the table's gradient.
 *
 * The gradient is divided by rows of the table: each task reads all tokens and adds up those of its rows in the tokens' order, so that
 * sums do not depend on the number of threads. */
#include "base/err.h"
#include "ops/cpu/cpu_ops.h"

#include <string.h>

static void embed_row(const struct pk_cpu_pass *p, size_t row)
{
    const struct pk_embed *e = p->op;
    const size_t bytes = e->cols * pk_dtype_bytes(e->dtype);
    pk_assert(e->tokens[row] >= 0 && (size_t)e->tokens[row] < e->vocab);
    memcpy((char *)e->out + row * bytes, (const char *)e->table + (size_t)e->tokens[row] * bytes, bytes);
}

enum pk_code pk_cpu_embed(struct pk_device *dev, const struct pk_embed *e, struct pk_err *err)
{
    pk_cpu_each_row(dev, e, e->rows, e->cols, embed_row);
    return PK_OK;
}

enum { SHARES_PER_THREAD = 4 }; /* of the table: tokens are not spread evenly */

struct backward_job {
    const struct pk_embed_backward *e;
    const struct pk_kernels *kernels;
    unsigned char *met; /* [vocab] */
    size_t share;       /* rows of the table */
};

/* The first of a token's rows is stored, the others are added: the table is not read for tokens that are met once. With `add` every token
 * counts as met before. */
static void gather(const struct backward_job *j, size_t row)
{
    const struct pk_embed_backward *e = j->e;
    const size_t token = (size_t)e->tokens[row], n = e->cols;
    const char *from = (const char *)e->d_out + row * n * pk_dtype_bytes(e->dtype);
    float *to = e->d_table + token * n;
    if (j->met[token])
        j->kernels->add(e->dtype, from, to, n);
    else if (e->dtype == PK_BF16)
        j->kernels->widen((const uint16_t *)(const void *)from, to, n);
    else
        memcpy(to, from, n * sizeof *to);
    j->met[token] = 1;
}

static void backward_task(void *arg, size_t task, unsigned thread)
{
    const struct backward_job *j = arg;
    const struct pk_embed_backward *e = j->e;
    const size_t begin = task * j->share, n = e->vocab - begin < j->share ? e->vocab - begin : j->share;
    memset(j->met + begin, e->add != 0, n);
    for (size_t row = 0; row < e->rows; row++) {
        pk_assert(e->tokens[row] >= 0 && (size_t)e->tokens[row] < e->vocab);
        if ((size_t)e->tokens[row] - begin < n)
            gather(j, row);
    }
    for (size_t token = begin; token < begin + n; token++)
        if (!j->met[token])
            memset(e->d_table + token * e->cols, 0, e->cols * sizeof *e->d_table);
}

enum pk_code pk_cpu_embed_backward(struct pk_device *dev, const struct pk_embed_backward *e,
                                   struct pk_err *err)
{
    struct backward_job j = {.e = e, .kernels = pk_kernels_of(pk_cpu_isa(dev))};
    j.met = pk_device_alloc(dev, e->vocab, PK_TAG_WORKSPACE);
    if (!j.met)
        return pk_device_oom(dev, err);
    j.share = e->vocab / (pk_cpu_threads(dev) * SHARES_PER_THREAD) + 1;
    pk_cpu_parallel_for(dev, backward_task, &j, (e->vocab + j.share - 1) / j.share);
    pk_device_free(dev, j.met);
    return PK_OK;
}
