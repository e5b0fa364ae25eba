/* Doubt: which notes forbid a verdict, one by one and as the store keeps them. */
#include "wire/slice.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>

static const struct {
    const char *key, *json;
    bool unstable;
} notes[] = {
    {"class", "\"slowdown\"", true},
    {"class", "\"no-steady\"", false},
    {"doubts", "[\"crowded\",\"throttled\"]", true},
    {"doubts", "[\"clock-fell\"]", true},
    {"doubts", "[\"crowded\",\"noisy\",\"stolen\"]", false},
    {"doubts:gpu", "[\"were measured while others computed on the GPU\"]", true},
    {"doubts:gpu", "[]", false},
    {"message", "\"throttled\"", false},
    {"stop", "\"slowdown\"", false},
    {"doubts", "{\"throttled\":1}", false},
    {"doubts", "not JSON, and throttled", false},
};

static void notes_are_weighed(void **state)
{
    char text[200];
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        const struct pk_note two[] = {{"reps", "1"}, {notes[i].key, notes[i].json}};
        const struct pk_slice s = {.n_notes = 2, .notes = two};
        snprintf(text, sizeof text, "{\"reps\":1,\"%s\":%s}", notes[i].key, notes[i].json);
        assert_int_equal(pk_slice_unstable(&s), notes[i].unstable);
        assert_int_equal(pk_notes_unstable(text), notes[i].unstable);
    }
    assert_false(pk_notes_unstable("{}"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(notes_are_weighed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
