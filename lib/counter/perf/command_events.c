/* Command events: the table of events, and opening and reading them. */
#include "counter/perf/command_events.h"

#include "base/buf.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <unistd.h>

#define KERNEL(what)    PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##what
#define PROCESSOR(what) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##what

const struct pk_cpu_event pk_cpu_events[PK_CPU_EVENTS] = {
    {"task_clock_ns", "ns", "time", "time on CPUs, summed over threads and children", PK_MODES_WHOLE,
     KERNEL(TASK_CLOCK)},
    {"page_faults", "1", "exact", "page faults, minor and major", PK_MODES_SPLIT, KERNEL(PAGE_FAULTS)},
    {"context_switches", "1", "rate", "switches to another thread", PK_MODES_KERNEL,
     KERNEL(CONTEXT_SWITCHES)},
    {"cpu_migrations", "1", "rate", "moves of a thread to another CPU", PK_MODES_KERNEL,
     KERNEL(CPU_MIGRATIONS)},
    {"cycles", "1", "rate", "clock cycles of the cores", PK_MODES_SPLIT, PROCESSOR(CPU_CYCLES)},
    {"instructions", "1", "rate", "instructions retired", PK_MODES_SPLIT, PROCESSOR(INSTRUCTIONS)},
    {"branches", "1", "rate", "branches retired", PK_MODES_SPLIT, PROCESSOR(BRANCH_INSTRUCTIONS)},
    {"branch_misses", "1", "rate", "branches predicted wrongly", PK_MODES_SPLIT, PROCESSOR(BRANCH_MISSES)},
    {"llc_misses", "1", "rate", "accesses that the last cache did not serve", PK_MODES_SPLIT,
     PROCESSOR(CACHE_MISSES)},
};

/* Permission is checked before existence: with kernel mode a missing counter looks like a missing right, so that the answer to
 * user mode alone is the true one. */
static void open_one(const struct pk_cpu_event *e, pid_t pid, const struct pk_perf *perf,
                     struct pk_cpu_count *c)
{
    struct perf_event_attr attr = {.type = e->type,
                                   .config = e->config,
                                   .read_format =
                                       PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
                                   .disabled = 1,
                                   .inherit = 1,
                                   .enable_on_exec = 1};
    *c = (struct pk_cpu_count){.fd = pk_perf_open(perf, &attr, pid, -1, -1)};
    if (c->fd < 0 && (errno == EACCES || errno == EPERM) && e->modes != PK_MODES_KERNEL) {
        attr.exclude_kernel = attr.exclude_hv = 1;
        c->user_only = e->modes == PK_MODES_SPLIT;
        c->fd = pk_perf_open(perf, &attr, pid, -1, -1);
    }
    c->error = c->fd < 0 ? errno : 0;
}

void pk_cpu_counts_open(struct pk_cpu_count counts[PK_CPU_EVENTS], pid_t pid,
                        const struct pk_counter_env *env)
{
    for (size_t i = 0; i < PK_CPU_EVENTS; i++)
        open_one(&pk_cpu_events[i], pid, pk_perf_of(env), &counts[i]);
}

static void read_one(struct pk_cpu_count *c, const struct pk_perf *perf)
{
    struct {
        uint64_t value, enabled_ns, running_ns;
    } got;
    ssize_t n = perf->read(c->fd, &got, sizeof got);
    if (n != sizeof got)
        c->error = n < 0 ? errno : EBUSY;
    else if (!got.running_ns)
        c->error = EBUSY; /* not 0: nobody looked */
    else {
        c->scaled = got.running_ns < got.enabled_ns;
        c->value = c->scaled ? (int64_t)((long double)got.value * (long double)got.enabled_ns /
                                         (long double)got.running_ns)
                             : (int64_t)got.value;
    }
}

void pk_cpu_counts_read(struct pk_cpu_count counts[PK_CPU_EVENTS], const struct pk_counter_env *env)
{
    for (size_t i = 0; i < PK_CPU_EVENTS; i++)
        if (!counts[i].error)
            read_one(&counts[i], pk_perf_of(env));
}

void pk_cpu_counts_close(struct pk_cpu_count counts[PK_CPU_EVENTS], const struct pk_counter_env *env)
{
    for (size_t i = 0; i < PK_CPU_EVENTS; i++) {
        if (counts[i].fd >= 0)
            pk_perf_of(env)->close(counts[i].fd);
        counts[i].fd = -1;
    }
}

struct pk_perf_refusal pk_cpu_count_refusal(const struct pk_cpu_count *counts, size_t i,
                                            const struct pk_counter_env *env, struct pk_arena *a)
{
    const bool kernel = pk_cpu_events[i].modes == PK_MODES_KERNEL;
    return pk_perf_refusal(pk_counter_root(env), counts[i].error, kernel ? PK_PERF_KERNEL : PK_PERF_USER, a);
}

const char *pk_cpu_counts_absent(const struct pk_cpu_count *counts, size_t from, size_t to,
                                 const struct pk_counter_env *env, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    const char *why[PK_CPU_EVENTS] = {0}; /* NULL once said */
    for (size_t i = from; i < to; i++)
        if (counts[i].error)
            why[i] = pk_cpu_count_refusal(counts, i, env, a).absent;
    for (size_t i = from; i < to; i++) {
        const char *reason = why[i];
        if (!reason)
            continue;
        pk_buf_printf(&b, "%s%s", b.n ? "; " : "", pk_cpu_events[i].name);
        for (size_t k = i + 1; k < to; k++)
            if (why[k] && !strcmp(why[k], reason)) {
                pk_buf_printf(&b, ", %s", pk_cpu_events[k].name);
                why[k] = NULL;
            }
        pk_buf_printf(&b, ": %s", reason);
    }
    return pk_buf_text(&b);
}
