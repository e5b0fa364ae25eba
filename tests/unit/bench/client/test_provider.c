/* Providers: a peer is found by its name or its path, and started by the Python that was chosen. */
#include "bench/client/worker_client.h"

#include "base/err.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

static int clear(void **state)
{
    unsetenv("PERFKIT_PEERS");
    unsetenv("PERFKIT_PYTHON");
    return 0;
}

static void a_peer_is_found_by_name_and_by_path(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_provider p;
    struct pk_err err;
    assert_int_equal(pk_peer_provider("numpy-attention", NULL, &a, &p, &err), PK_OK);
    assert_string_equal(p.name, "numpy-attention");
    assert_string_equal(p.argv[0], "python3");
    assert_non_null(strstr(p.argv[1], "/numpy_attention.py"));
    setenv("PERFKIT_PYTHON", "/own/python", 1);
    assert_int_equal(pk_peer_provider(TESTS_DIR "/cli/bad_worker.py", NULL, &a, &p, &err), PK_OK);
    assert_string_equal(p.name, "bad-worker");
    assert_string_equal(p.argv[0], "/own/python");
    assert_int_equal(pk_peer_provider(TESTS_DIR "/cli/bad_worker.py", "typed", &a, &p, &err), PK_OK);
    assert_string_equal(p.argv[0], "typed");
    assert_int_equal(pk_peer_provider("/bin/sh", NULL, &a, &p, &err), PK_OK);
    assert_string_equal(p.argv[0], "/bin/sh");
    assert_null(p.argv[1]);
}

static void an_unknown_peer_gets_advice(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_provider p;
    struct pk_err err;
    assert_int_equal(pk_peer_provider("numpy-atention", NULL, &a, &p, &err), PK_E_USAGE);
    assert_non_null(strstr(err.why, "numpy-attention"));
    assert_int_equal(pk_peer_provider("./nowhere", NULL, &a, &p, &err), PK_E_USAGE);
    assert_string_equal(err.why, "that file cannot be read");
    setenv("PERFKIT_PEERS", TESTS_DIR "/cli", 1); /* a folder of one's own is looked at first */
    assert_int_equal(pk_peer_provider("bad-worker", NULL, &a, &p, &err), PK_OK);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, clear, clear)
    const struct CMUnitTest tests[] = {T(a_peer_is_found_by_name_and_by_path),
                                       T(an_unknown_peer_gets_advice)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
