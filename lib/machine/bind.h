/* Bind: selects the measuring CPUs from the user's option, and the memory near them.
 *
 * A topology is this machine's, with the CPUs that affinity and control group leave to us; or, for tests, an XML text of hwloc's, with
 * all the CPUs in it. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>

enum { PK_CPUS_MAX = 1024 };

/* OS indices, in the order in which threads take them. */
struct pk_cpus {
    unsigned v[PK_CPUS_MAX], n;
};

/* "cores": every CPU we may use, one per core first (pk_machine_cpus). "none": n = 0. "socket:1", "numa:0": those in there, likewise
 * ordered; sockets are counted from 0, nodes are the kernel's. "0-3,8": these, in this order. PK_E_USAGE for other words, a missing
 * socket or node, a CPU that this process may not use, and a CPU given twice. */
enum pk_code pk_bind_cpus(const char *text, const char *xml, struct pk_cpus *out,
                          struct pk_err *err) PK_MUST_CHECK;

/* The same for device options: *cpus is NULL for "cores" and "none"; *off is set for "none". */
enum pk_code pk_bind_option(const char *text, struct pk_arena *a, const char **cpus, bool *off,
                            struct pk_err *err) PK_MUST_CHECK;

/* "0-3,8", as pk_cpus_read reads it back. */
const char *pk_cpus_text(const struct pk_cpus *c, struct pk_arena *a);
/* False for a text that is not a list, or has more than PK_CPUS_MAX. */
bool pk_cpus_read(const char *text, struct pk_cpus *out);

/* The allowed CPUs that are nearest to a PCI device ("0000:41:00.0", "00000000:41:00.0"), ordered as cores are. False when the device is
 * unknown, or when all allowed CPUs are equally near. */
bool pk_bind_near(const char *pci, const char *xml, struct pk_cpus *out);

/* Lets the calling thread, and what it starts from now on, run on these CPUs; where they are in fewer NUMA nodes than the machine has,
 * memory comes from those alone, too. Returns false when the kernel refuses the CPUs. */
bool pk_bind_thread(const struct pk_cpus *c);
/* The same for another process, except for its memory: it inherits the policy set by pk_bind_memory before. */
bool pk_bind_process(int pid, const struct pk_cpus *c);
/* The memory alone. */
void pk_bind_memory(const struct pk_cpus *c);
