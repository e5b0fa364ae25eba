/* Json: members found in a text without building the object. */
#include "json/json.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

/* "name=value ..." of all members; "?" where json_loads is to be asked. */
static const char *members(const char *text, char *said)
{
    struct pk_json_member m;
    const char *at = text;
    *said = '\0';
    while (pk_json_next_member(&at, &m)) {
        strncat(said, m.name, m.name_bytes);
        strcat(said, "=");
        strncat(said, m.value, m.value_bytes);
        strcat(said, " ");
    }
    return at ? said : "?";
}

static void plain_members_are_found(void **state)
{
    char said[200];
    assert_string_equal(members("{}", said), "");
    assert_string_equal(members("{\"a\":1,\"b_2\":-2.5e+3,\"c\":\"x y\",\"d\":true,\"\":null}", said),
                        "a=1 b_2=-2.5e+3 c=\"x y\" d=true =null ");
}

static void anything_else_is_left_to_the_parser(void **state)
{
    static const char *const texts[] = {"",
                                        "[1]",
                                        "{",
                                        "{\"a\"}",
                                        "{\"a\":}",
                                        "{\"a\":[1]}",
                                        "{\"a\":{}}",
                                        "{\"a\":1",
                                        "{\"a\":1}x",
                                        "{\"a\":1,}",
                                        "{ \"a\":1}",
                                        "{\"a\": 1}",
                                        "{a:1}",
                                        "{\"a\":\"b}",
                                        "{\"a\\n\":1}",
                                        "{\"a\":\"b\\\"c\"}"};
    char said[200];
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_string_equal(members(texts[i], said), "?");
}

static void values_are_shown_with_the_fewest_digits(void **state)
{
    static const struct {
        const char *json, *text;
    } values[] = {{"0.1", "0.1"},
                  {"0.30000000000000004", "0.30000000000000004"},
                  {"0.1234567", "0.1234567"},
                  {"1e-9", "1e-9"},
                  {"2.0", "2.0"},
                  {"1e300", "1e300"},
                  {"7", "7"},
                  {"true", "on"},
                  {"null", "null"},
                  {"\"a b\"", "a b"}};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        PK_JSON_CLEANUP json_t *v = json_loads(values[i].json, JSON_DECODE_ANY, NULL);
        assert_string_equal(pk_json_value_text(&a, v), values[i].text);
    }
}

static void texts_end_where_they_are_said_to(void **state)
{
    static const char *const v[] = {"a", "b", NULL};
    const size_t limits[] = {0, 1, 2, SIZE_MAX};
    for (size_t i = 0; i < 4; i++) {
        PK_JSON_CLEANUP json_t *j = pk_json_texts(v, limits[i]);
        assert_int_equal(json_array_size(j), i < 2 ? i : 2);
        if (i > 1)
            assert_string_equal(json_string_value(json_array_get(j, 1)), "b");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plain_members_are_found),
                                       cmocka_unit_test(anything_else_is_left_to_the_parser),
                                       cmocka_unit_test(texts_end_where_they_are_said_to),
                                       cmocka_unit_test(values_are_shown_with_the_fewest_digits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
