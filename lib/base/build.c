/* Build: facts that meson.build wrote into build_config.h. */
#include "base/build.h"

#include "base/err.h"
#include "build_config.h"

#include <string.h>

const char pk_version[] = PK_VERSION;

const struct pk_feature pk_features[] = {
    {"cuda", "experiments on NVIDIA GPUs", PK_CUDA_UNAVAILABLE, PK_CUDA_ENABLE},
    {"mpi", "ranks over MPI", PK_MPI_UNAVAILABLE, PK_MPI_ENABLE},
    {"onednn", "oneDNN as a second library of CPU matrix products", PK_ONEDNN_UNAVAILABLE, PK_ONEDNN_ENABLE},
    {NULL},
};

const struct pk_feature *pk_feature(const char *name)
{
    const struct pk_feature *f = pk_features;
    while (f->name && strcmp(f->name, name))
        f++;
    pk_assert(f->name);
    return f;
}
