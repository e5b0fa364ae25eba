/* The session against workers that hang, crash, lie and talk garbage (tests/cli/bad_worker.py); the recorder
 * is an array. */
#include "bench/session/session.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "base/clock.h"

#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const modes[] = {"good",       "hang",      "crash",         "leave",   "garbage",
                                    "undeclared", "wrong-id",  "own-case",      "empty",   "not-a-number",
                                    "huge-line",  "truncated", "noisy",         "failing", "idle-death",
                                    "settings",   "choosing",  "hang-in-trace", NULL};

static const struct pk_axis axes[] = {
    {.name = "mode",
     .type = PK_AXIS_ENUM,
     .choices = modes,
     .def = "good",
     .born = "good",
     .help = "how to misbehave"},
    {0},
};
static const struct pk_region regions[] = {{"step", "what good ones say they measured"}, {0}};
static const struct pk_probe probe = {.name = "bad", .revision = 1, .axes = axes, .regions = regions};

/* --- a recorder that remembers --- */

struct seen {
    int64_t case_id;
    enum pk_pass pass;
    int invocation;
    enum pk_status status;
    char message[512];
    size_t n_series, n_values;
    double last;
};
static struct seen seen[256];
static size_t n_seen, n_settings;
static char settings[64][64];
static int stop_flag, stop_after = -1;

enum pk_code pk_record_slice(struct pk_recorder *r, int64_t case_id, const struct pk_case_info *c,
                             const struct pk_slice *s, struct pk_err *err)
{
    struct seen *w = &seen[n_seen++];
    *w = (struct seen){.pass = s->pass,
                       .case_id = case_id,
                       .invocation = s->invocation,
                       .status = s->status,
                       .n_series = s->n_series};
    snprintf(w->message, sizeof w->message, "%s", s->message);
    for (size_t i = 0; i < s->n_series; i++)
        w->n_values += s->series[i].n;
    if (s->n_series)
        w->last = s->series[0].real ? s->series[0].real[1] : (double)s->series[0].integer[s->series[0].n - 1];
    if ((int)n_seen == stop_after)
        stop_flag = 1;
    return PK_OK;
}

enum pk_code pk_record_setting(struct pk_recorder *r, int invocation, const char *key, const char *value,
                               struct pk_err *err)
{
    snprintf(settings[n_settings++ % 64], sizeof settings[0], "%s=%s", key, value);
    return PK_OK;
}

/* What a run that goes on has said before. */
static struct pk_setting said_before[] = {
    {1, "choice:way", "7"}, {2, "choice:way", "42"}, {2, "choice:other", "1"}};

enum pk_code pk_recorded_settings(struct pk_recorder *r, const char *prefix, struct pk_arena *a,
                                  struct pk_setting **out, size_t *n, struct pk_err *err)
{
    assert_string_equal(prefix, "choice:");
    *out = said_before;
    *n = sizeof said_before / sizeof *said_before;
    return PK_OK;
}

/* In the order of the plan, so that the tests can say what comes when. */
const size_t *pk_case_plan_order(size_t n, uint64_t seed, int invocation, struct pk_arena *a)
{
    size_t *order = pk_new_n(a, size_t, n);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    return order;
}

/* --- running --- */

struct bench {
    struct pk_planned_case v[32];
    size_t n;
    struct pk_session_options opt;
    struct pk_session_result out;
    char warnings[8][256];
    size_t n_warnings;
    int64_t first_left_ns; /* the time that is left after the first slice */
};

static void keep_warning(void *user, const char *text)
{
    struct bench *b = user;
    snprintf(b->warnings[b->n_warnings++ % 8], sizeof b->warnings[0], "%s", text);
}

/* Gives a worker that dies after its reply the time to do so before the next request. */
static void let_it_die(void *user, const struct pk_planned_case *p, const struct pk_slice *s, size_t done,
                       size_t total, int64_t left_ns)
{
    if (done == 1)
        ((struct bench *)user)->first_left_ns = left_ns;
    if (!strcmp(modes[p->c.at.v[0].i], "idle-death"))
        usleep(400000);
}

static void add_case(struct bench *b, const char *mode)
{
    struct pk_planned_case *p = &b->v[b->n++];
    *p = (struct pk_planned_case){.variant = "bad",
                                  .predicted_bytes = -1,
                                  .floor_ns = NAN,
                                  .least_ns = NAN,
                                  .c = {.probe = &probe, .at = {.axes = axes, .n = 1}}};
    while (strcmp(modes[p->c.at.v[0].i], mode))
        p->c.at.v[0].i++;
}

static struct bench *with(const char *first, ...)
{
    static struct bench b;
    b = (struct bench){.opt = {.invocations = 1,
                               .timeout_ns = 20 * (int64_t)PK_NS_PER_S,
                               .seed = 1,
                               .stop = {.max_time_ns = (int64_t)PK_NS_PER_S}}};
    va_list ap;
    va_start(ap, first);
    for (const char *m = first; m; m = va_arg(ap, const char *))
        add_case(&b, m);
    va_end(ap);
    n_seen = n_settings = 0;
    stop_flag = 0;
    stop_after = -1;
    return &b;
}

/* An argument that tells our workers from those of other tests. */
static const char *token(void)
{
    static char text[32];
    snprintf(text, sizeof text, "token-%d", (int)getpid());
    return text;
}

static void go_on(struct bench *b, const struct pk_case_progress *done)
{
    const char *const argv[] = {"python3", TESTS_DIR "/cli/bad_worker.py", token(), NULL};
    int64_t ids[sizeof b->v / sizeof *b->v];
    for (size_t i = 0; i < b->n; i++)
        ids[i] = (int64_t)i;
    const struct pk_provider provider = {"bad", argv};
    const struct pk_case_plan plan = {.probe = &probe, .device = "null", .n = b->n, .v = b->v};
    const struct pk_session_events ev = {.slice = let_it_die, .warning = keep_warning, .user = b};
    struct pk_err err;
    assert_int_equal(
        pk_session_run(&plan, &b->opt, &provider, 1, NULL, 1, ids, done, &ev, &stop_flag, &b->out, &err),
        PK_OK);
}

static void go(struct bench *b)
{
    go_on(b, NULL);
}

static void says(const struct seen *s, enum pk_status status, const char *part)
{
    assert_int_equal(s->status, status);
    if (!strstr(s->message, part))
        fail_msg("'%s' is not in: %s", part, s->message);
    if (status != PK_ST_OK)
        assert_int_equal(s->n_series, 0);
}

static void misbehaviour_is_named_and_the_rest_is_measured(void **state)
{
    static const struct {
        const char *mode, *says;
    } rows[] = {
        {"crash", "(bad) died: ended by signal 11 (Segmentation fault); last output: about to crash"},
        {"leave", "exit status 3; last output: cannot find my keys"},
        {"garbage", "violated the protocol: no JSON: Hello, is this the printer?"},
        {"undeclared", "\"made_up_ns\", which was not declared"},
        {"wrong-id", "instead of"},
        {"own-case", "a case other than the requested one"},
        {"empty", "ok without a sample"},
        {"huge-line", "longer than 8 MiB"},
        {"truncated", "died: exit status 0"},
        {"failing", "element 7 is 3, should be 4"},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    struct bench *b = with("good", NULL);
    for (size_t i = 0; i < ROWS; i++) {
        add_case(b, rows[i].mode);
        add_case(b, "good");
    }
    b->opt.invocations = 2;
    b->opt.timeout_ns = 120 * (int64_t)PK_NS_PER_S;
    go(b);
    assert_int_equal(n_seen, 3 * ROWS + 2);
    says(&seen[0], PK_ST_OK, "");
    for (size_t i = 0; i < ROWS; i++) {
        says(&seen[2 * i + 1], PK_ST_FAILED, rows[i].says);
        says(&seen[2 * i + 2], PK_ST_OK, "");
        assert_int_equal(seen[2 * i + 2].n_values, 3);
    }
    for (size_t i = 0; i <= ROWS; i++) /* the second invocation leaves the failed cases out */
        assert_int_equal(seen[2 * ROWS + 1 + i].case_id, 2 * i);
    assert_int_equal(b->out.ok, ROWS + 1);
    assert_int_equal(b->out.failed, ROWS);
}

/* The first process of a run chooses; those after it, and those of a run that goes on, are told. */
static void choices_are_handed_on(void **state)
{
    struct bench *b = with("choosing", "choosing", NULL);
    b->opt.invocations = 2;
    go(b);
    assert_int_equal(n_seen, 4);
    for (size_t i = 1; i < 4; i++)
        assert_true(seen[i].last > 0 && seen[i].last == seen[0].last);
    assert_int_equal(n_settings, 1);
    b = with("choosing", "idle-death", "choosing", NULL);
    go(b);
    assert_true(seen[2].last == seen[0].last); /* one worker after another */
    setenv("BAD_TASTE", "refuses", 1);
    b = with("choosing", "choosing", NULL);
    b->opt.invocations = 2;
    go(b);
    unsetenv("BAD_TASTE");
    assert_true(seen[3].last != seen[0].last);
    static const struct pk_case_progress done[1] = {{.last = PK_ST_INTERRUPTED}};
    b = with("choosing", NULL);
    go_on(b, done);
    assert_true(seen[0].last == 42);
}

/* Processes that came from this one: they carry the mark that main() put into the environment. A reader of process names would
 * count the workers of other tests. */
static char mark[64];

static int running(void)
{
    int n = 0;
    DIR *d = opendir("/proc");
    for (const struct dirent *e; (e = readdir(d));) {
        static char text[1 << 16];
        char path[300];
        snprintf(path, sizeof path, "/proc/%s/environ", e->d_name);
        FILE *f = atoi(e->d_name) > 0 ? fopen(path, "r") : NULL;
        size_t len = f ? fread(text, 1, sizeof text, f) : 0;
        n += memmem(text, len, mark, strlen(mark)) != NULL;
        if (f)
            fclose(f);
    }
    closedir(d);
    return n;
}

/* A killed process is there until the kernel has cleared it away. */
static void assert_none_runs(void)
{
    int left = 1;
    for (int tries = 0; tries < 500 && (left = running()); tries++)
        usleep(10 * 1000);
    assert_int_equal(left, 0);
}

static void a_hang_ends_with_its_children(void **state)
{
    struct bench *b = with("hang", "good", NULL);
    b->opt.timeout_ns = 700 * (int64_t)PK_NS_PER_MS;
    go(b);
    says(&seen[0], PK_ST_TIMEOUT, "no result after 700ms; the worker and its processes were ended");
    says(&seen[1], PK_ST_OK, "");
    assert_int_equal(b->out.timeout, 1);
    assert_none_runs();
}

/* The case keeps its times, and the run says which pass of which case is missing, and why. */
static void a_pass_that_hangs_is_recorded(void **state)
{
    struct bench *b = with("hang-in-trace", "good", NULL);
    b->opt.timeout_ns = 700 * (int64_t)PK_NS_PER_MS;
    b->opt.breakdown = true;
    go(b);
    assert_int_equal(n_seen, 4);
    says(&seen[0], PK_ST_OK, "");
    assert_int_equal(seen[2].pass, PK_PASS_TRACE);
    says(&seen[2], PK_ST_TIMEOUT, "no result after 700ms; the worker and its processes were ended");
    assert_int_equal(seen[3].pass, PK_PASS_TRACE);
    assert_int_equal(seen[3].case_id, 1);
    assert_int_equal(b->out.ok, 2);
    assert_int_equal(b->out.timeout, 0);
    assert_string_equal(b->warnings[0],
                        "not traced: no result after 700ms; the worker and its processes were ended");
    assert_none_runs();
}

static void bad_starts(void **state)
{
    setenv("BAD_START", "version-2", 1);
    struct bench *b = with("good", NULL);
    go(b);
    says(&seen[0], PK_ST_FAILED, "it uses version 2 of the wire protocol, this perfkit version 1");
    setenv("BAD_START", "no-hello", 1);
    b = with("good", NULL);
    go(b);
    says(&seen[0], PK_ST_FAILED, "sent a message before its hello");
    unsetenv("BAD_START");
}

static void what_is_tolerated(void **state)
{
    struct bench *b = with("noisy", "not-a-number", "idle-death", "good", "settings", NULL);
    go(b);
    for (size_t i = 0; i < n_seen; i++)
        says(&seen[i], PK_ST_OK, "");
    assert_int_equal(n_seen, 5);
    assert_true(isnan(seen[1].last));
    assert_int_equal(n_settings, 2);
    assert_string_equal(settings[0], "clock=steady");
    assert_int_equal(b->n_warnings, 1);
    assert_string_equal(b->warnings[0], "a slow BLAS is in use");
}

static void gaps_of_the_plan(void **state)
{
    struct bench *b = with("good", "good", "good", NULL);
    b->v[0].skip = "causal needs square scores";
    b->v[1].too_large = "predicted to take 35.0 GiB";
    b->v[1].predicted_bytes = 35ll << 30;
    b->opt.invocations = 2;
    go(b);
    assert_int_equal(n_seen, 4);
    says(&seen[0], PK_ST_SKIPPED, "causal needs");
    says(&seen[1], PK_ST_OOM, "35.0 GiB");
    assert_int_equal(b->out.ok + b->out.oom + b->out.skipped, 3);
}

static void resumes(void **state)
{
    struct bench *b = with("good", "good", "good", NULL);
    const struct pk_case_progress done[] = {{INT_MAX, PK_ST_OOM}, {1, PK_ST_OK}, {0, PK_ST_INTERRUPTED}};
    b->opt.invocations = 2;
    go_on(b, done);
    assert_int_equal(n_seen, 3);
    assert_int_equal(seen[0].case_id, 2);
    assert_int_equal(seen[0].invocation, 1);
    assert_int_equal(seen[1].case_id, 1);
    assert_int_equal(seen[1].invocation, 2);
    assert_int_equal(b->out.ok, 2);
    assert_int_equal(b->out.oom, 1);
}

/* Two of three cases are left, of which the stored times of this machine are known. */
static void remaining_time_begins_with_what_is_known(void **state)
{
    static const double known[] = {5e9, 5e9, 5e9};
    struct bench *b = with("good", "good", "good", NULL);
    go(b);
    assert_true(b->first_left_ns < (int64_t)PK_NS_PER_S);
    b = with("good", "good", "good", NULL);
    b->opt.expected_ns = known;
    go(b);
    assert_int_equal(b->first_left_ns, 10 * (int64_t)PK_NS_PER_S);
}

static void stops_between_slices(void **state)
{
    struct bench *b = with("good", "good", "good", NULL);
    stop_after = 1;
    go(b);
    assert_true(b->out.interrupted);
    assert_int_equal(n_seen, 1);
    assert_int_equal(b->out.not_reached, 2);
    assert_int_equal(b->out.unfinished, 2);
}

static void stopped_after_the_last_slice(void **state)
{
    struct bench *b = with("good", "good", "good", NULL);
    b->opt.invocations = 1;
    stop_after = 3;
    go(b);
    assert_int_equal(n_seen, 3);
    assert_false(b->out.interrupted);
    assert_int_equal(b->out.unfinished, 0);
}

static void on_alarm(int sig)
{
    stop_flag = 1;
}

static void stops_inside_a_slice(void **state)
{
    struct bench *b = with("good", "hang", "good", NULL);
    signal(SIGALRM, on_alarm);
    alarm(1);
    uint64_t began = pk_clock_ns();
    go(b);
    assert_true(b->out.interrupted);
    assert_int_equal(n_seen, 1);
    assert_true(pk_clock_ns() - began < 5 * PK_NS_PER_S);
    assert_none_runs();
}

static void a_budget_ends(void **state)
{
    struct bench *b = with("good", "hang", "good", NULL);
    b->opt.budget_ns = (int64_t)PK_NS_PER_S;
    uint64_t began = pk_clock_ns();
    go(b);
    assert_true(pk_clock_ns() - began < 4 * PK_NS_PER_S);
    assert_int_equal(n_seen, 3);
    says(&seen[0], PK_ST_OK, "");
    says(&seen[1], PK_ST_SKIPPED, "does not fit into the budget of 1s");
    says(&seen[2], PK_ST_SKIPPED, "budget");
    assert_string_equal(b->warnings[0],
                        "the budget of 1s left 2 cases with fewer invocations than requested, or "
                        "none: --resume continues them");
}

static void a_program_that_is_not_there(void **state)
{
    struct bench *b = with("good", NULL);
    static const char *const argv[] = {"/no/such/interpreter", NULL};
    const struct pk_provider provider = {"bad", argv};
    const struct pk_case_plan plan = {.probe = &probe, .device = "null", .n = 1, .v = b->v};
    const int64_t id = 0;
    struct pk_err err;
    assert_int_equal(
        pk_session_run(&plan, &b->opt, &provider, 1, NULL, 1, &id, NULL, NULL, NULL, &b->out, &err), PK_OK);
    says(&seen[0], PK_ST_FAILED, "cannot start '/no/such/interpreter': No such file or directory");
}

/* No descriptor is left behind, whatever happened before. */
static void leaks_no_descriptor(void **state)
{
    int before = dup(0);
    close(before);
    struct bench *b = with("good", "crash", "good", NULL);
    go(b);
    int after = dup(0);
    close(after);
    assert_int_equal(before, after);
}

int main(void)
{
    snprintf(mark, sizeof mark, "PK_TEST_SESSION=%d", (int)getpid());
    putenv(mark);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(misbehaviour_is_named_and_the_rest_is_measured),
        cmocka_unit_test(choices_are_handed_on),
        cmocka_unit_test(a_hang_ends_with_its_children),
        cmocka_unit_test(a_pass_that_hangs_is_recorded),
        cmocka_unit_test(bad_starts),
        cmocka_unit_test(what_is_tolerated),
        cmocka_unit_test(gaps_of_the_plan),
        cmocka_unit_test(resumes),
        cmocka_unit_test(remaining_time_begins_with_what_is_known),
        cmocka_unit_test(stops_between_slices),
        cmocka_unit_test(stopped_after_the_last_slice),
        cmocka_unit_test(stops_inside_a_slice),
        cmocka_unit_test(a_budget_ends),
        cmocka_unit_test(a_program_that_is_not_there),
        cmocka_unit_test(leaks_no_descriptor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
