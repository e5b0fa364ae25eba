/* Patch: eight ways, one result; the old tree as it was; what each allocates, counted from the tree's own numbers. */
#include "model/patch/patch.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "model/patch/workbench.h"
#include "model/tree/tree.h"

#include <string.h>

static struct pk_arena arena;

struct bench {
    struct pk_subject s;
    struct pk_patcher *patcher;
    struct pk_tree tree; /* patched */
    struct pk_targets match;
    const struct pk_node **with;
    struct pk_edits edits;
};

static void open_bert(struct bench *b, int64_t layers, size_t patches)
{
    struct pk_err err = {0};
    struct pk_bump nodes, modules;
    const struct pk_subject_options o = {.bert = {layers, 8, 32, 5, 4, 2}, .patches = patches};
    if (pk_subject_open(&o, &arena, &b->s, &err))
        fail_msg("%s", err.what);
    pk_bump_init(&nodes, &arena, 2 * b->s.count.bytes);
    pk_bump_init(&modules, &arena, b->s.count.bytes);
    pk_subject_make(&b->s, false, &nodes, &b->tree);
    pk_targets_init(&b->match, &b->tree, &arena);
    pk_match_fnmatch(&b->s.plan, &b->tree, &b->match);
    b->with = pk_new_n(&arena, const struct pk_node *, b->s.n + 1);
    for (size_t i = 0; i < b->s.n; i++)
        b->with[i] = pk_transform_module(&modules, &b->tree, b->match.v[i].node,
                                         b->s.plan.rules[b->match.v[i].rule].transform);
    b->edits = (struct pk_edits){b->s.n, b->match.v, b->with};
    b->patcher = pk_patcher_new(PK_PATCH_WAYS, &b->tree, &b->match, &arena);
}

static const struct pk_node *plain(const struct bench *b, const struct pk_node *n, struct pk_bump *memory)
{
    for (size_t i = 0; i < b->edits.n; i++)
        if (b->match.v[i].node == n)
            return b->with[i];
    struct pk_node *made = pk_node_copy(memory, n);
    for (uint32_t i = 0; i < n->arity; i++)
        made->child[i] = plain(b, n->child[i], memory);
    return made;
}

static void assert_same(const struct pk_tree *got, const struct pk_tree *want)
{
    const char *where;
    if (!pk_tree_equal(got, want, &arena, &where))
        fail_msg("differs at '%s'", where);
}

static void every_way_gives_the_same(void **state)
{
    static const size_t counts[] = {1, 2, 5, 0};
    for (int64_t layers = 1; layers <= 4; layers += 3)
        for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
            for (int way = 0; way < PK_PATCH_BUILT_IN; way++) {
                struct bench b = {0};
                struct pk_bump memory;
                open_bert(&b, layers, counts[c]);
                pk_bump_init(&memory, &arena, b.s.count.bytes);
                struct pk_tree want = b.tree, got = b.tree;
                want.root = plain(&b, b.tree.root, &memory);
                struct pk_bump copies;
                pk_bump_init(&copies, &arena, b.s.count.bytes);
                struct pk_tree before = b.tree;
                before.root = pk_tree_copy(b.tree.root, &copies);
                const char *where;
                pk_patch_prepare(b.patcher, &b.tree, &b.edits);
                for (int again = 0; again < 2; again++) {
                    got.root = pk_patch(b.patcher, (enum pk_patch_way)way, &b.tree, &b.edits);
                    assert_same(&got, &want);
                }
                assert_true(pk_tree_equal(&b.tree, &before, &arena, &where) == (way != PK_PATCH_IN_PLACE));
            }
}

static void a_tree_born_divided_is_the_patched_one(void **state)
{
    struct bench b = {0};
    struct pk_bump nodes;
    struct pk_tree born;
    open_bert(&b, 3, 0);
    assert_true(b.s.born_divided);
    pk_bump_init(&nodes, &arena, 2 * b.s.count.bytes);
    pk_subject_make(&b.s, true, &nodes, &born);
    assert_same(&born, &b.s.divided);
    open_bert(&b, 3, 7);
    assert_false(b.s.born_divided);
    pk_subject_make(&b.s, true, &nodes, &born);
    assert_same(&born, &b.s.divided);
}

/* Targets by their places. */
static const struct pk_node *by_place(const struct bench *b, const struct pk_node *n, uint32_t *step,
                                      uint32_t depth, struct pk_bump *memory)
{
    for (size_t i = 0; i < b->edits.n; i++)
        if (b->match.v[i].depth == depth && !memcmp(b->match.v[i].step, step, depth * sizeof *step))
            return b->with[i];
    struct pk_node *made = pk_node_copy(memory, n);
    for (uint32_t i = 0; i < n->arity; i++) {
        step[depth] = i;
        made->child[i] = by_place(b, n->child[i], step, depth + 1, memory);
    }
    return made;
}

static void open_text(struct bench *b, const char *tree, const char *plan, bool shared)
{
    struct pk_err err = {0};
    struct pk_bump modules;
    if (pk_tree_parse("tree", tree, strlen(tree), &arena, &b->tree, &err) ||
        pk_patch_plan_parse("plan", plan, strlen(plan), &arena, &b->s.plan, &err))
        fail_msg("%s: %s", err.what, err.why);
    if (shared) { /* b and c stand for a as well */
        struct pk_node *root = (struct pk_node *)(uintptr_t)b->tree.root;
        root->child[1] = root->child[2] = root->child[0];
    }
    pk_tree_count(&b->tree, &b->s.count);
    pk_bump_init(&modules, &arena, b->s.count.bytes);
    pk_targets_init(&b->match, &b->tree, &arena);
    pk_match_fnmatch(&b->s.plan, &b->tree, &b->match);
    b->with = pk_new_n(&arena, const struct pk_node *, b->match.n);
    for (size_t i = 0; i < b->match.n; i++)
        b->with[i] = pk_transform_module(&modules, &b->tree, b->match.v[i].node,
                                         b->s.plan.rules[b->match.v[i].rule].transform);
    b->edits = (struct pk_edits){b->match.n, b->match.v, b->with};
    b->patcher = pk_patcher_new(PK_PATCH_WAYS, &b->tree, &b->match, &arena);
}

/* Targets just below the root, in a sequence, in one of several places that share a module, and under another rule in each. */
static void places_not_nodes(void **state)
{
    static const char tree[] =
        "a.x.weight (4, 4)\na.y.weight (4, 4)\nb.x.weight (4, 4)\nb.y.weight (4, 4)\n"
        "c.x.weight (4, 4)\nc.y.weight (4, 4)\nd.0.weight (4, 4)\nd.1.weight (4, 4)\ne.weight (4, 4)\n";
    static const char *const plans[] = {"b.x = column\n", "c.y = row\na.x = column\n", "d.1 = row\ne = row\n",
                                        "a.x = column\nb.x = row\nc.y = column\nd.0 = row\n",
                                        "*.x = column\n"};
    for (int shared = 0; shared < 2; shared++)
        for (size_t i = 0; i < sizeof plans / sizeof *plans; i++)
            for (int way = 0; way < PK_PATCH_IN_PLACE + !shared; way++) {
                struct bench b = {0};
                struct pk_bump memory;
                uint32_t step[PK_TREE_DEPTH_MAX];
                open_text(&b, tree, plans[i], shared);
                assert_int_equal(pk_tree_shares(&b.tree, &arena), shared);
                pk_bump_init(&memory, &arena, 2 * b.s.count.bytes);
                struct pk_tree want = b.tree, got = b.tree;
                want.root = by_place(&b, b.tree.root, step, 0, &memory);
                pk_patch_prepare(b.patcher, &b.tree, &b.edits);
                got.root = pk_patch(b.patcher, (enum pk_patch_way)way, &b.tree, &b.edits);
                assert_same(&got, &want);
            }
}

static struct pk_allocation_counts allocated_by(struct bench *b, enum pk_patch_way way)
{
    const struct pk_allocation_counts before = pk_patcher_allocated(b->patcher);
    pk_patch_prepare(b->patcher, &b->tree, &b->edits);
    pk_patch(b->patcher, way, &b->tree, &b->edits);
    const struct pk_allocation_counts after = pk_patcher_allocated(b->patcher);
    return (struct pk_allocation_counts){after.objects - before.objects, after.bytes - before.bytes};
}

/* 100 layers, 600 patches. Above the targets: root, bert, encoder, layer, and six nodes a layer. One traversal rebuilds what is not
 * inside a target, a Linear with two parameters. A pass of the naive ways rebuilds everything but the targets themselves. */
static void what_is_allocated(void **state)
{
    struct bench b = {0};
    open_bert(&b, 100, 0);
    const struct pk_tree_count *k = &b.s.count;
    assert_int_equal(b.s.n, 600);
    for (int way = PK_PATCH_GROUPED; way <= PK_PATCH_CACHED; way++) {
        const struct pk_allocation_counts a = allocated_by(&b, (enum pk_patch_way)way);
        assert_int_equal(a.objects, 604);
        assert_int_equal(a.bytes, b.s.least_bytes);
    }
    assert_int_equal(allocated_by(&b, PK_PATCH_BATCHED).objects, k->internal - 600 * 3);
    assert_int_equal(allocated_by(&b, PK_PATCH_NAIVE_1PASS).objects, 600 * (k->internal - 3));
    size_t depths = 0;
    for (size_t i = 0; i < 600; i++)
        depths += b.match.v[i].depth;
    assert_int_equal(allocated_by(&b, PK_PATCH_PATH_COPY).objects, depths);
    /* five passes, of which the two that look for the module do not rebuild it, wrappers for each leaf, once */
    const uint64_t passes = PK_TREE_AT_PASSES * k->internal - 2 * 3;
    assert_int_equal(allocated_by(&b, PK_PATCH_NAIVE).objects, 600 * (passes + k->leaves));
    assert_int_equal(allocated_by(&b, PK_PATCH_IN_PLACE).objects, 0);
}

static void a_transform_divides_what_it_says(void **state)
{
    struct bench b = {0};
    struct pk_bump memory;
    open_bert(&b, 1, 0);
    pk_bump_init(&memory, &arena, 1 << 12);
    const struct pk_node *linear = b.match.v[0].node;
    const struct pk_node *column = pk_transform_module(&memory, &b.tree, linear, PK_COLUMN_PARALLEL);
    const struct pk_node *row = pk_transform_module(&memory, &b.tree, linear, PK_ROW_PARALLEL);
    assert_int_equal(column->child[0]->value, PK_SHARD_DIM0);
    assert_int_equal(column->child[1]->value, PK_SHARD_DIM0);
    assert_int_equal(row->child[0]->value, PK_SHARD_DIM1);
    assert_ptr_equal(row->child[1], linear->child[1]);
    assert_int_equal(linear->child[0]->value, PK_WHOLE);
    assert_int_equal(memory.objects, 3 + 2);
}

static int clear(void **state)
{
    pk_arena_free(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(every_way_gives_the_same, clear),
        cmocka_unit_test_teardown(a_tree_born_divided_is_the_patched_one, clear),
        cmocka_unit_test_teardown(places_not_nodes, clear),
        cmocka_unit_test_teardown(what_is_allocated, clear),
        cmocka_unit_test_teardown(a_transform_divides_what_it_says, clear),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
