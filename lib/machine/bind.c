/* Bind: words to CPUs, CPUs to words, and both to hwloc. */
#include "machine/bind.h"

#include "base/text/buf.h"
#include "machine/parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* --- lists ---------------------------------------------------------------------------------------------------------- */

static bool read_number(const char **s, unsigned *v)
{
    unsigned long n = 0;
    const char *at = *s;
    for (; isdigit((unsigned char)*at) && n < 100000; at++)
        n = 10 * n + (unsigned long)(*at - '0');
    if (at == *s || n >= 100000)
        return false;
    *s = at;
    *v = (unsigned)n;
    return true;
}

bool pk_cpus_read(const char *text, struct pk_cpus *out)
{
    out->n = 0;
    for (const char *s = text;; s++) {
        unsigned first, last;
        if (!read_number(&s, &first))
            return false;
        last = first;
        if (*s == '-' && (s++, !read_number(&s, &last)))
            return false;
        if (last < first || last - first >= PK_CPUS_MAX - out->n)
            return false;
        while (first <= last)
            out->v[out->n++] = first++;
        if (*s != ',')
            return !*s;
    }
}

const char *pk_cpus_text(const struct pk_cpus *c, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (unsigned i = 0, end; i < c->n; i = end) {
        for (end = i + 1; end < c->n && c->v[end] == c->v[end - 1] + 1;)
            end++;
        pk_buf_printf(&b, "%s%u", i ? "," : "", c->v[i]);
        if (end - i > 1)
            pk_buf_printf(&b, "-%u", c->v[end - 1]);
    }
    return pk_buf_text(&b);
}

/* --- what we may use ------------------------------------------------------------------------------------------------ */

static bool has(const struct pk_cpus *c, unsigned cpu)
{
    for (unsigned i = 0; i < c->n; i++)
        if (c->v[i] == cpu)
            return true;
    return false;
}

static void usable(hwloc_topology_t t, const char *xml, struct pk_cpus *out)
{
    out->n =
        xml ? pk_topology_by_core(t, NULL, out->v, PK_CPUS_MAX) : pk_topology_allowed(out->v, PK_CPUS_MAX);
}

/* Those in a set, in the same order. */
static void cpus_in_set(hwloc_const_cpuset_t set, const struct pk_cpus *all, struct pk_cpus *out)
{
    out->n = 0;
    for (unsigned i = 0; i < all->n; i++)
        if (hwloc_bitmap_isset(set, all->v[i]))
            out->v[out->n++] = all->v[i];
}

/* --- what is asked for ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *prefix, *what;
    hwloc_obj_type_t type;
} parts[] = {
    {"socket:", "socket", HWLOC_OBJ_PACKAGE},
    {"numa:", "NUMA node", HWLOC_OBJ_NUMANODE},
};

static enum pk_code unknown_words(const char *text, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "--bind %.100s: no CPUs are named", text);
    pk_why(err, "use cores, none, socket:N, numa:N or a list such as 0-3,8");
    return pk_fix(err, "omit it to bind one thread to each core; `lstopo` shows the machine");
}

static enum pk_code not_ours(const char *text, const char *cpu, const struct pk_cpus *all, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    pk_fail(err, PK_E_USAGE, "--bind %.100s: %s cannot be used", text, cpu);
    pk_why(err, "affinity allows %s for this process", pk_cpus_text(all, &a));
    return pk_fix(err, "choose from these, or omit --bind");
}

static enum pk_code part_cpus(hwloc_topology_t t, const char *text, size_t part, const struct pk_cpus *all,
                              struct pk_cpus *out, struct pk_err *err)
{
    unsigned n;
    const char *number = text + strlen(parts[part].prefix);
    if (!read_number(&number, &n) || *number)
        return unknown_words(text, err);
    /* Sockets by their order, nodes by the kernel's number. */
    hwloc_obj_t object = parts[part].type == HWLOC_OBJ_NUMANODE
                             ? hwloc_get_numanode_obj_by_os_index(t, n)
                             : hwloc_get_obj_by_type(t, parts[part].type, n);
    if (!object) {
        const int parts_here = hwloc_get_nbobjs_by_type(t, parts[part].type);
        pk_fail(err, PK_E_USAGE, "--bind %.100s: there is no such %s", text, parts[part].what);
        if (parts_here > 1)
            pk_why(err, "this machine has %d, from 0", parts_here);
        else
            pk_why(err, "this machine has one, 0");
        return pk_fix(err, "choose one of them, or omit --bind");
    }
    cpus_in_set(object->cpuset, all, out);
    return out->n ? PK_OK : not_ours(text, "none of its CPUs", all, err);
}

static enum pk_code list_cpus(const char *text, const struct pk_cpus *all, struct pk_cpus *out,
                              struct pk_err *err)
{
    char cpu[32];
    if (!pk_cpus_read(text, out))
        return unknown_words(text, err);
    for (unsigned i = 0; i < out->n; i++) {
        snprintf(cpu, sizeof cpu, "CPU %u", out->v[i]);
        if (!has(all, out->v[i]))
            return not_ours(text, cpu, all, err);
        for (unsigned k = 0; k < i; k++)
            if (out->v[k] == out->v[i]) {
                pk_fail(err, PK_E_USAGE, "--bind %.100s: %s is given twice", text, cpu);
                pk_why(err, "two threads on one CPU would wait for each other");
                return pk_fix(err, "give each CPU once");
            }
    }
    return PK_OK;
}

enum pk_code pk_bind_cpus(const char *text, const char *xml, struct pk_cpus *out, struct pk_err *err)
{
    PK_TOPOLOGY_CLEANUP hwloc_topology_t t = NULL;
    struct pk_cpus all;
    out->n = 0;
    if (!strcmp(text, "none"))
        return PK_OK;
    if (pk_topology_open(NULL, xml, false, &t)) {
        pk_fail(err, PK_E_INTERNAL, "the machine's topology could not be read");
        return pk_fix(err, "omit --bind; `lstopo --of console` (package hwloc) may show the problem");
    }
    usable(t, xml, &all);
    if (!strcmp(text, "cores")) {
        *out = all;
        out->n = xml ? all.n : pk_machine_cpus(out->v, PK_CPUS_MAX);
        return PK_OK;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!strncmp(text, parts[i].prefix, strlen(parts[i].prefix)))
            return part_cpus(t, text, i, &all, out, err);
    return list_cpus(text, &all, out, err);
}

enum pk_code pk_bind_option(const char *text, struct pk_arena *a, const char **cpus, bool *off,
                            struct pk_err *err)
{
    struct pk_cpus c;
    *cpus = NULL;
    *off = !strcmp(text, "none");
    if (*off || !strcmp(text, "cores"))
        return PK_OK;
    if (pk_bind_cpus(text, NULL, &c, err))
        return err->code;
    *cpus = pk_cpus_text(&c, a);
    return PK_OK;
}

/* --- near a device -------------------------------------------------------------------------------------------------- */

bool pk_bind_near(const char *pci, const char *xml, struct pk_cpus *out)
{
    PK_TOPOLOGY_CLEANUP hwloc_topology_t t = NULL;
    struct pk_cpus all;
    out->n = 0;
    if (pk_topology_open(NULL, xml, true, &t))
        return false;
    hwloc_obj_t device = hwloc_get_pcidev_by_busidstring(t, pci);
    hwloc_obj_t beside = device ? hwloc_get_non_io_ancestor_obj(t, device) : NULL;
    if (!beside || !beside->cpuset)
        return false;
    usable(t, xml, &all);
    cpus_in_set(beside->cpuset, &all, out);
    return out->n > 0 && out->n < all.n;
}

/* --- binding -------------------------------------------------------------------------------------------------------- */

static hwloc_cpuset_t set_of(const struct pk_cpus *c)
{
    hwloc_cpuset_t set = hwloc_bitmap_alloc();
    for (unsigned i = 0; i < c->n; i++)
        hwloc_bitmap_set(set, c->v[i]);
    return set;
}

static void bind_memory(hwloc_topology_t t, hwloc_const_cpuset_t cpus)
{
    hwloc_nodeset_t nodes = hwloc_bitmap_alloc();
    hwloc_cpuset_to_nodeset(t, cpus, nodes);
    if (hwloc_bitmap_weight(nodes) < hwloc_get_nbobjs_by_type(t, HWLOC_OBJ_NUMANODE))
        hwloc_set_membind(t, nodes, HWLOC_MEMBIND_BIND, HWLOC_MEMBIND_THREAD | HWLOC_MEMBIND_BYNODESET);
    hwloc_bitmap_free(nodes);
}

void pk_bind_memory(const struct pk_cpus *c)
{
    PK_TOPOLOGY_CLEANUP hwloc_topology_t t = NULL;
    if (pk_topology_open(NULL, NULL, false, &t))
        return;
    hwloc_cpuset_t cpus = set_of(c);
    bind_memory(t, cpus);
    hwloc_bitmap_free(cpus);
}

bool pk_bind_process(int pid, const struct pk_cpus *c)
{
    PK_TOPOLOGY_CLEANUP hwloc_topology_t t = NULL;
    if (pk_topology_open(NULL, NULL, false, &t))
        return false;
    hwloc_cpuset_t cpus = set_of(c);
    const bool bound = hwloc_set_proc_cpubind(t, pid, cpus, HWLOC_CPUBIND_PROCESS) == 0;
    hwloc_bitmap_free(cpus);
    return bound;
}

bool pk_bind_thread(const struct pk_cpus *c)
{
    PK_TOPOLOGY_CLEANUP hwloc_topology_t t = NULL;
    if (pk_topology_open(NULL, NULL, false, &t))
        return false;
    hwloc_cpuset_t cpus = set_of(c);
    const bool bound = hwloc_set_cpubind(t, cpus, HWLOC_CPUBIND_THREAD) == 0;
    if (bound)
        bind_memory(t, cpus);
    hwloc_bitmap_free(cpus);
    return bound;
}
