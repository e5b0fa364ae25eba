/* Attention: one step, forward and backward, composed from ops, per implementation. */
#include "ops/attention.h"

#include "ops/workspace.h"

#include <math.h>
#include <stdbool.h>

/* a * b, or SIZE_MAX on overflow: the longest possible shapes have more than 2^64 scores. */
static size_t times(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

static size_t tokens_of(const struct pk_attention_shape *s)
{
    return times(times(s->problems, s->seq), s->dim);
}

static size_t scores_of(const struct pk_attention_shape *s)
{
    return times(times(s->problems, s->seq), s->seq);
}

/* n elements of the step's type. */
static void *allocate(struct pk_device *dev, const struct pk_attention_shape *s, size_t n, enum pk_tag tag)
{
    return pk_device_alloc(dev, times(n, pk_dtype_bytes(s->dtype)), tag);
}

static float *take_lse(struct pk_device *dev, const struct pk_attention_shape *s)
{
    return pk_device_alloc(dev, times(times(s->problems, s->seq), sizeof(float)), PK_TAG_ACTIVATIONS);
}

static void give(struct pk_device *dev, void **p)
{
    pk_device_free(dev, *p);
    *p = NULL;
}

static struct pk_gemm gemm(const struct pk_attention_shape *s, size_t n, size_t k, enum pk_trans ta,
                           enum pk_trans tb, const void *a, const void *b, void *c)
{
    return (struct pk_gemm){.m = s->seq,
                            .n = n,
                            .k = k,
                            .batch = s->problems,
                            .ta = ta,
                            .tb = tb,
                            .alpha = 1,
                            .a = a,
                            .b = b,
                            .c = c,
                            .ab_type = s->dtype,
                            .c_type = s->dtype,
                            .math = s->math,
                            .of_attention = 1};
}

/* S = Q K^T, scaled, [masked], softmax: each step out of place; its input is freed when it has no other reference. */
static enum pk_code vanilla_probabilities(struct pk_device *dev, struct pk_attention_step *t,
                                          struct pk_err *err)
{
    const struct pk_attention_shape *s = &t->s;
    const size_t n = scores_of(s);
    void *a = allocate(dev, s, n, PK_TAG_ACTIVATIONS), *b = NULL;
    enum pk_code rc = PK_OK;
    const struct pk_gemm qk = gemm(s, s->seq, s->dim, PK_N, PK_T, t->q, t->k, a);
    if (!a || (rc = pk_op_gemm(dev, &qk, err)) || !(b = allocate(dev, s, n, PK_TAG_ACTIVATIONS)) ||
        (rc = pk_op_scale(dev, s->dtype, s->scale, a, b, n, err)))
        goto out;
    give(dev, &a);
    if (s->causal) {
        a = b;
        if (!(b = allocate(dev, s, n, PK_TAG_ACTIVATIONS)) ||
            (rc = pk_op_causal_mask(dev, s->dtype, a, b, s->problems, s->seq, err)))
            goto out;
        give(dev, &a);
    }
    if ((t->p = allocate(dev, s, n, PK_TAG_ACTIVATIONS)))
        rc = pk_op_softmax(dev, s->dtype, b, t->p, s->problems * s->seq, s->seq, err);
out:
    if (!rc && !t->p)
        rc = pk_device_oom(dev, err);
    give(dev, &a);
    give(dev, &b);
    return rc;
}

static enum pk_code vanilla_forward(struct pk_device *dev, struct pk_attention_step *t, struct pk_err *err)
{
    const struct pk_attention_shape *s = &t->s;
    enum pk_code rc = vanilla_probabilities(dev, t, err);
    if (rc)
        return rc;
    if (!(t->o = allocate(dev, s, tokens_of(s), PK_TAG_ACTIVATIONS)))
        return pk_device_oom(dev, err);
    const struct pk_gemm pv = gemm(s, s->dim, s->seq, PK_N, PK_N, t->p, t->v, t->o);
    return pk_op_gemm(dev, &pv, err);
}

static bool take_gradients(struct pk_device *dev, struct pk_attention_step *t)
{
    const size_t n = tokens_of(&t->s);
    t->dq = allocate(dev, &t->s, n, PK_TAG_GRADIENTS);
    t->dk = allocate(dev, &t->s, n, PK_TAG_GRADIENTS);
    t->dv = allocate(dev, &t->s, n, PK_TAG_GRADIENTS);
    return t->dq && t->dk && t->dv;
}

static enum pk_code vanilla_backward(struct pk_device *dev, struct pk_attention_step *t, struct pk_err *err)
{
    const struct pk_attention_shape *s = &t->s;
    const size_t n = scores_of(s), seq = s->seq, dim = s->dim;
    t->dp = allocate(dev, s, n, PK_TAG_ACTIVATIONS);
    t->ds = allocate(dev, s, n, PK_TAG_ACTIVATIONS);
    t->ds_scaled = allocate(dev, s, n, PK_TAG_ACTIVATIONS);
    if (!t->dp || !t->ds || !t->ds_scaled || !take_gradients(dev, t))
        return pk_device_oom(dev, err);
    const struct pk_gemm dv = gemm(s, dim, seq, PK_T, PK_N, t->p, t->d_o, t->dv);
    const struct pk_gemm dp = gemm(s, seq, dim, PK_N, PK_T, t->d_o, t->v, t->dp);
    const struct pk_gemm dq = gemm(s, dim, seq, PK_N, PK_N, t->ds_scaled, t->k, t->dq);
    const struct pk_gemm dk = gemm(s, dim, seq, PK_T, PK_N, t->ds_scaled, t->q, t->dk);
    enum pk_code rc;
    if ((rc = pk_op_gemm(dev, &dv, err)) || (rc = pk_op_gemm(dev, &dp, err)) ||
        (rc = pk_op_softmax_backward(dev, s->dtype, t->p, t->dp, t->ds, s->problems * seq, seq, err)) ||
        (rc = pk_op_scale(dev, s->dtype, s->scale, t->ds, t->ds_scaled, n, err)) ||
        (rc = pk_op_gemm(dev, &dq, err)))
        return rc;
    return pk_op_gemm(dev, &dk, err);
}

static struct pk_attention described(const struct pk_attention_shape *s)
{
    return (struct pk_attention){.batch = s->problems,
                                 .seq = s->seq,
                                 .dim = s->dim,
                                 .causal = s->causal,
                                 .scale = s->scale,
                                 .dtype = s->dtype,
                                 .math = s->math};
}

static struct pk_attention operands(const struct pk_attention_step *t)
{
    struct pk_attention at = described(&t->s);
    at.q = t->q, at.k = t->k, at.v = t->v;
    at.o = t->o, at.p = t->p, at.lse = t->lse;
    at.d_o = t->d_o;
    at.dq = t->dq, at.dk = t->dk, at.dv = t->dv;
    return at;
}

static enum pk_code fused_forward(struct pk_device *dev, struct pk_attention_step *t, struct pk_err *err)
{
    t->p = allocate(dev, &t->s, scores_of(&t->s), PK_TAG_ACTIVATIONS);
    t->o = allocate(dev, &t->s, tokens_of(&t->s), PK_TAG_ACTIVATIONS);
    if (!t->p || !t->o)
        return pk_device_oom(dev, err);
    const struct pk_attention at = operands(t);
    return pk_op_fused_forward(dev, &at, err);
}

static enum pk_code fused_backward(struct pk_device *dev, struct pk_attention_step *t, struct pk_err *err)
{
    if (!take_gradients(dev, t))
        return pk_device_oom(dev, err);
    const struct pk_attention at = operands(t);
    return pk_op_fused_backward(dev, &at, err);
}

static enum pk_code flash_forward(struct pk_device *dev, struct pk_attention_step *t, struct pk_err *err)
{
    t->lse = take_lse(dev, &t->s);
    t->o = allocate(dev, &t->s, tokens_of(&t->s), PK_TAG_ACTIVATIONS);
    if (!t->lse || !t->o)
        return pk_device_oom(dev, err);
    const struct pk_attention at = operands(t);
    return pk_op_flash_forward(dev, &at, err);
}

static enum pk_code flash_backward(struct pk_device *dev, struct pk_attention_step *t, struct pk_err *err)
{
    if (!take_gradients(dev, t))
        return pk_device_oom(dev, err);
    const struct pk_attention at = operands(t);
    return pk_op_flash_backward(dev, &at, err);
}

static enum pk_code cudnn_prepare(struct pk_device *dev, const struct pk_attention_shape *s,
                                  struct pk_err *err)
{
    const struct pk_attention at = described(s);
    return pk_op_cudnn_prepare(dev, &at, err);
}

static enum pk_code cudnn_forward(struct pk_device *dev, struct pk_attention_step *t, struct pk_err *err)
{
    t->lse = take_lse(dev, &t->s);
    t->o = allocate(dev, &t->s, tokens_of(&t->s), PK_TAG_ACTIVATIONS);
    if (!t->lse || !t->o)
        return pk_device_oom(dev, err);
    const struct pk_attention at = operands(t);
    return pk_op_cudnn_forward(dev, &at, err);
}

static enum pk_code cudnn_backward(struct pk_device *dev, struct pk_attention_step *t, struct pk_err *err)
{
    if (!take_gradients(dev, t))
        return pk_device_oom(dev, err);
    const struct pk_attention at = operands(t);
    return pk_op_cudnn_backward(dev, &at, err);
}

static struct pk_work vanilla_forward_work(const struct pk_attention_shape *s)
{
    const struct pk_gemm qk = gemm(s, s->seq, s->dim, PK_N, PK_T, NULL, NULL, NULL);
    const struct pk_gemm pv = gemm(s, s->dim, s->seq, PK_N, PK_N, NULL, NULL, NULL);
    struct pk_work w = pk_work_add(pk_work_gemm(&qk), pk_work_gemm(&pv));
    w = pk_work_add(w, pk_work_scale(s->dtype, scores_of(s)));
    w = pk_work_add(w, pk_work_softmax(s->dtype, s->problems * s->seq, s->seq));
    return s->causal ? pk_work_add(w, pk_work_causal_mask(s->dtype, s->problems, s->seq)) : w;
}

static struct pk_work vanilla_backward_work(const struct pk_attention_shape *s)
{
    const struct pk_gemm wide = gemm(s, s->seq, s->dim, PK_N, PK_T, NULL, NULL, NULL);
    const struct pk_gemm tall = gemm(s, s->dim, s->seq, PK_N, PK_N, NULL, NULL, NULL);
    struct pk_work w = pk_work_gemm(&wide);
    for (int i = 0; i < 3; i++)
        w = pk_work_add(w, pk_work_gemm(&tall));
    w = pk_work_add(w, pk_work_softmax_backward(s->dtype, s->problems * s->seq, s->seq));
    return pk_work_add(w, pk_work_scale(s->dtype, scores_of(s)));
}

static struct pk_work fused_forward_work(const struct pk_attention_shape *s)
{
    const struct pk_attention at = described(s);
    return pk_work_fused_forward(&at);
}

static struct pk_work fused_backward_work(const struct pk_attention_shape *s)
{
    const struct pk_attention at = described(s);
    return pk_work_fused_backward(&at);
}

static struct pk_work flash_forward_work(const struct pk_attention_shape *s)
{
    const struct pk_attention at = described(s);
    return pk_work_flash_forward(&at);
}

static struct pk_work flash_backward_work(const struct pk_attention_shape *s)
{
    const struct pk_attention at = described(s);
    return pk_work_flash_backward(&at);
}

/* Every product has the same operands except for their order. */
static size_t vanilla_workspace(const struct pk_attention_shape *s)
{
    const struct pk_gemm qk = gemm(s, s->seq, s->dim, PK_N, PK_T, NULL, NULL, NULL);
    return pk_workspace_gemm(&qk);
}

static size_t fused_forward_workspace(const struct pk_attention_shape *s)
{
    const struct pk_attention at = described(s);
    return pk_workspace_fused_forward(&at);
}

static size_t fused_backward_workspace(const struct pk_attention_shape *s)
{
    const struct pk_attention at = described(s);
    return pk_workspace_fused_backward(&at);
}

static size_t flash_forward_workspace(const struct pk_attention_shape *s)
{
    const struct pk_attention at = described(s);
    return pk_workspace_flash_forward(&at);
}

static size_t flash_backward_workspace(const struct pk_attention_shape *s)
{
    const struct pk_attention at = described(s);
    return pk_workspace_flash_backward(&at);
}

typedef enum pk_code step_fn(struct pk_device *dev, struct pk_attention_step *t, struct pk_err *err);
typedef struct pk_work work_fn(const struct pk_attention_shape *s);
typedef size_t workspace_fn(const struct pk_attention_shape *s);

/* What a variant computes in. */
enum { FP32 = 1, TF32 = 2, BF16 = 4, FP32_BY_THREE = 8 };

static const struct {
    const char *name;
    unsigned classes;
    step_fn *forward, *backward;
    work_fn *forward_work, *backward_work;
    unsigned saved_scores, peak_scores; /* score matrices alive after forward, and at the peak */
    workspace_fn *forward_workspace, *backward_workspace; /* of a GPU; NULL = none */
    enum pk_code (*prepare)(struct pk_device *dev, const struct pk_attention_shape *s, struct pk_err *err);
    bool saves_lse;
    bool side_buffers; /* in backward: a row sum and dQ in fp32 */
} rows[PK_ATTENTION_VARIANTS] = {
    [PK_ATTENTION_VANILLA] = {"vanilla", FP32 | TF32 | BF16, vanilla_forward, vanilla_backward,
                              vanilla_forward_work, vanilla_backward_work, 1, 4, vanilla_workspace,
                              vanilla_workspace},
    [PK_ATTENTION_FUSED] = {"fused", FP32 | TF32 | BF16, fused_forward, fused_backward, fused_forward_work,
                            fused_backward_work, 1, 1, fused_forward_workspace, fused_backward_workspace},
    [PK_ATTENTION_FLASH] = {"flash", FP32 | BF16 | FP32_BY_THREE, flash_forward, flash_backward,
                            flash_forward_work, flash_backward_work, .saves_lse = true,
                            .forward_workspace = flash_forward_workspace,
                            .backward_workspace = flash_backward_workspace},
    [PK_ATTENTION_CUDNN] = {"cudnn", BF16, cudnn_forward, cudnn_backward, flash_forward_work,
                            flash_backward_work, .saves_lse = true, .prepare = cudnn_prepare,
                            .side_buffers = true},
};

static unsigned class_of(const struct pk_attention_shape *s)
{
    if (s->dtype == PK_BF16)
        return BF16;
    static const unsigned classes[] = {[PK_MATH_IEEE] = FP32,
                                       [PK_MATH_TF32] = TF32,
                                       [PK_MATH_3XTF32] = FP32_BY_THREE,
                                       [PK_MATH_FP16X3] = FP32_BY_THREE};
    return classes[s->math];
}

bool pk_attention_has(enum pk_attention_variant v, const struct pk_attention_shape *s)
{
    return (rows[v].classes & class_of(s)) != 0;
}

enum pk_code pk_attention_prepare(struct pk_device *dev, enum pk_attention_variant v,
                                  const struct pk_attention_shape *s, struct pk_err *err)
{
    if (pk_attention_has(v, s))
        return rows[v].prepare ? rows[v].prepare(dev, s, err) : PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "%s has no attention in %s", rows[v].name,
            s->dtype == PK_BF16 ? "bf16" : pk_math_name(s->math));
    pk_why(err, "no kernels exist for it");
    return pk_fix(err, "choose another --variant, or another dtype and math");
}

enum pk_code pk_attention_forward(struct pk_device *dev, enum pk_attention_variant v,
                                  struct pk_attention_step *t, struct pk_err *err)
{
    return rows[v].forward(dev, t, err);
}

enum pk_code pk_attention_backward(struct pk_device *dev, enum pk_attention_variant v,
                                   struct pk_attention_step *t, struct pk_err *err)
{
    return rows[v].backward(dev, t, err);
}

void pk_attention_forget(struct pk_device *dev, struct pk_attention_step *t)
{
    void **made[] = {&t->o, &t->p, &t->dp, &t->ds, &t->ds_scaled, &t->dq, &t->dk, &t->dv};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++)
        give(dev, made[i]);
    pk_device_free(dev, t->lse);
    t->lse = NULL;
}

struct pk_work pk_attention_forward_work(enum pk_attention_variant v, const struct pk_attention_shape *s)
{
    return rows[v].forward_work(s);
}

struct pk_work pk_attention_backward_work(enum pk_attention_variant v, const struct pk_attention_shape *s)
{
    return rows[v].backward_work(s);
}

/* Bytes of n elements, rounded as by the pool, as a double, which does not overflow and is exact up to 2^53. */
static double rounded(size_t n, enum pk_dtype type)
{
    const size_t unit = PK_POOL_ALIGN / pk_dtype_bytes(type);
    return ((double)(n / unit) + (n % unit != 0)) * PK_POOL_ALIGN;
}

static size_t whole(double bytes)
{
    return bytes < 0x1p63 ? (size_t)bytes : INT64_MAX;
}

static double live(enum pk_attention_variant v, const struct pk_attention_shape *s, size_t token_arrays,
                   size_t score_matrices)
{
    double lse = rows[v].saves_lse ? rounded(times(s->problems, s->seq), PK_FP32) : 0;
    return (double)token_arrays * rounded(tokens_of(s), s->dtype) +
           (double)score_matrices * rounded(scores_of(s), s->dtype) + lse;
}

size_t pk_attention_saved_bytes(enum pk_attention_variant v, const struct pk_attention_shape *s)
{
    return whole(live(v, s, 5, rows[v].saved_scores)); /* q k v d_o, o */
}

size_t pk_attention_peak_bytes(enum pk_attention_variant v, const struct pk_attention_shape *s,
                               enum pk_device_kind kind)
{
    const bool taken = kind == PK_DEVICE_CUDA && rows[v].forward_workspace;
    const double forward = taken ? (double)rows[v].forward_workspace(s) : 0;
    double backward = taken ? (double)rows[v].backward_workspace(s) : 0;
    if (rows[v].side_buffers)
        backward += rounded(times(s->problems, s->seq), PK_FP32) + rounded(tokens_of(s), PK_FP32);
    return whole(fmax(live(v, s, 5, rows[v].saved_scores) + forward,
                      live(v, s, 8, rows[v].peak_scores) + backward)); /* and dq dk dv */
}
