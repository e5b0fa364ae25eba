/* Workbench: a subject read or made, and ready to be worked on. */
#include "model/patch/workbench.h"

#include "base/text/units.h"
#include "machine/machine.h"

#include <string.h>

enum pk_code pk_subject_open(const struct pk_subject_options *o, struct pk_arena *a, struct pk_subject *out,
                             struct pk_err *err)
{
    *out = (struct pk_subject){.plan = pk_patch_plan_reports};
    if (o->tree_file && pk_tree_read(o->tree_file, a, &out->tree, err))
        return err->code;
    if (!o->tree_file) { /* a BERT, made here, once, as the pristine one */
        struct pk_bump nodes;
        out->bert = pk_bert_prepare(&o->bert, a);
        pk_bump_init(&nodes, a, pk_bert_bytes(out->bert));
        pk_bert_make(out->bert, false, &nodes, &out->tree);
    }
    if (o->plan_file && pk_patch_plan_read(o->plan_file, a, &out->plan, err))
        return err->code;
    pk_tree_count(&out->tree, &out->count);
    out->match = pk_matched(&out->plan, &out->tree, a);
    out->n = o->patches && o->patches < out->match.n ? o->patches : out->match.n;
    out->born_divided = out->bert && !o->plan_file && out->n == out->match.n;
    struct pk_bump modules;
    const struct pk_node **with = pk_new_n(a, const struct pk_node *, out->n + 1);
    pk_bump_init(&modules, a, out->count.bytes);
    for (size_t i = 0; i < out->n; i++)
        with[i] = pk_transform_module(&modules, &out->tree, out->match.v[i].node,
                                      out->plan.rules[out->match.v[i].rule].transform);
    out->module_bytes = modules.bytes;
    struct pk_patcher *p = pk_patcher_new(PK_PATCH_GROUPED, &out->tree, &out->match, a);
    out->divided = out->tree;
    out->divided.root =
        pk_patch(p, PK_PATCH_GROUPED, &out->divided, &(struct pk_edits){out->n, out->match.v, with});
    out->least_bytes = pk_patcher_allocated(p).bytes;
    return PK_OK;
}

void pk_subject_make(const struct pk_subject *s, bool divided, struct pk_bump *b, struct pk_tree *out)
{
    if (s->bert && (!divided || s->born_divided)) {
        pk_bert_make(s->bert, divided, b, out);
        return;
    }
    const struct pk_tree *like = divided ? &s->divided : &s->tree;
    *out = *like;
    out->root = pk_tree_copy(like->root, b);
}

/* A walk in the order of children and the target it comes to next: targets are places, in the order of a walk, none below another. */
struct target_walk {
    const struct pk_subject *s;
    size_t next;
    uint32_t step[PK_TREE_DEPTH_MAX];
};

/* The target at the place that the walk has come to, `depth` steps from the root; NULL when nothing is replaced there. */
static const struct pk_target *arrived(struct target_walk *w, uint32_t depth)
{
    const struct pk_target *t = w->next < w->s->n ? &w->s->match.v[w->next] : NULL;
    if (!t || t->depth != depth || memcmp(t->step, w->step, depth * sizeof *w->step))
        return NULL;
    w->next++;
    return t;
}

static void choose_leaves(struct target_walk *w, const struct pk_node *n, uint32_t depth, bool inside,
                          bool *chosen, size_t *leaf)
{
    inside = inside || arrived(w, depth);
    if (n->type->kind == PK_NODE_LEAF)
        chosen[(*leaf)++] = inside;
    for (uint32_t i = 0; i < n->arity; i++) {
        w->step[depth] = i;
        choose_leaves(w, n->child[i], depth + 1, inside, chosen, leaf);
    }
}

static void prepare(struct pk_workbench *w, enum pk_patch_way way, struct pk_arena *a)
{
    w->way = way;
    pk_bump_init(&w->nodes, a, 2 * w->s.count.bytes);
    pk_bump_init(&w->modules, a, w->s.count.bytes);
}

enum pk_code pk_workbench_room(const struct pk_subject *s, enum pk_patch_way way, int64_t limit_bytes,
                               struct pk_err *err)
{
    char need[32], limit[32];
    const size_t bytes = pk_patch_bytes(way, &s->tree, &s->match);
    if (!limit_bytes)
        limit_bytes = pk_machine_available_bytes(NULL) / 10 * 9;
    if (!limit_bytes || bytes <= (size_t)limit_bytes)
        return PK_OK;
    pk_fail(err, PK_E_OOM, "patching takes %s for nodes", pk_format_bytes((int64_t)bytes, need, sizeof need));
    return pk_why(err, "%zu modules match, and the limit is %s", s->match.n,
                  pk_format_bytes(limit_bytes, limit, sizeof limit));
}

void pk_workbench_for_patch(struct pk_workbench *w, enum pk_patch_way way, const struct pk_matcher *matcher,
                            struct pk_arena *a)
{
    prepare(w, way, a);
    w->matcher = matcher;
    pk_targets_init(&w->match, &w->s.tree, a);
    w->with = pk_new_n(a, const struct pk_node *, w->s.n);
    w->edits = (struct pk_edits){w->s.n, w->match.v, w->with};
    w->patcher = pk_patcher_new(way, &w->s.tree, &w->s.match, a);
}

void pk_workbench_for_merge(struct pk_workbench *w, enum pk_patch_way way, struct pk_arena *a)
{
    static const enum pk_combine_way ways[PK_PATCH_WAYS] = {[PK_PATCH_NAIVE] = PK_COMBINE_NAIVE,
                                                            [PK_PATCH_BATCHED] = PK_COMBINE_BATCHED,
                                                            [PK_PATCH_CACHED] = PK_COMBINE_CACHED};
    size_t leaf = 0;
    bool *chosen = pk_new_n(a, bool, w->s.count.leaves);
    prepare(w, way, a);
    choose_leaves(&(struct target_walk){.s = &w->s}, w->s.tree.root, 0, false, chosen, &leaf);
    w->chosen = chosen;
    pk_bump_init(&w->halves, a, 2 * w->s.count.bytes);
    pk_bump_init(&w->results, a, w->s.count.bytes);
    w->combining = ways[way];
    w->combiner = pk_combiner_new(&w->s.tree, a);
    w->structure = pk_structure_new(&w->s.tree, a);
}

void pk_make_tree(void *workbench)
{
    struct pk_workbench *w = workbench;
    pk_bump_reset(&w->nodes);
    pk_subject_make(&w->s, w->way == PK_PATCH_BUILT_IN, &w->nodes, &w->tree);
    w->result = w->tree.root;
}

void pk_find_modules(void *workbench)
{
    struct pk_workbench *w = workbench;
    if (w->matcher)
        pk_match_compiled(w->matcher, &w->tree, &w->match);
    else
        pk_match_fnmatch(&w->s.plan, &w->tree, &w->match);
    if (w->way == PK_PATCH_CACHED)
        pk_patch_prepare(w->patcher, &w->tree, &w->edits);
}

void pk_make_replacements(void *workbench)
{
    struct pk_workbench *w = workbench;
    pk_bump_reset(&w->modules);
    for (size_t i = 0; i < w->edits.n; i++) {
        const struct pk_target *at = &w->match.v[i];
        w->with[i] =
            pk_transform_module(&w->modules, &w->tree, at->node, w->s.plan.rules[at->rule].transform);
    }
}

void pk_put_in(void *workbench)
{
    struct pk_workbench *w = workbench;
    w->result = pk_patch(w->patcher, w->way, &w->tree, &w->edits);
    w->applied++;
}

void pk_partition(void *workbench)
{
    struct pk_workbench *w = workbench;
    pk_bump_reset(&w->halves);
    pk_tree_partition(w->tree.root, w->chosen, &w->halves, &w->yes, &w->no);
}

void pk_combine(void *workbench)
{
    struct pk_workbench *w = workbench;
    pk_bump_reset(&w->results);
    w->result = pk_tree_combine(w->combiner, w->combining, w->yes, w->no, &w->results);
    w->applied++;
}

void pk_flatten(void *workbench)
{
    struct pk_workbench *w = workbench;
    pk_tree_flatten(w->tree.root, w->structure);
}

void pk_unflatten(void *workbench)
{
    struct pk_workbench *w = workbench;
    pk_bump_reset(&w->results);
    w->result = pk_tree_unflatten(w->structure, &w->results);
    w->applied++;
}

struct pk_allocation_counts pk_workbench_allocated(const struct pk_workbench *w)
{
    if (w->patcher)
        return pk_patcher_allocated(w->patcher);
    return (struct pk_allocation_counts){w->results.objects, w->results.bytes};
}

/* Makes every node again, with targets replaced. */
static const struct pk_node *plain(struct target_walk *w, const struct pk_node *n, uint32_t depth,
                                   struct pk_bump *b)
{
    const struct pk_target *target = arrived(w, depth);
    if (target)
        return pk_transform_module(b, &w->s->tree, n, w->s->plan.rules[target->rule].transform);
    struct pk_node *made = pk_node_copy(b, n);
    for (uint32_t i = 0; i < n->arity; i++) {
        w->step[depth] = i;
        made->child[i] = plain(w, n->child[i], depth + 1, b);
    }
    return made;
}

static enum pk_code check_equal_trees(const char *what, const struct pk_tree *got, const struct pk_tree *want,
                                      struct pk_arena *a, struct pk_err *err)
{
    const char *where;
    if (pk_tree_equal(got, want, a, &where))
        return PK_OK;
    pk_fail(err, PK_E_CHECK, "%s is wrong at '%s'", what, where);
    return pk_why(err, "it differs from the tree that a plain recursion creates");
}

enum pk_code pk_workbench_check(const struct pk_workbench *w, struct pk_arena *a, struct pk_err *err)
{
    struct pk_bump b;
    struct pk_tree got = w->tree, want = w->s.tree;
    pk_bump_init(&b, a, 2 * w->s.count.bytes);
    got.root = w->result;
    if (w->patcher)
        want.root = plain(&(struct target_walk){.s = &w->s}, w->s.tree.root, 0, &b);
    if (check_equal_trees("the new tree", &got, &want, a, err))
        return err->code;
    const bool old_is_gone = w->way == PK_PATCH_IN_PLACE || w->way == PK_PATCH_BUILT_IN;
    return old_is_gone ? PK_OK : check_equal_trees("the old tree", &w->tree, &w->s.tree, a, err);
}
