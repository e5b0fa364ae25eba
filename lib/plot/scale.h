/* Scale: values of an axis to places from 0 to 1, and the values that are written beside it. */
#pragma once

#include "base/arena.h"
#include "base/index.h"
#include "store/table/chart.h"

struct pk_plot_scale {
    enum pk_chart_scale kind;
    double lo, hi;       /* of the values; hi > lo */
    const char **places; /* of an ordinal one: its texts in order; place i is the value i */
    size_t n_places, cap;
    struct pk_index index; /* of places */
};

/* Takes a value into the range; NaN, and what a logarithm does not have, is left out. Begin with lo = INFINITY, hi = -INFINITY. */
void pk_plot_take(struct pk_plot_scale *s, double value);
/* Makes lo and hi differ, when every value was taken. */
void pk_plot_ready(struct pk_plot_scale *s);
/* NaN for a value that has no place. */
double pk_plot_place(const struct pk_plot_scale *s, double value);
/* At most `most` round values between the ends. */
enum { PK_PLOT_TICKS = 16 };
size_t pk_plot_ticks(const struct pk_plot_scale *s, size_t most, double ticks[PK_PLOT_TICKS]);
/* What stands at a value. In the arena. */
const char *pk_plot_tick_text(const struct pk_plot_scale *s, double value, struct pk_arena *a);
/* The place of a text, which is added when it is new. */
size_t pk_plot_place_of(struct pk_plot_scale *s, const char *text, struct pk_arena *a);
