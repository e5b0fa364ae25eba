/* Recorder process: runs whose recording process is gone are marked interrupted.
 *
 * A process is named by host, boot id with pid namespace, pid and start time. A run recorded on another host,
 * or in another pid namespace of this boot (a container), is left alone: nothing here can tell whether it
 * still goes. */
#include "store/db.h"

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

enum pk_code pk_db_mark_interrupted(struct pk_store *s, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_recorder_process me, of;
    struct pk_rows rows;
    pk_db_this_process(&me);
    const struct pk_param host = pk_param_text(":host", me.host);
    const size_t boot = strcspn(me.boot_id, " ") + 1;
    enum pk_code code = pk_db_query(s, "running_runs", &host, 1, &a, &rows, err);
    for (size_t i = 0; !code && i < rows.n; i++) {
        const char *boot_id;
        int64_t run;
        pk_db_row(&rows, i, "itii", &run, &boot_id, &of.pid, &of.start_ticks);
        const bool other_boot = strncmp(me.boot_id, boot_id, boot) != 0;
        const bool gone = strcmp(me.boot_id, boot_id) == 0 && start_ticks(of.pid) != of.start_ticks;
        if (!other_boot && !gone)
            continue;
        code = pk_db_begin(s, "mark a killed run as interrupted", err);
        if (!code)
            code = pk_db_end(s, pk_db_run(s, err, "mark_interrupted", "i", run), err);
    }
    return code;
}
