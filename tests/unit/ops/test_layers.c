/* Layers where nothing is computed: the rope table, declared work, and the rows of the null device. */
#include "ops/ops.h"

#include "device/null.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <math.h>

enum { R = 8, C = 16, N = R * C };

static void turns_are_cosines_and_sines(void **state)
{
    enum { SEQ = 300, DIM = 6 };
    float rope_table[SEQ][DIM / 2][2];
    pk_rope_table(&rope_table[0][0][0], SEQ, DIM, 10000);
    assert_true(rope_table[0][2][0] == 1 && rope_table[0][2][1] == 0);
    assert_true(rope_table[299][0][0] == (float)cos(299) && rope_table[299][0][1] == (float)sin(299));
    assert_true(fabs(rope_table[299][1][1] - sin(299 * pow(10000, -1.0 / 3))) < 1e-7);
}

static void norms_count_what_they_are_given(void **state)
{
    static float some;
    struct pk_norm n = {.rows = R, .cols = C};
    assert_true(pk_work_norm(&n).bytes == 4 * (2 * N + C));
    n.delta = n.sum = n.rstd = &some;
    assert_true(pk_work_norm(&n).bytes == 4 * (4 * N + C + R));
    n.dtype = PK_BF16;
    assert_true(pk_work_norm(&n).bytes == 2 * 4 * N + 4 * (C + R));
    struct pk_norm_backward b = {.rows = R, .cols = C};
    assert_true(pk_work_norm_backward(&b).bytes == 4 * (3 * N + 2 * C + R));
    b.d_s = &some;
    assert_true(pk_work_norm_backward(&b).bytes == 4 * (4 * N + 2 * C + R));
}

static void embeddings_write_the_whole_gradient(void **state)
{
    const struct pk_embed e = {.rows = R, .cols = C, .vocab = 100, .dtype = PK_BF16};
    assert_true(pk_work_embed(&e).bytes == 4 * R + 2 * 2 * N);
    const struct pk_embed_backward b = {.rows = R, .cols = C, .vocab = 100, .dtype = PK_BF16};
    assert_true(pk_work_embed_backward(&b).bytes == 4 * R + 2 * N + 4 * 100 * C);
}

static void elements_are_read_and_written_once(void **state)
{
    static float some;
    assert_true(pk_work_map(PK_MAP_ADD, PK_FP32, N).bytes == 12 * N);
    assert_true(pk_work_map(PK_MAP_SILU, PK_BF16, N).bytes == 4 * N);
    assert_true(pk_work_map(PK_MAP_MUL, PK_FP32, N).exps == 0);
    assert_true(pk_work_map(PK_MAP_SILU_BACKWARD, PK_FP32, N).exps == N);
    assert_true(pk_work_glu(&(struct pk_glu){.rows = R, .cols = C, .stride = 2 * C}).bytes == 12 * N);
    struct pk_glu_backward g = {.rows = R, .cols = C, .stride = 2 * C};
    assert_true(pk_work_glu_backward(&g).bytes == 20 * N);
    g.y = &some;
    assert_true(pk_work_glu_backward(&g).bytes == 24 * N && pk_work_glu_backward(&g).exps == N);
    struct pk_heads h = {.batch = 2, .seq = 3, .heads = 5, .dim = 4, .parts = 2};
    assert_true(pk_work_heads(&h).bytes == 8 * 2 * 3 * 2 * 5 * 4);
    h.rotated = 1;
    assert_true(pk_work_heads(&h).bytes == 8 * 2 * 3 * 2 * 5 * 4 + 4 * 3 * 4);
}

/* As a framework does it, the loss touches four arrays of logits where one step touches two. */
static void losses_count_what_they_keep(void **state)
{
    static float some;
    struct pk_cross_entropy x = {.rows = R, .cols = C, .stride = C + 2, .dtype = PK_BF16};
    assert_true(pk_work_cross_entropy(&x).bytes == 2 * N + 8 * R);
    x.d_logits = &some;
    assert_true(pk_work_cross_entropy(&x).bytes == 2 * N + 2 * (C + 2) * R + 8 * R);
    assert_true(pk_work_cross_entropy(&x).exps == N + R);
    const struct pk_log_softmax l = {.rows = R, .cols = C, .dtype = PK_BF16};
    assert_true(pk_work_log_softmax(&l).bytes == (2 + 4) * N && pk_work_log_softmax(&l).exps == N + R);
    assert_true(pk_work_nll(&(struct pk_nll){.rows = R, .cols = C}).bytes == 12 * R);
    const struct pk_nll_backward b = {.rows = R, .cols = C, .dtype = PK_BF16};
    assert_true(pk_work_nll_backward(&b).bytes == (4 + 2) * N + 4 * R);
    assert_true(pk_work_mean(R).bytes == 4 * (R + 1));
}

static double adamw_bytes(unsigned passes, enum pk_dtype g_type)
{
    return pk_work_adamw(&(struct pk_adamw){.n = N, .passes = passes, .g_type = g_type}).bytes / N;
}

static void passes_asked_for_together_are_one(void **state)
{
    assert_true(adamw_bytes(PK_ADAMW_FUSED, PK_FP32) == 4 * 7);
    assert_true(adamw_bytes(PK_ADAMW_FUSED | PK_ADAMW_NARROW, PK_BF16) == 4 * 6 + 2 + 2);
    static const double alone[] = {8, 12, 12, 8, 16, 6};
    for (unsigned i = 0; i < sizeof alone / sizeof *alone; i++)
        assert_true(adamw_bytes(1u << i, PK_FP32) == alone[i]);
}

static void time_passes_on_the_null_device(void **state)
{
    static int32_t token;
    static float x[3];
    static struct pk_adamw_state step;
    struct pk_device dev;
    struct pk_err err = {0};
    assert_int_equal(pk_device_open(&dev, "null", &(struct pk_device_options){0}, &err), PK_OK);
    const struct pk_ops *ops = pk_ops_of(&dev);
    assert_true(ops->embed && ops->embed_backward && ops->norm && ops->norm_backward && ops->split_heads &&
                ops->merge_heads && ops->map && ops->glu && ops->glu_backward && ops->cross_entropy &&
                ops->log_softmax && ops->nll && ops->nll_backward && ops->mean && ops->adamw_tick &&
                ops->adamw);
    const struct pk_embed e = {.rows = 1 << 10, .cols = 1 << 10, .vocab = 2, .tokens = &token, .table = x};
    struct pk_embed with = e;
    with.out = x + 1;
    const uint64_t begin_ns = pk_device_now_ns(&dev);
    assert_int_equal(pk_op_embed(&dev, &with, &err), PK_OK);
    assert_true((double)(pk_device_now_ns(&dev) - begin_ns) ==
                ceil(pk_work_embed(&e).bytes / PK_NULL_BYTES_PER_NS));
    assert_int_equal(pk_op_adamw_tick(&dev, &step, &err), PK_OK);
    assert_int_equal(pk_op_mean(&dev, x, 2, x + 2, &err), PK_OK);
    pk_device_close(&dev);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(turns_are_cosines_and_sines),
        cmocka_unit_test(norms_count_what_they_are_given),
        cmocka_unit_test(embeddings_write_the_whole_gradient),
        cmocka_unit_test(elements_are_read_and_written_once),
        cmocka_unit_test(losses_count_what_they_keep),
        cmocka_unit_test(passes_asked_for_together_are_one),
        cmocka_unit_test(time_passes_on_the_null_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
