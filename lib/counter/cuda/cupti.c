/* Cupti: the library of this machine, and whether there is any sense in asking it. */
#include "counter/cuda/cupti.h"

#include "base/file.h"
#include "device/cuda/library.h"
#include "device/device.h"

#include <dlfcn.h>
#include <string.h>
#include <unistd.h>

/* Its handle stays open: the driver is never unloaded. */
static void (*driver_function(const char *name))(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    return driver ? (void (*)(void))dlsym(driver, name) : NULL;
}

enum pk_code pk_cupti_open(const struct pk_counter_env *env, struct pk_arena *a, const struct pk_cupti **out,
                           struct pk_err *err)
{
    struct pk_library l;
    struct pk_cupti *c = pk_new(a, struct pk_cupti);
#define SYMBOL(name) {#name, (void (**)(void)) & c->name},
    const struct pk_symbol symbols[] = {PK_CUPTI_CALLS(SYMBOL){0}};
#undef SYMBOL
    *out = env->cupti ? env->cupti : c;
    if (env->cupti)
        return PK_OK;
    if (pk_library_open(PK_LIB_CUPTI, symbols, a, &l, err))
        return err->code;
    c->path = l.path;
    c->version = l.version;
    c->cuCtxGetCurrent = (__typeof__(c->cuCtxGetCurrent))driver_function("cuCtxGetCurrent");
    return PK_OK;
}

/* The driver's own word on who may read counters; false where it says nothing. */
static bool admin_only(const struct pk_counter_env *env, struct pk_arena *a)
{
    const char *text = pk_file_text(pk_counter_root(env), "proc/driver/nvidia/params", a);
    const char *value = text ? pk_file_field(text, "RmProfilingAdminOnly", ':', a) : NULL;
    return value && !strcmp(value, "1");
}

enum pk_code pk_cupti_possible(const struct pk_counter_env *env, bool counters, struct pk_arena *a,
                               const struct pk_cupti **out, struct pk_err *err)
{
    const char *missing = pk_device_unavailable(PK_DEVICE_CUDA);
    if (missing) {
        pk_fail(err, PK_E_UNAVAILABLE, "there is no GPU to profile");
        pk_why(err, "%s", missing);
        return pk_fix(err, "install the NVIDIA driver; in a container: --gpus all");
    }
    if (pk_cupti_open(env, a, out, err))
        return err->code;
    if (!counters || geteuid() == 0 || !admin_only(env, a))
        return PK_OK;
    return pk_cupti_check(*out, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES, "counting on the GPU", err);
}

enum pk_code pk_cupti_context(const struct pk_cupti *c, CUcontext *ctx, struct pk_err *err)
{
    *ctx = NULL;
    if (c->cuCtxGetCurrent && c->cuCtxGetCurrent(ctx) == CUDA_SUCCESS && *ctx)
        return PK_OK;
    pk_fail(err, PK_E_UNAVAILABLE, "the GPU cannot be profiled");
    pk_why(err, "this thread has no CUDA context");
    return pk_fix(err, "open the device first");
}

struct pk_source_found pk_found_error(const struct pk_err *err, struct pk_arena *a)
{
    return (struct pk_source_found){PK_SOURCE_UNAVAILABLE, err->number, pk_strdup(a, err->why),
                                    *err->fix ? pk_strdup(a, err->fix) : NULL};
}
