/* doctor, sources of counts: each does work whose counts are known, where it can, and says what it found and what would help. */
#include "cmd/doctor.h"

#include "counter/source.h"

#include <string.h>

static struct pk_cell text(const char *s)
{
    return (struct pk_cell){.type = s ? PK_CELL_TEXT : PK_CELL_NULL, .s = s};
}

static const struct pk_column columns[] = {
    {.key = "name", .heading = "Source", .left = true},
    {.key = "state", .heading = "State", .left = true},
    {.key = "found", .heading = "Found", .left = true},
    {.key = "error", .heading = "Error", .machine = true},
    {.key = "advice", .heading = "What to do", .left = true},
};

static const char *const states[] = {
    [PK_SOURCE_OK] = "ok",
    [PK_SOURCE_DEGRADED] = "degraded",
    [PK_SOURCE_UNAVAILABLE] = "unavailable",
};

void pk_doctor_sources(struct doctor *d)
{
    pk_out_table(d->app->out, "sources", "What can be counted here", columns,
                 sizeof columns / sizeof *columns);
    for (const struct pk_source *const *s = pk_sources; *s; s++) {
        const bool required = pk_doctor_requires(d, (*s)->name);
        if (!strcmp((*s)->name, "fake") && !required)
            continue;
        const struct pk_source_found f =
            ((*s)->selftest ? (*s)->selftest : (*s)->check)(&pk_counter_host, d->app->arena);
        pk_out_row(d->app->out,
                   (struct pk_cell[]){text((*s)->name),
                                      text(states[f.state]),
                                      text(f.why),
                                      {.type = f.error ? PK_CELL_INT : PK_CELL_NULL, .i = f.error},
                                      text(f.fix)});
        if (f.state != PK_SOURCE_OK)
            pk_doctor_unmet(d, (*s)->name, f.why, f.fix);
    }
}
