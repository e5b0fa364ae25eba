/* Transport mpi on a made-up MPI: one thread makes all calls, waits end, and what goes wrong has a rank and words. */
#include "comm/comm.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "base/build.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct both {
    struct pk_device dev;
    struct pk_comm comm;
};

static enum pk_code open_both(struct both *b, const char *mode, struct pk_comm_options o, struct pk_err *err)
{
    const struct pk_device_options how = {.threads = 1, .no_bind = true};
    *b = (struct both){0};
    *err = (struct pk_err){0};
    setenv("FAKE_MPI", mode, 1);
    assert_int_equal(pk_device_open(&b->dev, "cpu", &how, err), PK_OK);
    return pk_comm_open(&b->comm, PK_COMM_MPI, &b->dev, &o, err);
}

static void close_both(struct both *b)
{
    pk_comm_close(&b->comm);
    pk_device_close(&b->dev);
}

static void works(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct both b;
    struct pk_err err;
    struct pk_reduce r = {0};
    float x[3] = {1, 2, 3};
    uint16_t y = pk_bf16_of_float(5);
    const char *lines[2];
    assert_int_equal(open_both(&b, "", (struct pk_comm_options){.ranks = 2}, &err), PK_OK);
    assert_int_equal(b.comm.size, 2);
    assert_int_equal(b.comm.processes, 2);
    assert_int_equal(pk_comm_barrier(&b.comm, &err), PK_OK);
    for (int i = 0; i < 10000; i++) { /* more than the ring has room for */
        assert_int_equal(pk_comm_start(&b.comm, &r, x, 3, PK_FP32, &err), PK_OK);
        assert_int_equal(pk_comm_wait(&b.comm, &r, &err), PK_OK);
    }
    assert_true(r.began_ns <= r.ended_ns && r.queued_ns <= r.began_ns);
    const struct pk_part parts[] = {{&y, 1}, {NULL, 0}};
    assert_int_equal(pk_comm_start_group(&b.comm, &r, parts, 2, PK_BF16, &err), PK_OK);
    assert_int_equal(pk_comm_wait(&b.comm, &r, &err), PK_OK);
    assert_true(x[0] == 1 && x[2] == 3 && pk_bf16_to_float(y) == 5); /* means of equal numbers */
    assert_int_equal(pk_comm_bcast(&b.comm, x, sizeof x, &err), PK_OK);
    assert_int_equal(pk_comm_gather(&b.comm, "mine", &a, lines, &err), PK_OK);
    assert_string_equal(lines[0], "mine");
    assert_string_equal(lines[1], "mine");
    close_both(&b);
}

/* Many under way at once, and this thread does something else meanwhile. */
static void makes_progress(void **state)
{
    struct both b;
    struct pk_err err;
    struct pk_reduce r[4] = {0};
    float x[4] = {1, 2, 3, 4};
    assert_int_equal(open_both(&b, "slow", (struct pk_comm_options){0}, &err), PK_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pk_comm_start(&b.comm, &r[i], &x[i], 1, PK_FP32, &err), PK_OK);
    usleep(2000000); /* 0.2 s of work: it is over before anybody waits */
    const uint64_t before_waiting = pk_device_now_ns(&b.dev);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pk_comm_wait(&b.comm, &r[i], &err), PK_OK);
    assert_true(r[3].began_ns >= r[2].ended_ns);
    assert_true(r[3].ended_ns < before_waiting);
    close_both(&b);
}

/* The first that failed is who all hear of, whatever bytes its words have. */
static void agrees(void **state)
{
    struct both b;
    struct pk_err err;
    assert_int_equal(open_both(&b, "", (struct pk_comm_options){.ranks = 2}, &err), PK_OK);
    assert_int_equal(pk_agree(NULL, PK_OK, &err), PK_OK);
    assert_int_equal(pk_agree(&b.comm, PK_OK, &err), PK_OK);
    pk_fail(&err, PK_E_OOM, "caf\xc3, shut");
    assert_int_equal(pk_agree(&b.comm, PK_E_OOM, &err), PK_E_OOM);
    assert_string_equal(err.what, "rank 0: caf\xc3, shut");
    assert_true(!*err.why && !*err.fix);
    setenv("FAKE_MPI", "unable", 1);
    assert_int_equal(pk_agree(&b.comm, PK_OK, &err), PK_E_UNAVAILABLE);
    assert_string_equal(err.what, "rank 1: no library");
    assert_string_equal(err.why, "none here");
    assert_string_equal(err.fix, "install it");
    pk_fail(&err, PK_E_IO, "rank 0: a barrier failed");
    assert_int_equal(pk_agree(&b.comm, PK_E_IO, &err), PK_E_IO);
    assert_string_equal(err.what, "rank 0: a barrier failed");
    close_both(&b);
}

static void refuses(void **state)
{
    struct both b;
    struct pk_err err;
    assert_int_equal(open_both(&b, "refuse", (struct pk_comm_options){0}, &err), PK_E_IO);
    assert_non_null(strstr(err.what, "starting MPI failed"));
    assert_non_null(strstr(err.why, "no daemon"));
    close_both(&b);
    assert_int_equal(open_both(&b, "", (struct pk_comm_options){.ranks = 3}, &err), PK_E_USAGE);
    assert_string_equal(err.what, "3 ranks were requested and 2 were started");
    close_both(&b);
    assert_int_equal(open_both(&b, "fail", (struct pk_comm_options){0}, &err), PK_OK);
    struct pk_reduce r = {0};
    float x = 1;
    assert_int_equal(pk_comm_start(&b.comm, &r, &x, 1, PK_FP32, &err), PK_OK);
    assert_int_equal(pk_comm_wait(&b.comm, &r, &err), PK_E_IO);
    assert_string_equal(err.what, "rank 0: an all-reduce failed");
    assert_non_null(strstr(err.why, "the network is gone"));
    assert_int_equal(pk_comm_barrier(&b.comm, &err), PK_E_IO); /* broken from then on */
    close_both(&b);
}

/* A rank that does not come: no hang, a message, and everything after it is an error. Without heartbeats the rank is not known. */
static void gives_up(void **state)
{
    struct both b;
    struct pk_err err;
    struct pk_reduce r = {0};
    static float x = 1; /* the stuck call goes on with it */
    assert_int_equal(open_both(&b, "hang", (struct pk_comm_options){.timeout_ns = 100 * PK_NS_PER_MS}, &err),
                     PK_OK);
    assert_int_equal(pk_comm_start(&b.comm, &r, &x, 1, PK_FP32, &err), PK_OK);
    const uint64_t began = pk_clock_ns();
    assert_int_equal(pk_comm_wait(&b.comm, &r, &err), PK_E_TIMEOUT);
    assert_true(pk_clock_ns() - began < 1900 * PK_NS_PER_MS);
    assert_non_null(strstr(err.what, "rank 0: an all-reduce did not end within"));
    assert_non_null(strstr(err.why, "another rank did not take part"));
    assert_true(*err.fix);
    pk_comm_abort(&b.comm); /* returns: somebody has to say so */
    assert_int_equal(pk_comm_start(&b.comm, &(struct pk_reduce){0}, &x, 1, PK_FP32, &err), PK_E_IO);
    sleep(2); /* the library's own memory is not ours to free under it */
    close_both(&b);
}

/* MPI comes up when nobody waits for it any more: what its thread writes to is still there. */
static void comes_too_late(void **state)
{
    struct both b;
    struct pk_err err;
    assert_int_equal(open_both(&b, "late", (struct pk_comm_options){.timeout_ns = 100 * PK_NS_PER_MS}, &err),
                     PK_E_TIMEOUT);
    assert_non_null(strstr(err.what, "rank 0: starting MPI did not end within"));
    close_both(&b);
    usleep(600000);
}

/* The other rank was in its last call before this one's; while it waits, this one is awake. */
static void names_who_is_absent(void **state)
{
    struct both b;
    struct pk_err err;
    struct pk_reduce r = {0};
    struct pk_rank_heartbeats heartbeats;
    static float x = 1;
    pk_rank_heartbeats_make(&heartbeats, 2, 0, PK_HEARTBEAT_TIMEOUT_NS);
    pk_rank_heartbeats_enter(&heartbeats, 1);
    pk_rank_heartbeats_leave(&heartbeats, 1);
    assert_int_equal(open_both(&b, "hang", (struct pk_comm_options){.timeout_ns = 1200 * PK_NS_PER_MS}, &err),
                     PK_OK);
    b.comm.heartbeats = &heartbeats;
    assert_int_equal(pk_comm_start(&b.comm, &r, &x, 1, PK_FP32, &err), PK_OK);
    assert_int_equal(pk_comm_wait(&b.comm, &r, &err), PK_E_TIMEOUT);
    assert_string_equal(err.why, "rank 1 did not answer: rank 0 has waited for it for 1.2 s");
    sleep(1);
    close_both(&b);
    pk_rank_heartbeats_close(&heartbeats);
}

static void not_there(void **state)
{
    struct both b;
    struct pk_err err;
    const char *real = getenv("PERFKIT_MPI");
    setenv("PERFKIT_MPI", "/nowhere/perfkit-mpi.so", 1);
    assert_int_equal(open_both(&b, "", (struct pk_comm_options){0}, &err), PK_E_UNAVAILABLE);
    assert_non_null(strstr(err.why, "/nowhere/perfkit-mpi.so"));
    const char *enable = pk_feature("mpi")->enable; /* NULL = this build has MPI's part */
    assert_non_null(strstr(err.fix, enable ? enable : "libopenmpi-dev"));
    close_both(&b);
    setenv("PERFKIT_MPI", real, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(not_there),      cmocka_unit_test(works),    cmocka_unit_test(makes_progress),
        cmocka_unit_test(refuses),        cmocka_unit_test(gives_up), cmocka_unit_test(names_who_is_absent),
        cmocka_unit_test(comes_too_late), cmocka_unit_test(agrees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
