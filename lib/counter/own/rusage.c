/* Rusage: what getrusage says of this process. Coarser than sw-events, and there on every Linux. */
#include "counter/perf/known_work.h"
#include "counter/sources.h"

#include "base/clock.h"
#include "base/err.h"
#include "device/mark.h"

#include <string.h>
#include <sys/resource.h>

#define EVENT(name, unit, summary) PK_EVENT("rusage", name, unit, summary, PK_QUALITY_EXACT, "")
#define BY_TICKS(name, summary)                                                                              \
    PK_EVENT("rusage", name, "ns", summary, PK_QUALITY_APPROXIMATE,                                          \
             "the kernel tells user mode from kernel mode by its ticks")

enum { USER, SYSTEM, MINOR, MAJOR, VOLUNTARY, INVOLUNTARY, EVENTS };
enum { WHOLE = PK_REGIONS_MAX, SPANS };

static const struct pk_event events[EVENTS] = {
    [USER] = BY_TICKS("user_ns", "time in user mode, summed over threads"),
    [SYSTEM] = BY_TICKS("system_ns", "time in the kernel, summed over threads"),
    [MINOR] = EVENT("minor_faults", "1", "page faults that needed no disk"),
    [MAJOR] = EVENT("major_faults", "1", "page faults that read from disk"),
    [VOLUNTARY] = EVENT("voluntary_switches", "1", "switches because a thread waited"),
    [INVOLUNTARY] = EVENT("involuntary_switches", "1", "context switches forced by the scheduler"),
};

struct usage {
    int64_t v[EVENTS];
};

struct rusage_handle {
    const struct pk_counter_env *env;
    const struct pk_source_plan *plan;
    const size_t *index; /* of the plan's events */
    struct usage sums[SPANS];
    bool used[SPANS];
};

static int usage_on_host(struct rusage *u)
{
    return getrusage(RUSAGE_SELF, u);
}

static int64_t ns_of(struct timeval t)
{
    return (int64_t)t.tv_sec * (int64_t)PK_NS_PER_S + (int64_t)t.tv_usec * 1000;
}

static struct usage current_usage(const struct pk_counter_env *env)
{
    struct rusage u = {0};
    (env->usage ? env->usage : usage_on_host)(&u);
    return (struct usage){{
        [USER] = ns_of(u.ru_utime),
        [SYSTEM] = ns_of(u.ru_stime),
        [MINOR] = u.ru_minflt,
        [MAJOR] = u.ru_majflt,
        [VOLUNTARY] = u.ru_nvcsw,
        [INVOLUNTARY] = u.ru_nivcsw,
    }};
}

static struct pk_source_found check(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a)
{
    return pk_found(PK_SOURCE_OK, "CPU time, faults and switches of this process", NULL);
}

static struct pk_source_found selftest(const struct pk_source *s, const struct pk_counter_env *env,
                                       struct pk_arena *a)
{
    const struct usage before = current_usage(env);
    pk_known_pages(NULL);
    const int64_t faults = current_usage(env).v[MINOR] - before.v[MINOR];
    const char *found =
        pk_printf(a, "%d touched pages gave %lld page faults", PK_KNOWN_PAGES, (long long)faults);
    if (faults < PK_KNOWN_PAGES)
        return pk_found(PK_SOURCE_UNAVAILABLE, pk_printf(a, "dead counter: %s", found), NULL);
    if (faults > PK_KNOWN_PAGES + PK_KNOWN_PAGES / 10)
        return pk_found(PK_SOURCE_DEGRADED, found,
                        "something else in this process causes page faults; try again");
    return pk_found(PK_SOURCE_OK, found, NULL);
}

static enum pk_code open_(const struct pk_counter_env *env, const struct pk_source_plan *p,
                          struct pk_device *dev, struct pk_arena *a, void **handle, struct pk_err *err)
{
    struct rusage_handle *h = pk_new(a, struct rusage_handle);
    *h = (struct rusage_handle){.env = env, .plan = p, .index = p->state};
    *handle = h;
    return PK_OK;
}

/* Subtracted at a span's begin and added at its end, so that spans may be nested. */
static void add(struct rusage_handle *h, unsigned span, int64_t times)
{
    const struct usage u = current_usage(h->env);
    pk_assert(span < SPANS);
    if (!h->used[span])
        h->sums[span] = (struct usage){0};
    for (size_t i = 0; i < EVENTS; i++)
        h->sums[span].v[i] += times * u.v[i];
    h->used[span] = true;
}

static enum pk_code start(void *handle, struct pk_err *err)
{
    struct rusage_handle *h = handle;
    memset(h->used, 0, sizeof h->used);
    add(h, WHOLE, -1);
    return PK_OK;
}

static enum pk_code stop(void *handle, bool *again, struct pk_err *err)
{
    add(handle, WHOLE, 1);
    *again = false;
    return PK_OK;
}

static void mark(void *handle, unsigned region, bool end)
{
    add(handle, region, end ? 1 : -1);
}

static enum pk_code read_(void *handle, int region, struct pk_reading *out, struct pk_err *err)
{
    const struct rusage_handle *h = handle;
    const unsigned span = region < 0 ? WHOLE : (unsigned)region;
    for (size_t e = 0; e < h->plan->n; e++)
        out[e] = (struct pk_reading){.unavailable = !h->used[span], .integer = h->sums[span].v[h->index[e]]};
    return PK_OK;
}

const struct pk_source pk_source_rusage = {
    .name = "rusage",
    .summary = "getrusage of this process: CPU time, faults, switches",
    .caps = PK_SOURCE_REGIONS | PK_SOURCE_PROCESS,
    .check = check,
    .selftest = selftest,
    .events = events,
    .n_events = EVENTS,
    .plan = pk_source_plan_table,
    .ours = "for a command, exec measures user_ns, system_ns, page_faults and context_switches in every run",
    .open = open_,
    .start = start,
    .stop = stop,
    .mark = mark,
    .read = read_,
};
