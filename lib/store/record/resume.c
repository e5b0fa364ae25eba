/* Resume: finding an interrupted run, taking it over, and what it has already. */
#include "store/record/resume.h"

#include "store/db.h"
#include "store/table/table.h"

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

enum pk_code pk_store_resume_run(struct pk_store *s, int64_t run_id, const char *machine, struct pk_err *err)
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
static enum pk_code find_case(struct pk_store *s, int64_t run_id, const struct pk_case_info *c,
                              struct pk_arena *a, int64_t *id, struct pk_case_progress *done,
                              struct pk_err *err)
{
    struct pk_rows rows;
    const struct pk_param params[] = {
        pk_param_int(":run", run_id),           pk_param_text(":variant", c->variant),
        pk_param_text(":device", c->device),    pk_param_text(":axes", c->axes),
        pk_param_int(":revision", c->revision),
    };
    *id = 0;
    *done = (struct pk_case_progress){.last = PK_ST_INTERRUPTED};
    enum pk_code rc = pk_query(s, "case_state", PK_PARAMS(params), a, &rows, err);
    if (rc || !rows.n)
        return rc;
    const char *status;
    bool left_out;
    pk_db_row(&rows, 0, "itdb", id, &status, &done->invocations, &left_out);
    pk_status_parse(status, &done->last);
    if (left_out)
        done->last = PK_ST_INTERRUPTED;
    if (done->last != PK_ST_OK && done->last != PK_ST_INTERRUPTED)
        done->invocations = INT_MAX;
    const struct pk_param of = pk_param_int(":case", *id);
    if (pk_query(s, "recorded_passes", &of, 1, a, &rows, err))
        return err->code;
    struct pk_pass_progress *passes = pk_new_n(a, struct pk_pass_progress, rows.n + 1);
    for (size_t i = 0; i < rows.n; i++) {
        const char *pass;
        pk_db_row(&rows, i, "td", &pass, &passes[i].invocation);
        pk_pass_parse(pass, &passes[i].pass);
    }
    done->passes = passes;
    done->n_passes = rows.n;
    return PK_OK;
}

enum pk_code pk_store_resume_cases(struct pk_store *s, int64_t run_id, const struct pk_case_info *cases,
                                   size_t n, struct pk_arena *a, int64_t *ids, struct pk_case_progress *done,
                                   struct pk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (find_case(s, run_id, &cases[i], a, &ids[i], &done[i], err))
            return err->code;
        if (ids[i])
            continue;
        pk_fail(err, PK_E_NOT_COMPARABLE, "run %lld has no case %s %s on %s", (long long)run_id,
                cases[i].variant, cases[i].axes, cases[i].device);
        pk_why(err, "--resume continues with the planned cases of the run; this program plans others");
        return pk_fix(err, "omit --resume to start a new run");
    }
    return PK_OK;
}
