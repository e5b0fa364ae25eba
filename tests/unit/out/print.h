/* Print: what a writer makes of the same three rows, as a string. For the tests of lib/out. */
#pragma once

#include "out/out.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

static const struct pk_column sample_columns[] = {
    {.key = "d_model", .heading = "d_model", .decimals = -1},
    {.key = "forward_ns", .heading = "Forward (ms)", .scale = 1e6, .decimals = 3},
    {.key = "noise", .heading = "± %", .scale = 0.01, .decimals = 1},
    {.key = "status", .heading = "Status", .decimals = -1, .left = true},
    {.key = "axes", .heading = "Axes", .decimals = -1, .left = true, .json = true},
};
enum { SAMPLE_COLUMNS = sizeof sample_columns / sizeof *sample_columns };

static inline struct pk_cell int_cell(int64_t i)
{
    return (struct pk_cell){.type = PK_CELL_INT, .i = i};
}

static inline struct pk_cell real_cell(double f)
{
    return (struct pk_cell){.type = PK_CELL_REAL, .f = f};
}

static inline struct pk_cell text_cell(const char *s)
{
    return (struct pk_cell){.type = PK_CELL_TEXT, .s = s};
}

typedef void print_fn(struct pk_out *o);

/* Owned by the caller: free(). */
static inline char *printed(enum pk_format format, unsigned width, print_fn *fn)
{
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    struct pk_out *o = pk_out_open(f, &(struct pk_out_options){.format = format, .width = width});
    fn(o);
    struct pk_err err;
    assert_int_equal(pk_out_close(o, &err), PK_OK);
    fclose(f);
    return text;
}

static inline void assert_printed(enum pk_format format, unsigned width, print_fn *fn, const char *expected)
{
    char *text = printed(format, width, fn);
    assert_string_equal(text, expected);
    free(text);
}

static inline void sample_rows(struct pk_out *o)
{
    struct pk_cell ok[] = {int_cell(16), int_cell(258000), real_cell(0.0031), text_cell("ok"),
                           text_cell("{\"a\": 1}")};
    struct pk_cell oom[] = {int_cell(128),
                            {PK_CELL_NULL},
                            real_cell(0.0 / 0.0),
                            text_cell("oom: 35 GB, \"8\" left"),
                            text_cell("{broken")};
    pk_out_table(o, "scaling", "Attention", sample_columns, SAMPLE_COLUMNS);
    pk_out_row(o, ok);
    pk_out_row(o, oom);
    pk_out_note(o, "1 case ran out of memory");
}
