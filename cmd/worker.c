/* Worker: the process that measures, started by `perfkit run`, `gate` and `exec`. */
#include "cmd/cmd.h"

#include "bench/command/command.h"
#include "bench/worker/start_ranks.h"
#include "bench/worker/worker.h"
#include "wire/wire.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

struct worker_options {
    bool spawner, join;
    int64_t start;
    const char *wire, *heartbeats;
};

static const struct pk_opt options[] = {
    {"spawner", .type = PK_OPT_FLAG, .offset = offsetof(struct worker_options, spawner),
     .help = "start commands and measure them as separate processes", .cli_only = true},
    {"start", .type = PK_OPT_INT, .offset = offsetof(struct worker_options, start), .arg = "N",
     .max = 1 << 20, .def = "0", .help = "become mpiexec and start this number of ranks", .cli_only = true},
    {"join", .type = PK_OPT_FLAG, .offset = offsetof(struct worker_options, join),
     .help = "be one of the ranks that a launcher started", .cli_only = true},
    {"wire", .type = PK_OPT_TEXT, .offset = offsetof(struct worker_options, wire), .arg = "PATH",
     .help = "descriptor for the replies of rank 0, instead of the inherited one", .cli_only = true},
    {"heartbeats", .type = PK_OPT_TEXT, .offset = offsetof(struct worker_options, heartbeats), .arg = "PATH",
     .help = "shared memory for the heartbeats of ranks", .cli_only = true},
    {0},
};

static enum pk_code not_by_hand(struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "the command `worker` is internal");
    pk_why(err, "%s names no open file descriptor", PK_WIRE_FD_ENV);
    return pk_fix(err, "use `perfkit run`, which starts its workers");
}

/* -1 when there is none. */
static int inherited_wire(void)
{
    const char *text = getenv(PK_WIRE_FD_ENV);
    char *end = NULL;
    const long fd = text ? strtol(text, &end, 10) : -1;
    return !text || *end || fd < 3 || fd > 1 << 20 || fcntl((int)fd, F_GETFD) < 0 ? -1 : (int)fd;
}

static enum pk_code serve(const struct worker_options *o, int wire_fd, struct pk_err *err)
{
    const struct pk_worker_io io = {
        .in_fd = STDIN_FILENO, .wire_fd = wire_fd, .join = o->join, .heartbeats = o->heartbeats};
    if (wire_fd >= 0)
        fcntl(wire_fd, F_SETFD, FD_CLOEXEC);
    return pk_worker_serve(&io, err);
}

/* Started by our own mpiexec: the worker ends with it. Only rank 0 has a wire. */
static enum pk_code serve_as_rank(const struct worker_options *o, struct pk_err *err)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int fd = pk_launcher_of_process().rank == 0 ? open(o->wire, O_WRONLY | O_CLOEXEC) : -1;
    return fd < 0 && pk_launcher_of_process().rank == 0 ? not_by_hand(err) : serve(o, fd, err);
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct worker_options *o = app->options;
    const int fd = inherited_wire();
    if (fd < 0 && !o->wire)
        return not_by_hand(err);
    if (o->spawner)
        return pk_spawner_serve(STDIN_FILENO, &pk_stop_flag, err);
    pk_on_stop_signals(SIG_DFL); /* there is nothing here to put in order */
    if (o->start)
        return pk_launch_become((unsigned)o->start, fd, o->heartbeats, err);
    return o->wire ? serve_as_rank(o, err) : serve(o, fd, err);
}

const struct pk_cmd pk_cmd_worker = {
    .name = "worker",
    .summary = "measure cases for the parent process (internal)",
    .usage = "worker",
    .options = options,
    .options_bytes = sizeof(struct worker_options),
    .exact_args = "0",
    .hidden = true,
    .run = run,
};
