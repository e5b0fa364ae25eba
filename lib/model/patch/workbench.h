/* Workbench: a subject (tree and plan) with the memory and tables for working on it. Each piece of work is a unit that can be timed and
 * repeated: a function of the workbench that allocates nothing and has the same result when it runs again.
 *
 * Order of units: pk_make_tree; then for a patch pk_find_modules, pk_make_replacements, pk_put_in; for combine pk_partition, pk_combine;
 * for flatten pk_flatten, pk_unflatten. `result` is the root of the resulting tree. */
#pragma once

#include "model/patch/patch.h"
#include "model/tree/bert.h"
#include "model/tree/combine.h"

struct pk_subject_options {
    const char *tree_file; /* NULL: the BERT below */
    struct pk_bert bert;
    const char *plan_file; /* NULL: the reports' plan */
    size_t patches;        /* at most so many modules; 0 = all that match */
};

struct pk_subject {
    struct pk_tree tree;
    struct pk_tree_count count;
    struct pk_patch_plan plan;
    struct pk_targets match; /* in `tree` */
    size_t n;                /* modules to patch, the first of match */
    struct pk_tree divided;  /* patched */
    uint64_t module_bytes;   /* of the new modules */
    uint64_t least_bytes;    /* bytes written by a patch that keeps the old tree and copies no node twice */
    const struct pk_bert_plan *bert; /* NULL for a tree from a file */
    bool born_divided;               /* the complete reports' plan on a BERT: `sharded` of pk_bert_make */
};

/* Reads the files, with the errors of pk_tree_read and pk_patch_plan_read. No match is not an error here (see pk_patch_plan_check). */
enum pk_code pk_subject_open(const struct pk_subject_options *o, struct pk_arena *a, struct pk_subject *out,
                             struct pk_err *err) PK_MUST_CHECK;

/* A new tree in `b`, equal to `tree` or to `divided`. Allocates at most count.bytes + least_bytes + the bytes of the new modules; 2 *
 * count.bytes is always enough. Can be timed. */
void pk_subject_make(const struct pk_subject *s, bool divided, struct pk_bump *b, struct pk_tree *out);

struct pk_workbench {
    struct pk_subject s;
    enum pk_patch_way way;
    struct pk_bump nodes, modules, halves, results;
    struct pk_tree tree; /* made by pk_make_tree */
    const struct pk_node *result;
    uint64_t applied; /* patches, combinations or flattenings so far */
    /* patching */
    const struct pk_matcher *matcher; /* NULL: fnmatch */
    struct pk_targets match;
    struct pk_edits edits;
    const struct pk_node **with; /* the array of edits.with */
    struct pk_patcher *patcher;
    /* flattening and combining */
    const bool *chosen; /* by leaf: inside a module of the plan */
    const struct pk_node *yes, *no;
    enum pk_combine_way combining;
    struct pk_combiner *combiner;
    struct pk_tree_structure *structure;
};

/* PK_E_OOM, with both numbers, when the nodes for patching a subject in this way do not fit into limit_bytes; 0 = 0.9 of the host's
 * available memory. */
enum pk_code pk_workbench_room(const struct pk_subject *s, enum pk_patch_way way, int64_t limit_bytes,
                               struct pk_err *err) PK_MUST_CHECK;
/* For a subject that is open (w->s). */
void pk_workbench_for_patch(struct pk_workbench *w, enum pk_patch_way way, const struct pk_matcher *matcher,
                            struct pk_arena *a);
/* naive, batched and cached are the ways to combine. */
void pk_workbench_for_merge(struct pk_workbench *w, enum pk_patch_way way, struct pk_arena *a);

void pk_make_tree(void *workbench);    /* built-in: divided */
void pk_find_modules(void *workbench); /* cached: decides what to copy, too */
void pk_make_replacements(void *workbench);
void pk_put_in(void *workbench);
void pk_partition(void *workbench);
void pk_combine(void *workbench);
void pk_flatten(void *workbench);
void pk_unflatten(void *workbench);

/* Allocated by patches, combinations and unflattenings so far. */
struct pk_allocation_counts pk_workbench_allocated(const struct pk_workbench *w);

/* Compares `result` with the tree that a plain recursion makes, and the old tree with a fresh one. PK_E_CHECK with the path of the first
 * difference. */
enum pk_code pk_workbench_check(const struct pk_workbench *w, struct pk_arena *a,
                                struct pk_err *err) PK_MUST_CHECK;
