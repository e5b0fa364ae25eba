/* Suggest: the nearest word, by its own spelling or by what else it is known by. */
#include "base/suggest.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nearest),
        cmocka_unit_test(other_spellings),
        cmocka_unit_test(a_word_goes_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
