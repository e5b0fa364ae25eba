/* History, rows: prints a history. */
#pragma once

#include "judge/history/history.h"
#include "out/out.h"

struct pk_history_view {
    const struct pk_history_run *runs;
    const char *experiment;
    double min_effect;
    bool people; /* plots, and no more than a screenful; programs get everything and no plots */
    bool all;    /* people, too */
};

/* Table "series", a row for each with what it did in words; then "history_ns", "history_bytes" ..., a row per run. */
void pk_history_print(struct pk_out *out, const struct pk_history *h, const struct pk_history_view *view,
                      struct pk_arena *a);
