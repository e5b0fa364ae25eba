/* Formulas give what arithmetic gives, say what is missing, and where they are wrong. */
#include "counter/formula.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static struct pk_arena arena;
static struct pk_err err;

static const struct pk_formula *parsed(const char *text)
{
    const struct pk_formula *f = NULL;
    if (pk_formula_parse(text, &arena, &f, &err))
        print_error("%s: %s\n", err.what, err.why);
    assert_non_null(f);
    return f;
}

static double value(const char *text, const double *values)
{
    const char *missing;
    double v = pk_formula_value(parsed(text), values, &arena, &missing);
    assert_null(missing);
    return v;
}

static void arithmetic(void **state)
{
    static const double v[] = {6, 4, 2};
    static const struct {
        const char *text;
        double is;
    } rows[] = {
        {"a", 6},
        {"a - b - c", 0},
        {"a / b / c", 0.75},
        {"a + b * c", 14},
        {"(a + b) * c", 20},
        {"a * -b", -24},
        {"--a", 6},
        {"1e9*a/b", 1.5e9},
        {"a - (b - c)", 4},
        {" 64 * a / ( b + b ) ", 48},
        {"a + 0.5", 6.5},
        {"a + (b * (c - (a - (b + c))))", 14},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_true(value(rows[i].text, v) == rows[i].is);
}

static void names_are_found_once(void **state)
{
    const struct pk_formula *f = parsed("dp_flops / (cycles + dp_flops) * l2_3");
    assert_int_equal(f->n_names, 3);
    assert_string_equal(f->names[0], "dp_flops");
    assert_string_equal(f->names[1], "cycles");
    assert_string_equal(f->names[2], "l2_3");
}

static void what_is_missing_is_named(void **state)
{
    const char *missing;
    const double unknown[] = {1, NAN}, zero[] = {1, 0};
    assert_true(isnan(pk_formula_value(parsed("a / b"), unknown, &arena, &missing)));
    assert_string_equal(missing, "b");
    assert_true(isnan(pk_formula_value(parsed("a / b"), zero, &arena, &missing)));
    assert_string_equal(missing, "b is 0");
    assert_true(isnan(pk_formula_value(parsed("a / (b * 2)"), zero, &arena, &missing)));
    assert_string_equal(missing, "a divisor is 0");
    assert_true(isnan(pk_formula_value(parsed("1e300 * a * 1e300"), zero, &arena, &missing)));
    assert_string_equal(missing, "a number of that size");
}

static void wrong_ones_say_where(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"", "a name or a number is missing at its end"},
        {"a +", "a name or a number is missing at its end"},
        {"(a", "a parenthesis is not closed at its end"},
        {"a b", "an operator is missing at character 3, 'b'"},
        {"a / )", "a name or a number is missing at character 5, ')'"},
        {"2x", "a number is malformed at character 1, '2x'"},
        {"a % b", "an operator is missing at character 3, '% b'"},
        {"1e999", "a number is malformed at character 1, '1e999'"},
        {"((((((((((((((((((((((((((((((((((((((((a", "it is nested too deeply"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct pk_formula *f;
        assert_int_equal(pk_formula_parse(rows[i].text, &arena, &f, &err), PK_E_USAGE);
        if (!strstr(err.why, rows[i].why))
            fail_msg("'%s': %s", rows[i].text, err.why);
    }
}

static int free_all(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arithmetic),
        cmocka_unit_test(names_are_found_once),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(wrong_ones_say_where),
    };
    return cmocka_run_group_tests(tests, NULL, free_all);
}
