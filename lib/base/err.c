/* Errors: filling the three parts of struct pk_err, and the end of a failed assertion. */
#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

void pk_assert_fail(const char *cond, const char *file, int line)
{
    fprintf(stderr, "perfkit: bug: %s does not hold (%s:%d); please report it\n", cond, file, line);
    abort();
}

/* Bytes of the UTF-8 character that begins with this one. */
static size_t character_bytes(unsigned char first)
{
    return first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
}

/* A text that was cut to fit loses the character that the cut went through. */
static void end_whole(char *text)
{
    const size_t n = strlen(text);
    size_t last = n;
    while (last && ((unsigned char)text[last - 1] & 0xc0) == 0x80)
        last--;
    if (last && last - 1 + character_bytes((unsigned char)text[last - 1]) > n)
        text[last - 1] = '\0';
}

static void fill(char *to, size_t cap, const char *fmt, va_list ap)
{
    vsnprintf(to, cap, fmt, ap);
    end_whole(to);
}

enum pk_code pk_fail(struct pk_err *err, enum pk_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    fill(err->what, sizeof err->what, fmt, ap);
    err->why[0] = err->fix[0] = '\0';
    err->number = 0;
    va_end(ap);
    return code;
}

enum pk_code pk_why(struct pk_err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err->why, sizeof err->why, fmt, ap);
    va_end(ap);
    return err->code;
}

enum pk_code pk_fix(struct pk_err *err, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(err->fix, sizeof err->fix, fmt, ap);
    va_end(ap);
    return err->code;
}

enum pk_code pk_why_errno(struct pk_err *err, int e)
{
    struct rlimit size;
    err->number = e;
    if (e == EINTR) /* handlers are those of signals that end perfkit */
        err->code = PK_E_INTERRUPTED;
    if (e == EFBIG && getrlimit(RLIMIT_FSIZE, &size) == 0 && size.rlim_cur != RLIM_INFINITY)
        return pk_why(err, "files of this process are limited to %llu bytes (ulimit -f)",
                      (unsigned long long)size.rlim_cur);
    return pk_why(err, "%s", strerror(e));
}

enum pk_code pk_within(struct pk_err *err, const char *fmt, ...)
{
    char old[sizeof err->what], prefix[128];
    memcpy(old, err->what, sizeof old);
    va_list ap;
    va_start(ap, fmt);
    fill(prefix, sizeof prefix, fmt, ap);
    va_end(ap);
    snprintf(err->what, sizeof err->what, "%s: %.380s", prefix, old);
    end_whole(err->what);
    return err->code;
}
