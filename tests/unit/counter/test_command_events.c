/* CPU events are opened as they must be, read as they were counted, and refused with the reason, on systems that are made up. */
#include "bench/command/counted.h"
#include "counter/perf/command_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { TASK_CLOCK, PAGE_FAULTS, SWITCHES, MIGRATIONS, CYCLES, LAST = PK_CPU_EVENTS - 1 };

/* What the system answers: errnos, 0 = it counts. And what its descriptors read: value, time enabled, time running. */
static struct fake_system {
    int user, kernel, processor;
    uint64_t reads[3];
} sys;

static int fake_open(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
    assert_true(attr->disabled && attr->inherit && attr->enable_on_exec);
    assert_false(attr->read_format & PERF_FORMAT_GROUP);
    int right = attr->exclude_kernel ? sys.user : sys.kernel;
    errno = right ? right : attr->type == PERF_TYPE_HARDWARE ? sys.processor : 0;
    if (errno)
        return -1;
    int fd = memfd_create("count", 0);
    assert_int_equal(write(fd, sys.reads, sizeof sys.reads), sizeof sys.reads);
    lseek(fd, 0, SEEK_SET);
    return fd;
}

static char root[] = "/tmp/perfkit-counter-XXXXXX";
static const struct pk_perf calls = {.open = fake_open, .read = read, .close = close};
static const struct pk_counter_env fake = {.root = root, .perf = &calls};
static struct pk_arena arena;
static struct pk_cpu_count counts[PK_CPU_EVENTS];

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(pk_printf(&arena, "%s/%s", root, path), "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void set_paranoid(const char *value)
{
    write_file("proc/sys/kernel/perf_event_paranoid", value);
}

static int make_root(void **state)
{
    assert_non_null(mkdtemp(root));
    static const char *const folders[] = {"/proc", "/proc/sys", "/proc/sys/kernel"};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(mkdir(pk_printf(&arena, "%s%s", root, folders[i]), 0700), 0);
    write_file("proc/cpuinfo", "flags\t\t: fpu hypervisor avx2\n");
    return 0;
}

static int remove_root(void **state)
{
    static const char *const names[] = {"/proc/sys/kernel/perf_event_paranoid",
                                        "/proc/sys/kernel",
                                        "/proc/sys",
                                        "/proc/cpuinfo",
                                        "/proc",
                                        ""};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove(pk_printf(&arena, "%s%s", root, names[i]));
    pk_arena_free(&arena);
    return 0;
}

/* Opens, reads and closes on the system that sys describes; what is said to be absent. */
static const char *measured(void)
{
    pk_cpu_counts_open(counts, 1, &fake);
    pk_cpu_counts_read(counts, &fake);
    pk_cpu_counts_close(counts, &fake);
    return pk_cpu_counts_absent(counts, 0, PK_CPU_EVENTS, &fake, &arena);
}

static void everything_counts(void **state)
{
    sys = (struct fake_system){.reads = {1234, 5000, 5000}};
    assert_string_equal(measured(), "");
    for (size_t i = 0; i < PK_CPU_EVENTS; i++) {
        assert_int_equal(counts[i].value, 1234);
        assert_false(counts[i].scaled || counts[i].user_only);
    }
}

static void a_machine_without_counters(void **state)
{
    sys = (struct fake_system){.processor = ENOENT, .reads = {7, 1, 1}};
    assert_string_equal(measured(), "cycles, instructions, branches, branch_misses, llc_misses: no "
                                    "counters: the hypervisor hides the processor's");
    assert_int_equal(counts[MIGRATIONS].value, 7);
}

/* Kernel mode is refused before the missing counter is noticed: what cannot be there is still not blamed on a right. */
static void a_user_without_rights_on_a_machine_without_counters(void **state)
{
    sys = (struct fake_system){.kernel = EACCES, .processor = ENOENT, .reads = {7, 1, 1}};
    set_paranoid("2\n");
    assert_string_equal(measured(),
                        "context_switches, cpu_migrations: kernel.perf_event_paranoid=2 forbids it, 1 would "
                        "allow it; cycles, instructions, branches, branch_misses, llc_misses: no "
                        "counters: the hypervisor hides the processor's");
    assert_true(counts[PAGE_FAULTS].user_only);
    assert_false(counts[TASK_CLOCK].user_only); /* the kernel counts all of it anyway */
    assert_string_equal(
        pk_cpu_count_refusal(counts, SWITCHES, &fake, &arena).advice,
        "sudo sysctl kernel.perf_event_paranoid=1; or sudo setcap cap_perfmon+ep $(command -v "
        "perfkit), which makes LD_LIBRARY_PATH ignored");
}

static void nobody_may_count(void **state)
{
    sys = (struct fake_system){.user = EACCES, .kernel = EACCES};
    set_paranoid("4\n");
    measured();
    assert_string_equal(pk_cpu_count_refusal(counts, CYCLES, &fake, &arena).absent,
                        "kernel.perf_event_paranoid=4 forbids it, 2 would allow it");
    assert_string_equal(
        pk_cpu_count_refusal(counts, CYCLES, &fake, &arena).advice,
        "sudo sysctl kernel.perf_event_paranoid=2; or sudo setcap cap_perfmon+ep $(command -v "
        "perfkit), which makes LD_LIBRARY_PATH ignored");
    struct pk_slice s = pk_counted(counts, &fake, 1, &arena);
    assert_int_equal(s.status, PK_ST_SKIPPED);
    assert_non_null(strstr(s.message, "perf_event_paranoid=4"));
}

static void others_forbid(void **state)
{
    set_paranoid("-1\n");
    assert_string_equal(pk_perf_refusal(root, EACCES, PK_PERF_KERNEL, &arena).absent,
                        "a security module of this kernel forbids it");
    assert_non_null(strstr(pk_perf_refusal(root, EPERM, PK_PERF_USER, &arena).absent, "seccomp"));
    assert_non_null(strstr(pk_perf_refusal(root, ENOSYS, PK_PERF_USER, &arena).absent, "no perf_event_open"));
    assert_string_equal(pk_perf_refusal(root, EMFILE, PK_PERF_USER, &arena).advice,
                        "ulimit -n 65536, or fewer events or --threads");
    assert_non_null(strstr(pk_perf_refusal(root, EIO, PK_PERF_USER, &arena).absent, strerror(EIO)));
}

static void counters_that_took_turns_are_scaled(void **state)
{
    sys = (struct fake_system){.reads = {1ull << 62, 3000, 2000}};
    measured();
    assert_int_equal(counts[CYCLES].value, 3ll << 61); /* the product does not fit 64 bits */
    struct pk_slice s = pk_counted(counts, &fake, 4, &arena);
    assert_int_equal(s.n_series, PK_CPU_EVENTS);
    assert_string_equal(s.notes[0].key, "scaled");
    assert_non_null(strstr(s.notes[0].json, "cycles"));
}

static void what_never_counted_is_not_zero(void **state)
{
    sys = (struct fake_system){.reads = {0, 3000, 0}};
    assert_non_null(strstr(measured(), "llc_misses: the processor's counters were taken all the time"));
    struct pk_slice s = pk_counted(counts, &fake, 1, &arena);
    assert_int_equal(s.n_series, 0);
    sys.reads[2] = 3000; /* that is a 0 */
    assert_string_equal(measured(), "");
    assert_int_equal(counts[LAST].value, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_counts),
        cmocka_unit_test(a_machine_without_counters),
        cmocka_unit_test(a_user_without_rights_on_a_machine_without_counters),
        cmocka_unit_test(nobody_may_count),
        cmocka_unit_test(others_forbid),
        cmocka_unit_test(counters_that_took_turns_are_scaled),
        cmocka_unit_test(what_never_counted_is_not_zero),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
