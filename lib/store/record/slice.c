/* Slice: the hot write, one transaction for everything one invocation measured of one case in one pass.
 *
 * Samples go in by the row of 50 per statement: a third of the time of one row per statement (0.6 us
 * against 1.9 us each). */
#include "store/db.h"

#include "base/err.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 50 };

static enum pk_code insert_rows(struct pk_store *s, const char *statement, size_t rows, int64_t series,
                                const struct pk_series *e, size_t *i, size_t end, struct pk_err *err)
{
    sqlite3_stmt *stmt;
    if (pk_db_stmt(s, statement, &stmt, err))
        return err->code;
    sqlite3_bind_int64(stmt, 1, series);
    int rc = SQLITE_DONE;
    for (; rc == SQLITE_DONE && end - *i >= rows; *i += rows) {
        for (size_t k = 0; k < rows; k++) {
            const int at = 2 + 2 * (int)k;
            sqlite3_bind_int64(stmt, at, e->ordinal[*i + k]);
            if (e->integer)
                sqlite3_bind_int64(stmt, at + 1, e->integer[*i + k]);
            else
                pk_db_bind_real(stmt, at + 1, e->real[*i + k]);
        }
        rc = sqlite3_step(stmt);
        sqlite3_reset(stmt);
        pk_db_watch(s);
    }
    return rc == SQLITE_DONE ? PK_OK : pk_db_fail(s, err);
}

static enum pk_code insert_series(struct pk_store *s, int64_t slice, int64_t metric,
                                  const struct pk_series *e, struct pk_err *err)
{
    for (size_t i = 0; i < e->n;) {
        if (pk_db_run(s, err, "insert_series", "iiiiti", slice, metric, (int64_t)e->rank,
                      (int64_t)e->instance, pk_phase_name(e->phase), e->reps))
            return err->code;
        int64_t id = sqlite3_last_insert_rowid(s->db);
        /* where ordinals stop rising: a series is stored in as many parts as that happens */
        size_t end = i + 1;
        while (end < e->n && e->ordinal[end] > e->ordinal[end - 1])
            end++;
        if (insert_rows(s, "insert_samples", ROWS, id, e, &i, end, err) ||
            insert_rows(s, "insert_sample", 1, id, e, &i, end, err))
            return err->code;
    }
    return PK_OK;
}

static enum pk_code metric_ids(struct pk_store *s, const struct pk_slice *l, int64_t *ids, struct pk_err *err)
{
    for (size_t i = 0; i < l->n_metrics; i++) {
        const struct pk_metric_decl *m = &l->metrics[i];
        if (pk_db_run(s, err, "insert_metric", "ttttttt", m->name, m->unit, m->direction, m->class,
                      m->combine, m->ranks, m->source) ||
            pk_db_int(s, err, &ids[i], 0, "metric_id", "ttttttt", m->name, m->unit, m->direction, m->class,
                      m->combine, m->ranks, m->source))
            return err->code;
    }
    return PK_OK;
}

/* A slice that did not end well is replaced by a later one of the same place; one that did stays. */
static enum pk_code make_room(struct pk_store *s, int64_t case_id, const struct pk_slice *l,
                              struct pk_err *err)
{
    int64_t taken;
    if (pk_db_run(s, err, "delete_unfinished_slice", "iit", case_id, (int64_t)l->invocation,
                  pk_pass_name(l->pass)) ||
        pk_db_int(s, err, &taken, 0, "count_slices", "iit", case_id, (int64_t)l->invocation,
                  pk_pass_name(l->pass)))
        return err->code;
    if (!taken)
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "store %s: cannot record invocation %d of case %lld", s->path, l->invocation,
            (long long)case_id);
    pk_why(err, "it is already there and complete");
    return pk_fix(err, "nothing needs to be done: the recorded one is kept");
}

/* Of the notes "trace" and "trace:RANK", which have a table of their own; -1 = another note. */
static int64_t rank_of_trace(const struct pk_note *note)
{
    static const char word[] = "trace";
    char *end;
    if (strncmp(note->key, word, strlen(word)) != 0 || note->json[0] != '{')
        return -1;
    const char *rest = note->key + strlen(word);
    const int64_t rank = *rest == ':' && rest[1] >= '1' && rest[1] <= '9' ? strtoll(rest + 1, &end, 10) : -1;
    return !*rest ? 0 : rank > 0 && !*end ? rank : -1;
}

static enum pk_code insert_traces(struct pk_store *s, int64_t slice, const struct pk_slice *l,
                                  struct pk_err *err)
{
    for (size_t i = 0; i < l->n_notes; i++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        const int64_t rank = rank_of_trace(&l->notes[i]);
        PK_JSON_CLEANUP json_t *trace = rank < 0 ? NULL : json_loads(l->notes[i].json, 0, NULL);
        if (trace && pk_db_run(s, err, "insert_slice_trace", "iit", slice, rank,
                               pk_json_text(&a, trace, PK_JSON_COMPACT)))
            return err->code;
    }
    return PK_OK;
}

static enum pk_code insert_slice(struct pk_store *s, int64_t case_id, const struct pk_slice *l, int64_t *id,
                                 struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_JSON_CLEANUP json_t *notes = json_object();
    for (size_t i = 0; i < l->n_notes; i++)
        if (rank_of_trace(&l->notes[i]) < 0)
            json_object_set_new(notes, l->notes[i].key, json_loads(l->notes[i].json, JSON_DECODE_ANY, NULL));
    if (make_room(s, case_id, l, err) ||
        pk_db_run(s, err, "insert_slice", "iitttiit", case_id, (int64_t)l->invocation, pk_pass_name(l->pass),
                  pk_status_name(l->status), l->message ? l->message : "", (int64_t)l->started_wall_ns,
                  (int64_t)l->elapsed_ns, pk_json_text(&a, notes, PK_JSON_COMPACT)))
        return err->code;
    *id = sqlite3_last_insert_rowid(s->db);
    return insert_traces(s, *id, l, err);
}

static int64_t id_of(const struct pk_slice *l, const int64_t *ids, const char *metric)
{
    for (size_t i = 0; i < l->n_metrics; i++)
        if (strcmp(l->metrics[i].name, metric) == 0)
            return ids[i];
    pk_assert(!"a summary is of a metric its slice declares");
    return 0;
}

enum pk_code pk_store_slice(struct pk_store *s, int64_t case_id, const struct pk_slice *slice,
                            const struct pk_summary_row *per_slice, size_t n_per_slice,
                            const struct pk_summary_row *per_case, size_t n_per_case, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    int64_t id = 0, *metric = pk_new_n(&a, int64_t, slice->n_metrics + 1);
    if (pk_db_begin_rows(s, "record a slice", err))
        return err->code;
    enum pk_code code = metric_ids(s, slice, metric, err);
    if (code == PK_OK)
        code = insert_slice(s, case_id, slice, &id, err);
    for (size_t i = 0; i < slice->n_series && code == PK_OK; i++)
        code = insert_series(s, id, metric[slice->series[i].metric], &slice->series[i], err);
    for (size_t i = 0; i < n_per_slice && code == PK_OK; i++) {
        const struct pk_summary_row *r = &per_slice[i];
        code = pk_db_run(s, err, "insert_slice_summary", "iiiffffffff", id, id_of(slice, metric, r->metric),
                         (int64_t)r->sum.n, r->figure, r->sum.median, r->sum.mean, r->sum.sd, r->sum.min,
                         r->sum.max, r->tail[PK_P90], r->tail[PK_P99]);
    }
    for (size_t i = 0; i < n_per_case && code == PK_OK; i++) {
        const struct pk_summary_row *r = &per_case[i];
        code = pk_db_run(s, err, "replace_summary", "iiiifffffffff", case_id, id_of(slice, metric, r->metric),
                         (int64_t)r->sum.n, (int64_t)r->invocations, r->sum.median, r->ci.lo, r->ci.hi,
                         r->ci_level, r->sum.mean, r->sum.sd, r->sum.min, r->sum.max, r->sum.cv);
    }
    return pk_db_end(s, code, err);
}
