/* mixed-precision: one training step of a decoder transformer, and what types, fusing and capturing buy in time, memory and accuracy.
 *
 * eager launches one kernel per operation, as a framework does, and stays that way: it is the yardstick. compiled has fused kernels and
 * products, no stored probabilities but in tf32, one pass of AdamW, and is captured where the device has graphs. bf16 has fp32 master weights and
 * fp32 sums. docs/mixed-precision.md. */
#include "bench/probe.h"

#include "base/rng.h"
#include "base/text/units.h"
#include "model/shape/axes.h"
#include "model/transformer/check.h"
#include "model/transformer/forecast.h"

enum {
    MODEL,
    LAYERS,
    D_MODEL,
    HEADS,
    D_FF,
    VOCAB,
    BATCH,
    SEQ_LEN,
    DTYPE,
    MODE,
    ATTENTION,
    RECOMPUTE,
    WEIGHTS
};
enum { STEP, FORWARD, BACKWARD, OPTIMIZER, BACKWARD_OPTIMIZER };
enum { BEFORE_BACKWARD, ALLOCATED, RESERVED, PARAMETERS, MODEL_FLOPS };
enum { FP32, TF32, BF16 };
enum { AUTO }; /* of attention; the others follow, in the order of enum pk_attention_variant */
enum { EAGER, COMPILED };
enum { SEED = 1 }; /* the same weights and tokens in every case: losses and gradients can be compared */

static const struct pk_axis axes[] = {
    [MODEL] = {"model", .type = PK_AXIS_ENUM,
               .choices = (const char *const[]){"tiny", "small", "large", NULL},
               .sets = (const char *const[]){"layers=2 d_model=256 heads=4 d_ff=1024 batch=4 seq_len=128",
                                             "layers=12 d_model=768 heads=12 d_ff=3072 batch=64 seq_len=256",
                                             "layers=36 d_model=1280 heads=20 d_ff=5120 batch=32 seq_len=256",
                                             NULL},
               .def = "tiny", .born = "tiny",
               .help = "tiny, small or large; sets layers, d_model, heads, d_ff, batch, seq_len"},
    [LAYERS] = PK_AXIS_LAYERS("2", "blocks"),
    [D_MODEL] = PK_AXIS_D_MODEL("256", "width of the residual stream, a multiple of 8"),
    [HEADS] = PK_AXIS_HEADS("4"),
    [D_FF] = PK_AXIS_D_FF("1024"),
    [VOCAB] = PK_AXIS_VOCAB("10000", "rows of the embedding and of the head"),
    [BATCH] = {"batch", .type = PK_AXIS_INT, .unit = "sequences", .min = 1, .max = 65536,
               .also = "batch_size micro_batch bs", .def = "4", .born = "4", .help = "sequences per step"},
    [SEQ_LEN] = {"seq_len", .type = PK_AXIS_INT, .unit = "tokens", .min = 1, .max = PK_CONTEXT_MAX,
                 .also = "context context_length context_len sequence sequence_length length max_seq_len",
                 .def = "128", .born = "128", .help = "tokens per sequence"},
    [DTYPE] = {"dtype", .type = PK_AXIS_ENUM,
               .choices = (const char *const[]){[FP32] = "fp32", [TF32] = "tf32", [BF16] = "bf16", NULL},
               .choices_also = (const char *const[]){"float32 float", "tensorfloat32", "bfloat16", NULL},
               .also = "precision type data_type", .def = "fp32,bf16", .born = "fp32",
               .help =
                   "fp32; tf32: stored as fp32, multiplied as tf32; bf16: with fp32 master weights and sums"},
    [MODE] = {"mode", .type = PK_AXIS_ENUM,
              .choices =
                  (const char *const[]){[PK_STEP_FORWARD] = "forward",
                                        [PK_STEP_RETAINED] = "forward-retained",
                                        [PK_STEP_BACKWARD] = "forward+backward",
                                        [PK_STEP_WHOLE] = "step",
                                        NULL},
              .def = "forward,forward+backward,step", .born = "step",
              .help = "parts of a step; forward-retained keeps activations as if backward followed"},
    [ATTENTION] =
        {"attention", .type = PK_AXIS_ENUM,
         .choices = (const char *const[]){[AUTO] = "auto", "vanilla", "fused", "flash", "cudnn", NULL},
         .also = "attn sdpa", .def = "auto", .born = "auto",
         .help = "auto: vanilla for eager; for compiled: flash, fused for tf32, cudnn for bf16 on a GPU"},
    [RECOMPUTE] = {"recompute", .type = PK_AXIS_ENUM, .choices = (const char *const[]){"none", "block", NULL},
                   .also = "checkpoint checkpointing activation_checkpointing", .def = "none", .born = "none",
                   .help = "block: keep only the input of each block and recompute the rest in backward"},
    [WEIGHTS] =
        {"weights", .type = PK_AXIS_FILE, .def = "seeded", .born = "seeded", .data = true,
         .help = "seeded: the same random weights everywhere; or a safetensors file with every parameter"},
    {0},
};

static const struct pk_variant variants[] = {
    [EAGER] = {"eager", .summary = "one kernel per operation, launched one by one, as a framework does"},
    [COMPILED] =
        {"compiled",
         .summary =
             "fused kernels and products, one pass of AdamW, captured in a graph on devices that have graphs",
         .captured = true},
    {0},
};

static enum pk_step_mode mode_of(const struct pk_case *c)
{
    return (enum pk_step_mode)pk_case_int(c, MODE);
}

static bool has_backward(const struct pk_case *c)
{
    return mode_of(c) >= PK_STEP_BACKWARD;
}

static bool has_optimizer(const struct pk_case *c)
{
    return mode_of(c) == PK_STEP_WHOLE;
}

static const struct pk_region regions[] = {
    [STEP] = {"step", .summary = "all parts of the mode"},
    [FORWARD] = {"forward", .summary = "from tokens to the mean loss", .inside = "step"},
    [BACKWARD] = {"backward", .summary = "gradients of every parameter", .applies = has_backward,
                  .inside = "backward_optimizer"},
    [OPTIMIZER] = {"optimizer", .summary = "one step of AdamW", .applies = has_optimizer,
                   .inside = "backward_optimizer"},
    [BACKWARD_OPTIMIZER] = {"backward_optimizer", .summary = "the two together", .applies = has_optimizer,
                            .inside = "step"},
    {0},
};

static const struct pk_metric metrics[] = {
    {"before_backward_bytes", .unit = "bytes", .summary = "device memory in use after forward",
     PK_MEMORY_METRIC, .gauge = BEFORE_BACKWARD},
    {"allocated_bytes", .unit = "bytes", .summary = "device memory in use between steps", PK_MEMORY_METRIC,
     .gauge = ALLOCATED},
    {"reserved_bytes", .unit = "bytes", .summary = "device memory held by the pool, in use or kept for reuse",
     PK_MEMORY_METRIC, .gauge = RESERVED},
    {"parameters", .unit = "1", .summary = "weights of the model", .direction = PK_NO_DIRECTION,
     .class = PK_CLASS_EXACT, .gauge = PARAMETERS, .planned = "Parameters"},
    {"model_flops", .unit = "1",
     .summary =
         "FLOPs that the mode needs by definition: products of weights and of attention, causal pairs only; "
         "backward twice forward",
     .direction = PK_NO_DIRECTION, .class = PK_CLASS_EXACT, .over_ranks = PK_COMBINE_SUM,
     .gauge = MODEL_FLOPS},
    {0},
};

static const char *const few_samples[] = {"min-samples=10", NULL};

/* The report's forward pass kept its activations. */
#define EVERY_MODE "mode=forward,forward-retained,forward+backward,step"
static const struct pk_preset presets[] = {
    {"quick", .summary = "under 40 s on two cores",
     .blocks = (const char *const[]){"model=tiny " EVERY_MODE, NULL},
     .settings = (const char *const[]){"min-samples=2", "min-time=50ms", "max-time=150ms", NULL}},
    {"seed", .summary = "models small and large in fp32, tf32 and bf16",
     .blocks = (const char *const[]){"model=small,large dtype=fp32,tf32,bf16 " EVERY_MODE, NULL},
     .settings = few_samples},
    {"full", .summary = "preset seed, and steps that recompute blocks",
     .blocks =
         (const char *const[]){"model=small,large dtype=fp32,tf32,bf16 " EVERY_MODE,
                               "model=small,large dtype=fp32,tf32,bf16 mode=step recompute=block", NULL},
     .settings = few_samples},
    {0},
};

static const char *const check_points[] = {
    "layers=2 d_model=24 heads=2 d_ff=40 vocab=29 batch=3 seq_len=7 weights=seeded",
    "layers=1 d_model=16 heads=1 d_ff=8 vocab=5 batch=1 seq_len=1 weights=seeded",
    NULL,
};

/* --- a case as the model sees it --- */

static enum pk_attention_variant attention_of(const struct pk_case *c, enum pk_device_kind kind)
{
    const int64_t choice = pk_case_int(c, ATTENTION);
    if (choice != AUTO)
        return (enum pk_attention_variant)(choice - 1);
    if (c->variant == EAGER)
        return PK_ATTENTION_VANILLA;
    if (pk_case_int(c, DTYPE) == TF32) /* flash has no kernels of it */
        return PK_ATTENTION_FUSED;
    return kind == PK_DEVICE_CUDA && pk_case_int(c, DTYPE) == BF16 ? PK_ATTENTION_CUDNN : PK_ATTENTION_FLASH;
}

static struct pk_transformer_config config_of(const struct pk_case *c, enum pk_device_kind kind)
{
    const int64_t dtype = pk_case_int(c, DTYPE);
    return (struct pk_transformer_config){
        .layers = (size_t)pk_case_int(c, LAYERS),
        .width = (size_t)pk_case_int(c, D_MODEL),
        .heads = (size_t)pk_case_int(c, HEADS),
        .ff = (size_t)pk_case_int(c, D_FF),
        .vocab = (size_t)pk_case_int(c, VOCAB),
        .seq = (size_t)pk_case_int(c, SEQ_LEN),
        .batch = (size_t)pk_case_int(c, BATCH),
        .dtype = dtype == BF16 ? PK_BF16 : PK_FP32,
        .math = dtype == TF32 ? PK_MATH_TF32 : PK_MATH_IEEE,
        .attention = attention_of(c, kind),
        .fused = c->variant == COMPILED,
        .recompute = pk_case_int(c, RECOMPUTE) != 0,
    };
}

/* The file it begins with; out stays without a path where there is none. */
static enum pk_code open_weights(const struct pk_case *c, struct pk_arena *a, struct pk_safetensors *out,
                                 struct pk_err *err)
{
    const char *path = pk_axis_file_path(c->at.v[WEIGHTS], a);
    return path ? pk_safetensors_open(path, a, out, err) : PK_OK;
}

/* --- what the harness calls --- */

static const char *skip(const struct pk_case *c, enum pk_device_kind kind)
{
    const struct pk_transformer_config m = config_of(c, kind);
    const struct pk_attention_shape s = pk_transformer_attention(&m);
    if (pk_case_int(c, DTYPE) == TF32 && kind == PK_DEVICE_CPU)
        return "tf32 products need a GPU: -a dtype=fp32,bf16";
    if (m.recompute && mode_of(c) == PK_STEP_FORWARD)
        return "recompute=block has no effect in modes that keep no activations: -a mode=step";
    if (m.attention == PK_ATTENTION_CUDNN && kind != PK_DEVICE_CUDA)
        return "cuDNN needs an NVIDIA GPU: -a attention=auto";
    return pk_attention_has(m.attention, &s)
               ? NULL
               : "flash has no tf32 kernels, and cudnn has only bf16 kernels: -a attention=auto";
}

static enum pk_code validate(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                             struct pk_err *err)
{
    const struct pk_transformer_config m = config_of(c, PK_DEVICE_CPU);
    PK_SAFETENSORS_CLEANUP struct pk_safetensors weights = {0};
    if (pk_transformer_valid(&m, err) || open_weights(c, a, &weights, err))
        return err->code;
    return weights.path ? pk_transformer_weights_fit(&weights, &m, err) : PK_OK;
}

static int64_t model_flops(const struct pk_case *c, const struct pk_transformer_config *m)
{
    const double flops = pk_transformer_flops(m) * (has_backward(c) ? 3 : 1);
    return flops < 0x1p63 ? (int64_t)flops : -1;
}

/* Only the peak depends on the device. */
static int64_t predict(const struct pk_case *c, enum pk_device_kind kind, unsigned gauge)
{
    const enum pk_device_kind of = gauge == PK_PEAK_BYTES ? kind : PK_DEVICE_CPU;
    const struct pk_transformer_config m = config_of(c, of);
    struct pk_forecast f;
    struct pk_err err;
    if (gauge == RESERVED || (gauge != PK_PEAK_BYTES && pk_transformer_valid(&m, &err)))
        return -1;
    if (gauge == PARAMETERS)
        return (int64_t)pk_transformer_parameters(&m);
    if (gauge == MODEL_FLOPS)
        return model_flops(c, &m);
    pk_transformer_forecast(&m, mode_of(c), of, c->threads, &f);
    if (gauge == PK_PEAK_BYTES)
        return (int64_t)f.peak_bytes;
    if (f.peak_bytes == PK_BYTES_BEYOND)
        return -1;
    return (int64_t)(gauge == ALLOCATED ? f.state_bytes : f.forward.after_bytes);
}

static struct pk_work work(const struct pk_case *c, unsigned region)
{
    const struct pk_transformer_config m = config_of(c, PK_DEVICE_CPU);
    struct pk_forecast f;
    pk_transformer_forecast(&m, mode_of(c), PK_DEVICE_CPU, c->threads, &f);
    const struct pk_work parts[] = {
        [STEP] = pk_work_add(f.forward.work, pk_work_add(f.backward.work, f.update.work)),
        [FORWARD] = f.forward.work,
        [BACKWARD] = f.backward.work,
        [OPTIMIZER] = f.update.work,
        [BACKWARD_OPTIMIZER] = pk_work_add(f.backward.work, f.update.work),
    };
    return parts[region];
}

struct precision_state {
    struct pk_transformer t;
    struct pk_safetensors weights; /* without a path: seeded */
    struct pk_origin from;
    int32_t *tokens, *targets;
    json_t *found; /* the note, which setup and check fill */
};

static enum pk_code setup(struct pk_ctx *ctx, struct pk_err *err)
{
    struct precision_state *s = pk_new(ctx->arena, struct precision_state);
    const struct pk_transformer_config m = config_of(ctx->c, ctx->dev->kind);
    const size_t n = pk_transformer_tokens(&m);
    struct pk_rng rng = {SEED};
    ctx->state = s;
    s->found = pk_ctx_note(ctx, "found",
                           json_pack("{s:s}", "attention", axes[ATTENTION].choices[AUTO + 1 + m.attention]));
    enum pk_code rc =
        pk_transformer_open(&s->t, ctx->dev, &m, pk_step_needs(mode_of(ctx->c)), ctx->arena, err);
    if (rc || ctx->dry)
        return rc;
    if (open_weights(ctx->c, ctx->arena, &s->weights, err) ||
        (s->weights.path && pk_transformer_weights_fit(&s->weights, &m, err)))
        return err->code;
    s->from = (struct pk_origin){SEED, s->weights.path ? &s->weights : NULL};
    s->tokens = pk_new_n(ctx->arena, int32_t, n);
    s->targets = pk_new_n(ctx->arena, int32_t, n);
    for (size_t i = 0; i < n; i++) {
        s->tokens[i] = (int32_t)(pk_rng_uniform(&rng) * (double)m.vocab);
        s->targets[i] = (int32_t)(pk_rng_uniform(&rng) * (double)m.vocab);
    }
    rc = pk_transformer_fill(&s->t, &s->from, err);
    return rc ? rc : pk_transformer_batch(&s->t, s->tokens, s->targets, err);
}

static enum pk_code forward(struct pk_ctx *ctx, struct pk_err *err)
{
    struct precision_state *s = ctx->state;
    pk_mark_begin(ctx->dev, FORWARD, PK_LANE_COMPUTE);
    enum pk_code rc = pk_transformer_forward(&s->t, mode_of(ctx->c) != PK_STEP_FORWARD, err);
    pk_mark_end(ctx->dev, FORWARD, PK_LANE_COMPUTE);
    pk_mark_bytes(ctx->dev, BEFORE_BACKWARD);
    return rc;
}

static enum pk_code backward(struct pk_ctx *ctx, struct pk_err *err)
{
    struct precision_state *s = ctx->state;
    pk_mark_begin(ctx->dev, BACKWARD, PK_LANE_COMPUTE);
    enum pk_code rc = pk_transformer_backward(&s->t, err);
    pk_mark_end(ctx->dev, BACKWARD, PK_LANE_COMPUTE);
    return rc;
}

static enum pk_code run(struct pk_ctx *ctx, struct pk_err *err)
{
    struct precision_state *s = ctx->state;
    pk_mark_begin(ctx->dev, STEP, PK_LANE_COMPUTE);
    enum pk_code rc = forward(ctx, err);
    if (!rc && has_optimizer(ctx->c)) {
        pk_mark_begin(ctx->dev, BACKWARD_OPTIMIZER, PK_LANE_COMPUTE);
        rc = backward(ctx, err);
        if (!rc) {
            pk_mark_begin(ctx->dev, OPTIMIZER, PK_LANE_COMPUTE);
            rc = pk_transformer_update(&s->t, err);
            pk_mark_end(ctx->dev, OPTIMIZER, PK_LANE_COMPUTE);
        }
        pk_mark_end(ctx->dev, BACKWARD_OPTIMIZER, PK_LANE_COMPUTE);
    } else if (!rc && has_backward(ctx->c)) {
        rc = backward(ctx, err);
    }
    pk_mark_end(ctx->dev, STEP, PK_LANE_COMPUTE);
    pk_transformer_forget(&s->t);
    pk_mark_bytes(ctx->dev, ALLOCATED);
    pk_mark_value(ctx->dev, RESERVED, (int64_t)ctx->dev->pool.reserved);
    pk_mark_value(ctx->dev, PARAMETERS, (int64_t)pk_transformer_parameters(&s->t.c));
    pk_mark_value(ctx->dev, MODEL_FLOPS, model_flops(ctx->c, &s->t.c));
    return rc;
}

/* --- the check --- */

/* Loss and gradient of the first step, for tables of drift; what each phase is predicted to take. */
static enum pk_code find(struct pk_ctx *ctx, struct pk_err *err)
{
    struct precision_state *s = ctx->state;
    float loss;
    enum pk_code rc = pk_transformer_loss(&s->t, &loss, err);
    if (rc)
        return rc;
    json_object_set_new(s->found, "loss", json_real(loss));
    /* By phase, as a memory pass shows the allocations. After these phases a step without backward frees what forward kept. */
    struct pk_forecast f;
    pk_transformer_forecast(&s->t.c, mode_of(ctx->c), ctx->dev->kind, ctx->c->threads, &f);
    json_object_set_new(s->found, "predicted_peaks",
                        json_pack("{s:I, s:I, s:I, s:I}", "forward", (json_int_t)f.forward.peak_bytes,
                                  "backward", (json_int_t)f.backward.peak_bytes, "optimizer",
                                  (json_int_t)f.update.peak_bytes, "outside",
                                  (json_int_t)f.forward.after_bytes));
    if (!s->t.g)
        return PK_OK;
    struct pk_sketch k;
    if (pk_transformer_sketch(&s->t, &k, err))
        return err->code;
    json_t *v = json_array();
    for (size_t i = 0; i < PK_SKETCH; i++)
        json_array_append_new(v, json_real(k.v[i]));
    json_object_set_new(s->found, "gradient_norm", json_real(k.norm));
    json_object_set_new(s->found, "gradient_sketch", v);
    return PK_OK;
}

static enum pk_code check(struct pk_ctx *ctx, bool full, struct pk_err *err)
{
    struct precision_state *s = ctx->state;
    if (pk_transformer_check_steps(&s->t, &s->from, err) ||
        pk_transformer_check(&s->t, s->tokens, s->targets, full, err))
        return err->code;
    return full ? PK_OK : find(ctx, err);
}

static enum pk_code inspect(struct pk_ctx *ctx, bool last, struct pk_err *err)
{
    float loss;
    if (ctx->dry || last)
        return PK_OK;
    return pk_transformer_finite_loss(&((struct precision_state *)ctx->state)->t, &loss, err);
}

static void teardown(struct pk_ctx *ctx)
{
    struct precision_state *s = ctx->state;
    if (!s)
        return;
    pk_transformer_close(&s->t);
    pk_safetensors_close(&s->weights);
}

const struct pk_probe pk_probe_mixed_precision = {
    .name = "mixed-precision",
    .summary = "a transformer's forward, backward and optimizer in fp32, tf32 and bf16, eager and compiled",
    .revision = 1,
    .axes = axes,
    .variants = variants,
    .regions = regions,
    .metrics = metrics,
    .presets = presets,
    .check_points = check_points,
    .shrink = "batch",
    .skip = skip,
    .validate = validate,
    .predict = predict,
    .work = work,
    .setup = setup,
    .run = run,
    .inspect = inspect,
    .check = check,
    .teardown = teardown,
};
