/* Export: a run's data for other programs. */
#include "cmd/cmd.h"

#include "base/text/words.h"
#include "store/table.h"

#include <string.h>

struct options {
    const char *what;
};

static const char *const whats[] = {"samples", "summary",  "invocations", "cases",    "slices", "settings",
                                    "fits",    "counters", "roofline",    "states",   "doubts", "breakdown",
                                    "kernels", "memory",   "timeline",    "topology", "runs",   NULL};

/* The options with which a run has them. */
static const struct {
    const char *what, *how;
} recorded_by[] = {
    {"counters", "`perfkit run ... --counters` records them"},
    {"roofline", "`perfkit run ... --counters` records counts"},
    {"breakdown", "`perfkit run ... --breakdown` records them"},
    {"kernels", "`perfkit run ... --breakdown` records them"},
    {"memory", "`perfkit run ... --allocations` records them"},
    {"timeline", "only ddp-bucket records them; use --what memory for bytes over time"},
};

static const struct pk_opt options[] = {
    {"what", 'w', PK_OPT_CHOICE, offsetof(struct options, what), "ROWS", .choices = whats, .def = "samples",
     .group = "Exporting", .help = "the rows to write: every raw sample, or data derived from them"},
    {0},
};

/* The format is the first word; a table for people is what `show` prints. */
static enum pk_code check_format(const char *name, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (strcmp(name, pk_format_names[PK_FMT_TABLE]) != 0)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "'table' is not an export format");
    pk_why(err, "formats are %s", pk_list(&pk_format_names[1], PK_FORMATS_N - 1, ", ", &a));
    return pk_fix(err, "perfkit show prints the tables of a run");
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct options *o = app->options;
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    int64_t run_id;
    if (check_format(app->args.v[0], err) ||
        pk_open_run(app, app->args.n > 1 ? app->args.v[1] : "@", &s, &run_id, err))
        return err->code;
    const struct pk_param param = pk_param_int(":run", run_id);
    if (pk_table_print(s, NULL, pk_printf(app->arena, "export_%s", o->what), &param, 1, app->out, err))
        return err->code;
    if (pk_out_rows(app->out))
        return PK_OK;
    const char *how = NULL; /* a note for exports without rows: a header is easy to overlook */
    for (size_t i = 0; i < sizeof recorded_by / sizeof *recorded_by; i++)
        if (strcmp(recorded_by[i].what, o->what) == 0)
            how = recorded_by[i].how;
    app->closing_note = pk_printf(app->arena, "run %lld has no rows of --what %s%s%s", (long long)run_id,
                                  o->what, how ? ": " : "", how ? how : "");
    return PK_OK;
}

const struct pk_cmd pk_cmd_export = {
    .name = "export",
    .summary = "raw samples and derived data, for other programs",
    .usage = "export FORMAT [RUN] [--what ROWS] [options]",
    .examples = "perfkit export csv > samples.csv\n"
                "perfkit export json nightly --what summary -o summary.json\n"
                "perfkit export jsonl @~1 --what cases\n"
                "perfkit export csv --what memory        memory over time, of a run with --allocations",
    .options = options,
    .options_bytes = sizeof(struct options),
    .exact_args = "1-2",
    .format_first = true,
    .run = run,
};
