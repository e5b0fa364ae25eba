/* attention-scaling: how time and memory of attention grow with the sequence length, forward and backward.
 *
 *   O = softmax(Q K^T / sqrt(d)) V   for batch * heads independent problems of [seq_len, d_model / heads]
 *
 * vanilla is an eager framework, one kernel per operation, and is not optimised: it is the reference. fused is what a graph compiler
 * emits. flash never stores the seq_len x seq_len scores; cudnn is the vendor's flash, in bf16 only. */
#include "bench/probe.h"

#include "base/rng.h"
#include "ops/attention.h"
#include "ops/attention_check.h"
#include "ops/workspace.h"

#include <math.h>

enum { BATCH, HEADS, D_MODEL, SEQ_LEN, CAUSAL, DTYPE, MATH };
enum { FORWARD, BACKWARD };
enum { BEFORE_BACKWARD };
enum { CHECK_SAMPLES = 4 };

enum { FP32, TF32, BF16 };           /* choices of dtype */
enum { IEEE, BY_3XTF32, BY_FP16X3 }; /* of math */

static bool is_fp32(const struct pk_point *p)
{
    return p->v[DTYPE].i == FP32;
}

static const struct pk_axis axes[] = {
    [BATCH] = {"batch", .type = PK_AXIS_INT, .unit = "sequences", .min = 1, .max = 65536,
               .also = "batch_size micro_batch bs", .def = "8", .born = "8", .help = "sequences per step"},
    [HEADS] = {"heads", .type = PK_AXIS_INT, .unit = "heads", .min = 1, .max = 1024,
               .also = "n_head n_heads num_heads num_attention_heads", .def = "1", .born = "1",
               .help = "number of attention heads; must divide d_model"},
    [D_MODEL] = {"d_model", .type = PK_AXIS_INT, .unit = "features", .min = 1, .max = 65536,
                 .also = "width hidden hidden_size embed_dim n_embd", .def = "16,32,64,128", .born = "64",
                 .help = "width of Q, K and V over all heads"},
    [SEQ_LEN] = {"seq_len", .type = PK_AXIS_INT, .unit = "tokens", .min = 1, .max = 1048576,
                 .also = "context context_length context_len sequence sequence_length length max_seq_len",
                 .def = "256,1024,4096", .born = "1024", .help = "tokens per sequence"},
    [CAUSAL] = {"causal", .type = PK_AXIS_BOOL, .min = 0, .max = 1, .also = "mask", .def = "off",
                .born = "off", .help = "mask scores of later tokens"},
    [DTYPE] = {"dtype", .type = PK_AXIS_ENUM,
               .choices = (const char *const[]){[FP32] = "fp32", [TF32] = "tf32", [BF16] = "bf16", NULL},
               .choices_also = (const char *const[]){"float32 float", "tensorfloat32", "bfloat16", NULL},
               .also = "precision type data_type", .def = "fp32", .born = "fp32",
               .help = "type of every array; tf32: stored as fp32, multiplied as tf32"},
    [MATH] = {"math", .type = PK_AXIS_ENUM,
              .choices =
                  (const char *const[]){
                      [IEEE] = "ieee", [BY_3XTF32] = "3xtf32", [BY_FP16X3] = "fp16x3", NULL},
              .def = "ieee", .born = "ieee",
              .help =
                  "how fp32 products are computed; 3xtf32, fp16x3: each as three products on tensor cores "
                  "(fp16x3: forward, experimental)",
              .applies = is_fp32},
    {0},
};

static const char *gpu_only(enum pk_device_kind kind)
{
    return kind == PK_DEVICE_CUDA ? NULL : "cuDNN needs an NVIDIA GPU";
}

static const struct pk_variant variants[] = {
    [PK_ATTENTION_VANILLA] =
        {"vanilla",
         .summary = "one kernel per operation, every intermediate stored, as a framework does eagerly"},
    [PK_ATTENTION_FUSED] =
        {"fused",
         .summary =
             "scale folded into the product, single-pass softmax, no extra copies, as a graph compiler does",
         .captured = true},
    [PK_ATTENTION_FLASH] =
        {"flash",
         .summary =
             "tiles of scores that are never stored, recomputed in backward: memory linear in seq_len"},
    [PK_ATTENTION_CUDNN] = {"cudnn",
                            .summary = "flash attention by the vendor's kernels, for bf16 on NVIDIA GPUs",
                            .unavailable = gpu_only, .captured = true},
    {0},
};

static const struct pk_region regions[] = {
    [FORWARD] = {"forward", .summary = "O from Q, K, V"},
    [BACKWARD] = {"backward", .summary = "dQ, dK, dV from dO and what forward saved"},
    {0},
};

static const struct pk_metric metrics[] = {
    {"before_backward_bytes", .unit = "bytes", .summary = "device memory in use between forward and backward",
     PK_MEMORY_METRIC, .gauge = BEFORE_BACKWARD},
    {0},
};

static const char *const few_samples[] = {"min-samples=5", NULL};

static const struct pk_preset presets[] = {
    {"quick", .summary = "under 40 s on two cores",
     .blocks =
         (const char *const[]){"d_model=16,32,64,128 seq_len=256,1024", "d_model=64 seq_len=2048", NULL},
     .settings = (const char *const[]){"min-samples=2", "min-time=50ms", "max-time=100ms", NULL}},
    {"seed", .summary = "20 shapes up to 16384 tokens",
     .blocks = (const char *const[]){"d_model=16,32,64,128 seq_len=256,1024,4096,8192,16384", NULL},
     .settings = few_samples},
    {"full", .summary = "the grid of preset seed, and 32768 and 65536 tokens",
     .blocks =
         (const char *const[]){"d_model=16,32,64,128 seq_len=256,1024,4096,8192,16384,32768,65536", NULL},
     .settings = few_samples},
    {"smoke", .summary = "four times of one shape in a third of a second, for gates and calibrate",
     .blocks = (const char *const[]){"d_model=32 seq_len=256", NULL},
     .settings = (const char *const[]){"min-samples=5", "min-time=50ms", "max-time=100ms", NULL},
     .variants = (const char *const[]){"vanilla", "flash", NULL}},
    {0},
};

static const struct pk_fit_row fits[] = {
    {"forward_time_exponent", .metric = "forward_ns", .axis = "seq_len", .kind = PK_FIT_POWER},
    {"backward_time_exponent", .metric = "backward_ns", .axis = "seq_len", .kind = PK_FIT_POWER},
    {"peak_memory_exponent", .metric = "peak_bytes", .axis = "seq_len", .kind = PK_FIT_POWER},
    {"before_backward_memory_exponent", .metric = "before_backward_bytes", .axis = "seq_len",
     .kind = PK_FIT_POWER},
    {0},
};

static const char *const check_points[] = {
    "seq_len=1 d_model=1 batch=2 heads=1",
    "seq_len=7 d_model=3 batch=1 heads=1",
    "seq_len=130 d_model=100 batch=2 heads=1",
    "seq_len=33 d_model=24 batch=1 heads=2",
    "seq_len=65 d_model=48 batch=1 heads=2",
    "seq_len=130 d_model=64 batch=2 heads=1",
    NULL,
};

struct attention_state {
    struct pk_attention_step step;
    void *q, *k, *v, *d_o;
};

static struct pk_attention_shape shape_of(const struct pk_case *c)
{
    static const enum pk_math maths[] = {PK_MATH_IEEE, PK_MATH_3XTF32, PK_MATH_FP16X3};
    const int64_t dtype = pk_case_int(c, DTYPE);
    size_t dim = (size_t)(pk_case_int(c, D_MODEL) / pk_case_int(c, HEADS));
    return (struct pk_attention_shape){
        .problems = (size_t)(pk_case_int(c, BATCH) * pk_case_int(c, HEADS)),
        .seq = (size_t)pk_case_int(c, SEQ_LEN),
        .dim = dim,
        .causal = (int)pk_case_int(c, CAUSAL),
        .scale = 1.0f / sqrtf((float)dim),
        .dtype = dtype == BF16 ? PK_BF16 : PK_FP32,
        .math = dtype == TF32   ? PK_MATH_TF32
                : dtype == FP32 ? maths[pk_case_int(c, MATH)]
                                : PK_MATH_IEEE,
    };
}

/* --- what the harness calls --- */

static const char *skip(const struct pk_case *c, enum pk_device_kind kind)
{
    enum { CUDNN_STEP = 8 }; /* rows of 16 bytes */
    const struct pk_attention_shape s = shape_of(c);
    const int64_t dtype = pk_case_int(c, DTYPE);
    if (pk_case_int(c, D_MODEL) % pk_case_int(c, HEADS))
        return "d_model is not a multiple of heads";
    if (dtype == TF32 && kind == PK_DEVICE_CPU)
        return "tf32 products need a GPU: -a dtype=fp32";
    if (s.math > PK_MATH_TF32 && kind == PK_DEVICE_CPU)
        return s.math == PK_MATH_3XTF32 ? "3xtf32 products need a GPU: -a math=ieee"
                                        : "fp16x3 products need a GPU: -a math=ieee";
    if (s.math > PK_MATH_TF32 && c->variant != PK_ATTENTION_FLASH)
        return s.math == PK_MATH_3XTF32 ? "only flash has 3xtf32 products: -a math=ieee"
                                        : "only flash has fp16x3 products: -a math=ieee";
    if (s.math == PK_MATH_FP16X3 && !pk_fp16x3_is_on())
        return "fp16x3 products are experimental, no GPU has checked them: set PERFKIT_FP16X3=on, or -a "
               "math=3xtf32";
    if (c->variant == PK_ATTENTION_FLASH &&
        (!pk_attention_has(c->variant, &s) || (dtype == BF16 && kind == PK_DEVICE_CUDA)))
        return "flash on a GPU has only fp32 kernels: -a dtype=fp32";
    if (c->variant != PK_ATTENTION_CUDNN)
        return NULL;
    if (!pk_attention_has(c->variant, &s))
        return "cuDNN's attention has no fp32: -a dtype=bf16";
    return s.dim % CUDNN_STEP ? "cuDNN's attention needs a multiple of 8 features per head" : NULL;
}

static int64_t predict(const struct pk_case *c, enum pk_device_kind kind, unsigned gauge)
{
    const struct pk_attention_shape s = shape_of(c);
    return (int64_t)(gauge == PK_PEAK_BYTES ? pk_attention_peak_bytes(c->variant, &s, kind)
                                            : pk_attention_saved_bytes(c->variant, &s));
}

static struct pk_work work(const struct pk_case *c, unsigned region)
{
    struct pk_attention_shape s = shape_of(c);
    return region == FORWARD ? pk_attention_forward_work(c->variant, &s)
                             : pk_attention_backward_work(c->variant, &s);
}

/* Uniform with mean 0 and variance 1, the same for every variant of a point; those of bf16 are rounded to it. A dry
 * device copies nothing: its inputs need no values. */
static enum pk_code fill(struct pk_ctx *ctx, char *dst, size_t n, enum pk_dtype type, uint64_t seed,
                         struct pk_err *err)
{
    enum { CHUNK = 16384 };
    struct pk_rng rng = {ctx->seed + seed};
    float *host = pk_new_n(ctx->arena, float, CHUNK);
    uint16_t *narrow = pk_new_n(ctx->arena, uint16_t, CHUNK);
    const size_t size = pk_dtype_bytes(type);
    for (size_t at = 0; at < n; at += CHUNK) {
        size_t m = n - at < CHUNK ? n - at : CHUNK;
        for (size_t i = 0; !ctx->dry && i < m; i++)
            host[i] = (float)((pk_rng_uniform(&rng) - 0.5) * 3.4641016151377544);
        for (size_t i = 0; !ctx->dry && type != PK_FP32 && i < m; i++)
            narrow[i] = pk_bf16_of_float(host[i]);
        enum pk_code rc = pk_device_copy_now(ctx->dev, PK_COPY_HOST_TO_DEVICE, dst + at * size,
                                             type == PK_FP32 ? (void *)host : narrow, m * size, err);
        if (rc)
            return rc;
    }
    return PK_OK;
}

static enum pk_code setup(struct pk_ctx *ctx, struct pk_err *err)
{
    struct attention_state *t = pk_new(ctx->arena, struct attention_state);
    ctx->state = t;
    t->step.s = shape_of(ctx->c);
    const enum pk_dtype type = t->step.s.dtype;
    const size_t n = t->step.s.problems * t->step.s.seq * t->step.s.dim;
    void **inputs[] = {&t->q, &t->k, &t->v, &t->d_o};
    enum pk_code rc = pk_attention_prepare(ctx->dev, ctx->c->variant, &t->step.s, err);
    for (size_t i = 0; !rc && i < 4; i++) {
        if (!(*inputs[i] = pk_device_alloc(ctx->dev, n * pk_dtype_bytes(type), PK_TAG_INPUT)))
            return pk_device_oom(ctx->dev, err);
        rc = fill(ctx, *inputs[i], n, type, i, err);
    }
    t->step.q = t->q;
    t->step.k = t->k;
    t->step.v = t->v;
    t->step.d_o = t->d_o;
    return rc;
}

static enum pk_code run(struct pk_ctx *ctx, struct pk_err *err)
{
    struct attention_state *t = ctx->state;
    pk_attention_forget(ctx->dev, &t->step);
    pk_mark_begin(ctx->dev, FORWARD, PK_LANE_COMPUTE);
    enum pk_code rc = pk_attention_forward(ctx->dev, ctx->c->variant, &t->step, err);
    pk_mark_end(ctx->dev, FORWARD, PK_LANE_COMPUTE);
    if (rc)
        return rc;
    pk_mark_bytes(ctx->dev, BEFORE_BACKWARD);
    pk_mark_begin(ctx->dev, BACKWARD, PK_LANE_COMPUTE);
    rc = pk_attention_backward(ctx->dev, ctx->c->variant, &t->step, err);
    pk_mark_end(ctx->dev, BACKWARD, PK_LANE_COMPUTE);
    return rc;
}

static void widen(const void *raw, size_t n, enum pk_dtype type, float *wide)
{
    for (size_t i = 0; i < n; i++)
        wide[i] = type == PK_BF16 ? pk_bf16_to_float(((const uint16_t *)raw)[i]) : ((const float *)raw)[i];
}

/* Elements [first, first + n) of an array, widened. */
static enum pk_code fetch(struct pk_ctx *ctx, const char *src, size_t first, size_t n, enum pk_dtype type,
                          const float **dst, struct pk_err *err)
{
    const size_t size = pk_dtype_bytes(type);
    void *raw = pk_alloc_n(ctx->arena, n, size);
    float *wide = pk_new_n(ctx->arena, float, n);
    if (pk_device_copy_now(ctx->dev, PK_COPY_DEVICE_TO_HOST, raw, src + first * size, n * size, err))
        return err->code;
    widen(raw, n, type, wide);
    *dst = wide;
    return PK_OK;
}

struct column_source {
    struct pk_ctx *ctx;
    const char *p; /* on the device; its problem's [seq, seq] begin at element `first` */
    enum pk_dtype type;
    size_t first, seq;
};

/* Column j of the stored probabilities, fetched element by element: a check reads four columns, never the
 * matrix. */
static enum pk_code fetch_column(void *user, size_t j, float *column, struct pk_err *err)
{
    const struct column_source *src = user;
    const size_t size = pk_dtype_bytes(src->type);
    char *raw = pk_alloc_n(src->ctx->arena, src->seq, size);
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < src->seq; i++)
        rc = pk_device_copy(src->ctx->dev, PK_LANE_COMPUTE, PK_COPY_DEVICE_TO_HOST, raw + i * size,
                            src->p + (src->first + i * src->seq + j) * size, size, err);
    if (rc || pk_device_sync(src->ctx->dev, err))
        return err->code;
    widen(raw, src->seq, src->type, column);
    return PK_OK;
}

static enum pk_code check_problem(struct pk_ctx *ctx, const struct pk_attention_step *t, size_t b, bool full,
                                  struct pk_err *err)
{
    struct pk_attention_host h = {t->s.seq, t->s.dim, t->s.causal, t->s.scale, t->s.dtype, t->s.math};
    const size_t n = h.seq * h.dim;
    const struct {
        const void *src;
        const float **dst;
        size_t n;
        enum pk_dtype type;
    } arrays[] = {{t->q, &h.q, n, h.dtype},   {t->k, &h.k, n, h.dtype},     {t->v, &h.v, n, h.dtype},
                  {t->o, &h.o, n, h.dtype},   {t->d_o, &h.d_o, n, h.dtype}, {t->dq, &h.dq, n, h.dtype},
                  {t->dk, &h.dk, n, h.dtype}, {t->dv, &h.dv, n, h.dtype},   {t->lse, &h.lse, h.seq, PK_FP32}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        enum pk_code rc = PK_OK;
        if (arrays[i].src)
            rc = fetch(ctx, arrays[i].src, b * arrays[i].n, arrays[i].n, arrays[i].type, arrays[i].dst, err);
        if (rc)
            return rc;
    }
    struct column_source src = {ctx, t->p, h.dtype, b * h.seq * h.seq, h.seq};
    if (t->p) {
        h.p_column = fetch_column;
        h.p_user = &src;
    }
    return full ? pk_attention_check_full(&h, ctx->arena, err)
                : pk_attention_check_sampled(&h, CHECK_SAMPLES, ctx->seed, ctx->arena, err);
}

/* Fully: every problem. At the real shape: the last one, by sampled rows and columns. */
static enum pk_code check(struct pk_ctx *ctx, bool full, struct pk_err *err)
{
    const struct pk_attention_step *t = &((struct attention_state *)ctx->state)->step;
    enum pk_code rc = PK_OK;
    for (size_t b = full ? 0 : t->s.problems - 1; !rc && b < t->s.problems; b++)
        rc = check_problem(ctx, t, b, full, err);
    return rc;
}

const struct pk_probe pk_probe_attention_scaling = {
    .name = "attention-scaling",
    .summary = "time and memory of attention, forward and backward, over sequence length and width",
    .revision = 1,
    .axes = axes,
    .variants = variants,
    .regions = regions,
    .metrics = metrics,
    .presets = presets,
    .fits = fits,
    .check_points = check_points,
    .skip = skip,
    .predict = predict,
    .work = work,
    .setup = setup,
    .run = run,
    .check = check,
};
