/* Tree files: what they mean, every way to be wrong, and BERT written out and read back. */
#include "model/tree/tree.h"

#include "base/file.h"
#include "base/text/buf.h"
#include "model/tree/bert.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdlib.h>
#include <string.h>

static struct pk_tree parsed(const char *text, struct pk_arena *a)
{
    struct pk_err err = {0};
    struct pk_tree t;
    if (pk_tree_parse("f.tree", text, strlen(text), a, &t, &err))
        fail_msg("%s: %s", err.what, err.why);
    return t;
}

/* "path (2, 3)" of every leaf in order, a line each; indices of leaves count up. */
static void write_leaves(const struct pk_tree *t, const struct pk_node *n, uint32_t *step, uint32_t depth,
                         uint32_t *leaves, struct pk_buf *out)
{
    if (n->type->kind == PK_NODE_LEAF) {
        const struct pk_shape *s = &t->shapes[n->value];
        assert_int_equal(n->value, (*leaves)++);
        pk_buf_printf(out, "%s (", pk_tree_path(t, step, depth, out->arena));
        for (int i = 0; i < s->rank; i++)
            pk_buf_printf(out, "%s%lld", i ? ", " : "", (long long)s->dim[i]);
        pk_buf_str(out, ")\n");
    }
    for (uint32_t i = 0; i < n->arity; i++) {
        step[depth] = i;
        write_leaves(t, n->child[i], step, depth + 1, leaves, out);
    }
}

static const char *written(const struct pk_tree *t, struct pk_arena *a)
{
    struct pk_buf out = {.arena = a};
    uint32_t step[PK_TREE_DEPTH_MAX], leaves = 0;
    write_leaves(t, t->root, step, 0, &leaves, &out);
    assert_int_equal(leaves, t->n_leaves);
    return pk_buf_text(&out);
}

static void shapes(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_tree t = parsed("# a comment\n"
                              "\n"
                              "a.weight torch.Size([32000, 4096])\r\n"
                              "  a.bias\t(5,)  \n"
                              "\t# another\n"
                              "b [2,3 , 4]\n"
                              "scale ()\n"
                              "nothing torch.Size([])",
                              &a);
    assert_string_equal(written(&t, &a), "a.weight (32000, 4096)\n"
                                         "a.bias (5)\n"
                                         "b (2, 3, 4)\n"
                                         "scale ()\n"
                                         "nothing ()\n");
    struct pk_tree_count c;
    pk_tree_count(&t, &c);
    assert_int_equal(c.leaves, 5);
    assert_int_equal(c.parameters, 5);
    assert_int_equal(c.modules, 2);
    assert_int_equal(c.elements, 32000 * 4096 + 5 + 24 + 1 + 1);
}

static void indices_make_sequences_in_their_order(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf text = {.arena = &a};
    for (int i = 11; i >= 0; i--)
        pk_buf_printf(&text, "layer.%d.w (%d)\n", i, i + 1);
    pk_buf_str(&text, "norm.00 (1)\nnorm.x (1)\nlist.1 (1)\nlist.0 (2)\n");
    struct pk_tree t = parsed(pk_buf_text(&text), &a);
    assert_int_equal(t.root->child[0]->type->kind, PK_NODE_SEQUENCE);
    assert_int_equal(t.root->child[0]->arity, 12);
    assert_int_equal(t.root->child[1]->type->kind, PK_NODE_MODULE); /* 00 is a name */
    assert_int_equal(t.root->child[2]->type->kind, PK_NODE_SEQUENCE);
    for (size_t i = 0; i < 12; i++)
        assert_int_equal(t.shapes[i].dim[0], i + 1);
    assert_int_equal(t.shapes[14].dim[0], 2);
}

static void alike_modules_share_a_type(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_tree t = parsed("0.w (1)\n0.b (1)\n1.w (2)\n1.b (2)\n2.b (1)\n2.w (1)\n", &a);
    assert_int_equal(t.root->type->kind, PK_NODE_SEQUENCE);
    assert_ptr_equal(t.root->child[0]->type, t.root->child[1]->type);
    assert_ptr_not_equal(t.root->child[0]->type, t.root->child[2]->type);
}

static void bert_reads_back(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_bert config = {12, 768, 3072, 30522, 512, 2};
    struct pk_bump b;
    struct pk_tree bert;
    struct pk_tree_count in, out;
    pk_bump_init(&b, &a, 1 << 20);
    pk_bert_make(pk_bert_prepare(&config, &a), false, &b, &bert);
    const char *text = written(&bert, &a);
    struct pk_tree t = parsed(text, &a);
    assert_string_equal(written(&t, &a), text);
    pk_tree_count(&bert, &in);
    pk_tree_count(&t, &out);
    assert_int_equal(out.leaves, in.leaves);
    assert_int_equal(out.elements, in.elements);
    assert_int_equal(out.modules,
                     in.modules - (3 * 12 + 1)); /* modules without parameters are not in the file */
    assert_int_equal(out.parameters, in.leaves); /* here every leaf has one */
}

static void copies_are_equal(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_tree t = parsed("a.0.w (2, 2)\na.1.w (2)\nb ()\n", &a), copy = t;
    struct pk_tree_count c;
    struct pk_bump b;
    const char *where;
    pk_tree_count(&t, &c);
    pk_bump_init(&b, &a, c.bytes);
    copy.root = pk_tree_copy(t.root, &b);
    assert_ptr_not_equal(copy.root, t.root);
    assert_true(pk_tree_equal(&t, &copy, &a, &where));
    assert_int_equal(b.bytes, c.bytes);
}

static const char *nested(struct pk_arena *a, int parts)
{
    struct pk_buf b = {.arena = a};
    for (int i = 0; i < parts; i++)
        pk_buf_str(&b, i ? ".m" : "m");
    pk_buf_str(&b, " (1)\n");
    return pk_buf_text(&b);
}

static void as_deep_as_a_path_can_be(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_tree t = parsed(nested(&a, PK_TREE_DEPTH_MAX - 1), &a);
    struct pk_tree_count c;
    struct pk_err err;
    pk_tree_count(&t, &c);
    assert_int_equal(c.depth, PK_TREE_DEPTH_MAX);
    assert_true(*written(&t, &a));
    const char *deeper = nested(&a, PK_TREE_DEPTH_MAX);
    assert_int_equal(pk_tree_parse("f", deeper, strlen(deeper), &a, &t, &err), PK_E_USAGE);
    assert_non_null(strstr(err.why, "more than 31 names"));
}

static void as_long_as_a_path_can_be(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    char text[PK_TREE_PATH_MAX + 8];
    struct pk_tree t;
    struct pk_err err;
    memset(text, 'x', sizeof text);
    memcpy(text + PK_TREE_PATH_MAX - 1, " (1)", 5);
    assert_int_equal(pk_tree_parse("f", text, strlen(text), &a, &t, &err), PK_OK);
    memcpy(text + PK_TREE_PATH_MAX - 1, "x (1)", 6);
    assert_int_equal(pk_tree_parse("f", text, strlen(text), &a, &t, &err), PK_E_USAGE);
    assert_string_equal(err.why, "it has 4096 bytes, and a path has at most 4095");
}

static void refusals(void **state)
{
    static const struct {
        const char *text, *what, *why;
    } rows[] = {
        {"", "f.tree has no leaf", "blank"},
        {"# a\n\n  \r\n", "f.tree has no leaf", "blank"},
        {"w (1)\nv", "f.tree:2: there is no shape", "a path and a shape"},
        {"w 768", "f.tree:1: '768' is not a shape", "a path and a shape"},
        {"w (2", "'(2' is not a shape", "each at least 1"},
        {"w (2]", "'(2]' is not a shape", "each at least 1"},
        {"w torch.Size[2]", "'torch.Size[2]' is not a shape", "each at least 1"},
        {"w (,)", "'(,)' is not a shape", "each at least 1"},
        {"w (2,,3)", "'(2,,3)' is not a shape", "each at least 1"},
        {"w (0, 3)", "'(0, 3)' is not a shape", "each at least 1"},
        {"w (-1)", "'(-1)' is not a shape", "each at least 1"},
        {"w (2.5)", "'(2.5)' is not a shape", "each at least 1"},
        {"w (99999999999999999999)", "is not a shape", "each at least 1"},
        {"w (1,1,1,1,1,1,1,1,1)", "is not a shape", "at most 8 dimensions"},
        {"w (4294967296, 4294967296)", "too large", "1152921504606846975 elements"},
        {"v (1152921504606846975)\nw ()", "f.tree:2: the model is too large", "all leaves together"},
        {"a..w (1)", "'a..w' is not a path", "is empty"},
        {".w (1)", "'.w' is not a path", "is empty"},
        {"w. (1)", "'w.' is not a path", "is empty"},
        {"w\x01x (1)", "'w' is not a path", "cannot be printed"},
        {"a.w (1)\nb.w (1)\na.w (1)\n", "f.tree:3: a.w is given twice", "line 1"},
        {"a.w (1)\na.w.x (1)\n", "f.tree:2: a.w is both leaf and module", "line 1"},
        {"a.b.w (1)\na.c (1)\na.b (1)\n", "f.tree:3: a.b is both leaf and module", "line 1"},
        {"l.0.w (1)\nl.1.w (1)\nl.3.w (1)\n", "f.tree:3: l.2 is missing", "start at 0"},
        {"l.1.w (1)\n", "f.tree:1: l.0 is missing", "start at 0"},
        {"1 (1)\n", "f.tree:1: the model.0 is missing", "start at 0"},
        {"l.0.w (1)\nl.99999999999999999999.w (1)\n", "f.tree:2: l.1 is missing", "start at 0"},
        {"m.0 (1)\nm.x (1)\n", "f.tree:2: m has names and indices below it", "'x' is the first"},
        {"m.x (1)\nm.y (1)\nm.0 (1)\n", "f.tree:3: m has names and indices below it", "'0' is the first"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        struct pk_err err = {0};
        struct pk_tree t;
        enum pk_code rc = pk_tree_parse("f.tree", rows[i].text, strlen(rows[i].text), &a, &t, &err);
        assert_int_equal(rc, PK_E_USAGE);
        if (!strstr(err.what, rows[i].what) || !strstr(err.why, rows[i].why))
            fail_msg("%s: %s (%s)", rows[i].text, err.what, err.why);
        assert_true(err.fix[0]);
    }
}

static void bytes_that_are_no_text(void **state)
{
    static const char text[] = "a (1)\nb\0c (1)\n";
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err;
    struct pk_tree t;
    assert_int_equal(pk_tree_parse("f", text, sizeof text - 1, &a, &t, &err), PK_E_USAGE);
    assert_string_equal(err.what, "f:2: 'b' is not a path");
}

static void files(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    char path[] = "/tmp/pk-tree-XXXXXX";
    struct pk_err err;
    struct pk_tree t;
    PK_CLEANUP_FD int fd = mkstemp(path);
    assert_int_equal(write(fd, "a.w (2, 3)\nb\n", 13), 13);
    assert_int_equal(pk_tree_read(path, &a, &t, &err), PK_E_USAGE);
    assert_string_equal(err.what, pk_printf(&a, "%s:2: there is no shape", path));
    assert_int_equal(pwrite(fd, "\n", 1, 11), 1);
    assert_int_equal(pk_tree_read(path, &a, &t, &err), PK_OK);
    assert_int_equal(t.n_leaves, 1);
    unlink(path);
    assert_int_equal(pk_tree_read(path, &a, &t, &err), PK_E_USAGE);
    assert_non_null(strstr(err.what, path));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes),
        cmocka_unit_test(indices_make_sequences_in_their_order),
        cmocka_unit_test(alike_modules_share_a_type),
        cmocka_unit_test(bert_reads_back),
        cmocka_unit_test(copies_are_equal),
        cmocka_unit_test(as_deep_as_a_path_can_be),
        cmocka_unit_test(as_long_as_a_path_can_be),
        cmocka_unit_test(refusals),
        cmocka_unit_test(bytes_that_are_no_text),
        cmocka_unit_test(files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
