/* Maintenance: merging, pruning and checking stores. */
#include "store/db.h"
#include "tests/unit/store/fixture.h"

static void record(struct pk_store *s, const char *label, size_t n)
{
    int64_t run = begin_run(s, label), c = add_case(s, run, "{\"n\":1}");
    struct pk_slice l = steady_slice(1, n);
    struct pk_summary_row sum = {.metric = "forward_ns", .sum = {.n = n, .median = 5}, .invocations = 1};
    const struct pk_setting set = {1, "threads", label};
    const struct pk_case_work w = {.case_id = c, .metric = "forward_ns", .flops = 7};
    const struct pk_fit_info fit = {.name = "f",
                                    .metric = "forward_ns",
                                    .axis = "n",
                                    .kind = "line",
                                    .experiment = "demo",
                                    .variant = "plain",
                                    .device = "cpu",
                                    .group = "{}",
                                    .fit = {.n = 3, .slope = 2}};
    OK(pk_store_slice(s, c, &l, &sum, 1, &sum, 1, &err));
    OK(pk_store_settings(s, run, &set, 1, &err));
    OK(pk_store_works(s, &w, 1, &err));
    OK(pk_store_fits(s, run, &fit, 1, &err));
    OK(pk_store_run_end(s, run, "complete", &err));
}

static void a_merge_adds_every_row_once(void **state)
{
    struct pk_store *s;
    char other[160];
    int64_t added;
    snprintf(other, sizeof other, "%s/odd %%?#name.db", dir);
    OK(pk_store_open(other, PK_STORE_WRITE, NULL, &s, &err));
    record(s, "a", 100);
    record(s, "b", 50);
    const struct pk_ceiling_repeat r = {
        .machine = "{\"cpu\":\"x\"}",
        .device = "cpu",
        .values = (struct pk_ceiling_value[]){{"k", 1, PK_EVIDENCE_FLAT}},
        .n_values = 1,
        .curve =
            (struct pk_curve_row[]){{.lanes = 2, .bytes = 4096, .level = "L1", .rate = {1}, .stop = "time"}},
        .n_curve = 1,
    };
    OK(pk_store_ceilings(s, &r, &err));
    pk_store_close(s);
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    record(s, "c", 10);
    for (int again = 0; again < 2; again++) {
        OK(pk_store_merge(s, other, &added, &err));
        assert_int_equal(added, again ? 0 : 2);
        assert_int_equal(query_int(s, "SELECT count(*) FROM v_run"), 3);
        assert_int_equal(query_int(s, "SELECT count(*) FROM v_sample"), 160);
        assert_int_equal(query_int(s, "SELECT sum(value = 1000 + ordinal) FROM v_sample"), 160);
        assert_int_equal(query_int(s, "SELECT count(*) FROM v_summary WHERE n IN (100, 50, 10)"), 3);
        assert_int_equal(query_int(s, "SELECT count(*) FROM v_fit WHERE slope = 2"), 3);
        assert_int_equal(query_int(s, "SELECT count(*) FROM v_work WHERE flops = 7"), 3);
        assert_int_equal(
            query_int(s,
                      "SELECT count(*) FROM v_setting s JOIN v_run r USING(run_id) WHERE s.value = r.label"),
            3);
        assert_int_equal(query_int(s, "SELECT count(*) FROM main.machine"), 1);
        assert_int_equal(query_int(s, "SELECT count(*) FROM main.metric"), 1);
        assert_int_equal(query_int(s, "SELECT count(*) FROM main.ceiling WHERE evidence = 63"), 1);
        assert_int_equal(query_int(s, "SELECT count(*) FROM main.curve WHERE bytes = 4096 AND lanes = 2"), 1);
        assert_int_equal(
            query_int(s, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"), 0);
    }
    assert_int_equal(pk_store_merge(s, "/nowhere.db", &added, &err), PK_E_NOTHING);
    pk_store_close(s);
}

static void pruning_keeps_the_newest_and_what_still_runs(void **state)
{
    struct pk_store *s;
    int64_t removed;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    begin_run(s, "going");
    for (int i = 0; i < 4; i++)
        record(s, "old", 20000);
    int64_t pages = query_int(s, "SELECT page_count FROM pragma_page_count");
    OK(pk_store_prune(s, 1, true, &removed, &err));
    assert_int_equal(removed, 3);
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_run"), 5);
    OK(pk_store_prune(s, 1, false, &removed, &err));
    assert_int_equal(removed, 3);
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_run"), 2);
    assert_int_equal(query_int(s, "SELECT count(*) FROM main.sample"), 20000);
    assert_true(query_int(s, "SELECT page_count FROM pragma_page_count") < pages / 2);
    assert_int_equal(begin_run(s, NULL), 6); /* ids are not used again */
    OK(pk_store_prune(s, 100, false, &removed, &err));
    assert_int_equal(removed, 0);
    pk_store_close(s);
}

/* Another connection reads: the rows are removed in the transaction, and its end has to wait for that reader. */
static void pruning_beside_a_reader_removes_nothing(void **state)
{
    struct pk_store *s, *reader;
    sqlite3_stmt *reading;
    int64_t removed;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    record(s, "old", 10);
    record(s, "new", 10);
    OK(pk_store_open(path, PK_STORE_READ, NULL, &reader, &err));
    assert_int_equal(sqlite3_prepare_v2(reader->db, "SELECT * FROM sample", -1, &reading, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(reading), SQLITE_ROW);
    pk_store_set_timeout(s, 1);
    assert_int_equal(pk_store_prune(s, 1, false, &removed, &err), PK_E_IO);
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_run"), 2);
    sqlite3_finalize(reading);
    OK(pk_store_prune(s, 1, false, &removed, &err));
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_run"), 1);
    pk_store_close(reader);
    pk_store_close(s);
}

static void a_check_finds_what_is_wrong(void **state)
{
    struct pk_store *s;
    const char *problem;
    struct pk_arena a = {0};
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    record(s, "x", 20000);
    OK(pk_store_check(s, &a, &problem, &err));
    assert_null(problem);
    pk_store_close(s);
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    fseek(f, -3 * 4096 - 100, SEEK_END);
    for (int i = 0; i < 200; i++)
        fputc(0x5a, f);
    fclose(f);
    OK(pk_store_open(path, PK_STORE_READ, NULL, &s, &err));
    enum pk_code code = pk_store_check(s, &a, &problem, &err);
    assert_true(code == PK_E_IO || (code == PK_OK && problem));
    pk_store_close(s);
    pk_arena_free(&a);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        T(a_merge_adds_every_row_once), T(pruning_keeps_the_newest_and_what_still_runs),
        T(pruning_beside_a_reader_removes_nothing), T(a_check_finds_what_is_wrong)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
