/* Html: escaping, in one place. */
#include "report/html.h"

#include "out/text.h"

#include <stdarg.h>
#include <string.h>

static void put_escaped(FILE *f, const char *text)
{
    static const struct {
        char c;
        const char *as;
    } escapes[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf b = {.arena = &a};
    pk_text_safe(&b, text);
    for (const char *p = pk_buf_text(&b); *p; p++) {
        size_t i = 0, n = sizeof escapes / sizeof *escapes;
        while (i < n && escapes[i].c != *p)
            i++;
        if (i < n)
            fputs(escapes[i].as, f);
        else
            putc(*p, f);
    }
}

void pk_html(FILE *f, const char *fmt, ...)
{
    va_list texts;
    va_start(texts, fmt);
    for (const char *mark; (mark = strchr(fmt, '%')); fmt = mark + 1) {
        const char *text = va_arg(texts, const char *);
        fwrite(fmt, 1, (size_t)(mark - fmt), f);
        put_escaped(f, text ? text : "");
    }
    va_end(texts);
    fputs(fmt, f);
}

/* A '<' can only be inside a string. */
static int put_json(const char *bytes, size_t n, void *to)
{
    FILE *f = to;
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == '<')
            fputs("\\u003c", f);
        else
            putc(bytes[i], f);
    return 0;
}

void pk_html_json(FILE *f, const char *id, const json_t *j)
{
    enum { DIGITS = 7 };
    pk_html(f, "<script type=\"application/json\" id=\"%\">\n", id);
    const int failed =
        json_dump_callback(j, put_json, f, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(DIGITS));
    pk_html(f, "%\n</script>\n", failed ? "[]" : "");
}
