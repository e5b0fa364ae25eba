/* Plot: numbers as bars and sparklines for a terminal, with block characters in a UTF-8 locale and ASCII otherwise. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

/* Whether the user's locale shows blocks. */
bool pk_plot_blocks(void);

/* A bar of 1 to `width` characters for v between lo and hi; NaN and infinities give "". */
const char *pk_plot_bar(double v, double lo, double hi, unsigned width, bool blocks, struct pk_arena *a);

/* One character per value, its height from lo to hi. */
const char *pk_plot_spark(const double *v, size_t n, double lo, double hi, bool blocks, struct pk_arena *a);
