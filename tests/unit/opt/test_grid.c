/* Grids: order, composites, axes that do not apply, repeats, size. */
#include "axes.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

/* Blocks as {"axis=sweep", ..., NULL}; at most 3. */
static enum pk_code expand(const char *const (*blocks)[4], size_t n_blocks, struct pk_arena *a,
                           struct pk_point **p, size_t *n, struct pk_err *err)
{
    struct pk_sweep sweeps[3][PK_AXES_MAX] = {0};
    for (size_t b = 0; b < n_blocks; b++)
        for (const char *const *t = blocks[b]; *t; t++) {
            struct pk_axis_sweep s;
            assert_int_equal(pk_axis_assign(axes, *t, a, &s, err), PK_OK);
            sweeps[b][s.axis] = s.sweep;
        }
    struct pk_grid g = {.axes = axes, .n_axes = N_AXES, .n_blocks = n_blocks, .sweeps = sweeps};
    return pk_grid_expand(&g, a, p, n, err);
}

static void row_major_last_axis_fastest(void **state)
{
    static const char *const blocks[][4] = {{"d_model=16,32", "seq_len=1,2,3"}};
    struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_point *p;
    size_t n;
    assert_int_equal(expand(blocks, 1, &a, &p, &n, &err), PK_OK);
    assert_int_equal(n, 6);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(p[i].v[SEQ_LEN].i, 1 + (int)i / 2);
        assert_int_equal(p[i].v[D_MODEL].i, i % 2 ? 32 : 16);
        assert_int_equal(p[i].v[BUCKET].i, 25000000);
        assert_true(p[i].absent[WINDOW]);
    }
    pk_arena_free(&a);
}

static void blocks_without_repeats(void **state)
{
    static const char *const blocks[][4] = {{"seq_len=1,2"}, {"seq_len=2,3"}, {"seq_len=1"}};
    struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_point *p;
    size_t n;
    assert_int_equal(expand(blocks, 3, &a, &p, &n, &err), PK_OK);
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(p[i].v[SEQ_LEN].i, i + 1);
    pk_arena_free(&a);
}

static void an_absent_axis_does_not_multiply(void **state)
{
    static const char *const blocks[][4] = {{"seq_len=1", "causal=off,on", "window=1,2,3"}};
    struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_point *p;
    size_t n;
    assert_int_equal(expand(blocks, 1, &a, &p, &n, &err), PK_OK);
    assert_int_equal(n, 4);
    assert_true(p[0].absent[WINDOW]);
    assert_int_equal(p[3].v[WINDOW].i, 3);
    pk_arena_free(&a);
}

static void composites_set_defaults_only(void **state)
{
    static const char *const blocks[][4] = {{"model=small,large", "seq_len=5"}};
    struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_point *p;
    size_t n;
    assert_int_equal(expand(blocks, 1, &a, &p, &n, &err), PK_OK);
    assert_int_equal(n, 2);
    assert_int_equal(p[0].v[D_MODEL].i, 32);
    assert_int_equal(p[1].v[D_MODEL].i, 128);
    assert_int_equal(p[0].v[SEQ_LEN].i, 5); /* given: the composite does not override it */
    pk_arena_free(&a);
}

static void too_many_points(void **state)
{
    static const char *const blocks[][4] = {{"seq_len=1:4000:+1", "d_model=1:1000:+1"}};
    struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_point *p;
    size_t n;
    assert_int_equal(expand(blocks, 1, &a, &p, &n, &err), PK_E_USAGE);
    assert_non_null(strstr(err.what, "65536"));
    pk_arena_free(&a);
}

static void many_points_are_distinct(void **state)
{
    static const char *const blocks[][4] = {{"seq_len=1:256:+1", "d_model=1:200:+1"},
                                            {"seq_len=1:256:+1", "d_model=1:200:+1"}};
    struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_point *p;
    size_t n;
    assert_int_equal(expand(blocks, 2, &a, &p, &n, &err), PK_OK);
    assert_int_equal(n, 256 * 200);
    pk_arena_free(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(row_major_last_axis_fastest),
        cmocka_unit_test(blocks_without_repeats),
        cmocka_unit_test(an_absent_axis_does_not_multiply),
        cmocka_unit_test(composites_set_defaults_only),
        cmocka_unit_test(too_many_points),
        cmocka_unit_test(many_points_are_distinct),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
