/* Topology: how the GPUs of this machine reach each other and the host, in words. */
#include "counter/cuda/nvml/nvml.h"

#include "base/file.h"
#include "base/text/words.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { GPUS_MAX = 32, LINKS_MAX = 36, KINDS_MAX = 8 };

static const char *path_name(int ancestor)
{
    switch (ancestor) {
    case 0:
        return "one board";
    case 10:
        return "one PCIe switch";
    case 20:
        return "PCIe switches";
    case 30:
        return "one host bridge";
    case 40:
        return "one NUMA node";
    case 50:
        return "the link between NUMA nodes";
    default:
        return "an unknown path";
    }
}

static const char *p2p_name(int status)
{
    static const char *const names[] = {"P2P",
                                        "no P2P: the chipset does not support it",
                                        "no P2P: a GPU does not support it",
                                        "no P2P: the path between them does not support it",
                                        "no P2P: disabled in the driver",
                                        "no P2P: not supported"};
    return status >= 0 && (size_t)status < sizeof names / sizeof *names ? names[status] : "P2P not known";
}

/* "NVLink, P2P", "one PCIe switch, no P2P: ...". P2P is what both reads and writes have. */
static const char *way(const struct pk_nvml *m, pk_nvml_device a, pk_nvml_device b, struct pk_arena *arena)
{
    int nvlink = -1, reads = -1, writes = -1, ancestor = -1;
    if (!m->p2p || m->p2p(a, b, PK_NVML_P2P_NVLINK, &nvlink))
        nvlink = -1;
    if (!m->p2p || m->p2p(a, b, PK_NVML_P2P_READ, &reads) || m->p2p(a, b, PK_NVML_P2P_WRITE, &writes))
        reads = writes = -1;
    if (!m->ancestor || m->ancestor(a, b, &ancestor))
        ancestor = -1;
    return pk_printf(arena, "%s, %s", nvlink == 0 ? "NVLink" : path_name(ancestor),
                     p2p_name(reads ? reads : writes));
}

/* "; GPU 0-1 and 3 more pairs: NVLink, P2P" for every kind of pair. */
static const char *pairs(const struct pk_nvml *m, const pk_nvml_device *gpu, unsigned n, struct pk_arena *a)
{
    struct pair_kind {
        const char *text;
        unsigned first[2];
        size_t n;
    } kinds[KINDS_MAX];
    size_t n_kinds = 0;
    for (unsigned i = 0; i < n; i++)
        for (unsigned j = i + 1; j < n; j++) {
            const char *text = way(m, gpu[i], gpu[j], a);
            size_t k = 0;
            while (k < n_kinds && strcmp(kinds[k].text, text))
                k++;
            if (k == KINDS_MAX)
                continue;
            if (k == n_kinds)
                kinds[n_kinds++] = (struct pair_kind){text, {i, j}, 0};
            kinds[k].n++;
        }
    const char *all = "";
    for (size_t k = 0; k < n_kinds; k++) {
        const char *more =
            kinds[k].n > 1 ? pk_printf(a, " and %s", pk_plural(kinds[k].n - 1, "more pair", a)) : "";
        all = pk_printf(a, "%s; GPU %u-%u%s: %s", all, kinds[k].first[0], kinds[k].first[1], more,
                        kinds[k].text);
    }
    return all;
}

static unsigned active_links(const struct pk_nvml *m, pk_nvml_device d)
{
    unsigned active = 0;
    int on;
    for (unsigned i = 0; m->nvlink && i < LINKS_MAX && !m->nvlink(d, i, &on); i++)
        active += on == 1;
    return active;
}

/* The node that the kernel gives for the GPU's PCI device; -1 = not known. NVML's domain has 8 digits, the kernel's 4, in lower case. */
static long numa_node(const struct pk_counter_env *env, const struct pk_nvml *m, pk_nvml_device d,
                      struct pk_arena *a)
{
    struct pk_nvml_pci pci = {0};
    if (!m->pci || m->pci(d, &pci) || strlen(pci.id) <= 4)
        return -1;
    char *id = pk_strdup(a, pci.id + 4);
    for (char *c = id; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    const char *text =
        pk_file_text(pk_counter_root(env), pk_printf(a, "sys/bus/pci/devices/%s/numa_node", id), a);
    return text ? strtol(text, NULL, 10) : -1;
}

const char *pk_gpu_topology(const struct pk_counter_env *env, const struct pk_nvml *m, struct pk_arena *a)
{
    pk_nvml_device gpu[GPUS_MAX];
    const char *nodes = "", *links = "";
    unsigned n = 0, known = 0;
    if (m->count(&n))
        return "";
    for (unsigned i = 0; i < n && i < GPUS_MAX && !m->by_index(i, &gpu[known]); i++)
        known++;
    for (unsigned i = 0; i < known; i++) {
        const long node = numa_node(env, m, gpu[i], a);
        const unsigned active = active_links(m, gpu[i]);
        nodes = pk_printf(a, "%s%s%s", nodes, i ? " " : "", node < 0 ? "?" : pk_printf(a, "%ld", node));
        links = pk_printf(a, "%s%s%u", links, i ? " " : "", active);
    }
    return pk_printf(a, "; NUMA node by GPU: %s; active NVLinks: %s%s", nodes,
                     m->nvlink ? links : "not known", pairs(m, gpu, known, a));
}
