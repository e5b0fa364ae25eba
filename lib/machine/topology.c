/* Topology: cores, caches, NUMA nodes, and the order in which threads take processing units. */
#include "machine/parts.h"

#include "base/file.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

void pk_topology_close(hwloc_topology_t *t)
{
    if (*t)
        hwloc_topology_destroy(*t);
}

/* Without it (a sandbox with an empty /sys) hwloc guesses and complains on stderr: the topology is then
 * unknown. */
#define SYSFS_CPUS "sys/devices/system/cpu/online"

/* The linux backend alone: it follows HWLOC_FSROOT, is the fastest, and asks neither X nor OpenCL. */
int pk_topology_open(const char *root, const char *xml, bool io, hwloc_topology_t *t)
{
    *t = NULL;
    if (!xml && !pk_file_exists(root, SYSFS_CPUS)) {
        errno = ENOENT;
        return -1;
    }
    if (hwloc_topology_init(t) != 0) {
        *t = NULL;
        return -1;
    }
    static const char *const others[] = {"x86", "gl", "opencl", "cuda", "nvml", "rsmi", "levelzero", "pci"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        hwloc_topology_set_components(*t, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, others[i]);
    hwloc_topology_set_flags(*t, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    if (io)
        hwloc_topology_set_io_types_filter(*t, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
    if (xml && hwloc_topology_set_xmlbuffer(*t, xml, (int)strlen(xml) + 1) != 0)
        return -1;
    if (xml || (!root || !*root || strcmp(root, "/") == 0))
        return hwloc_topology_load(*t);
    setenv("HWLOC_FSROOT", root, 1);
    int rc = hwloc_topology_load(*t);
    unsetenv("HWLOC_FSROOT");
    return rc;
}

static unsigned count(hwloc_topology_t t, hwloc_obj_type_t type)
{
    int n = hwloc_get_nbobjs_by_type(t, type);
    return n > 0 ? (unsigned)n : 0;
}

static int64_t cache_bytes(hwloc_topology_t t, hwloc_obj_type_t type)
{
    hwloc_obj_t c = hwloc_get_obj_by_type(t, type, 0);
    return c ? (int64_t)c->attr->cache.size : 0;
}

enum pk_code pk_topology_read(const char *root, struct pk_machine *m, struct pk_err *err)
{
    PK_TOPOLOGY_CLEANUP hwloc_topology_t t = NULL;
    if (!pk_file_exists(root, SYSFS_CPUS))
        return PK_OK;
    if (pk_topology_open(root, NULL, false, &t) != 0) {
        pk_fail(err, PK_E_INTERNAL, "the machine's topology could not be read");
        pk_why(err, "hwloc_topology_load: %s", strerror(errno));
        return pk_fix(err, "check the output of `lstopo --of console` (package hwloc); a wrong HWLOC_* "
                           "variable has this effect");
    }
    m->sockets = count(t, HWLOC_OBJ_PACKAGE);
    m->cores = count(t, HWLOC_OBJ_CORE);
    m->threads = count(t, HWLOC_OBJ_PU);
    m->numa_nodes = count(t, HWLOC_OBJ_NUMANODE);
    m->l1d_bytes = cache_bytes(t, HWLOC_OBJ_L1CACHE);
    m->l2_bytes = cache_bytes(t, HWLOC_OBJ_L2CACHE);
    /* A socket can have several: one per core complex. */
    hwloc_obj_t socket = hwloc_get_obj_by_type(t, HWLOC_OBJ_PACKAGE, 0);
    int n = socket ? hwloc_get_nbobjs_inside_cpuset_by_type(t, socket->cpuset, HWLOC_OBJ_L3CACHE) : 0;
    m->l3_bytes = n > 0 ? n * cache_bytes(t, HWLOC_OBJ_L3CACHE) : cache_bytes(t, HWLOC_OBJ_L3CACHE);
    return PK_OK;
}

void pk_machine_caches(const char *root, struct pk_cache levels[PK_CACHE_LEVELS])
{
    static const hwloc_obj_type_t types[PK_CACHE_LEVELS] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L2CACHE,
                                                            HWLOC_OBJ_L3CACHE};
    PK_TOPOLOGY_CLEANUP hwloc_topology_t t = NULL;
    const bool known = pk_topology_open(root, NULL, false, &t) == 0;
    for (size_t i = 0; i < PK_CACHE_LEVELS; i++)
        levels[i] =
            known ? (struct pk_cache){cache_bytes(t, types[i]), count(t, types[i])} : (struct pk_cache){0};
}

const char *pk_machine_topology_xml(const char *root, struct pk_arena *a)
{
    PK_TOPOLOGY_CLEANUP hwloc_topology_t t = NULL;
    char *xml;
    int bytes;
    if (pk_topology_open(root, NULL, false, &t) != 0 ||
        hwloc_topology_export_xmlbuffer(t, &xml, &bytes, 0) != 0)
        return NULL;
    const char *text = pk_strdup(a, xml);
    hwloc_free_xmlbuffer(t, xml);
    return text;
}

enum { CPUS_MAX = 8192 }; /* the kernel's own limit; a cpu_set_t holds 1024 */

struct pk_cpu_mask {
    cpu_set_t sets[CPUS_MAX / CPU_SETSIZE];
};

static void add_allowed(const struct pk_cpu_mask *allowed, unsigned cpu, unsigned *cpus, unsigned cap,
                        unsigned *n)
{
    if (*n < cap && (!allowed || (cpu < CPUS_MAX && CPU_ISSET_S(cpu, sizeof *allowed, allowed->sets))))
        cpus[(*n)++] = cpu;
}

/* The first unit of every core, then the second of every core, ... Cores come in hwloc's order: near ones
 * side by side. */
unsigned pk_topology_by_core(hwloc_topology_t t, const struct pk_cpu_mask *allowed, unsigned *cpus,
                             unsigned cap)
{
    unsigned n = 0, n_cores = count(t, HWLOC_OBJ_CORE);
    bool more = true;
    for (unsigned sibling = 0; more; sibling++) {
        more = false;
        for (unsigned c = 0; c < n_cores; c++) {
            hwloc_obj_t core = hwloc_get_obj_by_type(t, HWLOC_OBJ_CORE, c);
            hwloc_obj_t pu = hwloc_get_obj_inside_cpuset_by_type(t, core->cpuset, HWLOC_OBJ_PU, sibling);
            if (!pu)
                continue;
            more = true;
            add_allowed(allowed, pu->os_index, cpus, cap, &n);
        }
    }
    return n;
}

unsigned pk_topology_allowed(unsigned *cpus, unsigned cap)
{
    struct pk_cpu_mask allowed = {0};
    PK_TOPOLOGY_CLEANUP hwloc_topology_t t = NULL;
    if (sched_getaffinity(0, sizeof allowed, allowed.sets) != 0)
        CPU_SET_S(0, sizeof allowed, allowed.sets);
    unsigned n =
        pk_topology_open(NULL, NULL, false, &t) == 0 ? pk_topology_by_core(t, &allowed, cpus, cap) : 0;
    const bool by_index = n == 0;
    for (unsigned cpu = 0; by_index && cpu < CPUS_MAX; cpu++)
        add_allowed(&allowed, cpu, cpus, cap, &n);
    return n;
}

unsigned pk_machine_cpus(unsigned *cpus, unsigned cap)
{
    struct pk_limits limits;
    const unsigned n = pk_topology_allowed(cpus, cap);
    pk_machine_limits(NULL, &limits);
    unsigned quota = (unsigned)limits.cpus + (limits.cpus > (double)(unsigned)limits.cpus);
    return quota && quota < n ? quota : n;
}

bool pk_machine_bind(unsigned cpu)
{
    struct pk_cpu_mask one = {0};
    if (cpu >= CPUS_MAX)
        return false;
    CPU_SET_S(cpu, sizeof one, one.sets);
    return sched_setaffinity(0, sizeof one, one.sets) == 0;
}
