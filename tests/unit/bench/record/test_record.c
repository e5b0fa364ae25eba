/* Recording: what summaries say, what happens when the store cannot be written, and the way back. */
#include "tests/unit/store/fixture.h"

#include "bench/record/record.h"
#include "bench/record/spool.h"

#include <math.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>

static const struct pk_case_info demo = {.experiment = "demo",
                                         .variant = "plain",
                                         .device = "cpu",
                                         .axes = "{}",
                                         .identity = "{}",
                                         .predicted_bytes = -1};

/* --- summaries --- */

static struct pk_summary_row summary_of(const struct pk_metric_decl *m, const struct pk_series *e, size_t n)
{
    struct pk_slice s = {.n_metrics = 1, .metrics = m, .n_series = n, .series = e};
    struct pk_summary_row row = {0};
    assert_int_equal(pk_summarize_slice(&s, &row), 1);
    return row;
}

static void instances_are_summed_and_ranks_combined(void **state)
{
    const int64_t ordinal[] = {0, 1, 2}, a[] = {10, 20, 30}, b[] = {1, 2, 3}, other[] = {100, 5, 100};
    const struct pk_series e[] = {
        {.instance = 0, .phase = PK_PHASE_STEADY, .reps = 1, .n = 3, .ordinal = ordinal, .integer = a},
        {.instance = 1, .phase = PK_PHASE_STEADY, .reps = 1, .n = 3, .ordinal = ordinal, .integer = b},
        {.rank = 1, .phase = PK_PHASE_STEADY, .reps = 1, .n = 3, .ordinal = ordinal, .integer = other},
        {.phase = PK_PHASE_WARMUP, .reps = 1, .n = 3, .ordinal = ordinal, .integer = other},
    };
    struct pk_metric_decl m = forward_ns; /* ranks: max */
    struct pk_summary_row r = summary_of(&m, e, 4);
    assert_int_equal(r.sum.n, 3);
    assert_true(r.sum.min == 22 && r.sum.median == 100 && r.sum.max == 100 && r.figure == 100);
    m.ranks = "sum";
    r = summary_of(&m, e, 4);
    assert_true(r.sum.min == 27 && r.sum.max == 133 && r.sum.median == 111);
}

static void repetitions_are_divided_and_figures_follow_the_metric(void **state)
{
    const int64_t ordinal[] = {0, 1, 2, 3};
    const double value[] = {40, NAN, 20, 60};
    const struct pk_series e = {
        .phase = PK_PHASE_STEADY, .reps = 10, .n = 4, .ordinal = ordinal, .real = value};
    struct pk_metric_decl m = forward_ns;
    const struct {
        const char *combine;
        double figure;
    } rows[] = {{"median", 4}, {"min", 2}, {"max", 6}, {"mean", 4}, {"sum", 12}};
    for (size_t i = 0; i < 5; i++) {
        m.combine = rows[i].combine;
        struct pk_summary_row r = summary_of(&m, &e, 1);
        assert_int_equal(r.sum.n, 3);
        assert_true(fabs(r.figure - rows[i].figure) < 1e-12);
    }
}

static void a_case_pools_samples_and_takes_the_median_of_figures(void **state)
{
    const double samples[3][4] = {{1, 2, 3, 10}, {4, 5, 6, 7}, {8, 8, 9, 9}};
    double all[12], scratch[3], copy[4];
    struct pk_summary_row inv[3];
    for (int i = 0; i < 3; i++) {
        memcpy(copy, samples[i], sizeof copy);
        inv[i] = (struct pk_summary_row){.metric = "x", .sum = pk_summarize(copy, 4)};
        inv[i].figure = inv[i].sum.median;
        memcpy(all + 4 * i, samples[i], sizeof copy);
    }
    struct pk_summary whole = pk_summarize(all, 12);
    struct pk_summary_row r = pk_summarize_case(inv, 3, scratch);
    assert_int_equal(r.sum.n, 12);
    assert_int_equal(r.invocations, 3);
    assert_true(r.sum.median == 5.5 && r.sum.min == 1 && r.sum.max == 10);
    assert_true(fabs(r.sum.mean - whole.mean) < 1e-12 && fabs(r.sum.sd - whole.sd) < 1e-12 &&
                fabs(r.sum.cv - whole.cv) < 1e-12);
    assert_true(r.ci.lo < 5.5 && r.ci.hi > 5.5);
    assert_true(isnan(pk_summarize_case(inv, 2, scratch).ci.lo));
}

static void only_timing_slices_that_ended_ok_have_summaries(void **state)
{
    struct pk_slice s = steady_slice(1, 5);
    struct pk_summary_row row;
    s.pass = PK_PASS_COUNTER;
    assert_int_equal(pk_summarize_slice(&s, &row), 0);
    s.pass = PK_PASS_TIMING;
    s.status = PK_ST_FAILED;
    assert_int_equal(pk_summarize_slice(&s, &row), 0);
}

/* --- recording --- */

struct bench {
    struct pk_store *s;
    struct pk_recorder *r;
    int64_t run, c;
};

static struct bench start(void)
{
    struct bench b;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &b.s, &err));
    b.run = begin_run(b.s, NULL);
    b.c = add_case(b.s, b.run, "{}");
    b.r = pk_recorder_new(b.s, b.run, path);
    return b;
}

static void stop(struct bench *b)
{
    pk_recorder_free(b->r);
    pk_store_close(b->s);
}

static void a_resumed_run_counts_its_earlier_invocations(void **state)
{
    struct bench b = start();
    struct pk_slice s = steady_slice(1, 10);
    OK(pk_record_slice(b.r, b.c, &demo, &s, &err));
    s = steady_slice(2, 20);
    OK(pk_record_slice(b.r, b.c, &demo, &s, &err));
    pk_recorder_free(b.r);
    b.r = pk_recorder_new(b.s, b.run, path);
    s = steady_slice(3, 30);
    OK(pk_record_slice(b.r, b.c, &demo, &s, &err));
    assert_int_equal(query_int(b.s, "SELECT n FROM v_summary"), 60);
    assert_int_equal(query_int(b.s, "SELECT invocations FROM v_summary"), 3);
    assert_int_equal(
        query_int(b.s, "SELECT median = 1009.5 AND ci_low < median AND ci_high > median FROM v_summary"), 1);
    OK(pk_recorder_finish(b.r, "complete", &err));
    stop(&b);
}

static void what_the_store_finds_unsound_is_a_failed_slice(void **state)
{
    struct bench b = start();
    struct pk_slice s = steady_slice(1, 10);
    struct pk_metric_decl odd = forward_ns;
    odd.direction = "sideways";
    s.metrics = &odd;
    OK(pk_record_slice(b.r, b.c, &demo, &s, &err));
    query_text(b.s, "SELECT status FROM v_case", "failed");
    assert_int_equal(query_int(b.s, "SELECT message LIKE '%rejected%CHECK%' FROM v_case"), 1);
    s = steady_slice(2, 4);
    OK(pk_record_slice(b.r, b.c, &demo, &s, &err));
    assert_int_equal(query_int(b.s, "SELECT n FROM v_summary"), 4); /* without the rejected ten */
    stop(&b);
}

static void a_locked_store_loses_nothing(void **state)
{
    struct bench b = start();
    sqlite3 *other;
    struct pk_spool_result result;
    struct pk_slice s = steady_slice(1, 10);
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
    pk_store_set_timeout(b.s, 50);
    OK(pk_record_setting(b.r, 1, "threads", "2", &err));
    OK(pk_record_slice(b.r, b.c, &demo, &s, &err));
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    s = steady_slice(2, 20);
    OK(pk_record_slice(b.r, b.c, &demo, &s, &err)); /* the lock is gone: into the store */
    assert_int_equal(pk_recorder_finish(b.r, "complete", &err), PK_E_IO);
    assert_non_null(strstr(err.what, "1 slice could"));
    assert_non_null(strstr(err.why, "another process"));
    assert_non_null(strstr(err.fix, "perfkit import"));
    assert_int_equal(query_int(b.s, "SELECT count(*) FROM v_sample"), 20);
    OK(pk_spool_import(b.s, pk_recorder_spool(b.r), &result, &err));
    assert_int_equal(result.added, 1);
    assert_int_equal(query_int(b.s, "SELECT count(*) FROM v_sample"), 30);
    assert_int_equal(query_int(b.s, "SELECT sum(value = 1000 + ordinal) FROM v_sample"), 30);
    assert_int_equal(query_int(b.s, "SELECT invocations = 2 AND n = 30 FROM v_summary"), 1);
    query_text(b.s, "SELECT value FROM v_setting WHERE invocation = 1 AND key = 'threads'", "2");
    OK(pk_spool_import(b.s, pk_recorder_spool(b.r), &result, &err)); /* twice is once */
    assert_int_equal(result.added, 0);
    assert_int_equal(result.known, 1);
    assert_int_equal(query_int(b.s, "SELECT count(*) FROM v_sample"), 30);
    sqlite3_close(other);
    stop(&b);
}

/* The spool brings the case; once the store can be written again, the case is added before the next slice. */
static void a_case_that_a_locked_store_cannot_take(void **state)
{
    struct bench b = start();
    struct pk_case_info named = demo;
    sqlite3 *other;
    struct pk_spool_result result;
    int64_t id = -1;
    struct pk_slice s = steady_slice(1, 10);
    named.axes = named.identity = "{\"n\":7}";
    assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
    assert_int_equal(sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL), SQLITE_OK);
    pk_store_set_timeout(b.s, 50);
    OK(pk_record_case(b.r, &named, &id, &err));
    assert_int_equal(id, 0);
    OK(pk_record_slice(b.r, id, &named, &s, &err));
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    OK(pk_record_case(b.r, &named, &id, &err));
    s = steady_slice(2, 20);
    OK(pk_record_slice(b.r, id, &named, &s, &err));
    assert_int_equal(pk_recorder_finish(b.r, "complete", &err), PK_E_IO);
    assert_non_null(strstr(err.why, "another process"));
    OK(pk_spool_import(b.s, pk_recorder_spool(b.r), &result, &err));
    assert_int_equal(result.added, 1);
    assert_int_equal(query_int(b.s, "SELECT count(*) FROM v_case"), 2); /* start()'s and this one */
    assert_int_equal(query_int(b.s, "SELECT invocations = 2 AND n = 30 FROM v_summary"), 1);
    sqlite3_close(other);
    stop(&b);
}

/* No file may grow: neither the store nor a spool beside it. What was committed stays, the refusal is told.
 */
static void a_full_disk_is_told_and_what_was_there_stays(void **state)
{
    struct bench b = start();
    struct pk_slice s = steady_slice(1, 10);
    OK(pk_record_slice(b.r, b.c, &demo, &s, &err));
    const struct rlimit full = {1, RLIM_INFINITY}, before = {RLIM_INFINITY, RLIM_INFINITY};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &full);
    s = steady_slice(2, 10000);
    enum pk_code code = pk_record_slice(b.r, b.c, &demo, &s, &err);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(code, PK_E_IO);
    assert_non_null(strstr(err.why, "ulimit -f"));
    assert_non_null(strstr(err.fix, "--resume"));
    assert_int_equal(pk_recorder_finish(b.r, "complete", &err), PK_E_IO);
    assert_int_equal(query_int(b.s, "SELECT count(*) FROM v_sample"), 10);
    query_text(b.s, "SELECT integrity_check FROM pragma_integrity_check", "ok");
    stop(&b);
}

static void import_refuses(const char *content, const char *why)
{
    struct bench b = start();
    struct pk_spool_result result;
    char name[160];
    snprintf(name, sizeof name, "%s/spool", dir);
    FILE *f = fopen(name, "w");
    assert_non_null(f);
    fputs(content, f);
    fclose(f);
    assert_int_equal(pk_spool_import(b.s, name, &result, &err), PK_E_IO);
    if (!strstr(err.why, why))
        fail_msg("\"%s\" does not contain \"%s\"", err.why, why);
    assert_true(err.what[0] && err.fix[0]);
    stop(&b);
}

static void spools_that_are_none_are_refused(void **state)
{
    import_refuses("", "no slice");
    import_refuses("hello\n", "type");
    import_refuses("{\"type\":\"status\",\"status\":\"ok\"}\n", "\"spool\"");
    import_refuses("{\"type\":\"spool\",\"run_id\":1,\"case_id\":1,\"experiment\":\"demo\",\"variant\":"
                   "\"plain\",\"device\":\"cpu\","
                   "\"axes\":\"{\\\"n\\\":2}\"}\n",
                   "another store");
    import_refuses("{\"type\":\"spool\",\"run_id\":1,\"case_id\":1,\"experiment\":\"demo\",\"variant\":"
                   "\"plain\",\"device\":\"cpu\","
                   "\"axes\":\"{}\"}\n{\"type\":\"samples\",\"metric\":\"x\",\"values\":[1]}\n",
                   "not declared");
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        T(instances_are_summed_and_ranks_combined),
        T(repetitions_are_divided_and_figures_follow_the_metric),
        T(a_case_pools_samples_and_takes_the_median_of_figures),
        T(only_timing_slices_that_ended_ok_have_summaries),
        T(a_resumed_run_counts_its_earlier_invocations),
        T(what_the_store_finds_unsound_is_a_failed_slice),
        T(a_locked_store_loses_nothing),
        T(a_case_that_a_locked_store_cannot_take),
        T(a_full_disk_is_told_and_what_was_there_stays),
        T(spools_that_are_none_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
