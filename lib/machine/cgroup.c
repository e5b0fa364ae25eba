/* Cgroup: what control groups leave to this process, memory and processor time, version 1 and 2. */
#include "machine/parts.h"

#include "base/file.h"
#include "base/text/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where a controller's files are. A container often sees its own group mounted at the top while
 * /proc/self/cgroup names the host's path, so every level from that path up to the mount is looked at, and
 * missing ones do not count. */
struct hierarchy {
    const char *controller; /* in /proc/self/cgroup; "" = version 2 */
    const char *mount;
};

static const struct hierarchy hierarchies[] = {
    {"", "sys/fs/cgroup"},        {"", "sys/fs/cgroup/unified"},        {"memory", "sys/fs/cgroup/memory"},
    {"cpu", "sys/fs/cgroup/cpu"}, {"cpu", "sys/fs/cgroup/cpu,cpuacct"},
};

/* Files of one level; both versions are tried, a directory has those of one. */
struct memory_files {
    const char *limit, *usage, *droppable;
};

static const struct memory_files memory_files[] = {
    {"memory.max", "memory.current", "inactive_file"},
    {"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"},
};

/* Version 1 says "no limit" with a number near 2^63, rounded down to pages. */
static const int64_t V1_UNLIMITED = INT64_C(1) << 60;

static bool level_int(const char *root, const char *dir, const char *file, int64_t *v)
{
    char path[4096];
    int n = snprintf(path, sizeof path, "%s/%s", dir, file);
    return n > 0 && n < (int)sizeof path && pk_file_int(root, path, v);
}

static void level_memory(const char *root, const char *dir, struct pk_arena *a, struct pk_limits *l)
{
    for (size_t i = 0; i < sizeof memory_files / sizeof *memory_files; i++) {
        const struct memory_files *f = &memory_files[i];
        int64_t limit, used;
        if (!level_int(root, dir, f->limit, &limit) || limit < 0 || limit >= V1_UNLIMITED)
            continue;
        if (!level_int(root, dir, f->usage, &used))
            used = 0;
        const char *stat = pk_file_text(root, pk_printf(a, "%s/memory.stat", dir), a);
        const char *droppable = stat ? pk_file_field(stat, f->droppable, 0, a) : NULL;
        int64_t left = limit - (used - (droppable ? strtoll(droppable, NULL, 10) : 0));
        if (left < 0)
            left = 0;
        if (!l->memory_bytes || left < l->memory_left_bytes)
            l->memory_left_bytes = left;
        if (!l->memory_bytes || limit < l->memory_bytes)
            l->memory_bytes = limit;
    }
}

static void level_cpus(const char *root, const char *dir, struct pk_arena *a, struct pk_limits *l)
{
    int64_t quota = 0, period = 0;
    const char *max = pk_file_text(root, pk_printf(a, "%s/cpu.max", dir), a);
    if (max) {
        char *end;
        quota = strtoll(max, &end, 10); /* "max 100000" gives 0: no quota */
        period = strtoll(end, NULL, 10);
    } else if (!level_int(root, dir, "cpu.cfs_quota_us", &quota) ||
               !level_int(root, dir, "cpu.cfs_period_us", &period)) {
        return;
    }
    if (quota <= 0 || period <= 0)
        return;
    double cpus = (double)quota / (double)period;
    if (l->cpus == 0 || cpus < l->cpus)
        l->cpus = cpus;
}

/* The path of a controller in /proc/self/cgroup ("ID:controllers:/path" lines; version 2 has the empty list); "" when it is not there. */
static char *controller_path(const char *cgroups, const char *controller, struct pk_arena *a)
{
    for (const char *line = cgroups; line && *line;
         line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        const char *list = strchr(line, ':');
        const char *path = list ? strchr(list + 1, ':') : NULL;
        if (path && pk_has_part(list + 1, (size_t)(path - list - 1), ',', controller))
            return pk_strndup(a, path + 1, strcspn(path + 1, "\n"));
    }
    return pk_strdup(a, "");
}

typedef void level_fn(const char *root, const char *dir, struct pk_arena *a, void *user);

/* Calls fn for every level of a hierarchy from ours up to its mount. */
static void each_level(const char *root, const struct hierarchy *h, const char *cgroups, struct pk_arena *a,
                       level_fn *fn, void *user)
{
    char *path = controller_path(cgroups, h->controller, a);
    for (;;) {
        fn(root, pk_printf(a, "%s%s", h->mount, path), a, user);
        char *slash = strrchr(path, '/');
        if (!slash)
            break;
        *slash = '\0';
    }
}

static void level_limits(const char *root, const char *dir, struct pk_arena *a, void *user)
{
    level_memory(root, dir, a, user);
    level_cpus(root, dir, a, user);
}

void pk_machine_limits(const char *root, struct pk_limits *l)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    *l = (struct pk_limits){0};
    const char *cgroups = pk_file_text(root, "proc/self/cgroup", &a);
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++)
        each_level(root, &hierarchies[i], cgroups, &a, level_limits, l);
}

/* Version 2 counts microseconds, version 1 nanoseconds. */
static void level_stops(const char *root, const char *dir, struct pk_arena *a, void *user)
{
    struct pk_quota_stops *q = user;
    const char *stat = pk_file_text(root, pk_printf(a, "%s/cpu.stat", dir), a);
    const char *n = stat ? pk_file_field(stat, "nr_throttled", 0, a) : NULL;
    if (!n)
        return;
    const char *us = pk_file_field(stat, "throttled_usec", 0, a);
    const char *ns = pk_file_field(stat, "throttled_time", 0, a);
    q->known = true;
    q->stops += strtoll(n, NULL, 10);
    q->stopped_ns += us ? strtoll(us, NULL, 10) * 1000 : ns ? strtoll(ns, NULL, 10) : 0;
}

/* One mount can be seen under two names: hierarchies are not added up. */
void pk_quota_stops_read(const char *root, struct pk_quota_stops *q)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    *q = (struct pk_quota_stops){0};
    const char *cgroups = pk_file_text(root, "proc/self/cgroup", &a);
    for (size_t i = 0; i < sizeof hierarchies / sizeof *hierarchies; i++) {
        struct pk_quota_stops one = {0};
        each_level(root, &hierarchies[i], cgroups, &a, level_stops, &one);
        if (one.known && (!q->known || one.stops > q->stops))
            *q = one;
    }
}

int64_t pk_machine_available_bytes(const char *root)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_limits l;
    pk_machine_limits(root, &l);
    const char *meminfo = pk_file_text(root, "proc/meminfo", &a);
    const char *field = meminfo ? pk_file_field(meminfo, "MemAvailable", ':', &a) : NULL;
    int64_t available = field ? strtoll(field, NULL, 10) * 1024 : 0;
    if (l.memory_bytes && (!available || l.memory_left_bytes < available))
        available = l.memory_left_bytes;
    return available;
}
