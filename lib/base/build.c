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
    {"zlib", "the gzip format for shards", PK_ZLIB_UNAVAILABLE, PK_ZLIB_ENABLE},
    {"lz4", "LZ4 for shards", PK_LZ4_UNAVAILABLE, PK_LZ4_ENABLE},
    {"zstd", "zstd for shards", PK_ZSTD_UNAVAILABLE, PK_ZSTD_ENABLE},
    {"isal", "the gzip format by ISA-L for shards", PK_ISAL_UNAVAILABLE, PK_ISAL_ENABLE},
    {"xxhash", "checksums of shards", PK_XXHASH_UNAVAILABLE, PK_XXHASH_ENABLE},
    {"charts", "charts in report pages", PK_CHARTS_UNAVAILABLE, PK_CHARTS_ENABLE},
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
