/* Open: every way a path can turn into a store, or into a message that says why not. */
#include "store/db.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATIENCE_MS = 60000, READER_PATIENCE_MS = 1000 };

struct pk_store_file {
    const char *path;
    enum pk_store_mode mode;
    bool exists;
    int64_t bytes;
};

static bool writes(enum pk_store_mode mode)
{
    return mode == PK_STORE_WRITE || mode == PK_STORE_UPDATE;
}

/* ":memory:" for what is not to be saved; any other name is a file's. */
static bool in_memory(const char *path)
{
    return strcmp(path, ":memory:") == 0;
}

static enum pk_code missing(const char *path, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "there is no store at %s", path);
    pk_why(err, "nothing has been recorded there yet");
    return pk_fix(err, "`perfkit run attention-scaling` records a first run; --db FILE names another store");
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

/* The directory of a store that nobody named is ours to make; one that the user named is not. */
static enum pk_code make_directory(const char *path, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *slash = strrchr(path, '/'), *own = NULL;
    if (!slash || slash == path)
        return PK_OK;
    char *dir = pk_strndup(&a, path, (size_t)(slash - path));
    bool ours =
        !getenv("PERFKIT_DB") && pk_store_path(&a, NULL, &own, err) == PK_OK && strcmp(own, path) == 0;
    int e = access(dir, F_OK) == 0 ? 0 : ours ? make_parents(dir) : errno;
    if (e == 0)
        return PK_OK;
    pk_fail(err, PK_E_IO, "store %s: cannot create it", path);
    pk_why(err, "its directory %s: %s", dir, strerror(e));
    return pk_fix(err, e == ENOENT ? "make the directory, or name another file with --db"
                                   : "name another file with --db");
}

static enum pk_code look(struct pk_store_file *f, struct pk_err *err)
{
    struct stat st;
    if (in_memory(f->path))
        return PK_OK;
    f->exists = stat(f->path, &st) == 0;
    int e = errno;
    f->bytes = f->exists ? st.st_size : 0;
    if (!f->exists && e == ENOENT && f->mode != PK_STORE_WRITE)
        return missing(f->path, err);
    if (!f->exists && e == ENOENT)
        return make_directory(f->path, err);
    if (f->exists && !S_ISDIR(st.st_mode) && (f->bytes > 0 || f->mode == PK_STORE_WRITE))
        return PK_OK;
    pk_fail(err, PK_E_IO, "store %s: cannot open it", f->path);
    if (!f->exists)
        pk_why(err, "%s", strerror(e));
    else
        pk_why(err, S_ISDIR(st.st_mode) ? "it is a directory" : "it is empty: nothing was recorded in it");
    return pk_fix(err, "name a file with --db, for example --db perfkit.db");
}

/* A journal with a header is a transaction in flight, or one that a killed writer left: an immutable reader
 * would see half of it. */
static enum pk_code no_hot_journal(const char *path, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_CLEANUP_FD int fd = open(pk_printf(&a, "%s-journal", path), O_RDONLY | O_CLOEXEC);
    unsigned char magic = 0;
    if (fd < 0 || read(fd, &magic, 1) != 1 || magic == 0)
        return PK_OK;
    pk_fail(err, PK_E_IO, "store %s: refused", path);
    pk_why(err, "a transaction is open or was cut short (%s-journal)", path);
    return pk_fix(err, "wait for its writer; if that was killed, `perfkit db check --db %s` repairs it",
                  path);
}

static enum pk_code open_file(struct pk_store *s, const struct pk_store_file *f, struct pk_err *err)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const char *name = s->path;
    if (f->mode == PK_STORE_STRANGER) {
        if (no_hot_journal(s->path, err))
            return err->code;
        name = pk_db_stranger_uri(&s->arena, s->path);
        flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    } else {
        flags |=
            SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | (f->mode == PK_STORE_WRITE ? SQLITE_OPEN_CREATE : 0);
        bool plain = s->path[0] == '/' || s->path[0] == '.' || in_memory(s->path); /* no "file:..." */
        name = plain ? s->path : pk_printf(&s->arena, "./%s", s->path);
    }
    s->doing = "open it";
    if (sqlite3_open_v2(name, &s->db, flags, NULL) != SQLITE_OK)
        return pk_db_fail(s, err);
    return PK_OK;
}

static enum pk_code configure(struct pk_store *s, struct pk_err *err)
{
    pk_store_patience(s, PATIENCE_MS);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    if (s->mode == PK_STORE_STRANGER && pk_db_restrain(s, err))
        return err->code;
    return pk_db_script(s, "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY", err);
}

/* A file that is SQLite's but not ours, or of another version. */
static enum pk_code check_header(struct pk_store *s, bool *fresh, struct pk_err *err)
{
    int64_t id, version, objects;
    if (pk_db_int(s, err, &id, 0, "PRAGMA application_id", "") ||
        pk_db_int(s, err, &version, 0, "PRAGMA user_version", "") ||
        pk_db_int(s, err, &objects, 0, "SELECT count(*) FROM sqlite_schema", ""))
        return err->code;
    *fresh = objects == 0 && id == 0;
    s->found_version = (int)version;
    int newest = pk_db_newest_version();
    if (*fresh && s->mode == PK_STORE_WRITE)
        return PK_OK;
    if (id != PK_DB_APPLICATION_ID) {
        pk_fail(err, PK_E_IO, "store %s: refused", s->path);
        pk_why(err, *fresh ? "it is an empty database: nothing was recorded in it"
                           : "it is a SQLite database of another program");
        return pk_fix(err, "name a perfkit store with --db");
    }
    if (version > newest) {
        pk_fail(err, PK_E_IO, "store %s: refused", s->path);
        pk_why(err, "its schema is version %lld, from a newer perfkit; this one knows versions up to %d",
               (long long)version, newest);
        return pk_fix(err, "use that newer perfkit, or another file with --db");
    }
    return PK_OK;
}

/* Views are built over the newest tables: an older file must be migrated first, which a reader may not do. */
static enum pk_code check_version(struct pk_store *s, struct pk_err *err)
{
    int64_t version;
    if (pk_db_int(s, err, &version, 0, "PRAGMA user_version", ""))
        return err->code;
    if (version == pk_db_newest_version())
        return PK_OK;
    pk_fail(err, PK_E_IO, "store %s: cannot read it", s->path);
    pk_why(err, "its schema is version %lld, this perfkit reads version %d, and the file cannot be changed",
           (long long)version, pk_db_newest_version());
    return pk_fix(err, "copy it and run `perfkit db migrate --db COPY`");
}

/* What a writer owes the file. A reader does it too when it can do so at once, and goes on when it cannot. */
static enum pk_code tidy(struct pk_store *s, struct pk_err *err)
{
    if (s->mode == PK_STORE_READ)
        pk_store_patience(s, READER_PATIENCE_MS);
    enum pk_code code = pk_db_migrate(s, err);
    if (code == PK_OK)
        code = pk_db_reap(s, err);
    pk_store_patience(s, PATIENCE_MS);
    return s->mode == PK_STORE_READ ? PK_OK : code;
}

static enum pk_code prepare(struct pk_store *s, struct pk_err *err)
{
    bool fresh, writable;
    if (configure(s, err) || check_header(s, &fresh, err))
        return err->code;
    writable = s->mode != PK_STORE_STRANGER && sqlite3_db_readonly(s->db, "main") == 0;
    if (writes(s->mode) && !writable) {
        pk_fail(err, PK_E_IO, "store %s: cannot write it", s->path);
        pk_why(err, "the file is read-only for this user");
        return pk_fix(err, "change its permissions, or name another file with --db");
    }
    /* persist: a transaction then costs one fsync less than deleting the journal, and none of a directory */
    if (writes(s->mode) &&
        pk_db_script(s, "PRAGMA journal_mode = PERSIST; PRAGMA journal_size_limit = 1048576", err))
        return err->code;
    if (writable && tidy(s, err))
        return err->code;
    if (check_version(s, err) ||
        (s->mode == PK_STORE_STRANGER && pk_db_verify_tables(s, "main", s->path, err)))
        return err->code;
    return pk_db_temp_views(s, err);
}

enum pk_code pk_store_open(const char *path, enum pk_store_mode mode, struct pk_store **out,
                           struct pk_err *err)
{
    struct pk_store_file f = {.path = path, .mode = mode};
    *out = NULL;
    if (look(&f, err))
        return err->code;
    struct pk_arena a = {0};
    struct pk_store *s = pk_new(&a, struct pk_store);
    s->path = pk_strdup(&a, path);
    s->mode = mode;
    s->arena = a;
    if (open_file(s, &f, err) || prepare(s, err)) {
        pk_store_close(s);
        return err->code;
    }
    *out = s;
    return PK_OK;
}

/* SQLite's own handler sleeps in steps of up to 100 ms, so that most of a lock's time nobody has it: eight writers then record a tenth
 * of what they can. Short random steps at first, long ones for a lock that stays. */
static int wait_for_lock(void *store, int tries)
{
    struct pk_store *s = store;
    uint64_t now = pk_clock_ns();
    if (tries == 0)
        s->waiting_since_ns = now;
    uint64_t waited = now - s->waiting_since_ns;
    if (waited >= (uint64_t)s->patience_ms * PK_NS_PER_MS)
        return 0;
    uint64_t step = waited < PK_NS_PER_S ? 100000 + now % 400000 : 10 * PK_NS_PER_MS;
    nanosleep(&(struct timespec){.tv_nsec = (long)step}, NULL);
    return 1;
}

void pk_store_patience(struct pk_store *s, int64_t ms)
{
    s->patience_ms = ms;
    sqlite3_busy_handler(s->db, wait_for_lock, s);
}

const char *pk_store_file(const struct pk_store *s)
{
    return s->path;
}

void pk_store_versions(const struct pk_store *s, int *found, int *now)
{
    *found = s->found_version;
    *now = pk_db_newest_version();
}

void pk_store_close(struct pk_store *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_cached; i++)
        sqlite3_finalize(s->cached[i].stmt);
    if (s->db && writes(s->mode)) {
        /* removes the journal when nobody else uses the file; never waits for it */
        pk_store_patience(s, 0);
        sqlite3_exec(s->db, "PRAGMA journal_mode = DELETE", NULL, NULL, NULL);
    }
    sqlite3_close(s->db);
    struct pk_arena a = s->arena;
    pk_arena_free(&a);
}
