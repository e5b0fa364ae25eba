/* Report: the tables of a plan. */
#pragma once

#include "model/parallel/search.h"
#include "out/out.h"

struct pk_parallel_report {
    const struct pk_parallel_setup *s;
    const struct pk_parallel_ranking *ranking; /* at least one mesh; the first is explained */
    size_t top;                                /* meshes printed; 0 = all */
    const struct pk_sweep *tokens;             /* of the table `devices` */
    bool explain;                              /* every row with its numbers, instead of the terms alone */
};

/* The tables, the first mesh's except `meshes`:
 *   meshes        the ranking, each mesh compared with the best at the same rates
 *   memory        of a chip, by kind; whether it fits
 *   time          arithmetic against transfers, what the time is bound by, from how many tokens on arithmetic hides them
 *   devices       the least number of chips for a number of tokens
 *   totals        time of a step, bubble, tokens per second, utilisation
 *   model, rates  what it was computed from, with the source of each rate
 *   memory_terms, time_terms   what is not 0, with formula and assumption; with `explain` the table
 *   explain       every value instead, from top to bottom, with its numbers
 * In a short output only `meshes`, below two lines with the best mesh and its memory, unless it is to be explained. Texts in `a`. */
void pk_parallel_print(struct pk_out *out, const struct pk_parallel_report *r, struct pk_arena *a);
