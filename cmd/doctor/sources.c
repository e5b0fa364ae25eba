/* Doctor, sources: each counter source counts work whose result is known; the row has what it counted and what would help. */
#include "cmd/doctor/doctor.h"

#include "base/clock.h"
#include "bench/client/source_selftest.h"

#include <string.h>

enum { PATIENCE_S = 60 }; /* for one source: a GPU's context alone may take many seconds */

static struct pk_cell text(const char *s)
{
    return (struct pk_cell){.type = s ? PK_CELL_TEXT : PK_CELL_NULL, .s = s};
}

static const struct pk_column columns[] = {
    {.key = "name", .heading = "Source", .left = true},
    {.key = "state", .heading = "State", .left = true},
    {.key = "found", .heading = PK_DOCTOR_HEADING, .left = true},
    {.key = "error", .heading = "Error", .machine = true},
    {.key = "advice", .left = true, .machine = true},
};

static const char *const states[] = {
    [PK_SOURCE_OK] = "ok",
    [PK_SOURCE_DEGRADED] = "degraded",
    [PK_SOURCE_UNAVAILABLE] = "unavailable",
};

static void print(struct doctor *d, const struct pk_source *s, const struct pk_source_found *f)
{
    pk_out_row(d->app->out, (struct pk_cell[]){text(s->name),
                                               text(states[f->state]),
                                               text(pk_doctor_words(d, f->why, f->fix)),
                                               {.type = f->error ? PK_CELL_INT : PK_CELL_NULL, .i = f->error},
                                               text(f->fix)});
}

enum pk_code pk_doctor_sources(struct doctor *d, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    pk_out_table(d->app->out, "sources", "What can be counted here", columns,
                 sizeof columns / sizeof *columns);
    for (const struct pk_source *const *s = pk_sources; !rc && *s; s++) {
        const bool required = pk_doctor_requires(d, (*s)->name);
        struct pk_source_found f;
        if (!strcmp((*s)->name, "fake") && !required)
            continue;
        rc = pk_source_selftest(&pk_native_provider, (*s)->name, pk_clock_ns() + PATIENCE_S * PK_NS_PER_S,
                                &pk_stop_flag, d->app->arena, &f, err);
        if (rc)
            break;
        if (f.state != PK_SOURCE_OK)
            pk_doctor_unmet(d, (*s)->name, f.why, f.fix);
        if (f.state == PK_SOURCE_OK || !pk_doctor_said(d, (*s)->name, f.why, f.fix))
            print(d, *s, &f);
    }
    pk_doctor_note_said(d);
    return rc;
}
