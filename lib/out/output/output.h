/* Output: the file of -o, which appears when it is complete, or not at all; or a directory with such a file for each table.
 *
 *     struct pk_output o = {0};
 *     pk_output_open("results.json", a, &o, err);      a new file beside it
 *     ... o.f ...
 *     pk_output_keep(&o, err);                         renames it
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "opt/opt.h"

#include <stdio.h>

struct pk_output {
    FILE *f;               /* as the caller set it while there is no path */
    const char *path;      /* NULL: f is the caller's */
    const char *temporary; /* NULL: written in place (a device, a pipe) */

    /* pk_output_open_directory */
    const char *directory; /* with a '/' at its end; NULL = one file */
    bool made;             /* the directory was not there */
    struct pk_texts names; /* of its files so far */
    struct pk_arena *arena;
    struct pk_err err; /* of the first file that could not be written */
};

enum pk_code pk_output_open(const char *path, struct pk_arena *a, struct pk_output *o,
                            struct pk_err *err) PK_MUST_CHECK;
/* The path ends with '/'. The directory is made unless it is there; o->f stays until the first table. */
enum pk_code pk_output_open_directory(const char *path, struct pk_arena *a, struct pk_output *o,
                                      struct pk_err *err) PK_MUST_CHECK;
/* For pk_out_options.next_file: keeps the file of the table before, and opens that of this one, DIR/NAME.csv. NULL: output->err. */
FILE *pk_output_next(void *output, const char *table);

enum pk_code pk_output_keep(struct pk_output *o, struct pk_err *err) PK_MUST_CHECK;
void pk_output_discard(struct pk_output *o); /* files of earlier tables stay */
void pk_output_forget(void);                 /* removes an unfinished file; from a signal handler, too */

/* The error of a file that cannot be written, of which errno says why. Returns its code. */
enum pk_code pk_output_cannot(const char *path, struct pk_err *err);

/* --- chosen_tables.c: some of the tables that a function prints --- */

struct pk_out;

struct pk_table_source {
    enum pk_code (*print)(void *user, struct pk_out *out, struct pk_err *err); /* prints all; called twice */
    void *user;
    const char *name; /* "run 3", for errors */
};

/* Prints the tables of these names, or "all", or what the format has without a choice (none): pk_out_only. PK_E_USAGE for a name that no
 * table has, and for several tables that would go into one CSV file: the error lists the names. */
enum pk_code pk_print_tables(const struct pk_table_source *p, const struct pk_texts *tables,
                             struct pk_out *out, struct pk_arena *a, struct pk_err *err) PK_MUST_CHECK;
