/* Counters benchmark: what a group read of 4 events costs, against the bare system call on the same group and against 4 reads of one
 * event each, taken in turns, each alone: together they would be more than a core has counters for, and a group that waits for its turn is
 * read quickly. And what reading the state of the machine costs (machine/state.h).
 *
 *     bench-counters [check]
 *
 * Events are the processor's where it shows any: then a group read has to cost 0.6 us at most, what is asked of perfkit. Else they are
 * the kernel's, and 2 us are enough. In a virtual machine each of the processor's counters may cost an exit to the hypervisor: there the
 * bare system call alone is the measure.
 *
 * With `check` it exits 1 when the quickest round costs more than that, the group costs more than 1.2 of the bare call, or not less than
 * the four; 77 where the kernel counts nothing. */
#include "counter/perf/reader.h"
#include "virtual_machine.h"

#include "base/clock.h"
#include "base/file.h"
#include "machine/bind.h"
#include "machine/machine.h"
#include "machine/state.h"

#include <linux/perf_event.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EVENTS = 4, ROUNDS = 41, READS = 500 };

#define PROCESSOR(event)                                                                                     \
    {                                                                                                        \
        .type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_##event                                          \
    }
#define KERNEL(event)                                                                                        \
    {                                                                                                        \
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_##event                                          \
    }

/* What is read, and the most that it may cost. */
static const struct kind {
    const char *whose;
    double limit_ns;
    struct pk_perf_code codes[EVENTS];
} kinds[] = {
    {"the processor's",
     600,
     {PROCESSOR(CPU_CYCLES), PROCESSOR(INSTRUCTIONS), PROCESSOR(BRANCH_INSTRUCTIONS),
      PROCESSOR(BRANCH_MISSES)}},
    {"the kernel's, for the processor shows none",
     2000,
     {KERNEL(TASK_CLOCK), KERNEL(PAGE_FAULTS), KERNEL(PAGE_FAULTS_MIN), KERNEL(PAGE_FAULTS_MAJ)}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* ns of one read of each of these. */
static double cost_ns(struct pk_perf_reader *const *readers, size_t n)
{
    const uint64_t began = pk_clock_ns();
    for (int i = 0; i < READS; i++)
        for (size_t k = 0; k < n; k++)
            pk_perf_reader_mark(readers[k], 0, false);
    return (double)(pk_clock_ns() - began) / READS;
}

/* The events in groups of `of`, read by perfkit: ns of all, NaN when they cannot be opened. */
static double reader_ns(const struct kind *k, size_t of)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_perf_reader *readers[EVENTS];
    struct pk_perf_group g[EVENTS]; /* readers borrow them */
    size_t n = 0, which;
    int error = 0;
    for (; !error && n < EVENTS / of; n++) {
        g[n] = (struct pk_perf_group){.codes = &k->codes[n * of], .n = of, .user_only = true};
        error = pk_perf_reader_open(&pk_counter_host, &g[n], (struct pk_other_process){0}, &a, &readers[n],
                                    &which);
    }
    n -= error != 0;
    const double ns = error ? NAN : cost_ns(readers, n);
    while (n)
        pk_perf_reader_close(readers[--n]);
    return ns;
}

static int open_bare(const struct pk_perf_code *code, int leader)
{
    struct perf_event_attr attr = {.size = sizeof attr,
                                   .type = code->type,
                                   .config = code->config,
                                   .exclude_kernel = 1,
                                   .exclude_hv = 1,
                                   .read_format = PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED |
                                                  PERF_FORMAT_TOTAL_TIME_RUNNING};
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

/* read(2) of the same group: what the kernel and a hypervisor take. */
static double bare_ns(const struct kind *k)
{
    int fd[EVENTS] = {-1, -1, -1, -1};
    uint64_t words[3 + EVENTS];
    bool ok = true;
    for (size_t i = 0; i < EVENTS; i++)
        fd[i] = open_bare(&k->codes[i], fd[0]);
    const uint64_t began = pk_clock_ns();
    for (int i = 0; i < READS; i++)
        ok = read(fd[0], words, sizeof words) == sizeof words && ok;
    const double ns = (double)(pk_clock_ns() - began) / READS;
    for (size_t i = 0; i < EVENTS; i++)
        close(fd[i]);
    return ok ? ns : NAN;
}

static double state_ns(const unsigned *cpus, unsigned n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_state s;
    const uint64_t began = pk_clock_ns();
    pk_state_read(NULL, cpus, n, &a, &s);
    return (double)(pk_clock_ns() - began);
}

static void print_state_cost(void)
{
    unsigned cpus[PK_CPUS_MAX];
    double ns[ROUNDS];
    const unsigned n = pk_machine_cpus(cpus, PK_CPUS_MAX);
    for (int i = 0; i < ROUNDS; i++)
        ns[i] = state_ns(cpus, n);
    qsort(ns, ROUNDS, sizeof *ns, by_value);
    printf("state of the machine, %u CPUs: median %.0f us, least %.0f us\n", n, ns[ROUNDS / 2] / 1e3,
           ns[0] / 1e3);
}

/* Whether a hypervisor stands between the processor's counters and us. */
static bool virtual_counters(const struct kind *k)
{
    return k == kinds && virtual_machine();
}

int main(int argc, char **argv)
{
    const bool check = argc > 1 && !strcmp(argv[1], "check");
    double group[ROUNDS], of_bare[ROUNDS], of_four[ROUNDS];
    const struct kind *k = kinds;
    while (k < kinds + KINDS && isnan(reader_ns(k, EVENTS)))
        k++;
    if (k == kinds + KINDS) {
        puts("the kernel counts nothing here");
        return 77;
    }
    for (int i = 0; i < ROUNDS; i++) {
        group[i] = reader_ns(k, EVENTS);
        of_bare[i] = group[i] / bare_ns(k);
        of_four[i] = group[i] / reader_ns(k, 1);
    }
    qsort(group, ROUNDS, sizeof *group, by_value);
    qsort(of_bare, ROUNDS, sizeof *of_bare, by_value);
    qsort(of_four, ROUNDS, sizeof *of_four, by_value);
    const bool exits = virtual_counters(k);
    printf("group read of %d events (%s): median %.0f ns, least %.0f ns, at most %.0f%s; %.2f of the bare "
           "system call, %.2f of %d reads "
           "of one\n",
           EVENTS, k->whose, group[ROUNDS / 2], group[0], k->limit_ns,
           exits ? " on bare metal, this is a virtual machine" : "", of_bare[ROUNDS / 2], of_four[ROUNDS / 2],
           EVENTS);
    print_state_cost();
    return check &&
           (of_bare[ROUNDS / 2] > 1.2 || of_four[ROUNDS / 2] > 1 || (!exits && group[0] > k->limit_ns));
}
