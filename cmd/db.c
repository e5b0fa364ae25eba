/* Db: maintains a store: information, integrity check, migration, merging, pruning. */
#include "cmd/cmd.h"

#include "base/text/words.h"
#include "store/table/table.h"

#include <inttypes.h>
#include <string.h>

struct db_options {
    int64_t keep;
    bool dry_run;
};

#define O(field) offsetof(struct db_options, field)

static const struct pk_opt options[] = {
    {"keep", .letter = 'k', .type = PK_OPT_INT, .offset = O(keep), .arg = "N", .max = 1e9, .def = "100",
     .code = true, .group = "Pruning",
     .help = "number of newest runs that prune keeps; it also keeps unfinished runs and those of pinned "
             "baselines"},
    {"dry-run", .letter = 'n', .type = PK_OPT_FLAG, .offset = O(dry_run),
     .help = "show what would be removed; remove nothing"},
    {0},
};

static enum pk_code info(struct pk_app *app, struct pk_store *s, struct pk_err *err)
{
    const struct pk_param path = pk_param_text(":path", pk_store_file(s));
    return pk_table_print(s, NULL, "info", &path, 1, app->out, err);
}

static const struct pk_column version_columns[] = {
    {.key = "path", .heading = "File", .left = true},
    {.key = "found_version", .heading = "Schema before", .decimals = -1},
    {.key = "schema_version", .heading = "Schema now", .decimals = -1},
};

/* Opening for writing has done it. */
static enum pk_code migrate(struct pk_app *app, struct pk_store *s, struct pk_err *err)
{
    int found, now;
    pk_store_versions(s, &found, &now);
    pk_out_table(app->out, "migrate", NULL, PK_COLUMNS(version_columns));
    struct pk_row *row = pk_row_begin(app->out);
    pk_put_text(row, "path", pk_store_file(s));
    pk_put_int(row, "found_version", found);
    pk_put_int(row, "schema_version", now);
    pk_row_end(row);
    return PK_OK;
}

static const struct pk_column check_columns[] = {
    {.key = "path", .heading = "File", .left = true},
    {.key = "sound", .heading = "Sound", .left = true, .state = true},
};

static enum pk_code check(struct pk_app *app, struct pk_store *s, struct pk_err *err)
{
    const char *problem;
    if (pk_store_check(s, app->arena, &problem, err))
        return err->code;
    if (problem) {
        pk_fail(err, PK_E_CHECK, "store %s: it is damaged", pk_store_file(s));
        pk_why(err, "%s", problem);
        return pk_fix(err, "move it elsewhere; `sqlite3 -safe -readonly FILE .recover` may recover rows; "
                           "start a new store with --db");
    }
    pk_out_table(app->out, "check", NULL, PK_COLUMNS(check_columns));
    struct pk_row *row = pk_row_begin(app->out);
    pk_put_text(row, "path", pk_store_file(s));
    pk_put_text(row, "sound", "yes");
    pk_row_end(row);
    return PK_OK;
}

static const struct pk_column merge_columns[] = {
    {.key = "file", .heading = "File", .left = true},
    {.key = "runs_added", .heading = "Runs added", .decimals = -1},
};

static enum pk_code merge(struct pk_app *app, struct pk_store *s, struct pk_err *err)
{
    int64_t *added = pk_new_n(app->arena, int64_t, app->args.n);
    for (size_t i = 1; i < app->args.n; i++)
        if (pk_store_merge(s, app->args.v[i], &added[i], err))
            return err->code;
    pk_out_table(app->out, "merge", NULL, PK_COLUMNS(merge_columns));
    for (size_t i = 1; i < app->args.n; i++) {
        struct pk_row *row = pk_row_begin(app->out);
        pk_put_text(row, "file", app->args.v[i]);
        pk_put_int(row, "runs_added", added[i]);
        pk_row_end(row);
    }
    return PK_OK;
}

static const struct pk_column prune_columns[] = {
    {.key = "path", .heading = "File", .left = true},
    {.key = "runs_removed", .heading = "Runs removed", .decimals = -1},
};

static enum pk_code prune(struct pk_app *app, struct pk_store *s, struct pk_err *err)
{
    const struct db_options *o = app->options;
    int64_t removed;
    if (pk_store_prune(s, o->keep, o->dry_run, &removed, err))
        return err->code;
    pk_out_table(app->out, "prune", o->dry_run ? "Would be removed" : NULL, PK_COLUMNS(prune_columns));
    struct pk_row *row = pk_row_begin(app->out);
    pk_put_text(row, "path", pk_store_file(s));
    pk_put_int(row, "runs_removed", removed);
    pk_row_end(row);
    return PK_OK;
}

static const struct db_action {
    const char *name;
    enum pk_store_mode mode;
    bool files; /* takes more arguments */
    enum pk_code (*run)(struct pk_app *app, struct pk_store *s, struct pk_err *err);
} actions[] = {
    {"info", PK_STORE_READ, false, info},     {"migrate", PK_STORE_MIGRATE, false, migrate},
    {"merge", PK_STORE_UPDATE, true, merge},  {"check", PK_STORE_READ, false, check},
    {"prune", PK_STORE_UPDATE, false, prune},
};
enum { N_ACTIONS = sizeof actions / sizeof *actions };

static enum pk_code find_action(struct pk_app *app, const struct db_action **action, struct pk_err *err)
{
    const char *names[N_ACTIONS], *name = app->args.v[0];
    for (size_t i = 0; i < N_ACTIONS; i++) {
        names[i] = actions[i].name;
        *action = &actions[i];
        if (strcmp(name, names[i]) == 0 && (app->args.n > 1) == actions[i].files)
            return PK_OK;
        if (strcmp(name, names[i]) == 0)
            return pk_fail(err, PK_E_USAGE, "perfkit db %s: %s", name,
                           actions[i].files ? "no file is named" : "too many arguments"),
                   pk_why(err, "usage: perfkit db %s%s", name, actions[i].files ? " FILE..." : ""),
                   pk_fix(err, "perfkit db -h shows examples");
    }
    pk_fail(err, PK_E_USAGE, "there is no command 'db %.100s'", name);
    pk_why(err, "usage: perfkit db info|migrate|merge|check|prune");
    return pk_fix(err, "%s", pk_suggest_text(app->arena, name, names, N_ACTIONS));
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct db_action *action;
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    if (find_action(app, &action, err) || pk_open_store(app, NULL, action->mode, &s, err))
        return err->code;
    return action->run(app, s, err);
}

const struct pk_cmd pk_cmd_db = {
    .name = "db",
    .summary = "store contents and integrity; migrate, merge, prune",
    .usage = "db info|migrate|merge FILE...|check|prune [--keep N] [options]",
    .examples = "perfkit db info\n"
                "perfkit db merge node1.db node2.db\n"
                "perfkit db prune --keep 20 --dry-run",
    .options = options,
    .options_bytes = sizeof(struct db_options),
    .exact_args = "1+",
    .run = run,
};
