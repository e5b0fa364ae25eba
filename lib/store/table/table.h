/* Table: tables and queries as text, SQL plus column rows, printed from the store.
 *
 * A .sql file holds any number of sections: probes/NAME.sql those of an experiment, others stand beside their owner in lib. docs/tables.md is the
 * manual:
 *
 *     -- view: NAME                        a SELECT that later sections may read; no parameters; columns with
 * run_id SELECT ...;
 *
 *     -- table: scaling
 *     -- title: Attention scaling, {each}  for people; {each} is the text of the value below
 *     -- each: SELECT DISTINCT variant FROM v_case WHERE run_id = :run     one table per row; bound as :each
 *     -- column: d_model                                  as it is
 *     -- column: forward_ns | Forward (ms) | ms | 3       heading, display unit, attributes: decimals, e, hide, machine, over, under, optionalN
 *     -- note: SELECT 'text' WHERE ...     a line under the table per row; :run and :each may be used
 *     -- empty: keep                       print the headings even without rows; otherwise no rows, no table
 *     -- headline: 1                       printed with the findings, before all others are listed: the first of these with rows
 *     -- about: PHRASE                     its line in that list; without it the title, {each} and parentheses left out
 *     SELECT d_model, forward_ns FROM ... WHERE run_id = :run;
 *
 *     -- finding: NAME                     rows of sentences, in order of worth: the table "findings", before all others
 *     SELECT 'flash is ' || ... AS sentence FROM ... WHERE run_id = :run;
 *
 *     -- chart: NAME                       rows to be drawn: store/table/chart.h; title, column and note as of a table, and
 *     -- mark: line                        line, point, bar, stack, area, cells, span or range
 *     -- x: seq_len log2                   a column and its scale: linear (as without a word), log, log2, ordinal
 *     -- y: forward_ns log
 *     -- interval: ci_low_ns ci_high_ns    the ends of the interval of y, or with range of x
 *     -- color: variant                    what has colours of its own: a series; with cells, the value
 *     -- facet: d_model                    a drawing for each value, beside each other
 *     -- x2: end_ns                        with span and area: where what begins at x ends
 *     -- fit: fitted_ns                    a dashed line in the axis of y: a model, a fit, a threshold
 *     -- label: status                     a text at the mark; where y is NULL, in its place
 *     -- rule: optimum                     a text: a line across at x, with this text
 *     -- band: phase                       the ground from the first x to the last x2 of each text, with it
 *     -- guide: 1                          a line at this value of the axis of the interval
 *     SELECT seq_len, forward_ns, ... WHERE run_id = :run;
 *
 *     -- query: NAME                       a SELECT that C reads the rows of: pk_query
 *     SELECT ...;
 *
 *     -- statement: NAME                   what only lib/store runs, by name
 *     INSERT ...;
 *
 * Sentences have the grammar of base/text/words.h: plural(2, 'case') is '2 cases', predicate(1, 'are known') is 'is known'.
 *
 * A display unit is a row of base/text/units.h: its base is what the key ends with ("_ns", "_bytes"), or is
 * written before a '>' ("ns>ms"); of several, blanks between, the first that suits the table's numbers, which {unit} in the heading
 * becomes. Also: "%" (a ratio times 100), "x" (a ratio), "±" ("%", ">100" above that), "p" ("<0.0001" below that), "text"
 * (left-aligned), "state" (a text, coloured by its word), "json" (embedded in JSON formats). A comment line that begins with two spaces after the dashes continues the
 * directive above it. */
#pragma once

#include "base/build.h"
#include "store/store.h"

/* Prints one table of a text; NULL: of the .sql files of lib. Parameters are bound by name where the SQL has them. PK_E_INTERNAL for a
 * text that is wrong (a test prints every table of every probe and of lib). */
enum pk_code pk_table_print(struct pk_store *s, const char *text, const char *table,
                            const struct pk_param *params, size_t n_params, struct pk_out *out,
                            struct pk_err *err) PK_MUST_CHECK;

/* The findings of a text, then every table, in order; where the headline is first (pk_out_headline_first) at most PK_FINDINGS_MAX findings,
 * then the headline table, at most PK_HEADLINE_ROWS rows of it. */
enum { PK_FINDINGS_MAX = 6, PK_HEADLINE_ROWS = 40 };
enum pk_code pk_tables_print(struct pk_store *s, const char *text, const struct pk_param *params,
                             size_t n_params, struct pk_out *out, struct pk_err *err) PK_MUST_CHECK;

/* The first line of a text that perfkit did not write. Its statements, one SELECT in each place, may read perfkit's views, its own, and
 * nothing else, and all of them have 20 seconds and 64 MB of rows together. */
#define PK_TEXT_LIMITED "-- limits: stranger\n"

/* Is such a text sound? Prepares every statement and runs none; needs a store, but not its rows. PK_E_USAGE with the section and what is wrong
 * in it. */
enum pk_code pk_limited_check(struct pk_store *s, const char *text, struct pk_err *err) PK_MUST_CHECK;

struct pk_section;

/* The rows of a section, and a column for each of their values as it is to be shown, in the arena. The views of the section's text are
 * there (pk_db_make_views). */
enum pk_code pk_section_read(struct pk_store *s, const struct pk_section *section,
                             const struct pk_param *params, size_t n_params, struct pk_arena *a,
                             struct pk_rows *rows, struct pk_column **columns,
                             struct pk_err *err) PK_MUST_CHECK;

/* The rows of a query of the .sql files of lib. */
enum pk_code pk_query(struct pk_store *s, const char *name, const struct pk_param *params, size_t n_params,
                      struct pk_arena *a, struct pk_rows *out, struct pk_err *err) PK_MUST_CHECK;

/* The same, row by row: cells in the order of the columns, texts valid during the call, which may query the same store. An error of `row`
 * ends it. */
typedef enum pk_code pk_row_fn(void *user, const struct pk_cell *cells, struct pk_err *err);
enum pk_code pk_query_each(struct pk_store *s, const char *name, const struct pk_param *params,
                           size_t n_params, pk_row_fn *row, void *user, struct pk_err *err) PK_MUST_CHECK;

/* --- a text taken apart: section.c --- */

enum pk_section_kind {
    PK_SECTION_VIEW,
    PK_SECTION_TABLE,
    PK_SECTION_QUERY,
    PK_SECTION_STATEMENT,
    PK_SECTION_FINDING,
    PK_SECTION_CHART
};

enum pk_chart_mark {
    PK_MARK_LINE,
    PK_MARK_POINT,
    PK_MARK_BAR,   /* beside each other */
    PK_MARK_STACK, /* on each other */
    PK_MARK_AREA,  /* on each other, from x to x2 */
    PK_MARK_CELLS, /* a heat map */
    PK_MARK_SPAN,  /* a timeline: from x to x2 */
    PK_MARK_RANGE, /* a point of x with its interval for each y: a forest plot */
    PK_MARKS
};

enum pk_chart_scale { PK_SCALE_LINEAR, PK_SCALE_LOG, PK_SCALE_LOG2, PK_SCALE_ORDINAL, PK_SCALES };

enum pk_channel {
    PK_CHANNEL_X,
    PK_CHANNEL_X2,
    PK_CHANNEL_Y,
    PK_CHANNEL_LOW, /* the ends of interval */
    PK_CHANNEL_HIGH,
    PK_CHANNEL_COLOR,
    PK_CHANNEL_FACET,
    PK_CHANNEL_FIT,
    PK_CHANNEL_LABEL,
    PK_CHANNEL_RULE,
    PK_CHANNEL_BAND,
    PK_CHANNELS
};

/* How the rows of a chart become marks. */
struct pk_encoding {
    enum pk_chart_mark mark;
    const char *key[PK_CHANNELS]; /* of its column; NULL = not encoded */
    enum pk_chart_scale scale[PK_CHANNELS];
    double guide; /* NaN = none */
};
extern const char *const pk_mark_names[PK_MARKS + 1]; /* as in the text; ends with NULL */

struct pk_section {
    enum pk_section_kind kind;
    const char *name, *sql;
    const char *title, *each, *about; /* NULL = none */
    bool keep_empty;
    size_t headline;               /* 1 is the first choice; 0 = it is none */
    struct pk_encoding *encoding;  /* of a chart, else NULL */
    const char **columns, **notes; /* texts of the directives */
    size_t n_columns, n_notes, columns_cap, notes_cap;
};

/* The .sql files of lib, as lib/meson.build lists them. */
extern const struct pk_embedded pk_lib_sql[];

/* The sections of a text in order, in the arena. PK_E_INTERNAL names the line that is wrong. */
enum pk_code pk_sections(const char *text, struct pk_arena *a, struct pk_section **sections, size_t *n,
                         struct pk_err *err) PK_MUST_CHECK;

/* Where the text of a section of lib begins, behind its first line, and in which file; NULL if there is none of this name. The text goes on
 * with the sections behind it: a query is prepared up to its semicolon. Nothing is allocated. */
const char *pk_db_text(enum pk_section_kind kind, const char *name, const char **whole);
