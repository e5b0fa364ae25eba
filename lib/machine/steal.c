/* Steal time of CPUs, so that samples taken meanwhile can be flagged. */
#include "machine/parts.h"

#include "base/clock.h"
#include "base/file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

int64_t pk_steal_ticks(const char *stat, const unsigned *cpus, unsigned n)
{
    int64_t sum = 0;
    bool found = false;
    for (const char *line = stat; line && strncmp(line, "cpu", 3) == 0;) {
        char *end;
        unsigned long cpu = strtoul(line + 3, &end, 10);
        bool measuring = false;
        for (unsigned i = 0; i < n; i++)
            measuring |= cpus[i] == cpu;
        if (end != line + 3 && line[3] != ' ' && measuring) {
            for (int field = 0; field < 7; field++) /* user nice system idle iowait irq softirq, then steal */
                strtoll(end, &end, 10);
            sum += strtoll(end, NULL, 10);
            found = true;
        }
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    return found ? sum : -1;
}

bool pk_machine_steal(const unsigned *cpus, unsigned n, uint64_t *ns)
{
    char stat[32 << 10]; /* some hundred CPUs; the lines that follow are not wanted */
    PK_CLEANUP_FD int fd = open("/proc/stat", O_RDONLY | O_CLOEXEC);
    ssize_t got = fd >= 0 ? read(fd, stat, sizeof stat - 1) : 0;
    stat[got > 0 ? got : 0] = '\0';
    int64_t ticks = pk_steal_ticks(stat, cpus, n);
    long hz = sysconf(_SC_CLK_TCK);
    *ns = ticks > 0 && hz > 0 ? (uint64_t)ticks * (PK_NS_PER_S / (uint64_t)hz) : 0;
    return ticks >= 0;
}
