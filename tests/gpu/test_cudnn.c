/* Attention by cuDNN on a GPU: results against float64, a captured step that repeats itself, memory that is given back. */
#include "device/cuda/library.h"
#include "device/lane.h"
#include "given.h"
#include "isolated.h"
#include "unit/ops/op_checks_cudnn.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct given given;
static struct pk_device dev;
static struct trial trial;

static int open_device(void **state)
{
    given_open(&dev, &given, &(struct pk_device_options){.limit_bytes = 1 << 30});
    trial = (struct trial){.dev = &dev, .label = given.device};
    return 0;
}

static int close_device(void **state)
{
    given_close(&dev);
    return 0;
}

static void must(enum pk_code rc)
{
    if (rc)
        fail_msg("%s: %s", trial.err.what, trial.err.why);
}

static void results(void **state)
{
    check_cudnn(&trial, given.tiny ? OPS_TINY : OPS_LARGE);
}

/* What a variant that is captured does: a replay writes what the first run wrote. */
static void captured(void **state)
{
    struct cudnn_step step;
    struct pk_graph *g = NULL;
    make_cudnn_step(&trial, 2, 130, 64, true, &step);
    const size_t bytes = cudnn_tokens(&step) * sizeof(uint16_t);
    must(prepare_cudnn(&trial, &step, false));
    must(run_cudnn(&trial, &step, false)); /* so that the capture reserves nothing */
    void *o = step.arrays[PK_CUDNN_O], *want = trial_fetch(&trial, o, bytes),
         *zeros = pk_alloc(&trial.arena, bytes);
    must(pk_graph_begin(&dev, &trial.err));
    must(pk_graph_end(&dev, run_cudnn(&trial, &step, false), &g, &trial.err));
    must(pk_device_copy(&dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, o, zeros, bytes, &trial.err));
    must(pk_graph_replay(&dev, g, &trial.err));
    assert_memory_equal(trial_fetch(&trial, o, bytes), want, bytes);
    pk_graph_free(&dev, g);
    trial_end(&trial);
}

static void refused_memory(void **state)
{
    struct cudnn_step step;
    make_cudnn_step(&trial, 2, 33, 32, false, &step);
    must(prepare_cudnn(&trial, &step, false));
    must(prepare_cudnn(&trial, &step, true));
    must(run_cudnn(&trial, &step, false));
    const size_t before = dev.pool.current;
    for (unsigned long nth = 1; nth <= 2; nth++) {
        dev.pool.fail_at = nth;
        assert_int_equal(run_cudnn(&trial, &step, true), PK_E_OOM);
        assert_true(dev.pool.current == before);
    }
    must(run_cudnn(&trial, &step, true));
    trial_end(&trial);
}

#define ON_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_device, close_device)

/* Of a GPU alone, and of one with the library. */
static void begin(int argc, char **argv)
{
    enum { SKIPPED = 77 };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_library library;
    struct pk_err err;
    given = given_device(argc, argv);
    if (strncmp(given.device, "cuda", 4) != 0) {
        printf("skipped: device %s: cuDNN is of GPUs\n", given.device);
        exit(SKIPPED);
    }
    if (pk_library_open(PK_LIB_CUDNN, NULL, &a, &library, &err)) {
        printf("skipped: %s: %s\n", err.what, err.why);
        exit(SKIPPED);
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {ON_DEVICE(results), ON_DEVICE(captured), ON_DEVICE(refused_memory)};
    return isolated_run(tests, sizeof tests / sizeof *tests, begin, argc, argv);
}
