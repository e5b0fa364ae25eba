/* Elements: maps of arrays, and the gated unit. */
#include "ops/cpu/cpu_ops.h"

struct map_job {
    enum pk_map map;
    enum pk_dtype type;
    const char *a, *b;
    char *y;
    size_t n;
};

static void map_run(const struct pk_cpu_pass *p, size_t run)
{
    const struct map_job *j = p->op;
    const size_t at = run * PK_CPU_RUN * pk_dtype_bytes(j->type);
    p->kernels->map(j->map, j->type, j->a + at, j->b ? j->b + at : NULL, j->y + at,
                    pk_cpu_run_length(j->n, run));
}

enum pk_code pk_cpu_map(struct pk_device *dev, enum pk_map map, enum pk_dtype type, const void *a,
                        const void *b, void *y, size_t n, struct pk_err *err)
{
    pk_cpu_each_run(dev, &(struct map_job){map, type, a, b, y, n}, n, map_run);
    return PK_OK;
}

static void glu_row(const struct pk_cpu_pass *p, size_t row)
{
    p->kernels->glu(p->op, row);
}

enum pk_code pk_cpu_glu(struct pk_device *dev, const struct pk_glu *g, struct pk_err *err)
{
    pk_cpu_each_row(dev, g, g->rows, g->cols, glu_row);
    return PK_OK;
}

static void glu_backward_row(const struct pk_cpu_pass *p, size_t row)
{
    p->kernels->glu_backward(p->op, row);
}

enum pk_code pk_cpu_glu_backward(struct pk_device *dev, const struct pk_glu_backward *g, struct pk_err *err)
{
    pk_cpu_each_row(dev, g, g->rows, g->cols, glu_backward_row);
    return PK_OK;
}
