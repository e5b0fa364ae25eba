/* Sw-events: what the kernel counts of this process in software, on every machine that has perf_event_open. */
#include "base/buf.h"
#include "counter/events.h"
#include "counter/perf/known_work.h"
#include "counter/perf/planned.h"
#include "counter/sources.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#define EVENT(name, unit, summary)                                                                           \
    {                                                                                                        \
        name, unit, summary, "sw-events", "", "", PK_QUALITY_EXACT, ""                                       \
    }

enum { CLOCK, FAULTS, SWITCHES, MIGRATIONS, EVENTS };

static const struct pk_event events[EVENTS] = {
    [CLOCK] = EVENT("task_clock_ns", "ns", "time on CPUs, summed over threads"),
    [FAULTS] = EVENT("page_faults", "1", "page faults, minor and major"),
    [SWITCHES] = EVENT("context_switches", "1", "switches to another thread"),
    [MIGRATIONS] = EVENT("cpu_migrations", "1", "moves of a thread to another CPU"),
};

static const struct row {
    uint64_t config;
    bool in_kernel; /* happens in kernel mode only: of user mode alone it would read 0 */
    bool split;     /* user mode and kernel mode are told apart */
} rows[EVENTS] = {
    [CLOCK] = {PERF_COUNT_SW_TASK_CLOCK, false, false},
    [FAULTS] = {PERF_COUNT_SW_PAGE_FAULTS, false, true},
    [SWITCHES] = {PERF_COUNT_SW_CONTEXT_SWITCHES, true, false},
    [MIGRATIONS] = {PERF_COUNT_SW_CPU_MIGRATIONS, true, false},
};

/* 0, or why the event with this index cannot be counted, in one mode. */
static int try_event(const struct pk_counter_env *env, size_t i, bool user_only, struct pk_arena *a)
{
    const struct pk_perf_code code = {.type = PERF_TYPE_SOFTWARE, .config = rows[i].config};
    const struct pk_perf_group g = {.codes = &code, .n = 1, .user_only = user_only};
    return pk_perf_try(env, &g, a);
}

static bool is_right(int error)
{
    return error == EACCES || error == EPERM;
}

static struct pk_source_found check(const struct pk_counter_env *env, struct pk_arena *a)
{
    int user = try_event(env, FAULTS, true, a), kernel = try_event(env, SWITCHES, false, a);
    const struct pk_perf_refusal r =
        pk_perf_refusal(pk_counter_root(env), user ? user : kernel, user ? PK_PERF_USER : PK_PERF_KERNEL, a);
    if (user)
        return (struct pk_source_found){PK_SOURCE_UNAVAILABLE, user, r.absent, r.advice};
    if (kernel)
        return (struct pk_source_found){
            PK_SOURCE_DEGRADED, kernel,
            pk_printf(a, "user mode alone, without context_switches and cpu_migrations: %s", r.absent),
            r.advice};
    return (struct pk_source_found){PK_SOURCE_OK, 0, "time on CPUs, page faults, switches and migrations",
                                    NULL};
}

static struct pk_source_found selftest(const struct pk_counter_env *env, struct pk_arena *a)
{
    const struct pk_source_found found = check(env, a);
    const struct pk_perf_code code = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS};
    const struct pk_perf_group g = {.codes = &code, .n = 1, .user_only = found.state != PK_SOURCE_OK};
    struct pk_perf_count n;
    if (!pk_perf_count_work(env, &g, pk_known_pages, NULL, a, &n))
        return found;
    const char *what =
        pk_printf(a, "%d touched pages gave %lld page faults", PK_KNOWN_PAGES, (long long)n.value);
    if (n.value < PK_KNOWN_PAGES || n.value > PK_KNOWN_PAGES + PK_KNOWN_PAGES / 10)
        return (struct pk_source_found){PK_SOURCE_UNAVAILABLE, 0, pk_printf(a, "dead counter: %s", what),
                                        NULL};
    return (struct pk_source_found){found.state, found.error, pk_printf(a, "%s; %s", found.why, what),
                                    found.fix};
}

static size_t list(const struct pk_counter_env *env, struct pk_arena *a, const struct pk_event **out)
{
    return pk_events_list(events, EVENTS, out);
}

/* One group takes them all; when kernel mode is forbidden, in user mode alone. */
static enum pk_code plan(const struct pk_counter_env *env, const char *const *names, size_t n,
                         struct pk_arena *a, const struct pk_source_plan **plans, size_t *n_plans,
                         struct pk_err *err)
{
    struct pk_event *asked;
    struct pk_perf_plan *p = pk_new(a, struct pk_perf_plan);
    struct pk_perf_code *codes = pk_new_n(a, struct pk_perf_code, n);
    double *factors = pk_new_n(a, double, n);
    size_t *index = pk_new_n(a, size_t, n), *ends = pk_new_n(a, size_t, n);
    if (pk_events_find("sw-events", events, EVENTS, names, n, a, &asked, index, err))
        return err->code;
    int kernel = try_event(env, SWITCHES, false, a), user = kernel ? try_event(env, FAULTS, true, a) : 0;
    if (user || (kernel && !is_right(kernel)))
        return pk_perf_refuse(env, names[0], user ? user : kernel, PK_PERF_USER, a, err);
    for (size_t k = 0; k < n; k++) {
        const struct row *row = &rows[index[k]];
        if (kernel && row->in_kernel)
            return pk_perf_refuse(env, names[k], kernel, PK_PERF_KERNEL, a, err);
        asked[k].modes = kernel && row->split ? "user" : "user+kernel";
        codes[k] = (struct pk_perf_code){.type = PERF_TYPE_SOFTWARE, .config = row->config};
        factors[k] = 1;
        ends[k] = k + 1;
    }
    *p = (struct pk_perf_plan){.group = {.codes = codes, .n = n, .user_only = kernel != 0},
                               .factors = factors,
                               .ends = ends,
                               .scope = kernel ? PK_PERF_USER : PK_PERF_KERNEL};
    pk_plan_one(&pk_source_sw_events, asked, n, p, a, plans, n_plans);
    return PK_OK;
}

const struct pk_source pk_source_sw_events = {
    .name = "sw-events",
    .summary = "what the kernel counts of this process: time on CPUs, faults, switches, migrations",
    .caps = PK_SOURCE_REGIONS | PK_SOURCE_PROCESS,
    .check = check,
    .selftest = selftest,
    .list = list,
    .plan = plan,
    PK_PERF_PLANNED,
};
