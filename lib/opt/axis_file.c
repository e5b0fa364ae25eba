/* Axis file: "PATH#DIGEST", made by reading the file and found wrong when it was changed. */
#include "opt/axis_file.h"

#include "base/file.h"
#include "base/index.h"
#include "base/text/words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

enum { DIGITS = 8, PIECES = 256, PIECE_BYTES = PK_AXIS_FILE_BYTES_MAX / PIECES }; /* of data */

/* Where "#1a2b3c4d" begins at the end of text; NULL when there is none. */
static const char *digest_in(const char *text)
{
    size_t n = strlen(text);
    const char *mark = n > DIGITS ? text + n - DIGITS - 1 : "";
    return *mark == '#' && strspn(mark + 1, "0123456789abcdef") == DIGITS ? mark : NULL;
}

static enum pk_code refuse(const struct pk_axis *x, const char *path, const char *what, const char *why,
                           struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "axis %s: '%.200s' %s", x->name, path, what);
    pk_why(err, "%s", why);
    return pk_fix(err, "name a %s file, or write -a %s=%s", x->data ? "regular" : "text", x->name, x->def);
}

/* What keeps a text from being a path that is read and recorded; NULL when nothing does. */
static const char *no_path(const char *path)
{
    PK_JSON_CLEANUP json_t *utf8 = json_string(path);
    struct stat st;
    if (!utf8)
        return "the path is not UTF-8, and it is recorded as text";
    if (stat(path, &st)) /* reading says why */
        return NULL;
    if (S_ISDIR(st.st_mode))
        return "it is a directory";
    return S_ISREG(st.st_mode) ? NULL : "it is not a regular file";
}

static enum pk_code unreadable(const struct pk_axis *x, const char *path, struct pk_err *err)
{
    pk_within(err, "axis %s", x->name);
    const char *const word[] = {x->def};
    return pk_suggest(path, word, 1)
               ? pk_fix(err, "did you mean -a %s=%s?", x->name, x->def)
               : pk_fix(
                     err,
                     "name a %s file, without a comma in its path: commas divide values; or write -a %s=%s",
                     x->data ? "regular" : "text", x->name, x->def);
}

static enum pk_code hash_text(const struct pk_axis *x, const char *path, uint64_t *h, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena contents = {0};
    char *text;
    size_t n;
    if (pk_slurp(path, PK_AXIS_FILE_BYTES_MAX, &contents, &text, &n, err))
        return unreadable(x, path, err);
    if (memchr(text, '\0', n))
        return refuse(x, path, "is not a text file", "it has a NUL byte", err);
    *h = pk_fnv1a(*h, text, n);
    return PK_OK;
}

/* Where piece i begins: one behind the other, or of longer files the last one at the end. */
static off_t place_of(size_t i, off_t bytes)
{
    if (bytes <= PK_AXIS_FILE_BYTES_MAX)
        return (off_t)i * PIECE_BYTES;
    return i + 1 == PIECES ? bytes - PIECE_BYTES : bytes / PIECES * (off_t)i;
}

static enum pk_code hash_data(const struct pk_axis *x, const char *path, uint64_t *h, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_CLEANUP_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
    char *piece = pk_alloc(&a, PIECE_BYTES);
    struct stat st = {0};
    ssize_t n = fd < 0 || fstat(fd, &st) ? -1 : 0;
    *h = pk_fnv1a(*h, &st.st_size, sizeof st.st_size);
    for (size_t i = 0; n >= 0 && i < PIECES && place_of(i, st.st_size) < st.st_size; i++) {
        n = pread(fd, piece, PIECE_BYTES, place_of(i, st.st_size));
        *h = n > 0 ? pk_fnv1a(*h, piece, (size_t)n) : *h;
    }
    if (n >= 0)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "cannot read %s", path);
    pk_why_errno(err, errno);
    return unreadable(x, path, err);
}

static enum pk_code digest_of(const struct pk_axis *x, const char *path, char digest[DIGITS + 1],
                              struct pk_err *err)
{
    const char *bad = no_path(path);
    uint64_t h = PK_FNV1A_EMPTY;
    if (bad)
        return refuse(x, path, "is no file", bad, err);
    if (x->data ? hash_data(x, path, &h, err) : hash_text(x, path, &h, err))
        return err->code;
    snprintf(digest, DIGITS + 1, "%08x", (unsigned)(h ^ h >> 32));
    return PK_OK;
}

enum pk_code pk_axis_read_file(const struct pk_axis *x, const char *text, struct pk_arena *a,
                               union pk_value *v, struct pk_err *err)
{
    char digest[DIGITS + 1];
    const char *planned = digest_in(text);
    const char *path = planned ? pk_strndup(a, text, (size_t)(planned - text)) : text;
    if (!strcmp(text, x->def) || !strcmp(text, x->born)) {
        v->s = pk_strdup(a, text);
        return PK_OK;
    }
    if (!*path)
        return refuse(x, text, "is no file", "there is no path", err);
    if (digest_of(x, path, digest, err))
        return err->code;
    if (planned && strcmp(planned + 1, digest)) {
        pk_fail(err, PK_E_USAGE, "axis %s: %.200s has changed since the run was planned", x->name, path);
        pk_why(err, "the digest of its contents was %s and is %s", planned + 1, digest);
        return pk_fix(err, "put the old contents back, or begin a new run");
    }
    v->s = pk_printf(a, "%s#%s", path, digest);
    return PK_OK;
}

const char *pk_axis_file_path(union pk_value v, struct pk_arena *a)
{
    const char *digest = digest_in(v.s);
    return digest ? pk_strndup(a, v.s, (size_t)(digest - v.s)) : NULL;
}

const char *pk_axis_file_name(union pk_value v)
{
    const char *slash = strrchr(v.s, '/');
    return slash ? slash + 1 : v.s;
}
