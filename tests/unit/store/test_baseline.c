/* Baselines: pinned and moving ones, what may be in them, and the record of who decided what. */
#include "store/read/baseline.h"

#include "tests/unit/store/fixture.h"

static const struct pk_baseline_decision ann = {"ann", "why not"};

/* A run that has ended, as its info says. */
static int64_t ended(struct pk_store *s, struct pk_run_info r, const char *status)
{
    int64_t id;
    r.experiment = r.experiment ? r.experiment : "demo";
    r.command_line = "perfkit run";
    r.settings = r.settings ? r.settings : "{}";
    r.tags = r.tags ? r.tags : "{}";
    r.machine = "{}";
    r.version = "0";
    OK(pk_store_run_begin(s, &r, &id, &err));
    OK(pk_store_run_end(s, id, status, &err));
    return id;
}

static struct pk_store *opened(void)
{
    struct pk_store *s;
    OK(pk_store_open(path, PK_STORE_WRITE, NULL, &s, &err));
    return s;
}

/* What it stands for now: "3,4". */
static void stands_for(struct pk_store *s, const char *name, const char *runs)
{
    char sql[256];
    snprintf(sql, sizeof sql,
             "SELECT group_concat(run_id) FROM (SELECT run_id FROM v_baseline_run WHERE name = '%s' ORDER BY "
             "run_id)",
             name);
    query_text(s, sql, runs);
}

static void moves(struct pk_store *s, const char *name, const char *follows, const char *pattern,
                  int64_t newest)
{
    const struct pk_baseline b = {.name = name, .follows = follows, .pattern = pattern, .newest = newest};
    OK(pk_baseline_save(s, &b, false, &ann, &err));
}

static void refused(enum pk_code code, const char *words)
{
    assert_int_equal(code, PK_E_USAGE);
    if (!strstr(err.what, words) && !strstr(err.why, words))
        fail_msg("no '%s' in: %s; %s", words, err.what, err.why);
    assert_true(*err.why && *err.fix);
}

static void pinned_ones_stand_for_their_runs(void **state)
{
    struct pk_store *s = opened();
    int64_t id, runs[4];
    for (int i = 0; i < 4; i++)
        runs[i] = ended(s, (struct pk_run_info){.label = "x"}, "complete");
    const struct pk_baseline b = {.name = "release", .runs = runs, .n_runs = 2};
    OK(pk_baseline_save(s, &b, false, &ann, &err));
    stands_for(s, "release", "1,2");
    OK(pk_baseline_find(s, "release", &id, &err));
    refused(pk_baseline_save(s, &b, false, &ann, &err), "already");
    OK(pk_baseline_save(s, &(struct pk_baseline){.name = "release", .runs = runs + 2, .n_runs = 1}, true,
                        &ann, &err));
    stands_for(s, "release", "3");
    OK(pk_baseline_accept(s, "release", runs, 2, false, &ann, &err));
    stands_for(s, "release", "1,2,3");
    refused(pk_baseline_accept(s, "release", runs, 2, false, &ann, &err), "already");
    OK(pk_baseline_accept(s, "release", runs + 3, 1, true, &ann, &err));
    stands_for(s, "release", "4");
    query_text(s, "SELECT group_concat(action || ': ' || meaning, '; ') FROM v_baseline_change",
               "saved: runs 1, 2; replaced: run 3; accepted: runs 1, 2, 3; pinned: run 4");
    assert_int_equal(
        query_int(s, "SELECT count(*) FROM v_baseline_change WHERE who = 'ann' AND reason = 'why not'"), 4);
    pk_store_close(s);
}

static void no_pruning_touches_pinned_runs(void **state)
{
    struct pk_store *s = opened();
    int64_t runs[6], removed;
    for (int i = 0; i < 6; i++)
        runs[i] = ended(s, (struct pk_run_info){.label = "nightly"}, "complete");
    OK(pk_baseline_save(s, &(struct pk_baseline){.name = "pinned", .runs = runs, .n_runs = 2}, false, &ann,
                        &err));
    moves(s, "moving", "label", "nightly", 10);
    OK(pk_store_prune(s, 0, true, &removed, &err));
    assert_int_equal(removed, 4);
    OK(pk_store_prune(s, 0, false, &removed, &err));
    assert_int_equal(removed, 4);
    stands_for(s, "pinned", "1,2");
    stands_for(s, "moving", "1,2");
    OK(pk_baseline_remove(s, "pinned", &err));
    OK(pk_store_prune(s, 0, false, &removed, &err));
    assert_int_equal(removed, 2);
    stands_for(s, "moving", NULL);
    pk_store_close(s);
}

static void moving_ones_follow_what_is_new(void **state)
{
    struct pk_store *s = opened();
    const struct pk_run_info labelled = {.label = "nightly"}, tagged = {.tags = "{\"os\":\"bsd\"}"};
    ended(s, labelled, "complete");
    ended(s, tagged, "complete");
    moves(s, "l", "label", "nightly", 2);
    moves(s, "t", "tag", "os=bsd", 9);
    stands_for(s, "l", "1");
    stands_for(s, "t", "2");
    ended(s, labelled, "complete");
    ended(s, labelled, "failed");
    ended(s, (struct pk_run_info){.label = "nightly", .experiment = "other"}, "complete");
    ended(s, labelled, "complete");
    ended(s, tagged, "interrupted");
    stands_for(s, "l", "3,6");
    stands_for(s, "t", "2");
    int64_t run = 2;
    refused(pk_baseline_accept(s, "l", &run, 1, false, &ann, &err), "not pinned");
    OK(pk_baseline_accept(s, "l", &run, 1, true, &ann, &err));
    stands_for(s, "l", "2");
    query_text(s, "SELECT meaning FROM v_baseline_change WHERE name = 't'",
               "the newest 9 with the tag os=bsd");
    pk_store_close(s);
}

/* Of a branch only what was committed there counts, and no side of a gate: it may have measured another build. */
static void a_branch_is_followed(void **state)
{
    struct pk_store *s = opened();
    const struct pk_run_info clean = {.git_branch = "main", .git_commit = "aa"};
    const struct pk_run_info dirty = {.git_branch = "main", .git_commit = "aa", .git_dirty = 1};
    const struct pk_run_info gate = {
        .git_branch = "main", .git_commit = "aa", .settings = "{\"gate\":{\"side\":\"new\"}}"};
    ended(s, dirty, "complete");
    ended(s, gate, "complete");
    ended(s, (struct pk_run_info){.git_branch = "topic", .git_commit = "aa"}, "complete");
    const struct pk_baseline b = {.name = "main", .follows = "branch", .pattern = "main", .newest = 3};
    refused(pk_baseline_save(s, &b, false, &ann, &err), "no complete run has the branch 'main'");
    assert_non_null(strstr(err.fix, "on main"));
    ended(s, clean, "complete");
    OK(pk_baseline_save(s, &b, false, &ann, &err));
    stands_for(s, "main", "4");
    ended(s, dirty, "complete");
    ended(s, clean, "failed");
    for (int i = 0; i < 3; i++)
        ended(s, clean, "complete");
    ended(s, gate, "complete");
    stands_for(s, "main", "7,8,9");
    pk_store_close(s);
}

static void names_that_mean_something_else(void **state)
{
    static const char *const names[] = {"", "7", "-1", "@", "x@y", "a:b", "a,b"};
    struct pk_store *s = opened();
    int64_t run = ended(s, (struct pk_run_info){0}, "complete");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct pk_baseline b = {.name = names[i], .runs = &run, .n_runs = 1};
        refused(pk_baseline_save(s, &b, false, &ann, &err), "cannot be the name of a baseline");
    }
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_baseline"), 0);
    pk_store_close(s);
}

static void what_cannot_be_in_one(void **state)
{
    struct pk_store *s = opened();
    const struct pk_baseline_decision silent = {"ann", " \n"};
    int64_t runs[3] = {ended(s, (struct pk_run_info){0}, "complete"),
                       ended(s, (struct pk_run_info){.experiment = "other"}, "complete"), begin_run(s, NULL)};
    const struct pk_baseline mixed = {.name = "b", .runs = runs, .n_runs = 2},
                             going = {.name = "b", .runs = runs + 2, .n_runs = 1},
                             good = {.name = "b", .runs = runs, .n_runs = 1};
    refused(pk_baseline_save(s, &mixed, false, &ann, &err), "of another experiment: other");
    refused(pk_baseline_save(s, &going, false, &ann, &err), "still being measured");
    refused(pk_baseline_accept(s, "b", runs, 1, false, &ann, &err), "has none");
    OK(pk_baseline_save(s, &good, false, &ann, &err));
    refused(pk_baseline_accept(s, "b", runs + 1, 1, false, &ann, &err), "of another experiment");
    refused(pk_baseline_accept(s, "b", runs, 1, false, &silent, &err), "recorded");
    refused(pk_baseline_accept(s, "bb", runs, 1, false, &ann, &err), "has others");
    assert_string_equal(err.fix, "did you mean 'b'?");
    refused(pk_baseline_remove(s, "c", &err), "no baseline 'c'");
    stands_for(s, "b", "1"); /* a refused change changes nothing */
    assert_int_equal(query_int(s, "SELECT count(*) FROM v_baseline_change"), 1);
    pk_store_close(s);
}

static void a_merge_keeps_branches_and_baselines(void **state)
{
    char other[160];
    int64_t added;
    snprintf(other, sizeof other, "%s/other.db", dir);
    struct pk_store *s;
    OK(pk_store_open(other, PK_STORE_WRITE, NULL, &s, &err));
    for (int i = 0; i < 2; i++)
        ended(s, (struct pk_run_info){.git_branch = "main", .git_commit = "aa"}, "complete");
    moves(s, "main", "branch", "main", 5);
    pk_store_close(s);
    s = opened();
    ended(s, (struct pk_run_info){0}, "complete");
    OK(pk_store_merge(s, other, &added, &err));
    stands_for(s, "main", "2,3");
    pk_store_close(s);
}

int main(void)
{
#define T(f) cmocka_unit_test_setup_teardown(f, make_dir, remove_dir)
    const struct CMUnitTest tests[] = {
        T(pinned_ones_stand_for_their_runs),    T(no_pruning_touches_pinned_runs),
        T(moving_ones_follow_what_is_new),      T(a_branch_is_followed),
        T(names_that_mean_something_else),      T(what_cannot_be_in_one),
        T(a_merge_keeps_branches_and_baselines)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
