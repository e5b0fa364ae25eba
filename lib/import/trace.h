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

enum { PK_TRACED_MAX = 2 << 20 }; /* spans of a file */

enum pk_traced_kind {
    PK_TRACED_PIECE,  /* a kernel or a copy of a device */
    PK_TRACED_LAUNCH, /* the call that launched one: both have the same number */
    PK_TRACED_OP,     /* an operator of a thread */
    PK_TRACED_RANGE,  /* a named range of a thread */
    PK_TRACED_STEP,   /* an iteration; its name does not count */
    PK_TRACED_KINDS
};

struct pk_traced_span {
    const char *name; /* by pk_traced_name */
    enum pk_kernel_family family;
    int64_t begin_ns, end_ns; /* by any clock, one for all */
    int64_t launch;           /* 0 = not known */
    int64_t device, copied_bytes;
    uint32_t lane; /* of a piece its stream, of an operator its thread */
};

struct pk_traced_spans {
    struct pk_traced_span *v;
    size_t n, cap;
};

struct pk_traced {
    struct pk_import_reader *r;
    struct pk_index *index;
    const char **names;
    size_t n_names, names_cap;
    struct pk_traced_spans of[PK_TRACED_KINDS];
};

struct pk_traced *pk_traced_new(struct pk_import_reader *r);
/* A text once, so that many spans share it: cut at PK_IMPORT_TEXT_MAX bytes, what is not UTF-8 replaced. *row (may be NULL) numbers it. */
const char *pk_traced_name(struct pk_traced *t, const char *text, uint32_t *row);
/* A problem when it ends before it begins, when its times are out of range, or when there are too many. */
void pk_traced_add(struct pk_traced *t, enum pk_traced_kind kind, const struct pk_traced_span *s);
/* The family of an operator of PyTorch, "aten::addmm"; of others by pk_kernel_family_of. */
enum pk_kernel_family pk_traced_op_family(const char *name);
/* Adds the cases. axes may be NULL. */
void pk_traced_finish(struct pk_traced *t, const json_t *axes);
