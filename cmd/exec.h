/* exec: functions that `run --suite` uses for an entry that is a command. */
#pragma once

#include "bench/command/command.h"
#include "cmd/cmd.h"

struct exec_options {
    struct pk_command_options command; /* what all have in common */
    const char *label, *bind, *counters;
    int64_t seed;
    struct pk_texts names, tags;
    bool no_counters, no_save;
};

struct exec {
    struct pk_app *app;
    const struct exec_options *o;
    struct pk_command_options *commands;
    struct pk_command_result *results; /* of each */
    size_t n;
    const char *cpus; /* of --bind; NULL = anywhere */
    struct pk_store *store;
    int64_t run_id;
    struct pk_counters counters; /* what --counters asks for, or what is usual */
    struct pk_progress *progress;
};

/* What is wrong with the options or the commands (pk_commands_read), before anything is opened or measured. */
enum pk_code pk_exec_check(struct exec *e, const struct pk_texts *args, bool in_words,
                           struct pk_err *err) PK_MUST_CHECK;

/* Measures, records into the store, prints the tables; the exit status of that. */
enum pk_code pk_exec_measure(struct exec *e, struct pk_err *err) PK_MUST_CHECK;
