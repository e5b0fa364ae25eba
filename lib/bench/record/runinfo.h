/* Runinfo: data stored with a run in addition to its results: machine, repository, command line, version. */
#pragma once

#include "store/store.h"

/* Fills machine, topology, git_commit, git_dirty, git_branch, command_line, version. settings, tags, experiment and label are not
 * changed. argv is quoted so that a shell reads the same words back. */
enum pk_code pk_run_info_fill(struct pk_run_info *info, int argc, const char *const *argv, struct pk_arena *a,
                              struct pk_err *err) PK_MUST_CHECK;

/* PK_E_USAGE when the text of an option that is recorded is not UTF-8. NULL is fine. */
enum pk_code pk_text_check(const char *option, const char *text, struct pk_err *err) PK_MUST_CHECK;

/* PK_E_USAGE for a label that cannot name a run: an empty one, a number, what begins with @. NULL is fine. */
enum pk_code pk_label_check(const char *label, struct pk_err *err) PK_MUST_CHECK;

/* "key=value" texts of --tag as a JSON object; a usage error names the one without '=', or the key that comes twice. */
enum pk_code pk_tags_json(const char *const *tags, size_t n, struct pk_arena *a, const char **json,
                          struct pk_err *err) PK_MUST_CHECK;

/* One argument as it has to be typed in a shell, and a line of at most n arguments, which ends at NULL. */
const char *pk_shell_quote(const char *arg, struct pk_arena *a);
const char *pk_shell_line(const char *const *argv, size_t n, struct pk_arena *a);
