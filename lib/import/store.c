/* Import, store: from the neutral form to a run, in one transaction. */
#include "base/build.h"
#include "bench/record/record.h"
#include "bench/record/spool.h"
#include "import/import.h"
#include "store/table/table.h"
#include "json/json.h"

#include <math.h>
#include <string.h>

struct importing {
    struct pk_store *s;
    const struct pk_imported *im;
    struct pk_arena *a; /* of a case */
    int64_t run_id;
    struct pk_import_result *result;
};

/* --- slices ----------------------------------------------------------------------------------------------------------- */

static size_t processes(const struct pk_imported_case *c)
{
    size_t most = 1;
    for (size_t i = 0; c->process_each && i < c->n_metrics; i++)
        most = c->metrics[i].n > most ? c->metrics[i].n : most;
    return most;
}

/* The samples of process k, 0-based; false where it has none. */
static bool samples_of(const struct pk_imported_case *c, size_t metric, size_t k, struct pk_series *out)
{
    const struct pk_imported_metric *m = &c->metrics[metric];
    const size_t first = c->process_each ? k : 0, n = c->process_each ? 1 : m->n;
    if (first + n > m->n || !n)
        return false;
    *out = (struct pk_series){.metric = metric,
                              .phase = PK_PHASE_STEADY,
                              .reps = 1,
                              .n = n,
                              .ordinal = m->ordinal + first,
                              .real = m->value + first};
    return true;
}

static bool is_summary(const struct pk_imported_metric *m)
{
    return !m->n && m->summary.n;
}

/* Which metrics are summaries, and what their dispersion is. */
static json_t *summaries_note(const struct pk_imported_case *c)
{
    json_t *note = json_object();
    for (size_t i = 0; i < c->n_metrics; i++)
        if (is_summary(&c->metrics[i]))
            json_object_set_new(note, c->metrics[i].decl.name,
                                json_pack("{s:I, s:s*}", "n", (json_int_t)c->metrics[i].summary.n,
                                          "dispersion", c->metrics[i].dispersion));
    return note;
}

static size_t notes_of(const struct pk_imported_case *c, struct pk_arena *a, struct pk_note *notes)
{
    size_t n = 0;
    PK_JSON_CLEANUP json_t *summaries = summaries_note(c);
    for (; n < c->n_notes; n++)
        notes[n] = c->notes[n];
    if (json_object_size(summaries))
        notes[n++] = (struct pk_note){"summaries", pk_json_text(a, summaries, PK_JSON_COMPACT)};
    return n;
}

static struct pk_slice slice_of(const struct importing *i, const struct pk_imported_case *c, size_t k)
{
    struct pk_metric_decl *decls = pk_new_n(i->a, struct pk_metric_decl, c->n_metrics + 1);
    struct pk_series *series = pk_new_n(i->a, struct pk_series, c->n_metrics + 1);
    struct pk_note *notes = pk_new_n(i->a, struct pk_note, c->n_notes + 1);
    struct pk_slice s = {.pass = PK_PASS_TIMING,
                         .invocation = (int)k + 1,
                         .status = c->status,
                         .message = c->message,
                         .started_wall_ns = (uint64_t)i->im->started_ns,
                         .metrics = decls,
                         .n_metrics = c->n_metrics,
                         .series = series,
                         .notes = notes};
    for (size_t m = 0; m < c->n_metrics; m++) {
        decls[m] = c->metrics[m].decl;
        s.n_series += samples_of(c, m, k, &series[s.n_series]);
    }
    s.n_notes = k ? 0 : notes_of(c, i->a, notes);
    return s;
}

/* --- figures ---------------------------------------------------------------------------------------------------------- */

/* A summary of the file as the figures of its only process. */
static struct pk_summary_row row_of_summary(const struct pk_imported_metric *m)
{
    const bool mean = strcmp(m->decl.combine, "mean") == 0;
    struct pk_summary_row row = {.metric = m->decl.name,
                                 .sum = m->summary,
                                 .figure = mean ? m->summary.mean : m->summary.median,
                                 .ci = {NAN, NAN},
                                 .ci_level = NAN,
                                 .invocations = 1};
    row.sum.cv = row.sum.sd / fabs(row.sum.mean);
    for (int t = 0; t < PK_TAILS; t++)
        row.tail[t] = NAN;
    return row;
}

/* Adds the figures of a slice; of the first one those of summaries, too. */
static size_t rows_of(const struct pk_imported_case *c, const struct pk_slice *s, struct pk_summary_row *rows)
{
    size_t n = pk_summarize_slice(s, rows);
    for (size_t i = 0; i < c->n_metrics && s->invocation == 1 && s->status == PK_ST_OK; i++)
        if (is_summary(&c->metrics[i]))
            rows[n++] = row_of_summary(&c->metrics[i]);
    return n;
}

/* The rows of one metric of all slices. */
struct metric_rows {
    struct pk_summary_row *rows;
    size_t n;
};

static struct metric_rows *new_histories(const struct pk_imported_case *c, size_t n, struct pk_arena *a)
{
    struct metric_rows *h = pk_new_n(a, struct metric_rows, c->n_metrics + 1);
    for (size_t i = 0; i < c->n_metrics; i++)
        h[i].rows = pk_new_n(a, struct pk_summary_row, n);
    return h;
}

static void remember(const struct pk_imported_case *c, struct metric_rows *h,
                     const struct pk_summary_row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t m = 0; m < c->n_metrics; m++)
            if (strcmp(c->metrics[m].decl.name, rows[i].metric) == 0)
                h[m].rows[h[m].n++] = rows[i];
}

/* Of the case, over its processes. A summary's own figures stay: of its samples nothing else is known. */
static size_t rows_of_case(const struct pk_imported_case *c, const struct metric_rows *h, struct pk_arena *a,
                           struct pk_summary_row *rows)
{
    size_t n = 0;
    for (size_t m = 0; m < c->n_metrics; m++) {
        if (!h[m].n)
            continue;
        rows[n] = is_summary(&c->metrics[m])
                      ? h[m].rows[0]
                      : pk_summarize_case(h[m].rows, h[m].n, pk_new_n(a, double, h[m].n));
        if (is_summary(&c->metrics[m]))
            rows[n].sum.median = rows[n].figure;
        n++;
    }
    return n;
}

/* What ran when is a pass of its own, as of perfkit's runs. */
static enum pk_code store_trace(const struct importing *i, const struct pk_imported_case *c, int64_t id,
                                struct pk_err *err)
{
    const struct pk_slice s = {.pass = PK_PASS_TRACE,
                               .invocation = 1,
                               .status = c->status,
                               .message = c->message,
                               .started_wall_ns = (uint64_t)i->im->started_ns,
                               .notes = c->trace,
                               .n_notes = c->n_trace};
    i->result->added++;
    return pk_store_slice(i->s, id, &s, NULL, 0, NULL, 0, err);
}

static enum pk_code store_case(const struct importing *i, const struct pk_imported_case *c, int64_t id,
                               struct pk_err *err)
{
    const size_t n = processes(c);
    struct metric_rows *h = new_histories(c, n, i->a);
    struct pk_summary_row *rows = pk_new_n(i->a, struct pk_summary_row, 2 * c->n_metrics + 1),
                          *of_case = rows + c->n_metrics;
    for (size_t k = 0; k < n; k++) {
        const struct pk_slice s = slice_of(i, c, k);
        const size_t n_rows = rows_of(c, &s, rows);
        remember(c, h, rows, n_rows);
        const size_t n_case = k + 1 == n ? rows_of_case(c, h, i->a, of_case) : 0;
        if (pk_store_slice(i->s, id, &s, rows, n_rows, of_case, n_case, err))
            return err->code;
    }
    i->result->added += n;
    return c->n_trace ? store_trace(i, c, id, err) : PK_OK;
}

static enum pk_code store_cases(struct importing *i, struct pk_err *err)
{
    enum pk_code code = PK_OK;
    for (size_t k = 0; !code && k < i->im->n_cases; k++) {
        PK_ARENA_CLEANUP struct pk_arena a = {0};
        const struct pk_imported_case *c = &i->im->cases[k];
        const struct pk_case_info info = {.experiment = i->im->source,
                                          .revision = 1,
                                          .variant = c->variant,
                                          .device = c->device,
                                          .axes = c->axes,
                                          .identity = c->axes,
                                          .predicted_bytes = -1};
        int64_t id;
        i->a = &a;
        code = pk_store_cases(i->s, i->run_id, &info, 1, &id, err);
        if (!code)
            code = store_case(i, c, id, err);
    }
    return code;
}

/* --- the run ---------------------------------------------------------------------------------------------------------- */

static const char *settings_json(const struct pk_imported *im, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *path = json_string(im->path);
    PK_JSON_CLEANUP json_t *j = json_pack("{s:{s:s, s:s}}", "import", "source", im->source, "file",
                                          path ? im->path : "(a name that is not UTF-8)");
    return pk_json_text(a, j, PK_JSON_CANON);
}

static enum pk_code store_run(struct importing *i, const struct pk_import_options *o, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_imported *im = i->im;
    const struct pk_run_info info = {.experiment = im->source,
                                     .label = o->label,
                                     .command_line = o->command_line,
                                     .settings = settings_json(im, &a),
                                     .tags = o->tags,
                                     .machine = im->machine,
                                     .git_commit = im->git_commit,
                                     .git_dirty = im->git_dirty,
                                     .git_branch = im->git_branch,
                                     .version = pk_version,
                                     .uuid = im->uuid,
                                     .started_ns = im->started_ns};
    enum pk_code code = pk_store_run_begin(i->s, &info, &i->run_id, err);
    if (!code && im->n_settings)
        code = pk_store_settings(i->s, i->run_id, im->settings, im->n_settings, err);
    if (!code)
        code = store_cases(i, err);
    return code ? code : pk_store_run_end(i->s, i->run_id, "complete", err);
}

/* The run that this file is already; 0 = none. */
static enum pk_code find_run(struct pk_store *s, const struct pk_imported *im, struct pk_import_result *out,
                             struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_param uuid = pk_param_text(":uuid", im->uuid);
    struct pk_rows rows;
    if (pk_query(s, "imported_run", &uuid, 1, &a, &rows, err))
        return err->code;
    if (rows.n) {
        out->run_id = rows.cells[0].i;
        out->known = (size_t)rows.cells[1].i;
    }
    return PK_OK;
}

static enum pk_code store_spool(struct pk_store *s, const char *path, struct pk_import_result *out,
                                struct pk_err *err)
{
    struct pk_spool_result r;
    const enum pk_code code = pk_spool_import(s, path, &r, err);
    out->added = r.added;
    out->known = r.known;
    return code;
}

enum pk_code pk_import_store(struct pk_store *s, const struct pk_imported *im,
                             const struct pk_import_options *o, struct pk_import_result *out,
                             struct pk_err *err)
{
    struct importing i = {.s = s, .im = im, .result = out};
    *out = (struct pk_import_result){.cases = im->n_cases};
    if (im->spool)
        return store_spool(s, im->spool, out, err);
    if (pk_store_together(s, err))
        return err->code;
    enum pk_code code = find_run(s, im, out, err);
    if (!code && !out->run_id) {
        code = store_run(&i, o, err);
        out->run_id = i.run_id;
    }
    return pk_store_together_end(s, code, err);
}

void pk_import_print(const struct pk_imported *im, const struct pk_import_result *results, size_t n,
                     struct pk_out *out)
{
    static const struct pk_column columns[] = {
        {.key = "file", .heading = "File", .left = true},
        {.key = "source", .heading = "Source", .left = true},
        {.key = "run_id", .heading = "Run", .decimals = -1},
        {.key = "cases", .heading = "Cases", .decimals = -1},
        {.key = "added", .heading = "Added", .decimals = -1},
        {.key = "known", .heading = "Already stored", .decimals = -1},
    };
    pk_out_table(out, "import", "Slices", PK_COLUMNS(columns));
    for (size_t i = 0; i < n; i++) {
        struct pk_row *row = pk_row_begin(out);
        pk_put_text(row, "file", im[i].path);
        pk_put_text(row, "source", im[i].source);
        if (results[i].run_id)
            pk_put_int(row, "run_id", results[i].run_id);
        if (results[i].cases)
            pk_put_int(row, "cases", (int64_t)results[i].cases);
        pk_put_int(row, "added", (int64_t)results[i].added);
        pk_put_int(row, "known", (int64_t)results[i].known);
        pk_row_end(row);
    }
}
