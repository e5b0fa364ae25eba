/* Write: runs and everything besides their samples: cases, declared work, settings, fits, ceilings. */
#include "store/db.h"

#include "base/clock.h"
#include "store/table/table.h"

#include <inttypes.h>

static enum pk_code machine_id(struct pk_store *s, const char *json, int64_t *id, struct pk_err *err)
{
    if (pk_db_run(s, err, "insert_machine", "t", json))
        return err->code;
    return pk_db_int(s, err, id, 0, "machine_id", "t", json);
}

static enum pk_code insert_run(struct pk_store *s, const struct pk_run_info *r, struct pk_err *err)
{
    struct pk_recorder_process me;
    int64_t machine;
    pk_db_this_process(&me);
    if (machine_id(s, r->machine, &machine, err) ||
        pk_db_run(s, err, "insert_topology", "it", machine, r->topology))
        return err->code;
    return pk_db_run(s, err, "insert_run", "tttttitittittiit", r->experiment, r->label, r->command_line,
                     r->settings, r->tags, machine, r->git_commit, (int64_t)r->git_dirty, r->git_branch,
                     r->version, r->started_ns ? r->started_ns : (int64_t)pk_wall_ns(), me.host, me.boot_id,
                     me.pid, me.start_ticks, s->run_uuid);
}

const char *pk_store_begun(const struct pk_store *s)
{
    return s->run_uuid;
}

enum pk_code pk_store_together(struct pk_store *s, struct pk_err *err)
{
    return pk_db_begin(s, "begin a run", err);
}

enum pk_code pk_store_together_end(struct pk_store *s, enum pk_code code, struct pk_err *err)
{
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_run_begin(struct pk_store *s, const struct pk_run_info *r, int64_t *run_id,
                                struct pk_err *err)
{
    if (pk_db_begin(s, "begin a run", err))
        return err->code;
    uint8_t random[16];
    s->run_stored = false;
    sqlite3_randomness(sizeof random, random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(s->run_uuid + 2 * i, 3, "%02x", random[i]);
    if (r->uuid)
        snprintf(s->run_uuid, sizeof s->run_uuid, "%s", r->uuid);
    enum pk_code code = insert_run(s, r, err);
    *run_id = sqlite3_last_insert_rowid(s->db);
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_run_end(struct pk_store *s, int64_t run_id, const char *status, struct pk_err *err)
{
    if (pk_db_begin_rows(s, "end a run", err))
        return err->code;
    enum pk_code code = pk_db_run(s, err, "end_run", "iti", run_id, status, (int64_t)pk_wall_ns());
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_run_end_spooled(struct pk_store *s, int64_t run_id, const struct pk_run_end *end,
                                      struct pk_arena *a, const char **experiment, struct pk_err *err)
{
    struct pk_rows rows = {0};
    const struct pk_param run = pk_param_int(":run", run_id);
    *experiment = NULL;
    if (pk_db_begin(s, "end a run", err))
        return err->code;
    enum pk_code code =
        pk_db_run(s, err, "end_spooled_run", "itii", run_id, end->status, end->since_ns, end->slices);
    if (!code && sqlite3_changes(s->db) == 1)
        code = pk_db_query(s, "run_experiment", &run, 1, a, &rows, err);
    if (rows.n)
        *experiment = rows.cells[0].s;
    return pk_db_end(s, code, err);
}

/* A run may get its cases in several calls (a program that names cases as it goes): ordinals go on. */
enum pk_code pk_store_cases(struct pk_store *s, int64_t run_id, const struct pk_case_info *cases, size_t n,
                            int64_t *ids, struct pk_err *err)
{
    int64_t first;
    if (pk_db_begin_rows(s, "record the cases of a run", err))
        return err->code;
    enum pk_code code = pk_db_int(s, err, &first, 0, "next_case_ordinal", "i", run_id);
    for (size_t i = 0; i < n && code == PK_OK; i++) {
        const struct pk_case_info *c = &cases[i];
        code =
            pk_db_run(s, err, "insert_case", "iititttti", run_id, first + (int64_t)i, c->experiment,
                      (int64_t)c->revision, c->variant, c->device, c->axes, c->identity, c->predicted_bytes);
        ids[i] = sqlite3_last_insert_rowid(s->db);
    }
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_works(struct pk_store *s, const struct pk_case_work *w, size_t n, struct pk_err *err)
{
    if (pk_db_begin_rows(s, "record the work of cases", err))
        return err->code;
    enum pk_code code = PK_OK;
    for (; n-- && !code; w++)
        code = pk_db_run(s, err, "insert_work", "itfffff", w->case_id, w->metric, w->flops, w->bytes, w->exps,
                         w->messages, w->predicted);
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_settings(struct pk_store *s, int64_t run_id, const struct pk_setting *v, size_t n,
                               struct pk_err *err)
{
    if (pk_db_begin_rows(s, "record settings", err))
        return err->code;
    enum pk_code code = PK_OK;
    for (; n-- && !code; v++)
        code = pk_db_run(s, err, "insert_setting", "iitt", run_id, (int64_t)v->invocation, v->key, v->value);
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_fits(struct pk_store *s, int64_t run_id, const struct pk_fit_info *f, size_t n,
                           struct pk_err *err)
{
    if (pk_db_begin_rows(s, "record fits", err))
        return err->code;
    enum pk_code code = PK_OK;
    for (; n-- && !code; f++)
        code = pk_db_run(s, err, "insert_fit", "ittttttttifffffff", run_id, f->name, f->metric, f->axis,
                         f->kind, f->experiment, f->variant, f->device, f->group, (int64_t)f->fit.n,
                         f->fit.slope, f->fit.slope_ci.lo, f->fit.slope_ci.hi, f->fit.intercept,
                         f->fit.intercept_ci.lo, f->fit.intercept_ci.hi, f->fit.r2);
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_counters(struct pk_store *s, const struct pk_counter_row *v, size_t n,
                               struct pk_err *err)
{
    if (pk_db_begin_rows(s, "record counters", err))
        return err->code;
    enum pk_code code = PK_OK;
    for (; n-- && !code; v++)
        code = pk_db_run(s, err, "insert_counter", "ittttfttttt", v->case_id, v->region, v->group, v->name,
                         v->unit, v->value, v->source, v->native, v->quality, v->modes, v->note);
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_ceilings(struct pk_store *s, const struct pk_ceiling_repeat *r, struct pk_err *err)
{
    int64_t id, now = (int64_t)pk_wall_ns();
    if (pk_db_begin(s, "record ceilings", err))
        return err->code;
    enum pk_code code = machine_id(s, r->machine, &id, err);
    for (size_t i = 0; i < r->n_values && !code; i++)
        code = pk_db_run(s, err, "insert_ceiling", "ittfii", id, r->device, r->values[i].key,
                         r->values[i].value, now, (int64_t)r->values[i].evidence);
    for (size_t i = 0; i < r->n_curve && !code; i++) {
        const struct pk_curve_row *c = &r->curve[i];
        code = pk_db_run(s, err, "insert_curve", "itiitffffti", id, r->device, (int64_t)c->lanes, c->bytes,
                         c->level, c->rate[0], c->rate[1], c->rate[2], c->rate[3], c->stop, now);
    }
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_ceiling(struct pk_store *s, const char *machine, const char *device, const char *key,
                              struct pk_ceiling *out, struct pk_err *err)
{
    const char *const named[] = {machine, device, key};
    sqlite3_stmt *stmt; /* kept: a run reads twenty */
    s->doing = "read a ceiling";
    if (pk_db_stmt(s, "ceiling", &stmt, err))
        return err->code;
    for (int i = 0; i < 3; i++)
        sqlite3_bind_text(stmt, i + 1, named[i], -1, SQLITE_STATIC);
    if (sqlite3_step(stmt) == SQLITE_ROW)
        *out = (struct pk_ceiling){.value = sqlite3_column_double(stmt, 0),
                                   .repeats = (size_t)sqlite3_column_int64(stmt, 1),
                                   .confirmed = sqlite3_column_int(stmt, 2),
                                   .newest_ns = sqlite3_column_int64(stmt, 3),
                                   .evidence = (enum pk_evidence)sqlite3_column_int64(stmt, 4)};
    return sqlite3_reset(stmt) == SQLITE_OK ? PK_OK : pk_db_fail(s, err);
}

enum pk_code pk_store_curve(struct pk_store *s, const char *machine, const char *device, struct pk_arena *a,
                            struct pk_rows *out, struct pk_err *err)
{
    const struct pk_param params[] = {pk_param_text(":machine", machine), pk_param_text(":device", device)};
    s->doing = "read the rates over size";
    return pk_db_query(s, "curve", PK_PARAMS(params), a, out, err);
}
