/* Patch plan: which modules of a tree are transformed, and how, as rules "pattern = transform"; the first match wins.
 *
 * A pattern is a shell glob over a module's whole path: `*` and `?` also match dots, [a-z] and [!a-z] are sets, a backslash is itself
 * (Python's fnmatchcase; fnmatch(3) with FNM_NOESCAPE). `?` and a set match one byte. Every module but the root is a candidate;
 * sequences, parameters and leaves are not. pk_patch_plan_check warns about a rule that never matches first, with the rules that hide
 * it; a plan without any match, and a target inside another target, are errors. */
#pragma once

#include "model/patch/glob.h"
#include "model/tree/tree.h"

enum pk_transform {
    PK_COLUMN_PARALLEL, /* weight [out, in] and bias [out] divided along out: contiguous pieces */
    PK_ROW_PARALLEL,    /* weight divided along in: strided pieces; bias whole */
    PK_TRANSFORMS
};
extern const char *const pk_transform_names[]; /* "column", "row"; NULL-terminated */

/* How an array of a target is divided: column: every array along its first dimension; row: a matrix along its second. */
enum pk_sharding pk_transform_sharding(enum pk_transform how, const struct pk_shape *s);

struct pk_patch_rule {
    const char *pattern;
    enum pk_transform transform;
    int line; /* in its file; 0 when built in */
};

struct pk_patch_plan {
    const char *name; /* file, or "reports" */
    size_t n;
    const struct pk_patch_rule *rules;
};

/* The patterns of its rules. */
const struct pk_globs *pk_patch_plan_globs(const struct pk_patch_plan *p, struct pk_arena *a);

/* The six rules of the reports. The sixth, *.attention.output.dense, never matches first, because the second, *.output.dense, is before
 * it. */
extern const struct pk_patch_plan pk_patch_plan_reports;

/* A file of "pattern = transform" lines; blank lines and lines that begin with '#' are skipped. Usage errors with file and
 * line: a malformed pattern (an open '[', a class such as [[:alpha:]], [^a], which means different things to fnmatch and to
 * Python, [z-a], nothing), an unknown transform (did-you-mean), the same pattern twice, a file without rules. */
enum pk_code pk_patch_plan_read(const char *path, struct pk_arena *a, struct pk_patch_plan *out,
                                struct pk_err *err) PK_MUST_CHECK;
/* The same from text. Fuzzed. */
enum pk_code pk_patch_plan_parse(const char *name, const char *text, size_t n, struct pk_arena *a,
                                 struct pk_patch_plan *out, struct pk_err *err) PK_MUST_CHECK;

/* Checks a plan for this tree and tp devices. Errors (PK_E_USAGE): no match (the error names some existing modules, and says if only
 * leaves match); a target inside another (both paths); a target without its own 2-D parameter; a dimension that is not a multiple of tp
 * (path, dimension, values of tp that are possible). tp = 0: dimensions are not checked. Warnings: rules that never match first. */
enum pk_code pk_patch_plan_check(const struct pk_patch_plan *p, const struct pk_tree *t, int64_t tp,
                                 pk_warn_fn *warn, void *user, struct pk_err *err) PK_MUST_CHECK;
