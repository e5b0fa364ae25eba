/* Layout: what gives way first in a narrow table, and that numbers never do. */
#include "print.h"

#include "out/layout.h"

#include <locale.h>

enum { N = 4 };

/* A number, a long text, and two numbers that may be left out: 3 + 2 + 30 + 2 + 20 + 2 + 10 columns. */
static void fresh(struct pk_layout_column *c)
{
    const struct pk_layout_column all[N] = {
        {.heading = "abc", .widest = 3, .longest_word = 3},
        {.heading = "Text", .widest = 30, .longest_word = 9, .longest_piece = 9, .wraps = true},
        {.heading = "Peak memory here GB", .widest = 7, .longest_word = 7, .optional = 2},
        {.heading = "Rate (MB/s)", .widest = 5, .longest_word = 5, .optional = 1},
    };
    memcpy(c, all, sizeof all);
}

static size_t total_width(const struct pk_layout_column *c)
{
    size_t sum = 0, shown = 0;
    for (size_t i = 0; i < N; i++)
        if (c[i].shown) {
            sum += c[i].width;
            shown++;
        }
    return sum + PK_LAYOUT_GAP * (shown - 1);
}

static void without_a_limit_nothing_gives_way(void **state)
{
    struct pk_layout_column c[N];
    fresh(c);
    assert_int_equal(pk_layout(c, N, 0), 1);
    assert_int_equal(total_width(c), 3 + 30 + 19 + 11 + 6);
}

static void texts_then_headings_then_columns(void **state)
{
    struct pk_layout_column c[N];
    fresh(c);
    assert_int_equal(pk_layout(c, N, 68), 1); /* the text is wrapped */
    assert_int_equal(c[1].width, 29);
    assert_int_equal(pk_layout(c, N, 60), 2); /* headings on two lines */
    assert_int_equal(c[2].width, 11);
    assert_int_equal(c[3].width, 6);
    assert_true(c[3].shown);
    assert_int_equal(pk_layout(c, N, 46), 2); /* the first optional column is left out */
    assert_true(c[2].shown && !c[3].shown);
    pk_layout(c, N, 35);
    assert_true(!c[2].shown && !c[3].shown);
    assert_true(total_width(c) <= 35);
}

static void every_width_is_kept(void **state)
{
    struct pk_layout_column c[N];
    fresh(c);
    for (size_t width = 1; width < 80; width++) {
        pk_layout(c, N, width);
        assert_true(total_width(c) <= width || !c[1].shown);
        for (size_t i = 0; i < N; i++)
            assert_true(!c[i].shown || c[i].width >= c[i].longest_word ||
                        (i == 1 && width < 3 + PK_LAYOUT_GAP + 9));
    }
}

static void wrapping_breaks_at_blanks(void **state)
{
    const char *rest, *text = "one  three-and-more x";
    assert_int_equal(pk_wrap(text, 8, &rest), 3);
    assert_string_equal(rest, "three-and-more x");
    assert_int_equal(pk_wrap(rest, 8, &rest), 8); /* longer than the width */
    assert_string_equal(rest, "d-more x");
    assert_int_equal(pk_wrap(rest, 8, &rest), 8);
    assert_null(rest);
    assert_int_equal(pk_wrap("", 8, &rest), 0);
    assert_null(rest);
    assert_int_equal(pk_wrap(text, 0, &rest), strlen(text));
    assert_int_equal(pk_wrap_lines("Mem Before Bwd (GB)", 10), 2);
}

static void a_word_too_long_breaks_behind_commas(void **state)
{
    const char *rest, *text = "and b=64KiB,256KiB,1,024,x end";
    assert_int_equal(pk_wrap(text, 12, &rest), 3);
    assert_int_equal(pk_wrap(rest, 16, &rest), 15); /* b=64KiB,256KiB, */
    assert_string_equal(rest, "1,024,x end");
    assert_int_equal(pk_wrap(rest, 6, &rest), 6); /* a number is one piece */
    assert_string_equal(rest, "x end");
    assert_int_equal(pk_longest_word(text, true), 8);

    struct pk_layout_column c[] = {
        {.heading = "A", .widest = 20, .longest_word = 20, .longest_piece = 8, .wraps = true}};
    pk_layout(c, 1, 12);
    assert_int_equal(c[0].width, 12);
    c[0].longest_piece = 12;
    pk_layout(c, 1, 9); /* and in the end anywhere */
    assert_int_equal(c[0].width, 9);
}

static void columns_of_the_screen_are_counted(void **state)
{
    setlocale(LC_CTYPE, "C.UTF-8");
    assert_int_equal(pk_screen_width("±µ", strlen("±µ")), 2);
    assert_int_equal(pk_longest_word("a ±±± bb", false), 3);
}

static const struct pk_column columns[] = {
    {.key = "n", .heading = "N", .decimals = -1},
    {.key = "peak_bytes", .heading = "Peak Mem (GB)", .scale = 1e9, .decimals = 3},
    {.key = "extra", .heading = "Extra", .decimals = -1, .optional = 1},
};

static void rows(struct pk_out *o)
{
    pk_out_table(o, "t", NULL, columns, 3);
    pk_out_row(o, (struct pk_cell[]){pk_cell_int(1), pk_cell_int(5240000), pk_cell_int(7)});
    pk_out_row(o, (struct pk_cell[]){pk_cell_int(2), pk_cell_int(138000000), pk_cell_int(8)});
}

static void what_is_left_out_is_said(void **state)
{
    assert_printed(PK_FMT_TABLE, 0, rows,
                   "N  Peak Mem (GB)  Extra\n-----------------------\n"
                   "1        0.00524      7\n2        0.138        8\n");
    assert_printed(PK_FMT_TABLE, 20, rows,
                   "   Peak Mem\nN      (GB)  Extra\n------------------\n"
                   "1   0.00524      7\n2   0.138        8\n");
    assert_printed(PK_FMT_TABLE, 12, rows,
                   "   Peak Mem\nN      (GB)\n-----------\n1   0.00524\n2   0.138\n"
                   "Left out at\n12 columns:\nExtra.\nAll columns:\n--width 0\n");
    assert_printed(PK_FMT_CSV, 12, rows, "n,peak_bytes,extra\n1,5240000,7\n2,138000000,8\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_a_limit_nothing_gives_way),
        cmocka_unit_test(texts_then_headings_then_columns),
        cmocka_unit_test(every_width_is_kept),
        cmocka_unit_test(wrapping_breaks_at_blanks),
        cmocka_unit_test(a_word_too_long_breaks_behind_commas),
        cmocka_unit_test(columns_of_the_screen_are_counted),
        cmocka_unit_test(what_is_left_out_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
