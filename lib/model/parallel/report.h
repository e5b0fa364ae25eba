/* Report: the tables of a plan. */
#pragma once

#include "model/parallel/search.h"
#include "out/out.h"

struct pk_plan_report {
    const struct pk_plan_setup *s;
    const struct pk_plan_ranking *ranking; /* at least one mesh; the first is explained */
    size_t top;                            /* meshes printed; 0 = all */
    const struct pk_sweep *tokens;         /* of the table `devices` */
    bool explain;                          /* every row with its numbers, instead of the terms alone */
};

/* Tables model, rates, memory, memory_terms, time, time_terms, devices, meshes; with `explain` the table explain takes the place of both
 * tables of terms. Texts in `a`. */
void pk_plan_print(struct pk_out *out, const struct pk_plan_report *r, struct pk_arena *a);

/* The formula of a row as text; with v its names are replaced by their values. "" for inputs. In `a`. */
const char *pk_plan_formula(const struct pk_plan_row *row, const struct pk_plan_values *v,
                            struct pk_arena *a);

/* A formula with its names replaced by their values; `find` answers NULL for a word that is no name (of n characters). In `a`. */
typedef const double *pk_named_value(const void *values, const char *name, size_t n);
const char *pk_formula_numbers(const char *formula, pk_named_value *find, const void *values,
                               struct pk_arena *a);
