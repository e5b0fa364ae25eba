/* List: experiments, devices, counters, runs, baselines. What is unavailable is listed with its reason. */
#include "cmd/list/list.h"

#include "base/text/words.h"
#include "store/table/table.h"

#include <string.h>

#define COUNT(v) (sizeof(v) / sizeof *(v))

struct list_options {
    bool all;
};

static const struct pk_opt options[] = {
    {"all", .letter = 'a', .type = PK_OPT_FLAG, .offset = offsetof(struct list_options, all),
     .group = "Listing", .help = "experiments, counters: include those that only test perfkit"},
    {0},
};

static enum pk_code list_experiments(struct pk_app *app, const char *name, struct pk_err *err)
{
    const struct list_options *o = app->options;
    const struct pk_probe *p;
    if (!name) {
        pk_describe_all(app->out, o->all, app->arena);
        return PK_OK;
    }
    if (pk_experiment_named(app, name, &p, err))
        return err->code;
    pk_describe_one(app->out, p, app->arena);
    return PK_OK;
}

static const struct pk_column device_columns[] = {
    {.key = "name", .heading = "Name", .left = true},
    {.key = "available", .heading = "Here", .left = true, .state = true},
    {.key = "summary", .heading = "What it is", .left = true},
    {.key = "reason", .heading = "Why not", .left = true},
};

static enum pk_code list_devices(struct pk_app *app, const char *name, struct pk_err *err)
{
    pk_out_table(app->out, "devices", "Devices", PK_COLUMNS(device_columns));
    for (const struct pk_device_ops *const *d = pk_device_kinds; *d; d++) {
        const char *reason = (*d)->unavailable();
        struct pk_row *row = pk_row_begin(app->out);
        pk_put_text(row, "name", (*d)->kind);
        pk_put_text(row, "available", reason ? "no" : "yes");
        pk_put_text(row, "summary", (*d)->summary);
        pk_put_text(row, "reason", reason);
        pk_row_end(row);
    }
    return PK_OK;
}

static enum pk_code list_counters(struct pk_app *app, const char *name, struct pk_err *err)
{
    const struct list_options *o = app->options;
    return pk_list_counters(app, name, o->all, err);
}

static enum pk_code list_runs(struct pk_app *app, const char *name, struct pk_err *err)
{
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    if (pk_open_store(app, NULL, PK_STORE_READ, &s, err))
        return err->code;
    const struct pk_param file = pk_param_text(":path", pk_store_file(s));
    const enum pk_code rc = pk_table_print(s, NULL, "runs", &file, 1, app->out, err);
    pk_out_fit(app->out);
    return rc;
}

static const struct subject {
    const char *name;
    bool named; /* takes the name of one, or a pattern */
    enum pk_code (*list)(struct pk_app *app, const char *name, struct pk_err *err);
} subjects[] = {
    {"experiments", true, list_experiments},
    {"devices", false, list_devices},
    {"counters", true, list_counters},
    {"runs", false, list_runs},
};

static enum pk_code find_subject(const char *name, const struct subject **s, struct pk_err *err)
{
    const char *names[COUNT(subjects)];
    for (size_t i = 0; i < COUNT(subjects); i++) {
        names[i] = subjects[i].name;
        *s = &subjects[i];
        if (!strcmp(name, names[i]))
            return PK_OK;
    }
    pk_fail(err, PK_E_USAGE, "'%.100s' cannot be listed", name);
    pk_why(err, "choose experiments, devices, counters or runs");
    const char *near = pk_suggest(name, names, COUNT(names));
    return near ? pk_fix(err, "did you mean '%s'?", near)
                : pk_fix(err, "`perfkit list runs` lists the recorded runs");
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct subject *s = subjects;
    if (app->args.n && find_subject(app->args.v[0], &s, err))
        return err->code;
    if (app->args.n > 1 && !s->named) {
        pk_fail(err, PK_E_USAGE, "perfkit list %s: too many arguments", s->name);
        pk_why(err, "'%.100s' comes after it, and only experiments and counters can be listed one by one",
               app->args.v[1]);
        return pk_fix(err, "perfkit list %s", s->name);
    }
    return s->list(app, app->args.n > 1 ? app->args.v[1] : NULL, err);
}

const struct pk_cmd pk_cmd_list = {
    .name = "list",
    .summary = "list experiments, devices, counters and recorded runs",
    .usage = "list [experiments [EXPERIMENT]|devices|counters [COUNTER]|runs] [options]",
    .examples = "perfkit list experiments\n"
                "perfkit list experiments attention-scaling\n"
                "perfkit list counters 'cpu-*'\n"
                "perfkit list runs --format json",
    .options = options,
    .options_bytes = sizeof(struct list_options),
    .exact_args = "0-2",
    .run = run,
};
