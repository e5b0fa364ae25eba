/* Print: what the files of lib/store/table share. Private to them. */
#pragma once

#include "out/out.h"
#include "store/table/table.h"

struct pk_print {
    struct pk_store *s;
    struct pk_arena *a;
    const struct pk_section *t;
    const struct pk_param *params; /* the caller's and, last, :each */
    size_t n_params;
    bool headline; /* of notes only those of a mark in the table: doubts have lines of their own */
    struct pk_out *out;
};

/* The rows of a table, which is read before it is printed where its columns depend on its values. Others can have millions of rows. */
struct pk_result {
    const char *const *names;
    size_t n_cols, n;
    const struct pk_cell *cells; /* NULL: not read before */
};

/* --- column.c --- */

/* Declared columns as declared, others as they are. In the arena. */
enum pk_code pk_print_columns(const struct pk_print *p, const struct pk_result *r, struct pk_column **cols,
                              struct pk_err *err) PK_MUST_CHECK;
/* Whether some of them depend on values: those with several units to choose from, and those that are left out when they are empty. */
bool pk_print_depends_on_values(const struct pk_print *p);
/* The text with another in the place of the first `mark`. */
const char *pk_print_filled(struct pk_arena *a, const char *text, const char *mark, const char *with);

/* --- table.c --- */

/* The table of a section; nothing for a section of another kind. */
enum pk_code pk_print_section(struct pk_print *p, const struct pk_section *t,
                              struct pk_err *err) PK_MUST_CHECK;
