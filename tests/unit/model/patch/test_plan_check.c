/* Plan checks: every warning and every refusal, word for word. */
#include "model/patch/plan.h"

#include "base/text/buf.h"
#include "model/tree/bert.h"
#include "model/tree/tree.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static struct pk_tree bert(int64_t layers, int64_t hidden, int64_t intermediate, struct pk_arena *a)
{
    const struct pk_bert config = {layers, hidden, intermediate, 1000, 512, 2};
    struct pk_bump b;
    struct pk_tree t;
    pk_bump_init(&b, a, 4096 * ((size_t)layers + 1));
    pk_bert_make(pk_bert_prepare(&config, a), false, &b, &t);
    return t;
}

static void warn(void *user, const char *text)
{
    pk_buf_printf(user, "%s\n", text);
}

/* What is said of a plan; `warned` is what it is warned about. */
static enum pk_code check(const char *plan, const struct pk_tree *t, int64_t tp, const char **warned,
                          struct pk_err *err, struct pk_arena *a)
{
    struct pk_buf warnings = {.arena = a};
    struct pk_patch_plan p;
    *err = (struct pk_err){0};
    assert_int_equal(pk_patch_plan_parse("f.plan", plan, strlen(plan), a, &p, err), PK_OK);
    enum pk_code rc = pk_patch_plan_check(&p, t, tp, warn, &warnings, err);
    *warned = pk_buf_text(&warnings);
    return rc;
}

static void the_reports_sixth_rule(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf warnings = {.arena = &a};
    struct pk_err err;
    struct pk_tree t = bert(100, 64, 256, &a);
    assert_int_equal(pk_patch_plan_check(&pk_patch_plan_reports, &t, 8, warn, &warnings, &err), PK_OK);
    assert_string_equal(pk_buf_text(&warnings),
                        "plan reports: rule 6, *.attention.output.dense, is never used: rule 2, "
                        "*.output.dense, comes before it and matches the same modules\n");
}

static void warnings(void **state)
{
    static const struct {
        const char *plan, *warned;
    } rows[] = {
        {"*.query = column\n*.key = column\n", ""},
        {"*.query = column\n\n*.layer.0.*.query = row\n",
         "plan f.plan: rule 2 (line 3), *.layer.0.*.query, is never used: rule 1 (line 1), *.query, comes "
         "before it and matches the same module\n"},
        {"*.query = column\n*.dense = column\n*.key = row\n*.self.[qk]* = row\n",
         "plan f.plan: rule 4 (line 4), *.self.[qk]*, is never used: rule 1 (line 1), *.query, and rule 3 "
         "(line 3), *.key, come before it and match the same modules\n"},
        {"*.query = column\nencoder.* = row\n",
         "plan f.plan: rule 2 (line 2), encoder.*, is never used: it matches no module of the tree\n"},
        {"*.query.weight = row\n*.query = column\n*.moe = row",
         "plan f.plan: rule 1 (line 1), *.query.weight, is never used: it matches no module; "
         "bert.encoder.layer.0.attention.self.query.weight is a parameter, and patterns name modules\n"
         "plan f.plan: rule 3 (line 3), *.moe, is never used: it matches no module of the tree\n"},
    };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_tree t = bert(2, 64, 256, &a);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct pk_err err;
        const char *warned;
        assert_int_equal(check(rows[i].plan, &t, 2, &warned, &err, &a), PK_OK);
        assert_string_equal(warned, rows[i].warned);
    }
}

static void refusals(void **state)
{
    static const struct {
        const char *plan;
        int64_t tp;
        const char *what, *why, *fix;
    } rows[] = {
        {"*.self.qeury = column\n*.kye = row", 2, "plan f.plan matches no module of the tree",
         "its 2 rules match no path of 47 modules",
         "the tree has for example bert.encoder.layer.0.attention.self.query, "
         "bert.encoder.layer.0.attention.self.key, bert.embeddings.word_embeddings"},
        {"*.bias = column\n", 2, "plan f.plan matches no module of the tree",
         "bert.embeddings.LayerNorm.bias is a parameter; patterns name modules",
         "the tree has for example bert.embeddings.word_embeddings, bert.embeddings.position_embeddings, "
         "bert.embeddings.token_type_embeddings"},
        {"cls.predictions.bia? = row\n", 2, "plan f.plan matches no module of the tree",
         "cls.predictions.bias is a parameter; patterns name modules", "the tree has for example "},
        {"*.layer = row\n", 2, "plan f.plan matches no module of the tree",
         "its 1 rule matches no path of 47 modules", "the tree has for example "}, /* a sequence */
        {"*.query = column\n*.attention = row\n", 2,
         "plan f.plan: target bert.encoder.layer.0.attention.self.query is inside target "
         "bert.encoder.layer.0.attention",
         "rule 1 (line 1), *.query, matches the first and rule 2 (line 2), *.attention, the second; a module "
         "is replaced with all that is in it",
         "narrow one of the patterns"},
        {"bert* = row\n", 0, "plan f.plan: target bert.embeddings.dropout is inside target bert.embeddings",
         "rule 1 (line 1), bert*, matches both; a module is replaced with all that is in it",
         "narrow one of the patterns"},
        {"*.LayerNorm = column\n", 0,
         "plan f.plan: target bert.embeddings.LayerNorm has no 2-D weight to divide",
         "rule 1 (line 1), *.LayerNorm, matches it, and its parameters are weight (64), bias (64)",
         "narrow the pattern to linear modules"},
        {"*.sdpa = column\n", 0,
         "plan f.plan: target bert.encoder.layer.0.attention.self.sdpa has no 2-D weight to divide",
         "rule 1 (line 1), *.sdpa, matches it, and it has no parameters of its own",
         "narrow the pattern to linear modules"},
        {"*.query = column\n*.intermediate.dense = column", 3,
         "tp 3 does not divide dimension 0 of bert.encoder.layer.0.attention.self.query.weight, which is 64",
         "rule 1 (line 1), *.query, is column-parallel and cuts its shape (64, 64) into tp equal pieces "
         "there",
         "tp can be 2, 4, 8, 16, 32: it then divides every dimension of the plan"},
        {"*.output.dense = row\n", 64,
         "tp 64 does not divide dimension 1 of bert.encoder.layer.0.output.dense.weight, which is 96",
         "rule 1 (line 1), *.output.dense, is row-parallel and cuts its shape (64, 96) into tp equal pieces "
         "there",
         "tp can be 2, 4, 8, 16, 32: it then divides every dimension of the plan"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_tree t = bert(2, 64, 96, &a);
        struct pk_err err;
        const char *warned;
        assert_int_equal(check(rows[i].plan, &t, rows[i].tp, &warned, &err, &a), PK_E_USAGE);
        assert_string_equal(err.what, rows[i].what);
        assert_string_equal(err.why, rows[i].why);
        if (strncmp(err.fix, rows[i].fix, strlen(rows[i].fix)))
            assert_string_equal(err.fix, rows[i].fix);
        assert_string_equal(warned, "");
    }
}

static void trees_of_ones_own(void **state)
{
    static const struct {
        const char *tree, *plan;
        int64_t tp;
        enum pk_code rc;
        const char *what, *fix;
    } rows[] = {
        {"w (4)\n", "* = row", 0, PK_E_USAGE, "plan f.plan matches no module", "this tree has no modules"},
        {"m.w (4, 6)\n", "m = column", 3, PK_E_USAGE, "tp 3 does not divide dimension 0 of m.w, which is 4",
         "tp can be 2, 4:"},
        {"m.w (4, 6)\n", "m = row", 3, PK_OK, "", ""},
        {"m.w (4, 6)\nm.b (4)\n", "m = row", 6, PK_OK, "", ""}, /* row leaves a bias whole */
        {"m.w (4, 6)\nm.b (6)\n", "m = column", 4, PK_E_USAGE, "dimension 0 of m.b, which is 6",
         "tp can be 2:"},
        {"m.w (4, 6)\nm.b ()\n", "m = column", 4, PK_OK, "", ""},
        {"m.w (4, 6, 2)\n", "m = column", 0, PK_E_USAGE, "target m has no 2-D weight", "narrow the pattern"},
        {"m.n.w (4, 6)\nm.w (6, 6)\n", "m = column", 2, PK_OK, "", ""},
        {"m.w (720720, 1)\n", "m = column", 17, PK_E_USAGE, "tp 17 does not divide dimension 0 of m.w",
         "tp can be 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 18, ...:"},
        {"m.w (7, 5)\nn.w (5, 7)", "? = column", 7, PK_E_USAGE, "dimension 0 of n.w, which is 5",
         "no tp divides every dimension"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_tree t;
        struct pk_err err;
        const char *warned;
        assert_int_equal(pk_tree_parse("f.tree", rows[i].tree, strlen(rows[i].tree), &a, &t, &err), PK_OK);
        assert_int_equal(check(rows[i].plan, &t, rows[i].tp, &warned, &err, &a), rows[i].rc);
        if (!strstr(err.what, rows[i].what) || !strstr(err.fix, rows[i].fix))
            fail_msg("%s: %s (%s)", rows[i].tree, err.what, err.fix);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reports_sixth_rule),
        cmocka_unit_test(warnings),
        cmocka_unit_test(refusals),
        cmocka_unit_test(trees_of_ones_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
