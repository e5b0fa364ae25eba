/* Record: remembers what each case's invocations gave, so that a slice and the case's summaries go into one
 * transaction. */
#include "bench/record/record.h"

#include "base/clock.h"
#include "base/text/words.h"
#include "bench/record/spool.h"
#include "store/table/table.h"

#include <string.h>

enum { SHORT_TIMEOUT_MS = 1000, LONG_TIMEOUT_MS = 60000 };

/* A metric of a case: its invocations, in the order they came. */
struct metric_history {
    const char *metric;
    struct pk_summary_row *row;
    int *invocation;
    size_t n, row_cap, invocation_cap;
};

struct recorded_case {
    int64_t id;
    struct metric_history *metrics;
    struct pk_summary_row *summaries; /* one per metric */
    size_t n, cap, summaries_cap;
};

struct pk_recorder {
    struct pk_arena arena; /* holds this struct */
    struct pk_store *store;
    int64_t run_id;
    const char *store_path, *spool;
    const char *files; /* every spool so far: a full disk can make it more than one */
    size_t n_files;
    bool lost; /* a slice that could not be spooled either */
    bool loaded;
    size_t spooled;
    int64_t since_ns, slices;    /* how many began since then: struct pk_spool_end */
    struct pk_setting *settings; /* not yet in the store */
    size_t n_settings, settings_cap;
    struct pk_err refused; /* why the first slice, or its case, was; code 0 = nothing was */
    struct recorded_case *cases;
    size_t n, cap;
};

struct pk_recorder *pk_recorder_new(struct pk_store *s, int64_t run_id, const char *store_path)
{
    struct pk_arena a = {0};
    struct pk_recorder *r = pk_new(&a, struct pk_recorder);
    *r = (struct pk_recorder){
        .store = s, .run_id = run_id, .store_path = store_path ? pk_strdup(&a, store_path) : NULL};
    r->arena = a;
    r->since_ns = (int64_t)pk_wall_ns();
    return r;
}

void pk_recorder_free(struct pk_recorder *r)
{
    if (!r)
        return;
    struct pk_arena a = r->arena;
    pk_arena_free(&a);
}

static struct recorded_case *case_of(struct pk_recorder *r, int64_t id)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->cases[i].id == id)
            return &r->cases[i];
    r->cases = pk_grow(&r->arena, r->cases, sizeof *r->cases, r->n, &r->cap);
    r->cases[r->n] = (struct recorded_case){.id = id};
    return &r->cases[r->n++];
}

static struct metric_history *history_of(struct pk_recorder *r, struct recorded_case *c, const char *metric)
{
    for (size_t i = 0; i < c->n; i++)
        if (strcmp(c->metrics[i].metric, metric) == 0)
            return &c->metrics[i];
    c->summaries = pk_grow(&r->arena, c->summaries, sizeof *c->summaries, c->n, &c->summaries_cap);
    c->metrics = pk_grow(&r->arena, c->metrics, sizeof *c->metrics, c->n, &c->cap);
    c->metrics[c->n] = (struct metric_history){.metric = pk_strdup(&r->arena, metric)};
    return &c->metrics[c->n++];
}

/* Adds an invocation's figures and brings the case's summary of that metric up to date. */
static void add_figures(struct pk_recorder *r, struct recorded_case *c, int invocation,
                        const struct pk_summary_row *row)
{
    struct metric_history *h = history_of(r, c, row->metric);
    h->row = pk_grow(&r->arena, h->row, sizeof *h->row, h->n, &h->row_cap);
    h->invocation = pk_grow(&r->arena, h->invocation, sizeof *h->invocation, h->n, &h->invocation_cap);
    h->row[h->n] = *row;
    h->row[h->n].metric = h->metric;
    h->invocation[h->n++] = invocation;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    c->summaries[h - c->metrics] = pk_summarize_case(h->row, h->n, pk_new_n(&a, double, h->n));
}

/* What earlier invocations of a resumed run measured. */
static enum pk_code load(struct pk_recorder *r, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_rows rows;
    const struct pk_param run = pk_param_int(":run", r->run_id);
    if (r->loaded)
        return PK_OK;
    if (pk_query(r->store, "invocation_summaries", &run, 1, &a, &rows, err))
        return err->code;
    for (size_t i = 0; i < rows.n; i++) {
        const struct pk_cell *v = &rows.cells[i * rows.n_cols];
        struct pk_summary_row row = {.metric = v[2].s, .figure = pk_cell_number(&v[9])};
        row.sum = (struct pk_summary){.n = (size_t)v[3].i,
                                      .median = pk_cell_number(&v[4]),
                                      .mean = pk_cell_number(&v[5]),
                                      .sd = pk_cell_number(&v[6]),
                                      .min = pk_cell_number(&v[7]),
                                      .max = pk_cell_number(&v[8])};
        add_figures(r, case_of(r, v[0].i), (int)v[1].i, &row);
    }
    r->loaded = true;
    return PK_OK;
}

enum pk_code pk_record_setting(struct pk_recorder *r, int invocation, const char *key, const char *value,
                               struct pk_err *err)
{
    r->settings = pk_grow(&r->arena, r->settings, sizeof *r->settings, r->n_settings, &r->settings_cap);
    r->settings[r->n_settings++] =
        (struct pk_setting){invocation, pk_strdup(&r->arena, key), pk_strdup(&r->arena, value)};
    return PK_OK;
}

enum pk_code pk_recorded_settings(struct pk_recorder *r, const char *prefix, struct pk_arena *a,
                                  struct pk_setting **out, size_t *n, struct pk_err *err)
{
    struct pk_rows rows;
    const struct pk_param params[] = {pk_param_int(":run", r->run_id), pk_param_text(":prefix", prefix)};
    *n = 0;
    if (pk_query(r->store, "settings", PK_PARAMS(params), a, &rows, err))
        return err->code;
    *out = pk_new_n(a, struct pk_setting, rows.n);
    for (; *n < rows.n; ++*n) {
        const struct pk_cell *v = &rows.cells[*n * rows.n_cols];
        (*out)[*n] = (struct pk_setting){(int)v[0].i, v[1].s, v[2].s};
    }
    return PK_OK;
}

static enum pk_code store_settings(struct pk_recorder *r, struct pk_err *err)
{
    if (r->n_settings && pk_store_settings(r->store, r->run_id, r->settings, r->n_settings, err))
        return err->code;
    r->n_settings = 0;
    return PK_OK;
}

static bool unwritten(enum pk_code code)
{
    return code == PK_E_IO || code == PK_E_INTERRUPTED;
}

static enum pk_code store(struct pk_recorder *r, int64_t case_id, const struct pk_slice *s,
                          struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (load(r, err) || store_settings(r, err))
        return err->code;
    struct recorded_case *c = case_of(r, case_id);
    struct pk_summary_row *rows = pk_new_n(&a, struct pk_summary_row, 2 * s->n_metrics + 1),
                          *of_case = rows + s->n_metrics;
    size_t n = pk_summarize_slice(s, rows);
    for (size_t i = 0; i < n; i++)
        add_figures(r, c, s->invocation, &rows[i]);
    /* The case's summaries of the metrics that this slice has. */
    size_t n_case = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < c->n; k++)
            if (strcmp(c->metrics[k].metric, rows[i].metric) == 0)
                of_case[n_case++] = c->summaries[k];
    enum pk_code code = pk_store_slice(r->store, case_id, s, rows, n, of_case, n_case, err);
    if (code != PK_OK && !unwritten(code)) { /* it will not be there: they are read again */
        r->loaded = false;
        r->n = 0;
    }
    return code;
}

static void refuse(struct pk_recorder *r, const struct pk_err *err)
{
    if (!r->refused.code)
        r->refused = *err;
    pk_store_set_timeout(r->store, SHORT_TIMEOUT_MS); /* one long wait is enough */
}

/* Also stores the settings that have not been stored yet. */
static enum pk_code spool(struct pk_recorder *r, int64_t case_id, const struct pk_case_info *c,
                          const struct pk_slice *s, struct pk_err *err)
{
    r->spooled++;
    const struct pk_spool_place place = {.run = pk_store_begun(r->store),
                                         .run_id = r->run_id,
                                         .case_id = case_id,
                                         .c = c,
                                         .store_path = r->store_path,
                                         .settings = r->settings,
                                         .n_settings = r->n_settings};
    const char *before = r->spool;
    if (pk_spool_append(&place, s, &r->arena, &r->spool, err)) {
        r->lost = true;
        return err->code;
    }
    if (r->spool != before) {
        r->files = before ? pk_printf(&r->arena, "%s and %s", r->files, r->spool) : r->spool;
        r->n_files++;
    }
    r->n_settings = 0;
    return PK_OK;
}

/* What the store finds unsound becomes a failed slice that says so. */
static enum pk_code record_refusal(struct pk_recorder *r, int64_t case_id, const struct pk_slice *s,
                                   struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_slice failed = {.pass = s->pass,
                              .invocation = s->invocation,
                              .status = PK_ST_FAILED,
                              .started_wall_ns = s->started_wall_ns,
                              .elapsed_ns = s->elapsed_ns};
    failed.message = pk_printf(&a, "the store rejected the slice: %s", err->why);
    return pk_store_slice(r->store, case_id, &failed, NULL, 0, NULL, 0, err);
}

enum pk_code pk_record_checked(struct pk_recorder *r, int64_t case_id, const struct pk_slice *s,
                               struct pk_err *err)
{
    enum pk_code code = store(r, case_id, s, err);
    return code == PK_E_INTERNAL ? record_refusal(r, case_id, s, err) : code;
}

/* The case cannot be there yet when the store could not be written: its slices then go into the spool, which brings it. */
enum pk_code pk_record_case(struct pk_recorder *r, const struct pk_case_info *c, int64_t *id,
                            struct pk_err *err)
{
    *id = 0;
    enum pk_code code = pk_store_cases(r->store, r->run_id, c, 1, id, err);
    if (!unwritten(code))
        return code;
    *id = 0;
    refuse(r, err);
    return PK_OK;
}

enum pk_code pk_record_slice(struct pk_recorder *r, int64_t case_id, const struct pk_case_info *c,
                             const struct pk_slice *s, struct pk_err *err)
{
    enum pk_code code = case_id ? pk_record_checked(r, case_id, s, err) : PK_E_IO;
    const bool stored = code == PK_OK;
    if (case_id && unwritten(code))
        refuse(r, err);
    if (unwritten(code))
        code = spool(r, case_id, c, s, err);
    if (stored && r->spooled)
        pk_store_set_timeout(r->store, LONG_TIMEOUT_MS);
    r->slices += code == PK_OK && (int64_t)s->started_wall_ns >= r->since_ns;
    return code;
}

const char *pk_recorder_spool(const struct pk_recorder *r)
{
    return r->spool;
}

enum pk_code pk_recorder_end_run(const struct pk_recorder *r, const char *status, struct pk_err *err)
{
    return pk_store_run_end(r->store, r->run_id, r->spooled ? "interrupted" : status, err);
}

enum pk_code pk_recorder_finish(struct pk_recorder *r, const char *status, struct pk_err *err)
{
    if (!r->spooled)
        return store_settings(r, err);
    if (!r->spool)
        return *err = r->refused, err->code;
    const struct pk_spool_end end = {pk_store_begun(r->store), status, r->run_id, r->since_ns, r->slices};
    if (!r->lost && pk_spool_end(r->spool, &end, err))
        return err->code;
    pk_fail(err, r->refused.code, "store %s: %s could not be written", r->store_path,
            pk_plural(r->spooled, "slice", &r->arena));
    pk_why(err, "%s", r->refused.why);
    return pk_fix(err, "%s in %s; when the store is in order again, `perfkit import --db %s %s` brings %s in",
                  r->lost ? "the last one is lost, the others are" : "they are", r->files, r->store_path,
                  r->n_files == 1 ? r->spool : "FILE", r->n_files == 1 ? "them" : "each");
}
