/* Tree files: refused in three parts, or a tree whose leaves are all there and whose copy is equal. */
#include "fuzz.h"
#include "model/tree/tree.h"

static void no_module_is_empty(const struct pk_node *n)
{
    pk_assert(n->arity || n->type->kind != PK_NODE_MODULE);
    for (uint32_t i = 0; i < n->arity; i++)
        no_module_is_empty(n->child[i]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_tree t;
    if (pk_tree_parse("file", (const char *)data, n, &a, &t, &err)) {
        pk_fuzz_refusal(&err);
        return 0;
    }
    struct pk_tree_count c;
    pk_tree_count(&t, &c);
    pk_assert(c.leaves == t.n_leaves && c.parameters == c.leaves && c.depth <= PK_TREE_DEPTH_MAX);
    no_module_is_empty(t.root);
    struct pk_bump b;
    struct pk_tree copy = t;
    const char *where;
    pk_bump_init(&b, &a, c.bytes);
    copy.root = pk_tree_copy(t.root, &b);
    pk_assert(pk_tree_equal(&t, &copy, &a, &where));
    return 0;
}
