/* Counting: an open plan of a source that reads at the begin and end of regions. The device's marks tell it (device/mark.h). */
#pragma once

#include "counter/source.h"

struct pk_counting {
    const struct pk_source *source; /* with PK_SOURCE_REGIONS */
    void *handle;
};

static inline void pk_counting_begin(const struct pk_counting *c, unsigned region)
{
    c->source->begin(c->handle, region);
}

static inline void pk_counting_end(const struct pk_counting *c, unsigned region)
{
    c->source->end(c->handle, region);
}
