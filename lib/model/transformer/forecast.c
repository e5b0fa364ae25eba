/* Forecast: a step on the null device, phase by phase. */
#include "model/transformer/forecast.h"

#include "device/null.h"
#include "machine/bind.h"
#include "machine/machine.h"

#include <math.h>

/* Of what no device could have: more than addresses can say. */
#define BEYOND ((size_t)INT64_MAX)

struct dry {
    struct pk_device dev;
    struct pk_transformer t;
    struct pk_null_counts at_loss; /* what was counted when the loss began */
};

typedef enum pk_code phase_fn(struct pk_transformer *t, bool keep, struct pk_err *err);

static enum pk_code backward(struct pk_transformer *t, bool keep, struct pk_err *err)
{
    return pk_transformer_backward(t, err);
}

static enum pk_code update(struct pk_transformer *t, bool keep, struct pk_err *err)
{
    return pk_transformer_update(t, err);
}

static void loss_begins(void *user)
{
    struct dry *d = user;
    d->at_loss = pk_null_work_counts(&d->dev);
}

/* What is counted is products: in tf32 or bf16 all of it is of tensor cores. */
static struct pk_work work_between(const struct dry *d, struct pk_null_counts from, struct pk_null_counts to)
{
    const bool tensor = d->t.c.dtype == PK_BF16 || d->t.c.math != PK_MATH_IEEE;
    return (struct pk_work){.flops = to.flops - from.flops,
                            .tensor_flops = tensor ? to.flops - from.flops : 0,
                            .bytes = to.bytes - from.bytes,
                            .exps = to.exps - from.exps};
}

static struct pk_step_phase run(struct dry *d, phase_fn *phase, bool keep)
{
    struct pk_err err;
    const struct pk_null_counts before = pk_null_work_counts(&d->dev);
    pk_pool_reset_peak(&d->dev.pool);
    if (phase(&d->t, keep, &err)) {
        pk_transformer_forget(&d->t);
        return (struct pk_step_phase){.peak_bytes = BEYOND};
    }
    return (struct pk_step_phase){
        .work = work_between(d, before, pk_null_work_counts(&d->dev)),
        .peak_bytes = d->dev.pool.peak,
        .after_bytes = d->dev.pool.current,
    };
}

void pk_transformer_forecast(const struct pk_transformer_config *c, enum pk_step_mode mode,
                             enum pk_device_kind kind, unsigned threads, struct pk_forecast *out)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_device_options o = {.limit_bytes = INT64_MAX};
    struct dry d = {0};
    struct pk_err err;
    unsigned cpus[PK_CPUS_MAX];
    *out = (struct pk_forecast){0};
    if (pk_transformer_valid(c, &err) || pk_device_open(&d.dev, "null", &o, &err))
        return;
    pk_null_set_workspace_of(&d.dev,
                             (struct pk_null_part){kind, kind != PK_DEVICE_CPU ? 1
                                                         : threads             ? threads
                                                                   : pk_machine_cpus(cpus, PK_CPUS_MAX)});
    if (!pk_transformer_open(&d.t, &d.dev, c, pk_step_needs(mode), &a, &err)) {
        out->state_bytes = d.dev.pool.current;
        d.t.loss_hook = (struct pk_loss_hook){loss_begins, &d};
        out->forward = run(&d, pk_transformer_forward, mode != PK_STEP_FORWARD);
        if (!c->headless)
            out->loss = work_between(&d, d.at_loss, pk_null_work_counts(&d.dev));
        if (mode >= PK_STEP_BACKWARD && out->forward.peak_bytes < BEYOND)
            out->backward = run(&d, backward, true);
        if (mode == PK_STEP_WHOLE && out->backward.peak_bytes && out->backward.peak_bytes < BEYOND)
            out->update = run(&d, update, true);
        const size_t peaks[] = {out->forward.peak_bytes, out->backward.peak_bytes, out->update.peak_bytes};
        for (size_t i = 0; i < 3; i++)
            out->peak_bytes = peaks[i] > out->peak_bytes ? peaks[i] : out->peak_bytes;
    } else
        out->peak_bytes = BEYOND;
    if (out->peak_bytes == BEYOND) {
        /* A step that ended early has declared only a part of its work. */
        const struct pk_work unknown = {NAN, NAN, NAN, NAN, 0};
        out->forward.work = out->loss = out->backward.work = out->update.work = unknown;
    }
    pk_transformer_close(&d.t);
    pk_device_close(&d.dev);
}
