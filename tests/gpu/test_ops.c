/* Every op on a GPU against the float64 reference: the checks that the CPU's ops pass, with larger and odder shapes. An op that
 * the device lacks is a skipped test. */
#include "given.h"
#include "unit/ops/op_checks.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on

static struct given given;
static struct pk_device dev;
static struct trial trial;

static enum op_size size(void)
{
    return given.tiny ? OPS_TINY : dev.kind == PK_DEVICE_CUDA ? OPS_LARGE : OPS_USUAL;
}

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

static void gemm(void **state)
{
    check_gemm(&trial, size());
}

static void softmax(void **state)
{
    check_softmax(&trial, size());
}

static void scale(void **state)
{
    check_scale(&trial, size());
}

static void causal_mask(void **state)
{
    check_causal_mask(&trial, size());
}

static void fused(void **state)
{
    check_fused(&trial, size());
}

static void flash(void **state)
{
    check_flash(&trial, size());
}

static void large_scores(void **state)
{
    check_large_scores(&trial);
}

static void refused_workspace(void **state)
{
    check_refused_workspace(&trial, (const unsigned[3]){0});
}

static void copy2d(void **state)
{
    check_copies(&trial, size());
}

static void fill(void **state)
{
    check_fills(&trial);
}

#define ON_DEVICE(test) cmocka_unit_test_setup_teardown(test, open_device, close_device)

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        ON_DEVICE(gemm),        ON_DEVICE(softmax),
        ON_DEVICE(scale),       ON_DEVICE(fused),
        ON_DEVICE(causal_mask), ON_DEVICE(flash),
        ON_DEVICE(fill),        ON_DEVICE(large_scores),
        ON_DEVICE(copy2d),      ON_DEVICE(refused_workspace),
    };
    given = given_device(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
