/* Op checks, cuDNN: see the header. */
#include "op_checks_cudnn.h"

#include "reference.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

size_t cudnn_tokens(const struct cudnn_step *step)
{
    return step->s.batch * step->s.seq * step->s.dim;
}

static const float *input(struct trial *t, struct cudnn_step *step, enum pk_cudnn_id id)
{
    const size_t n = cudnn_tokens(step);
    float *wide = trial_random(t, n, id);
    step->arrays[id] = trial_stored(t, PK_BF16, wide, n);
    return wide;
}

void make_cudnn_step(struct trial *t, size_t batch, size_t seq, size_t dim, bool causal,
                     struct cudnn_step *out)
{
    const float scale = 1 / sqrtf((float)dim);
    *out = (struct cudnn_step){
        .s = {.batch = batch, .seq = seq, .dim = dim, .causal = causal, .scale = scale},
        .wide = {.batch = batch, .seq = seq, .dim = dim, .causal = causal, .scale = scale}};
    out->wide.q = input(t, out, PK_CUDNN_Q);
    out->wide.k = input(t, out, PK_CUDNN_K);
    out->wide.v = input(t, out, PK_CUDNN_V);
    out->wide.d_o = input(t, out, PK_CUDNN_D_O);
    static const enum pk_cudnn_id results[] = {PK_CUDNN_O, PK_CUDNN_DQ, PK_CUDNN_DK, PK_CUDNN_DV};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++)
        out->arrays[results[i]] = trial_bytes(t, NULL, cudnn_tokens(out) * sizeof(uint16_t));
    out->arrays[PK_CUDNN_LSE] = trial_output(t, batch * seq);
}

enum pk_code prepare_cudnn(struct trial *t, struct cudnn_step *step, bool backward)
{
    step->s.backward = backward;
    return pk_cudnn_prepare(t->dev, &step->s, &t->err);
}

enum pk_code run_cudnn(struct trial *t, struct cudnn_step *step, bool backward)
{
    step->s.backward = backward;
    return pk_cudnn_run(t->dev, &step->s, step->arrays, &t->err);
}

/* Results have 8 bits, and so has the o, the p and the ds that gradients are made of. */
static void near(struct trial *t, const char *what, const void *device, const double *want, size_t n)
{
    const uint16_t *got = trial_fetch(t, device, n * sizeof *got);
    double squares = 0;
    for (size_t i = 0; i < n; i++)
        squares += want[i] * want[i];
    const double rms = sqrt(squares / (double)n);
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)pk_bf16_to_float(got[i]) - want[i]) <= 0x1p-6 * (fabs(want[i]) + rms) + 0x1p-9))
            fail_msg("%s with %s: element %zu is %g, should be %g", what, t->label, i,
                     (double)pk_bf16_to_float(got[i]), want[i]);
}

void check_cudnn_shape(struct trial *t, size_t batch, size_t seq, size_t dim, bool causal)
{
    struct cudnn_step step;
    make_cudnn_step(t, batch, seq, dim, causal, &step);
    const size_t n = cudnn_tokens(&step);
    const struct pk_reference_attention want = {.p = pk_new_n(&t->arena, double, batch *seq *seq),
                                                .o = pk_new_n(&t->arena, double, n),
                                                .lse = pk_new_n(&t->arena, double, batch *seq),
                                                .dq = pk_new_n(&t->arena, double, n),
                                                .dk = pk_new_n(&t->arena, double, n),
                                                .dv = pk_new_n(&t->arena, double, n)};
    pk_reference_attention(&step.wide, &want);
    for (int backward = 0; backward < 2; backward++) {
        trial_ran(t, "cudnn", prepare_cudnn(t, &step, backward));
        trial_ran(t, "cudnn", run_cudnn(t, &step, backward));
    }
    trial_near(t, "lse", step.arrays[PK_CUDNN_LSE], want.lse, batch * seq, 64 * (seq + dim));
    near(t, "o", step.arrays[PK_CUDNN_O], want.o, n);
    near(t, "dq", step.arrays[PK_CUDNN_DQ], want.dq, n);
    near(t, "dk", step.arrays[PK_CUDNN_DK], want.dk, n);
    near(t, "dv", step.arrays[PK_CUDNN_DV], want.dv, n);
    trial_end(t);
}

void check_cudnn(struct trial *t, enum op_size upto)
{
    static const struct {
        enum op_size size;
        size_t batch, seq, dim;
    } shapes[] = {
        {OPS_TINY, 1, 1, 8},     {OPS_TINY, 3, 7, 16},     {OPS_USUAL, 2, 65, 24},  {OPS_LARGE, 2, 130, 128},
        {OPS_LARGE, 3, 257, 96}, {OPS_LARGE, 1, 1000, 64}, {OPS_LARGE, 8, 256, 32},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int causal = 0; causal < 2 && shapes[i].size <= upto; causal++)
            check_cudnn_shape(t, shapes[i].batch, shapes[i].seq, shapes[i].dim, causal);
}
