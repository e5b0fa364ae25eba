/* Tree: nodes and names made, counted, compared, hashed. */
#include "model/tree/tree.h"

#include "base/text/buf.h"

#include <stdlib.h>
#include <string.h>

struct pk_names *pk_names_new(struct pk_arena *a)
{
    struct pk_names *names = pk_new(a, struct pk_names);
    names->index.arena = a;
    return names;
}

/* The text to find is stored after the last one. */
static bool same_name(const void *wanted, uint32_t row)
{
    const struct pk_names *names = wanted;
    return !strcmp(names->text[row], names->text[names->n]);
}

uint32_t pk_name(struct pk_names *names, const char *text)
{
    struct pk_arena *a = names->index.arena;
    names->text = pk_grow(a, names->text, sizeof *names->text, names->n, &names->cap);
    names->text[names->n] = text;
    uint32_t id = pk_index_row(&names->index, pk_hash_bytes(0, text, strlen(text)), same_name, names,
                               (uint32_t)names->n);
    if (id == names->n)
        names->text[names->n++] = pk_strdup(a, text);
    return id;
}

int64_t pk_shape_elements(const struct pk_shape *s)
{
    int64_t n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= s->dim[i];
    return n;
}

static void count(const struct pk_tree *t, const struct pk_node *n, size_t depth, struct pk_tree_count *out)
{
    size_t *const kinds[] = {[PK_NODE_MODULE] = &out->modules,
                             [PK_NODE_SEQUENCE] = &out->sequences,
                             [PK_NODE_PARAMETER] = &out->parameters,
                             [PK_NODE_LEAF] = &out->leaves};
    ++*kinds[n->type->kind];
    out->bytes += pk_node_bytes(n->arity);
    if (n->type->kind == PK_NODE_LEAF) {
        out->elements += pk_shape_elements(&t->shapes[n->value]);
        out->depth = depth > out->depth ? depth : out->depth;
    }
    for (uint32_t i = 0; i < n->arity; i++)
        count(t, n->child[i], depth + 1, out);
}

void pk_tree_count(const struct pk_tree *t, struct pk_tree_count *out)
{
    *out = (struct pk_tree_count){0};
    count(t, t->root, 0, out);
    out->internal = out->modules + out->sequences + out->parameters;
}

static void list_nodes(const struct pk_node *n, const struct pk_node **list, size_t *listed)
{
    if (n->arity)
        list[(*listed)++] = n;
    for (uint32_t i = 0; i < n->arity; i++)
        list_nodes(n->child[i], list, listed);
}

static int by_address(const void *a, const void *b)
{
    const uintptr_t x = (uintptr_t) * (const struct pk_node *const *)a;
    const uintptr_t y = (uintptr_t) * (const struct pk_node *const *)b;
    return (x > y) - (x < y);
}

bool pk_tree_shares(const struct pk_tree *t, struct pk_arena *a)
{
    struct pk_tree_count k;
    size_t n = 0;
    bool shares = false;
    pk_tree_count(t, &k);
    const struct pk_node **list = pk_new_n(a, const struct pk_node *, k.internal);
    list_nodes(t->root, list, &n);
    qsort(list, n, sizeof *list, by_address);
    for (size_t i = 1; i < n; i++)
        shares |= list[i] == list[i - 1];
    return shares;
}

/* Two trees can have been made apart: their types are then compared by what they say. */
static bool same_type(const struct pk_tree *ta, const struct pk_node_type *a, const struct pk_tree *tb,
                      const struct pk_node_type *b)
{
    if (a == b && ta->names == tb->names)
        return true;
    if (a->kind != b->kind || strcmp(a->name, b->name) || a->n_fields != b->n_fields)
        return false;
    for (uint32_t i = 0; i < a->n_fields; i++)
        if (strcmp(ta->names->text[a->fields[i]], tb->names->text[b->fields[i]]))
            return false;
    return true;
}

struct tree_pair {
    const struct pk_tree *a, *b;
    uint32_t depth;
    uint32_t step[PK_TREE_DEPTH_MAX]; /* to the nodes in hand; to a difference when there is one */
};

static bool equal(struct tree_pair *c, const struct pk_node *a, const struct pk_node *b)
{
    if (!same_type(c->a, a->type, c->b, b->type) || a->arity != b->arity || a->value != b->value)
        return false;
    for (uint32_t i = 0; i < a->arity; i++) {
        pk_assert(c->depth < PK_TREE_DEPTH_MAX);
        c->step[c->depth++] = i;
        if (!equal(c, a->child[i], b->child[i]))
            return false;
        c->depth--;
    }
    return true;
}

bool pk_tree_equal(const struct pk_tree *a, const struct pk_tree *b, struct pk_arena *arena,
                   const char **where)
{
    struct tree_pair c = {.a = a, .b = b};
    if (equal(&c, a->root, b->root))
        return true;
    *where = pk_tree_path(a, c.step, c.depth, arena);
    return false;
}

const char *pk_tree_path(const struct pk_tree *t, const uint32_t *step, uint32_t depth, struct pk_arena *a)
{
    struct pk_buf path = {.arena = a};
    const struct pk_node *n = t->root;
    for (uint32_t i = 0; i < depth; n = n->child[step[i++]]) {
        if (!n->type->fields)
            continue;
        if (path.n)
            pk_buf_char(&path, '.');
        pk_buf_str(&path, t->names->text[n->type->fields[step[i]]]);
    }
    return pk_buf_text(&path);
}
