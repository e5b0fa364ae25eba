/* Gate sides: the two sides of a gate, or of an entry of its suite: planned, recorded as a run each, and what their noise is.
 *
 *   plan.c      the cases of both sides, whether the sides are equal, and the criteria that no row will meet
 *   record.c    two runs tied by an id, the runners that measure into them, their ends, and the verdicts of their rows
 *   noise.c     what earlier calibrations say of the rows, and what equal sides add to it
 *
 * Steps: plan (of an experiment), compare, noise; check the criteria of all; begin; pk_gate_run with the parts; end; then the calibration of
 * equal sides and the verdicts of others. */
#pragma once

#include "judge/gate/gate.h"
#include "judge/gate/row_noise.h"
#include "judge/gate/side_runner.h"

enum { PK_GATE_WARMUP = 0 }; /* runs of a side that is a program, before those that count */

/* One side: what it is, and the run that it is recorded as. */
struct pk_gate_side {
    const char *option, *text; /* "a", and what was given */
    bool is_settings;          /* "dtype=bf16 variant=flash" of the experiment, else a program */
    const char *const *argv;   /* of a program: its words; of a perfkit, how its worker is started */
    struct pk_run run; /* with a store of its own and options that are not shared: the label is set here */
    struct pk_gate_mark mark;
    struct pk_experiment_runner experiment;
    struct pk_command_runner command;
};

struct pk_gate_sides {
    struct pk_arena *arena;
    const char *name, *place;     /* of the suite's entry: "flash", "perf.ini:12: [flash]"; NULL = no suite */
    const struct pk_probe *probe; /* NULL: two commands */
    const struct pk_run_options *options;  /* of both sides; a preset sets some of them */
    const struct pk_verdict_options *what; /* what is judged */
    const char *case_name, *prepare;       /* of commands; NULL = the program's name; nothing */
    struct pk_rule rule;
    struct pk_criteria criteria;
    size_t max_pairs;  /* its own; 0 = those of the gate */
    int64_t budget_ns; /* likewise */
    bool calibration;  /* both sides are one thing, measured for its noise */
    struct pk_gate_side side[PK_SIDES];
    bool equal;                     /* by pk_gate_sides_compare: what is found is noise, and kept as that */
    struct pk_row_noise *row_noise; /* of its rows, by earlier calibrations */
    size_t n_row_noise, n_calibration_rows; /* the latter: rows of this gate that were calibrated */
};

/* --- plan.c --- */

/* The cases of both sides of an experiment, partners at the same place; the samples get them. *warning: a sentence when cases that one side
 * does not have are left out, else NULL. Errors are those of pk_gate_match_cases and of the plans. */
enum pk_code pk_gate_sides_plan(struct pk_gate_sides *s, size_t part, struct pk_gate_samples *l,
                                const char **warning, struct pk_err *err) PK_MUST_CHECK;

/* Sets `equal`: both are measured as a calibration, or are the same program with the same words, or settings of the same cases. */
void pk_gate_sides_compare(struct pk_gate_sides *s);

/* Whether the cases and metrics of a side are known before it measures: those of a command and of another perfkit are not. */
bool pk_gate_sides_rows_known(const struct pk_gate_sides *s);
/* The errors of pk_expected_rows_check, of all sides whose rows are known. */
enum pk_code pk_gate_sides_check_criteria(const struct pk_gate_sides *v, size_t n,
                                          const struct pk_gate_samples *l, struct pk_errs *wrong,
                                          struct pk_err *err) PK_MUST_CHECK;

/* --- record.c --- */

/* Begins both runs of each, in the stores of the sides. parts[i] measures v[i] into the samples; pk_gate_run ends its runners. *order_seed is of
 * the turns, and of the cases within a process. */
enum pk_code pk_gate_sides_begin(struct pk_gate_sides *v, size_t n, struct pk_gate_samples *l,
                                 const struct pk_session_events *events, struct pk_gate_part *parts,
                                 uint64_t *order_seed, struct pk_err *err) PK_MUST_CHECK;
/* Ends every run; failed: measuring ended with an error. Adds the error of each that could not be written. */
void pk_gate_sides_end(struct pk_gate_sides *v, size_t n, const struct pk_gate_result *result, bool failed,
                       struct pk_errs *wrong);
/* The verdicts of its rows, beside their samples; nothing where a run went into a spool. */
enum pk_code pk_gate_sides_verdicts(const struct pk_gate_sides *s, size_t part, const struct pk_comparison *c,
                                    const struct pk_gate_samples *l, struct pk_err *err) PK_MUST_CHECK;

/* --- noise.c --- */

/* Finds the noise of its rows in this store, before anything is measured; that it cannot be read is no error. PK_E_UNDECIDED for a threshold
 * below it, as pk_noise_check says it. */
enum pk_code pk_gate_sides_noise(struct pk_gate_sides *s, struct pk_store *store,
                                 const struct pk_gate_samples *l, bool by_rule,
                                 struct pk_err *err) PK_MUST_CHECK;
/* Keeps what equal sides showed, in the store of the base; their rows are then not judged. Of an interrupted gate nothing is kept. */
enum pk_code pk_gate_sides_calibrate(struct pk_gate_sides *s, size_t part, struct pk_gate_result *result,
                                     const struct pk_gate_samples *l, struct pk_err *err) PK_MUST_CHECK;

/* A sentence about the noise; NULL = it is not known. */
const char *pk_gate_sides_noise_note(const struct pk_gate_sides *s);
/* A sentence when so few fresh pairs confirm a row that only large changes are detected, else NULL. */
const char *pk_gate_sides_pairs_note(const struct pk_gate_sides *s);
