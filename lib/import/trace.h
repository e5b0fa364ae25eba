/* Trace: what ran when, as profilers record it, and the case that it becomes.
 *
 * Readers add spans in any order. Of each device there is a case with the notes of a trace pass (timeline/spans.h,
 * timeline/breakdown_note.h), so that breakdowns, kernels and timelines are those of perfkit's own runs: of the step with the median
 * length, or of the whole trace where no steps are marked. On a GPU the pieces are kernels and copies, and operators launched them;
 * without a GPU the operators are the pieces, each without the time of those within it. Regions are the step, or the whole, and the named
 * ranges that took longest. Metrics are times of regions on the host, a sample for each occurrence. */
#pragma once

#include "device/trace.h"
#include "import/reader.h"

enum { PK_IMPORT_TRACE_MAX = 2 << 20 }; /* spans of a file */

enum pk_import_trace_kind {
    PK_IMPORT_TRACE_PIECE,  /* a kernel or a copy of a device */
    PK_IMPORT_TRACE_LAUNCH, /* the call that launched one: both have the same number */
    PK_IMPORT_TRACE_OP,     /* an operator of a thread */
    PK_IMPORT_TRACE_RANGE,  /* a named range of a thread */
    PK_IMPORT_TRACE_STEP,   /* an iteration; its name does not count */
    PK_IMPORT_TRACE_KINDS
};

struct pk_import_trace_span {
    const char *name; /* by pk_import_trace_name */
    enum pk_kernel_family family;
    int64_t begin_ns, end_ns; /* by any clock, one for all */
    int64_t launch;           /* 0 = not known */
    int64_t device, copied_bytes;
    uint32_t lane; /* of a piece its stream, of an operator its thread */
};

struct pk_import_trace_spans {
    struct pk_import_trace_span *v;
    size_t n, cap;
};

struct pk_import_trace {
    struct pk_import_reader *r;
    struct pk_index *index;
    const char **names;
    size_t n_names, names_cap;
    struct pk_import_trace_spans of[PK_IMPORT_TRACE_KINDS];
};

struct pk_import_trace *pk_import_trace_new(struct pk_import_reader *r);
/* A text once, so that many spans share it: cut at PK_IMPORT_TEXT_MAX bytes, what is not UTF-8 replaced. *row (may be NULL) numbers it. */
const char *pk_import_trace_name(struct pk_import_trace *t, const char *text, uint32_t *row);
/* A problem when it ends before it begins, when its times are out of range, or when there are too many. */
void pk_import_trace_add(struct pk_import_trace *t, enum pk_import_trace_kind kind,
                         const struct pk_import_trace_span *s);
/* The family of an operator of PyTorch, "aten::addmm"; of others by pk_kernel_family_of. */
enum pk_kernel_family pk_import_trace_op_family(const char *name);
/* Adds the cases. axes may be NULL. */
void pk_import_trace_finish(struct pk_import_trace *t, const json_t *axes);
