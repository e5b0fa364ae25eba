/* Narrow: while one run is shown, every view shows that run alone; afterwards everything again. Views of the file are not read. */
#include "store/db.h"
#include "store/table/table.h"

#include "tests/unit/store/fixture.h"

/* Names of perfkit's views; of those that have a column run_id and are not about baselines, with `of_runs`. */
static struct pk_rows views_of(struct pk_store *s, bool of_runs, struct pk_arena *a)
{
    struct pk_rows rows;
    const struct pk_param p = pk_param_int(":of_runs", of_runs);
    OK(pk_db_own_views(s, &err));
    OK(pk_store_query(s,
                      "SELECT v.name FROM sqlite_temp_schema v WHERE v.name GLOB 'v_*' AND (NOT :of_runs OR "
                      "(v.name NOT GLOB 'v_baseline*'"
                      " AND EXISTS (SELECT 1 FROM pragma_table_info(v.name) c WHERE c.name = 'run_id')))",
                      &p, 1, a, &rows, &err));
    assert_true(rows.n > 10);
    return rows;
}

static int64_t runs_in(struct pk_store *s, const char *view)
{
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT count(DISTINCT run_id) FROM %s", view);
    return query_int(s, sql);
}

/* Three runs with a case, a slice and a setting each. */
static struct pk_store *three_runs(int64_t runs[3])
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    for (int i = 0; i < 3; i++) {
        runs[i] = begin_run(s, NULL);
        const struct pk_slice slice = steady_slice(1, 5);
        const struct pk_setting threads = {1, "threads", "2"};
        OK(pk_store_slice(s, add_case(s, runs[i], "{}"), &slice, NULL, 0, NULL, 0, &err));
        OK(pk_store_settings(s, runs[i], &threads, 1, &err));
        OK(pk_store_run_end(s, runs[i], "complete", &err));
    }
    return s;
}

static void every_view_shows_one_run(void **state)
{
    int64_t runs[3];
    struct pk_arena a = {0};
    struct pk_store *s = three_runs(runs);
    pk_store_narrow(s, runs[1]);
    const struct pk_rows views = views_of(s, true, &a);
    for (size_t i = 0; i < views.n; i++)
        assert_in_range(runs_in(s, views.cells[i].s), 0, 1);
    assert_int_equal(query_int(s, "SELECT run_id FROM v_case"), runs[1]);
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_sample"), 5);
    pk_arena_free(&a);
    pk_store_close(s);
}

static void afterwards_all_are_shown_again(void **state)
{
    int64_t runs[3];
    struct pk_arena a = {0};
    struct pk_store *s = three_runs(runs);
    const size_t before = views_of(s, false, &a).n;
    pk_store_narrow(s, runs[0]);
    pk_store_narrow(s, runs[2]);
    assert_int_equal(query_int(s, "SELECT run_id FROM v_slice"), runs[2]); /* the last call counts */
    pk_store_widen(s);
    assert_int_equal(views_of(s, false, &a).n, before);
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(runs_in(s, ((const char *[]){"v_run", "v_case", "v_slice", "v_setting"})[i]), 3);
    pk_arena_free(&a);
    pk_store_close(s);
}

static int prepared(struct pk_store *s, const char *format, const char *view)
{
    char sql[128];
    sqlite3_stmt *stmt;
    snprintf(sql, sizeof sql, format, view);
    const int rc = sqlite3_prepare_v2(s->db, sql, -1, &stmt, NULL);
    sqlite3_finalize(stmt);
    return rc;
}

/* Nor are perfkit's own of other runs; a transaction that made them may have been rolled back. */
static void only_own_views_of_now_are_read(void **state)
{
    static const char *const forms[] = {"SELECT * FROM %s", "SELECT count(*) FROM %s",
                                        "SELECT EXISTS (SELECT 1 FROM %s)",
                                        "CREATE TEMP TABLE x AS SELECT 1 FROM %s"};
    int64_t runs[3];
    struct pk_arena a = {0};
    struct pk_store *s = three_runs(runs);
    const struct pk_rows views = views_of(s, false, &a);
    for (size_t i = 0; i < views.n * 4; i++) {
        const char *form = forms[i % 4], *view = views.cells[i / 4].s;
        pk_store_widen(s);
        assert_int_not_equal(prepared(s, form, view), SQLITE_OK);
        OK(pk_db_own_views(s, &err));
        assert_int_equal(prepared(s, form, view), SQLITE_OK);
    }
    pk_store_narrow(s, runs[1]);
    OK(pk_db_begin(s, "try", &err));
    assert_int_equal(query_int(s, "SELECT run_id FROM v_case"), runs[1]);
    assert_int_equal(pk_db_end(s, PK_E_IO, &err), PK_E_IO);
    assert_int_equal(query_int(s, "SELECT run_id FROM v_case"), runs[1]);
    pk_arena_free(&a);
    pk_store_close(s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {T(every_view_shows_one_run), T(afterwards_all_are_shown_again),
                                       T(only_own_views_of_now_are_read)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
