/* Counters benchmark: what a group read of 4 events costs, against 4 reads of one event each, taken in turns within a round; and what
 * reading the state of the machine costs (machine/state.h).
 *
 *     bench-counters [check]
 *
 * With `check` it exits 1 when the group does not cost less than three quarters of the four, or its quickest round more than 2 us a
 * read; 77 where the kernel counts nothing. */
#include "counter/perf/reader.h"

#include "base/clock.h"
#include "machine/bind.h"
#include "machine/machine.h"
#include "machine/state.h"

#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 4, ROUNDS = 41, READS = 500, LIMIT_NS = 2000 };

static const struct pk_perf_code codes[EVENTS] = {
    {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK},
    {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS},
    {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS_MIN},
    {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS_MAJ},
};

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
            pk_perf_reader_begin(readers[k]);
    return (double)(pk_clock_ns() - began) / READS;
}

/* 0 or an errno. */
static int open_all(struct pk_arena *a, struct pk_perf_reader **together, struct pk_perf_reader **apart)
{
    struct pk_perf_group g = {.codes = codes, .n = EVENTS, .user_only = true};
    size_t which;
    int error = pk_perf_reader_open(&pk_counter_host, &g, a, together, &which);
    for (size_t i = 0; !error && i < EVENTS; i++) {
        g = (struct pk_perf_group){.codes = &codes[i], .n = 1, .user_only = true};
        error = pk_perf_reader_open(&pk_counter_host, &g, a, &apart[i], &which);
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
    if (open_all(&a, &together, apart)) {
        puts("the kernel counts nothing here");
        return 77;
    }
    for (int i = 0; i < ROUNDS; i++) {
        group[i] = cost_ns(&together, 1);
        ratio[i] = group[i] / cost_ns(apart, EVENTS);
    }
    qsort(group, ROUNDS, sizeof *group, by_value);
    qsort(ratio, ROUNDS, sizeof *ratio, by_value);
    printf("group read of %d events: median %.0f ns, least %.0f ns; %.2f of %d reads of one\n", EVENTS,
           group[ROUNDS / 2], group[0], ratio[ROUNDS / 2], EVENTS);
    print_state_cost();
    pk_perf_reader_close(together);
    for (size_t i = 0; i < EVENTS; i++)
        pk_perf_reader_close(apart[i]);
    return argc > 1 && !strcmp(argv[1], "check") && (ratio[ROUNDS / 2] > 0.75 || group[0] > LIMIT_NS);
}
