/* Message: errors, warnings and notes on standard error, and the exit status of an error. */
#include "cmd/frame/frame.h"

#include "bench/worker/start_ranks.h"
#include "out/layout.h"
#include "out/text.h"

#include <limits.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* A message is written as one piece, because the ranks of a run share a terminal; in several where it is longer than a pipe takes
 * undivided. Nothing is allocated: that memory was refused is a message, too. */
struct message {
    char s[PIPE_BUF];
    size_t n;
};

static void put(struct message *t)
{
    struct pollfd p = {.fd = fileno(stderr), .events = POLLOUT};
    if (!pk_stop_flag || poll(&p, 1, 500)) /* after a signal the reader has half a second */
        fwrite(t->s, 1, t->n, stderr);
    t->n = 0;
}

static void add(struct message *t, const char *s, size_t n)
{
    for (; n; n--, s++) {
        if (t->n == sizeof t->s)
            put(t);
        t->s[t->n++] = *s;
    }
}

/* Behind what the runner of GitHub skips at the beginning of a line: blanks, of which Unicode has many. */
static bool is_command(const char *line)
{
    while (*line == ' ' || *line == '\t' || *line == '\n' || (unsigned char)*line >= 0x80)
        line++;
    return strncmp(line, "::", 2) == 0;
}

/* Names that were typed or stored may hold what would command a terminal or a CI system. Lines stay lines. */
static void add_safe(struct message *t, const char *text, size_t n)
{
    const bool ascii = pk_terminal_is_ascii();
    const char *bad = ascii ? "?" : "\xef\xbf\xbd", *end = text + n;
    for (unsigned marker = 0; text < end;) {
        const bool command = pk_ends_marker(&marker, *text);
        uint32_t code;
        const size_t bytes = pk_utf8_next(text, &code);
        if (command || code == PK_UTF8_BAD || (pk_utf8_unsafe(code) && code != '\n' && code != '\t'))
            add(t, bad, strlen(bad));
        else if (bytes > 1 && ascii)
            add(t, pk_ascii_of(code), strlen(pk_ascii_of(code)));
        else
            add(t, text, bytes);
        if (*text == '\n' && is_command(text + 1))
            add(t, bad, strlen(bad));
        text += bytes;
    }
}

/* Columns of the terminal that reads messages; 0 = there is none, and lines are not wrapped. */
static size_t terminal_width(void)
{
    struct winsize w;
    return pk_launcher_of_process().by || !isatty(STDERR_FILENO) || ioctl(STDERR_FILENO, TIOCGWINSZ, &w)
               ? 0
               : w.ws_col;
}

/* Wrapped behind a head of this length; where the terminal is too narrow for that, it wraps. */
static void add_wrapped(struct message *t, size_t head, const char *text)
{
    enum { LEAST = 20 };
    const size_t columns = terminal_width(), width = columns >= head + LEAST ? columns - head : 0;
    for (const char *rest; text; text = rest) {
        const size_t n = pk_wrap(text, strchr(text, '\n') ? 0 : width, &rest);
        add_safe(t, text, n);
        if (rest) {
            add(t, "\n", 1);
            for (size_t i = 0; i < head; i++)
                add(t, " ", 1);
        }
    }
}

bool pk_message_color;

static void add_line(struct message *t, enum pk_style style, const char *head, const char *text)
{
    const char *begin = pk_message_color ? pk_style_escape(style) : "";
    const char *end = *begin ? pk_style_escape(PK_STYLE_END) : "";
    add(t, begin, strlen(begin));
    add(t, head, strlen(head));
    add(t, end, strlen(end));
    add_wrapped(t, strlen(head), text);
    add(t, "\n", 1);
}

/* What failed is one line, whatever the names in it. */
static void add_failure(struct message *t, const struct pk_err *err)
{
    struct pk_err e = *err;
    for (char *c = e.what; (c = strchr(c, '\n'));)
        *c = ' ';
    add_line(t, err->code == PK_E_UNDECIDED ? PK_STYLE_DOUBT : PK_STYLE_BAD, "perfkit: ", e.what);
}

void pk_print_error(const struct pk_err *err)
{
    struct message t = {.n = 0};
    add_failure(&t, err);
    if (err->why[0])
        add_line(&t, PK_STYLE_PLAIN, "  why: ", err->why);
    if (err->fix[0])
        add_line(&t, PK_STYLE_PLAIN, "  try: ", err->fix);
    put(&t);
}

enum pk_code pk_another_error(enum pk_code rc, const struct pk_err *next, struct pk_err *err)
{
    if (rc)
        pk_print_error(err);
    *err = *next;
    return err->code;
}

enum pk_code pk_all_errors(const struct pk_errs *errs, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    for (size_t i = 0; i < errs->n; i++)
        rc = pk_another_error(rc, &errs->v[i], err);
    return rc;
}

void pk_print_progress(const char *line, const char *end)
{
    struct message t = {.n = 0};
    add_safe(&t, line, strlen(line));
    add_safe(&t, end, strlen(end));
    put(&t);
}

void pk_progress_erase(struct pk_progress *p)
{
    if (p->drawn)
        fprintf(stderr, "\r\033[K");
    p->drawn = false;
}

static void print_message(const struct pk_app *app, enum pk_style style, const char *head, const char *fmt,
                          va_list ap)
{
    if (app->progress)
        pk_progress_erase(app->progress);
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct message t = {.n = 0};
    add_line(&t, style, head, pk_vprintf(&a, fmt, ap));
    put(&t);
}

void pk_print_note(const struct pk_app *app, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!app->globals->quiet && !app->mute)
        print_message(app, PK_STYLE_PLAIN, "perfkit: ", fmt, ap);
    va_end(ap);
}

void pk_print_warning(const struct pk_app *app, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (!app->mute)
        print_message(app, PK_STYLE_DOUBT, "perfkit: warning: ", fmt, ap);
    va_end(ap);
}
