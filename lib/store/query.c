/* Query: SQL in; cells, members of structs or printed rows out. */
#include "store/db.h"

#include "base/err.h"
#include "store/table/table.h"

#include <stdarg.h>
#include <string.h>

enum pk_code pk_db_prepare(struct pk_store *s, const char *sql, const struct pk_param *params,
                           size_t n_params, sqlite3_stmt **stmt, struct pk_err *err)
{
    pk_db_watch(s);
    int rc = sqlite3_prepare_v2(s->db, sql, -1, stmt, NULL);
    if (rc != SQLITE_OK && s->own_views == PK_DB_VIEWS_STALE) { /* it reads one */
        if (pk_db_own_views(s, err))
            return err->code;
        rc = sqlite3_prepare_v2(s->db, sql, -1, stmt, NULL);
    }
    if (rc != SQLITE_OK)
        return pk_db_fail(s, err);
    for (size_t i = 0; i < n_params; i++) {
        const int at = sqlite3_bind_parameter_index(*stmt, params[i].name); /* 0 = it has none of this name */
        const struct pk_cell *c = &params[i].value;
        if (at && c->type == PK_CELL_INT)
            sqlite3_bind_int64(*stmt, at, c->i);
        else if (at && c->type == PK_CELL_REAL)
            pk_db_bind_real(*stmt, at, c->f);
        else if (at && c->type == PK_CELL_TEXT)
            sqlite3_bind_text(*stmt, at, c->s, -1, SQLITE_STATIC);
    }
    return PK_OK;
}

/* One value of the current row; text lives until the next step. Its text is "" where it has none, and its integer 0: a file may have a
 * value of any type in any column. */
static void read_cell(sqlite3_stmt *stmt, int i, struct pk_cell *c)
{
    const int type = sqlite3_column_type(stmt, i);
    if (type == SQLITE_INTEGER) {
        *c = pk_cell_int(sqlite3_column_int64(stmt, i));
    } else if (type == SQLITE_FLOAT) {
        *c = pk_cell_real(sqlite3_column_double(stmt, i));
    } else if (type == SQLITE_NULL) {
        *c = (struct pk_cell){.type = PK_CELL_NULL};
    } else {
        const char *text = (const char *)sqlite3_column_text(stmt, i);
        *c = pk_cell_text(text ? text : ""); /* a blob without bytes */
    }
    if (type == SQLITE_INTEGER || type == SQLITE_FLOAT || type == SQLITE_NULL)
        c->s = "";
}

const char **pk_db_names(sqlite3_stmt *stmt, struct pk_arena *a)
{
    int n = sqlite3_column_count(stmt);
    const char **names = pk_new_n(a, const char *, (size_t)n + 1);
    for (int i = 0; i < n; i++)
        names[i] = pk_strdup(a, sqlite3_column_name(stmt, i));
    return names;
}

const struct pk_cell *pk_rows_cell(const struct pk_rows *r, size_t row, const char *name)
{
    size_t i = 0;
    while (i < r->n_cols && strcmp(r->names[i], name) != 0)
        i++;
    pk_assert(i < r->n_cols && row < r->n);
    return &r->cells[row * r->n_cols + i];
}

static enum pk_code query(struct pk_store *s, const char *sql, const struct pk_param *params, size_t n_params,
                          struct pk_arena *a, struct pk_rows *out, struct pk_err *err)
{
    sqlite3_stmt *stmt;
    *out = (struct pk_rows){0};
    if (pk_db_prepare(s, sql, params, n_params, &stmt, err))
        return err->code;
    out->n_cols = (size_t)sqlite3_column_count(stmt);
    out->names = pk_db_names(stmt, a);
    struct pk_cell *cells = NULL;
    size_t n = 0, cap = 0;
    for (; sqlite3_step(stmt) == SQLITE_ROW; out->n++)
        for (size_t i = 0; i < out->n_cols; i++, n++) {
            cells = pk_grow(a, cells, sizeof *cells, n, &cap);
            read_cell(stmt, (int)i, &cells[n]);
            pk_db_limited_count(s, &cells[n]);
            if (cells[n].type == PK_CELL_TEXT)
                cells[n].s = pk_strdup(a, cells[n].s);
        }
    out->cells = cells;
    enum pk_code code = sqlite3_reset(stmt) == SQLITE_OK ? PK_OK : pk_db_fail(s, err);
    sqlite3_finalize(stmt);
    return code;
}

enum pk_code pk_store_query(struct pk_store *s, const char *sql, const struct pk_param *params,
                            size_t n_params, struct pk_arena *a, struct pk_rows *out, struct pk_err *err)
{
    s->doing = "read it";
    return query(s, sql, params, n_params, a, out, err);
}

enum pk_code pk_db_query(struct pk_store *s, const char *name, const struct pk_param *params, size_t n_params,
                         struct pk_arena *a, struct pk_rows *out, struct pk_err *err)
{
    const char *whole, *sql = pk_db_text(PK_SECTION_QUERY, name, &whole);
    *out = (struct pk_rows){0};
    if (!sql)
        return pk_fail(err, PK_E_INTERNAL, "there is no query '%s'", name);
    return query(s, sql, params, n_params, a, out, err);
}

enum pk_code pk_query(struct pk_store *s, const char *name, const struct pk_param *params, size_t n_params,
                      struct pk_arena *a, struct pk_rows *out, struct pk_err *err)
{
    s->doing = "read it";
    return pk_db_query(s, name, params, n_params, a, out, err);
}

enum pk_code pk_query_each(struct pk_store *s, const char *name, const struct pk_param *params,
                           size_t n_params, pk_row_fn *row, void *user, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    sqlite3_stmt *stmt;
    const char *whole, *sql = pk_db_text(PK_SECTION_QUERY, name, &whole);
    if (!sql)
        return pk_fail(err, PK_E_INTERNAL, "there is no query '%s'", name);
    s->doing = "read it";
    if (pk_db_prepare(s, sql, params, n_params, &stmt, err))
        return err->code;
    const size_t n = (size_t)sqlite3_column_count(stmt);
    struct pk_cell *cells = pk_new_n(&a, struct pk_cell, n + 1);
    enum pk_code rc = PK_OK;
    while (!rc && sqlite3_step(stmt) == SQLITE_ROW) {
        for (size_t i = 0; i < n; i++)
            read_cell(stmt, (int)i, &cells[i]);
        rc = row(user, cells, err);
        pk_db_watch(s); /* the time that the caller takes does not count */
    }
    if (!rc && sqlite3_reset(stmt) != SQLITE_OK)
        rc = pk_db_fail(s, err);
    sqlite3_finalize(stmt);
    return rc;
}

enum pk_code pk_db_texts(struct pk_store *s, const char *query, const struct pk_param *params,
                         size_t n_params, struct pk_arena *a, const char ***texts, size_t *n,
                         struct pk_err *err)
{
    struct pk_rows rows;
    *n = 0;
    if (pk_query(s, query, params, n_params, a, &rows, err))
        return err->code;
    *texts = pk_new_n(a, const char *, rows.n + 1);
    for (; *n < rows.n; ++*n)
        (*texts)[*n] = rows.cells[*n].s;
    return PK_OK;
}

enum pk_code pk_db_stream_rows(struct pk_store *s, sqlite3_stmt *stmt, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    int n = sqlite3_column_count(stmt);
    struct pk_cell *cells = pk_new_n(&a, struct pk_cell, (size_t)n + 1);
    do {
        for (int i = 0; i < n; i++) {
            read_cell(stmt, i, &cells[i]);
            pk_db_limited_count(s, &cells[i]);
        }
        pk_out_row(out, cells);
        pk_db_watch(s); /* nor does the time count that a slow reader takes */
    } while (!pk_out_broken(out) && sqlite3_step(stmt) == SQLITE_ROW);
    return sqlite3_reset(stmt) == SQLITE_OK ? PK_OK : pk_db_fail(s, err);
}

void pk_db_row(const struct pk_rows *r, size_t row, const char *types, ...)
{
    va_list ap;
    pk_assert(strlen(types) == r->n_cols);
    va_start(ap, types);
    for (size_t i = 0; i < r->n_cols; i++) {
        const struct pk_cell *c = &r->cells[row * r->n_cols + i];
        const int64_t whole = c->type == PK_CELL_INT ? c->i : 0;
        if (types[i] == 'i')
            *va_arg(ap, int64_t *) = whole;
        else if (types[i] == 'd')
            *va_arg(ap, int *) = (int)whole;
        else if (types[i] == 'z')
            *va_arg(ap, size_t *) = (size_t)whole;
        else if (types[i] == 'b')
            *va_arg(ap, bool *) = whole != 0;
        else if (types[i] == 'f')
            *va_arg(ap, double *) = pk_cell_number(c);
        else
            *va_arg(ap, const char **) = c->type == PK_CELL_TEXT ? c->s : types[i] == 'o' ? NULL : "";
    }
    va_end(ap);
}
