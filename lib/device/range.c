/* Range: by NVTX, whose headers open a profiler's library when there is one. */
#include "device/range.h"

#include "build_config.h"

#ifdef PK_HAVE_NVTX
#include <nvtx3/nvToolsExt.h>

uint64_t pk_range_begin(const char *name)
{
    return nvtxRangeStartA(name);
}

void pk_range_end(uint64_t range)
{
    nvtxRangeEnd(range);
}
#else
uint64_t pk_range_begin(const char *name)
{
    return 0;
}

void pk_range_end(uint64_t range)
{
}
#endif
