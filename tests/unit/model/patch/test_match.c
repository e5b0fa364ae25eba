/* Matching: what the reports' plan finds in BERT, to the unit; and that both matchers agree on any plan and tree. */
#include "model/patch/match.h"

#include "base/rng.h"
#include "base/text/buf.h"
#include "model/patch/glob.h"
#include "model/tree/bert.h"
#include "model/tree/tree.h"

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

static void assert_same(const struct pk_targets *x, const struct pk_targets *y)
{
    assert_int_equal(x->n, y->n);
    for (size_t i = 0; i < x->n; i++) {
        assert_ptr_equal(x->v[i].node, y->v[i].node);
        assert_int_equal(x->v[i].rule, y->v[i].rule);
        assert_int_equal(x->v[i].depth, y->v[i].depth);
        assert_memory_equal(x->v[i].step, y->v[i].step, x->v[i].depth * sizeof *x->v[i].step);
    }
}

/* By both matchers, the compiled one with all states, with too many and with none: they agree. */
static struct pk_targets matched(const struct pk_patch_plan *p, const struct pk_tree *t, struct pk_arena *a)
{
    static const size_t most[] = {4096, 2, 0};
    struct pk_targets by_fnmatch, by_compiled;
    pk_targets_init(&by_fnmatch, t, a);
    pk_targets_init(&by_compiled, t, a);
    pk_match_fnmatch(p, t, &by_fnmatch);
    for (size_t i = 0; i < sizeof most / sizeof *most; i++) {
        const struct pk_matcher *m = pk_matcher_compile_within(p, t, most[i], a);
        pk_match_compiled(m, t, &by_compiled);
        assert_true(pk_matcher_states(m) <= most[i]);
        assert_same(&by_fnmatch, &by_compiled);
    }
    return by_fnmatch;
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
    struct pk_targets m = matched(&pk_patch_plan_reports, &t, &a);
    size_t hits[6] = {0};
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
    struct pk_targets m = matched(&pk_patch_plan_reports, &t, &a);
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
    struct pk_targets m = matched(&(struct pk_patch_plan){"all", 1, &all}, &t, &a);
    assert_int_equal(m.n, 4);
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
    struct pk_targets m = matched(&(struct pk_patch_plan){"dense", 1, &dense}, &t, &a);
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
    struct pk_targets m = matched(&(struct pk_patch_plan){"p", 2, rules}, &t, &a);
    assert_int_equal(m.n, 1);
    assert_int_equal(m.v[0].rule, 1);
    assert_string_equal(setlocale(LC_CTYPE, NULL), "C.UTF-8");
    setlocale(LC_CTYPE, "C");
}

/* ---- any plan, any tree ------------------------------------------------------------------------------- */

static const char *const some_names[] = {"a", "b", "ab", "ba", "dense", "0",  "1",       "10",
                                         "-", "]", "[",  "!",  "^a",    "\\", "\xc3\xa9"};
enum { SOME_NAMES = sizeof some_names / sizeof *some_names };

static const struct pk_node *random_node(struct pk_rng *r, struct pk_names *names, uint32_t depth,
                                         struct pk_bump *b, struct pk_arena *a)
{
    static const struct pk_node_type parameter = {.kind = PK_NODE_PARAMETER}, leaf = {.kind = PK_NODE_LEAF};
    uint64_t kind = pk_rng_below(r, 8);
    if (depth && kind == 0)
        return pk_node_new(b, &leaf, 0, 0);
    if (depth && kind == 1) {
        struct pk_node *n = pk_node_new(b, &parameter, 1, 0);
        n->child[0] = pk_node_new(b, &leaf, 0, 0);
        return n;
    }
    uint32_t arity = depth < 5 ? (uint32_t)pk_rng_below(r, 4) + !depth : 0,
             *fields = pk_new_n(a, uint32_t, arity);
    struct pk_node_type *type = pk_new(a, struct pk_node_type);
    *type = (struct pk_node_type){kind == 2 ? PK_NODE_SEQUENCE : PK_NODE_MODULE, "any", arity, fields};
    struct pk_node *n = pk_node_new(b, type, arity, 0);
    for (uint32_t i = 0; i < arity; i++) {
        fields[i] = pk_name(names, some_names[pk_rng_below(r, SOME_NAMES)]);
        n->child[i] = random_node(r, names, depth + 1, b, a);
    }
    return n;
}

static struct pk_tree random_tree(struct pk_rng *r, struct pk_arena *a)
{
    struct pk_names *names = pk_names_new(a);
    struct pk_bump b;
    pk_bump_init(&b, a, 1 << 20);
    const struct pk_node *root = random_node(r, names, 0, &b, a);
    return (struct pk_tree){.root = root, .names = names, .shapes = pk_new(a, struct pk_shape)};
}

static void add_random_set(struct pk_rng *r, struct pk_buf *b)
{
    static const char bytes[] = "aabbde-]![.019\\^\xc3\xa9";
    pk_buf_str(b, pk_rng_below(r, 2) ? "[" : "[!");
    for (uint64_t n = 1 + pk_rng_below(r, 4); n; n--) {
        pk_buf_char(b, bytes[pk_rng_below(r, sizeof bytes - 1)]);
        if (!pk_rng_below(r, 3))
            pk_buf_char(b, '-');
    }
    pk_buf_char(b, ']');
}

/* A path in the making in which here and there something stands for something. */
static const char *random_pattern(struct pk_rng *r, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (uint64_t n = 1 + pk_rng_below(r, 6); n; n--)
        switch (pk_rng_below(r, 6)) {
        case 0:
        case 1:
            pk_buf_char(&b, '*');
            break;
        case 2:
            pk_buf_char(&b, '?');
            break;
        case 3:
            add_random_set(r, &b);
            break;
        case 4:
            pk_buf_char(&b, '.');
            break;
        default:
            pk_buf_str(&b, some_names[pk_rng_below(r, SOME_NAMES)]);
        }
    return pk_buf_text(&b);
}

static struct pk_patch_plan random_plan(struct pk_rng *r, struct pk_arena *a)
{
    enum { RULES = 8 };
    struct pk_patch_rule *rules = pk_new_n(a, struct pk_patch_rule, RULES);
    size_t n = 0, wanted = 1 + pk_rng_below(r, RULES);
    while (n < wanted) {
        const char *pattern = random_pattern(r, a);
        if (!pk_glob_fault(pattern, a))
            rules[n++] = (struct pk_patch_rule){.pattern = pattern};
    }
    return (struct pk_patch_plan){"random", n, rules};
}

static void both_agree_on_anything(void **state)
{
    struct pk_rng r = {.state = 3};
    size_t targets = 0, later_rules = 0;
    for (int i = 0; i < 2000; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_tree t = random_tree(&r, &a);
        struct pk_patch_plan p = random_plan(&r, &a);
        struct pk_targets m = matched(&p, &t, &a);
        targets += m.n;
        for (size_t k = 0; k < m.n; k++)
            later_rules += m.v[k].rule > 0;
    }
    assert_in_range(targets, 5000, SIZE_MAX); /* or the test sees nothing */
    assert_in_range(later_rules, 1000, SIZE_MAX);
}

/* ---- states ------------------------------------------------------------------------------------------- */

static size_t states(const char *pattern, const struct pk_tree *t, struct pk_arena *a)
{
    const struct pk_patch_rule rule = {.pattern = pattern};
    const struct pk_patch_plan p = {"one", 1, &rule};
    matched(&p, t, a);
    return pk_matcher_states(pk_matcher_compile(&p, t, a));
}

/* Every path of 13 letters a and b: which of the last names were an 'a' is a state. */
static void too_many_states(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf text = {.arena = &a};
    for (int path = 0; path < 1 << 13; path++) {
        for (int name = 0; name < 13; name++)
            pk_buf_str(&text, path >> name & 1 ? "a." : "b.");
        pk_buf_str(&text, "w (1)\n");
    }
    struct pk_err err;
    struct pk_tree t;
    assert_int_equal(pk_tree_parse("f", pk_buf_text(&text), text.n, &a, &t, &err), PK_OK);
    assert_int_equal(states("*a??", &t, &a), 5);
    assert_int_equal(states("*a????????????????????????", &t, &a), 0);
}

/* An exact path for every target. States: the root and three above the layers, twelve a layer (itself, five on the way, six
 * targets), and one for whatever else. */
static void exact_paths(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_tree t = bert(100, &a);
    struct pk_targets m = matched(&pk_patch_plan_reports, &t, &a);
    struct pk_patch_rule *rules = pk_new_n(&a, struct pk_patch_rule, m.n);
    for (size_t i = 0; i < m.n; i++)
        rules[i].pattern = path_of(&t, &m.v[i], &a);
    const struct pk_patch_plan exact = {"exact", m.n, rules};
    assert_int_equal(matched(&exact, &t, &a).n, m.n);
    assert_int_equal(pk_matcher_states(pk_matcher_compile(&exact, &t, &a)), 4 + 12 * 100 + 1);
}

/* More positions than one word has bits, and a rule for every layer. */
static void many_rules(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_tree t = bert(100, &a);
    struct pk_patch_rule rules[100];
    for (size_t i = 0; i < 100; i++)
        rules[i] = (struct pk_patch_rule){.pattern = pk_printf(&a, "*.layer.%zu.*.dense", i)};
    struct pk_targets m = matched(&(struct pk_patch_plan){"many", 100, rules}, &t, &a);
    assert_int_equal(m.n, 300);
    for (size_t i = 0; i < m.n; i++)
        assert_int_equal(m.v[i].rule, i / 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hundred_layers),
        cmocka_unit_test(one_layer_in_order),
        cmocka_unit_test(every_module_is_asked_once),
        cmocka_unit_test(a_shared_subtree_is_two_places),
        cmocka_unit_test(the_locale_changes_nothing),
        cmocka_unit_test(both_agree_on_anything),
        cmocka_unit_test(too_many_states),
        cmocka_unit_test(exact_paths),
        cmocka_unit_test(many_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
