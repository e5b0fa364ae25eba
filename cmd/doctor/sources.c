/* Doctor, sources: each counter source counts work with a known result; the row has the result and a fix. */
#include "cmd/doctor/doctor.h"

#include "base/clock.h"
#include "bench/client/checks.h"

#include <string.h>

enum { TIMEOUT_S = 60 }; /* for one source: a GPU's context alone may take many seconds */

static const struct pk_column columns[] = {
    {.key = "name", .heading = "Source", .left = true},
    {.key = "state", .heading = "State", .left = true, .state = true},
    {.key = "found", .heading = PK_DOCTOR_HEADING, .left = true},
    {.key = "error", .heading = "Error", .machine = true},
    {.key = "advice", .left = true, .machine = true},
};

static const char *const states[] = {
    [PK_SOURCE_OK] = "ok",
    [PK_SOURCE_DEGRADED] = "degraded",
    [PK_SOURCE_UNAVAILABLE] = "unavailable",
};

enum pk_code pk_doctor_sources(struct doctor *d, struct pk_err *err)
{
    enum pk_code rc = PK_OK;
    if (!pk_out_is_shortened(d->app->out)) /* a shortened output has one table */
        pk_out_table(d->app->out, "sources", "What can be counted here", PK_COLUMNS(columns));
    for (const struct pk_source *const *s = pk_sources; !rc && *s; s++) {
        const struct doctor_options *o = d->app->options;
        struct pk_source_found f;
        if (!strcmp((*s)->name, "fake") && !pk_texts_has(&o->require, (*s)->name))
            continue;
        rc = pk_source_selftest(&pk_native_provider, (*s)->name, pk_clock_ns() + TIMEOUT_S * PK_NS_PER_S,
                                &pk_stop_flag, d->app->arena, &f, err);
        if (!rc)
            pk_doctor_put(d, (*s)->name, states[f.state], f.why, f.fix, f.error);
    }
    pk_doctor_end_table(d);
    return rc;
}
