/* Tables: the tables that `run` prints when it ends and `show` prints later. */
#pragma once

#include "opt/opt.h"
#include "store/store.h"

/* run_tables.c: a line that identifies the run, its time and device; then on a screen, unless tables were chosen, the findings, the headline table,
 * the tables that options of the run asked for, at most three lines of doubts and the names of all other tables with what they are about; else the tables of
 * its experiment, in the order of its probe; for cases without a probe (exec, a peer's own, an experiment this build does not have) the
 * built-in ones. */
enum pk_code pk_run_tables(struct pk_store *s, int64_t run_id, struct pk_out *out,
                           struct pk_err *err) PK_MUST_CHECK;

struct pk_probe; /* bench/probe.h */

/* Adds the names of all tables that a run can have, also one of an own experiment; NULL = of none. */
void pk_table_names(struct pk_texts *names, const struct pk_probe *own, struct pk_arena *a);
/* PK_E_USAGE for a name that no run's table has; "all" is one. */
enum pk_code pk_table_names_check(const struct pk_texts *names, const struct pk_probe *own,
                                  struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* The message of the failed cases of a run; where they differ, the most common one, and of equally common ones the first. */
const char *pk_failed_text(struct pk_store *s, int64_t run_id, struct pk_arena *a);

/* All tables, without the line above them. The views of the run are narrowed (pk_store_narrow). */
enum pk_code pk_run_all_tables(struct pk_store *s, int64_t run_id, struct pk_out *out,
                               struct pk_err *err) PK_MUST_CHECK;
/* What --counters, --breakdown and --allocations of the run were for, as far as there are rows. */
enum pk_code pk_run_requested_tables(struct pk_store *s, const char *experiment, int64_t run_id,
                                     struct pk_out *out, struct pk_err *err) PK_MUST_CHECK;
/* On a screen, a line that counts the cases with doubts and names the option that shows them, such as " --details". */
enum pk_code pk_run_noise(struct pk_store *s, int64_t run_id, const char *option, struct pk_out *out,
                          struct pk_err *err) PK_MUST_CHECK;
/* A note for each row of a query. experiment may be NULL. */
enum pk_code pk_run_notes(struct pk_store *s, const char *query, const char *experiment, int64_t run_id,
                          struct pk_out *out, struct pk_err *err) PK_MUST_CHECK;
/* The number of commands that a run measured; 0 = it is no run of exec, or its one command failed. */
int64_t pk_run_count_commands(struct pk_store *s, int64_t run_id);
/* Of one command what fits eight lines; the CPU events, the state of the machine and what the columns are come with --details. */
enum pk_code pk_run_commands(struct pk_store *s, int64_t run_id, int64_t n, struct pk_out *out,
                             struct pk_err *err) PK_MUST_CHECK;
/* "perfkit show 1 --details", which measures nothing again; NULL for a run that is not kept. */
const char *pk_run_show_command(struct pk_store *s, int64_t run_id, const char *option, struct pk_arena *a);

/* counter_table.c: the counts of counter passes and the metrics derived from them. Columns: variant, axes, region, then each derived
 * metric, then each event, then by how much counting slowed the region down. Where the table is too wide, the last columns are dropped
 * first. Prints nothing when nothing of the experiment was counted. */
enum pk_code pk_counter_table(struct pk_store *s, int64_t run_id, const char *experiment, struct pk_out *out,
                              struct pk_err *err) PK_MUST_CHECK;

/* states.c: the state of the machine while a run was timed, as one row of a table for `show` and one per run for `compare`.
 *
 * A digest of v_state and v_doubt (docs/machine-state.md): totals as shares of the time, clocks and loads as means with their extremes,
 * and how many cases have which doubt. Of a run with many cases only the first PK_STATES_CASES are read: cases are shuffled in time, and
 * notes are JSON, which takes long to read. */
enum { PK_STATES_CASES = 300 };

struct pk_run_state {
    const char *side; /* "base", "new", "both"; NULL = there is one, and its tables name its doubts */
    int64_t run_id;
    struct pk_rows state; /* the row of query state; none where nothing was recorded */
    bool partly;          /* the run has more cases than were read */
};

/* Fills all but `side`. In the arena. */
enum pk_code pk_run_state_read(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                               struct pk_run_state *out, struct pk_err *err) PK_MUST_CHECK;

/* On a screen, a note for the runs with disturbed cases; for the place above the first table. */
void pk_run_states_noise(struct pk_out *out, const struct pk_run_state *v, size_t n, struct pk_arena *a);

/* The table "states", with a row for each that has something recorded; nothing when no row has a visible value. n >= 1. In text formats,
 * columns without any value are left out. */
void pk_run_states_print(struct pk_out *out, const struct pk_run_state *v, size_t n, struct pk_arena *a);

/* ceilings.c: tables of the peak rates of a device: what was reached, the levels of its memory, and the rate over size, which pk_store_curve
 * gives. key: the device as it is stored (pk_ceilings_key). */
struct pk_stored_ceilings; /* bench/client/ceilings_store.h */
void pk_ceilings_print(struct pk_out *out, const char *key, const struct pk_stored_ceilings *stored,
                       const struct pk_rows *curve, struct pk_arena *a);
