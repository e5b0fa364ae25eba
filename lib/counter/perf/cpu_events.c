/* Cpu-events: what the processor's cores count of this process. */
#include "counter/perf/codes.h"
#include "counter/perf/known_work.h"
#include "counter/perf/perf_plan.h"
#include "counter/sources.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>

/* The events of the test of what works: every processor with counters has these. */
static int try_cycles(const struct pk_counter_env *env, const struct pk_processor *cpu, bool user_only,
                      struct pk_arena *a)
{
    const struct pk_perf_code code = {
        .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES | (uint64_t)cpu->cores[0].type << 32};
    const struct pk_perf_group g = {
        .codes = &code, .n = 1, .user_only = user_only, .pinned = true, .part = cpu->hybrid};
    return pk_perf_try(env, &g, a);
}

/* User mode first: the kernel checks permissions before it checks whether a counter exists. *user_only is the mode that works. Returns 0
 * or an errno. */
static int find_mode(const struct pk_counter_env *env, const struct pk_processor *cpu, bool *user_only,
                     struct pk_arena *a)
{
    int error = try_cycles(env, cpu, true, a);
    *user_only = !error && try_cycles(env, cpu, false, a) != 0;
    return error;
}

/* --- what was found ------------------------------------------------------------------------------------------------- */

static struct pk_source_found found_working(const struct pk_counter_env *env, const struct pk_processor *cpu,
                                            bool user_only, struct pk_arena *a)
{
    const char *root = pk_counter_root(env);
    if (cpu->hybrid)
        return pk_found(
            PK_SOURCE_DEGRADED,
            pk_printf(
                a,
                "two kinds of cores: events count on CPUs %s (%s); events of the others are named cycles@%s",
                cpu->cores[0].cpus, cpu->cores[0].unit, cpu->cores[1].unit),
            pk_printf(a, "use --bind %s to measure and count only on those", cpu->cores[0].cpus));
    if (user_only) {
        const struct pk_perf_refusal r = pk_perf_refusal(root, EACCES, PK_PERF_KERNEL, a);
        return pk_found(PK_SOURCE_DEGRADED, pk_printf(a, "user mode only: %s", r.reason), r.advice);
    }
    if (pk_pfm_unavailable())
        return pk_found(PK_SOURCE_DEGRADED,
                        pk_printf(a, "only the kernel's own events: %s", pk_pfm_unavailable()),
                        pk_pfm_advice());
    if (!cpu->pmu)
        return pk_found(
            PK_SOURCE_DEGRADED,
            pk_printf(a, "only the kernel's own events and raw names: no presets for %s", cpu->what), NULL);
    const struct pk_source_found all = {
        PK_SOURCE_OK, 0,
        pk_printf(a, "%s%s%s by libpfm %s, user mode and kernel mode%s", cpu->pmu->pmu,
                  *cpu->pmu->alias_of ? ", its presets those of " : "", cpu->pmu->alias_of, pk_pfm_version(a),
                  pk_perf_in_guest(root, a) ? "; in a virtual machine, to be confirmed by a self-test" : ""),
        NULL};
    return pk_perf_found_threads(env, all, a);
}

static struct pk_source_found check(const struct pk_source *s, const struct pk_counter_env *env,
                                    struct pk_arena *a)
{
    const struct pk_processor cpu = pk_processor_of(env, a);
    bool user_only;
    int error = find_mode(env, &cpu, &user_only, a);
    if (!error)
        return found_working(env, &cpu, user_only, a);
    const struct pk_perf_refusal r = pk_perf_refusal(pk_counter_root(env), error, PK_PERF_USER, a);
    return (struct pk_source_found){PK_SOURCE_UNAVAILABLE, error, r.reason, r.advice};
}

/* In user mode the loop's counts are known: what else a counter shows is what it takes to read it. */
static struct pk_source_found selftest(const struct pk_source *s, const struct pk_counter_env *env,
                                       struct pk_arena *a)
{
    const struct pk_source_found found = check(s, env, a);
    if (found.state == PK_SOURCE_UNAVAILABLE)
        return found;
    const struct pk_processor cpu = pk_processor_of(env, a);
    const uint64_t core = (uint64_t)cpu.cores[0].type << 32;
    const struct pk_perf_code codes[] = {
        {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS | core},
        {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_BRANCH_INSTRUCTIONS | core}};
    const struct pk_perf_group g = {
        .codes = codes, .n = 2, .user_only = true, .pinned = true, .part = cpu.hybrid};
    struct pk_perf_count n[2] = {{0}, {0}};
    bool counted = pk_perf_count_work(env, &g, pk_known_loop, NULL, a, n);
    if (counted && cpu.hybrid && !n[0].running_ns)
        return pk_found(PK_SOURCE_DEGRADED,
                        pk_printf(a, "%s; not tested, because the test ran on the other cores", found.why),
                        found.fix);
    const char *what =
        pk_printf(a, "a loop of %d instructions and %d branches gave %lld and %lld", 2 * PK_KNOWN_LOOPS,
                  PK_KNOWN_LOOPS, (long long)n[0].value, (long long)n[1].value);
    for (int i = 0; counted && i < 2; i++) {
        const int64_t least = (2 - i) * (int64_t)PK_KNOWN_LOOPS;
        counted = n[i].value >= least && n[i].value <= least + least / 100;
    }
    if (counted)
        return pk_found(found.state, pk_printf(a, "%s; %s", found.why, what), found.fix);
    return pk_found(PK_SOURCE_UNAVAILABLE, pk_printf(a, "dead counter: %s", what),
                    pk_perf_in_guest(pk_counter_root(env), a)
                        ? "use bare metal, or a hypervisor whose counters work (QEMU: -cpu host,pmu=on)"
                        : NULL);
}

static size_t list(const struct pk_counter_env *env, struct pk_arena *a, const struct pk_event **out)
{
    const struct pk_processor cpu = pk_processor_of(env, a);
    size_t n = 0;
    while (pk_presets[n].name)
        n++;
    struct pk_event *events = pk_new_n(a, struct pk_event, 2 * n);
    size_t listed = 0;
    for (int other = 0; other < 1 + cpu.hybrid; other++)
        for (size_t i = 0; i < n; i++)
            if (!other || pk_presets[i].type >= 0)
                events[listed++] = pk_preset_event(&cpu, &pk_presets[i], other, a);
    *out = events;
    return listed;
}

/* --- planning ------------------------------------------------------------------------------------------------------- */

/* A plan that grows event by event, as long as the processor has counters. */
struct plan_builder {
    const struct pk_cores *cores;
    struct pk_perf_plan *perf;
    struct pk_event *events;
    struct pk_perf_code *codes;
    double *factors;
    size_t *ends;
    size_t n;
};

/* 0: it is in. Else an errno, and the plan is as it was. */
static int add_event(const struct pk_counter_env *env, struct plan_builder *g,
                     const struct pk_perf_encoding *e, struct pk_arena *a)
{
    struct pk_perf_group *group = &g->perf->group;
    memcpy(g->codes + group->n, e->codes, e->n * sizeof *e->codes);
    memcpy(g->factors + group->n, e->factors, e->n * sizeof *e->factors);
    group->n += e->n;
    int error = pk_perf_try(env, group, a);
    if (error) {
        group->n -= e->n;
        return error;
    }
    g->events[g->n] = e->event;
    g->events[g->n].modes = group->user_only ? "user" : "user+kernel";
    g->ends[g->n++] = group->n;
    return 0;
}

/* An event that the processor cannot count together with the previous ones starts a new plan. */
static enum pk_code pack(const struct pk_counter_env *env, const struct pk_perf_encoding *all, size_t n,
                         bool user_only, struct pk_arena *a, struct pk_source_plan *plans, size_t *n_plans,
                         struct pk_err *err)
{
    struct plan_builder g = {0};
    size_t codes = 0;
    for (size_t i = 0; i < n; i++)
        codes += all[i].n;
    *n_plans = 0;
    for (size_t i = 0; i < n; i++) {
        int error = g.n && g.cores == all[i].cores ? add_event(env, &g, &all[i], a) : ENOSPC;
        if (error) {
            g = (struct plan_builder){.cores = all[i].cores,
                                      .perf = pk_new(a, struct pk_perf_plan),
                                      .events = pk_new_n(a, struct pk_event, n),
                                      .codes = pk_new_n(a, struct pk_perf_code, codes),
                                      .factors = pk_new_n(a, double, codes),
                                      .ends = pk_new_n(a, size_t, n)};
            *g.perf = (struct pk_perf_plan){
                .group = {.codes = g.codes, .user_only = user_only, .pinned = true, .part = all[i].cores},
                .factors = g.factors,
                .ends = g.ends,
                .scope = user_only ? PK_PERF_USER : PK_PERF_KERNEL};
            error = add_event(env, &g, &all[i], a);
            (*n_plans)++;
        }
        if (error)
            return pk_perf_refuse(env, all[i].event.name, error, g.perf->scope, a, err);
        plans[*n_plans - 1] = (struct pk_source_plan){&pk_source_cpu_events,         g.events, g.n, 1, g.perf,
                                                      g.cores ? g.cores->unit : NULL};
    }
    return PK_OK;
}

static enum pk_code plan(const struct pk_source *s, const struct pk_counter_env *env,
                         const char *const *names, size_t n, struct pk_arena *a,
                         const struct pk_source_plan **plans, size_t *n_plans, struct pk_err *err)
{
    const struct pk_processor cpu = pk_processor_of(env, a);
    struct pk_perf_encoding *all = pk_new_n(a, struct pk_perf_encoding, n);
    struct pk_source_plan *made = pk_new_n(a, struct pk_source_plan, n);
    bool user_only;
    for (size_t i = 0; i < n; i++)
        if (pk_perf_encode(&cpu, names[i], a, &all[i], err))
            return err->code;
    int error = find_mode(env, &cpu, &user_only, a);
    if (error)
        return pk_perf_refuse(env, names[0], error, PK_PERF_USER, a, err);
    const bool later = pk_perf_inherits(env, a);
    for (size_t i = 0; i < n && !later; i++)
        pk_perf_note_threads(&all[i].event, a);
    *plans = made;
    return pack(env, all, n, user_only, a, made, n_plans, err);
}

const struct pk_source pk_source_cpu_events = {
    .name = "cpu-events",
    .summary = "counts of the processor's cores for this process: instructions, cycles, branches, caches",
    .caps = PK_SOURCE_REGIONS | PK_SOURCE_PROCESS,
    .check = check,
    .selftest = selftest,
    .list = list,
    .plan = plan,
    PK_PERF_PLAN_HOOKS,
};
