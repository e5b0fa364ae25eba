/* Making a store, and recording a run into it, while the n-th write, or the n-th request for memory, fails: for every n there is a message in
 * three parts, the file is sound, no slice is there by half, and what was measured is in the store or in the spool. */
#include "faulty_sqlite.h"

#include "bench/record/record.h"
#include "bench/record/spool.h"
#include "build_config.h"
#include "store/read/figures.h"
#include "store/table/table.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SLICES = 2, SAMPLES = 60, ENOUGH = 100000 };

/* AddressSanitizer watches every fourth of the faults: each of them takes a store of its own, and most end in the same few lines. */
#ifdef PK_SANITIZED
enum { NTH = 4 };
#else
enum { NTH = 1 };
#endif

static char dir[64], path[96];
/* A store without a run. To make it takes longer than to record a run: recordings that fail begin with a copy. */
static char *empty;
static size_t empty_size;
static struct pk_err err;

/* How far a run came. */
struct done {
    bool in_store; /* the run and its case */
    int slices;    /* recorded as far as the caller was told */
    char spool[160];
};

static enum pk_code slices(struct pk_recorder *r, int64_t id, const struct pk_case_info *c, struct done *d)
{
    static const struct pk_metric_decl metric = {"step_ns", "ns", "lower", "time", "median", "max", "region"};
    static const struct pk_note note = {"stop", "\"max-samples\""};
    int64_t ordinal[SAMPLES], value[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
        ordinal[i] = i;
        value[i] = 1000 + i;
    }
    const struct pk_series series = {
        .phase = PK_PHASE_STEADY, .reps = 1, .n = SAMPLES, .ordinal = ordinal, .integer = value};
    enum pk_code rc = pk_record_setting(r, 1, "threads", "2", &err);
    for (int i = 1; i <= SLICES && !rc; i++) {
        const struct pk_slice s = {.message = "",
                                   .invocation = i,
                                   .n_metrics = 1,
                                   .metrics = &metric,
                                   .n_series = 1,
                                   .series = &series,
                                   .n_notes = 1,
                                   .notes = &note};
        rc = pk_record_slice(r, id, c, &s, &err);
        d->slices += !rc;
    }
    return rc;
}

static enum pk_code run(struct pk_store *s, struct done *d)
{
    static const struct pk_case_info c = {.experiment = "demo",
                                          .revision = 1,
                                          .variant = "plain",
                                          .device = "cpu",
                                          .axes = "{\"n\":1}",
                                          .identity = "{\"n\":1}",
                                          .predicted_bytes = -1};
    static const struct pk_run_info info = {.experiment = "demo",
                                            .label = "faulty",
                                            .command_line = "test-fault",
                                            .settings = "{}",
                                            .tags = "{}",
                                            .machine = "{}",
                                            .git_dirty = -1,
                                            .version = "0"};
    int64_t id, run_id;
    if (pk_store_run_begin(s, &info, &run_id, &err) || pk_store_cases(s, run_id, &c, 1, &id, &err))
        return err.code;
    d->in_store = true;
    struct pk_recorder *r = pk_recorder_new(s, run_id, path);
    enum pk_code rc = slices(r, id, &c, d), ended;
    if (!rc)
        rc = pk_recorder_finish(r, "complete", &err);
    if (pk_recorder_spool(r))
        snprintf(d->spool, sizeof d->spool, "%s", pk_recorder_spool(r));
    pk_recorder_free(r);
    struct pk_err other;
    ended = pk_store_run_end(s, run_id, "complete", &other);
    if (ended && !rc)
        err = other;
    return rc ? rc : ended;
}

static enum pk_code make(struct done *d)
{
    struct pk_store *s;
    *d = (struct done){0};
    if (pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err))
        return err.code;
    pk_store_close(s);
    return PK_OK;
}

static enum pk_code record(struct done *d)
{
    struct pk_store *s;
    *d = (struct done){0};
    FILE *f = fopen(path, "w");
    assert_true(f && fwrite(empty, 1, empty_size, f) == empty_size && fclose(f) == 0);
    if (pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err))
        return err.code;
    enum pk_code rc = run(s, d);
    pk_store_close(s);
    return rc;
}

static int64_t number(struct pk_store *s, const char *sql)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    if (pk_store_query(s, sql, NULL, 0, &a, &rows, &err))
        fail_msg("%s: %s", err.what, err.why);
    return rows.cells[0].i;
}

/* With everything working again. */
static void check_what_is_left(unsigned long n, const struct done *d)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_store *s;
    struct pk_spool_result imported;
    const char *problem = NULL;
    if (pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err) || pk_store_check(s, &a, &problem, &err))
        fail_msg("after fault %lu: %s: %s", n, err.what, err.why);
    if (problem)
        fail_msg("after fault %lu: %s", n, problem);
    if (*d->spool && pk_spool_import(s, d->spool, &imported, &err))
        fail_msg("after fault %lu: %s: %s", n, err.what, err.why);
    int64_t runs = number(s, "SELECT count(*) FROM v_run"),
            slices = number(s, "SELECT count(*) FROM v_slice");
    if (runs < d->in_store || slices < d->slices)
        fail_msg("after fault %lu: %d of %d slices are there", n, (int)slices, d->slices);
    assert_int_equal(
        number(s,
               "SELECT count(*) FROM v_slice WHERE (case_id, invocation) NOT IN (SELECT case_id, invocation"
               " FROM v_sample GROUP BY case_id, invocation HAVING count(*) = 60)"),
        0);
    assert_int_equal(slices * 60, number(s, "SELECT count(*) FROM v_sample"));
    pk_store_close(s);
}

static void remove_files(const struct done *d)
{
    char journal[128];
    snprintf(journal, sizeof journal, "%s-journal", path);
    unlink(path);
    unlink(journal);
    if (*d->spool)
        unlink(d->spool);
}

static void check_message(unsigned long n)
{
    if (!err.what[0] || !err.why[0] || !err.fix[0] || strstr(err.why, "not an error"))
        fail_msg("fault %lu is not explained: '%s' '%s' '%s'", n, err.what, err.why, err.fix);
}

/* What `attempt` does, for every n until nothing fails any more, by steps of `step` after the first `dense`. Returns how many faults there
 * were. */
static unsigned long every(enum pk_code (*attempt)(struct done *d), void (*arm)(unsigned long n),
                           unsigned long dense, unsigned long step)
{
    unsigned long faults = 0;
    for (unsigned long n = 1; n < ENOUGH; n += n < dense ? 1 : step, faults++) {
        struct done d;
        arm(n);
        enum pk_code rc = attempt(&d);
        bool happened = faulty_happened();
        arm(0);
        if (rc)
            check_message(n);
        assert_true(happened || !rc);
        check_what_is_left(n, &d);
        remove_files(&d);
        if (!happened)
            return faults;
    }
    return 0;
}

static void one_file(unsigned long n)
{
    faulty_files(n, false, SQLITE_IOERR_WRITE);
}

static void all_files(unsigned long n)
{
    faulty_files(n, true, SQLITE_FULL);
}

static void one_memory(unsigned long n)
{
    faulty_memory(n, false);
}

static void all_memory(unsigned long n)
{
    faulty_memory(n, true);
}

static void a_write_fails(void **state)
{
    assert_in_range(every(make, one_file, 1, NTH), 50 / NTH, ENOUGH);
    assert_in_range(every(record, one_file, 1, NTH), 100 / NTH, ENOUGH);
}

static void writes_fail_from_then_on(void **state)
{
    assert_in_range(every(make, all_files, 1, NTH), 50 / NTH, ENOUGH);
    assert_in_range(every(record, all_files, 1, NTH), 100 / NTH, ENOUGH);
}

static void sqlite_is_refused_memory(void **state)
{
    assert_in_range(every(make, one_memory, 50 / NTH, 797 * NTH), 60 / NTH, ENOUGH);
    assert_in_range(every(record, one_memory, 1, 797 * NTH), 20 / NTH, ENOUGH);
}

static void sqlite_is_refused_memory_from_then_on(void **state)
{
    assert_in_range(every(make, all_memory, 50 / NTH, 797 * NTH), 60 / NTH, ENOUGH);
    assert_in_range(every(record, all_memory, 1, 797 * NTH), 20 / NTH, ENOUGH);
}

/* Two statements run in step there: the failure of one is not hidden by the success of the other. */
static void figures_are_refused_memory(void **state)
{
    struct done d;
    struct pk_store *s;
    if (record(&d) || pk_store_open(path, PK_STORE_READ, NULL, &s, &err))
        fail_msg("%s: %s", err.what, err.why);
    for (unsigned long n = 1, happened = 1; happened; n++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_figures *figures;
        size_t n_figures;
        int64_t cases_ok;
        one_memory(n);
        enum pk_code rc = pk_store_figures(s, 1, &a, &figures, &n_figures, &cases_ok, &err);
        happened = faulty_happened();
        one_memory(0);
        if (rc)
            check_message(n);
        assert_true(rc ? rc == PK_E_IO && happened : n_figures == 1 && figures->n == SLICES);
        assert_true(happened || n > 10); /* there are 13 requests in SQLite 3.46, more than 20 in 3.40 */
    }
    pk_store_close(s);
}

enum { REFUSED = 42 };

static void on_refused(size_t bytes)
{
    _exit(REFUSED);
}

/* Our own allocations do not come back when they fail: the process ends there, in a transaction perhaps. Of those after the first fifty
 * every seventh fails. */
static void an_allocation_ends_the_process(void **state)
{
    int status = 0;
    for (unsigned long n = 1; n < ENOUGH; n += n < 50 / NTH ? 1 : 7 * NTH) {
        struct done d = {.in_store = false};
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            pk_set_oom_handler(on_refused);
            pk_arena_fail_after(n);
            _exit(make(&d) || record(&d));
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        check_what_is_left(n, &d);
        remove_files(&d);
        if (WEXITSTATUS(status) != REFUSED) {
            assert_int_equal(WEXITSTATUS(status), 0);
            assert_true(n > 20);
            return;
        }
    }
    fail();
}

/* In memory where there is such a place: it is the order of writes that counts here, not the disk. */
static int make_dir(void **state)
{
    snprintf(dir, sizeof dir, "%s/perfkit-fault-XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/s.db", dir);
    return 0;
}

static int remove_dir(void **state)
{
    char cmd[96];
    snprintf(cmd, sizeof cmd, "rm -r %s", dir);
    return system(cmd);
}

static int read_empty(void **state)
{
    struct done d;
    struct stat st;
    make_dir(state);
    if (make(&d) || stat(path, &st))
        return -1;
    empty_size = (size_t)st.st_size;
    empty = malloc(empty_size);
    FILE *f = fopen(path, "r");
    const bool whole = f && fread(empty, 1, empty_size, f) == empty_size;
    if (f)
        fclose(f);
    return remove_dir(state) || !whole;
}

static int free_empty(void **state)
{
    free(empty);
    return 0;
}

#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_allocation_ends_the_process), /* first: a process forks sooner before it has used much memory */
        T(a_write_fails),
        T(writes_fail_from_then_on),
        T(sqlite_is_refused_memory),
        T(sqlite_is_refused_memory_from_then_on),
        T(figures_are_refused_memory),
    };
    faulty_install();
    return cmocka_run_group_tests(tests, read_empty, free_empty);
}
