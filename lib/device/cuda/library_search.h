/* Library search: where a library may lie, best first. Private to lib/device/cuda. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stddef.h>

/* Files called `stem`.so.`major` or, where a folder has only others, `stem`.so.N: absolute paths. Where a row of the search is the
 * loader's own the path is the bare soname. */
struct pk_library_files {
    const char **v;
    size_t n, cap;
    const char *looked; /* "the loader's paths, /usr/local/cuda/lib64": what to say when none fits */
};

/* What $PERFKIT_CUDA_LIBS names decides: when its folders have such a file, nothing else is listed. */
void pk_library_search(const char *stem, int major, struct pk_arena *a, struct pk_library_files *out);
