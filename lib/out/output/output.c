/* Output: the file of -o, which is written completely or not at all. */
#include "out/output/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The temporary file of this process, for those who end it at once. */
static const char *volatile unfinished;

void pk_output_forget(void)
{
    if (unfinished)
        unlink(unfinished);
}

enum pk_code pk_output_cannot(const char *path, struct pk_err *err)
{
    int reason = errno;
    pk_fail(err, reason == EINTR ? PK_E_INTERRUPTED : PK_E_IO, "cannot write the file '%.300s'", path);
    pk_why_errno(err, reason);
    return pk_fix(err, reason == EINTR    ? "a signal ended it: run the command again"
                       : reason == ENOENT ? "create its directory first"
                       : reason == EISDIR ? "give a file, not a directory"
                       : reason == ENOSPC ? "free some space on that disk"
                                          : "give a file in a directory that you may write");
}

enum pk_code pk_output_open(const char *path, struct pk_arena *a, struct pk_output *o, struct pk_err *err)
{
    struct stat st;
    bool exists = !stat(path, &st);
    o->path = o->temporary = NULL;
    o->f = NULL;
    if (exists && S_ISDIR(st.st_mode)) {
        errno = EISDIR;
        return pk_output_cannot(path, err);
    }
    if (exists && !S_ISREG(st.st_mode)) { /* /dev/stdout, a pipe: written in place */
        o->path = path;
        o->f = fopen(path, "we");
        return o->f ? PK_OK : pk_output_cannot(path, err);
    }
    if (exists && access(path, W_OK))
        return pk_output_cannot(path, err);
    char real[4096]; /* PATH_MAX: through symbolic links, so that the link stays one */
    o->path = pk_strdup(a, exists && realpath(path, real) ? real : path);
    o->temporary = pk_printf(a, "%s.%ld.tmp", o->path, (long)getpid());
    int fd = open(o->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, exists ? st.st_mode & 0777 : 0666);
    o->f = fd < 0 ? NULL : fdopen(fd, "w");
    unfinished = o->f ? o->temporary : NULL;
    return o->f ? PK_OK : pk_output_cannot(path, err);
}

enum pk_code pk_output_keep(struct pk_output *o, struct pk_err *err)
{
    if (!o->path)
        return PK_OK;
    const bool torn = ferror(o->f);
    const bool failed = fclose(o->f) || torn || (o->temporary && rename(o->temporary, o->path));
    if (failed) {
        pk_output_cannot(o->path, err);
        pk_output_forget();
    }
    unfinished = NULL;
    o->path = NULL;
    return failed ? err->code : PK_OK;
}

void pk_output_discard(struct pk_output *o)
{
    if (o->path && o->f) {
        fclose(o->f);
        pk_output_forget();
    }
    unfinished = NULL;
    if (o->made)
        rmdir(o->directory); /* if it is empty */
}
