/* Column: from the column directives of a table, and its values, to the columns of a writer. */
#include "base/err.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "store/db.h"
#include "store/table/print_private.h"

#include <math.h>
#include <string.h>

/* A column's directive: "key | heading | unit | attributes", of which parts may be missing from the right. */
enum { KEY, HEADING, UNIT, ATTRIBUTES, PARTS };

static void split_column(struct pk_arena *a, const char *text, const char *part[PARTS])
{
    size_t n = 0;
    for (const char *rest = text, *p; n < PARTS && (p = pk_next_part(&rest, '|', a));)
        part[n++] = p;
    while (n < PARTS)
        part[n++] = "";
}

static const struct pk_cell *cell(const struct pk_result *r, size_t row, size_t column)
{
    return &r->cells[row * r->n_cols + column];
}

static size_t column_named(const struct pk_result *r, const char *name)
{
    size_t i = 0;
    while (i < r->n_cols && strcmp(r->names[i], name) != 0)
        i++;
    return i;
}

/* The largest size of a number in the columns of these units, so that they have one. */
static double largest(const struct pk_print *p, const struct pk_result *r, const char *units)
{
    const char *part[PARTS];
    double most = 0;
    for (size_t k = 0; k < p->t->n_columns; k++) {
        split_column(p->a, p->t->columns[k], part);
        const size_t i = strcmp(units, part[UNIT]) == 0 ? column_named(r, part[KEY]) : r->n_cols;
        for (size_t row = 0; i < r->n_cols && row < r->n; row++)
            most = fmax(most, fabs(pk_cell_number(cell(r, row, i))));
    }
    return most;
}

/* The display unit of a key: its base is written before '>', or ends the key, or is a plain number. Of several the one that suits
 * `most`. */
static const struct pk_unit *unit_of(struct pk_arena *a, const char *key, const char *unit, double most)
{
    const char *sep = strchr(unit, '>');
    if (sep)
        return pk_unit_fit(pk_strndup(a, unit, (size_t)(sep - unit)), sep + 1, most);
    for (const char *end = key; end; end = strchr(end, '_')) {
        end += *end == '_';
        const struct pk_unit *u = pk_unit_fit(end, unit, most);
        if (u)
            return u;
    }
    return pk_unit_fit("1", unit, most);
}

const char *pk_print_filled(struct pk_arena *a, const char *text, const char *mark, const char *with)
{
    const char *at = strstr(text, mark);
    return at ? pk_printf(a, "%.*s%s%s", (int)(at - text), text, with, at + strlen(mark)) : text;
}

/* "text", "state", "json", "x" (a plain ratio), "±" (in percent, ">100" above that), "p" ("<0.0001" below that), or display units. */
static enum pk_code parse_unit(const struct pk_print *p, const struct pk_result *r, const char *unit,
                               struct pk_column *c, struct pk_err *err)
{
    bool half_width = strcmp(unit, "±") == 0;
    c->json = strcmp(unit, "json") == 0;
    c->state = strcmp(unit, "state") == 0;
    c->left = c->json || c->state || strcmp(unit, "text") == 0;
    c->most = half_width ? 100 : 0;
    c->least = strcmp(unit, "p") == 0 ? 0.0001 : 0;
    if (!*unit || c->left || c->least > 0 || strcmp(unit, "x") == 0)
        return PK_OK;
    const double most = strchr(unit, ' ') ? largest(p, r, unit) : 0;
    const struct pk_unit *u = unit_of(p->a, c->key, half_width ? "%" : unit, most);
    if (!u)
        return pk_fail(err, PK_E_INTERNAL, "column %s: there is no display unit '%s' for it", c->key, unit);
    c->scale = u->scale;
    c->heading = pk_print_filled(p->a, c->heading, "{unit}", u->shown);
    return PK_OK;
}

/* The names of all axes of the runs that are printed, as members of the cells. */
static enum pk_code axis_names(const struct pk_print *p, const char *const **names, struct pk_err *err)
{
    enum { MOST = 1000 };
    const char **texts;
    size_t n;
    if (pk_db_texts(p->s, "axis_names", p->params, p->n_params, p->a, &texts, &n, err))
        return err->code;
    *names = texts;
    if (n <= MOST)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "the cases have more than %d axes", MOST);
    pk_why(err, "each would be a column of every row");
    return pk_fix(err, "the formats json and jsonl have the axes as objects");
}

/* What an attribute sets that is yes or no; NULL = it is another. */
static bool *flag_of(struct pk_column *c, const char *word)
{
    const struct {
        const char *word;
        bool *flag;
    } flags[] = {{"nested", &c->nested},
                 {"e", &c->exponent},
                 {"machine", &c->machine},
                 {"clip", &c->clip},
                 {"interval", &c->interval}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(word, flags[i].word) == 0)
            return flags[i].flag;
    return NULL;
}

/* A column's directive; *hide: for programs only when no row has a value. */
static enum pk_code parse_column(const struct pk_print *p, const struct pk_result *r, const char *text,
                                 struct pk_column *c, bool *hide, struct pk_err *err)
{
    static const char optional[] = "optional";
    const char *part[PARTS];
    int64_t n;
    split_column(p->a, text, part);
    *c = (struct pk_column){
        .key = part[KEY], .heading = *part[HEADING] ? part[HEADING] : part[KEY], .decimals = -1};
    *hide = false;
    if (parse_unit(p, r, part[UNIT], c, err))
        return err->code;
    for (const char *rest = part[ATTRIBUTES], *word; (word = pk_next_part(&rest, ' ', p->a));) {
        const bool is_optional = strncmp(word, optional, strlen(optional)) == 0;
        if (strcmp(word, "hide") == 0)
            *hide = true;
        else if (strcmp(word, "members") == 0) {
            if (p->out && pk_out_is_flat(p->out) && axis_names(p, &c->members, err))
                return err->code;
        } else if (flag_of(c, word))
            *flag_of(c, word) = true;
        else if (strcmp(word, "over") == 0)
            c->over = 1 / (c->scale > 0 ? c->scale : 1);
        else if (strcmp(word, "under") == 0)
            c->under = 1 / (c->scale > 0 ? c->scale : 1);
        else if (*word && pk_parse_int(word + (is_optional ? strlen(optional) : 0), &n, err))
            return err->code;
        else if (*word)
            *(is_optional ? &c->optional : &c->decimals) = (int)n;
    }
    return PK_OK;
}

static bool has_value(const struct pk_result *r, size_t column)
{
    size_t row = 0;
    while (row < r->n && cell(r, row, column)->type == PK_CELL_NULL)
        row++;
    return row < r->n;
}

enum pk_code pk_print_columns(const struct pk_print *p, const struct pk_result *r, struct pk_column **cols,
                              struct pk_err *err)
{
    *cols = pk_new_n(p->a, struct pk_column, r->n_cols);
    for (size_t i = 0; i < r->n_cols; i++)
        (*cols)[i] = (struct pk_column){.key = r->names[i], .heading = r->names[i], .decimals = -1};
    for (size_t k = 0; k < p->t->n_columns; k++) {
        struct pk_column c;
        bool hide;
        if (parse_column(p, r, p->t->columns[k], &c, &hide, err))
            return err->code;
        const size_t i = column_named(r, c.key);
        if (i == r->n_cols)
            continue;
        (*cols)[i] = c;
        (*cols)[i].machine |= hide && !has_value(r, i);
    }
    return PK_OK;
}

bool pk_print_depends_on_values(const struct pk_print *p)
{
    const char *part[PARTS];
    for (size_t k = 0; k < p->t->n_columns; k++) {
        split_column(p->a, p->t->columns[k], part);
        if (strchr(part[UNIT], ' ') || strstr(part[ATTRIBUTES], "hide"))
            return true;
    }
    return false;
}

enum pk_code pk_section_read(struct pk_store *s, const struct pk_section *section,
                             const struct pk_param *params, size_t n_params, struct pk_arena *a,
                             struct pk_rows *rows, struct pk_column **columns, struct pk_err *err)
{
    const struct pk_print p = {.s = s, .a = a, .t = section, .params = params, .n_params = n_params};
    if (pk_store_query(s, section->sql, params, n_params, a, rows, err))
        return err->code;
    const struct pk_result r = {rows->names, rows->n_cols, rows->n, rows->cells};
    return pk_print_columns(&p, &r, columns, err);
}
