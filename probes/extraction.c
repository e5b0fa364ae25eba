/* extraction: hidden states of chosen layers of a decoder, from the device to compressed shards.
 *
 * sequential is the yardstick: it waits for every copy and for every batch. replanned also makes its plans anew for each batch, which is
 * what running without a compiled plan costs. pipelined overlaps forward, copies, compression and writing with bounded memory. One
 * iteration is one pass over all samples. docs/extraction.md. */
#include "bench/probe.h"

#include "base/text/units.h"
#include "extraction/pipeline.h"
#include "model/shape/axes.h"
#include "model/transformer/forecast.h"
#include "shard/entropy.h"
#include "shard/file/folders.h"

#include <string.h>

enum {
    MODEL,
    LAYERS,
    D_MODEL,
    HEADS,
    KV_HEADS,
    D_FF,
    VOCAB,
    EXTRACT_FROM,
    EXTRACT_TO,
    BATCH,
    SEQ_LEN,
    SAMPLES,
    PAD,
    DTYPE,
    CODEC,
    FILTER,
    THREADS,
    SLOTS,
    SINK,
    RANKS
};
enum { FP32, BF16 };
enum {
    REAL_SAMPLES,
    SLOT_SAMPLES,
    RAW_BYTES,
    STORED_BYTES,
    PLANS,
    REPLANS,
    PARAMETERS,
    MODEL_FLOPS,
    CHECKSUM,
    FILTERING,
    COMPRESS,
    WRITE,
    SYNC,
    FULL,
    BOUND,
    FILL,
    DRAIN
};
enum { SEED = 1, SHARD_BATCHES = 4 };

static const char *const codecs[] = {"none",   "zlib-6", "igzip-1",      "lz4",
                                     "zstd-1", "zstd-3", "zstd-huffman", NULL};

static const struct pk_axis axes[] = {
    [MODEL] = {"model", .type = PK_AXIS_ENUM, .choices = (const char *const[]){"tiny", "qwen2.5-0.5b", NULL},
               .sets =
                   (const char *const[]){"layers=4 d_model=128 heads=4 kv_heads=2 d_ff=384 vocab=1000 "
                                         "extract_from=1 extract_to=3 batch=4 seq_len=64 samples=61",
                                         "layers=24 d_model=896 heads=14 kv_heads=2 d_ff=4864 vocab=151936 "
                                         "extract_from=10 extract_to=23 batch=4 seq_len=512 samples=9",
                                         NULL},
               .def = "tiny", .born = "tiny",
               .help =
                   "tiny, or the model of preset seed; sets the shape, the layers to extract, and samples"},
    [LAYERS] = PK_AXIS_LAYERS("4", "blocks of the model; all of them run"),
    [D_MODEL] = PK_AXIS_D_MODEL("128", "width of the hidden states, a multiple of 8"),
    [HEADS] = PK_AXIS_HEADS("4"),
    [KV_HEADS] = {"kv_heads", .type = PK_AXIS_INT, .unit = "heads", .min = 1, .max = 1024,
                  .also = "n_kv_heads num_key_value_heads", .def = "2", .born = "2",
                  .help = "heads of keys and values, each shared by heads / kv_heads heads"},
    [D_FF] = PK_AXIS_D_FF("384"),
    [VOCAB] = PK_AXIS_VOCAB("1000", "rows of the embedding; there is no head"),
    [EXTRACT_FROM] = {"extract_from", .type = PK_AXIS_INT, .unit = "layer", .min = 0, .max = 1023,
                      .also = "first_layer", .def = "1", .born = "1",
                      .help = "first layer whose hidden states are extracted, from 0"},
    [EXTRACT_TO] = {"extract_to", .type = PK_AXIS_INT, .unit = "layer", .min = 0, .max = 1023,
                    .also = "last_layer", .def = "3", .born = "3", .help = "last of these layers, included"},
    [BATCH] = {"batch", .type = PK_AXIS_INT, .unit = "sequences", .min = 1, .max = 65536,
               .also = "batch_size bs", .def = "4", .born = "4", .help = "sequences of a forward pass"},
    [SEQ_LEN] = {"seq_len", .type = PK_AXIS_INT, .unit = "tokens", .min = 1, .max = PK_CONTEXT_MAX,
                 .also = "context context_length context_len sequence length max_seq_len", .def = "64",
                 .born = "64", .help = "tokens per sequence"},
    [SAMPLES] = {"samples", .type = PK_AXIS_INT, .unit = "sequences", .min = 1, .max = 1 << 20,
                 .also = "prompts sequences n", .def = "61", .born = "61",
                 .help = "sequences to extract; the last batch may be partly empty"},
    [PAD] = {"pad", .type = PK_AXIS_BOOL, .def = "on", .born = "on",
             .help =
                 "the last batch is padded to the full shape; off: it has a shape, and a plan, of its own"},
    [DTYPE] = {"dtype", .type = PK_AXIS_ENUM,
               .choices = (const char *const[]){[FP32] = "fp32", [BF16] = "bf16", NULL},
               .choices_also = (const char *const[]){"float32 float", "bfloat16", NULL},
               .also = "precision type data_type", .def = "fp32", .born = "fp32",
               .help = "of weights in products, activations, and what is stored"},
    [CODEC] = {"codec", .type = PK_AXIS_ENUM, .choices = codecs, .also = "compression",
               .def = PK_DEFAULT_CODEC, .born = "zstd-1",
               .help = "compression of the shards; zlib-6: the default level of gzip"},
    [FILTER] = {"byte_filter", .type = PK_AXIS_ENUM, .choices = pk_byte_filter_names, .def = "exponent",
                .born = "exponent",
                .help = "order of the bytes before compression: byte planes, or the exponents first"},
    [THREADS] = {"compress_threads", .type = PK_AXIS_INT, .unit = "threads", .min = 1, .max = 256,
                 .also = "workers", .def = "1", .born = "1", .help = "threads that filter and compress"},
    [SLOTS] = {"slots", .type = PK_AXIS_INT, .unit = "batches", .min = 1, .max = PK_SIMULATED_SLOTS_MAX,
               .also = "buffers queue", .def = "3", .born = "3",
               .help = "batches in host memory; the pipeline waits when all are in use"},
    [SINK] = {"sink", .type = PK_AXIS_FILE, .def = "null", .born = "null", .folder = true,
              .help = "null: nothing is stored; or a folder for the shards, which continues where it ended"},
    [RANKS] = {"ranks", .type = PK_AXIS_INT, .unit = "processes", .min = 1, .max = 1024, .def = "1",
               .born = "1", .help = "processes over MPI, each with its part of the samples"},
    {0},
};

static const struct pk_variant variants[] = {
    [PK_EXTRACT_SEQUENTIAL] = {"sequential",
                               .summary = "waits for the copy of each layer and until each batch is written"},
    [PK_EXTRACT_REPLANNED] =
        {"replanned",
         .summary = "sequential with nothing cached: plans and device memory anew for each batch"},
    [PK_EXTRACT_PIPELINED] =
        {"pipelined",
         .summary = "forward, copies, compression and writing overlap, in a few slots of memory"},
    {0},
};

static bool is_replanned(const struct pk_case *c)
{
    return c->variant == PK_EXTRACT_REPLANNED;
}

static const struct pk_region regions[] = {
    [PK_EXTRACTING] = {"extract", .summary = "one pass over all samples"},
    [PK_EXTRACTING_BATCH] = {"batch", .summary = "from a batch's free slot to that of the next one",
                             .inside = "extract"},
    [PK_EXTRACTING_PLAN] = {"plan", .summary = "plans made anew", .applies = is_replanned, .inside = "batch"},
    [PK_EXTRACTING_FORWARD] = {"forward", .summary = "the layers, without a head", .inside = "batch"},
    [PK_EXTRACTING_GATHER] = {"gather", .summary = "a layer's hidden states to the staging",
                              .inside = "forward"},
    [PK_EXTRACTING_D2H] = {"d2h", .summary = "the staging to a slot on the host", .inside = "batch"},
    {0},
};

#define COUNT(number, title, ...)                                                                            \
    .direction = PK_NO_DIRECTION, .class = PK_CLASS_EXACT, .over_ranks = PK_COMBINE_SUM, .gauge = (number),  \
    .planned = (title)
#define STAGE(number)                                                                                        \
    .unit = "ns", .class = PK_CLASS_TIME, .over_samples = PK_COMBINE_MEDIAN, .over_ranks = PK_COMBINE_MAX,   \
    .gauge = (number)

static const struct pk_metric metrics[] = {
    {"real_samples", .unit = "1", .summary = "samples that were extracted", COUNT(REAL_SAMPLES, NULL)},
    {"slot_samples", .unit = "1", .summary = "the same with padding", COUNT(SLOT_SAMPLES, NULL)},
    {"raw_bytes", .unit = "bytes", .summary = "hidden states of the samples", COUNT(RAW_BYTES, "Raw (MB)")},
    {"stored_bytes", .unit = "bytes", .summary = "what is left of them when compressed",
     .direction = PK_LOWER_IS_BETTER, .class = PK_CLASS_EXACT, .over_ranks = PK_COMBINE_SUM,
     .gauge = STORED_BYTES},
    {"plans", .unit = "1", .summary = "plans made in a pass", COUNT(PLANS, NULL)},
    {"replans", .unit = "1", .summary = "of these, made after the first batch", COUNT(REPLANS, NULL)},
    {"parameters", .unit = "1", .summary = "weights of the model, without a head",
     .direction = PK_NO_DIRECTION, .class = PK_CLASS_EXACT, .gauge = PARAMETERS, .planned = "Parameters"},
    {"model_flops", .unit = "1",
     .summary = "FLOPs of a pass, padding included: products of weights and of causal attention",
     COUNT(MODEL_FLOPS, NULL)},
    {"checksum_ns", .summary = "checksums, all threads together", STAGE(CHECKSUM)},
    {"filter_ns", .summary = "the filter, all threads together", STAGE(FILTERING)},
    {"compress_ns", .summary = "the codec, all threads together", STAGE(COMPRESS)},
    {"write_ns", .summary = "writing shards", STAGE(WRITE)},
    {"sync_ns", .summary = "until shards are on the disk", STAGE(SYNC)},
    {"full_ns", .summary = "waiting for a free slot", STAGE(FULL)},
    {"bound_ns", .summary = "the slowest stage at work, by the places in which it runs at once",
     STAGE(BOUND)},
    {"fill_ns", .summary = "until the slowest stage begins", STAGE(FILL)},
    {"drain_ns", .summary = "after the slowest stage has ended", STAGE(DRAIN)},
    {0},
};

static const struct pk_preset presets[] = {
    {"quick", .summary = "under 40 s on two cores",
     .blocks = (const char *const[]){"model=tiny dtype=fp32,bf16", NULL},
     .settings = (const char *const[]){"min-samples=2", "min-time=0ms", "max-time=300ms", "warmup=0", NULL}},
    {"smoke", .summary = "one pass of a few batches",
     .blocks = (const char *const[]){"model=tiny samples=9", NULL},
     .settings = (const char *const[]){"invocations=1", "min-samples=1", "min-time=0ms", "max-time=1ms",
                                       "warmup=0", NULL}},
    {"seed", .summary = "qwen2.5-0.5b with zlib-6, and with zstd and a filter",
     .blocks = (const char *const[]){"model=qwen2.5-0.5b codec=zlib-6 byte_filter=none",
                                     "model=qwen2.5-0.5b dtype=fp32,bf16 compress_threads=4", NULL},
     .settings = (const char *const[]){"min-samples=3", NULL}},
    {0},
};

static const char *const check_points[] = {
    "layers=3 d_model=24 heads=6 kv_heads=2 d_ff=40 vocab=29 extract_from=1 extract_to=2 batch=3 seq_len=7 "
    "samples=8 sink=null ranks=1",
    "layers=1 d_model=16 heads=1 kv_heads=1 d_ff=8 vocab=5 extract_from=0 extract_to=0 batch=1 seq_len=1 "
    "samples=1 sink=null ranks=1",
    NULL,
};

/* --- a case as the pipeline sees it --- */

static struct pk_transformer_config config_of(const struct pk_case *c, enum pk_device_kind kind)
{
    const bool bf16 = pk_case_int(c, DTYPE) == BF16, padded = pk_case_int(c, PAD);
    return (struct pk_transformer_config){
        .layers = (size_t)pk_case_int(c, LAYERS),
        .width = (size_t)pk_case_int(c, D_MODEL),
        .heads = (size_t)pk_case_int(c, HEADS),
        .kv_heads = (size_t)pk_case_int(c, KV_HEADS),
        .ff = (size_t)pk_case_int(c, D_FF),
        .vocab = (size_t)pk_case_int(c, VOCAB),
        .seq = (size_t)pk_case_int(c, SEQ_LEN),
        .batch = (size_t)pk_case_int(c, BATCH),
        .dtype = bf16 ? PK_BF16 : PK_FP32,
        .attention = kind == PK_DEVICE_CUDA && bf16 && padded ? PK_ATTENTION_CUDNN : PK_ATTENTION_FLASH,
        .fused = true,
        .headless = true,
    };
}

/* What decides the contents of the shards besides their configuration. */
static void describe(const struct pk_case *c, uint64_t first, struct pk_shard_config *s, struct pk_arena *a)
{
    static const unsigned rows[] = {LAYERS, D_MODEL, HEADS, KV_HEADS, D_FF, VOCAB};
    enum { N = sizeof rows / sizeof *rows };
    struct pk_shard_attribute *v = pk_new_n(a, struct pk_shard_attribute, N + 2);
    for (size_t i = 0; i < N; i++)
        v[i] = (struct pk_shard_attribute){axes[rows[i]].name,
                                           pk_printf(a, "%lld", (long long)pk_case_int(c, rows[i]))};
    v[N] = (struct pk_shard_attribute){"seed", pk_printf(a, "%d", SEED)};
    v[N + 1] = (struct pk_shard_attribute){"first_sample", pk_printf(a, "%llu", (unsigned long long)first)};
    s->attributes = v;
    s->n_attributes = N + 2;
}

/* Of one rank: whole batches, shared evenly. A check point is of one rank, and every process runs it. */
static enum pk_code options_of(const struct pk_case *c, enum pk_device_kind kind, unsigned rank,
                               struct pk_arena *a, struct pk_extraction_options *o, struct pk_err *err)
{
    const struct pk_transformer_config m = config_of(c, kind);
    const uint64_t ranks = (uint64_t)pk_case_int(c, RANKS), all = (uint64_t)pk_case_int(c, SAMPLES);
    const uint64_t batches = (all + m.batch - 1) / m.batch;
    rank %= (unsigned)ranks;
    const uint64_t first = batches * rank / ranks * m.batch, end = batches * (rank + 1) / ranks * m.batch;
    const unsigned from = (unsigned)pk_case_int(c, EXTRACT_FROM), to = (unsigned)pk_case_int(c, EXTRACT_TO);
    unsigned *layers = pk_new_n(a, unsigned, to >= from ? to - from + 1 : 1);
    const char *path = pk_axis_file_path(c->at.v[SINK], a);
    for (unsigned i = from; i <= to; i++)
        layers[i - from] = i;
    *o = (struct pk_extraction_options){
        .model = m,
        .shards = {.type = m.dtype,
                   .layers = layers,
                   .n_layers = to >= from ? to - from + 1 : 0,
                   .samples = (end < all ? end : all) - first,
                   .length = m.seq,
                   .width = m.width,
                   .batch = m.batch,
                   .shard_samples = m.batch * SHARD_BATCHES},
        .way = (enum pk_extraction_way)c->variant,
        .threads = c->variant == PK_EXTRACT_PIPELINED ? (unsigned)pk_case_int(c, THREADS) : 1,
        .slots = c->variant == PK_EXTRACT_PIPELINED ? (size_t)pk_case_int(c, SLOTS) : 1,
        .folder = path && ranks > 1 ? pk_printf(a, "%s/rank-%u", path, rank) : path,
        .seed = SEED,
        .first_sample = first,
        .ragged = !pk_case_int(c, PAD),
    };
    describe(c, first, &o->shards, a);
    o->shards.filter = (enum pk_byte_filter)pk_case_int(c, FILTER);
    return pk_codec_parse(codecs[pk_case_int(c, CODEC)], &o->shards.codec, err);
}

/* --- what the harness calls --- */

static unsigned ranks(const struct pk_case *c)
{
    const unsigned n = (unsigned)pk_case_int(c, RANKS);
    return n > 1 ? n : 0;
}

static const char *skip(const struct pk_case *c, enum pk_device_kind kind)
{
    struct pk_codec codec;
    struct pk_err err;
    const int64_t batches = (pk_case_int(c, SAMPLES) + pk_case_int(c, BATCH) - 1) / pk_case_int(c, BATCH);
    if (pk_case_int(c, RANKS) > batches)
        return "fewer batches than ranks: -a samples=...";
    return pk_codec_parse(codecs[pk_case_int(c, CODEC)], &codec, &err)
               ? "this build lacks the library of the codec (perfkit doctor): -a codec=none,zlib-6"
               : NULL;
}

static enum pk_code validate(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                             struct pk_err *err)
{
    struct pk_extraction_options o;
    if (options_of(c, PK_DEVICE_CPU, 0, a, &o, err) || pk_extraction_valid(&o, err))
        return err->code;
    if (o.folder && c->variant == PK_EXTRACT_PIPELINED)
        return PK_OK;
    if (o.folder && pk_case_int(c, SAMPLES) % pk_case_int(c, BATCH) && o.ragged)
        warn(user, "pad=off: the last batch has a plan of its own");
    return PK_OK;
}

static int64_t counted(const struct pk_case *c, unsigned gauge)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_extraction_options o;
    struct pk_err err;
    const struct pk_transformer_config m = config_of(c, PK_DEVICE_CPU);
    if (pk_transformer_valid(&m, &err))
        return -1;
    if (gauge == PARAMETERS)
        return (int64_t)pk_transformer_parameters(&m);
    if (gauge != RAW_BYTES || options_of(c, PK_DEVICE_CPU, 0, &a, &o, &err))
        return -1;
    return (int64_t)((uint64_t)pk_case_int(c, SAMPLES) * o.shards.n_layers *
                     pk_shard_sample_bytes(&o.shards));
}

static int64_t predict(const struct pk_case *c, enum pk_device_kind kind, unsigned gauge)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_extraction_options o;
    struct pk_forecast f;
    struct pk_err err;
    if (gauge != PK_PEAK_BYTES)
        return counted(c, gauge);
    if (options_of(c, kind, 0, &a, &o, &err))
        return -1;
    pk_transformer_forecast(&o.model, PK_STEP_FORWARD, kind, c->threads, &f);
    return f.peak_bytes == PK_BYTES_BEYOND ? (int64_t)f.peak_bytes
                                           : (int64_t)(f.peak_bytes + pk_extraction_device_bytes(&o));
}

static struct pk_work work(const struct pk_case *c, unsigned region)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_transformer_config m = config_of(c, PK_DEVICE_CPU);
    struct pk_extraction_options o;
    struct pk_forecast f;
    struct pk_err err;
    if (options_of(c, PK_DEVICE_CPU, 0, &a, &o, &err) || region == PK_EXTRACTING_PLAN)
        return (struct pk_work){0};
    const double n = (double)pk_extraction_batches(&o), bytes = n * (double)pk_shard_batch_bytes(&o.shards);
    const struct pk_work gather = {.bytes = 3 * bytes}, copy = {.bytes = bytes};
    if (region == PK_EXTRACTING_GATHER || region == PK_EXTRACTING_D2H)
        return region == PK_EXTRACTING_D2H ? copy : gather;
    pk_transformer_forecast(&m, PK_STEP_FORWARD, PK_DEVICE_CPU, c->threads, &f);
    struct pk_work w = f.forward.work;
    w.flops *= n, w.tensor_flops *= n, w.bytes *= n, w.exps *= n;
    w = pk_work_add(w, gather);
    return region == PK_EXTRACTING_FORWARD ? w : pk_work_add(w, copy);
}

struct extraction_state {
    struct pk_extraction x;
    uint64_t resumed_from;
};

static enum pk_code setup(struct pk_ctx *ctx, struct pk_err *err)
{
    struct extraction_state *s = pk_new(ctx->arena, struct extraction_state);
    struct pk_extraction_options o;
    ctx->state = s;
    if (options_of(ctx->c, ctx->dev->kind, ctx->comm ? ctx->comm->rank : 0, ctx->arena, &o, err))
        return err->code;
    o.dry = ctx->dry;
    const char *root = pk_axis_file_path(ctx->c->at.v[SINK], ctx->arena);
    if (root && !o.dry && pk_shard_own_folder(root, o.folder, &o.shards, ctx->arena, &o.folder, err))
        return err->code;
    enum pk_code rc = pk_extraction_open(&s->x, ctx->dev, &o, ctx->arena, err);
    if (!rc)
        rc = pk_extraction_complete(&s->x, &s->resumed_from, err);
    return rc ? rc : pk_extraction_begin(&s->x, true, err);
}

static void reset(struct pk_ctx *ctx)
{
    struct extraction_state *s = ctx->state;
    struct pk_err err;
    if (pk_extraction_begin(&s->x, true, &err))
        s->x.broken = err;
}

static enum pk_code run(struct pk_ctx *ctx, struct pk_err *err)
{
    struct pk_extraction *x = &((struct extraction_state *)ctx->state)->x;
    const struct pk_extraction_facts *f = &x->facts;
    enum pk_code rc = pk_extraction_pass(x, err);
    const uint64_t raw = f->samples * x->o.shards.n_layers * pk_shard_sample_bytes(&x->o.shards);
    const struct pk_stage_time *stage = f->stored.stage;
    const int64_t values[] = {
        [REAL_SAMPLES] = (int64_t)f->samples,
        [SLOT_SAMPLES] = (int64_t)f->slot_samples,
        [RAW_BYTES] = (int64_t)raw,
        [STORED_BYTES] = (int64_t)f->stored.stored_bytes,
        [PLANS] = (int64_t)f->plans,
        [REPLANS] = (int64_t)f->replans,
        [PARAMETERS] = (int64_t)pk_transformer_parameters(&x->o.model),
        [MODEL_FLOPS] = (int64_t)(pk_transformer_flops(&x->o.model) * (double)x->batches),
        [CHECKSUM] = (int64_t)stage[PK_STAGE_CHECKSUM].elapsed_ns,
        [FILTERING] = (int64_t)stage[PK_STAGE_FILTER].elapsed_ns,
        [COMPRESS] = (int64_t)stage[PK_STAGE_COMPRESS].elapsed_ns,
        [WRITE] = (int64_t)stage[PK_STAGE_WRITE].elapsed_ns,
        [SYNC] = (int64_t)stage[PK_STAGE_SYNC].elapsed_ns,
        [FULL] = (int64_t)f->stored.full_ns,
        [BOUND] = (int64_t)f->bound_ns,
        [FILL] = (int64_t)f->fill_ns,
        [DRAIN] = (int64_t)f->drain_ns,
    };
    const unsigned n = x->o.way == PK_EXTRACT_PIPELINED ? sizeof values / sizeof *values : BOUND;
    for (unsigned i = 0; i < n; i++)
        pk_mark_value(ctx->dev, i, values[i]);
    return rc;
}

/* --- notes and the check --- */

/* Of the layers in the slot that was filled last. */
static json_t *layers_note(const struct pk_extraction *x)
{
    const struct pk_shard_config *s = &x->o.shards;
    const size_t bytes = (size_t)pk_shard_batch_bytes(s) / s->n_layers;
    json_t *layers = json_array();
    for (size_t i = 0; i < s->n_layers; i++) {
        struct pk_entropy e = {.type = s->type};
        pk_entropy_add(&e, (const char *)x->slots[0] + i * bytes, bytes / pk_dtype_bytes(s->type));
        const struct pk_entropy_bounds b = pk_entropy_bounds(&e);
        json_array_append_new(layers, json_pack("{s:i, s:I, s:f, s:f}", "layer", (int)s->layers[i], "samples",
                                                (json_int_t)x->facts.samples, "exponent_bits",
                                                b.exponent_bits, "bound", b.exponent_bound));
    }
    return layers;
}

static void note_stages(const struct pk_extraction *x, json_t *to)
{
    for (size_t i = 0; i < PK_STAGES; i++) {
        const struct pk_stage_time *t = &x->facts.stored.stage[i];
        json_object_set_new(to, pk_stage_names[i],
                            json_pack("{s:I, s:I, s:I, s:I}", "count", (json_int_t)t->count, "elapsed_ns",
                                      (json_int_t)t->elapsed_ns, "cpu_ns", (json_int_t)t->cpu_ns, "bytes",
                                      (json_int_t)t->bytes));
    }
}

static enum pk_code inspect(struct pk_ctx *ctx, bool last, struct pk_err *err)
{
    const struct extraction_state *s = ctx->state;
    const struct pk_extraction *x = &s->x;
    if (!last)
        return PK_OK;
    const struct pk_steady steady = pk_extraction_steady(x);
    const struct pk_extraction_warm_up *w = &x->warm_up;
    json_t *stages = json_object();
    note_stages(x, stages);
    pk_ctx_note(ctx, "extraction",
                json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "module_ns",
                          (json_int_t)w->module_ns, "plan_warm_ns", (json_int_t)w->plan_warm_ns,
                          "allocation_ns", (json_int_t)w->allocation_ns, "weights_ns",
                          (json_int_t)w->weights_ns, "plan_ns", (json_int_t)w->plan_ns, "steady_ns",
                          (json_int_t)steady.median_ns, "steady_first", (json_int_t)steady.first, "steady_n",
                          (json_int_t)steady.n, "batches", (json_int_t)x->batches, "resumed_from",
                          (json_int_t)s->resumed_from, "shards", (json_int_t)x->facts.stored.shards, "stages",
                          stages, "layers", ctx->dry ? json_array() : layers_note(x)));
    return PK_OK;
}

static enum pk_code check(struct pk_ctx *ctx, bool full, struct pk_err *err)
{
    return pk_extraction_check(&((struct extraction_state *)ctx->state)->x, full, err);
}

static void teardown(struct pk_ctx *ctx)
{
    struct extraction_state *s = ctx->state;
    if (!s)
        return;
    const struct pk_extraction x = s->x;
    pk_extraction_close(&s->x);
    pk_extraction_clean(&x);
}

const struct pk_probe pk_probe_extraction = {
    .name = "extraction",
    .summary = "hidden states of chosen layers to compressed shards: stage by stage and as a pipeline",
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
    .reset = reset,
    .run = run,
    .inspect = inspect,
    .check = check,
    .teardown = teardown,
};
