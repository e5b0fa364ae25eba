/* Numbers: exact integers, reals that read back, display scales, the user's locale, streams that fail. */
#include "print.h"

#include "base/rng.h"

#include <ctype.h>
#include <locale.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static struct pk_cell one_cell;
static struct pk_column one_column;

static void one(struct pk_out *o)
{
    pk_out_table(o, "t", NULL, &one_column, 1);
    pk_out_row(o, &one_cell);
}

static void assert_shown(struct pk_cell c, double scale, int decimals, const char *expected)
{
    one_cell = c;
    one_column = (struct pk_column){.key = "x", .heading = "x", .scale = scale, .decimals = decimals};
    char *text = printed(PK_FMT_MARKDOWN, 0, one);
    char *cell = strrchr(text, '\n') - strlen(expected) - 4;
    char *whole = malloc(strlen(expected) + 8);
    sprintf(whole, "| %s |\n", expected);
    assert_string_equal(cell, whole);
    free(whole);
    free(text);
}

static void shown_at_display_scale(void **state)
{
    assert_shown(pk_cell_int(1500000), 1e6, 3, "1.500");
    assert_shown(pk_cell_int(1500000), 0, -1, "1500000");
    assert_shown(pk_cell_int(INT64_MAX), 0, 0, "9223372036854775807");
    assert_shown(pk_cell_int(3), 0, 2, "3.00");
    assert_shown(pk_cell_real(0.25), 0.01, 1, "25.0");
    assert_shown(pk_cell_real(1234567.5), 0, -1, "1234568");
    assert_shown(pk_cell_real(0.000123456789), 0, -1, "0.000123457");
    assert_shown(pk_cell_real(2e20), 0, -1, "2e+20");
    assert_shown(pk_cell_real(NAN), 0, 3, "");
    assert_shown(pk_cell_real(1e300), 1e6, 3, "1e+294");
    assert_shown(pk_cell_real(-1.5e300), 0.01, 1, "-1.5e+302");
    assert_shown(pk_cell_real(999999999999999.0), 0, 0, "999999999999999");
    assert_shown(pk_cell_real(INFINITY), 1e6, 3, "inf");
}

static void numbers_with_exponents(void **state)
{
    static const struct {
        double v;
        const char *shown;
    } rows[] = {{0.000025, "| 2.5e-05 |"}, {-3.14, "| -3.1e+00 |"}, {0, "| 0 |"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        one_cell = pk_cell_real(rows[i].v);
        one_column = (struct pk_column){.key = "x", .heading = "x", .decimals = 1, .exponent = true};
        char *text = printed(PK_FMT_MARKDOWN, 0, one);
        assert_non_null(strstr(text, rows[i].shown));
        free(text);
    }
}

static struct pk_cell low_end, high_end;

static void an_interval(struct pk_out *o)
{
    static const struct pk_column columns[] = {
        {.key = "low_ns", .heading = "95 % interval", .scale = 1e6, .decimals = 1, .interval = true},
        {.key = "high_ns", .heading = "to"}};
    struct pk_row *row;
    pk_out_table(o, "t", NULL, PK_COLUMNS(columns));
    row = pk_row_begin(o);
    pk_put(row, "low_ns", low_end);
    pk_put(row, "high_ns", high_end);
    pk_row_end(row);
    row = pk_row_begin(o);
    pk_put_real(row, "low_ns", 123e6);
    pk_put_real(row, "high_ns", 123456e6);
    pk_row_end(row);
}

static void both_ends_of_an_interval_are_one_column(void **state)
{
    low_end = pk_cell_int(1500000);
    high_end = pk_cell_real(2.25e6);
    assert_printed(PK_FMT_TABLE, 0, an_interval,
                   " 95 % interval\n--------------\n  1.5–2.2\n123.0–123456.0\n");
    assert_printed(PK_FMT_CSV, 0, an_interval,
                   "low_ns,high_ns\n1500000,2250000.0\n123000000.0,123456000000.0\n");
    static const struct {
        struct pk_cell low, high;
        const char *shown;
    } rows[] = {{{.type = PK_CELL_REAL, .f = -2e6}, {.type = PK_CELL_REAL, .f = 1e6}, "\n| -2.0 to 1.0 |"},
                {{.type = PK_CELL_REAL, .f = -2e6}, {.type = PK_CELL_REAL, .f = -1e6}, "\n| -2.0 to -1.0 |"},
                {{.type = PK_CELL_NULL}, {.type = PK_CELL_REAL, .f = NAN}, "\n|  |"},
                {{.type = PK_CELL_REAL, .f = 3e6}, {.type = PK_CELL_NULL}, "\n| 3.0– |"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        low_end = rows[i].low;
        high_end = rows[i].high;
        char *text = printed(PK_FMT_MARKDOWN, 0, an_interval);
        assert_non_null(strstr(text, rows[i].shown));
        free(text);
    }
}

static void small_numbers_are_no_zeros(void **state)
{
    assert_shown(pk_cell_int(5240000), 1e9, 3, "0.00524");
    assert_shown(pk_cell_int(10000000), 1e9, 3, "0.010");
    assert_shown(pk_cell_int(1), 1e9, 3, "0.00000000100");
    assert_shown(pk_cell_real(0.0004), 0.01, 1, "0.04");
    assert_shown(pk_cell_real(0.0006), 0.01, 1, "0.1");
    assert_shown(pk_cell_real(-0.002), 0, 2, "-0.0020");
    assert_shown(pk_cell_real(0.3), 0, 0, "0.3");
    assert_shown(pk_cell_int(0), 1e9, 3, "0.000");
    assert_shown(pk_cell_real(2e-17), 0, 2, "0.00"); /* what arithmetic leaves of a zero */
}

static void most_is_the_largest_number_shown(void **state)
{
    one_cell = pk_cell_real(1.5);
    one_column = (struct pk_column){.key = "x", .heading = "±", .scale = 0.01, .decimals = 1, .most = 100};
    assert_printed(PK_FMT_TABLE, 0, one, "   ±\n----\n>100\n");
    assert_printed(PK_FMT_CSV, 0, one, "x\n1.5\n");
}

static void least_is_the_smallest_number_shown(void **state)
{
    one_column = (struct pk_column){.key = "p", .heading = "p", .decimals = 4, .least = 0.0001};
    one_cell = pk_cell_real(4e-7);
    assert_printed(PK_FMT_TABLE, 0, one, "      p\n-------\n<0.0001\n");
    assert_printed(PK_FMT_CSV, 0, one, "p\n4e-07\n");
    one_cell = pk_cell_real(0.0123);
    assert_printed(PK_FMT_TABLE, 0, one, "     p\n------\n0.0123\n");
}

/* 100 % may be a little more than 1 by the arithmetic, and no limit marks nothing, not even below zero. */
static void a_number_beyond_its_limit_is_marked(void **state)
{
    static const struct {
        double value, over, under;
        const char *shown;
    } cases[] = {{1.04, 100, 0, "x\n----\n!104\n"},    {1, 100, 0, "x\n---\n100\n"},
                 {1 + 1e-12, 100, 0, "x\n---\n100\n"}, {0.9, 0, 100, "x\n---\n!90\n"},
                 {1, 0, 100, "x\n---\n100\n"},         {-1, 0, 0, "x\n----\n-100\n"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        one_cell = pk_cell_real(cases[i].value);
        one_column = (struct pk_column){.key = "x",
                                        .heading = "x",
                                        .left = true,
                                        .scale = 0.01,
                                        .over = cases[i].over,
                                        .under = cases[i].under};
        assert_printed(PK_FMT_TABLE, 0, one, cases[i].shown);
    }
    assert_printed(PK_FMT_CSV, 0, one, "x\n-1.0\n");
}

/* The value in machine formats, without the header. */
static char *machine_text(struct pk_cell c)
{
    one_cell = c;
    one_column = (struct pk_column){.key = "x", .scale = 1e6, .decimals = 1};
    char *text = printed(PK_FMT_CSV, 0, one);
    memmove(text, text + 2, strlen(text) - 1);
    text[strlen(text) - 1] = '\0';
    return text;
}

static void assert_machine(struct pk_cell c, const char *expected)
{
    char *text = machine_text(c);
    assert_string_equal(text, expected);
    free(text);
}

static void machine_formats_keep_base_units(void **state)
{
    assert_machine(pk_cell_int(0), "0");
    assert_machine(pk_cell_int(-10), "-10");
    assert_machine(pk_cell_int(100), "100");
    assert_machine(pk_cell_int(INT64_MIN), "-9223372036854775808");
    assert_machine(pk_cell_int(INT64_MAX), "9223372036854775807");
    assert_machine(pk_cell_real(0.1), "0.1");
    assert_machine(pk_cell_real(-3), "-3.0");
    assert_machine(pk_cell_real(-0.0), "-0.0");
    assert_machine(pk_cell_real(0.00125), "0.00125");
    assert_machine(pk_cell_real(123456789012345.0), "123456789012345.0");
    assert_machine(pk_cell_real(123456789.25), "123456789.25");
    assert_machine(pk_cell_real(999999999999999.9), "999999999999999.9");
    assert_machine(pk_cell_real(1e300), "1e+300");
    assert_machine(pk_cell_real(INFINITY), "");
}

/* What printf and strtod agree on is the judge of our own digits: never longer, always the same value. */
static void assert_shortest(double v)
{
    char best[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(best, sizeof best, "%.*g", digits, v);
        if (strtod(best, NULL) == v)
            break;
    }
    char *text = machine_text(pk_cell_real(v));
    assert_true(strtod(text, NULL) == v);
    assert_true(isdigit(text[strlen(text) - 1]));
    if (!strchr(best, 'e'))
        assert_true(strlen(text) <= strlen(best) + 2);
    free(text);
}

static void reals_are_shortest(void **state)
{
    struct pk_rng r = {7};
    for (int i = 0; i < 500; i++) {
        assert_shortest(pk_rng_normal(&r) * pow(10, (double)pk_rng_below(&r, 24) - 6));
        assert_shortest((double)pk_rng_below(&r, 1u << 30) / (double)(1 + pk_rng_below(&r, 1000)));
        assert_shortest(round(pk_rng_uniform(&r) * 1e6) / 1e3);
    }
    for (int e = -20; e < 52; e++) {
        assert_shortest(ldexp(1, e));
        assert_shortest(nextafter(ldexp(1, e), 0));
        assert_shortest(nextafter(ldexp(1, e), 1e18));
    }
    for (double v = 1e-6; v < 1e17; v *= 10) {
        assert_shortest(v);
        assert_shortest(nextafter(v, 0));
    }
}

static void integers_and_reals_read_back(void **state)
{
    struct pk_rng r = {42};
    for (int i = 0; i < 500; i++) {
        int64_t v = (int64_t)(pk_rng_next(&r) >> pk_rng_below(&r, 64)) * (i % 2 ? 1 : -1);
        char *text = machine_text(pk_cell_int(v));
        assert_int_equal(strtoll(text, NULL, 10), v);
        free(text);
        double f = pk_rng_normal(&r) * pow(10, (double)pk_rng_below(&r, 40) - 20);
        text = machine_text(pk_cell_real(f));
        assert_true(strtod(text, NULL) == f);
        free(text);
    }
}

/* Compiles a locale with French numbers from the system's sources; false where they are not installed. */
static bool french(void)
{
    char dir[] = "/tmp/perfkit-locale-XXXXXX", command[256];
    if (!mkdtemp(dir))
        return false;
    snprintf(command, sizeof command,
             "cd %s && printf 'LC_NUMERIC\\ncopy \"fr_FR\"\\nEND LC_NUMERIC\\n' >numbers && "
             "localedef -c -i ./numbers -f ANSI_X3.4-1968 ./fr_FR 2>/dev/null",
             dir);
    bool made = system(command) >= 0;
    setenv("LOCPATH", dir, 1);
    made = made && setlocale(LC_NUMERIC, "fr_FR");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -r %s", dir);
    return system(command) == 0 && made;
}

static void the_users_locale_changes_nothing(void **state)
{
    if (!french())
        skip();
    assert_string_equal(localeconv()->decimal_point, ",");
    assert_shown(pk_cell_int(1500000), 1e6, 3, "1.500");
    assert_machine(pk_cell_real(0.1), "0.1");
    setlocale(LC_ALL, "C");
}

static void text_is_utf8_in_the_c_locale(void **state)
{
    setlocale(LC_ALL, "C");
    one_cell = pk_cell_text("µs");
    one_column = (struct pk_column){.key = "x", .heading = "±", .decimals = -1, .left = true};
    assert_printed(PK_FMT_TABLE, 0, one, "±\n--\nµs\n");
}

static void full_disk_is_an_error(void **state)
{
    FILE *full = fopen("/dev/full", "w");
    assert_non_null(full);
    struct pk_out *o = pk_out_open(full, &(struct pk_out_options){.format = PK_FMT_CSV});
    sample_rows(o);
    struct pk_err err;
    assert_int_equal(pk_out_close(o, &err), PK_E_IO);
    assert_non_null(strstr(err.why, "No space left"));
    assert_true(err.fix[0]);
    fclose(full);
}

static void a_reader_that_left_is_not(void **state)
{
    signal(SIGPIPE, SIG_IGN);
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    close(fds[0]);
    FILE *f = fdopen(fds[1], "w");
    struct pk_out *o = pk_out_open(f, &(struct pk_out_options){.format = PK_FMT_CSV});
    pk_out_table(o, "scaling", NULL, sample_columns, 1);
    struct pk_cell c = pk_cell_int(123456789);
    for (int i = 0; i < 100000; i++)
        pk_out_row(o, &c);
    assert_true(pk_out_broken(o));
    struct pk_err err;
    assert_int_equal(pk_out_close(o, &err), PK_OK);
    fclose(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shown_at_display_scale),
        cmocka_unit_test(numbers_with_exponents),
        cmocka_unit_test(both_ends_of_an_interval_are_one_column),
        cmocka_unit_test(small_numbers_are_no_zeros),
        cmocka_unit_test(most_is_the_largest_number_shown),
        cmocka_unit_test(least_is_the_smallest_number_shown),
        cmocka_unit_test(a_number_beyond_its_limit_is_marked),
        cmocka_unit_test(machine_formats_keep_base_units),
        cmocka_unit_test(reals_are_shortest),
        cmocka_unit_test(integers_and_reals_read_back),
        cmocka_unit_test(the_users_locale_changes_nothing),
        cmocka_unit_test(text_is_utf8_in_the_c_locale),
        cmocka_unit_test(full_disk_is_an_error),
        cmocka_unit_test(a_reader_that_left_is_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
