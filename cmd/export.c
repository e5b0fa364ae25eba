/* Export: the data of runs for other programs, as rows or as a timeline. */
#include "cmd/cmd.h"

#include "base/text/words.h"
#include "export/export.h"
#include "store/table/table.h"
#include "timeline/timeline.h"

#include <stdlib.h>
#include <string.h>

struct export_options {
    const char *what;
    bool phases;
};

/* The formats that are no tables. */
static const char trace[] = "trace";
static const char *const text_formats[] = {trace, "openmetrics", "bmf", "gab", "gab-bigger", NULL};

static const char *const whats[] = {"samples",  "summary",   "invocations", "cases",    "slices",
                                    "settings", "fits",      "counters",    "roofline", "states",
                                    "doubts",   "breakdown", "kernels",     "usage",    "memory",
                                    "timeline", "topology",  "runs",        NULL};

/* The options with which a run has them. */
static const struct {
    const char *what, *how;
} recorded_by[] = {
    {"counters", "`perfkit run ... --counters` records them"},
    {"roofline", "`perfkit run ... --counters` records counts"},
    {"breakdown", "`perfkit run ... --breakdown` records them"},
    {"kernels", "`perfkit run ... --breakdown` records them"},
    {"usage", "`perfkit run ... --counters gpu-usage` records them"},
    {"memory", "`perfkit run ... --allocations` records them"},
    {"timeline", "only ddp-bucket records them; use --what memory for bytes over time"},
};

static const struct pk_opt options[] = {
    {"what", .letter = 'w', .type = PK_OPT_CHOICE, .offset = offsetof(struct export_options, what),
     .arg = "ROWS", .choices = whats, .def = "samples", .group = "Exporting",
     .help = "the rows to write: every raw sample, or data derived from them"},
    {"phases", .type = PK_OPT_FLAG, .offset = offsetof(struct export_options, phases),
     .help = "trace: also every slice and sample of the run, by phase, at wall-clock times"},
    {0},
};

/* The format is the first word; a table for people is what `show` prints. */
static enum pk_code check_format(const char *name, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (strcmp(name, pk_format_names[PK_FMT_TABLE]) != 0)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "'table' is not an export format");
    pk_why(err, "formats are %s, %s", pk_list(&pk_format_names[1], PK_FORMATS_N - 1, ", ", &a),
           pk_list(text_formats, SIZE_MAX, ", ", &a));
    return pk_fix(err, "perfkit show prints the tables of a run");
}

/* Adds a run, once; the store stays open. */
static enum pk_code add_run(struct pk_app *app, const char *ref, struct pk_store **s, struct pk_texts *runs,
                            struct pk_err *err)
{
    PK_STORE_CLEANUP struct pk_store *other = NULL;
    int64_t id;
    if (pk_open_run(app, ref, *s ? &other : s, &id, err))
        return err->code;
    pk_texts_add_new(runs, pk_printf(app->arena, "%lld", (long long)id), app->arena);
    if (!other || strcmp(pk_store_file(other), pk_store_file(*s)) == 0)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "'%.100s' is in another file than '%.100s'", ref, app->args.v[1]);
    pk_why(err, "export reads one store");
    return pk_fix(err, "perfkit db merge FILE brings the runs of both into one");
}

/* A note for exports without rows: a header is easy to overlook. */
static const char *no_rows(const struct pk_texts *runs, const char *what, struct pk_arena *a)
{
    const char *how = NULL;
    for (size_t i = 0; i < sizeof recorded_by / sizeof *recorded_by; i++)
        if (strcmp(recorded_by[i].what, what) == 0)
            how = recorded_by[i].how;
    return pk_printf(a, "run %s has no rows of --what %s%s%s", pk_list(runs->v, runs->n, ", ", a), what,
                     how ? ": " : "", how ? how : "");
}

/* A file for Perfetto: no table, and of one run. */
static enum pk_code write_trace(struct pk_app *app, const struct export_options *o, struct pk_err *err)
{
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    const struct pk_timeline_options how = {.phases = o->phases, .file = app->globals->output};
    int64_t run;
    if (app->args.n > 2) {
        pk_fail(err, PK_E_USAGE, "a trace has one run; %zu are given", app->args.n - 1);
        pk_why(err, "two runs have no common clock");
        return pk_fix(err, "perfkit export trace %s -o FILE; and a file for each other run", app->args.v[1]);
    }
    const enum pk_code rc = pk_open_run(app, app->args.n > 1 ? app->args.v[1] : "@", &s, &run, err);
    return rc ? rc : pk_timeline_write(s, run, &how, app->text, app->arena, &app->closing_note, err);
}

static enum pk_code write_text(struct pk_app *app, struct pk_store *s, const struct pk_texts *runs,
                               struct pk_err *err)
{
    int64_t *ids = pk_new_n(app->arena, int64_t, runs->n);
    const char *text;
    for (size_t i = 0; i < runs->n; i++)
        ids[i] = strtoll(runs->v[i], NULL, 10);
    if (pk_export_text(s, app->args.v[0], ids, runs->n, app->arena, &text, err))
        return err->code;
    fputs(text, app->text);
    return PK_OK;
}

static enum pk_code print_tables(struct pk_app *app, struct pk_store *s, const struct pk_texts *runs,
                                 struct pk_err *err)
{
    const struct export_options *o = app->options;
    const char *table = pk_printf(app->arena, "export_%s", o->what);
    struct pk_param params[] = {
        pk_param_text(":run", NULL),
        pk_param_text(":runs", pk_printf(app->arena, "[%s]", pk_list(runs->v, runs->n, ",", app->arena)))};
    for (size_t i = 0; i < runs->n; i++) {
        params[0] = pk_param_int(":run", strtoll(runs->v[i], NULL, 10));
        if (pk_table_print(s, NULL, table, PK_PARAMS(params), app->out, err))
            return err->code;
    }
    if (!pk_out_rows(app->out))
        app->closing_note = no_rows(runs, o->what, app->arena);
    return PK_OK;
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct export_options *o = app->options;
    const char *format = app->args.v[0];
    const bool is_trace = !strcmp(format, trace);
    bool is_text = is_trace;
    for (const char *const *f = text_formats; *f; f++)
        is_text |= !strcmp(format, *f);
    const bool what = is_text && strcmp(o->what, options[0].def) != 0;
    if (what || (o->phases && !is_trace)) {
        pk_fail(err, PK_E_USAGE, "export %s has no %s", format, what ? "--what" : "--phases");
        pk_why(err, "--what applies to tables, --phases to trace");
        return pk_fix(err, "leave it out");
    }
    if (is_trace)
        return write_trace(app, o, err);
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    struct pk_texts runs = {0};
    enum pk_code rc = check_format(format, err);
    for (size_t i = 1; !rc && i < (app->args.n > 1 ? app->args.n : 2); i++)
        rc = add_run(app, app->args.n > 1 ? app->args.v[i] : "@", &s, &runs, err);
    if (rc)
        return rc;
    return is_text ? write_text(app, s, &runs, err) : print_tables(app, s, &runs, err);
}

const struct pk_cmd pk_cmd_export = {
    .name = "export",
    .summary = "raw samples, derived data and timelines, for other programs",
    .usage = "export FORMAT [RUN...] [--what ROWS] [options]",
    .examples = "perfkit export csv > samples.csv\n"
                "perfkit export csv @~1 @ --what summary\n"
                "perfkit export json nightly --what summary -o summary.json\n"
                "perfkit export jsonl @~1 --what cases\n"
                "perfkit export csv --what memory        over time, of a run with --allocations\n"
                "perfkit export trace @ -o run.json.gz   a timeline for ui.perfetto.dev\n"
                "perfkit export openmetrics @            medians for Prometheus\n"
                "perfkit export bmf @                    medians for Bencher\n"
                "perfkit export gab @                    medians for github-action-benchmark",
    .options = options,
    .options_bytes = sizeof(struct export_options),
    .exact_args = "1+",
    .format_first = true,
    .text_formats = text_formats,
    .run = run,
};
