/* Sysfs: "event=0x02,umask=0x1" placed by "config:0-7". */
#include "counter/perf/codes.h"

#include "base/file.h"
#include "base/text/words.h"
#include "machine/bind.h"

#include <dirent.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define DEVICES "sys/bus/event_source/devices"

static const char *text_of(const char *root, const char *pmu, const char *file, struct pk_arena *a)
{
    return pk_file_text(root, pk_printf(a, DEVICES "/%s/%s", pmu, file), a);
}

/* Puts the low bits of value where "config1:0-7,32-35" says. */
static bool set_bits(struct pk_perf_code *c, const char *format, uint64_t value, struct pk_arena *a)
{
    const char *colon = strchr(format, ':');
    if (!colon)
        return false;
    const char *word = pk_strndup(a, format, (size_t)(colon - format)), *rest = colon + 1;
    uint64_t *into = !strcmp(word, "config")    ? &c->config
                     : !strcmp(word, "config1") ? &c->config1
                     : !strcmp(word, "config2") ? &c->config2
                                                : NULL;
    for (const char *range; into && (range = pk_next_part(&rest, ',', a));) {
        char *end;
        const unsigned long low = strtoul(range, &end, 10),
                            high = *end == '-' ? strtoul(end + 1, NULL, 10) : low;
        if (low > high || high > 63)
            return false;
        for (unsigned long bit = low; bit <= high; bit++, value >>= 1)
            *into |= (value & 1) << bit;
    }
    return into != NULL;
}

bool pk_sysfs_event(const char *root, const char *pmu, const char *event, struct pk_arena *a,
                    struct pk_sysfs_event *out)
{
    int64_t type;
    const char *text = text_of(root, pmu, pk_printf(a, "events/%s", event), a);
    const char *scale = text_of(root, pmu, pk_printf(a, "events/%s.scale", event), a);
    const char *unit = text_of(root, pmu, pk_printf(a, "events/%s.unit", event), a);
    if (!text || !pk_file_int(root, pk_printf(a, DEVICES "/%s/type", pmu), &type))
        return false;
    *out = (struct pk_sysfs_event){
        .code = {.type = (uint32_t)type}, .scale = scale ? strtod(scale, NULL) : 1, .unit = unit ? unit : ""};
    for (const char *part; (part = pk_next_part(&text, ',', a));) {
        const char *equals = strchr(part, '=');
        const char *term = equals ? pk_strndup(a, part, (size_t)(equals - part)) : part;
        const char *format = text_of(root, pmu, pk_printf(a, "format/%s", term), a);
        if (!format || !set_bits(&out->code, format, equals ? strtoull(equals + 1, NULL, 0) : 1, a))
            return false;
    }
    return true;
}

size_t pk_sysfs_cpus(const char *root, const char *pmu, struct pk_arena *a, const int **cpus)
{
    const char *mask = text_of(root, pmu, "cpumask", a);
    struct pk_cpus c;
    if (!mask || !pk_cpus_read(mask, &c))
        c = (struct pk_cpus){.v = {0}, .n = 1};
    int *list = pk_new_n(a, int, c.n);
    for (unsigned i = 0; i < c.n; i++)
        list[i] = (int)c.v[i];
    *cpus = list;
    return c.n;
}

size_t pk_sysfs_units(const char *root, const char *pattern, struct pk_arena *a, const char *const **names)
{
    DIR *d = opendir(pk_printf(a, "%s/" DEVICES, root));
    const char **list = NULL;
    size_t n = 0, cap = 0;
    for (struct dirent *e; d && (e = readdir(d));)
        if (!fnmatch(pattern, e->d_name, 0)) {
            list = pk_grow(a, list, sizeof *list, n, &cap);
            list[n++] = pk_strdup(a, e->d_name);
        }
    if (d)
        closedir(d);
    pk_sort_texts(list, n);
    *names = list;
    return n;
}
