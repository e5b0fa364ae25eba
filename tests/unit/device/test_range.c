/* Ranges: a profiler hears the name of the case and of its regions, nested as they are. */
#include "device/mark.h"

#include "bench/measure/measure.h"
#include "device/cuda/cuda.h"
#include "fake_cuda.h"
#include "json/json.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

static void a_case_is_named(void **state)
{
    struct pk_device dev;
    struct pk_err err;
    struct pk_slice s;
    PK_ARENA_CLEANUP struct pk_arena arena = {0};
    const char *path = getenv("NVTX_LISTENER");
    setenv("NVTX_INJECTION64_PATH", path, 1);
    fake_cuda_reset();
    pk_cuda_use(&fake_cuda_api);
    assert_int_equal(pk_device_open(&dev, "cuda", &(struct pk_device_options){0}, &err), PK_OK);
    struct pk_case c = {.probe = pk_probe_find("selftest")};
    json_t *axes = json_pack("{s:i, s:i, s:s}", "busy_ns", 1000, "memory", 4096, "input", "random");
    assert_int_equal(pk_point_from_json(c.probe->axes, axes, &arena, &c.at, &err), PK_OK);
    json_decref(axes);
    pk_measure_case(&(struct pk_measure){.c = &c, .dev = &dev, .seed = 1, .stop = {.profile = 1}}, &arena,
                    &s);
    pk_device_close(&dev);
    pk_cuda_use(NULL);
    assert_int_equal(s.status, PK_ST_OK);
    void *listener = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    assert_non_null(listener);
    assert_string_equal(dlsym(listener, "nvtx_ranges"), "+selftest ok +work -2 +work -3 -1 ");
    dlclose(listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_case_is_named)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
