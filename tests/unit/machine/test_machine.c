/* Recorded hosts (tests/machines/NAME.tree) unpacked into a directory and read through it: every fact and
 * limit against NAME.json. */
#include "machine/machine.h"

#include "recorded.h"
#include "json/json.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const char *const hosts[] = {"kvm-xeon", "epyc-2s",     "arm-n1", "docker-v2",
                                    "slurm-v1", "metal-quota", "empty"};

/* What NAME.json must hold, as one object. */
static const char *facts(const char *root, struct pk_arena *a)
{
    struct pk_machine m;
    struct pk_limits l;
    struct pk_err err;
    assert_int_equal(pk_machine_read(root, a, &m, &err), PK_OK);
    m.compiler = ""; /* of this build, not of the recorded host */
    pk_machine_limits(root, &l);
    json_t *j =
        json_pack("{s:o s:I s:I s:I s:f}", "machine", json_loads(pk_machine_json(&m, a), 0, NULL),
                  "limit_bytes", (json_int_t)l.memory_bytes, "left_bytes", (json_int_t)l.memory_left_bytes,
                  "available_bytes", (json_int_t)pk_machine_available_bytes(root), "cpus", l.cpus);
    const char *text = pk_json_text(a, j, JSON_INDENT(1) | JSON_SORT_KEYS);
    json_decref(j);
    return text;
}

static void recorded_host(void **state)
{
    const char *name = *state;
    char root[] = "/tmp/perfkit-machine-XXXXXX", path[PATH_MAX];
    struct pk_arena a = {0};
    json_error_t why;
    assert_non_null(mkdtemp(root));
    recorded_unpack(name, root);
    const char *got = facts(root, &a);
    recorded_remove(root);
    snprintf(path, sizeof path, "%s/machines/%s.json", TESTS_DIR, name);
    json_t *want = json_load_file(path, 0, &why), *have = json_loads(got, 0, NULL);
    if (!json_equal(want, have))
        fail_msg("%s is not what %s.tree reads as, which is\n%s", path, name, got);
    json_decref(want);
    json_decref(have);
    pk_arena_free(&a);
}

/* Two sockets, each with four cores and two caches of the last level. */
static void caches_and_their_number(void **state)
{
    char root[] = "/tmp/perfkit-machine-XXXXXX", empty[] = "/tmp/perfkit-machine-XXXXXX";
    struct pk_cache levels[PK_CACHE_LEVELS];
    assert_non_null(mkdtemp(root));
    recorded_unpack("epyc-2s", root);
    pk_machine_caches(root, levels);
    recorded_remove(root);
    assert_true(levels[0].bytes == 32 << 10 && levels[0].n == 8);
    assert_true(levels[1].bytes == 512 << 10 && levels[1].n == 8);
    assert_true(levels[2].bytes == 32 << 20 && levels[2].n == 4);
    assert_non_null(mkdtemp(empty));
    pk_machine_caches(empty, levels);
    recorded_remove(empty);
    for (size_t i = 0; i < PK_CACHE_LEVELS; i++)
        assert_true(levels[i].bytes == 0 && levels[i].n == 0);
}

static void this_host(void **state)
{
    struct pk_arena a = {0};
    struct pk_machine m;
    struct pk_err err;
    assert_int_equal(pk_machine_read("/", &a, &m, &err), PK_OK);
    assert_true(m.threads >= 1 && m.cores >= 1 && m.threads >= m.cores);
    assert_true(m.memory_bytes > 0);
    assert_true(pk_machine_available_bytes("/") > 0);
    assert_true(pk_machine_available_bytes("/") <= m.memory_bytes);
    assert_string_not_equal(m.compiler, "");
    pk_arena_free(&a);
}

/* A kernel that found its time stamp counters to step or to differ takes another clock, and says which. */
static void the_clock_in_use(void **state)
{
    static const char *const folders[] = {"",
                                          "/sys",
                                          "/sys/devices",
                                          "/sys/devices/system",
                                          "/sys/devices/system/clocksource",
                                          "/sys/devices/system/clocksource/clocksource0"};
    char root[] = "/tmp/perfkit-machine-XXXXXX", path[PATH_MAX];
    struct pk_arena a = {0};
    struct pk_clock_facts c;
    assert_non_null(mkdtemp(root));
    pk_machine_clock(root, &a, &c);
    assert_string_equal(c.source, "");
    assert_true(c.resolution_ns >= 1 && c.cost_ns >= 1);
    for (size_t i = 1; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", root, folders[i]);
        assert_int_equal(mkdir(path, 0755), 0);
    }
    strcat(path, "/current_clocksource");
    FILE *f = fopen(path, "w");
    fputs("hpet\n", f);
    fclose(f);
    pk_machine_clock(root, &a, &c);
    assert_string_equal(c.source, "hpet");
    recorded_remove(root);
    pk_arena_free(&a);
}

static void cpus_and_binding(void **state)
{
    unsigned cpus[1024], one[1];
    unsigned n = pk_machine_cpus(cpus, 1024);
    assert_true(n >= 1 && n <= 1024);
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = 0; j < i; j++)
            assert_int_not_equal(cpus[i], cpus[j]);
    assert_int_equal(pk_machine_cpus(one, 1), 1);
    assert_int_equal(one[0], cpus[0]);
    assert_true(pk_machine_bind(cpus[n - 1]));
    assert_int_equal(pk_machine_cpus(one, 1), 1);
    assert_int_equal(one[0], cpus[n - 1]);
    assert_false(pk_machine_bind(8191));
    assert_false(pk_machine_bind(1u << 30));
}

int main(void)
{
    struct CMUnitTest tests[sizeof hosts / sizeof *hosts + 4] = {0};
    size_t n = 0;
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++)
        tests[n++] = (struct CMUnitTest){
            .name = hosts[i], .test_func = recorded_host, .initial_state = (void *)hosts[i]};
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(caches_and_their_number);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(this_host);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(the_clock_in_use);
    tests[n++] = (struct CMUnitTest)cmocka_unit_test(cpus_and_binding);
    return _cmocka_run_group_tests("machine", tests, n, NULL, NULL);
}
