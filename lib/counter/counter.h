/* Counter: the sources that readings come from, those that work here and those that do not, with the reason. */
#pragma once

#include "base/arena.h"

struct pk_counter_source {
    const char *name;    /* "clock"; ends the table when NULL */
    const char *summary; /* what it reads */
    const char *(*unavailable)(
        struct pk_arena *a); /* why it reads nothing here, NULL = it works; no function: always */
};

extern const struct pk_counter_source pk_counter_sources[];
