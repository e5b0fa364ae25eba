/* File: user's files are read until their end or past the limit; of small ones under a root nothing is an error, only absent. */
#include "base/file.h"

#include "base/text/units.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FIRST_BYTES = 1 << 16 };

enum pk_code pk_unreadable(const char *path, const char *kind, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "cannot read %s", path);
    pk_why_errno(err, errno);
    return pk_fix(err, "give a %s that this user can read", kind);
}

enum pk_code pk_slurp(const char *path, size_t limit, struct pk_arena *a, char **text, size_t *n,
                      struct pk_err *err)
{
    PK_CLEANUP_FILE FILE *f = fopen(path, "re");
    if (!f)
        return pk_unreadable(path, "text file", err);
    size_t cap = FIRST_BYTES, got;
    *text = pk_alloc(a, cap);
    *n = 0;
    while ((got = fread(*text + *n, 1, cap - 1 - *n, f)) > 0) {
        *n += got;
        if (*n > limit) {
            char shown[32];
            pk_fail(err, PK_E_USAGE, "%s is too long", path);
            pk_why(err, "the file may have at most %s", pk_format_bytes((int64_t)limit, shown, sizeof shown));
            return pk_fix(err, "check that it is the right file");
        }
        if (*n == cap - 1)
            *text = pk_grow(a, *text, 1, cap, &cap);
    }
    if (ferror(f))
        return pk_unreadable(path, "text file", err);
    (*text)[*n] = '\0';
    const size_t mark = strncmp(*text, "\xef\xbb\xbf", 3) ? 0 : 3;
    *text += mark;
    *n -= mark;
    return PK_OK;
}

static bool full_path(char out[PATH_MAX], const char *root, const char *path)
{
    int n = snprintf(out, PATH_MAX, "%s/%s", root ? root : "", path);
    return n > 0 && n < PATH_MAX;
}

/* Reads up to cap - 1 bytes and ends them with a NUL; -1 when the file cannot be read. */
static ssize_t read_file(const char *root, const char *path, char *buf, size_t cap)
{
    char full[PATH_MAX];
    if (!full_path(full, root, path))
        return -1;
    PK_CLEANUP_FD int fd = open(full, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return -1;
    size_t n = 0;
    while (n < cap - 1) {
        ssize_t got = read(fd, buf + n, cap - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        n += (size_t)got;
    }
    buf[n] = '\0';
    return (ssize_t)n;
}

const char *pk_file_text(const char *root, const char *path, struct pk_arena *a)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    char *buf = pk_new_n(&own, char, PK_FILE_MAX); /* a stack may have less */
    ssize_t n = read_file(root, path, buf, PK_FILE_MAX);
    if (n < 0)
        return NULL;
    while (n > 0 && isspace((unsigned char)buf[n - 1]))
        n--;
    for (ssize_t i = 0; i < n; i++)
        if (buf[i] > '~' || (buf[i] < ' ' && buf[i] != '\n' && buf[i] != '\t'))
            buf[i] = '?';
    return pk_strndup(a, buf, (size_t)n);
}

bool pk_file_int(const char *root, const char *path, int64_t *value)
{
    char buf[64], *end;
    if (read_file(root, path, buf, sizeof buf) <= 0)
        return false;
    errno = 0;
    long long v = strtoll(buf, &end, 10);
    if (end == buf || errno)
        return false;
    *value = v;
    return true;
}

bool pk_file_exists(const char *root, const char *path)
{
    char full[PATH_MAX];
    return full_path(full, root, path) && access(full, F_OK) == 0;
}

const char *pk_path_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool pk_same_file(const char *x, const char *y)
{
    struct stat s, t;
    return !stat(x, &s) && !stat(y, &t) && s.st_dev == t.st_dev && s.st_ino == t.st_ino;
}

const char *pk_file_field(const char *text, const char *key, char sep, struct pk_arena *a)
{
    size_t key_len = strlen(key);
    for (const char *line = text; line && *line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        if (strncmp(line, key, key_len) != 0)
            continue;
        const char *s = line + key_len + strspn(line + key_len, " \t");
        if (sep ? *s++ != sep : s == line + key_len)
            continue;
        s += strspn(s, " \t");
        size_t n = strcspn(s, "\n");
        while (n > 0 && isspace((unsigned char)s[n - 1]))
            n--;
        if (n >= 2 && s[0] == '"' && s[n - 1] == '"')
            s++, n -= 2;
        return pk_strndup(a, s, n);
    }
    return NULL;
}
