/* Rank heartbeats: who is named when ranks wait, and who is not. */
#include "comm/rank_heartbeats.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "base/clock.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 3, LONG_US = 1100000 };

/* Calls that are behind it. */
static void call(struct pk_rank_heartbeats *r, unsigned rank, int times)
{
    for (int i = 0; i < times; i++) {
        pk_rank_heartbeats_enter(r, rank);
        pk_rank_heartbeats_leave(r, rank);
    }
}

/* A while, in which those of the mask say that they are awake. */
static void wait_awake(struct pk_rank_heartbeats *r, unsigned mask)
{
    usleep(LONG_US);
    for (unsigned i = 0; i < RANKS; i++)
        if (mask >> i & 1)
            pk_rank_heartbeats_beat(r, i);
}

static void who_hangs_is_behind(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rank_heartbeats r;
    pk_rank_heartbeats_make(&r, RANKS, 0, PK_HEARTBEAT_TIMEOUT_NS);
    call(&r, 0, 4);
    call(&r, 1, 4);
    call(&r, 2, 3);
    pk_rank_heartbeats_enter(&r, 0);
    pk_rank_heartbeats_enter(&r, 2);                 /* an earlier call than rank 0's, but it is there */
    assert_null(pk_rank_heartbeats_missing(&r, &a)); /* not for long yet */
    wait_awake(&r, 5);
    assert_memory_equal(pk_rank_heartbeats_missing(&r, &a),
                        "rank 1 did not answer: rank 0 has waited for it for 1.",
                        strlen("rank 1 did not answer: rank 0 has waited for it for 1."));
    call(&r, 1, 1); /* it came */
    assert_null(pk_rank_heartbeats_missing(&r, &a));
    pk_rank_heartbeats_close(&r);
}

static void who_is_stopped_goes_silent(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rank_heartbeats r;
    pk_rank_heartbeats_make(&r, RANKS, 0, PK_HEARTBEAT_TIMEOUT_NS);
    for (unsigned i = 0; i < RANKS; i++)
        pk_rank_heartbeats_enter(&r, i);
    wait_awake(&r, 7);
    assert_null(pk_rank_heartbeats_missing(&r, &a)); /* all wait, awake: a library that hangs, and no rank */
    wait_awake(&r, 2);
    static const char missing[] = "ranks 0, 2 did not answer: rank 1 has waited for them for ";
    const char *message = pk_rank_heartbeats_missing(&r, &a);
    assert_memory_equal(message, missing, sizeof missing - 1);
    assert_true(strtod(message + sizeof missing - 1, NULL) >= 2.2);
    wait_awake(&r, 0);
    assert_string_equal(pk_rank_heartbeats_missing(&r, &a), "ranks 0, 1, 2 did not answer");
    pk_rank_heartbeats_clear(&r);
    assert_null(pk_rank_heartbeats_missing(&r, &a));
    pk_rank_heartbeats_close(&r);
}

/* Those that compute are not waited for, and of those that never joined nothing is known. */
static void nobody_to_blame(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rank_heartbeats r;
    pk_rank_heartbeats_make(&r, RANKS, 0, PK_HEARTBEAT_TIMEOUT_NS);
    call(&r, 0, 1);
    call(&r, 1, 2);
    wait_awake(&r, 0);
    assert_null(pk_rank_heartbeats_missing(&r, &a));
    pk_rank_heartbeats_enter(&r, 0);
    call(&r, 1, 1);
    wait_awake(&r, 1);
    assert_null(pk_rank_heartbeats_missing(&r, &a)); /* rank 0 waits for one on another host */
    assert_null(pk_rank_heartbeats_missing(NULL, &a));
    assert_null(pk_rank_heartbeats_missing(&(struct pk_rank_heartbeats){0}, &a));
    pk_rank_heartbeats_close(&r);
}

static void is_joined_by_its_path(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rank_heartbeats r, other;
    pk_rank_heartbeats_make(&r, RANKS, 0, PK_HEARTBEAT_TIMEOUT_NS);
    pk_rank_heartbeats_join(&other, pk_rank_heartbeats_path(&r, &a), RANKS, 1);
    assert_non_null(other.page);
    call(&other, 1, 1);
    pk_rank_heartbeats_enter(&other, 0);
    pk_rank_heartbeats_leave(&other, 0);
    pk_rank_heartbeats_enter(&other, 0);
    wait_awake(&other, 1);
    assert_memory_equal(pk_rank_heartbeats_missing(&r, &a),
                        "rank 1 did not answer: rank 0 has waited for it for 1.",
                        strlen("rank 1 did not answer: rank 0 has waited for it for 1."));
    pk_rank_heartbeats_close(&other);
    pk_rank_heartbeats_join(&other, pk_rank_heartbeats_path(&r, &a), RANKS + 1, 1);
    assert_null(other.page);
    pk_rank_heartbeats_join(&other, "/proc/self/exe", RANKS, 1);
    assert_null(other.page);
    pk_rank_heartbeats_enter(&other, 0);
    pk_rank_heartbeats_close(&other);
    assert_true(ftruncate(r.fd, 0) < 0); /* nobody takes it away from who reads it */
    pk_rank_heartbeats_close(&r);
    assert_null(pk_rank_heartbeats_path(&r, &a));
}

/* A child that joins as a rank and is stopped. */
static pid_t stopped_rank(const struct pk_rank_heartbeats *r, unsigned rank)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *path = pk_rank_heartbeats_path(r, &a);
    const pid_t pid = fork();
    if (pid == 0) {
        struct pk_rank_heartbeats own;
        pk_rank_heartbeats_join(&own, path, RANKS, rank);
        raise(SIGSTOP);
        _exit(0);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
    assert_true(WIFSTOPPED(status));
    return pid;
}

static void end(pid_t pid)
{
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

/* One that computes is named, too: the kernel knows it. */
static void a_stopped_rank_is_named(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rank_heartbeats r;
    pk_rank_heartbeats_make(&r, RANKS, 0, PK_HEARTBEAT_TIMEOUT_NS);
    call(&r, 0, 1);
    assert_null(pk_rank_heartbeats_stopped(&r, &a));
    assert_false(pk_rank_heartbeats_stuck(&r, PK_NS_PER_S));
    const pid_t pid = stopped_rank(&r, 1);
    assert_string_equal(pk_rank_heartbeats_stopped(&r, &a),
                        pk_printf(&a, "rank 1 (process %d) is stopped (SIGSTOP)", (int)pid));
    assert_true(pk_rank_heartbeats_stuck(&r, PK_NS_PER_S));
    end(pid);
    assert_null(pk_rank_heartbeats_stopped(&r, &a));
    assert_false(pk_rank_heartbeats_stuck(&r, PK_NS_PER_S));
    assert_int_equal(pk_rank_heartbeats_calls(&r), 1);
    pk_rank_heartbeats_enter(&r, 0);
    assert_int_equal(pk_rank_heartbeats_calls(&r), 2);
    wait_awake(&r, 0);
    assert_true(pk_rank_heartbeats_stuck(&r, PK_NS_PER_S)); /* silent in its call */
    pk_rank_heartbeats_close(&r);
}

static void a_stopped_run_is_left(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rank_heartbeats none, r, endless;
    struct pk_rank_heartbeats before = {.launcher = (int)getpid(), .timeout_ns = 200 * PK_NS_PER_MS};
    pk_rank_heartbeats_make(&none, RANKS, 0, 1);
    assert_null(pk_rank_heartbeats_abandoned(&before, &a));
    const pid_t run = stopped_rank(&none, 0);
    pk_rank_heartbeats_make(&r, RANKS, run, 200 * PK_NS_PER_MS);
    pk_rank_heartbeats_make(&endless, RANKS, run, PK_HEARTBEAT_TIMEOUT_NS);
    assert_null(pk_rank_heartbeats_abandoned(&r, &a)); /* not for long yet */
    assert_null(pk_rank_heartbeats_abandoned(&before, &a));
    assert_null(pk_rank_heartbeats_abandoned(&endless, &a));
    usleep(250000);
    assert_string_equal(
        pk_rank_heartbeats_abandoned(&r, &a),
        pk_printf(&a, "the run (process %d), which gives the ranks their cases, is stopped (SIGSTOP)",
                  (int)run));
    assert_non_null(
        strstr(pk_rank_heartbeats_abandoned(&before, &a), pk_printf(&a, "process %d (", (int)run)));
    assert_null(pk_rank_heartbeats_abandoned(&endless, &a));
    assert_null(pk_rank_heartbeats_abandoned(&none, &a)); /* a shell may stop it */
    assert_null(pk_rank_heartbeats_abandoned(NULL, &a));
    end(run);
    assert_null(pk_rank_heartbeats_abandoned(&r, &a));
    assert_null(pk_rank_heartbeats_abandoned(&before, &a));
    pk_rank_heartbeats_close(&none);
    pk_rank_heartbeats_close(&r);
    pk_rank_heartbeats_close(&endless);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(who_hangs_is_behind),     cmocka_unit_test(who_is_stopped_goes_silent),
        cmocka_unit_test(nobody_to_blame),         cmocka_unit_test(is_joined_by_its_path),
        cmocka_unit_test(a_stopped_rank_is_named), cmocka_unit_test(a_stopped_run_is_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
