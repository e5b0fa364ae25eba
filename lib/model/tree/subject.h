/* Subject: what one experiment on a tree works with: the tree, made anew as often as wanted, a plan, and the modules it names.
 *
 * The pristine `tree` and `divided` are for checks and for sizes; nobody writes to them. */
#pragma once

#include "model/tree/bert.h"
#include "model/tree/patch.h"

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
    struct pk_match match;           /* in `tree` */
    size_t n;                        /* modules to patch, the first of match */
    struct pk_tree divided;          /* patched */
    uint64_t module_bytes;           /* of the new modules */
    uint64_t least_bytes;            /* written by a patch that keeps the old tree and copies no node twice */
    const struct pk_bert_plan *bert; /* NULL for a tree that was read */
    bool born_divided; /* the reports' plan, all of it, on a BERT: what pk_bert_make calls sharded */
};

/* Reads the files; PK_E_USAGE as pk_tree_read and pk_patch_plan_read say. No match is not an error here (pk_patch_plan_check). */
enum pk_code pk_subject_open(const struct pk_subject_options *o, struct pk_arena *a, struct pk_subject *out,
                             struct pk_err *err) PK_MUST_CHECK;

/* A new tree in `b`, equal to `tree` or to `divided`. Takes at most count.bytes + least_bytes + the bytes of the new modules:
 * 2 * count.bytes is always enough. Can be timed. */
void pk_subject_make(const struct pk_subject *s, bool divided, struct pk_bump *b, struct pk_tree *out);
