/* Run: what the files of this folder share; its options and its runs are those of both sides of a gate, too. */
#pragma once

#include "bench/run/run.h"
#include "cmd/cmd.h"

/* A run of the app's command; pk_run_app gives the app back. */
struct pk_run pk_run_of(struct pk_app *app, struct pk_run_options *o, const struct pk_probe *probe);
struct pk_app *pk_run_app(const struct pk_run *r);

/* experiment.c: what is wrong with the options alone; measuring a prepared run, or what --dry-run prints; what a rank but 0 does
 * instead, where mpirun or srun started this command on every rank. */
enum pk_code pk_run_check(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_run_measure(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_run_follow(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;

/* dry.c: --dry-run. */
void pk_run_print_plan(const struct pk_run *r);
/* "measured", or why not, or on what that hangs which is not known here. */
const char *pk_run_outlook(const struct pk_run *r, const struct pk_planned_case *p, struct pk_arena *a);
/* What the plan does not know of its device; NULL = nothing. */
const char *pk_run_device_note(const struct pk_run *r);
/* Begins a table of cases. Its title says device, preset and the axes in which all agree; the column "case" is for programs alone
 * where they agree in all. */
void pk_run_case_table(const struct pk_run *r, const char *name, const struct pk_column *cols, size_t n);

/* profile.c: --profile and --once; which of them was given. */
const char *pk_run_profile_option(const struct pk_run *r);
enum pk_code pk_run_profile(struct pk_run *r, struct pk_err *err) PK_MUST_CHECK;

/* options.c: tables for the options of commands that measure cases; into struct pk_run_options. */
extern const struct pk_opt pk_run_grid_rows[], pk_run_place_rows[], pk_run_process_rows[],
    pk_run_device_rows[];
