/* Pass: operations on the model's shapes, nothing after the first failure. */
#include "model/transformer/transformer_private.h"

#include "ops/ops.h"

static void *allocate(struct pk_model_pass *p, size_t bytes)
{
    void *x = p->rc ? NULL : pk_device_alloc(p->dev, bytes, PK_TAG_ACTIVATIONS);
    if (!x && !p->rc)
        p->rc = pk_device_oom(p->dev, p->err);
    return x;
}

void *pk_pass_take(struct pk_model_pass *p, size_t n)
{
    return allocate(p, n * pk_dtype_bytes(p->t->c.dtype));
}

float *pk_pass_take_fp32(struct pk_model_pass *p, size_t n)
{
    return allocate(p, n * sizeof(float));
}

static void multiply(struct pk_model_pass *p, struct pk_gemm g, enum pk_dtype c_type)
{
    g.batch = 1;
    g.alpha = 1;
    g.ab_type = p->t->c.dtype;
    g.c_type = c_type;
    g.math = p->t->c.math;
    PK_PASS_RUN(p, pk_op_gemm(p->dev, &g, p->err));
}

void *pk_pass_product(struct pk_model_pass *p, struct pk_weight w, const void *x)
{
    const size_t rows = pk_pass_tokens(p);
    void *y = pk_pass_take(p, rows * w.out);
    multiply(
        p,
        (struct pk_gemm){
            .m = rows, .n = w.out, .k = w.in, .tb = PK_T, .a = x, .b = pk_pass_weights(p, w.offset), .c = y},
        p->t->c.dtype);
    return y;
}

void *pk_pass_product_back(struct pk_model_pass *p, struct pk_weight w, const void *dy)
{
    const size_t rows = pk_pass_tokens(p);
    void *dx = pk_pass_take(p, rows * w.in);
    multiply(p,
             (struct pk_gemm){
                 .m = rows, .n = w.in, .k = w.out, .a = dy, .b = pk_pass_weights(p, w.offset), .c = dx},
             p->t->c.dtype);
    return dx;
}

void pk_pass_weight_gradient(struct pk_model_pass *p, struct pk_weight w, const void *dy, const void *x)
{
    const size_t rows = pk_pass_tokens(p);
    multiply(p,
             (struct pk_gemm){.m = w.out,
                              .n = w.in,
                              .k = rows,
                              .ta = PK_T,
                              .beta = p->t->add ? 1 : 0,
                              .a = dy,
                              .b = x,
                              .c = p->t->g + w.offset},
             PK_FP32);
    pk_pass_ready(p, w.first, w.adjacent);
}

void pk_pass_ready(struct pk_model_pass *p, const struct pk_parameter *first, size_t adjacent)
{
    const struct pk_gradient_hook *h = &p->t->hook;
    for (size_t i = adjacent; h->ready && !p->rc && i-- > 0;)
        p->rc = h->ready(h->user, (size_t)(first - p->t->layout.v) + i, p->err);
}

void *pk_pass_norm(struct pk_model_pass *p, const struct pk_parameter *w, const void *x, void *delta,
                   float **rstd)
{
    const struct pk_transformer_config *c = &p->t->c;
    const size_t rows = pk_transformer_tokens(c);
    if (rstd)
        *rstd = pk_pass_take_fp32(p, rows);
    const struct pk_norm n = {.rows = rows,
                              .cols = c->width,
                              .eps = PK_NORM_EPS,
                              .dtype = c->dtype,
                              .x = x,
                              .delta = delta,
                              .sum = delta,
                              .w = p->t->p + w->offset,
                              .y = pk_pass_take(p, rows * c->width),
                              .rstd = rstd ? *rstd : NULL};
    PK_PASS_RUN(p, pk_op_norm(p->dev, &n, p->err));
    return n.y;
}

void pk_pass_norm_back(struct pk_model_pass *p, const struct pk_parameter *w, const void *s,
                       const float *rstd, void **d_y, void **d, bool residual)
{
    const struct pk_transformer_config *c = &p->t->c;
    const size_t rows = pk_transformer_tokens(c), n = rows * c->width;
    const bool folded = residual && c->fused;
    const struct pk_norm_backward b = {.rows = rows,
                                       .cols = c->width,
                                       .dtype = c->dtype,
                                       .s = s,
                                       .w = p->t->p + w->offset,
                                       .rstd = rstd,
                                       .d_y = *d_y,
                                       .d_s = folded ? *d : NULL,
                                       .d_x = c->fused ? *d_y : pk_pass_take(p, n),
                                       .d_w = p->t->g + w->offset,
                                       .add = p->t->add};
    PK_PASS_RUN(p, pk_op_norm_backward(p->dev, &b, p->err));
    pk_pass_ready(p, w, 1);
    if (residual && !folded)
        pk_pass_add(p, b.d_x, *d, n);
    if (!c->fused)
        PK_PASS_DROP(p, *d_y);
    *d_y = NULL;
    PK_PASS_DROP(p, *d);
    *d = b.d_x;
}

void *pk_pass_map(struct pk_model_pass *p, enum pk_map map, const void *a, const void *b, size_t n)
{
    void *y = pk_pass_take(p, n);
    PK_PASS_RUN(p, pk_op_map(p->dev, map, p->t->c.dtype, a, b, y, n, p->err));
    return y;
}

void pk_pass_add(struct pk_model_pass *p, void *y, const void *x, size_t n)
{
    PK_PASS_RUN(p, pk_op_map(p->dev, PK_MAP_ADD, p->t->c.dtype, y, x, y, n, p->err));
}

/* n: of a part of the rows. */
static struct pk_heads heads(const struct pk_model_pass *p, size_t n, void *rows, unsigned parts,
                             unsigned rotated)
{
    const struct pk_transformer_config *c = &p->t->c;
    return (struct pk_heads){.batch = c->batch,
                             .seq = c->seq,
                             .heads = n,
                             .dim = c->width / c->heads,
                             .parts = parts,
                             .rotated = rotated,
                             .dtype = c->dtype,
                             .rope_table = rotated ? p->t->rope_table : NULL,
                             .rows = rows};
}

void pk_pass_split(struct pk_model_pass *p, size_t n, void *rows, unsigned parts, unsigned rotated,
                   void *head[])
{
    struct pk_heads h = heads(p, n, rows, parts, rotated);
    for (unsigned i = 0; i < parts; i++)
        h.head[i] = head[i] = pk_pass_take(p, pk_pass_tokens(p) * n * h.dim);
    PK_PASS_RUN(p, pk_op_split_heads(p->dev, &h, p->err));
}

void *pk_pass_merge(struct pk_model_pass *p, size_t n, void *const head[], unsigned parts, unsigned rotated)
{
    struct pk_heads h = heads(p, n, NULL, parts, rotated);
    h.rows = pk_pass_take(p, parts * pk_pass_tokens(p) * n * h.dim);
    for (unsigned i = 0; i < parts; i++)
        h.head[i] = head[i];
    PK_PASS_RUN(p, pk_op_merge_heads(p->dev, &h, p->err));
    return h.rows;
}

/* The q and the k and v of rows that hold all three. */
static void grouped(struct pk_model_pass *p, void *rows, struct pk_heads of[2])
{
    const struct pk_transformer_config *c = &p->t->c;
    const size_t kv = pk_transformer_kv_heads(c);
    of[0] = heads(p, c->heads, rows, 1, 1);
    of[1] = heads(p, kv, pk_pass_at(p, rows, c->width), 2, 1);
    of[0].stride = of[1].stride = c->width + 2 * pk_transformer_kv_width(c);
    of[1].repeat = c->heads / kv;
}

void pk_pass_split_qkv(struct pk_model_pass *p, void *rows, void *head[3])
{
    const struct pk_transformer_config *c = &p->t->c;
    struct pk_heads h[2];
    if (pk_transformer_kv_heads(c) == c->heads) {
        pk_pass_split(p, c->heads, rows, 3, 3, head);
        return;
    }
    grouped(p, rows, h);
    for (unsigned i = 0; i < 3; i++)
        h[i > 0].head[i ? i - 1 : 0] = head[i] = pk_pass_take(p, pk_transformer_tokens(c) * c->width);
    PK_PASS_RUN(p, pk_op_split_heads(p->dev, &h[0], p->err));
    PK_PASS_RUN(p, pk_op_split_heads(p->dev, &h[1], p->err));
}

void *pk_pass_merge_qkv(struct pk_model_pass *p, void *const head[3])
{
    const struct pk_transformer_config *c = &p->t->c;
    struct pk_heads h[2];
    if (pk_transformer_kv_heads(c) == c->heads)
        return pk_pass_merge(p, c->heads, head, 3, 3);
    void *rows = pk_pass_take(p, pk_transformer_tokens(c) * (c->width + 2 * pk_transformer_kv_width(c)));
    grouped(p, rows, h);
    for (unsigned i = 0; i < 3; i++)
        h[i > 0].head[i ? i - 1 : 0] = head[i];
    PK_PASS_RUN(p, pk_op_merge_heads(p->dev, &h[0], p->err));
    PK_PASS_RUN(p, pk_op_merge_heads(p->dev, &h[1], p->err));
    return rows;
}

/* A whole head, all its positions, is one row of one position: rows and heads differ in the repetitions alone. */
void *pk_pass_repeat(struct pk_model_pass *p, void *head, bool back)
{
    const struct pk_transformer_config *c = &p->t->c;
    const size_t kv = pk_transformer_kv_heads(c), dim = c->width / c->heads;
    void *y = pk_pass_take(p, pk_transformer_tokens(c) * (back ? kv * dim : c->width));
    struct pk_heads h = heads(p, 1, back ? y : head, 1, 0);
    h.batch = c->batch * kv;
    h.seq = 1;
    h.dim = c->seq * dim;
    h.repeat = c->heads / kv;
    h.head[0] = back ? head : y;
    PK_PASS_RUN(p, back ? pk_op_merge_heads(p->dev, &h, p->err) : pk_op_split_heads(p->dev, &h, p->err));
    return y;
}

/* One head of one part, batch * n times: rows and heads are then laid out alike. */
void *pk_pass_rotate(struct pk_model_pass *p, size_t n, void *head, bool back)
{
    const struct pk_transformer_config *c = &p->t->c;
    void *y = pk_pass_take(p, pk_transformer_tokens(c) * n * (c->width / c->heads));
    struct pk_heads h = heads(p, 1, back ? y : head, 1, 1);
    h.batch *= n;
    h.head[0] = back ? head : y;
    PK_PASS_RUN(p, back ? pk_op_merge_heads(p->dev, &h, p->err) : pk_op_split_heads(p->dev, &h, p->err));
    return y;
}
