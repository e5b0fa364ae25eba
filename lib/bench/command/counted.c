/* Counted: from counts to series. */
#include "bench/command/counted.h"

#include "base/buf.h"
#include "bench/measure/notes.h"

static void add_name(struct pk_buf *b, const char *name)
{
    pk_buf_printf(b, "%s%s", b->n ? ", " : "", name);
}

static void note_if_any(struct pk_notes *notes, const char *key, const char *text)
{
    if (*text)
        pk_note_text(notes, key, text);
}

struct pk_slice pk_counted(const struct pk_cpu_count counts[PK_CPU_EVENTS], const struct pk_counter_env *env,
                           int invocation, struct pk_arena *a)
{
    static const int64_t ordinal = 0;
    struct pk_metric_decl *metrics = pk_new_n(a, struct pk_metric_decl, PK_CPU_EVENTS);
    struct pk_series *series = pk_new_n(a, struct pk_series, PK_CPU_EVENTS);
    struct pk_notes notes = {.arena = a};
    struct pk_buf user_only = {.arena = a}, scaled = {.arena = a};
    size_t n = 0;
    for (size_t i = 0; i < PK_CPU_EVENTS; i++) {
        const struct pk_cpu_event *e = &pk_cpu_events[i];
        if (counts[i].error)
            continue;
        metrics[n] =
            (struct pk_metric_decl){e->name, e->unit, "lower", e->class, "median", "sum", "reported"};
        series[n] = (struct pk_series){.metric = n,
                                       .phase = PK_PHASE_STEADY,
                                       .reps = 1,
                                       .n = 1,
                                       .ordinal = &ordinal,
                                       .integer = &counts[i].value};
        n++;
        if (counts[i].user_only)
            add_name(&user_only, e->name);
        if (counts[i].scaled)
            add_name(&scaled, e->name);
    }
    const char *absent = pk_cpu_counts_absent(counts, 0, PK_CPU_EVENTS, env, a);
    note_if_any(&notes, "not_counted", absent);
    note_if_any(&notes, "user_only", pk_buf_text(&user_only));
    note_if_any(&notes, "scaled", pk_buf_text(&scaled));
    return (struct pk_slice){.pass = PK_PASS_COUNTER,
                             .invocation = invocation,
                             .status = n ? PK_ST_OK : PK_ST_SKIPPED,
                             .message = n ? "" : absent,
                             .n_metrics = n,
                             .metrics = metrics,
                             .n_series = n,
                             .series = series,
                             .n_notes = notes.n,
                             .notes = notes.v};
}
