/* Transformer: counts, memory, and gradients against differences of a float64 model, in every way of computing them. */
#include "model/transformer/transformer.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "base/rng.h"
#include "device/null.h"
#include "model/transformer/check.h"
#include "model/transformer/reference.h"

#include <math.h>
#include <string.h>

static const struct pk_transformer_config small = {.layers = 12,
                                                   .width = 768,
                                                   .heads = 12,
                                                   .ff = 3072,
                                                   .vocab = 10000,
                                                   .seq = 256,
                                                   .batch = 64,
                                                   .attention = PK_ATTENTION_VANILLA};
static const struct pk_transformer_config tiny = {.layers = 2,
                                                  .width = 24,
                                                  .heads = 2,
                                                  .ff = 40,
                                                  .vocab = 29,
                                                  .seq = 7,
                                                  .batch = 3,
                                                  .attention = PK_ATTENTION_VANILLA};

struct bench {
    struct pk_arena arena;
    struct pk_device dev;
    struct pk_transformer t;
    int32_t *tokens, *targets;
};

static struct pk_err err;

static void assert_near(double got, double want, double tolerance)
{
    if (!(fabs(got - want) <= tolerance))
        fail_msg("%.9g is not %.9g within %g", got, want, tolerance);
}

static void ok(enum pk_code rc)
{
    if (rc)
        fail_msg("%s; %s", err.what, err.why);
}

static void open_bench(struct bench *b, const char *device, const struct pk_transformer_config *c)
{
    memset(b, 0, sizeof *b);
    const struct pk_device_options o = {.threads = 2, .no_bind = true, .limit_bytes = INT64_C(1) << 45};
    ok(pk_device_open(&b->dev, device, &o, &err));
    ok(pk_transformer_open(&b->t, &b->dev, c, PK_NEEDS_OPTIMIZER, &b->arena, &err));
}

static void fill_bench(struct bench *b)
{
    const size_t n = pk_transformer_tokens(&b->t.c);
    struct pk_rng rng = {7};
    b->tokens = pk_new_n(&b->arena, int32_t, n);
    b->targets = pk_new_n(&b->arena, int32_t, n);
    for (size_t i = 0; i < n; i++) {
        b->tokens[i] = (int32_t)(pk_rng_uniform(&rng) * (double)b->t.c.vocab);
        b->targets[i] = (int32_t)(pk_rng_uniform(&rng) * (double)b->t.c.vocab);
    }
    ok(pk_transformer_fill(&b->t, &(struct pk_origin){.seed = 5}, &err));
    ok(pk_transformer_batch(&b->t, b->tokens, b->targets, &err));
}

static void close_bench(struct bench *b)
{
    pk_transformer_close(&b->t);
    assert_int_equal(b->dev.pool.current, 0);
    pk_device_close(&b->dev);
    pk_arena_free(&b->arena);
}

/* --- counts --- */

static void parameters_are_the_reports(void **state)
{
    struct pk_transformer_config large = small;
    large.layers = 36, large.width = 1280, large.heads = 20, large.ff = 5120;
    assert_int_equal(pk_transformer_parameters(&small), 128625408);
    assert_int_equal(pk_transformer_parameters(&large), 969411840);
}

/* Qwen2.5-0.5B: 24 layers of 896, 14 heads and 2 of keys and values, without biases and with a head of its own. */
static const struct pk_transformer_config qwen = {.layers = 24,
                                                  .width = 896,
                                                  .heads = 14,
                                                  .kv_heads = 2,
                                                  .ff = 4864,
                                                  .vocab = 151936,
                                                  .seq = 512,
                                                  .batch = 4};

static void grouped_queries_save_parameters_and_flops(void **state)
{
    struct pk_transformer_config many = qwen, blocks = qwen;
    many.kv_heads = 0;
    assert_int_equal(pk_transformer_parameters(&many), 663169920);
    many.kv_heads = many.heads;
    assert_int_equal(pk_transformer_parameters(&many), 663169920);
    blocks.headless = true;
    const size_t table = 151936 * 896, last_norm = 896;
    const size_t layers = pk_transformer_parameters(&blocks) - table;
    assert_int_equal(layers, 24 * 14911232);
    assert_int_equal(pk_transformer_parameters(&qwen), 2 * table + layers + last_norm);
    assert_near((double)(pk_transformer_parameters(&many) - 2 * table - last_norm) / (double)layers, 1.092,
                5e-4);
    /* Of a batch of 4 * 512: 1.466 TFLOP of the layers' weights, 0.045 of causal attention, 0.558 of the head. */
    assert_near(pk_transformer_flops(&blocks), 1.511e12, 5e8);
    assert_near(pk_transformer_flops(&qwen) - pk_transformer_flops(&blocks), 0.558e12, 5e8);
}

static void layout_has_every_parameter_once(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_layout l;
    pk_layout_make(&l, &small, &a);
    assert_int_equal(l.n, 111);
    size_t sum = 0, end = 0;
    for (size_t i = 0; i < l.n; i++) {
        assert_true(l.v[i].offset >= end);
        end = l.v[i].offset + l.v[i].rows * l.v[i].cols;
        sum += l.v[i].rows * l.v[i].cols;
    }
    assert_true(l.elements >= end);
    assert_int_equal(sum, pk_transformer_parameters(&small));
    assert_string_equal(pk_layout_block(&l, 3, PK_UP)->name, "layers.3.ffn.w3.weight");
    const size_t q = pk_layout_block(&l, 3, PK_Q)->offset;
    assert_int_equal(pk_layout_block(&l, 3, PK_V)->offset, q + 2 * 768 * 768);
}

static void layout_of_grouped_queries_is_smaller(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_layout l;
    struct pk_transformer_config c = qwen;
    pk_layout_make(&l, &c, &a);
    assert_int_equal(pk_layout_block(&l, 3, PK_K)->rows, 128);
    assert_int_equal(pk_layout_block(&l, 3, PK_V)->offset,
                     pk_layout_block(&l, 3, PK_Q)->offset + (896 + 128) * 896);
    c.headless = true;
    pk_layout_make(&l, &c, &a);
    assert_int_equal(l.n, 1 + 24 * PK_BLOCK_PARAMETERS);
    assert_string_equal(l.v[l.n - 1].name, "layers.23.ffn.w2.weight");
}

static void flops_are_the_references(void **state)
{
    struct pk_transformer_config c = small;
    c.seq = 256;
    const double m = 12.0 * (4 * 768 * 768 + 3 * 768 * 3072) + 768 * 10000, tokens = 64 * 256;
    assert_near(pk_transformer_flops(&c), 2 * m * tokens + 2.0 * 257 * 768 * 12 * tokens, 1e3);
}

/* --- shapes that cannot be --- */

static void refused(size_t width, size_t heads, size_t ff, const char *what)
{
    struct pk_transformer_config c = tiny;
    c.width = width, c.heads = heads, c.ff = ff;
    assert_int_equal(pk_transformer_valid(&c, &err), PK_E_USAGE);
    if (!strstr(err.what, what))
        fail_msg("'%s' is not about '%s'", err.what, what);
    assert_true(err.why[0] && err.fix[0]);
}

static void impossible_shapes_are_refused(void **state)
{
    refused(24, 5, 40, "a width of 24 cannot be divided into 5 heads");
    refused(24, 8, 40, "heads of 3 features");
    refused(20, 2, 40, "a width of 20");
    refused(24, 2, 41, "feed-forward width of 41");
    struct pk_transformer_config c = tiny;
    c.heads = 6, c.kv_heads = 4;
    assert_int_equal(pk_transformer_valid(&c, &err), PK_E_USAGE);
    assert_string_equal(err.what, "6 heads cannot share 4 heads of keys and values");
    assert_string_equal(err.fix, "choose another number, such as kv_heads=3");
}

static void tokens_outside_the_vocabulary_are_refused(void **state)
{
    struct bench b;
    open_bench(&b, "cpu", &tiny);
    fill_bench(&b);
    b.targets[4] = 29;
    assert_int_equal(pk_transformer_batch(&b.t, b.tokens, b.targets, &err), PK_E_USAGE);
    assert_string_equal(err.what, "target 4 is 29");
    assert_string_equal(err.why, "the vocabulary has the tokens 0 to 28");
    close_bench(&b);
}

/* --- memory, on a device that computes nothing --- */

static const struct way {
    const char *name;
    enum pk_attention_variant attention;
    bool fused, recompute;
} ways[] = {
    {"apart, vanilla", PK_ATTENTION_VANILLA, false, false},
    {"apart, vanilla, recomputed", PK_ATTENTION_VANILLA, false, true},
    {"apart, flash", PK_ATTENTION_FLASH, false, false},
    {"fused, flash", PK_ATTENTION_FLASH, true, false},
    {"fused, flash, recomputed", PK_ATTENTION_FLASH, true, true},
    {"fused, fused", PK_ATTENTION_FUSED, true, false},
};
enum { WAYS = sizeof ways / sizeof *ways };

static struct pk_transformer_config in_way(struct pk_transformer_config c, const struct way *w)
{
    c.attention = w->attention;
    c.fused = w->fused;
    c.recompute = w->recompute;
    return c;
}

static enum pk_code step(struct bench *b)
{
    enum pk_code rc;
    if ((rc = pk_transformer_forward(&b->t, true, &err)) || (rc = pk_transformer_backward(&b->t, &err)))
        return rc;
    return pk_transformer_update(&b->t, &err);
}

static void a_step_gives_back_what_it_took(void **state)
{
    for (size_t i = 0; i < WAYS; i++)
        for (enum pk_dtype type = PK_FP32; type <= PK_BF16; type++) {
            struct pk_transformer_config c = in_way(tiny, &ways[i]);
            struct bench b;
            c.dtype = type;
            const struct pk_attention_shape s = pk_transformer_attention(&c);
            if (!pk_attention_has(c.attention, &s))
                continue;
            open_bench(&b, "null", &c);
            const size_t before = b.dev.pool.current;
            ok(pk_transformer_forward(&b.t, false, &err));
            assert_int_equal(b.dev.pool.current, before);
            ok(step(&b));
            assert_int_equal(b.dev.pool.current, before);
            ok(pk_transformer_forward(&b.t, true, &err));
            assert_true(b.dev.pool.current > before);
            pk_transformer_forget(&b.t);
            assert_int_equal(b.dev.pool.current, before);
            close_bench(&b);
        }
}

static void any_refused_memory_ends_a_step_cleanly(void **state)
{
    for (size_t i = 0; i < WAYS; i++) {
        const struct pk_transformer_config c = in_way(tiny, &ways[i]);
        struct bench b;
        open_bench(&b, "null", &c);
        const size_t before = b.dev.pool.current;
        unsigned long n = 0;
        for (enum pk_code rc = PK_E_OOM; rc; pk_transformer_forget(&b.t)) {
            b.dev.pool.fail_at = ++n;
            rc = step(&b);
            if (rc)
                assert_int_equal(rc, PK_E_OOM);
            b.dev.pool.fail_at = 0;
        }
        assert_true(n > 30);
        assert_int_equal(b.dev.pool.current, before);
        close_bench(&b);
    }
}

static size_t peak_of(struct pk_transformer_config c)
{
    struct bench b;
    open_bench(&b, "null", &c);
    ok(step(&b));
    const size_t peak = b.dev.pool.peak;
    close_bench(&b);
    return peak;
}

/* Saved activations of the small model: by hand 20.5 GB with stored scores, 14.5 GB without, in fp32. */
static void recomputing_and_fusing_save_memory(void **state)
{
    const size_t states = 16 * pk_transformer_parameters(&small);
    size_t peak[WAYS];
    for (size_t i = 0; i < WAYS; i++)
        peak[i] = peak_of(in_way(small, &ways[i])) - states;
    assert_true(peak[1] < peak[0] / 4);
    assert_true(peak[2] < peak[0]);
    assert_true(peak[3] < peak[2]);
    assert_true(peak[4] < peak[3] / 3);
    assert_in_range(peak[3] / 1000000, 7000, 14500);
}

/* --- gradients --- */

static void gradients_are_those_of_the_loss(void **state)
{
    for (size_t i = 0; i < 4 * WAYS; i++) {
        struct pk_transformer_config c = in_way(tiny, &ways[i % WAYS]);
        struct bench b;
        c.dtype = i / WAYS % 2 ? PK_BF16 : PK_FP32;
        if (i >= WAYS) /* the differences of a float64 model take nearly all time */
            c.batch = 2;
        if (i >= 3 * WAYS)
            c.layers = 1;
        if (i >= 2 * WAYS)
            c.heads = 6, c.kv_heads = i % 2 ? 2 : 1;
        const struct pk_attention_shape s = pk_transformer_attention(&c);
        if (!pk_attention_has(c.attention, &s))
            continue;
        open_bench(&b, "cpu", &c);
        fill_bench(&b);
        if (pk_transformer_check(&b.t, b.tokens, b.targets, true, &err))
            fail_msg("%s, %s: %s; %s", ways[i % WAYS].name, c.dtype == PK_BF16 ? "bf16" : "fp32", err.what,
                     err.why);
        ok(pk_transformer_check(&b.t, b.tokens, b.targets, false, &err));
        close_bench(&b);
    }
}

/* Behind each block what is given is its hidden state: two blocks without a head agree with the same blocks of a whole model in every way of
 * computing them. */
struct seen {
    struct bench *b;
    size_t calls;
    float hidden[2][3 * 7 * 24];
};

static enum pk_code see(void *user, size_t layer, const void *x, const void *delta, struct pk_err *e)
{
    struct seen *s = user;
    assert_int_equal(layer, s->calls++ % 2);
    for (size_t i = 0; i < 3 * 7 * 24; i++)
        s->hidden[layer][i] = ((const float *)x)[i] + (delta ? ((const float *)delta)[i] : 0);
    return s->calls == 100 ? pk_fail(e, PK_E_IO, "no more") : PK_OK;
}

static void hidden_states_are_given_behind_each_block(void **state)
{
    static struct seen first, s;
    for (size_t i = 0; i < WAYS; i++) {
        struct pk_transformer_config c = in_way(tiny, &ways[i]);
        struct bench b;
        open_bench(&b, "cpu", &c);
        fill_bench(&b);
        s = (struct seen){.b = &b};
        b.t.block_hook = (struct pk_block_hook){see, &s};
        ok(pk_transformer_forward(&b.t, true, &err));
        pk_transformer_forget(&b.t);
        assert_int_equal(s.calls, 2);
        first = i ? first : s;
        close_bench(&b);
        c.headless = true;
        c.recompute = false;
        open_bench(&b, "cpu", &c);
        fill_bench(&b);
        b.t.block_hook = (struct pk_block_hook){see, &s};
        const size_t before = b.dev.pool.current;
        ok(pk_transformer_forward(&b.t, false, &err));
        assert_int_equal(s.calls, 4);
        assert_int_equal(b.dev.pool.current, before);
        for (size_t layer = 0; layer < 2; layer++)
            for (size_t k = 0; k < 3 * 7 * 24; k++)
                assert_near((double)s.hidden[layer][k], (double)first.hidden[layer][k], 1e-4);
        s.calls = 98;
        assert_int_equal(pk_transformer_forward(&b.t, false, &err), PK_E_IO);
        assert_int_equal(b.dev.pool.current, before);
        close_bench(&b);
    }
}

/* A model with one wrong weight: what forward and backward use is not what the reference is given. */
static void wrong_results_are_found(void **state)
{
    struct bench b;
    open_bench(&b, "cpu", &tiny);
    fill_bench(&b);
    int32_t *others = pk_new_n(&b.arena, int32_t, pk_transformer_tokens(&tiny));
    memcpy(others, b.targets, pk_transformer_tokens(&tiny) * sizeof *others);
    others[15] = (others[15] + 1) % (int32_t)tiny.vocab;
    assert_int_equal(pk_transformer_check(&b.t, b.tokens, others, true, &err), PK_E_CHECK);
    assert_string_equal(err.what, "the loss of token 1 of sequence 2 is wrong");
    assert_int_equal(pk_transformer_check(&b.t, b.tokens, others, false, &err), PK_E_CHECK);
    close_bench(&b);
}

/* Numbers that fp32 does not have are told as that, wherever they are met, and not as what the device got wrong. */
static void weights_beyond_the_range_accuse_nobody(void **state)
{
    static const struct {
        enum pk_block_parameter of; /* of the second layer; PK_BLOCK_PARAMETERS: the head */
        float by;
        const char *met;
    } ways_out[] = {
        {PK_BLOCK_PARAMETERS, NAN, "at lm_head.weight float64 has nan"},
        {PK_BLOCK_PARAMETERS, 3e38f, "at lm_head.weight float64 has"},
        {PK_Q, 1e38f, "at layers.1.attn.q_proj.weight float64 has"},
        {PK_NORM2, 2e38f, "at layers.1.ln2.weight float64 has"},
        {PK_UP, 1e38f, "at layers.1.ffn.w"},
        {PK_DOWN, 1e25f, "at ln_final.weight float64 has"}, /* its norm's squares */
    };
    for (size_t i = 0; i < sizeof ways_out / sizeof *ways_out; i++) {
        struct bench b;
        open_bench(&b, "cpu", &tiny);
        fill_bench(&b);
        const struct pk_parameter *w = ways_out[i].of == PK_BLOCK_PARAMETERS
                                           ? pk_layout_head(&b.t.layout)
                                           : pk_layout_block(&b.t.layout, 1, ways_out[i].of);
        for (size_t k = 0; k < w->rows * w->cols; k++)
            b.t.p[w->offset + k] *= ways_out[i].by;
        assert_int_equal(pk_transformer_check(&b.t, b.tokens, b.targets, false, &err), PK_E_CHECK);
        assert_string_equal(err.what, "the loss of token 0 of sequence 2 cannot be checked");
        if (!strstr(err.why, ways_out[i].met))
            fail_msg("'%s' does not say '%s'", err.why, ways_out[i].met);
        close_bench(&b);
    }
}

/* Learning one batch by heart: from log(vocabulary) or more to next to nothing, the same way however it is computed. */
static void training_reduces_the_loss_alike(void **state)
{
    enum { STEPS = 40 };
    float losses[WAYS][STEPS];
    for (size_t i = 0; i < WAYS; i++) {
        const struct pk_transformer_config c = in_way(tiny, &ways[i]);
        struct bench b;
        open_bench(&b, "cpu", &c);
        fill_bench(&b);
        b.t.adamw->lr = 0.01f;
        for (size_t k = 0; k < STEPS; k++) {
            ok(step(&b));
            ok(pk_transformer_loss(&b.t, &losses[i][k], &err));
            if (k < 10)
                assert_near((double)losses[i][k], (double)losses[0][k], 1e-3);
        }
        assert_true(losses[i][0] > 3.0f && losses[i][STEPS - 1] < 0.2f);
        close_bench(&b);
    }
}

/* --- accumulation --- */

static const struct pk_transformer_config global = {.layers = 1,
                                                    .width = 16,
                                                    .heads = 2,
                                                    .ff = 24,
                                                    .vocab = 13,
                                                    .seq = 3,
                                                    .batch = 128,
                                                    .attention = PK_ATTENTION_FLASH,
                                                    .fused = true};

/* Gradients of the batch in parts of `micro` sequences, added up and scaled once; the result is the mean loss. */
static double accumulate(struct bench *b, size_t micro)
{
    const size_t all = b->t.c.batch, parts = all / micro;
    double loss = 0;
    b->t.c.batch = micro;
    for (size_t i = 0; i < parts; i++) {
        const size_t at = i * micro * b->t.c.seq;
        float part;
        b->t.add = i > 0;
        ok(pk_transformer_batch(&b->t, b->tokens + at, b->targets + at, &err));
        ok(pk_transformer_forward(&b->t, true, &err));
        ok(pk_transformer_backward(&b->t, &err));
        ok(pk_transformer_loss(&b->t, &part, &err));
        loss += (double)part / (double)parts;
    }
    ok(pk_transformer_scale(&b->t, 1.0f / (float)parts, &err));
    b->t.c.batch = all;
    return loss;
}

static enum pk_code weights_of(void *user, const struct pk_parameter *w, float *to, struct pk_err *e)
{
    const struct pk_transformer *t = user;
    memcpy(to, t->p + w->offset, w->rows * w->cols * sizeof *to);
    return PK_OK;
}

static void parts_of_a_batch_add_up_to_it(void **state)
{
    for (size_t i = 0; i < WAYS; i++) {
        struct bench b;
        double want;
        const struct pk_transformer_config c = in_way(global, &ways[i]);
        open_bench(&b, "cpu", &c);
        fill_bench(&b);
        ok(pk_transformer_check(&b.t, b.tokens, b.targets, i == 0,
                                &err)); /* leaves the gradients of 128 x 1 */
        float *whole = pk_new_n(&b.arena, float, b.t.layout.elements);
        memcpy(whole, b.t.g, b.t.layout.elements * sizeof *whole);
        const struct pk_reference r = {&c,        &b.t.layout, weights_of, &b.t, b.tokens,
                                       b.targets, c.batch,     c.seq,      {0}};
        ok(pk_reference_loss(&r, &want, &err));
        assert_near(accumulate(&b, 8), want, 1e-5);
        for (size_t k = 0; k < b.t.layout.elements; k++)
            assert_near((double)b.t.g[k], (double)whole[k], 1e-5);
        assert_near(accumulate(&b, 128), want, 1e-5);
        close_bench(&b);
    }
}

static void loss_begins(void *user)
{
    ++*(unsigned *)user;
}

static void the_loss_begins_once_in_a_forward_pass(void **state)
{
    for (size_t i = 0; i < WAYS; i++) {
        const struct pk_transformer_config c = in_way(tiny, &ways[i]);
        struct bench b;
        unsigned n = 0;
        open_bench(&b, "null", &c);
        b.t.loss_hook = (struct pk_loss_hook){loss_begins, &n};
        ok(pk_transformer_forward(&b.t, true, &err));
        ok(pk_transformer_backward(&b.t, &err));
        assert_int_equal(n, 1);
        close_bench(&b);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_are_the_reports),
        cmocka_unit_test(grouped_queries_save_parameters_and_flops),
        cmocka_unit_test(layout_has_every_parameter_once),
        cmocka_unit_test(layout_of_grouped_queries_is_smaller),
        cmocka_unit_test(flops_are_the_references),
        cmocka_unit_test(impossible_shapes_are_refused),
        cmocka_unit_test(tokens_outside_the_vocabulary_are_refused),
        cmocka_unit_test(a_step_gives_back_what_it_took),
        cmocka_unit_test(any_refused_memory_ends_a_step_cleanly),
        cmocka_unit_test(recomputing_and_fusing_save_memory),
        cmocka_unit_test(gradients_are_those_of_the_loss),
        cmocka_unit_test(hidden_states_are_given_behind_each_block),
        cmocka_unit_test(wrong_results_are_found),
        cmocka_unit_test(weights_beyond_the_range_accuse_nobody),
        cmocka_unit_test(training_reduces_the_loss_alike),
        cmocka_unit_test(parts_of_a_batch_add_up_to_it),
        cmocka_unit_test(the_loss_begins_once_in_a_forward_pass),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
