/* Plan: analytical models, by name. */
#include "cmd/plan/plan.h"

#include "base/text/words.h"

#include <stddef.h>
#include <string.h>

#define O(member) offsetof(struct pk_cmd_plan_options, member)

/* For completion. */
static const char *const tables[] = {"bucket",     "terms",   "meshes", "memory", "time",
                                     "devices",    "totals",  "model",  "rates",  "memory_terms",
                                     "time_terms", "explain", NULL};

static const struct pk_opt options[] = {
    {"model", .type = PK_OPT_TEXT, .offset = O(model), .arg = "MODEL", .def = "small", .group = "The model",
     .help = "tiny, small or large (of the experiments), llama-3-8b, llama-3-70b, llama-3-405b, gpt-3-175b, "
             "qwen2.5-0.5b, ffn:DxFxN, or transformer: with layers=N, width=N, ff=N, heads=N, kv_heads=N and "
             "vocab=N, joined by commas"},
    {"config", .type = PK_OPT_TEXT, .offset = O(config), .arg = "FILE",
     .help = "config.json of a Hugging Face model"},
    {"launch", .type = PK_OPT_TEXT, .offset = O(launch), .arg = "TIME", .commas = true,
     .group = "Rates: VALUE or VALUE,LOWEST,HIGHEST",
     .help = "time of a collective that does not depend on its size (o in table `link` of ddp-bucket); "
             "bucket: 20us"},
    {"bandwidth", .type = PK_OPT_TEXT, .offset = O(bandwidth), .arg = "BYTES", .commas = true,
     .help = "bandwidth of a link per second (busbw): 25GB is 200 Gbit/s; bucket: 10GB; parallel: of --chip"},
    {"from", .type = PK_OPT_LIST, .offset = O(from), .arg = "RUN",
     .help = "take rates from this run: launch and bandwidth of ddp-bucket, parallel also the arithmetic of "
             "mixed-precision; or `machine`: its ceilings"},
    {"explain", .type = PK_OPT_FLAG, .offset = O(explain), .group = "Tables",
     .help = "print every value with its formula, its numbers and its assumption"},
    {"tables", .letter = 't', .type = PK_OPT_LIST, .offset = O(tables), .arg = "NAME", .choices = tables,
     .cli_only = true, .commas = true,
     .help = "print these tables, or all; of several, CSV needs one, or -o DIR/ for a file of each"},
    {.rows = pk_bucket_option_rows, .offset = O(bucket)},
    {.rows = pk_parallel_option_rows, .offset = O(parallel)},
    {0},
};

static const struct plan_command {
    const char *name;
    const struct pk_opt *rows;
    enum pk_code (*run)(struct pk_app *app, struct pk_err *err);
} plans[] = {{"bucket", pk_bucket_option_rows, pk_cmd_plan_bucket},
             {"parallel", pk_parallel_option_rows, pk_cmd_plan_parallel}};
enum { PLANS = sizeof plans / sizeof *plans };

enum pk_code pk_cmd_plan_shape(const struct pk_cmd_plan_options *o, struct pk_arena *a,
                               struct pk_model_shape *out, struct pk_err *err)
{
    return o->config ? pk_model_shape_read(o->config, a, out, err)
                     : pk_model_shape_parse(o->model, a, out, err);
}

/* Options that were typed belong to this plan. */
static enum pk_code check_options(const struct pk_app *app, const struct plan_command *p, struct pk_err *err)
{
    for (size_t i = 0; i < PLANS; i++)
        for (const struct pk_opt *row = pk_opt_flat(plans[i].rows, app->arena); &plans[i] != p && row->name;
             row++)
            if (pk_opt_source_of(&app->tables[1], row->name) == PK_OPT_COMMAND_LINE) {
                pk_fail(err, PK_E_USAGE, "plan %s has no option --%s", p->name, row->name);
                pk_why(err, "it is an option of plan %s", plans[i].name);
                return pk_fix(err, "perfkit plan %s --%s", plans[i].name, row->name);
            }
    return pk_opt_exclusive(&app->tables[1], "config", (const char *const[]){"model", NULL},
                            "the file defines the model", err);
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const char *names[PLANS];
    for (size_t i = 0; i < PLANS; i++) {
        names[i] = plans[i].name;
        if (!strcmp(app->args.v[0], names[i]))
            return check_options(app, &plans[i], err) ? err->code : plans[i].run(app, err);
    }
    pk_fail(err, PK_E_USAGE, "there is no plan '%s'", app->args.v[0]);
    pk_why(err, "%s", pk_suggest_text(app->arena, app->args.v[0], names, PLANS));
    return pk_fix(err, "perfkit plan bucket, or perfkit plan parallel");
}

const struct pk_cmd pk_cmd_plan = {
    .name = "plan",
    .summary = "analytical models: gradient buckets, parallel training steps",
    .usage = "plan bucket|parallel [options]",
    .examples = "perfkit plan bucket --model large --backward 400ms --ranks 8 --bandwidth 25GB\n"
                "perfkit plan bucket --from @ --backward 80ms --ranks 16,256\n"
                "perfkit plan bucket --tensors mine.txt --dtype bf16 --launch 35us --hop 2us\n"
                "perfkit plan parallel --model llama-3-70b --chips 512 --chip h100-sxm\n"
                "perfkit plan parallel --config config.json --fsdp 16 --tp 4 --explain\n"
                "perfkit plan parallel --model llama-3-8b --chips 64 --from @ --from machine\n",
    .options = options,
    .options_bytes = sizeof(struct pk_cmd_plan_options),
    .exact_args = "1",
    .run = run,
};
