/* The layers' rows of the CUDA table on the fake runtime: each reaches its kernel with what it was given; workspace, its prediction and its
 * refusal; launches that fail. */
#include "ops/ops.h"

#include "../device/fake_cuda.h"
#include "device/cuda/cuda.h"
#include "fake_layers.h"
#include "op_checks_layers.h"
#include "ops/workspace.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <string.h>

static struct pk_device dev;
static struct pk_err err;
static struct trial trial = {.dev = &dev, .label = "the fake runtime"};

static int open_device(void **state)
{
    fake_cuda_reset();
    fake_cuda.memory_bytes = 1 << 28;
    fake_layers_fail = fake_layers_launches = 0;
    pk_cuda_use(&fake_cuda_api);
    return (int)pk_device_open(&dev, "cuda", &(struct pk_device_options){0}, &err);
}

static int close_device(void **state)
{
    const size_t left = dev.pool.current;
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    return left || fake_cuda.live_blocks || fake_cuda.live_events || fake_cuda.live_streams;
}

static void every_row_reaches_its_kernel(void **state)
{
    check_mean(&trial, OPS_TINY);
    for (int type = PK_FP32; type <= PK_BF16; type++) {
        check_embed(&trial, (enum pk_dtype)type, OPS_TINY);
        check_norm(&trial, (enum pk_dtype)type, OPS_TINY);
        check_norm_backward(&trial, (enum pk_dtype)type, OPS_USUAL);
        check_heads(&trial, (enum pk_dtype)type, OPS_TINY);
        check_map(&trial, (enum pk_dtype)type, OPS_TINY);
        check_glu(&trial, (enum pk_dtype)type, OPS_TINY);
        check_cross_entropy(&trial, (enum pk_dtype)type, OPS_TINY);
        check_nll(&trial, (enum pk_dtype)type, OPS_TINY);
        check_adamw(&trial, (enum pk_dtype)type, OPS_TINY);
    }
}

enum { ROWS = 100, COLS = 48 };
static float x[ROWS * COLS], out[ROWS * COLS], d_w[COLS];
static const struct pk_norm_backward of = {
    .rows = ROWS, .cols = COLS, .s = x, .w = x, .rstd = x, .d_y = x, .d_x = out, .d_w = d_w};

static void workspace_is_what_was_predicted(void **state)
{
    assert_int_equal(pk_op_norm_backward(&dev, &of, &err), PK_OK);
    assert_int_equal(dev.pool.peak, pk_workspace_norm_backward(&of));
    assert_int_equal(dev.pool.current, 0);
    /* a part for every eight rows, and never more than two for each multiprocessor */
    assert_int_equal(pk_norm_parts(&of), 13);
    assert_int_equal(pk_norm_parts(&(struct pk_norm_backward){.rows = 16384}), 264);
}

static void refused_workspace_is_oom(void **state)
{
    dev.pool.fail_at = 1;
    assert_int_equal(pk_op_norm_backward(&dev, &of, &err), PK_E_OOM);
    dev.pool.fail_at = 0;
    assert_int_equal(fake_layers_launches, 0);
    assert_int_equal(dev.pool.current, 0);
}

static void a_launch_that_fails_is_said(void **state)
{
    const struct pk_norm n = {.rows = ROWS, .cols = COLS, .x = x, .w = x, .y = out};
    const struct pk_glu g = {.rows = ROWS, .cols = COLS, .stride = COLS, .gate = x, .up = x, .y = out};
    fake_layers_fail = cudaErrorInvalidValue;
    assert_int_not_equal(pk_op_norm(&dev, &n, &err), PK_OK);
    assert_non_null(strstr(err.what, "launching a norm"));
    assert_int_not_equal(pk_op_norm_backward(&dev, &of, &err), PK_OK);
    assert_non_null(strstr(err.what, "launching the backward pass of a norm"));
    assert_int_equal(dev.pool.current, 0);
    assert_int_not_equal(pk_op_glu(&dev, &g, &err), PK_OK);
    assert_non_null(strstr(err.what, "launching a gated unit"));
}

#define ON_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_device, close_device)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_DEVICE(every_row_reaches_its_kernel),
        ON_DEVICE(workspace_is_what_was_predicted),
        ON_DEVICE(refused_workspace_is_oom),
        ON_DEVICE(a_launch_that_fails_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
