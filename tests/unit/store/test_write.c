/* What is recorded is what is read, in the units and words of the views. */
#include "tests/unit/store/fixture.h"

#include "store/record/resume.h"

#include <math.h>

static void a_slice_is_read_back(void **state)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    int64_t run = begin_run(s, "first"), c = add_case(s, run, "{\"n\":1}");
    struct pk_slice l = steady_slice(1, 1234);
    struct pk_summary_row sum = {
        .metric = "forward_ns",
        .sum = {.n = 1234, .median = 5, .mean = 6, .sd = NAN, .min = 1, .max = 9, .cv = NAN},
        .figure = 5,
        .ci = {NAN, NAN},
        .invocations = 1};
    OK(pk_store_slice(s, c, &l, &sum, 1, &sum, 1, &err));
    OK(pk_store_run_end(s, run, "complete", &err));
    assert_int_equal(
        query_int(
            s,
            "SELECT count(*) FROM v_sample WHERE phase = 'steady' AND metric = 'forward_ns' AND unit = 'ns'"),
        1234);
    assert_int_equal(query_int(s, "SELECT sum(value = 1000 + ordinal) FROM v_sample"), 1234);
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_summary WHERE sd IS NULL AND ci_low IS NULL AND "
                                  "median = 5 AND invocations = 1"),
                     1);
    assert_int_equal(
        query_int(s, "SELECT count(*) FROM v_invocation WHERE median = 5 AND figure = 5 AND n = 1234"), 1);
    query_text(s, "SELECT status FROM v_case", "ok");
    query_text(s, "SELECT status FROM v_run", "complete");
    pk_store_close(s);
    char journal[160];
    snprintf(journal, sizeof journal, "%s-journal", path);
    assert_int_equal(access(journal, F_OK), -1); /* one file remains */
}

static void repetitions_are_divided_and_not_a_number_is_null(void **state)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    int64_t c = add_case(s, begin_run(s, NULL), "{}");
    const int64_t ordinal[] = {0, 1, 2};
    const double real[] = {8, NAN, INFINITY};
    struct pk_series e = {.phase = PK_PHASE_WARMUP,
                          .reps = 4,
                          .n = 3,
                          .ordinal = ordinal,
                          .real = real,
                          .rank = 2,
                          .instance = 3};
    struct pk_slice l = steady_slice(1, 0);
    l.series = &e;
    OK(pk_store_slice(s, c, &l, NULL, 0, NULL, 0, &err));
    assert_int_equal(
        query_int(s,
                  "SELECT count(*) FROM v_sample WHERE value = 2 AND rank = 2 AND instance = 3 AND reps = 4"),
        1);
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_sample WHERE value IS NULL"), 2);
    pk_store_close(s);
}

static void ordinals_that_repeat_lose_nothing(void **state)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    int64_t c = add_case(s, begin_run(s, NULL), "{}");
    const int64_t ordinal[] = {0, 1, 0, 0, 5}, value[] = {1, 2, 3, 4, 5};
    struct pk_series e = {.phase = PK_PHASE_STEADY, .reps = 1, .n = 5, .ordinal = ordinal, .integer = value};
    struct pk_slice l = steady_slice(1, 0);
    l.series = &e;
    OK(pk_store_slice(s, c, &l, NULL, 0, NULL, 0, &err));
    assert_int_equal(query_int(s, "SELECT sum(value) FROM v_sample"), 15);
    assert_int_equal(query_int(s, "SELECT count(*) FROM main.series"), 3);
    pk_store_close(s);
}

static void status_of(struct pk_store *s, int64_t c, int invocation, enum pk_pass pass, enum pk_status status,
                      const char *message)
{
    struct pk_slice l = steady_slice(invocation, 0);
    l.n_series = 0;
    l.pass = pass;
    l.status = status;
    l.message = message;
    OK(pk_store_slice(s, c, &l, NULL, 0, NULL, 0, &err));
}

static void a_case_has_the_gravest_word_of_its_timing_slices(void **state)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    int64_t run = begin_run(s, NULL), a = add_case(s, run, "{\"i\":1}"), b = add_case(s, run, "{\"i\":2}"),
            c = add_case(s, run, "{\"i\":3}");
    add_case(s, run, "{\"i\":4}");
    status_of(s, a, 1, PK_PASS_TIMING, PK_ST_OK, "");
    status_of(s, a, 2, PK_PASS_TIMING, PK_ST_OOM, "too big");
    status_of(s, a, 3, PK_PASS_TIMING, PK_ST_FAILED, "signal 11");
    status_of(s, b, 1, PK_PASS_TIMING, PK_ST_OK, "");
    status_of(s, b, 1, PK_PASS_COUNTER, PK_ST_FAILED, "no counters here");
    status_of(s, b, 2, PK_PASS_TIMING, PK_ST_INTERRUPTED, "Ctrl-C");
    status_of(s, c, 1, PK_PASS_TIMING, PK_ST_INTERRUPTED, "Ctrl-C");
    query_text(s, "SELECT status FROM v_case WHERE axes ->> 'i' = 1", "failed");
    query_text(s, "SELECT message FROM v_case WHERE axes ->> 'i' = 1", "signal 11");
    query_text(s, "SELECT status FROM v_case WHERE axes ->> 'i' = 2", "ok");
    query_text(s, "SELECT status FROM v_case WHERE axes ->> 'i' = 3", "interrupted");
    query_text(s, "SELECT status FROM v_case WHERE axes ->> 'i' = 4", NULL);
    OK(pk_store_run_end(s, run, "interrupted", &err));
    query_text(s, "SELECT status FROM v_case WHERE axes ->> 'i' = 4", "interrupted");
    pk_store_close(s);
}

static void a_resumed_run_replaces_what_did_not_end_well(void **state)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    int64_t run = begin_run(s, NULL), c = add_case(s, run, "{}");
    status_of(s, c, 1, PK_PASS_TIMING, PK_ST_INTERRUPTED, "Ctrl-C");
    assert_int_equal(pk_store_resume_run(s, run, "{\"cpu\":\"x\"}", &err), PK_E_USAGE); /* it still runs */
    OK(pk_store_run_end(s, run, "interrupted", &err));
    OK(pk_store_resume_run(s, run, "{\"cpu\":\"x\"}", &err));
    query_text(s, "SELECT status FROM v_run", "running");
    struct pk_slice l = steady_slice(1, 7);
    OK(pk_store_slice(s, c, &l, NULL, 0, NULL, 0, &err));
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_sample"), 7);
    assert_int_equal(pk_store_slice(s, c, &l, NULL, 0, NULL, 0, &err), PK_E_USAGE);
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_sample"), 7);
    pk_store_close(s);
}

static void add_with_evidence(struct pk_store *s, double value, enum pk_evidence evidence)
{
    const struct pk_ceiling_value v[] = {{"fp32_flops_per_s", value, evidence}, {"cache_bytes", 7}};
    const struct pk_ceiling_repeat r = {
        .machine = "{\"cpu\":\"x\"}", .device = "cpu", .values = v, .n_values = 2};
    OK(pk_store_ceilings(s, &r, &err));
}

static void add_ceiling(struct pk_store *s, double value)
{
    add_with_evidence(s, value, PK_EVIDENCE_ONE_SIZE);
}

/* The rule is said twice, in C for the machine and in SQL for a run: they agree. */
static void the_highest_is(struct pk_store *s, double value, size_t repeats, bool confirmed)
{
    struct pk_ceiling c;
    char sql[200];
    OK(pk_store_ceiling(s, "{\"cpu\":\"x\"}", "cpu", "fp32_flops_per_s", &c, &err));
    assert_true(c.value == value && c.repeats == repeats && c.confirmed == confirmed);
    snprintf(sql, sizeof sql,
             "SELECT count(*) FROM v_ceiling WHERE run_id = (SELECT max(run_id) FROM v_run) AND key = "
             "'fp32_flops_per_s' AND value = %g AND repeats = %zu AND confirmed = %d",
             value, repeats, confirmed);
    assert_int_equal(query_int(s, sql), repeats > 0);
}

static void the_highest_ceiling_counts(void **state)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    begin_run(s, NULL);
    the_highest_is(s, 0, 0, false);
    add_ceiling(s, 100);
    the_highest_is(s, 100, 1, false);
    add_ceiling(s, 95);
    the_highest_is(s, 100, 2, true);
    add_ceiling(s, 200);
    the_highest_is(s, 200, 3, false);
    add_ceiling(s, 189);
    the_highest_is(s, 200, 4, false);
    add_ceiling(s, 200);
    the_highest_is(s, 200, 5, true);
    pk_store_close(s);
}

/* A rate of one size may be a cache's: a lower one of grown sizes counts, and one that was proved flat before one that was not. */
static void more_evidence_counts_before_a_higher_rate(void **state)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    begin_run(s, NULL);
    add_ceiling(s, 104);
    add_ceiling(s, 104);
    the_highest_is(s, 104, 2, true);
    add_with_evidence(s, 90, 27);
    the_highest_is(s, 90, 3, false);
    add_with_evidence(s, 60, 30);
    the_highest_is(s, 60, 4, false);
    add_with_evidence(s, 50, PK_EVIDENCE_FLAT);
    the_highest_is(s, 50, 5, false);
    add_with_evidence(s, 49, PK_EVIDENCE_FLAT);
    the_highest_is(s, 50, 6, true);
    pk_store_close(s);
}

static void ceilings_of_a_run_stay(void **state)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    int64_t run = begin_run(s, NULL);
    add_ceiling(s, 100);
    OK(pk_store_run_end(s, run, "complete", &err));
    add_ceiling(s, 200);
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_ceiling WHERE value = 100"), 1);
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_ceiling"), 2);
    pk_store_close(s);
}

static void runs_are_found_by_every_name(void **state)
{
    struct pk_store *s;
    int64_t id;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    assert_int_equal(pk_store_resolve(s, "@", &id, &err), PK_E_NOTHING);
    int64_t a = begin_run(s, "nightly"), b = begin_run(s, NULL), c = begin_run(s, "nightly");
    OK(pk_store_resolve(s, "@", &id, &err));
    assert_int_equal(id, c);
    OK(pk_store_resolve(s, "@~2", &id, &err));
    assert_int_equal(id, a);
    OK(pk_store_resolve(s, "2", &id, &err));
    assert_int_equal(id, b);
    OK(pk_store_resolve(s, "nightly", &id, &err));
    assert_int_equal(id, c);
    const char *const wrong[] = {"@~3", "@~-1", "@~x", "9", "weekly", "", "@@"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(pk_store_resolve(s, wrong[i], &id, &err), PK_E_USAGE);
        assert_non_null(strstr(err.fix, "3 (nightly), 2, 1 (nightly)"));
    }
    pk_store_close(s);
}

static void a_run_and_its_cases_are_one_transaction(void **state)
{
    static const struct pk_case_info wrong = {"demo", 1, "plain", "cpu", "no object", "{}", -1};
    struct pk_store *s;
    int64_t run, id;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    OK(pk_store_together(s, &err));
    run = begin_run(s, NULL);
    add_case(s, run, "{}");
    assert_int_not_equal(pk_store_together_end(s, pk_store_cases(s, run, &wrong, 1, &id, &err), &err), PK_OK);
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_run"), 0);
    OK(pk_store_together(s, &err));
    add_case(s, begin_run(s, NULL), "{}");
    pk_store_close(s); /* as a kill */
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_run"), 0);
    OK(pk_store_together(s, &err));
    add_case(s, begin_run(s, NULL), "{}");
    OK(pk_store_together_end(s, PK_OK, &err));
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_case"), 1);
    pk_store_close(s);
}

/* Whoever wrote it: a statement of perfkit that has a name of a file in it would do no harm either. */
static void a_statement_reaches_no_further_than_its_file(void **state)
{
    static const char *const denied[] = {
        "ATTACH 'other.db' AS x",    "VACUUM INTO 'other.db'",     "PRAGMA writable_schema = ON",
        "PRAGMA journal_mode = WAL", "SELECT load_extension('x')", "CREATE VIRTUAL TABLE x USING fts5(y)"};
    struct pk_store *s;
    struct pk_rows rows;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    for (size_t i = 0; i < sizeof denied / sizeof *denied; i++)
        if (!pk_store_query(s, denied[i], NULL, 0, &a, &rows, &err) ||
            !(strstr(err.why, "more than to read or write") || strstr(err.why, "not authorized")))
            fail_msg("%s: %s", denied[i], err.why);
    OK(pk_store_query(s, "PRAGMA integrity_check(20)", NULL, 0, &a, &rows, &err));
    pk_store_close(s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        T(a_slice_is_read_back),
        T(repetitions_are_divided_and_not_a_number_is_null),
        T(ordinals_that_repeat_lose_nothing),
        T(a_case_has_the_gravest_word_of_its_timing_slices),
        T(a_resumed_run_replaces_what_did_not_end_well),
        T(the_highest_ceiling_counts),
        T(more_evidence_counts_before_a_higher_rate),
        T(ceilings_of_a_run_stay),
        T(runs_are_found_by_every_name),
        T(a_statement_reaches_no_further_than_its_file),
        T(a_run_and_its_cases_are_one_transaction),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
