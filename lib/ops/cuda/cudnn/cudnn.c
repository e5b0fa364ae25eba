/* Cudnn: opening cuDNN for a device. */
#include "ops/cuda/cudnn/cudnn.h"

#include "device/cuda/cuda.h"

enum pk_code pk_cudnn_open(struct pk_cudnn *out, struct pk_arena *a, struct pk_err *err)
{
#define SYMBOL(name) {#name, (void (**)(void)) & out->name},
    const struct pk_symbol symbols[] = {PK_CUDNN_CALLS(SYMBOL){0}};
#undef SYMBOL
    return pk_library_open(PK_LIB_CUDNN, symbols, a, &out->library, err);
}

static void end(struct pk_device *dev, void *state)
{
    struct pk_cudnn *lib = state;
    if (!lib->library.handle)
        return;
    if (lib->plans)
        lib->free_plans(lib);
    if (lib->handle)
        lib->cudnnDestroy(lib->handle);
    pk_library_close(&lib->library);
}

/* What was made before it failed is ended with the device. */
static enum pk_code start(struct pk_device *dev, struct pk_cudnn *lib, struct pk_err *err)
{
    enum pk_code rc = pk_cudnn_open(lib, &dev->arena, err);
    if (!rc)
        rc = pk_cudnn_check(lib, lib->cudnnCreate(&lib->handle), "starting cuDNN", err);
    if (!rc)
        rc = pk_cudnn_check(lib, lib->cudnnSetStream(lib->handle, pk_cuda_stream(dev, PK_LANE_COMPUTE)),
                            "giving cuDNN its stream", err);
    return rc;
}

enum pk_code pk_cudnn_of_device(struct pk_device *dev, struct pk_cudnn **out, struct pk_err *err)
{
    struct pk_cudnn *lib = *out = pk_cuda_user_state(dev, sizeof *lib, end);
    if (!lib->library.handle && !lib->refused.code)
        lib->refused.code = start(dev, lib, &lib->refused);
    if (lib->refused.code)
        *err = lib->refused;
    return lib->refused.code;
}

enum pk_code pk_cudnn_check(const struct pk_cudnn *lib, cudnnStatus_t rc, const char *what,
                            struct pk_err *err)
{
    char reason[256] = "";
    if (rc == CUDNN_STATUS_SUCCESS)
        return PK_OK;
    lib->cudnnGetLastErrorString(reason, sizeof reason);
    pk_fail(err, PK_E_INTERNAL, "cuDNN failed: %s", what);
    pk_why(err, "%s%s%s", lib->cudnnGetErrorString(rc), *reason ? ": " : "", reason);
    return pk_fix(err, "perfkit doctor shows which library is in use");
}
