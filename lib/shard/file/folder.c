/* Folder: a lock, and files that appear whole. */
#include "shard/file/folder.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

static enum pk_code failed(struct pk_err *err, const char *verb, const char *folder, const char *name,
                           int error)
{
    pk_fail(err, PK_E_IO, "cannot %s %s%s%s", verb, folder, name ? "/" : "", name ? name : "");
    pk_why_errno(err, error);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        return pk_fix(
            err,
            "free space, or choose another folder; the same command continues after the last whole shard");
    return pk_fix(err, "choose a folder that this user can write");
}

/* --- the folder --- */

static enum pk_code lock(struct pk_folder *f, struct pk_err *err)
{
    if (!flock(f->fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK)
        return PK_OK; /* some file systems have no locks */
    pk_fail(err, PK_E_USAGE, "another process is writing shards into %s", f->path);
    pk_why(err, "it holds the lock of the folder");
    return pk_fix(err, "wait until it ends, or choose another folder");
}

enum pk_code pk_folder_open(const char *path, bool make, struct pk_arena *a, struct pk_folder *out,
                            struct pk_err *err)
{
    *out = (struct pk_folder){.path = pk_strdup(a, path), .fd = -1};
    if (make && mkdir(path, 0777) && errno != EEXIST)
        return failed(err, "make the folder", path, NULL, errno);
    PK_CLEANUP_FD int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        const int error = errno;
        pk_fail(err, PK_E_USAGE, "cannot open the folder %s", path);
        pk_why_errno(err, error);
        return pk_fix(err, "give the folder of the shards");
    }
    out->fd = fd;
    if (make && lock(out, err)) {
        out->fd = -1;
        return err->code;
    }
    fd = -1;
    return PK_OK;
}

void pk_folder_close(const struct pk_folder *f)
{
    if (f->path && f->fd >= 0)
        close(f->fd);
}

int64_t pk_folder_size(const struct pk_folder *f, const char *name)
{
    struct stat st;
    if (fstatat(f->fd, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? -1 : -2;
    return S_ISREG(st.st_mode) ? st.st_size : -2;
}

static enum pk_code unreadable(struct pk_err *err, const struct pk_folder *f, const char *name,
                               const char *why)
{
    pk_fail(err, PK_E_USAGE, "cannot read %s/%s", f->path, name);
    pk_why(err, "%s", why);
    return pk_fix(err, "give a folder that perfkit wrote");
}

enum pk_code pk_folder_read(const struct pk_folder *f, const char *name, size_t limit, struct pk_arena *a,
                            char **text, size_t *n, struct pk_err *err)
{
    const int64_t size = pk_folder_size(f, name);
    *text = NULL;
    if (size == -1)
        return PK_OK;
    if (size < 0)
        return unreadable(err, f, name, "it is not a regular file");
    if ((uint64_t)size > limit)
        return unreadable(err, f, name, "it is longer than perfkit writes");
    PK_CLEANUP_FD const int fd = openat(f->fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return unreadable(err, f, name, strerror(errno));
    char *s = pk_alloc(a, (size_t)size + 1);
    ssize_t got;
    for (*n = 0; *n < (size_t)size && (got = read(fd, s + *n, (size_t)size - *n)) > 0;)
        *n += (size_t)got;
    *text = s;
    return PK_OK;
}

void pk_folder_remove(const struct pk_folder *f, const char *name)
{
    unlinkat(f->fd, name, 0);
}

/* --- a file --- */

static enum pk_code fails(struct pk_new_file *w, const char *verb, int error, struct pk_err *err)
{
    pk_new_file_abandon(w);
    return failed(err, verb, w->folder->path, w->name, error);
}

enum pk_code pk_new_file_begin(const struct pk_folder *f, const char *name, struct pk_new_file *out,
                               struct pk_err *err)
{
    *out = (struct pk_new_file){.folder = f, .name = name, .fd = -1};
    snprintf(out->temporary, sizeof out->temporary, ".%s.tmp", name);
    unlinkat(f->fd, out->temporary, 0); /* of a process that was killed */
    out->fd = openat(f->fd, out->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
    return out->fd < 0 ? fails(out, "write", errno, err) : PK_OK;
}

enum pk_code pk_new_file_write(struct pk_new_file *w, const void *from, size_t n, uint64_t at,
                               struct pk_err *err)
{
    for (size_t done = 0; done < n;) {
        const ssize_t put = pwrite(w->fd, (const char *)from + done, n - done, (off_t)(at + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return fails(w, "write", put ? errno : ENOSPC, err);
        done += (size_t)put;
    }
    w->waiting_bytes += n;
    if (w->waiting_bytes >= PK_WRITEBACK_BYTES) {
        sync_file_range(w->fd, 0, 0, SYNC_FILE_RANGE_WRITE); /* starts; fsync reports what fails */
        w->waiting_bytes = 0;
    }
    return PK_OK;
}

enum pk_code pk_new_file_commit(struct pk_new_file *w, struct pk_err *err)
{
    if (fsync(w->fd))
        return fails(w, "write", errno, err);
    if (renameat(w->folder->fd, w->temporary, w->folder->fd, w->name))
        return fails(w, "name", errno, err);
    close(w->fd);
    w->fd = -1;
    return fsync(w->folder->fd) && errno != EINVAL ? failed(err, "sync", w->folder->path, w->name, errno)
                                                   : PK_OK;
}

void pk_new_file_abandon(struct pk_new_file *w)
{
    if (w->fd < 0)
        return;
    close(w->fd);
    unlinkat(w->folder->fd, w->temporary, 0);
    w->fd = -1;
}
