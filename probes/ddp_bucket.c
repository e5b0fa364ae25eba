/* ddp-bucket: one step of data-parallel training: how much of the averaging of its gradients is not hidden behind compute.
 *
 * Compute is a timer that leaves the core free, like a host whose GPU computes, or that of a transformer; ranks are virtual, on a link
 * of given latency and bandwidth, or processes. `naive` is a loop over the parameters and is not optimised: it is the reference.
 * docs/ddp-bucket.md. */
#include "bench/probe.h"
#include "bench/transport.h"

#include "comm/allreduce_fit.h"
#include "model/averaging.h"
#include "model/transformer/forecast.h"

#include <math.h>
#include <string.h>

enum {
    WORK,
    TENSORS,
    MODEL,
    BATCH,
    SEQ_LEN,
    TRANSPORT,
    RANKS,
    DTYPE,
    COMPUTE,
    BUCKET_BYTES,
    FIRST_BUCKET_BYTES,
    SPLIT,
    GRADIENTS,
    LATENCY,
    BANDWIDTH,
    JITTER
};
enum {
    COMM,
    EXPOSED,
    ALL_REDUCES,
    GRADIENT_BYTES,
    TENSOR_COUNT,
    BUCKETS,
    LEAST_BUCKET,
    MEAN_BUCKET,
    MOST_BUCKET,
    OVERSIZE
};
enum { TINY, SMALL, LARGE };
enum { FP32, BF16 };
enum { TIMER, TRANSFORMER };
enum { VIEWS, COPY };
static const struct pk_transport_axes transport = {TRANSPORT, RANKS, LATENCY, BANDWIDTH, JITTER};

static bool is_timed(const struct pk_point *p)
{
    return p->v[WORK].i == TIMER;
}

static bool is_computed(const struct pk_point *p)
{
    return !is_timed(p);
}

static bool is_named(const struct pk_point *p)
{
    return !strcmp(p->v[TENSORS].s, "model");
}

static bool has_ranks(const struct pk_point *p)
{
    return p->v[TRANSPORT].i != PK_TRANSPORT_SELF;
}

static bool on_link(const struct pk_point *p)
{
    return p->v[TRANSPORT].i == PK_TRANSPORT_LINK;
}

static const struct pk_axis axes[] = {
    [WORK] = {"work", .type = PK_AXIS_ENUM, .choices = (const char *const[]){"timer", "transformer", NULL},
              .def = "timer", .born = "timer",
              .help = "what produces gradients: a timer that leaves the core free, like a host whose GPU "
                      "computes, or the backward pass of a transformer"},
    [TENSORS] =
        {"tensors", .type = PK_AXIS_FILE, .def = "model", .born = "model",
         .help = "model, or a file with the tensors of your model: a name and a number of elements per line"},
    [MODEL] = {"model", .type = PK_AXIS_ENUM,
               .choices = (const char *const[]){"tiny", "small", "large", NULL}, .def = "tiny",
               .born = "small", .applies = is_named,
               .help = "transformers: small 128,625,408 parameters in 111 tensors, large "
                       "969,411,840 in 327; tiny has 39"},
    [BATCH] = {"batch", .type = PK_AXIS_INT, .unit = "sequences", .min = 1, .max = 65536,
               .also = "batch_size micro_batch bs", .def = "1", .born = "1", .applies = is_computed,
               .help = "for work=transformer: sequences per rank"},
    [SEQ_LEN] = {"seq_len", .type = PK_AXIS_INT, .unit = "tokens", .min = 1, .max = 1048576,
                 .also = "context context_length context_len sequence sequence_length length max_seq_len",
                 .def = "128", .born = "128", .applies = is_computed,
                 .help = "for work=transformer: tokens per sequence"},
    [TRANSPORT] = PK_AXIS_TRANSPORT,
    [RANKS] = {"ranks", .type = PK_AXIS_INT, .unit = "ranks", .min = 1, .max = 1048576,
               .also = "world_size nproc nproc_per_node processes", .def = "2", .born = "2",
               .applies = has_ranks, .implies = "transport=mpi",
               .help = "number of ranks that average their gradients"},
    [DTYPE] = {"dtype", .type = PK_AXIS_ENUM, .choices = (const char *const[]){"fp32", "bf16", NULL},
               .choices_also = (const char *const[]){"float32 float", "bfloat16", NULL},
               .also = "precision type data_type", .def = "fp32", .born = "fp32",
               .help = "type of the gradients"},
    [COMPUTE] = {"compute_ms", .type = PK_AXIS_FLOAT, .unit = "ms", .min = 0.001, .max = 3600000,
                 .also = "compute", .def = "20", .born = "20", .applies = is_timed,
                 .help = "compute time of a step with work=timer: a third forward, two thirds backward"},
    [BUCKET_BYTES] = {"bucket_bytes", .type = PK_AXIS_SIZE, .unit = "bytes", .min = 1, .max = 1e15,
                      .also = "bucket bucket_size bucket_cap bucket_cap_mb", .def = "25MB", .born = "25MB",
                      .help = "maximum size of a bucket; a larger tensor is a separate bucket"},
    [FIRST_BUCKET_BYTES] = {"first_bucket_bytes", .type = PK_AXIS_SIZE, .unit = "bytes", .min = 0,
                            .max = 1e15, .also = "first_bucket first_bucket_size", .def = "0", .born = "0",
                            .help = "maximum size of the first bucket; 0: the same as the others"},
    [SPLIT] =
        {"split", .type = PK_AXIS_BOOL, .min = 0, .max = 1, .def = "off", .born = "off",
         .help =
             "buckets are equal parts of the flat array, so that a tensor may be in several; off: tensors "
             "are not divided"},
    [GRADIENTS] = {"gradients", .type = PK_AXIS_ENUM, .choices = (const char *const[]){"views", "copy", NULL},
                   .def = "views", .born = "views",
                   .help = "gradients are views of buckets, or are copied into them and back"},
    [LATENCY] = PK_AXIS_LINK_LATENCY(on_link),
    [BANDWIDTH] = PK_AXIS_LINK_BANDWIDTH(on_link),
    [JITTER] = PK_AXIS_LINK_JITTER(on_link),
    {0},
};

#define CAPS "bucket_bytes first_bucket_bytes split"
static const struct pk_variant variants[] = {
    [PK_AVERAGE_NONE] = {"none", .summary = "no communication: the time of a step on one rank",
                         .ignores = CAPS " gradients"},
    [PK_AVERAGE_NAIVE] = {"naive", .summary = "after backward, one all-reduce for each parameter",
                          .ignores = CAPS " gradients"},
    [PK_AVERAGE_COALESCED] = {"coalesced",
                              .summary = "after backward, all parameters in one call, without copying",
                              .ignores = CAPS " gradients"},
    [PK_AVERAGE_FLAT] = {"flat", .summary = "after backward, one all-reduce of one flat array",
                         .ignores = CAPS},
    [PK_AVERAGE_OVERLAP] =
        {"overlap",
         .summary = "during backward, one all-reduce for each parameter when its gradient is ready",
         .ignores = CAPS " gradients"},
    [PK_AVERAGE_BUCKET] =
        {"bucket", .summary = "during backward, one all-reduce for each bucket of gradients when it is full"},
    {0},
};

static int64_t elements_of(int64_t bytes, enum pk_dtype type)
{
    const int64_t n = bytes / (int64_t)pk_dtype_bytes(type);
    return n || !bytes ? n : 1;
}

static struct pk_averaging_options options_of(const struct pk_case *c)
{
    const double compute_ns = c->at.v[COMPUTE].f * 1e6;
    const enum pk_dtype type = pk_case_int(c, DTYPE) == BF16 ? PK_BF16 : PK_FP32;
    return (struct pk_averaging_options){
        .way = (enum pk_averaging_way)c->variant,
        .type = type,
        .copy =
            pk_averaging_contiguous((enum pk_averaging_way)c->variant) && pk_case_int(c, GRADIENTS) == COPY,
        .work = pk_case_int(c, WORK) == TRANSFORMER ? PK_WORK_TRANSFORMER : PK_WORK_TIMER,
        .cap = (size_t)elements_of(pk_case_int(c, BUCKET_BYTES), type),
        .first_cap = (size_t)elements_of(pk_case_int(c, FIRST_BUCKET_BYTES), type),
        .split = c->variant == PK_AVERAGE_BUCKET && pk_case_int(c, SPLIT),
        .forward_ns = (uint64_t)llround(compute_ns / 3),
        .backward_ns = (uint64_t)llround(compute_ns) - (uint64_t)llround(compute_ns / 3),
    };
}

static bool has(const struct pk_case *c, enum pk_averaging_region region)
{
    const struct pk_averaging_options o = options_of(c);
    return pk_averaging_has(&o, region);
}

static bool has_flatten(const struct pk_case *c)
{
    return has(c, PK_REGION_FLATTEN);
}

static bool has_all_reduce(const struct pk_case *c)
{
    return has(c, PK_REGION_ALL_REDUCE);
}

static bool has_wait(const struct pk_case *c)
{
    return has(c, PK_REGION_WAIT);
}

static bool has_copy_back(const struct pk_case *c)
{
    return has(c, PK_REGION_COPY_BACK);
}

static const struct pk_region regions[] = {
    [PK_REGION_STEP] = {"step", .summary = "all of it"},
    [PK_REGION_FORWARD] = {"forward", .summary = "compute before the first gradient", .inside = "step"},
    [PK_REGION_BACKWARD] = {"backward", .summary = "compute of gradients, and the start of all-reduces in it",
                            .inside = "step"},
    [PK_REGION_FLATTEN] = {"flatten", .summary = "gradients are copied into the flat array",
                           .applies = has_flatten, .inside = "step"},
    [PK_REGION_ALL_REDUCE] = {"all_reduce", .summary = "communication after backward",
                              .applies = has_all_reduce, .inside = "step"},
    [PK_REGION_WAIT] = {"wait", .summary = "wait for all-reduces that were started during backward",
                        .applies = has_wait, .inside = "step"},
    [PK_REGION_COPY_BACK] = {"copy_back", .summary = "averages are copied back to the gradients",
                             .applies = has_copy_back, .inside = "step"},
    {0},
};

#define TIME_GAUGE .class = PK_CLASS_TIME, .over_ranks = PK_COMBINE_MAX
#define EXACT      .direction = PK_NO_DIRECTION, .class = PK_CLASS_EXACT, .over_ranks = PK_COMBINE_MAX
static const struct pk_metric metrics[] = {
    {"comm_ns", .unit = "ns",
     .summary = "sum of the all-reduces, each from its start on the transport to its end", TIME_GAUGE,
     .gauge = COMM},
    {"exposed_ns", .unit = "ns", .summary = "from the end of compute to the end of the last all-reduce",
     TIME_GAUGE, .gauge = EXPOSED},
    {"all_reduces", .unit = "1", .summary = "all-reduce calls per step", EXACT, .gauge = ALL_REDUCES},
    {"gradient_bytes", .unit = "bytes", .summary = "all gradients", EXACT, .gauge = GRADIENT_BYTES,
     .planned = "Gradients (MB)"},
    {"tensors", .unit = "1", .summary = "parameter tensors", EXACT, .gauge = TENSOR_COUNT,
     .planned = "Tensors"},
    {"buckets", .unit = "1", .summary = "buckets", EXACT, .gauge = BUCKETS},
    {"least_bucket_bytes", .unit = "bytes", .summary = "the smallest bucket", EXACT, .gauge = LEAST_BUCKET},
    {"mean_bucket_bytes", .unit = "bytes", .summary = "mean size of a bucket", EXACT, .gauge = MEAN_BUCKET},
    {"most_bucket_bytes", .unit = "bytes", .summary = "the largest bucket", EXACT, .gauge = MOST_BUCKET},
    {"oversize", .unit = "1", .summary = "tensors larger than the cap of their bucket", EXACT,
     .gauge = OVERSIZE},
    {0},
};

#define SEED_SIZES "bucket_bytes=1MB,10MB,25MB,100MB,200MB,400MB"
static const struct pk_preset presets[] = {
    {"quick", .summary = "a tiny model with compute slower and faster than the link; under 40 s on two cores",
     .blocks =
         (const char *const[]){
             "transport=link compute_ms=4,20 bucket_bytes=64KiB,256KiB,1MiB,4MiB,16MiB,64MiB", NULL},
     .settings = (const char *const[]){"min-samples=3", "min-time=50ms", "max-time=100ms", NULL}},
    {"seed", .summary = "models small and large, bucket sizes from 1 to 400 MB",
     .blocks =
         (const char *const[]){"transport=link model=small compute_ms=30,300 " SEED_SIZES,
                               "transport=link model=large compute_ms=200,2000 " SEED_SIZES,
                               "transport=link model=large compute_ms=200,2000 split=on " SEED_SIZES, NULL},
     .settings = (const char *const[]){"min-samples=5", NULL}},
    {"copies", .summary = "model small, with gradients copied into buckets and back",
     .blocks =
         (const char *const[]){"transport=link model=small compute_ms=300 gradients=views,copy " SEED_SIZES,
                               NULL},
     .settings = (const char *const[]){"min-samples=5", NULL}},
    {0},
};

static const char *const check_points[] = {
    "model=tiny compute_ms=0.1 batch=1 seq_len=5 bucket_bytes=3000001 first_bucket_bytes=1000001",
    NULL,
};

/* --- what a case is about --- */

static struct pk_transformer_config config_of(const struct pk_case *c)
{
    enum { VOCAB = 10000 };
    static const struct pk_transformer_config sizes[] = {
        [TINY] = {.layers = 4, .width = 256, .heads = 4, .ff = 1024},
        [SMALL] = {.layers = 12, .width = 768, .heads = 12, .ff = 3072},
        [LARGE] = {.layers = 36, .width = 1280, .heads = 20, .ff = 5120}};
    struct pk_transformer_config m = sizes[pk_case_int(c, MODEL)];
    m.vocab = VOCAB;
    m.batch = (size_t)pk_case_int(c, BATCH);
    m.seq = (size_t)pk_case_int(c, SEQ_LEN);
    m.dtype = PK_FP32;
    m.attention = PK_ATTENTION_FLASH;
    m.fused = true;
    return m;
}

static enum pk_code find_gradients(const struct pk_case *c, struct pk_arena *a, struct pk_gradients *out,
                                   struct pk_err *err)
{
    const struct pk_transformer_config m = config_of(c);
    const char *path = pk_axis_file_path(c->at.v[TENSORS], a);
    if (path)
        return pk_gradients_read(path, a, out, err);
    pk_gradients_of_transformer(&m, a, out);
    return PK_OK;
}

/* Of a transformer; of a timer zeros. */
static struct pk_forecast forecast_of(const struct pk_case *c, enum pk_device_kind kind)
{
    const struct pk_transformer_config m = config_of(c);
    struct pk_forecast f = {0};
    if (is_computed(&c->at))
        pk_transformer_forecast(&m, PK_STEP_BACKWARD, kind, c->threads, &f);
    return f;
}

static void doubt_cap(const struct pk_case *c, unsigned axis, const char *doubt, struct pk_arena *a,
                      pk_warn_fn *warn, void *user)
{
    warn(user,
         pk_printf(a, "%s %s is %s", axes[axis].name, pk_axis_format(&axes[axis], c->at.v[axis], a), doubt));
}

/* Caps that decide nothing. */
static void doubt_caps(const struct pk_case *c, const struct pk_gradients *g, struct pk_arena *a,
                       pk_warn_fn *warn, void *user)
{
    static const char too_large[] =
        "larger than the model: a single bucket, which cannot overlap with compute";
    const struct pk_averaging_options o = options_of(c);
    size_t least = g->v[0].elements;
    for (size_t t = 1; t < g->n; t++)
        least = g->v[t].elements < least ? g->v[t].elements : least;
    if (o.cap < least && !o.split)
        doubt_cap(c, BUCKET_BYTES,
                  "smaller than every tensor: each tensor is a separate bucket, as in overlap", a, warn,
                  user);
    if (o.first_cap > g->elements)
        doubt_cap(c, FIRST_BUCKET_BYTES, too_large, a, warn, user);
    else if (o.cap > g->elements && !o.first_cap)
        doubt_cap(c, BUCKET_BYTES, too_large, a, warn, user);
}

static enum pk_code validate(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                             struct pk_err *err)
{
    struct pk_gradients g;
    if (is_computed(&c->at) && !is_named(&c->at)) {
        pk_fail(err, PK_E_USAGE, "work=transformer with tensors=%s",
                pk_axis_format(&axes[TENSORS], c->at.v[TENSORS], a));
        pk_why(err, "a list of tensors does not describe the layers that compute them");
        return pk_fix(err, "use work=timer, or a model: --model tiny, small or large");
    }
    if (find_gradients(c, a, &g, err))
        return err->code;
    if (c->variant == PK_AVERAGE_BUCKET)
        doubt_caps(c, &g, a, warn, user);
    return PK_OK;
}

static int64_t predict(const struct pk_case *c, enum pk_device_kind kind, unsigned gauge)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_gradients g;
    struct pk_err err;
    if (gauge != PK_PEAK_BYTES && gauge != GRADIENT_BYTES && gauge != TENSOR_COUNT)
        return -1;
    if (find_gradients(c, &a, &g, &err))
        return gauge == PK_PEAK_BYTES ? 0 : -1;
    if (gauge == PK_PEAK_BYTES) {
        const struct pk_averaging_options o = options_of(c);
        const int64_t buckets = pk_averaging_bytes(&o, &g), rest = (int64_t)forecast_of(c, kind).peak_bytes;
        return rest > INT64_MAX - buckets ? INT64_MAX : rest + buckets;
    }
    return gauge == TENSOR_COUNT ? (int64_t)g.n : (int64_t)(g.elements * pk_dtype_bytes(options_of(c).type));
}

static const char *skip(const struct pk_case *c, enum pk_device_kind kind)
{
    return pk_transport_skip(c, &transport, kind);
}

/* A timer computes nothing, and what a link carries is no bandwidth of the device: copies are, and a transformer's passes. */
static struct pk_work work(const struct pk_case *c, unsigned region)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_gradients g;
    struct pk_err err;
    if (region == PK_REGION_FORWARD || region == PK_REGION_BACKWARD) {
        const struct pk_forecast f = forecast_of(c, PK_DEVICE_CPU);
        return region == PK_REGION_FORWARD ? f.forward.work : f.backward.work;
    }
    if ((region != PK_REGION_FLATTEN && region != PK_REGION_COPY_BACK) || find_gradients(c, &a, &g, &err))
        return (struct pk_work){0};
    return (struct pk_work){.bytes = 2 * (double)(g.elements * pk_dtype_bytes(options_of(c).type))};
}

/* --- one case --- */

struct bucket_state {
    struct pk_gradients gradients;
    struct pk_comm own; /* opened for this case only */
    struct pk_comm *comm;
    struct pk_training training;
    struct pk_averaging averaging;
};

static unsigned ranks(const struct pk_case *c)
{
    return pk_transport_ranks(c, &transport);
}

static enum pk_code setup(struct pk_ctx *ctx, struct pk_err *err)
{
    struct bucket_state *t = pk_new(ctx->arena, struct bucket_state);
    struct pk_averaging_options o = options_of(ctx->c);
    const struct pk_transformer_config m = config_of(ctx->c);
    ctx->state = t;
    /* NCCL's ranks find each other together */
    if (pk_agree(ctx->comm, find_gradients(ctx->c, ctx->arena, &t->gradients, err), err) ||
        pk_transport_open(ctx, &transport, &t->own, &t->comm, err))
        return err->code;
    if (!is_timed(&ctx->c->at) &&
        pk_training_open(&t->training, ctx->dev, &m, ctx->seed, t->comm->rank, ctx->dry, ctx->arena, err))
        return err->code;
    o.training = o.work == PK_WORK_TRANSFORMER ? &t->training : NULL;
    return pk_averaging_new(ctx->dev, t->comm, &o, &t->gradients, ctx->dry, ctx->arena, &t->averaging, err);
}

static enum pk_code run(struct pk_ctx *ctx, struct pk_err *err)
{
    struct pk_averaging *v = &((struct bucket_state *)ctx->state)->averaging;
    enum pk_code rc = pk_averaging_step(v, err);
    pk_mark_value(ctx->dev, COMM, (int64_t)v->comm_ns);
    pk_mark_value(ctx->dev, EXPOSED, (int64_t)v->exposed_ns);
    pk_mark_value(ctx->dev, ALL_REDUCES, (int64_t)v->reduces_n);
    pk_mark_value(ctx->dev, GRADIENT_BYTES, (int64_t)(v->gradients->elements * pk_dtype_bytes(v->o.type)));
    pk_mark_value(ctx->dev, TENSOR_COUNT, (int64_t)v->gradients->n);
    if (v->o.way == PK_AVERAGE_BUCKET) {
        const struct pk_bucket_sizes s = pk_buckets_sizes(&v->buckets);
        const size_t size = pk_dtype_bytes(v->o.type);
        pk_mark_value(ctx->dev, BUCKETS, (int64_t)v->buckets.n);
        pk_mark_value(ctx->dev, LEAST_BUCKET, (int64_t)(s.least * size));
        pk_mark_value(ctx->dev, MEAN_BUCKET, llround(s.mean * (double)size));
        pk_mark_value(ctx->dev, MOST_BUCKET, (int64_t)(s.most * size));
        pk_mark_value(ctx->dev, OVERSIZE, (int64_t)v->buckets.oversize);
    }
    return rc;
}

/* Of long lists of tensors or all-reduces nothing is kept: every slice would have it. */
enum { TIMELINE_MAX = 4096 };

static uint64_t since(uint64_t ns, const struct pk_averaging *v)
{
    return ns - v->backward_began_ns;
}

/* When the parts of the last iteration happened, for comm/allreduce_fit.h. */
static enum pk_code inspect(struct pk_ctx *ctx, bool last, struct pk_err *err)
{
    const struct pk_averaging *v = &((struct bucket_state *)ctx->state)->averaging;
    if (!last || v->gradients->n > TIMELINE_MAX || v->reduces_n > TIMELINE_MAX)
        return PK_OK;
    json_t *tensors = json_array(), *reduces = json_array();
    for (size_t t = 0; t < v->gradients->n; t++) {
        const size_t bytes = v->gradients->v[t].elements * pk_dtype_bytes(v->o.type);
        json_array_append_new(tensors, json_pack("[I, I]", (json_int_t)bytes, (json_int_t)v->made_ns[t]));
    }
    for (size_t i = 0; i < v->reduces_n; i++) {
        const struct pk_reduce *r = &v->reduces[i];
        const struct pk_bucket *b = &v->buckets.v[i];
        /* An all-reduce is of a bucket; of a call for all tensors the last of them makes it ready. */
        const size_t ready = v->reduces_n == 1 ? v->gradients->n - 1 : b->first + b->n - 1;
        json_array_append_new(reduces,
                              json_pack("[I, I, I, I, I]", (json_int_t)r->bytes,
                                        (json_int_t)v->made_ns[ready], (json_int_t)since(r->began_ns, v),
                                        (json_int_t)since(r->ended_ns, v), (json_int_t)v->least_ns[i]));
    }
    pk_ctx_note(ctx, "timeline",
                json_pack("{s:I, s:o, s:o}", "backward_ns", (json_int_t)since(v->backward_ended_ns, v),
                          "tensors", tensors, "reduces", reduces));
    return PK_OK;
}

static enum pk_code check(struct pk_ctx *ctx, bool full, struct pk_err *err)
{
    return pk_averaging_check(&((struct bucket_state *)ctx->state)->averaging, full, ctx->seed, ctx->arena,
                              err);
}

static void teardown(struct pk_ctx *ctx)
{
    struct bucket_state *t = ctx->state;
    if (!t)
        return;
    pk_averaging_free(&t->averaging);
    pk_transformer_close(&t->training.t);
    pk_comm_close(&t->own);
}

const struct pk_probe pk_probe_ddp_bucket = {
    .name = "ddp-bucket",
    .summary = "exposed all-reduce time per bucketing method, and the best bucket size",
    .revision = 1,
    .axes = axes,
    .variants = variants,
    .regions = regions,
    .metrics = metrics,
    .presets = presets,
    .check_points = check_points,
    .ranks = ranks,
    .skip = skip,
    .validate = validate,
    .predict = predict,
    .work = work,
    .setup = setup,
    .run = run,
    .inspect = inspect,
    .check = check,
    .teardown = teardown,
    .derive = pk_derive_allreduce_fit,
};
