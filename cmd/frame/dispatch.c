/* Dispatch: from argv to a command's run(). */
#include "base/build.h"
#include "base/err.h"
#include "base/text/words.h"
#include "bench/record/runinfo.h"
#include "cmd/frame/frame.h"
#include "plot/plot.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void pk_command_names(struct pk_texts *names, struct pk_arena *a)
{
    for (size_t i = 0; pk_commands[i]; i++)
        if (!pk_commands[i]->hidden)
            pk_texts_add(names, pk_commands[i]->name, a);
}

/* An experiment's name follows `run`. */
static void refuse_unknown(const char *name, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_texts commands = {0}, experiments = {0};
    pk_command_names(&commands, &a);
    pk_probe_names(&experiments, &a);
    pk_fail(err, PK_E_USAGE, "there is no command '%.100s'", name);
    pk_why(err, "the first argument must be a command");
    const char *near = pk_suggest(name, commands.v, commands.n);
    const char *experiment = pk_suggest(name, experiments.v, experiments.n);
    if (near)
        pk_fix(err, "did you mean '%s'?", near);
    else if (experiment)
        pk_fix(err, "did you mean 'run %s'?", experiment);
    else
        pk_fix(err, "perfkit help lists them");
}

const struct pk_cmd *pk_command_find(const char *name, struct pk_err *err)
{
    for (size_t i = 0; pk_commands[i]; i++)
        if (!strcmp(pk_commands[i]->name, name))
            return pk_commands[i];
    refuse_unknown(name, err);
    return NULL;
}

/* The bounds are "1", "0-1", "2" or "0+". */
static enum pk_code check_arity(const struct pk_cmd *c, size_t n, struct pk_err *err)
{
    char *end;
    const size_t least = strtoul(c->exact_args, &end, 10);
    const size_t most = *end == '+' ? SIZE_MAX : *end == '-' ? strtoul(end + 1, NULL, 10) : least;
    if (n >= least && n <= most)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "perfkit %s: %s arguments%s", c->name, n < least ? "too few" : "too many",
            n ? "" : ", none given");
    pk_why(err, "usage: perfkit %s", c->usage);
    return pk_fix(err, "perfkit %s -h shows examples", c->name);
}

/* Standard output, the file of -o, or its directory. */
static enum pk_code open_output(struct pk_app *app, enum pk_format format, struct pk_output *o,
                                struct pk_err *err)
{
    const char *path = app->globals->output;
    *o = (struct pk_output){.f = stdout};
    if (!path || !*path || path[strlen(path) - 1] != '/')
        return path ? pk_output_open(path, app->arena, o, err) : PK_OK;
    if (format == PK_FMT_CSV)
        return pk_output_open_directory(path, app->arena, o, err);
    pk_fail(err, PK_E_USAGE, "'%.300s' is a directory, which is for --format csv", path);
    pk_why(err, "it gets one CSV file for each table; %s has all tables in one file",
           pk_format_names[format]);
    return pk_fix(err, "add --format csv, or name a file");
}

/* Closes the output, and keeps what was printed, whole. */
static enum pk_code close_output(struct pk_app *app, struct pk_output *o, bool silent, struct pk_err *err)
{
    enum pk_code written = silent ? PK_OK : pk_out_close(app->out, err);
    if (!written)
        written = pk_output_keep(o, err);
    else
        pk_output_discard(o);
    if (o->err.code && written != PK_E_INTERRUPTED)
        *err = o->err;
    if (o->names.n && !written)
        pk_print_note(app, "written to %s: %s", o->directory,
                      pk_list(o->names.v, o->names.n, ", ", app->arena));
    return written;
}

/* The same command at any width; a command that measured names another. */
/* The format of a drawing in a file with this ending; NULL = it is none. */
static const char *drawing_format(const char *path)
{
    static const char *const formats[] = {"svg", "png", "pdf", NULL};
    const char *end = path ? strrchr(path, '.') : NULL;
    for (const char *const *f = formats; end && *f; f++)
        if (strcmp(end + 1, *f) == 0)
            return *f;
    return NULL;
}

/* What --plot and the name of -o are together; *drawing = NULL without --plot. */
static enum pk_code check_plot(const struct pk_cmd *c, const struct pk_app *app, enum pk_format format,
                               const char **drawing, struct pk_err *err)
{
    const char *file = drawing_format(app->globals->output);
    *drawing = app->globals->plot && file ? file : app->globals->plot;
    if (!*drawing)
        return PK_OK;
    if (!c->plots || format != PK_FMT_TABLE) {
        pk_fail(err, PK_E_USAGE, "--plot: nothing can be drawn");
        pk_why(err, "%s", c->plots ? "charts need --format table" : "this command has no chart");
        return pk_fix(err, "compare, history, run and show draw, with --format table");
    }
    if (strcmp(*drawing, "terminal") == 0 || pk_gnuplot_is_there())
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "--plot: gnuplot is not installed");
    pk_why(err, "it draws files, and --plot gnuplot");
    return pk_fix(err, "sudo apt-get install gnuplot-nox; or draw with characters: --plot");
}

static const char *repeat_command(const struct pk_app *app)
{
    struct pk_texts line = {0};
    pk_texts_add(&line, "perfkit", app->arena);
    for (int i = 1; i < app->argc; i++)
        if (strcmp(app->argv[i], "--width") == 0 || strcmp(app->argv[i], "--height") == 0)
            i++;
        else if (strncmp(app->argv[i], "--width=", strlen("--width=")) != 0 &&
                 strncmp(app->argv[i], "--height=", strlen("--height=")) != 0)
            pk_texts_add(&line, app->argv[i], app->arena);
    return pk_shell_line(line.v, line.n, app->arena);
}

static bool has_text_format(const struct pk_cmd *c, const char *name)
{
    const char *const *f = c->text_formats;
    while (f && *f && strcmp(*f, name) != 0)
        f++;
    return f && *f;
}

/* The formats of tables, and those that the command has besides. */
static enum pk_code unknown_format(const struct pk_cmd *c, const char *name, struct pk_arena *a,
                                   struct pk_err *err)
{
    struct pk_texts all = {0};
    for (size_t i = 0; i < PK_FORMATS_N; i++)
        pk_texts_add(&all, pk_format_names[i], a);
    for (const char *const *f = c->text_formats; *f; f++)
        pk_texts_add(&all, *f, a);
    pk_why(err, "formats are %s", pk_list(all.v, all.n, ", ", a));
    return pk_fix(err, "%s", pk_suggest_text(a, name, all.v, all.n));
}

/* Runs the command with its output open; keeps what it printed, whole. */
static enum pk_code run_command(const struct pk_cmd *c, struct pk_app *app, struct pk_err *err)
{
    enum pk_format format;
    struct pk_output output = {0};
    struct pk_err late = {0};
    if (!app->globals->output)
        app->globals->output = c->output;
    const char *format_name = c->format_first ? app->args.v[0] : app->globals->format;
    if (has_text_format(c, format_name))
        format_name = pk_format_names[PK_FMT_JSON]; /* of tables, of which there are none */
    if (pk_format_parse(format_name, &format, err))
        return c->text_formats ? unknown_format(c, format_name, app->arena, err) : err->code;
    const char *drawing;
    if (check_plot(c, app, format, &drawing, err) || open_output(app, format, &output, err))
        return err->code;
    struct pk_out_options options = pk_out_options_of(app->globals, format);
    options.next_file = output.directory ? pk_output_next : NULL;
    options.files = &output;
    options.stop_flag = &pk_stop_flag;
    options.plot = drawing;
    options.list = drawing && drawing_format(app->globals->output);
    app->out = pk_out_open(output.f, &options);
    app->text = output.f;
    pk_out_again(app->out, repeat_command(app));
    enum pk_code rc = c->run(app, err);
    if (rc && options.list)
        pk_out_abort_table(app->out); /* a file of a drawing that cannot be had */
    bool silent = pk_out_cancel(app->out);
    if ((rc && silent) || app->mute) {
        pk_output_discard(&output);
        return rc;
    }
    const enum pk_code written = close_output(app, &output, silent, &late);
    if (app->closing_note && !written)
        pk_print_note(app, "%s", app->closing_note);
    if (!written || (rc && written != PK_E_INTERRUPTED)) {
        if (written)
            pk_print_error(&late);
        return rc;
    }
    *err = late; /* also instead of a verdict, which nobody has read */
    return written;
}

/* Help goes to standard output. What it has buffered, main writes. */
static enum pk_code print_text(const char *text, struct pk_err *err)
{
    return fputs(text, stdout) >= 0 || errno == EPIPE ? PK_OK : pk_output_cannot("standard output", err);
}

/* Where an experiment may be given, a program that can be started is one, unless it is the command behind "--". */
static bool is_own(const struct pk_app *app, const char *first)
{
    int i = 0;
    while (i < app->argc && app->argv[i] != first)
        i++;
    return pk_is_program(first) && (i == 0 || strcmp(app->argv[i - 1], "--") != 0) &&
           access(first, pk_is_python(first) ? R_OK : X_OK) == 0;
}

/* The axes of the experiment are among the options. */
static enum pk_code start_with(const struct pk_cmd *c, struct pk_app *app, struct pk_err *err)
{
    int help;
    if (pk_opt_parse(&app->input, app->tables, 3, app->arena, &app->args, &help, err))
        return err->code;
    if (help)
        return print_text(pk_usage_command(c, app->tables, help > 1,
                                           pk_out_options_of(app->globals, PK_FMT_TABLE).width, app->arena),
                          err);
    if (check_arity(c, app->args.n, err))
        return err->code;
    return run_command(c, app, err);
}

static enum pk_code start_command(const struct pk_cmd *c, int argc, const char **argv, struct pk_arena *a,
                                  struct pk_err *err)
{
    struct pk_globals globals = {0};
    struct pk_app app = {.arena = a, .globals = &globals, .argc = argc, .argv = argv};
    const struct pk_probe *probe = NULL;
    struct pk_own *programs = NULL;
    app.programs = &programs;
    app.input = (struct pk_opt_input){
        .argc = argc - 1, .argv = argv + 1, .program = pk_program_options(a), .lenient = c->explains};
    pk_app_options(&app, c->name, NULL);
    const char *first = c->axes ? pk_opt_first_argument(&app.input, app.tables, 2) : NULL;
    if (first && (c->axes == PK_AXES_REQUIRED || is_own(&app, first)) &&
        pk_experiment_named(&app, first, &probe, err))
        return err->code;
    if (first)
        pk_app_options(&app, c->name, probe ? probe : pk_probe_find(first));
    const enum pk_code rc = start_with(c, &app, err);
    for (; programs; programs = programs->next)
        pk_own_stop_process(programs);
    return rc;
}

static enum pk_code no_command(const char *arg, struct pk_arena *a, struct pk_err *err)
{
    if (arg) {
        pk_fail(err, PK_E_USAGE, "the option %.100s comes before a command", arg);
        pk_why(err, "options come after their command");
        return pk_fix(err, "perfkit COMMAND %.100s", arg);
    }
    fputs(pk_usage_program(a, false), stderr);
    pk_fail(err, PK_E_USAGE, "no command was given");
    pk_why(err, "the first argument must be a command");
    return pk_fix(err, "perfkit run attention-scaling, or perfkit help");
}

static bool one_of(const char *s, const char *a, const char *b)
{
    return !strcmp(s, a) || !strcmp(s, b);
}

enum pk_code pk_dispatch(int argc, const char **argv, struct pk_arena *a, struct pk_err *err)
{
    const char *first = argc > 1 ? argv[1] : NULL;
    if (first && one_of(first, "--version", "version"))
        return print_text(pk_printf(a, "perfkit %s\n", pk_version), err);
    if (first && (one_of(first, "-h", "--help") || !strcmp(first, "help")))
        return argc == 2 ? print_text(pk_usage_program(a, true), err)
                         : start_command(&pk_cmd_help, argc, argv, a, err);
    if (!first || *first == '-')
        return no_command(first, a, err);
    const struct pk_cmd *c = pk_command_find(first, err);
    return c ? start_command(c, argc, argv, a, err) : err->code;
}
