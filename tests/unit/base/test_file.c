/* Files read whole: their bytes, their limits, what cannot be read. */
#include "base/file.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

static char path[] = "/tmp/pk-slurp-XXXXXX";

static void write_file(size_t bytes)
{
    PK_CLEANUP_FILE FILE *f = fopen(path, "we");
    assert_non_null(f);
    for (size_t i = 0; i < bytes; i++)
        putc((int)(i % 251), f);
}

static void every_size(void **state)
{
    static const size_t sizes[] = {0, 1, 65534, 65535, 65536, 65537, 300000};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct pk_err err;
        char *text;
        size_t n;
        write_file(sizes[s]);
        assert_int_equal(pk_slurp(path, sizes[s], &a, &text, &n, &err), PK_OK);
        assert_int_equal(n, sizes[s]);
        for (size_t i = 0; i < n; i++)
            assert_int_equal((unsigned char)text[i], i % 251);
        assert_int_equal(text[n], '\0');
        if (!n)
            continue;
        assert_int_equal(pk_slurp(path, sizes[s] - 1, &a, &text, &n, &err), PK_E_USAGE);
        assert_non_null(strstr(err.what, "too long"));
        assert_true(err.why[0] && err.fix[0]);
    }
}

static void endless_files_end(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err;
    char *text;
    size_t n;
    assert_int_equal(pk_slurp("/dev/zero", 1 << 20, &a, &text, &n, &err), PK_E_USAGE);
    assert_non_null(strstr(err.why, "1.0 MiB"));
}

static void what_cannot_be_read(void **state)
{
    static const char *const paths[][2] = {{"/nonexistent/x", "No such file"}, {"/", "directory"}};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (size_t i = 0; i < 2; i++) {
        struct pk_err err;
        char *text;
        size_t n;
        assert_int_equal(pk_slurp(paths[i][0], 100, &a, &text, &n, &err), PK_E_USAGE);
        assert_non_null(strstr(err.what, paths[i][0]));
        assert_non_null(strstr(err.why, paths[i][1]));
        assert_true(err.fix[0]);
    }
}

static void the_name_of_a_path_is_behind_its_last_slash(void **state)
{
    assert_string_equal(pk_path_name("/usr/bin/sleep"), "sleep");
    assert_string_equal(pk_path_name("sleep"), "sleep");
    assert_string_equal(pk_path_name("folder/"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size),
        cmocka_unit_test(endless_files_end),
        cmocka_unit_test(what_cannot_be_read),
        cmocka_unit_test(the_name_of_a_path_is_behind_its_last_slash),
    };
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    return failed;
}
