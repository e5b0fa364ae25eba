/* Perf plan: from counts of codes to readings of events. */
#include "counter/perf/perf_plan.h"

#include <string.h>

struct open_plan {
    const struct pk_source_plan *plan;
    const struct pk_perf_plan *perf;
    const char *root;
    struct pk_arena *arena;
    struct pk_perf_reader *reader;
};

enum pk_code pk_perf_plan_open_other(const struct pk_counter_env *env, const struct pk_source_plan *p,
                                     struct pk_other_process other, struct pk_arena *a, void **handle,
                                     struct pk_err *err)
{
    struct open_plan *h = *handle = pk_new(a, struct open_plan);
    size_t which, e = 0;
    *h = (struct open_plan){.plan = p, .perf = p->state, .root = pk_counter_root(env), .arena = a};
    const int error = pk_perf_reader_open(env, &h->perf->group, other, a, &h->reader, &which);
    if (!error)
        return PK_OK;
    while (h->perf->ends[e] <= which)
        e++;
    return pk_perf_refuse(env, p->events[e].name, error, h->perf->scope, a, err);
}

enum pk_code pk_perf_plan_open(const struct pk_counter_env *env, const struct pk_source_plan *p,
                               struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err)
{
    return pk_perf_plan_open_other(env, p, (struct pk_other_process){0}, a, handle, err);
}

enum pk_code pk_perf_plan_start(void *handle, struct pk_err *err)
{
    struct open_plan *h = handle;
    pk_perf_reader_start(h->reader);
    return PK_OK;
}

enum pk_code pk_perf_plan_stop(void *handle, bool *again, struct pk_err *err)
{
    struct open_plan *h = handle;
    pk_perf_reader_stop(h->reader);
    *again = false;
    return PK_OK;
}

void pk_perf_plan_mark(void *handle, unsigned region, bool end)
{
    struct open_plan *h = handle;
    pk_perf_reader_mark(h->reader, region, end);
}

/* No code runs for ten microseconds without some of these events: a count of 0 means that the counter has stopped, as happens on virtual
 * machines even after a successful self-test. */
static bool stood_still(const struct pk_event *e, const struct pk_reading *sum)
{
    static const char *const always[] = {"cycles", "instructions", "branches", "loads"};
    const uint64_t long_ns = 10000;
    if (sum->unavailable || sum->is_real || sum->integer || sum->running_ns < long_ns)
        return false;
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        if (!strcmp(e->name, always[i]))
            return true;
    return false;
}

/* The sum that an event is. Its counts ran together, being of one group. */
static struct pk_reading event_of(const struct open_plan *h, int region, size_t from, size_t to, int *error)
{
    struct pk_reading sum = {.is_real = h->perf->real};
    for (size_t k = from; k < to; k++) {
        struct pk_perf_count c;
        *error = pk_perf_reader_read(h->reader, region, k, &c);
        sum.unavailable |= c.unavailable;
        sum.integer += (int64_t)h->perf->factors[k] * c.value;
        sum.real += h->perf->factors[k] * (double)c.value;
        sum.enabled_ns = c.enabled_ns;
        sum.running_ns = c.running_ns;
    }
    const struct pk_perf_group *g = &h->perf->group;
    if (sum.enabled_ns < h->perf->least_ns * (g->n_cpus ? g->n_cpus : 1) * (g->n_types ? g->n_types : 1)) {
        sum.unavailable = true;
        sum.why = "it was counted for less than 100 ms, in steps of 1 ms";
    }
    return sum;
}

enum pk_code pk_perf_plan_read(void *handle, int region, struct pk_reading *out, struct pk_err *err)
{
    const struct open_plan *h = handle;
    int error = 0;
    for (size_t e = 0, from = 0; e < h->plan->n; from = h->perf->ends[e++]) {
        out[e] = event_of(h, region, from, h->perf->ends[e], &error);
        if (stood_still(&h->plan->events[e], &out[e])) {
            out[e].unavailable = true;
            out[e].why = "the counter did not change";
        }
    }
    if (!error)
        return PK_OK;
    const struct pk_perf_refusal r = pk_perf_refusal(h->root, error, h->perf->scope, h->arena);
    pk_fail(err, PK_E_UNAVAILABLE, "the counters of %s could not be read", h->plan->source->name);
    pk_why(err, "%s", r.reason);
    return r.advice ? pk_fix(err, "%s", r.advice) : pk_fix(err, "omit %s", h->plan->events[0].name);
}

void pk_perf_plan_close(void *handle)
{
    struct open_plan *h = handle;
    pk_perf_reader_close(h->reader);
}

#define LATER "threads that are started later are not counted: this kernel does not inherit groups"

void pk_perf_note_threads(struct pk_event *e, struct pk_arena *a)
{
    e->quality = PK_QUALITY_APPROXIMATE;
    e->note = pk_printf(a, LATER "%s%s", *e->note ? "; " : "", e->note);
}

struct pk_source_found pk_perf_found_threads(const struct pk_counter_env *env, struct pk_source_found found,
                                             struct pk_arena *a)
{
    if (found.state != PK_SOURCE_OK || pk_perf_inherits(env, a))
        return found;
    return pk_found(PK_SOURCE_DEGRADED, pk_printf(a, "%s; " LATER, found.why), "Linux 4.13 or newer");
}

bool pk_perf_count_work(const struct pk_counter_env *env, const struct pk_perf_group *g, void (*work)(void *),
                        void *user, struct pk_arena *a, struct pk_perf_count *counts)
{
    struct pk_perf_reader *r;
    size_t which;
    bool ok = true;
    if (pk_perf_reader_open(env, g, (struct pk_other_process){0}, a, &r, &which))
        return false;
    pk_perf_reader_start(r);
    work(user);
    pk_perf_reader_stop(r);
    for (size_t i = 0; i < g->n; i++)
        ok &= !pk_perf_reader_read(r, -1, i, &counts[i]) && !counts[i].unavailable;
    pk_perf_reader_close(r);
    return ok;
}
