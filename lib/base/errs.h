/* Errs: all that is wrong with one input, so that it can be said in one go. */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct pk_errs {
    struct pk_arena *arena;
    struct pk_err *v; /* in the order in which they were found */
    size_t n, cap;
};

/* Keeps a copy. */
void pk_errs_add(struct pk_errs *l, const struct pk_err *err);
