/* Matching: what the reports' plan finds in BERT, to the unit. */
#include "model/tree/match.h"

#include "model/tree/bert.h"
#include "model/tree/tree_file.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <locale.h>
#include <string.h>

static struct pk_tree bert(int64_t layers, struct pk_arena *a)
{
    const struct pk_bert config = {layers, 64, 256, 1000, 512, 2};
    struct pk_bump b;
    struct pk_tree t;
    pk_bump_init(&b, a, 4096 * ((size_t)layers + 1));
    pk_bert_make(pk_bert_prepare(&config, a), false, &b, &t);
    return t;
}

static struct pk_match matched(const struct pk_patch_plan *p, const struct pk_tree *t, struct pk_arena *a)
{
    struct pk_match m;
    pk_match_init(&m, t, a);
    pk_match_fnmatch(p, t, &m);
    return m;
}

static const char *path_of(const struct pk_tree *t, const struct pk_target *target, struct pk_arena *a)
{
    assert_ptr_equal(pk_tree_at(t->root, target->step, target->depth), target->node);
    return pk_tree_path(t, target->step, target->depth, a);
}

static void a_hundred_layers(void **state)
{
    static const size_t hits_per_layer[] = {1, 2, 1, 1, 1, 0};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_tree t = bert(100, &a);
    struct pk_match m = matched(&pk_patch_plan_reports, &t, &a);
    size_t hits[6] = {0};
    assert_int_equal(m.paths, 1713);
    assert_int_equal(m.calls, 8378);
    assert_int_equal(m.n, 600);
    for (size_t i = 0; i < m.n; i++)
        hits[m.v[i].rule]++;
    for (size_t rule = 0; rule < 6; rule++)
        assert_int_equal(hits[rule], 100 * hits_per_layer[rule]);
}

static void one_layer_in_order(void **state)
{
    static const struct {
        const char *path;
        uint32_t rule;
    } expected[] = {
        {"bert.encoder.layer.0.attention.self.query", 2}, {"bert.encoder.layer.0.attention.self.value", 4},
        {"bert.encoder.layer.0.attention.self.key", 3},   {"bert.encoder.layer.0.attention.output.dense", 1},
        {"bert.encoder.layer.0.intermediate.dense", 0},   {"bert.encoder.layer.0.output.dense", 1},
    };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_tree t = bert(1, &a);
    struct pk_match m = matched(&pk_patch_plan_reports, &t, &a);
    assert_int_equal(m.n, 6);
    for (size_t i = 0; i < m.n; i++) {
        assert_string_equal(path_of(&t, &m.v[i], &a), expected[i].path);
        assert_int_equal(m.v[i].rule, expected[i].rule);
    }
}

/* Children before parents; neither the root nor the sequence, nor a parameter. */
static void every_module_is_asked_once(void **state)
{
    static const char text[] = "a.0.x.w (1)\na.1.w (1)\nb (1)\nc.w (1)\n";
    static const char *const expected[] = {"a.0.x", "a.0", "a.1", "c"};
    static const struct pk_patch_rule all = {.pattern = "*"};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err;
    struct pk_tree t;
    assert_int_equal(pk_tree_parse("f", text, strlen(text), &a, &t, &err), PK_OK);
    struct pk_match m = matched(&(struct pk_patch_plan){"all", 1, &all}, &t, &a);
    assert_int_equal(m.n, 4);
    assert_int_equal(m.paths, 4);
    assert_int_equal(m.calls, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(path_of(&t, &m.v[i], &a), expected[i]);
}

static void a_shared_subtree_is_two_places(void **state)
{
    static const struct pk_patch_rule dense = {.pattern = "*dense"};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_tree t = bert(2, &a);
    struct pk_node *layers = (struct pk_node *)t.root->child[0]->child[1]->child[0];
    layers->child[1] = layers->child[0];
    struct pk_match m = matched(&(struct pk_patch_plan){"dense", 1, &dense}, &t, &a);
    assert_int_equal(m.n, 7);
    assert_ptr_equal(m.v[0].node, m.v[3].node);
    assert_string_equal(path_of(&t, &m.v[0], &a), "bert.encoder.layer.0.attention.output.dense");
    assert_string_equal(path_of(&t, &m.v[3], &a), "bert.encoder.layer.1.attention.output.dense");
}

/* `?` is a byte wherever the user lives. */
static void the_locale_changes_nothing(void **state)
{
    static const struct pk_patch_rule rules[] = {{"?"}, {"??"}};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err;
    struct pk_tree t;
    assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
    assert_int_equal(pk_tree_parse("f", "\xc3\xa9.w (1)", 8, &a, &t, &err), PK_OK);
    struct pk_match m = matched(&(struct pk_patch_plan){"p", 2, rules}, &t, &a);
    assert_int_equal(m.n, 1);
    assert_int_equal(m.v[0].rule, 1);
    assert_string_equal(setlocale(LC_CTYPE, NULL), "C.UTF-8");
    setlocale(LC_CTYPE, "C");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_layers),           cmocka_unit_test(one_layer_in_order),
        cmocka_unit_test(every_module_is_asked_once), cmocka_unit_test(a_shared_subtree_is_two_places),
        cmocka_unit_test(the_locale_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
