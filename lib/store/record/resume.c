/* Resume: finding an interrupted run, taking it over, and what it has already. */
#include "store/record/resume.h"

#include "store/db.h"
#include "store/table.h"

#include <limits.h>
#include <string.h>

enum pk_code pk_store_resumable(struct pk_store *s, const char *experiment, const char *label,
                                struct pk_arena *a, struct pk_resumable *out, struct pk_err *err)
{
    *out = (struct pk_resumable){0};
    const struct pk_param params[] = {pk_param_text(":experiment", experiment),
                                      pk_param_text(":label", label)};
    struct pk_rows rows;
    enum pk_code rc = pk_query(s, "resumable_run", PK_PARAMS(params), a, &rows, err);
    if (rc || !rows.n || !rows.cells[2].i)
        return rc;
    out->run_id = rows.cells[0].i;
    out->settings = rows.cells[1].s;
    return PK_OK;
}

enum pk_code pk_store_run_again(struct pk_store *s, int64_t run_id, const char *machine, struct pk_err *err)
{
    struct pk_recorder_process me;
    pk_db_this_process(&me);
    enum pk_code rc = pk_db_begin(s, "resume the run", err);
    if (rc)
        return rc;
    int64_t same;
    rc = pk_db_int(s, err, &same, 0, "same_machine", "it", run_id, machine);
    if (!rc && !same) {
        pk_fail(err, PK_E_NOT_COMPARABLE, "run %lld was measured on another machine", (long long)run_id);
        pk_why(err, "one run has one machine: its cases would not be comparable with each other");
        rc = pk_fix(err, "omit --resume to start a new run here");
    }
    if (!rc)
        rc = pk_db_run(s, err, "take_over_run", "ittii", run_id, me.host, me.boot_id, me.pid, me.start_ticks);
    if (!rc && sqlite3_changes(s->db) != 1) {
        pk_fail(err, PK_E_USAGE, "run %lld cannot be resumed", (long long)run_id);
        pk_why(err, "another process has resumed it");
        rc = pk_fix(err, "omit --resume to start a new run");
    }
    return pk_db_end(s, rc, err);
}

/* The stored case equal to c, and its state; id 0 when there is none. */
static enum pk_code find_case(struct pk_store *s, int64_t run_id, const struct pk_case_info *c, int64_t *id,
                              struct pk_done *done, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    const struct pk_param params[] = {
        pk_param_int(":run", run_id),           pk_param_text(":variant", c->variant),
        pk_param_text(":device", c->device),    pk_param_text(":axes", c->axes),
        pk_param_int(":revision", c->revision),
    };
    enum pk_code rc = pk_query(s, "case_state", PK_PARAMS(params), &a, &rows, err);
    *id = 0;
    *done = (struct pk_done){.last = PK_ST_INTERRUPTED};
    if (rc || !rows.n)
        return rc;
    *id = rows.cells[0].i;
    if (rows.cells[1].type == PK_CELL_TEXT)
        pk_status_parse(rows.cells[1].s, &done->last);
    if (rows.cells[3].i)
        done->last = PK_ST_INTERRUPTED;
    done->invocations =
        done->last == PK_ST_OK || done->last == PK_ST_INTERRUPTED ? (int)rows.cells[2].i : INT_MAX;
    return PK_OK;
}

static enum pk_code find_passes(struct pk_store *s, int64_t case_id, struct pk_arena *a, struct pk_done *done,
                                struct pk_err *err)
{
    const struct pk_param id = pk_param_int(":case", case_id);
    struct pk_rows rows;
    if (pk_query(s, "recorded_passes", &id, 1, a, &rows, err))
        return err->code;
    struct pk_done_pass *passes = pk_new_n(a, struct pk_done_pass, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++) {
        pk_pass_parse(rows.cells[2 * i].s, &passes[i].pass);
        passes[i].invocation = (int)rows.cells[2 * i + 1].i;
    }
    done->passes = passes;
    done->n_passes = rows.n;
    return PK_OK;
}

enum pk_code pk_store_cases_again(struct pk_store *s, int64_t run_id, const struct pk_case_info *cases,
                                  size_t n, struct pk_arena *a, int64_t *ids, struct pk_done *done,
                                  struct pk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        enum pk_code rc = find_case(s, run_id, &cases[i], &ids[i], &done[i], err);
        if (!rc && ids[i])
            rc = find_passes(s, ids[i], a, &done[i], err);
        if (rc)
            return rc;
        if (ids[i])
            continue;
        pk_fail(err, PK_E_NOT_COMPARABLE, "run %lld has no case %s %s on %s", (long long)run_id,
                cases[i].variant, cases[i].axes, cases[i].device);
        pk_why(err, "--resume continues with the planned cases of the run; this program plans others");
        return pk_fix(err, "omit --resume to start a new run");
    }
    return PK_OK;
}
