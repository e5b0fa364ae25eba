/* Spawner: fork, exec, wait4, reply. */
#include "bench/command/command.h"

#include "base/clock.h"
#include "base/file.h"
#include "bench/client/process.h"
#include "bench/command/counter_passes.h"
#include "bench/worker/request.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* Written by the child just before it becomes the command. */
struct start {
    volatile uint64_t began_ns;
    volatile int error; /* errno of exec; 0 = it worked */
};

struct outcome {
    uint64_t wall_ns;
    int status; /* of wait */
    int error;  /* could not be started */
    struct rusage usage;
};

enum { WALL, USER, SYSTEM, PEAK, FAULTS, SWITCHES, METRICS };
static const struct pk_metric_decl metrics[METRICS] = {
    [WALL] = {"wall_ns", "ns", "lower", "time", "median", "max", "reported"},
    [USER] = {"user_ns", "ns", "lower", "time", "median", "sum", "reported"},
    [SYSTEM] = {"system_ns", "ns", "lower", "time", "median", "sum", "reported"},
    [PEAK] = {"peak_bytes", "bytes", "lower", "memory", "max", "max", "reported"},
    [FAULTS] = {"page_faults", "1", "lower", "exact", "median", "sum", "reported"},
    [SWITCHES] = {"context_switches", "1", "lower", "rate", "median", "sum", "reported"},
};

/* gate: waits until the other end is closed; -1 = none. */
_Noreturn static void become(const char *const *argv, struct start *start, pid_t parent, int gate)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) /* the parent ended before prctl */
        _exit(127);
    int null = open("/dev/null", O_RDWR);
    char c;
    signal(SIGPIPE, SIG_DFL);
    while (gate >= 0 && read(gate, &c, 1) < 0 && errno == EINTR)
        ;
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0) {
        start->error = errno;
        _exit(126);
    }
    close(null);
    start->began_ns = pk_clock_ns();
    execvp(argv[0], (char *const *)argv);
    start->error = errno;
    _exit(127);
}

/* With counters (NULL = none) the child waits at a pipe until they are open, and they count from its exec. */
static void run(const char *const *argv, struct start *start, struct pk_counter_pass *counting,
                struct outcome *out)
{
    int gate[2] = {-1, -1};
    *out = (struct outcome){0};
    *start = (struct start){0};
    if (counting && pipe2(gate, O_CLOEXEC)) {
        out->error = errno;
        return;
    }
    PK_CLEANUP_FD int go = gate[0];
    const pid_t parent = getpid();
    pid_t pid = fork();
    if (pid == 0) {
        if (counting)
            close(gate[1]);
        become(argv, start, parent, go);
    }
    out->error = pid < 0 ? errno : 0;
    if (counting && pid > 0)
        pk_counter_pass_open(counting, pid);
    if (counting)
        close(gate[1]); /* go */
    if (pid < 0)
        return;
    while (wait4(pid, &out->status, 0, &out->usage) < 0 && errno == EINTR)
        ;
    out->wall_ns = pk_clock_ns() - start->began_ns;
    out->error = start->error;
    if (counting)
        pk_counter_pass_end(counting);
}

static const char *how_it_ended(int status, struct pk_arena *a)
{
    return WIFSIGNALED(status)
               ? pk_printf(a, "ended by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)))
               : pk_printf(a, "exit status %d", WEXITSTATUS(status));
}

static struct pk_slice slice_of(const struct outcome *o, int invocation, struct pk_arena *a)
{
    static const int64_t ordinal = 0;
    int64_t *values = pk_new_n(a, int64_t, METRICS);
    values[WALL] = (int64_t)o->wall_ns;
    values[USER] =
        (int64_t)o->usage.ru_utime.tv_sec * (int64_t)PK_NS_PER_S + (int64_t)o->usage.ru_utime.tv_usec * 1000;
    values[SYSTEM] =
        (int64_t)o->usage.ru_stime.tv_sec * (int64_t)PK_NS_PER_S + (int64_t)o->usage.ru_stime.tv_usec * 1000;
    values[PEAK] = (int64_t)o->usage.ru_maxrss * 1024;
    values[FAULTS] = o->usage.ru_minflt + o->usage.ru_majflt;
    values[SWITCHES] = o->usage.ru_nvcsw + o->usage.ru_nivcsw;
    struct pk_series *series = pk_new_n(a, struct pk_series, METRICS);
    for (size_t i = 0; i < METRICS; i++)
        series[i] = (struct pk_series){.metric = i,
                                       .phase = PK_PHASE_STEADY,
                                       .reps = 1,
                                       .n = 1,
                                       .ordinal = &ordinal,
                                       .integer = &values[i]};
    struct pk_note *note = pk_new(a, struct pk_note);
    *note = (struct pk_note){
        "exit_status",
        pk_printf(a, "%d", WIFSIGNALED(o->status) ? 128 + WTERMSIG(o->status) : WEXITSTATUS(o->status))};
    return (struct pk_slice){.invocation = invocation,
                             .message = "",
                             .n_metrics = METRICS,
                             .metrics = metrics,
                             .n_series = METRICS,
                             .series = series,
                             .n_notes = 1,
                             .notes = note};
}

static struct pk_slice failed_slice(const char *message)
{
    return (struct pk_slice){.status = PK_ST_FAILED, .message = message};
}

static const char *const *words_of(const json_t *array, struct pk_arena *a)
{
    size_t n = json_array_size(array);
    const char **argv = pk_new_n(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        argv[i] = json_string_value(json_array_get(array, i));
        if (!argv[i])
            return NULL;
    }
    return n ? argv : NULL;
}

static struct pk_slice measure(const json_t *request, const volatile int *stop_flag, struct start *start,
                               struct pk_arena *a)
{
    const char *const *argv = words_of(json_object_get(request, "command"), a);
    const char *prepare = pk_json_str(request, "prepare", NULL);
    const bool counting = !strcmp(pk_json_str(request, "pass", ""), pk_pass_name(PK_PASS_COUNTER));
    const int invocation = (int)pk_json_int(request, "invocation", 1);
    struct pk_counter_pass counts = {.env = &pk_counter_host, .arena = a};
    struct outcome o;
    struct pk_err err;
    if (!argv)
        return failed_slice("the request has no command");
    if (counting && pk_counter_pass_prepare(&counts, json_object_get(request, "counters"), &err))
        return failed_slice(pk_strdup(a, err.what));
    if (prepare) {
        run((const char *const[]){"/bin/sh", "-c", prepare, NULL}, start, NULL, &o);
        if (o.error || o.status)
            return failed_slice(pk_printf(a, "the command of --prepare failed: %s",
                                          o.error ? strerror(o.error) : how_it_ended(o.status, a)));
        if (*stop_flag)
            return failed_slice("a signal came before the command was started");
    }
    run(argv, start, counting ? &counts : NULL, &o);
    if (o.error)
        return failed_slice(pk_printf(a, "cannot start '%s': %s", argv[0], strerror(o.error)));
    if (o.status && !pk_json_bool(request, "ignore_failure", false))
        return failed_slice(pk_printf(a, "the command failed: %s", how_it_ended(o.status, a)));
    return counting ? pk_counter_pass_slice(&counts, invocation, o.wall_ns) : slice_of(&o, invocation, a);
}

/* The pipe for what the command reports comes before the request; a test sends none. */
static bool next_request(int fd, struct pk_wire_reader *reader, struct pk_wire_msg *msg)
{
    char byte;
    struct pk_err ended;
    if (!pk_process_receive_wire(fd, &byte))
        return false;
    pk_wire_feed(reader, &byte, 1);
    return !pk_wire_read(reader, fd, msg, &ended) && msg->type == PK_WIRE_MEASURE;
}

static enum pk_code serve(int fd, const volatile int *stop_flag, struct pk_wire_reader *reader,
                          struct start *start, struct pk_err *err)
{
    struct pk_wire_msg msg;
    while (next_request(fd, reader, &msg) && !*stop_flag) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_slice s = measure(msg.json, stop_flag, start, &a);
        if (pk_wire_slice(fd, pk_json_int(msg.json, "id", 0), &s, err))
            return err->code;
    }
    return PK_OK;
}

enum pk_code pk_spawner_serve(int fd, const volatile int *stop_flag, struct pk_err *err)
{
    struct start *start =
        mmap(NULL, sizeof *start, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        pk_fail(err, PK_E_IO, "cannot share a page with commands");
        return pk_why(err, "%s", strerror(errno));
    }
    struct pk_wire_reader *reader = pk_wire_reader_new();
    enum pk_code rc = serve(fd, stop_flag, reader, start, err);
    pk_wire_reader_free(reader);
    munmap(start, sizeof *start);
    return rc;
}
