/* Saved: FILE:REF taken apart, opened, resolved. */
#include "cmd/saved.h"

#include <string.h>

/* "dir/a.db:@~1" -> "dir/a.db", "@~1"; no file in "nightly". A label has no '/' and does not end in .db, so a ':' after such a text
 * separates. */
static const char *split_file(struct pk_arena *a, const char **ref)
{
    const char *colon = strrchr(*ref, ':');
    size_t n = colon ? (size_t)(colon - *ref) : strlen(*ref);
    bool file = (n > 3 && strncmp(*ref + n - 3, ".db", 3) == 0) || memchr(*ref, '/', n);
    if (!file)
        return NULL;
    const char *path = pk_strndup(a, *ref, n);
    *ref = colon && colon[1] ? colon + 1 : "@";
    return path;
}

enum pk_code pk_saved_open(const struct pk_app *app, const char *ref, struct pk_saved *saved,
                           struct pk_err *err)
{
    const char *path = split_file(app->arena, &ref);
    enum pk_store_mode mode = path ? PK_STORE_STRANGER : PK_STORE_READ;
    if ((!path && pk_store_path(app->arena, app->globals->db, &path, err)) ||
        pk_store_open(path, mode, &saved->store, err))
        return err->code;
    if (pk_store_resolve(saved->store, ref, &saved->run_id, err) == PK_OK)
        return PK_OK;
    pk_store_close(saved->store);
    return err->code;
}
