/* Export: what a run recorded, for other programs. */
#include "cmd/cmd.h"

#include "store/table.h"

#include <string.h>

struct options {
    const char *what;
};

static const char *const whats[] = {"samples", "summary",  "invocations", "cases",  "slices", "settings",
                                    "fits",    "counters", "roofline",    "states", "doubts", "breakdown",
                                    "kernels", "topology", "runs",        NULL};

static const struct pk_opt options[] = {
    {.name = "what",
     .letter = 'w',
     .type = PK_OPT_CHOICE,
     .offset = offsetof(struct options, what),
     .arg = "ROWS",
     .choices = whats,
     .def = "samples",
     .help = "the rows to write: every raw sample, or what was made of them",
     .group = "Exporting"},
    {0},
};

/* The format is the first word; a table for people is what `show` prints. */
static enum pk_code check_format(const char *name, struct pk_err *err)
{
    if (strcmp(name, "table") != 0)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "'table' is no format to export");
    pk_why(err, "formats are csv, json, jsonl and markdown");
    return pk_fix(err, "perfkit show prints a run's tables");
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct options *o = app->options;
    struct pk_store *s;
    int64_t run_id;
    if (check_format(app->args.v[0], err) ||
        pk_open_run(app, app->args.n > 1 ? app->args.v[1] : "@", &s, &run_id, err))
        return err->code;
    const struct pk_param param = pk_param_int(":run", run_id);
    enum pk_code rc = pk_table_print(s, pk_store_tables(), pk_printf(app->arena, "export_%s", o->what),
                                     &param, 1, app->out, err);
    pk_store_close(s);
    return rc;
}

const struct pk_cmd pk_cmd_export = {
    .name = "export",
    .summary = "raw samples and what was made of them, for other programs",
    .usage = "export csv|json|jsonl|markdown [RUN] [--what ROWS] [options]",
    .examples = "perfkit export csv > samples.csv\n"
                "perfkit export json nightly --what summary -o summary.json\n"
                "perfkit export jsonl @~1 --what cases",
    .options = options,
    .options_bytes = sizeof(struct options),
    .exact_args = "1-2",
    .format_first = true,
    .run = run,
};
