/* batch-scaling: epochs of a real training at a constant global batch: micro-batch size against steps of gradient accumulation.
 *
 * A sample is an epoch: training over `samples` sequences and a validation pass. What a process does once before it (starting, device, ranks,
 * weights, first step) is measured apart, in every process. `eager` is not optimised: it is the reference. docs/batch-scaling.md. */
#include "bench/probe.h"
#include "bench/transport.h"

#include "model/epoch/epoch.h"
#include "model/shape/axes.h"
#include "model/transformer/check.h"
#include "model/transformer/forecast.h"

#include <math.h>

enum {
    MODEL,
    LAYERS,
    D_MODEL,
    HEADS,
    D_FF,
    VOCAB,
    SEQ_LEN,
    DTYPE,
    BATCH,
    GLOBAL_BATCH,
    BATCH_OF,
    SAMPLES,
    VALIDATION,
    TOKENS,
    SYNC,
    DROP_LAST,
    WORKERS,
    BUCKET_BYTES,
    TRANSPORT,
    RANKS,
    LATENCY,
    BANDWIDTH,
    JITTER
};
enum { EAGER, COMPILED, OVERLAPPED };
enum { FP32, BF16 };
enum { OF_RANK, OF_ALL };
enum { LAST, EVERY };
enum {
    INIT,
    INIT_LOAD,
    INIT_DEVICE,
    INIT_COMM,
    INIT_WEIGHTS,
    INIT_FIRST,
    TOTAL,
    ACCUM,
    MICRO_STEPS,
    WINDOWS,
    VALIDATION_STEPS,
    ALL_REDUCES,
    TRAINED_TOKENS,
    PADDING_TOKENS
};
enum { WEIGHTS_SEED = 1, TOKENS_SEED = 7 }; /* the same in every case and in peers: losses can be compared */

static const struct pk_transport_axes transport = {TRANSPORT, RANKS, LATENCY, BANDWIDTH, JITTER};

static bool has_ranks(const struct pk_point *p)
{
    return p->v[TRANSPORT].i != PK_TRANSPORT_SELF;
}

static bool on_link(const struct pk_point *p)
{
    return p->v[TRANSPORT].i == PK_TRANSPORT_LINK;
}

static const struct pk_axis axes[] = {
    [MODEL] = {"model", .type = PK_AXIS_ENUM,
               .choices = (const char *const[]){"tiny", "small", "large", NULL},
               .sets =
                   (const char *const[]){"layers=2 d_model=64 heads=4 d_ff=256 vocab=256 seq_len=32",
                                         "layers=12 d_model=768 heads=12 d_ff=3072 vocab=10000 seq_len=256",
                                         "layers=36 d_model=1280 heads=20 d_ff=5120 vocab=10000 seq_len=256",
                                         NULL},
               .def = "tiny", .born = "tiny",
               .help = "tiny, small or large; sets layers, d_model, heads, d_ff, vocab, seq_len"},
    [LAYERS] = PK_AXIS_LAYERS("2", "blocks"),
    [D_MODEL] = PK_AXIS_D_MODEL("64", "width of the residual stream, a multiple of 8"),
    [HEADS] = PK_AXIS_HEADS("4"),
    [D_FF] = PK_AXIS_D_FF("256"),
    [VOCAB] = PK_AXIS_VOCAB(
        "256", "rows of the embedding and of the head; 256 for the bytes of `perfkit make-tokens`"),
    [SEQ_LEN] = {"seq_len", .type = PK_AXIS_INT, .unit = "tokens", .min = 1, .max = PK_CONTEXT_MAX,
                 .also = "context context_length context_len sequence sequence_length length max_seq_len",
                 .def = "32", .born = "32", .help = "tokens per sample"},
    [DTYPE] = {"dtype", .type = PK_AXIS_ENUM,
               .choices = (const char *const[]){[FP32] = "fp32", [BF16] = "bf16", NULL},
               .choices_also = (const char *const[]){"float32 float", "bfloat16", NULL},
               .also = "precision type data_type", .def = "fp32", .born = "fp32",
               .help = "fp32; bf16: with fp32 master weights, gradients and sums"},
    [BATCH] = {"batch", .type = PK_AXIS_INT, .unit = "samples", .min = 1, .max = 1048576,
               .also = "batch_size micro_batch bs", .def = "1,2,4,8,16,32", .born = "1",
               .help = "samples of a micro-step (batch_of says whose); accumulation steps are global_batch / "
                       "(samples of a micro-step)"},
    [GLOBAL_BATCH] = {"global_batch", .type = PK_AXIS_INT, .unit = "samples", .min = 1, .max = 1048576,
                      .also = "effective_batch total_batch accum accumulation accumulation_steps",
                      .def = "64", .born = "64", .help = "samples of an optimizer step, of all ranks"},
    [BATCH_OF] = {"batch_of", .type = PK_AXIS_ENUM,
                  .choices = (const char *const[]){[OF_RANK] = "rank", [OF_ALL] = "all", NULL}, .def = "rank",
                  .born = "rank",
                  .help = "rank: batch counts the samples of one rank; all: those of all ranks together"},
    [SAMPLES] = {"samples", .type = PK_AXIS_INT, .unit = "samples", .min = 1, .max = 1e9, .def = "56832",
                 .born = "56832", .help = "samples of training in an epoch, of all ranks"},
    [VALIDATION] = {"validation", .type = PK_AXIS_FLOAT, .min = 0, .max = 1,
                    .also = "validation_share val_share eval", .def = "0.127", .born = "0.127",
                    .help = "samples of validation, as a share of those of training; 0: no validation"},
    [TOKENS] = {"tokens", .type = PK_AXIS_FILE, .def = "seeded", .born = "seeded", .data = true,
                .also = "data dataset corpus",
                .help = "seeded: random tokens; or a file of `perfkit make-tokens` (tokens of 2 bytes; of 4 "
                        "in a file NAME.u32)"},
    [SYNC] = {"sync", .type = PK_AXIS_ENUM,
              .choices = (const char *const[]){[LAST] = "last", [EVERY] = "every", NULL}, .also = "no_sync",
              .def = "last", .born = "last",
              .help = "all-reduce after the last micro-step of an optimizer step, or after every micro-step"},
    [DROP_LAST] = {"drop_last", .type = PK_AXIS_BOOL, .def = "off", .born = "off",
                   .help = "leave out the last micro-batch of training if it is incomplete"},
    [WORKERS] = {"workers", .type = PK_AXIS_INT, .unit = "threads", .min = 1, .max = 64,
                 .also = "num_workers loader_workers", .def = "1", .born = "1",
                 .help = "threads that make micro-batches ahead"},
    [BUCKET_BYTES] = {"bucket_bytes", .type = PK_AXIS_SIZE, .unit = "bytes", .min = 4, .max = 1e15,
                      .also = "bucket bucket_size bucket_cap bucket_cap_mb", .def = "25MB", .born = "25MB",
                      .help = "gradients of one all-reduce at most"},
    [TRANSPORT] = PK_AXIS_TRANSPORT,
    [RANKS] = {"ranks", .type = PK_AXIS_INT, .unit = "ranks", .min = 1, .max = 1048576,
               .also = "world_size nproc nproc_per_node processes", .def = "2", .born = "2",
               .applies = has_ranks, .implies = "transport=mpi",
               .help = "number of ranks that train together"},
    [LATENCY] = PK_AXIS_LINK_LATENCY(on_link),
    [BANDWIDTH] = PK_AXIS_LINK_BANDWIDTH(on_link),
    [JITTER] = PK_AXIS_LINK_JITTER(on_link),
    {0},
};

static const struct pk_variant variants[] = {
    [EAGER] = {"eager", .summary = "one kernel per operation; the host makes and copies each micro-batch",
               .ignores = "workers"},
    [COMPILED] = {"compiled",
                  .summary = "fused kernels and products, one pass of AdamW; not captured in a graph",
                  .ignores = "workers"},
    [OVERLAPPED] = {"overlapped",
                    .summary = "compiled; threads make micro-batches ahead, and the copy lane copies them"},
    {0},
};

static size_t ranks_of(const struct pk_case *c)
{
    return pk_case_int(c, TRANSPORT) == PK_TRANSPORT_SELF ? 1 : (size_t)pk_case_int(c, RANKS);
}

/* Of all ranks. */
static size_t micro_batch(const struct pk_case *c)
{
    const size_t batch = (size_t)pk_case_int(c, BATCH);
    return pk_case_int(c, BATCH_OF) == OF_ALL ? batch : batch * ranks_of(c);
}

static struct pk_schedule schedule_of(const struct pk_case *c, unsigned rank)
{
    const double samples = (double)pk_case_int(c, SAMPLES);
    const size_t ranks = ranks_of(c), batch = micro_batch(c) / ranks;
    return (struct pk_schedule){.samples = (size_t)samples,
                                .validation = (size_t)floor(samples * c->at.v[VALIDATION].f),
                                .batch = batch ? batch : 1,
                                .ranks = (unsigned)ranks,
                                .rank = rank,
                                .drop_last = c->at.v[DROP_LAST].i != 0};
}

static size_t accum_of(const struct pk_case *c)
{
    const size_t n = (size_t)pk_case_int(c, GLOBAL_BATCH) / micro_batch(c);
    return n ? n : 1;
}

static size_t windows_of(const struct pk_case *c)
{
    const struct pk_schedule s = schedule_of(c, 0);
    return (pk_schedule_training(&s) + accum_of(c) - 1) / accum_of(c);
}

static bool has_validation(const struct pk_case *c)
{
    return schedule_of(c, 0).validation > 0;
}

static struct pk_transformer_config config_of(const struct pk_case *c)
{
    const bool bf16 = pk_case_int(c, DTYPE) == BF16, eager = c->variant == EAGER;
    return (struct pk_transformer_config){
        .layers = (size_t)pk_case_int(c, LAYERS),
        .width = (size_t)pk_case_int(c, D_MODEL),
        .heads = (size_t)pk_case_int(c, HEADS),
        .ff = (size_t)pk_case_int(c, D_FF),
        .vocab = (size_t)pk_case_int(c, VOCAB),
        .seq = (size_t)pk_case_int(c, SEQ_LEN),
        .batch = schedule_of(c, 0).batch,
        .dtype = bf16 ? PK_BF16 : PK_FP32,
        .attention = eager ? PK_ATTENTION_VANILLA : PK_ATTENTION_FLASH,
        .fused = !eager,
    };
}

static const struct pk_region regions[] = {
    [PK_EPOCH] = {"epoch", .summary = "training and validation"},
    [PK_EPOCH_TRAINING] = {"training", .summary = "all micro-steps and steps of the optimizer",
                           .inside = "epoch"},
    [PK_EPOCH_DATA] = {"data", .summary = "a micro-batch is made, or waited for", .inside = "training"},
    [PK_EPOCH_H2D] = {"h2d", .summary = "it is copied to the device, or its copy is waited for",
                      .inside = "training"},
    [PK_EPOCH_FORWARD] = {"forward", .summary = "from tokens to logits", .inside = "training"},
    [PK_EPOCH_LOSS] = {"loss", .summary = "from logits to the mean loss", .inside = "training"},
    [PK_EPOCH_BACKWARD] = {"backward", .summary = "gradients are made, or added", .inside = "training"},
    [PK_EPOCH_ALL_REDUCE] = {"all_reduce", .summary = "gradients are averaged between ranks",
                             .inside = "training"},
    [PK_EPOCH_OPTIMIZER] = {"optimizer", .summary = "gradients are scaled once; one step of AdamW",
                            .inside = "training"},
    [PK_EPOCH_WAIT] = {"wait", .summary = "the host waits for the device, after the last micro-step",
                       .inside = "training"},
    [PK_EPOCH_VALIDATION] = {"validation", .summary = "forward only", .applies = has_validation,
                             .inside = "epoch"},
    {0},
};

#define TIME_GAUGE .unit = "ns", .class = PK_CLASS_TIME, .over_ranks = PK_COMBINE_MAX
#define EXACT      .unit = "1", .direction = PK_NO_DIRECTION, .class = PK_CLASS_EXACT, .over_ranks = PK_COMBINE_MAX
static const struct pk_metric metrics[] = {
    {"init_ns", .summary = "what a process does once, before its first epoch", TIME_GAUGE, .gauge = INIT},
    {"init_load_ns", .summary = "from the start of the process to its first line, in steps of 10 ms",
     TIME_GAUGE, .gauge = INIT_LOAD},
    {"init_device_ns", .summary = "opening the device", TIME_GAUGE, .gauge = INIT_DEVICE},
    {"init_comm_ns", .summary = "joining the other ranks", TIME_GAUGE, .gauge = INIT_COMM},
    {"init_weights_ns", .summary = "memory, weights and the data set", TIME_GAUGE, .gauge = INIT_WEIGHTS},
    {"init_first_step_ns", .summary = "the first micro-step and all-reduce", TIME_GAUGE, .gauge = INIT_FIRST},
    {"total_ns", .summary = "init and one epoch, as the host sees them", TIME_GAUGE, .gauge = TOTAL},
    {"accum", .summary = "micro-steps of an optimizer step", EXACT, .gauge = ACCUM, .planned = "Accum."},
    {"micro_steps", .summary = "micro-steps of an epoch: ceil(samples / samples of a micro-step)", EXACT,
     .gauge = MICRO_STEPS, .planned = "Micro-steps"},
    {"optimizer_steps", .summary = "optimizer steps of an epoch, of which the last may be partial", EXACT,
     .gauge = WINDOWS, .planned = "Optimizer steps"},
    {"validation_steps", .summary = "forward passes of validation", EXACT, .gauge = VALIDATION_STEPS},
    {"all_reduces", .summary = "all-reduce calls of an epoch", EXACT, .gauge = ALL_REDUCES},
    {"trained_tokens", .summary = "tokens that training read in an epoch, of all ranks", EXACT,
     .gauge = TRAINED_TOKENS},
    {"padding_tokens", .summary = "places for tokens in micro-steps that no sample filled; not computed",
     EXACT, .gauge = PADDING_TOKENS},
    {0},
};

static const struct pk_preset presets[] = {
    {"quick", .summary = "a tiny model, a short epoch with a partial last window; under 40 s on two cores",
     .blocks = (const char *const[]){"model=tiny samples=120", NULL},
     .settings = (const char *const[]){"min-samples=2", "min-time=1ms", "max-time=150ms", NULL}},
    {"smoke", .summary = "two batch sizes, one process: does it work",
     .blocks = (const char *const[]){"model=tiny samples=20 batch=1,4 global_batch=16", NULL},
     .settings =
         (const char *const[]){"invocations=1", "min-samples=2", "min-time=1ms", "max-time=50ms", NULL}},
    {"seed", .summary = "model small, 16 x 64 to 1024 x 1 on four ranks",
     .blocks = (const char *const[]){"model=small batch=16:1024:*2 global_batch=1024 batch_of=all ranks=4 "
                                     "transport=link samples=5683",
                                     NULL},
     .settings = (const char *const[]){"min-samples=1", "min-time=1ms", "max-time=1s", NULL}},
    {0},
};

static const char *const check_points[] = {
    "layers=2 d_model=24 heads=2 d_ff=40 vocab=29 seq_len=7 batch=3 global_batch=12 batch_of=rank samples=31 "
    "validation=0.2 tokens=seeded transport=self",
    NULL,
};

/* --- planning --- */

static unsigned ranks(const struct pk_case *c)
{
    return pk_transport_ranks(c, &transport);
}

static const char *skip(const struct pk_case *c, enum pk_device_kind kind)
{
    const size_t micro = micro_batch(c), global = (size_t)pk_case_int(c, GLOBAL_BATCH);
    if (micro % ranks_of(c))
        return "with batch_of=all the ranks must divide batch: -a batch_of=rank, or another batch";
    if (micro > global)
        return "the samples of a micro-step exceed global_batch: a smaller batch, or a larger global_batch";
    if (global % micro)
        return "the samples of a micro-step do not divide global_batch: another batch";
    if ((size_t)pk_case_int(c, SAMPLES) < micro)
        return "an epoch has fewer samples than one micro-step: increase samples, or reduce batch";
    return pk_transport_skip(c, &transport, kind);
}

/* Every region of a micro-step is marked. */
static enum pk_code validate_marks(const struct pk_case *c, struct pk_err *err)
{
    enum { EACH = 7, REST = 4 };
    const struct pk_schedule s = schedule_of(c, 0);
    const size_t most = (PK_MARKS_DEFAULT - REST) / EACH, n = pk_schedule_training(&s);
    if (n <= most)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "an epoch of %zu micro-steps", n);
    pk_why(err, "an epoch can have at most %zu, because each of their parts is timed", most);
    return pk_fix(err, "reduce --samples, or increase --batch");
}

static enum pk_code open_tokens(const struct pk_case *c, struct pk_arena *a, struct pk_tokens *t,
                                struct pk_err *err)
{
    const struct pk_schedule s = schedule_of(c, 0);
    const char *path = pk_axis_file_path(c->at.v[TOKENS], a);
    if (pk_tokens_open(t, path, TOKENS_SEED, (size_t)pk_case_int(c, VOCAB), (size_t)pk_case_int(c, SEQ_LEN),
                       err))
        return err->code;
    return pk_tokens_check(t, s.samples + s.validation, err);
}

static enum pk_code validate(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                             struct pk_err *err)
{
    const struct pk_transformer_config m = config_of(c);
    struct pk_tokens t = {0};
    enum pk_code rc = pk_transformer_valid(&m, err);
    if (!rc && !(rc = validate_marks(c, err)))
        rc = open_tokens(c, a, &t, err);
    pk_tokens_close(&t);
    return rc;
}

static size_t trained_tokens(const struct pk_case *c)
{
    const struct pk_schedule s = schedule_of(c, 0);
    return pk_schedule_trained(&s) * (size_t)pk_case_int(c, SEQ_LEN);
}

static int64_t peak_bytes(const struct pk_case *c, enum pk_device_kind kind)
{
    const struct pk_transformer_config m = config_of(c);
    const struct pk_schedule s = schedule_of(c, 0);
    const size_t losses = pk_schedule_training(&s) + pk_schedule_validation(&s);
    const size_t input = pk_pool_rounded(pk_transformer_tokens(&m) * sizeof(int32_t));
    struct pk_forecast f;
    pk_transformer_forecast(&m, PK_STEP_WHOLE, kind, c->threads, &f);
    const int64_t more =
        (int64_t)(pk_pool_rounded(losses * sizeof(float)) + (c->variant == OVERLAPPED ? 2 * input : 0));
    return (int64_t)f.peak_bytes > INT64_MAX - more ? INT64_MAX : (int64_t)f.peak_bytes + more;
}

static int64_t predict(const struct pk_case *c, enum pk_device_kind kind, unsigned gauge)
{
    const struct pk_schedule s = schedule_of(c, 0);
    const size_t micro = pk_schedule_training(&s), tokens = trained_tokens(c);
    switch (gauge) {
    case PK_PEAK_BYTES:
        return peak_bytes(c, kind);
    case ACCUM:
        return (int64_t)accum_of(c);
    case MICRO_STEPS:
        return (int64_t)micro;
    case WINDOWS:
        return (int64_t)windows_of(c);
    case VALIDATION_STEPS:
        return (int64_t)pk_schedule_validation(&s);
    case TRAINED_TOKENS:
        return (int64_t)tokens;
    case PADDING_TOKENS:
        return (int64_t)(micro * micro_batch(c) * (size_t)pk_case_int(c, SEQ_LEN) - tokens);
    default:
        return -1;
    }
}

static struct pk_work times(struct pk_work w, double n)
{
    return (struct pk_work){
        .flops = w.flops * n, .tensor_flops = w.tensor_flops * n, .bytes = w.bytes * n, .exps = w.exps * n};
}

/* As if every micro-step were full. */
static struct pk_work work(const struct pk_case *c, unsigned region)
{
    const struct pk_transformer_config m = config_of(c);
    const struct pk_schedule s = schedule_of(c, 0);
    const double n = (double)pk_schedule_training(&s), v = (double)pk_schedule_validation(&s);
    struct pk_forecast f;
    pk_transformer_forecast(&m, PK_STEP_WHOLE, PK_DEVICE_CPU, c->threads, &f);
    const struct pk_work forward = times(f.forward.work, n), loss = times(f.loss, n),
                         backward = times(f.backward.work, n),
                         update = times(f.update.work, (double)windows_of(c)),
                         validation = times(f.forward.work, v),
                         training = pk_work_add(forward, pk_work_add(backward, update));
    const struct pk_work of[PK_EPOCH_REGIONS] = {[PK_EPOCH] = pk_work_add(training, validation),
                                                 [PK_EPOCH_TRAINING] = training,
                                                 [PK_EPOCH_FORWARD] = pk_work_add(forward, times(loss, -1)),
                                                 [PK_EPOCH_LOSS] = loss,
                                                 [PK_EPOCH_BACKWARD] = backward,
                                                 [PK_EPOCH_OPTIMIZER] = update,
                                                 [PK_EPOCH_VALIDATION] = validation};
    return of[region];
}

/* --- one case --- */

struct scaling_state {
    struct pk_comm own; /* opened for this case only */
    struct pk_comm *comm;
    struct pk_tokens tokens;
    struct pk_loader loader;
    struct pk_transformer t;
    struct pk_epoch_input input; /* of t */
    struct pk_epoch epoch;
    float *losses, *first; /* of the last epoch; of the first one, NULL before it */
    uint64_t comm_ns, weights_ns, first_ns;
};

static const struct pk_origin origin = {.seed = WEIGHTS_SEED};

static enum pk_code make_weights(struct pk_ctx *ctx, struct scaling_state *s, struct pk_err *err)
{
    const struct pk_transformer_config m = config_of(ctx->c);
    if (pk_transformer_open(&s->t, ctx->dev, &m, PK_NEEDS_OPTIMIZER, ctx->arena, err))
        return err->code;
    s->input = (struct pk_epoch_input){.tokens = s->t.tokens, .targets = s->t.targets};
    if (!ctx->dry && pk_transformer_fill(&s->t, &origin, err))
        return err->code;
    return open_tokens(ctx->c, ctx->arena, &s->tokens, err);
}

static enum pk_code make_epoch(struct pk_ctx *ctx, struct scaling_state *s, struct pk_err *err)
{
    const struct pk_schedule schedule = schedule_of(ctx->c, s->comm->processes > 1 ? s->comm->rank : 0);
    const bool overlapped = ctx->c->variant == OVERLAPPED;
    const struct pk_epoch_options o = {.accum = accum_of(ctx->c),
                                       .every = pk_case_int(ctx->c, SYNC) == EVERY,
                                       .overlapped = overlapped,
                                       .bucket = (size_t)pk_case_int(ctx->c, BUCKET_BYTES) / sizeof(float),
                                       .virtual_ranks = s->comm->processes == 1};
    if (pk_loader_open(&s->loader, ctx->dev, &s->tokens, &schedule,
                       overlapped ? (unsigned)pk_case_int(ctx->c, WORKERS) : 0, ctx->arena, err))
        return err->code;
    const struct pk_epoch_model m = pk_epoch_of_transformer(&s->t, &s->epoch);
    if (pk_epoch_open(&s->epoch, ctx->dev, s->comm, &s->loader, &m, &o, &s->input, ctx->arena, err))
        return err->code;
    const size_t n = s->epoch.micro_steps + s->epoch.validations;
    s->losses = pk_new_n(ctx->arena, float, n);
    s->first = pk_new_n(ctx->arena, float, n);
    s->first[0] = NAN;
    return PK_OK;
}

static enum pk_code setup(struct pk_ctx *ctx, struct pk_err *err)
{
    struct scaling_state *s = ctx->state = pk_new(ctx->arena, struct scaling_state);
    const uint64_t began = pk_device_now_ns(ctx->dev);
    if (pk_transport_open(ctx, &transport, &s->own, &s->comm, err))
        return err->code;
    const uint64_t joined = pk_device_now_ns(ctx->dev);
    enum pk_code rc = make_weights(ctx, s, err);
    if (!rc)
        rc = make_epoch(ctx, s, err);
    const uint64_t made = pk_device_now_ns(ctx->dev);
    if (pk_agree(ctx->comm, rc, err) || pk_comm_break_on_error(ctx->comm, pk_epoch_first(&s->epoch, err)))
        return err->code;
    s->comm_ns = joined - began;
    s->weights_ns = made - joined;
    s->first_ns = pk_device_now_ns(ctx->dev) - made;
    return PK_OK;
}

/* On a device with a simulated clock what passes on the real one is 0. */
static int64_t note_init(const struct pk_ctx *ctx, const struct scaling_state *s)
{
    const uint64_t of[] = {[INIT_LOAD] = ctx->dry ? 0 : ctx->started.load_ns,
                           [INIT_DEVICE] = ctx->dry ? 0 : ctx->started.device_ns,
                           [INIT_COMM] = s->comm_ns + (ctx->dry ? 0 : ctx->started.group_ns),
                           [INIT_WEIGHTS] = s->weights_ns,
                           [INIT_FIRST] = s->first_ns};
    uint64_t sum = 0;
    for (unsigned i = INIT_LOAD; i <= INIT_FIRST; i++) {
        pk_mark_value(ctx->dev, i, (int64_t)of[i]);
        sum += of[i];
    }
    pk_mark_value(ctx->dev, INIT, (int64_t)sum);
    return (int64_t)sum;
}

static enum pk_code run(struct pk_ctx *ctx, struct pk_err *err)
{
    struct scaling_state *s = ctx->state;
    const int64_t init_ns = note_init(ctx, s);
    const uint64_t began = pk_device_now_ns(ctx->dev);
    enum pk_code rc = pk_epoch_run(&s->epoch, err);
    pk_mark_value(ctx->dev, TOTAL, init_ns + (int64_t)(pk_device_now_ns(ctx->dev) - began));
    pk_mark_value(ctx->dev, ALL_REDUCES, (int64_t)s->epoch.reduces_n);
    for (unsigned g = ACCUM; g <= PADDING_TOKENS; g++)
        if (g != ALL_REDUCES)
            pk_mark_value(ctx->dev, g, predict(ctx->c, ctx->dev->kind, g));
    return rc;
}

/* Of the optimizer steps of the first epoch: the losses of this rank's micro-steps in each, averaged over its samples. */
static json_t *losses_by_step(const struct scaling_state *s)
{
    enum { SHOWN = 64 };
    const struct pk_epoch *e = &s->epoch;
    json_t *out = json_array();
    for (size_t w = 0; w < e->windows && w < SHOWN; w++) {
        double sum = 0, n = 0;
        for (size_t k = w * e->o.accum; k < (w + 1) * e->o.accum && k < e->micro_steps; k++) {
            const double samples = (double)pk_schedule_part(&s->loader.schedule, k).n;
            sum += samples > 0 ? samples * (double)s->first[k] : 0;
            n += samples;
        }
        json_array_append_new(out, pk_json_real(n > 0 ? sum / n : NAN));
    }
    return out;
}

static enum pk_code inspect(struct pk_ctx *ctx, bool last, struct pk_err *err)
{
    struct scaling_state *s = ctx->state;
    const bool is_first = isnan(s->first[0]);
    if (ctx->dry || last)
        return PK_OK;
    if (pk_epoch_losses(&s->epoch, is_first ? s->first : s->losses, err))
        return err->code;
    const float *v = is_first ? s->first : s->losses;
    for (size_t k = 0; k < s->epoch.micro_steps + s->epoch.validations; k++)
        if (!isfinite(v[k])) {
            pk_fail(err, PK_E_CHECK, "the loss of micro-step %zu is not finite", k);
            pk_why(
                err,
                "weights or activations left the range of their type; times of such a step are meaningless");
            return pk_fix(err, "choose another dtype, or other sizes");
        }
    if (is_first)
        pk_ctx_note(ctx, "losses", losses_by_step(s));
    return PK_OK;
}

/* The first window, and the loss behind its update, made again without threads and lanes from the first weights. */
static enum pk_code check_window(struct pk_ctx *ctx, struct scaling_state *s, struct pk_err *err)
{
    const size_t more = s->epoch.o.accum + 1, n = more < s->epoch.micro_steps ? more : s->epoch.micro_steps;
    const double allowed = pk_case_int(ctx->c, DTYPE) == BF16 ? 0.03 : 2e-5;
    if (isnan(s->first[0]) && pk_epoch_losses(&s->epoch, s->first, err))
        return err->code;
    if (pk_agree(ctx->comm, pk_transformer_fill(&s->t, &origin, err), err) ||
        pk_comm_break_on_error(ctx->comm, pk_epoch_replay(&s->epoch, n, s->losses, err)))
        return err->code;
    for (size_t k = 0; k < n; k++) {
        const double got = (double)s->first[k], want = (double)s->losses[k];
        if (fabs(got - want) <= allowed * fmax(1, fabs(want)))
            continue;
        pk_fail(err, PK_E_CHECK, "the loss of micro-step %zu is wrong", k);
        pk_why(err, "it is %.6g as measured, %.6g when the steps are repeated one by one", got, want);
        return pk_fix(err, "this is a bug of perfkit: please report it with `perfkit doctor`");
    }
    return PK_OK;
}

static enum pk_code check(struct pk_ctx *ctx, bool full, struct pk_err *err)
{
    struct scaling_state *s = ctx->state;
    enum pk_code rc = pk_agree(ctx->comm, check_window(ctx, s, err), err);
    if (rc || pk_transformer_fill(&s->t, &origin, err))
        return err->code;
    const struct pk_part_of_set p = pk_schedule_part(&s->loader.schedule, 0);
    const struct pk_slot *slot = &s->loader.slots[0];
    if (!p.n)
        return PK_OK;
    pk_loader_make(&s->loader, 0);
    s->t.tokens = s->input.tokens, s->t.targets = s->input.targets;
    s->t.c.batch = p.n;
    s->t.add = false;
    s->t.weight = 1;
    s->epoch.marked = false;
    if (pk_transformer_batch(&s->t, slot->tokens, slot->targets, err) ||
        pk_transformer_check(&s->t, slot->tokens, slot->targets, full, err))
        return err->code;
    return PK_OK;
}

static void teardown(struct pk_ctx *ctx)
{
    struct scaling_state *s = ctx->state;
    if (!s)
        return;
    pk_loader_close(&s->loader);
    pk_epoch_free(&s->epoch);
    if (s->t.dev)
        s->t.tokens = s->input.tokens, s->t.targets = s->input.targets;
    pk_transformer_close(&s->t);
    pk_tokens_close(&s->tokens);
    pk_comm_close(&s->own);
}

const struct pk_probe pk_probe_batch_scaling = {
    .name = "batch-scaling",
    .summary =
        "training epochs at one global batch: batch size, accumulation, initialisation, the best choice",
    .revision = 1,
    .axes = axes,
    .variants = variants,
    .regions = regions,
    .metrics = metrics,
    .presets = presets,
    .check_points = check_points,
    .shrink = "batch",
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
};
