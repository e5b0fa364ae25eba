/* Reap: runs whose recording process is gone are marked interrupted.
 *
 * A process is named by host, boot id with pid namespace, pid and start time. A run recorded on another host,
 * or in another pid namespace of this boot (a container), is left alone: nothing here can tell whether it
 * still goes. */
#include "store/db.h"

#include "base/clock.h"
#include "base/file.h"

#include <inttypes.h>
#include <string.h>

/* Field 22 of /proc/PID/stat; 0 when there is no such process, or one that has ended and that its parent has not waited for. The command
 * name may hold anything, so count from the last ')'. */
static int64_t start_ticks(int64_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    PK_CLEANUP_FILE FILE *f = fopen(path, "re");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    text[n] = '\0';
    const char *p = strrchr(text, ')');
    if (p && (!strncmp(p, ") Z", 3) || !strncmp(p, ") X", 3)))
        return 0;
    for (int field = 2; p && field < 22; field++)
        p = strchr(p + 1, ' ');
    int64_t ticks = 0;
    return p && sscanf(p, "%" SCNd64, &ticks) == 1 ? ticks : 0;
}

void pk_db_this_process(struct pk_recorder_process *p)
{
    *p = (struct pk_recorder_process){.pid = getpid(), .start_ticks = start_ticks(getpid())};
    gethostname(p->host, sizeof p->host - 1);
    PK_CLEANUP_FILE FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    char boot[37] = "", ns[20] = "";
    if (f && fscanf(f, "%36s", boot) != 1)
        boot[0] = '\0';
    if (readlink("/proc/self/ns/pid", ns, sizeof ns - 1) < 0)
        ns[0] = '\0';
    snprintf(p->boot_id, sizeof p->boot_id, "%s %s", boot, ns);
}

static bool is_dead(const struct pk_recorder_process *me, const char *boot_id, int64_t pid, int64_t ticks)
{
    size_t boot = strcspn(me->boot_id, " ");
    if (strncmp(me->boot_id, boot_id, boot + 1) != 0)
        return true;
    return strcmp(me->boot_id, boot_id) == 0 && start_ticks(pid) != ticks;
}

static enum pk_code mark(struct pk_store *s, int64_t run, struct pk_err *err)
{
    if (pk_db_begin(s, "mark a killed run as interrupted", err))
        return err->code;
    enum pk_code code = pk_db_run(s, err, "mark_interrupted", "i", run);
    return pk_db_end(s, code, err);
}

enum pk_code pk_db_reap(struct pk_store *s, struct pk_err *err)
{
    struct pk_recorder_process me;
    pk_db_this_process(&me);
    for (int64_t after = 0, run; after >= 0; after = run) {
        sqlite3_stmt *stmt;
        if (pk_db_stmt(s, "next_running", &stmt, err))
            return err->code;
        sqlite3_bind_text(stmt, 1, me.host, -1, SQLITE_STATIC);
        sqlite3_bind_int64(stmt, 2, after);
        int rc = sqlite3_step(stmt);
        run = rc == SQLITE_ROW ? sqlite3_column_int64(stmt, 0) : -1;
        const char *boot_id = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 1) : NULL;
        bool dead =
            boot_id && is_dead(&me, boot_id, sqlite3_column_int64(stmt, 2), sqlite3_column_int64(stmt, 3));
        if (sqlite3_reset(stmt) != SQLITE_OK)
            return pk_db_fail(s, err);
        if (dead && mark(s, run, err))
            return err->code;
    }
    return PK_OK;
}
