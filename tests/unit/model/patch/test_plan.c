/* Plans: the reports' rules, what a plan file means, and every way to be wrong. */
#include "model/patch/plan.h"

#include "base/file.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

static struct pk_patch_plan parsed(const char *text, struct pk_arena *a)
{
    struct pk_err err = {0};
    struct pk_patch_plan p;
    if (pk_patch_plan_parse("f.plan", text, strlen(text), a, &p, &err))
        fail_msg("%s: %s", err.what, err.why);
    return p;
}

static void the_reports_rules(void **state)
{
    static const struct pk_patch_rule expected[] = {
        {"*.intermediate.dense", PK_COLUMN_PARALLEL},   {"*.output.dense", PK_ROW_PARALLEL},
        {"*.attention.self.query", PK_COLUMN_PARALLEL}, {"*.attention.self.key", PK_COLUMN_PARALLEL},
        {"*.attention.self.value", PK_COLUMN_PARALLEL}, {"*.attention.output.dense", PK_ROW_PARALLEL},
    };
    assert_int_equal(pk_patch_plan_reports.n, 6);
    for (size_t i = 0; i < 6; i++) {
        assert_string_equal(pk_patch_plan_reports.rules[i].pattern, expected[i].pattern);
        assert_int_equal(pk_patch_plan_reports.rules[i].transform, expected[i].transform);
    }
}

static void lines(void **state)
{
    static const struct pk_patch_rule expected[] = {
        {"*.dense", PK_COLUMN_PARALLEL, 3},
        {"a b.[=]]?", PK_ROW_PARALLEL, 4},
        {"[]a][!]-a][a-][-a]", PK_ROW_PARALLEL, 6},
        {"\\*[a-a]^", PK_COLUMN_PARALLEL, 7},
    };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_patch_plan p = parsed("# a comment\n"
                                    "\n"
                                    "*.dense=column\r\n"
                                    "\ta b.[=]]?  =  row \n"
                                    "  # another = row\n"
                                    "[]a][!]-a][a-][-a] = row\n"
                                    "\\*[a-a]^ = column",
                                    &a);
    assert_string_equal(p.name, "f.plan");
    assert_int_equal(p.n, 4);
    for (size_t i = 0; i < p.n; i++) {
        assert_string_equal(p.rules[i].pattern, expected[i].pattern);
        assert_int_equal(p.rules[i].transform, expected[i].transform);
        assert_int_equal(p.rules[i].line, expected[i].line);
    }
}

static void refusals(void **state)
{
    static const struct {
        const char *text, *what, *why, *fix;
    } rows[] = {
        {"", "f.plan has no rule", "blank or begin with #", "*.attention.self.query = column"},
        {"# a = row\n\n", "f.plan has no rule", "blank or begin with #", "= column"},
        {"a = row\nb row\n", "f.plan:2: 'b row' is not a rule", "there is no '='", "= column"},
        {"= row", "f.plan:1: '' is not a pattern", "it is empty", "= column"},
        {"a[b = row", "'a[b' is not a pattern", "the [ at byte 2 has no ]", "= column"},
        {"[] = row", "'[]' is not a pattern", "the [ at byte 1 has no ]", "= column"},
        {"[!] = row", "'[!]' is not a pattern", "the [ at byte 1 has no ]", "= column"},
        {"[a- = row", "'[a-' is not a pattern", "the [ at byte 1 has no ]", "= column"},
        {"*[[:alpha:]] = row", "'*[[:alpha:]]' is not a pattern", "the set at byte 2 has a class",
         "= column"},
        {"[a[.x.]] = row", "is not a pattern", "the set at byte 1 has a class", "= column"},
        {"[a-[=x=]] = row", "is not a pattern", "the set at byte 1 has a class", "= column"},
        {"a.[^b] = row", "'a.[^b]' is not a pattern", "the set at byte 3 begins with ^", "= column"},
        {"[z-a] = row", "'[z-a]' is not a pattern", "ends before it begins", "= column"},
        {"a = rows", "f.plan:1: 'rows' is not a transform", "column or by row", "did you mean 'row'?"},
        {"a = ", "f.plan:1: '' is not a transform", "column or by row", "column, row"},
        {"a=row\nb=row\na=column\n", "f.plan:3: the pattern 'a' is given twice", "line 1 has it first",
         "delete one of the two"},
        {"a\x01 = row", "is not a rule", "cannot be printed", "= column"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_err err = {0};
        struct pk_patch_plan p;
        enum pk_code rc = pk_patch_plan_parse("f.plan", rows[i].text, strlen(rows[i].text), &a, &p, &err);
        assert_int_equal(rc, PK_E_USAGE);
        if (!strstr(err.what, rows[i].what) || !strstr(err.why, rows[i].why) || !strstr(err.fix, rows[i].fix))
            fail_msg("%s: %s (%s; %s)", rows[i].text, err.what, err.why, err.fix);
    }
}

static void bytes_that_are_no_text(void **state)
{
    static const char text[] = "a = row\n\0b = row\n";
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err;
    struct pk_patch_plan p;
    assert_int_equal(pk_patch_plan_parse("f", text, sizeof text - 1, &a, &p, &err), PK_E_USAGE);
    assert_string_equal(err.what, "f:2: '' is not a rule");
}

static void files(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    char path[] = "/tmp/pk-plan-XXXXXX";
    struct pk_err err;
    struct pk_patch_plan p;
    PK_CLEANUP_FD int fd = mkstemp(path);
    assert_int_equal(write(fd, "*.dense = row\nx\n", 16), 16);
    assert_int_equal(pk_patch_plan_read(path, &a, &p, &err), PK_E_USAGE);
    assert_string_equal(err.what, pk_printf(&a, "%s:2: 'x' is not a rule", path));
    assert_int_equal(pwrite(fd, "\n", 1, 14), 1);
    assert_int_equal(pk_patch_plan_read(path, &a, &p, &err), PK_OK);
    assert_int_equal(p.n, 1);
    unlink(path);
    assert_int_equal(pk_patch_plan_read(path, &a, &p, &err), PK_E_USAGE);
    assert_non_null(strstr(err.what, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reports_rules),      cmocka_unit_test(lines), cmocka_unit_test(refusals),
        cmocka_unit_test(bytes_that_are_no_text), cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
