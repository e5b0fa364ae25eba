/* What nccl_api.h declares by hand is what nccl.h says; and the library, where there is one, has every function. */
#include "comm/transport/nccl_api.h"

// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
// clang-format on
#include <nccl.h>
#include <stddef.h>
#include <string.h>

#define SAME(theirs, ours) _Static_assert((long long)(theirs) == (long long)(ours), #theirs)
SAME(ncclSuccess, PK_NCCL_SUCCESS);
SAME(ncclUnhandledCudaError, PK_NCCL_UNHANDLED_CUDA_ERROR);
SAME(ncclSystemError, PK_NCCL_SYSTEM_ERROR);
SAME(ncclInternalError, PK_NCCL_INTERNAL_ERROR);
SAME(ncclInvalidArgument, PK_NCCL_INVALID_ARGUMENT);
SAME(ncclInvalidUsage, PK_NCCL_INVALID_USAGE);
SAME(ncclRemoteError, PK_NCCL_REMOTE_ERROR);
SAME(ncclInProgress, PK_NCCL_IN_PROGRESS);
SAME(ncclFloat32, PK_NCCL_FLOAT32);
SAME(ncclBfloat16, PK_NCCL_BFLOAT16);
SAME(ncclAvg, PK_NCCL_AVG);
SAME(sizeof(ncclUniqueId), sizeof(struct pk_nccl_id));
SAME(offsetof(ncclConfig_t, size), offsetof(struct pk_nccl_config, size));
SAME(offsetof(ncclConfig_t, magic), offsetof(struct pk_nccl_config, magic));
SAME(offsetof(ncclConfig_t, version), offsetof(struct pk_nccl_config, version));
SAME(offsetof(ncclConfig_t, blocking), offsetof(struct pk_nccl_config, blocking));
SAME(NCCL_VERSION(2, 14, 0), PK_NCCL_CONFIG_VERSION);

/* The header's functions as they are: one whose arguments were others would not compile. Enums are ints, handles pointers. */
struct theirs {
    ncclResult_t (*id)(ncclUniqueId *);
    ncclResult_t (*init)(ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *);
    ncclResult_t (*comm[3])(ncclComm_t);
    ncclResult_t (*async)(ncclComm_t, ncclResult_t *);
    const char *(*error)(ncclResult_t);
    const char *(*last)(ncclComm_t);
    ncclResult_t (*group[2])(void);
    ncclResult_t (*reduce)(const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, ncclComm_t,
                           cudaStream_t);
};
_Static_assert(sizeof(ncclResult_t) == sizeof(int) && sizeof(ncclDataType_t) == sizeof(int) &&
                   sizeof(ncclRedOp_t) == sizeof(int),
               "enums are ints");
#define TYPE(name, type) _Static_assert(_Generic(&(name), type : 1, default : 0), #name)
TYPE(ncclGetUniqueId, __typeof__(((struct theirs *)0)->id));
TYPE(ncclCommInitRankConfig, __typeof__(((struct theirs *)0)->init));
TYPE(ncclCommFinalize, __typeof__(((struct theirs *)0)->comm[0]));
TYPE(ncclCommDestroy, __typeof__(((struct theirs *)0)->comm[0]));
TYPE(ncclCommAbort, __typeof__(((struct theirs *)0)->comm[0]));
TYPE(ncclCommGetAsyncError, __typeof__(((struct theirs *)0)->async));
TYPE(ncclGetErrorString, __typeof__(((struct theirs *)0)->error));
TYPE(ncclGetLastError, __typeof__(((struct theirs *)0)->last));
TYPE(ncclGroupStart, __typeof__(((struct theirs *)0)->group[0]));
TYPE(ncclGroupEnd, __typeof__(((struct theirs *)0)->group[0]));
TYPE(ncclAllReduce, __typeof__(((struct theirs *)0)->reduce));

static void magic_is_the_same(void **state)
{
    const ncclConfig_t theirs = NCCL_CONFIG_INITIALIZER;
    assert_int_equal(theirs.magic, PK_NCCL_CONFIG_MAGIC);
}

static void the_library_has_every_function(void **state)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_nccl_api lib = {0};
    struct pk_err err = {0};
#define SYMBOL(name, result, arguments) {#name, (void (**)(void)) & lib.name},
    const struct pk_symbol symbols[] = {PK_NCCL_CALLS(SYMBOL){0}};
    const enum pk_code rc = pk_library_open(PK_LIB_NCCL, symbols, &a, &lib.library, &err);
    if (rc && strstr(err.why, "was not found")) {
        print_message("%s\n", err.why);
        skip();
    }
    if (rc)
        fail_msg("%s", err.why);
    print_message("NCCL %s, %s\n", lib.library.version, lib.ncclGetErrorString(PK_NCCL_INVALID_USAGE));
    pk_library_close(&lib.library);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(magic_is_the_same),
        cmocka_unit_test(the_library_has_every_function),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
