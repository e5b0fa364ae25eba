/* Components: the noise of a calibration's rows split into processes and samples, and what to spend for an interval. */
#include "judge/report/comparison.h"

#include "stats/infer.h"
#include "store/table/table.h"

#include <math.h>
#include <string.h>

enum { MOST_SAMPLES = 10000 }; /* what --max-samples is by default */

static const struct pk_column columns[] = {
    {.key = "variant", .heading = "Variant", .left = true},
    {.key = "axes", .heading = "axes", .left = true, .json = true, .machine = true},
    {.key = "case", .heading = "Case", .left = true},
    {.key = "metric", .heading = "Metric", .left = true},
    {.key = "between", .heading = "Between ± %", .scale = 0.01, .decimals = 2},
    {.key = "within", .heading = "Within ± %", .scale = 0.01, .decimals = 2},
    {.key = "process_ns", .heading = "Start (ms)", .scale = 1e6, .decimals = 2, .optional = 2},
    {.key = "sample_ns", .heading = "Sample (ms)", .scale = 1e6, .decimals = 3, .optional = 2},
    {.key = "processes", .heading = "Processes", .decimals = -1},
    {.key = "samples", .heading = "Samples", .decimals = -1},
    {.key = "spend_ns", .heading = "Time (s)", .scale = 1e9, .decimals = 1, .optional = 1},
};

/* The rows of `processes` from `first` on that are of the same case and metric. */
static size_t count_processes(const struct pk_rows *r, size_t first)
{
    size_t n = 1;
    while (first + n < r->n &&
           pk_rows_cell(r, first, "ordinal")->i == pk_rows_cell(r, first + n, "ordinal")->i &&
           strcmp(pk_cell_string(pk_rows_cell(r, first, "metric")),
                  pk_cell_string(pk_rows_cell(r, first + n, "metric"))) == 0)
        n++;
    return n;
}

static double mean_of(const struct pk_rows *r, size_t first, size_t n, const char *name)
{
    double sum = 0;
    for (size_t i = first; i < first + n; i++)
        sum += pk_cell_number(pk_rows_cell(r, i, name)) / (double)n;
    return sum;
}

static struct pk_components components_of(const struct pk_rows *r, size_t first, size_t n, struct pk_arena *a)
{
    struct pk_process_samples *v = pk_new_n(a, struct pk_process_samples, n);
    for (size_t i = 0; i < n; i++) {
        const double cv = pk_cell_number(pk_rows_cell(r, first + i, "cv"));
        v[i] = (struct pk_process_samples){log(pk_cell_number(pk_rows_cell(r, first + i, "figure"))), cv * cv,
                                           (size_t)pk_rows_cell(r, first + i, "n")->i};
    }
    return pk_variance_components(v, n, pk_factor_of_medians);
}

static void print_row(const struct pk_rows *r, size_t first, size_t n, double interval, struct pk_arena *a,
                      struct pk_out *out)
{
    const struct pk_components c = components_of(r, first, n, a);
    /* All iterations of a process cannot take longer than it. Without times of its own a sample is a process. */
    const double elapsed = mean_of(r, first, n, "elapsed_ns"), samples = mean_of(r, first, n, "n");
    const double iteration = mean_of(r, first, n, "iteration_ns");
    const double sample_ns = isnan(iteration) ? 0 : fmin(iteration, elapsed / samples);
    const double process_ns = fmax(elapsed - samples * sample_ns, 0); /* rounded, it can be less */
    const struct pk_sample_sizes s =
        pk_cheapest_sample_sizes(&c, process_ns, sample_ns, log1p(interval), 0.95, MOST_SAMPLES);
    struct pk_row *row = pk_row_begin(out);
    pk_put_nonempty(row, "variant", pk_cell_string(pk_rows_cell(r, first, "variant")));
    pk_put_nonempty(row, "axes", pk_cell_string(pk_rows_cell(r, first, "axes")));
    pk_put_nonempty(row, "case", pk_cell_string(pk_rows_cell(r, first, "place")));
    pk_put_nonempty(row, "metric", pk_cell_string(pk_rows_cell(r, first, "metric")));
    pk_put_real(row, "between", c.between);
    pk_put_real(row, "within", c.within);
    pk_put_real(row, "process_ns", process_ns);
    if (sample_ns > 0)
        pk_put_real(row, "sample_ns", sample_ns);
    if (s.processes != SIZE_MAX) {
        pk_put_int(row, "processes", (int64_t)s.processes);
        pk_put_int(row, "samples", (int64_t)s.samples);
        pk_put_real(row, "spend_ns", s.ns);
    }
    pk_row_end(row);
}

enum pk_code pk_compare_print_components(struct pk_store *store, int64_t base_run, int64_t new_run,
                                         double interval, struct pk_arena *a, struct pk_out *out,
                                         struct pk_err *err)
{
    const struct pk_param params[] = {pk_param_int(":base", base_run), pk_param_int(":new", new_run)};
    struct pk_rows r;
    if (pk_query(store, "calibrated_processes", PK_PARAMS(params), a, &r, err))
        return err->code;
    if (!r.n)
        return PK_OK;
    pk_out_table(out, "components",
                 pk_printf(a, "Processes and samples for a median within ±%.3g %%", 100 * interval),
                 PK_COLUMNS(columns));
    for (size_t i = 0, n; i < r.n; i += n) {
        n = count_processes(&r, i);
        print_row(&r, i, n, interval, a, out);
    }
    pk_out_note(out,
                "Between: what the samples of a process share. Within: their spread. Processes and Samples "
                "reach the interval in the least time; more samples reduce only the part of Within.");
    return PK_OK;
}
