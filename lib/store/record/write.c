/* Write: runs and everything beside their samples: cases, declared work, settings, fits, ceilings. */
#include "store/db.h"

#include "base/clock.h"

#include <inttypes.h>

static enum pk_code machine_id(struct pk_store *s, const char *json, int64_t *id, struct pk_err *err)
{
    if (pk_db_run(s, err, "INSERT INTO machine(json) VALUES(?1) ON CONFLICT DO NOTHING", "t", json))
        return err->code;
    return pk_db_int(s, err, id, 0, "SELECT id FROM machine WHERE json = ?1", "t", json);
}

/* The first stands: runs of one machine have one. */
static enum pk_code insert_topology(struct pk_store *s, int64_t machine, const char *xml, struct pk_err *err)
{
    if (!xml)
        return PK_OK;
    return pk_db_run(s, err, "INSERT INTO topology(machine_id, xml) VALUES(?1, ?2) ON CONFLICT DO NOTHING",
                     "it", machine, xml);
}

static enum pk_code insert_run(struct pk_store *s, const struct pk_run_info *r, struct pk_err *err)
{
    struct pk_recorder_process me;
    int64_t machine;
    pk_db_this_process(&me);
    if (machine_id(s, r->machine, &machine, err) || insert_topology(s, machine, r->topology, err))
        return err->code;
    return pk_db_run(s, err,
                     "INSERT INTO run(experiment, label, command_line, settings, tags, machine_id, "
                     "git_commit, git_dirty, git_branch, version,"
                     " started_ns, host, boot_id, pid, pid_start_ticks, status, uuid)"
                     " VALUES(?, ?, ?, ?, ?, ?, ?, nullif(?, -1), ?, ?, ?, ?, ?, ?, ?, 'running', ?)",
                     "tttttitittitt"
                     "iit",
                     r->experiment, r->label, r->command_line, r->settings, r->tags, machine, r->git_commit,
                     (int64_t)r->git_dirty, r->git_branch, r->version, (int64_t)pk_wall_ns(), me.host,
                     me.boot_id, me.pid, me.start_ticks, s->run_uuid);
}

static void new_uuid(char uuid[static 33])
{
    uint8_t random[16];
    sqlite3_randomness(sizeof random, random);
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(uuid + 2 * i, 3, "%02x", random[i]);
}

const char *pk_store_begun(const struct pk_store *s)
{
    return s->run_uuid;
}

enum pk_code pk_store_run_begin(struct pk_store *s, const struct pk_run_info *r, int64_t *run_id,
                                struct pk_err *err)
{
    if (pk_db_begin(s, "begin a run", err))
        return err->code;
    new_uuid(s->run_uuid);
    enum pk_code code = insert_run(s, r, err);
    *run_id = sqlite3_last_insert_rowid(s->db);
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_run_end(struct pk_store *s, int64_t run_id, const char *status, struct pk_err *err)
{
    if (pk_db_begin(s, "end a run", err))
        return err->code;
    enum pk_code code = pk_db_run(s, err, "UPDATE run SET status = ?2, ended_ns = ?3 WHERE id = ?1", "iti",
                                  run_id, status, (int64_t)pk_wall_ns());
    return pk_db_end(s, code, err);
}

static enum pk_code insert_case(struct pk_store *s, int64_t run_id, int64_t ordinal,
                                const struct pk_case_info *c, struct pk_err *err)
{
    return pk_db_run(s, err,
                     "INSERT INTO run_case(run_id, ordinal, experiment, revision, variant, device, axes, "
                     "identity, predicted_bytes)"
                     " VALUES(?, ?, ?, ?, ?, ?, ?, ?, nullif(?, -1))",
                     "iitittt"
                     "ti",
                     run_id, ordinal, c->experiment, (int64_t)c->revision, c->variant, c->device, c->axes,
                     c->identity, c->predicted_bytes);
}

/* A run may get its cases in several calls (a program that names cases as it goes): ordinals go on. */
enum pk_code pk_store_cases(struct pk_store *s, int64_t run_id, const struct pk_case_info *cases, size_t n,
                            int64_t *ids, struct pk_err *err)
{
    int64_t first;
    if (pk_db_begin(s, "record the cases of a run", err))
        return err->code;
    enum pk_code code =
        pk_db_int(s, err, &first, 0, "SELECT max(ordinal) + 1 FROM run_case WHERE run_id = ?1", "i", run_id);
    for (size_t i = 0; i < n && code == PK_OK; i++) {
        code = insert_case(s, run_id, first + (int64_t)i, &cases[i], err);
        ids[i] = sqlite3_last_insert_rowid(s->db);
    }
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_works(struct pk_store *s, const struct pk_case_work *w, size_t n, struct pk_err *err)
{
    if (pk_db_begin(s, "record the work of cases", err))
        return err->code;
    enum pk_code code = PK_OK;
    for (size_t i = 0; i < n && code == PK_OK; i++)
        code = pk_db_run(s, err,
                         "INSERT OR REPLACE INTO work(case_id, metric, flops, bytes, exps, messages, "
                         "predicted) VALUES(?, ?, ?, ?, ?, ?, ?)",
                         "itfffff", w[i].case_id, w[i].metric, w[i].flops, w[i].bytes, w[i].exps,
                         w[i].messages, w[i].predicted);
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_settings(struct pk_store *s, int64_t run_id, const struct pk_setting *v, size_t n,
                               struct pk_err *err)
{
    if (pk_db_begin(s, "record settings", err))
        return err->code;
    enum pk_code code = PK_OK;
    for (size_t i = 0; i < n && code == PK_OK; i++)
        code = pk_db_run(
            s, err,
            "INSERT INTO setting(run_id, invocation, key, value) VALUES(?, ?, ?, ?) ON CONFLICT DO NOTHING",
            "iitt", run_id, (int64_t)v[i].invocation, v[i].key, v[i].value);
    return pk_db_end(s, code, err);
}

static enum pk_code insert_fit(struct pk_store *s, int64_t run_id, const struct pk_fit_info *f,
                               struct pk_err *err)
{
    const struct pk_fit *v = &f->fit;
    return pk_db_run(s, err,
                     "INSERT OR REPLACE INTO fit(run_id, name, metric, axis, kind, experiment, variant, "
                     "device, fixed, n, slope, slope_low,"
                     " slope_high, intercept, intercept_low, intercept_high, r2) VALUES(?, ?, ?, ?, ?, ?, ?, "
                     "?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                     "itttttttt"
                     "i"
                     "fffffff",
                     run_id, f->name, f->metric, f->axis, f->kind, f->experiment, f->variant, f->device,
                     f->group, (int64_t)v->n, v->slope, v->slope_ci.lo, v->slope_ci.hi, v->intercept,
                     v->intercept_ci.lo, v->intercept_ci.hi, v->r2);
}

enum pk_code pk_store_fits(struct pk_store *s, int64_t run_id, const struct pk_fit_info *fits, size_t n,
                           struct pk_err *err)
{
    if (pk_db_begin(s, "record fits", err))
        return err->code;
    enum pk_code code = PK_OK;
    for (size_t i = 0; i < n && code == PK_OK; i++)
        code = insert_fit(s, run_id, &fits[i], err);
    return pk_db_end(s, code, err);
}

enum pk_code pk_store_counters(struct pk_store *s, const struct pk_counter_row *v, size_t n,
                               struct pk_err *err)
{
    if (pk_db_begin(s, "record counters", err))
        return err->code;
    enum pk_code code = PK_OK;
    for (size_t i = 0; i < n && code == PK_OK; i++)
        code = pk_db_run(
            s, err,
            "INSERT OR REPLACE INTO counter(case_id, region, group_name, name, unit, value, source, "
            "native, quality, modes, note) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            "itttt"
            "fttttt",
            v[i].case_id, v[i].region, v[i].group, v[i].name, v[i].unit, v[i].value, v[i].source, v[i].native,
            v[i].quality, v[i].modes, v[i].note);
    return pk_db_end(s, code, err);
}

static enum pk_code insert_ceilings(struct pk_store *s, const char *machine, const char *device,
                                    const struct pk_ceiling_value *v, size_t n, struct pk_err *err)
{
    int64_t id, now = (int64_t)pk_wall_ns();
    enum pk_code rc = machine_id(s, machine, &id, err);
    for (size_t i = 0; !rc && i < n; i++)
        rc = pk_db_run(
            s, err, "INSERT INTO ceiling(machine_id, device, key, value, measured_ns) VALUES(?, ?, ?, ?, ?)",
            "ittfi", id, device, v[i].key, v[i].value, now);
    return rc;
}

enum pk_code pk_store_ceilings(struct pk_store *s, const char *machine, const char *device,
                               const struct pk_ceiling_value *v, size_t n, struct pk_err *err)
{
    if (pk_db_begin(s, "record ceilings", err))
        return err->code;
    return pk_db_end(s, insert_ceilings(s, machine, device, v, n, err), err);
}

enum pk_code pk_store_ceiling(struct pk_store *s, const char *machine, const char *device, const char *key,
                              struct pk_ceiling *out, struct pk_err *err)
{
    static const double close = 0.95; /* as in v_ceiling */
    sqlite3_stmt *stmt;
    *out = (struct pk_ceiling){0};
    s->doing = "read a ceiling";
    if (pk_db_stmt(s,
                   "SELECT c.value, c.measured_ns FROM ceiling c JOIN machine m ON m.id = c.machine_id"
                   " WHERE m.json = ?1 AND c.device = ?2 AND c.key = ?3 ORDER BY c.value DESC",
                   &stmt, err))
        return err->code;
    sqlite3_bind_text(stmt, 1, machine, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, device, -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 3, key, -1, SQLITE_STATIC);
    for (; sqlite3_step(stmt) == SQLITE_ROW; out->repeats++) {
        const double value = sqlite3_column_double(stmt, 0);
        const int64_t at = sqlite3_column_int64(stmt, 1);
        if (!out->repeats)
            out->value = value;
        else
            out->confirmed |= value >= close * out->value;
        out->newest_ns = at > out->newest_ns ? at : out->newest_ns;
    }
    return sqlite3_reset(stmt) == SQLITE_OK ? PK_OK : pk_db_fail(s, err);
}
