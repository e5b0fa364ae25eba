/* Pipeline: times to the ns on the null device, the bytes and their order on the CPU, plans, bad input, and a folder that continues. */
#include "extraction/pipeline.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include "build_config.h"
#include "device/null.h"
#include "shard/verify.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef PK_HAVE_ZLIB
#define A_CODEC "zlib-1"
#else
#define A_CODEC "none"
#endif

static const unsigned chosen[] = {1, 2};
static struct pk_err err;
static struct pk_arena arena;
static struct pk_device dev;
static struct pk_extraction x;
static char folder[] = "/tmp/perfkit-extraction-XXXXXX";

static void ok(enum pk_code rc)
{
    if (rc)
        fail_msg("%s; %s", err.what, err.why);
}

static struct pk_extraction_options options(enum pk_extraction_way way)
{
    struct pk_extraction_options o = {.model = {.layers = 3,
                                                .width = 64,
                                                .heads = 4,
                                                .kv_heads = 2,
                                                .ff = 128,
                                                .vocab = 50,
                                                .seq = 16,
                                                .batch = 4,
                                                .attention = PK_ATTENTION_FLASH,
                                                .fused = true,
                                                .headless = true},
                                      .way = way,
                                      .threads = 1,
                                      .slots = way == PK_EXTRACT_PIPELINED ? 3 : 1,
                                      .seed = 5};
    o.shards = (struct pk_shard_config){.type = PK_FP32,
                                        .layers = chosen,
                                        .n_layers = 2,
                                        .samples = 18,
                                        .length = 16,
                                        .width = 64,
                                        .batch = 4,
                                        .shard_samples = 8};
    assert_int_equal(pk_codec_parse("none", &o.shards.codec, &err), PK_OK);
    return o;
}

static void open_on(const char *device, struct pk_extraction_options o)
{
    ok(pk_device_open(&dev, device, &(struct pk_device_options){.threads = 2, .no_bind = true}, &err));
    o.dry = dev.kind == PK_DEVICE_NULL;
    ok(pk_extraction_open(&x, &dev, &o, &arena, &err));
}

static uint64_t pass(void)
{
    ok(pk_extraction_begin(&x, true, &err));
    if (!x.o.dry)
        ok(pk_extraction_stage(&x, 0, &err)); /* opens libraries, which is no part of a pass */
    pk_marks_clear(&dev.marks);
    const uint64_t began = pk_device_now_ns(&dev);
    pk_timed_region(true);
    const enum pk_code rc = pk_extraction_pass(&x, &err);
    pk_timed_region(false);
    ok(rc);
    return pk_device_now_ns(&dev) - began;
}

static void close_all(void)
{
    pk_extraction_close(&x);
    assert_int_equal(dev.pool.current, 0);
    pk_device_close(&dev);
    pk_arena_free(&arena);
}

/* --- times on a simulated clock --- */

/* Lane time of the regions of batch b. */
static uint64_t region_ns(unsigned region, size_t instance)
{
    for (size_t i = 0; i < dev.marks.n; i++)
        if (dev.marks.v[i].region == region && dev.marks.v[i].instance == instance)
            return pk_mark_lane_ns(&dev, &dev.marks.v[i]);
    fail_msg("region %u has no instance %zu", region, instance);
    return 0;
}

/* The first stages of a batch on the one clock of this device: its tokens, forward, the copy. */
static uint64_t front_ns(size_t b)
{
    return region_ns(PK_EXTRACTING_BATCH, b);
}

static void a_pass_is_fill_and_bound_and_drain(void **state)
{
    enum { BATCHES = 5 };
    struct pk_extraction_options o = options(PK_EXTRACT_SEQUENTIAL);
    open_on("null", o);
    const uint64_t store = 2 * 4 * 16 * 64 * 4, alone = pass();
    const uint64_t front = front_ns(0) - store;
    assert_int_equal(alone, BATCHES * (front + store));
    close_all();

    for (o = options(PK_EXTRACT_PIPELINED), o.slots = 2; o.slots <= 4; o.slots++) {
        open_on("null", o);
        assert_true(front < store); /* the store binds: fill + n bound */
        assert_int_equal(pass(), front + BATCHES * store);
        assert_int_equal(pass(), front + BATCHES * store);
        close_all();
    }
    o.slots = 1; /* nothing overlaps */
    open_on("null", o);
    assert_int_equal(pass(), alone);
    close_all();
    o.slots = 2, o.threads = 64; /* forward binds: n bound + drain */
    open_on("null", o);
    assert_true(front > store / 64);
    assert_int_equal(pass(), BATCHES * front + store / 64);
    close_all();
}

static void batches_tile_the_pass_and_steady_is_the_bound(void **state)
{
    struct pk_extraction_options o = options(PK_EXTRACT_PIPELINED);
    o.shards.samples = 160;
    open_on("null", o);
    const uint64_t whole = pass(), store = 2 * 4 * 16 * 64 * 4;
    uint64_t sum = 0;
    for (size_t b = 0; b < 40; b++)
        sum += region_ns(PK_EXTRACTING_BATCH, b);
    assert_int_equal(sum, whole);
    assert_int_equal(region_ns(PK_EXTRACTING, 0), whole);
    const struct pk_steady s = pk_extraction_steady(&x);
    assert_int_equal(s.median_ns, store);
    assert_in_range(s.first, 1, 4); /* the slots fill first */
    close_all();
}

/* --- threads --- */

/* The threads of this process that yield to others, and whether one of them may run on a CPU of `cpus`. */
static unsigned batch_threads(const cpu_set_t *cpus, bool *shared)
{
    unsigned n = 0;
    DIR *d = opendir("/proc/self/task");
    assert_non_null(d);
    for (const struct dirent *e; (e = readdir(d));) {
        cpu_set_t own, both;
        const pid_t tid = (pid_t)atoi(e->d_name);
        if (!tid || sched_getscheduler(tid) != SCHED_BATCH)
            continue;
        n++;
        assert_int_equal(sched_getaffinity(tid, sizeof own, &own), 0);
        CPU_AND(&both, &own, cpus);
        *shared |= CPU_COUNT(&both) > 0;
    }
    closedir(d);
    return n;
}

static void the_writer_leaves_the_device_its_cpus(void **state)
{
    const struct pk_extraction_options o = options(PK_EXTRACT_PIPELINED);
    bool shared = false;
    cpu_set_t before, own;
    sched_getaffinity(0, sizeof before, &before);
    ok(pk_device_open(&dev, "cpu", &(struct pk_device_options){.threads = 1}, &err));
    sched_getaffinity(0, sizeof own, &own);
    ok(pk_extraction_open(&x, &dev, &o, &arena, &err));
    pass();
    const unsigned n = batch_threads(&own, &shared);
    close_all();
    assert_int_equal(n, 2); /* one that compresses, one that writes */
    if (CPU_COUNT(&before) < 2 || CPU_COUNT(&own) != 1)
        skip(); /* there is no other CPU, or the kernel bound nothing */
    assert_false(shared);
}

/* --- plans --- */

static void another_shape_is_planned_again(void **state)
{
    struct pk_extraction_options o = options(PK_EXTRACT_PIPELINED);
    open_on("null", o);
    pass();
    assert_int_equal(x.facts.plans, 0);
    assert_int_equal(x.facts.slot_samples, 20);
    close_all();
    o.ragged = true; /* 18 = 4 * 4 + 2 */
    open_on("null", o);
    pass();
    assert_int_equal(x.facts.plans, 1);
    assert_int_equal(x.facts.replans, 1);
    assert_int_equal(x.facts.slot_samples, 18);
    close_all();
    open_on("null", options(PK_EXTRACT_REPLANNED));
    pass();
    assert_int_equal(x.facts.plans, 5);
    assert_int_equal(x.facts.replans, 4);
    close_all();
}

/* --- bytes --- */

static enum pk_code extract_into(const char *path, struct pk_extraction_options o, bool restart)
{
    o.folder = path;
    open_on("cpu", o);
    enum pk_code rc = pk_extraction_begin(&x, restart, &err);
    if (!rc)
        rc = pk_extraction_pass(&x, &err);
    if (!rc)
        rc = pk_extraction_end(&x, &err);
    return rc;
}

/* Every way, padded or not, with or without a codec, stores the same hidden states, which are right. */
static void every_way_is_right(void **state)
{
    for (unsigned i = 0; i < 8; i++) {
        struct pk_extraction_options o = options(i % 3);
        o.ragged = i / 3 == 1;
        if (i >= 3)
            ok(pk_codec_parse(A_CODEC, &o.shards.codec, &err));
        if (i == 7)
            o.model.dtype = o.shards.type = PK_BF16;
        open_on("cpu", o);
        pass();
        assert_int_equal(x.facts.samples, 18);
        assert_int_equal(x.facts.stored.raw_bytes, 18 * 2 * 16 * 64 * pk_dtype_bytes(o.shards.type));
        ok(pk_extraction_check(&x, true, &err));
        ok(pk_extraction_check(&x, false, &err));
        close_all();
    }
}

static void a_wrong_hidden_state_is_found(void **state)
{
    open_on("cpu", options(PK_EXTRACT_SEQUENTIAL));
    pass();
    ok(pk_extraction_stage(&x, 4, &err));
    x.facts.stored.raw_bytes--;
    assert_int_equal(pk_extraction_check(&x, true, &err), PK_E_USAGE);
    x.facts.stored.raw_bytes++;
    for (size_t i = 0; i < x.t.c.seq * 16; i++)
        x.t.rope_table[i] = 1; /* a plan that is wrong */
    assert_int_equal(pk_extraction_check(&x, true, &err), PK_E_CHECK);
    assert_string_equal(err.what, "the hidden state of layer 1 is wrong");
    close_all();
}

static int remove_folder(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void a_folder_continues(void **state)
{
    struct pk_verify_result v;
    const char *timing;
    uint64_t from;
    struct pk_extraction_options o = options(PK_EXTRACT_PIPELINED);
    o.shards.samples = 16;
    assert_non_null(mkdtemp(folder));
    ok(extract_into(folder, o, false));
    close_all();
    timing = pk_printf(&arena, "%s/timing", folder);
    o.folder = folder;
    open_on("cpu", o);
    ok(pk_extraction_complete(&x, &from, &err)); /* complete already */
    assert_int_equal(from, 16);
    assert_string_equal(x.o.folder, timing);
    pass();
    ok(pk_extraction_end(&x, &err));
    assert_int_equal(access(timing, F_OK), 0);
    pk_extraction_clean(&x);
    assert_int_equal(access(timing, F_OK), -1);
    ok(pk_verify(folder, NULL, &arena, &v, &err));
    assert_int_equal(v.n_broken, 0);
    assert_int_equal(v.layers[0].samples, 16);
    close_all();
    /* what does not fit removes nothing that is there */
    ok(pk_device_open(&dev, "cpu", &(struct pk_device_options){.no_bind = true, .limit_bytes = 1 << 12},
                      &err));
    assert_int_equal(pk_extraction_open(&x, &dev, &o, &arena, &err), PK_E_OOM);
    pk_extraction_clean(&x);
    close_all();
    ok(pk_verify(folder, NULL, &arena, &v, &err));
    assert_int_equal(v.n_broken, 0);
    o.shards.filter = PK_FILTER_SHUFFLE; /* another configuration */
    open_on("cpu", o);
    assert_int_equal(pk_extraction_complete(&x, &from, &err), PK_E_USAGE);
    close_all();
}

/* --- bad input --- */

static void refused(const struct pk_extraction_options *o, const char *what, const char *why)
{
    assert_int_equal(pk_extraction_valid(o, &err), PK_E_USAGE);
    if (!strstr(err.what, what) || !strstr(err.why, why))
        fail_msg("'%s; %s' is not about '%s; %s'", err.what, err.why, what, why);
}

static void impossible_options_are_refused(void **state)
{
    struct pk_extraction_options o = options(PK_EXTRACT_PIPELINED);
    ok(pk_extraction_valid(&o, &err));
    o.model.layers = 2;
    refused(&o, "layers 1 to 2 of a model of 2 layers", "0 to 1");
    o = options(PK_EXTRACT_PIPELINED);
    o.shards.n_layers = 0;
    refused(&o, "no layer is chosen", "comes after the last");
    o = options(PK_EXTRACT_PIPELINED);
    o.model.batch = o.shards.batch = o.shards.shard_samples = 1 << 16,
    o.model.seq = o.shards.length = 1 << 17, o.slots = 64;
    refused(&o, "slots of", "281474976710656 bytes) with slots=64");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pass_is_fill_and_bound_and_drain),
        cmocka_unit_test(batches_tile_the_pass_and_steady_is_the_bound),
        cmocka_unit_test(the_writer_leaves_the_device_its_cpus),
        cmocka_unit_test(another_shape_is_planned_again),
        cmocka_unit_test(every_way_is_right),
        cmocka_unit_test(a_wrong_hidden_state_is_found),
        cmocka_unit_test_teardown(a_folder_continues, remove_folder),
        cmocka_unit_test(impossible_options_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
