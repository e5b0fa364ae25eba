/* Options: of `plan parallel`, as rows, and what they say. */
#include "model/parallel/options.h"

#include <stddef.h>
#include <string.h>

#define O(member) offsetof(struct pk_parallel_options, member)

static const char *const precisions[] = {"mixed", "bf16", "bf16-fp32-grads", "fp32", NULL};
static const char *const forms[] = {"ring", "book", NULL};
static const char *const overlaps[] = {"sum", "max", "none", NULL};
static const char *const on_off[] = {"on", "off", NULL};
static const char *const attentions[] = {"flash", "matrix", NULL};

/* What completion offers, by the type of an axis. */
#define OFFERED_INT  NULL
#define OFFERED_BOOL on_off
#define OFFERED_ENUM pk_recompute_names
#define AXIS_OPTION(axis_name, kind, least, most, meaning)                                                   \
    {#axis_name,      .type = PK_OPT_TEXT,       .offset = O(axis[PK_MESH_##axis_name]),                     \
     .arg = "VALUES", .choices = OFFERED_##kind, .commas = true,                                             \
     .help = meaning},

static const struct pk_opt axis_rows[] = {PK_MESH_AXES(AXIS_OPTION){0}};

const struct pk_opt pk_parallel_option_rows[] = {
    {"chips", .type = PK_OPT_INT, .offset = O(chips), .arg = "N", .max = PK_PARALLEL_CHIPS_MAX, .def = "0",
     .group = "plan parallel: the mesh",
     .help =
         "search all meshes of this number of chips; 0: the axes that are given, the others being 1; without "
         "any axis one chip, or 8 if a step does not fit there"},
    {.rows = axis_rows},
    {"chip", .type = PK_OPT_TEXT, .offset = O(chip), .arg = "CHIP", .def = "h100-sxm",
     .group = "plan parallel: a chip",
     .help = "data sheet of h100-sxm, h200-sxm, a100-80gb or tpu-v5p, for what is not given or measured"},
    {"memory", .type = PK_OPT_TEXT, .offset = O(memory), .arg = "SIZE",
     .help = "memory limit of a chip, with its unit: 80GB"},
    {"compute", .type = PK_OPT_TEXT, .offset = O(compute), .arg = "FLOPS", .commas = true,
     .help = "arithmetic of a chip per second: 4e14"},
    {"network", .type = PK_OPT_TEXT, .offset = O(network), .arg = "BYTES", .commas = true,
     .help = "bandwidth of a chip to other nodes per second"},
    {"node", .type = PK_OPT_INT, .offset = O(node), .arg = "N", .max = PK_PARALLEL_CHIPS_MAX, .def = "0",
     .help = "chips of a node; axes are placed in the order tp, cp, fsdp, dp, pp; 0: of --chip"},
    {"links", .type = PK_OPT_LIST, .offset = O(links), .arg = "AXIS=N", .commas = true,
     .help = "links of a chip along dp, fsdp, tp, cp or pp: fsdp=2; 1 for axes not given"},
    {"batch", .type = PK_OPT_INT, .offset = O(batch), .arg = "N", .min = 1, .max = 1 << 30, .def = "1024",
     .group = "plan parallel: a step", .help = "sequences of a step on all chips together"},
    {"seq", .type = PK_OPT_INT, .offset = O(seq), .arg = "N", .min = 1, .max = 1 << 24, .def = "4096",
     .help = "tokens of a sequence"},
    {"precision", .type = PK_OPT_CHOICE, .offset = O(precision), .arg = "NAME", .choices = precisions,
     .def = "mixed",
     .help =
         "bytes of weights, gradients, optimizer and activations: 4+4+8 and 2, 2+2+12 and 2, 2+4+12 and 2, "
         "4+4+8 and 4"},
    {"attention", .type = PK_OPT_CHOICE, .offset = O(attention), .arg = "KIND", .choices = attentions,
     .def = "flash", .help = "matrix: the scores of every pair of tokens are kept for backward"},
    {"prefetch", .type = PK_OPT_INT, .offset = O(prefetch), .arg = "N", .max = 1024, .def = "2",
     .help = "gathered units (blocks) of ZeRO-3 at once"},
    {"sharded-activations", .type = PK_OPT_RATIO, .offset = O(sharded_share), .arg = "SHARE", .max = 1,
     .def = "0",
     .help = "share of activations that fsdp divides; no system does: for exercises that assume it"},
    {"form", .type = PK_OPT_CHOICE, .offset = O(form), .arg = "FORM", .choices = forms, .def = "ring",
     .help = "what a chip sends of an array in a collective of n chips: (n-1)/n of it, or all"},
    {"overlap", .type = PK_OPT_CHOICE, .offset = O(overlap), .arg = "HOW", .choices = overlaps, .def = "sum",
     .help = "arithmetic hides the sum of transfers, the longest axis of them, or none"},
    {"tokens", .type = PK_OPT_TEXT, .offset = O(tokens), .arg = "N,N", .def = "2048,4096,8192,16384",
     .commas = true, .group = "plan parallel: output",
     .help = "tokens of a data shard for which table `devices` finds the least number of chips"},
    {"top", .type = PK_OPT_INT, .offset = O(top), .arg = "N", .max = INT32_MAX, .def = "10",
     .help = "meshes printed; 0: all"},
    {0},
};

enum pk_code pk_parallel_setup_read(const struct pk_parallel_options *p, const struct pk_model_shape *shape,
                                    struct pk_arena *a, struct pk_parallel_setup *s, struct pk_err *err)
{
    *s = (struct pk_parallel_setup){.shape = *shape,
                                    .precision = pk_precisions,
                                    .batch = p->batch,
                                    .seq = p->seq,
                                    .book = !strcmp(p->form, "book"),
                                    .sum_axes = strcmp(p->overlap, "max") != 0,
                                    .hidden = strcmp(p->overlap, "none") != 0,
                                    .scores = !strcmp(p->attention, "matrix"),
                                    .prefetch = p->prefetch,
                                    .sharded_share = p->sharded_share};
    while (strcmp(s->precision->name, p->precision) != 0)
        s->precision++;
    if (pk_parallel_chip_rates(p->chip, s, a, err) || pk_parallel_memory_typed(p->memory, s, err))
        return err->code;
    for (size_t i = 0; i < PK_MESH_PRODUCT_AXES; i++)
        s->links[i] = 1;
    for (size_t i = 0; i < p->links.n; i++)
        if (pk_parallel_links_typed(p->links.v[i], s, a, err))
            return err->code;
    s->node = p->node ? p->node : s->node;
    return PK_OK;
}

static enum pk_code bad_axis(const struct pk_axis *row, const char *text, struct pk_arena *a,
                             struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "--%s %.300s", row->name, text);
    pk_why(err, "%s is %s", row->name, pk_axis_takes(row, a));
    return pk_fix(err, "--%s %s, or several values with commas between them", row->name, row->def);
}

enum pk_code pk_mesh_request_read(const struct pk_parallel_options *p, struct pk_arena *a,
                                  struct pk_mesh_request *r, struct pk_sweep *tokens, struct pk_err *err)
{
    static const struct pk_axis tokens_axis = {"tokens", .type = PK_AXIS_INT, .unit = "tokens",
                                               .min = 1, .max = INT32_MAX,    .def = "2048"};
    *r = (struct pk_mesh_request){.chips = p->chips};
    for (size_t i = 0; i < PK_MESH_AXES_N; i++)
        if (p->axis[i] && pk_sweep_parse(&pk_mesh_axes[i], p->axis[i], a, &r->axis[i], err))
            return bad_axis(&pk_mesh_axes[i], p->axis[i], a, err);
    return pk_sweep_parse(&tokens_axis, p->tokens, a, tokens, err) ? bad_axis(&tokens_axis, p->tokens, a, err)
                                                                   : PK_OK;
}
