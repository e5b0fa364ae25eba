/* Report: rows of the tables of a plan, from evaluated values. */
#include "model/parallel/report.h"

#include "base/text/units.h"
#include "base/text/words.h"
#include "model/parallel/limits.h"
#include "model/parallel/rates.h"

#include <math.h>

/* What the tables of one mesh are made of. */
struct mesh_view {
    struct pk_out *out;
    const struct pk_parallel_report *r;
    const struct pk_parallel_setup *s;
    struct pk_arena *a;
    const struct pk_mesh *best;
    struct pk_parallel_values time, memory, corner[PK_PARALLEL_CORNERS];
};

#define GB(name, title)                                                                                      \
    {                                                                                                        \
        .key = name, .heading = title " (GB)", .scale = 1e9, .decimals = 2                                   \
    }
#define MS(name, title)                                                                                      \
    {                                                                                                        \
        .key = name, .heading = title " (ms)", .scale = 1e6, .decimals = 3                                   \
    }
#define TEXT(name, title)                                                                                    \
    {                                                                                                        \
        .key = name, .heading = title, .left = true                                                          \
    }
#define COUNT(name, title)                                                                                   \
    {                                                                                                        \
        .key = name, .heading = title, .decimals = -1                                                        \
    }

/* Of a value of the rows, or of what a function makes of the values, at the corners of the rates. */
typedef double number_fn(const struct pk_parallel_values *v, const void *arg);
static struct pk_interval over_corners(const struct mesh_view *w, number_fn *fn, const void *arg)
{
    struct pk_interval i = {INFINITY, -INFINITY};
    for (unsigned c = 0; c < PK_PARALLEL_CORNERS; c++) {
        const double x = fn(&w->corner[c], arg);
        i.lo = fmin(i.lo, x), i.hi = fmax(i.hi, x);
    }
    return i;
}

static double row_value(const struct pk_parallel_values *v, const void *row)
{
    return pk_parallel_value(v, row);
}

static void print_model(const struct mesh_view *w)
{
    static const struct pk_column columns[] = {
        TEXT("model", "Model"),
        COUNT("parameters", "Parameters"),
        GB("weights_bytes", "Weights"),
        GB("gradients_bytes", "Gradients"),
        GB("optimizer_bytes", "Optimizer"),
        GB("states_bytes", "States"),
        {.key = "token_bytes", .heading = "Activations of a token (MB)", .scale = 1e6, .decimals = 3},
        {.key = "chips_for_states", .heading = "Chips for states alone", .decimals = 2}};
    const struct pk_mesh one = {1, 1, 1, 1, 1, 1, 1, 3, 0, 0};
    struct pk_parallel_values v, memory;
    pk_parallel_mesh(w->s, &one, &v, &memory);
    const double states = v.weights + v.gradients + v.optimizer;
    pk_out_table(w->out, "model", "The model on one chip, nothing divided or recomputed",
                 PK_COLUMNS(columns));
    struct pk_row *row = pk_row_begin(w->out);
    pk_put_text(row, "model", w->s->shape.name);
    pk_put_int(row, "parameters", pk_model_shape_parameters(&w->s->shape));
    pk_put_real(row, "weights_bytes", v.weights);
    pk_put_real(row, "gradients_bytes", v.gradients);
    pk_put_real(row, "optimizer_bytes", v.optimizer);
    pk_put_real(row, "states_bytes", states);
    pk_put_real(row, "token_bytes", v.activations_sum / v.tokens);
    pk_put_real(row, "chips_for_states", states / w->s->memory_bytes);
    pk_row_end(row);
    pk_out_note(w->out, pk_printf(w->a, "Bytes of a parameter: %s.", w->s->precision->meaning));
}

static void print_rates(const struct mesh_view *w)
{
    static const struct pk_column columns[] = {TEXT("rate", "Rate"),
                                               {.key = "value", .heading = "Value", .decimals = -1},
                                               {.key = "low", .heading = "Low", .decimals = -1},
                                               {.key = "high", .heading = "High", .decimals = -1},
                                               TEXT("unit", "Unit"),
                                               TEXT("source", "Source")};
    pk_out_table(w->out, "rates", "Rates of a chip", PK_COLUMNS(columns));
    for (unsigned i = 0; i < PK_PARALLEL_RATES; i++) {
        const struct pk_parallel_rate *rate = &w->s->rate[i];
        struct pk_row *row = pk_row_begin(w->out);
        pk_put_text(row, "rate", pk_parallel_rate_rows[i].option);
        pk_put_real(row, "value", rate->value);
        pk_put_real(row, "low", rate->ci.lo);
        pk_put_real(row, "high", rate->ci.hi);
        pk_put_text(row, "unit", pk_parallel_rate_rows[i].unit);
        pk_put_text(row, "source", rate->source);
        pk_row_end(row);
    }
    pk_out_note(
        w->out,
        "Low and high of every result: its least and greatest value when each rate is at one of its ends.");
}

static void print_memory(const struct mesh_view *w)
{
    static const struct pk_column columns[] = {
        TEXT("mesh", "Mesh"),
        TEXT("stage", "Stage"),
        GB("weights_bytes", "Weights"),
        GB("gradients_bytes", "Gradients"),
        GB("optimizer_bytes", "Optimizer"),
        GB("activations_bytes", "Activations"),
        GB("gathered_bytes", "Gathered"),
        GB("memory_bytes", "Sum"),
        {.key = "memory_gib", .heading = "Sum (GiB)", .decimals = 2, .optional = 1},
        GB("limit_bytes", "Limit"),
        {.key = "fits", .heading = "Fits", .left = true}};
    const struct pk_parallel_values *v = &w->memory;
    pk_out_table(w->out, "memory", "Memory of a chip", PK_COLUMNS(columns));
    struct pk_row *row = pk_row_begin(w->out);
    pk_put_text(row, "mesh", pk_mesh_text(w->best, w->a));
    pk_put_text(row, "stage", w->best->pp == 1 ? "the only one" : v->first_stage ? "first" : "last");
    pk_put_real(row, "weights_bytes", v->weights_sum);
    pk_put_real(row, "gradients_bytes", v->gradients_sum);
    pk_put_real(row, "optimizer_bytes", v->optimizer_sum);
    pk_put_real(row, "activations_bytes", v->activations_sum);
    pk_put_real(row, "gathered_bytes", v->gathered_sum);
    pk_put_real(row, "memory_bytes", v->memory_bytes);
    pk_put_real(row, "memory_gib", v->memory_bytes / 0x1p30);
    pk_put_real(row, "limit_bytes", w->s->memory_bytes);
    pk_put_text(row, "fits", v->memory_bytes <= w->s->memory_bytes ? "yes" : "no");
    pk_row_end(row);
}

/* --- terms --- */

static void print_memory_terms(const struct mesh_view *w)
{
    static const struct pk_column columns[] = {TEXT("term", "Term"),
                                               GB("bytes", "Value"),
                                               {.key = "gib", .heading = "GiB", .decimals = 3},
                                               TEXT("sharded", "Sharded by; assumptions"),
                                               TEXT("formula", "Formula")};
    pk_out_table(w->out, "memory_terms", "Terms of memory", PK_COLUMNS(columns));
    for (const struct pk_parallel_row *t = pk_parallel_rows; t->name; t++) {
        const double bytes = pk_parallel_value(&w->memory, t);
        if (t->kind != PK_PARALLEL_TERM || t->group >= PK_PARALLEL_FIRST_TIME || bytes == 0)
            continue;
        struct pk_row *row = pk_row_begin(w->out);
        pk_put_text(row, "term", t->name);
        pk_put_real(row, "bytes", bytes);
        pk_put_real(row, "gib", bytes / 0x1p30);
        pk_put_text(row, "sharded", t->meaning);
        pk_put_text(row, "formula", pk_parallel_formula(t, NULL, w->a));
        pk_row_end(row);
    }
    pk_out_note(w->out, "Terms that are 0 here are left out; --explain has them, and every number.");
    pk_out_note(
        w->out,
        "Not counted: tokens and losses, tables of positions, values and workspaces that live for a moment "
        "(mixed-precision --dry-run counts them), and fragmentation of an allocator.");
}

static void print_time_terms(const struct mesh_view *w)
{
    static const struct pk_column columns[] = {TEXT("term", "Term"),      TEXT("pass", "Pass"),
                                               MS("time_ns", "Time"),     MS("low_ns", "Low"),
                                               MS("high_ns", "High"),     TEXT("sharded", "What is assumed"),
                                               TEXT("formula", "Formula")};
    pk_out_table(w->out, "time_terms", "Terms of the time of a step", PK_COLUMNS(columns));
    for (const struct pk_parallel_row *t = pk_parallel_rows; t->name; t++) {
        const double ns = pk_parallel_value(&w->time, t);
        if (t->kind != PK_PARALLEL_TERM || t->group < PK_PARALLEL_FIRST_TIME || ns == 0)
            continue;
        const struct pk_interval i = over_corners(w, row_value, t);
        struct pk_row *row = pk_row_begin(w->out);
        pk_put_text(row, "term", t->name);
        pk_put_text(row, "pass", t->pass == PK_PARALLEL_FORWARD ? "forward" : "backward");
        pk_put_real(row, "time_ns", ns);
        pk_put_real(row, "low_ns", i.lo);
        pk_put_real(row, "high_ns", i.hi);
        pk_put_text(row, "sharded", t->meaning);
        pk_put_text(row, "formula", pk_parallel_formula(t, NULL, w->a));
        pk_row_end(row);
    }
}

static void explain_row(const struct mesh_view *w, const struct pk_parallel_values *v,
                        const struct pk_parallel_row *t, const char *stage)
{
    static const char *const kinds[] = {"input", "derived", "term", "sum", "total"};
    const struct pk_interval i = over_corners(w, row_value, t);
    const bool memory = v->last_stage != w->time.last_stage; /* does not depend on rates */
    struct pk_row *row = pk_row_begin(w->out);
    pk_put_text(row, "stage", stage);
    pk_put_text(row, "kind", kinds[t->kind]);
    pk_put_text(row, "name", t->name);
    pk_put_finite(row, "value", pk_parallel_value(v, t));
    pk_put_finite(row, "low", memory ? pk_parallel_value(v, t) : i.lo);
    pk_put_finite(row, "high", memory ? pk_parallel_value(v, t) : i.hi);
    pk_put_text(row, "unit", t->unit);
    pk_put_nonempty(row, "formula", pk_parallel_formula(t, NULL, w->a));
    pk_put_nonempty(row, "numbers", pk_parallel_formula(t, v, w->a));
    pk_put_text(row, "meaning", t->meaning);
    pk_row_end(row);
}

static void explain(const struct mesh_view *w)
{
    static const struct pk_column columns[] = {
        {.key = "stage", .heading = "Stage", .left = true, .optional = 2},
        {.key = "kind", .heading = "Kind", .left = true, .optional = 3},
        TEXT("name", "Name"),
        {.key = "value", .heading = "Value", .decimals = -1},
        {.key = "low", .heading = "Low", .decimals = -1, .machine = true},
        {.key = "high", .heading = "High", .decimals = -1, .machine = true},
        TEXT("unit", "Unit"),
        TEXT("formula", "Formula"),
        TEXT("numbers", "With numbers"),
        {.key = "meaning", .heading = "What it is, and what is assumed", .left = true, .optional = 1}};
    const bool other = w->memory.first_stage != w->time.first_stage;
    pk_out_table(w->out, "explain", "Every value, from top to bottom", PK_COLUMNS(columns));
    for (const struct pk_parallel_row *t = pk_parallel_rows; t->name; t++)
        explain_row(w, &w->time, t, w->best->pp == 1 ? "the only one" : "last");
    for (const struct pk_parallel_row *t = pk_parallel_rows; other && t->name; t++)
        if (t->kind == PK_PARALLEL_TERM || t->kind == PK_PARALLEL_SUM ? t->group < PK_PARALLEL_FIRST_TIME
                                                                      : t->kind != PK_PARALLEL_TOTAL)
            explain_row(w, &w->memory, t, "first");
    if (other)
        pk_out_note(w->out, "Time is of the last stage. The first stage needs more memory: its rows follow.");
}

/* --- time --- */

static double shard_tokens(const struct pk_parallel_values *v, const void *scope)
{
    return pk_parallel_balance(v, *(const enum pk_parallel_scope *)scope).shard_tokens;
}

static void put_balance(const struct mesh_view *w, const char *what, enum pk_parallel_scope scope,
                        double parts)
{
    static const char *const binds[PK_PARALLEL_GROUPS] = {
        [PK_PARALLEL_MATH] = "arithmetic", [PK_PARALLEL_FSDP] = "fsdp", [PK_PARALLEL_TP] = "tp",
        [PK_PARALLEL_CP] = "cp",           [PK_PARALLEL_PP] = "pp",     [PK_PARALLEL_DP] = "dp"};
    const struct pk_balance b = pk_parallel_balance(&w->time, scope);
    const struct pk_interval t = over_corners(w, shard_tokens, &scope);
    struct pk_row *row = pk_row_begin(w->out);
    pk_put_text(row, "scope", what);
    pk_put_real(row, "math_ns", b.math_ns / parts);
    pk_put_real(row, "fsdp_ns", b.axis_ns[PK_PARALLEL_FSDP] / parts);
    pk_put_real(row, "tp_ns", b.axis_ns[PK_PARALLEL_TP] / parts);
    pk_put_real(row, "cp_ns", b.axis_ns[PK_PARALLEL_CP] / parts);
    pk_put_real(row, "pp_ns", b.axis_ns[PK_PARALLEL_PP] / parts);
    pk_put_real(row, "dp_ns", b.axis_ns[PK_PARALLEL_DP] / parts);
    pk_put_real(row, "transfers_ns", b.transfers_ns / parts);
    pk_put_text(row, "binds", binds[b.binds]);
    pk_put_finite(row, "shard_tokens", b.shard_tokens);
    pk_put_finite(row, "shard_tokens_low", t.lo);
    pk_put_finite(row, "shard_tokens_high", t.hi);
    pk_put_finite(row, "chip_tokens", b.chip_tokens);
    pk_put_finite(row, "batch_tokens", b.batch_tokens);
    pk_row_end(row);
}

static void print_balance(const struct mesh_view *w)
{
    static const struct pk_column columns[] = {TEXT("scope", "Of"),
                                               MS("math_ns", "Arithmetic"),
                                               MS("fsdp_ns", "FSDP"),
                                               MS("tp_ns", "TP"),
                                               MS("cp_ns", "CP"),
                                               MS("pp_ns", "PP"),
                                               MS("dp_ns", "Once a step"),
                                               MS("transfers_ns", "Transfers"),
                                               TEXT("binds", "Bound by"),
                                               {.key = "shard_tokens", .heading = "Tokens of a data shard"},
                                               {.key = "shard_tokens_low", .heading = "Low", .optional = 2},
                                               {.key = "shard_tokens_high", .heading = "High", .optional = 2},
                                               {.key = "chip_tokens", .heading = "Of a chip"},
                                               {.key = "batch_tokens", .heading = "Of a step"}};
    pk_out_table(w->out, "time", "Arithmetic against transfers", PK_COLUMNS(columns));
    put_balance(w, "forward of a block", PK_SCOPE_FORWARD, w->time.stage_layers * w->time.micro);
    put_balance(w, "forward", PK_SCOPE_FORWARD, 1);
    put_balance(w, "forward and backward", PK_SCOPE_STEP, 1);
    pk_out_note(w->out,
                "Tokens: from this number on, arithmetic takes at least as long as transfers (empty: never). "
                "The chips of a tp, cp or "
                "pp group share the tokens of their data shard; a step has those of all data shards.");
    pk_out_note(w->out, pk_printf(w->a,
                                  "Transfers of tp are hidden up to tp = %.1f, whatever the batch. If fsdp "
                                  "and tp were free (form book), "
                                  "%.0f tokens of a chip would do.",
                                  w->time.tp_most, w->time.free_tokens));
}

static void print_devices(const struct mesh_view *w)
{
    static const struct pk_column columns[] = {COUNT("tokens", "Tokens of a data shard"),
                                               COUNT("fsdp", "Data shards"), COUNT("chips", "Chips"),
                                               GB("memory_bytes", "Memory of a chip"), TEXT("note", "")};
    pk_out_table(w->out, "devices", "Chips needed", PK_COLUMNS(columns));
    for (size_t i = 0; i < w->r->tokens->n; i++) {
        const struct pk_chips_needed n =
            pk_parallel_chips_needed(w->s, w->best, (double)w->r->tokens->v[i].i);
        struct pk_row *row = pk_row_begin(w->out);
        pk_put_int(row, "tokens", w->r->tokens->v[i].i);
        pk_put_finite(row, "fsdp", n.shards ? n.shards : NAN);
        pk_put_finite(row, "chips", n.shards ? n.chips : NAN);
        pk_put_real(row, "memory_bytes", n.memory_bytes);
        pk_put_text(row, "note", n.shards ? NULL : "impossible: more shards do not reduce it");
        pk_row_end(row);
    }
    pk_out_note(
        w->out,
        pk_printf(
            w->a,
            "The least fsdp that fits, with the other axes of %s. A data shard can have at most %.0f tokens "
            "of a micro-batch.",
            pk_mesh_text(w->best, w->a), pk_parallel_most_tokens(w->s, w->best)));
}

/* --- meshes --- */

/* Who asks for an explanation or for tables wants all of it. */
static bool is_short(const struct mesh_view *w)
{
    return pk_out_is_shortened(w->out) && pk_out_headline_first(w->out) && !w->r->explain;
}

/* The result in two lines, above the tables. */
static void print_summary(const struct mesh_view *w)
{
    const struct pk_parallel_values *v = &w->memory;
    char step[32];
    if (!is_short(w))
        return;
    pk_out_note(w->out,
                pk_printf(w->a, "%s: %s, %s, %s a step, %.0f tokens a second.",
                          w->r->ranking->fitting ? "Best mesh" : "Nothing fits",
                          pk_plural((size_t)pk_mesh_chips(w->best), "chip", w->a),
                          pk_mesh_text(w->best, w->a), pk_format_ns(w->time.step_ns, step, sizeof step),
                          1e9 * (double)w->s->batch * (double)w->s->seq / w->time.step_ns));
    pk_out_note(w->out,
                pk_printf(w->a,
                          "Memory of a chip: weights %.2f + gradients %.2f + optimizer %.2f + activations "
                          "%.2f + gathered %.2f = %.2f GB of %.2f GB.",
                          v->weights_sum / 1e9, v->gradients_sum / 1e9, v->optimizer_sum / 1e9,
                          v->activations_sum / 1e9, v->gathered_sum / 1e9, v->memory_bytes / 1e9,
                          w->s->memory_bytes / 1e9));
}

static const char *compared(const struct pk_interval *ratio, bool fits, size_t i)
{
    const bool equal = ratio->lo == 1 && ratio->hi == 1;
    return !fits           ? "does not fit"
           : !i            ? "best"
           : equal         ? "equal"
           : ratio->lo > 1 ? "slower"
                           : "not told apart";
}

static void put_mesh(const struct mesh_view *w, size_t i)
{
    const struct pk_parallel_candidate *c = &w->r->ranking->v[i];
    const struct pk_interval ratio = pk_parallel_ratio(w->s, &c->mesh, w->best);
    struct pk_mesh m = c->mesh;
    struct pk_row *row = pk_row_begin(w->out);
    pk_put_int(row, "rank", (int64_t)i + 1);
    pk_put_int(row, "chips", pk_mesh_chips(&m));
    for (size_t axis = 0; axis < PK_MESH_AXES_N; axis++) {
        const union pk_value v = {.i = *pk_mesh_value(&m, axis)};
        if (pk_axis_ordered(&pk_mesh_axes[axis]))
            pk_put_int(row, pk_mesh_axes[axis].name, v.i);
        else
            pk_put_text(row, pk_mesh_axes[axis].name, pk_axis_format(&pk_mesh_axes[axis], v, w->a));
    }
    pk_put_real(row, "step_ns", c->step_ns);
    pk_put_real(row, "tokens_per_s", 1e9 * (double)w->s->batch * (double)w->s->seq / c->step_ns);
    pk_put_real(row, "ratio_low", ratio.lo);
    pk_put_real(row, "ratio_high", ratio.hi);
    pk_put_real(row, "memory_bytes", c->memory_bytes);
    pk_put_text(row, "status", compared(&ratio, i < w->r->ranking->fitting, i));
    pk_row_end(row);
}

static void print_meshes(const struct mesh_view *w)
{
    static const struct pk_column columns[] = {
        COUNT("rank", "Rank"),
        {.key = "chips", .heading = "Chips", .decimals = -1, .optional = 4},
#define MESH_COLUMN(name, ...)                                                                               \
    {.key = #name,                                                                                           \
     .heading = #name,                                                                                       \
     .decimals = -1,                                                                                         \
     .optional = PK_MESH_##name == PK_MESH_interleave ? 5 : 0},
        PK_MESH_AXES(MESH_COLUMN) MS("step_ns", "Step"),
        {.key = "tokens_per_s", .heading = "Tokens/s", .optional = 2},
        {.key = "ratio_low", .heading = "Of best, low", .decimals = 3, .optional = 3},
        {.key = "ratio_high", .heading = "High", .decimals = 3, .optional = 3},
        GB("memory_bytes", "Memory"),
        {.key = "status", .heading = "Status", .left = true, .optional = 1}};
    const struct pk_parallel_ranking *k = w->r->ranking;
    const size_t n = w->r->top && w->r->top < k->n ? w->r->top : k->n;
    pk_out_table(w->out, "meshes", "Meshes by the time of a step", PK_COLUMNS(columns));
    if (is_short(w))
        pk_out_fit(w->out);
    for (size_t i = 0; i < n && !pk_out_broken(w->out) && !pk_out_lists(w->out); i++)
        put_mesh(w, i);
    pk_out_note(w->out, pk_printf(w->a, "%zu of %zu meshes fit in memory; %zu are printed (--top 0: all).",
                                  k->fitting, k->n, n));
    if (k->note)
        pk_out_note(w->out, k->note);
}

static void print_totals(const struct mesh_view *w)
{
    static const struct pk_column columns[] = {TEXT("total", "Total"),
                                               {.key = "value", .heading = "Value", .decimals = -1},
                                               {.key = "low", .heading = "Low", .decimals = -1},
                                               {.key = "high", .heading = "High", .decimals = -1},
                                               TEXT("unit", "Unit"),
                                               TEXT("meaning", "What it is"),
                                               TEXT("formula", "Formula")};
    pk_out_table(w->out, "totals", pk_printf(w->a, "Totals: %s", pk_mesh_text(w->best, w->a)),
                 PK_COLUMNS(columns));
    for (const struct pk_parallel_row *t = pk_parallel_rows; t->name; t++) {
        if (t->kind != PK_PARALLEL_TOTAL || t->offset == offsetof(struct pk_parallel_values, memory_bytes))
            continue;
        const struct pk_interval i = over_corners(w, row_value, t);
        struct pk_row *row = pk_row_begin(w->out);
        pk_put_text(row, "total", t->name);
        pk_put_finite(row, "value", pk_parallel_value(&w->time, t));
        pk_put_finite(row, "low", i.lo);
        pk_put_finite(row, "high", i.hi);
        pk_put_text(row, "unit", t->unit);
        pk_put_text(row, "meaning", t->meaning);
        pk_put_text(row, "formula", pk_parallel_formula(t, NULL, w->a));
        pk_row_end(row);
    }
}

void pk_parallel_print(struct pk_out *out, const struct pk_parallel_report *r, struct pk_arena *a)
{
    struct mesh_view *w = pk_new(a, struct mesh_view);
    *w = (struct mesh_view){.out = out, .r = r, .s = r->s, .a = a, .best = &r->ranking->v[0].mesh};
    pk_parallel_mesh(w->s, w->best, &w->time, &w->memory);
    for (unsigned c = 0; c < PK_PARALLEL_CORNERS; c++)
        pk_parallel_corner(w->s, w->best, c, &w->corner[c]);
    print_summary(w);
    print_meshes(w);
    pk_out_detail(out, is_short(w));
    print_memory(w);
    print_balance(w);
    print_devices(w);
    print_totals(w);
    print_model(w);
    print_rates(w);
    if (r->explain) {
        explain(w);
        return;
    }
    print_memory_terms(w);
    print_time_terms(w);
}
