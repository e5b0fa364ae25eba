/* Unavailable counters: groups those with the same reason into one warning. */
#include "cmd/run/unavailable_counters.h"

#include "base/text/buf.h"

#include <string.h>

static bool same_reason(const struct pk_unavailable_counter *a, const struct pk_unavailable_counter *b)
{
    return !strcmp(a->why, b->why) && !a->fix == !b->fix && (!a->fix || !strcmp(a->fix, b->fix));
}

/* "cycles, branches" of those with the reason of the i-th; NULL when an earlier one has it. */
static const char *sharing(const struct pk_counters *c, size_t i, size_t *n, struct pk_arena *a)
{
    struct pk_buf names = {.arena = a};
    *n = 0;
    for (size_t k = 0; k < c->n_missing; k++) {
        if (!same_reason(&c->missing[k], &c->missing[i]))
            continue;
        if (k < i)
            return NULL;
        pk_buf_printf(&names, "%s%s", (*n)++ ? ", " : "", c->missing[k].name);
    }
    return pk_buf_text(&names);
}

void pk_unavailable_counters_warn(const struct pk_app *app, const struct pk_counters *c)
{
    for (size_t i = 0, n; i < c->n_missing; i++) {
        const struct pk_unavailable_counter *m = &c->missing[i];
        const char *names = sharing(c, i, &n, app->arena);
        if (names)
            pk_warn(app, "%s %s not counted: %s%s%s", names, n == 1 ? "is" : "are", m->why,
                    m->fix ? "; " : "", m->fix ? m->fix : "");
    }
}

enum pk_code pk_unavailable_counters_record(struct pk_store *s, int64_t run_id, const struct pk_counters *c,
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
