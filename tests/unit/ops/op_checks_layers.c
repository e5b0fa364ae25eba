/* Op checks of layers: what they compute, alias and leave alone. */
#include "op_checks_layers.h"

#include "ops/ops.h"
#include "reference.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>
#include <stdio.h>
#include <string.h>

#define COUNT(rows) (sizeof(rows) / sizeof *(rows))

static const struct {
    enum op_size size;
    size_t rows, cols;
} shapes[] = {{OPS_TINY, 1, 1},     {OPS_TINY, 5, 7},        {OPS_TINY, 3, 130},     {OPS_USUAL, 65, 768},
              {OPS_USUAL, 301, 64}, {OPS_USUAL, 17, 1025},   {OPS_LARGE, 33, 8193},  {OPS_LARGE, 2049, 1280},
              {OPS_LARGE, 7, 5120}, {OPS_LARGE, 100003, 16}, {OPS_LARGE, 1025, 768}, {OPS_LARGE, 4, 33000}};

static void *poisoned(struct trial *t, enum pk_dtype type, size_t n)
{
    return trial_bytes(t, NULL, n * pk_dtype_bytes(type));
}

static double *doubles(struct trial *t, size_t n)
{
    return pk_new_n(&t->arena, double, n);
}

/* `terms` additions make each result, which is rounded once to its type. */
static void close_to(struct trial *t, const char *op, enum pk_dtype type, const void *got, const double *want,
                     size_t n, size_t terms)
{
    trial_close(t, op, type, got, want, n, trial_allowed(PK_FP32, PK_MATH_IEEE, type, terms));
}

static void twice(double *x, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] *= 2;
}

/* Of [0, below), every one of them but the last where there are enough, some often. */
static int32_t *random_tokens(struct trial *t, size_t n, size_t below)
{
    int32_t *tokens = pk_new_n(&t->arena, int32_t, n);
    for (size_t i = 0; i < n; i++)
        tokens[i] = (int32_t)((i * i + i / 3) % (below > 1 ? below - 1 : 1));
    return tokens;
}

static void check_embed_shape(struct trial *t, enum pk_dtype type, size_t rows, size_t cols)
{
    const size_t vocab = rows / 2 + 2;
    float *table = trial_random(t, vocab * cols, 1), *d_out = trial_random(t, rows * cols, 2);
    int32_t *tokens = random_tokens(t, rows, vocab);
    const int32_t *on_device = trial_bytes(t, tokens, rows * sizeof *tokens);
    struct pk_embed e = {.rows = rows, .cols = cols, .vocab = vocab, .dtype = type, .tokens = on_device};
    e.table = trial_stored(t, type, table, vocab * cols);
    e.out = poisoned(t, type, rows * cols);
    trial_ran(t, "embed", pk_op_embed(t->dev, &e, &t->err));
    const float *got = trial_wide(t, type, e.out, rows * cols);
    for (size_t i = 0; i < rows * cols; i++)
        assert_true(got[i] == table[(size_t)tokens[i / cols] * cols + i % cols]);
    struct pk_embed_backward b = {.rows = rows, .cols = cols, .vocab = vocab, .dtype = type};
    b.tokens = on_device;
    b.d_out = trial_stored(t, type, d_out, rows * cols);
    b.d_table = trial_output(t, vocab * cols);
    trial_ran(t, "embed backward", pk_op_embed_backward(t->dev, &b, &t->err));
    struct pk_embed_backward host = b;
    double *want = doubles(t, vocab * cols);
    host.tokens = tokens, host.d_out = d_out;
    pk_reference_embed_backward(&host, want);
    close_to(t, "embed backward", PK_FP32, b.d_table, want, vocab * cols, rows);
    b.add = 1;
    trial_ran(t, "embed backward, added", pk_op_embed_backward(t->dev, &b, &t->err));
    twice(want, vocab * cols);
    close_to(t, "embed backward, added", PK_FP32, b.d_table, want, vocab * cols, 2 * rows);
    trial_end(t);
}

void check_embed(struct trial *t, enum pk_dtype type, enum op_size upto)
{
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (shapes[i].size <= upto)
            check_embed_shape(t, type, shapes[i].rows, shapes[i].cols);
}

/* Where the sum goes: nowhere, to memory of its own, over x, over delta. */
enum sum_to { NO_DELTA, APART, OVER_X, OVER_DELTA, SUMS };

static void check_norm_shape(struct trial *t, enum pk_dtype type, size_t rows, size_t cols, enum sum_to to)
{
    const size_t n = rows * cols;
    float *x = trial_random(t, n, 3), *delta = trial_random(t, n, 4), *w = trial_random(t, cols, 5);
    struct pk_norm host = {.rows = rows, .cols = cols, .eps = 1e-5f, .dtype = type}, on = host;
    void *x_on = trial_stored(t, type, x, n), *delta_on = trial_stored(t, type, delta, n);
    on.x = x_on, on.w = trial_input(t, w, cols), on.y = poisoned(t, type, n);
    host.x = x, host.w = w;
    if (to != NO_DELTA) {
        host.delta = delta, on.delta = delta_on;
        on.sum = to == OVER_X ? x_on : to == OVER_DELTA ? delta_on : poisoned(t, type, n);
        on.rstd = trial_output(t, rows);
    }
    double *sum = doubles(t, n), *y = doubles(t, n), *rstd = doubles(t, rows);
    pk_reference_norm(&host, sum, y, rstd);
    trial_ran(t, "norm", pk_op_norm(t->dev, &on, &t->err));
    if (to != NO_DELTA) {
        close_to(t, "sum of norm", type, on.sum, sum, n, 1);
        host.x = trial_wide(t, type, on.sum, n), host.delta = NULL; /* what is normed is the sum as stored */
        pk_reference_norm(&host, sum, y, rstd);
        close_to(t, "rstd of norm", PK_FP32, on.rstd, rstd, rows, cols);
    }
    close_to(t, "norm", type, on.y, y, n, cols);
    trial_end(t);
}

void check_norm(struct trial *t, enum pk_dtype type, enum op_size upto)
{
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int to = 0; to < SUMS && shapes[i].size <= upto; to++)
            check_norm_shape(t, type, shapes[i].rows, shapes[i].cols, (enum sum_to)to);
}

/* Where d_x goes: to memory of its own without d_s, with it, over d_y, over d_s. */
enum d_x_to { NO_D_S, WITH_D_S, OVER_D_Y, OVER_D_S, D_XS };

static void check_norm_backward_shape(struct trial *t, enum pk_dtype type, size_t rows, size_t cols,
                                      enum d_x_to to)
{
    const size_t n = rows * cols;
    const float eps = 1e-5f;
    float *s = trial_random(t, n, 6), *d_y = trial_random(t, n, 7), *d_s = trial_random(t, n, 8);
    float *w = trial_random(t, cols, 9), *rstd = pk_new_n(&t->arena, float, rows);
    struct pk_norm_backward host = {.rows = rows, .cols = cols, .dtype = type}, on = host;
    void *d_y_on = trial_stored(t, type, d_y, n), *d_s_on = trial_stored(t, type, d_s, n);
    on.s = trial_stored(t, type, s, n), on.w = trial_input(t, w, cols), on.d_y = d_y_on;
    host.s = s, host.w = w, host.d_y = d_y;
    if (to == WITH_D_S || to == OVER_D_S)
        host.d_s = d_s, on.d_s = d_s_on;
    on.d_x = to == OVER_D_Y ? d_y_on : to == OVER_D_S ? d_s_on : poisoned(t, type, n);
    on.d_w = trial_output(t, cols);
    double *y = doubles(t, n), *d_x = doubles(t, n), *d_w = doubles(t, cols), *rstd64 = doubles(t, rows);
    pk_reference_norm(&(struct pk_norm){.rows = rows, .cols = cols, .eps = eps, .x = s, .w = w}, d_x, y,
                      rstd64);
    for (size_t r = 0; r < rows; r++)
        rstd[r] = (float)rstd64[r];
    on.rstd = trial_input(t, rstd, rows);
    pk_reference_norm_backward(&host, eps, d_x, d_w);
    trial_ran(t, "norm backward", pk_op_norm_backward(t->dev, &on, &t->err));
    if (cols > 1 || host.d_s) /* one column: it is always 1, and what is left is rounding */
        close_to(t, "norm backward", type, on.d_x, d_x, n, cols);
    close_to(t, "weight of norm backward", PK_FP32, on.d_w, d_w, cols, rows);
    if (on.d_x != d_y_on && on.d_x != d_s_on) {
        on.add = 1;
        trial_ran(t, "norm backward, added", pk_op_norm_backward(t->dev, &on, &t->err));
        twice(d_w, cols);
        close_to(t, "weight of norm backward, added", PK_FP32, on.d_w, d_w, cols, 2 * rows);
    }
    trial_end(t);
}

void check_norm_backward(struct trial *t, enum pk_dtype type, enum op_size upto)
{
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int to = 0; to < D_XS && shapes[i].size <= upto; to++)
            check_norm_backward_shape(t, type, shapes[i].rows, shapes[i].cols, (enum d_x_to)to);
}

static void check_heads_shape(struct trial *t, enum pk_dtype type, struct pk_heads host)
{
    const size_t row = host.batch * host.seq * host.heads * host.dim, n = row * host.parts;
    const size_t part = row * pk_heads_repeat(&host);
    float *rope_table = pk_new_n(&t->arena, float, host.seq *host.dim + 1);
    if (host.rotated)
        pk_rope_table(rope_table, host.seq, host.dim, 10000);
    host.dtype = type;
    host.rope_table = host.rotated ? rope_table : NULL;
    struct pk_heads split = host, merge = host;
    split.rope_table = merge.rope_table =
        host.rotated ? trial_input(t, rope_table, host.seq * host.dim) : NULL;
    float *rows = trial_random(t, n, 10);
    split.rows = trial_stored(t, type, rows, n);
    merge.rows = poisoned(t, type, n);
    double *head[3], *back = doubles(t, n);
    for (unsigned p = 0; p < host.parts; p++) {
        float *x = trial_random(t, part, 11 + p);
        head[p] = doubles(t, part);
        merge.head[p] = trial_stored(t, type, x, part);
        split.head[p] = poisoned(t, type, part);
        host.head[p] = x;
    }
    host.rows = rows;
    pk_reference_split_heads(&host, head);
    pk_reference_merge_heads(&host, back);
    trial_ran(t, "split_heads", pk_op_split_heads(t->dev, &split, &t->err));
    trial_ran(t, "merge_heads", pk_op_merge_heads(t->dev, &merge, &t->err));
    for (unsigned p = 0; p < host.parts; p++)
        close_to(t, "split_heads", type, split.head[p], head[p], part, 2);
    close_to(t, "merge_heads", type, merge.rows, back, n, 2);
    trial_end(t);
}

/* One head of one part rotated where it lies, and rotated back. */
static void check_turn_in_place(struct trial *t, enum pk_dtype type)
{
    enum { B = 3, S = 33, D = 36, N = B * S * D };
    float *rope_table = pk_new_n(&t->arena, float, S *D), *x = trial_random(t, N, 20);
    pk_rope_table(rope_table, S, D, 100);
    void *on = trial_stored(t, type, x, N);
    const struct pk_heads h = {.batch = B,
                               .seq = S,
                               .heads = 1,
                               .dim = D,
                               .parts = 1,
                               .rotated = 1,
                               .dtype = type,
                               .rope_table = trial_input(t, rope_table, S * D),
                               .rows = on,
                               .head = {on}};
    struct pk_heads host = h;
    double *want = doubles(t, N), *const head[3] = {want};
    host.rows = x, host.rope_table = rope_table;
    pk_reference_split_heads(&host, head);
    trial_ran(t, "split_heads", pk_op_split_heads(t->dev, &h, &t->err));
    close_to(t, "turn in place", type, on, want, N, 2);
    memcpy(x, trial_wide(t, type, on, N), N * sizeof *x);
    host.head[0] = x;
    pk_reference_merge_heads(&host, want);
    trial_ran(t, "merge_heads", pk_op_merge_heads(t->dev, &h, &t->err));
    close_to(t, "turn back in place", type, on, want, N, 2);
    trial_end(t);
}

void check_heads(struct trial *t, enum pk_dtype type, enum op_size upto)
{
    static const struct {
        enum op_size size;
        struct pk_heads h;
    } of[] = {
        {OPS_TINY, {.batch = 1, .seq = 1, .heads = 1, .dim = 1, .parts = 1}},
        {OPS_TINY, {.batch = 2, .seq = 7, .heads = 3, .dim = 2, .parts = 3, .rotated = 3}},
        {OPS_TINY, {.batch = 3, .seq = 33, .heads = 2, .dim = 5, .parts = 2}},
        {OPS_TINY, {.batch = 1, .seq = 17, .heads = 5, .dim = 10, .parts = 2, .rotated = 2}},
        {OPS_TINY, {.batch = 2, .seq = 5, .heads = 2, .dim = 6, .parts = 2, .rotated = 1, .repeat = 3}},
        {OPS_TINY, {.batch = 3, .seq = 1, .heads = 1, .dim = 259, .parts = 1, .repeat = 7}},
        {OPS_USUAL, {.batch = 1, .seq = 31, .heads = 2, .dim = 136, .parts = 2, .rotated = 1, .repeat = 7}},
        {OPS_USUAL, {.batch = 2, .seq = 130, .heads = 4, .dim = 64, .parts = 3, .rotated = 3}},
        {OPS_USUAL, {.batch = 1, .seq = 31, .heads = 3, .dim = 34, .parts = 1, .rotated = 1}},
        {OPS_LARGE, {.batch = 4, .seq = 256, .heads = 12, .dim = 64, .parts = 3, .rotated = 3}},
        {OPS_LARGE, {.batch = 1, .seq = 1025, .heads = 20, .dim = 64, .parts = 2, .rotated = 1}},
    };
    for (size_t i = 0; i < COUNT(of); i++)
        if (of[i].size <= upto)
            check_heads_shape(t, type, of[i].h);
    check_turn_in_place(t, type);
}

/* Into memory of its own, over a, over b. */
static void check_map_shape(struct trial *t, enum pk_dtype type, enum pk_map map, size_t n)
{
    float *a = trial_random(t, n, 21), *b = trial_random(t, n, 22);
    for (size_t i = 0; i < n; i += 3)
        a[i] *= 40; /* where sigmoid is 0 and 1 */
    double *want = doubles(t, n);
    void *a_on = trial_stored(t, type, a, n), *b_on = trial_stored(t, type, b, n), *y = poisoned(t, type, n);
    for (size_t i = 0; i < n; i++)
        want[i] = pk_reference_map(map, a[i], b[i]);
    const void *second = map == PK_MAP_SILU ? NULL : b_on;
    char what[32];
    snprintf(what, sizeof what, "map %d", map);
    trial_ran(t, what, pk_op_map(t->dev, map, type, a_on, second, y, n, &t->err));
    close_to(t, what, type, y, want, n, 4);
    if (second) {
        void *a_again = trial_stored(t, type, a, n);
        trial_ran(t, what, pk_op_map(t->dev, map, type, a_again, second, b_on, n, &t->err));
        close_to(t, "map over b", type, b_on, want, n, 4);
        b_on = trial_stored(t, type, b, n);
    }
    trial_ran(t, what, pk_op_map(t->dev, map, type, a_on, second ? b_on : NULL, a_on, n, &t->err));
    close_to(t, "map over a", type, a_on, want, n, 4);
    trial_end(t);
}

void check_map(struct trial *t, enum pk_dtype type, enum op_size upto)
{
    for (int map = 0; map < PK_MAPS; map++)
        for (size_t i = 0; i < COUNT(shapes); i++)
            if (shapes[i].size <= upto)
                check_map_shape(t, type, (enum pk_map)map, shapes[i].rows * shapes[i].cols);
}

/* Both halves of one array as one product made them, or two arrays. */
static void check_glu_shape(struct trial *t, enum pk_dtype type, size_t rows, size_t cols, size_t stride)
{
    const size_t n = rows * cols, wide = (rows - 1) * stride + cols;
    float *gate = trial_random(t, wide, 23), *up = trial_random(t, wide, 24), *d_y = trial_random(t, n, 25);
    for (size_t i = 0; i < wide; i += 5)
        gate[i] *= 40;
    void *gate_on = trial_stored(t, type, gate, wide), *up_on = trial_stored(t, type, up, wide);
    const struct pk_glu g = {rows, cols, stride, type, gate_on, up_on, poisoned(t, type, n)};
    struct pk_glu_backward b = {rows, cols, stride, type, gate_on, up_on};
    void *d_y_on = trial_stored(t, type, d_y, n);
    b.d_y = d_y_on;
    b.d_gate = trial_stored(t, type, gate, wide), b.d_up = trial_stored(t, type, up, wide);
    double *y = doubles(t, n), *d_gate = doubles(t, wide), *d_up = doubles(t, wide);
    for (size_t i = 0; i < wide; i++)
        d_gate[i] = gate[i], d_up[i] = up[i]; /* what lies between rows stays */
    for (size_t i = 0; i < n; i++) {
        const size_t at = i / cols * stride + i % cols;
        const double silu = pk_reference_map(PK_MAP_SILU, gate[at], 0);
        y[i] = silu * up[at];
        d_up[at] = silu * d_y[i];
        d_gate[at] = pk_reference_map(PK_MAP_SILU_BACKWARD, gate[at], (double)d_y[i] * up[at]);
    }
    trial_ran(t, "glu", pk_op_glu(t->dev, &g, &t->err));
    close_to(t, "glu", type, g.y, y, n, 4);
    trial_ran(t, "glu backward", pk_op_glu_backward(t->dev, &b, &t->err));
    close_to(t, "gate of glu backward", type, b.d_gate, d_gate, wide, 8);
    close_to(t, "up of glu backward", type, b.d_up, d_up, wide, 8);
    b.d_gate = gate_on, b.d_up = up_on, b.y = d_y_on;
    trial_ran(t, "glu backward in place", pk_op_glu_backward(t->dev, &b, &t->err));
    close_to(t, "gate of glu backward in place", type, gate_on, d_gate, wide, 8);
    close_to(t, "up of glu backward in place", type, up_on, d_up, wide, 8);
    close_to(t, "y of glu backward", type, d_y_on, y, n, 4);
    trial_end(t);
}

void check_glu(struct trial *t, enum pk_dtype type, enum op_size upto)
{
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (shapes[i].size <= upto) {
            check_glu_shape(t, type, shapes[i].rows, shapes[i].cols, shapes[i].cols);
            check_glu_shape(t, type, shapes[i].rows, shapes[i].cols, 2 * shapes[i].cols + 1);
        }
}

struct losses {
    double *loss, *logp, *d_logits;
};

static struct losses expect(struct trial *t, const struct pk_cross_entropy *host)
{
    const size_t n = host->rows * host->cols;
    const struct losses want = {doubles(t, host->rows), doubles(t, n), doubles(t, n)};
    pk_reference_cross_entropy(host, want.loss, want.logp, want.d_logits);
    return want;
}

/* Rows of d, stride apart, against those that lie together; beyond cols there are zeros. */
static void check_d_logits(struct trial *t, const char *op, const struct pk_cross_entropy *x, const void *d,
                           const struct losses *want)
{
    const size_t all = x->rows * x->stride;
    double *spread = doubles(t, all);
    for (size_t i = 0; i < x->rows * x->cols; i++)
        spread[i / x->cols * x->stride + i % x->cols] = want->d_logits[i];
    close_to(t, op, x->dtype, d, spread, all, x->cols);
    const float *got = trial_wide(t, x->dtype, d, all);
    for (size_t i = 0; i < all; i++)
        assert_true(i % x->stride < x->cols || got[i] == 0);
}

void check_cross_entropy_shape(struct trial *t, enum pk_dtype type, size_t rows, size_t cols, size_t stride)
{
    const size_t all = rows * stride;
    float *logits = trial_random(t, all, 26);
    int32_t *targets = random_tokens(t, rows, cols);
    targets[rows - 1] = (int32_t)cols - 1;
    for (size_t i = 0; i < all; i++)
        logits[i] *= 4;
    void *logits_on = trial_stored(t, type, logits, all);
    struct pk_cross_entropy host = {
        .rows = rows, .cols = cols, .stride = stride, .dtype = type, .scale = 0.5f};
    struct pk_cross_entropy on = host;
    host.logits = logits, host.targets = targets;
    on.logits = logits_on, on.targets = trial_bytes(t, targets, rows * sizeof *targets);
    const struct losses want = expect(t, &host);
    on.losses = trial_output(t, rows);
    trial_ran(t, "cross_entropy", pk_op_cross_entropy(t->dev, &on, &t->err));
    if (cols > 1) /* one: the loss is 0 */
        close_to(t, "cross_entropy", PK_FP32, on.losses, want.loss, rows, cols);
    on.losses = trial_output(t, rows), on.d_logits = poisoned(t, type, all);
    trial_ran(t, "cross_entropy with gradient", pk_op_cross_entropy(t->dev, &on, &t->err));
    const void *apart = on.d_logits;
    on.d_logits = logits_on;
    trial_ran(t, "cross_entropy in place", pk_op_cross_entropy(t->dev, &on, &t->err));
    if (cols > 1) {
        close_to(t, "cross_entropy with gradient", PK_FP32, on.losses, want.loss, rows, cols);
        check_d_logits(t, "gradient of cross_entropy", &host, apart, &want);
        check_d_logits(t, "gradient of cross_entropy in place", &host, logits_on, &want);
    }
    trial_end(t);
}

void check_cross_entropy(struct trial *t, enum pk_dtype type, enum op_size upto)
{
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (shapes[i].size <= upto) {
            check_cross_entropy_shape(t, type, shapes[i].rows, shapes[i].cols, shapes[i].cols);
            check_cross_entropy_shape(t, type, shapes[i].rows, shapes[i].cols, shapes[i].cols + 3);
        }
}

static void check_nll_shape(struct trial *t, enum pk_dtype type, size_t rows, size_t cols)
{
    const size_t n = rows * cols;
    float *logits = trial_random(t, n, 27), *logp = pk_new_n(&t->arena, float, n);
    int32_t *targets = random_tokens(t, rows, cols);
    struct pk_cross_entropy host = {.rows = rows, .cols = cols, .stride = cols, .dtype = type};
    host.scale = 1.0f / (float)rows, host.targets = targets, host.logits = logits;
    const struct pk_log_softmax l = {rows, cols, type, trial_stored(t, type, logits, n), trial_output(t, n)};
    const struct losses want = expect(t, &host);
    trial_ran(t, "log_softmax", pk_op_log_softmax(t->dev, &l, &t->err));
    for (size_t i = 0; i < n; i++)
        logp[i] = (float)want.logp[i];
    const float *logp_on = trial_input(t, logp, n);
    const int32_t *targets_on = trial_bytes(t, targets, rows * sizeof *targets);
    const struct pk_nll forward = {rows, cols, logp_on, targets_on, trial_output(t, rows)};
    const struct pk_nll_backward backward = {
        rows, cols, type, logp_on, targets_on, host.scale, poisoned(t, type, n)};
    trial_ran(t, "nll", pk_op_nll(t->dev, &forward, &t->err));
    trial_ran(t, "nll_backward", pk_op_nll_backward(t->dev, &backward, &t->err));
    if (cols > 1) {
        close_to(t, "log_softmax", PK_FP32, l.logp, want.logp, n, cols);
        close_to(t, "nll", PK_FP32, forward.losses, want.loss, rows, 1);
        close_to(t, "nll_backward", type, backward.d_logits, want.d_logits, n, 4);
    }
    trial_end(t);
}

void check_nll(struct trial *t, enum pk_dtype type, enum op_size upto)
{
    for (size_t i = 0; i < COUNT(shapes); i++)
        if (shapes[i].size <= upto)
            check_nll_shape(t, type, shapes[i].rows, shapes[i].cols);
}

void check_mean(struct trial *t, enum op_size upto)
{
    for (size_t i = 0; i < COUNT(shapes); i++) {
        const size_t n = shapes[i].rows * shapes[i].cols;
        if (shapes[i].size > upto)
            continue;
        float *x = trial_random(t, n, 28), *out = trial_output(t, 1);
        double want = 0;
        for (size_t k = 0; k < n; k++)
            want += (double)(x[k] = fabsf(x[k])) / (double)n;
        trial_ran(t, "mean", pk_op_mean(t->dev, trial_input(t, x, n), n, out, &t->err));
        close_to(t, "mean", PK_FP32, out, &want, 1, n);
        trial_end(t);
    }
}

/* What one step makes of p, m and v on the device. */
static void step(struct trial *t, struct pk_adamw a, bool together)
{
    if (together) {
        trial_ran(t, "adamw", pk_op_adamw(t->dev, &a, &t->err));
        return;
    }
    const unsigned all = a.passes;
    a.scratch = trial_output(t, a.n);
    for (unsigned pass = 1; pass <= all; pass *= 2) {
        a.passes = all & pass;
        if (a.passes)
            trial_ran(t, "a pass of adamw", pk_op_adamw(t->dev, &a, &t->err));
    }
}

static void check_adamw_shape(struct trial *t, enum pk_dtype g_type, size_t n, bool together, bool narrow)
{
    const struct pk_adamw_state before = {0.01f, 0.9f, 0.95f, 1e-8f, 0.1f, 0.9f, 0.95f};
    struct pk_adamw_state now = before, *state = trial_bytes(t, &before, sizeof before);
    float *p = trial_random(t, n, 29), *m = trial_random(t, n, 30), *v = trial_random(t, n, 31),
          *g = trial_random(t, n, 32);
    for (size_t i = 0; i < n; i++)
        v[i] *= v[i];
    struct pk_adamw a = {.n = n, .passes = PK_ADAMW_FUSED, .state = state, .g_type = g_type};
    a.p = trial_input(t, p, n), a.m = trial_input(t, m, n), a.v = trial_input(t, v, n);
    a.g = trial_stored(t, g_type, g, n);
    if (narrow)
        a.passes |= PK_ADAMW_NARROW, a.narrow = poisoned(t, PK_BF16, n);
    trial_ran(t, "adamw_tick", pk_op_adamw_tick(t->dev, state, &t->err));
    now.beta1_t *= now.beta1, now.beta2_t *= now.beta2;
    assert_memory_equal(trial_fetch(t, state, sizeof now), &now, sizeof now);
    step(t, a, together);
    double *p64 = doubles(t, n), *m64 = doubles(t, n), *v64 = doubles(t, n);
    for (size_t i = 0; i < n; i++) {
        struct pk_reference_adamw x = {p[i], m[i], v[i]};
        pk_reference_adamw(&now, g[i], &x);
        p64[i] = x.p, m64[i] = x.m, v64[i] = x.v;
    }
    close_to(t, "p of adamw", PK_FP32, a.p, p64, n, 4);
    close_to(t, "m of adamw", PK_FP32, a.m, m64, n, 4);
    close_to(t, "v of adamw", PK_FP32, a.v, v64, n, 4);
    if (narrow) {
        const float *wide = trial_fetch(t, a.p, n * sizeof *wide), *got = trial_wide(t, PK_BF16, a.narrow, n);
        for (size_t i = 0; i < n; i++)
            assert_true(got[i] == pk_bf16_to_float(pk_bf16_of_float(wide[i])));
    }
    trial_end(t);
}

void check_adamw(struct trial *t, enum pk_dtype g_type, enum op_size upto)
{
    for (size_t i = 0; i < COUNT(shapes); i++)
        for (int how = 0; how < 4 && shapes[i].size <= upto; how++)
            check_adamw_shape(t, g_type, shapes[i].rows * shapes[i].cols, how & 1, how & 2);
}

void check_bad_logits(struct trial *t, enum pk_dtype type)
{
    enum { COLS = 100 };
    static const float bad[] = {NAN, INFINITY};
    for (size_t i = 0; i < COUNT(bad) * COLS; i += 33) {
        float *logits = trial_random(t, COLS, 33);
        const int32_t target = 7;
        logits[i % COLS] = bad[i / COLS];
        struct pk_cross_entropy x = {.rows = 1, .cols = COLS, .stride = COLS, .dtype = type, .scale = 1};
        x.logits = trial_stored(t, type, logits, COLS);
        x.targets = trial_bytes(t, &target, sizeof target);
        x.losses = trial_output(t, 1), x.d_logits = poisoned(t, type, COLS);
        trial_ran(t, "cross_entropy", pk_op_cross_entropy(t->dev, &x, &t->err));
        assert_false(isfinite(*(const float *)trial_fetch(t, x.losses, sizeof(float))));
        trial_end(t);
    }
}
