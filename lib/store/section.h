/* Section: one table, view or query of a .sql text, taken apart. Private to lib/store; table.h has the syntax. */
#pragma once

#include "base/arena.h"
#include "base/build.h"

#include <stdbool.h>

enum pk_section_kind { PK_SECTION_VIEW, PK_SECTION_TABLE, PK_SECTION_QUERY };

struct pk_section {
    enum pk_section_kind kind;
    const char *name, *sql;
    const char *title, *each; /* NULL = none */
    bool keep_empty;
    const char **columns, **notes; /* texts of the directives */
    size_t n_columns, n_notes, columns_cap, notes_cap;
};

/* The .sql files of lib, as lib/meson.build lists them. */
extern const struct pk_embedded pk_lib_sql[];

/* The sections of a text in order, in the arena. PK_E_INTERNAL names the line that is wrong. */
enum pk_code pk_sections(const char *text, struct pk_arena *a, struct pk_section **sections, size_t *n,
                         struct pk_err *err) PK_MUST_CHECK;
