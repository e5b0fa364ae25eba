/* Doctor, advice: a row of either table. Advice that several rows share is printed once, and what --require needs is kept for the exit
 * status. */
#include "cmd/doctor/doctor.h"

#include "base/text/words.h"

#include <string.h>

static bool equal_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* Whether an earlier row has this text, so that people need not read it again. */
static bool is_repeated(struct doctor *d, const char *name, const char *found, const char *advice)
{
    for (size_t i = 0; i < d->n_shared_advice; i++) {
        struct pk_shared_advice *s = &d->shared_advice[i];
        if (!equal_text(s->found, found) || !equal_text(s->advice, advice))
            continue;
        s->others = s->others ? pk_printf(d->app->arena, "%s, %s", s->others, name) : name;
        return true;
    }
    if (d->n_shared_advice < PK_SHARED_ADVICE_MAX)
        d->shared_advice[d->n_shared_advice++] =
            (struct pk_shared_advice){.name = name, .found = found, .advice = advice};
    return false;
}

void pk_doctor_put(struct doctor *d, const char *name, const char *state, const char *found,
                   const char *advice, int error)
{
    const struct doctor_options *o = d->app->options;
    const bool ok = strcmp(state, "ok") == 0, is_short = pk_out_is_shortened(d->app->out);
    for (size_t i = 0; i < o->require.n && !ok; i++)
        if (strcmp(o->require.v[i], name) == 0)
            d->requirements[i] = (struct pk_requirement){found, advice};
    if (!ok && d->people && is_repeated(d, name, found, advice))
        return;
    if (ok && is_short) {
        pk_texts_add(&d->ready, name, d->app->arena);
        return;
    }
    struct pk_row *row = pk_row_begin(d->app->out);
    pk_put_text(row, "name", name);
    pk_put_text(row, "state", state);
    pk_put_text(row, "found",
                d->people && advice && !is_short ? pk_printf(d->app->arena, "%s → %s", found, advice)
                                                 : found);
    if (error && !is_short)
        pk_put_int(row, "error", error);
    pk_put_text(row, "advice", advice || !is_short ? advice : found);
    pk_row_end(row);
}

void pk_doctor_end_table(struct doctor *d)
{
    if (d->ready.n)
        pk_out_note(d->app->out, pk_printf(d->app->arena, "%s: %s.", d->measured ? "Counted" : "Ready",
                                           pk_list(d->ready.v, d->ready.n, ", ", d->app->arena)));
    d->ready = (struct pk_texts){0};
    d->measured = true;
    pk_out_fit(d->app->out);
    for (size_t i = 0; i < d->n_shared_advice; i++) {
        struct pk_shared_advice *s = &d->shared_advice[i];
        if (s->others)
            pk_out_note(d->app->out, pk_printf(d->app->arena, "As %s: %s.", s->name, s->others));
        s->others = NULL;
    }
}
