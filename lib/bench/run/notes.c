/* Notes: messages about a run: skipped cases with a fix for each, and events that cannot be counted here. */
#include "bench/run/run.h"

#include "base/text/buf.h"
#include "base/text/units.h"
#include "base/text/words.h"

#include <stdarg.h>
#include <string.h>

void pk_run_note(const struct pk_run *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    r->message(r->user, false, pk_vprintf(r->arena, fmt, ap));
    va_end(ap);
}

void pk_run_warn(const struct pk_run *r, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    r->message(r->user, true, pk_vprintf(r->arena, fmt, ap));
    va_end(ap);
}

/* --- cases that are skipped ------------------------------------------------------------------------------ */

/* --- too large --- */

struct too_large {
    size_t n;
    int64_t least, most; /* predicted bytes */
};

static struct too_large too_large(const struct pk_case_plan *plan)
{
    struct too_large t = {.least = INT64_MAX};
    for (size_t i = 0; i < plan->n; i++) {
        const struct pk_planned_case *p = &plan->v[i];
        if (p->skip || !p->too_large)
            continue;
        t.n++;
        t.least = p->predicted_bytes < t.least ? p->predicted_bytes : t.least;
        t.most = p->predicted_bytes > t.most ? p->predicted_bytes : t.most;
    }
    return t;
}

void pk_run_note_too_large(const struct pk_run *r)
{
    char least[32], most[32], limit[32];
    const struct too_large t = too_large(&r->plan);
    if (!t.n || !pk_case_plan_to_try(&r->plan))
        return;
    pk_format_bytes(t.least, least, sizeof least);
    pk_format_bytes(t.most, most, sizeof most);
    pk_run_note(
        r,
        "%zu of %s not tried: not enough memory, predicted to take %s%s%s%s%s; choose smaller sizes with "
        "-a, or another --memory-limit (--dry-run shows each)",
        t.n, pk_plural(r->plan.n, "case", r->arena), least, t.most > t.least ? " to " : "",
        t.most > t.least ? most : "", r->plan.limit_bytes ? ", the limit is " : "",
        r->plan.limit_bytes ? pk_format_bytes(r->plan.limit_bytes, limit, sizeof limit) : "");
}

const char *pk_run_fitting_text(const struct pk_run *r)
{
    char limit[32];
    const struct too_large t = too_large(&r->plan);
    if (!t.n || !r->plan.limit_bytes)
        return NULL;
    return pk_printf(
        r->arena,
        "%s of memory is not enough for %s: choose smaller sizes with -a, or a larger --memory-limit if the "
        "device has it.",
        pk_format_bytes(r->plan.limit_bytes, limit, sizeof limit), pk_plural(t.n, "case", r->arena));
}

/* --- skipped --- */

struct skip_reason {
    const char *text;
    size_t n;
};

/* The reason that most cases are skipped for; of equally frequent ones the first. `skipped` counts all. */
static struct skip_reason commonest(const struct pk_case_plan *plan, struct pk_arena *a, size_t *skipped)
{
    struct skip_reason *v = pk_new_n(a, struct skip_reason, plan->n + 1), most = {0};
    size_t n = 0;
    *skipped = 0;
    for (size_t i = 0; i < plan->n; i++) {
        size_t at = 0;
        if (!plan->v[i].skip)
            continue;
        ++*skipped;
        while (at < n && strcmp(v[at].text, plan->v[i].skip) != 0)
            at++;
        v[at].text = plan->v[i].skip;
        v[at].n++;
        n += at == n;
    }
    for (size_t at = 0; at < n; at++)
        most = v[at].n > most.n ? v[at] : most;
    return most;
}

enum pk_code pk_run_nothing_measured(const struct pk_run *r, struct pk_err *err)
{
    const struct pk_session_result *s = &r->result;
    size_t skipped;
    const struct skip_reason why = commonest(&r->plan, r->arena, &skipped);
    pk_fail(err, PK_E_NOTHING, "nothing was measured: %s out of memory, %zu timed out, %zu skipped",
            pk_plural(s->oom, "case", r->arena), s->timeout, s->skipped + s->not_reached);
    if (s->oom) {
        /* No case fits: how much the smallest needs, and what there is. */
        char least[32], limit[32];
        const struct too_large t = too_large(&r->plan);
        if (!t.n || !r->plan.limit_bytes)
            pk_why(err, "the device does not have the memory that they take");
        else
            pk_why(err, "the smallest case is predicted to take %s, and the device's limit is %s",
                   pk_format_bytes(t.least, least, sizeof least),
                   pk_format_bytes(r->plan.limit_bytes, limit, sizeof limit));
        return pk_fix(
            err,
            "choose smaller sizes with -a (`perfkit run %s --dry-run` shows what each case needs), or "
            "raise --memory-limit",
            pk_probe_call(r->probe));
    }
    if (skipped == r->plan.n) {
        /* Every case was skipped by the plan. */
        if (why.n == r->plan.n)
            pk_why(err, "%s", why.text);
        else
            pk_why(err, "%zu of them: %s", why.n, why.text);
        return pk_fix(err,
                      "choose other values with -a, another --variant or another --device; `perfkit run %s "
                      "--dry-run` shows why each case is skipped",
                      pk_probe_call(r->probe));
    }
    pk_why(err, "no case of this grid can be measured under these limits");
    if (s->timeout && r->launcher.by)
        return pk_fix(err, "start every rank with the same command line, because the others wait for a rank "
                           "that does something else; or give each case more time with --timeout");
    if (s->timeout)
        return pk_fix(err, "give each case more time with --timeout");
    if (r->o->budget_ns)
        return pk_fix(err, "give the run a longer --budget");
    return pk_fix(err, "`perfkit run %s --dry-run` shows what each case needs; choose smaller sizes with -a",
                  pk_probe_call(r->probe));
}

/* --- unavailable counters: those with one reason in one sentence ----------------------------------------- */

/* "cycles, branches" of those with the reason of the i-th; NULL when an earlier one has it. */
static const char *sharing(const struct pk_counters *c, size_t i, size_t *n, struct pk_arena *a)
{
    struct pk_buf names = {.arena = a};
    *n = 0;
    for (size_t k = 0; k < c->n_missing; k++) {
        if (!(!strcmp(c->missing[k].why, c->missing[i].why) && !c->missing[k].fix == !c->missing[i].fix &&
              (!c->missing[k].fix || !strcmp(c->missing[k].fix, c->missing[i].fix))))
            continue;
        if (k < i)
            return NULL;
        pk_buf_printf(&names, "%s%s", (*n)++ ? ", " : "", c->missing[k].name);
    }
    return pk_buf_text(&names);
}

struct pk_texts pk_run_unavailable(const struct pk_counters *c, struct pk_arena *a)
{
    struct pk_texts sentences = {0};
    for (size_t i = 0, n; i < c->n_missing; i++) {
        const struct pk_unavailable_counter *m = &c->missing[i];
        const char *names = sharing(c, i, &n, a);
        if (names)
            pk_texts_add(&sentences,
                         pk_printf(a, "%s %s: %s%s%s", names, pk_predicate(n, "are not counted", a), m->why,
                                   m->fix ? "; " : "", m->fix ? m->fix : ""),
                         a);
    }
    return sentences;
}

enum pk_code pk_run_record_unavailable(struct pk_store *s, int64_t run_id, const struct pk_counters *c,
                                       struct pk_arena *a, struct pk_err *err)
{
    struct pk_buf lines = {.arena = a};
    for (size_t i = 0, n; i < c->n_missing; i++) {
        const char *names = sharing(c, i, &n, a);
        if (names)
            pk_buf_printf(&lines, "%s%s (%s)", lines.n ? "; " : "", names, c->missing[i].why);
    }
    const struct pk_setting setting = {0, "not_counted", pk_buf_text(&lines)};
    return lines.n ? pk_store_settings(s, run_id, &setting, 1, err) : PK_OK;
}
