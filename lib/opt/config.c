/* Config: options from what stays between calls: ./.perfkit.ini and the user's config.ini, over libinih; PERFKIT_ variables, and those of them
 * that mean nothing. */
#include "base/file.h"
#include "base/text/words.h"
#include "opt/source.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <ini.h>
#include <string.h>

/* --- the environment ------------------------------------------------------------------------------------- */

#define PREFIX "PERFKIT_"

char *pk_opt_variable(const char *option, struct pk_arena *a)
{
    char *name = pk_printf(a, PREFIX "%s", option);
    for (char *c = name; *c; c++)
        *c = *c == '-' ? '_' : (char)toupper((unsigned char)*c);
    return name;
}

/* setenv moves the process's own. */
static const char *const *variables(const struct pk_opt_input *in)
{
    return in->environ_ ? in->environ_ : (const char *const *)environ;
}

/* NULL when unset or empty. */
static const char *get_env(const struct pk_opt_input *in, const char *name)
{
    size_t n = strlen(name);
    for (const char *const *e = variables(in); *e; e++)
        if (!strncmp(*e, name, n) && (*e)[n] == '=')
            return (*e)[n + 1] ? *e + n + 1 : NULL;
    return NULL;
}

/* Every name a PERFKIT_ variable may have, whichever command runs. */
static struct pk_texts variable_names(const struct pk_opt_program *options, struct pk_arena *a)
{
    struct pk_texts names = {0};
    for (size_t s = 0; s <= options->n; s++)
        for (const struct pk_opt *r = s < options->n ? options->sections[s].rows : options->globals;
             r && r->name; r++)
            if (!r->cli_only)
                pk_texts_add(&names, pk_opt_variable(r->name, a), a);
    for (const struct pk_opt_variable *v = options->variables; v->name; v++)
        pk_texts_add(&names, v->name, a);
    return names;
}

static enum pk_code refuse_unknown(const struct pk_opt_job *job, struct pk_err *err)
{
    struct pk_texts names = {0};
    for (const char *const *e = variables(job->in); *e; e++) {
        if (strncmp(*e, PREFIX, strlen(PREFIX)))
            continue;
        if (!names.n)
            names = variable_names(job->in->program, job->arena);
        const char *name = pk_strndup(job->arena, *e, strcspn(*e, "="));
        if (pk_texts_has(&names, name))
            continue;
        const char *near = pk_suggest(name, names.v, names.n);
        pk_fail(err, PK_E_USAGE, "environment variable %.200s is unknown", name);
        pk_why(err, "variables that begin with " PREFIX " set options, and no option has this name");
        return near ? pk_fix(err, "did you mean %s?", near) : pk_fix(err, "unset it: unset %.200s", name);
    }
    return PK_OK;
}

/* Variables of no option that take one of some words. */
static enum pk_code check_words(const struct pk_opt_job *job, struct pk_err *err)
{
    for (const struct pk_opt_variable *v = job->in->program->variables; v->name; v++) {
        const char *text = v->words ? get_env(job->in, v->name) : NULL;
        struct pk_texts words = {0};
        for (const char *const *w = v->words; w && *w; w++)
            pk_texts_add(&words, *w, job->arena);
        if (!text || pk_texts_has(&words, text))
            continue;
        const char *near = pk_suggest(text, words.v, words.n);
        pk_fail(err, PK_E_USAGE, "%s: '%.100s' is not one of its values", v->name, text);
        pk_why(err, "it is one of %s", pk_list(words.v, words.n, ", ", job->arena));
        return near ? pk_fix(err, "did you mean %s=%s?", v->name, near)
                    : pk_fix(err, "unset it: unset %s", v->name);
    }
    return PK_OK;
}

enum pk_code pk_opt_read_environment(struct pk_opt_job *job, struct pk_err *err)
{
    for (struct pk_opt_table *t = job->tables; t < job->tables + job->n_tables; t++)
        for (size_t i = 0; t->rows && t->rows[i].name; i++) {
            const char *name = pk_opt_variable(t->rows[i].name, job->arena);
            const char *text = t->rows[i].cli_only ? NULL : get_env(job->in, name);
            struct pk_opt_origin origin = {PK_OPT_ENVIRONMENT, name};
            if (text && pk_opt_set((struct pk_opt_place){t, i}, text, origin, job->arena, err))
                return pk_within(err, "%s", name);
        }
    return refuse_unknown(job, err) ? err->code : check_words(job, err);
}

/* --- files ----------------------------------------------------------------------------------------------- */

#define COMMON "perfkit" /* the section for every command */

enum { LINES_MAX = 10000 }; /* a device without an end may be in the place of a file */

/* One file being read. */
struct config_reader {
    struct pk_opt_job *job;
    const char *path;
    enum pk_opt_source source; /* of [perfkit]; the command's section is one stronger */
    FILE *f;
    int line;
    int too_long; /* line number, 0 = none */
    bool failed;
    struct pk_err *err;
};

/* fgets for inih: counts lines, and drops indentation, which inih would take for the continuation of the
 * value above. */
static char *read_line(char *s, int n, void *user)
{
    struct config_reader *r = user;
    if (r->too_long || r->line > LINES_MAX || !fgets(s, n, r->f))
        return NULL;
    r->line++;
    size_t len = strlen(s), indent = strspn(s, " \t");
    if (len == (size_t)n - 1 && s[len - 1] != '\n')
        r->too_long = r->line;
    memmove(s, s + indent, len - indent + 1);
    return s;
}

static bool command_exists(const struct pk_opt_program *options, const char *name)
{
    for (size_t i = 0; i < options->n; i++)
        if (!strcmp(options->sections[i].command, name))
            return true;
    return !strcmp(name, COMMON);
}

/* The rows a section may name: its command's and the globals; in [perfkit] those of every command. Collected
 * in `names`. */
static const struct pk_opt *row_of(const struct pk_opt_program *options, const char *section, const char *key,
                                   struct pk_texts *names, struct pk_arena *a)
{
    const struct pk_opt *found = NULL;
    bool common = !strcmp(section, COMMON);
    for (size_t s = 0; s <= options->n; s++) {
        if (s < options->n && !common && strcmp(options->sections[s].command, section))
            continue;
        for (const struct pk_opt *r = s < options->n ? options->sections[s].rows : options->globals;
             r && r->name; r++) {
            found = !found && !strcmp(r->name, key) ? r : found;
            pk_texts_add(names, r->name, a);
        }
    }
    return found;
}

static int refuse(struct config_reader *r, const char *fix)
{
    r->failed = true;
    pk_fix(r->err, "%s", fix);
    return 0;
}

static int unknown_section(struct config_reader *r, const char *section)
{
    struct pk_texts names = {0};
    struct pk_arena *a = r->job->arena;
    for (size_t i = 0; i < r->job->in->program->n; i++)
        pk_texts_add(&names, r->job->in->program->sections[i].command, a);
    pk_texts_add(&names, COMMON, a);
    if (*section)
        pk_fail(r->err, PK_E_USAGE, "%s:%d: there is no section [%.100s]", r->path, r->line, section);
    else
        pk_fail(r->err, PK_E_USAGE, "%s:%d: this key is before the first section", r->path, r->line);
    pk_why(r->err, "sections are [" COMMON "] for every command, or a command's name");
    return refuse(r, *section ? pk_suggest_text(a, section, names.v, names.n)
                              : "add a line [" COMMON "] above it");
}

static int on_key(void *user, const char *section, const char *key, const char *value)
{
    struct config_reader *r = user;
    const struct pk_opt_program *options = r->job->in->program;
    struct pk_texts names = {0};
    if (r->failed)
        return 0;
    if (!command_exists(options, section))
        return unknown_section(r, section);
    const struct pk_opt *row = row_of(options, section, key, &names, r->job->arena);
    if (!row) {
        pk_fail(r->err, PK_E_USAGE, "%s:%d: there is no option '%.100s' in [%.100s]", r->path, r->line, key,
                section);
        pk_why(r->err, "keys are the long names of options");
        const char *near = pk_suggest(key, names.v, names.n);
        return refuse(r, near ? pk_printf(r->job->arena, "did you mean '%s'?", near)
                              : "see perfkit help, or remove the line");
    }
    if (row->cli_only || (row->code && r->source == PK_OPT_FILE)) {
        /* An option that this file, or any, must not set. */
        pk_fail(r->err, PK_E_USAGE, "%s:%d: '%s' is not allowed in this file", r->path, r->line, row->name);
        pk_why(r->err, row->cli_only ? "it applies to one call of the program"
                                     : "it decides what is run, written or removed, and a file in the "
                                       "working directory may belong to anyone");
        return refuse(r,
                      pk_printf(r->job->arena, "remove the line and give --%s%s", row->name,
                                row->cli_only
                                    ? ""
                                    : ", or move it to your own configuration file (docs/command-line.md)"));
    }
    struct pk_opt_place at;
    bool common = !strcmp(section, COMMON);
    if ((!common && strcmp(section, r->job->in->command)) || !pk_opt_find(r->job, key, &at))
        return 1; /* another command's */
    struct pk_opt_origin origin = {r->source + !common, pk_printf(r->job->arena, "%s:%d", r->path, r->line)};
    if (pk_opt_set(at, value, origin, r->job->arena, r->err)) {
        r->failed = true;
        pk_within(r->err, "%s: %s", origin.text, key);
    }
    return !r->failed;
}

static enum pk_code unreadable(const char *path, struct pk_err *err)
{
    pk_fail(err, PK_E_IO, "cannot read %s", path);
    pk_why(err, "%s", strerror(errno));
    return pk_fix(err, "make it readable, or remove it");
}

static enum pk_code read_file(struct pk_opt_job *job, const char *path, enum pk_opt_source source,
                              struct pk_err *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe without a writer is empty */
    PK_CLEANUP_FILE FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
    if (!f)
        return errno == ENOENT || errno == ENOTDIR ? PK_OK : unreadable(path, err);
    struct config_reader r = {.job = job, .path = path, .source = source, .f = f, .err = err};
    int bad_line = ini_parse_stream(read_line, &r, on_key, &r);
    if (ferror(f))
        return unreadable(path, err);
    if (r.line > LINES_MAX) {
        pk_fail(err, PK_E_USAGE, "%s is too long", path);
        pk_why(err, "a configuration file has at most %d lines", LINES_MAX);
        return pk_fix(err, "check that it is the right file");
    }
    if (r.too_long) {
        pk_fail(err, PK_E_USAGE, "%s:%d: the line is too long", path, r.too_long);
        pk_why(err, "lines of this file have at most 198 bytes");
        return pk_fix(err, "shorten it, or give the option on the command line");
    }
    if (r.failed || !bad_line)
        return r.failed ? err->code : PK_OK;
    pk_fail(err, PK_E_USAGE, "%s:%d: this line is not understood", path, bad_line);
    pk_why(err, "a line is [section], key = value, or a comment that begins with # or ;");
    return pk_fix(err, "correct the line");
}

enum pk_code pk_opt_read_config(struct pk_opt_job *job, struct pk_err *err)
{
    /* a relative one is in the working directory, and is ignored: XDG base directories 0.8 */
    const char *base = get_env(job->in, "XDG_CONFIG_HOME"), *home = get_env(job->in, "HOME");
    const char *user = base && *base == '/'   ? pk_printf(job->arena, "%s/perfkit/config.ini", base)
                       : home && *home == '/' ? pk_printf(job->arena, "%s/.config/perfkit/config.ini", home)
                                              : NULL;
    if (user && read_file(job, user, PK_OPT_USER_FILE, err))
        return err->code;
    return read_file(job, "./.perfkit.ini", PK_OPT_FILE, err);
}
