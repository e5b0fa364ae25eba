/* Store: opens the store for a command and reports when it has to wait for a lock. */
#include "cmd/cmd.h"

#include "machine/software/software.h"

#include <string.h>

/* Most waits are for another perfkit's slice and over before anybody wonders. */
static void waiting(void *app, const char *path, int64_t timeout_ms)
{
    pk_print_note(app, "waiting for the store %s, another process holds it (up to %.0f s; Ctrl-C to stop)",
                  path, (double)timeout_ms / 1e3);
}

static struct pk_store_wait wait_of(struct pk_app *app)
{
    return (struct pk_store_wait){waiting, app, &pk_stop_flag, app->globals->query_limit_ns};
}

enum pk_code pk_open_store(struct pk_app *app, const char *path, enum pk_store_mode mode, struct pk_store **s,
                           struct pk_err *err)
{
    const struct pk_store_wait wait = wait_of(app);
    pk_must_finish |= mode != PK_STORE_READ;
    if (!path && pk_store_path(app->arena, app->globals->db, &path, err))
        return err->code;
    return pk_store_open(path, mode, &wait, s, err);
}

enum pk_code pk_run_ref(struct pk_app *app, const char **ref, struct pk_err *err)
{
    static const char merge_base[] = "merge-base:", of_git[] = "commit:";
    const char *commit;
    if (strncmp(*ref, of_git, strlen(of_git)) == 0) {
        commit = pk_machine_commit(*ref + strlen(of_git), app->arena);
        *ref =
            commit ? pk_printf(app->arena, "commit:%s", commit) : *ref; /* it may be of another repository */
        return PK_OK;
    }
    if (strncmp(*ref, merge_base, strlen(merge_base)) != 0)
        return PK_OK;
    if (pk_machine_merge_base(*ref + strlen(merge_base), app->arena, &commit, err))
        return (*ref)[strlen(merge_base)] ? pk_within(err, "%s", *ref) : err->code;
    *ref = pk_printf(app->arena, "commit:%s", commit);
    return PK_OK;
}

enum pk_code pk_open_run(struct pk_app *app, const char *ref, struct pk_store **s, int64_t *run_id,
                         struct pk_err *err)
{
    const struct pk_store_wait wait = wait_of(app);
    const char *path;
    if (pk_run_ref(app, &ref, err) || pk_store_path(app->arena, app->globals->db, &path, err))
        return err->code;
    return pk_store_open_ref(path, ref, &wait, s, run_id, err);
}

enum pk_code pk_open_runs(void *of_app, const char *ref, const struct pk_entry_name *of, struct pk_store **s,
                          int64_t **ids, size_t *n, struct pk_err *err)
{
    struct pk_app *app = of_app;
    const struct pk_store_wait wait = wait_of(app);
    const char *path;
    if (pk_run_ref(app, &ref, err) || pk_store_path(app->arena, app->globals->db, &path, err))
        return err->code;
    return pk_store_open_refs(path, ref, of, &wait, app->arena, s, ids, n, err);
}
