/* Machine: the facts that identify a host, from its files, and their canonical JSON. */
#include "machine/machine.h"

#include "base/file.h"
#include "base/text/words.h"
#include "machine/parts.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

enum { CACHE_BYTES_UNKNOWN = 32 << 20 };

#define N_OF(table) (sizeof(table) / sizeof *(table))

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

struct virt_sign {
    const char *path, *sign, *name; /* an empty sign: the file is there */
};

/* The surest first. */
static const struct virt_sign hypervisors[] = {
    {"sys/hypervisor/type", "xen", "xen"},
    {"sys/class/dmi/id/sys_vendor", "VMware", "vmware"},
    {"sys/class/dmi/id/product_name", "VirtualBox", "virtualbox"},
    {"sys/class/dmi/id/product_name", "Virtual Machine", "hyperv"},
    {"sys/class/dmi/id/sys_vendor", "QEMU", "kvm"},
    {"sys/devices/system/clocksource/clocksource0/available_clocksource", "kvm-clock", "kvm"},
    {"sys/devices/system/clocksource/clocksource0/available_clocksource", "hyperv", "hyperv"},
    {"sys/firmware/devicetree/base/hypervisor/compatible", "kvm", "kvm"},
    {"proc/cpuinfo", " hypervisor", "vm"},
    {NULL},
};
static const struct virt_sign containers[] = {
    {".dockerenv", "", "docker"},
    {"run/.containerenv", "", "podman"},
    {NULL},
};

static const char *first_sign(const char *root, const struct virt_sign *v, struct pk_arena *a)
{
    for (; v->path; v++) {
        const char *text = *v->sign ? pk_file_text(root, v->path, a) : NULL;
        if (*v->sign ? text && strstr(text, v->sign) : pk_file_exists(root, v->path))
            return v->name;
    }
    return NULL;
}

static const char *read_virt(const char *root, struct pk_arena *a)
{
    const char *hypervisor = first_sign(root, hypervisors, a), *container = first_sign(root, containers, a);
    if (hypervisor && container)
        return pk_printf(a, "%s+%s", hypervisor, container);
    if (hypervisor || container)
        return hypervisor ? hypervisor : container;
    return pk_file_exists(root, "proc/cpuinfo") ? "none" : "";
}

/* Arm says who designed a core and its part number, not its name. */
static const struct {
    long implementer, part;
    const char *name;
} arm_cores[] = {
    {0x41, 0xd07, "Arm Cortex-A57"},   {0x41, 0xd08, "Arm Cortex-A72"},   {0x41, 0xd0c, "Arm Neoverse-N1"},
    {0x41, 0xd40, "Arm Neoverse-V1"},  {0x41, 0xd49, "Arm Neoverse-N2"},  {0x41, 0xd4f, "Arm Neoverse-V2"},
    {0x48, 0xd01, "HiSilicon TSV110"}, {0xc0, 0xac3, "Ampere AmpereOne"},
};

static const char *cpu_model(const char *cpuinfo, struct pk_arena *a)
{
    const char *name = pk_file_field(cpuinfo, "model name", ':', a);
    const char *implementer = pk_file_field(cpuinfo, "CPU implementer", ':', a);
    const char *part = pk_file_field(cpuinfo, "CPU part", ':', a);
    if (name || !implementer || !part)
        return or_empty(name);
    for (size_t i = 0; i < N_OF(arm_cores); i++)
        if (strtol(implementer, NULL, 16) == arm_cores[i].implementer &&
            strtol(part, NULL, 16) == arm_cores[i].part)
            return arm_cores[i].name;
    return pk_printf(a, "implementer %s part %s", implementer, part);
}

/* What our vectorised kernels look for, the best first. */
static const struct {
    const char *name;
    const char *flags[6];
} isas[] = {
    {"avx512", {"avx512f", "avx512bw", "avx512dq", "avx512vl", "fma"}},
    {"avx2", {"avx2", "fma"}},
    {"sve", {"sve"}},
    {"neon", {"asimd"}},
};

static const char *cpu_isa(const char *cpuinfo, struct pk_arena *a)
{
    const char *flags = pk_file_field(cpuinfo, "flags", ':', a);
    if (!flags)
        flags = pk_file_field(cpuinfo, "Features", ':', a);
    if (!flags)
        return "";
    for (size_t i = 0; i < N_OF(isas); i++) {
        const char *const *flag = isas[i].flags;
        while (*flag && pk_has_part(flags, strlen(flags), ' ', *flag))
            flag++;
        if (!*flag)
            return isas[i].name;
    }
    return "baseline";
}

static const char *compiler(void)
{
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "gcc " __VERSION__;
#endif
}

enum pk_code pk_machine_read(const char *root, struct pk_arena *a, struct pk_machine *m, struct pk_err *err)
{
    const char *cpuinfo = or_empty(pk_file_text(root, "proc/cpuinfo", a));
    const char *meminfo = or_empty(pk_file_text(root, "proc/meminfo", a));
    const char *total = pk_file_field(meminfo, "MemTotal", ':', a);
    const char *os = or_empty(pk_file_text(root, "etc/os-release", a));
    *m = (struct pk_machine){
        .host = or_empty(pk_file_text(root, "proc/sys/kernel/hostname", a)),
        .cpu_model = cpu_model(cpuinfo, a),
        .arch = or_empty(pk_file_text(root, "proc/sys/kernel/arch", a)),
        .kernel = or_empty(pk_file_text(root, "proc/sys/kernel/osrelease", a)),
        .os = or_empty(pk_file_field(os, "PRETTY_NAME", '=', a)),
        .memory_bytes = total ? strtoll(total, NULL, 10) * 1024 : 0,
        .governor = pk_policy_governor(root, a),
        .turbo = pk_policy_turbo(root),
        .thp = pk_policy_thp(root, a),
        .virt = read_virt(root, a),
        .compiler = compiler(),
        .isa = cpu_isa(cpuinfo, a),
    };
    return pk_topology_read(root, m, err);
}

const char *pk_machine_json(const struct pk_machine *m, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = json_pack(
        "{s:s s:s s:s s:s s:s, s:I s:I s:I s:I, s:I s:I s:I s:I, s:s s:s s:s s:s s:s s:s}",            //
        "host", m->host, "cpu_model", m->cpu_model, "arch", m->arch, "kernel", m->kernel, "os", m->os, //
        "sockets", (json_int_t)m->sockets, "cores", (json_int_t)m->cores, "threads", (json_int_t)m->threads,
        "numa_nodes", (json_int_t)m->numa_nodes, //
        "memory_bytes", (json_int_t)m->memory_bytes, "l1d_bytes", (json_int_t)m->l1d_bytes, "l2_bytes",
        (json_int_t)m->l2_bytes, "l3_bytes", (json_int_t)m->l3_bytes, //
        "governor", m->governor, "turbo", m->turbo, "thp", m->thp, "virt", m->virt, "compiler", m->compiler,
        "isa", m->isa);
    return pk_json_text(a, j, PK_JSON_CANON);
}

int64_t pk_machine_cache_bytes(void)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_machine m;
    struct pk_err err = {0};
    if (!pk_machine_read(NULL, &a, &m, &err) && m.l3_bytes)
        return m.l3_bytes * (m.sockets ? m.sockets : 1);
    if (!err.code && m.l2_bytes)
        return m.l2_bytes * m.cores;
    return CACHE_BYTES_UNKNOWN;
}
