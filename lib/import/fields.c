/* Fields: members of JSON objects, with the place of what is wrong. */
#include "import/reader.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void pk_import_problem(struct pk_import_reader *r, const char *fmt, ...)
{
    va_list ap;
    if (r->failed)
        return;
    r->failed = true;
    va_start(ap, fmt);
    const char *text = pk_vprintf(r->a, fmt, ap);
    va_end(ap);
    pk_fail(r->err, PK_E_IO, "%s: cannot import it%s%s", r->path, r->source ? " as a file of " : "",
            r->source ? r->source->name : "");
    const char *line = r->line ? pk_printf(r->a, "line %zu%s", r->line, r->member ? ", " : ": ") : "";
    if (r->member)
        pk_why(r->err, "%s%.100s[%zu]: %s", line, r->member, r->at, text);
    else
        pk_why(r->err, "%s%s", line, text);
    pk_fix(r->err, "nothing was imported; write the file again (%s)",
           r->source ? r->source->files : "docs/import.md has the sources");
}

void pk_import_version(struct pk_import_reader *r, const char *what, const char *known)
{
    pk_import_problem(r, "%s is not known to this perfkit, which knows %s", what, known);
}

bool pk_import_stopped(struct pk_import_reader *r)
{
    if (r->failed || !r->stop_flag || !*r->stop_flag)
        return r->failed;
    r->failed = true;
    pk_fail(r->err, PK_E_INTERRUPTED, "%s: importing it was interrupted", r->path);
    pk_why(r->err, "a signal stopped perfkit");
    pk_fix(r->err, "nothing was imported; run the command again");
    return true;
}

FILE *pk_import_open(struct pk_import_reader *r, int folder, const char *path, const char *name)
{
    struct stat st;
    const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
    r->path = pk_printf(r->a, "%s/%s", path, name);
    r->line = 1;
    FILE *f = fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
    if (!f) {
        pk_import_problem(r, "%s", fd < 0 ? strerror(errno) : "it is not a regular file");
        if (fd >= 0)
            close(fd);
    }
    return f;
}

static const json_t *member(struct pk_import_reader *r, const json_t *obj, const char *key, bool required)
{
    const json_t *v = json_object_get(obj, key);
    if (!json_is_object(obj))
        pk_import_problem(r, "not an object");
    else if (required && (!v || json_is_null(v)))
        pk_import_problem(r, "there is no '%s'", key);
    return r->failed || json_is_null(v) ? NULL : v;
}

const char *pk_field_text_or(struct pk_import_reader *r, const json_t *obj, const char *key,
                             const char *otherwise)
{
    const json_t *v = member(r, obj, key, false);
    if (!v)
        return otherwise;
    if (!json_is_string(v))
        pk_import_problem(r, "'%s' is not a string", key);
    else if (json_string_length(v) > PK_IMPORT_TEXT_MAX)
        pk_import_problem(r, "'%s' has more than %d bytes", key, PK_IMPORT_TEXT_MAX);
    return r->failed ? NULL : pk_strdup(r->a, json_string_value(v));
}

const char *pk_field_text(struct pk_import_reader *r, const json_t *obj, const char *key)
{
    return member(r, obj, key, true) ? pk_field_text_or(r, obj, key, NULL) : NULL;
}

double pk_field_number_or_nan(struct pk_import_reader *r, const json_t *obj, const char *key)
{
    const json_t *v = member(r, obj, key, false);
    if (v && !json_is_number(v))
        pk_import_problem(r, "'%s' is not a number", key);
    return v && !r->failed ? json_number_value(v) : NAN;
}

double pk_field_time_or_nan(struct pk_import_reader *r, const json_t *obj, const char *key, double scale)
{
    const double x = pk_field_number_or_nan(r, obj, key) * scale;
    if (x < 0)
        pk_import_problem(r, "'%s' is below zero", key);
    else if (x > PK_IMPORT_LARGEST)
        pk_import_problem(r, "'%s' is too large", key);
    return x;
}

double pk_field_time(struct pk_import_reader *r, const json_t *obj, const char *key, double scale)
{
    return member(r, obj, key, true) ? pk_field_time_or_nan(r, obj, key, scale) : NAN;
}

int64_t pk_field_count(struct pk_import_reader *r, const json_t *obj, const char *key, int64_t least)
{
    const json_t *v = member(r, obj, key, true);
    if (v && (!json_is_integer(v) || json_integer_value(v) < least))
        pk_import_problem(r, "'%s' is not an integer of at least %lld", key, (long long)least);
    return v && !r->failed ? json_integer_value(v) : least;
}

const json_t *pk_field_array(struct pk_import_reader *r, const json_t *obj, const char *key, bool required)
{
    const json_t *v = member(r, obj, key, required);
    if (v && !json_is_array(v))
        pk_import_problem(r, "'%s' is not a list", key);
    return r->failed ? NULL : v;
}

const json_t *pk_field_object(struct pk_import_reader *r, const json_t *obj, const char *key, bool required)
{
    const json_t *v = member(r, obj, key, required);
    if (v && !json_is_object(v))
        pk_import_problem(r, "'%s' is not an object", key);
    return r->failed ? NULL : v;
}

int64_t pk_import_date(const char *text)
{
    struct tm t = {0};
    char sign[2] = "+";
    int hours = 0, minutes = 0, n = 0;
    if (!text || sscanf(text, "%4d-%2d-%2d%*1[T ]%2d:%2d:%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday,
                        &t.tm_hour, &t.tm_min, &t.tm_sec, &n) < 6)
        return 0;
    t.tm_year -= 1900;
    t.tm_mon--;
    text += n;
    text += *text == '.' ? 1 + strspn(text + 1, "0123456789") : 0;
    if (sscanf(text, "%1[+-]%2d:%2d", sign, &hours, &minutes) < 2)
        hours = minutes = 0;
    const int64_t s = (int64_t)timegm(&t) - (*sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
    return s > 0 && s < INT64_MAX / (int64_t)PK_NS_PER_S ? s * (int64_t)PK_NS_PER_S : 0;
}
