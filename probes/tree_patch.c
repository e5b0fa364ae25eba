/* tree-patch: what it costs to edit a model that is an immutable tree: N modules replaced, the old tree untouched.
 *
 * One iteration is one initialisation of a tensor-parallel model: make the tree, find the modules that a plan names, make their
 * replacements (with real weights: slice them), put them in. `naive` is what a loop over equinox.tree_at does, and stays that way: it
 * is the yardstick. The axis op has the neighbours that are paid at every step: combine and flatten. docs/tree-patch.md. */
#include "bench/probe.h"

#include "bench/repeat.h"
#include "model/patch/workbench.h"
#include "model/tree/layers.h"
#include "model/tree/resident.h"
#include "model/tree/weights.h"

#include <string.h>

enum {
    TREE,
    MODEL,
    LAYERS,
    HIDDEN,
    INTERMEDIATE,
    VOCAB,
    OP,
    PLAN,
    PATCHES,
    MATCHER,
    WEIGHTS,
    TP,
    SLICING,
    DTYPE,
    STAGING
};
enum { CREATE, MATCH, TRANSFORM, TREE_OP, PARTITION, UNFLATTEN };
enum { LEAF_COUNT, NODE_COUNT, ELEMENTS, TARGETS, OBJECTS, ALLOCATED, COMPILE };
enum op { PATCH, COMBINE, FLATTEN };
enum { FNMATCH, COMPILED };
enum { NONE, REAL };
enum { FP32, BF16 };                    /* choices of dtype */
enum { MODEL_AT_ONCE, LAYER_BY_LAYER }; /* of staging */
enum { CHECK_SAMPLES = 16 };
enum { RESIDENT = PK_PATCH_WAYS }; /* a variant with its own way: on the device */

static bool is_bert(const struct pk_point *p)
{
    return !strcmp(p->v[TREE].s, "bert");
}

static bool is_patch(const struct pk_point *p)
{
    return p->v[OP].i == PATCH;
}

static bool is_real(const struct pk_point *p)
{
    return is_patch(p) && p->v[WEIGHTS].i == REAL;
}

static const struct pk_axis axes[] = {
    [TREE] = {"tree", .type = PK_AXIS_FILE, .def = "bert", .born = "bert",
              .help = "bert, or a file with the leaves of your model: a dotted path and a shape per line"},
    [MODEL] = {"model", .type = PK_AXIS_ENUM,
               .choices = (const char *const[]){"2L-256H", "4L-512H", "4L-768H", "8L-768H", "12L-768H",
                                                "100L-5120H", NULL},
               .sets = (const char *const[]){"layers=2 hidden=256 intermediate=1024",
                                             "layers=4 hidden=512 intermediate=2048",
                                             "layers=4 hidden=768 intermediate=3072",
                                             "layers=8 hidden=768 intermediate=3072",
                                             "layers=12 hidden=768 intermediate=3072",
                                             "layers=100 hidden=5120 intermediate=20480", NULL},
               .def = "4L-768H", .born = "4L-768H", .applies = is_bert,
               .help = "a BERT: sets layers, hidden, intermediate"},
    [LAYERS] = {"layers", .type = PK_AXIS_INT, .unit = "layers", .min = 1, .max = 100000,
                .also = "depth n_layer n_layers num_layers num_hidden_layers", .def = "4", .born = "4",
                .applies = is_bert, .help = "transformer layers: 16 leaves and 6 patched modules each"},
    [HIDDEN] = {"hidden", .type = PK_AXIS_INT, .unit = "features", .min = 1, .max = 1048576,
                .also = "width d_model hidden_size embed_dim", .def = "768", .born = "768",
                .applies = is_bert, .help = "width of a layer"},
    [INTERMEDIATE] = {"intermediate", .type = PK_AXIS_INT, .unit = "features", .min = 1, .max = 4194304,
                      .also = "ff ffn d_ff intermediate_size", .def = "3072", .born = "3072",
                      .applies = is_bert, .help = "width inside the feed-forward block"},
    [VOCAB] = {"vocab", .type = PK_AXIS_INT, .unit = "tokens", .min = 1, .max = 16777216,
               .also = "vocabulary vocab_size", .def = "30522", .born = "30522", .applies = is_bert,
               .help = "rows of the word embedding"},
    [OP] = {"op", .type = PK_AXIS_ENUM, .choices = (const char *const[]){"patch", "combine", "flatten", NULL},
            .def = "patch", .born = "patch",
            .help =
                "patch modules, or the operations of every step: partition + combine, flatten + unflatten"},
    [PLAN] = {"plan", .type = PK_AXIS_FILE, .def = "reports", .born = "reports",
              .help = "reports (six tensor-parallel patterns), or a file of 'pattern = column|row' lines"},
    [PATCHES] = {"patches", .type = PK_AXIS_INT, .unit = "modules", .min = 0, .max = 1000000, .def = "0",
                 .born = "0", .applies = is_patch,
                 .help = "patch only this number of the matched modules, in order; 0: all"},
    [MATCHER] = {"matcher", .type = PK_AXIS_ENUM,
                 .choices = (const char *const[]){"fnmatch", "compiled", NULL}, .def = "compiled",
                 .born = "compiled", .applies = is_patch,
                 .help = "how modules are matched: fnmatch(3) on paths, or one automaton"},
    [WEIGHTS] = {"weights", .type = PK_AXIS_ENUM, .choices = (const char *const[]){"none", "real", NULL},
                 .def = "none", .born = "none", .applies = is_patch,
                 .help = "none: structure only; real: weights on the device, filled and sliced"},
    [TP] = {"tp", .type = PK_AXIS_INT, .unit = "devices", .min = 2, .max = 4096,
            .also = "tensor_parallel tp_size", .def = "2", .born = "2", .applies = is_real,
            .help = "number of devices that share a patched weight; the slice of the first is computed"},
    [SLICING] = {"slicing", .type = PK_AXIS_ENUM,
                 .choices = (const char *const[]){"per-leaf", "batched", "graph", NULL}, .def = "batched",
                 .born = "batched", .applies = is_real,
                 .help = "slice with one device operation per leaf, with one for all leaves, or with the "
                         "operations captured in a graph"},
    [DTYPE] = {"dtype", .type = PK_AXIS_ENUM,
               .choices = (const char *const[]){[FP32] = "fp32", [BF16] = "bf16", NULL},
               .choices_also = (const char *const[]){"float32 float", "bfloat16", NULL},
               .also = "precision type data_type", .def = "fp32", .born = "fp32", .applies = is_real,
               .help = "type of real weights"},
    [STAGING] = {"staging", .type = PK_AXIS_ENUM, .choices = (const char *const[]){"model", "layer", NULL},
                 .def = "model", .born = "model", .applies = is_real,
                 .help =
                     "whole weights in memory at once: those of the model, kept beside its slices; or of a "
                     "layer, in a buffer that the next layer uses again"},
    {0},
};

static const struct pk_variant variants[] = {
    [PK_PATCH_NAIVE] = {"naive",
                        .summary =
                            "equinox.tree_at for each module: its passes over the whole tree, every time"},
    [PK_PATCH_NAIVE_1PASS] = {"naive-1pass", .summary = "one rebuild of the whole tree for each module"},
    [PK_PATCH_BATCHED] = {"batched",
                          .summary = "one traversal that replaces every module and rebuilds what it passes"},
    [PK_PATCH_PATH_COPY] = {"path-copy", .summary = "for each module, the nodes above it are copied"},
    [PK_PATCH_GROUPED] = {"grouped",
                          .summary = "modules sorted by path; each node above a module is copied once"},
    [PK_PATCH_CACHED] = {"cached", .summary =
                                       "grouped, with the list of copies computed once: match is the first "
                                       "application, tree op every later one"},
    [PK_PATCH_IN_PLACE] = {"in-place",
                           .summary =
                               "overwrites the slot of the parent; the old tree is not kept: a lower bound"},
    [PK_PATCH_BUILT_IN] = {"built-in", .summary = "created with divided modules; nothing to patch"},
    [RESIDENT] = {"resident", .summary =
                                  "the addresses of real weights are a table in device memory: one copy "
                                  "transfers the patches, one operation writes them"},
    {0},
};

static enum op op_of(const struct pk_case *c)
{
    return (enum op)pk_case_int(c, OP);
}

static bool patches(const struct pk_case *c)
{
    return op_of(c) == PATCH && c->variant != PK_PATCH_BUILT_IN;
}

static bool has_tree_op(const struct pk_case *c)
{
    return op_of(c) != PATCH || patches(c);
}

static bool has_partition(const struct pk_case *c)
{
    return op_of(c) == COMBINE;
}

static bool has_unflatten(const struct pk_case *c)
{
    return op_of(c) == FLATTEN;
}

static bool has_weights(const struct pk_case *c)
{
    return op_of(c) == PATCH && pk_case_int(c, WEIGHTS) == REAL;
}

static bool on_the_host(const struct pk_case *c)
{
    return c->variant != RESIDENT;
}

static bool structure_alone(const struct pk_case *c)
{
    return !has_weights(c);
}

static bool by_layer(const struct pk_case *c)
{
    return has_weights(c) && pk_case_int(c, STAGING) == LAYER_BY_LAYER && c->variant != PK_PATCH_BUILT_IN;
}

static enum pk_dtype dtype_of(const struct pk_case *c)
{
    return pk_case_int(c, DTYPE) == BF16 ? PK_BF16 : PK_FP32;
}

static const struct pk_region regions[] = {
    [CREATE] = {"create", .summary = "create the nodes of the tree; fill real weights",
                .repeatable = structure_alone},
    [MATCH] = {"match", .summary = "find the modules of the plan; cached: also decide what to copy",
               .applies = patches, .repeatable = pk_always},
    [TRANSFORM] = {"transform", .summary = "create the new modules; slice real weights", .applies = patches,
                   .repeatable = structure_alone},
    [TREE_OP] = {"tree_op",
                 .summary = "patch: insert them into a new tree; combine, flatten: the operation itself",
                 .applies = has_tree_op, .repeatable = on_the_host},
    [PARTITION] = {"partition", .summary = "divide the tree into patched leaves and others",
                   .applies = has_partition, .repeatable = pk_always},
    [UNFLATTEN] = {"unflatten", .summary = "build the tree again from leaves and structure",
                   .applies = has_unflatten, .repeatable = pk_always},
    {0},
};

#define EXACT_COUNT .class = PK_CLASS_EXACT, .over_ranks = PK_COMBINE_MAX
static const struct pk_metric metrics[] = {
    {"leaves", .unit = "1", .summary = "leaves of the tree", .direction = PK_NO_DIRECTION, EXACT_COUNT,
     .gauge = LEAF_COUNT, .planned = "Leaves"},
    {"nodes", .unit = "1", .summary = "nodes of the tree, leaves among them", .direction = PK_NO_DIRECTION,
     EXACT_COUNT, .gauge = NODE_COUNT},
    {"parameters", .unit = "1", .summary = "elements of all leaves", .direction = PK_NO_DIRECTION,
     EXACT_COUNT, .gauge = ELEMENTS, .planned = "Parameters"},
    {"targets", .unit = "1", .summary = "replaced modules", .direction = PK_NO_DIRECTION, EXACT_COUNT,
     .gauge = TARGETS},
    {"objects", .unit = "1", .summary = "objects that the tree operation allocates",
     .direction = PK_LOWER_IS_BETTER, EXACT_COUNT, .gauge = OBJECTS},
    {"allocated_bytes", .unit = "bytes",
     .summary = "host memory that the tree operation allocates, summed over all passes",
     .direction = PK_LOWER_IS_BETTER, EXACT_COUNT, .gauge = ALLOCATED},
    {"compile_ns", .unit = "ns", .summary = "building the matcher from the plan, once per process",
     .direction = PK_LOWER_IS_BETTER, .class = PK_CLASS_TIME, .over_ranks = PK_COMBINE_MAX, .gauge = COMPILE},
    {0},
};

#define REPORT_MODELS "model=2L-256H,4L-512H,4L-768H,8L-768H,12L-768H"
#define ALL_MODELS    REPORT_MODELS ",100L-5120H"

static const struct pk_preset presets[] = {
    {"quick", .summary = "all BERT models, structure only; under a minute on two cores",
     .blocks = (const char *const[]){ALL_MODELS, REPORT_MODELS " patches=1",
                                     "model=4L-768H,12L-768H,100L-5120H matcher=fnmatch",
                                     "model=12L-768H,100L-5120H op=combine,flatten", NULL},
     .settings = (const char *const[]){"min-samples=3", "min-time=20ms", "max-time=60ms", NULL}},
    {"weights", .summary = "real weights, sliced leaf by leaf and at once, for 2, 4 and 8 devices",
     .blocks = (const char *const[]){"model=4L-768H,12L-768H weights=real tp=2,4,8 slicing=per-leaf,batched",
                                     "model=12L-768H weights=real tp=2 dtype=bf16 staging=model,layer", NULL},
     .settings = (const char *const[]){"min-samples=5", "min-time=100ms", "max-time=300ms", NULL}},
    {"seed",
     .summary = "all tables: every model, one patch and all patches, both matchers, weights up to "
                "12L-768H",
     .blocks = (const char *const[]){ALL_MODELS " matcher=fnmatch,compiled", ALL_MODELS " patches=1",
                                     ALL_MODELS " op=combine,flatten",
                                     REPORT_MODELS " weights=real tp=2,4,8 slicing=per-leaf,batched", NULL},
     .settings = (const char *const[]){"min-samples=5", NULL}},
    {"large",
     .summary = "31.6 billion parameters in bf16, made and sliced layer by layer: 32.5 GB of device "
                "memory for two devices",
     .blocks = (const char *const[]){"model=100L-5120H weights=real dtype=bf16 staging=layer tp=2,8", NULL},
     .settings = (const char *const[]){"min-samples=3", NULL},
     .variants = (const char *const[]){"naive", "batched", "grouped", "built-in", NULL}},
    {"growth", .summary = "growth of time with patches at fixed size, and with size at fixed patches",
     .blocks = (const char *const[]){"layers=100 patches=25,50,75,150,300,600",
                                     "layers=20,35,50,75,100,150,200 patches=100", NULL},
     .settings = (const char *const[]){"min-samples=5", "min-time=50ms", "max-time=200ms", NULL}},
    {0},
};

#define SIZE_AXES "model layers hidden intermediate vocab tree"
static const struct pk_fit_row fits[] = {
    {"tree_op_per_leaf", .metric = "tree_op_ns", .axis = "leaves", .kind = PK_FIT_LINE, .ignore = SIZE_AXES},
    {"tree_op_leaves_exponent", .metric = "tree_op_ns", .axis = "leaves", .kind = PK_FIT_POWER,
     .ignore = SIZE_AXES},
    {"tree_op_patches_exponent", .metric = "tree_op_ns", .axis = "targets", .kind = PK_FIT_POWER,
     .ignore = "patches"},
    {0},
};

static const char *const check_points[] = {
    "layers=1 hidden=8 intermediate=24 vocab=3 patches=0",
    "layers=3 hidden=24 intermediate=40 vocab=11 patches=7",
    NULL,
};

/* --- what a case is about --- */

static enum pk_code open_subject(const struct pk_case *c, struct pk_arena *a, struct pk_subject *s,
                                 struct pk_err *err)
{
    const struct pk_subject_options o = {
        .tree_file = pk_axis_file_path(c->at.v[TREE], a),
        .bert = {.layers = pk_case_int(c, LAYERS),
                 .hidden = pk_case_int(c, HIDDEN),
                 .intermediate = pk_case_int(c, INTERMEDIATE),
                 .vocab = pk_case_int(c, VOCAB),
                 .positions = 512,
                 .token_types = 2},
        .plan_file = pk_axis_file_path(c->at.v[PLAN], a),
        .patches = op_of(c) == PATCH ? (size_t)pk_case_int(c, PATCHES) : 0,
    };
    return pk_subject_open(&o, a, s, err);
}

static const char *skip(const struct pk_case *c, enum pk_device_kind kind)
{
    const unsigned v = c->variant;
    if (op_of(c) == FLATTEN && v != PK_PATCH_NAIVE)
        return "flatten has one variant, naive";
    if (op_of(c) == COMBINE && v != PK_PATCH_NAIVE && v != PK_PATCH_BATCHED && v != PK_PATCH_CACHED)
        return "combine has three variants: naive, batched, cached";
    if (v == RESIDENT && !has_weights(c))
        return "resident needs addresses in device memory: op=patch weights=real";
    if (v == RESIDENT && by_layer(c))
        return "resident has a table of whole weights: -a staging=model";
    if (has_weights(c) && pk_case_int(c, SLICING) == PK_SLICE_GRAPH && kind != PK_DEVICE_CUDA)
        return "capturing operations in a graph needs a GPU";
    return NULL;
}

static void ignore(void *user, const char *text)
{
}

/* Reports all errors of the files, the plan or tp before anything is measured. Nobody can change the built-in plan, so there are no
 * warnings about it. */
static enum pk_code validate(const struct pk_case *c, struct pk_arena *a, pk_warn_fn *warn, void *user,
                             struct pk_err *err)
{
    struct pk_subject s;
    if (open_subject(c, a, &s, err))
        return err->code;
    return pk_patch_plan_check(&s.plan, &s.tree, has_weights(c) ? pk_case_int(c, TP) : 0,
                               pk_axis_file_path(c->at.v[PLAN], a) ? warn : ignore, user, err);
}

/* Of a part of the divided tree. */
static struct pk_weights_size size_of(const struct pk_case *c, const struct pk_subject *s,
                                      enum pk_weights_part part)
{
    return pk_weights_size(&s->divided, pk_case_int(c, TP), part, dtype_of(c));
}

/* Of the tree before it is patched. */
static struct pk_weights_size whole_size(const struct pk_case *c, const struct pk_subject *s)
{
    return pk_weights_size(&s->tree, 1, PK_WEIGHTS_LOCAL, dtype_of(c));
}

/* Whole weights stay while their slices are made, or one layer of them does; built-in makes its own part only. */
static int64_t weights_bytes(const struct pk_case *c, const struct pk_subject *s)
{
    const struct pk_weights_size slices = size_of(c, s, PK_WEIGHTS_DIVIDED);
    if (c->variant == PK_PATCH_BUILT_IN)
        return size_of(c, s, PK_WEIGHTS_LOCAL).bytes;
    if (by_layer(c))
        return size_of(c, s, PK_WEIGHTS_SHARED).bytes + slices.bytes +
               pk_layers_bytes(&s->divided, dtype_of(c));
    return whole_size(c, s).bytes + slices.bytes +
           (c->variant == RESIDENT ? pk_resident_bytes(s->tree.n_leaves, slices.leaves) : 0);
}

/* False for a case that validate refuses, because estimates come before it. */
static bool open_sound(const struct pk_case *c, struct pk_arena *a, struct pk_subject *s)
{
    struct pk_err err = {0};
    return !open_subject(c, a, s, &err) &&
           !pk_patch_plan_check(&s->plan, &s->tree, has_weights(c) ? pk_case_int(c, TP) : 0, ignore, NULL,
                                &err);
}

static int64_t predict(const struct pk_case *c, enum pk_device_kind kind, unsigned gauge)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_subject s;
    if (gauge == PK_PEAK_BYTES)
        return has_weights(c) && open_sound(c, &a, &s) ? weights_bytes(c, &s) : 0;
    if ((gauge != LEAF_COUNT && gauge != ELEMENTS) || !open_sound(c, &a, &s))
        return -1;
    return gauge == LEAF_COUNT ? (int64_t)s.count.leaves : s.count.elements;
}

/* With real weights: what is filled or sliced, and what the table of their addresses takes. */
static double weights_work(const struct pk_case *c, const struct pk_subject *s, unsigned region)
{
    const double element = (double)pk_dtype_bytes(dtype_of(c));
    const bool table = c->variant == RESIDENT;
    if (region == TRANSFORM)
        return 2 * element * (double)size_of(c, s, PK_WEIGHTS_DIVIDED).elements;
    if (region == TREE_OP && table)
        return pk_work_resident_patch(size_of(c, s, PK_WEIGHTS_DIVIDED).leaves).bytes;
    if (region != CREATE)
        return 0;
    const struct pk_weights_size made =
        c->variant == PK_PATCH_BUILT_IN ? size_of(c, s, PK_WEIGHTS_LOCAL) : whole_size(c, s);
    return element * (double)made.elements + (table ? pk_work_resident_load(s->tree.n_leaves).bytes : 0);
}

/* The nodes that must be read and those that must be written, each once. A patch keeps the old tree, so the nodes above its targets
 * are both. */
static double nodes_work(const struct pk_case *c, const struct pk_subject *s, unsigned region)
{
    const double tree = (double)s->count.bytes;
    switch (region) {
    case TRANSFORM:
        return 2 * (double)s->module_bytes;
    case TREE_OP:
        return patches(c) ? 2 * (double)s->least_bytes : op_of(c) == COMBINE ? 3 * tree : tree;
    case PARTITION:
        return 3 * tree;
    default:
        return tree;
    }
}

/* The nodes that the naive ways build, and path-copy copies, for each target. */
static double effort(const struct pk_case *c, const struct pk_subject *s, unsigned region)
{
    if (region != TREE_OP || !patches(c) || !s->least_bytes)
        return 1;
    const double builds = (double)s->n * (double)s->count.bytes / (2 * (double)s->least_bytes);
    switch (c->variant) {
    case PK_PATCH_NAIVE:
        return PK_TREE_AT_PASSES * builds;
    case PK_PATCH_NAIVE_1PASS:
        return builds;
    case PK_PATCH_PATH_COPY:
        return (double)pk_patch_bytes(PK_PATCH_PATH_COPY, &s->tree, &s->match) / (double)s->least_bytes;
    default:
        return 1;
    }
}

static struct pk_work work(const struct pk_case *c, unsigned region)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_subject s;
    if (!open_sound(c, &a, &s))
        return (struct pk_work){0};
    const double weights = has_weights(c) ? weights_work(c, &s, region) : 0;
    return (struct pk_work){.bytes = weights > 0 ? weights : nodes_work(c, &s, region),
                            .effort = effort(c, &s, region)};
}

/* --- one case --- */

struct patch_state {
    struct pk_workbench bench;
    int64_t compile_ns;
    struct pk_weights whole, pieces; /* by layer, `whole` has the shared leaves alone */
    struct pk_slices slices;
    struct pk_layers layers;
    struct pk_resident resident;
};

/* The tree that `whole` has weights of. */
static const struct pk_tree *whole_tree(const struct pk_case *c, const struct patch_state *t)
{
    return c->variant == PK_PATCH_BUILT_IN || by_layer(c) ? &t->bench.s.divided : &t->bench.s.tree;
}

static enum pk_code set_up_weights(struct pk_ctx *ctx, struct patch_state *t, struct pk_err *err)
{
    const int64_t tp = pk_case_int(ctx->c, TP);
    const enum pk_slicing how = (enum pk_slicing)pk_case_int(ctx->c, SLICING);
    const enum pk_dtype type = dtype_of(ctx->c);
    const struct pk_tree *divided = &t->bench.s.divided;
    const bool layers = by_layer(ctx->c);
    enum pk_code rc =
        pk_weights_new(ctx->dev, whole_tree(ctx->c, t), tp, layers ? PK_WEIGHTS_SHARED : PK_WEIGHTS_LOCAL,
                       type, ctx->seed, ctx->arena, &t->whole, err);
    if (rc || ctx->c->variant == PK_PATCH_BUILT_IN)
        return rc;
    rc = pk_weights_new(ctx->dev, divided, tp, PK_WEIGHTS_DIVIDED, type, ctx->seed, ctx->arena, &t->pieces,
                        err);
    if (rc)
        return rc;
    if (layers)
        return pk_layers_new(ctx->dev, divided, &t->pieces, type, how, ctx->seed, ctx->arena, &t->layers,
                             err);
    struct pk_copy2d *v;
    const size_t n = pk_weights_slices(&t->whole, &t->pieces, ctx->arena, &v);
    rc = pk_slices_make(ctx->dev, how, v, n, &t->slices, err);
    if (rc || ctx->c->variant != RESIDENT)
        return rc;
    return pk_resident_new(ctx->dev, &t->whole, &t->pieces, ctx->arena, &t->resident, err);
}

static enum pk_code setup(struct pk_ctx *ctx, struct pk_err *err)
{
    struct patch_state *t = pk_new(ctx->arena, struct patch_state);
    const enum pk_patch_way way =
        ctx->c->variant == RESIDENT ? PK_PATCH_IN_PLACE : (enum pk_patch_way)ctx->c->variant;
    ctx->state = t;
    if (open_subject(ctx->c, ctx->arena, &t->bench.s, err))
        return err->code;
    if (op_of(ctx->c) != PATCH)
        pk_workbench_for_merge(&t->bench, way, ctx->arena);
    else if (pk_workbench_room(&t->bench.s, way,
                               ctx->dev->kind == PK_DEVICE_CPU ? (int64_t)ctx->dev->pool.limit : 0, err))
        return err->code;
    else {
        const struct pk_matcher *m = NULL;
        const uint64_t began = pk_device_now_ns(ctx->dev);
        if (pk_case_int(ctx->c, MATCHER) == COMPILED)
            m = pk_matcher_compile(&t->bench.s.plan, &t->bench.s.tree, ctx->arena);
        t->compile_ns = (int64_t)(pk_device_now_ns(ctx->dev) - began);
        pk_workbench_for_patch(&t->bench, way, m, ctx->arena);
    }
    return has_weights(ctx->c) ? set_up_weights(ctx, t, err) : PK_OK;
}

/* --- one iteration --- */

static enum pk_code create(struct pk_ctx *ctx, struct patch_state *t, struct pk_err *err)
{
    if (!has_weights(ctx->c)) {
        pk_repeat(ctx, CREATE, pk_make_tree, &t->bench);
        return PK_OK;
    }
    pk_mark_begin(ctx->dev, CREATE, PK_LANE_COMPUTE);
    pk_make_tree(&t->bench);
    enum pk_code rc = pk_weights_fill(ctx->dev, &t->whole, err);
    if (!rc && ctx->c->variant == RESIDENT)
        rc = pk_resident_load(ctx->dev, &t->resident, err);
    pk_mark_end(ctx->dev, CREATE, PK_LANE_COMPUTE);
    return rc;
}

/* Slices a layer, or the model. The first time, the new modules are created, too. */
static enum pk_code slice(struct pk_ctx *ctx, struct patch_state *t, const struct pk_slices *s, bool first,
                          struct pk_err *err)
{
    pk_mark_begin(ctx->dev, TRANSFORM, PK_LANE_COMPUTE);
    if (first)
        pk_make_replacements(&t->bench);
    enum pk_code rc = pk_slices_cut(ctx->dev, s, err);
    pk_mark_end(ctx->dev, TRANSFORM, PK_LANE_COMPUTE);
    return rc;
}

static enum pk_code transform(struct pk_ctx *ctx, struct patch_state *t, struct pk_err *err)
{
    if (!has_weights(ctx->c)) {
        pk_repeat(ctx, TRANSFORM, pk_make_replacements, &t->bench);
        return PK_OK;
    }
    if (!by_layer(ctx->c))
        return slice(ctx, t, &t->slices, true, err);
    enum pk_code rc = PK_OK;
    for (size_t i = 0; !rc && i < t->layers.n; i++) {
        pk_mark_begin(ctx->dev, CREATE, PK_LANE_COMPUTE);
        rc = pk_layer_fill(ctx->dev, &t->layers.v[i], err);
        pk_mark_end(ctx->dev, CREATE, PK_LANE_COMPUTE);
        if (!rc)
            rc = slice(ctx, t, &t->layers.v[i].slices, !i, err);
    }
    return rc;
}

static enum pk_code patch(struct pk_ctx *ctx, struct patch_state *t, struct pk_err *err)
{
    if (!patches(ctx->c))
        return PK_OK;
    pk_repeat(ctx, MATCH, pk_find_modules, &t->bench);
    enum pk_code rc = transform(ctx, t, err);
    if (!rc && ctx->c->variant == RESIDENT) {
        /* The host's tree follows, untimed: check compares it. */
        pk_mark_begin(ctx->dev, TREE_OP, PK_LANE_COMPUTE);
        rc = pk_resident_patch(ctx->dev, &t->resident, err);
        pk_mark_end(ctx->dev, TREE_OP, PK_LANE_COMPUTE);
        pk_put_in(&t->bench);
        return rc;
    }
    if (!rc)
        pk_repeat(ctx, TREE_OP, pk_put_in, &t->bench);
    return rc;
}

/* What one tree operation allocated: the difference since `before`, over how often it was repeated. */
static void count(struct pk_ctx *ctx, const struct patch_state *t, struct pk_allocation_counts before,
                  uint64_t applied)
{
    const struct pk_allocation_counts all = pk_workbench_allocated(&t->bench);
    const struct pk_tree_count *k = &t->bench.s.count;
    const uint64_t n = t->bench.applied > applied ? t->bench.applied - applied : 1;
    pk_mark_value(ctx->dev, LEAF_COUNT, (int64_t)k->leaves);
    pk_mark_value(ctx->dev, NODE_COUNT, (int64_t)(k->leaves + k->internal));
    pk_mark_value(ctx->dev, ELEMENTS, k->elements);
    pk_mark_value(ctx->dev, TARGETS, (int64_t)t->bench.s.n);
    pk_mark_value(ctx->dev, OBJECTS, (int64_t)((all.objects - before.objects) / n));
    pk_mark_value(ctx->dev, ALLOCATED, (int64_t)((all.bytes - before.bytes) / n));
    if (t->bench.matcher)
        pk_mark_value(ctx->dev, COMPILE, t->compile_ns);
}

static enum pk_code run(struct pk_ctx *ctx, struct pk_err *err)
{
    struct patch_state *t = ctx->state;
    const struct pk_allocation_counts before = pk_workbench_allocated(&t->bench);
    const uint64_t applied = t->bench.applied;
    enum pk_code rc = create(ctx, t, err);
    if (!rc && op_of(ctx->c) == PATCH)
        rc = patch(ctx, t, err);
    else if (!rc) {
        const bool merging = op_of(ctx->c) == COMBINE;
        pk_repeat(ctx, merging ? PARTITION : TREE_OP, merging ? pk_partition : pk_flatten, &t->bench);
        pk_repeat(ctx, merging ? TREE_OP : UNFLATTEN, merging ? pk_combine : pk_unflatten, &t->bench);
    }
    count(ctx, t, before, applied);
    return rc;
}

/* Trees are compared whole at every size; weights wholly at check points, by samples of every leaf at the real size. */
static enum pk_code check(struct pk_ctx *ctx, bool full, struct pk_err *err)
{
    const struct patch_state *t = ctx->state;
    enum pk_code rc = pk_workbench_check(&t->bench, ctx->arena, err);
    if (rc || !has_weights(ctx->c))
        return rc;
    rc = pk_weights_check(ctx->dev, whole_tree(ctx->c, t), &t->whole, full, CHECK_SAMPLES, ctx->seed,
                          ctx->arena, err);
    if (!rc && t->pieces.block)
        rc = pk_weights_check(ctx->dev, &t->bench.s.divided, &t->pieces, full, CHECK_SAMPLES, ctx->seed,
                              ctx->arena, err);
    if (!rc && ctx->c->variant == RESIDENT)
        rc = pk_resident_check(ctx->dev, &t->resident, &t->pieces, ctx->arena, err);
    return rc;
}

static void teardown(struct pk_ctx *ctx)
{
    struct patch_state *t = ctx->state;
    pk_resident_free(ctx->dev, &t->resident);
    pk_layers_free(ctx->dev, &t->layers);
    pk_slices_free(ctx->dev, &t->slices);
    pk_weights_free(ctx->dev, &t->pieces);
    pk_weights_free(ctx->dev, &t->whole);
}

const struct pk_probe pk_probe_tree_patch = {
    .name = "tree-patch",
    .summary =
        "editing a model that is an immutable tree: matching, slicing and replacing N modules, in nine ways",
    .revision = 1,
    .axes = axes,
    .variants = variants,
    .regions = regions,
    .metrics = metrics,
    .presets = presets,
    .fits = fits,
    .check_points = check_points,
    .skip = skip,
    .validate = validate,
    .predict = predict,
    .work = work,
    .setup = setup,
    .run = run,
    .check = check,
    .teardown = teardown,
};
