/* Tree file: positions become nodes once all of them are known. */
#include "model/tree/tree_file.h"

#include "base/slurp.h"
#include "model/tree/tree_lines.h"

#include <stdlib.h>
#include <string.h>

enum { FILE_BYTES_MAX = 64 << 20 };

enum { NO_INDEX = -1 };

/* 12 for "12"; NO_INDEX for what is no index ("x", "012"); INT64_MAX for one that no sequence has. */
static int64_t index_of(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    if (!digits || name[digits] || (*name == '0' && digits > 1))
        return NO_INDEX;
    return digits > 9 ? INT64_MAX : strtoll(name, NULL, 10);
}

static enum pk_code mixed(struct pk_tree_lines *r, uint32_t at, uint32_t child)
{
    pk_fail(r->err, PK_E_USAGE, "%s:%d: %s has names and indices below it", r->name, r->at[child].line,
            pk_tree_lines_path(r, at));
    pk_why(r->err, "'%s' is the first that is not like those before it", r->names->text[r->at[child].name]);
    return pk_fix(r->err, "children are all named, or all numbered from 0");
}

static enum pk_code hole(struct pk_tree_lines *r, uint32_t at, size_t missing, int line)
{
    pk_fail(r->err, PK_E_USAGE, "%s:%d: %s.%zu: a hole", r->name, line, pk_tree_lines_path(r, at), missing);
    pk_why(r->err, "indices of a sequence go from 0 up, and that one is missing");
    return pk_fix(r->err, "add its leaves, or number those behind it anew");
}

/* Children in the order of their indices. */
static enum pk_code in_order(struct pk_tree_lines *r, uint32_t at, uint32_t *child)
{
    const struct pk_line_position *p = &r->at[at];
    int beyond = p->line;
    for (uint32_t c = p->first; c; c = r->at[c].next) {
        int64_t index = index_of(r->names->text[r->at[c].name]);
        if (index < p->n_children)
            child[index] = c;
        else
            beyond = r->at[c].line;
    }
    for (size_t i = 0; i < p->n_children; i++)
        if (!child[i])
            return hole(r, at, i, beyond);
    return PK_OK;
}

/* The children of a position as its node has them. */
static enum pk_code children(struct pk_tree_lines *r, uint32_t at, bool *numbered, uint32_t **child)
{
    const struct pk_line_position *p = &r->at[at];
    size_t n = 0;
    *child = pk_new_n(r->a, uint32_t, p->n_children);
    for (uint32_t c = p->first; c; c = r->at[c].next, n++) {
        bool index = index_of(r->names->text[r->at[c].name]) != NO_INDEX;
        if (n && index != *numbered)
            return mixed(r, at, c);
        *numbered = index;
        (*child)[n] = c;
    }
    if (!*numbered)
        return PK_OK;
    memset(*child, 0, n * sizeof **child);
    return in_order(r, at, *child);
}

struct builder {
    struct pk_tree_lines *r;
    struct pk_bump bump;
    struct pk_tree *tree;
    struct pk_shape *shapes;
    struct pk_index index; /* of types, by content */
    const struct pk_node_type **types;
    size_t n_types, cap_types;
};

static bool same_type(const void *wanted, uint32_t row)
{
    const struct builder *b = wanted;
    const struct pk_node_type *t = b->types[row], *fresh = b->types[b->n_types];
    return t->kind == fresh->kind && t->n_fields == fresh->n_fields &&
           !memcmp(t->fields, fresh->fields, t->n_fields * sizeof *t->fields);
}

/* Modules with the same names below them are of one type. */
static const struct pk_node_type *type_of(struct builder *b, bool numbered, const uint32_t *child, uint32_t n)
{
    struct pk_node_type *fresh = pk_new(b->r->a, struct pk_node_type);
    uint32_t *fields = pk_new_n(b->r->a, uint32_t, n);
    for (uint32_t i = 0; i < n; i++)
        fields[i] = b->r->at[child[i]].name;
    *fresh = (struct pk_node_type){numbered ? PK_NODE_SEQUENCE : PK_NODE_MODULE,
                                   numbered ? "Sequence" : "Module", n, fields};
    b->types = pk_grow(b->r->a, b->types, sizeof *b->types, b->n_types, &b->cap_types);
    b->types[b->n_types] = fresh;
    uint64_t hash = pk_hash_bytes(fresh->kind, fields, n * sizeof *fields);
    uint32_t row = pk_index_row(&b->index, hash, same_type, b, (uint32_t)b->n_types);
    b->n_types += row == b->n_types;
    return b->types[row];
}

static const struct pk_node *leaf(struct builder *b, const struct pk_line_position *p)
{
    static const struct pk_node_type parameter = {.kind = PK_NODE_PARAMETER, .name = "Parameter"},
                                     array = {.kind = PK_NODE_LEAF, .name = "Array"};
    size_t row = b->tree->n_leaves++;
    b->shapes[row] = p->shape;
    struct pk_node *n = pk_node_new(&b->bump, &parameter, 1, PK_WHOLE);
    n->child[0] = pk_node_new(&b->bump, &array, 0, (uint32_t)row);
    return n;
}

/* NULL after an error. */
static const struct pk_node *build(struct builder *b, uint32_t at)
{
    const struct pk_line_position *p = &b->r->at[at];
    uint32_t *child;
    bool numbered = false;
    if (p->leaf)
        return leaf(b, p);
    if (children(b->r, at, &numbered, &child))
        return NULL;
    const struct pk_node_type *type = type_of(b, numbered, child, p->n_children);
    struct pk_node *n = pk_node_new(&b->bump, type, p->n_children, 0);
    for (uint32_t i = 0; i < n->arity; i++)
        if (!(n->child[i] = build(b, child[i])))
            return NULL;
    return n;
}

static enum pk_code make_tree(struct pk_tree_lines *r, struct pk_tree *out)
{
    struct builder b = {.r = r, .tree = out, .index = {.arena = r->a}};
    size_t leaves = 0, bytes = 0;
    for (size_t i = 0; i < r->n; i++) {
        leaves += r->at[i].leaf;
        bytes += r->at[i].leaf ? pk_node_bytes(1) + pk_node_bytes(0) : pk_node_bytes(r->at[i].n_children);
    }
    pk_bump_init(&b.bump, r->a, bytes);
    b.shapes = pk_new_n(r->a, struct pk_shape, leaves);
    *out = (struct pk_tree){.names = r->names, .shapes = b.shapes};
    out->root = build(&b, PK_LINES_ROOT);
    return out->root ? PK_OK : r->err->code;
}

enum pk_code pk_tree_parse(const char *name, const char *text, size_t n, struct pk_arena *a,
                           struct pk_tree *out, struct pk_err *err)
{
    struct pk_tree_lines lines;
    if (pk_tree_lines_read(name, text, n, a, &lines, err))
        return err->code;
    return make_tree(&lines, out);
}

enum pk_code pk_tree_read(const char *path, struct pk_arena *a, struct pk_tree *out, struct pk_err *err)
{
    char *text;
    size_t n;
    if (pk_slurp(path, FILE_BYTES_MAX, a, &text, &n, err))
        return err->code;
    return pk_tree_parse(path, text, n, a, out, err);
}

const struct pk_node *pk_tree_copy(const struct pk_node *root, struct pk_bump *b)
{
    struct pk_node *n = pk_node_copy(b, root);
    for (uint32_t i = 0; i < n->arity; i++)
        n->child[i] = pk_tree_copy(root->child[i], b);
    return n;
}
