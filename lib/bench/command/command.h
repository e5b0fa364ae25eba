/* Command: measures any program from outside, run after run, until its mean is known well enough, or several in turns, and collects what
 * they report through the protocol (docs/protocol.md).
 *
 * Every run of the command is an invocation with one sample per metric (wall_ns, user_ns, system_ns, peak_bytes, ...: see
 * spawner.c below), so that intervals are over processes. Samples that the command reports without naming a case join its own; each
 * case that it names is recorded as a case of the run.
 *
 * More runs follow as counter passes (counter_passes.h), usually one: they give counts and no times, and messages of the command in them
 * are ignored. */
#pragma once

#include "bench/record/record.h"
#include "counter/select.h"
#include "opt/opt.h"

struct pk_command_options {
    const char *const *argv; /* NULL-terminated; argv[0] is found in PATH unless it has a slash */
    const char *name;        /* name of the case; NULL = the command line. Equal names can be compared */
    bool several;            /* it is not the only command of its run */
    const char *cpus;        /* "0-3,8": where it may run (machine/bind.h); NULL = anywhere */
    const char *prepare;     /* a shell command before each run, untimed; NULL = none */
    const struct pk_counters *counters; /* for more runs, unless one failed or took too long; NULL = none */
    bool ignore_failure;                /* an exit status other than 0 is a note, not a failed case */
    int64_t warmup;                     /* runs that are not recorded */
    int64_t runs;                       /* exact number; 0 = until min_runs and min_time_ns are reached */
    int64_t min_runs, max_runs;
    int64_t
        min_time_ns; /* from the first run to the last, with everything between; of several commands, their mean */
    int64_t timeout_ns;  /* of one run with its prepare */
    uint64_t order_seed; /* of several commands: of the order of their turns, equal for equal seeds */
};

struct pk_command_events {
    /* after each round was recorded; may be NULL */
    void (*ran)(void *user, int64_t done, int64_t expected, int64_t left_ns);
    /* after each slice was recorded: of the command's own case, then of those it named; may be NULL */
    void (*slice)(void *user, const struct pk_case_info *c, const struct pk_slice *s);
    void *user;
};

struct pk_command_result {
    int64_t runs;
    size_t cases;        /* the command's own and those it named */
    enum pk_status last; /* how the last run ended; the first that is not ok is the last */
    /* PK_OK; PK_E_NOTHING: the last run failed or was late; PK_E_CHECK: what it reported is wrong, or says that its result is;
     * PK_E_INTERNAL: perfkit could not run it */
    enum pk_code verdict;
    const char *message;         /* why not ok; in the caller's arena */
    const char *why_not_counted; /* why a counter pass gave no counts; "" = there was none, or it did */
    bool interrupted;            /* *stop_flag was set: of the run in flight not all is recorded */
};

/* Before anything is recorded. PK_E_USAGE when argv[0] cannot be found or a word is not UTF-8. */
enum pk_code pk_program_find(const char *const *argv, struct pk_err *err) PK_MUST_CHECK;
/* The file that a word of that name would run: itself when it has a slash, else found in PATH; "" = none. */
const char *pk_program_path(const char *program, struct pk_arena *a);

/* The name of a command's case: its own, or its command line. */
const char *pk_command_name(const struct pk_command_options *o, struct pk_arena *a);
/* The commands that arguments name: the words of one where `in_words`, else a command line each (pk_words_split). Each gets *common, its
 * words, and the name at its place in `names` (none: it is named by its command line). PK_E_USAGE for a program that cannot be found and
 * for two commands of one name; nothing has been measured then. */
enum pk_code pk_commands_read(const struct pk_texts *args, bool in_words, const struct pk_texts *names,
                              const struct pk_command_options *common, struct pk_arena *a,
                              struct pk_command_options **out, size_t *n, struct pk_err *err) PK_MUST_CHECK;

/* Measures and records n commands in rounds: a run of each in the order of pk_turn_order. Invocation k of each is of round k. The o[i]
 * differ in argv and name. A run that fails or takes too long is recorded and is the last of its command; the others go on. out[0..n).
 * Errors are the recorder's and the store's. */
enum pk_code pk_commands_measure(const struct pk_command_options *o, size_t n, struct pk_recorder *rec,
                                 const struct pk_command_events *ev, const volatile int *stop_flag,
                                 struct pk_arena *a, struct pk_command_result *out,
                                 struct pk_err *err) PK_MUST_CHECK;

/* The error of a command that ended by itself before there were enough runs; PK_OK when there are. */
enum pk_code pk_command_ended(const struct pk_command_options *o, const struct pk_command_result *r,
                              struct pk_err *err) PK_MUST_CHECK;

/* --- run by run, for callers that control the order --------------------------------------------------------------------------- */

struct pk_command_turn {
    enum pk_pass pass;
    size_t round; /* of a counter pass */
    int invocation;
    bool warmup;    /* not recorded, unless it fails */
    bool as_warmup; /* its samples are recorded as warm-up (wire/slice.h) */
};

struct pk_command;

/* In the arena, which outlives it, as o, rec, and ev do. */
struct pk_command *pk_command_open(const struct pk_command_options *o, struct pk_recorder *rec,
                                   const struct pk_command_events *ev, const volatile int *stop_flag,
                                   struct pk_arena *a);

/* Records its own case, which else happens after its first run. */
enum pk_code pk_command_record(struct pk_command *c, struct pk_err *err) PK_MUST_CHECK;
/* One run, in a fresh process. Of *out it sets last, verdict and message, and interrupted when it was. */
enum pk_code pk_command_run(struct pk_command *c, const struct pk_command_turn *turn,
                            struct pk_command_result *out, struct pk_err *err) PK_MUST_CHECK;

/* Its own case. */
const struct pk_case_info *pk_command_own(const struct pk_command *c);
size_t pk_command_cases(const struct pk_command *c); /* its own and those it named so far */
void pk_command_close(struct pk_command *c);

/* A row per event and metric of each command's own case (region "iteration": one run of the command), after record/counters.h. Time is
 * wall_ns. Reads the store only. */
enum pk_code pk_command_counters(struct pk_store *s, int64_t run_id, const struct pk_counters *counters,
                                 struct pk_err *err) PK_MUST_CHECK;

/* --- spawner.c: a small process that starts commands, so that the size of the parent does not show in their peak memory: Linux
 * hands the peak of the process image before exec on to the one after it.
 *
 * It reads measure requests that carry "command" (array of words), "prepare" (a shell line; optional) and "ignore_failure" on
 * a socket and replies each with a slice on the same socket:
 *   wall_ns             from just before exec until the exit is known
 *   user_ns, system_ns  CPU time of the command and its waited-for children
 *   peak_bytes          resident memory of its largest process
 *   page_faults, context_switches   counted by the kernel, minor and major, voluntary and not
 * and the note "exit_status" (128 + signal when a signal ended it). When the request's pass is "counter" and it carries "counters" the
 * reply has counts instead: nothing is timed where something is counted. The command inherits the spawner's stderr and
 * PERFKIT_WIRE_FD, a pipe of its own for each request; its stdin and stdout are /dev/null. */

/* Serves until end of input or a signal, which sets *stop_flag. What runs at that moment got the signal too, and is waited for: it may
 * remove its files. */
enum pk_code pk_spawner_serve(int fd, const volatile int *stop_flag, struct pk_err *err) PK_MUST_CHECK;
