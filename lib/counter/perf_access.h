/* Perf access: whether perf_event_open counts here, and if not, why and what to do. Nothing is counted. */
#pragma once

#include "base/arena.h"

struct pk_perf_access {
    const char *absent; /* why events of this kind cannot be counted; NULL = they can */
    const char *advice; /* NULL = nothing to do, or nothing can be done */
};

/* Events of the kernel (context switches, page faults), and of the processor (cycles). */
void pk_perf_access(struct pk_arena *a, struct pk_perf_access *software, struct pk_perf_access *hardware);
