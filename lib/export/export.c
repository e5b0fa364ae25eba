/* Export: reads the medians of runs, and writes them in the formats that are JSON. */
#include "export/export.h"

#include "base/text/buf.h"
#include "base/text/words.h"
#include "export/medians.h"
#include "judge/pair/pair.h"
#include "out/text.h"
#include "store/table/table.h"
#include "json/json.h"

#include <math.h>
#include <string.h>

/* --- rows ------------------------------------------------------------------------------------------------------------- */

/* A log may show the file: no command of a CI server is in a text of it. */
static const char *safe(const struct pk_cell *c, struct pk_arena *a)
{
    struct pk_buf shown = {.arena = a}, b = {.arena = a};
    unsigned marker = 0;
    pk_text_safe(&shown, c->type == PK_CELL_TEXT ? c->s : "");
    for (const char *p = pk_buf_text(&shown); *p; p++)
        pk_buf_str(&b, pk_ends_marker(&marker, *p) ? "\xef\xbf\xbd" : (const char[]){*p, '\0'});
    return pk_buf_text(&b);
}

static const char *axes_words(const struct pk_cell *identity, struct pk_arena *a)
{
    const char *words = pk_axes_words(identity->type == PK_CELL_TEXT ? identity->s : "{}", a);
    const struct pk_cell text = pk_cell_text(words ? words : "");
    return safe(&text, a);
}

enum {
    EXPERIMENT,
    VARIANT,
    DEVICE,
    IDENTITY,
    METRIC,
    UNIT,
    DIRECTION,
    MEDIAN,
    CI_LOW,
    CI_HIGH,
    N,
    INVOCATIONS
};

static struct pk_median_row row_of(const struct pk_cell *c, int64_t run, struct pk_arena *a)
{
    struct pk_median_row r = {.run = run,
                              .experiment = safe(&c[EXPERIMENT], a),
                              .variant = safe(&c[VARIANT], a),
                              .device = safe(&c[DEVICE], a),
                              .axes = axes_words(&c[IDENTITY], a),
                              .metric = safe(&c[METRIC], a),
                              .unit = safe(&c[UNIT], a),
                              .direction = safe(&c[DIRECTION], a),
                              .median = pk_cell_number(&c[MEDIAN]),
                              .ci_low = pk_cell_number(&c[CI_LOW]),
                              .ci_high = pk_cell_number(&c[CI_HIGH]),
                              .n = c[N].i,
                              .invocations = c[INVOCATIONS].i};
    const char *class = pk_device_class(r.device, a);
    const bool cpu = strcmp(class, "cpu") == 0;
    r.benchmark = pk_printf(a, "%s %s%s%s%s%s%s", r.experiment, r.variant, *r.axes ? " " : "", r.axes,
                            cpu ? "" : " (", cpu ? "" : class, cpu ? "" : ")");
    return r;
}

static enum pk_code read_run(struct pk_store *s, int64_t run, struct pk_arena *a, struct pk_median_rows *out,
                             struct pk_err *err)
{
    const struct pk_param param = pk_param_int(":run", run);
    struct pk_rows rows;
    if (pk_query(s, "export_medians", &param, 1, a, &rows, err))
        return err->code;
    for (size_t i = 0; i < rows.n; i++) {
        const struct pk_median_row r = row_of(&rows.cells[i * rows.n_cols], run, a);
        if (!isfinite(r.median))
            continue;
        out->v = pk_grow(a, out->v, sizeof *out->v, out->n, &out->cap);
        out->v[out->n++] = r;
    }
    return PK_OK;
}

/* --- JSON ------------------------------------------------------------------------------------------------------------- */

/* Slugs of Bencher: small letters, digits, hyphens. */
static const char *slug(const char *metric, struct pk_arena *a)
{
    char *s = pk_strdup(a, metric);
    for (char *p = s; *p; p++) {
        *p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
        if (!((*p >= 'a' && *p <= 'z') || (*p >= '0' && *p <= '9')))
            *p = '-';
    }
    return s;
}

static enum pk_code fail_duplicate(const struct pk_median_row *r, const char *format, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "export %s: %s of %.200s has two values", format, r->metric, r->benchmark);
    pk_why(err, "two of the runs have this case, or two cases of a run have this name, and a benchmark has "
                "one value");
    return pk_fix(err, "export one run into each file");
}

static enum pk_code bmf(const struct pk_median_rows *rows, struct pk_arena *a, json_t **out,
                        struct pk_err *err)
{
    json_t *all = *out = json_object();
    for (size_t i = 0; i < rows->n; i++) {
        const struct pk_median_row *r = &rows->v[i];
        json_t *of = json_object_get(all, r->benchmark);
        if (!of)
            json_object_set_new(all, r->benchmark, of = json_object());
        if (json_object_get(of, slug(r->metric, a)))
            return fail_duplicate(r, "bmf", err);
        json_t *m = json_pack("{s:f}", "value", r->median);
        if (isfinite(r->ci_low) && isfinite(r->ci_high)) {
            json_object_set_new(m, "lower_value", json_real(r->ci_low));
            json_object_set_new(m, "upper_value", json_real(r->ci_high));
        }
        json_object_set_new(of, slug(r->metric, a), m);
    }
    return PK_OK;
}

static enum pk_code gab(const struct pk_median_rows *rows, bool bigger, struct pk_arena *a, json_t **out,
                        struct pk_err *err)
{
    PK_JSON_CLEANUP json_t *names = json_object();
    *out = json_array();
    for (size_t i = 0; i < rows->n; i++) {
        const struct pk_median_row *r = &rows->v[i];
        const char *name = pk_printf(a, "%s: %s", r->benchmark, r->metric);
        if (!pk_has_direction(r->direction) || pk_higher_is_better(r->direction) != bigger)
            continue;
        if (json_object_get(names, name))
            return fail_duplicate(r, "gab", err);
        json_object_set_new(names, name, json_true());
        json_t *j = json_pack("{s:s, s:s, s:f}", "name", name, "unit", r->unit, "value", r->median);
        if (isfinite(r->ci_low) && isfinite(r->ci_high))
            json_object_set_new(
                j, "range",
                json_string(pk_printf(a, "± %.6g", fmax(r->ci_high - r->median, r->median - r->ci_low))));
        json_object_set_new(j, "extra",
                            json_string(pk_printf(a, "run %lld, %s, %s", (long long)r->run,
                                                  pk_plural((size_t)r->invocations, "process", a),
                                                  pk_plural((size_t)r->n, "sample", a))));
        json_array_append_new(*out, j);
    }
    return PK_OK;
}

/* --- formats ---------------------------------------------------------------------------------------------------------- */

static enum pk_code no_case_or_metric(const char *format, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "export %s: there is nothing to write", format);
    pk_why(err, strncmp(format, "gab", 3)
                    ? "no case of the runs has a median"
                    : "no metric of the runs has this direction: gab has those of which less is "
                      "better, gab-bigger those of which more is");
    return pk_fix(err, "`perfkit show RUN` prints what a run has");
}

enum pk_code pk_export_text(struct pk_store *s, const char *format, const int64_t *runs, size_t n,
                            struct pk_arena *a, const char **text, struct pk_err *err)
{
    struct pk_median_rows rows = {0};
    PK_JSON_CLEANUP json_t *j = NULL;
    for (size_t i = 0; i < n; i++)
        if (read_run(s, runs[i], a, &rows, err))
            return err->code;
    if (rows.n && strcmp(format, "openmetrics") == 0) {
        *text = pk_export_openmetrics(&rows, a);
        return PK_OK;
    }
    if (rows.n && (strcmp(format, "bmf") == 0 ? bmf(&rows, a, &j, err)
                                              : gab(&rows, strcmp(format, "gab") != 0, a, &j, err)))
        return err->code;
    if (!json_object_size(j) && !json_array_size(j))
        return no_case_or_metric(format, err);
    *text = pk_printf(a, "%s\n", pk_json_text(a, j, JSON_INDENT(1)));
    return PK_OK;
}
