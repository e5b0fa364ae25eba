/* File: reads until the end of the file or past the limit. */
#include "base/file.h"

#include "base/text/units.h"

#include <errno.h>
#include <string.h>

enum { FIRST_BYTES = 1 << 16 };

static enum pk_code unreadable(const char *path, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "cannot read %s", path);
    pk_why(err, "%s", strerror(errno));
    return pk_fix(err, "name a text file that this user can read");
}

static enum pk_code too_long(const char *path, size_t limit, struct pk_err *err)
{
    char shown[32];
    pk_fail(err, PK_E_USAGE, "%s is too long", path);
    pk_why(err, "such a file has at most %s", pk_format_bytes((int64_t)limit, shown, sizeof shown));
    return pk_fix(err, "is it the file that was meant?");
}

enum pk_code pk_slurp(const char *path, size_t limit, struct pk_arena *a, char **text, size_t *n,
                      struct pk_err *err)
{
    PK_CLEANUP_FILE FILE *f = fopen(path, "re");
    if (!f)
        return unreadable(path, err);
    size_t cap = FIRST_BYTES, got;
    *text = pk_alloc(a, cap);
    *n = 0;
    while ((got = fread(*text + *n, 1, cap - 1 - *n, f)) > 0) {
        *n += got;
        if (*n > limit)
            return too_long(path, limit, err);
        if (*n == cap - 1)
            *text = pk_grow(a, *text, 1, cap, &cap);
    }
    if (ferror(f))
        return unreadable(path, err);
    (*text)[*n] = '\0';
    const size_t mark = strncmp(*text, "\xef\xbb\xbf", 3) ? 0 : 3;
    *text += mark;
    *n -= mark;
    return PK_OK;
}
