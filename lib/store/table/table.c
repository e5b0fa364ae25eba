/* Table: from a section of a .sql text to rows of a writer. */
#include "store/table/table.h"

#include "base/build.h"
#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "store/db.h"

#include <math.h>
#include <string.h>

struct print {
    struct pk_store *s;
    struct pk_arena *a;
    const struct pk_section *t;
    const struct pk_param *params; /* the caller's and, last, :each */
    size_t n_params;
    struct pk_out *out;
};

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

/* A table whose columns depend on its values is read before it is printed. Others can have millions of rows. */
struct result {
    const char *const *names;
    size_t n_cols, n;
    const struct pk_cell *cells; /* NULL: not read before */
};

static const struct pk_cell *cell(const struct result *r, size_t row, size_t column)
{
    return &r->cells[row * r->n_cols + column];
}

static size_t column_named(const struct result *r, const char *name)
{
    size_t i = 0;
    while (i < r->n_cols && strcmp(r->names[i], name) != 0)
        i++;
    return i;
}

/* The largest size of a number in the columns of these units, so that they have one. */
static double largest(const struct print *p, const struct result *r, const char *units)
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

/* The text with another in the place of the first `mark`. */
static const char *filled(struct pk_arena *a, const char *text, const char *mark, const char *with)
{
    const char *at = strstr(text, mark);
    return at ? pk_printf(a, "%.*s%s%s", (int)(at - text), text, with, at + strlen(mark)) : text;
}

/* "text", "state", "json", "x" (a plain ratio), "±" (in percent, ">100" above that), "p" ("<0.0001" below that), or display units. */
static enum pk_code parse_unit(const struct print *p, const struct result *r, const char *unit,
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
    c->heading = filled(p->a, c->heading, "{unit}", u->shown);
    return PK_OK;
}

/* The names of all axes of the runs that are printed, as members of the cells. */
static enum pk_code axis_names(const struct print *p, const char *const **names, struct pk_err *err)
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
static enum pk_code parse_column(const struct print *p, const struct result *r, const char *text,
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
            if (pk_out_is_flat(p->out) && axis_names(p, &c->members, err))
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

static bool has_value(const struct result *r, size_t column)
{
    size_t row = 0;
    while (row < r->n && cell(r, row, column)->type == PK_CELL_NULL)
        row++;
    return row < r->n;
}

/* Declared columns as declared, others as they are. */
static enum pk_code columns_of(const struct print *p, const struct result *r, struct pk_column **cols,
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

/* The table itself, where it may have too few rows; or some of the columns: those with several units to choose from, and those that are
 * left out when they are empty. */
static bool depend_on_values(const struct print *p)
{
    const char *part[PARTS];
    if (p->t->brief_rows)
        return true;
    for (size_t k = 0; k < p->t->n_columns; k++) {
        split_column(p->a, p->t->columns[k], part);
        if (strchr(part[UNIT], ' ') || strstr(part[ATTRIBUTES], "hide"))
            return true;
    }
    return false;
}

static enum pk_code begin_table(const struct print *p, const struct result *r, const char *each,
                                struct pk_err *err)
{
    struct pk_column *cols;
    if (columns_of(p, r, &cols, err))
        return err->code;
    const char *title = p->t->title && each ? filled(p->a, p->t->title, "{each}", each) : p->t->title;
    pk_out_table(p->out, p->t->name, title, cols, r->n_cols);
    return PK_OK;
}

/* *printed: there are rows, or a table without them is printed, too. */
static enum pk_code print_read(const struct print *p, const char *each, bool *printed, struct pk_err *err)
{
    struct pk_rows rows;
    if (pk_store_query(p->s, p->t->sql, p->params, p->n_params, p->a, &rows, err))
        return err->code;
    const struct result r = {rows.names, rows.n_cols, rows.n, rows.cells};
    *printed = (rows.n && rows.n >= (pk_out_brief(p->out) ? p->t->brief_rows : 0)) || p->t->keep_empty;
    if (*printed && begin_table(p, &r, each, err))
        return err->code;
    for (size_t i = 0; i < rows.n && *printed && !pk_out_broken(p->out); i++)
        pk_out_row(p->out, &rows.cells[i * rows.n_cols]);
    return PK_OK;
}

static enum pk_code stream(const struct print *p, sqlite3_stmt *stmt, const char *each, bool *printed,
                           struct pk_err *err)
{
    const int rc = sqlite3_step(stmt);
    const struct result r = {pk_db_names(stmt, p->a), (size_t)sqlite3_column_count(stmt), 0, NULL};
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return pk_db_fail(p->s, err);
    *printed = rc == SQLITE_ROW || p->t->keep_empty;
    if (*printed && begin_table(p, &r, each, err))
        return err->code;
    return rc == SQLITE_ROW ? pk_db_stream_rows(p->s, stmt, p->out, err) : PK_OK;
}

static enum pk_code print_streamed(const struct print *p, const char *each, bool *printed, struct pk_err *err)
{
    sqlite3_stmt *stmt;
    p->s->doing = "read it";
    if (pk_db_prepare(p->s, p->t->sql, p->params, p->n_params, &stmt, err))
        return err->code;
    enum pk_code code = stream(p, stmt, each, printed, err);
    sqlite3_finalize(stmt);
    return code;
}

static enum pk_code print_one(const struct print *p, const char *each, struct pk_err *err)
{
    bool printed = false;
    if (depend_on_values(p) ? print_read(p, each, &printed, err) : print_streamed(p, each, &printed, err))
        return err->code;
    for (size_t i = 0; i < p->t->n_notes && printed; i++) {
        struct pk_rows rows;
        if (pk_store_query(p->s, p->t->notes[i], p->params, p->n_params, p->a, &rows, err))
            return err->code;
        for (size_t k = 0; k < rows.n; k++)
            if (rows.cells[k * rows.n_cols].type == PK_CELL_TEXT)
                pk_out_note(p->out, rows.cells[k * rows.n_cols].s);
    }
    return PK_OK;
}

static enum pk_code print_each(struct print *p, struct pk_err *err)
{
    struct pk_rows rows;
    if (!p->t->each)
        return print_one(p, NULL, err);
    if (pk_store_query(p->s, p->t->each, p->params, p->n_params, p->a, &rows, err))
        return err->code;
    struct pk_param *with = pk_new_n(p->a, struct pk_param, p->n_params + 1);
    for (size_t i = 0; i < p->n_params; i++)
        with[i] = p->params[i];
    struct print inner = *p;
    inner.params = with;
    inner.n_params = p->n_params + 1;
    for (size_t i = 0; i < rows.n; i++) {
        const struct pk_cell *c = &rows.cells[i * rows.n_cols];
        with[p->n_params] = (struct pk_param){":each", *c};
        const char *text =
            c->type == PK_CELL_INT ? pk_printf(p->a, "%lld", (long long)c->i) : pk_cell_string(c);
        if (print_one(&inner, text, err))
            return err->code;
    }
    return PK_OK;
}

/* Section `at` of a text, or every table of it. */
static enum pk_code print_tables(struct print *p, const char *text, const struct pk_section *v, size_t n,
                                 const size_t *at, struct pk_err *err)
{
    enum pk_code code = pk_db_make_views(p->s, text, v, n, err);
    for (size_t i = at ? *at : 0; !code && i < (at ? *at + 1 : n); i++) {
        p->t = &v[i];
        if (v[i].kind == PK_SECTION_TABLE && print_each(p, err))
            code = pk_within(err, "table %s", v[i].name);
    }
    if (code)
        pk_out_tear(p->out);
    if (!p->s->narrow)
        pk_db_drop_views(p->s);
    return code;
}

enum pk_code pk_table_print(struct pk_store *s, const char *text, const char *table,
                            const struct pk_param *params, size_t n_params, struct pk_out *out,
                            struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct print p = {.s = s, .a = &a, .params = params, .n_params = n_params, .out = out};
    struct pk_section *v;
    size_t n, i = 0;
    s->doing = "print a table";
    if (!text && !pk_db_text(PK_SECTION_TABLE, table, &text))
        return pk_fail(err, PK_E_INTERNAL, "there is no table '%s'", table);
    if (pk_sections(text, &a, &v, &n, err))
        return err->code;
    while (i < n && (v[i].kind != PK_SECTION_TABLE || strcmp(v[i].name, table) != 0))
        i++;
    if (i == n)
        return pk_fail(err, PK_E_INTERNAL, "there is no table '%s'", table);
    return print_tables(&p, text, v, n, &i, err);
}

enum pk_code pk_tables_print(struct pk_store *s, const char *text, const struct pk_param *params,
                             size_t n_params, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct print p = {.s = s, .a = &a, .params = params, .n_params = n_params, .out = out};
    struct pk_section *v;
    size_t n;
    s->doing = "print a table";
    return pk_sections(text, &a, &v, &n, err) ? err->code : print_tables(&p, text, v, n, NULL, err);
}
