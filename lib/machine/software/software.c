/* Software: libraries of a program by ldd, modules of a Python for peers, a file system that locks. */
#include "machine/software/software.h"

#include "base/clock.h"
#include "base/program/output.h"
#include "base/text/buf.h"
#include "base/text/words.h"

#include <string.h>
#include <sys/vfs.h>

static const struct {
    unsigned magic;
    const char *name;
    bool network;
} filesystems[] = {
    {0xef53, "ext4", false},      {0x58465342, "xfs", false},   {0x9123683e, "btrfs", false},
    {0x2fc12fc1, "zfs", false},   {0x01021994, "tmpfs", false}, {0x794c7630, "overlay", false},
    {0x6969, "nfs", true},        {0xff534d42, "cifs", true},   {0xfe534d42, "smb2", true},
    {0x517b, "smb", true},        {0x0bd00bd0, "lustre", true}, {0x47504653, "gpfs", true},
    {0x00c36400, "ceph", true},   {0x65735546, "fuse", true},   {0x01021997, "9p", true},
    {0x19830326, "beegfs", true},
};

const char *pk_machine_filesystem(const char *path, struct pk_arena *a, bool *network)
{
    struct statfs fs;
    char *dir = pk_strdup(a, path);
    *network = false;
    while (statfs(*dir ? dir : "/", &fs) != 0) { /* what does not exist yet will be where its parent is */
        char *slash = strrchr(dir, '/');
        if (!slash)
            return "";
        *slash = '\0';
    }
    for (size_t i = 0; i < sizeof filesystems / sizeof *filesystems; i++)
        if ((unsigned)fs.f_type == filesystems[i].magic) {
            *network = filesystems[i].network;
            return filesystems[i].name;
        }
    return pk_printf(a, "type 0x%x", (unsigned)fs.f_type);
}

const char *pk_machine_python_module(const char *python, const char *module, struct pk_arena *a)
{
    /* Isolated: nothing from the working directory or PYTHONPATH. The module is not imported: its installation says its version. */
    const char *const argv[] = {python, "-I", "-c",
                                pk_printf(a,
                                          "import importlib.metadata, site, sys\n"
                                          "sys.path.append(site.getusersitepackages())\n"
                                          "print(importlib.metadata.version('%s'))",
                                          module),
                                NULL};
    const char *answer = pk_program_output(argv, 20 * PK_NS_PER_S, a);
    return answer ? pk_strndup(a, answer, strcspn(answer, "\n")) : NULL;
}

const char *pk_machine_libraries(const char *program, struct pk_arena *a)
{
    const char *const ldd[] = {"ldd", program, NULL};
    const char *output = pk_program_output(ldd, 2 * PK_NS_PER_S, a);
    struct pk_buf out = {.arena = a};
    if (!output || strlen(output) >= PK_PROGRAM_OUTPUT_BYTES)
        return NULL;
    for (const char *rest = output, *line; rest && (line = pk_next_part(&rest, '\n', a));) {
        line += strspn(line, "\t ");
        if (*line)
            pk_buf_printf(&out, "%.*s\n", (int)(strcspn(line, "(") - (strstr(line, " (") != NULL)), line);
    }
    return out.n && strstr(pk_buf_text(&out), "=>") ? pk_buf_text(&out) : NULL;
}
