/* Spans: what happened when in one iteration, as the note "trace" of a trace or memory pass, which the store keeps in
 * v_trace and from which timelines are made (timeline.h). Times are ns since the first of them.
 *
 *   {"names":   ["forward", "compute", "softmax", ...],                what the rows below point to by index
 *    "regions": [[name, lane, begin, length, ran, ran_length]],        the last two on a GPU: from the first to the last of its pieces
 *    "pieces":  [[name, lane, family, region, begin, length, launched]],  kernels and copies of a GPU, ops elsewhere; region -1: none;
 *                                                                      launched on a GPU, where the launch is known
 *    "ops":     [[name, "host", family, region, begin, length]],       the calls that launched pieces of a GPU
 *    "memory":  [{"at_ns", "bytes", TAG: bytes}]}                       of a memory pass: live bytes, all and by tag (bench/measure/steps.h)
 *
 * Lanes are "compute", "comm", "copy" and "host"; a GPU's pieces are in "stream 7", and all else is on "host". */
#pragma once

#include "device/trace.h"
#include "json/json.h"

/* More rows than this are noted without ops: a note is one line of the wire. */
enum { PK_SPANS_NOTED = 150000 };

struct pk_spans {
    struct pk_mark *marks;
    struct pk_kernel *pieces, *ops;
    size_t n_marks, n_pieces, n_ops;
    uint64_t begin_ns; /* that the times of the note count from: the first of all */
    bool launched;     /* the host launched the pieces: a GPU */
};

/* Copies the rows, which the next iteration overwrites; t NULL: regions alone. */
void pk_spans_keep(struct pk_spans *s, const struct pk_trace *t, const struct pk_marks *marks,
                   struct pk_arena *a);
typedef const char *pk_region_name_fn(const void *user, int region); /* of the probe */
/* The note. */
json_t *pk_spans_json(const struct pk_spans *s, pk_region_name_fn *name, const void *user,
                      struct pk_arena *a);
