/* Libraries opened at run time: made-up ones of the right and of wrong versions, in folders that the test lays out. */
#include "device/cuda/library.h"

#include "build_config.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct pk_arena arena;
static struct pk_library lib;
static struct pk_err err;
static char root[] = "/tmp/perfkit-libraries-XXXXXX";
static const char *built; /* where the made-up libraries are: MADE_UP_LIBRARIES */

static int make_root(void **state)
{
    built = getenv("MADE_UP_LIBRARIES");
    return !built || !mkdtemp(root);
}

static int remove_root(void **state)
{
    char command[sizeof root + 16];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    pk_arena_free(&arena);
    return system(command);
}

/* root/folder/name is the made-up library `which`; the folder, in full. */
static const char *lay(const char *folder, const char *name, const char *which)
{
    char *path = pk_printf(&arena, "%s/%s", root, folder);
    for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')); *at++ = '/') {
        *at = '\0';
        mkdir(path, 0777);
    }
    mkdir(path, 0777);
    const char *to = pk_printf(&arena, "%s/%s", path, name);
    unlink(to);
    assert_int_equal(symlink(pk_printf(&arena, "%s/libmade_up_%s.so", built, which), to), 0);
    return path;
}

static const char *soname(const char *stem, int major)
{
    return pk_printf(&arena, "%s.so.%d", stem, major);
}

static void assert_refused(enum pk_cuda_library which, const char *why)
{
    assert_int_equal(pk_library_open(which, NULL, &arena, &lib, &err), PK_E_UNAVAILABLE);
    assert_non_null(strstr(err.what, pk_library_name(which)));
    assert_non_null(strstr(err.fix, "PERFKIT_CUDA_LIBS"));
    if (!strstr(err.why, why))
        fail_msg("'%s' does not say '%s'", err.why, why);
    assert_null(lib.handle);
}

static void the_named_folder_decides(void **state)
{
    const char *folder = lay("right", soname("libcublasLt", PK_CUBLASLT_MAJOR), "right");
    setenv("PERFKIT_CUDA_LIBS", pk_printf(&arena, "/nowhere:%s", folder), 1);
    assert_int_equal(pk_library_open(PK_LIB_CUBLASLT, NULL, &arena, &lib, &err), PK_OK);
    assert_true(!strncmp(lib.path, folder, strlen(folder)));
    assert_string_equal(lib.version, pk_printf(&arena, "%d.%d.7", PK_CUBLASLT_MAJOR, PK_CUBLASLT_MINOR));
    pk_library_close(&lib);
    assert_null(lib.handle);
}

static void wrong_versions_are_refused_by_name(void **state)
{
    static const struct {
        const char *which, *why;
    } rows[] = {{"newer", "is version"}, {"older", "is version"}, {"mute", "does not report its version"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *folder = lay(rows[i].which, soname("libcublasLt", PK_CUBLASLT_MAJOR), rows[i].which);
        setenv("PERFKIT_CUDA_LIBS", folder, 1);
        assert_refused(PK_LIB_CUBLASLT, rows[i].why);
        assert_non_null(strstr(err.why, folder));
    }
    setenv("PERFKIT_CUDA_LIBS", lay("other", "libcublasLt.so.7", "right"), 1);
    assert_refused(PK_LIB_CUBLASLT, "libcublasLt.so.7 is another major version");
}

static void what_is_no_library_is_said(void **state)
{
    const char *folder = lay("text", soname("libnccl", PK_NCCL_MAJOR), "right");
    char *path = pk_printf(&arena, "%s/libnccl.so.%d", folder, PK_NCCL_MAJOR);
    unlink(path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs("not an object\n", f);
    fclose(f);
    setenv("PERFKIT_CUDA_LIBS", folder, 1);
    assert_refused(PK_LIB_NCCL, path);
}

static void missing_functions_are_said(void **state)
{
    void (*there)(void) = NULL, (*missing)(void) = NULL;
    const struct pk_symbol symbols[] = {{"ncclGetVersion", &there}, {"cublasLtMatmul", &missing}, {0}};
    setenv("PERFKIT_CUDA_LIBS", lay("right", soname("libcublasLt", PK_CUBLASLT_MAJOR), "right"), 1);
    assert_int_equal(pk_library_open(PK_LIB_CUBLASLT, symbols, &arena, &lib, &err), PK_E_UNAVAILABLE);
    assert_non_null(strstr(err.why, "has no function cublasLtMatmul"));
    assert_non_null(there);
}

/* cuDNN's function of the version ends the process without it. */
static void what_the_version_needs_is_opened_first(void **state)
{
    setenv("PERFKIT_CUDA_LIBS", lay("alone", soname("libcudnn", PK_CUDNN_MAJOR), "right"), 1);
    assert_refused(PK_LIB_CUDNN, pk_printf(&arena, "needs %s, which cannot be opened",
                                           soname("libcudnn_graph", PK_CUDNN_MAJOR)));
}

static void a_small_address_space_is_said(void **state)
{
#ifdef PK_SANITIZED
    skip(); /* it could not go on itself */
#endif
    struct rlimit all, few;
    assert_int_equal(getrlimit(RLIMIT_AS, &all), 0);
    few = (struct rlimit){PK_LIBRARY_ADDRESS_SPACE - 1, all.rlim_max};
    setenv("PERFKIT_CUDA_LIBS", lay("right", soname("libcublasLt", PK_CUBLASLT_MAJOR), "right"), 1);
    assert_int_equal(setrlimit(RLIMIT_AS, &few), 0);
    const enum pk_code rc = pk_library_open(PK_LIB_CUBLASLT, NULL, &arena, &lib, &err);
    assert_int_equal(setrlimit(RLIMIT_AS, &all), 0);
    assert_int_equal(rc, PK_E_UNAVAILABLE);
    assert_non_null(strstr(err.why, "address space"));
    assert_non_null(strstr(err.fix, "ulimit -v"));
}

/* As pip lays them out below a virtual environment; NVML's versions are the driver's. */
static void environments_are_looked_through(void **state)
{
    unsetenv("PERFKIT_CUDA_LIBS");
    setenv("VIRTUAL_ENV", pk_printf(&arena, "%s/venv", root), 1);
    lay("venv/lib/python3.99/site-packages/nvidia/ml/lib", "libnvidia-ml.so.1", "right");
    if (pk_library_open(PK_LIB_NVML, NULL, &arena, &lib, &err))
        fail_msg("%s", err.why);
    assert_non_null(lib.path);
    assert_true(lib.version[0]);
    pk_library_close(&lib);
    unsetenv("VIRTUAL_ENV");
}

static void folders_that_were_looked_in_are_said(void **state)
{
    unsetenv("PERFKIT_CUDA_LIBS");
    setenv("CUDA_HOME", "/nowhere", 1);
    if (!pk_library_open(PK_LIB_NVML, NULL, &arena, &lib, &err)) {
        pk_library_close(&lib);
        skip(); /* a machine with a driver */
    }
    assert_non_null(strstr(err.why, "was not found in the loader's paths, $CUDA_HOME/lib64"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_named_folder_decides),
        cmocka_unit_test(wrong_versions_are_refused_by_name),
        cmocka_unit_test(what_is_no_library_is_said),
        cmocka_unit_test(missing_functions_are_said),
        cmocka_unit_test(what_the_version_needs_is_opened_first),
        cmocka_unit_test(a_small_address_space_is_said),
        cmocka_unit_test(environments_are_looked_through),
        cmocka_unit_test(folders_that_were_looked_in_are_said),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
