/* Stopped process: processes that a signal or a debugger has stopped, from /proc. */
#include "machine/machine.h"

#include "base/file.h"
#include "base/text/buf.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED_MOST = 3 };

/* A line of /proc/PID/stat. */
struct process {
    int pid, parent, group;
    char name[32], state;
};

static bool read_process(int pid, struct process *p)
{
    char path[32], text[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    PK_CLEANUP_FILE FILE *f = fopen(path, "re");
    const char *end = f && fgets(text, sizeof text, f) ? strrchr(text, ')') : NULL; /* a name may hold any */
    *p = (struct process){.pid = pid};
    if (!end || sscanf(end, ") %c %d %d", &p->state, &p->parent, &p->group) != 3)
        return false;
    const char *name = strchr(text, '(');
    if (name)
        snprintf(p->name, sizeof p->name, "%.*s", (int)(end - name - 1), name + 1);
    return true;
}

static const char *how(const struct process *p)
{
    return p->state == 'T' ? "stopped (SIGSTOP)" : p->state == 't' ? "stopped by a debugger" : NULL;
}

const char *pk_machine_stop_reason(int pid)
{
    struct process p;
    return pid > 0 && read_process(pid, &p) ? how(&p) : NULL;
}

static const struct process *find(const struct process *v, size_t n, int pid)
{
    for (size_t i = 0; i < n; i++)
        if (v[i].pid == pid)
            return &v[i];
    return NULL;
}

/* Of the family of `pid`: itself, its process group, and what it started. */
static bool is_of(const struct process *v, size_t n, const struct process *p, int pid)
{
    for (size_t depth = 0; p && depth < n; depth++, p = find(v, n, p->parent))
        if (p->pid == pid || p->group == pid)
            return true;
    return false;
}

const char *pk_machine_family_stop_reason(int pid, struct pk_arena *a)
{
    struct process *v = NULL;
    size_t n = 0, cap = 0, named = 0;
    struct pk_buf names = {.arena = a};
    DIR *d = opendir("/proc");
    for (const struct dirent *e; d && (e = readdir(d));) {
        v = pk_grow(a, v, sizeof *v, n, &cap);
        n += *e->d_name >= '1' && *e->d_name <= '9' && read_process((int)strtol(e->d_name, NULL, 10), &v[n]);
    }
    if (d)
        closedir(d);
    for (size_t i = 0; i < n && named < NAMED_MOST; i++)
        if (how(&v[i]) && is_of(v, n, &v[i], pid))
            pk_buf_printf(&names, "%sprocess %d (%s) is %s", named++ ? ", " : "", v[i].pid, v[i].name,
                          how(&v[i]));
    return named ? pk_buf_text(&names) : NULL;
}
