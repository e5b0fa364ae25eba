/* BERT's tree: its sizes to the unit, its leaves in order, what is sharded. */
#include "model/tree/bert.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static struct pk_tree bert(struct pk_arena *a, struct pk_bump *b, int64_t layers, int64_t hidden,
                           bool sharded)
{
    const struct pk_bert config = {layers, hidden, 4 * hidden, 30522, 512, 2};
    struct pk_tree t;
    pk_bump_init(b, a, (size_t)(layers + 1) * 4096);
    pk_bert_make(pk_bert_prepare(&config, a), sharded, b, &t);
    return t;
}

static void configurations(void **state)
{
    static const struct {
        int64_t layers, hidden;
        size_t leaves;
        int64_t elements;
    } rows[] = {{2, 256, 42, 9622074},   {4, 512, 74, 28795194},    {4, 768, 74, 52811322},
                {8, 768, 138, 81162810}, {12, 768, 202, 109514298}, {100, 5120, 1610, 31649110842}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_bump b;
        struct pk_tree t = bert(&a, &b, rows[i].layers, rows[i].hidden, false);
        struct pk_tree_count c;
        size_t layers = (size_t)rows[i].layers;
        pk_tree_count(&t, &c);
        assert_int_equal(c.leaves, rows[i].leaves);
        assert_int_equal(t.n_leaves, rows[i].leaves);
        assert_int_equal(c.elements, rows[i].elements);
        assert_int_equal(c.internal, 33 * layers + 24);
        assert_int_equal(c.parameters, 16 * layers + 9);
        assert_int_equal(c.sequences, 1);
        assert_int_equal(c.modules, 17 * layers + 14);
    }
}

static void candidates_of_100_layers(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_bump b;
    struct pk_tree t = bert(&a, &b, 100, 5120, false);
    struct pk_tree_count c;
    pk_tree_count(&t, &c);
    assert_int_equal(c.modules - 1, 1713);
    assert_int_equal(b.objects, 4934);
}

/* A tree's leaves in order: path, shape, sharding (of a bare leaf: none). */
struct listed {
    char path[100];
    int64_t dim[2];
    enum pk_sharding sharding;
};

struct lister {
    const struct pk_tree *t;
    struct pk_arena *a;
    struct listed *out;
    size_t n;
    uint32_t step[PK_TREE_DEPTH_MAX];
};

static void list(struct lister *l, const struct pk_node *n, uint32_t depth, enum pk_sharding sharding)
{
    if (n->type->kind == PK_NODE_PARAMETER)
        sharding = n->value;
    if (n->type->kind == PK_NODE_LEAF) {
        const struct pk_shape *s = &l->t->shapes[n->value];
        assert_int_equal(n->value, l->n);
        struct listed *row = &l->out[l->n++];
        strncpy(row->path, pk_tree_path(l->t, l->step, depth, l->a), sizeof row->path - 1);
        assert_true(s->rank == 1 || s->rank == 2);
        row->dim[0] = s->dim[0];
        row->dim[1] = s->rank == 2 ? s->dim[1] : 0;
        row->sharding = sharding;
    }
    for (uint32_t i = 0; i < n->arity; i++) {
        l->step[depth] = i;
        list(l, n->child[i], depth + 1, sharding);
    }
}

static struct listed *leaves(const struct pk_tree *t, struct pk_arena *a)
{
    struct lister l = {t, a, pk_new_n(a, struct listed, t->n_leaves), 0, {0}};
    list(&l, t->root, 0, PK_WHOLE);
    assert_int_equal(l.n, t->n_leaves);
    return l.out;
}

enum { V = 30522, P = 512, T = 2, H = 768, I = 3072 };

static const struct listed one_layer[] = {
    {"bert.embeddings.word_embeddings.weight", {V, H}, PK_WHOLE},
    {"bert.embeddings.position_embeddings.weight", {P, H}, PK_WHOLE},
    {"bert.embeddings.token_type_embeddings.weight", {T, H}, PK_WHOLE},
    {"bert.embeddings.LayerNorm.weight", {H}, PK_WHOLE},
    {"bert.embeddings.LayerNorm.bias", {H}, PK_WHOLE},
    {"bert.encoder.layer.0.attention.self.query.weight", {H, H}, PK_SHARD_DIM0},
    {"bert.encoder.layer.0.attention.self.query.bias", {H}, PK_SHARD_DIM0},
    {"bert.encoder.layer.0.attention.self.value.weight", {H, H}, PK_SHARD_DIM0},
    {"bert.encoder.layer.0.attention.self.value.bias", {H}, PK_SHARD_DIM0},
    {"bert.encoder.layer.0.attention.self.key.weight", {H, H}, PK_SHARD_DIM0},
    {"bert.encoder.layer.0.attention.self.key.bias", {H}, PK_SHARD_DIM0},
    {"bert.encoder.layer.0.attention.output.dense.weight", {H, H}, PK_SHARD_DIM1},
    {"bert.encoder.layer.0.attention.output.dense.bias", {H}, PK_WHOLE},
    {"bert.encoder.layer.0.attention.output.LayerNorm.weight", {H}, PK_WHOLE},
    {"bert.encoder.layer.0.attention.output.LayerNorm.bias", {H}, PK_WHOLE},
    {"bert.encoder.layer.0.intermediate.dense.weight", {I, H}, PK_SHARD_DIM0},
    {"bert.encoder.layer.0.intermediate.dense.bias", {I}, PK_SHARD_DIM0},
    {"bert.encoder.layer.0.output.dense.weight", {H, I}, PK_SHARD_DIM1},
    {"bert.encoder.layer.0.output.dense.bias", {H}, PK_WHOLE},
    {"bert.encoder.layer.0.output.LayerNorm.weight", {H}, PK_WHOLE},
    {"bert.encoder.layer.0.output.LayerNorm.bias", {H}, PK_WHOLE},
    {"cls.predictions.transform.dense.weight", {H, H}, PK_WHOLE},
    {"cls.predictions.transform.dense.bias", {H}, PK_WHOLE},
    {"cls.predictions.transform.LayerNorm.weight", {H}, PK_WHOLE},
    {"cls.predictions.transform.LayerNorm.bias", {H}, PK_WHOLE},
    {"cls.predictions.bias", {V}, PK_WHOLE},
};

static void leaves_of_one_layer(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_bump b;
    for (int sharded = 0; sharded < 2; sharded++) {
        struct pk_tree t = bert(&a, &b, 1, 768, sharded);
        const struct listed *got = leaves(&t, &a);
        assert_int_equal(t.n_leaves, 26);
        for (size_t i = 0; i < t.n_leaves; i++) {
            assert_string_equal(got[i].path, one_layer[i].path);
            assert_memory_equal(got[i].dim, one_layer[i].dim, sizeof got[i].dim);
            assert_int_equal(got[i].sharding, sharded ? one_layer[i].sharding : PK_WHOLE);
        }
    }
}

static void every_layer_is_sharded_alike(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_bump b;
    struct pk_tree t = bert(&a, &b, 12, 768, true);
    const struct listed *got = leaves(&t, &a);
    size_t divided[3] = {0};
    for (size_t i = 0; i < t.n_leaves; i++)
        divided[got[i].sharding]++;
    assert_int_equal(divided[PK_SHARD_DIM0], 12 * 8);
    assert_int_equal(divided[PK_SHARD_DIM1], 12 * 2);
}

static void the_bare_leaf_has_no_parameter(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_bump b;
    static const uint32_t bias[] = {1, 0, 1};
    struct pk_tree t = bert(&a, &b, 1, 768, true);
    assert_string_equal(pk_tree_path(&t, bias, 3, &a), "cls.predictions.bias");
    assert_int_equal(pk_tree_at(t.root, bias, 3)->type->kind, PK_NODE_LEAF);
}

static void a_plan_is_made_from_again(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_bert config = {3, 64, 256, 1000, 16, 2};
    const struct pk_bert_plan *p = pk_bert_prepare(&config, &a);
    struct pk_bump b;
    struct pk_tree first, second;
    const char *where;
    pk_bump_init(&b, &a, 1 << 16);
    size_t allocated = a.used_bytes;
    pk_bert_make(p, true, &b, &first);
    pk_bert_make(p, true, &b, &second);
    assert_int_equal(a.used_bytes, allocated);
    assert_ptr_not_equal(first.root, second.root);
    assert_true(pk_tree_equal(&first, &second, &a, &where));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configurations),
        cmocka_unit_test(candidates_of_100_layers),
        cmocka_unit_test(leaves_of_one_layer),
        cmocka_unit_test(every_layer_is_sharded_alike),
        cmocka_unit_test(the_bare_leaf_has_no_parameter),
        cmocka_unit_test(a_plan_is_made_from_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
