/* Lt: opening cuBLASLt for a device. */
#include "ops/cuda/lt.h"

#include "device/cuda/cuda.h"

static void end(struct pk_device *dev, void *state)
{
    struct pk_lt *lt = state;
    if (!lt->handle)
        return;
    pk_lt_plans_free(lt);
    lt->cublasLtDestroy(lt->handle);
    pk_library_close(&lt->library);
}

static enum pk_code open_library(struct pk_device *dev, struct pk_lt *lt, struct pk_err *err)
{
#define SYMBOL(name) {#name, (void (**)(void)) & lt->name},
    const struct pk_symbol symbols[] = {PK_LT_CALLS(SYMBOL){0}};
#undef SYMBOL
    enum pk_code rc = pk_library_open(PK_LIB_CUBLASLT, symbols, &dev->arena, &lt->library, err);
    if (!rc)
        rc = pk_lt_check(lt, lt->cublasLtCreate(&lt->handle), "opening cuBLASLt", err);
    if (rc)
        pk_library_close(&lt->library);
    return rc;
}

/* The first call may be in the first, timed, iteration. */
enum pk_code pk_lt_of_device(struct pk_device *dev, struct pk_lt **lt, struct pk_err *err)
{
    const bool timed = pk_timed_region(false);
    *lt = pk_cuda_beside(dev, sizeof **lt, end);
    if (!(*lt)->handle && !(*lt)->refused.code)
        (*lt)->refused.code = open_library(dev, *lt, &(*lt)->refused);
    pk_timed_region(timed);
    if ((*lt)->refused.code)
        *err = (*lt)->refused;
    return (*lt)->refused.code;
}

enum pk_code pk_lt_check(const struct pk_lt *lt, cublasStatus_t rc, const char *what, struct pk_err *err)
{
    if (rc == CUBLAS_STATUS_SUCCESS)
        return PK_OK;
    pk_fail(err, PK_E_INTERNAL, "cuBLASLt failed: %s", what);
    pk_why(err, "%s", lt->cublasLtGetStatusName(rc));
    return pk_fix(err, "perfkit doctor says which library is in use");
}
