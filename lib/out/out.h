/* Out: prints rows for people and programs. A command declares columns and emits rows; a writer produces the syntax.
 *
 * Machine formats (csv, json, jsonl) print `key` and base units; table and markdown print `heading` and the display unit.
 * Numbers are C-locale always and text is UTF-8, whatever the user's locale; in machine formats reals are the shortest
 * of 15 to 17 digits that read back the same. Control, bidirectional and invisible characters in text are
 * replaced (ASCII controls escaped in JSON), so that nothing recorded by a stranger reaches a terminal as a command; nor does a line begin
 * with "::", a command for GitHub, or have "##[" or "##vso[" in it, commands for GitHub and Azure Pipelines.
 *
 *   table     title, headings, a rule, rows, notes. Numbers to the right, points below each other, never broken. No line is wider than
 *             `width`: texts and headings wrap at blanks, then columns are left out and a line says which (layout.h); a single row
 *             is then printed whole, as lines of key and value.
 *   markdown  the same as a GitHub-flavoured table; the title is a heading. Text makes no links, images, mentions or tags.
 *   csv       header line of keys; quoting as RFC 4180, lines end in LF. NULL is an empty field, an empty text is "".
 *             Several tables are separated by an empty line, or each is a file. No titles, no notes.
 *   json      {"schema":1,"tables":{"scaling":{"rows":[{"forward_ns":1},...],"notes":["..."]}}}
 *             notes only when there are any; notes said outside a table are a top-level "notes". A second table of
 *             the same name is "scaling_2". NULL, NaN and infinities are null. `schema` changes when this shape does;
 *             members may be added without.
 *   jsonl     one object per row: {"table":"scaling","forward_ns":1}. No titles, no notes.
 *
 * csv, json and jsonl go on with a table when the next has its name and keys (one table per variant for people). */
#pragma once

#include "base/arena.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The formats, a row each: the constant, and the name, which is that of --format. pk_writer_NAME writes it. The constants, --format's
 * choices, its help and completion and the text of an error follow from these rows. */
#define PK_FORMATS(row)                                                                                      \
    row(TABLE, table) row(MARKDOWN, markdown) row(CSV, csv) row(JSON, json) row(JSONL, jsonl)

#define PK_FORMAT_CONSTANT(constant, name) PK_FMT_##constant,
enum pk_format { PK_FORMATS(PK_FORMAT_CONSTANT) PK_FORMATS_N };

extern const char *const pk_format_names[PK_FORMATS_N + 1]; /* by constant; ends with NULL */

enum pk_cell_type { PK_CELL_NULL, PK_CELL_INT, PK_CELL_REAL, PK_CELL_TEXT };
struct pk_cell {
    enum pk_cell_type type;
    int64_t i;
    double f;
    const char *s;
};

static inline struct pk_cell pk_cell_int(int64_t i)
{
    return (struct pk_cell){.type = PK_CELL_INT, .i = i};
}

static inline struct pk_cell pk_cell_real(double f)
{
    return (struct pk_cell){.type = PK_CELL_REAL, .f = f};
}

/* NULL is the empty cell. */
static inline struct pk_cell pk_cell_text(const char *s)
{
    return (struct pk_cell){.type = s ? PK_CELL_TEXT : PK_CELL_NULL, .s = s};
}

/* A number's value; NaN where there is none. */
double pk_cell_number(const struct pk_cell *c);

/* A text; "" where there is none. */
static inline const char *pk_cell_string(const struct pk_cell *c)
{
    return c->type == PK_CELL_TEXT ? c->s : "";
}

struct pk_column {
    const char *key; /* "forward_ns": CSV header, JSON key, name for pk_put */
    const char *
        tail; /* added to the key in the output, not for pk_put, if the unit is known late: "_ns"; NULL = none */
    const char *heading; /* "Forward (ms)" */
    double scale;        /* shown = value / scale; 0 = print as it is */
    int decimals; /* of shown numbers, more where only zeros would be left; -1 = integers as they are, reals with up to 6
                     significant digits */
    double most,
        least; /* a larger shown number is written ">most", a smaller one "<least"; 0 = there is none */
    double over, under; /* a shown number above or below it is marked: "!104"; 0 = none is */
    bool left;          /* text: left-aligned, may wrap; numbers are right-aligned */
    bool
        json; /* the cell holds JSON text: embedded in JSON formats, as it is in csv; people read "a=1 b=2" or "a, b" */
    const char *const *
        members; /* csv: names, NULL-terminated, of members of the JSON objects in the cells. Each is a column at the end of
                                   the row: NAME, or KEY.NAME where another column is NAME. NULL = none */
    bool nested; /* left out of csv: its members are there */
    bool
        clip; /* text: on a screen cut to one line, "..." at its end, unless `details` or no width are wanted */
    bool state;    /* text: a verdict or a state, coloured by its word (palette.c) */
    int optional;  /* where a table is wider than `width`: 1 is left out first, then 2 ...; 0 = last */
    bool machine;  /* for programs: left out of table and markdown (not the only column) */
    bool exponent; /* shown numbers are written 1.2e-05, all of them but 0 */
    bool
        interval; /* the lower end of an interval, and the next column is the upper end: people get both in one, "1.8–13.0" */
};

struct pk_writer; /* out/writer.h */

struct pk_out_options {
    enum pk_format format;
    const struct pk_writer *writer; /* writes in place of that of the format; NULL = none */
    bool color;                     /* caller has applied --color, NO_COLOR, isatty */
    unsigned width;                 /* 0 = no limit (not a terminal): never truncate */
    unsigned height;                /* lines of the screen; 0 = no limit: pk_out_is_shortened */
    FILE *(*next_file)(void *files, const char *table); /* csv: opens where the next table goes, instead of
                                                          to one stream; NULL when it cannot. NULL = one stream */
    void *files;
    bool ascii;   /* tables: the terminal has no UTF-8, so ± is written +/- (text.h) */
    bool details; /* of what one line sums up for people: the cases that were disturbed */
    bool list;    /* nothing is printed: pk_out_lists */
    const char *
        plot; /* on a screen the first chart is drawn (lib/plot): "terminal" or "gnuplot"; with `list` the chart alone is the output, and this is
                       * its format: "svg", "png", "pdf"; NULL = nothing is drawn */
    bool csv_safe; /* a text that a spreadsheet would take for a formula has "'" before it */
    const volatile int *
        stop_flag; /* set by a signal handler: printing ends soon after (base/clock.h); NULL = nothing ends it */
};

/* --- colours: palette.c ---
 *
 * A style repeats in colour what the text says: nothing is said by colour alone. */
enum pk_style { PK_STYLE_PLAIN, PK_STYLE_TITLE, PK_STYLE_GOOD, PK_STYLE_BAD, PK_STYLE_DOUBT, PK_STYLE_END };

const char *pk_style_escape(enum pk_style style); /* PK_STYLE_END ends any; "" for PK_STYLE_PLAIN */
enum pk_style pk_style_of_word(const char *word); /* of a column that is a `state`: "slower" is bad */
enum pk_style pk_style_of_note(const char *note); /* "noisy: ..." is doubtful */

struct pk_out;

/* True for formats that people read, false for those that programs read. */
bool pk_format_for_people(enum pk_format f);
enum pk_code pk_format_parse(const char *name, enum pk_format *f, struct pk_err *err) PK_MUST_CHECK;

/* Writes a text that is not a table, with what all formats have: nothing in it is a command for a CI system, and a signal ends it. 0, or errno. */
int pk_out_plain(FILE *f, const char *text, const volatile int *stop_flag);

/* Writes to f (not closed). One pk_out prints any number of tables one after the other. */
struct pk_out *pk_out_open(FILE *f, const struct pk_out_options *opt);
/* A table begins, and the one before ends. `name` is its machine name ("scaling"); title is for people; either may be
 * NULL. Everything is copied. n >= 1. */
void pk_out_table(struct pk_out *o, const char *name, const char *title, const struct pk_column *cols,
                  size_t n);
#define PK_COLUMNS(array) array, sizeof(array) / sizeof *(array) /* cols and n of a static table of columns */
/* A row of cells in the order of the columns: for a producer whose columns come from data, as those of a statement. */
void pk_out_row(struct pk_out *o, const struct pk_cell *cells);

/* A row that is filled by the keys of the current table's columns, so that a column stands once in the code: in the table of columns.
 *
 *     struct pk_row *row = pk_row_begin(out);
 *     pk_put_text(row, "case", "a=1");
 *     pk_put_real(row, "forward_ns", 1.5e6);
 *     pk_row_end(row);
 *
 * A column that is not put is empty. A key that the table does not have, and a column put twice, are bugs (assert). Columns put in the
 * table's order are found at once. Texts must live until pk_row_end. There is one row at a time. */
struct pk_row;
struct pk_row *pk_row_begin(struct pk_out *o);
void pk_put(struct pk_row *row, const char *key, struct pk_cell cell);
void pk_row_end(struct pk_row *row);

static inline void pk_put_int(struct pk_row *row, const char *key, int64_t i)
{
    pk_put(row, key, pk_cell_int(i));
}

static inline void pk_put_real(struct pk_row *row, const char *key, double f)
{
    pk_put(row, key, pk_cell_real(f));
}

/* Infinity leaves the column empty, too. */
static inline void pk_put_finite(struct pk_row *row, const char *key, double f)
{
    pk_put_real(row, key, isfinite(f) ? f : NAN);
}

/* NULL leaves the column empty. */
static inline void pk_put_text(struct pk_row *row, const char *key, const char *s)
{
    pk_put(row, key, pk_cell_text(s));
}

/* "" leaves it empty, too. */
static inline void pk_put_nonempty(struct pk_row *row, const char *key, const char *s)
{
    pk_put(row, key, pk_cell_text(s && *s ? s : NULL));
}

/* Columns that a command adapts before it begins the table: a copy, and the one of a key (assert). */
struct pk_column *pk_columns_copy(struct pk_arena *a, const struct pk_column *cols, size_t n);
struct pk_column *pk_column_of(struct pk_column *cols, size_t n, const char *key);

/* From now on only these tables are printed, by the names that pk_out_names has; the names are borrowed. The one name "all" is every table
 * also where a screen gets the headline first, none is what the format has without a choice. Notes before the first table are printed, too. */
void pk_out_only(struct pk_out *o, const char *const *tables, size_t n);
/* Whether a table whose name begins so may be among them. If not, it need not be computed: it counts as begun, and notes that follow are its. */
bool pk_out_wants(struct pk_out *o, const char *table);
/* Whether findings and the headline table are printed first and other tables are only listed: on a screen without `details`, where no table was chosen. */
bool pk_out_headline_first(const struct pk_out *o);
/* From here on at most n rows are printed, of all tables together; 0 ends that, with a note that counts the other rows and names the command
 * that prints them. */
void pk_out_most(struct pk_out *o, size_t n);
/* Whether a cell is one value, so that the members of an object need columns: csv. */
bool pk_out_is_flat(const struct pk_out *o);
/* Whether what is printed should be one table: a single CSV file. */
bool pk_out_is_one_table(const struct pk_out *o);
/* The names of all tables so far, also of those that were not printed; and the title of each, "" where it has none. */
const char *const *pk_out_names(const struct pk_out *o, size_t *n);
const char *pk_out_title(const struct pk_out *o, size_t table);
/* What it was opened with. */
const struct pk_out_options *pk_out_options(const struct pk_out *o);
/* Whether a chart is to be drawn here: on a screen, with the option `plot`. */
bool pk_out_plots(const struct pk_out *o);
/* A drawing below the tables so far: a title ("" = none) and lines without ends that are no wider than the screen, printed as they are; they
 * contain nothing of what was read but what pk_text_safe lets through. Notes stand below it as below a table. */
void pk_out_drawing(struct pk_out *o, const char *title, const char *const *lines, size_t n);
/* Bytes of a file that is not a table. */
void pk_out_bytes(struct pk_out *o, const char *bytes, size_t n);
/* Whether nothing is printed, and the names and titles are all that is wanted: the option `list`. */
bool pk_out_lists(const struct pk_out *o);
/* The command that prints it again, named where columns or details are left out; NULL = only the options are named. Copied. */
void pk_out_again(struct pk_out *o, const char *command);
/* Whether people read it on a screen: the table format; and only in short: without `details`. */
bool pk_out_on_screen(const struct pk_out *o);
bool pk_out_without_details(const struct pk_out *o);

/* A screen with a known number of lines shows the outcome, and nothing scrolls away. The command says what is detail, and which table is the
 * headline:
 *
 *     pk_out_note(out, "4 rows: 1 slower, 3 same");
 *     pk_out_detail(out, true);     tables and notes from here on are left out of a short output
 *     pk_out_table(out, "runs", ...
 *     pk_out_detail(out, false);
 *     pk_out_table(out, "compare", ...
 *     pk_out_fit(out);              its first rows, as many as there are lines for; a note says how many more there are
 *
 * The last line names the command that prints everything. pk_out_reserve keeps lines free for what follows the table that fits. */
bool pk_out_is_shortened(const struct pk_out *o);
void pk_out_detail(struct pk_out *o, bool detail);
void pk_out_fit(struct pk_out *o);
void pk_out_reserve(struct pk_out *o, size_t lines);

/* A line under the current table, for people and, as "notes", in JSON; before the first table a line above it, of the whole. Copied. A
 * screen gets each text once: what holds for several tables stands under the first. */
void pk_out_note(struct pk_out *o, const char *text);
/* The number of rows of the current table so far. */
size_t pk_out_rows(const struct pk_out *o);
/* True once a write failed (a reader that left early, too): a producer of many rows may stop. */
bool pk_out_broken(const struct pk_out *o);
/* The rest of a table cannot be had: pk_out_cancel. */
void pk_out_abort_table(struct pk_out *o);
/* If no table was begun and there is no note, or a table is torn: frees it, writes nothing more and returns true. */
bool pk_out_cancel(struct pk_out *o);
/* Ends everything, flushes, frees. PK_E_IO when the stream failed (full disk); EPIPE is reported as PK_OK: a reader that left
 * early (| head) is not an error. PK_E_INTERRUPTED when a signal ended it. */
enum pk_code pk_out_close(struct pk_out *o, struct pk_err *err) PK_MUST_CHECK;
