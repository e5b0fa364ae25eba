/* Spool: appending slices to a file. */
#include "bench/record/spool.h"

#include "base/file.h"
#include "wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A regular file of this user and no link: a name in a temporary directory can be anybody's. -1 and errno otherwise. */
static int open_own(const char *path)
{
    struct stat st;
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
    if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_nlink == 1))
        return fd;
    close(fd);
    errno = EPERM;
    return -1;
}

/* A line and, behind it, those of a slice, if there is one. */
static enum pk_code append_to(const char *path, json_t *line, const struct pk_slice *s, struct pk_err *err)
{
    PK_CLEANUP_FD int fd = open_own(path);
    off_t before = fd < 0 ? -1 : lseek(fd, 0, SEEK_END);
    if (before < 0) {
        json_decref(line);
        pk_fail(err, PK_E_IO, "spool %s: cannot open it", path);
        return pk_why(err, "%s", strerror(errno));
    }
    if (pk_wire_write(fd, line, err) == PK_OK && (!s || pk_wire_slice(fd, -1, s, err) == PK_OK) &&
        fsync(fd) == 0)
        return PK_OK;
    if (before == 0)
        unlink(path);
    else if (ftruncate(fd, before) != 0)
        return pk_within(err, "spool %s ends with an incomplete slice", path);
    return pk_within(err, "spool %s", path);
}

static json_t *line_of(const struct pk_spool_place *place)
{
    json_t *settings = json_array();
    for (size_t i = 0; i < place->n_settings; i++)
        json_array_append_new(settings, json_pack("[i, s, s]", place->settings[i].invocation,
                                                  place->settings[i].key, place->settings[i].value));
    return json_pack("{s:s, s:s, s:I, s:I, s:s, s:i, s:s, s:s, s:s, s:s, s:o}", "type", "spool", "run",
                     place->run, "run_id", (json_int_t)place->run_id, "case_id", (json_int_t)place->case_id,
                     "experiment", place->c->experiment, "revision", place->c->revision, "variant",
                     place->c->variant, "device", place->c->device, "axes", place->c->axes, "identity",
                     place->c->identity, "settings", settings);
}

enum pk_code pk_spool_end(const char *path, const struct pk_spool_end *e, struct pk_err *err)
{
    return append_to(path,
                     json_pack("{s:s, s:s, s:I, s:s, s:I, s:I}", "type", "run_end", "run", e->run, "run_id",
                               (json_int_t)e->run_id, "status", e->status, "since_ns",
                               (json_int_t)e->since_ns, "slices", (json_int_t)e->slices),
                     NULL, err);
}

enum pk_code pk_spool_append(const struct pk_spool_place *place, const struct pk_slice *s, struct pk_arena *a,
                             const char **path, struct pk_err *err)
{
    const char *tmp = getenv("TMPDIR");
    const char *const candidates[] = {
        *path,
        pk_printf(a, "%s.spool-%" PRId64 ".jsonl", place->store_path, place->run_id),
        pk_printf(a, "%s/perfkit-spool-%" PRId64 "-%d.jsonl", tmp && *tmp ? tmp : "/tmp", place->run_id,
                  (int)getpid()),
    };
    for (size_t i = 0; i < sizeof candidates / sizeof *candidates; i++)
        if (candidates[i] && append_to(candidates[i], line_of(place), s, err) == PK_OK) {
            *path = candidates[i];
            return PK_OK;
        }
    pk_fix(err, "the slice is lost: make room (df, ulimit -f), then continue the run with --resume");
    err->code = PK_E_IO;
    return PK_E_IO;
}
