/* Merge: apart and together again is the same tree, in every way. */
#include "model/tree/combine.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "base/rng.h"
#include "model/tree/bert.h"

static struct pk_arena arena;
static struct pk_tree tree;
static struct pk_tree_count k;
static struct pk_bump bump;

static int make(void **state)
{
    struct pk_bump nodes;
    const struct pk_bert config = {3, 8, 32, 5, 4, 2};
    const struct pk_bert_plan *plan = pk_bert_prepare(&config, &arena);
    pk_bump_init(&nodes, &arena, pk_bert_bytes(plan));
    pk_bert_make(plan, false, &nodes, &tree);
    assert_int_equal(nodes.used, nodes.cap);
    pk_tree_count(&tree, &k);
    assert_int_equal(k.bytes, pk_bert_bytes(plan));
    pk_bump_init(&bump, &arena, 4 * k.bytes);
    return 0;
}

static int clear(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static void assert_the_tree(const struct pk_node *root)
{
    struct pk_tree got = tree;
    const char *where;
    got.root = root;
    assert_ptr_not_equal(root, tree.root);
    if (!pk_tree_equal(&got, &tree, &arena, &where))
        fail_msg("differs at '%s'", where);
}

static void flattened_and_built_again(void **state)
{
    struct pk_tree_structure *s = pk_structure_new(&tree, &arena);
    pk_tree_flatten(tree.root, s);
    assert_int_equal(s->n_leaves, 16 * 3 + 10);
    for (size_t i = 0; i < s->n_leaves; i++)
        assert_int_equal(s->leaves[i]->value, i);
    assert_the_tree(pk_tree_unflatten(s, &bump));
    assert_int_equal(bump.objects, k.internal);
}

static size_t holes(const struct pk_node *n)
{
    size_t sum = n == &pk_tree_hole;
    for (uint32_t i = 0; i < n->arity; i++)
        sum += holes(n->child[i]);
    return sum;
}

static void divided_and_combined(void **state)
{
    struct pk_rng rng = {11};
    struct pk_combiner *c = pk_combiner_new(&tree, &arena);
    bool *chosen = pk_new_n(&arena, bool, k.leaves);
    for (int round = 0; round < 20; round++) {
        size_t n = 0;
        const struct pk_node *yes, *no;
        for (size_t i = 0; i < k.leaves; i++)
            n += chosen[i] = round == 0 ? false : round == 1 ? true : pk_rng_uniform(&rng) < 0.5;
        for (int way = PK_COMBINE_NAIVE; way <= PK_COMBINE_CACHED; way++) {
            pk_bump_reset(&bump);
            pk_tree_partition(tree.root, chosen, &bump, &yes, &no);
            assert_int_equal(holes(yes), k.leaves - n);
            assert_int_equal(holes(no), n);
            assert_the_tree(pk_tree_combine(c, (enum pk_combine_way)way, yes, no, &bump));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(flattened_and_built_again, make, clear),
        cmocka_unit_test_setup_teardown(divided_and_combined, make, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
