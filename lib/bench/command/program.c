/* Program: whether a command can be run at all, before anything is recorded. */
#include "bench/command/command.h"

#include "json/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool can_run(const char *path)
{
    struct stat st;
    return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

const char *pk_program_path(const char *program, struct pk_arena *a)
{
    const char *path = getenv("PATH");
    if (strchr(program, '/'))
        return program;
    for (const char *p = path ? path : "/bin:/usr/bin"; p; p = strchr(p, ':') ? strchr(p, ':') + 1 : NULL) {
        size_t n = strcspn(p, ":");
        const char *file = pk_printf(a, "%.*s/%s", n ? (int)n : 1, n ? p : ".", program);
        if (can_run(file))
            return file;
    }
    return "";
}

enum pk_code pk_program_find(const char *const *argv, struct pk_err *err)
{
    for (size_t i = 0; argv[i]; i++) {
        PK_JSON_CLEANUP json_t *utf8 = json_string(argv[i]);
        if (!utf8) {
            pk_fail(err, PK_E_USAGE, "word %zu of the command is not UTF-8", i + 1);
            pk_why(err, "commands are recorded as text");
            return pk_fix(err, "put the bytes in a script and run the script");
        }
    }
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (can_run(pk_program_path(argv[0], &a)))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "cannot run '%s'", argv[0]);
    if (strchr(argv[0], '/'))
        pk_why(err, "%s", access(argv[0], F_OK) ? strerror(errno) : "it is not an executable file");
    else
        pk_why(err, "no folder in PATH has an executable of this name");
    return strchr(argv[0], ' ')
               ? pk_fix(err, "a shell line needs a shell: perfkit exec -- sh -c '%s'", argv[0])
               : pk_fix(err, "check the spelling, or give its path");
}
