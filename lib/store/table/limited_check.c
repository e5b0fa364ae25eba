/* Limited check: is a text that perfkit did not write sound? */
#include "base/err.h"
#include "store/db.h"
#include "store/table/print_private.h"
#include "store/table/table.h"

#include <string.h>

enum { MOST_SECTIONS = 64, MOST_VIEWS = 16 };

static enum pk_code check_one(struct pk_store *s, const char *sql, struct pk_err *err)
{
    sqlite3_stmt *stmt;
    if (pk_db_one_select(s, sql, &stmt, err))
        return err->code;
    sqlite3_finalize(stmt);
    return PK_OK;
}

static bool has_sentence(sqlite3_stmt *stmt)
{
    for (int i = 0; i < sqlite3_column_count(stmt); i++)
        if (strcmp(sqlite3_column_name(stmt, i), "sentence") == 0)
            return true;
    return false;
}

/* Its statements, and the units of its columns. */
static enum pk_code check_section(struct pk_store *s, const struct pk_section *t, struct pk_arena *a,
                                  struct pk_err *err)
{
    sqlite3_stmt *stmt;
    struct pk_column *columns;
    const struct pk_print p = {.s = s, .a = a, .t = t};
    if ((t->each && check_one(s, t->each, err)) || pk_db_one_select(s, t->sql, &stmt, err))
        return err->code;
    const struct pk_result r = {pk_db_names(stmt, a), (size_t)sqlite3_column_count(stmt), 0, NULL};
    const bool sound = t->kind != PK_SECTION_FINDING || has_sentence(stmt);
    sqlite3_finalize(stmt);
    if (!sound) {
        pk_fail(err, PK_E_USAGE, "a finding has no column `sentence`");
        pk_why(err, "its rows are sentences");
        return pk_fix(err, "name it: '...' AS sentence");
    }
    if (pk_print_columns(&p, &r, &columns, err)) {
        pk_why(err, "a column has a heading, a display unit and attributes, separated by |");
        return pk_fix(err, "correct it; `perfkit help tables` has the units");
    }
    for (size_t i = 0; i < t->n_notes; i++)
        if (check_one(s, t->notes[i], err))
            return err->code;
    return PK_OK;
}

static enum pk_code check_sections(struct pk_store *s, const struct pk_section *v, size_t n,
                                   struct pk_arena *a, struct pk_err *err)
{
    static const char *const kinds[] = {"view", "table", "query", "statement", "finding", "chart"};
    for (size_t i = 0; i < n; i++) {
        if (v[i].kind == PK_SECTION_VIEW)
            continue;
        if (check_section(s, &v[i], a, err))
            return pk_within(err, "%s %.60s", kinds[v[i].kind], v[i].name);
    }
    return PK_OK;
}

/* What pk_sections takes from perfkit, and not from others. */
static enum pk_code check_kinds(const struct pk_section *v, size_t n, struct pk_err *err)
{
    size_t views = 0;
    bool others = false;
    for (size_t i = 0; i < n; i++) {
        views += v[i].kind == PK_SECTION_VIEW;
        others |= v[i].kind == PK_SECTION_QUERY || v[i].kind == PK_SECTION_STATEMENT;
    }
    if (n <= MOST_SECTIONS && views <= MOST_VIEWS && !others)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "the SQL is refused");
    pk_why(
        err,
        "it has sections that are no view, table, finding or chart, or more than %d, or more than %d views",
        MOST_SECTIONS, MOST_VIEWS);
    return pk_fix(err, "`perfkit help tables` describes the sections");
}

enum pk_code pk_limited_check(struct pk_store *s, const char *text, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_section *v;
    size_t n;
    if (pk_sections(text, &a, &v, &n, err)) {
        pk_fix(err, "`perfkit help tables` describes the lines of a section");
        return err->code = PK_E_USAGE;
    }
    if (check_kinds(v, n, err))
        return err->code;
    s->doing = "check the SQL of a program";
    pk_db_limited_begin(s, text);
    enum pk_code code = pk_db_make_views(s, text, v, n, err);
    if (!code)
        code = check_sections(s, v, n, &a, err);
    pk_db_limited_end(s);
    pk_db_drop_views(s);
    return code ? (err->code = PK_E_USAGE) : PK_OK;
}
