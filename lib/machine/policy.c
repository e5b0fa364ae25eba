/* Policy: governor, turbo, SMT and huge pages, from their files in /sys. */
#include "machine/parts.h"

#include "base/file.h"

#include <dirent.h>
#include <string.h>

const char *pk_policy_governor(const char *root, struct pk_arena *a)
{
    static const char policies[] = "sys/devices/system/cpu/cpufreq";
    const char *common = "";
    DIR *dir = opendir(pk_printf(a, "%s/%s", root ? root : "", policies));
    for (struct dirent *e; dir && (e = readdir(dir));) {
        const char *g = pk_file_text(root, pk_printf(a, "%s/%s/scaling_governor", policies, e->d_name), a);
        if (!g)
            continue;
        if (*common && strcmp(common, g) != 0) {
            common = "mixed";
            break;
        }
        common = g;
    }
    if (dir)
        closedir(dir);
    return common;
}

const char *pk_policy_turbo(const char *root)
{
    int64_t v;
    if (pk_file_int(root, "sys/devices/system/cpu/intel_pstate/no_turbo", &v))
        return v ? "off" : "on";
    if (pk_file_int(root, "sys/devices/system/cpu/cpufreq/boost", &v))
        return v ? "on" : "off";
    return "";
}

const char *pk_policy_smt(const char *root)
{
    int64_t active;
    if (!pk_file_int(root, "sys/devices/system/cpu/smt/active", &active))
        return "";
    return active ? "on" : "off";
}

const char *pk_policy_thp(const char *root, struct pk_arena *a)
{
    const char *text = pk_file_text(root, "sys/kernel/mm/transparent_hugepage/enabled", a);
    const char *open = text ? strchr(text, '[') : NULL; /* "always [madvise] never" -> "madvise" */
    return open ? pk_strndup(a, open + 1, strcspn(open + 1, "]")) : "";
}
