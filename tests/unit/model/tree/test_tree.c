/* The tree: names, nodes, counts, equality, digests, paths. */
#include "model/tree/bert.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>

enum { BUMP = 1 << 20 };

static struct pk_arena arena;
static struct pk_bump bump;

static int begin(void **state)
{
    pk_bump_init(&bump, &arena, BUMP);
    return 0;
}

static int end(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

static struct pk_tree small(bool sharded)
{
    struct pk_bert config = {2, 8, 32, 50, 16, 2};
    struct pk_tree t;
    pk_bert_make(pk_bert_prepare(&config, &arena), sharded, &bump, &t);
    return t;
}

static void names_are_interned(void **state)
{
    struct pk_names *names = pk_names_new(&arena);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < 1000; i++)
            assert_int_equal(pk_name(names, pk_printf(&arena, "n%u", i)), i);
    assert_int_equal(names->n, 1000);
    assert_string_equal(names->text[999], "n999");
}

static void a_bump_counts(void **state)
{
    static const struct pk_node_type type = {PK_NODE_MODULE, "M", 0, NULL};
    struct pk_node *n = pk_node_new(&bump, &type, 3, 7);
    n->child[0] = n->child[1] = n->child[2] = n;
    struct pk_node *copy = pk_node_copy(&bump, n);
    assert_memory_equal(copy, n, pk_node_bytes(3));
    assert_int_equal(bump.objects, 2);
    assert_int_equal(bump.bytes, 2 * (16 + 3 * sizeof(void *)));
    pk_bump_reset(&bump);
    assert_ptr_equal(pk_node_new(&bump, &type, 0, 0), n);
    assert_int_equal(bump.objects, 3);
}

static void elements(void **state)
{
    struct pk_shape scalar = {0}, cube = {3, {2, 3, 5}}, large = {2, {1 << 20, 1 << 20}};
    assert_int_equal(pk_shape_elements(&scalar), 1);
    assert_int_equal(pk_shape_elements(&cube), 30);
    assert_int_equal(pk_shape_elements(&large), (int64_t)1 << 40);
}

/* The first module of the last layer stands in for the second one too. */
static void shared_subtrees_count_at_each_place(void **state)
{
    struct pk_tree t = small(false);
    struct pk_tree_count whole, layer, shared;
    static const uint32_t to_layers[] = {0, 1, 0};
    struct pk_node *layers = (struct pk_node *)pk_tree_at(t.root, to_layers, 3);
    pk_tree_count(&t, &whole);
    layers->child[1] = layers->child[0];
    pk_tree_count(&t, &shared);
    assert_memory_equal(&shared, &whole, sizeof whole);
    t.root = layers->child[0];
    pk_tree_count(&t, &layer);
    assert_int_equal(layer.leaves, 16);
    assert_int_equal(layer.modules, 17);
    assert_int_equal(layer.parameters, 16);
    assert_int_equal(layer.internal, 33);
}

static void bytes_are_those_handed_out(void **state)
{
    struct pk_tree t = small(false);
    struct pk_tree_count c;
    pk_tree_count(&t, &c);
    assert_int_equal(c.bytes, bump.bytes);
    assert_int_equal(c.internal + c.leaves, bump.objects);
    assert_int_equal(c.depth,
                     9); /* bert encoder layer 0 attention self query weight, its parameter, its leaf */
}

static void equal_trees_made_apart(void **state)
{
    struct pk_tree a = small(true), b = small(true);
    const char *where = "untouched";
    assert_true(pk_tree_equal(&a, &b, &arena, &where));
    assert_string_equal(where, "untouched");
}

static void a_difference_is_found(void **state)
{
    struct pk_tree a = small(false), b = small(true);
    const char *where;
    assert_false(pk_tree_equal(&a, &b, &arena, &where));
    assert_string_equal(where, "bert.encoder.layer.0.attention.self.query.weight");
    static const struct pk_node_type other = {PK_NODE_MODULE, "BertForMaskedLM", 0, NULL};
    b.root = pk_node_new(&bump, &other, 0, 0);
    assert_false(pk_tree_equal(&a, &b, &arena, &where));
    assert_string_equal(where, "");
}

static void assert_differs(const struct pk_tree *t, const struct pk_tree *as_made)
{
    const char *where;
    assert_false(pk_tree_equal(t, as_made, &arena, &where));
}

/* Changes each field of every node below n in turn: each time the tree differs from another of the kind. Returns how often. */
static size_t changes(struct pk_tree *t, struct pk_node *n, const struct pk_tree *as_made)
{
    static const uint32_t none[8];
    size_t made = 4;
    struct pk_node_type type = *n->type, *was = (struct pk_node_type *)n->type;
    n->value++;
    assert_differs(t, as_made);
    n->value--;
    n->type = &type;
    type.name = "Other";
    assert_differs(t, as_made);
    type = *was;
    type.kind = (type.kind + 1) % 4;
    assert_differs(t, as_made);
    type = *was;
    type.n_fields = type.n_fields ? type.n_fields - 1 : 1;
    type.fields = type.fields && type.n_fields != 1 ? type.fields : none;
    assert_differs(t, as_made);
    n->type = was;
    for (uint32_t i = 0; i < n->arity; i++)
        made += changes(t, (struct pk_node *)n->child[i], as_made);
    if (n->arity) {
        n->arity--;
        assert_differs(t, as_made);
        n->arity++;
    }
    return made;
}

static void any_change_is_found(void **state)
{
    struct pk_tree t = small(false);
    const size_t objects = bump.objects;
    const struct pk_tree as_made = small(false);
    const char *where;
    assert_int_equal(changes(&t, (struct pk_node *)t.root, &as_made), 4 * objects);
    assert_true(pk_tree_equal(&t, &as_made, &arena, &where));
}

static void a_renamed_field_is_found(void **state)
{
    struct pk_tree t = small(false);
    const struct pk_tree as_made = small(false);
    assert_ptr_not_equal(t.names, as_made.names);
    for (size_t i = 0; i < t.names->n; i++) {
        const char *name = t.names->text[i];
        t.names->text[i] = "other";
        assert_differs(&t, &as_made);
        t.names->text[i] = name;
    }
}

static void paths(void **state)
{
    struct pk_tree t = small(false);
    static const uint32_t bias[] = {0, 1, 0, 1, 0, 0, 2, 1, 0};
    assert_string_equal(pk_tree_path(&t, bias, 0, &arena), "");
    assert_string_equal(pk_tree_path(&t, bias, 1, &arena), "bert");
    assert_string_equal(pk_tree_path(&t, bias, 4, &arena), "bert.encoder.layer.1");
    /* a parameter and its leaf share a path */
    for (uint32_t depth = 8; depth <= 9; depth++)
        assert_string_equal(pk_tree_path(&t, bias, depth, &arena),
                            "bert.encoder.layer.1.attention.self.key.bias");
    assert_int_equal(pk_tree_at(t.root, bias, 9)->type->kind, PK_NODE_LEAF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(names_are_interned, begin, end),
        cmocka_unit_test_setup_teardown(a_bump_counts, begin, end),
        cmocka_unit_test_setup_teardown(elements, begin, end),
        cmocka_unit_test_setup_teardown(shared_subtrees_count_at_each_place, begin, end),
        cmocka_unit_test_setup_teardown(bytes_are_those_handed_out, begin, end),
        cmocka_unit_test_setup_teardown(equal_trees_made_apart, begin, end),
        cmocka_unit_test_setup_teardown(a_difference_is_found, begin, end),
        cmocka_unit_test_setup_teardown(any_change_is_found, begin, end),
        cmocka_unit_test_setup_teardown(a_renamed_field_is_found, begin, end),
        cmocka_unit_test_setup_teardown(paths, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
