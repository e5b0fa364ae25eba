/* Embed: rows of a table by their tokens, and the table's gradient.
 *
 * The gradient is divided by rows of the table: whoever has some of them reads all tokens and adds up theirs in the tokens' order, so
 * that sums are the same however many threads there are. */
#include "base/assert.h"
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
    size_t share; /* rows of the table */
};

static void backward_task(void *arg, size_t task, unsigned thread)
{
    const struct backward_job *j = arg;
    const struct pk_embed_backward *e = j->e;
    const size_t begin = task * j->share, cols = e->cols, bytes = cols * pk_dtype_bytes(e->dtype);
    const size_t n = e->vocab - begin < j->share ? e->vocab - begin : j->share;
    memset(e->d_table + begin * cols, 0, n * cols * sizeof *e->d_table);
    for (size_t row = 0; row < e->rows; row++) {
        pk_assert(e->tokens[row] >= 0 && (size_t)e->tokens[row] < e->vocab);
        const size_t token = (size_t)e->tokens[row];
        if (token - begin < n)
            j->kernels->add(e->dtype, (const char *)e->d_out + row * bytes, e->d_table + token * cols, cols);
    }
}

enum pk_code pk_cpu_embed_backward(struct pk_device *dev, const struct pk_embed_backward *e,
                                   struct pk_err *err)
{
    struct backward_job j = {.e = e, .kernels = pk_kernels_of(pk_cpu_isa(dev))};
    j.share = e->vocab / (pk_cpu_threads(dev) * SHARES_PER_THREAD) + 1;
    pk_cpu_parallel_for(dev, backward_task, &j, (e->vocab + j.share - 1) / j.share);
    return PK_OK;
}
