/* Perf access: the system call, and a table of what its refusals mean. */
#include "counter/perf_access.h"

#include "machine/files.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_on_host(struct perf_event_attr *attr, pid_t pid)
{
    return (int)syscall(SYS_perf_event_open, attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

const struct pk_perf pk_perf_host = {open_on_host, "/"};

#define PARANOID "kernel.perf_event_paranoid"
#define HIDDEN   "this processor shows no such counter; virtual machines hide them"
#define SHOW     "bare metal, or a hypervisor that passes them on (QEMU: -cpu host,pmu=on)"

static const struct {
    int error;
    const char *absent, *advice;
} refusals[] = {
    {ENOENT, HIDDEN, SHOW},
    {ENODEV, HIDDEN, SHOW},
    {EOPNOTSUPP, HIDDEN, SHOW},
    {EPERM, "a container's seccomp profile forbids it",
     "docker run --cap-add=PERFMON with a profile that allows perf_event_open"},
    {EBUSY, "the processor's counters were taken all the time", "sudo sysctl kernel.nmi_watchdog=0"},
    {ENOSYS, "this kernel has no perf_event_open", NULL},
};

/* 2 allows user mode, 1 kernel mode too. At a lower value somebody else said no: a security module. */
static struct pk_perf_refusal paranoid(const char *root, bool in_kernel, struct pk_arena *a)
{
    int64_t value, allows = in_kernel ? 1 : 2;
    if (!pk_file_int(root, "proc/sys/kernel/perf_event_paranoid", &value) || value <= allows)
        return (struct pk_perf_refusal){"a security module of this kernel forbids it", NULL};
    return (struct pk_perf_refusal){
        pk_printf(a, PARANOID "=%lld forbids it, %lld would allow it", (long long)value, (long long)allows),
        pk_printf(a, "sudo sysctl " PARANOID "=%lld", (long long)allows)};
}

struct pk_perf_refusal pk_perf_refusal(const struct pk_perf *perf, int error, bool in_kernel,
                                       struct pk_arena *a)
{
    if (error == EACCES)
        return paranoid(perf->root, in_kernel, a);
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i].error == error)
            return (struct pk_perf_refusal){refusals[i].absent, refusals[i].advice};
    return (struct pk_perf_refusal){pk_printf(a, "perf_event_open: %s", strerror(error)), NULL};
}
