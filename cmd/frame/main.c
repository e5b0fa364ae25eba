/* Main: the process around a command: signals, standard streams, exit status. */
#include "cmd/frame/frame.h"

#include "bench/worker/start_ranks.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { TIMEOUT_S = 2 }; /* with the launcher */

volatile int pk_stop_flag, pk_must_finish;

/* The first signal requests an orderly end, the second one ends the process: so does a timer if nothing needs order, whatever is computed. */
static void on_stop_signal(int sig)
{
    if (pk_stop_flag) {
        pk_output_forget();
        _exit(130);
    }
    pk_stop_flag = sig;
    if (!pk_must_finish)
        setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {1, 500000}}, NULL);
}

void pk_on_stop_signals(void (*handler)(int))
{
    static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGALRM};
    struct sigaction old, new = {.sa_handler = handler};
    sigemptyset(&new.sa_mask);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (!sigaction(signals[i], NULL, &old) && old.sa_handler != SIG_IGN)
            sigaction(signals[i], &new, NULL);
}

static void on_memory_refused(size_t bytes)
{
    struct pk_err err;
    pk_fail(&err, PK_E_INTERNAL, "out of memory");
    pk_why(&err, "the system refused %zu bytes", bytes);
    pk_fix(&err, "free memory, or measure less at once; what was recorded so far is safe");
    pk_print_error(&err);
    pk_output_forget();
    _exit(1);
}

/* A closed standard stream would be given to the first file opened, a database even. The wrong direction
 * makes its use fail as before. */
static void occupy_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) != fd)
            _exit(1);
}

/* For tests: PERFKIT_FAIL_ALLOC=n refuses the n-th allocation. */
static void inject_fault(void)
{
    const char *n = secure_getenv("PERFKIT_FAIL_ALLOC");
    if (n)
        pk_arena_fail_after(strtoul(n, NULL, 10));
}

/* What was printed must have arrived; a reader that left early (| head) has what it wanted. */
static enum pk_code finish_stdout(struct pk_err *err)
{
    if (!fflush(stdout) || errno == EPIPE)
        return PK_OK;
    pk_fail(err, PK_E_IO, "cannot write to standard output");
    pk_why(err, "%s", strerror(errno));
    return pk_fix(err, "free space on that disk, or write to a file with -o FILE");
}

/* An error in the command line occurs on every rank of a launcher. Rank 0 prints it, and its exit status makes the launcher end the
 * other ranks. A rank that is still running after TIMEOUT_S has another error, which it prints. */
static bool is_error_of_rank_0(struct pk_err *err)
{
    const struct pk_launcher l = pk_launcher_of_process();
    if (l.rank == 0)
        return false;
    nanosleep(&(struct timespec){.tv_sec = TIMEOUT_S}, NULL);
    if (pk_stop_flag)
        return true;
    if (strncmp(err->what, "rank ", strlen("rank ")) != 0)
        pk_within(err, "rank %u", l.rank);
    return false;
}

int main(int argc, const char **argv)
{
    struct pk_err err = {0};
    struct pk_arena arena = {0};
    occupy_standard_streams();
    setlocale(LC_CTYPE, ""); /* what a terminal can show; numbers stay in the C locale */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* beyond the file size limit, write then fails with EFBIG */
    pk_on_stop_signals(on_stop_signal);
    pk_set_oom_handler(on_memory_refused);
    inject_fault();
    enum pk_code rc = pk_dispatch(argc, argv, &arena, &err);
    if (!rc)
        rc = finish_stdout(&err);
    if (rc && !is_error_of_rank_0(&err))
        pk_print_error(&err);
    pk_arena_free(&arena);
    return pk_exit_status(!rc && pk_stop_flag ? PK_E_INTERRUPTED : rc);
}
