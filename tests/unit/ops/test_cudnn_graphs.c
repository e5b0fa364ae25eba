/* The graphs of attention as cuDNN itself sees them, without a GPU: for the description of an H200 its engines support every shape that
 * is measured, and make plans of them. Skipped where there is no cuDNN. */
#include "ops/cuda/cudnn/graph.h"
#include "ops/cuda/cudnn/sdpa.h"

#include "base/file.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct pk_arena arena;
static struct pk_err err;
static struct pk_cudnn lib;
static const char *kernel; /* that the fake driver was asked for */

static void must(enum pk_code rc)
{
    if (rc)
        fail_msg("%s: %s", err.what, err.why);
}

static int describe_gpu(void **state)
{
    char *text;
    size_t n;
    if (pk_slurp(TESTS_DIR "/unit/ops/h200.json", 1 << 16, &arena, &text, &n, &err))
        return -1;
    return lib.cudnnBackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &lib.device) ||
           lib.cudnnBackendSetAttribute(lib.device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                        CUDNN_TYPE_CHAR, (int64_t)strlen(text), text) ||
           lib.cudnnBackendFinalize(lib.device);
}

static int forget_gpu(void **state)
{
    lib.cudnnBackendDestroyDescriptor(lib.device);
    pk_library_close(&lib.library);
    pk_arena_free(&arena);
    return 0;
}

static void write_graph(struct pk_cudnn_graph *g, const struct pk_cudnn_shape *s)
{
    pk_cudnn_graph_begin(g, &lib, s->batch, &err);
    pk_cudnn_sdpa_graph(g, s);
    must(pk_cudnn_graph_finish(g));
    assert_int_equal(g->n_operations, (s->backward ? 18 : 10) + (s->causal ? 4 : 0));
}

static int64_t engines(const struct pk_cudnn_shape *s)
{
    struct pk_cudnn_graph g;
    struct pk_cudnn_engines e;
    write_graph(&g, s);
    enum pk_code rc = pk_cudnn_engines_find(&g, &e, &err);
    pk_cudnn_engines_drop(&lib, &e);
    pk_cudnn_graph_drop(&g);
    return rc ? 0 : e.n;
}

static void every_shape_has_engines(void **state)
{
    static const size_t dims[] = {16, 32, 64, 128}, seqs[] = {128, 1024, 4096};
    for (size_t i = 0; i < sizeof dims / sizeof *dims; i++)
        for (size_t j = 0; j < sizeof seqs / sizeof *seqs; j++)
            for (int k = 0; k < 4; k++) {
                const struct pk_cudnn_shape s = {8, seqs[j], dims[i], k & 1, k & 2, 1};
                if (engines(&s) < 1)
                    fail_msg("seq %zu, dim %zu, causal %d, backward %d: %s: %s", s.seq, s.dim, s.causal,
                             s.backward, err.what, err.why);
            }
}

static void odd_shapes_have_engines(void **state)
{
    static const struct pk_cudnn_shape shapes[] = {
        {2, 1, 8, false, false, 1},   {2, 1, 8, false, true, 1},   {1, 33, 24, true, false, 1},
        {1, 33, 24, true, true, 1},   {3, 130, 96, true, true, 1}, {1, 65536, 128, false, true, 1},
        {8, 1024, 256, true, true, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        if (engines(&shapes[i]) < 1)
            fail_msg("shape %zu: %s: %s", i, err.what, err.why);
}

static void what_it_lacks_is_unavailable(void **state)
{
    static const struct pk_cudnn_shape shapes[] = {{1, 64, 20, false, false, 1},
                                                   {1, 64, 512, false, true, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        assert_int_equal(engines(&shapes[i]), 0);
        assert_int_equal(err.code, PK_E_UNAVAILABLE);
    }
}

/* Every dimension, length, mask and direction in some plan; all 48 take a minute. The kernel is Hopper's own. */
static void plans_are_made(void **state)
{
    static const struct pk_cudnn_shape shapes[] = {{8, 128, 16, false, false, 1},
                                                   {8, 1024, 32, true, false, 1},
                                                   {8, 4096, 128, false, false, 1},
                                                   {8, 128, 64, true, true, 1},
                                                   {8, 4096, 128, false, true, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct pk_cudnn_graph g;
        struct pk_cudnn_plan p;
        write_graph(&g, &shapes[i]);
        must(pk_cudnn_plan_make(&g, &p, &err));
        print_message("%s\n", kernel);
        assert_non_null(
            strstr(kernel, shapes[i].backward ? "sdpa_sm90_flash_bprop" : "sdpa_sm90_flash_fprop"));
        assert_in_range(p.workspace_bytes, 0, 1 << 20);
        pk_cudnn_plan_end(&lib, &p);
        pk_cudnn_graph_drop(&g);
    }
}

int main(void)
{
    enum { SKIPPED = 77 };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_shape_has_engines),
        cmocka_unit_test(odd_shapes_have_engines),
        cmocka_unit_test(what_it_lacks_is_unavailable),
        cmocka_unit_test(plans_are_made),
    };
    void *driver = dlopen(getenv("FAKE_DRIVER"), RTLD_NOW | RTLD_GLOBAL);
    kernel = driver ? dlsym(driver, "fake_driver_kernel") : NULL;
    if (!kernel) {
        fprintf(stderr, "%s\n", dlerror());
        return EXIT_FAILURE;
    }
    if (pk_cudnn_open(&lib, &arena, &err)) {
        printf("skipped: %s: %s\n", err.what, err.why);
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, describe_gpu, forget_gpu);
}
