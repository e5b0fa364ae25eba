/* Disturbance: the part of /proc/stat that tells what the hypervisor took. Used by lib/machine and its test.
 */
#pragma once

#include <stdint.h>

/* Steal time of the given CPUs in a text of /proc/stat, in ticks; -1 when none of them is in it. */
int64_t pk_steal_ticks(const char *stat, const unsigned *cpus, unsigned n);
