/* Match, fnmatch: every candidate's path, asked of every rule until one matches. */
#include "model/tree/match_add.h"

#include <fnmatch.h>
#include <locale.h>
#include <string.h>

struct walk {
    const struct pk_patch_plan *plan;
    struct pk_names *names;
    struct pk_match *out;
    uint32_t step[PK_TREE_DEPTH_MAX];
    char path[PK_TREE_PATH_MAX];
};

/* Puts a name behind the first `n` bytes of the path; returns its new length. */
static size_t append(struct walk *w, size_t n, const char *name)
{
    size_t bytes = strlen(name);
    pk_assert(n + bytes + 2 <= sizeof w->path);
    if (n)
        w->path[n++] = '.';
    memcpy(w->path + n, name, bytes);
    return n + bytes;
}

static void ask(struct walk *w, const struct pk_node *n, uint32_t depth)
{
    w->out->paths++;
    for (uint32_t rule = 0; rule < w->plan->n; rule++) {
        w->out->calls++;
        if (!fnmatch(w->plan->rules[rule].pattern, w->path, FNM_NOESCAPE)) {
            pk_match_add(w->out, n, rule, w->step, depth);
            return;
        }
    }
}

/* `end` is the length of the path of `n`. */
static void visit(struct walk *w, const struct pk_node *n, uint32_t depth, size_t end)
{
    for (uint32_t i = 0; i < n->arity; i++) {
        const struct pk_node *child = n->child[i];
        if (child->type->kind > PK_NODE_SEQUENCE)
            continue;
        pk_assert(depth < PK_TREE_DEPTH_MAX);
        w->step[depth] = i;
        size_t child_end = append(w, end, w->names->text[n->type->fields[i]]);
        visit(w, child, depth + 1, child_end);
        w->path[child_end] = '\0';
        if (child->type->kind == PK_NODE_MODULE)
            ask(w, child, depth + 1);
    }
}

void pk_match_fnmatch(const struct pk_patch_plan *p, const struct pk_tree *t, struct pk_match *out)
{
    struct walk w = {.plan = p, .names = t->names, .out = out};
    pk_match_begin(out);
    /* A byte is a character, whatever the user's locale: the same answer everywhere, and fnmatch's fast way. */
    locale_t c = newlocale(LC_ALL_MASK, "C", NULL), before = uselocale(c);
    visit(&w, t->root, 0, 0);
    uselocale(before);
    freelocale(c);
}
