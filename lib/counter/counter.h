/* Counter: the sources that readings come from, those that work in this program and those that do not, with the reason. */
#pragma once

struct pk_counter_source {
    const char *name;    /* "clock"; ends the table when NULL */
    const char *summary; /* what it reads */
    const char *absent;  /* why it reads nothing here; NULL = it works */
};

extern const struct pk_counter_source pk_counter_sources[];
