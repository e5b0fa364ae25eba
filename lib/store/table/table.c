/* Table: from a section of a .sql text to rows of a writer. */
#include "store/table/table.h"

#include "base/err.h"
#include "store/db.h"
#include "store/table/print_private.h"

#include <string.h>

/* "Attention scaling" of "Attention scaling, {each} (text)". */
static const char *about(const struct pk_print *p)
{
    static const char *const ends[] = {", {each}", ": {each}", " ("};
    const char *text = p->t->about ? p->t->about : p->t->title ? p->t->title : "";
    size_t n = strlen(text);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const char *at = strstr(text, ends[i]);
        n = at && (size_t)(at - text) < n ? (size_t)(at - text) : n;
    }
    return pk_strndup(p->a, text, n);
}

static enum pk_code begin_table(const struct pk_print *p, const struct pk_result *r, const char *each,
                                struct pk_err *err)
{
    struct pk_column *cols;
    if (pk_print_columns(p, r, &cols, err))
        return err->code;
    const char *title = pk_out_lists(p->out)  ? about(p)
                        : p->t->title && each ? pk_print_filled(p->a, p->t->title, "{each}", each)
                                              : p->t->title;
    pk_out_table(p->out, p->t->name, title, cols, r->n_cols);
    return PK_OK;
}

/* *printed: there are rows, or a table without them is printed, too. */
static enum pk_code print_read(const struct pk_print *p, const char *each, bool *printed, struct pk_err *err)
{
    struct pk_rows rows;
    if (pk_store_query(p->s, p->t->sql, p->params, p->n_params, p->a, &rows, err))
        return err->code;
    const struct pk_result r = {rows.names, rows.n_cols, rows.n, rows.cells};
    *printed = rows.n || p->t->keep_empty;
    if (*printed && begin_table(p, &r, each, err))
        return err->code;
    for (size_t i = 0; i < rows.n && *printed && !pk_out_broken(p->out); i++)
        pk_out_row(p->out, &rows.cells[i * rows.n_cols]);
    return PK_OK;
}

static enum pk_code stream(const struct pk_print *p, sqlite3_stmt *stmt, const char *each, bool *printed,
                           struct pk_err *err)
{
    const int rc = sqlite3_step(stmt);
    const struct pk_result r = {pk_db_names(stmt, p->a), (size_t)sqlite3_column_count(stmt), 0, NULL};
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return pk_db_fail(p->s, err);
    *printed = rc == SQLITE_ROW || p->t->keep_empty;
    if (*printed && begin_table(p, &r, each, err))
        return err->code;
    return rc == SQLITE_ROW && !pk_out_lists(p->out) ? pk_db_stream_rows(p->s, stmt, p->out, err) : PK_OK;
}

static enum pk_code print_streamed(const struct pk_print *p, const char *each, bool *printed,
                                   struct pk_err *err)
{
    sqlite3_stmt *stmt;
    p->s->doing = "read it";
    if (pk_db_prepare(p->s, p->t->sql, p->params, p->n_params, &stmt, err))
        return err->code;
    enum pk_code code = stream(p, stmt, each, printed, err);
    sqlite3_finalize(stmt);
    return code;
}

static bool is_wanted(const struct pk_print *p, const struct pk_cell *note)
{
    return note->type == PK_CELL_TEXT && (!p->headline || note->s[0] == '!');
}

static enum pk_code print_one(const struct pk_print *p, const char *each, struct pk_err *err)
{
    bool printed = false;
    if (pk_print_depends_on_values(p) ? print_read(p, each, &printed, err)
                                      : print_streamed(p, each, &printed, err))
        return err->code;
    for (size_t i = 0; i < p->t->n_notes && printed && !pk_out_lists(p->out); i++) {
        struct pk_rows rows;
        if (pk_store_query(p->s, p->t->notes[i], p->params, p->n_params, p->a, &rows, err))
            return err->code;
        for (size_t k = 0; k < rows.n; k++)
            if (is_wanted(p, &rows.cells[k * rows.n_cols]))
                pk_out_note(p->out, rows.cells[k * rows.n_cols].s);
    }
    return PK_OK;
}

static enum pk_code print_each(struct pk_print *p, struct pk_err *err)
{
    struct pk_rows rows;
    if (!p->t->each)
        return print_one(p, NULL, err);
    if (pk_store_query(p->s, p->t->each, p->params, p->n_params, p->a, &rows, err))
        return err->code;
    struct pk_param *with = pk_new_n(p->a, struct pk_param, p->n_params + 1);
    for (size_t i = 0; i < p->n_params; i++)
        with[i] = p->params[i];
    struct pk_print inner = *p;
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

enum pk_code pk_print_section(struct pk_print *p, const struct pk_section *t, struct pk_err *err)
{
    p->t = t;
    return t->kind == PK_SECTION_TABLE && pk_out_wants(p->out, t->name) && print_each(p, err)
               ? pk_within(err, "table %s", t->name)
               : PK_OK;
}
