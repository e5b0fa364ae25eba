/* Perf access: opens one event of each kind, user mode only, and explains the refusal. */
#include "counter/perf_access.h"

#include "base/cleanup.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>

/* 0 or an errno. User mode first: permission is checked before existence, so that with kernel mode included a missing
 * counter looks like a missing right. */
static int try_event(unsigned type, unsigned long long config)
{
    struct perf_event_attr attr = {
        .type = type, .size = sizeof attr, .config = config, .exclude_kernel = 1, .exclude_hv = 1};
    PK_CLEANUP_FD int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    return fd >= 0 ? 0 : errno;
}

static const struct {
    int error;
    const char *absent, *advice;
} refusals[] = {
    {ENOENT, "this processor shows no counters: a virtual machine hides them",
     "bare metal, or a hypervisor that passes them on (QEMU: -cpu host,pmu=on)"},
    {EOPNOTSUPP, "this processor shows no counters: a virtual machine hides them",
     "bare metal, or a hypervisor that passes them on (QEMU: -cpu host,pmu=on)"},
    {EACCES, "kernel.perf_event_paranoid forbids it", "sudo sysctl kernel.perf_event_paranoid=2"},
    {EPERM, "a container's seccomp profile forbids it",
     "docker run --cap-add=PERFMON with a profile that allows perf_event_open"},
    {ENOSYS, "this kernel has no perf_event_open", NULL},
};

static void explain(int error, struct pk_arena *a, struct pk_perf_access *p)
{
    *p = (struct pk_perf_access){0};
    if (!error)
        return;
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++)
        if (refusals[i].error == error) {
            *p = (struct pk_perf_access){refusals[i].absent, refusals[i].advice};
            return;
        }
    p->absent = pk_printf(a, "perf_event_open: %s", strerror(error));
}

void pk_perf_access(struct pk_arena *a, struct pk_perf_access *software, struct pk_perf_access *hardware)
{
    explain(try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS), a, software);
    explain(try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES), a, hardware);
}
