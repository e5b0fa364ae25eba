/* JUnit: the report format for CI servers, with everything that the strictest schema requires, in its order. */
#include "judge/report/report.h"

#include "base/text/buf.h"
#include "judge/pair/pair.h"
#include "out/text.h"

#include <string.h>

/* What XML 1.0 does not have, bytes that are no UTF-8, and what is unsafe in text become '?'. */
static bool is_character(uint32_t c)
{
    const bool known = c != PK_UTF8_BAD && c != 0xfffe && c != 0xffff && !pk_utf8_unsafe(c);
    return known || c == '\n' || c == '\t';
}

static const char *xml(const char *text, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (size_t n; *text; text += n) {
        uint32_t c;
        n = pk_utf8_next(text, &c);
        switch (c) {
        case '&':
            pk_buf_str(&b, "&amp;");
            break;
        case '<':
            pk_buf_str(&b, "&lt;");
            break;
        case '>':
            pk_buf_str(&b, "&gt;");
            break;
        case '"':
            pk_buf_str(&b, "&quot;");
            break;
        default:
            pk_buf_add(&b, is_character(c) ? text : "?", is_character(c) ? n : 1);
        }
    }
    return pk_buf_text(&b);
}

/* How a verdict ends a test. */
static const struct {
    const char *element; /* NULL = passed */
} endings[] = {
    [PK_SLOWER] = {"failure"}, [PK_SLOWER_IN_SOME] = {"failure"},
    [PK_UNSTABLE] = {"error"}, [PK_UNREPLICATED] = {"error"},
    [PK_FASTER] = {NULL},      [PK_UNDECIDED] = {"skipped"},
    [PK_SAME] = {NULL},
};

static size_t count(const struct pk_verdicts *v, const char *element)
{
    size_t n = 0;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        n += endings[i].element && strcmp(endings[i].element, element) == 0 ? v->of[i] : 0;
    return n;
}

/* Rows, then failures, with the axes in which any of them differ: what a case is called does not hang on whether another one failed. */
static const struct pk_compared *placed(const struct pk_report *r, struct pk_arena *a)
{
    const size_t rows = r->comparison->n, n = rows + r->n_failures;
    struct pk_compared *v = pk_new_n(a, struct pk_compared, n + 1);
    struct pk_figures *f = pk_new_n(a, struct pk_figures, r->n_failures + 1);
    for (size_t i = 0; i < rows; i++)
        v[i] = r->comparison->v[i];
    for (size_t i = 0; i < r->n_failures; i++) {
        f[i].axes = r->failures[i].axes ? r->failures[i].axes : "{}";
        v[rows + i].new_ = &f[i];
    }
    if (n)
        pk_compare_places(v, n, NULL, a);
    return v;
}

static void add_row(struct pk_buf *b, const struct pk_compared *c, const char *place, double seconds)
{
    struct pk_arena *a = b->arena;
    const struct pk_figures *f = c->new_;
    const struct pk_decision *d = &c->decision;
    const char *element = endings[d->verdict].element;
    pk_buf_printf(b, "    <testcase classname=\"perfkit.%s.%s\" name=\"%s%s%s\" time=\"%.3f\"",
                  xml(c->entry ? c->entry : f->experiment, a), xml(f->metric, a), xml(f->variant, a),
                  *place ? " " : "", xml(place, a), seconds);
    if (!element) {
        pk_buf_str(b, "/>\n");
        return;
    }
    const bool proved = d->reason == PK_REASON_PROVED;
    const char *message = xml(pk_printf(a, "%s%s%s", pk_report_row(c, a), proved ? "" : ": ",
                                        proved ? "" : pk_reason_text(d->reason)),
                              a);
    if (strcmp(element, "skipped") == 0)
        pk_buf_printf(b, "><skipped message=\"%s\"/></testcase>\n", message);
    else
        pk_buf_printf(b, "><%s type=\"%s\" message=\"%s\">%s</%s></testcase>\n", element,
                      pk_verdict_name(d->verdict), message, message, element);
}

/* What is partly missing has a row, too. */
static void add_failure(struct pk_buf *b, const struct pk_failure *f, const char *place)
{
    struct pk_arena *a = b->arena;
    const char *of = f->variant ? pk_printf(a, "%s.", f->entry ? f->entry : f->experiment) : "",
               *what = f->metric ? f->metric : pk_printf(a, "side.%s", f->side),
               *processes = f->kind == PK_PARTLY_MISSING ? ".processes" : "",
               *name = f->variant ? pk_printf(a, "%s%s%s", f->variant, *place ? " " : "", place)
                                  : pk_failure_text(f, a);
    pk_buf_printf(b, "    <testcase classname=\"perfkit.%s%s%s\" name=\"%s\" time=\"0.000\">", xml(of, a),
                  xml(what, a), processes, xml(name, a));
    if (f->allowed)
        pk_buf_printf(b, "<skipped message=\"%s\"/></testcase>\n", xml(f->message, a));
    else
        pk_buf_printf(b, "<error type=\"%s\" message=\"%s\">%s</error></testcase>\n", xml(f->status, a),
                      xml(f->message, a), xml(f->message, a));
}

const char *pk_report_junit(const struct pk_report *r, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    const struct pk_verdicts v = pk_compare_count(r->comparison);
    const size_t tests = v.rows + r->n_failures;
    const struct pk_compared *all = placed(r, a);
    size_t allowed = 0;
    for (size_t i = 0; i < r->n_failures; i++)
        allowed += r->failures[i].allowed;
    pk_buf_printf(&b,
                  "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n"
                  "  <testsuite package=\"perfkit\" id=\"0\" name=\"%s\" timestamp=\"%.19s\" hostname=\"%s\" "
                  "tests=\"%zu\" failures=\"%zu\" errors=\"%zu\" skipped=\"%zu\" time=\"%.3f\">\n"
                  "    <properties/>\n",
                  xml(r->name, a), r->started_at, *r->host ? xml(r->host, a) : "localhost", tests,
                  count(&v, "failure"), count(&v, "error") + r->n_failures - allowed,
                  count(&v, "skipped") + allowed, r->seconds);
    for (size_t i = 0; i < r->comparison->n; i++)
        if (r->comparison->v[i].judged)
            add_row(&b, &r->comparison->v[i], all[i].place, r->seconds / (double)tests);
    for (size_t i = 0; i < r->n_failures; i++)
        add_failure(&b, &r->failures[i], all[r->comparison->n + i].place);
    pk_buf_str(&b, "    <system-out>");
    for (size_t i = 0; i < r->comparison->n; i++)
        pk_buf_printf(&b, "%s\n", xml(pk_report_row(&r->comparison->v[i], a), a));
    pk_buf_str(&b, "</system-out>\n    <system-err/>\n  </testsuite>\n</testsuites>\n");
    return pk_buf_text(&b);
}
