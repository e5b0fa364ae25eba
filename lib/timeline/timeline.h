/* Timeline: what happened when in a run, as a file for Perfetto (events.h).
 *
 * A process of the file is a device, or a rank of it; its tracks are the lanes of the host and the streams of a GPU. Of each case there is
 *
 *   the iteration of its trace pass (--breakdown): regions, the pieces of work in them, and on a GPU the launches as arrows
 *   the iteration of its memory pass (--allocations): regions, and live bytes as counters
 *   the last iteration of each process of ddp-bucket: the backward pass and the all-reduces
 *
 * one after the other, with clocks, power and temperature before and after each as counters. With `phases` each is where its
 * slice began by the wall clock, and a process "measurement" has every slice of the run and, for each time metric, its samples laid end
 * to end from the slice's beginning: their lengths are measured, their places are not. */
#pragma once

#include "store/store.h"

#include <stdio.h>

struct pk_timeline_options {
    bool phases;
    const char *
        file; /* the name of what is written: one that ends in ".gz" gets the gzip format; NULL = it has none */
};

/* Writes to f (not closed), row by row: memory is needed for the names of one slice only. PK_E_NOTHING, before anything is written, if the
 * run has no timeline; PK_E_UNAVAILABLE for gzip without zlib. A reader that left early is no error.
 * *summary: what was written and what was left out, a line in the arena. */
enum pk_code pk_timeline_write(struct pk_store *s, int64_t run, const struct pk_timeline_options *o, FILE *f,
                               struct pk_arena *a, const char **summary, struct pk_err *err) PK_MUST_CHECK;
