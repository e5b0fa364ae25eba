/* Curve: the rate of a device's memory over the size of the arrays that are walked, grown until it is the memory's.
 *
 * One size says nothing: arrays larger than every cache that a machine reports may still be in one that it does not, as that of the host
 * below a virtual machine. So sizes double until the rate no longer falls:
 *
 *     proved: of the last three sizes, each at least PK_CURVE_CACHES times the last cache and at least `least_bytes`, the slowest is
 *     within 5 % of the fastest
 *
 * A disturbance can only lower a rate. So a size whose rate is more than 5 % below the highest of the three is measured once more, and
 * keeps its best rate, before the array grows. Growth also stops where the next size has no room, or would end after time_ns; the curve is
 * then not proved flat, and the rate of its largest size is all that is known of the memory. A cache that is not reported and holds all
 * three sizes cannot be told from memory.
 *
 * Bytes are counted as STREAM counts them: read + written by the program. A write of a line that is in no cache also reads it (write
 * allocation); this is not counted, so a copy and a triad of large arrays move up to 3/2 and 4/3 of what they count. An update in place
 * writes the lines that it has read: it is measured and shown, and is no ceiling, because what has several arrays cannot reach it. */
#pragma once

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What walks the arrays. The arrays of each have the same bytes together. */
enum pk_stream_kind {
    PK_STREAM_UPDATE, /* x = x, one array: reads and writes the same lines */
    PK_STREAM_COPY,   /* y = x */
    PK_STREAM_TRIAD,  /* z = x + 3 y */
    PK_STREAM_READ,   /* sum of x y; not on a GPU */
    PK_STREAMS
};

/* The levels of memory. PK_LEVEL_BETWEEN: larger than every cache that the machine reports, and faster than its memory. */
enum pk_memory_level { PK_LEVEL_L1, PK_LEVEL_L2, PK_LEVEL_L3, PK_LEVEL_BETWEEN, PK_LEVEL_MEMORY, PK_LEVELS };
extern const char *const pk_level_names[PK_LEVELS]; /* "L1", "L2", "L3", "between", "memory" */

/* Why the arrays did not grow further. */
enum pk_curve_stop { PK_CURVE_FLAT, PK_CURVE_NO_ROOM, PK_CURVE_NO_TIME, PK_CURVE_STOPS };
extern const char *const pk_curve_stops[PK_CURVE_STOPS]; /* "flat", "room", "time" */

struct pk_curve_point {
    size_t bytes; /* of all arrays, over all lanes */
    enum pk_memory_level level;
    double rate[PK_STREAMS]; /* bytes per second, the best of all runs; 0 = not measured */
};

enum { PK_CURVE_POINTS = 32, PK_CURVE_WINDOW = 3, PK_CURVE_CACHES = 4 };
struct pk_curve {
    unsigned lanes; /* threads at once; of a GPU its multiprocessors */
    size_t n;
    struct pk_curve_point points[PK_CURVE_POINTS]; /* by size */
    enum pk_curve_stop stop;
    double memory_bytes_per_s, copy_bytes_per_s; /* of memory */
};

/* The rate of the fastest stream of several arrays. */
double pk_curve_rate(const struct pk_curve_point *p);

struct pk_curve_source {
    unsigned lanes;
    double cache_bytes
        [PK_LEVEL_BETWEEN]; /* L1, L2, L3 as the machine reports them, all that the lanes reach; 0 = none */
    size_t first_bytes, least_bytes, most_bytes;
    uint64_t time_ns;
    /* Raises rate[] to what this size reaches. PK_E_OOM where it has no room. */
    enum pk_code (*measure)(void *user, size_t bytes, double rate[PK_STREAMS], struct pk_err *err);
    void *user;
};

/* PK_E_OOM when not even the first size has room. */
enum pk_code pk_curve_grow(const struct pk_curve_source *s, struct pk_curve *out,
                           struct pk_err *err) PK_MUST_CHECK;
