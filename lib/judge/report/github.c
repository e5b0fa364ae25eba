/* GitHub: annotations of a workflow, and figures for the github-action-benchmark action. */
#include "judge/report/report.h"

#include "base/text/buf.h"
#include "base/text/words.h"
#include "out/text.h"
#include "json/json.h"

#include <math.h>
#include <string.h>

enum { MOST_SINGLE = 9 }; /* ten of a kind are shown */

/* A value of a workflow command, shown as what it is; a property's has two more characters that mean something. */
static const char *escaped(const char *text, bool property, struct pk_arena *a)
{
    static const struct {
        char c;
        const char *as;
        bool of_properties;
    } escapes[] = {{'%', "%25"}, {'\r', "%0D"}, {'\n', "%0A"}, {':', "%3A", true}, {',', "%2C", true}};
    struct pk_buf b = {.arena = a};
    for (size_t bytes; *text; text += bytes) {
        uint32_t code;
        size_t i = 0, n = sizeof escapes / sizeof *escapes;
        bytes = pk_utf8_next(text, &code);
        while (i < n && (escapes[i].c != *text || (escapes[i].of_properties && !property)))
            i++;
        if (i < n)
            pk_buf_str(&b, escapes[i].as);
        else if (code == PK_UTF8_BAD || pk_utf8_unsafe(code))
            pk_buf_str(&b, "\xef\xbf\xbd");
        else
            pk_buf_add(&b, text, bytes);
    }
    return pk_buf_text(&b);
}

static void annotate(struct pk_buf *b, const char *kind, const char *title, const char *message)
{
    pk_buf_printf(b, "::%s title=%s::%s\n", kind, escaped(title, true, b->arena),
                  escaped(message, false, b->arena));
}

/* One line for all rows of a verdict, then the worst. */
static void annotate_rows(struct pk_buf *b, const struct pk_report *r, enum pk_verdict verdict,
                          const char *kind)
{
    const size_t n = pk_compare_count(r->comparison).of[verdict];
    size_t shown = 0;
    const char *title = pk_printf(b->arena, "%s: %s", r->name, pk_verdict_name(verdict));
    if (n > 1)
        annotate(b, kind, title,
                 pk_printf(b->arena, "%s %s", pk_plural(n, "row", b->arena), pk_verdict_name(verdict)));
    for (size_t i = 0; i < r->comparison->n && shown < MOST_SINGLE; i++) {
        const struct pk_compared *c = &r->comparison->v[i];
        if (!c->judged || c->decision.verdict != verdict)
            continue;
        annotate(b, kind, title, pk_report_row(c, b->arena));
        shown++;
    }
}

/* One line for all, when some of them are not shown, then the first. */
static void annotate_failures(struct pk_buf *b, const struct pk_report *r, bool allowed)
{
    struct pk_arena *a = b->arena;
    const char *kind = allowed ? "notice" : "error";
    size_t n = 0, shown = 0;
    for (size_t i = 0; i < r->n_failures; i++)
        n += r->failures[i].allowed == allowed;
    if (n > MOST_SINGLE)
        annotate(b, kind, r->name, pk_printf(a, "%zu cases or metrics are not compared", n));
    for (size_t i = 0; i < r->n_failures && shown < MOST_SINGLE; i++) {
        const struct pk_failure *f = &r->failures[i];
        if (f->allowed != allowed)
            continue;
        annotate(
            b, kind,
            pk_printf(a, "%s: %s%s%s", r->name, f->variant ? f->side : "", f->variant ? " " : "", f->status),
            f->variant ? pk_printf(a, "%s: %s", pk_failure_text(f, a), f->message) : f->message);
        shown++;
    }
}

const char *pk_report_annotations(const struct pk_report *r, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    annotate_rows(&b, r, PK_SLOWER, "error");
    annotate_rows(&b, r, PK_SLOWER_IN_SOME, "error");
    annotate_rows(&b, r, PK_UNSTABLE, "warning");
    annotate_failures(&b, r, false);
    annotate_failures(&b, r, true);
    return pk_buf_text(&b);
}

/* --- a step's outputs ----------------------------------------------------------------------------------------------------- */

const char *pk_report_outputs(const struct pk_report *r, struct pk_arena *a)
{
    static const enum pk_verdict order[] = {PK_SLOWER,    PK_SLOWER_IN_SOME, PK_FASTER,      PK_SAME,
                                            PK_UNDECIDED, PK_UNSTABLE,       PK_UNREPLICATED};
    const struct pk_verdicts v = pk_compare_count(r->comparison);
    struct pk_buf b = {.arena = a};
    pk_buf_printf(&b, "verdict=%s\nrows=%zu\n", r->outcome, v.rows);
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        pk_buf_printf(&b, "%s=%zu\n", pk_verdict_name(order[i]), v.of[order[i]]);
    pk_buf_printf(&b, "missing=%zu\n", pk_count_missing(r->comparison));
    return pk_buf_text(&b);
}

/* --- github-action-benchmark -------------------------------------------------------------------------------------------- */

static const char *safe(const char *text, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    pk_text_safe(&b, text);
    return pk_buf_text(&b);
}

static json_t *entry(const struct pk_compared *c, struct pk_arena *a)
{
    const struct pk_figures *f = c->new_;
    json_t *j = json_pack("{s:s, s:s, s:f}", "name",
                          safe(pk_printf(a, "%s%s%s %s%s%s", c->entry ? c->entry : "", c->entry ? " " : "",
                                         f->metric, f->variant, *c->place ? " " : "", c->place),
                               a),
                          "unit", safe(f->unit, a), "value", f->median);
    if (c->judged)
        json_object_set_new(j, "extra", json_string(safe(pk_report_row(c, a), a)));
    return j;
}

const char *pk_report_gab(const struct pk_report *r, bool bigger, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *list = json_array();
    for (size_t i = 0; i < r->comparison->n; i++) {
        const struct pk_compared *c = &r->comparison->v[i];
        const char *direction = c->new_->direction;
        if (pk_has_direction(direction) && pk_higher_is_better(direction) == bigger &&
            isfinite(c->new_->median))
            json_array_append_new(list, entry(c, a));
    }
    return json_array_size(list) ? pk_printf(a, "%s\n", pk_json_text(a, list, JSON_INDENT(1))) : NULL;
}
