/* Doctor, said: advice that several rows share is printed once, and what --require found is kept for the exit status. */
#include "cmd/doctor/doctor.h"

#include <string.h>

const char *pk_doctor_words(const struct doctor *d, const char *found, const char *advice)
{
    return d->people && advice ? pk_printf(d->app->arena, "%s → %s", found, advice) : found;
}

static bool equal_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool pk_doctor_said(struct doctor *d, const char *name, const char *found, const char *advice)
{
    if (!d->people)
        return false;
    for (size_t i = 0; i < d->n_said; i++) {
        struct pk_said *s = &d->said[i];
        if (!equal_text(s->found, found) || !equal_text(s->advice, advice))
            continue;
        s->others = s->others ? pk_printf(d->app->arena, "%s, %s", s->others, name) : name;
        return true;
    }
    if (d->n_said < PK_SAID_MOST)
        d->said[d->n_said++] = (struct pk_said){.name = name, .found = found, .advice = advice};
    return false;
}

void pk_doctor_note_said(struct doctor *d)
{
    for (size_t i = 0; i < d->n_said; i++) {
        struct pk_said *s = &d->said[i];
        if (s->others)
            pk_out_note(d->app->out, pk_printf(d->app->arena, "As %s: %s.", s->name, s->others));
        s->others = NULL;
    }
}

bool pk_doctor_requires(const struct doctor *d, const char *name)
{
    const struct doctor_options *o = d->app->options;
    for (size_t i = 0; i < o->require.n; i++)
        if (strcmp(o->require.v[i], name) == 0)
            return true;
    return false;
}

void pk_doctor_unmet(struct doctor *d, const char *name, const char *found, const char *advice)
{
    const struct doctor_options *o = d->app->options;
    for (size_t i = 0; i < o->require.n; i++)
        if (strcmp(o->require.v[i], name) == 0)
            d->unmet[i] = (struct pk_unmet){found, advice};
}
