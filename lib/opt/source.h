/* Source: what the readers of option values share: command_line.c (popt), config.c (the environment, and files over inih), suite.c. Each finds
 * rows by name and sets them here. Private to lib/opt. */
#pragma once

#include "opt/opt.h"

/* The job of one pk_opt_parse. */
struct pk_opt_job {
    const struct pk_opt_input *in;
    struct pk_opt_table *tables;
    size_t n_tables;
    struct pk_arena *arena;
};

/* A row of the job's tables. */
struct pk_opt_place {
    struct pk_opt_table *table;
    size_t row;
};

/* rows.c. Parses and stores text unless a stronger source has set the row already. The error does not name the
 * source: callers put it in front with pk_within. */
enum pk_code pk_opt_set(struct pk_opt_place at, const char *text, struct pk_opt_origin origin,
                        struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;

/* Whether text is a value of the row, which is set nowhere. */
enum pk_code pk_opt_check(const struct pk_opt *row, const char *text, struct pk_arena *a,
                          struct pk_err *err) PK_MUST_CHECK;

/* False when no table of the job has the name. */
bool pk_opt_find(const struct pk_opt_job *job, const char *name, struct pk_opt_place *at);
const struct pk_opt *pk_opt_row(const struct pk_opt *rows, const char *name); /* rows may be NULL */

enum pk_code pk_opt_read_command_line(struct pk_opt_job *job, struct pk_texts *rest, int *help,
                                      struct pk_err *err) PK_MUST_CHECK;
enum pk_code pk_opt_read_environment(struct pk_opt_job *job, struct pk_err *err) PK_MUST_CHECK;
/* Files that do not exist are no error. */
enum pk_code pk_opt_read_config(struct pk_opt_job *job, struct pk_err *err) PK_MUST_CHECK;

char *pk_opt_variable(const char *option, struct pk_arena *a); /* "max-time" -> "PERFKIT_MAX_TIME" */
