/* Ref: a run named on the command line, in our own store or in another file. */
#include "store/store.h"

#include <string.h>
#include <unistd.h>

static bool ends_in_db(const char *path)
{
    size_t n = strlen(path);
    return n > 3 && strcmp(path + n - 3, ".db") == 0;
}

enum pk_code pk_store_open_ref(const char *own_path, const char *ref, const struct pk_store_wait *wait,
                               struct pk_store **out, int64_t *run_id, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *colon = strrchr(ref, ':'), *path = own_path;
    const char *file = colon ? pk_strndup(&a, ref, (size_t)(colon - ref)) : ends_in_db(ref) ? ref : "";
    bool other = ends_in_db(file) || (*file && access(file, F_OK) == 0);
    enum pk_store_mode mode = other ? PK_STORE_STRANGER : PK_STORE_READ;
    if (other) {
        path = file;
        ref = colon && colon[1] ? colon + 1 : "@";
    }
    if (pk_store_open(path, mode, wait, out, err))
        return err->code;
    if (pk_store_resolve(*out, ref, run_id, err) == PK_OK)
        return PK_OK;
    pk_store_close(*out);
    *out = NULL;
    return err->code;
}
