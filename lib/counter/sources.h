/* Sources: the rows of pk_sources (source.h). Used by lib/counter alone. */
#pragma once

#include "counter/source.h"

extern const struct pk_source pk_source_sw_events, pk_source_rusage, pk_source_memory, pk_source_fake;
