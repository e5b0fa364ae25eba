/* Virtual machine: whether other guests may share this machine's caches, memory and clocks, which nothing inside a guest shows. */
#pragma once

#include "base/file.h"

#include <string.h>

/* As a share of a limit: what is farther off than this is not explained by other guests. Figures of unchanged code were seen to move by 17 %
 * in a guest that had nothing else to do. */
#define GUEST_MARGIN 0.3

static inline bool virtual_machine(void)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *cpu = pk_file_text(NULL, "proc/cpuinfo", &a);
    return cpu && strstr(cpu, " hypervisor");
}
