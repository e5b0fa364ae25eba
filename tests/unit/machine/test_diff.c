/* Differences of machines in words, and topologies as XML. */
#include "machine/machine.h"

#include "recorded.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void assert_words(const char *base, const char *new_, const char *const *want)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *const *words;
    const size_t n = pk_machine_diff(base, new_, &a, &words);
    for (size_t i = 0; i < n && want[i]; i++)
        assert_string_equal(words[i], want[i]);
    assert_true(!want[n] && (!n || want[n - 1]));
}

static void in_words(void **state)
{
    assert_words("{\"threads\":4,\"governor\":\"powersave\",\"cores\":2,\"memory_bytes\":1073741824,"
                 "\"kernel\":\"6.1\"}",
                 "{\"threads\":8,\"governor\":\"performance\",\"cores\":4,\"memory_bytes\":2147483648,"
                 "\"kernel\":\"6.2\"}",
                 (const char *const[]){"2 → 4 cores", "4 → 8 hardware threads", "memory 1.0 GiB → 2.0 GiB",
                                       "governor powersave → performance", "kernel 6.1 → 6.2", NULL});
}

static void unknown_and_new_facts(void **state)
{
    assert_words("{\"governor\":\"\",\"l3_bytes\":0}",
                 "{\"governor\":\"performance\",\"l3_bytes\":0,\"gpu\":\"H200\"}",
                 (const char *const[]){"governor unknown → performance", "gpu unknown → H200", NULL});
    assert_words("{\"gpu\":\"H100\",\"x\":1}", "{\"x\":1}",
                 (const char *const[]){"gpu H100 → unknown", NULL});
    assert_words("not JSON", "[]", (const char *const[]){NULL});
}

static void the_same_is_silent(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_machine m;
    struct pk_err err;
    assert_int_equal(pk_machine_read("/", &a, &m, &err), PK_OK);
    const char *json = pk_machine_json(&m, &a);
    assert_words(json, json, (const char *const[]){NULL});
}

static void facts_by_their_names(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *const *words;
    assert_int_equal(pk_facts_diff("{\"threads\":\"2\"}", "{\"threads\":\"4\"}", &a, &words), 1);
    assert_string_equal(words[0], "threads 2 → 4");
}

static void topologies_as_xml(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    char root[] = "/tmp/perfkit-diff-XXXXXX";
    assert_non_null(mkdtemp(root));
    recorded_unpack("kvm-xeon", root);
    const char *xml = pk_machine_topology_xml(root, &a);
    recorded_remove(root);
    assert_non_null(xml);
    assert_non_null(strstr(xml, "<topology"));
    assert_non_null(strstr(xml, "cache_size=\"37486592\""));
    assert_null(strstr(xml, "PCIDev"));
    assert_null(pk_machine_topology_xml("/nowhere", &a));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_words),           cmocka_unit_test(unknown_and_new_facts),
        cmocka_unit_test(the_same_is_silent), cmocka_unit_test(facts_by_their_names),
        cmocka_unit_test(topologies_as_xml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
