/* Bisect: what the files of this folder share.
 *
 * All of a search is in a folder of the git directory, perfkit-bisect: base/ and tree/ are working trees of their own, so that the
 * user's is left alone; state.json is written after each step, and --resume goes on from there; build.log, gate.log and git.log are the
 * output of the newest program of each kind. */
#pragma once

#include "cmd/cmd.h"
#include "json/json.h"

struct search {
    struct pk_app *app;
    struct pk_arena *a;
    const char *folder; /* absolute */
    json_t *state;      /* base, new, side, gate, build (words), min_effect (once it is known), steps */
};

/* --- programs.c: programs that write into a file of the folder --- */

const char *pk_bisect_path(const struct search *s, const char *name);
/* Runs a program in one of the trees (NULL: the working directory). Its exit status, 128 and the signal that ended it, or 127 when it
 * cannot be started (the reason is its output). A stop signal ends it with all it started, except git. */
int pk_bisect_run(const struct search *s, const char *tree, const char *output, const char *const *argv);
/* The last line of an output that is not empty. */
const char *pk_bisect_last_line(const struct search *s, const char *output);
/* The last error in the output of a gate, with its cause. */
const char *pk_bisect_gate_error(const struct search *s);
#define PK_BISECT_GIT(s, tree, ...)                                                                          \
    pk_bisect_run(s, tree, "git.log", (const char *const[]){"git", __VA_ARGS__, NULL})
/* PK_E_IO "WHAT: git failed", with the last line of its output. */
enum pk_code pk_bisect_git_failed(const struct search *s, const char *what, struct pk_err *err) PK_MUST_CHECK;
/* The first line of a commit's message; "" when git fails. */
const char *pk_bisect_subject(const struct search *s, const char *commit);

/* --- steps.c: what is done with a commit, and what is decided --- */

const char *pk_bisect_text(const struct search *s, const char *key); /* of the state */
/* The state, to its file. */
enum pk_code pk_bisect_save(const struct search *s, struct pk_err *err) PK_MUST_CHECK;
/* The first 12 digits. */
const char *pk_bisect_short(const struct search *s, const char *commit);
/* Runs BUILD in a tree: as pk_bisect_run. */
int pk_bisect_build(const struct search *s, const char *tree);
/* A gate of tree/ against base/, or its dry run: its exit status; -1 and an error for options that are none. */
int pk_bisect_gate(const struct search *s, const char *commit, bool dry_run, struct pk_err *err);
/* The ratio of the row that moved most in that gate, of the slower ones if there are any; worse is above 1. NaN without one. */
double pk_bisect_ratio(const struct search *s);
double pk_bisect_change(double ratio); /* in per cent, as it is printed: never -0.0 */
/* Builds and gates the commit that git chose, and adds the step to the state. */
enum pk_code pk_bisect_decide(const struct search *s, const char *commit, struct pk_err *err) PK_MUST_CHECK;
/* PK_E_INTERRUPTED, with the way to continue. */
enum pk_code pk_bisect_interrupted(struct pk_err *err) PK_MUST_CHECK;
/* The table of all steps. */
void pk_bisect_print(const struct search *s);
