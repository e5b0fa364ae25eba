/* External counts: a row of readings for each sample. */
#include "bench/client/external_counts.h"

#include "bench/count_series.h"

#include <string.h>

enum { SAMPLES_MOST = 10000 };
static const int64_t reps_most = (int64_t)1 << 40;

static const char *begin(struct pk_external_counts *c, pid_t pid, struct pk_arena *a)
{
    const struct pk_source *source = c->plan->source;
    const struct pk_other_process program = {.pid = pid, .runs = true};
    struct pk_err err;
    if (c->counting)
        return "it began to count twice";
    c->counting = true;
    if (c->why)
        return NULL;
    if ((!c->handle && source->open_other(&pk_counter_host, c->plan, program, a, &c->handle, &err)) ||
        source->start(c->handle, &err))
        c->why = pk_strdup(a, *err.why ? err.why : err.what);
    return NULL;
}

static const char *end(struct pk_external_counts *c, int64_t reps, struct pk_arena *a)
{
    const struct pk_source *source = c->plan->source;
    const size_t n = c->plan->n;
    struct pk_err err;
    bool again;
    if (!c->counting)
        return "it ended counting before it began";
    if (reps < 1 || reps > reps_most || (c->n && reps != c->reps))
        return "a count message whose \"reps\" is not from 1 to 2^40, and the same in each";
    if (c->n == SAMPLES_MOST)
        return "it counted too many samples";
    c->counting = false;
    c->reps = reps;
    if (c->why)
        return NULL;
    c->v = pk_grow(a, c->v, n * sizeof *c->v, c->n, &c->cap);
    if (source->stop(c->handle, &again, &err) || source->read(c->handle, -1, c->v + c->n * n, &err))
        c->why = pk_strdup(a, *err.why ? err.why : err.what);
    c->n++;
    return NULL;
}

const char *pk_external_counts_take(struct pk_external_counts *c, pid_t pid, const json_t *message,
                                    struct pk_arena *a)
{
    const char *state = pk_json_str(message, "state", "");
    return !strcmp(state, "begin") ? begin(c, pid, a)
           : !strcmp(state, "end") ? end(c, pk_json_int(message, "reps", 0), a)
                                   : "a count message whose \"state\" is neither begin nor end";
}

static void add_counts(const struct pk_external_counts *c, struct pk_arena *a, struct pk_slice *reply)
{
    const struct pk_reading **rows = pk_new_n(a, const struct pk_reading *, c->n);
    int64_t *ordinals = pk_new_n(a, int64_t, c->n);
    for (size_t i = 0; i < c->n; i++) {
        rows[i] = c->v + i * c->plan->n;
        ordinals[i] = (int64_t)i;
    }
    const struct pk_counts whole = {
        .plan = c->plan, .where = "iteration", .reps = c->reps, .ordinals = ordinals, .at = rows, .n = c->n};
    PK_JSON_CLEANUP json_t *counters = pk_counts_add(&whole, 1, c->plan, a, reply);
    const struct pk_note note = {"counters", pk_json_text(a, counters, PK_JSON_COMPACT)};
    pk_slice_add_notes(reply, &note, 1, a);
}

void pk_external_counts_end(struct pk_external_counts *c, struct pk_arena *a, struct pk_slice *reply)
{
    if (c->handle)
        pk_source_close(c->plan->source, c->handle);
    c->handle = NULL;
    if (!reply || reply->status != PK_ST_OK)
        return;
    if (c->n && !c->why)
        add_counts(c, a, reply);
    else {
        reply->status = PK_ST_SKIPPED;
        reply->message =
            c->why ? c->why
                   : "the program does not say when a sample begins and ends (`count` in docs/protocol.md)";
        reply->n_series = 0;
    }
}
