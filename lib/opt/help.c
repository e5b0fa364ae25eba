/* Help: the text of --help, from the option rows. */
#include "base/text/buf.h"
#include "opt/source.h"

#include <string.h>

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
        pk_buf_printf(&b, " %s", r->arg ? r->arg : "VALUE");
    return pk_buf_text(&b);
}

static const char *sentence(const struct pk_opt *r, bool full, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    pk_buf_str(&b, r->help);
    for (size_t i = 0; r->type == PK_OPT_CHOICE && r->choices[i]; i++)
        pk_buf_printf(&b, "%s%s", i ? ", " : ": ", r->choices[i]);
    if (r->type == PK_OPT_LIST)
        pk_buf_str(&b, "; repeatable");
    if (full && r->def && r->type != PK_OPT_FLAG)
        pk_buf_printf(&b, " [default: %s]", r->def);
    if (full && !r->cli_only)
        pk_buf_printf(&b, " [%s]", pk_opt_variable(r->name, a));
    return pk_buf_text(&b);
}

static size_t column_of(const struct pk_opt_table *tables, size_t n_tables, struct pk_arena *a)
{
    size_t column = 0;
    for (size_t t = 0; t < n_tables; t++)
        for (const struct pk_opt *r = tables[t].rows; r && r->name; r++) {
            size_t n = strlen(spelling(r, a)) + 2;
            column = n > column && n <= COLUMN_MAX ? n : column;
        }
    return column;
}

static void add_row(struct pk_buf *b, const struct pk_opt *r, bool full, size_t column, size_t width)
{
    const char *left = spelling(r, b->arena);
    size_t n = strlen(left);
    pk_buf_str(b, left);
    if (n + 2 > column)
        pk_buf_printf(b, "\n%*s", (int)column, "");
    else
        pk_buf_printf(b, "%*s", (int)(column - n), "");
    wrap(b, sentence(r, full, b->arena), column, column, width);
}

const char *pk_opt_help(const struct pk_opt_table *tables, size_t n_tables, bool full, unsigned width,
                        struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    size_t column = column_of(tables, n_tables, a), wide = width ? width : WIDTH;
    for (size_t t = 0; t < n_tables; t++)
        for (const struct pk_opt *r = tables[t].rows; r && r->name; r++) {
            if (r->group)
                pk_buf_printf(&b, "%s%s:\n", b.n ? "\n" : "", r->group);
            add_row(&b, r, full, column, wide < NARROWEST ? NARROWEST : wide);
        }
    return pk_buf_text(&b);
}
