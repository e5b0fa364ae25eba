/* All-reduce fit: timelines into a cost, a rate, and a prediction for every case. */
#include "comm/allreduce_fit.h"

#include "comm/bucket_model.h"
#include "store/table/table.h"
#include "json/json.h"

#include <math.h>
#include <string.h>

enum { CASE, EXPERIMENT, DEVICE, FIXED, CAP, FIRST, SPLIT, TIMELINE }; /* columns */
enum { T_BYTES, T_READY };                                             /* of a tensor's row */
enum { R_BYTES, R_READY, R_STARTED, R_ENDED, R_LEAST };                /* of an all-reduce's */

/* Slices of one setting, ordered by case. */
struct setting {
    size_t n;
    const struct pk_cell *cells; /* [n][columns] */
    size_t columns;
    json_t **timeline; /* [n] */
    struct pk_link_fit cost;
    double least_bytes, most_bytes; /* the candidates */
    bool split;                     /* their buckets cut tensors */
    size_t n_tensors;
    size_t *bytes;    /* [tensors] */
    double *ready_ns; /* [tensors] median over the slices, not falling */
    double backward_ns;
};

static const struct pk_cell *cell(const struct setting *v, size_t i, size_t column)
{
    return &v->cells[i * v->columns + column];
}

static double number(const json_t *row, size_t i)
{
    return json_number_value(json_array_get(row, i));
}

static const json_t *list(const struct setting *v, size_t slice, const char *name)
{
    return json_object_get(v->timeline[slice], name);
}

static double median(double *x, size_t n)
{
    return pk_summarize(x, n).median;
}

static void fit_cost(struct setting *v, struct pk_arena *a)
{
    size_t n = 0, at = 0;
    for (size_t i = 0; i < v->n; i++)
        n += json_array_size(list(v, i, "reduces"));
    struct pk_timed_reduce *timed = pk_new_n(a, struct pk_timed_reduce, n);
    for (size_t i = 0; i < v->n; i++) {
        const json_t *rows = list(v, i, "reduces");
        for (size_t k = 0; k < json_array_size(rows); k++) {
            const json_t *row = json_array_get(rows, k);
            timed[at++] = (struct pk_timed_reduce){number(row, R_BYTES), number(row, R_LEAST)};
        }
    }
    v->cost = pk_fit_link(timed, at, v->least_bytes, v->most_bytes);
}

/* False where slices do not have the same tensors: no timeline of ours. */
static bool find_readiness(struct setting *v, struct pk_arena *a)
{
    double *x = pk_new_n(a, double, v->n);
    v->n_tensors = json_array_size(list(v, 0, "tensors"));
    v->bytes = pk_new_n(a, size_t, v->n_tensors);
    v->ready_ns = pk_new_n(a, double, v->n_tensors);
    for (size_t i = 0; i < v->n; i++) {
        if (json_array_size(list(v, i, "tensors")) != v->n_tensors)
            return false;
        x[i] = pk_json_num(v->timeline[i], "backward_ns", 0);
    }
    v->backward_ns = median(x, v->n);
    for (size_t t = 0; t < v->n_tensors; t++) {
        for (size_t i = 0; i < v->n; i++)
            x[i] = number(json_array_get(list(v, i, "tensors"), t), T_READY);
        v->bytes[t] = (size_t)number(json_array_get(list(v, 0, "tensors"), t), T_BYTES);
        v->ready_ns[t] = fmax(median(x, v->n), t ? v->ready_ns[t - 1] : 0);
    }
    return v->n_tensors > 0;
}

/* --- rows --- */

/* Intervals without an end are not known. */
static struct pk_interval ended_interval(double lo, double hi)
{
    return (struct pk_interval){isfinite(lo) ? lo : NAN, isfinite(hi) ? hi : NAN};
}

/* Of the median of rates in the order in which they were measured. On logs, so that no end is below zero however much they vary. */
static struct pk_interval rate_interval(const double *rates, size_t n, struct pk_arena *a)
{
    double *x = pk_new_n(a, double, n);
    for (size_t i = 0; i < n; i++)
        x[i] = log(rates[i] / rates[0]); /* of equal rates exactly 0 */
    const struct pk_interval logs = pk_median_interval(x, n, 0.95);
    return (struct pk_interval){rates[0] * exp(logs.lo), rates[0] * exp(logs.hi)};
}

static enum pk_code store_fits(struct pk_store *s, int64_t run_id, const struct setting *v,
                               struct pk_arena *a, struct pk_err *err)
{
    const struct pk_fit_info named = {.kind = "line",
                                      .experiment = cell(v, 0, EXPERIMENT)->s,
                                      .variant = "bucket",
                                      .device = cell(v, 0, DEVICE)->s,
                                      .group = cell(v, 0, FIXED)->s};
    struct pk_fit_info fits[2] = {named, named};
    fits[0].name = "gradients_produced";
    fits[0].metric = "gradient_bytes";
    fits[0].axis = "backward_ns";
    double *x = pk_new_n(a, double, v->n), bytes = 0;
    for (size_t t = 0; t < v->n_tensors; t++)
        bytes += (double)v->bytes[t];
    for (size_t i = 0; i < v->n; i++)
        x[i] = bytes / fmax(pk_json_num(v->timeline[i], "backward_ns", 0), 1);
    const struct pk_interval produced = rate_interval(x, v->n, a); /* before the median orders them */
    fits[0].fit = (struct pk_fit){
        .n = v->n, .slope = median(x, v->n), .slope_ci = produced, .intercept_ci = {NAN, NAN}, .r2 = NAN};
    fits[1].name = "reduce_cost";
    fits[1].metric = "reduce_ns";
    fits[1].axis = "bytes";
    fits[1].fit =
        (struct pk_fit){.n = v->cost.sizes,
                        .slope = 1e9 / v->cost.link_bytes_per_s,
                        .slope_ci = ended_interval(1e9 / v->cost.link_ci.hi, 1e9 / v->cost.link_ci.lo),
                        .intercept = v->cost.launch_ns,
                        .intercept_ci = ended_interval(v->cost.launch_ci.lo, v->cost.launch_ci.hi),
                        .r2 = NAN};
    return pk_store_fits(s, run_id, fits, isnan(v->cost.launch_ns) ? 1 : 2, err);
}

/* Elements of a byte: plans of tensors of equal types are the same. */
static double exposed_ns(const struct setting *v, size_t cap, size_t first, struct pk_arena *a)
{
    struct pk_buckets b;
    (v->split ? pk_buckets_split : pk_buckets_plan)(v->bytes, v->n_tensors, cap, first, a, &b);
    const double end = pk_buckets_end_ns(&b, 1, v->ready_ns, v->cost.launch_ns, v->cost.link_bytes_per_s);
    return fmax(end - v->backward_ns, 0);
}

static enum pk_code store_predictions(struct pk_store *s, const struct setting *v, struct pk_arena *a,
                                      struct pk_err *err)
{
    struct pk_case_work *w = pk_new_n(a, struct pk_case_work, v->n);
    size_t n = 0;
    for (size_t i = 0; i < v->n; i++) {
        const int64_t case_id = cell(v, i, CASE)->i;
        if (n && w[n - 1].case_id == case_id)
            continue;
        w[n++] = (struct pk_case_work){
            .case_id = case_id,
            .metric = "exposed_ns",
            .flops = NAN,
            .bytes = NAN,
            .exps = NAN,
            .messages = NAN,
            .predicted = exposed_ns(v, (size_t)cell(v, i, CAP)->i, (size_t)cell(v, i, FIRST)->i, a)};
    }
    return pk_store_works(s, w, n, err);
}

/* The slices of one setting from row `from` on, *n of them. */
static enum pk_code record_setting(struct pk_store *s, int64_t run_id, const struct pk_rows *r, size_t from,
                                   size_t *n, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct setting v = {.cells = r->cells + from * r->n_cols, .columns = r->n_cols, .least_bytes = INFINITY};
    for (v.n = 1; from + v.n < r->n && !strcmp(cell(&v, 0, FIXED)->s, cell(&v, v.n, FIXED)->s) &&
                  !strcmp(cell(&v, 0, DEVICE)->s, cell(&v, v.n, DEVICE)->s);)
        v.n++;
    *n = v.n;
    v.split = cell(&v, 0, SPLIT)->i != 0;
    v.timeline = pk_new_n(&a, json_t *, v.n);
    for (size_t i = 0; i < v.n; i++) {
        v.timeline[i] = json_loads(cell(&v, i, TIMELINE)->s, 0, NULL);
        v.least_bytes = fmin(v.least_bytes, (double)cell(&v, i, CAP)->i);
        v.most_bytes = fmax(v.most_bytes, (double)cell(&v, i, CAP)->i);
    }
    fit_cost(&v, &a);
    enum pk_code rc = PK_OK;
    if (find_readiness(&v, &a)) {
        rc = store_fits(s, run_id, &v, &a, err);
        if (!rc && !isnan(v.cost.launch_ns))
            rc = store_predictions(s, &v, &a, err);
    }
    for (size_t i = 0; i < v.n; i++)
        json_decref(v.timeline[i]);
    return rc;
}

enum pk_code pk_derive_allreduce_fit(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                     struct pk_err *err)
{
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    enum pk_code rc = pk_query(s, "allreduce_timelines", &run, 1, a, &r, err);
    for (size_t i = 0, n; !rc && i < r.n; i += n)
        rc = record_setting(s, run_id, &r, i, &n, err);
    return rc;
}

/* --- a fit that was stored --- */

enum pk_code pk_link_cost_of_run(struct pk_store *s, int64_t run_id, struct pk_arena *a,
                                 struct pk_link_cost *out, struct pk_err *err)
{
    enum { LAUNCH, BUS, SIZES, SETTING };
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows r;
    if (pk_query(s, "allreduce_cost", &run, 1, a, &r, err))
        return err->code;
    if (!r.n) {
        pk_fail(err, PK_E_NOTHING, "run %lld does not contain the cost of an all-reduce", (long long)run_id);
        pk_why(err, "this needs the variant bucket of ddp-bucket, with all-reduces of three or more sizes "
                    "between the smallest and the largest bucket_bytes");
        return pk_fix(err, "%s", PK_LINK_COST_COMMAND);
    }
    *out = (struct pk_link_cost){.launch_ns = r.cells[LAUNCH].f,
                                 .bus_bytes_per_s = r.cells[BUS].f,
                                 .sizes = r.cells[SIZES].i,
                                 .setting = r.cells[SETTING].s,
                                 .settings = r.n};
    return PK_OK;
}
