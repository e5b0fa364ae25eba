/* Softmax: of one row, its logarithm, the cross-entropy made of it, and their gradients. */
#include "ops/cpu/isa/element.h"
#include "ops/cpu/isa/table.h"

enum { WAYS = 4 }; /* independent maxima and sums, to hide the latency of an operation */

/* Lanes that there are not hold what changes neither maximum nor sum. */
PK_INLINE vf score(const enum pk_dtype type, const void *x, size_t i, size_t lanes)
{
    vf v = get(type, x, i, lanes);
    for (size_t l = lanes; l < VL; l++)
        v[l] = -INFINITY;
    return v;
}

PK_INLINE float row_top(const enum pk_dtype type, const void *x, size_t n)
{
    vf top[WAYS];
    for (int w = 0; w < WAYS; w++)
        top[w] = vset(-INFINITY);
    size_t i = 0;
    for (; i + WAYS * VL <= n; i += WAYS * VL)
        for (size_t w = 0; w < WAYS; w++)
            top[w] = vmax(top[w], get(type, x, i + w * VL, VL));
    for (; i + VL <= n; i += VL)
        top[0] = vmax(top[0], get(type, x, i, VL));
    if (i < n)
        top[1] = vmax(top[1], score(type, x, i, n - i));
    return vtop(vmax(vmax(top[0], top[1]), vmax(top[2], top[3])));
}

/* e^(x - top), and put into p where there is one. */
PK_INLINE vf exp_at(const enum pk_dtype type, const void *x, float *p, size_t i, float top)
{
    const vf e = vexp(get(type, x, i, VL) - top);
    if (p)
        vstore(p + i, e);
    return e;
}

PK_INLINE float row_exp(const enum pk_dtype type, const void *x, float *p, size_t n, float top)
{
    vf sum[WAYS] = {0};
    size_t i = 0;
    for (; i + WAYS * VL <= n; i += WAYS * VL)
        for (size_t w = 0; w < WAYS; w++)
            sum[w] += exp_at(type, x, p, i + w * VL, top);
    for (; i + VL <= n; i += VL)
        sum[0] += exp_at(type, x, p, i, top);
    if (i < n) {
        const vf e = vexp(score(type, x, i, n - i) - top);
        if (p)
            vstore_part(p + i, e, n - i);
        sum[1] += e;
    }
    return vsum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* log(sum(exp(x))) */
PK_INLINE float log_sum_exp(const enum pk_dtype type, const void *x, size_t n)
{
    const float top = row_top(type, x, n);
    return top + logf(row_exp(type, x, NULL, n, top));
}

/* y = e^(x - log_sum) * scale */
PK_INLINE void probabilities(const enum pk_dtype x_type, const enum pk_dtype y_type, const void *x, void *y,
                             size_t n, float log_sum, float scale)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        put(y_type, y, i, vexp(get(x_type, x, i, VL) - log_sum) * scale, VL);
    if (i < n)
        put(y_type, y, i, vexp(get(x_type, x, i, n - i) - log_sum) * scale, n - i);
}

/* y = x * scale */
PK_INLINE void put_scaled(const enum pk_dtype type, const float *x, void *y, size_t n, float scale)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        put(type, y, i, vload(x + i) * scale, VL);
    if (i < n)
        put(type, y, i, get(PK_FP32, x, i, n - i) * scale, n - i);
}

/* Exponentials are kept in the row if its type has enough digits, in scratch while that fits a cache, else computed again. */
enum { BESIDE_MOST = 1 << 14 };

static void narrow_softmax(const void *s, void *p, size_t n)
{
    float beside[BESIDE_MOST];
    const float sum = row_exp(PK_BF16, s, beside, n, row_top(PK_BF16, s, n));
    put_scaled(PK_BF16, beside, p, n, 1.0f / sum);
}

void PK_ISA(pk_softmax)(enum pk_dtype type, const void *s, void *p, size_t n)
{
    if (type == PK_BF16 && n <= BESIDE_MOST) {
        narrow_softmax(s, p, n);
    } else if (type == PK_BF16) {
        probabilities(PK_BF16, PK_BF16, s, p, n, log_sum_exp(PK_BF16, s, n), 1);
    } else {
        const float sum = row_exp(PK_FP32, s, p, n, row_top(PK_FP32, s, n));
        put_scaled(PK_FP32, p, p, n, 1.0f / sum);
    }
}

PK_INLINE void backward_delta(const enum pk_dtype type, const void *p, const void *dp, float delta, void *ds,
                              size_t n)
{
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        put(type, ds, i, get(type, p, i, VL) * (get(type, dp, i, VL) - delta), VL);
    if (i < n)
        put(type, ds, i, get(type, p, i, n - i) * (get(type, dp, i, n - i) - delta), n - i);
}

void PK_ISA(pk_softmax_backward_delta)(const float *p, const float *dp, float delta, float *ds, size_t n)
{
    backward_delta(PK_FP32, p, dp, delta, ds, n);
}

static float narrow_dot(const uint16_t *a, const uint16_t *b, size_t n)
{
    vf sum[2] = {0};
    size_t i = 0;
    for (; i + 2 * VL <= n; i += 2 * VL)
        for (size_t w = 0; w < 2; w++)
            sum[w] += get(PK_BF16, a, i + w * VL, VL) * get(PK_BF16, b, i + w * VL, VL);
    for (; i < n; i += VL) {
        const size_t lanes = n - i < VL ? n - i : VL;
        sum[0] += get(PK_BF16, a, i, lanes) * get(PK_BF16, b, i, lanes);
    }
    return vsum(sum[0] + sum[1]);
}

void PK_ISA(pk_softmax_backward)(enum pk_dtype type, const void *p, const void *dp, void *ds, size_t n)
{
    if (type == PK_BF16)
        backward_delta(PK_BF16, p, dp, narrow_dot(p, dp, n), ds, n);
    else
        backward_delta(PK_FP32, p, dp, PK_ISA(pk_dot)(p, dp, n), ds, n);
}

/* The gradient of the one entry that the loss names. */
PK_INLINE void put_target(const enum pk_dtype type, void *d, size_t target, float logp, float scale)
{
    put(type, d, target, (vexp(vset(logp)) - 1.0f) * scale, 1);
}

/* As in softmax. */
PK_INLINE void cross_entropy(const enum pk_dtype type, const struct pk_cross_entropy *x, size_t row,
                             float *beside)
{
    const size_t at = row * x->stride, n = x->cols, target = (size_t)x->targets[row];
    const size_t bytes = pk_dtype_bytes(type);
    const void *logits = element(type, x->logits, at);
    char *d = x->d_logits ? (char *)x->d_logits + at * bytes : NULL;
    const float top = row_top(type, logits, n), wanted = get_one(type, logits, target);
    float *kept = !d ? NULL : type == PK_FP32 ? (float *)(void *)d : beside;
    const float sum = row_exp(type, logits, kept, n, top);
    const float log_sum = top + logf(sum);
    x->losses[row] = log_sum - wanted;
    if (!d)
        return;
    if (kept)
        put_scaled(type, kept, d, n, x->scale / sum);
    else
        probabilities(type, type, logits, d, n, log_sum, x->scale);
    put_target(type, d, target, wanted - log_sum, x->scale);
    memset(d + n * bytes, 0, (x->stride - n) * bytes);
}

static void narrow_cross_entropy(const struct pk_cross_entropy *x, size_t row)
{
    float beside[BESIDE_MOST];
    cross_entropy(PK_BF16, x, row, beside);
}

void PK_ISA(pk_cross_entropy)(const struct pk_cross_entropy *x, size_t row)
{
    if (x->dtype == PK_FP32)
        cross_entropy(PK_FP32, x, row, NULL);
    else if (x->d_logits && x->cols <= BESIDE_MOST)
        narrow_cross_entropy(x, row);
    else
        cross_entropy(PK_BF16, x, row, NULL);
}

PK_INLINE void log_softmax(const enum pk_dtype type, const struct pk_log_softmax *x, size_t row)
{
    const size_t n = x->cols, at = row * n;
    const void *logits = element(type, x->logits, at);
    const float log_sum = log_sum_exp(type, logits, n);
    float *logp = x->logp + at;
    size_t i = 0;
    for (; i + VL <= n; i += VL)
        vstore(logp + i, get(type, logits, i, VL) - log_sum);
    if (i < n)
        vstore_part(logp + i, get(type, logits, i, n - i) - log_sum, n - i);
}

void PK_ISA(pk_log_softmax)(const struct pk_log_softmax *x, size_t row)
{
    if (x->dtype == PK_BF16)
        log_softmax(PK_BF16, x, row);
    else
        log_softmax(PK_FP32, x, row);
}

PK_INLINE void nll_backward(const enum pk_dtype type, const struct pk_nll_backward *x, size_t row)
{
    const size_t at = row * x->cols, target = (size_t)x->targets[row];
    const float *logp = x->logp + at;
    char *d = (char *)x->d_logits + at * pk_dtype_bytes(type);
    probabilities(PK_FP32, type, logp, d, x->cols, 0, x->scale);
    put_target(type, d, target, logp[target], x->scale);
}

void PK_ISA(pk_nll_backward)(const struct pk_nll_backward *x, size_t row)
{
    if (x->dtype == PK_BF16)
        nll_backward(PK_BF16, x, row);
    else
        nll_backward(PK_FP32, x, row);
}
