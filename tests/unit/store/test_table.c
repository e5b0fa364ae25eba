/* Tables are printed as their text says: sections, units, notes, one table per value. */
#include "store/table/chart.h"
#include "tests/unit/store/fixture.h"

#include <math.h>

static const char text[] =
    "-- A comment that is no directive.\n"
    "-- view: doubled\n"
    "SELECT run_id, case_id, axes ->> 'n' AS n, 2 * median AS forward_ns FROM v_summary\n"
    "WHERE metric = 'forward_ns'; -- with a comment\n"
    "-- table: scaling\n"
    "-- title: Scaling of\n"
    "--    {each} cases\n"
    "-- each: SELECT DISTINCT variant FROM v_case WHERE run_id = :run\n"
    "-- column: forward_ns | Forward (ms) | ms | 3\n"
    "-- column: share | Share | % | 1\n"
    "-- column: rate | Rate | bytes_per_s>GB/s | 2\n"
    "-- note: SELECT 'of run ' || :run || ', ' || :each\n"
    "SELECT n, forward_ns, 0.125 AS share, 2500000000 AS rate FROM doubled\n"
    "WHERE run_id = :run;\n"
    "\n"
    "-- table: nothing\n"
    "SELECT 1 AS one WHERE 0;\n"
    "-- table: kept\n"
    "-- empty: keep\n"
    "SELECT 1 AS one WHERE 0;\n"
    "-- table: broken\n"
    "SELECT nonsense FROM v_case;\n"
    "-- table: hiding\n"
    "-- column: a | Always | | hide\n"
    "-- column: b | Never | | hide\n"
    "SELECT NULL AS a, NULL AS b, 1 AS c UNION ALL SELECT 2, NULL, 3;\n"
    "-- table: bad_unit\n"
    "-- column: one | One | furlongs\n"
    "SELECT 1 AS one;\n";

static char printed[4096];

/* What pk_table_print writes in a format; its code. */
static enum pk_code print(struct pk_store *s, const char *table, enum pk_format format, int64_t run)
{
    const struct pk_param param = pk_param_int(":run", run);
    printed[0] = '\0';
    FILE *f = fmemopen(printed, sizeof printed, "w");
    struct pk_out *out = pk_out_open(f, &(struct pk_out_options){.format = format});
    struct pk_err close_err;
    enum pk_code code = pk_table_print(s, text, table, &param, 1, out, &err);
    assert_int_equal(pk_out_close(out, &close_err), PK_OK);
    fclose(f);
    return code;
}

static struct pk_store *with_one_summary(int64_t *run)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    *run = begin_run(s, NULL);
    int64_t c = add_case(s, *run, "{\"n\":7}");
    struct pk_slice l = steady_slice(1, 3);
    struct pk_summary_row sum = {.metric = "forward_ns", .sum = {.n = 3, .median = 617000}, .invocations = 1};
    OK(pk_store_slice(s, c, &l, NULL, 0, &sum, 1, &err));
    return s;
}

static void people_get_units_and_notes(void **state)
{
    int64_t run;
    struct pk_store *s = with_one_summary(&run);
    OK(print(s, "scaling", PK_FMT_MARKDOWN, run));
    assert_non_null(strstr(printed, "Scaling of plain cases"));
    assert_non_null(strstr(printed, "Forward (ms)"));
    assert_non_null(strstr(printed, "1.234"));
    assert_non_null(strstr(printed, "12.5"));
    assert_non_null(strstr(printed, "2.50"));
    assert_non_null(strstr(printed, "of run 1, plain"));
    OK(print(s, "scaling", PK_FMT_MARKDOWN, run)); /* its views are gone again */
    pk_store_close(s);
}

static void programs_get_keys_and_base_units(void **state)
{
    int64_t run;
    struct pk_store *s = with_one_summary(&run);
    OK(print(s, "scaling", PK_FMT_CSV, run));
    assert_string_equal(printed, "n,forward_ns,share,rate\n7,1234000.0,0.125,2500000000\n");
    pk_store_close(s);
}

static void a_table_without_rows_is_left_out_unless_kept(void **state)
{
    int64_t run;
    struct pk_store *s = with_one_summary(&run);
    OK(print(s, "nothing", PK_FMT_CSV, run));
    assert_string_equal(printed, "");
    OK(print(s, "kept", PK_FMT_CSV, run));
    assert_string_equal(printed, "one\n");
    pk_store_close(s);
}

static void columns_that_are_empty_hide_from_people(void **state)
{
    int64_t run;
    struct pk_store *s = with_one_summary(&run);
    OK(print(s, "hiding", PK_FMT_MARKDOWN, run));
    assert_non_null(strstr(printed, "Always"));
    assert_null(strstr(printed, "Never"));
    OK(print(s, "hiding", PK_FMT_CSV, run));
    assert_string_equal(printed, "a,b,c\n,,1\n2,,3\n");
    pk_store_close(s);
}

static void wrong_texts_are_named(void **state)
{
    int64_t run;
    struct pk_store *s = with_one_summary(&run);
    assert_int_equal(print(s, "absent", PK_FMT_CSV, run), PK_E_INTERNAL);
    assert_int_equal(print(s, "broken", PK_FMT_CSV, run), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "table broken"));
    assert_non_null(strstr(err.why, "nonsense"));
    assert_int_equal(print(s, "bad_unit", PK_FMT_CSV, run), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "furlongs"));
    struct pk_arena a = {0};
    struct pk_section *v;
    size_t n;
    assert_int_equal(pk_sections("-- title: early\n", &a, &v, &n, &err), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "line 1"));
    pk_arena_free(&a);
    pk_store_close(s);
}

static const char sections[] =
    "-- finding: none\n"
    "SELECT NULL AS sentence;\n"
    "-- finding: seven\n"
    "SELECT 'Sentence ' || value || '.' AS sentence FROM json_each('[1,2,3,4,5,6,7]');\n"
    "-- table: other\n"
    "SELECT 'another' AS text;\n"
    "-- table: second\n"
    "-- headline: 2\n"
    "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 42)\n"
    "SELECT 'row' || n AS text FROM n;\n"
    "-- table: first\n"
    "-- headline: 1\n"
    "SELECT 1 AS text WHERE 0;\n";

static void print_sections(struct pk_store *s, enum pk_format format, const char *chosen)
{
    FILE *f = fmemopen(printed, sizeof printed, "w");
    struct pk_out *out = pk_out_open(f, &(struct pk_out_options){.format = format});
    struct pk_err close_err;
    pk_out_only(out, &chosen, chosen != NULL);
    OK(pk_tables_print(s, sections, NULL, 0, out, &err));
    OK(pk_out_close(out, &close_err));
    fclose(f);
}

static void a_screen_gets_findings_and_the_first_headline_with_rows(void **state)
{
    int64_t run;
    struct pk_store *s = with_one_summary(&run);
    print_sections(s, PK_FMT_TABLE, NULL);
    assert_non_null(strstr(printed, "1  Sentence 1.\n"));
    assert_non_null(strstr(printed, "6  Sentence 6.\n1 row more: --tables findings\n"));
    assert_non_null(strstr(printed, "row40\n2 rows more: --tables second\n"));
    assert_null(strstr(printed, "another"));
    print_sections(s, PK_FMT_TABLE, "all");
    assert_non_null(strstr(printed, "7  Sentence 7.\n"));
    assert_non_null(strstr(printed, "another"));
    assert_non_null(strstr(printed, "row42\n"));
    print_sections(s, PK_FMT_TABLE, "other");
    assert_string_equal(printed, "   text\n-------\nanother\n");
    print_sections(s, PK_FMT_JSONL, NULL);
    assert_non_null(strstr(
        printed, "{\"table\":\"findings\",\"place\":7,\"sentence\":\"Sentence 7.\",\"finding\":\"seven\"}"));
    assert_non_null(strstr(printed, "row42"));
    pk_store_close(s);
}

static const char drawn[] =
    "-- view: seen\n"
    "SELECT run_id, axes ->> 'n' AS n, median AS forward_ns FROM v_summary WHERE metric = 'forward_ns';\n"
    "-- chart: time\n"
    "-- title: Time\n"
    "-- mark: line\n"
    "-- x: n log2\n"
    "-- y: forward_ns log\n"
    "-- interval: low_ns high_ns\n"
    "-- color: variant\n"
    "-- guide: 1.5\n"
    "-- column: forward_ns | Forward (ms) | ms\n"
    "-- column: low_ns | Forward from (ms) | ms\n"
    "-- note: SELECT 'of run ' || :run\n"
    "SELECT n, forward_ns, forward_ns / 2 AS low_ns, NULL AS high_ns, 'a' AS variant FROM seen WHERE run_id "
    "= :run;\n"
    "-- chart: nothing\n"
    "-- mark: bar\n"
    "-- x: one\n"
    "-- y: one\n"
    "SELECT 1 AS one WHERE 0;\n"
    "-- chart: broken\n"
    "-- mark: bar\n"
    "-- x: one\n"
    "-- y: two\n"
    "SELECT 1 AS one;\n";

static void charts_have_rows_in_display_units(void **state)
{
    int64_t run;
    struct pk_store *s = with_one_summary(&run);
    struct pk_arena a = {0};
    struct pk_chart *c;
    size_t n;
    const struct pk_param param = pk_param_int(":run", run);
    OK(pk_charts_read(s, drawn, "nothing", &param, 1, &a, &c, &n, &err));
    assert_int_equal(n, 0);
    OK(pk_charts_read(s, drawn, "time", &param, 1, &a, &c, &n, &err));
    assert_int_equal(n, 1);
    assert_int_equal(c->rows.n, 1);
    assert_int_equal(c->encoding.mark, PK_MARK_LINE);
    assert_int_equal(c->encoding.scale[PK_CHANNEL_X], PK_SCALE_LOG2);
    assert_true(pk_chart_number(c, 0, PK_CHANNEL_X) == 7);
    assert_true(pk_chart_number(c, 0, PK_CHANNEL_Y) == 0.617);
    assert_true(pk_chart_number(c, 0, PK_CHANNEL_LOW) == 0.3085);
    assert_true(isnan(pk_chart_number(c, 0, PK_CHANNEL_HIGH)));
    assert_true(isnan(pk_chart_number(c, 0, PK_CHANNEL_COLOR)));
    assert_true(c->encoding.guide == 1.5);
    assert_string_equal(pk_chart_cell(c, 0, PK_CHANNEL_COLOR)->s, "a");
    assert_string_equal(pk_chart_heading(c, PK_CHANNEL_Y), "Forward (ms)");
    assert_null(pk_chart_heading(c, PK_CHANNEL_FACET));
    assert_string_equal(c->notes[0], "of run 1");
    assert_false(pk_chart_is_ordinal(c, PK_CHANNEL_X));
    assert_true(pk_chart_is_ordinal(c, PK_CHANNEL_COLOR));
    assert_int_equal(pk_charts_read(s, drawn, NULL, &param, 1, &a, &c, &n, &err), PK_E_INTERNAL);
    assert_non_null(strstr(err.what, "chart broken: its SELECT has no column 'two'"));
    pk_arena_free(&a);
    pk_store_close(s);
}

static void wrong_charts_are_refused_when_they_are_loaded(void **state)
{
    static const char *const wrong[] = {
        "-- chart: c\n-- mark: pie\n-- x: a\n-- y: b\nSELECT 1;\n",
        "-- chart: c\n-- mark: bar\n-- x: a\nSELECT 1;\n",
        "-- chart: c\n-- mark: span\n-- x: a\n-- y: b\nSELECT 1;\n",
        "-- chart: c\n-- x: a\n-- y: b\nSELECT 1;\n",
        "-- chart: c\n-- mark: bar\n-- x: a logarithmic\n-- y: b\nSELECT 1;\n",
        "-- chart: c\n-- mark: bar\n-- x:\n-- y: b\nSELECT 1;\n",
        "-- chart: c\n-- mark: bar\n-- x: a\n-- y: b\n-- interval: low\nSELECT 1;\n",
        "-- chart: c\n-- mark: bar\n-- x: a\n-- y: b\n-- guide: high\nSELECT 1;\n",
        "-- chart: c\n-- mark: bar\n-- x: a\n-- y: b\n-- headline: 1\nSELECT 1;\n",
        "-- table: t\n-- x: a\nSELECT 1;\n",
        "-- query: q\n-- mark: bar\nSELECT 1;\n",
    };
    struct pk_arena a = {0};
    struct pk_section *v;
    size_t n;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(pk_sections(wrong[i], &a, &v, &n, &err), PK_E_INTERNAL);
    OK(pk_sections("-- chart: c\n-- mark: bar\n-- x: a log2\n-- y: b\n-- interval: l h\nSELECT 1;\n", &a, &v,
                   &n, &err));
    pk_arena_free(&a);
}

/* Every table and query of lib is prepared and run, except those over the tables of nsys (cli/test_import_traces.py). */
static void every_section_of_lib_runs(void **state)
{
    int64_t run;
    struct pk_store *s = with_one_summary(&run);
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_section *v;
    struct pk_rows rows;
    struct pk_chart *charts;
    size_t n, n_charts, ran[PK_SECTION_CHART + 1] = {0};
    const struct pk_param params[] = {pk_param_int(":run", run), pk_param_int(":most", 1),
                                      pk_param_int(":last", 1), pk_param_int(":back", 0)};
    FILE *f = fmemopen(printed, sizeof printed, "w");
    struct pk_out *out = pk_out_open(f, &(struct pk_out_options){.format = PK_FMT_TABLE});
    for (const struct pk_embedded *file = pk_lib_sql; file->name; file++) {
        OK(pk_sections(file->text, &a, &v, &n, &err));
        for (size_t i = 0; i < n; i++) {
            ran[v[i].kind]++;
            if (v[i].kind == PK_SECTION_TABLE)
                OK(pk_table_print(s, NULL, v[i].name, PK_PARAMS(params), out, &err));
            if (v[i].kind == PK_SECTION_CHART)
                OK(pk_charts_read(s, file->text, v[i].name, PK_PARAMS(params), &a, &charts, &n_charts, &err));
            if (v[i].kind == PK_SECTION_QUERY && strncmp(v[i].name, "nsys_", strlen("nsys_")) != 0)
                OK(pk_query(s, v[i].name, PK_PARAMS(params), &a, &rows, &err));
        }
    }
    assert_true(ran[PK_SECTION_TABLE] > 5 && ran[PK_SECTION_QUERY] > 5);
    assert_int_equal(pk_query(s, "none_of_this_name", params, 2, &a, &rows, &err), PK_E_INTERNAL);
    OK(pk_out_close(out, &err));
    fclose(f);
    pk_store_close(s);
}

static void sentences_agree_with_numbers(void **state)
{
    int64_t run;
    struct pk_store *s = with_one_summary(&run);
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    OK(pk_store_query(
        s,
        "SELECT plural(1, 'case') AS one, plural(2, 'process') AS two, plural('2,4', 'rank') AS list,"
        " plural(NULL, 'case') AS none, predicate(1, 'are known') AS verb,"
        " speedup_text('a', 'b', 2.0, 1.5, 2.5) AS faster, speedup_text('a', 'b', 0.5, 0.4, 0.8) AS slower,"
        " speedup_text('a', 'b', 1.2, 0.9, 1.5) AS untold, speedup_text('a', 'b', 1.2, NULL, NULL) AS alone,"
        " speedup_text('a', 'b', NULL, 1, 2) AS unmeasured, time_text(21700) AS time,"
        " speedup_text('a', 'b', 1.0012, 1.0011, 1.0013) AS little,"
        " differing('x, 4 ms, 2', 'x, 4 ms, 2' || char(10) || 'x, 20 ms, 2') AS part,"
        " differing('x, 4', 'x, 4') AS common",
        NULL, 0, &a, &rows, &err));
    assert_string_equal(pk_rows_cell(&rows, 0, "one")->s, "1 case");
    assert_string_equal(pk_rows_cell(&rows, 0, "two")->s, "2 processes");
    assert_string_equal(pk_rows_cell(&rows, 0, "list")->s, "2,4 ranks");
    assert_int_equal(pk_rows_cell(&rows, 0, "none")->type, PK_CELL_NULL);
    assert_string_equal(pk_rows_cell(&rows, 0, "verb")->s, "is known");
    assert_string_equal(pk_rows_cell(&rows, 0, "faster")->s, "a is 2.00 x (1.50 to 2.50) faster than b");
    assert_string_equal(pk_rows_cell(&rows, 0, "slower")->s, "a is 2.00 x (1.25 to 2.50) slower than b");
    assert_string_equal(pk_rows_cell(&rows, 0, "untold")->s,
                        "a is not told apart from b: 1.20 x (0.90 to 1.50)");
    assert_string_equal(pk_rows_cell(&rows, 0, "alone")->s,
                        "a is not told apart from b: 1.20 x (no interval)");
    assert_int_equal(pk_rows_cell(&rows, 0, "unmeasured")->type, PK_CELL_NULL);
    assert_non_null(strchr(pk_rows_cell(&rows, 0, "time")->s, '7'));
    assert_string_equal(pk_rows_cell(&rows, 0, "little")->s, "a is 1.001 x (1.001 to 1.001) faster than b");
    assert_string_equal(pk_rows_cell(&rows, 0, "part")->s, " (4 ms)");
    assert_string_equal(pk_rows_cell(&rows, 0, "common")->s, "");
    pk_store_close(s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        T(people_get_units_and_notes),
        T(programs_get_keys_and_base_units),
        T(a_table_without_rows_is_left_out_unless_kept),
        T(columns_that_are_empty_hide_from_people),
        T(a_screen_gets_findings_and_the_first_headline_with_rows),
        T(wrong_texts_are_named),
        T(charts_have_rows_in_display_units),
        T(wrong_charts_are_refused_when_they_are_loaded),
        T(every_section_of_lib_runs),
        T(sentences_agree_with_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
