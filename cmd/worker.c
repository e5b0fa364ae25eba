/* worker: the process that measures, started by `perfkit run` and `perfkit exec`; not for people. */
#include "cmd/cmd.h"

#include "bench/command/spawner.h"
#include "bench/worker/worker.h"
#include "wire/wire.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

struct worker_options {
    bool spawner;
};

static const struct pk_opt options[] = {
    {"spawner", 0, PK_OPT_FLAG, offsetof(struct worker_options, spawner),
     .help = "start commands and measure them from outside", .cli_only = true},
    {0},
};

static enum pk_code not_by_hand(struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "worker is not a command for people");
    pk_why(err, "%s names no open file descriptor", PK_WIRE_FD_ENV);
    return pk_fix(err, "use `perfkit run`, which starts its workers");
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct worker_options *o = app->options;
    const char *text = getenv(PK_WIRE_FD_ENV);
    char *end = NULL;
    long fd = text ? strtol(text, &end, 10) : -1;
    if (!text || *end || fd < 3 || fd > 1 << 20 || fcntl((int)fd, F_GETFD) < 0)
        return not_by_hand(err);
    /* The parent ends its workers, by SIGTERM first; there is nothing here to put in order. */
    signal(SIGTERM, SIG_DFL);
    signal(SIGINT, SIG_DFL);
    if (o->spawner)
        return pk_spawner_serve(STDIN_FILENO, err);
    fcntl((int)fd, F_SETFD, FD_CLOEXEC);
    return pk_worker_serve(STDIN_FILENO, (int)fd, err);
}

const struct pk_cmd pk_cmd_worker = {
    .name = "worker",
    .summary = "measure what the parent asks for (internal)",
    .usage = "worker",
    .options = options,
    .options_bytes = sizeof(struct worker_options),
    .exact_args = "0",
    .hidden = true,
    .run = run,
};
