/* Counters benchmark: what a group read of 4 events costs, against 4 reads of one event each, taken in turns within a round; and what
 * reading the state of the machine costs (machine/state.h).
 *
 *     bench-counters [check]
 *
 * Events are the processor's where it shows any: then a group read has to cost 0.6 us at most, what is asked of perfkit. Else they are
 * the kernel's, and 2 us are enough: how long a call into the kernel takes is a virtual machine's own.
 *
 * With `check` it exits 1 when the group does not cost less than three quarters of the four, or its quickest round costs more than that;
 * 77 where the kernel counts nothing. */
#include "counter/perf/reader.h"

#include "base/clock.h"
#include "machine/bind.h"
#include "machine/machine.h"
#include "machine/state.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
            pk_perf_reader_begin(readers[k], 0);
    return (double)(pk_clock_ns() - began) / READS;
}

/* 0 or an errno. */
static int open_all(const struct kind *k, struct pk_arena *a, struct pk_perf_reader **together,
                    struct pk_perf_reader **apart)
{
    struct pk_perf_group *g = pk_new_n(a, struct pk_perf_group, EVENTS + 1); /* readers borrow them */
    size_t which;
    g[EVENTS] = (struct pk_perf_group){.codes = k->codes, .n = EVENTS, .user_only = true};
    int error = pk_perf_reader_open(&pk_counter_host, &g[EVENTS], a, together, &which);
    for (size_t i = 0; !error && i < EVENTS; i++) {
        g[i] = (struct pk_perf_group){.codes = &k->codes[i], .n = 1, .user_only = true};
        error = pk_perf_reader_open(&pk_counter_host, &g[i], a, &apart[i], &which);
    }
    return error;
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

int main(int argc, char **argv)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_perf_reader *together, *apart[EVENTS];
    double group[ROUNDS], ratio[ROUNDS];
    const struct kind *k = kinds;
    while (k < kinds + KINDS && open_all(k, &a, &together, apart))
        k++;
    if (k == kinds + KINDS) {
        puts("the kernel counts nothing here");
        return 77;
    }
    for (int i = 0; i < ROUNDS; i++) {
        group[i] = cost_ns(&together, 1);
        ratio[i] = group[i] / cost_ns(apart, EVENTS);
    }
    qsort(group, ROUNDS, sizeof *group, by_value);
    qsort(ratio, ROUNDS, sizeof *ratio, by_value);
    printf("group read of %d events (%s): median %.0f ns, least %.0f ns, at most %.0f; %.2f of %d reads of "
           "one\n",
           EVENTS, k->whose, group[ROUNDS / 2], group[0], k->limit_ns, ratio[ROUNDS / 2], EVENTS);
    print_state_cost();
    pk_perf_reader_close(together);
    for (size_t i = 0; i < EVENTS; i++)
        pk_perf_reader_close(apart[i]);
    return argc > 1 && !strcmp(argv[1], "check") && (ratio[ROUNDS / 2] > 0.75 || group[0] > k->limit_ns);
}
