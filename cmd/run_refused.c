/* Refused: which cases of a run are not tried, and what can be done about it. */
#include "cmd/run.h"

#include "base/plural.h"
#include "base/units.h"

struct too_large {
    size_t n;
    int64_t least, most; /* predicted bytes */
};

static struct too_large too_large(const struct pk_plan *plan)
{
    struct too_large t = {.least = INT64_MAX};
    for (size_t i = 0; i < plan->n; i++) {
        const struct pk_planned *p = &plan->v[i];
        if (p->skip || !p->over_limit)
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
    pk_note(
        r->app,
        "%zu of %s not tried for want of memory: predicted to take %s%s%s, the limit is %s; smaller sizes "
        "with -a, or another --memory-limit, would change that (--dry-run shows each)",
        t.n, pk_plural(r->plan.n, "case", r->app->arena), least, t.most > t.least ? " to " : "",
        t.most > t.least ? most : "", pk_format_bytes(r->plan.limit_bytes, limit, sizeof limit));
}

/* No case fits: how much the smallest needs, and what there is. */
static enum pk_code none_fits(const struct run *r, struct pk_err *err)
{
    char least[32], limit[32];
    const struct too_large t = too_large(&r->plan);
    if (!t.n)
        pk_why(err, "the device refused the memory they asked for");
    else
        pk_why(err, "the smallest case is predicted to take %s, and the device's limit is %s",
               pk_format_bytes(t.least, least, sizeof least),
               pk_format_bytes(r->plan.limit_bytes, limit, sizeof limit));
    return pk_fix(err,
                  "choose smaller sizes with -a (`perfkit run %s --dry-run` shows what each case needs), or "
                  "raise --memory-limit",
                  r->probe->name);
}

enum pk_code pk_run_nothing_measured(const struct run *r, struct pk_err *err)
{
    const struct pk_session_result *s = &r->result;
    pk_fail(err, PK_E_NOTHING, "nothing was measured: %s out of memory, %zu timed out, %zu skipped",
            pk_plural(s->oom, "case", r->app->arena), s->timeout, s->skipped + s->not_reached);
    if (s->oom)
        return none_fits(r, err);
    pk_why(err, "no case of this grid can be measured under these limits");
    if (s->timeout)
        return pk_fix(err, "give each case more time with --timeout");
    if (r->o->budget_ns)
        return pk_fix(err, "give the run a longer --budget");
    return pk_fix(err, "`perfkit run %s --dry-run` shows what each case needs; choose smaller sizes with -a",
                  r->probe->name);
}
