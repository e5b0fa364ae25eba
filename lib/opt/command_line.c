/* Command line: option rows over libpopt, and the text of --help that explains them. */
#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/words.h"
#include "opt/source.h"

#include <popt.h>
#include <stdlib.h>
#include <string.h>

/* Return values of popt rows: 1 + the place's number, plus NEGATED for --no-NAME. */
enum { NEGATED = 1 << 16, HELP_SHORT = 1 << 17, HELP_FULL };

/* The popt rows and the meaning of their numbers. */
struct popt_rows {
    struct poptOption *popt;
    struct pk_opt_place *places;
    const char **names, **also; /* every long name, for did-you-mean, and its other names */
    size_t n_popt, n_places, n_names;
};

static void add_popt_row(struct popt_rows *s, const char *name, char letter, bool takes_value, int val)
{
    for (const struct poptOption *p = s->popt; p < s->popt + s->n_popt;
         p++) /* two of one spelling are a bug */
        pk_assert(!(letter && p->shortName == letter) &&
                  !(name && p->longName && !strcmp(p->longName, name)));
    s->popt[s->n_popt++] = (struct poptOption){.longName = name,
                                               .shortName = letter,
                                               .argInfo = takes_value ? POPT_ARG_STRING : POPT_ARG_NONE,
                                               .val = val};
    if (name)
        s->names[s->n_names++] = name;
}

static struct popt_rows make_popt_rows(struct pk_opt_job *job)
{
    size_t n = 0;
    for (size_t t = 0; t < job->n_tables; t++)
        for (const struct pk_opt *r = job->tables[t].rows; r && r->name; r++)
            n++;
    struct pk_arena *a = job->arena;
    struct popt_rows s = {.popt = pk_new_n(a, struct poptOption, 2 * n + 3),
                          .places = pk_new_n(a, struct pk_opt_place, n),
                          .names = pk_new_n(a, const char *, 2 * n + 1),
                          .also = pk_new_n(a, const char *, 2 * n + 1)};
    for (size_t t = 0; t < job->n_tables; t++)
        for (size_t i = 0; job->tables[t].rows && job->tables[t].rows[i].name; i++) {
            const struct pk_opt *row = &job->tables[t].rows[i];
            s.places[s.n_places++] = (struct pk_opt_place){&job->tables[t], i};
            s.also[s.n_names] = row->also;
            add_popt_row(&s, row->name, row->letter, row->type != PK_OPT_FLAG, (int)s.n_places);
            if (row->key && strcmp(row->key, row->name))
                add_popt_row(&s, row->key, 0, true, (int)s.n_places);
            const bool no = !strncmp(row->name, "no-", 3);
            const char *opposite = no ? row->name + 3 : pk_printf(a, "no-%s", row->name);
            if (row->type == PK_OPT_FLAG && !pk_opt_row(job->tables[t].rows, opposite))
                add_popt_row(&s, opposite, 0, false, (int)s.n_places + NEGATED);
        }
    add_popt_row(&s, NULL, 'h', false, HELP_SHORT);
    add_popt_row(&s, "help", 0, false, HELP_FULL);
    return s;
}

static enum pk_code refuse(const struct pk_opt_job *job, const struct popt_rows *s, poptContext con, int rc,
                           struct pk_err *err)
{
    const char *as_typed = poptBadOption(con, POPT_BADOPTION_NOALIAS);
    if (rc == POPT_ERROR_BADOPT) {
        const char *name = pk_strndup(job->arena, as_typed, strcspn(as_typed, "="));
        const char *bare = name + strspn(name, "-");
        const struct pk_opt_program *options = job->in->program;
        const char *owner = NULL, *near = pk_suggest_also(bare, s->names, s->also, s->n_names);
        for (size_t i = 0; !owner && i < options->n; i++)
            owner = pk_opt_row(options->sections[i].rows, bare) ? options->sections[i].command : NULL;
        pk_fail(err, PK_E_USAGE, "there is no option %.200s", name);
        pk_why(err, "`perfkit %s` does not have it%s%s", job->in->command,
               owner ? ", but this has: perfkit " : "", owner ? owner : "");
        if (near && !strncmp(name, "--", 2))
            return pk_fix(err, "did you mean --%s?", near);
        return pk_fix(err, "see perfkit %s --help", job->in->command);
    }
    if (rc == POPT_ERROR_NOARG) {
        pk_fail(err, PK_E_USAGE, "%.200s: its value is missing", as_typed);
        pk_why(err, "no value follows it");
    } else {
        pk_fail(err, PK_E_USAGE, "%.200s is not understood", as_typed);
        pk_why(err, "%s", poptStrerror(rc));
    }
    return pk_fix(err, "see perfkit %s --help", job->in->command);
}

static enum pk_code take_all(struct pk_opt_job *job, const struct popt_rows *s, poptContext con,
                             struct pk_texts *rest, int *help, struct pk_err *err)
{
    int val;
    while ((val = poptGetNextOpt(con)) > 0) {
        *help = val == HELP_SHORT ? 1 : val == HELP_FULL ? 2 : 0;
        if (*help)
            return PK_OK;
        bool negated = val & NEGATED;
        struct pk_opt_place at = s->places[(val & ~NEGATED) - 1];
        const struct pk_opt *row = &at.table->rows[at.row];
        char *value = poptGetOptArg(con);
        const char *text = row->type == PK_OPT_FLAG ? (negated ? "false" : "true") : value;
        if (row->into) {
            pk_assert(pk_opt_find(job, row->into, &at));
            text = pk_printf(job->arena, "%s=%s", row->key, value);
        }
        enum pk_code rc = pk_opt_set(at, text, (struct pk_opt_origin){PK_OPT_COMMAND_LINE, "command line"},
                                     job->arena, err);
        free(value);
        if (rc)
            return pk_within(err, "--%s", row->name);
    }
    if (val < -1)
        return refuse(job, s, con, val, err);
    for (const char *arg; (arg = poptGetArg(con));)
        pk_texts_add(rest, pk_strdup(job->arena, arg), job->arena);
    return PK_OK;
}

/* Whether the argument behind this option is not its value, because it is none of the choices. */
static bool stands_alone(const struct pk_opt *r, const char *next)
{
    size_t i = 0;
    while (r->bare && next && r->choices[i] && strcmp(r->choices[i], next) != 0)
        i++;
    return r->bare && (!next || !r->choices[i]);
}

/* The arguments, "--plot" with its value where none follows. */
static const char **with_values(const struct pk_opt_job *job)
{
    const struct pk_opt_input *in = job->in;
    const char **argv = pk_new_n(job->arena, const char *, (size_t)in->argc + 1);
    bool words = false;
    for (int i = 0; i < in->argc; i++) {
        struct pk_opt_place at;
        const char *arg = argv[i] = in->argv[i];
        words |= strcmp(arg, "--") == 0;
        if (words || strncmp(arg, "--", 2) != 0 || !pk_opt_find(job, arg + 2, &at))
            continue;
        const struct pk_opt *r = &at.table->rows[at.row];
        if (stands_alone(r, i + 1 < in->argc ? in->argv[i + 1] : NULL))
            argv[i] = pk_printf(job->arena, "%s=%s", arg, r->bare);
    }
    return argv;
}

enum pk_code pk_opt_read_command_line(struct pk_opt_job *job, struct pk_texts *rest, int *help,
                                      struct pk_err *err)
{
    struct popt_rows s = make_popt_rows(job);
    *rest = (struct pk_texts){0};
    *help = 0;
    poptContext con = poptGetContext(NULL, job->in->argc, with_values(job), s.popt, 0);
    pk_assert(con);
    enum pk_code rc = take_all(job, &s, con, rest, help, err);
    poptFreeContext(con);
    return rc;
}

/* Whether the argument after this option is its value. */
static bool takes_next(const struct pk_opt_table *tables, size_t n_tables, const char *arg, const char *next)
{
    const bool is_long = arg[1] == '-';
    const char *name = arg + 1 + is_long;
    if (strchr(name, '=') || (!is_long && name[1]) || !strcmp(arg, "-h") || !strcmp(arg, "--help"))
        return false;
    for (size_t t = 0; t < n_tables; t++)
        for (const struct pk_opt *r = tables[t].rows; r && r->name; r++) {
            const char *stem = r->name + (strncmp(r->name, "no-", 3) ? 0 : 3);
            if (is_long ? !strcmp(stem, name + (strncmp(name, "no-", 3) ? 0 : 3)) : r->letter == *name)
                return r->type != PK_OPT_FLAG && !stands_alone(r, next);
        }
    return true;
}

const char *pk_opt_first_argument(const struct pk_opt_input *in, const struct pk_opt_table *tables,
                                  size_t n_tables)
{
    for (int i = 1; i < in->argc; i++) {
        const char *arg = in->argv[i];
        if (!strcmp(arg, "--"))
            return i + 1 < in->argc ? in->argv[i + 1] : NULL;
        if (*arg != '-' || !arg[1])
            return arg;
        i += takes_next(tables, n_tables, arg, i + 1 < in->argc ? in->argv[i + 1] : NULL);
    }
    return NULL;
}

/* --- help ------------------------------------------------------------------------------------------------ */

enum { WIDTH = 80, NARROWEST = 40, COLUMN_MAX = 28 };

/* Appends text wrapped at width; continuation lines are indented. `at` is the column where it begins. */
static void wrap(struct pk_buf *b, const char *text, size_t at, size_t indent, size_t width)
{
    for (const char *word = text; *word;) {
        size_t n = strcspn(word, " ");
        if (at > indent && at + 1 + n > width) {
            pk_buf_printf(b, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            pk_buf_char(b, ' ');
            at++;
        }
        pk_buf_add(b, word, n);
        at += n;
        word += n + strspn(word + n, " ");
    }
    pk_buf_char(b, '\n');
}

/* "  -f, --format FORMAT" */
static const char *spelling(const struct pk_opt *r, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    bool on = r->type == PK_OPT_FLAG && r->def && !strcmp(r->def, "true");
    pk_buf_printf(&b, r->letter ? "  -%c, --" : "      --", r->letter);
    pk_buf_printf(&b, "%s%s", on ? "[no-]" : "", r->name);
    if (r->type != PK_OPT_FLAG)
        pk_buf_printf(&b, r->bare ? " [%s]" : " %s", r->arg ? r->arg : "VALUE");
    return pk_buf_text(&b);
}

static const char *sentence(const struct pk_opt *r, bool full, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    pk_buf_str(&b, r->help);
    if (r->type == PK_OPT_CHOICE)
        pk_buf_printf(&b, ": %s", pk_list(r->choices, SIZE_MAX, ", ", a));
    if (r->type == PK_OPT_LIST)
        pk_buf_str(&b, "; repeatable");
    if (full && r->def && r->type != PK_OPT_FLAG)
        pk_buf_printf(&b, " [default: %s]", r->def);
    if (full && !r->cli_only)
        pk_buf_printf(&b, " [%s]", pk_opt_variable(r->name, a));
    return pk_buf_text(&b);
}

const char *pk_opt_help(const struct pk_opt_table *tables, size_t n_tables, bool full, unsigned width,
                        struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    size_t column = 0, wide = width ? width : WIDTH;
    for (size_t t = 0; t < n_tables; t++)
        for (const struct pk_opt *r = tables[t].rows; r && r->name; r++) {
            size_t n = strlen(spelling(r, a)) + 2;
            column = n > column && n <= COLUMN_MAX ? n : column;
        }
    for (size_t t = 0; t < n_tables; t++)
        for (const struct pk_opt *r = tables[t].rows; r && r->name; r++) {
            if (r->group)
                pk_buf_printf(&b, "%s%s:\n", b.n ? "\n" : "", r->group);
            const char *left = spelling(r, b.arena);
            size_t n = strlen(left);
            pk_buf_str(&b, left);
            if (n + 2 > column)
                pk_buf_printf(&b, "\n%*s", (int)column, "");
            else
                pk_buf_printf(&b, "%*s", (int)(column - n), "");
            wrap(&b, sentence(r, full, b.arena), column, column, wide < NARROWEST ? NARROWEST : wide);
        }
    return pk_buf_text(&b);
}
