/* Authorizer: what no statement may do, and what one of a text that perfkit did not write may do: read perfkit's views.
 *
 * SQLite asks for every object and function that a statement uses, when it is prepared. What a view of perfkit's reads is asked for with the
 * name of that view, so that tables stay closed and views are open. */
#include "store/db.h"

#include <string.h>

static bool is_among(const char *name, const char *const *names)
{
    while (*names && sqlite3_stricmp(name, *names) != 0)
        names++;
    return *names != NULL;
}

/* --- limited texts ---------------------------------------------------------------------------------------------------------- */

static bool is_public(const char *name)
{
    return name && strncmp(name, "v_", 2) == 0;
}

static bool is_made(const struct pk_store *s, const char *name)
{
    for (size_t i = 0; i < s->n_made; i++)
        if (strcmp(s->made[i].name, name) == 0)
            return true;
    return false;
}

/* A table of which no column is read is asked for once more when its view is merged into the statement, and then without the view's name. It
 * shows how many rows there are. */
static bool may_read(const struct pk_store *s, const char *table, const char *column, const char *by)
{
    return !*column || is_public(by) || is_public(table) || is_made(s, table) ||
           !strcmp(table, "json_each") || !strcmp(table, "json_tree");
}

/* A view or, of one run, a table is created by perfkit around the SELECT, and written into the list of temporary objects. */
static bool may_create(const struct pk_store *s, int action, const char *name)
{
    const bool list = !strcmp(name, "sqlite_temp_master") || !strcmp(name, "sqlite_temp_schema");
    switch (action) {
    case SQLITE_CREATE_TEMP_VIEW:
    case SQLITE_CREATE_TEMP_TABLE:
        return strcmp(name, s->limited.creating) == 0;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_READ:
        return list || strcmp(name, s->limited.creating) == 0;
    default:
        return false;
    }
}

/* What the statements of a text that perfkit did not write may do. */
static int authorize_limited(const struct pk_store *s, int action, const char *name, const char *value,
                             const char *by)
{
    const bool allowed = action == SQLITE_SELECT || action == SQLITE_RECURSIVE || action == SQLITE_FUNCTION ||
                         (action == SQLITE_READ && may_read(s, name ? name : "", value ? value : "", by)) ||
                         (s->limited.creating && may_create(s, action, name ? name : ""));
    return allowed ? SQLITE_OK : SQLITE_DENY;
}

/* --- all statements ---------------------------------------------------------------------------------------------------------- */

static int authorize(void *store, int action, const char *name, const char *value, const char *db,
                     const char *by)
{
    static const char *const reading[] = {"integrity_check", "quick_check", "table_info", NULL};
    static const char *const loading[] = {"load_extension", "fts3_tokenizer", NULL};
    const struct pk_store *s = store;
    if (s->limited.on && authorize_limited(s, action, name, value, by) != SQLITE_OK)
        return SQLITE_DENY;
    if (s->own_views == PK_DB_VIEWS_STALE && is_public(by)) /* the file has a view of this name, too */
        return SQLITE_DENY;
    if (action == SQLITE_PRAGMA)
        return s->permitted || !value || is_among(name, reading) ? SQLITE_OK : SQLITE_DENY;
    if (action == SQLITE_FUNCTION)
        return is_among(value, loading) ? SQLITE_DENY : SQLITE_OK;
    if (action == SQLITE_ATTACH || action == SQLITE_DETACH)
        return s->permitted ? SQLITE_OK : SQLITE_DENY;
    return action == SQLITE_CREATE_VTABLE || action == SQLITE_DROP_VTABLE ? SQLITE_DENY : SQLITE_OK;
}

void pk_db_deny_effects(struct pk_store *s)
{
    sqlite3_set_authorizer(s->db, authorize, s);
}
