/* Help: the usage of a command, the axes, variants and metrics of an experiment, or a page of the documentation. */
#include "cmd/frame/frame.h"
#include "cmd/list/list.h"

#include "base/text/words.h"

#include <string.h>

static enum pk_code of_experiment(struct pk_app *app, const char *name, struct pk_err *err)
{
    const struct pk_probe *p;
    if (pk_experiment_named(app, name, &p, err))
        return err->code;
    pk_describe_one(app->out, p, app->arena);
    return PK_OK;
}

/* All topics, or the page of one. */
static enum pk_code of_topic(const struct pk_app *app, const char *name, struct pk_err *err)
{
    struct pk_texts names = {0};
    if (!name)
        return pk_topics_print(app->out), PK_OK;
    if (pk_topic_page(name))
        return fputs(pk_topic_page(name), app->text), PK_OK;
    pk_topic_names(&names, app->arena);
    pk_fail(err, PK_E_USAGE, "there is no topic '%.100s'", name);
    pk_why(err, "perfkit help topics lists them");
    return pk_fix(err, "%s", pk_suggest_text(app->arena, name, names.v, names.n));
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const char *name = app->args.n ? app->args.v[0] : NULL;
    struct pk_err ignored;
    if (!name) {
        fputs(pk_usage_program(app->arena, true), app->text);
        return PK_OK;
    }
    if (strcmp(name, "topics") == 0)
        return of_topic(app, app->args.n == 2 ? app->args.v[1] : NULL, err);
    if (app->args.n == 2 && strcmp(name, "run") == 0)
        return of_experiment(app, app->args.v[1], err);
    if (app->args.n == 2) {
        pk_fail(err, PK_E_USAGE, "perfkit help %.100s: too many arguments", name);
        pk_why(err, "usage: perfkit %s", pk_cmd_help.usage);
        return pk_fix(err, "perfkit help %.100s", name);
    }
    if (pk_probe_find(name) || pk_is_program(name))
        return of_experiment(app, name, err);
    const struct pk_cmd *c = pk_command_find(name, &ignored);
    if (!c && pk_topic_page(name))
        return of_topic(app, name, err);
    if (!c) {
        struct pk_texts names = {0};
        pk_command_names(&names, app->arena);
        pk_probe_names(&names, app->arena);
        pk_topic_names(&names, app->arena);
        pk_fail(err, PK_E_USAGE, "there is no command, experiment or topic '%.100s'", name);
        pk_why(err, "perfkit help lists commands, perfkit list experiments, perfkit help topics pages");
        return pk_fix(err, "%s", pk_suggest_text(app->arena, name, names.v, names.n));
    }
    const struct pk_opt_table tables[3] = {{.rows = pk_global_rows},
                                           {.rows = pk_opt_command(app->input.program, name)->rows}};
    fputs(pk_usage_command(c, tables, true, pk_out_options_of(app->globals, PK_FMT_TABLE).width, app->arena),
          app->text);
    return PK_OK;
}

const struct pk_cmd pk_cmd_help = {
    .name = "help",
    .summary = "usage of a command, axes of an experiment, pages to read",
    .usage = "help [COMMAND] | help EXPERIMENT | help run EXPERIMENT | help topics [TOPIC]",
    .examples = "perfkit help compare\n"
                "perfkit help ddp-bucket\n"
                "perfkit help topics              the pages of the documentation\n"
                "perfkit help statistics          one of them\n",
    .exact_args = "0-2",
    .explains = true,
    .run = run,
};
