/* Schema: perfkit's views, the schema that a file must have, and migration.
 *
 * The only SQL that is composed in C, and of perfkit's own names only: nothing that is read from a file becomes part of a statement. */
#include "store/db.h"

#include "base/build.h"
#include "base/err.h"
#include "base/index.h"
#include "base/text/buf.h"
#include "store/table/table.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

extern const struct pk_embedded pk_schema[]; /* NNNN-what.sql in order, then views.sql */
extern const struct pk_schema_object pk_schema_objects[];

static bool is_migration(const struct pk_embedded *e)
{
    return isdigit((unsigned char)e->name[0]);
}

/* The version that a migration makes is the number its name begins with. */
static int version_of(const struct pk_embedded *e)
{
    return (int)strtol(e->name, NULL, 10);
}

int pk_db_first_version(void)
{
    return version_of(pk_schema);
}

int pk_db_newest_version(void)
{
    int newest = 0;
    for (const struct pk_embedded *e = pk_schema; e->name; e++)
        newest = is_migration(e) ? version_of(e) : newest;
    return newest;
}

static const char *views_text(void)
{
    for (const struct pk_embedded *e = pk_schema; e->name; e++)
        if (!is_migration(e))
            return e->text;
    pk_assert(!"views.sql is embedded");
    return NULL;
}

/* A name as SQL, which stays one name whatever it contains: no statement is composed from a name in any other way. */
static const char *identifier(struct pk_arena *a, const char *name)
{
    struct pk_buf b = {.arena = a};
    pk_buf_char(&b, '"');
    for (const char *p = name; *p; p++)
        pk_buf_printf(&b, *p == '"' ? "\"\"" : "%c", *p);
    pk_buf_char(&b, '"');
    return pk_buf_text(&b);
}

/* --- perfkit's views -------------------------------------------------------------------------------------------------- */

struct schema_view {
    const char *name, *select;
};

/* The view that is defined next in views.sql; false at its end. */
static bool next_view(const char **text, struct schema_view *v, struct pk_arena *a)
{
    static const char create[] = "CREATE VIEW ", as[] = " AS\n", end[] = ";\n";
    const char *name = strstr(*text, create);
    if (!name)
        return false;
    name += strlen(create);
    const char *select = strstr(name, as), *last = select ? strstr(select, end) : NULL;
    pk_assert(last);
    *v = (struct schema_view){pk_strndup(a, name, (size_t)(select - name)),
                              pk_strndup(a, select + strlen(as), (size_t)(last - select) - strlen(as))};
    *text = last;
    return true;
}

/* Views with a column run_id that are about runs: a baseline is about names. */
static bool is_about_runs(const char *view)
{
    return strncmp(view, "v_baseline", strlen("v_baseline")) != 0 && strcmp(view, "v_topology") != 0;
}

static enum pk_code make_own_views(struct pk_store *s, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf sql = {.arena = &a};
    struct schema_view v;
    for (const char *text = views_text(); next_view(&text, &v, &a);) {
        const char *name = identifier(&a, v.name);
        pk_buf_printf(&sql, "DROP VIEW IF EXISTS temp.%s;\nCREATE TEMP VIEW %s AS ", name, name);
        if (s->narrow && is_about_runs(v.name))
            pk_buf_printf(&sql, "SELECT * FROM (%s\n) WHERE run_id = %lld;\n", v.select,
                          (long long)s->narrow_run);
        else
            pk_buf_printf(&sql, "%s;\n", v.select);
    }
    return pk_db_script(s, pk_buf_text(&sql), err);
}

/* SQLite parses each view twice to create it, which takes longer than many a command: what records never reads one, and what prints a run
 * the narrow ones alone. */
enum pk_code pk_db_own_views(struct pk_store *s, struct pk_err *err)
{
    const char *doing = s->doing;
    const bool limited = s->limited.on;
    if (s->own_views != PK_DB_VIEWS_STALE)
        return PK_OK;
    s->doing = "prepare its views";
    s->limited.on = false;
    if (make_own_views(s, err) == PK_OK)
        s->own_views = PK_DB_VIEWS_MADE;
    s->limited.on = limited;
    s->doing = doing;
    return s->own_views == PK_DB_VIEWS_MADE ? PK_OK : err->code;
}

/* What joins a view to cases reads the whole of it first, so that a table of one run took a time proportional to the store. */
void pk_store_narrow(struct pk_store *s, int64_t run_id)
{
    pk_store_widen(s);
    s->narrow = true;
    s->narrow_run = run_id;
}

void pk_store_widen(struct pk_store *s)
{
    pk_db_drop_views(s);
    s->narrow = false;
    s->own_views = PK_DB_VIEWS_STALE;
}

static bool are_made(const struct pk_store *s, uint64_t text)
{
    size_t i = 0;
    while (i < s->n_made && s->made[i].text != text)
        i++;
    return i < s->n_made;
}

/* A view of one run is computed once and kept: a table of it is a statement per value of `each`, and its notes are statements, too. Of
 * "NAME by COLUMN" the second has an index. */
static enum pk_code make_view(struct pk_store *s, uint64_t text, const struct pk_section *v,
                              struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *by = strstr(v->name, " by ");
    const char *name = by ? pk_strndup(&a, v->name, (size_t)(by - v->name)) : v->name;
    pk_assert(s->n_made < PK_DB_VIEWS);
    if (s->limited.on && pk_db_limited_view(s, v->name, v->sql, err))
        return err->code;
    s->limited.creating = name;
    const enum pk_code code = pk_db_script(
        s,
        pk_printf(&a, "CREATE TEMP %s %s AS %s", s->narrow ? "TABLE" : "VIEW", identifier(&a, name), v->sql),
        err);
    s->limited.creating = NULL;
    if (code)
        return code;
    s->made[s->n_made].text = text;
    s->made[s->n_made++].name = pk_strdup(&s->arena, name);
    return by && s->narrow
               ? pk_db_script(s,
                              pk_printf(&a, "CREATE INDEX temp.%s ON %s(%s)", identifier(&a, v->name),
                                        identifier(&a, name), identifier(&a, by + strlen(" by "))),
                              err)
               : PK_OK;
}

enum pk_code pk_db_make_views(struct pk_store *s, const char *text, const struct pk_section *v, size_t n,
                              struct pk_err *err)
{
    const uint64_t digest = pk_hash_bytes(0, text, strlen(text));
    const bool made = are_made(s, digest);
    if (pk_db_own_views(s, err))
        return err->code;
    for (size_t i = 0; i < n; i++)
        if (!made && v[i].kind == PK_SECTION_VIEW && make_view(s, digest, &v[i], err))
            return pk_within(err, "view %s", v[i].name);
    return PK_OK;
}

void pk_db_drop_views(struct pk_store *s)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err ignored;
    while (s->n_made) {
        const char *name = identifier(&a, s->made[--s->n_made].name);
        const enum pk_code code = pk_db_script(
            s, pk_printf(&a, "DROP %s IF EXISTS temp.%s", s->narrow ? "TABLE" : "VIEW", name), &ignored);
        (void)code;
    }
}

/* --- the schema of a file --------------------------------------------------------------------------------------------- */

/* Compares the schema of a file with perfkit's of a version, as SQLite stores it. */
struct comparison {
    struct pk_store *s;
    const char *path;
    bool other, older; /* the database attached as `other`; a version before the newest */
    int64_t version;
};

static const char *column(sqlite3_stmt *stmt, int i)
{
    const char *text = (const char *)sqlite3_column_text(stmt, i);
    return text ? text : "";
}

/* True if perfkit creates an object of this type, name and text; without a text: with any. */
static bool is_own(const struct comparison *c, const char *type, const char *name, const char *sql)
{
    const struct pk_schema_object *o = pk_schema_objects;
    while (o->name && (c->version < o->first || c->version > o->last || strcmp(o->type, type) != 0 ||
                       strcmp(o->name, name) != 0 || (sql && strcmp(o->sql, sql) != 0)))
        o++;
    return o->name != NULL;
}

static enum pk_code refuse_object(const struct comparison *c, const char *type, const char *name, bool added,
                                  struct pk_err *err)
{
    pk_fail(err, PK_E_IO, "store %s: refused", c->path);
    pk_why(err, "its %.20s '%.200s' %s", type, name,
           added ? "was not created by perfkit" : "is not the one that perfkit creates");
    return pk_fix(err, added ? "if you added it yourself, remove it with DROP in an SQLite client; otherwise "
                               "do not use the file"
                             : "get the file as perfkit wrote it; nothing in this one was read");
}

/* Checks that each object that perfkit creates has exactly its text: no foreign view, generated column or check can replace it. */
static enum pk_code verify_own(const struct comparison *c, struct pk_err *err)
{
    int64_t same;
    for (const struct pk_schema_object *o = pk_schema_objects; o->name; o++) {
        if (c->version < o->first || c->version > o->last || !strcmp(o->type, "view") ||
            !strncmp(o->name, "sqlite_", strlen("sqlite_")))
            continue;
        if (pk_db_int(c->s, err, &same, 0, c->other ? "same_object_of_other" : "same_object", "ttt", o->type,
                      o->name, o->sql))
            return err->code;
        if (!same)
            return refuse_object(c, o->type, o->name, false, err);
    }
    return PK_OK;
}

/* And there is no other. Views of an older version had other texts; migration replaces them, and nothing runs them before. */
static enum pk_code verify_no_other(const struct comparison *c, struct pk_err *err)
{
    sqlite3_stmt *object;
    if (pk_db_stmt(c->s, c->other ? "objects_of_other" : "objects", &object, err))
        return err->code;
    enum pk_code code = PK_OK;
    while (!code && sqlite3_step(object) == SQLITE_ROW) {
        const char *type = column(object, 0), *name = column(object, 1);
        const bool any_text = c->older && strcmp(type, "view") == 0;
        if (!is_own(c, type, name, any_text ? NULL : column(object, 2)))
            code = refuse_object(c, type, name, !is_own(c, type, name, NULL), err);
    }
    if (sqlite3_reset(object) != SQLITE_OK && !code)
        code = pk_db_fail(c->s, err);
    return code;
}

enum pk_code pk_db_verify_schema(struct pk_store *s, bool other, int64_t version, const char *path,
                                 struct pk_err *err)
{
    const struct comparison c = {s, path, other, version < pk_db_newest_version(), version};
    return verify_own(&c, err) ? err->code : verify_no_other(&c, err);
}

enum pk_code pk_db_refuse_damaged(struct pk_store *s, const char *of, const char *path, struct pk_err *err)
{
    sqlite3_stmt *problem;
    if (pk_db_stmt(s, "quick_integrity", &problem, err))
        return err->code;
    sqlite3_bind_text(problem, 1, of, -1, SQLITE_STATIC);
    const int rc = sqlite3_step(problem);
    enum pk_code code = rc == SQLITE_DONE ? PK_OK : rc == SQLITE_ROW ? PK_E_IO : pk_db_fail(s, err);
    if (rc == SQLITE_ROW) {
        pk_fail(err, code, "store %s: cannot %s", path, s->doing);
        pk_why(err, "it is damaged: %s", column(problem, 0));
        pk_fix(err,
               "`sqlite3 -safe -readonly FILE .recover` may recover rows; `perfkit db check` shows more");
    }
    sqlite3_reset(problem);
    return code;
}

/* --- migration -------------------------------------------------------------------------------------------------------- */

static enum pk_code drop_views(struct pk_store *s, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf sql = {.arena = &a};
    struct schema_view v;
    for (const char *text = views_text(); next_view(&text, &v, &a);)
        pk_buf_printf(&sql, "DROP VIEW IF EXISTS main.%s;\n", identifier(&a, v.name));
    return pk_db_script(s, pk_buf_text(&sql), err);
}

static enum pk_code apply_from(struct pk_store *s, int version, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (drop_views(s, err))
        return err->code;
    for (const struct pk_embedded *e = pk_schema; e->name; e++)
        if ((!is_migration(e) || version_of(e) > version) && pk_db_script(s, e->text, err))
            return err->code;
    s->permitted = true;
    enum pk_code code = pk_db_script(s,
                                     pk_printf(&a, "PRAGMA application_id = %d; PRAGMA user_version = %d",
                                               PK_DB_APPLICATION_ID, pk_db_newest_version()),
                                     err);
    s->permitted = false;
    return code;
}

/* The version is read again under the lock: another process may have migrated meanwhile. */
static enum pk_code migrate(struct pk_store *s, struct pk_err *err)
{
    int64_t version, objects;
    if (s->mode == PK_STORE_MIGRATE && pk_db_refuse_damaged(s, "main", s->path, err))
        return err->code;
    if (pk_db_begin(s, "prepare its tables", err))
        return err->code;
    enum pk_code code = pk_db_int(s, err, &version, 0, "user_version", "");
    if (code == PK_OK)
        code = pk_db_int(s, err, &objects, 0, "object_count", "");
    if (code == PK_OK && objects && version < pk_db_newest_version())
        code = pk_db_verify_schema(s, false, version, s->path, err);
    if (code == PK_OK && version < pk_db_newest_version())
        code = apply_from(s, (int)version, err);
    return pk_db_end(s, code, err);
}

enum pk_code pk_db_migrate(struct pk_store *s, struct pk_err *err)
{
    int64_t version;
    s->doing = "prepare its tables";
    if (pk_db_int(s, err, &version, 0, "user_version", ""))
        return err->code;
    if (version == pk_db_newest_version())
        return PK_OK;
    s->watch.long_task = true;
    enum pk_code code = migrate(s, err);
    s->watch.long_task = false;
    return code;
}
