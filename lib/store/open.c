/* Open: from a file to a store that is configured, migrated and known to be ours; what a connection may not do while it reads an
 * untrusted file; how it waits for another process's lock. */
#include "store/db.h"

#include "base/clock.h"
#include "base/text/buf.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

const char *pk_db_untrusted_uri(struct pk_arena *a, const char *path)
{
    struct pk_buf b = {.arena = a};
    pk_buf_str(&b, "file:");
    for (const char *p = path; *p; p++)
        if (strchr("%?#", *p))
            pk_buf_printf(&b, "%%%02X", *p);
        else
            pk_buf_char(&b, *p);
    pk_buf_str(&b, "?mode=ro&immutable=1");
    return pk_buf_text(&b);
}

/* --- waiting for a lock ------------------------------------------------------------------------------------------------ */

enum {
    HURRIED_TIMEOUT_MS = 1000, /* after Ctrl-C */
    SILENCE_MS = 1500,         /* a wait is not worth a word before */
};

/* SQLite's own handler sleeps in steps of up to 100 ms, so that most of a lock's time nobody has it: eight writers then record a tenth
 * of what they can. Short random steps at first, long ones for a lock that stays. */
static int wait_for_lock(void *store, int tries)
{
    struct pk_store *s = store;
    uint64_t now = pk_clock_ns();
    bool stop = s->wait.stop_flag && *s->wait.stop_flag;
    if (tries == 0) {
        s->waiting.since_ns = now;
        s->waiting.announced = false;
        s->waiting.hurried = stop;
    }
    s->waiting.stopped = stop;
    uint64_t waited_ms = (now - s->waiting.since_ns) / PK_NS_PER_MS;
    if (waited_ms >= (uint64_t)s->timeout_ms ||
        (stop && (!s->waiting.hurried || waited_ms >= HURRIED_TIMEOUT_MS)))
        return 0;
    if (s->wait.waiting && !s->waiting.announced && waited_ms >= SILENCE_MS) {
        s->waiting.announced = true;
        s->wait.waiting(s->wait.user, s->path, s->timeout_ms);
    }
    uint64_t step = waited_ms < 1000 ? 100000 + now % 400000 : 10 * PK_NS_PER_MS;
    nanosleep(&(struct timespec){.tv_nsec = (long)step}, NULL);
    pk_db_watch(s);
    return 1;
}

void pk_store_set_timeout(struct pk_store *s, int64_t ms)
{
    s->timeout_ms = ms;
    sqlite3_busy_handler(s->db, wait_for_lock, s);
}

/* --- opening ----------------------------------------------------------------------------------------------------------- */

enum { TIMEOUT_MS = 60000, READER_TIMEOUT_MS = 1000 };

static bool writes(enum pk_store_mode mode)
{
    return mode == PK_STORE_WRITE || mode == PK_STORE_UPDATE || mode == PK_STORE_MIGRATE;
}

/* create: also a file that is not there, in a mode that makes one. */
static enum pk_code open_file(struct pk_store *s, bool create, struct pk_err *err)
{
    int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    const char *name = s->path;
    if (pk_db_check_journal(s->path, s->mode == PK_STORE_UNTRUSTED, err))
        return err->code;
    if (s->mode == PK_STORE_UNTRUSTED) {
        name = pk_db_untrusted_uri(&s->arena, s->path);
        flags |= SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
    } else {
        flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI |
                 (create && s->mode == PK_STORE_WRITE ? SQLITE_OPEN_CREATE : 0);
        bool plain = s->path[0] == '/' || s->path[0] == '.' || pk_db_in_memory(s->path); /* no "file:..." */
        name = plain ? s->path : pk_printf(&s->arena, "./%s", s->path);
    }
    s->doing = "open it";
    /* SQLite's figures of memory, which nobody reads, take a lock per block. Once a store was opened, this has no effect. */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    if (sqlite3_open_v2(name, &s->db, flags, NULL) != SQLITE_OK)
        return pk_db_fail(s, err);
    pk_db_deny_effects(s);
    return PK_OK;
}

static enum pk_code configure(struct pk_store *s, struct pk_err *err)
{
    pk_store_set_timeout(s, s->timeout_ms);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_db_config(s->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    if (pk_db_functions(s, err))
        return err->code;
    pk_db_limit(s);
    return pk_db_exec(s, "configure", err);
}

/* The views are in the file itself: any SQLite client reads a version that this program does not know. Without -safe a view of a hostile
 * file can run commands in sqlite3: its function edit(). */
static enum pk_code refuse_version(const struct pk_store *s, long long version, struct pk_err *err)
{
    pk_fail(err, PK_E_IO, "store %s: refused", s->path);
    if (version > pk_db_newest_version())
        pk_why(err,
               "its schema is version %lld, from a newer perfkit; this perfkit supports versions up to %d",
               version, pk_db_newest_version());
    else
        pk_why(err,
               "its schema is version %lld, from before the first release; this perfkit supports versions "
               "from %d on",
               version, pk_db_first_version());
    return pk_fix(
        err, "use the perfkit that recorded it; or export it with `sqlite3 -safe -readonly -header -csv FILE "
             "'SELECT * FROM v_sample'`;"
             " or name another file with --db");
}

/* A file that is SQLite's but not ours, or of another version. Another process may be making it between these questions: what it holds
 * is asked first, since it gets its mark with its first table. */
static enum pk_code check_header(struct pk_store *s, struct pk_err *err)
{
    int64_t id, version, objects;
    if (pk_db_int(s, err, &objects, 0, "object_count", "") ||
        pk_db_int(s, err, &id, 0, "application_id", "") || pk_db_int(s, err, &version, 0, "user_version", ""))
        return err->code;
    const bool fresh = objects == 0 && id == 0;
    s->found_version = fresh ? 0 : (int)version;
    if (fresh && s->mode == PK_STORE_WRITE)
        return PK_OK;
    if (id != PK_DB_APPLICATION_ID) {
        pk_fail(err, PK_E_IO, "store %s: refused", s->path);
        pk_why(err, fresh ? "it is an empty database: nothing was recorded in it"
                          : "it is a SQLite database of another program");
        return pk_fix(err, fresh ? "record in it first (`perfkit run`), or name another store with --db"
                                 : "name a perfkit store with --db");
    }
    if (version < pk_db_first_version() || version > pk_db_newest_version())
        return refuse_version(s, (long long)version, err);
    return PK_OK;
}

/* Views are built over the newest tables: an older file must be migrated first. Nobody's file is migrated unless its user says so, but
 * for the one that is known to be of perfkit's making. */
static enum pk_code refuse_older(const struct pk_store *s, bool writable, struct pk_err *err)
{
    pk_fail(err, PK_E_IO, "store %s: cannot %s it", s->path, writes(s->mode) ? "write" : "read");
    pk_why(err, "its schema is version %d, this perfkit %s version %d, and %s", s->found_version,
           writes(s->mode) ? "writes" : "reads", pk_db_newest_version(),
           writable ? "only the default store is migrated automatically" : "the file cannot be changed");
    return writable ? pk_fix(err, "`perfkit db migrate --db %s`", s->path)
                    : pk_fix(err, "copy it and run `perfkit db migrate --db COPY`");
}

/* Configured, ours, of a version that may be used or migrated, and writable where the mode writes. */
static enum pk_code accept(struct pk_store *s, bool *writable, struct pk_err *err)
{
    if (configure(s, err) || check_header(s, err))
        return err->code;
    *writable =
        s->mode != PK_STORE_UNTRUSTED && sqlite3_db_readonly(s->db, "main") == 0 && pk_db_may_write(s->path);
    if (writes(s->mode) && !*writable) {
        pk_fail(err, PK_E_IO, "store %s: cannot write it", s->path);
        return pk_db_explain_access(s->path, err);
    }
    const bool older = s->found_version && s->found_version < pk_db_newest_version(); /* 0: a new file */
    const bool migrates = *writable && (s->mode == PK_STORE_MIGRATE || pk_db_is_own(s->path));
    return older && !migrates ? refuse_older(s, *writable, err) : PK_OK;
}

/* The file is of the newest version from here on, or it is refused. */
static enum pk_code verify(struct pk_store *s, struct pk_err *err)
{
    int64_t version;
    if (pk_db_int(s, err, &version, 0, "user_version", ""))
        return err->code;
    if (version != pk_db_newest_version())
        return refuse_older(s, false, err);
    return pk_db_verify_schema(s, false, version, s->path, err);
}

static enum pk_code prepare(struct pk_store *s, struct pk_err *err)
{
    const bool reader = s->mode == PK_STORE_READ;
    bool writable;
    if (accept(s, &writable, err))
        return err->code;
    if (reader)
        pk_store_set_timeout(s, READER_TIMEOUT_MS);
    if (writable && pk_db_migrate(s, err))
        return err->code;
    pk_store_set_timeout(s, TIMEOUT_MS);
    if (verify(s, err) || (writes(s->mode) && pk_db_exec(s, "keep_journal", err)))
        return err->code;
    /* what a writer owes the file; a reader does it when it can do so at once, and goes on when it cannot */
    if (reader)
        pk_store_set_timeout(s, READER_TIMEOUT_MS);
    enum pk_code code = writable ? pk_db_mark_interrupted(s, err) : PK_OK;
    pk_store_set_timeout(s, TIMEOUT_MS);
    if (code && (!reader || code == PK_E_INTERRUPTED))
        return code;
    s->own_views = PK_DB_VIEWS_STALE;
    return PK_OK;
}

static struct pk_store *new_store(const char *path, enum pk_store_mode mode, const struct pk_store_wait *wait)
{
    struct pk_arena a = {0};
    struct pk_store *s = pk_new(&a, struct pk_store);
    s->path = pk_strdup(&a, path);
    s->mode = mode;
    s->timeout_ms = TIMEOUT_MS;
    s->wait = wait ? *wait : (struct pk_store_wait){0};
    if (!s->wait.query_limit_ns)
        s->wait.query_limit_ns = PK_STORE_QUERY_LIMIT_S * (int64_t)PK_NS_PER_S;
    s->arena = a;
    return s;
}

static void drop(struct pk_store *s)
{
    for (size_t i = 0; i < s->n_cached; i++) /* while there is one, sqlite3_close refuses */
        sqlite3_finalize(s->cached[i].stmt);
    sqlite3_close(s->db);
    struct pk_arena a = s->arena;
    pk_arena_free(&a);
}

enum pk_code pk_store_try(const char *path, struct pk_err *err)
{
    bool writable;
    if (!pk_db_in_memory(path) && access(path, F_OK) != 0 && errno == ENOENT)
        return pk_db_may_create(path, err);
    if (pk_db_check_path(path, PK_STORE_WRITE, err))
        return err->code;
    struct pk_store *s = new_store(path, PK_STORE_WRITE, NULL);
    s->timeout_ms = READER_TIMEOUT_MS;
    enum pk_code code = open_file(s, false, err);
    if (!code)
        code = accept(s, &writable, err);
    if (!code && s->found_version) /* 0: nothing is in it yet */
        code = pk_db_verify_schema(s, false, s->found_version, s->path, err);
    drop(s);
    return code;
}

enum pk_code pk_store_open(const char *path, enum pk_store_mode mode, const struct pk_store_wait *wait,
                           struct pk_store **out, struct pk_err *err)
{
    *out = NULL;
    if (pk_db_check_path(path, mode, err))
        return err->code;
    struct pk_store *s = new_store(path, mode, wait);
    if (open_file(s, true, err) || prepare(s, err)) {
        pk_store_close(s);
        return err->code;
    }
    *out = s;
    return PK_OK;
}

enum pk_code pk_store_open_foreign(const char *path, const struct pk_store_wait *wait, struct pk_store **out,
                                   struct pk_err *err)
{
    *out = NULL;
    if (pk_db_check_path(path, PK_STORE_UNTRUSTED, err))
        return err->code;
    struct pk_store *s = new_store(path, PK_STORE_UNTRUSTED, wait);
    if (open_file(s, false, err) || configure(s, err)) {
        pk_store_close(s);
        return err->code;
    }
    *out = s;
    return PK_OK;
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
    if (s->db && writes(s->mode)) {
        /* removes the journal when nobody else uses the file; never waits for it */
        pk_store_set_timeout(s, 0);
        pk_db_attempt(s, "delete_journal");
    }
    drop(s);
}
