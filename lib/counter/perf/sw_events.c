/* Sw-events: what the kernel counts of this process in software, on every machine that has perf_event_open. */
#include "base/text/buf.h"
#include "counter/perf/codes.h"
#include "counter/perf/known_work.h"
#include "counter/perf/perf_plan.h"
#include "counter/sources.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

#define EVENT(name, unit, summary) PK_EVENT("sw-events", name, unit, summary, PK_QUALITY_EXACT, "")

enum { CLOCK, FAULTS, SWITCHES, MIGRATIONS, EVENTS };

static const struct pk_event events[EVENTS] = {
    [CLOCK] = EVENT("task_clock_ns", "ns", "time on CPUs, summed over threads"),
    [FAULTS] = EVENT("page_faults", "1", "page faults, minor and major"),
    [SWITCHES] = EVENT("context_switches", "1", "switches to another thread"),
    [MIGRATIONS] = EVENT("cpu_migrations", "1", "moves of a thread to another CPU"),
};

static const uint64_t configs[EVENTS] = {
    [CLOCK] = PERF_COUNT_SW_TASK_CLOCK,
    [FAULTS] = PERF_COUNT_SW_PAGE_FAULTS,
    [SWITCHES] = PERF_COUNT_SW_CONTEXT_SWITCHES,
    [MIGRATIONS] = PERF_COUNT_SW_CPU_MIGRATIONS,
};

/* The kernel's events by its numbers, which also have libpfm names: perf::minor-faults. */
static const struct event_row {
    bool exists;
    bool in_kernel; /* happens in kernel mode only: in user mode it would be 0 */
    bool split;     /* user mode and kernel mode are counted apart */
    const char *unit;
} rows[] = {
    [PERF_COUNT_SW_CPU_CLOCK] = {true, false, false, "ns"},
    [PERF_COUNT_SW_TASK_CLOCK] = {true, false, false, "ns"},
    [PERF_COUNT_SW_PAGE_FAULTS] = {true, false, true, "1"},
    [PERF_COUNT_SW_CONTEXT_SWITCHES] = {true, true, false, "1"},
    [PERF_COUNT_SW_CPU_MIGRATIONS] = {true, true, false, "1"},
    [PERF_COUNT_SW_PAGE_FAULTS_MIN] = {true, false, true, "1"},
    [PERF_COUNT_SW_PAGE_FAULTS_MAJ] = {true, false, true, "1"},
    [PERF_COUNT_SW_ALIGNMENT_FAULTS] = {true, false, true, "1"},
    [PERF_COUNT_SW_EMULATION_FAULTS] = {true, false, true, "1"},
    [PERF_COUNT_SW_CGROUP_SWITCHES] = {true, true, false, "1"},
};

/* 0, or why the event with this index cannot be counted, in one mode. */
static int try_event(const struct pk_counter_env *env, size_t i, bool user_only, struct pk_arena *a)
{
    const struct pk_perf_code code = {.type = PERF_TYPE_SOFTWARE, .config = configs[i]};
    const struct pk_perf_group g = {.codes = &code, .n = 1, .user_only = user_only};
    return pk_perf_try(env, &g, a);
}

static struct pk_source_found check(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a)
{
    int user = try_event(env, FAULTS, true, a), kernel = try_event(env, SWITCHES, false, a);
    const struct pk_perf_refusal r =
        pk_perf_refusal(pk_counter_root(env), user ? user : kernel, user ? PK_PERF_USER : PK_PERF_KERNEL, a);
    if (user)
        return (struct pk_source_found){PK_SOURCE_UNAVAILABLE, user, r.reason, r.advice};
    if (kernel)
        return (struct pk_source_found){
            PK_SOURCE_DEGRADED, kernel,
            pk_printf(a, "user mode only, without context_switches and cpu_migrations: %s", r.reason),
            r.advice};
    const struct pk_source_found all = {PK_SOURCE_OK, 0, "time on CPUs, page faults, switches and migrations",
                                        NULL};
    return pk_perf_found_threads(env, all, a);
}

/* Work whose counts are known, and what else may happen meanwhile: a fault here and there, switches because others run. */
static const struct known_count {
    size_t event;
    void (*work)(void *);
    int64_t done, least, most;
    const char *words; /* of what was done and counted */
    double scale;
} known_counts[] = {
    {FAULTS, pk_known_pages, PK_KNOWN_PAGES, PK_KNOWN_PAGES, PK_KNOWN_PAGES + PK_KNOWN_PAGES / 10,
     "%g touched pages gave %g page faults", 1},
    {SWITCHES, pk_known_sleeps, PK_KNOWN_SLEEPS, PK_KNOWN_SLEEPS, 2 * PK_KNOWN_SLEEPS,
     "%g sleeps %g switches", 1},
    {CLOCK, pk_known_cpu_time, PK_KNOWN_CPU_NS, PK_KNOWN_CPU_NS - PK_KNOWN_CPU_NS / 100,
     PK_KNOWN_CPU_NS + PK_KNOWN_CPU_NS / 10, "%g ms on a CPU %.4g ms of task clock", 1e6},
};
enum { KNOWNS = sizeof known_counts / sizeof *known_counts };

static struct pk_source_found selftest(const struct pk_source *s, const struct pk_counter_env *env,
                                       struct pk_arena *a)
{
    const struct pk_source_found found = check(s, env, a);
    const bool user_only = try_event(env, SWITCHES, false, a) != 0;
    struct pk_buf results = {.arena = a};
    for (size_t i = 0; i < KNOWNS; i++) {
        const struct known_count *k = &known_counts[i];
        const struct pk_perf_code code = {.type = PERF_TYPE_SOFTWARE, .config = configs[k->event]};
        const struct pk_perf_group g = {.codes = &code, .n = 1, .user_only = user_only};
        struct pk_perf_count n;
        if (user_only && rows[configs[k->event]].in_kernel)
            continue;
        if (!pk_perf_count_work(env, &g, k->work, NULL, a, &n))
            return found;
        pk_buf_str(&results, results.n ? ", " : "");
        pk_buf_printf(&results, k->words, (double)k->done / k->scale, (double)n.value / k->scale);
        if (n.value < k->least || n.value > k->most)
            return pk_found(PK_SOURCE_UNAVAILABLE, pk_printf(a, "dead counter: %s", pk_buf_text(&results)),
                            NULL);
    }
    return (struct pk_source_found){found.state, found.error,
                                    pk_printf(a, "%s; %s", found.why, pk_buf_text(&results)), found.fix};
}

/* A name of the table, or libpfm's of an event in software; *config is the kernel's number. */
static enum pk_code find_event(const char *name, struct pk_arena *a, struct pk_event *out, uint64_t *config,
                               struct pk_err *err)
{
    struct pk_perf_code code;
    struct pk_event *found;
    size_t i;
    if (strstr(name, "::") && pk_pfm_encode(name, &code) && code.type == PERF_TYPE_SOFTWARE &&
        code.config < sizeof rows / sizeof *rows && rows[code.config].exists) {
        *config = code.config;
        *out = (struct pk_event)EVENT(pk_strdup(a, name), rows[code.config].unit, "event by its raw name");
        return PK_OK;
    }
    if (pk_events_find(&pk_source_sw_events, &name, 1, a, &found, &i, err))
        return err->code;
    *config = configs[i];
    *out = *found;
    return PK_OK;
}

/* One group counts them all; in user mode only if kernel mode is not permitted. */
static enum pk_code plan(const struct pk_source *s, const struct pk_counter_env *env,
                         const char *const *names, size_t n, struct pk_arena *a,
                         const struct pk_source_plan **plans, size_t *n_plans, struct pk_err *err)
{
    struct pk_event *requested = pk_new_n(a, struct pk_event, n);
    struct pk_perf_plan *p = pk_new(a, struct pk_perf_plan);
    struct pk_perf_code *codes = pk_new_n(a, struct pk_perf_code, n);
    double *factors = pk_new_n(a, double, n);
    size_t *ends = pk_new_n(a, size_t, n);
    for (size_t k = 0; k < n; k++) {
        codes[k] = (struct pk_perf_code){.type = PERF_TYPE_SOFTWARE};
        factors[k] = 1;
        ends[k] = k + 1;
        if (find_event(names[k], a, &requested[k], &codes[k].config, err))
            return err->code;
    }
    int kernel = try_event(env, SWITCHES, false, a), user = kernel ? try_event(env, FAULTS, true, a) : 0;
    if (user || (kernel && !(kernel == EACCES || kernel == EPERM)))
        return pk_perf_refuse(env, names[0], user ? user : kernel, PK_PERF_USER, a, err);
    for (size_t k = 0; k < n; k++) {
        const struct event_row *row = &rows[codes[k].config];
        if (kernel && row->in_kernel)
            return pk_perf_refuse(env, names[k], kernel, PK_PERF_KERNEL, a, err);
        requested[k].modes = kernel && row->split ? "user" : "user+kernel";
    }
    *p = (struct pk_perf_plan){.group = {.codes = codes, .n = n, .user_only = kernel != 0},
                               .factors = factors,
                               .ends = ends,
                               .scope = kernel ? PK_PERF_USER : PK_PERF_KERNEL};
    const bool later = pk_perf_inherits(env, a);
    for (size_t k = 0; k < n && !later; k++)
        pk_perf_note_threads(&requested[k], a);
    pk_source_plan_one(&pk_source_sw_events, requested, n, p, a, plans, n_plans);
    return PK_OK;
}

const struct pk_source pk_source_sw_events = {
    .name = "sw-events",
    .summary = "counts of the kernel for this process: time on CPUs, faults, switches, migrations",
    .caps = PK_SOURCE_REGIONS | PK_SOURCE_PROCESS,
    .check = check,
    .selftest = selftest,
    .events = events,
    .n_events = EVENTS,
    .plan = plan,
    PK_PERF_PLAN_HOOKS,
};
