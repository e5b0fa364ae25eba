/* Subject: a tree, a plan and its targets. */
#include "model/tree/subject.h"

#include "model/tree/tree_file.h"

/* The tree of a file lives where it was read; a BERT is made here, once, as the pristine one. */
static enum pk_code open_tree(const struct pk_subject_options *o, struct pk_arena *a, struct pk_subject *s,
                              struct pk_err *err)
{
    if (o->tree_file)
        return pk_tree_read(o->tree_file, a, &s->tree, err);
    struct pk_bump nodes;
    s->bert = pk_bert_prepare(&o->bert, a);
    pk_bump_init(&nodes, a, pk_bert_bytes(s->bert));
    pk_bert_make(s->bert, false, &nodes, &s->tree);
    return PK_OK;
}

static enum pk_code open_plan(const struct pk_subject_options *o, struct pk_arena *a, struct pk_subject *s,
                              struct pk_err *err)
{
    if (o->plan_file)
        return pk_patch_plan_read(o->plan_file, a, &s->plan, err);
    s->plan = pk_patch_plan_reports;
    return PK_OK;
}

static void divide(struct pk_subject *s, struct pk_arena *a)
{
    struct pk_bump modules;
    const struct pk_node **with = pk_new_n(a, const struct pk_node *, s->n + 1);
    pk_bump_init(&modules, a, s->count.bytes);
    for (size_t i = 0; i < s->n; i++)
        with[i] = pk_transform_module(&modules, &s->tree, s->match.v[i].node,
                                      s->plan.rules[s->match.v[i].rule].transform);
    s->module_bytes = modules.bytes;
    struct pk_patcher *p = pk_patcher_new(PK_PATCH_GROUPED, &s->tree, &s->match, a);
    s->divided = s->tree;
    s->divided.root = pk_patch(p, PK_PATCH_GROUPED, &s->divided, &(struct pk_edits){s->n, s->match.v, with});
    s->least_bytes = pk_patcher_allocated(p).bytes;
}

enum pk_code pk_subject_open(const struct pk_subject_options *o, struct pk_arena *a, struct pk_subject *out,
                             struct pk_err *err)
{
    *out = (struct pk_subject){0};
    if (open_tree(o, a, out, err) || open_plan(o, a, out, err))
        return err->code;
    pk_tree_count(&out->tree, &out->count);
    out->match = pk_matched(&out->plan, &out->tree, a);
    out->n = o->patches && o->patches < out->match.n ? o->patches : out->match.n;
    out->born_divided = out->bert && !o->plan_file && out->n == out->match.n;
    divide(out, a);
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
