/* Writer: the interface of an output format. Used by lib/out and by the page of lib/report.
 *
 * out.c keeps the state that all formats share and calls the hooks in this order; every hook runs with the C.UTF-8 locale
 * in this thread, so numbers and widths do not depend on the user's. To add a format: one file with one const struct
 * pk_writer, and its row of PK_FORMATS. */
#pragma once

#include "base/clock.h"
#include "base/text/buf.h"
#include "out/out.h"

#include <locale.h>

/* Bytes and numbers on their way to a stream, through one large buffer: sink.c. Errors stick: after the first failed write nothing more is
 * tried. */
enum { PK_SINK_BYTES = 1 << 16 };

struct pk_sink {
    FILE *f;
    int error; /* errno of the first failure, 0 = none; EINTR: a signal */
    struct pk_grace grace;
    enum { PK_LINE_START, PK_LINE_COLON, PK_LINE_REST } line; /* what is already written of it */
    unsigned marker;                                          /* pk_ends_marker */
    uint64_t drains;                                          /* how often the buffer was emptied */
    size_t lines;                                             /* that ended with pk_sink_char */
    size_t n;
    char buf[PK_SINK_BYTES];
};

void pk_sink_put(struct pk_sink *s, const char *bytes, size_t n);
void pk_sink_str(struct pk_sink *s, const char *text);
void pk_sink_char(struct pk_sink *s, char c);
void pk_sink_int(struct pk_sink *s, int64_t v);
/* The shortest of 15 to 17 significant digits that reads back as the same number, with a point below 1e15 ("3.0",
 * "1e+300"). v is finite. The caller has a locale with a decimal point. */
void pk_sink_real(struct pk_sink *s, double v);
void pk_sink_flush(struct pk_sink *s); /* buffer and stream */

/* What was written for a text, kept for the rows that have the same: those of a case have its axes.
 *     if (!pk_sink_again(s, &memo, text)) {
 *         ... what it takes ...
 *         pk_sink_remember(s, &memo, text);
 *     } */
struct pk_memo {
    struct pk_buf text, written;
    size_t from; /* where in the buffer it began */
    uint64_t drains;
};
bool pk_sink_again(struct pk_sink *s, struct pk_memo *m, const char *text);
void pk_sink_remember(const struct pk_sink *s, struct pk_memo *m, const char *text);

struct pk_writer {
    bool people;                     /* read it; for programs, equal tables one after the other are one */
    void (*begin)(struct pk_out *o); /* optional: before anything else */
    void (*preface)(
        struct pk_out *
            o); /* optional: o->notes stand before the first table, which follows; without it `end` gets them */
    void (*table)(struct pk_out *o);                            /* optional: o->cols are set */
    void (*row)(struct pk_out *o, const struct pk_cell *cells); /* required */
    void (*table_end)(struct pk_out *o);                        /* optional: o->notes belong to this table */
    void (*drawing)(struct pk_out *o, const char *title, const char *const *lines,
                    size_t n);     /* optional: pk_out_drawing */
    void (*end)(struct pk_out *o); /* optional: o->notes belong to no table */
};

/* The row being filled, for the table's columns. */
struct pk_row {
    struct pk_out *out;
    const char **keys; /* as pk_put names them */
    struct pk_cell *cells;
    bool *put;
    size_t next; /* the column behind the one put last */
    bool open;
};

struct pk_out {
    struct pk_arena arena;
    struct pk_out_options opt;
    const struct pk_writer *writer;
    locale_t locale;
    struct pk_sink sink;
    struct pk_buf buf; /* one cell's text, reused */

    /* the table being written */
    bool in_table, torn;
    bool omitted;            /* the table is not printed: pk_out_only */
    const char *const *only; /* pk_out_only; n_only = 0: no choice */
    size_t n_only;
    size_t printed;           /* tables */
    const char *name, *title; /* name: unique in this output, never NULL */
    const char *given_name;   /* the caller's name of it */
    const struct pk_column *cols;
    size_t n_cols, rows;
    struct pk_row row;
    void *state;   /* the writer's own */
    bool left_out; /* a table so far had no room for all its columns */
    const char *again;

    /* a short output */
    bool detail;     /* what comes is left out */
    bool skipped;    /* the table that began is */
    bool shortened;  /* something was */
    bool fit;        /* the table being written has as many rows as there are lines for */
    size_t reserved; /* lines for what follows it */
    size_t most,
        beyond; /* pk_out_most: rows that may still be printed, plus 1 (0 = any number); those that were left out */

    const char **notes; /* since the last table ended */
    size_t n_notes, notes_cap;
    const char **printed_notes; /* all notes so far, on a screen */
    size_t n_printed_notes, printed_notes_cap;
    const char **first; /* notes before the first table, kept for the end */
    size_t n_first;
    const char **names, **titles; /* of every table so far */
    size_t n_names, names_cap, titles_cap;
};

/* Whether a screen has this text already; from now on it has. */
bool pk_out_note_is_repeated(struct pk_out *o, const char *text);

#define PK_FORMAT_WRITER(constant, name) extern const struct pk_writer pk_writer_##name;
PK_FORMATS(PK_FORMAT_WRITER)
