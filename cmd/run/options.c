/* Run, options: tables of every command that measures cases of an experiment: run, gate, calibrate. They fill struct run_options. */
#include "cmd/run/run.h"

#include <stddef.h>

#define AT(member) offsetof(struct run_options, member)

const struct pk_opt pk_run_grid_rows[] = {
    {"axis", 'a', PK_OPT_LIST, AT(axes), "AXIS=VALUES", .group = "What to measure",
     .help = "values of an axis: 64,128 or '256:16384:*2' or 1MiB:64MiB:+1MiB; also as --AXIS VALUES"},
    {"preset", 'p', PK_OPT_TEXT, AT(preset), "NAME",
     .help = "named grid of the experiment (quick, seed, full); without it the first that fits the memory"},
    {"variant", 'v', PK_OPT_LIST, AT(variants), "NAME",
     .help = "implementations to measure, instead of all: vanilla,flash"},
    {0},
};

const struct pk_opt pk_run_place_rows[] = {
    {"filter", 'f', PK_OPT_TEXT, AT(filter), "EXPR",
     .help = "keep only cases that match: seq_len>=1024,variant=flash|fused"},
    {"device", 'd', PK_OPT_TEXT, AT(device), "DEVICE",
     .help = "one of `perfkit list devices`; without it the fastest that works here"},
    {0},
};

const struct pk_opt pk_run_process_rows[] = {
    {"min-samples", 0, PK_OPT_INT, AT(min_samples), "N", 1, 1000000, .def = "15",
     .help = "at least so many steady samples (3 under a tight --budget)"},
    {"max-samples", 0, PK_OPT_INT, AT(max_samples), "N", 1, 1000000, .def = "10000",
     .help = "at most so many steady samples"},
    {"min-time", 0, PK_OPT_DURATION, AT(min_time_ns), "TIME", 0, 3.6e12, .def = "200ms",
     .help = "measure at least so long; --min-time or --max-time follows the one that is given"},
    {"max-time", 0, PK_OPT_DURATION, AT(max_time_ns), "TIME", 0, 3.6e12, .def = "1s",
     .help = "time cap, even if --max-noise is not reached"},
    {"max-noise", 0, PK_OPT_RATIO, AT(max_noise), "RATIO", 0, 1, .def = "0.5%",
     .help = "stop when the median's interval is at most this wide (half-width)"},
    {"warmup", 'w', PK_OPT_INT, AT(warmup), "N", -1, 1000000, .def = "-1",
     .help = "iterations to leave out; -1 finds the end of warm-up in the samples"},
    {0},
};

const struct pk_opt pk_run_device_rows[] = {
    {"threads", 't', PK_OPT_INT, AT(threads), "N", 0, 4096, .def = "0", .group = "The device",
     .help = "threads on the CPU; 0 is one for each CPU that perfkit may use, and more are refused"},
    {"bind", 0, PK_OPT_TEXT, AT(bind), "CPUS", .def = "cores",
     .help =
         "threads to CPUs: cores, one thread each; socket:N; numa:N, with its memory; a list, 0-3,8; none"},
    {"cold", 0, PK_OPT_FLAG, AT(cold),
     .help =
         "empty the caches before every sample, and repeat nothing within one; without it they stay warm"},
    {"memory-limit", 0, PK_OPT_SIZE, AT(limit_bytes), "SIZE", 1, 0x1p60,
     .help = "device memory a case may take; default 90 % of what is free"},
    {"seed", 0, PK_OPT_INT, AT(seed), "N", 0, 0, .def = "1", .help = "seed of inputs and orders"},
    {"no-check", 0, PK_OPT_FLAG, AT(no_check), .help = "do not compare results with the reference first"},
    {0},
};
