/* Axis: one row of an experiment's table of parameters, and one value of it as text. That of a file is "PATH#DIGEST", made by reading the file,
 * and found wrong when it was changed. */
#include "opt/axis.h"

#include "base/err.h"
#include "base/file.h"
#include "base/index.h"
#include "base/text/buf.h"
#include "base/text/units.h"
#include "base/text/words.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* --- files ----------------------------------------------------------------------------------------------- */

enum { DIGITS = 8, PIECES = 256, PIECE_BYTES = PK_AXIS_FILE_BYTES_MAX / PIECES }; /* of data */

/* Where "#1a2b3c4d" begins at the end of text; NULL when there is none. */
static const char *digest_in(const char *text)
{
    size_t n = strlen(text);
    const char *mark = n > DIGITS ? text + n - DIGITS - 1 : "";
    return *mark == '#' && strspn(mark + 1, "0123456789abcdef") == DIGITS ? mark : NULL;
}

static enum pk_code refuse_file(const struct pk_axis *x, const char *path, const char *what, const char *why,
                                struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "axis %s: '%.200s' %s", x->name, path, what);
    pk_why(err, "%s", why);
    return pk_fix(err, "give a %s file, or write -a %s=%s", x->data ? "regular" : "text", x->name, x->def);
}

/* What keeps a text from being a path that is read and recorded; NULL when nothing does. */
static const char *no_path(const char *path)
{
    PK_JSON_CLEANUP json_t *utf8 = json_string(path);
    struct stat st;
    if (!utf8)
        return "the path is not UTF-8, and paths are recorded as text";
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
                     "give a %s file without a comma in its path (commas separate values), or write -a %s=%s",
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
        return refuse_file(x, path, "is not a text file", "it has a NUL byte", err);
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

/* Nothing is read or made: whoever writes into it does. */
static enum pk_code take_folder(const struct pk_axis *x, const char *path, struct pk_arena *a,
                                union pk_value *v, struct pk_err *err)
{
    struct stat st;
    PK_JSON_CLEANUP json_t *utf8 = json_string(path);
    const char *bad = !utf8 ? "the path is not UTF-8, and paths are recorded as text"
                      : !stat(path, &st) && !S_ISDIR(st.st_mode) ? "it is a file"
                                                                 : NULL;
    if (bad) {
        pk_fail(err, PK_E_USAGE, "axis %s: '%.200s' is not a folder", x->name, path);
        pk_why(err, "%s", bad);
        return pk_fix(err, "give the path of a folder, or write -a %s=%s", x->name, x->def);
    }
    v->s = pk_printf(a, "%s#%08x", path, 0u);
    return PK_OK;
}

static enum pk_code read_file(const struct pk_axis *x, const char *text, struct pk_arena *a,
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
        return refuse_file(x, text, "is not a file", "there is no path", err);
    if (x->folder)
        return take_folder(x, path, a, v, err);
    const char *bad = no_path(path);
    uint64_t h = PK_FNV1A_EMPTY;
    if (bad)
        return refuse_file(x, path, "is not a file", bad, err);
    if (x->data ? hash_data(x, path, &h, err) : hash_text(x, path, &h, err))
        return err->code;
    snprintf(digest, DIGITS + 1, "%08x", (unsigned)(h ^ h >> 32));
    if (planned && strcmp(planned + 1, digest)) {
        pk_fail(err, PK_E_USAGE, "axis %s: %.200s has changed since the run was planned", x->name, path);
        pk_why(err, "the digest of its contents was %s and is %s", planned + 1, digest);
        return pk_fix(err, "restore the old contents, or start a new run");
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

/* --- values ---------------------------------------------------------------------------------------------- */

static const char *const words_of_bool[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};

size_t pk_axes_count(const struct pk_axis *axes)
{
    size_t n = 0;
    while (axes[n].name)
        n++;
    pk_assert(n <= PK_AXES_MAX);
    return n;
}

int pk_axis_index(const struct pk_axis *axes, const char *name)
{
    for (int i = 0; axes[i].name; i++)
        if (!strcmp(axes[i].name, name))
            return i;
    return -1;
}

enum pk_code pk_axis_find(const struct pk_axis *axes, const char *name, size_t *index, struct pk_err *err)
{
    int i = pk_axis_index(axes, name);
    if (i >= 0) {
        *index = (size_t)i;
        return PK_OK;
    }
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *names[PK_AXES_MAX], *also[PK_AXES_MAX];
    size_t n = pk_axes_count(axes);
    for (size_t k = 0; k < n; k++) {
        names[k] = axes[k].name;
        also[k] = axes[k].also;
    }
    pk_fail(err, PK_E_USAGE, "there is no axis '%.100s'", name);
    pk_why(err, n ? "the axes here are %s" : "this experiment has no axes%s", pk_list(names, n, ", ", &a));
    const char *near = pk_suggest_also(name, names, also, n);
    return near ? pk_fix(err, "did you mean '%s'?", near) : pk_fix(err, "use one of these names");
}

bool pk_axis_same(const struct pk_axis *axis, union pk_value a, union pk_value b)
{
    if (axis->type == PK_AXIS_FILE)
        return !strcmp(pk_axis_file_name(a), pk_axis_file_name(b));
    return axis->type == PK_AXIS_FLOAT ? a.f == b.f : a.i == b.i;
}

static bool in_bytes(const struct pk_axis *x)
{
    return x->type == PK_AXIS_SIZE || x->type == PK_AXIS_RATE;
}

const char *pk_axis_takes(const struct pk_axis *x, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    char lo[32], hi[32];
    switch (x->type) {
    case PK_AXIS_INT:
        pk_buf_printf(&b, "an integer from %.0f to %.0f", x->min, x->max);
        break;
    case PK_AXIS_SIZE:
        pk_buf_printf(&b, "a size from %s to %s", pk_format_size_exact((int64_t)x->min, lo, sizeof lo),
                      pk_format_size_exact((int64_t)x->max, hi, sizeof hi));
        break;
    case PK_AXIS_RATE:
        pk_buf_printf(&b, "a bandwidth from %s to %s per second",
                      pk_format_rate_exact((int64_t)x->min, lo, sizeof lo),
                      pk_format_rate_exact((int64_t)x->max, hi, sizeof hi));
        break;
    case PK_AXIS_FLOAT:
        pk_buf_printf(&b, "a number from %g to %g", x->min, x->max);
        break;
    case PK_AXIS_ENUM:
        pk_buf_printf(&b, "one of %s", pk_list(x->choices, SIZE_MAX, ", ", a));
        break;
    case PK_AXIS_BOOL:
        pk_buf_str(&b, "on or off");
        break;
    case PK_AXIS_FILE:
        pk_buf_printf(&b, "the path of a %s, or the word %s",
                      x->folder ? "folder"
                      : x->data ? "file"
                                : "text file",
                      x->def);
        break;
    }
    if (x->unit && !in_bytes(x))
        pk_buf_printf(&b, " (%s)", x->unit);
    return pk_buf_text(&b);
}

static enum pk_code refuse(const struct pk_axis *x, const char *text, const char *problem, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    pk_fail(err, PK_E_USAGE, "axis %s: '%.100s' %s", x->name, text, problem);
    pk_why(err, "%s is %s", x->name, pk_axis_takes(x, &a));
    return pk_fix(err, "-a %s=%s", x->name, x->def);
}

static enum pk_code find_choice(const struct pk_axis *x, const char *text, union pk_value *v,
                                struct pk_err *err)
{
    for (size_t i = 0; x->choices[i]; i++)
        if (!strcmp(x->choices[i], text)) {
            v->i = (int64_t)i;
            return PK_OK;
        }
    refuse(x, text, "is not one of its values", err);
    size_t n = 0;
    while (x->choices[n])
        n++;
    const char *near = pk_suggest_also(text, x->choices, x->choices_also, n);
    return near ? pk_fix(err, "did you mean -a %s=%s?", x->name, near) : err->code;
}

static enum pk_code parse_number(const struct pk_axis *x, const char *text, union pk_value *v,
                                 struct pk_err *err)
{
    union pk_value number = {0};
    struct pk_err problem;
    enum pk_code rc = x->type == PK_AXIS_INT    ? pk_parse_int(text, &number.i, &problem)
                      : x->type == PK_AXIS_SIZE ? pk_parse_size(text, &number.i, &problem)
                      : x->type == PK_AXIS_RATE ? pk_parse_rate(text, &number.i, &problem)
                                                : pk_parse_real(text, &number.f, &problem);
    if (rc && !*text)
        return refuse(x, text, "is empty", err);
    if (rc) {
        *err = problem;
        pk_within(err, "axis %s", x->name);
        return in_bytes(x) ? err->code : pk_fix(err, "-a %s=%s", x->name, x->def);
    }
    const double value = x->type == PK_AXIS_FLOAT ? number.f : (double)number.i;
    if (!(value >= x->min && value <= x->max))
        return refuse(x, text, "is out of range", err);
    if (x->type == PK_AXIS_FLOAT && number.f == 0)
        number.f = 0; /* one zero, not two */
    *v = number;
    return PK_OK;
}

enum pk_code pk_axis_value(const struct pk_axis *axis, const char *text, struct pk_arena *a,
                           union pk_value *v, struct pk_err *err)
{
    switch (axis->type) {
    case PK_AXIS_INT:
    case PK_AXIS_SIZE:
    case PK_AXIS_RATE:
    case PK_AXIS_FLOAT:
        return parse_number(axis, text, v, err);
    case PK_AXIS_ENUM:
        return find_choice(axis, text, v, err);
    case PK_AXIS_BOOL:
        for (size_t i = 0; i < sizeof words_of_bool / sizeof *words_of_bool; i++)
            if (!strcmp(words_of_bool[i], text)) {
                v->i = i % 2;
                return PK_OK;
            }
        return refuse(axis, text, "is neither on nor off", err);
    case PK_AXIS_FILE:
        return read_file(axis, text, a, v, err);
    }
    pk_assert(!"axis type");
}

const char *pk_axis_format(const struct pk_axis *axis, union pk_value v, struct pk_arena *a)
{
    char buf[32];
    switch (axis->type) {
    case PK_AXIS_INT:
        return pk_printf(a, "%lld", (long long)v.i);
    case PK_AXIS_SIZE:
        return pk_strdup(a, pk_format_size_exact(v.i, buf, sizeof buf));
    case PK_AXIS_RATE:
        return pk_strdup(a, pk_format_rate_exact(v.i, buf, sizeof buf));
    case PK_AXIS_FLOAT: {
        char real[32];
        for (int digits = 6; digits <= 17; digits++) {
            snprintf(real, sizeof real, "%.*g", digits, v.f);
            if (strtod(real, NULL) == v.f)
                break;
        }
        return pk_strdup(a, real);
    }
    case PK_AXIS_ENUM:
        return axis->choices[v.i];
    case PK_AXIS_BOOL:
        return words_of_bool[v.i];
    case PK_AXIS_FILE:
        return v.s;
    }
    pk_assert(!"axis type");
}
