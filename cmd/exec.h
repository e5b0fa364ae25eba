/* exec: functions that `run --suite` uses for an entry that is a command. */
#pragma once

#include "bench/command/command.h"
#include "cmd/cmd.h"

struct exec_options {
    int64_t runs, min_runs, max_runs, min_time_ns, warmup, timeout_ns;
    const char *prepare, *name, *label, *bind, *counters;
    struct pk_texts tags;
    bool ignore_failure, no_counters, no_save;
};

struct exec {
    struct pk_app *app;
    const struct exec_options *o;
    const char *const *argv;
    const char *cpus; /* of --bind; NULL = anywhere */
    struct pk_store *store;
    int64_t run_id;
    struct pk_counters counters; /* what --counters asks for, or what is usual */
    struct pk_progress *progress;
    struct pk_command_result result;
};

/* What is wrong with the options or the command, before anything is opened or measured. */
enum pk_code pk_exec_check(struct exec *e, struct pk_err *err) PK_MUST_CHECK;

/* Measures, records into the store, prints the tables; the exit status of that. */
enum pk_code pk_exec_measure(struct exec *e, struct pk_err *err) PK_MUST_CHECK;
