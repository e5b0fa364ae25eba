/* Section: one table or view of a .sql text, taken apart. Private to lib/store; table.h has the syntax. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

struct pk_section {
    bool view; /* else a table */
    const char *name, *sql;
    const char *title, *each; /* NULL = none */
    bool keep_empty;
    const char **columns, **notes; /* texts of the directives */
    size_t n_columns, n_notes, columns_cap, notes_cap;
};

/* The sections of a text in order, in the arena. PK_E_INTERNAL names the line that is wrong. */
enum pk_code pk_sections(const char *text, struct pk_arena *a, struct pk_section **sections, size_t *n,
                         struct pk_err *err) PK_MUST_CHECK;
