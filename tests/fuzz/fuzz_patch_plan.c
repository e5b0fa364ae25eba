/* Plans: refused in three parts, or rules of which both matchers find the same targets in a small tree, and which a check
 * accepts or refuses in three parts. */
#include "fuzz.h"
#include "model/patch/match.h"
#include "model/tree/tree.h"

static const char small[] = "a.0.b.w (4, 6)\na.0.[.w (6)\na.1.b.w (4, 6)\na.1.].w (6)\nab.-.\\.!^.w (2)\n"
                            "l.output.dense.w (8, 8)\nl.output.dense.b (8)\nl.self.query.w (8, 8)\n"
                            "\xc3\xa9.w (1)\nw (3, 3)\n";

static void ignore(void *user, const char *text)
{
}

static void same(const struct pk_targets *f, const struct pk_targets *c)
{
    pk_assert(f->n == c->n);
    for (size_t i = 0; i < f->n; i++)
        pk_assert(f->v[i].node == c->v[i].node && f->v[i].rule == c->v[i].rule);
}

static void compare(const struct pk_patch_plan *p, const struct pk_tree *t, struct pk_arena *a)
{
    struct pk_targets f, c;
    pk_targets_init(&f, t, a);
    pk_targets_init(&c, t, a);
    pk_match_fnmatch(p, t, &f);
    pk_match_compiled(pk_matcher_compile(p, t, a), t, &c);
    same(&f, &c);
    pk_match_compiled(pk_matcher_compile_within(p, t, 0, a), t, &c);
    same(&f, &c);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_patch_plan p;
    struct pk_tree t;
    pk_assert(!pk_tree_parse("tree", small, sizeof small - 1, &a, &t, &err));
    if (pk_patch_plan_parse("plan", (const char *)data, n, &a, &p, &err)) {
        pk_fuzz_refusal(&err);
        return 0;
    }
    compare(&p, &t, &a);
    if (pk_patch_plan_check(&p, &t, 2, ignore, NULL, &err))
        pk_fuzz_refusal(&err);
    return 0;
}
