/* Gate: what the files of this folder share. */
#pragma once

#include "bench/own/descriptor.h"
#include "cmd/compare/compare.h"
#include "cmd/frame/entries.h"
#include "cmd/run/run.h"
#include "judge/gate/sides/sides.h"

/* Paths; NULL = not wanted. */
struct pk_report_files {
    const char *junit, *summary, *json, *gab, *gab_bigger;
};
extern const struct pk_opt pk_report_rows[]; /* options that fill it */

/* Of gate and calibrate; they write into struct pk_run_options. */
extern const struct pk_opt pk_gate_record_rows[];

struct gate_options {
    struct pk_run_options run; /* first: the rows that a gate shares with `run` write there */
    const char *a, *b, *against;
    struct pk_verdict_options verdict;
    bool until_clear, no_fail;
    int64_t max_pairs;
    int64_t pairs;   /* of calibrate; 0 = a gate */
    double interval; /* of calibrate: the half-width that processes and samples are advised for */
    const char *name, *prepare;
    struct pk_report_files files;
};

/* What is measured: the one thing of a gate, or an entry of its suite. */
struct gate_entry {
    const struct pk_entry *of;
    struct pk_app *app; /* with the entry's options */
    struct gate_options *o;
    struct pk_gate_sides *sides;
    struct pk_run_facts facts[PK_SIDES];
    struct pk_run_state states[PK_SIDES];
    struct pk_threshold *thresholds; /* of its rows alone */
    size_t n_thresholds;
};

struct gate {
    struct pk_app *app;
    struct pk_entries list;
    struct gate_options *o; /* of all entries */
    struct gate_entry *entries;
    struct pk_gate_sides *sides; /* of the entries, like the parts */
    struct pk_gate_part *parts;
    size_t n_entries;
    struct pk_threshold *thresholds;
    struct pk_gate_samples samples;
    struct pk_session_events events; /* warnings of the workers */
    struct pk_gate_result result;
    uint64_t order_seed; /* of turns, and of the cases within a process */
    struct pk_texts warned;
    const char *outcome; /* as a word */
    bool reported;       /* the files for others are written, or could not be */
    uint64_t began_ns, elapsed_ns;
};

/* sides.c: what --a and --b mean. */
enum pk_code pk_gate_read_sides(struct gate_entry *e, struct pk_err *err) PK_MUST_CHECK;
/* The line of each side of an entry that is a command: those of a and b, or one line with a side put into it. */
enum pk_code pk_gate_read_command(const struct pk_entry *s, struct gate_options *o,
                                  struct pk_err *err) PK_MUST_CHECK;
/* outcome.c: what is printed and written for others, and the exit status. */
enum pk_code pk_gate_outcome(struct gate *g, struct pk_err *err) PK_MUST_CHECK;
struct pk_ended_gate pk_gate_as_ended(const struct gate *g);
enum pk_code pk_gate_print_calibration(const struct gate_entry *e, struct pk_out *out,
                                       struct pk_err *err) PK_MUST_CHECK;
void pk_gate_print_plan(const struct gate *g);

/* notes.c: what is known of the noise, or how to find out; and of which entries no row is known yet. */
void pk_gate_note_noise(const struct gate *g, struct pk_out *out);
void pk_gate_note_unknown(const struct gate *g, struct pk_out *out);

/* Of a short output, below its tables: the closing note, and a red gate's error. */
enum { PK_GATE_MESSAGE_LINES = 8 };

/* --- report.c: the one place that writes the files for others --- */

/* Can they be written, each of its own? Asked before anything is measured. PK_E_USAGE for two that are one file, -o among them. Each that
 * cannot be is reported and taken out of *f: the others can still be written. */
enum pk_code pk_reports_check(const struct pk_app *app, struct pk_report_files *f,
                              struct pk_err *err) PK_MUST_CHECK;

struct pk_report_content {
    const struct pk_comparison *comparison;
    const struct pk_failure *failures;
    size_t n_failures;
    const char *word;                    /* of the outcome; NULL = its code's */
    const struct pk_run_facts *measured; /* where and when; NULL = nothing was */
    enum pk_code (*print)(void *user, struct pk_out *out, struct pk_err *err); /* the tables */
    void *user;
};
/* Every file that the options name; in a GitHub workflow also annotations, on standard error, the step's summary and its outputs. `outcome`
 * is the command's, described in err. Returns the command's code. A file that cannot be written hides neither the outcome nor another file:
 * its error is printed where there is an outcome to return, and is err where there is none. */
enum pk_code pk_gate_report(struct gate *g, const struct pk_report_content *content, enum pk_code outcome,
                            struct pk_err *err) PK_MUST_CHECK;
/* Of an error that ended it before there was an outcome: red, whatever is known by then. Returns err->code. */
enum pk_code pk_gate_report_error(struct gate *g, struct pk_err *err) PK_MUST_CHECK;

/* against.c: --against: a stored run, or those of every entry of a suite, judged as one. */
enum pk_code pk_gate_against(struct gate *g, struct pk_err *err) PK_MUST_CHECK;

/* gate.c: the entries, of which there is one without a suite. */
enum pk_code pk_gate_open(struct gate *g, const struct pk_probe *probe, struct pk_err *err) PK_MUST_CHECK;
/* PK_E_USAGE for an option of experiments where commands are measured, and the other way round. */
enum pk_code pk_gate_check_options(const struct gate_entry *e, struct pk_err *err) PK_MUST_CHECK;
/* Measures and records entries whose sides are read, and ends with an outcome. */
typedef enum pk_code pk_gate_outcome_fn(struct gate *g, struct pk_err *err);
enum pk_code pk_gate_measure(struct gate *g, pk_gate_outcome_fn *outcome, struct pk_err *err) PK_MUST_CHECK;
