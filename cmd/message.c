/* Message: what is said on standard error, and the exit status that goes with it. */
#include "cmd/frame.h"
#include "cmd/progress.h"

#include <stdarg.h>

static const struct {
    enum pk_code code;
    int status;
} statuses[] = {
    {PK_OK, 0},
    {PK_E_INTERNAL, 1},
    {PK_E_IO, 1},
    {PK_E_CHECK, 1},
    {PK_E_USAGE, 2},
    {PK_E_REGRESSION, 3},
    {PK_E_UNDECIDED, 4},
    {PK_E_NOT_COMPARABLE, 5},
    {PK_E_NOTHING, 6},
    {PK_E_UNAVAILABLE, 6},
    {PK_E_INTERRUPTED, 130},
};

int pk_exit_status(enum pk_code code)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].code == code)
            return statuses[i].status;
    return 1;
}

void pk_print_error(const struct pk_err *err)
{
    fprintf(stderr, "perfkit: %s\n", err->what);
    if (err->why[0])
        fprintf(stderr, "  why: %s\n", err->why);
    if (err->fix[0])
        fprintf(stderr, "  try: %s\n", err->fix);
}

static void say(const struct pk_app *app, const char *prefix, const char *fmt, va_list ap)
{
    if (app->progress)
        pk_progress_erase(app->progress);
    fprintf(stderr, "perfkit: %s", prefix);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
}

void pk_note(const struct pk_app *app, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!app->globals->quiet)
        say(app, "", fmt, ap);
    va_end(ap);
}

void pk_warn(const struct pk_app *app, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    say(app, "warning: ", fmt, ap);
    va_end(ap);
}
