/* ddp-bucket: one step of data-parallel training: how much of the averaging of its gradients is not hidden behind compute.
 *
 * Compute is a timer that leaves the core free, as a host does whose GPU computes; ranks are virtual, on a link of given latency and
 * bandwidth. `naive` is what a loop over the parameters does, and stays that way: it is the yardstick. docs/ddp-bucket.md. */
#include "bench/probe.h"

#include "model/averaging.h"

#include <math.h>
#include <string.h>

enum {
    TENSORS,
    MODEL,
    RANKS,
    DTYPE,
    COMPUTE,
    BUCKET_BYTES,
    FIRST_BUCKET_BYTES,
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
enum { VIEWS, COPY };

static bool is_named(const struct pk_point *p)
{
    return !strcmp(p->v[TENSORS].s, "model");
}

static const struct pk_axis axes[] = {
    [TENSORS] = {"tensors", PK_AXIS_FILE, .def = "model", .born = "model",
                 .help =
                     "model, or a file with your model's tensors: a name and a number of elements a line"},
    [MODEL] = {"model", PK_AXIS_ENUM, .choices = (const char *const[]){"tiny", "small", "large", NULL},
               .def = "tiny", .born = "small", .applies = is_named,
               .help = "transformers of the reports: small 128,625,408 parameters in 111 tensors, large "
                       "969,411,840 in 327; tiny has 39"},
    [RANKS] = {"ranks", PK_AXIS_INT, "ranks", 1, 1048576, .def = "2", .born = "2",
               .help = "who average their gradients"},
    [DTYPE] = {"dtype", PK_AXIS_ENUM, .choices = (const char *const[]){"fp32", "bf16", NULL}, .def = "fp32",
               .born = "fp32", .help = "type of the gradients"},
    [COMPUTE] = {"compute_ms", PK_AXIS_FLOAT, "ms", 0.001, 3600000, .def = "20", .born = "20",
                 .help = "compute of a step, by a timer: a third forward, two thirds backward"},
    [BUCKET_BYTES] = {"bucket_bytes", PK_AXIS_SIZE, "bytes", 1, 1e15, .def = "25MB", .born = "25MB",
                      .help = "cap of a bucket; a larger tensor is a bucket of its own"},
    [FIRST_BUCKET_BYTES] = {"first_bucket_bytes", PK_AXIS_SIZE, "bytes", 0, 1e15, .def = "0", .born = "0",
                            .help = "cap of the first bucket; 0 = that of the others"},
    [GRADIENTS] = {"gradients", PK_AXIS_ENUM, .choices = (const char *const[]){"views", "copy", NULL},
                   .def = "views", .born = "views",
                   .help = "gradients are views of buckets, or are copied in and back"},
    [LATENCY] = {"link_latency_us", PK_AXIS_FLOAT, "us", 0, 1e9, .def = "20", .born = "20",
                 .help = "what an all-reduce takes on the virtual link, whatever its size"},
    [BANDWIDTH] = {"link_bytes_per_s", PK_AXIS_SIZE, "bytes/s", 1, 1e15, .def = "10GB", .born = "10GB",
                   .help = "what the virtual link carries in a second (busbw)"},
    [JITTER] = {"link_jitter", PK_AXIS_FLOAT, NULL, 0, 1, .def = "0", .born = "0",
                .help = "standard deviation of the log of what an all-reduce takes"},
    {0},
};

static const char *no_gpu(enum pk_device_kind kind)
{
    return kind == PK_DEVICE_CUDA ? "the virtual link is waited for by the host: --device cpu" : NULL;
}

static const struct pk_variant variants[] = {
    [PK_AVERAGE_NONE] = {"none", "no communication: what a step takes on one rank", no_gpu},
    [PK_AVERAGE_NAIVE] = {"naive", "after backward, one all-reduce for each parameter", no_gpu},
    [PK_AVERAGE_COALESCED] = {"coalesced", "after backward, all parameters in one call, each where it is",
                              no_gpu},
    [PK_AVERAGE_FLAT] = {"flat", "after backward, one all-reduce of one flat array", no_gpu},
    [PK_AVERAGE_OVERLAP] = {"overlap",
                            "during backward, one all-reduce for each parameter when its gradient is ready",
                            no_gpu},
    [PK_AVERAGE_BUCKET] = {"bucket",
                           "during backward, one all-reduce for each bucket of gradients when it is full",
                           no_gpu},
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
        .cap = (size_t)elements_of(pk_case_int(c, BUCKET_BYTES), type),
        .first_cap = (size_t)elements_of(pk_case_int(c, FIRST_BUCKET_BYTES), type),
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
    [PK_REGION_STEP] = {"step", "all of it"},
    [PK_REGION_FORWARD] = {"forward", "compute before the first gradient"},
    [PK_REGION_BACKWARD] = {"backward", "compute of gradients, and what is started meanwhile"},
    [PK_REGION_FLATTEN] = {"flatten", "gradients are copied into the flat array", has_flatten},
    [PK_REGION_ALL_REDUCE] = {"all_reduce", "communication after backward", has_all_reduce},
    [PK_REGION_WAIT] = {"wait", "for what was started during backward", has_wait},
    [PK_REGION_COPY_BACK] = {"copy_back", "averages are copied back to the gradients", has_copy_back},
    {0},
};

#define TIME_GAUGE PK_LOWER_IS_BETTER, PK_CLASS_TIME, PK_COMBINE_MEDIAN, PK_COMBINE_MAX, PK_FROM_GAUGE
#define EXACT      PK_NO_DIRECTION, PK_CLASS_EXACT, PK_COMBINE_MEDIAN, PK_COMBINE_MAX, PK_FROM_GAUGE
static const struct pk_metric metrics[] = {
    {"comm_ns", "ns", "all-reduces, from when each had the transport to its end, added up", TIME_GAUGE, COMM},
    {"exposed_ns", "ns", "from the end of compute to the end of the last all-reduce", TIME_GAUGE, EXPOSED},
    {"all_reduces", "1", "calls in a step", EXACT, ALL_REDUCES},
    {"gradient_bytes", "bytes", "all gradients", EXACT, GRADIENT_BYTES},
    {"tensors", "1", "parameter tensors", EXACT, TENSOR_COUNT},
    {"buckets", "1", "buckets", EXACT, BUCKETS},
    {"least_bucket_bytes", "bytes", "the smallest bucket", EXACT, LEAST_BUCKET},
    {"mean_bucket_bytes", "bytes", "a bucket on average", EXACT, MEAN_BUCKET},
    {"most_bucket_bytes", "bytes", "the largest bucket", EXACT, MOST_BUCKET},
    {"oversize", "1", "tensors larger than the cap of their bucket", EXACT, OVERSIZE},
    {"peak_bytes", "bytes", "highest live device memory: gradients and buckets", PK_LOWER_IS_BETTER,
     PK_CLASS_MEMORY, PK_COMBINE_MAX, PK_COMBINE_MAX, PK_FROM_POOL_PEAK, 0},
    {0},
};

#define SEED_SIZES "bucket_bytes=1MB,10MB,25MB,100MB,200MB,400MB"
static const struct pk_preset presets[] = {
    {"quick", "a tiny model with compute slower and faster than the link; under 40 s on two cores",
     (const char *const[]){"compute_ms=4,20 bucket_bytes=64KiB,256KiB,1MiB,4MiB,16MiB,64MiB", NULL},
     (const char *const[]){"min-samples=3", "min-time=50ms", "max-time=100ms", NULL}},
    {"seed", "the reports' models, and the bucket sizes of their tables",
     (const char *const[]){"model=small compute_ms=30,300 " SEED_SIZES,
                           "model=large compute_ms=200,2000 " SEED_SIZES, NULL},
     (const char *const[]){"min-samples=5", NULL}},
    {"copies", "the reports' small model, gradients that are copied into buckets and back",
     (const char *const[]){"model=small compute_ms=300 gradients=views,copy " SEED_SIZES, NULL},
     (const char *const[]){"min-samples=5", NULL}},
    {0},
};

static const struct pk_fit_row fits[] = {
    {"link_cost", "comm_ns", "all_reduces", PK_FIT_ROBUST_LINE, .ignore = "bucket_bytes first_bucket_bytes"},
    {0},
};

static const char *const check_points[] = {
    "model=tiny compute_ms=0.1 bucket_bytes=3000001 first_bucket_bytes=1000001",
    NULL,
};

static const char *const tables[] = {"methods", "ranges", "buckets", "link", "choice", NULL};

/* --- what a case is about --- */

static enum pk_code find_gradients(const struct pk_case *c, struct pk_arena *a, struct pk_gradients *out,
                                   struct pk_err *err)
{
    enum { VOCAB = 10000 };
    static const struct pk_transformer_config sizes[] = {
        [TINY] = {.layers = 4, .width = 256, .heads = 4, .ff = 1024, .vocab = VOCAB},
        [SMALL] = {.layers = 12, .width = 768, .heads = 12, .ff = 3072, .vocab = VOCAB},
        [LARGE] = {.layers = 36, .width = 1280, .heads = 20, .ff = 5120, .vocab = VOCAB}};
    const char *path = pk_axis_file_path(c->at.v[TENSORS], a);
    if (path)
        return pk_gradients_read(path, a, out, err);
    pk_gradients_of_transformer(&sizes[pk_case_int(c, MODEL)], a, out);
    return PK_OK;
}

static bool idle(unsigned variant, size_t axis)
{
    if (axis == BUCKET_BYTES || axis == FIRST_BUCKET_BYTES)
        return variant != PK_AVERAGE_BUCKET;
    return axis == GRADIENTS && !pk_averaging_contiguous((enum pk_averaging_way)variant);
}

static enum pk_code validate(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                             struct pk_err *err)
{
    struct pk_gradients g;
    if (find_gradients(c, a, &g, err))
        return err->code;
    size_t least = g.v[0].elements;
    for (size_t t = 1; t < g.n; t++)
        least = g.v[t].elements < least ? g.v[t].elements : least;
    const struct pk_averaging_options o = options_of(c);
    const char *cap = c->variant == PK_AVERAGE_BUCKET
                          ? pk_axis_format(&axes[BUCKET_BYTES], c->at.v[BUCKET_BYTES], a)
                          : NULL;
    if (cap && o.cap < least)
        warn(user,
             pk_printf(
                 a,
                 "bucket_bytes %s is smaller than every tensor: each is a bucket of its own, as in overlap",
                 cap));
    if (cap && o.cap > g.elements)
        warn(user,
             pk_printf(a,
                       "bucket_bytes %s is larger than the model: one bucket, which nothing is left to hide",
                       cap));
    return PK_OK;
}

static int64_t predict_bytes(const struct pk_case *c, enum pk_device_kind kind)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_gradients g;
    struct pk_err err;
    const struct pk_averaging_options o = options_of(c);
    return find_gradients(c, &a, &g, &err) ? 0 : pk_averaging_bytes(&o, &g);
}

/* Compute is a timer's, and what a link carries is no bandwidth of the device: copies alone are the device's. */
static struct pk_work work(const struct pk_case *c, unsigned region)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_gradients g;
    struct pk_err err;
    if ((region != PK_REGION_FLATTEN && region != PK_REGION_COPY_BACK) || find_gradients(c, &a, &g, &err))
        return (struct pk_work){0};
    return (struct pk_work){.bytes = 2 * (double)(g.elements * pk_dtype_bytes(options_of(c).type))};
}

/* --- one case --- */

struct state {
    struct pk_gradients gradients;
    struct pk_comm comm;
    struct pk_averaging averaging;
};

static enum pk_code setup(struct pk_ctx *ctx, struct pk_err *err)
{
    struct state *t = pk_new(ctx->arena, struct state);
    const union pk_value *v = ctx->c->at.v;
    const struct pk_averaging_options o = options_of(ctx->c);
    const struct pk_comm_options link = {
        .ranks = (unsigned)v[RANKS].i,
        .link = {.latency_ns = (uint64_t)llround(v[LATENCY].f * 1e3),
                 .bytes_per_s = (double)v[BANDWIDTH].i,
                 .jitter = v[JITTER].f,
                 .seed = ctx->seed},
    };
    ctx->state = t;
    if (find_gradients(ctx->c, ctx->arena, &t->gradients, err) ||
        pk_comm_open(&t->comm, PK_COMM_LINK, ctx->dev, &link, err))
        return err->code;
    return pk_averaging_new(ctx->dev, &t->comm, &o, &t->gradients, ctx->dry, ctx->arena, &t->averaging, err);
}

static void tell_buckets(struct pk_ctx *ctx, const struct pk_averaging *v)
{
    const struct pk_bucket_sizes s = pk_buckets_sizes(&v->buckets);
    const size_t size = pk_dtype_bytes(v->o.type);
    pk_mark_value(ctx->dev, BUCKETS, (int64_t)v->buckets.n);
    pk_mark_value(ctx->dev, LEAST_BUCKET, (int64_t)(s.least * size));
    pk_mark_value(ctx->dev, MEAN_BUCKET, llround(s.mean * (double)size));
    pk_mark_value(ctx->dev, MOST_BUCKET, (int64_t)(s.most * size));
    pk_mark_value(ctx->dev, OVERSIZE, (int64_t)v->buckets.oversize);
}

static enum pk_code run(struct pk_ctx *ctx, struct pk_err *err)
{
    struct pk_averaging *v = &((struct state *)ctx->state)->averaging;
    enum pk_code rc = pk_averaging_step(v, err);
    pk_mark_value(ctx->dev, COMM, (int64_t)v->comm_ns);
    pk_mark_value(ctx->dev, EXPOSED, (int64_t)v->exposed_ns);
    pk_mark_value(ctx->dev, ALL_REDUCES, (int64_t)v->reduces_n);
    pk_mark_value(ctx->dev, GRADIENT_BYTES, (int64_t)(v->gradients->elements * pk_dtype_bytes(v->o.type)));
    pk_mark_value(ctx->dev, TENSOR_COUNT, (int64_t)v->gradients->n);
    if (v->o.way == PK_AVERAGE_BUCKET)
        tell_buckets(ctx, v);
    return rc;
}

static enum pk_code check(struct pk_ctx *ctx, bool full, struct pk_err *err)
{
    return pk_averaging_check(&((struct state *)ctx->state)->averaging, full, ctx->seed, ctx->arena, err);
}

static void teardown(struct pk_ctx *ctx)
{
    struct state *t = ctx->state;
    if (!t)
        return;
    pk_averaging_free(&t->averaging);
    pk_comm_close(&t->comm);
}

const struct pk_probe pk_probe_ddp_bucket = {
    .name = "ddp-bucket",
    .summary = "averaging gradients between ranks: six ways, bucket sizes, and the size a model would choose",
    .revision = 1,
    .axes = axes,
    .variants = variants,
    .regions = regions,
    .metrics = metrics,
    .presets = presets,
    .fits = fits,
    .check_points = check_points,
    .tables = tables,
    .idle = idle,
    .validate = validate,
    .predict_bytes = predict_bytes,
    .work = work,
    .setup = setup,
    .run = run,
    .check = check,
    .teardown = teardown,
};
