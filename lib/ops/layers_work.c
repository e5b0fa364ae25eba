/* Work of layers: what each must read and write, from its shapes. */
#include "ops/layers.h"

enum { FLOAT = sizeof(float), TOKEN = sizeof(int32_t) };

static double bytes_of(enum pk_dtype type)
{
    return (double)pk_dtype_bytes(type);
}

struct pk_work pk_work_embed(const struct pk_embed *e)
{
    const double rows = (double)e->rows, n = rows * (double)e->cols;
    return (struct pk_work){.bytes = TOKEN * rows + 2 * bytes_of(e->dtype) * n};
}

/* Sums are gathered row by row of the table, which is written once. */
struct pk_work pk_work_embed_backward(const struct pk_embed_backward *e)
{
    const double rows = (double)e->rows, cols = (double)e->cols;
    return (struct pk_work){.bytes = TOKEN * rows + bytes_of(e->dtype) * rows * cols +
                                     FLOAT * (double)e->vocab * cols};
}

struct pk_work pk_work_norm(const struct pk_norm *n)
{
    const double rows = (double)n->rows, cols = (double)n->cols;
    const double passes = n->delta ? 4 : 2; /* x, delta, sum, y */
    return (struct pk_work){.bytes = passes * bytes_of(n->dtype) * rows * cols + FLOAT * cols +
                                     (n->rstd ? FLOAT * rows : 0)};
}

struct pk_work pk_work_norm_backward(const struct pk_norm_backward *n)
{
    const double rows = (double)n->rows, cols = (double)n->cols;
    const double passes = n->d_s ? 4 : 3; /* s, d_y, d_s, d_x */
    return (struct pk_work){.bytes = passes * bytes_of(n->dtype) * rows * cols + FLOAT * (2 * cols + rows)};
}

struct pk_work pk_work_heads(const struct pk_heads *h)
{
    const double seq = (double)h->seq, dim = (double)h->dim;
    const double n = (double)h->batch * seq * (double)h->parts * (double)h->heads * dim;
    return (struct pk_work){.bytes = 2 * bytes_of(h->dtype) * n + (h->turned ? FLOAT * seq * dim : 0)};
}

struct pk_work pk_work_map(enum pk_map map, enum pk_dtype type, size_t n)
{
    static const struct {
        double arrays, exps;
    } of[PK_MAPS] = {
        [PK_MAP_ADD] = {3, 0},
        [PK_MAP_MUL] = {3, 0},
        [PK_MAP_SILU] = {2, 1},
        [PK_MAP_SILU_BACKWARD] = {3, 1},
    };
    return (struct pk_work){.bytes = of[map].arrays * bytes_of(type) * (double)n,
                            .exps = of[map].exps * (double)n};
}

struct pk_work pk_work_glu(const struct pk_glu *g)
{
    const double n = (double)g->rows * (double)g->cols;
    return (struct pk_work){.bytes = 3 * bytes_of(g->dtype) * n, .exps = n};
}

struct pk_work pk_work_glu_backward(const struct pk_glu_backward *g)
{
    const double n = (double)g->rows * (double)g->cols;
    const double passes = g->y ? 6 : 5; /* gate, up, d_y, d_gate, d_up, y */
    return (struct pk_work){.bytes = passes * bytes_of(g->dtype) * n, .exps = n};
}

/* An exponential for each logit, however a device gets at it the second time, and a logarithm for each row. */
struct pk_work pk_work_cross_entropy(const struct pk_cross_entropy *x)
{
    const double rows = (double)x->rows, cols = (double)x->cols;
    const double touched = cols + (x->d_logits ? (double)x->stride : 0);
    return (struct pk_work){.bytes = rows * (bytes_of(x->dtype) * touched + TOKEN + FLOAT),
                            .exps = rows * (cols + 1)};
}

struct pk_work pk_work_log_softmax(const struct pk_log_softmax *x)
{
    const double rows = (double)x->rows, cols = (double)x->cols;
    return (struct pk_work){.bytes = rows * cols * (bytes_of(x->dtype) + FLOAT), .exps = rows * (cols + 1)};
}

struct pk_work pk_work_nll(const struct pk_nll *x)
{
    return (struct pk_work){.bytes = (double)x->rows * (FLOAT + TOKEN + FLOAT)};
}

struct pk_work pk_work_nll_backward(const struct pk_nll_backward *x)
{
    const double rows = (double)x->rows, n = rows * (double)x->cols;
    return (struct pk_work){.bytes = n * (FLOAT + bytes_of(x->dtype)) + TOKEN * rows, .exps = n};
}

struct pk_work pk_work_mean(size_t n)
{
    return (struct pk_work){.bytes = FLOAT * ((double)n + 1)};
}

struct pk_work pk_work_adamw_tick(void)
{
    return (struct pk_work){.bytes = 6 * FLOAT};
}

/* Passes asked for together read and write an array once. */
struct pk_work pk_work_adamw(const struct pk_adamw *a)
{
    const unsigned both = PK_ADAMW_DENOM | PK_ADAMW_UPDATE;
    const unsigned by_scratch = (a->passes & both) == both ? 0 : a->passes & both;
    const struct {
        unsigned read_by, written_by;
        double bytes;
    } arrays[] = {
        {PK_ADAMW_DECAY | PK_ADAMW_UPDATE | PK_ADAMW_NARROW, PK_ADAMW_DECAY | PK_ADAMW_UPDATE, FLOAT}, /* p */
        {PK_ADAMW_FIRST | PK_ADAMW_UPDATE, PK_ADAMW_FIRST, FLOAT},                                     /* m */
        {PK_ADAMW_SECOND | PK_ADAMW_DENOM, PK_ADAMW_SECOND, FLOAT},                                    /* v */
        {PK_ADAMW_FIRST | PK_ADAMW_SECOND, 0, bytes_of(a->g_type)},                                    /* g */
        {by_scratch & PK_ADAMW_UPDATE, by_scratch & PK_ADAMW_DENOM, FLOAT}, /* scratch */
        {0, PK_ADAMW_NARROW, bytes_of(PK_BF16)},
    };
    double bytes = 0;
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        bytes += arrays[i].bytes * (!!(a->passes & arrays[i].read_by) + !!(a->passes & arrays[i].written_by));
    return (struct pk_work){.bytes = bytes * (double)a->n};
}
