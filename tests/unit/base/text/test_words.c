/* Words: parts of a list, counted nouns, the nearest word by its own spelling or by other names of it. */
#include "base/text/words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void switches(void **state)
{
    static const struct {
        const char *value;
        bool on;
    } rows[] = {{"on", true}, {"off", false}, {"", false}, {"one", false}};
    assert_false(pk_switched_on("PK_TEST_SWITCH"));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        setenv("PK_TEST_SWITCH", rows[i].value, 1);
        assert_int_equal(pk_switched_on("PK_TEST_SWITCH"), rows[i].on);
    }
}

static void parts_in_order(void **state)
{
    struct pk_arena a = {0};
    const char *rest = "a, b\t,,c ";
    assert_string_equal(pk_next_part(&rest, ',', &a), "a");
    assert_string_equal(pk_next_part(&rest, ',', &a), "b");
    assert_string_equal(pk_next_part(&rest, ',', &a), "");
    assert_string_equal(pk_next_part(&rest, ',', &a), "c");
    assert_null(pk_next_part(&rest, ',', &a));
    rest = "";
    assert_string_equal(pk_next_part(&rest, ',', &a), "");
    assert_null(pk_next_part(&rest, ',', &a));
    pk_arena_free(&a);
}

static void lines_of_files(void **state)
{
    const char *text = " \ta b \r", *names[] = {"b", "a", "B"};
    size_t n = strlen(text);
    pk_trim(&text, &n);
    assert_int_equal(n, 3);
    assert_memory_equal(text, "a b", n);
    text = "\r\t ";
    pk_trim(&text, &n);
    assert_int_equal(n, 0);
    assert_int_equal(pk_printable("a\tb\r", 4), 4);
    assert_int_equal(pk_printable("a\x1b", 2), 1);
    pk_sort_texts(names, 3);
    assert_string_equal(names[0], "B");
    assert_string_equal(names[2], "b");
    pk_sort_texts(NULL, 0);
}

static void whole_parts_are_found(void **state)
{
    assert_true(pk_has_part("fma avx2", 8, ' ', "avx2") && pk_has_part("fma avx2", 8, ' ', "fma"));
    assert_false(pk_has_part("fma avx512f", 11, ' ', "avx512"));
    assert_false(pk_has_part("fma avx2", 6, ' ', "avx2")); /* cut off */
    assert_true(pk_has_part("", 0, ',', ""));
    assert_false(pk_has_part("cpu,memory", 10, ',', ""));
}

static void numbers_agree(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    assert_string_equal(pk_plural(1, "case", &a), "1 case");
    assert_string_equal(pk_plural(0, "case", &a), "0 cases");
    assert_string_equal(pk_plural(2, "process", &a), "2 processes");
    assert_string_equal(pk_plural(1, "process", &a), "1 process");
    assert_string_equal(pk_plural(3, "patch", &a), "3 patches");
    assert_string_equal(pk_predicate(1, "are not known", &a), "is not known");
    assert_string_equal(pk_predicate(2, "are not known", &a), "are not known");
    assert_string_equal(pk_predicate(0, "were", &a), "were");
    assert_string_equal(pk_predicate(1, "were", &a), "was");
    assert_string_equal(pk_predicate(1, "area", &a), "area");
    assert_string_equal(pk_predicate(1, "had samples", &a), "had samples");
    assert_string_equal(pk_predicate(1, "", &a), "");
}

static const char *const words[] = {"seq_len", "dtype", "width"};
static const char *const also[] = {"context  context_length", "precision", NULL};

static void nearest(void **state)
{
    assert_string_equal(pk_suggest("seqlen", words, 3), "seq_len");
    assert_string_equal(pk_suggest("DTYEP", words, 3), "dtype");
    assert_null(pk_suggest("context", words, 3));
    assert_null(pk_suggest("", words, 3));
    assert_null(pk_suggest("", (const char *const[]){"x"}, 1));
    assert_null(pk_suggest("a", (const char *const[]){"x"}, 1));
}

static void other_spellings(void **state)
{
    assert_string_equal(pk_suggest_also("context", words, also, 3), "seq_len");
    assert_string_equal(pk_suggest_also("context-lenght", words, also, 3), "seq_len");
    assert_string_equal(pk_suggest_also("presicion", words, also, 3), "dtype");
    assert_string_equal(pk_suggest_also("widht", words, also, 3), "width");
    assert_null(pk_suggest_also("flavour", words, also, 3));
}

/* Of equally near ones the word itself. */
static void a_word_goes_first(void **state)
{
    static const char *const two[] = {"bat", "hat"};
    static const char *const known[] = {"cat", NULL};
    assert_string_equal(pk_suggest_also("hab", two, known, 2), "hat");
    assert_string_equal(pk_suggest_also("cat", two, known, 2), "bat");
}

static void an_error_is_one_line_of_the_parts_that_it_has(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err;
    pk_fail(&err, PK_E_IO, "cannot start it");
    assert_string_equal(pk_error_line(&err, &a), "cannot start it");
    pk_why(&err, "no memory");
    assert_string_equal(pk_error_line(&err, &a), "cannot start it: no memory");
    pk_fix(&err, "end something");
    assert_string_equal(pk_error_line(&err, &a), "cannot start it: no memory; try: end something");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_error_is_one_line_of_the_parts_that_it_has),
        cmocka_unit_test(switches),
        cmocka_unit_test(parts_in_order),
        cmocka_unit_test(lines_of_files),
        cmocka_unit_test(whole_parts_are_found),
        cmocka_unit_test(numbers_agree),
        cmocka_unit_test(nearest),
        cmocka_unit_test(other_spellings),
        cmocka_unit_test(a_word_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
