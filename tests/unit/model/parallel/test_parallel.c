/* Parallel: the report's question with its right answers, digit for digit; published sizes; and what holds for every mesh. */
#include "model/parallel/limits.h"
#include "model/parallel/search.h"

#include "model/transformer/forecast.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define LENGTH(array) (sizeof(array) / sizeof *(array))

static struct pk_arena arena;

static struct pk_model_shape shape(const char *text)
{
    struct pk_model_shape s;
    struct pk_err err;
    if (pk_model_shape_parse(text, &arena, &s, &err))
        fail_msg("%s: %s; %s", text, err.what, err.why);
    return s;
}

static const struct pk_precision *precision(const char *name)
{
    const struct pk_precision *p = pk_precisions;
    while (strcmp(p->name, name) != 0)
        p++;
    return p;
}

static struct pk_parallel_rate exact(double value)
{
    return (struct pk_parallel_rate){value, {value, value}, "test"};
}

/* The report's: a chip of 4.6e14 FLOP/s and 95 GB, links of 2 x 9e10 B/s, two of them along fsdp. */
static struct pk_parallel_setup report(void)
{
    return (struct pk_parallel_setup){
        .shape = shape("ffn:16384x53248x126"),
        .precision = precision("mixed"),
        .batch = 16 * 1399,
        .seq = 1,
        .sum_axes = true,
        .hidden = true,
        .prefetch = 2,
        .memory_bytes = 95e9,
        .node = PK_PARALLEL_CHIPS_MAX,
        .links = {[PK_MESH_dp] = 1, [PK_MESH_fsdp] = 2, [PK_MESH_tp] = 1, [PK_MESH_cp] = 1, [PK_MESH_pp] = 1},
        .rate = {[PK_RATE_COMPUTE] = exact(4.6e14),
                 [PK_RATE_LINK] = exact(1.8e11),
                 [PK_RATE_NETWORK] = exact(1.8e11),
                 [PK_RATE_LAUNCH] = exact(0)}};
}

static const struct pk_mesh one = {1, 1, 1, 1, 1, 1, 1, 3, 0, 0};

static struct pk_mesh grid(int fsdp, int tp)
{
    struct pk_mesh m = one;
    m.fsdp = fsdp, m.tp = tp;
    return m;
}

static struct pk_parallel_values values(const struct pk_parallel_setup *s, struct pk_mesh m)
{
    struct pk_parallel_values time, memory;
    pk_parallel_mesh(s, &m, &time, &memory);
    return time;
}

/* As printed: `digits` significant digits after rounding. */
static void assert_printed(double value, const char *text, int decimals)
{
    char printed[64];
    snprintf(printed, sizeof printed, "%.*f", decimals, value);
    assert_string_equal(printed, text);
}

static void test_published_sizes(void **state)
{
    static const struct {
        const char *model;
        int64_t parameters;
    } rows[] = {{"ffn:16384x53248x126", 219848638464},
                {"ffn:16384x54328x126", 224307707904},
                {"llama-3-8b", 8030261248},
                {"llama-3-70b", 70553706496},
                {"llama-3-405b", 405853388800},
                {"gpt-3-175b", 174604259328},
                {"qwen2.5-0.5b", 494032768},
                {"small", 128625408},
                {"large", 969411840},
                {"tiny", 37266432 / 4}};
    for (size_t i = 0; i < LENGTH(rows); i++) {
        const struct pk_model_shape s = shape(rows[i].model);
        assert_int_equal(pk_model_shape_parameters(&s), rows[i].parameters);
    }
}

static void test_states_of_the_report(void **state)
{
    const struct pk_parallel_setup s = report();
    const struct pk_parallel_values v = values(&s, one);
    const double states = v.weights + v.gradients + v.optimizer;
    assert_printed(v.weights / 1e9, "879.39", 2);
    assert_printed(v.gradients / 1e9, "879.39", 2);
    assert_printed(v.optimizer / 1e9, "1758.79", 2);
    assert_printed(states / 1e9, "3517.58", 2);
    assert_printed(states / 0x1p40, "3.199", 3);
    assert_printed(states / 80e9, "43.97", 2);
    assert_printed(states / (80 * 0x1p30), "40.95", 2);
    assert_true(v.activations_sum / v.tokens == 17547264);
}

static void test_chips_of_the_report(void **state)
{
    static const struct {
        double tokens, shards;
    } rows[] = {{2048, 46}, {4096, 61}, {8192, 156}, {16384, 0}};
    struct pk_parallel_setup s = report();
    s.prefetch = 0, s.sharded_share = 0.5;
    for (size_t i = 0; i < LENGTH(rows); i++)
        assert_true(pk_parallel_chips_needed(&s, &one, rows[i].tokens).shards == rows[i].shards);
    assert_true(pk_parallel_most_tokens(&s, &one) == 10827);
    const struct pk_chips_needed never = pk_parallel_chips_needed(&s, &one, 16384);
    assert_printed(never.memory_bytes / 1e9, "143.7", 1);
}

static void test_stages_of_zero(void **state)
{
    static const char *const gb[] = {NULL, "920.6", "487.8", "55.0"};
    struct pk_parallel_setup s = report();
    s.precision = precision("bf16");
    s.batch = 64;
    for (int zero = 1; zero <= 3; zero++) {
        struct pk_mesh m = grid(64, 1);
        m.zero = zero;
        const struct pk_parallel_values v = values(&s, m);
        assert_printed((v.weights + v.gradients + v.optimizer) / 1e9, gb[zero], 1);
    }
}

static void test_memory_of_the_mesh(void **state)
{
    const struct pk_parallel_setup s = report();
    struct pk_mesh m = grid(16, 4);
    struct pk_parallel_values v = values(&s, m);
    assert_printed((v.weights + v.gradients + v.optimizer) / 1e9, "54.96", 2);
    assert_printed(v.activations_sum / 1e9, "10.47", 2);
    assert_printed(v.gathered / 1e9, "1.74", 2);
    m.sp = 1;
    v = values(&s, m);
    assert_printed(v.activations_sum / 1e9, "6.14", 2);
}

static void test_terms_of_the_mesh(void **state)
{
    struct pk_parallel_setup s = report();
    struct pk_parallel_values v = values(&s, grid(16, 4));
    assert_printed(v.gather_forward * 1.8e11 * 2 / 1e9 / 1e11, "1.0305", 4); /* bytes */
    assert_printed(v.gather_forward / 1e9, "0.2863", 4);
    assert_true(fabs(v.tp_forward * 1.8e11 / 1e9 / 126 / v.tokens - 49152) < 1e-6);
    assert_printed(v.math_forward / 1e9 / v.tokens * 1e4, "2.390", 3);
    assert_printed(v.math_forward * 4 / 1e9 / v.tokens * 1e4, "9.559", 3);
    assert_printed(v.layers * v.block_flops / 1e11, "4.397", 3);
    s.book = true;
    v = values(&s, grid(16, 4));
    assert_printed(v.gather_forward / 1e9, "0.3053", 4);
    assert_true(fabs(v.tp_forward * 1.8e11 / 1e9 / 126 / v.tokens - 65536) < 1e-6);
    assert_printed(v.tp_most, "20.8", 1);
    assert_printed(v.free_tokens, "245", 0);
    s.sum_axes = false;
    assert_printed(values(&s, grid(16, 4)).free_tokens, "61", 0);
    s = report(), s.links[PK_MESH_fsdp] = 1;
    assert_printed(values(&s, grid(16, 4)).gather_forward / 1e9, "0.5725", 4);
}

static void test_thresholds(void **state)
{
    static const struct {
        bool book, sum;
        const char *shard, *chip, *batch;
    } rows[] = {{true, true, "1581", "395", "25302"},
                {false, true, "1399", "350", "22390"},
                {true, false, "1278", "319", "20444"},
                {false, false, "1198", "299", "19167"}};
    struct pk_parallel_setup s = report();
    for (size_t i = 0; i < LENGTH(rows); i++) {
        s.book = rows[i].book, s.sum_axes = rows[i].sum;
        const struct pk_parallel_values v = values(&s, grid(16, 4));
        const struct pk_balance b = pk_parallel_balance(&v, PK_SCOPE_FORWARD);
        assert_printed(b.shard_tokens, rows[i].shard, 0);
        assert_printed(b.chip_tokens, rows[i].chip, 0);
        assert_printed(b.batch_tokens, rows[i].batch, 0);
    }
    s = report();
    const struct pk_parallel_values v = values(&s, grid(16, 4));
    assert_printed(pk_parallel_balance(&v, PK_SCOPE_STEP).shard_tokens, "1325", 0);
}

static void test_bubble(void **state)
{
    static const struct {
        int pp, micro;
        const char *percent;
    } rows[] = {{4, 8, "27.3"}, {4, 32, "8.6"}};
    struct pk_parallel_setup s = report();
    s.shape = shape("ffn:1024x4096x8"), s.batch = 64;
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct pk_mesh m = one;
        m.pp = rows[i].pp, m.micro = rows[i].micro;
        const struct pk_parallel_values v = values(&s, m);
        assert_printed(100 * v.bubble / v.step_ns, rows[i].percent, 1);
    }
}

/* What mixed-precision's variant compiled keeps after forward, to the byte: states, kept activations. The rest of its memory is inputs and
 * the rotary table. */
static void compare_with_forecast(const char *model, size_t batch, enum pk_dtype dtype, bool recompute)
{
    struct pk_parallel_setup s = report();
    s.shape = shape(model), s.seq = 256, s.batch = (int64_t)batch;
    s.precision = precision(dtype == PK_BF16 ? "bf16-fp32-grads" : "fp32");
    struct pk_mesh m = one;
    m.recompute = recompute ? PK_RECOMPUTE_BLOCK : PK_RECOMPUTE_NONE;
    const struct pk_parallel_values v = values(&s, m);
    const struct pk_transformer_config c = {.layers = (size_t)s.shape.layers,
                                            .width = (size_t)s.shape.width,
                                            .heads = (size_t)s.shape.heads,
                                            .ff = (size_t)s.shape.ff,
                                            .vocab = (size_t)s.shape.vocab,
                                            .seq = 256,
                                            .batch = batch,
                                            .dtype = dtype,
                                            .attention = PK_ATTENTION_FLASH,
                                            .fused = true,
                                            .recompute = recompute};
    struct pk_forecast f;
    pk_transformer_forecast(&c, PK_STEP_WHOLE, PK_DEVICE_CPU, 1, &f);
    const size_t tokens = batch * 256, turns = 256 * c.width / c.heads * 4, scalars = 2 * 256;
    assert_int_equal(f.state_bytes - tokens * 12 - turns - scalars,
                     (size_t)(v.weights + v.gradients + v.optimizer));
    const size_t kept = f.forward.after_bytes - f.state_bytes;
    const double ends = v.head_input + v.logits;
    assert_int_equal(kept, (size_t)(recompute ? v.block_inputs + ends : v.activations_sum));
}

static void test_forecast(void **state)
{
    for (int recompute = 0; recompute < 2; recompute++) {
        compare_with_forecast("small", 64, PK_FP32, recompute);
        compare_with_forecast("small", 64, PK_BF16, recompute);
        compare_with_forecast("large", 32, PK_FP32, recompute);
        compare_with_forecast("large", 32, PK_BF16, recompute);
    }
}

/* --- every mesh --- */

static struct pk_parallel_rate between(double value)
{
    return (struct pk_parallel_rate){value, {0.8 * value, 1.3 * value}, "test"};
}

/* A row of a kind at the same place, whatever the mesh. */
static void check_sums(const struct pk_parallel_values *v)
{
    double group[PK_PARALLEL_GROUPS] = {0};
    for (const struct pk_parallel_row *row = pk_parallel_rows; row->name; row++) {
        const double x = pk_parallel_value(v, row);
        if (row->kind == PK_PARALLEL_TERM)
            group[row->group] += x;
        if (row->kind == PK_PARALLEL_SUM)
            assert_true(fabs(x - group[row->group]) <= 1e-12 * x);
        assert_true(row->kind == PK_PARALLEL_INPUT || x >= 0);
    }
}

static void check_interval(const struct pk_parallel_setup *s, const struct pk_mesh *m,
                           const struct pk_parallel_values *v)
{
    double lo = INFINITY, hi = 0, t_lo = INFINITY, t_hi = 0;
    for (unsigned c = 0; c < PK_PARALLEL_CORNERS; c++) {
        struct pk_parallel_values at;
        pk_parallel_corner(s, m, c, &at);
        const double t = pk_parallel_balance(&at, PK_SCOPE_STEP).shard_tokens;
        lo = fmin(lo, at.step_ns), hi = fmax(hi, at.step_ns), t_lo = fmin(t_lo, t), t_hi = fmax(t_hi, t);
    }
    const double t = pk_parallel_balance(v, PK_SCOPE_STEP).shard_tokens;
    assert_true(lo <= v->step_ns && v->step_ns <= hi);
    assert_true(t_lo <= t && t <= t_hi);
}

/* Of the meshes of 2^k chips that a loop over every axis finds, the search finds each, and ranks the same first. */
static void test_every_mesh(void **state)
{
    struct pk_parallel_setup s = report();
    s.shape = shape("transformer:layers=8,width=512,ff=2048,heads=8,kv_heads=4,vocab=4096");
    s.batch = 16, s.seq = 128, s.node = 4, s.memory_bytes = 200e6;
    s.rate[PK_RATE_COMPUTE] = between(1e13), s.rate[PK_RATE_LINK] = between(1e10);
    s.rate[PK_RATE_NETWORK] = between(1e9), s.rate[PK_RATE_LAUNCH] = between(5e3);
    struct pk_parallel_ranking found;
    struct pk_err err;
    assert_int_equal(pk_parallel_search(&s, &(struct pk_mesh_request){.chips = 16}, &arena, &found, &err),
                     PK_OK);
    size_t n = 0, fitting = 0;
    double best = INFINITY;
    enum { AXES = 5, CHOICES = 5 * 4 * 3 * 3 };
    for (int code = 0; code < 5 * 5 * 5 * 5 * 5 * CHOICES; code++) {
        int left = code, power[AXES], sum = 0;
        for (int i = 0; i < AXES; i++, left /= 5)
            sum += power[i] = left % 5;
        struct pk_mesh m = {1 << power[0], 1 << power[1],     1 << power[2],     1 << power[3], 1 << power[4],
                            1 << left % 5, 1 << left / 5 % 4, left / 20 % 3 + 1, power[2] > 0,  left / 60};
        const bool same = m.fsdp * m.cp == 1 && m.zero > 1; /* the search takes one of these */
        if (sum != 4 || same || pk_mesh_problem(&s, &m, NULL))
            continue;
        struct pk_parallel_values time, memory;
        pk_parallel_mesh(&s, &m, &time, &memory);
        check_sums(&time);
        check_sums(&memory);
        check_interval(&s, &m, &time);
        n++;
        fitting += memory.memory_bytes <= s.memory_bytes;
        best = memory.memory_bytes <= s.memory_bytes ? fmin(best, time.step_ns) : best;
    }
    assert_true(fitting > 0 && fitting < n);
    assert_int_equal(found.n, n);
    assert_int_equal(found.fitting, fitting);
    assert_true(found.v[0].step_ns == best);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_published_sizes),
        cmocka_unit_test(test_states_of_the_report),
        cmocka_unit_test(test_chips_of_the_report),
        cmocka_unit_test(test_stages_of_zero),
        cmocka_unit_test(test_memory_of_the_mesh),
        cmocka_unit_test(test_terms_of_the_mesh),
        cmocka_unit_test(test_thresholds),
        cmocka_unit_test(test_bubble),
        cmocka_unit_test(test_forecast),
        cmocka_unit_test(test_every_mesh),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pk_arena_free(&arena);
    return failed;
}
