/* Perf access: the system calls, and a table of what their refusals mean. */
#include "counter/perf/reader.h"

#include "base/file.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_on_host(struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, PERF_FLAG_FD_CLOEXEC);
}

static int enable_on_host(int leader)
{
    return ioctl(leader, PERF_EVENT_IOC_ENABLE, PERF_IOC_FLAG_GROUP);
}

const struct pk_perf pk_perf_host = {open_on_host, read, enable_on_host, close};

int pk_perf_open(const struct pk_perf *perf, struct perf_event_attr *attr, pid_t pid, int cpu, int group)
{
    attr->size = sizeof *attr;
    int fd = perf->open(attr, pid, cpu, group);
    if (fd < 0 && errno == E2BIG && attr->size < sizeof *attr) /* it wrote the size it knows */
        fd = perf->open(attr, pid, cpu, group);
    return fd;
}

/* --- refusals ------------------------------------------------------------------------------------------------------- */

#define PARANOID "kernel.perf_event_paranoid"

static const int64_t allows[] = {[PK_PERF_USER] = 2, [PK_PERF_KERNEL] = 1, [PK_PERF_SYSTEM] = 0};

/* The setting would allow it, so a security module refused. */
static struct pk_perf_refusal no_right(const char *root, enum pk_perf_scope scope, struct pk_arena *a)
{
    int64_t value, most = allows[scope];
    if (!pk_file_int(root, "proc/sys/kernel/perf_event_paranoid", &value) || value <= most)
        return (struct pk_perf_refusal){"a security module of this kernel forbids it", NULL};
    return (struct pk_perf_refusal){
        pk_printf(a, PARANOID "=%lld forbids it, %lld would allow it", (long long)value, (long long)most),
        pk_printf(a,
                  "sudo sysctl " PARANOID "=%lld; or sudo setcap cap_perfmon+ep $(command -v perfkit), which "
                  "makes LD_LIBRARY_PATH ignored",
                  (long long)most)};
}

static struct pk_perf_refusal forbidden(const char *root, enum pk_perf_scope scope, struct pk_arena *a)
{
    const char *status = pk_file_text(root, "proc/self/status", a);
    const char *seccomp = status ? pk_file_field(status, "Seccomp", ':', a) : NULL;
    if (seccomp && !strcmp(seccomp, "0"))
        return (struct pk_perf_refusal){"a security module of this kernel forbids it", NULL};
    return (struct pk_perf_refusal){
        "a container's seccomp profile forbids it",
        "docker run --cap-add=PERFMON with a profile that allows perf_event_open, or --security-opt "
        "seccomp=unconfined"};
}

bool pk_perf_in_guest(const char *root, struct pk_arena *a)
{
    const char *cpuinfo = pk_file_text(root, "proc/cpuinfo", a);
    const char *flags = cpuinfo ? pk_file_field(cpuinfo, "flags", ':', a) : NULL;
    return flags && strstr(flags, "hypervisor");
}

static struct pk_perf_refusal no_counter(const char *root, enum pk_perf_scope scope, struct pk_arena *a)
{
    if (pk_file_exists(root, "sys/bus/event_source/devices/cpu") ||
        pk_file_exists(root, "sys/bus/event_source/devices/cpu_core"))
        return (struct pk_perf_refusal){"this processor has no such counter", NULL};
    if (pk_perf_in_guest(root, a))
        return (struct pk_perf_refusal){
            "no counters: the hypervisor hides them",
            "use bare metal, or a hypervisor that exposes them (QEMU: -cpu host,pmu=on; libvirt: <pmu "
            "state='on'/>; VMware: vpmc.enable=TRUE)"};
    return (struct pk_perf_refusal){
        "no counters: this kernel has no driver for the counters of this processor", NULL};
}

static struct pk_perf_refusal taken(const char *root, enum pk_perf_scope scope, struct pk_arena *a)
{
    int64_t watchdog;
    bool on = pk_file_int(root, "proc/sys/kernel/nmi_watchdog", &watchdog) && watchdog;
    return (struct pk_perf_refusal){
        on ? "all counters of the processor were in use; the kernel's watchdog uses one"
           : "all counters of the processor were in use",
        on ? "sudo sysctl kernel.nmi_watchdog=0" : "end the other profiler, or count fewer events at once"};
}

static struct pk_perf_refusal no_call(const char *root, enum pk_perf_scope scope, struct pk_arena *a)
{
    const char *release = pk_file_text(root, "proc/sys/kernel/osrelease", a);
    bool gvisor = release && !strcmp(release, "4.4.0");
    return (struct pk_perf_refusal){
        gvisor ? "gVisor has no perf_event_open" : "this kernel has no perf_event_open",
        gvisor ? "use another runtime than gVisor (runsc): docker run --runtime=runc" : NULL};
}

#define NO_FILES                                                                                             \
    {                                                                                                        \
        "too many files are open: each event of each thread is one",                                         \
            "use ulimit -n 65536, or fewer events or --threads"                                              \
    }
static const struct {
    int error;
    struct pk_perf_refusal (*means)(const char *root, enum pk_perf_scope scope, struct pk_arena *a);
    struct pk_perf_refusal always; /* where `means` is NULL */
} refusals[] = {
    {EACCES, no_right},
    {EPERM, forbidden},
    {ENOENT, no_counter},
    {ENODEV, no_counter},
    {ENXIO, no_counter},
    {EOPNOTSUPP, no_counter},
    {EBUSY, taken},
    {ENOSYS, no_call},
    {EMFILE, NULL, NO_FILES},
    {ENFILE, NULL, NO_FILES},
    {PK_NO_INHERITANCE,
     NULL,
     {"this kernel cannot count groups of events in processes that are started later",
      "Linux 4.13 or newer"}},
    {PK_TOO_MANY_THREADS, NULL, {"this process has more than 4096 threads", "fewer --threads"}},
};

struct pk_perf_refusal pk_perf_refusal(const char *root, int error, enum pk_perf_scope scope,
                                       struct pk_arena *a)
{
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i].error == error)
            return refusals[i].means ? refusals[i].means(root, scope, a) : refusals[i].always;
    return (struct pk_perf_refusal){pk_printf(a, "perf_event_open: %s", strerror(error)), NULL};
}

enum pk_code pk_perf_refuse(const struct pk_counter_env *env, const char *event, int error,
                            enum pk_perf_scope scope, struct pk_arena *a, struct pk_err *err)
{
    const struct pk_perf_refusal r = pk_perf_refusal(pk_counter_root(env), error, scope, a);
    pk_fail(err, PK_E_UNAVAILABLE, "%s cannot be counted", event);
    pk_why(err, "%s", r.reason);
    return r.advice ? pk_fix(err, "%s", r.advice) : pk_fix(err, PK_PERF_OMIT);
}
