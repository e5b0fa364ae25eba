/* Ops: the wrappers around the open device's table. */
#include "ops/ops.h"

#include "base/err.h"
#include "build_config.h"
#include "ops/call.h"
#include "ops/rects.h"
#include "ops/table.h"

const struct pk_ops *pk_ops_of(const struct pk_device *dev)
{
    static const struct pk_ops none;
    static const struct pk_ops *const tables[PK_DEVICE_KINDS] = {
        [PK_DEVICE_CPU] = &pk_ops_cpu,
        [PK_DEVICE_NULL] = &pk_ops_null,
#ifdef PK_HAVE_CUDA
        [PK_DEVICE_CUDA] = &pk_ops_cuda,
#endif
    };
    return tables[dev->kind] ? tables[dev->kind] : &none;
}

enum pk_code pk_op_absent(const struct pk_device *dev, const char *op, struct pk_err *err)
{
    pk_fail(err, PK_E_UNAVAILABLE, "%s cannot run on device %s", op, dev->ops->kind);
    pk_why(err, "that device has no kernel for it");
    return pk_fix(err, "choose another variant, or another --device");
}

enum pk_code pk_op_gemm(struct pk_device *dev, const struct pk_gemm *g, struct pk_err *err)
{
    pk_assert(g->m && g->n && g->k && g->batch && g->a && g->b && g->c);
    pk_assert(g->c_type == g->ab_type || g->c_type == PK_FP32);
    PK_TRACED(g->of_attention ? PK_FAMILY_ATTENTION_MATMUL : PK_FAMILY_GEMM, pk_work_gemm(g), gemm, g);
}

enum pk_code pk_op_scale(struct pk_device *dev, enum pk_dtype type, float alpha, const void *x, void *y,
                         size_t n, struct pk_err *err)
{
    pk_assert(n && x && y);
    PK_TRACED(PK_FAMILY_ELEMENTWISE, pk_work_scale(type, n), scale, type, alpha, x, y, n);
}

enum pk_code pk_op_causal_mask(struct pk_device *dev, enum pk_dtype type, const void *x, void *y,
                               size_t batch, size_t seq, struct pk_err *err)
{
    pk_assert(batch && seq && x && y && x != y);
    PK_TRACED(PK_FAMILY_ELEMENTWISE, pk_work_causal_mask(type, batch, seq), causal_mask, type, x, y, batch,
              seq);
}

enum pk_code pk_op_softmax(struct pk_device *dev, enum pk_dtype type, const void *s, void *p, size_t rows,
                           size_t cols, struct pk_err *err)
{
    pk_assert(rows && cols && s && p);
    PK_TRACED(PK_FAMILY_SOFTMAX, pk_work_softmax(type, rows, cols), softmax, type, s, p, rows, cols);
}

enum pk_code pk_op_softmax_backward(struct pk_device *dev, enum pk_dtype type, const void *p, const void *dp,
                                    void *ds, size_t rows, size_t cols, struct pk_err *err)
{
    pk_assert(rows && cols && p && dp && ds && p != ds);
    PK_TRACED(PK_FAMILY_SOFTMAX, pk_work_softmax_backward(type, rows, cols), softmax_backward, type, p, dp,
              ds, rows, cols);
}

static void assert_forward(const struct pk_attention *at)
{
    pk_assert(at->batch && at->seq && at->dim && at->scale != 0 && at->q && at->k && at->v && at->o);
}

static void assert_backward(const struct pk_attention *at)
{
    assert_forward(at);
    pk_assert(at->d_o && at->dq && at->dk && at->dv);
}

/* Kernels of a captured graph go by their names, by which this one's are products and a softmax: it is declared as these. */
static bool taped_apart(struct pk_device *dev, struct pk_work all, struct pk_work softmax)
{
    if (!dev->trace || !dev->trace->tape)
        return false;
    pk_trace_add(dev, "softmax", PK_FAMILY_SOFTMAX, 0, (struct pk_declared){0, softmax.bytes});
    pk_trace_add(dev, "products", PK_FAMILY_ATTENTION_MATMUL, 0,
                 (struct pk_declared){all.flops, all.bytes - softmax.bytes});
    return true;
}

enum pk_code pk_op_fused_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    assert_forward(at);
    pk_assert(at->p);
    if (taped_apart(dev, pk_work_fused_forward(at), pk_work_fused_softmax(at, false)))
        return PK_CALL(fused_forward, at);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_fused_forward(at), fused_forward, at);
}

enum pk_code pk_op_fused_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    assert_backward(at);
    pk_assert(at->p);
    if (taped_apart(dev, pk_work_fused_backward(at), pk_work_fused_softmax(at, true)))
        return PK_CALL(fused_backward, at);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_fused_backward(at), fused_backward, at);
}

enum pk_code pk_op_flash_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    assert_forward(at);
    pk_assert(at->lse);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_flash_forward(at), flash_forward, at);
}

enum pk_code pk_op_flash_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    assert_backward(at);
    pk_assert(at->lse);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_flash_backward(at), flash_backward, at);
}

static void assert_copies(const struct pk_copy2d *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        pk_assert(
            !v[i].rows || !v[i].row_bytes ||
            (v[i].src && v[i].dst && v[i].src_stride >= v[i].row_bytes && v[i].dst_stride >= v[i].row_bytes));
}

enum pk_code pk_op_cudnn_prepare(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    pk_assert(at->batch && at->seq && at->dim && at->scale != 0);
    return PK_CALL(cudnn_prepare, at);
}

enum pk_code pk_op_cudnn_forward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    pk_assert(at->batch && at->seq && at->dim && at->q && at->k && at->v && at->o && at->lse);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_flash_forward(at), cudnn_forward, at);
}

enum pk_code pk_op_cudnn_backward(struct pk_device *dev, const struct pk_attention *at, struct pk_err *err)
{
    pk_assert(at->q && at->k && at->v && at->o && at->lse && at->d_o && at->dq && at->dk && at->dv);
    PK_TRACED(PK_FAMILY_ATTENTION, pk_work_flash_backward(at), cudnn_backward, at);
}

enum pk_code pk_op_copy2d(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_err *err)
{
    assert_copies(v, n);
    PK_TRACED(PK_FAMILY_COPY, pk_work_copy2d(v, n), copy2d, v, n);
}

enum pk_code pk_copies_make(struct pk_device *dev, const struct pk_copy2d *v, size_t n, struct pk_copies *out,
                            struct pk_err *err)
{
    assert_copies(v, n);
    *out = (struct pk_copies){.v = v, .n = n};
    return n && pk_ops_of(dev)->lay_down ? pk_ops_of(dev)->lay_down(dev, out, err) : PK_OK;
}

void pk_copies_free(struct pk_device *dev, struct pk_copies *c)
{
    pk_device_free(dev, c->table);
    *c = (struct pk_copies){0};
}

enum pk_code pk_op_copies(struct pk_device *dev, const struct pk_copies *c, struct pk_err *err)
{
    if (!c->table)
        PK_TRACED(PK_FAMILY_COPY, pk_work_copy2d(c->v, c->n), copy2d, c->v, c->n);
    PK_TRACED(PK_FAMILY_COPY, pk_work_copy2d(c->v, c->n), copies, c);
}

enum pk_code pk_op_fill(struct pk_device *dev, const struct pk_fill *v, size_t n, struct pk_err *err)
{
    for (size_t i = 0; i < n; i++)
        pk_assert(!v[i].rows || !v[i].cols || (v[i].dst && v[i].columns >= v[i].cols));
    PK_TRACED(PK_FAMILY_COPY, pk_work_fill(v, n), fill, v, n);
}

enum pk_code pk_op_table_patch(struct pk_device *dev, uint64_t *table, const struct pk_table_patch *v,
                               size_t n, struct pk_err *err)
{
    if (!n)
        return PK_OK;
    pk_assert(table && v);
    PK_TRACED(PK_FAMILY_COPY, pk_work_table_patch(n), table_patch, table, v, n);
}
