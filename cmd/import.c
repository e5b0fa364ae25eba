/* Import: results of other tools as runs, and the slices of a spool, which perfkit writes when a store cannot be written. */
#include "cmd/cmd.h"

#include "bench/record/runinfo.h"
#include "import/import.h"

struct import_options {
    const char *label;
    struct pk_texts tags;
};

#define O(field) offsetof(struct import_options, field)

static const struct pk_opt options[] = {
    {"label", .letter = 'l', .type = PK_OPT_TEXT, .offset = O(label), .arg = "LABEL", .group = "Importing",
     .help = "label of the runs, which can be used wherever a run is named"},
    {"tag", .type = PK_OPT_LIST, .offset = O(tags), .arg = "KEY=VALUE",
     .help = "further information to store with the runs"},
    {0},
};

/* What is refused is refused before anything is written. */
static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct import_options *o = app->options;
    const size_t n = app->args.n;
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    struct pk_import_result *results = pk_new_n(app->arena, struct pk_import_result, n);
    struct pk_import_options how = {.label = o->label, .stop_flag = &pk_stop_flag};
    struct pk_imported *files;
    enum pk_store_mode mode;
    how.command_line = pk_shell_line(app->argv, (size_t)app->argc, app->arena);
    if (pk_label_check(o->label, err) || pk_tags_json(o->tags.v, o->tags.n, app->arena, &how.tags, err) ||
        pk_import_read_all(&app->args, &how, app->arena, &files, &mode, err) ||
        pk_open_store(app, NULL, mode, &s, err))
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (pk_import_store(s, &files[i], &how, &results[i], err))
            return err->code;
    pk_import_print(files, results, n, app->out);
    for (size_t i = 0; i < n; i++)
        if (results[i].run_id && results[i].known)
            pk_print_note(app, "%s is run %lld already: nothing was added", app->args.v[i],
                          (long long)results[i].run_id);
    return PK_OK;
}

const struct pk_cmd pk_cmd_import = {
    .name = "import",
    .summary = "import results of other tools, and spooled results",
    .usage = "import FILE... [options]",
    .examples = "perfkit import before.json                of hyperfine, google-benchmark ...\n"
                "perfkit import --label main run-*.json    each file becomes a run\n"
                "perfkit import perfkit.db.spool-12.jsonl  slices that could not be stored",
    .options = options,
    .options_bytes = sizeof(struct import_options),
    .exact_args = "1+",
    .run = run,
};
