/* Refused: cases that a run skips, and what the user can do about each. */
#include "cmd/run/run.h"

#include "base/text/units.h"
#include "base/text/words.h"

#include <string.h>

/* --- too large --- */

struct too_large {
    size_t n;
    int64_t least, most; /* predicted bytes */
};

static struct too_large too_large(const struct pk_plan *plan)
{
    struct too_large t = {.least = INT64_MAX};
    for (size_t i = 0; i < plan->n; i++) {
        const struct pk_planned *p = &plan->v[i];
        if (p->skip || !p->too_large)
            continue;
        t.n++;
        t.least = p->predicted_bytes < t.least ? p->predicted_bytes : t.least;
        t.most = p->predicted_bytes > t.most ? p->predicted_bytes : t.most;
    }
    return t;
}

void pk_run_note_too_large(const struct run *r)
{
    char least[32], most[32], limit[32];
    const struct too_large t = too_large(&r->plan);
    if (!t.n || !pk_plan_to_try(&r->plan))
        return;
    pk_format_bytes(t.least, least, sizeof least);
    pk_format_bytes(t.most, most, sizeof most);
    pk_note(r->app,
            "%zu of %s not tried: not enough memory, predicted to take %s%s%s%s%s; choose smaller sizes with "
            "-a, or another --memory-limit (--dry-run shows each)",
            t.n, pk_plural(r->plan.n, "case", r->app->arena), least, t.most > t.least ? " to " : "",
            t.most > t.least ? most : "", r->plan.limit_bytes ? ", the limit is " : "",
            r->plan.limit_bytes ? pk_format_bytes(r->plan.limit_bytes, limit, sizeof limit) : "");
}

void pk_run_note_fitting(const struct run *r)
{
    char limit[32];
    const struct too_large t = too_large(&r->plan);
    if (t.n && r->plan.limit_bytes)
        pk_out_note(r->app->out, pk_printf(r->app->arena,
                                           "%s of memory is not enough for %s: choose smaller sizes with -a, "
                                           "or a larger --memory-limit if the device has it.",
                                           pk_format_bytes(r->plan.limit_bytes, limit, sizeof limit),
                                           pk_plural(t.n, "case", r->app->arena)));
}

/* No case fits: how much the smallest needs, and what there is. */
static enum pk_code none_fits(const struct run *r, struct pk_err *err)
{
    char least[32], limit[32];
    const struct too_large t = too_large(&r->plan);
    if (!t.n || !r->plan.limit_bytes)
        pk_why(err, "the device does not have the memory that they take");
    else
        pk_why(err, "the smallest case is predicted to take %s, and the device's limit is %s",
               pk_format_bytes(t.least, least, sizeof least),
               pk_format_bytes(r->plan.limit_bytes, limit, sizeof limit));
    return pk_fix(err,
                  "choose smaller sizes with -a (`perfkit run %s --dry-run` shows what each case needs), or "
                  "raise --memory-limit",
                  r->probe->name);
}

/* --- skipped --- */

struct reason {
    const char *text;
    size_t n;
};

/* The reason that most cases are skipped for; of equally frequent ones the first. `skipped` counts all. */
static struct reason commonest(const struct pk_plan *plan, struct pk_arena *a, size_t *skipped)
{
    struct reason *v = pk_new_n(a, struct reason, plan->n + 1), most = {0};
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

/* Every case was skipped by the plan. */
static enum pk_code all_skipped(const struct run *r, const struct reason *why, struct pk_err *err)
{
    if (why->n == r->plan.n)
        pk_why(err, "%s", why->text);
    else
        pk_why(err, "%zu of them: %s", why->n, why->text);
    return pk_fix(err,
                  "choose other values with -a, another --variant or another --device; `perfkit run %s "
                  "--dry-run` shows why each case is skipped",
                  r->probe->name);
}

enum pk_code pk_run_nothing_measured(const struct run *r, struct pk_err *err)
{
    const struct pk_session_result *s = &r->result;
    size_t skipped;
    const struct reason why = commonest(&r->plan, r->app->arena, &skipped);
    pk_fail(err, PK_E_NOTHING, "nothing was measured: %s out of memory, %zu timed out, %zu skipped",
            pk_plural(s->oom, "case", r->app->arena), s->timeout, s->skipped + s->not_reached);
    if (s->oom)
        return none_fits(r, err);
    if (skipped == r->plan.n)
        return all_skipped(r, &why, err);
    pk_why(err, "no case of this grid can be measured under these limits");
    if (s->timeout && r->launched.by)
        return pk_fix(err, "start every rank with the same command line, because the others wait for a rank "
                           "that does something else; or give each case more time with --timeout");
    if (s->timeout)
        return pk_fix(err, "give each case more time with --timeout");
    if (r->o->budget_ns)
        return pk_fix(err, "give the run a longer --budget");
    return pk_fix(err, "`perfkit run %s --dry-run` shows what each case needs; choose smaller sizes with -a",
                  r->probe->name);
}
