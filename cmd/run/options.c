/* Run, options: tables of every command that measures cases of an experiment: run, gate, calibrate. They fill struct pk_run_options. */
#include "cmd/run/run.h"

#include <stddef.h>

#define AT(member) offsetof(struct pk_run_options, member)

const struct pk_opt pk_run_grid_rows[] = {
    {"axis", .letter = 'a', .type = PK_OPT_LIST, .offset = AT(axes), .arg = "AXIS=VALUES",
     .group = "What to measure",
     .help = "values of an axis: 64,128 or '256:16384:*2' or 1MiB:64MiB:+1MiB; --AXIS VALUES is the same"},
    {"preset", .letter = 'p', .type = PK_OPT_TEXT, .offset = AT(preset), .arg = "PRESET",
     .help = "named grid of the experiment (quick, seed, full); default: the first that fits the memory"},
    {"variant", .letter = 'v', .type = PK_OPT_LIST, .offset = AT(variants), .arg = "VARIANT", .commas = true,
     .help = "implementations to measure, such as vanilla,flash (default: all)"},
    {0},
};

const struct pk_opt pk_run_place_rows[] = {
    {"filter", .letter = 'f', .type = PK_OPT_TEXT, .offset = AT(filter), .arg = "EXPR",
     .help = "measure only cases that match, such as seq_len>=1024,variant=flash|fused"},
    {"device", .letter = 'd', .type = PK_OPT_TEXT, .offset = AT(device), .arg = "DEVICE",
     .help =
         "one of `perfkit list devices`, or cuda:UUID of a GPU or a MIG instance (nvidia-smi -L); default: "
         "the fastest that works here"},
    {0},
};

const struct pk_opt pk_run_process_rows[] = {
    {"min-samples", .type = PK_OPT_INT, .offset = AT(min_samples), .arg = "N", .min = 1, .max = 1000000,
     .def = "15", .help = "minimum number of steady samples (3 under a tight --budget)"},
    {"max-samples", .type = PK_OPT_INT, .offset = AT(max_samples), .arg = "N", .min = 1, .max = 1000000,
     .def = "10000", .help = "maximum number of steady samples"},
    {"min-time", .type = PK_OPT_DURATION, .offset = AT(min_time_ns), .arg = "TIME", .max = 3.6e12,
     .def = "200ms",
     .help = "minimum measuring time; when only one of --min-time and --max-time is given, the other is "
             "adjusted to it"},
    {"max-time", .type = PK_OPT_DURATION, .offset = AT(max_time_ns), .arg = "TIME", .max = 3.6e12,
     .def = "1s", .help = "time cap, even if --max-noise is not reached"},
    {"max-noise", .type = PK_OPT_RATIO, .offset = AT(max_noise), .arg = "RATIO", .max = 1, .def = "0.5%",
     .help = "stop when the half-width of the median's interval is at most this"},
    {"warmup", .letter = 'w', .type = PK_OPT_INT, .offset = AT(warmup), .arg = "N", .min = -1, .max = 1000000,
     .def = "-1",
     .help = "number of warm-up iterations to discard; -1 detects the end of warm-up from the samples"},
    {0},
};

const struct pk_opt pk_run_device_rows[] = {
    {"threads", .letter = 't', .type = PK_OPT_INT, .offset = AT(threads), .arg = "N", .max = 4096, .def = "0",
     .group = "The device",
     .help = "threads on the CPU; 0 is one for each CPU that perfkit may use, which is also the maximum"},
    {"bind", .type = PK_OPT_TEXT, .offset = AT(bind), .arg = "CPUS", .def = "cores",
     .help = "binding of threads to CPUs: cores, one thread each; socket:N; numa:N, with its memory; a list, "
             "0-3,8; none"},
    {"cold", .type = PK_OPT_FLAG, .offset = AT(cold),
     .help = "empty the caches before every sample and repeat nothing within a sample (default: caches stay "
             "warm)"},
    {"memory-limit", .type = PK_OPT_SIZE, .offset = AT(limit_bytes), .arg = "SIZE", .min = 1, .max = 0x1p60,
     .help = "device memory that a case may use; default 90 % of the free memory"},
    {"seed", .type = PK_OPT_INT, .offset = AT(seed), .arg = "N", .max = 0x1p53, .def = "1",
     .help = "seed of inputs and orders; not given: inputs 1, order new in every run, printed by `show`"},
    {"no-check", .type = PK_OPT_FLAG, .offset = AT(no_check),
     .help = "do not check results against the reference first"},
    {0},
};

/* --- a run of these options ------------------------------------------------------------------------------------------------ */

static void message(void *user, bool warning, const char *text)
{
    if (warning)
        pk_print_warning(user, "%s", text);
    else
        pk_print_note(user, "%s", text);
}

struct pk_run pk_run_of(struct pk_app *app, struct pk_run_options *o, const struct pk_probe *probe)
{
    return (struct pk_run){.arena = app->arena,
                           .o = o,
                           .table = &app->tables[1],
                           .argc = app->argc,
                           .argv = app->argv,
                           .stop_flag = &pk_stop_flag,
                           .message = message,
                           .user = app,
                           .probe = probe};
}

struct pk_app *pk_run_app(const struct pk_run *r)
{
    return r->user;
}
