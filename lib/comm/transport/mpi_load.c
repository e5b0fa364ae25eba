/* Mpi load: three places, in order. */
#include "comm/transport/mpi_module.h"

#include "base/arena.h"
#include "base/build.h"
#include "build_config.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULE_FILE "perfkit-mpi.so"

static const char *module_path(struct pk_arena *a)
{
    const char *own = secure_getenv("PERFKIT_MPI");
    char program[PATH_MAX];
    const ssize_t n = own ? 0 : readlink("/proc/self/exe", program, sizeof program);
    const char *slash = n > 0 ? memrchr(program, '/', (size_t)n) : NULL;
    const char *beside = slash ? pk_printf(a, "%.*s/" MODULE_FILE, (int)(slash - program), program) : NULL;
    return own ? own : beside && !access(beside, R_OK) ? beside : PK_MPI_INSTALLED "/" MODULE_FILE;
}

const char *pk_mpi_unavailable(void)
{
    static char text[PATH_MAX + 64]; /* the variable does not change while the program runs: nor does this */
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *named = secure_getenv("PERFKIT_MPI"), *reason = PK_MPI_UNAVAILABLE;
    if (reason && !named)
        return reason;
    if (!access(module_path(&a), R_OK))
        return NULL;
    snprintf(text, sizeof text, "%s, which PERFKIT_MPI names, cannot be read", named ? named : "");
    return named ? text
                 : MODULE_FILE " is neither beside the program nor installed: " PK_INSTALL_MPI PK_BUILD_AGAIN
                               "; or name it in PERFKIT_MPI";
}

static enum pk_code fail_unavailable(struct pk_err *err, const char *why)
{
    pk_fail(err, PK_E_UNAVAILABLE, "ranks over MPI");
    pk_why(err, "%s", why);
    const char *enable = pk_feature("mpi")->enable;
    return pk_fix(err, "%s; transport=link needs no MPI", enable ? enable : PK_INSTALL_MPI PK_BUILD_AGAIN);
}

/* libmpi's own plugins look for its symbols among the global ones. */
enum pk_code pk_mpi_load(const struct pk_mpi_module **module, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *path = module_path(&a), *reason = PK_MPI_UNAVAILABLE;
    if (reason && !secure_getenv("PERFKIT_MPI"))
        return fail_unavailable(err, reason);
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    if (!handle)
        return fail_unavailable(err, dlerror());
    *module = dlsym(handle, PK_MPI_MODULE_SYMBOL);
    if (*module && (*module)->version == PK_MPI_MODULE_VERSION)
        return PK_OK;
    return fail_unavailable(err, pk_printf(&a, "%s was built for another perfkit", path));
}
