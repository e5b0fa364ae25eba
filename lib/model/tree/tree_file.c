/* Tree file: the lines are positions below each other; positions become nodes once all of them are known. */
#include "model/tree/tree.h"

#include "base/file.h"
#include "base/index.h"
#include "base/text/units.h"
#include "base/text/words.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROOT = 0, /* the first position */
    NO_INDEX = -1,
    FILE_BYTES_MAX = 64 << 20,
    PARTS_MAX = PK_TREE_DEPTH_MAX - 1 /* of a path: a parameter's leaf is one below it */
};

/* A place in the tree, before it is a node. */
struct position {
    uint32_t parent, name;      /* a row of positions; a name's id */
    uint32_t first, last, next; /* children as they came, and the next sibling; the root's row ends a list */
    uint32_t n_children;
    int line; /* that named it first */
    bool leaf;
    struct pk_shape shape; /* of a leaf */
};

struct tree_lines {
    const char *name; /* of the file */
    struct pk_arena *a;
    struct pk_err *err;
    struct pk_names *names;
    struct position *at;
    size_t n, cap;
    struct pk_index index; /* of positions, by parent and name */
    int64_t elements;
    int line;
};

#define ELEMENTS_MAX (INT64_MAX / 8) /* over all leaves: their bytes are still a number */

/* For every line that is not as it should be. */
static enum pk_code print_it_again(struct pk_err *err)
{
    return pk_fix(err, "print the file with: for n, p in model.named_parameters(): print(n, tuple(p.shape))");
}

/* ---- shapes ------------------------------------------------------------------------------------------- */

/* The text between the brackets of "(2, 3)", "[2, 3]" or "torch.Size([2, 3])"; NULL without them. */
static const char *dimensions(const char *text, struct pk_arena *a)
{
    static const char *const brackets[][2] = {{"torch.Size([", "])"}, {"(", ")"}, {"[", "]"}};
    size_t n = strlen(text);
    for (size_t i = 0; i < sizeof brackets / sizeof *brackets; i++) {
        size_t open = strlen(brackets[i][0]), close = strlen(brackets[i][1]);
        if (n >= open + close && !strncmp(text, brackets[i][0], open) &&
            !strcmp(text + n - close, brackets[i][1]))
            return pk_strndup(a, text + open, n - open - close);
    }
    return NULL;
}

/* Dimensions separated by commas, with an optional comma after the last. */
static bool read_dimensions(const char *rest, struct pk_shape *s, struct pk_arena *a)
{
    struct pk_err unused;
    while (rest) {
        const char *part = pk_next_part(&rest, ',', a);
        if (!*part && !rest)
            return true;
        if (s->rank == PK_TREE_RANK_MAX || pk_parse_int(part, &s->dim[s->rank], &unused) ||
            s->dim[s->rank] < 1)
            return false;
        s->rank++;
    }
    return true;
}

static enum pk_code read_shape(struct tree_lines *r, const char *text, struct pk_shape *s)
{
    const char *inside = dimensions(text, r->a);
    *s = (struct pk_shape){0};
    if (inside && *inside != ',' && read_dimensions(inside, s, r->a))
        return PK_OK;
    if (*text)
        pk_fail(r->err, PK_E_USAGE, "'%s' is not a shape", text);
    else
        pk_fail(r->err, PK_E_USAGE, "there is no shape");
    pk_why(r->err,
           "a line is a path and a shape of at most %d dimensions, each at least 1: (768, 768), or () for "
           "one number",
           PK_TREE_RANK_MAX);
    return print_it_again(r->err);
}

/* ---- positions ---------------------------------------------------------------------------------------- */

static bool same_position(const void *wanted, uint32_t row)
{
    const struct tree_lines *r = wanted;
    const struct position *p = &r->at[row], *fresh = &r->at[r->n];
    return p->parent == fresh->parent && p->name == fresh->name;
}

/* The child of this name; new when it was not there. */
static uint32_t child_of(struct tree_lines *r, uint32_t parent, const char *name)
{
    r->at = pk_grow(r->a, r->at, sizeof *r->at, r->n, &r->cap);
    struct position *fresh = &r->at[r->n], *p = &r->at[parent];
    *fresh = (struct position){.parent = parent, .name = pk_name(r->names, name), .line = r->line};
    uint64_t hash = pk_hash(pk_hash(0, parent), fresh->name);
    uint32_t row = pk_index_row(&r->index, hash, same_position, r, (uint32_t)r->n);
    if (row < r->n)
        return row;
    if (p->n_children++)
        r->at[p->last].next = row;
    else
        p->first = row;
    p->last = row;
    r->n++;
    return row;
}

/* "bert.encoder"; "the model" for the root. */
static const char *path_of(const struct tree_lines *r, uint32_t at)
{
    const struct position *p = &r->at[at];
    const char *name = at == ROOT ? "the model" : r->names->text[p->name];
    return at == ROOT || p->parent == ROOT ? name : pk_printf(r->a, "%s.%s", path_of(r, p->parent), name);
}

static enum pk_code taken(struct tree_lines *r, uint32_t at, const char *as)
{
    pk_fail(r->err, PK_E_USAGE, "%s is %s", path_of(r, at), as);
    pk_why(r->err, "line %d has it first", r->at[at].line);
    return pk_fix(r->err, "a path names one leaf, and no other path continues it");
}

static enum pk_code bad_path(struct tree_lines *r, const char *path, const char *why)
{
    pk_fail(r->err, PK_E_USAGE, "'%s' is not a path", path);
    pk_why(r->err, "%s", why);
    return print_it_again(r->err);
}

static enum pk_code add_leaf(struct tree_lines *r, const char *path, const struct pk_shape *shape)
{
    uint32_t at = ROOT, parts = 0;
    if (strlen(path) >= PK_TREE_PATH_MAX)
        return bad_path(r, pk_strndup(r->a, path, 64),
                        pk_printf(r->a, "it has %zu bytes, and a path has at most %d", strlen(path),
                                  PK_TREE_PATH_MAX - 1));
    for (const char *rest = path, *part; (part = pk_next_part(&rest, '.', r->a)); parts++) {
        if (!*part)
            return bad_path(r, path, "a name between its dots is empty");
        if (parts == PARTS_MAX)
            return bad_path(r, path, pk_printf(r->a, "it has more than %d names", PARTS_MAX));
        if (r->at[at].leaf)
            return taken(r, at, "both leaf and module");
        at = child_of(r, at, part);
    }
    struct position *p = &r->at[at];
    if (p->leaf)
        return taken(r, at, "given twice");
    if (p->n_children)
        return taken(r, at, "both leaf and module");
    p->leaf = true;
    p->shape = *shape;
    int64_t n = 1;
    bool fits = true;
    for (int i = 0; i < shape->rank && fits; i++)
        fits = !__builtin_mul_overflow(n, shape->dim[i], &n);
    if (fits && n <= ELEMENTS_MAX - r->elements) {
        r->elements += n;
        return PK_OK;
    }
    pk_fail(r->err, PK_E_USAGE, "the model is too large with this leaf");
    pk_why(r->err, "all leaves together can have %lld elements", (long long)ELEMENTS_MAX);
    return print_it_again(r->err);
}

/* ---- lines -------------------------------------------------------------------------------------------- */

static enum pk_code read_line(struct tree_lines *r, const char *text, size_t n)
{
    pk_trim(&text, &n);
    if (!n || *text == '#')
        return PK_OK;
    const size_t printable = pk_printable(text, n);
    if (printable < n)
        return bad_path(r, pk_strndup(r->a, text, printable),
                        "it is followed by a character that cannot be printed");
    size_t end = 0;
    while (end < n && !pk_is_blank(text[end]))
        end++;
    const char *path = pk_strndup(r->a, text, end);
    while (end < n && pk_is_blank(text[end]))
        end++;
    struct pk_shape shape;
    if (read_shape(r, pk_strndup(r->a, text + end, n - end), &shape))
        return r->err->code;
    return add_leaf(r, path, &shape);
}

/* ---- nodes -------------------------------------------------------------------------------------------- */

/* 12 for "12"; NO_INDEX for what is no index ("x", "012"); INT64_MAX for one that no sequence has. */
static int64_t index_of(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    if (!digits || name[digits] || (*name == '0' && digits > 1))
        return NO_INDEX;
    return digits > 9 ? INT64_MAX : strtoll(name, NULL, 10);
}

/* Children in the order of their indices. */
static enum pk_code in_order(struct tree_lines *r, uint32_t at, uint32_t *child)
{
    const struct position *p = &r->at[at];
    int beyond = p->line;
    for (uint32_t c = p->first; c; c = r->at[c].next) {
        int64_t index = index_of(r->names->text[r->at[c].name]);
        if (index < p->n_children)
            child[index] = c;
        else
            beyond = r->at[c].line;
    }
    for (size_t i = 0; i < p->n_children; i++)
        if (!child[i]) {
            pk_fail(r->err, PK_E_USAGE, "%s:%d: %s.%zu is missing", r->name, beyond, path_of(r, at), i);
            pk_why(r->err, "the indices of a sequence start at 0 and have no gaps");
            return pk_fix(r->err, "add its leaves, or renumber those after it");
        }
    return PK_OK;
}

/* The children of a position as its node has them. */
static enum pk_code children(struct tree_lines *r, uint32_t at, bool *numbered, uint32_t **child)
{
    const struct position *p = &r->at[at];
    size_t n = 0;
    *child = pk_new_n(r->a, uint32_t, p->n_children);
    for (uint32_t c = p->first; c; c = r->at[c].next, n++) {
        bool index = index_of(r->names->text[r->at[c].name]) != NO_INDEX;
        if (n && index != *numbered) {
            pk_fail(r->err, PK_E_USAGE, "%s:%d: %s has names and indices below it", r->name, r->at[c].line,
                    path_of(r, at));
            pk_why(r->err, "'%s' is the first that differs from those before it",
                   r->names->text[r->at[c].name]);
            return pk_fix(r->err, "children are all named, or all numbered from 0");
        }
        *numbered = index;
        (*child)[n] = c;
    }
    if (!*numbered)
        return PK_OK;
    memset(*child, 0, n * sizeof **child);
    return in_order(r, at, *child);
}

struct builder {
    struct tree_lines *r;
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

static const struct pk_node *leaf(struct builder *b, const struct position *p)
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
    const struct position *p = &b->r->at[at];
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

enum pk_code pk_tree_parse(const char *name, const char *text, size_t n, struct pk_arena *a,
                           struct pk_tree *out, struct pk_err *err)
{
    struct tree_lines lines = {
        .name = name, .a = a, .err = err, .names = pk_names_new(a), .index = {.arena = a}};
    lines.at = pk_grow(a, NULL, sizeof *lines.at, 0, &lines.cap);
    lines.n = 1; /* the root, which has no name */
    for (const char *end = text + n, *next; text < end; text = next) {
        const char *nl = memchr(text, '\n', (size_t)(end - text));
        next = nl ? nl + 1 : end;
        lines.line++;
        if (read_line(&lines, text, (size_t)((nl ? nl : end) - text)))
            return pk_within(err, "%s:%d", name, lines.line);
    }
    if (lines.n <= 1) {
        pk_fail(err, PK_E_USAGE, "%s has no leaf", name);
        pk_why(err, "all its lines are blank or begin with #");
        return print_it_again(err);
    }
    struct builder b = {.r = &lines, .tree = out, .index = {.arena = a}};
    size_t leaves = 0, bytes = 0;
    for (size_t i = 0; i < lines.n; i++) {
        leaves += lines.at[i].leaf;
        bytes +=
            lines.at[i].leaf ? pk_node_bytes(1) + pk_node_bytes(0) : pk_node_bytes(lines.at[i].n_children);
    }
    pk_bump_init(&b.bump, a, bytes);
    b.shapes = pk_new_n(a, struct pk_shape, leaves);
    *out = (struct pk_tree){.names = lines.names, .shapes = b.shapes};
    out->root = build(&b, ROOT);
    return out->root ? PK_OK : err->code;
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
