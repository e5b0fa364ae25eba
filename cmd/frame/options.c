/* Options: the rows of every command, together with the axes of an experiment, and parsing a command's options with them. */
#include "cmd/frame/frame.h"

#include "bench/record/runinfo.h"
#include "device/cpu/blas.h"
#include "import/import.h"

#include <string.h>
#include <sys/stat.h>

static const char *const switch_words[] = {"off", "on", NULL};

/* PERFKIT_ variables that are no option. */
static const struct pk_opt_variable variables[] = {
    {"PERFKIT_WIRE_FD"},                        /* where a worker or a measured program writes its samples */
    {"PERFKIT_PYTHON"},                         /* the interpreter of peers */
    {"PERFKIT_PEERS"},                          /* more peers than the installed ones */
    {"PERFKIT_BLAS", pk_blas_words},            /* device/cpu/blas.h */
    {"PERFKIT_OPENBLAS"},                       /* likewise */
    {"PERFKIT_BF16", pk_bf16_words},            /* likewise */
    {"PERFKIT_CUDA_LIBS"},                      /* device/cuda/library.h */
    {"PERFKIT_DEPENDENT_LAUNCH", switch_words}, /* device/cuda/cuda.h */
    {"PERFKIT_FP16X3", switch_words},           /* ops/workspace.h */
    {"PERFKIT_FIVE_PRODUCTS", switch_words},    /* ops/workspace.h */
    {"PERFKIT_MPI"},                            /* comm/transport/mpi_module.h */
    {"PERFKIT_FAIL_ALLOC"},                     /* fault injection, for tests */
    {0},
};

const struct pk_opt_program *pk_program_options(struct pk_arena *a)
{
    size_t n = 0;
    while (pk_commands[n])
        n++;
    struct pk_opt_section *sections = pk_new_n(a, struct pk_opt_section, n);
    for (size_t i = 0; i < n; i++)
        sections[i] = (struct pk_opt_section){pk_commands[i]->name, pk_opt_flat(pk_commands[i]->options, a),
                                              pk_commands[i]->options_bytes};
    struct pk_opt_program *program = pk_new(a, struct pk_opt_program);
    *program = (struct pk_opt_program){sections, n, pk_global_rows, variables};
    return program;
}

enum pk_code pk_record_options_check(const struct pk_opt_table *table, const char *label, struct pk_err *err)
{
    static const char *const of_record[] = {"label", "tag", NULL};
    if (pk_opt_exclusive(table, "no-save", of_record, "nothing is recorded", err))
        return err->code;
    return pk_label_check(label, err);
}

/* --- axes: `--seq-len 256,1024` is `-a seq_len=256,1024` ----------------------------------------------------------------- */

/* A switch has a second spelling with "no-", or without it. */
static bool is_spelling(const char *option, const char *name)
{
    const char *stem = strncmp(option, "no-", 3) ? option : option + 3;
    return !strcmp(stem, strncmp(name, "no-", 3) ? name : name + 3);
}

static bool taken(const char *name, const struct pk_opt *rows)
{
    const struct pk_opt *const tables[] = {rows, pk_global_rows};
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
        for (const struct pk_opt *o = tables[t]; o->name; o++)
            if (is_spelling(o->name, name))
                return true;
    return !strcmp(name, "help");
}

static char *with_dashes(const char *name, struct pk_arena *a)
{
    char *s = pk_strdup(a, name);
    for (char *c = s; *c; c++)
        if (*c == '_')
            *c = '-';
    return s;
}

const struct pk_opt *pk_axis_rows(const struct pk_probe *p, const struct pk_opt *others, struct pk_arena *a)
{
    struct pk_opt *rows = pk_new_n(a, struct pk_opt, pk_axes_count(p->axes) + 1);
    size_t n = 0;
    for (const struct pk_axis *x = p->axes; x->name; x++) {
        const char *name = with_dashes(x->name, a);
        if (taken(name, others))
            continue;
        rows[n] =
            (struct pk_opt){name, .type = PK_OPT_TEXT, .arg = "VALUES", .commas = true, .cli_only = true};
        rows[n].into = "axis";
        rows[n].key = x->name;
        rows[n].also = x->also;
        rows[n].help = pk_printf(a, "%s: %s%s%s", x->help, pk_axis_takes(x, a),
                                 x->implies ? "; implies " : "", x->implies ? x->implies : "");
        rows[n].group = n ? NULL : pk_printf(a, "Axes of %s, the same as -a AXIS=VALUES", p->name);
        n++;
    }
    return rows;
}

/* --- a command's options ---------------------------------------------------------------------------------------------------- */

void pk_app_options(struct pk_app *app, const char *command, const struct pk_probe *probe)
{
    const struct pk_opt_section *c = pk_opt_command(app->input.program, command);
    app->input.command = command;
    app->options = pk_alloc(app->arena, c->bytes + 1);
    app->tables[0] = (struct pk_opt_table){.rows = pk_global_rows, .target = app->globals};
    app->tables[1] = (struct pk_opt_table){.rows = c->rows, .target = app->options};
    app->tables[2] = (struct pk_opt_table){.rows = probe ? pk_axis_rows(probe, c->rows, app->arena) : NULL};
}

/* --- programs that describe their experiments ------------------------------------------------------------------------------- */

/* They are started before options are parsed, which their axes are. */
static const char *python_of(const struct pk_app *app)
{
    static const char option[] = "--python";
    const size_t n = strlen(option);
    for (int i = 1; i < app->argc; i++)
        if (strncmp(app->argv[i], option, n) == 0 && (app->argv[i][n] == '=' || !app->argv[i][n]))
            return app->argv[i][n] ? app->argv[i] + n + 1 : app->argv[i + 1];
    return NULL;
}

enum pk_code pk_experiment_named(struct pk_app *app, const char *name, const struct pk_probe **p,
                                 struct pk_err *err)
{
    struct pk_own *own = *app->programs;
    if (!pk_is_program(name)) {
        struct stat st;
        const enum pk_code rc = pk_probe_named(name, p, err);
        const bool is_file = rc && stat(name, &st) == 0 && S_ISREG(st.st_mode);
        return is_file ? pk_fix(err, "a program is named by its path: ./%.200s", name) : rc;
    }
    while (own && strcmp(own->call, name) != 0)
        own = own->next;
    if (!own) {
        if (pk_own_open(name, python_of(app), &pk_stop_flag, app->arena, &own, err))
            return err->code;
        if (pk_import_is_source(own->probe.name)) {
            pk_own_stop_process(own);
            pk_fail(err, PK_E_USAGE, "%.200s: its experiment cannot be named %s", name, own->probe.name);
            pk_why(err, "results that `perfkit import` reads of %s are stored under this name",
                   own->probe.name);
            return pk_fix(err, "give the experiment another name: my-%s", own->probe.name);
        }
        own->next = *app->programs;
        *app->programs = own;
    }
    *p = &own->probe;
    return PK_OK;
}
