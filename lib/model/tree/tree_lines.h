/* Tree lines: the lines of a tree file (tree_file.h) as positions below each other, before they are nodes. */
#pragma once

#include "base/index.h"
#include "model/tree/tree.h"

enum { PK_LINES_ROOT = 0 };

struct pk_line_position {
    uint32_t parent, name;      /* a row of positions; a name's id */
    uint32_t first, last, next; /* children as they came, and the next sibling; the root's row ends a list */
    uint32_t n_children;
    int line; /* that named it first */
    bool leaf;
    struct pk_shape shape; /* of a leaf */
};

struct pk_tree_lines {
    const char *name; /* of the file */
    struct pk_arena *a;
    struct pk_err *err;
    struct pk_names *names;
    struct pk_line_position *at;
    size_t n, cap;
    struct pk_index index; /* of positions, by parent and name */
    int64_t elements;
    int line;
};

/* At least one leaf, none of them twice or also a module. What is read lives in the arena. */
enum pk_code pk_tree_lines_read(const char *name, const char *text, size_t n, struct pk_arena *a,
                                struct pk_tree_lines *out, struct pk_err *err) PK_MUST_CHECK;

/* "bert.encoder"; "the model" for the root. */
const char *pk_tree_lines_path(const struct pk_tree_lines *r, uint32_t at);
