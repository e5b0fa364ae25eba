/* Formula: a metric as arithmetic over named values: + - * / ( ) and numbers, "64 * dram_reads / time_ns".
 *
 * Values are in base units (ns, bytes, flops, counts), and so is the result, in the unit that the metric declares. With an unknown
 * value, or a divisor of 0, the result is unknown, and its name is reported. */
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

/* PK_E_USAGE with the position when the text is not a formula. */
enum pk_code pk_formula_parse(const char *text, struct pk_arena *a, const struct pk_formula **out,
                              struct pk_err *err) PK_MUST_CHECK;

/* values[n_names], NaN = unknown. NaN when the result is unknown: *missing is then the reason ("cycles", "cycles is 0"), in the arena. */
double pk_formula_value(const struct pk_formula *f, const double *values, struct pk_arena *a,
                        const char **missing);
