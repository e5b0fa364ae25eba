/* Suite: a file of entries that are measured and judged together, read with libinih.
 *
 *     [suite]                            ; what all entries have in common
 *     threshold = *=3%
 *
 *     [flash]                            ; an entry
 *     experiment = attention-scaling
 *     seq_len = 1024,4096                ; an axis
 *     threshold = forward_ns=5%          ; a key that is a list may stand on several lines
 *
 * Here sections, keys and their lines are known; the meaning of a key comes from rows of options (pk_suite_apply). Fuzzed. */
#pragma once

#include "opt/opt.h"

struct pk_suite_key {
    const char *name, *value;
    int line;
};

struct pk_suite_section {
    const char *name;
    int line;
    struct pk_suite_key *keys; /* in the order of the file */
    size_t n, cap;
};

/* What is wrong with a line; 0: with the file. */
struct pk_suite_error {
    int line;
    struct pk_err err;
};
enum { PK_SUITE_ERRORS_MAX = 20 }; /* that are kept */

struct pk_suite {
    const char *path;               /* for messages */
    struct pk_suite_section common; /* [suite] */
    struct pk_suite_section *v;     /* the entries, one at least */
    size_t n, cap;
    struct pk_suite_error *wrong; /* by line, one of each */
    size_t n_wrong, cap_wrong;
};

/* The text of a file. PK_E_USAGE for one that is no suite: a line that is neither section, key nor comment, two sections of one name, no
 * entry. All that is wrong is in out->wrong, the first in err; the rest of the file is read all the same. */
enum pk_code pk_suite_parse(const char *path, const char *text, size_t bytes, struct pk_arena *a,
                            struct pk_suite *out, struct pk_err *err) PK_MUST_CHECK;

/* Adds an error to the list, unless its line has one already. */
void pk_suite_add_wrong(struct pk_suite *s, int line, const struct pk_err *err, struct pk_arena *a);

/* The value of a key that stands in the section; NULL when it does not. */
const char *pk_suite_value(const struct pk_suite_section *s, const char *key);

/* What may stand in a section. Lists end with NULL. */
struct pk_suite_keys {
    struct pk_opt_table *tables; /* their options are set, each in every table that has it */
    size_t n_tables;
    const struct pk_opt_program *program;
    const char *const
        *commands;             /* of `known`: their options are allowed, too, and only checked; NULL = none */
    const char *const *others; /* keys that the caller reads */
};

/* One more source of option values (opt.h), for tables that pk_opt_parse has filled: a section of the file, which is `suite->common` or an
 * entry. Axes are keys by either spelling. Options that belong to one call cannot stand here. PK_E_USAGE with file and line: as
 * pk_suite_parse, after all keys. */
enum pk_code pk_suite_apply(struct pk_suite *suite, const struct pk_suite_section *section,
                            const struct pk_suite_keys *may, struct pk_arena *a,
                            struct pk_err *err) PK_MUST_CHECK;

/* Where the nth value of a key stands that is a list: "perf.ini:12: [flash]"; NULL when it does not. */
const char *pk_suite_place(const char *path, const struct pk_suite_section *section, const char *key,
                           size_t nth, struct pk_arena *a);
