/* File: checks a store's path before SQLite opens it and after it failed, because SQLite does not name the file or directory that is the
 * cause. */
#include "store/db.h"

#include "base/file.h"
#include "store/store.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

enum {
    FOREIGN_TRIES = 100
}; /* of 10 ms: a hot journal of another user is of a transaction in flight, or stays */

#define ANOTHER_FILE "give another file with --db FILE or PERFKIT_DB"

/* ":memory:" for what is not to be saved; any other name is a file's. */
bool pk_db_in_memory(const char *path)
{
    return strcmp(path, ":memory:") == 0;
}

/* "." when the path has none. */
static char *directory_of(const char *path, struct pk_arena *a)
{
    const char *slash = strrchr(path, '/');
    return slash ? pk_strndup(a, path, slash == path ? 1 : (size_t)(slash - path)) : pk_strdup(a, ".");
}

/* Makes every directory above a path; 0 or an errno. */
static int make_parents(char *dir)
{
    for (char *p = dir + 1;; p++) {
        char c = *p;
        if (c != '/' && c != '\0')
            continue;
        *p = '\0';
        bool made = mkdir(dir, 0777) == 0 || errno == EEXIST;
        *p = c;
        if (!made || c == '\0')
            return made ? 0 : errno;
    }
}

/* Whether make_parents would; 0 or an errno. */
static int may_make_parents(char *dir)
{
    while (access(dir, F_OK) != 0) {
        char *slash = strrchr(dir, '/');
        if (errno != ENOENT || !slash)
            return errno;
        slash[slash == dir] = '\0';
    }
    return access(dir, W_OK | X_OK) == 0 ? 0 : errno;
}

/* The missing home directory of the path, which perfkit does not create. */
static const char *missing_home(const char *path)
{
    const char *home = getenv("HOME");
    size_t n = home ? strlen(home) : 0;
    return n && strncmp(path, home, n) == 0 && path[n] == '/' && access(home, F_OK) != 0 ? home : NULL;
}

/* The default path of the store; NULL without a home directory. */
static const char *default_place(struct pk_arena *a)
{
    const char *data = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    if (data && *data == '/') /* relative ones are to be ignored: XDG base directories 0.8 */
        return pk_printf(a, "%s/perfkit/perfkit.db", data);
    return home && *home == '/' ? pk_printf(a, "%s/.local/share/perfkit/perfkit.db", home) : NULL;
}

static bool is_default_place(const char *path)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *own = default_place(&a);
    return own && strcmp(own, path) == 0;
}

/* The directory of a store to be: it is there, or one that we make. `look`: only look whether we could. */
static enum pk_code make_directory(const char *path, bool look, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    char *dir = directory_of(path, &a);
    if (access(dir, F_OK) == 0)
        return PK_OK;
    int e = errno;
    /* a store that nobody named is at its default place, whose directory is ours to make; one that the user named is not */
    const bool ours = e == ENOENT && !getenv("PERFKIT_DB") && is_default_place(path);
    const char *home = ours ? missing_home(path) : NULL;
    char *scratch = pk_strdup(&a, dir);
    if (ours && !home && (e = look ? may_make_parents(scratch) : make_parents(scratch)) == 0)
        return PK_OK;
    pk_fail(err, PK_E_IO, "store %s: cannot create it", path);
    if (home)
        pk_why(err, "the home directory %s does not exist", home);
    else if (e == ENOENT)
        pk_why(err, "its directory %s does not exist", dir);
    else
        pk_why(err, "its directory %s: %s", dir, strerror(e));
    return pk_fix(err, "%s" ANOTHER_FILE, e == ENOENT && !ours ? "create the directory, or " : "");
}

enum pk_code pk_db_check_path(const char *path, enum pk_store_mode mode, struct pk_err *err)
{
    struct stat st;
    if (pk_db_in_memory(path))
        return PK_OK;
    if (stat(path, &st) != 0) {
        if (errno == ENOENT && mode == PK_STORE_WRITE)
            return make_directory(path, false, err);
        if (errno == ENOENT) {
            pk_fail(err, PK_E_NOTHING, "there is no store at %s", path);
            pk_why(err, "nothing has been recorded in it yet");
            return pk_fix(
                err, "`perfkit run attention-scaling` records a first run; --db FILE names another store");
        }
        pk_fail(err, PK_E_IO, "store %s: cannot open it", path);
        pk_why(err, "%s", strerror(errno));
        return pk_fix(err, ANOTHER_FILE);
    }
    if (S_ISREG(st.st_mode) && (st.st_size > 0 || mode == PK_STORE_WRITE))
        return PK_OK;
    pk_fail(err, PK_E_IO, "store %s: cannot open it", path);
    pk_why(err, S_ISDIR(st.st_mode)    ? "it is a directory"
                : !S_ISREG(st.st_mode) ? "it is not a regular file"
                                       : "it is empty: nothing was recorded in it");
    return pk_fix(err, S_ISREG(st.st_mode)
                           ? "record in it first (`perfkit run`), or name another store with --db"
                           : "name a file with --db, for example --db perfkit.db");
}

enum pk_code pk_db_may_create(const char *path, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *dir = directory_of(path, &a);
    if (make_directory(path, true, err))
        return err->code;
    if (access(dir, F_OK) != 0)
        return PK_OK;
    /* a file of ours beside where the store would be, for a moment: access() does not know what a file system refuses */
    char *beside = pk_printf(&a, "%s/.perfkit-XXXXXX", dir);
    PK_CLEANUP_FD int fd = mkostemp(beside, O_CLOEXEC);
    if (fd >= 0 && unlink(beside) == 0)
        return PK_OK;
    pk_fail(err, PK_E_IO, "store %s: cannot create it", path);
    return pk_db_explain_access(path, err);
}

/* --- journals ----------------------------------------------------------------------------------------------------------
 *
 * What lies beside a file and is called a journal is played back into it by SQLite, and then removed: with a super-journal that it
 * names, whatever file that is. perfkit's transactions are of one file and name none. */

struct journal {
    const char *path;
    bool hot;   /* has a header: a transaction in flight, or one that a killed writer left */
    bool super; /* ends with the name of a super-journal */
    uid_t owner;
};

/* The path that SQLite forms: behind symbolic links. */
static const char *beside(const char *path, const char *suffix, struct pk_arena *a)
{
    char real[PATH_MAX];
    return pk_printf(a, "%s%s", realpath(path, real) ? real : path, suffix);
}

static enum pk_code refuse_beside(const char *path, const char *name, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_IO, "store %s: refused", path);
    pk_why(err, "%.300s %s", name, why);
    return pk_fix(err,
                  "do not open the file with SQLite; get it as perfkit wrote it, without what is beside it");
}

/* Opens nothing but a regular file, and waits for nobody at the other end of a pipe. */
static enum pk_code look_at_journal(const char *path, struct journal *j, struct pk_err *err)
{
    static const unsigned char magic[8] = {0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7};
    unsigned char first = 0, last[sizeof magic];
    struct stat st;
    PK_CLEANUP_FD int fd = open(j->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
        return PK_OK;
    if (fd < 0 ? errno != EACCES : fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        return refuse_beside(path, j->path, "is not a regular file", err);
    if (fd < 0)
        return refuse_beside(path, j->path, "may not be read by this user", err);
    j->owner = st.st_uid;
    j->hot = pread(fd, &first, 1, 0) == 1 && first != 0;
    j->super = st.st_size >= 16 &&
               pread(fd, last, sizeof last, st.st_size - (off_t)sizeof last) == (ssize_t)sizeof last &&
               memcmp(last, magic, sizeof last) == 0;
    return PK_OK;
}

/* A hot one of another user is refused, unless it is the owner's of the file: whoever may write into a directory may put it there. Another
 * user's transaction takes milliseconds. */
static enum pk_code look_before_writing(const char *path, struct pk_arena *a, struct pk_err *err)
{
    struct journal j = {.path = beside(path, "-journal", a)};
    struct stat st;
    const uid_t owner = stat(path, &st) == 0 ? st.st_uid : geteuid();
    for (int tries = 0;; tries++) {
        if (look_at_journal(path, &j, err))
            return err->code;
        if (j.hot && j.super)
            return refuse_beside(path, j.path, "names another file, which SQLite would remove", err);
        if (!j.hot || j.owner == geteuid() || j.owner == owner)
            return PK_OK;
        if (tries == FOREIGN_TRIES)
            return refuse_beside(path, j.path, "is of another user, and would be written into the store",
                                 err);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
}

enum pk_code pk_db_check_journal(const char *path, bool immutable, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct journal j = {.path = beside(path, "-journal", &a)}, wal = {.path = beside(path, "-wal", &a)},
                   shm = {.path = beside(path, "-shm", &a)};
    if (pk_db_in_memory(path))
        return PK_OK;
    if (!immutable)
        return look_before_writing(path, &a, err) || look_at_journal(path, &wal, err) ||
                       look_at_journal(path, &shm, err)
                   ? err->code
                   : PK_OK;
    if (look_at_journal(path, &j, err))
        return err->code;
    if (!j.hot)
        return PK_OK;
    if (j.super)
        return refuse_beside(path, j.path, "names another file, which SQLite would remove", err);
    pk_fail(err, PK_E_IO, "store %s: refused", path);
    pk_why(err, "a transaction is open or was interrupted (%s)", j.path);
    return pk_fix(
        err,
        "wait for the process that writes; if it was killed, `perfkit db check --db %s` repairs the file",
        path);
}

/* What is in the way of a writer; NULL = nothing that can be seen from here. */
static const char *unwritable(const char *path, const char *dir, struct pk_arena *a)
{
    if (access(path, F_OK) == 0 && access(path, W_OK) != 0)
        return pk_printf(a, "the file %s", path);
    return access(dir, W_OK | X_OK) != 0
               ? pk_printf(a, "the directory %s, in which its journal must be created,", dir)
               : NULL;
}

bool pk_db_may_write(const char *path)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    return pk_db_in_memory(path) || !unwritable(path, directory_of(path, &a), &a);
}

enum pk_code pk_db_explain_access(const char *path, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *dir = directory_of(path, &a), *what = unwritable(path, dir, &a);
    struct statvfs fs;
    if (access(path, F_OK) == 0 && access(path, R_OK) != 0) {
        pk_why(err, "this user may not read the file");
        return pk_fix(err, "change its permissions (chmod u+r %s), or " ANOTHER_FILE, path);
    }
    if (!what) {
        pk_why(err, "it, or its journal, cannot be opened");
        return pk_fix(err, "check what is in %s, or " ANOTHER_FILE, dir);
    }
    if (statvfs(dir, &fs) == 0 && fs.f_flag & ST_RDONLY) {
        pk_why(err, "%s is on a file system that is mounted read-only", what);
        return pk_fix(err, ANOTHER_FILE);
    }
    pk_why(err, "%s is read-only for this user", what);
    return pk_fix(err, "change its permissions (chmod u+w), or " ANOTHER_FILE);
}

bool pk_db_is_own(const char *path)
{
    struct stat st;
    return is_default_place(path) && stat(path, &st) == 0 && st.st_uid == geteuid();
}

enum pk_code pk_store_path(struct pk_arena *a, const char *option, const char **path, struct pk_err *err)
{
    const char *env = getenv("PERFKIT_DB");
    *path = option && *option ? option : env && *env ? env : default_place(a);
    if (*path)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "no location for the store");
    pk_why(err,
           "neither --db nor PERFKIT_DB is given, and neither XDG_DATA_HOME nor HOME is an absolute path");
    return pk_fix(err, "give a file: --db perfkit.db");
}
