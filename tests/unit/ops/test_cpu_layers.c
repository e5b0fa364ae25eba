/* The CPU's layers against the float64 reference: every instruction set this CPU has, both element types; the same bits however many
 * threads there are; tokens that no table has. */
#include "device/cpu/cpu.h"
#include "op_checks_layers.h"
#include "ops/ops.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static struct pk_device dev;
static struct trial trial = {.dev = &dev};

static void open_device(unsigned threads)
{
    struct pk_err err = {0};
    if (pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = threads, .limit_bytes = 1 << 30},
                       &err))
        fail_msg("%s: %s", err.what, err.why);
    trial.label = pk_isa_name(pk_cpu_isa(&dev));
}

static void check_all(enum pk_dtype type)
{
    check_embed(&trial, type, OPS_USUAL);
    check_norm(&trial, type, OPS_USUAL);
    check_norm_backward(&trial, type, OPS_USUAL);
    check_heads(&trial, type, OPS_USUAL);
    check_map(&trial, type, OPS_USUAL);
    check_glu(&trial, type, OPS_USUAL);
    check_cross_entropy(&trial, type, OPS_USUAL);
    check_nll(&trial, type, OPS_USUAL);
    check_adamw(&trial, type, OPS_USUAL);
    check_bad_logits(&trial, type);
}

static void layers_match(void **state)
{
    open_device(3);
    check_mean(&trial, OPS_USUAL);
    check_cross_entropy_shape(&trial, PK_BF16, 2, 16391,
                              16392); /* exponentials of longer rows are made again */
    for (int isa = (int)pk_isa_detect(); isa >= 0; isa--) {
        pk_cpu_lower_isa(&dev, (enum pk_isa)isa);
        trial.label = pk_isa_name((enum pk_isa)isa);
        check_all(PK_FP32);
        check_all(PK_BF16);
    }
    pk_device_close(&dev);
}

enum { ROWS = 700, COLS = 90, VOCAB = 50 };

/* The two gradients that are sums over rows: d_w, then d_table. */
static void summed_gradients(unsigned threads, float *sums)
{
    open_device(threads);
    const float *x = trial_input(&trial, trial_random(&trial, ROWS * COLS, 1), ROWS * COLS);
    const float *w = trial_input(&trial, trial_random(&trial, COLS, 2), COLS);
    const float *rstd = trial_input(&trial, trial_random(&trial, ROWS, 3), ROWS);
    int32_t tokens[ROWS];
    for (int i = 0; i < ROWS; i++)
        tokens[i] = i * i % VOCAB;
    struct pk_norm_backward n = {.rows = ROWS, .cols = COLS, .s = x, .w = w, .rstd = rstd, .d_y = x};
    n.d_x = trial_output(&trial, ROWS * COLS), n.d_w = trial_output(&trial, COLS);
    struct pk_embed_backward e = {.rows = ROWS, .cols = COLS, .vocab = VOCAB, .d_out = x};
    e.tokens = trial_bytes(&trial, tokens, sizeof tokens), e.d_table = trial_output(&trial, VOCAB * COLS);
    trial_ran(&trial, "norm backward", pk_op_norm_backward(&dev, &n, &trial.err));
    trial_ran(&trial, "embed backward", pk_op_embed_backward(&dev, &e, &trial.err));
    memcpy(sums, trial_fetch(&trial, n.d_w, COLS * sizeof *sums), COLS * sizeof *sums);
    memcpy(sums + COLS, trial_fetch(&trial, e.d_table, VOCAB * COLS * sizeof *sums),
           VOCAB * COLS * sizeof *sums);
    trial_end(&trial);
    pk_device_close(&dev);
}

static void sums_do_not_depend_on_threads(void **state)
{
    static float one[(VOCAB + 1) * COLS], other[(VOCAB + 1) * COLS];
    summed_gradients(1, one);
    for (unsigned threads = 2; threads <= 5; threads += 3) {
        summed_gradients(threads, other);
        assert_memory_equal(one, other, sizeof one);
    }
}

static void a_refused_workspace_is_oom(void **state)
{
    float x[4] = {1, 2, 3, 4}, out[4], d_w[2];
    const struct pk_norm_backward n = {
        .rows = 2, .cols = 2, .s = x, .w = x, .rstd = x, .d_y = x, .d_x = out, .d_w = d_w};
    open_device(1);
    dev.pool.fail_at = 1;
    assert_int_equal(pk_op_norm_backward(&dev, &n, &trial.err), PK_E_OOM);
    const int32_t tokens[2] = {0};
    const struct pk_embed_backward e = {2, 2, 1, PK_FP32, tokens, x, out};
    dev.pool.fail_at = 1;
    assert_int_equal(pk_op_embed_backward(&dev, &e, &trial.err), PK_E_OOM);
    dev.pool.fail_at = 0;
    assert_int_equal(dev.pool.current, 0);
    pk_device_close(&dev);
}

/* The token ends the process that asked for it, and says where. */
static void ends_by_an_assertion(enum pk_code (*ask)(int32_t token), int32_t token)
{
    fflush(NULL);
    const pid_t child = fork();
    if (!child) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0});
        signal(SIGABRT, SIG_DFL);
        if (!freopen("/dev/null", "w", stderr))
            _exit(1);
        _exit(ask(token) == PK_OK);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static enum pk_code embed(int32_t token)
{
    float table[2] = {0}, out[1];
    open_device(1);
    return pk_op_embed(&dev, &(struct pk_embed){1, 1, 2, PK_FP32, &token, table, out}, &trial.err);
}

static enum pk_code embed_backward(int32_t token)
{
    float d_table[2], d_out[1] = {0};
    open_device(1);
    return pk_op_embed_backward(&dev, &(struct pk_embed_backward){1, 1, 2, PK_FP32, &token, d_out, d_table},
                                &trial.err);
}

static enum pk_code cross_entropy(int32_t token)
{
    float logits[2] = {0}, loss[1];
    const struct pk_cross_entropy x = {
        .rows = 1, .cols = 2, .stride = 2, .logits = logits, .targets = &token, .losses = loss};
    open_device(1);
    return pk_op_cross_entropy(&dev, &x, &trial.err);
}

static void a_token_out_of_range_is_a_bug(void **state)
{
    static enum pk_code (*const asked[])(int32_t) = {embed, embed_backward, cross_entropy};
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        ends_by_an_assertion(asked[i], 2);
        ends_by_an_assertion(asked[i], -1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(layers_match),
        cmocka_unit_test(sums_do_not_depend_on_threads),
        cmocka_unit_test(a_refused_workspace_is_oom),
        cmocka_unit_test(a_token_out_of_range_is_a_bug),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
