/* Isolated: see the header. Parent and child are the same program: the child is told its first test by the environment, and writes a byte
 * for each test that begins, passes or fails. */
#include "isolated.h"

#include "base/clock.h"
#include "base/err.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
// clang-format on
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define FIRST_TEST "PK_TEST_FIRST" /* "INDEX FD PARENT" */

enum { SECONDS = 120, NAMED_MOST = 128 };
enum event { BEGUN = 'b', PASSED = 'p', FAILED = 'f' };

/* --- the process that runs tests --- */

static void tell(int fd, enum event event)
{
    const char byte = (char)event;
    fflush(NULL);
    pk_assert(write(fd, &byte, 1) == 1);
}

static bool renewed;

void isolated_renew(void)
{
    renewed = true;
}

static int run_from(const char *first, const struct CMUnitTest *tests, size_t n)
{
    size_t i;
    int fd, parent;
    pk_assert(sscanf(first, "%zu %d %d", &i, &fd, &parent) == 3);
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody would read what it says */
    if (getppid() != parent)
        return EXIT_FAILURE;
    for (; i < n && !renewed; i++) {
        tell(fd, BEGUN);
        const bool failed = _cmocka_run_group_tests(tests[i].name, &tests[i], 1, NULL, NULL) != 0;
        tell(fd, failed ? FAILED : PASSED);
        if (failed)
            return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}

/* --- the process that starts it --- */

struct watch {
    const struct CMUnitTest *tests;
    size_t n, next; /* the test that runs, or is to be run */
    uint64_t limit_ns;
    bool running;
    const char *failed[NAMED_MOST];
    size_t n_failed;
};

/* Returns the child, which starts with test `first`; *from is where it writes. */
static pid_t start(char **argv, size_t first, int *from)
{
    int fds[2];
    char told[64];
    const pid_t parent = getpid();
    pk_assert(pipe(fds) == 0);
    fflush(NULL);
    const pid_t child = fork();
    pk_assert(child >= 0);
    if (child == 0) {
        close(fds[0]);
        snprintf(told, sizeof told, "%zu %d %d", first, fds[1], (int)parent);
        setenv(FIRST_TEST, told, 1);
        execv("/proc/self/exe", argv);
        _exit(EXIT_FAILURE);
    }
    close(fds[1]);
    *from = fds[0];
    return child;
}

static void failed(struct watch *w)
{
    if (w->n_failed < NAMED_MOST)
        w->failed[w->n_failed] = w->tests[w->next].name;
    w->n_failed++;
    w->next++;
    w->running = false;
}

static void take(struct watch *w, enum event event)
{
    if (event == FAILED) {
        failed(w);
        return;
    }
    w->running = event == BEGUN;
    w->next += event == PASSED;
}

/* Until the child closes its end; false when the time of a test is over. */
static bool follow(struct watch *w, int from)
{
    for (;;) {
        struct pollfd p = {from, POLLIN, 0};
        char byte;
        const uint64_t deadline_ns = pk_clock_ns() + w->limit_ns;
        int ready;
        do {
            const uint64_t now = pk_clock_ns();
            ready = poll(&p, 1, now < deadline_ns ? (int)((deadline_ns - now) / 1000000 + 1) : 0);
        } while (ready < 0 && errno == EINTR);
        if (ready == 0)
            return false;
        if (read(from, &byte, 1) != 1)
            return true;
        take(w, (enum event)byte);
    }
}

/* A test whose process ended without its result. */
static void lost(struct watch *w, bool in_time, int status)
{
    const char *name = w->tests[w->next].name;
    fflush(NULL);
    if (!in_time)
        fprintf(stderr, "[  ERROR   ] --- not over after %llu s, and ended\n",
                (unsigned long long)(w->limit_ns / PK_NS_PER_S));
    else if (WIFSIGNALED(status))
        fprintf(stderr, "[  ERROR   ] --- ended by signal %d (%s)\n", WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else
        fprintf(stderr, "[  ERROR   ] --- the process ended with status %d\n", WEXITSTATUS(status));
    fprintf(stderr, "[  FAILED  ] %s\n", name);
    failed(w);
}

static void summary(const struct watch *w)
{
    printf("[==========] %zu test(s) run, a new process after each failure.\n", w->next);
    if (w->n_failed)
        printf("[  FAILED  ] %zu test(s), listed below:\n", w->n_failed);
    for (size_t i = 0; i < w->n_failed && i < NAMED_MOST; i++)
        printf("[  FAILED  ] %s\n", w->failed[i]);
}

/* Runs tests in a child until one fails, or wants a new process after it. The child's status is returned where no test explains it: there is no device, or memory leaked. */
static int run_child(struct watch *w, char **argv)
{
    const size_t first = w->next, failures = w->n_failed;
    int from, status = 0;
    const pid_t child = start(argv, first, &from);
    const bool in_time = follow(w, from);
    if (!in_time)
        kill(child, SIGKILL);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    close(from);
    if (w->running || (!in_time && w->next == first))
        lost(w, in_time, status);
    if (w->n_failed > failures || (w->next > first && status == 0))
        return EXIT_SUCCESS;
    return WIFEXITED(status) && status ? WEXITSTATUS(status) : EXIT_FAILURE;
}

int isolated_run(const struct CMUnitTest *tests, size_t n, isolated_begin_fn *begin, int argc, char **argv)
{
    const char *first = getenv(FIRST_TEST), *seconds = getenv("PK_TEST_SECONDS");
    struct watch w = {tests, n, .limit_ns = PK_NS_PER_S * (uint64_t)(seconds ? atoi(seconds) : SECONDS)};
    int rc = EXIT_SUCCESS;
    if (!w.limit_ns) {
        begin(argc, argv);
        return _cmocka_run_group_tests("tests", tests, n, NULL, NULL) ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    if (first) {
        setvbuf(stdout, NULL, _IOLBF, 0);
        begin(argc, argv);
        return run_from(first, tests, n);
    }
    while (!rc && w.next < n)
        rc = run_child(&w, argv);
    if (w.next)
        summary(&w);
    return rc || !w.n_failed ? rc : EXIT_FAILURE;
}
