/* Formula: a metric as arithmetic over named values: + - * / ( ) and numbers, "64 * dram_reads / time_ns".
 *
 * Values are in base units (ns, bytes, flops, counts), and so is the result, in the unit that the metric declares. A value that is
 * not known makes the result not known, with its name; so does a divisor of 0. */
#pragma once

#include "base/arena.h"

#include <stddef.h>

struct pk_formula_step;

struct pk_formula {
    const char *text;
    const char *const *names; /* each once, in the order of appearance */
    size_t n_names;
    const struct pk_formula_step *steps; /* postfix */
    size_t n_steps;
};

/* PK_E_USAGE with the place when the text is no formula. */
enum pk_code pk_formula_parse(const char *text, struct pk_arena *a, const struct pk_formula **out,
                              struct pk_err *err) PK_MUST_CHECK;

/* values[n_names], NaN where not known. NaN when the result is not known: *missing then says what ("cycles", "cycles is 0"), in the
 * arena. */
double pk_formula_value(const struct pk_formula *f, const double *values, struct pk_arena *a,
                        const char **missing);
