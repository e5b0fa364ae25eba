/* Heads: rows of tokens taken apart into heads and put together again, turned on the way. */
#include "ops/cpu/cpu_ops.h"

#include <string.h>

enum { BLOCK = 16 }; /* tokens: their rows stay in the L2 cache while they are gone through head by head */

struct heads_job {
    const struct pk_heads *h;
    bool merge;
    size_t blocks; /* of one problem */
};

/* dim elements at position t, from one layout to the other. */
static void move(const struct pk_cpu_pass *p, unsigned part, size_t t, char *row, char *head)
{
    const struct heads_job *j = p->op;
    const struct pk_heads *h = j->h;
    const char *from = j->merge ? head : row;
    char *to = j->merge ? row : head;
    if (h->turned >> part & 1)
        p->kernels->turn(h->dtype, from, to, h->turns + t * h->dim, j->merge ? -1.0f : 1.0f, h->dim);
    else
        memmove(to, from, h->dim * pk_dtype_bytes(h->dtype));
}

static void heads_block(const struct pk_cpu_pass *p, size_t block)
{
    const struct heads_job *j = p->op;
    const struct pk_heads *h = j->h;
    const size_t b = block / j->blocks, t0 = block % j->blocks * BLOCK, width = h->parts * h->heads;
    const size_t t1 = t0 + BLOCK < h->seq ? t0 + BLOCK : h->seq, bytes = h->dim * pk_dtype_bytes(h->dtype);
    for (size_t i = 0; i < width; i++) {
        const unsigned part = (unsigned)(i / h->heads);
        char *row = (char *)h->rows + (b * h->seq * width + i) * bytes;
        char *head = (char *)h->head[part] + (b * h->heads + i % h->heads) * h->seq * bytes;
        for (size_t t = t0; t < t1; t++)
            move(p, part, t, row + t * width * bytes, head + t * bytes);
    }
}

static enum pk_code run(struct pk_device *dev, const struct pk_heads *h, bool merge)
{
    const struct heads_job j = {h, merge, (h->seq + BLOCK - 1) / BLOCK};
    pk_cpu_each_row(dev, &j, h->batch * j.blocks, BLOCK * h->parts * h->heads * h->dim, heads_block);
    return PK_OK;
}

enum pk_code pk_cpu_split_heads(struct pk_device *dev, const struct pk_heads *h, struct pk_err *err)
{
    return run(dev, h, false);
}

enum pk_code pk_cpu_merge_heads(struct pk_device *dev, const struct pk_heads *h, struct pk_err *err)
{
    return run(dev, h, true);
}
