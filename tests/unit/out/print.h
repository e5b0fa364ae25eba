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
    struct pk_cell ok[] = {pk_cell_int(16), pk_cell_int(258000), pk_cell_real(0.0031), pk_cell_text("ok"),
                           pk_cell_text("{\"a\": 1}")};
    struct pk_cell oom[] = {pk_cell_int(128),
                            {PK_CELL_NULL},
                            pk_cell_real(0.0 / 0.0),
                            pk_cell_text("oom: 35 GB, \"8\" left"),
                            pk_cell_text("{broken")};
    pk_out_table(o, "scaling", "Attention", sample_columns, SAMPLE_COLUMNS);
    pk_out_row(o, ok);
    pk_out_row(o, oom);
    pk_out_note(o, "1 case ran out of memory");
}
