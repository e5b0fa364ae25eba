/* Op: one operation of a transformer, forward and backward, for a comparison with another implementation.
 *
 * op NAME A B C: fp32 arrays come from standard input and go to standard output, one behind the other, as the functions below say.
 * Tokens and targets are written as fp32, too. */
#include "device/cpu/cpu.h"
#include "ops/attention.h"
#include "ops/ops.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pk_err err;
static struct pk_arena arena;

static void must(enum pk_code rc)
{
    if (!rc)
        return;
    fprintf(stderr, "%s: %s\n", err.what, err.why);
    exit(1);
}

static float *zeros(size_t n)
{
    return pk_new_n(&arena, float, n);
}

static float *in(size_t n)
{
    float *x = zeros(n);
    if (fread(x, sizeof *x, n, stdin) != n)
        exit(1);
    return x;
}

static int32_t *whole(size_t n)
{
    const float *x = in(n);
    int32_t *y = pk_new_n(&arena, int32_t, n);
    for (size_t i = 0; i < n; i++)
        y[i] = (int32_t)x[i];
    return y;
}

static void out(const float *x, size_t n)
{
    if (fwrite(x, sizeof *x, n, stdout) != n)
        exit(1);
}

/* x[rows, cols], w[other, cols], dy[rows, other]: y, dx, dw */
static void linear(struct pk_device *dev, size_t rows, size_t cols, size_t other)
{
    const float *x = in(rows * cols), *w = in(other * cols), *dy = in(rows * other);
    float *y = zeros(rows * other), *dx = zeros(rows * cols), *dw = zeros(other * cols);
    const struct pk_gemm g[] = {
        {.m = rows, .n = other, .k = cols, .tb = PK_T, .a = x, .b = w, .c = y},
        {.m = rows, .n = cols, .k = other, .a = dy, .b = w, .c = dx},
        {.m = other, .n = cols, .k = rows, .ta = PK_T, .a = dy, .b = x, .c = dw},
    };
    for (size_t i = 0; i < 3; i++) {
        struct pk_gemm one = g[i];
        one.batch = 1, one.alpha = 1;
        must(pk_op_gemm(dev, &one, &err));
    }
    out(y, rows * other), out(dx, rows * cols), out(dw, other * cols);
}

/* x, delta, dy, ds[rows, cols], w[cols]: s, y, dx, dw */
static void norm(struct pk_device *dev, size_t rows, size_t cols, size_t unused)
{
    const size_t n = rows * cols;
    const float *x = in(n), *delta = in(n), *dy = in(n), *ds = in(n), *w = in(cols);
    float *s = zeros(n), *y = zeros(n), *rstd = zeros(rows), *dx = zeros(n), *dw = zeros(cols);
    const struct pk_norm f = {.rows = rows,
                              .cols = cols,
                              .eps = 1e-5f,
                              .x = x,
                              .delta = delta,
                              .sum = s,
                              .w = w,
                              .y = y,
                              .rstd = rstd};
    const struct pk_norm_backward b = {
        .rows = rows, .cols = cols, .s = s, .w = w, .rstd = rstd, .d_y = dy, .d_s = ds, .d_x = dx, .d_w = dw};
    must(pk_op_norm(dev, &f, &err));
    must(pk_op_norm_backward(dev, &b, &err));
    out(s, n), out(y, n), out(dx, n), out(dw, cols);
}

/* rows[seq, heads * dim], d_head[heads, seq, dim]: head, d_rows */
static void turn(struct pk_device *dev, size_t seq, size_t heads, size_t dim)
{
    const size_t n = seq * heads * dim;
    float *rope_table = zeros(seq * dim), *rows = in(n), *d_head = in(n), *head = zeros(n),
          *d_rows = zeros(n);
    struct pk_heads h = {.batch = 1,
                         .seq = seq,
                         .heads = heads,
                         .dim = dim,
                         .parts = 1,
                         .rotated = 1,
                         .rope_table = rope_table,
                         .rows = rows,
                         .head = {head}};
    pk_rope_table(rope_table, seq, dim, 10000);
    must(pk_op_split_heads(dev, &h, &err));
    h.rows = d_rows, h.head[0] = d_head;
    must(pk_op_merge_heads(dev, &h, &err));
    out(head, n), out(d_rows, n);
}

static void attend(struct pk_device *dev, enum pk_attention_variant v, size_t problems, size_t seq,
                   size_t dim)
{
    const size_t n = problems * seq * dim;
    struct pk_attention_step t = {
        .s = {.problems = problems, .seq = seq, .dim = dim, .causal = 1, .scale = 1 / sqrtf((float)dim)},
        .q = in(n),
        .k = in(n),
        .v = in(n),
        .d_o = in(n)};
    must(pk_attention_forward(dev, v, &t, &err));
    must(pk_attention_backward(dev, v, &t, &err));
    out(t.o, n), out(t.dq, n), out(t.dk, n), out(t.dv, n);
    pk_attention_forget(dev, &t);
}

/* q, k, v, do[problems, seq, dim]: o, dq, dk, dv */
static void vanilla(struct pk_device *dev, size_t problems, size_t seq, size_t dim)
{
    attend(dev, PK_ATTENTION_VANILLA, problems, seq, dim);
}
static void fused(struct pk_device *dev, size_t problems, size_t seq, size_t dim)
{
    attend(dev, PK_ATTENTION_FUSED, problems, seq, dim);
}
static void flash(struct pk_device *dev, size_t problems, size_t seq, size_t dim)
{
    attend(dev, PK_ATTENTION_FLASH, problems, seq, dim);
}

/* gate, up, dy[rows, cols]: y, d_gate, d_up */
static void gated(struct pk_device *dev, size_t rows, size_t cols, size_t unused)
{
    const size_t n = rows * cols;
    const float *gate = in(n), *up = in(n), *dy = in(n);
    float *y = zeros(n), *d_gate = zeros(n), *d_up = zeros(n);
    const struct pk_glu f = {.rows = rows, .cols = cols, .stride = cols, .gate = gate, .up = up, .y = y};
    const struct pk_glu_backward b = {.rows = rows,
                                      .cols = cols,
                                      .stride = cols,
                                      .gate = gate,
                                      .up = up,
                                      .d_y = dy,
                                      .d_gate = d_gate,
                                      .d_up = d_up};
    must(pk_op_glu(dev, &f, &err));
    must(pk_op_glu_backward(dev, &b, &err));
    out(y, n), out(d_gate, n), out(d_up, n);
}

/* logits[rows, cols], targets[rows]: losses, gradient of their mean; and the same again as a framework does it */
static void entropy(struct pk_device *dev, size_t rows, size_t cols, size_t unused)
{
    const size_t n = rows * cols;
    const float *logits = in(n), scale = 1 / (float)rows;
    const int32_t *targets = whole(rows);
    float *losses = zeros(rows), *d = zeros(n), *logp = zeros(n);
    const struct pk_cross_entropy x = {.rows = rows,
                                       .cols = cols,
                                       .stride = cols,
                                       .logits = logits,
                                       .targets = targets,
                                       .losses = losses,
                                       .scale = scale,
                                       .d_logits = d};
    const struct pk_log_softmax p = {.rows = rows, .cols = cols, .logits = logits, .logp = logp};
    const struct pk_nll l = {.rows = rows, .cols = cols, .logp = logp, .targets = targets, .losses = losses};
    const struct pk_nll_backward b = {
        .rows = rows, .cols = cols, .logp = logp, .targets = targets, .scale = scale, .d_logits = d};
    must(pk_op_cross_entropy(dev, &x, &err));
    out(losses, rows), out(d, n);
    must(pk_op_log_softmax(dev, &p, &err));
    must(pk_op_nll(dev, &l, &err));
    must(pk_op_nll_backward(dev, &b, &err));
    out(losses, rows), out(d, n);
}

/* tokens[rows], table[vocab, cols], d_out[rows, cols]: out, d_table */
static void embed(struct pk_device *dev, size_t rows, size_t cols, size_t vocab)
{
    const int32_t *tokens = whole(rows);
    const float *table = in(vocab * cols), *d_out = in(rows * cols);
    float *y = zeros(rows * cols), *d_table = zeros(vocab * cols);
    const struct pk_embed f = {
        .rows = rows, .cols = cols, .vocab = vocab, .tokens = tokens, .table = table, .out = y};
    const struct pk_embed_backward b = {
        .rows = rows, .cols = cols, .vocab = vocab, .tokens = tokens, .d_out = d_out, .d_table = d_table};
    must(pk_op_embed(dev, &f, &err));
    must(pk_op_embed_backward(dev, &b, &err));
    out(y, rows * cols), out(d_table, vocab * cols);
}

/* p, g[n]: p after so many steps with the same gradient */
static void adamw(struct pk_device *dev, size_t n, size_t steps, size_t unused)
{
    struct pk_adamw_state state = {.lr = 1e-3f,
                                   .beta1 = 0.9f,
                                   .beta2 = 0.999f,
                                   .eps = 1e-8f,
                                   .decay = 0.01f,
                                   .beta1_t = 1,
                                   .beta2_t = 1};
    float *p = in(n), *g = in(n);
    const struct pk_adamw a = {
        .n = n, .passes = PK_ADAMW_FUSED, .state = &state, .p = p, .m = zeros(n), .v = zeros(n), .g = g};
    for (size_t i = 0; i < steps; i++) {
        must(pk_op_adamw_tick(dev, &state, &err));
        must(pk_op_adamw(dev, &a, &err));
    }
    out(p, n);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*op)(struct pk_device *dev, size_t a, size_t b, size_t c);
    } ops[] = {{"linear", linear}, {"norm", norm},   {"turn", turn},   {"vanilla", vanilla},
               {"fused", fused},   {"flash", flash}, {"gated", gated}, {"entropy", entropy},
               {"embed", embed},   {"adamw", adamw}};
    struct pk_device dev;
    if (argc != 5)
        return 2;
    must(pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = 2, .no_bind = true}, &err));
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (!strcmp(ops[i].name, argv[1]))
            ops[i].op(&dev, strtoul(argv[2], NULL, 10), strtoul(argv[3], NULL, 10),
                      strtoul(argv[4], NULL, 10));
    pk_device_close(&dev);
    pk_arena_free(&arena);
    return 0;
}
