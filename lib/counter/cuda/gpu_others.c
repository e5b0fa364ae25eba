/* GPU others: how many processes that compute on the GPU are not of this run, by /proc. */
#include "counter/cuda/gpu_state.h"

#include "base/file.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

static bool descends(pid_t pid, pid_t root)
{
    for (int i = 0; i < GENERATIONS_MAX && pid > 0 && pid != root; i++)
        pid = parent_of(pid);
    return pid == root;
}

/* EPERM is somebody else's. */
static bool exists(pid_t pid)
{
    return !kill(pid, 0) || errno != ESRCH;
}

bool pk_gpu_others(const struct pk_nvml *m, pk_nvml_device d, unsigned *others)
{
    struct pk_nvml_process v[PROCESSES_MAX];
    unsigned n = PROCESSES_MAX, found = 0;
    *others = 0;
    if (m->processes(d, &n, v))
        return false;
    const pid_t root = root_of_run();
    for (unsigned i = 0; i < n && i < PROCESSES_MAX; i++) {
        if (!exists((pid_t)v[i].pid))
            return false;
        found += !descends((pid_t)v[i].pid, root);
    }
    *others = found;
    return true;
}
