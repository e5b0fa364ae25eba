/* GPU state: what NVML says at a moment, and how many processes that compute on the GPU are not of this run, by /proc. */
#include "counter/cuda/nvml/gpu_state.h"

#include "base/clock.h"
#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct held_back {
    unsigned long long bit;
    bool doubtful;
    const char *words;
} held_back[] = {
    {0x1, false, "idle"},
    {0x2, false, "clocks set by the user"},
    {0x4, true, "power cap"},
    {0x8, true, "slowdown by hardware"},
    {0x10, true, "sync boost with other GPUs"},
    {0x20, true, "thermal slowdown by software"},
    {0x40, true, "thermal slowdown by hardware"},
    {0x80, true, "power brake by hardware"},
    {0x100, false, "display clocks"},
};
enum { HELD_BACK = sizeof held_back / sizeof *held_back };

const char *pk_gpu_held_back_words(unsigned long long bits, struct pk_arena *a)
{
    const char *text = "";
    for (size_t i = 1; i < HELD_BACK; i++) { /* idle first, and left out */
        if (bits & held_back[i].bit)
            text = pk_printf(a, "%s%s%s", text, *text ? ", " : "", held_back[i].words);
        bits &= ~held_back[i].bit;
    }
    bits &= ~held_back[0].bit;
    return bits ? pk_printf(a, "%s%sunknown reasons 0x%llx", text, *text ? ", " : "", bits) : text;
}

unsigned long long pk_gpu_held_back_doubtful(unsigned long long bits)
{
    for (size_t i = 0; i < HELD_BACK; i++)
        if (!held_back[i].doubtful)
            bits &= ~held_back[i].bit;
    return bits;
}

const struct pk_gpu_held pk_gpu_helds[PK_GPU_HELDS] = {
    {PK_NVML_HELD_POWER, "power_cap_ns", "power cap"},
    {PK_NVML_HELD_THERMAL, "thermal_ns", "heat"},
    {PK_NVML_HELD_SW_THERMAL, "sw_thermal_ns", "thermal slowdown by software"},
    {PK_NVML_HELD_HW_THERMAL, "hw_thermal_ns", "thermal slowdown by hardware"},
    {PK_NVML_HELD_POWER_BRAKE, "power_brake_ns", "power brake by hardware"},
};

const char *pk_gpu_held_between(const struct pk_gpu_state *before, const struct pk_gpu_state *after,
                                struct pk_arena *a)
{
    const double elapsed = (double)(after->at_ns - before->at_ns);
    const char *text = "";
    for (size_t i = 0; i < PK_GPU_HELDS; i++) {
        const double share = (after->held_ns[i] - before->held_ns[i]) / elapsed;
        if (share > 0.01) /* not where one of them is NaN */
            text = pk_printf(a, "%s%s%s for %.0f %% of the time", text, *text ? ", " : "",
                             pk_gpu_helds[i].words, 100 * fmin(share, 1));
    }
    return text;
}

/* --- processes of others ---------------------------------------------------------------------------------------------- */

enum { PROCESSES_MAX = 256, GENERATIONS_MAX = 64 };

/* 0 where it has none, or cannot be read. "PID (NAME) STATE PARENT ...", and a name may hold anything. */
static pid_t parent_of(pid_t pid)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *text = pk_file_text("/", pk_printf(&a, "proc/%d/stat", (int)pid), &a);
    const char *after_name = text ? strrchr(text, ')') : NULL;
    int parent;
    return after_name && sscanf(after_name, ") %*c %d", &parent) == 1 ? parent : 0;
}

static bool same_program(const char *ours, pid_t pid)
{
    char link[32], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
    const ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    return n > 0 && !strcmp(path, ours);
}

/* The first perfkit of this run: the outermost of our ancestors that are this program. What starts ranks is between it and us. */
static pid_t root_of_run(void)
{
    char ours[PATH_MAX];
    pid_t root = getpid(), pid = root;
    const ssize_t n = readlink("/proc/self/exe", ours, sizeof ours - 1);
    ours[n > 0 ? n : 0] = '\0';
    for (int i = 0; i < GENERATIONS_MAX && (pid = parent_of(pid)) > 0; i++)
        if (same_program(ours, pid))
            root = pid;
    return root;
}

/* The number of other processes that compute on it: not this one, the perfkit that started it, or its other children (workers, ranks,
 * peers). False and 0 when unknown: NVML does not report it, or reports ids of processes that do not exist here, as in a container,
 * where they are the host's. */
static bool count_others(const struct pk_nvml *m, pk_nvml_device d, unsigned *others)
{
    struct pk_nvml_process v[PROCESSES_MAX];
    unsigned n = PROCESSES_MAX, found = 0;
    *others = 0;
    if (m->processes(d, &n, v))
        return false;
    const pid_t root = root_of_run();
    for (unsigned i = 0; i < n && i < PROCESSES_MAX; i++) {
        if (kill((pid_t)v[i].pid, 0) && errno == ESRCH) /* EPERM: a process of another user */
            return false;
        pid_t pid = (pid_t)v[i].pid;
        for (int g = 0; g < GENERATIONS_MAX && pid > 0 && pid != root; g++)
            pid = parent_of(pid);
        found += pid != root;
    }
    *others = found;
    return true;
}

/* --- reading ----------------------------------------------------------------------------------------------------------- */

static double clock_hz(const struct pk_nvml *m, pk_nvml_device d, int which)
{
    unsigned mhz;
    return m->clock(d, which, &mhz) ? NAN : mhz * 1e6;
}

static double field_ns(const struct pk_nvml_field *f)
{
    return f->rc                         ? NAN
           : f->type == PK_NVML_U32      ? f->value.u32
           : f->type == PK_NVML_U64      ? (double)f->value.u64
           : f->type == PK_NVML_U64_LONG ? (double)f->value.u64_long
                                         : NAN;
}

void pk_gpu_state_read(const struct pk_nvml *m, pk_nvml_device d, struct pk_gpu_state *out)
{
    unsigned milliwatts, celsius;
    unsigned long long millijoules;
    *out = (struct pk_gpu_state){.sm_hz = clock_hz(m, d, PK_NVML_CLOCK_SM),
                                 .memory_hz = clock_hz(m, d, PK_NVML_CLOCK_MEM)};
    out->others_known = count_others(m, d, &out->others);
    out->watts = m->power(d, &milliwatts) ? NAN : milliwatts / 1e3;
    out->celsius = m->temperature(d, PK_NVML_TEMPERATURE_GPU, &celsius) ? NAN : celsius;
    out->joules = m->energy(d, &millijoules) ? NAN : (double)millijoules / 1e3;
    if (m->reasons(d, &out->held_back))
        out->held_back = 0;
    /* Each is NaN that this GPU or this driver does not count. */
    struct pk_nvml_field v[PK_GPU_HELDS] = {{0}};
    for (size_t i = 0; i < PK_GPU_HELDS; i++)
        v[i].id = pk_gpu_helds[i].field;
    const bool counted = m->fields && !m->fields(d, PK_GPU_HELDS, v);
    for (size_t i = 0; i < PK_GPU_HELDS; i++)
        out->held_ns[i] = counted ? field_ns(&v[i]) : NAN;
    out->at_ns = pk_clock_ns();
}
