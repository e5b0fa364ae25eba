/* Weights: their bytes, what each piece holds, slices that equal what was asked for, and checks that find a wrong number. */
#include "model/tree/layers.h"

#include "device/null.h"
#include "model/tree/bert.h"
#include "model/tree/tree.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static struct pk_err err;
static struct pk_device dev;
static struct pk_arena arena;
static struct pk_bump bump;

static int begin(void **state)
{
    pk_bump_init(&bump, &arena, 1 << 20);
    return pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = 2}, &err);
}

static int end(void **state)
{
    pk_device_close(&dev);
    pk_arena_free(&arena);
    return 0;
}

static struct pk_tree bert(int64_t layers, int64_t hidden, bool sharded)
{
    const struct pk_bert config = {layers, hidden, 4 * hidden, 100, 16, 2};
    struct pk_tree t;
    pk_bert_make(pk_bert_prepare(&config, &arena), sharded, &bump, &t);
    return t;
}

static struct pk_weights made_of(const struct pk_tree *t, int64_t tp, enum pk_weights_part part,
                                 enum pk_dtype type)
{
    struct pk_weights w;
    assert_int_equal(pk_weights_new(&dev, t, tp, part, type, 99, &arena, &w, &err), PK_OK);
    assert_int_equal(w.bytes, pk_weights_size(t, tp, part, type).bytes);
    return w;
}

static struct pk_weights made(const struct pk_tree *t, int64_t tp, enum pk_weights_part part)
{
    return made_of(t, tp, part, PK_FP32);
}

/* Element e of a leaf, widened. */
static float element(const struct pk_weights *w, size_t leaf, size_t e)
{
    return w->fill[leaf].dtype == PK_BF16 ? pk_bf16_to_float(((const uint16_t *)w->leaf[leaf])[e])
                                          : ((const float *)w->leaf[leaf])[e];
}

static void bytes_are_exact(void **state)
{
    const struct pk_bert config = {12, 768, 3072, 30522, 512, 2};
    const struct pk_bert_plan *p = pk_bert_prepare(&config, &arena);
    struct pk_tree whole, divided;
    pk_bert_make(p, false, &bump, &whole);
    pk_bert_make(p, true, &bump, &divided);
    /* only the head's bias of 30522 numbers is no whole number of 256 bytes */
    int64_t all = 4 * 109514298ll, pad = 256 - 4 * 30522 % 256;
    assert_int_equal(pk_weights_size(&whole, 1, PK_WEIGHTS_LOCAL, PK_FP32).bytes, all + pad);
    assert_int_equal(pk_weights_size(&whole, 8, PK_WEIGHTS_LOCAL, PK_FP32).bytes, all + pad);
    assert_int_equal(pk_weights_size(&whole, 2, PK_WEIGHTS_DIVIDED, PK_FP32).bytes, 0);
    /* a layer: 12 H^2 of weights, and biases of query, key, value (3 H) and intermediate (4 H) */
    int64_t layers = 12 * 4 * (12 * 768ll * 768 + 7 * 768);
    for (int64_t tp = 1; tp <= 2; tp++) {
        assert_int_equal(pk_weights_size(&divided, tp, PK_WEIGHTS_DIVIDED, PK_FP32).bytes, layers / tp);
        assert_int_equal(pk_weights_size(&divided, tp, PK_WEIGHTS_LOCAL, PK_FP32).bytes,
                         all + pad - layers + layers / tp);
    }
}

static void too_large_is_refused(void **state)
{
    const struct pk_bert config = {100, 5120, 20480, 30522, 512, 2};
    struct pk_bump b;
    struct pk_tree t;
    struct pk_weights w;
    pk_bump_init(&b, &arena, 1 << 20);
    pk_bert_make(pk_bert_prepare(&config, &arena), false, &b, &t);
    assert_true(pk_weights_size(&t, 1, PK_WEIGHTS_LOCAL, PK_FP32).bytes >= 4 * 31649110842ll);
    struct pk_device small;
    assert_int_equal(
        pk_device_open(&small, "null", &(struct pk_device_options){.limit_bytes = (int64_t)64 << 30}, &err),
        PK_OK);
    assert_int_equal(pk_weights_new(&small, &t, 1, PK_WEIGHTS_LOCAL, PK_FP32, 1, &arena, &w, &err), PK_E_OOM);
    pk_weights_free(&small, &w);
    pk_device_close(&small);
}

static void places(void **state)
{
    struct pk_tree t = bert(2, 64, true);
    struct pk_weights local = made(&t, 4, PK_WEIGHTS_LOCAL), pieces = made(&t, 4, PK_WEIGHTS_DIVIDED);
    const unsigned char *after = local.block;
    size_t divided = 0;
    for (size_t i = 0; i < t.n_leaves; i++) {
        const struct pk_fill *l = &local.fill[i], *p = &pieces.fill[i];
        assert_ptr_equal(local.leaf[i], l->dst);
        assert_true((const unsigned char *)l->dst >= after && (uintptr_t)l->dst % 256 == 0);
        after = (const unsigned char *)l->dst + l->rows * l->cols * sizeof(float);
        assert_true(after <= local.block + local.bytes);
        divided += p->rows > 0;
        if (p->rows)
            assert_true(p->rows == l->rows && p->cols == l->cols && p->columns == l->columns &&
                        p->seed == 99 + i);
        else
            assert_null(pieces.leaf[i]);
    }
    assert_int_equal(divided, 2 * 10);
    pk_weights_free(&dev, &local);
    pk_weights_free(&dev, &pieces);
    assert_null(pieces.block);
    pk_weights_free(&dev, &pieces);
}

/* Every element of the pieces against the definition, from the whole array's shape alone. */
static void assert_pieces(const struct pk_tree *t, const struct pk_weights *w, size_t tp)
{
    for (size_t i = 0; i < t->n_leaves; i++) {
        const struct pk_shape *s = &t->shapes[i];
        if (!w->leaf[i])
            continue;
        size_t columns = s->rank == 2 ? (size_t)s->dim[1] : 1, rows = (size_t)s->dim[0];
        bool strided = w->fill[i].cols != w->fill[i].columns && s->rank == 2;
        size_t n = rows * columns / tp, width = strided ? columns / tp : columns;
        for (size_t e = 0; e < n; e++) {
            const float x = pk_fill_value(99 + i, e / width * columns + e % width);
            assert_true(element(w, i, e) ==
                        (w->fill[i].dtype == PK_BF16 ? pk_bf16_to_float(pk_bf16_of_float(x)) : x));
        }
    }
}

static void slices_are_what_fill_defines(void **state)
{
    static const size_t tps[] = {2, 4, 8};
    struct pk_tree whole_tree = bert(3, 64, false), t = bert(3, 64, true);
    struct pk_weights whole = made(&whole_tree, 1, PK_WEIGHTS_LOCAL);
    assert_int_equal(pk_weights_fill(&dev, &whole, &err), PK_OK);
    assert_int_equal(pk_weights_check(&dev, &whole_tree, &whole, true, 0, 0, &arena, &err), PK_OK);
    for (size_t i = 0; i < 3; i++)
        for (int how = PK_SLICE_PER_LEAF; how <= PK_SLICE_BATCHED; how++) {
            struct pk_weights pieces = made(&t, (int64_t)tps[i], PK_WEIGHTS_DIVIDED);
            struct pk_copy2d *v;
            memset(pieces.block, 0xff, (size_t)pieces.bytes);
            size_t n = pk_weights_slices(&whole, &pieces, &arena, &v);
            assert_int_equal(n, 3 * 10);
            struct pk_slices s;
            assert_int_equal(pk_slices_make(&dev, (enum pk_slicing)how, v, n, &s, &err), PK_OK);
            assert_int_equal(pk_slices_cut(&dev, &s, &err), PK_OK);
            pk_slices_free(&dev, &s);
            assert_pieces(&t, &pieces, tps[i]);
            assert_int_equal(pk_weights_check(&dev, &t, &pieces, true, 0, 0, &arena, &err), PK_OK);
            pk_weights_free(&dev, &pieces);
        }
    pk_weights_free(&dev, &whole);
}

/* A layer's whole weights after the other's in one buffer: the slices are the same, and what is not divided is beside them. */
static void layers_are_sliced_one_after_the_other(void **state)
{
    static const enum pk_dtype types[] = {PK_FP32, PK_BF16};
    struct pk_tree t = bert(3, 64, true);
    for (size_t k = 0; k < 2; k++)
        for (int how = PK_SLICE_PER_LEAF; how <= PK_SLICE_BATCHED; how++) {
            struct pk_layers layers;
            struct pk_weights pieces = made_of(&t, 4, PK_WEIGHTS_DIVIDED, types[k]),
                              shared = made_of(&t, 4, PK_WEIGHTS_SHARED, types[k]);
            memset(pieces.block, 0xff, (size_t)pieces.bytes);
            assert_int_equal(
                pk_layers_new(&dev, &t, &pieces, types[k], (enum pk_slicing)how, 99, &arena, &layers, &err),
                PK_OK);
            assert_int_equal(layers.n, 3);
            for (size_t i = 0; i < layers.n; i++) {
                assert_int_equal(layers.v[i].n, 10);
                assert_int_equal(pk_layer_fill(&dev, &layers.v[i], &err), PK_OK);
                assert_int_equal(pk_slices_cut(&dev, &layers.v[i].slices, &err), PK_OK);
            }
            assert_int_equal(pk_weights_fill(&dev, &shared, &err), PK_OK);
            assert_pieces(&t, &pieces, 4);
            assert_int_equal(pk_weights_check(&dev, &t, &pieces, true, 0, 0, &arena, &err), PK_OK);
            assert_int_equal(pk_weights_check(&dev, &t, &shared, true, 0, 0, &arena, &err), PK_OK);
            for (size_t i = 0; i < t.n_leaves; i++)
                assert_true(!pieces.leaf[i] == !!shared.leaf[i]);
            ((uint16_t *)pieces.leaf[16])[0] ^= 0x7e00;
            assert_int_equal(pk_weights_check(&dev, &t, &pieces, false, 0, 0, &arena, &err), PK_E_CHECK);
            pk_layers_free(&dev, &layers);
            pk_weights_free(&dev, &pieces);
            pk_weights_free(&dev, &shared);
        }
}

/* The largest, and runs between sequences: 3 + 1 layers, of which the two of a shape are the largest. */
static void bytes_of_the_largest_layer(void **state)
{
    static const char text[] =
        "a.0.w (4, 64)\na.1.w (8, 64)\nb.w (2, 64)\nc.0.w (8, 64)\nc.1.w (4, 64)\nc.1.v (4, 64)\n";
    struct pk_tree t;
    assert_int_equal(pk_tree_parse("t", text, sizeof text - 1, &arena, &t, &err), PK_OK);
    assert_int_equal(pk_layers_bytes(&t, PK_FP32), 0); /* nothing is divided */
    for (uint32_t i = 0; i < t.root->arity; i++)
        for (uint32_t k = 0; k < t.root->child[i]->arity; k++) {
            const struct pk_node *n = t.root->child[i]->child[k];
            for (uint32_t l = 0; n->type->kind != PK_NODE_PARAMETER && l < n->arity; l++)
                ((struct pk_node *)n->child[l])->value = PK_SHARD_DIM0;
            if (n->type->kind == PK_NODE_PARAMETER)
                ((struct pk_node *)n)->value = PK_SHARD_DIM0;
        }
    assert_int_equal(pk_layers_bytes(&t, PK_FP32), 4 * 8 * 64);
    assert_int_equal(pk_layers_bytes(&t, PK_BF16), 2 * 8 * 64);
    struct pk_layers layers;
    struct pk_weights pieces = made(&t, 2, PK_WEIGHTS_DIVIDED);
    assert_int_equal(pk_layers_new(&dev, &t, &pieces, PK_FP32, PK_SLICE_PER_LEAF, 1, &arena, &layers, &err),
                     PK_OK);
    assert_int_equal(layers.n, 5);
    pk_layers_free(&dev, &layers);
    pk_weights_free(&dev, &pieces);
}

/* The reports' large model in bf16: 63.3 GB whole; made layer by layer for two devices, less than a card of 80 GB by far. */
static void the_large_model_fits_a_card(void **state)
{
    const struct pk_bert config = {100, 5120, 20480, 30522, 512, 2};
    struct pk_bump b;
    struct pk_tree whole, divided;
    pk_bump_init(&b, &arena, 1 << 20);
    const struct pk_bert_plan *p = pk_bert_prepare(&config, &arena);
    pk_bert_make(p, false, &b, &whole);
    pk_bert_make(p, true, &b, &divided);
    const int64_t all = pk_weights_size(&whole, 1, PK_WEIGHTS_LOCAL, PK_BF16).bytes;
    assert_true(all >= 2 * 31649110842ll && all < 2 * 31649110842ll + 256 && all < 80000000000ll);
    const int64_t layer = 2 * (12 * 5120ll * 5120 + 7 * 5120);
    assert_int_equal(pk_layers_bytes(&divided, PK_BF16), layer);
    assert_int_equal(pk_weights_size(&divided, 2, PK_WEIGHTS_DIVIDED, PK_BF16).bytes, 100 * layer / 2);
    assert_int_equal(pk_weights_size(&divided, 2, PK_WEIGHTS_SHARED, PK_BF16).bytes, all - 100 * layer);
}

/* Born divided: filling the local pieces gives what slicing the whole gives. */
static void local_pieces_are_filled_alike(void **state)
{
    struct pk_tree t = bert(1, 64, true);
    struct pk_weights w = made(&t, 8, PK_WEIGHTS_LOCAL);
    assert_int_equal(pk_weights_fill(&dev, &w, &err), PK_OK);
    for (size_t i = 0; i < t.n_leaves; i++) /* bytes between leaves are nobody's */
        for (size_t e = 0; e < w.fill[i].rows * w.fill[i].cols; e++)
            assert_true(element(&w, i, e) ==
                        pk_fill_value(99 + i, e / w.fill[i].cols * w.fill[i].columns + e % w.fill[i].cols));
    pk_weights_free(&dev, &w);
}

static void other_ranks(void **state)
{
    static const char text[] = "scalar ()\nvector (6)\ncube (4, 3, 5)\n";
    struct pk_tree t;
    assert_int_equal(pk_tree_parse("t", text, sizeof text - 1, &arena, &t, &err), PK_OK);
    ((struct pk_node *)t.root->child[1])->value = PK_SHARD_DIM0;
    ((struct pk_node *)t.root->child[2])->value = PK_SHARD_DIM0;
    struct pk_weights w = made(&t, 2, PK_WEIGHTS_LOCAL);
    static const size_t want[][3] = {{1, 1, 1}, {1, 3, 6}, {2, 15, 15}};
    for (size_t i = 0; i < 3; i++) {
        const struct pk_fill *f = &w.fill[i];
        assert_true(f->rows == want[i][0] && f->cols == want[i][1] && f->columns == want[i][2]);
    }
    assert_int_equal(pk_weights_fill(&dev, &w, &err), PK_OK);
    assert_int_equal(pk_weights_check(&dev, &t, &w, true, 0, 0, &arena, &err), PK_OK);
    pk_weights_free(&dev, &w);
}

static void a_wrong_number_is_found(void **state)
{
    static const char text[] = "a.w (3, 5)\nb (70000)\n";
    struct pk_tree t;
    assert_int_equal(pk_tree_parse("t", text, sizeof text - 1, &arena, &t, &err), PK_OK);
    struct pk_weights w = made(&t, 1, PK_WEIGHTS_LOCAL);
    assert_int_equal(pk_weights_fill(&dev, &w, &err), PK_OK);
    assert_int_equal(pk_weights_check(&dev, &t, &w, false, 4, 1, &arena, &err), PK_OK);
    ((float *)w.leaf[0])[14] = 0.5f; /* the last is always looked at */
    assert_int_equal(pk_weights_check(&dev, &t, &w, false, 0, 1, &arena, &err), PK_E_CHECK);
    assert_int_equal(strncmp(err.what, "a.w[2][4] is 0.5, not ", 22), 0);
    assert_true(err.why[0] && err.fix[0]);
    assert_int_equal(pk_weights_fill(&dev, &w, &err), PK_OK);
    ((float *)w.leaf[1])[69000] = __builtin_nanf(""); /* beyond the first stretch */
    assert_int_equal(pk_weights_check(&dev, &t, &w, true, 0, 1, &arena, &err), PK_E_CHECK);
    assert_int_equal(strncmp(err.what, "b[0][69000] is nan, not ", 24), 0);
    pk_weights_free(&dev, &w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(bytes_are_exact, begin, end),
        cmocka_unit_test_setup_teardown(too_large_is_refused, begin, end),
        cmocka_unit_test_setup_teardown(places, begin, end),
        cmocka_unit_test_setup_teardown(slices_are_what_fill_defines, begin, end),
        cmocka_unit_test_setup_teardown(layers_are_sliced_one_after_the_other, begin, end),
        cmocka_unit_test_setup_teardown(bytes_of_the_largest_layer, begin, end),
        cmocka_unit_test_setup_teardown(the_large_model_fits_a_card, begin, end),
        cmocka_unit_test_setup_teardown(local_pieces_are_filled_alike, begin, end),
        cmocka_unit_test_setup_teardown(other_ranks, begin, end),
        cmocka_unit_test_setup_teardown(a_wrong_number_is_found, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
