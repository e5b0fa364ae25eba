/* Progress: one line redrawn on a terminal, or one line per slice on request. */
#include "cmd/frame/frame.h"

#include "base/text/units.h"

#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void pk_progress_begin(struct pk_progress *p, struct pk_app *app)
{
    const char *how = app->globals->progress;
    p->app = app;
    app->progress = p;
    p->drawn = false;
    if (!strcmp(how, "plain"))
        p->kind = PK_PROGRESS_PLAIN;
    else if (!strcmp(how, "auto") && isatty(STDERR_FILENO) && !app->globals->quiet)
        p->kind = PK_PROGRESS_BAR;
    else
        p->kind = PK_PROGRESS_NONE;
}

void pk_progress_slice(void *progress, const struct pk_planned_case *c, const struct pk_slice *s, size_t done,
                       size_t total, int64_t left_ns)
{
    struct pk_progress *p = progress;
    if (p->kind == PK_PROGRESS_NONE)
        return;
    char left[32];
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    pk_format_ns((double)left_ns, left, sizeof left);
    const char *line = pk_printf(&a, "[%zu/%zu] about %s remaining: %s %s %s", done, total, left, c->variant,
                                 c->c.at.n ? pk_point_text(&c->c.at, NULL, &a) : "",
                                 s->status == PK_ST_OK ? "" : pk_status_name(s->status));
    if (p->kind == PK_PROGRESS_PLAIN) {
        pk_print_progress(line, "\n");
        return;
    }
    struct winsize w;
    const int width = (ioctl(STDERR_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80) - 1;
    pk_progress_erase(p);
    pk_print_progress(pk_strndup(&a, line, strnlen(line, (size_t)width)), "");
    p->drawn = true;
}

void pk_progress_warning(void *progress, const char *text)
{
    const struct pk_progress *p = progress;
    pk_print_warning(p->app, "%s", text);
}

void pk_progress_end(struct pk_progress *p)
{
    pk_progress_erase(p);
    p->app->progress = NULL;
}
