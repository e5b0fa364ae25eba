/* A pass on a GPU's lanes, over a fake runtime: hidden states are right, copies and calls of the host are on the copy lane, and the host
 * waits for no lane before the pass ends. */
#include "extraction/pipeline.h"

#include "device/cuda/cuda.h"
#include "device/fake_cuda.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCHES = 5, LAYERS = 2 };
static const unsigned chosen[LAYERS] = {1, 2};
static struct pk_err err;
static struct pk_arena arena;
static struct pk_device dev;
static struct pk_extraction x;
static uint64_t pass_ns;

static void ok(enum pk_code rc)
{
    if (rc)
        fail_msg("%s; %s", err.what, err.why);
}

static int open_device(void **state)
{
    fake_cuda_reset();
    fake_cuda.parallel = true;
    fake_cuda.memory_bytes = 64 << 20;
    pk_cuda_use(&fake_cuda_api);
    setenv("PERFKIT_CUDA_LIBS", getenv("FAKE_LT"), 1);
    ok(pk_device_open(&dev, "cuda", &(struct pk_device_options){.no_bind = true}, &err));
    return 0;
}

static int close_device(void **state)
{
    pk_extraction_close(&x);
    pk_pool_reclaim(&dev.pool, 0); /* of a test that failed */
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    pk_arena_free(&arena);
    return fake_cuda.live_events || fake_cuda.live_pinned || fake_cuda.live_blocks;
}

static void pass(enum pk_extraction_way way)
{
    struct pk_extraction_options o = {.model = {.layers = 3,
                                                .width = 16,
                                                .heads = 4,
                                                .kv_heads = 2,
                                                .ff = 32,
                                                .vocab = 20,
                                                .seq = 8,
                                                .batch = 2,
                                                .attention = PK_ATTENTION_FLASH,
                                                .fused = true,
                                                .headless = true},
                                      .way = way,
                                      .threads = 1,
                                      .slots = way == PK_EXTRACT_PIPELINED ? 3 : 1,
                                      .seed = 5};
    o.shards = (struct pk_shard_config){.type = PK_FP32,
                                        .layers = chosen,
                                        .n_layers = LAYERS,
                                        .samples = 2 * BATCHES - 1,
                                        .length = 8,
                                        .width = 16,
                                        .batch = 2,
                                        .shard_samples = 4};
    ok(pk_codec_parse("none", &o.shards.codec, &err));
    ok(pk_extraction_open(&x, &dev, &o, &arena, &err));
    ok(pk_extraction_stage(&x, 0, &err)); /* choices of products are made */
    ok(pk_extraction_begin(&x, true, &err));
    pk_marks_clear(&dev.marks);
    fake_cuda.host_waits = 0;
    fake_cuda.said[0] = '\0';
    pk_timed_region(true);
    const uint64_t began = pk_device_now_ns(&dev);
    const enum pk_code rc = pk_extraction_pass(&x, &err);
    pass_ns = pk_device_now_ns(&dev) - began;
    pk_timed_region(false);
    ok(rc);
}

/* How often "c2" and the like was put into streams. */
static unsigned said(char what, char stream)
{
    unsigned n = 0;
    for (const char *p = fake_cuda.said; *p; p++)
        n += p[0] == what && p[1] == stream && p[2] == ' ';
    return n;
}

static void the_host_waits_behind_the_pass_alone(void **state)
{
    pass(PK_EXTRACT_PIPELINED);
    assert_int_equal(fake_cuda.host_waits, PK_LANE_HOST); /* each lane once */
    const char *call = strchr(fake_cuda.said, 'h');
    assert_non_null(call);
    assert_int_equal(said('h', call[1]), BATCHES); /* a batch is handed over behind its copy */
    assert_int_equal(said('c', call[1]), BATCHES);
    assert_int_equal(said('k', call[1]), 0); /* and nothing else is on that lane */
    assert_int_equal(x.facts.samples, 2 * BATCHES - 1);
    /* forward is at work from the beginning to where its lane ends, though the GPU's clock is another than the host's */
    const struct pk_extraction_facts *f = &x.facts;
    const uint64_t window = pass_ns - f->fill_ns - f->drain_ns;
    assert_true(f->bound_ns > 0 && !f->fill_ns);
    assert_true(!f->drain_ns || (f->bound_ns <= window && window < f->bound_ns * 5 / 4));
    assert_int_equal(x.facts.stored.raw_bytes, (2 * BATCHES - 1) * LAYERS * 8 * 16 * 4);
    ok(pk_extraction_check(&x, true, &err));
}

static void the_yardstick_waits_for_every_copy(void **state)
{
    pass(PK_EXTRACT_SEQUENTIAL);
    assert_true(fake_cuda.host_waits >= BATCHES * (LAYERS + 1));
    assert_null(strchr(fake_cuda.said, 'h'));
    ok(pk_extraction_check(&x, true, &err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(the_host_waits_behind_the_pass_alone, open_device, close_device),
        cmocka_unit_test_setup_teardown(the_yardstick_waits_for_every_copy, open_device, close_device),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
