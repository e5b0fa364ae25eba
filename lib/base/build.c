/* Build: facts that meson.build wrote into build_config.h. */
#include "base/build.h"

#include "build_config.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

const char pk_version[] = PK_VERSION;

const struct pk_feature pk_features[] = {
    {"cuda", "experiments on NVIDIA GPUs", PK_CUDA_ABSENT},
    {"mpi", "ranks over MPI", PK_MPI_ABSENT},
    {"onednn", "oneDNN as a second library of CPU matrix products", PK_ONEDNN_ABSENT},
    {NULL},
};

const char *pk_data_path(struct pk_arena *a, const char *name)
{
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0)
        return NULL;
    exe[n] = '\0';
    char *slash = strrchr(exe, '/');
    if (!slash)
        return NULL;
    *slash = '\0';
    const char *path = strcmp(exe, PK_BUILD_ROOT) == 0 ? pk_printf(a, "%s/probes/%s", PK_SOURCE_ROOT, name)
                                                       : pk_printf(a, "%s/../share/perfkit/%s", exe, name);
    return access(path, R_OK) == 0 ? path : NULL;
}
