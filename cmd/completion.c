/* Completion: prints a shell's script, and for these scripts what the last word of a command line may become.
 *
 * Names with anything that a terminal would act upon are left out: a store may be a stranger's. */
#include "cmd/frame/frame.h"

#include "base/build.h"
#include "base/text/words.h"
#include "bench/run/run.h"
#include "opt/completion/complete.h"
#include "out/text.h"

#include <string.h>

extern const struct pk_embedded pk_completion_scripts[];

/* Whether nothing in it acts upon a terminal, and nothing ends a line. */
static bool is_plain(const char *name)
{
    uint32_t code = ' ';
    while (*name && code != PK_UTF8_BAD && !pk_utf8_unsafe(code))
        name += pk_utf8_next(name, &code);
    return !*name && code != PK_UTF8_BAD && !pk_utf8_unsafe(code);
}

/* Of a list no part twice, and behind the first none with a comma. */
static bool is_offered(const struct pk_complete *l, const char *name)
{
    const char *equals = strrchr(l->before, '='), *list = equals ? equals + 1 : l->before;
    const bool in_list = strchr(list, ',') != NULL;
    return *name && is_plain(name) && strncmp(name, l->begun, strlen(l->begun)) == 0 &&
           !(in_list && strchr(name, ',')) && !pk_has_part(list, strlen(list), ',', name);
}

static void print_names(const struct pk_complete *l, const struct pk_texts *names, FILE *f)
{
    for (size_t i = 0; i < names->n; i++)
        if (is_offered(l, names->v[i]))
            fprintf(f, "%s%s\n", l->before, names->v[i]);
}

/* What fits the last word of a line of a command. */
static void complete(struct pk_app *app, const struct pk_cmd *cmd, struct pk_complete *l)
{
    const struct pk_opt *rows = pk_opt_command(app->input.program, cmd->name)->rows;
    const struct pk_opt_input typed = {.argc = (int)l->n - 1, .argv = l->words + 1};
    const struct pk_opt_table of[] = {{.rows = pk_global_rows}, {.rows = rows}};
    const char *first = cmd->axes ? pk_opt_first_argument(&typed, of, 2) : NULL;
    struct pk_completions names = {
        .arena = app->arena, .db = app->globals->db, .probe = first ? pk_probe_find(first) : NULL};
    const struct pk_opt *tables[] = {pk_global_rows, rows,
                                     names.probe ? pk_axis_rows(names.probe, rows, app->arena) : NULL};
    l->tables = tables;
    l->usage = cmd->usage;
    pk_complete(l);
    names.axis = l->axis ? l->axis : l->option ? l->option->key : NULL;
    for (size_t i = 0; i + 1 < l->n; i++)
        names.db = strcmp(l->words[i], "--db") ? names.db : l->words[i + 1];
    for (size_t i = 0; i < l->kinds.n; i++)
        if (strcmp(l->kinds.v[i], "COMMAND") == 0)
            pk_command_names(&names.v, app->arena);
        else if (strcmp(l->kinds.v[i], "TOPIC") == 0)
            pk_topic_names(&names.v, app->arena);
        else
            pk_completions_add(&names, l->kinds.v[i]);
    for (const char *const *f = cmd->text_formats; f && *f && !l->option && pk_texts_has(&l->kinds, "FORMAT");
         f++)
        pk_texts_add_new(&names.v, *f, app->arena);
    for (size_t i = 0; i < names.v.n; i++)
        if (!strchr("-~", *names.v.v[i])) /* would be an option, or a folder */
            pk_texts_add_new(&l->texts, names.v.v[i], app->arena);
    print_names(l, &l->texts, app->text);
    pk_store_close(names.store);
}

static enum pk_code complete_line(struct pk_app *app)
{
    struct pk_complete l = {.words = app->args.v, .n = app->args.n, .arena = app->arena, .before = ""};
    struct pk_texts names = {0};
    struct pk_err ignored;
    l.begun = l.n ? l.words[l.n - 1] : "";
    const struct pk_cmd *cmd = l.n > 2 ? pk_command_find(l.words[1], &ignored) : NULL;
    pk_command_names(&names, app->arena);
    if (cmd)
        complete(app, cmd, &l);
    else if (l.n == 2)
        print_names(&l, &names, app->text);
    return PK_OK;
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const char *shell = app->args.n ? app->args.v[0] : "bash";
    const struct pk_embedded *script = pk_completion_scripts;
    bool is_line;
    if (pk_opt_in_words(app->argc, app->argv, app->args.n, &is_line, err))
        return err->code;
    if (is_line)
        return complete_line(app);
    while (script->name && strcmp(strchr(script->name, '.') + 1, shell) != 0)
        script++;
    if (script->name)
        return fputs(script->text, app->text), PK_OK;
    pk_fail(err, PK_E_USAGE, "there is no completion for '%.100s'", shell);
    pk_why(err, "there are scripts for bash, zsh and fish");
    return pk_fix(err, "perfkit completion bash");
}

const struct pk_cmd pk_cmd_completion = {
    .name = "completion",
    .summary = "print a completion script for bash, zsh or fish",
    .usage = "completion [bash|zsh|fish]",
    .examples = "source <(perfkit completion bash)\n"
                "source <(perfkit completion zsh)\n"
                "perfkit completion fish | source\n",
    .exact_args = "0+",
    .hidden = true,
    .explains = true,
    .run = run,
};
