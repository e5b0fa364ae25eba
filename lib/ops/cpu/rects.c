/* Rects: n rectangles laid end to end and cut into shares of equal size, wherever a cut falls. */
#include "ops/ops.h"

#include "ops/cpu/cpu_ops.h"

enum {
    SHARES_PER_THREAD = 8, /* so that threads do not wait long for the slowest */
    SHARE_MIN = 1 << 14,   /* units: fewer are not worth a thread */
    SHARE_UNIT = 64        /* shares are whole multiples: of cache lines, when rectangles are */
};

struct rects_job {
    const struct pk_kernels *kernels;
    const struct pk_copy2d *copies; /* units are bytes */
    const struct pk_fill *fills;    /* units are elements */
    size_t n;
    size_t total, share; /* units */
};

static size_t units(const struct rects_job *j, size_t i)
{
    return j->copies ? j->copies[i].rows * j->copies[i].row_bytes : j->fills[i].rows * j->fills[i].cols;
}

/* From byte `from` to byte `to` of a rectangle: the end of a row, whole rows, the beginning of one. */
static void copy_part(const struct rects_job *j, const struct pk_copy2d *c, size_t from, size_t to)
{
    while (from < to) {
        size_t row = from / c->row_bytes, column = from % c->row_bytes, left = to - from;
        bool whole = !column && left >= c->row_bytes;
        size_t rows = whole ? left / c->row_bytes : 1;
        size_t bytes = whole ? c->row_bytes : left < c->row_bytes - column ? left : c->row_bytes - column;
        j->kernels->copy2d(&(struct pk_copy2d){.src = (const char *)c->src + row * c->src_stride + column,
                                               .dst = (char *)c->dst + row * c->dst_stride + column,
                                               .rows = rows,
                                               .row_bytes = bytes,
                                               .src_stride = c->src_stride,
                                               .dst_stride = c->dst_stride});
        from += rows * bytes;
    }
}

static void fill_part(const struct rects_job *j, const struct pk_fill *f, size_t from, size_t to)
{
    while (from < to) {
        size_t row = from / f->cols, column = from % f->cols, left = to - from;
        size_t n = f->cols == f->columns || left < f->cols - column ? left : f->cols - column;
        j->kernels->fill((char *)f->dst + from * pk_dtype_bytes(f->dtype), n, f->dtype, f->seed,
                         row * f->columns + column);
        from += n;
    }
}

static void share_task(void *arg, size_t task, unsigned thread)
{
    const struct rects_job *j = arg;
    size_t begin = task * j->share, end = begin + j->share, at = 0;
    for (size_t i = 0; i < j->n && at < end; i++) {
        size_t n = units(j, i), from = begin > at ? begin - at : 0, to = end - at < n ? end - at : n;
        at += n;
        if (from >= to)
            continue;
        if (j->copies)
            copy_part(j, &j->copies[i], from, to);
        else
            fill_part(j, &j->fills[i], from, to);
    }
}

static enum pk_code run(struct pk_device *dev, struct rects_job j)
{
    j.kernels = pk_kernels_of(pk_cpu_isa(dev));
    for (size_t i = 0; i < j.n; i++)
        j.total += units(&j, i);
    size_t share = j.total / (pk_cpu_threads(dev) * SHARES_PER_THREAD) + 1;
    share = share < SHARE_MIN ? SHARE_MIN : share;
    j.share = (share + SHARE_UNIT - 1) / SHARE_UNIT * SHARE_UNIT;
    pk_cpu_parallel_for(dev, share_task, &j, (j.total + j.share - 1) / j.share);
    return PK_OK;
}

enum pk_code pk_cpu_copy2d(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_err *err)
{
    return run(dev, (struct rects_job){.copies = v, .n = n});
}

enum pk_code pk_cpu_fill(struct pk_device *dev, const struct pk_fill *v, size_t n, struct pk_err *err)
{
    return run(dev, (struct rects_job){.fills = v, .n = n});
}

/* One after the other: there are thousands at most, less than it takes to wake a thread for. */
enum pk_code pk_cpu_table_patch(struct pk_device *dev, uint64_t *table, const struct pk_table_patch *v,
                                size_t n, struct pk_err *err)
{
    for (size_t i = 0; i < n; i++)
        table[v[i].index] = v[i].value;
    return PK_OK;
}
