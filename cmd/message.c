/* Message: what is said on standard error, and the exit status that goes with it. */
#include "cmd/frame.h"
#include "cmd/progress.h"
#include "out/text.h"

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

/* Names that were typed or stored may hold what would command a terminal. Lines stay lines. */
static void put_safe(const char *text)
{
    while (*text) {
        uint32_t code;
        const size_t bytes = pk_utf8_next(text, &code);
        if (code == PK_UTF8_BAD || (pk_utf8_unsafe(code) && code != '\n' && code != '\t'))
            fputs("\xef\xbf\xbd", stderr);
        else
            fwrite(text, 1, bytes, stderr);
        text += bytes;
    }
}

static void put_line(const char *head, const char *text)
{
    fputs(head, stderr);
    put_safe(text);
    fputc('\n', stderr);
}

void pk_print_error(const struct pk_err *err)
{
    put_line("perfkit: ", err->what);
    if (err->why[0])
        put_line("  why: ", err->why);
    if (err->fix[0])
        put_line("  try: ", err->fix);
}

static void say(const struct pk_app *app, const char *prefix, const char *fmt, va_list ap)
{
    if (app->progress)
        pk_progress_erase(app->progress);
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    va_list again;
    va_copy(again, ap);
    const int bytes = vsnprintf(NULL, 0, fmt, again);
    va_end(again);
    char *text = pk_alloc(&a, (size_t)bytes + 1);
    vsnprintf(text, (size_t)bytes + 1, fmt, ap);
    fputs("perfkit: ", stderr);
    put_line(prefix, text);
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
