/* Bind: words to CPUs on gpu-2s (two sockets, four cores of two threads each), lists there and back, what is near a GPU. */
#include "machine/bind.h"

#include "machine/machine.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static char two_sockets[1 << 16];

static int read_fixture(void **state)
{
    FILE *f = fopen(TESTS_DIR "/machines/gpu-2s.xml", "r");
    assert_non_null(f);
    assert_true(fread(two_sockets, 1, sizeof two_sockets - 1, f) > 0);
    fclose(f);
    return 0;
}

static void assert_list(const struct pk_cpus *c, const char *want)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    assert_string_equal(pk_cpus_text(c, &a), want);
}

static void words_name_cpus(void **state)
{
    static const struct {
        const char *text, *cpus;
    } rows[] = {
        {"cores", "0,2,4,6,8,10,12,14,1,3,5,7,9,11,13,15"},
        {"none", ""},
        {"socket:0", "0,2,4,6,1,3,5,7"},
        {"socket:1", "8,10,12,14,9,11,13,15"},
        {"numa:1", "8,10,12,14,9,11,13,15"},
        {"3", "3"},
        {"8-11,2", "8-11,2"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pk_cpus c;
        struct pk_err err;
        assert_int_equal(pk_bind_cpus(rows[i].text, two_sockets, &c, &err), PK_OK);
        assert_list(&c, rows[i].cpus);
    }
}

static void other_words_are_refused(void **state)
{
    static const struct {
        const char *text, *what, *why;
    } rows[] = {
        {"", "no CPUs are named", "socket:N"},
        {"core", "no CPUs are named", "socket:N"},
        {"socket:", "no CPUs are named", "socket:N"},
        {"socket:1x", "no CPUs are named", "socket:N"},
        {"socket:-1", "no CPUs are named", "socket:N"},
        {"0-", "no CPUs are named", "0-3,8"},
        {"3-1", "no CPUs are named", "0-3,8"},
        {"0,,1", "no CPUs are named", "0-3,8"},
        {"0,", "no CPUs are named", "0-3,8"},
        {"0-99999", "no CPUs are named", "0-3,8"},
        {"99999999999999999999", "no CPUs are named", "0-3,8"},
        {"socket:2", "there is no such socket", "this machine has 2, from 0"},
        {"numa:7", "there is no such NUMA node", "this machine has 2, from 0"},
        {"15-16", "CPU 16 cannot be used", "0,2,4,6"},
        {"0-3,2", "CPU 2 is given twice", "wait for each other"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pk_cpus c;
        struct pk_err err;
        assert_int_equal(pk_bind_cpus(rows[i].text, two_sockets, &c, &err), PK_E_USAGE);
        assert_non_null(strstr(err.what, rows[i].text));
        assert_non_null(strstr(err.what, rows[i].what));
        assert_non_null(strstr(err.why, rows[i].why));
        assert_true(*err.fix);
    }
}

static void a_broken_topology_is_said(void **state)
{
    struct pk_cpus c;
    struct pk_err err;
    assert_int_equal(pk_bind_cpus("cores", "<topology", &c, &err), PK_E_INTERNAL);
}

static void a_gpu_has_a_socket(void **state)
{
    struct pk_cpus c;
    assert_true(pk_bind_near("0000:81:00.0", two_sockets, &c));
    assert_list(&c, "8,10,12,14,9,11,13,15");
    assert_true(pk_bind_near("00000000:81:00.0", two_sockets, &c)); /* as NVIDIA writes it */
    assert_false(pk_bind_near("0000:01:00.0", two_sockets, &c));    /* beside both sockets */
    assert_false(pk_bind_near("0000:99:00.0", two_sockets, &c));
    assert_false(pk_bind_near("no address", two_sockets, &c));
}

static void lists_there_and_back(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_cpus c, again;
    assert_true(pk_cpus_read("5,0-2,9,8", &c));
    assert_int_equal(c.n, 6);
    assert_string_equal(pk_cpus_text(&c, &a), "5,0-2,9,8");
    assert_true(pk_cpus_read("0-1023", &c));
    assert_int_equal(c.n, PK_CPUS_MAX);
    assert_true(pk_cpus_read(pk_cpus_text(&c, &a), &again));
    assert_int_equal(again.n, PK_CPUS_MAX);
    assert_false(pk_cpus_read("0-1024", &c));
    assert_false(pk_cpus_read("0-1023,7", &c));
}

static void options_are_resolved(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *cpus;
    bool off;
    struct pk_err err;
    assert_int_equal(pk_bind_option("cores", &a, &cpus, &off, &err), PK_OK);
    assert_true(!cpus && !off);
    assert_int_equal(pk_bind_option("none", &a, &cpus, &off, &err), PK_OK);
    assert_true(!cpus && off);
    assert_int_equal(pk_bind_option("socket:0", &a, &cpus, &off, &err), PK_OK);
    assert_true(cpus && !off);
    assert_int_equal(pk_bind_option("socket:999", &a, &cpus, &off, &err), PK_E_USAGE);
}

static void threads_go_where_they_are_told(void **state)
{
    struct pk_cpus all, one = {.n = 1};
    struct pk_err err;
    cpu_set_t now;
    assert_int_equal(pk_bind_cpus("cores", NULL, &all, &err), PK_OK);
    one.v[0] = all.v[all.n - 1];
    assert_true(pk_bind_thread(&one));
    assert_int_equal(sched_getaffinity(0, sizeof now, &now), 0);
    assert_true(CPU_COUNT(&now) == 1 && CPU_ISSET(one.v[0], &now));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_name_cpus),
        cmocka_unit_test(other_words_are_refused),
        cmocka_unit_test(a_broken_topology_is_said),
        cmocka_unit_test(a_gpu_has_a_socket),
        cmocka_unit_test(lists_there_and_back),
        cmocka_unit_test(options_are_resolved),
        cmocka_unit_test(threads_go_where_they_are_told),
    };
    return cmocka_run_group_tests(tests, read_fixture, NULL);
}
