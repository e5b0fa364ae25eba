/* Limited: what a text that perfkit did not write may read, checked beforehand and when it is printed, with the views of all runs and of one. */
#include "store/table/table.h"

#include "tests/unit/store/fixture.h"

#include "out/out.h"

#define TABLE(sql) PK_TEXT_LIMITED "-- table: t\n" sql

static const char *const allowed[] = {
    TABLE("SELECT run_id FROM v_run;"),
    TABLE("SELECT c.case_id, s.median FROM v_case c LEFT JOIN v_summary s ON s.case_id = c.case_id -- why\n"),
    TABLE("SELECT count(*) FROM v_case, v_run, v_setting"),
    TABLE("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 5) SELECT x FROM n;"),
    TABLE("SELECT j.key FROM v_case c, json_each(c.axes) j;"),
    TABLE("-- each: SELECT run_id FROM v_run\n-- note: SELECT 'note'\nSELECT :each AS run_id, plural(2, "
          "'case') AS p;"),
    PK_TEXT_LIMITED
    "-- view: own_runs\nSELECT run_id FROM v_run;\n-- view: own_more\nSELECT run_id FROM own_runs;\n"
    "-- table: t\nSELECT * FROM own_more;\n-- finding: f\nSELECT 'a' AS sentence FROM own_runs;",
};

static const char *const denied[] = {
    TABLE("SELECT id FROM run;"),
    TABLE("SELECT value FROM main.setting;"),
    TABLE("SELECT sql FROM sqlite_schema;"),
    TABLE("SELECT name FROM pragma_table_info('run');"),
    TABLE("SELECT (SELECT max(value) FROM sample) FROM v_run;"),
    TABLE("SELECT run_id FROM v_run WHERE run_id IN (SELECT id FROM run);"),
    TABLE("DELETE FROM run;"),
    TABLE("INSERT INTO v_run SELECT * FROM v_run;"),
    TABLE("CREATE TEMP TABLE x AS SELECT 1;"),
    TABLE("DROP VIEW temp.v_run;"),
    TABLE("ATTACH ':memory:' AS x;"),
    TABLE("PRAGMA writable_schema = 1;"),
    TABLE("VACUUM;"),
    TABLE("BEGIN;"),
    TABLE("EXPLAIN DELETE FROM run;"),
    TABLE("SELECT load_extension('x');"),
    TABLE("-- each: SELECT id FROM run\nSELECT 1;"),
    TABLE("-- note: SELECT CAST(id AS TEXT) FROM run\nSELECT 1;"),
    PK_TEXT_LIMITED "-- view: own_runs\nSELECT id AS run_id FROM run;\n-- table: t\nSELECT * FROM own_runs;",
    PK_TEXT_LIMITED "-- view: v_mine\nSELECT 1 AS run_id;\n-- table: t\nSELECT 1;",
    PK_TEXT_LIMITED "-- view: run\nSELECT 1 AS run_id;\n-- table: t\nSELECT 1;",
    PK_TEXT_LIMITED "-- view: x\nSELECT 1 AS run_id; DROP TABLE run\n-- table: t\nSELECT 1;",
    PK_TEXT_LIMITED "-- finding: f\nSELECT label AS sentence FROM run;",
};

static enum pk_code print(struct pk_store *s, const char *text)
{
    const struct pk_out_options options = {.format = PK_FMT_CSV};
    FILE *nowhere = fopen("/dev/null", "w");
    struct pk_out *out = pk_out_open(nowhere, &options);
    struct pk_err ignored;
    const enum pk_code rc = pk_tables_print(s, text, NULL, 0, out, &err);
    if (pk_out_close(out, &ignored))
        pk_assert(rc);
    fclose(nowhere);
    return rc;
}

static struct pk_store *with_a_run(int64_t *run)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    *run = begin_run(s, NULL);
    add_case(s, *run, "{\"n\":1}");
    return s;
}

static void views_may_be_read(void **state)
{
    int64_t run;
    struct pk_store *s = with_a_run(&run);
    for (size_t i = 0; i < sizeof allowed / sizeof *allowed; i++) {
        if (pk_limited_check(s, allowed[i], &err) || print(s, allowed[i]))
            fail_msg("%s: %s: %s", allowed[i], err.what, err.why);
        pk_store_narrow(s, run);
        if (print(s, allowed[i]) || print(s, allowed[i]))
            fail_msg("%s, of one run: %s: %s", allowed[i], err.what, err.why);
        pk_store_widen(s);
    }
    pk_store_close(s);
}

static void nothing_else_may(void **state)
{
    int64_t run;
    struct pk_store *s = with_a_run(&run);
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++) {
        if (pk_limited_check(s, denied[i], &err) != PK_E_USAGE || !*err.why || !*err.fix)
            fail_msg("%s: %s: %s", denied[i], err.what, err.why);
        if (!print(s, denied[i]))
            fail_msg("%s: printed", denied[i]);
        pk_store_narrow(s, run);
        if (!print(s, denied[i]))
            fail_msg("%s: printed, of one run", denied[i]);
        pk_store_widen(s);
        assert_int_equal(query_int(s, "SELECT count(*) FROM run"),
                         1); /* perfkit's own statements are as before */
    }
    pk_store_close(s);
}

static void rows_without_end_end(void **state)
{
    int64_t run;
    struct pk_store *s = with_a_run(&run);
    assert_true(print(s, TABLE("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n)"
                               " SELECT printf('%.*c', 1000000, 'x') AS x FROM n;")) != PK_OK);
    assert_non_null(strstr(err.why, "more than 64 MB"));
    assert_int_equal(query_int(s, "SELECT count(*) FROM run"), 1);
    pk_store_close(s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {T(views_may_be_read), T(nothing_else_may), T(rows_without_end_end)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
