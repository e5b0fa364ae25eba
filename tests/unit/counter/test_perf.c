/* Counters of the kernel on machines that are made up: what is opened and read, what is refused with which words. */
#include "counter/fake_kernel.h"
#include "counter/perf/codes.h"
#include "counter/perf/known_work.h"
#include "counter/perf/perf_plan.h"
#include "counter/perf/reader.h"
#include "counter/select.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define METAL "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nflags\t\t: fpu avx2\n"
#define GUEST "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nflags\t\t: fpu hypervisor avx2\n"

static struct pk_arena arena;
static struct pk_err err;
static const struct pk_source_plan *plans;
static size_t n_plans;

static int fresh(void **state)
{
    fake_root_clear();
    fake_file("proc/cpuinfo", METAL);
    fake_file("sys/bus/event_source/devices/cpu/type", "4\n");
    return 0;
}

static int closed(void **state)
{
    assert_int_equal(fake.open_now, 0);
    return 0;
}

static enum pk_code plan(const char *source, const char *const *names, size_t n)
{
    err = (struct pk_err){0};
    return pk_source_find(source)->plan(pk_source_find(source), &fake_env, names, n, &arena, &plans, &n_plans,
                                        &err);
}

static struct pk_source_found check(const char *source)
{
    return pk_source_find(source)->check(pk_source_find(source), &fake_env, &arena);
}

static struct pk_source_found selftest(const char *source)
{
    return pk_source_find(source)->selftest(pk_source_find(source), &fake_env, &arena);
}

/* One iteration with one region, on the first plan. */
static enum pk_code count(struct pk_reading *whole, struct pk_reading *region)
{
    const struct pk_source *s = plans[0].source;
    bool again;
    void *h;
    if (s->open(&fake_env, &plans[0], NULL, &arena, &h, &err))
        return err.code;
    assert_int_equal(s->start(h, &err), 0);
    s->mark(h, 1, false);
    s->mark(h, 1, true);
    assert_int_equal(s->stop(h, &again, &err), 0);
    enum pk_code rc = s->read(h, -1, whole, &err);
    if (!rc)
        rc = s->read(h, 1, region, &err);
    pk_source_close(s, h);
    return rc;
}

/* --- reading -------------------------------------------------------------------------------------------------------- */

static const char *const two[] = {"cycles", "instructions"};

static void a_group_is_read_as_differences(void **state)
{
    struct pk_reading whole[2], region[2];
    fake.from = UINT64_MAX - 250; /* wraps on the way */
    assert_int_equal(plan("cpu-events", two, 2), 0);
    assert_int_equal(n_plans, 1);
    assert_string_equal(plans[0].events[0].modes, "user+kernel");
    assert_int_equal(count(whole, region), 0);
    assert_int_equal(whole[0].integer, 300); /* four reads, the first of which is the start */
    assert_int_equal(whole[1].integer, 600);
    assert_int_equal(region[0].integer, 100);
    assert_int_equal(region[1].integer, 200);
    assert_true(whole[0].enabled_ns == 3000 && whole[0].running_ns == 3000);
}

/* Each read counts 100 more: an outer region has those of the marks inside it. */
static void regions_lie_within_each_other(void **state)
{
    enum { OUTER = 1, INNER = 2, NONE = 3 };
    struct pk_reading whole, outer, inner, none;
    bool again;
    void *h;
    fake.from = UINT64_MAX - 250; /* wraps on the way */
    assert_int_equal(plan("cpu-events", two, 1), 0);
    const struct pk_source *s = plans[0].source;
    assert_int_equal(s->open(&fake_env, &plans[0], NULL, &arena, &h, &err), 0);
    assert_int_equal(s->start(h, &err), 0);
    s->mark(h, OUTER, false);
    for (int i = 0; i < 2; i++) {
        s->mark(h, INNER, false);
        s->mark(h, INNER, true);
    }
    s->mark(h, OUTER, true);
    assert_int_equal(s->stop(h, &again, &err), 0);
    assert_int_equal(s->read(h, -1, &whole, &err), 0);
    assert_int_equal(s->read(h, OUTER, &outer, &err), 0);
    assert_int_equal(s->read(h, INNER, &inner, &err), 0);
    assert_int_equal(s->read(h, NONE, &none, &err), 0);
    pk_source_close(s, h);
    assert_int_equal(inner.integer, 200);
    assert_int_equal(outer.integer, 500);
    assert_int_equal(whole.integer, 700);
    assert_true(outer.enabled_ns == 5000 && outer.running_ns == 5000 && none.unavailable);
}

static void counters_that_took_turns_are_scaled(void **state)
{
    struct pk_reading whole[2], region[2];
    assert_int_equal(plan("cpu-events", two, 2), 0);
    fake.enabled = 1ull << 40;
    fake.running = (1ull << 40) / 4 * 3;
    fake.per_read = 3ull << 52; /* times enabled it does not fit 64 bits */
    assert_int_equal(count(whole, region), 0);
    assert_int_equal(region[0].integer, 4ll << 52);
    assert_true(region[0].running_ns < region[0].enabled_ns && !region[0].unavailable);
}

static void what_never_ran_is_unavailable(void **state)
{
    struct pk_reading whole[2], region[2];
    assert_int_equal(plan("sw-events", (const char *const[]){"page_faults", "task_clock_ns"}, 2), 0);
    fake.running = 0;
    assert_int_equal(count(whole, region), 0);
    assert_true(whole[0].unavailable && region[1].unavailable);
}

/* Nothing runs without instructions; without a cache miss something may. */
static void what_stands_still_is_unavailable(void **state)
{
    struct pk_reading whole[2], region[2];
    assert_int_equal(plan("cpu-events", (const char *const[]){"instructions", "branch_misses"}, 2), 0);
    fake.per_read = 0;
    fake.enabled = fake.running = 9000;
    assert_int_equal(count(whole, region), 0);
    assert_true(whole[0].unavailable && !region[0].unavailable && !whole[1].unavailable);
    assert_string_equal(whole[0].why, "the counter did not change");
    assert_int_equal(region[0].integer, 0); /* of 9 us: too short to tell */
}

static void a_group_that_gave_way_is_no_count(void **state)
{
    struct pk_reading whole[2], region[2];
    fake_file("proc/sys/kernel/nmi_watchdog", "1\n");
    assert_int_equal(plan("cpu-events", two, 2), 0);
    fake.free = 1;
    assert_int_equal(count(whole, region), PK_E_UNAVAILABLE);
    assert_string_equal(err.why, "all counters of the processor were in use; the kernel's watchdog uses one");
    assert_string_equal(err.fix, "sudo sysctl kernel.nmi_watchdog=0");
}

/* As in a sandbox whose filter knows perf_event_open and not its ioctls. */
static void counters_that_cannot_be_switched_on_are_refused(void **state)
{
    fake.enable_error = EPERM;
    fake_file("proc/self/status", "Name:\tx\nSeccomp:\t2\n");
    const struct pk_source_found f = check("sw-events");
    assert_int_equal(f.state, PK_SOURCE_UNAVAILABLE);
    assert_int_equal(f.error, EPERM);
    assert_non_null(strstr(f.why, "seccomp"));
    fake.enable_error = ENOTTY;
    assert_string_equal(check("sw-events").why, "perf_event_open: Inappropriate ioctl for device");
    assert_int_equal(plan("cpu-events", two, 2), PK_E_UNAVAILABLE);
    assert_int_equal(fake.open_now, 0);
}

static void reads_that_fail_are_told(void **state)
{
    struct pk_reading whole[2], region[2];
    assert_int_equal(plan("sw-events", (const char *const[]){"page_faults"}, 1), 0);
    fake.read_error = ENODEV;
    assert_int_equal(count(whole, region), PK_E_UNAVAILABLE);
    assert_string_equal(err.what, "the counters of sw-events could not be read");
}

/* --- opening -------------------------------------------------------------------------------------------------------- */

static void more_events_than_counters_are_more_passes(void **state)
{
    static const char *const five[] = {"cycles", "instructions", "branches", "branch_misses", "llc_misses"};
    fake.counters = 2;
    assert_int_equal(plan("cpu-events", five, 5), 0);
    assert_int_equal(n_plans, 3);
    assert_int_equal(plans[0].n, 2);
    assert_int_equal(plans[2].n, 1);
    assert_string_equal(plans[1].events[0].name, "branches");
    fresh(state);
    fake.counters = 4;
    fake.free = 3; /* what opens is not what counts */
    assert_int_equal(plan("cpu-events", five, 5), 0);
    assert_int_equal(n_plans, 2);
    assert_int_equal(plans[0].n, 3);
}

static void sums_are_of_one_pass(void **state)
{
    struct pk_reading whole[2], region[2];
    if (pk_pfm_unavailable())
        skip();
    fake.counters = 4;
    assert_int_equal(plan("cpu-events", (const char *const[]){"cycles", "dp_flops"}, 2), 0);
    assert_int_equal(n_plans, 2);
    plans++;
    assert_int_equal(count(whole, region), 0);
    assert_int_equal(region[0].integer, 100 + 2 * 200 + 4 * 300 + 8 * 400);
    assert_int_equal(plan("cpu-events", (const char *const[]){"dp_flops", "sp_flops"}, 2), 0);
    assert_int_equal(n_plans, 2);
    fake.counters = 3;
    assert_int_equal(plan("cpu-events", (const char *const[]){"dp_flops"}, 1), PK_E_UNAVAILABLE);
    assert_string_equal(err.what, "dp_flops cannot be counted");
}

static void a_kernel_that_knows_less_is_asked_again(void **state)
{
    fake.knows_bytes = PERF_ATTR_SIZE_VER5;
    assert_int_equal(plan("cpu-events", two, 2), 0);
    assert_true(fake.retries > 0);
}

static void groups_that_cannot_be_inherited(void **state)
{
    struct pk_reading whole[2], region[2];
    fake.inherited_groups = EINVAL;
    assert_int_equal(plan("sw-events", (const char *const[]){"page_faults"}, 1), 0);
    assert_int_equal(count(whole, region), 0);
    assert_int_equal(region[0].integer, 100);
    assert_int_equal(plans[0].events[0].quality, PK_QUALITY_APPROXIMATE);
    assert_string_equal(
        plans[0].events[0].note,
        "threads that are started later are not counted: this kernel does not inherit groups");
    assert_int_equal(check("sw-events").state, PK_SOURCE_DEGRADED);
    assert_non_null(strstr(check("cpu-events").why, "threads that are started later are not counted"));
    assert_string_equal(check("sw-events").fix, "Linux 4.13 or newer");
}

static void hybrid_processors_count_one_kind_of_core(void **state)
{
    fake_file("sys/bus/event_source/devices/cpu_core/type", "4\n");
    fake_file("sys/bus/event_source/devices/cpu_core/cpus", "0-15\n");
    fake_file("proc/cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 151\nflags\t: fpu\n");
    const struct pk_source_found f = check("cpu-events");
    assert_int_equal(f.state, PK_SOURCE_DEGRADED);
    assert_string_equal(f.why,
                        "two kinds of cores: events count on CPUs 0-15 (cpu_core); events of the others are "
                        "named cycles@cpu_atom");
    assert_string_equal(f.fix, "use --bind 0-15 to measure and count only on those");
    assert_int_equal(plan("cpu-events", (const char *const[]){"cycles@cpu_atom", "cycles"}, 2), 0);
    assert_int_equal(n_plans, 2); /* never in one group, never summed */
    assert_int_equal(plan("cpu-events", (const char *const[]){"dp_flops@cpu_atom"}, 1), PK_E_UNAVAILABLE);
    assert_int_equal(plan("cpu-events", two, 2), 0);
    const struct pk_source *s = plans[0].source;
    struct pk_reading whole[2], region[2];
    void *h;
    assert_int_equal(s->open(&fake_env, &plans[0], NULL, &arena, &h, &err), 0);
    assert_int_equal(fake.fd[1].config, 4ull << 32 | PERF_COUNT_HW_INSTRUCTIONS);
    assert_true(fake.fd[0].pinned && !fake.fd[1].pinned);
    pk_source_close(s, h);
    fake.enabled = 1000;
    fake.running = 100; /* the rest of the time elsewhere */
    assert_int_equal(count(whole, region), 0);
    assert_true(region[0].integer == 100 && !region[0].unavailable &&
                region[0].running_ns == region[0].enabled_ns);
    fake.running = 0;
    assert_non_null(
        strstr(selftest("cpu-events").why, "not tested, because the test ran on the other cores"));
}

/* libpfm knows the kernel's events in software, too: they need no processor's counters. */
static void raw_names_of_software_events(void **state)
{
    struct pk_reading whole[1], region[1];
    struct pk_counters c;
    if (pk_pfm_unavailable())
        skip();
    fake.cores = ENOENT;
    assert_int_equal(
        pk_counters_select(&fake_env, "perf::minor-faults,perf::cycles", false, &arena, &c, &err), 0);
    assert_int_equal(c.n_plans, 1);
    assert_string_equal(c.plans[0].source->name, "sw-events");
    assert_string_equal(c.missing[0].name, "perf::cycles");
    assert_int_equal(plan("sw-events", (const char *const[]){"perf::minor-faults"}, 1), 0);
    assert_int_equal(count(whole, region), 0);
    assert_int_equal(region[0].integer, 100);
    fake.kernel = EACCES;
    assert_int_equal(plan("sw-events", (const char *const[]){"perf::context-switches"}, 1), PK_E_UNAVAILABLE);
    assert_int_equal(plan("sw-events", (const char *const[]){"perf::cpu-clock"}, 1), 0);
    assert_string_equal(plans[0].events[0].unit, "ns");
}

/* --- refusals ------------------------------------------------------------------------------------------------------- */

#define SETCAP "or sudo setcap cap_perfmon+ep $(command -v perfkit), which makes LD_LIBRARY_PATH ignored"

/* The rows of what can be wrong: how the machine is, and what it is called. */
static const struct cause {
    const char *name;
    struct fake_kernel kernel;
    const char *files[6]; /* path, text, ... */
    const char *source;
    enum pk_source_state state;
    const char *why, *fix;
} causes[] = {
    {"kernel mode is forbidden",
     {.kernel = EACCES},
     {"proc/sys/kernel/perf_event_paranoid", "2\n"},
     "cpu-events",
     PK_SOURCE_DEGRADED,
     "user mode only: kernel.perf_event_paranoid=2 forbids it, 1 would allow it",
     "sudo sysctl kernel.perf_event_paranoid=1; " SETCAP},
    {"the same for the kernel's own events",
     {.kernel = EACCES},
     {"proc/sys/kernel/perf_event_paranoid", "2\n"},
     "sw-events",
     PK_SOURCE_DEGRADED,
     "user mode only, without context_switches and cpu_migrations: kernel.perf_event_paranoid=2 forbids it, "
     "1 "
     "would allow it",
     "sudo sysctl kernel.perf_event_paranoid=1; " SETCAP},
    {"everything is forbidden (Debian's levels)",
     {.kernel = EACCES, .user = EACCES},
     {"proc/sys/kernel/perf_event_paranoid", "3\n"},
     "cpu-events",
     PK_SOURCE_UNAVAILABLE,
     "kernel.perf_event_paranoid=3 forbids it, 2 would allow it",
     "sudo sysctl kernel.perf_event_paranoid=2; " SETCAP},
    {"a security module",
     {.kernel = EACCES, .user = EACCES},
     {"proc/sys/kernel/perf_event_paranoid", "-1\n"},
     "cpu-events",
     PK_SOURCE_UNAVAILABLE,
     "a security module of this kernel forbids it",
     NULL},
    {"a container's filter",
     {.kernel = EPERM, .user = EPERM},
     {"proc/self/status", "Name:\tx\nSeccomp:\t2\n"},
     "sw-events",
     PK_SOURCE_UNAVAILABLE,
     "a container's seccomp profile forbids it",
     "docker run --cap-add=PERFMON with a profile that allows perf_event_open, or --security-opt "
     "seccomp=unconfined"},
    {"forbidden, but not by a filter",
     {.kernel = EPERM, .user = EPERM},
     {"proc/self/status", "Name:\tx\nSeccomp:\t0\n"},
     "sw-events",
     PK_SOURCE_UNAVAILABLE,
     "a security module of this kernel forbids it",
     NULL},
    {"gVisor",
     {.kernel = ENOSYS, .user = ENOSYS},
     {"proc/sys/kernel/osrelease", "4.4.0\n"},
     "sw-events",
     PK_SOURCE_UNAVAILABLE,
     "gVisor has no perf_event_open",
     "use another runtime than gVisor (runsc): docker run --runtime=runc"},
    {"a kernel without perf_event_open",
     {.kernel = ENOSYS, .user = ENOSYS},
     {"proc/sys/kernel/osrelease", "6.1.0\n"},
     "sw-events",
     PK_SOURCE_UNAVAILABLE,
     "this kernel has no perf_event_open",
     NULL},
    {"no counters in a virtual machine; rights hide that",
     {.kernel = EACCES, .cores = ENOENT},
     {"proc/cpuinfo", GUEST, "proc/sys/kernel/perf_event_paranoid", "2\n"},
     "cpu-events",
     PK_SOURCE_UNAVAILABLE,
     "no counters: the hypervisor hides them",
     "use bare metal, or a hypervisor that exposes them (QEMU: -cpu host,pmu=on; libvirt: <pmu state='on'/>; "
     "VMware: "
     "vpmc.enable=TRUE)"},
    {"no driver on metal",
     {.cores = ENOENT},
     {"proc/cpuinfo", METAL},
     "cpu-events",
     PK_SOURCE_UNAVAILABLE,
     "no counters: this kernel has no driver for the counters of this processor",
     NULL},
    {"the watchdog has the only counter",
     {.free = 1, .running = 0, .enabled = 1000},
     {"proc/sys/kernel/nmi_watchdog", "1\n"},
     "cpu-events",
     PK_SOURCE_UNAVAILABLE,
     "all counters of the processor were in use; the kernel's watchdog uses one",
     "sudo sysctl kernel.nmi_watchdog=0"},
    {"somebody else has it",
     {.running = 0, .enabled = 1000},
     {"proc/sys/kernel/nmi_watchdog", "0\n"},
     "cpu-events",
     PK_SOURCE_UNAVAILABLE,
     "all counters of the processor were in use",
     "end the other profiler, or count fewer events at once"},
    {"more threads than can be followed",
     {.kernel = PK_TOO_MANY_THREADS, .user = PK_TOO_MANY_THREADS},
     {NULL},
     "sw-events",
     PK_SOURCE_UNAVAILABLE,
     "this process has more than 4096 threads",
     "fewer --threads"},
    {"too many files",
     {.kernel = EMFILE, .user = EMFILE},
     {NULL},
     "sw-events",
     PK_SOURCE_UNAVAILABLE,
     "too many files are open: each event of each thread is one",
     "use ulimit -n 65536, or fewer events or --threads"},
};

static void every_cause_has_its_words(void **state)
{
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++) {
        const struct cause *c = &causes[i];
        fake_root_clear();
        const struct fake_kernel usual = fake;
        fake = c->kernel;
        fake.per_read = usual.per_read;
        if (!fake.enabled) {
            fake.enabled = usual.enabled;
            fake.running = usual.running;
        }
        for (size_t k = 0; k < 6 && c->files[k]; k += 2)
            fake_file(c->files[k], c->files[k + 1]);
        const struct pk_source_found f = check(c->source);
        if (f.state != c->state || strcmp(f.why, c->why) != 0 || !f.fix != !c->fix ||
            (f.fix && strcmp(f.fix, c->fix) != 0))
            fail_msg("%s: state %d, '%s', '%s'", c->name, (int)f.state, f.why, f.fix ? f.fix : "");
        assert_int_equal(fake.open_now, 0);
    }
}

/* Without the right to count kernel mode, what happens there alone is refused and not 0. */
static void user_mode_alone_is_said_and_refused(void **state)
{
    fake.kernel = EACCES;
    fake_file("proc/sys/kernel/perf_event_paranoid", "2\n");
    assert_int_equal(plan("sw-events", (const char *const[]){"page_faults", "task_clock_ns"}, 2), 0);
    assert_string_equal(plans[0].events[0].modes, "user");
    assert_string_equal(plans[0].events[1].modes, "user+kernel");
    assert_int_equal(plan("sw-events", (const char *const[]){"context_switches"}, 1), PK_E_UNAVAILABLE);
    assert_string_equal(err.what, "context_switches cannot be counted");
    assert_string_equal(err.why, "kernel.perf_event_paranoid=2 forbids it, 1 would allow it");
    assert_int_equal(plan("cpu-events", two, 2), 0);
    assert_string_equal(plans[0].events[0].modes, "user");
    struct pk_counters c;
    assert_int_equal(pk_counters_select(&fake_env, "sw", false, &arena, &c, &err), 0);
    assert_int_equal(c.n_missing, 2);
    assert_string_equal(c.missing[0].name, "context_switches");
    assert_int_equal(c.plans[0].n, 2);
}

static void a_group_that_cannot_be_counted_is_missing(void **state)
{
    struct pk_counters c;
    fake.cores = ENOENT;
    fake_file("proc/cpuinfo", GUEST);
    assert_int_equal(pk_counters_select(&fake_env, "cpu-basic,minor_faults", false, &arena, &c, &err), 0);
    assert_int_equal(c.n_plans, 1);
    assert_int_equal(c.n_metrics, 0);
    assert_int_equal(c.n_missing, 1);
    assert_string_equal(c.missing[0].name, "cpu-basic");
    assert_non_null(strstr(c.missing[0].why, "cycles: "));
    assert_non_null(c.missing[0].fix);
}

static void metrics_know_their_places(void **state)
{
    struct pk_counters c;
    fake.counters = 3;
    assert_int_equal(pk_counters_select(&fake_env, "cpu-basic", false, &arena, &c, &err), 0);
    assert_int_equal(c.n_plans, 2);
    assert_string_equal(c.metrics[0].name, "ipc");
    assert_int_equal(c.metrics[0].inputs[0].event, 1); /* instructions / cycles */
    assert_int_equal(c.metrics[0].inputs[1].event, 0);
    assert_int_equal(c.metrics[1].inputs[1].plan, 1); /* cycles / ref_cycles, of the second pass */
}

/* --- self-tests ----------------------------------------------------------------------------------------------------- */

static void a_counter_that_stays_0_is_dead(void **state)
{
    fake.per_read = 0;
    fake_file("proc/cpuinfo", GUEST);
    const struct pk_source_found f = selftest("cpu-events");
    assert_int_equal(f.state, PK_SOURCE_UNAVAILABLE);
    assert_string_equal(f.why,
                        "dead counter: a loop of 2000000 instructions and 1000000 branches gave 0 and 0");
    assert_string_equal(f.fix,
                        "use bare metal, or a hypervisor whose counters work (QEMU: -cpu host,pmu=on)");
    assert_non_null(strstr(selftest("sw-events").why, "dead counter: 100 touched pages gave 0"));
}

static void known_counts_are_known(void **state)
{
    fake.per_read = 1000000;
    fake.falling = true;
    const struct pk_source_found f = selftest("cpu-events");
    assert_int_equal(f.state, pk_pfm_unavailable() ? PK_SOURCE_DEGRADED : PK_SOURCE_OK);
    assert_non_null(
        strstr(f.why, "; a loop of 2000000 instructions and 1000000 branches gave 2000000 and 1000000"));
    fake.per_read = 1020000; /* two percent more */
    assert_int_equal(selftest("cpu-events").state, PK_SOURCE_UNAVAILABLE);
    fake.per_read = 100;
    fake.software_per_read[PERF_COUNT_SW_CONTEXT_SWITCHES] = PK_KNOWN_SLEEPS;
    fake.software_per_read[PERF_COUNT_SW_TASK_CLOCK] = PK_KNOWN_CPU_NS;
    assert_string_equal(selftest("sw-events").why,
                        "time on CPUs, page faults, switches and migrations; 100 touched pages gave 100 page "
                        "faults, 50 sleeps 50 switches, 10 ms on a CPU 10 ms of task clock");
    fake.software_per_read[PERF_COUNT_SW_CONTEXT_SWITCHES] = PK_KNOWN_SLEEPS - 1;
    assert_non_null(strstr(selftest("sw-events").why,
                           "dead counter: 100 touched pages gave 100 page faults, 50 "
                           "sleeps 49 switches"));
    fake.software_per_read[PERF_COUNT_SW_CONTEXT_SWITCHES] = PK_KNOWN_SLEEPS;
    fake.software_per_read[PERF_COUNT_SW_TASK_CLOCK] = 2 * PK_KNOWN_CPU_NS;
    assert_int_equal(selftest("sw-events").state, PK_SOURCE_UNAVAILABLE);
    fake.software_per_read[PERF_COUNT_SW_TASK_CLOCK] = PK_KNOWN_CPU_NS;
    fake.kernel = EACCES;
    assert_int_equal(selftest("sw-events").state, PK_SOURCE_DEGRADED);
}

/* --- beside the cores ----------------------------------------------------------------------------------------------- */

#define POWER "sys/bus/event_source/devices/power/"

static void make_power(void)
{
    fake_file(POWER "type", "9\n");
    fake_file(POWER "cpumask", "0,28\n");
    fake_file(POWER "format/event", "config:0-7\n");
    fake_file(POWER "events/energy-pkg", "event=0x02\n");
    fake_file(POWER "events/energy-pkg.scale", "2.0e-10\n");
    fake_file(POWER "events/energy-pkg.unit", "Joules\n");
}

static void energy_is_summed_over_sockets(void **state)
{
    struct pk_reading whole[1], region[1];
    make_power();
    assert_int_equal(plan("energy", (const char *const[]){"package_joules"}, 1), 0);
    assert_string_equal(plans[0].events[0].note, "of everything that ran there");
    fake.per_read = 5000000000;
    assert_int_equal(count(whole, region), 0); /* two reads, 1 us apart */
    assert_true(region[0].unavailable);
    assert_string_equal(region[0].why, "it was counted for less than 100 ms, in steps of 1 ms");
    fake.enabled = fake.running = 100000000;
    assert_int_equal(count(whole, region), 0);
    assert_false(region[0].unavailable);
    assert_true(region[0].is_real && region[0].real > 1.999 && region[0].real < 2.001);
    assert_int_equal(plan("energy", (const char *const[]){"dram_joules"}, 1), PK_E_UNAVAILABLE);
    assert_string_equal(err.why, "power shows no energy-ram in Joules");
    assert_true(pk_source_find("energy")->caps & PK_SOURCE_SYSTEM);
}

static void energy_that_does_not_move_is_dead(void **state)
{
    make_power();
    fake.per_read = 0;
    assert_int_equal(plan("energy", (const char *const[]){"package_joules"}, 1), PK_E_UNAVAILABLE);
    assert_string_equal(err.why, "dead counter: energy-pkg stayed 0 in 10 ms of load");
    const struct pk_source_found f = check("energy");
    assert_int_equal(f.state, PK_SOURCE_UNAVAILABLE);
    assert_string_equal(f.why, "dead counter: energy-pkg stayed 0 in 10 ms of load");
    assert_null(f.fix); /* to omit an event is no fix of a source */
}

static void the_whole_socket_needs_a_right(void **state)
{
    make_power();
    fake.system = EACCES;
    fake_file("proc/sys/kernel/perf_event_paranoid", "2\n");
    assert_int_equal(plan("energy", (const char *const[]){"package_joules"}, 1), PK_E_UNAVAILABLE);
    assert_string_equal(err.why, "kernel.perf_event_paranoid=2 forbids it, 0 would allow it");
    assert_string_equal(err.fix, "sudo sysctl kernel.perf_event_paranoid=0; " SETCAP);
}

static void missing_modules_are_named(void **state)
{
    assert_string_equal(check("uncore").why, "no counters of memory controllers: this kernel exposes none");
    assert_string_equal(check("uncore").fix, "sudo modprobe intel_uncore");
    assert_string_equal(check("energy").fix, "sudo modprobe rapl");
    fake_file("proc/cpuinfo", "vendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nflags\t: fpu\n");
    assert_string_equal(check("uncore").fix, "sudo modprobe amd_uncore");
    fake_file("proc/cpuinfo", GUEST);
    assert_string_equal(check("uncore").fix, "use bare metal");
    assert_non_null(
        strstr(check("uncore").why, "this is a virtual machine, and its host does not expose more"));
}

static void make_controller(const char *unit, const char *type)
{
    static const char *const files[][2] = {
        {"cpumask", "0\n"},
        {"format/event", "config:0-7\n"},
        {"format/umask", "config:8-15\n"},
        {"events/cas_count_read", "event=0x04,umask=0x03\n"},
        {"events/cas_count_read.scale", "6.103515625e-5\n"},
        {"events/cas_count_read.unit", "MiB\n"},
        {"events/cas_count_write", "event=0x04,umask=0x0c\n"},
        {"events/cas_count_write.scale", "6.103515625e-5\n"},
        {"events/cas_count_write.unit", "MiB\n"},
    };
    const char *at = pk_printf(&arena, "sys/bus/event_source/devices/%s/", unit);
    fake_file(pk_printf(&arena, "%stype", at), type);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        fake_file(pk_printf(&arena, "%s%s", at, files[i][0]), files[i][1]);
}

static void traffic_is_summed_over_controllers(void **state)
{
    struct pk_reading whole[2], region[2];
    make_controller("uncore_imc_0", "20\n");
    make_controller("uncore_imc_1", "21\n");
    make_controller("uncore_imc_2", "22\n");
    assert_int_equal(plan("uncore", (const char *const[]){"dram_read_bytes", "dram_write_bytes"}, 2), 0);
    assert_string_equal(plans[0].events[1].note, "of everything that ran there");
    assert_int_equal(count(whole, region), 0);
    assert_true(region[0].real == 3 * 100 * 64);
    assert_true(region[1].real == 3 * 200 * 64);
    struct pk_sysfs_event e;
    assert_true(pk_sysfs_event(fake_root, "uncore_imc_1", "cas_count_write", &arena, &e));
    assert_int_equal(e.code.type, 21);
    assert_int_equal(e.code.config, 0x0c04);
}

static void descriptions_that_make_no_sense_are_none(void **state)
{
    struct pk_sysfs_event e;
    make_power();
    fake_file(POWER "format/event", "config:0-7,32-35\n");
    fake_file(POWER "events/energy-pkg", "event=0x1ab\n");
    assert_true(pk_sysfs_event(fake_root, "power", "energy-pkg", &arena, &e));
    assert_int_equal(e.code.config, 1ull << 32 | 0xab);
    fake_file(POWER "events/energy-pkg", "mystery=0x02\n");
    assert_false(pk_sysfs_event(fake_root, "power", "energy-pkg", &arena, &e));
    fake_file(POWER "format/event", "config:0-99\n");
    fake_file(POWER "events/energy-pkg", "event=0x02\n");
    assert_false(pk_sysfs_event(fake_root, "power", "energy-pkg", &arena, &e));
    fake_file(POWER "format/event", "config9:0-7\n");
    assert_false(pk_sysfs_event(fake_root, "power", "energy-pkg", &arena, &e));
}

/* --- the real kernel ------------------------------------------------------------------------------------------------ */

static pthread_barrier_t gate;

static void *touch_pages_when_told(void *unused)
{
    pthread_barrier_wait(&gate);
    pthread_barrier_wait(&gate);
    pk_known_pages(NULL);
    pthread_barrier_wait(&gate);
    return NULL;
}

static void let_it(void *unused)
{
    pthread_barrier_wait(&gate);
    pthread_barrier_wait(&gate);
}

/* Counters are not inherited by threads that were there before: each has its own group. */
static void threads_that_were_there_are_counted(void **state)
{
    const struct pk_perf_code faults = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS};
    const struct pk_perf_group g = {.codes = &faults, .n = 1, .user_only = true};
    struct pk_perf_count n;
    pthread_t t;
    if (pk_perf_try(&pk_counter_host, &g, &arena))
        skip();
    pthread_barrier_init(&gate, NULL, 2);
    assert_int_equal(pthread_create(&t, NULL, touch_pages_when_told, NULL), 0);
    pthread_barrier_wait(&gate);
    assert_true(pk_perf_count_work(&pk_counter_host, &g, let_it, NULL, &arena, &n));
    pthread_join(t, NULL);
    assert_in_range(n.value, PK_KNOWN_PAGES, PK_KNOWN_PAGES + 20);
}

static int make(void **state)
{
    fake_root_make();
    return 0;
}

static int end(void **state)
{
    fake_root_remove();
    pk_arena_free(&arena);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fresh, closed)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_group_is_read_as_differences),
        TEST(regions_lie_within_each_other),
        TEST(counters_that_took_turns_are_scaled),
        TEST(what_never_ran_is_unavailable),
        TEST(what_stands_still_is_unavailable),
        TEST(a_group_that_gave_way_is_no_count),
        TEST(counters_that_cannot_be_switched_on_are_refused),
        TEST(reads_that_fail_are_told),
        TEST(more_events_than_counters_are_more_passes),
        TEST(sums_are_of_one_pass),
        TEST(a_kernel_that_knows_less_is_asked_again),
        TEST(groups_that_cannot_be_inherited),
        TEST(hybrid_processors_count_one_kind_of_core),
        TEST(raw_names_of_software_events),
        TEST(every_cause_has_its_words),
        TEST(user_mode_alone_is_said_and_refused),
        TEST(a_group_that_cannot_be_counted_is_missing),
        TEST(metrics_know_their_places),
        TEST(a_counter_that_stays_0_is_dead),
        TEST(known_counts_are_known),
        TEST(energy_is_summed_over_sockets),
        TEST(energy_that_does_not_move_is_dead),
        TEST(the_whole_socket_needs_a_right),
        TEST(missing_modules_are_named),
        TEST(traffic_is_summed_over_controllers),
        TEST(descriptions_that_make_no_sense_are_none),
        TEST(threads_that_were_there_are_counted),
    };
    return cmocka_run_group_tests(tests, make, end);
}
