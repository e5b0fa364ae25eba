/* Cmd: the interface of a subcommand. Each subcommand is a file or a folder with three parts: a comment that says what it does, its
 * option rows, its function.
 *
 * A command reads options, calls the library, emits rows. No measuring, no SQL, no statistics here.
 * To add one: write cmd/NAME.c (of several files: cmd/NAME/NAME.c) that exports `const struct pk_cmd pk_cmd_NAME`, add it to the list in
 * cmd/meson.build (the registry, in the order of `perfkit help`), describe it in docs/.
 *
 * Exit status: 0 ok; 1 internal, I/O or check failure; 2 usage; 3 regression; 4 undecided; 5 not
 * comparable; 6 nothing measured or not available; 130 interrupted. */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "bench/own/program.h"
#include "bench/session/session.h"
#include "opt/opt.h"
#include "out/out.h"
#include "store/store.h"

/* Options every command has. */
struct pk_globals {
    const char *db; /* --db */
    int64_t query_limit_ns;
    const char *format;   /* --format */
    const char *output;   /* -o */
    const char *color;    /* --color auto|always|never */
    bool csv_safe;        /* --csv-safe */
    bool details;         /* --details */
    const char *plot;     /* --plot terminal|gnuplot; NULL = no */
    int64_t width;        /* --width, 0 = no limit, -1 = the terminal's */
    int64_t height;       /* --height, likewise */
    const char *progress; /* --progress auto|plain|none */
    bool quiet;           /* -q: no notes on stderr; errors stay */
};

struct pk_app {
    struct pk_arena *arena; /* the command's */
    struct pk_globals *globals;
    void *options;                 /* the command's struct, filled from its rows */
    struct pk_opt_input input;     /* what they are parsed from */
    struct pk_opt_table tables[3]; /* the globals', the command's, and the axes of the experiment */
    struct pk_texts args;          /* positional */
    struct pk_own **programs;      /* those that described their experiments; of all copies of the app */
    struct pk_out *out; /* where rows go, opened before run(); with -o a file that replaces FILE at the end */
    FILE *text;         /* the same stream, for output that is not a table (a script); use one of the two */
    struct pk_progress *progress; /* its bar may be on the last line of stderr; NULL = none */
    const char *closing_note;     /* a note for when the rows are out; NULL = none */
    bool mute; /* another process of the same command speaks: this one prints and writes nothing but errors */
    int argc;
    const char **argv; /* as typed, for the command line that is recorded */
};

struct pk_cmd {
    const char *name, *summary;
    const char *usage;            /* "run EXPERIMENT [options]" */
    const char *examples;         /* lines for -h */
    const struct pk_opt *options; /* rows; may be NULL */
    size_t options_bytes;         /* size of the option struct */
    const char *exact_args;       /* "1", "0-1", "2", "0+": checked by dispatch.c */
    /* Whether the first argument is an experiment, whose axes are options, too. */
    enum pk_cmd_axes { PK_AXES_NONE, PK_AXES_OPTIONAL, PK_AXES_REQUIRED } axes;
    bool format_first; /* the first argument is the format, not --format (export) */
    const char *const *
        text_formats; /* more formats, NULL-terminated: what the command itself writes to app->text; NULL = none */
    bool plots;       /* it draws a chart with --plot */
    const char *output; /* the file that it writes without -o; NULL = standard output */
    bool hidden;
    bool explains; /* help: runs, too, where the environment or a config file is wrong */
    enum pk_code (*run)(struct pk_app *app, struct pk_err *err);
};

/* A note for people on stderr ("perfkit: ..."); silent with --quiet. */
void pk_print_note(const struct pk_app *app, const char *fmt, ...) PK_PRINTF(2, 3);
/* A warning on stderr, never silent. */
void pk_print_warning(const struct pk_app *app, const char *fmt, ...) PK_PRINTF(2, 3);

/* Each of several errors is reported: prints *err when `rc` tells that one is waiting there, and puts `next` in its place, whose code is
 * returned. */
enum pk_code pk_another_error(enum pk_code rc, const struct pk_err *next, struct pk_err *err) PK_MUST_CHECK;

/* The same of all of a list: each but the last is printed. PK_OK when it is empty. */
enum pk_code pk_all_errors(const struct pk_errs *errs, struct pk_err *err) PK_MUST_CHECK;

/* Options of a command that records: PK_E_USAGE for --no-save with --label or --tag, and for a label that cannot name a run. */
enum pk_code pk_record_options_check(const struct pk_opt_table *table, const char *label,
                                     struct pk_err *err) PK_MUST_CHECK;

/* Whether --format is one that people read. */
bool pk_for_people(const struct pk_app *app);

/* The store at path; NULL = where --db, PERFKIT_DB or the default say. Waiting for another process's lock is noted, and ended by
 * Ctrl-C. */
enum pk_code pk_open_store(struct pk_app *app, const char *path, enum pk_store_mode mode, struct pk_store **s,
                           struct pk_err *err) PK_MUST_CHECK;
/* The experiment of a name: built in, or described by the program that the name is, which is asked once. */
enum pk_code pk_experiment_named(struct pk_app *app, const char *name, const struct pk_probe **p,
                                 struct pk_err *err) PK_MUST_CHECK;

/* What the store understands of a name of runs: "merge-base:BRANCH" and "commit:NAME" become the commit that they are, the rest stays. */
enum pk_code pk_run_ref(struct pk_app *app, const char **ref, struct pk_err *err) PK_MUST_CHECK;
/* The same for reading a run: "@", "@~1", an id, a baseline, "merge-base:BRANCH" or a label there, or "FILE.db:REF" elsewhere. */
enum pk_code pk_open_run(struct pk_app *app, const char *ref, struct pk_store **s, int64_t *run_id,
                         struct pk_err *err) PK_MUST_CHECK;

/* Likewise several runs, as pk_store_open_refs reads them; with `of` those of an entry of a suite. of_app: a
 * struct pk_app, for struct pk_run_source. */
enum pk_code pk_open_runs(void *of_app, const char *ref, const struct pk_entry_name *of, struct pk_store **s,
                          int64_t **ids, size_t *n, struct pk_err *err) PK_MUST_CHECK;

/* What SIGINT, SIGTERM, SIGHUP and SIGQUIT do, of which those that were ignored at the start (nohup, a shell's background job) stay
 * ignored. main installs a handler that sets the flag. */
void pk_on_stop_signals(void (*handler)(int));
extern volatile int pk_stop_flag;
/* A signal ends the command in order, however long that takes: it records or measures. */
extern volatile int pk_must_finish;

/* --- progress: the state of a run on standard error, printed only between slices --- */

struct pk_progress {
    struct pk_app *app;
    enum { PK_PROGRESS_NONE, PK_PROGRESS_PLAIN, PK_PROGRESS_BAR } kind;
    bool drawn; /* a bar is on the line */
};

/* --progress auto|plain|none: auto is a bar on a terminal and nothing elsewhere. */
void pk_progress_begin(struct pk_progress *p, struct pk_app *app);
void pk_progress_slice(void *progress, const struct pk_planned_case *c, const struct pk_slice *s, size_t done,
                       size_t total, int64_t left_ns);
void pk_progress_warning(void *progress, const char *text);
void pk_progress_end(struct pk_progress *p);
