/* The CPU device: its thread pool runs every task once, threads are bound and let go, memory is aligned, facts name
 * the BLAS. */
#include "base/clock.h"
#include "device/cpu/cpu.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pk_err err;

static void open_cpu(struct pk_device *dev, const struct pk_device_options *opt)
{
    if (pk_device_open(dev, "cpu", opt, &err))
        fail_msg("%s: %s", err.what, err.why);
}

enum { TASKS_MAX = 1000 };

struct tally {
    atomic_int runs[TASKS_MAX];
    atomic_int threads[64];
};

static void count_task(void *arg, size_t task, unsigned thread)
{
    struct tally *t = arg;
    atomic_fetch_add(&t->runs[task], 1);
    atomic_fetch_add(&t->threads[thread], 1);
}

static void every_task_runs_once(void **state)
{
    struct pk_device dev;
    open_cpu(&dev, &(struct pk_device_options){.threads = 5});
    assert_int_equal(pk_cpu_threads(&dev), 5);
    for (size_t n = 0; n <= TASKS_MAX; n = n * 2 + 1)
        for (int repeat = 0; repeat < 20; repeat++) {
            static struct tally t;
            memset(&t, 0, sizeof t);
            pk_cpu_parallel_for(&dev, count_task, &t, n);
            for (size_t i = 0; i < TASKS_MAX; i++)
                assert_int_equal(t.runs[i], i < n);
        }
    pk_device_close(&dev);
}

/* Ends when each of three tasks has begun: a thread that has one cannot begin another. */
static void await_the_others(void *arg, size_t task, unsigned thread)
{
    struct tally *t = arg;
    const uint64_t until = pk_clock_ns() + 20 * PK_NS_PER_S;
    atomic_fetch_add(&t->threads[thread], 1);
    while (pk_clock_ns() < until && !(t->threads[0] && t->threads[1] && t->threads[2]))
        sched_yield();
}

static void sleeping_members_wake(void **state)
{
    struct pk_device dev;
    open_cpu(&dev, &(struct pk_device_options){.threads = 3});
    for (int repeat = 0; repeat < 3; repeat++) {
        struct timespec pause = {.tv_nsec = 30 * (long)PK_NS_PER_MS};
        nanosleep(&pause, NULL); /* longer than members spin */
        static struct tally t;
        memset(&t, 0, sizeof t);
        pk_cpu_parallel_for(&dev, await_the_others, &t, 3);
        for (int i = 0; i < 3; i++)
            assert_int_equal(t.threads[i], 1);
    }
    pk_device_close(&dev);
}

static void record_cpu(void *arg, size_t task, unsigned thread)
{
    cpu_set_t set;
    sched_getaffinity(0, sizeof set, &set);
    ((int *)arg)[task] = CPU_COUNT(&set);
}

static void binding_is_undone(void **state)
{
    cpu_set_t before, after;
    sched_getaffinity(0, sizeof before, &before);
    struct pk_device dev;
    int cpus[2] = {0};
    open_cpu(&dev, &(struct pk_device_options){.threads = 2});
    pk_cpu_parallel_for(&dev, record_cpu, cpus, 2);
    assert_int_equal(cpus[0], 1);
    assert_int_equal(cpus[1], 1);
    pk_device_close(&dev);
    sched_getaffinity(0, sizeof after, &after);
    assert_true(CPU_EQUAL(&before, &after));
    open_cpu(&dev, &(struct pk_device_options){.threads = 2, .no_bind = true});
    pk_cpu_parallel_for(&dev, record_cpu, cpus, 2);
    assert_int_equal(cpus[0], CPU_COUNT(&before));
    pk_device_close(&dev);
}

static void memory_is_aligned_and_limited(void **state)
{
    struct pk_device dev;
    open_cpu(&dev, &(struct pk_device_options){.limit_bytes = 64 << 20});
    static const size_t sizes[] = {1, 4096, 100000, 2 << 20, (2 << 20) + 1, 10 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char *p = pk_device_alloc(&dev, sizes[i], PK_TAG_OTHER);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 64, 0);
        memset(p, 1, sizes[i]);
        pk_device_free(&dev, p);
    }
    assert_null(pk_device_alloc(&dev, 65 << 20, PK_TAG_OTHER));
    assert_int_equal(pk_device_oom(&dev, &err), PK_E_OOM);
    pk_device_close(&dev);
}

static void too_many_threads_is_usage(void **state)
{
    struct pk_device dev;
    assert_int_equal(pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = 100000}, &err),
                     PK_E_USAGE);
    assert_string_equal(err.what, "threads: 100000 is out of range");
    assert_non_null(strstr(err.why, "1 to 1024"));
}

struct facts {
    char threads[16], isa[16], blas[64], core[32], warning[256], bf16[160], bf16_warning[256];
};

static void take_fact(void *user, const char *key, const char *value)
{
    struct facts *f = user;
    const struct {
        const char *key;
        char *to;
        size_t cap;
    } rows[] = {{"threads", f->threads, sizeof f->threads},
                {"isa", f->isa, sizeof f->isa},
                {"blas", f->blas, sizeof f->blas},
                {"blas_core", f->core, sizeof f->core},
                {"blas_warning", f->warning, sizeof f->warning},
                {"bf16", f->bf16, sizeof f->bf16},
                {"bf16_warning", f->bf16_warning, sizeof f->bf16_warning}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].key, key))
            snprintf(rows[i].to, rows[i].cap, "%s", value);
}

static struct facts facts_with(const char *variable, const char *value)
{
    struct facts f = {0};
    struct pk_device dev;
    if (value)
        setenv(variable, value, 1);
    open_cpu(&dev, &(struct pk_device_options){.threads = 2});
    pk_device_facts(&dev, take_fact, &f);
    pk_device_close(&dev);
    unsetenv(variable);
    return f;
}

static void facts_name_the_blas(void **state)
{
    unsetenv("OPENBLAS_CORETYPE"); /* one that the user set is left alone, fast or slow */
    struct facts f = facts_with("PERFKIT_BLAS", NULL);
    assert_string_equal(f.threads, "2");
    assert_string_equal(f.isa, pk_isa_name(pk_isa_detect()));
    assert_true(*f.blas != '\0');
    if (strncmp(f.blas, "openblas ", 9) == 0)
        assert_string_equal(f.warning, "");
    assert_null(getenv("OPENBLAS_CORETYPE")); /* lent for the loading only */
    f = facts_with("PERFKIT_BLAS", "own");
    assert_string_equal(f.blas, "own (PERFKIT_BLAS=own)");
    assert_string_equal(f.warning, "");
    f = facts_with("PERFKIT_OPENBLAS", "/no/such/file");
    assert_null(strstr(f.blas, "openblas"));
}

/* Asked for by name, oneDNN is used or missed aloud. */
static void facts_name_what_multiplies_bf16(void **state)
{
    struct facts f = facts_with("PERFKIT_BF16", "onednn");
    assert_true((strncmp(f.bf16, "onednn ", 7) == 0) != (*f.bf16_warning != '\0'));
    assert_true(!*f.bf16_warning || strstr(f.bf16_warning, f.bf16));
    f = facts_with("PERFKIT_BF16", "widened");
    assert_string_equal(f.bf16, "widened to fp32: PERFKIT_BF16=widened");
    assert_string_equal(f.bf16_warning, "");
}

static void a_blas_below_the_cpu_is_warned_about(void **state)
{
    if (pk_isa_detect() == PK_ISA_BASELINE)
        skip();
    struct facts f = facts_with("OPENBLAS_CORETYPE", "Prescott");
    if (strncmp(f.blas, "openblas ", 9) != 0)
        skip();
    assert_string_equal(f.core, "Prescott");
    assert_non_null(strstr(f.warning, "Prescott"));
    assert_non_null(strstr(f.warning, "OPENBLAS_CORETYPE="));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_task_runs_once),
        cmocka_unit_test(sleeping_members_wake),
        cmocka_unit_test(binding_is_undone),
        cmocka_unit_test(memory_is_aligned_and_limited),
        cmocka_unit_test(too_many_threads_is_usage),
        cmocka_unit_test(facts_name_the_blas),
        cmocka_unit_test(facts_name_what_multiplies_bf16),
        cmocka_unit_test(a_blas_below_the_cpu_is_warned_about),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
