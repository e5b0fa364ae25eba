/* Counters: medians, metrics and perturbation from the slices of counter passes. */
#include "bench/record/counters.h"

#include "bench/record/roofline.h"
#include "store/table.h"

#include <math.h>
#include <string.h>

static const char iteration[] = "iteration";

/* What is known of one case, by region; the last region is the whole iteration. */
struct known {
    double *time_ns, *flops, *bytes; /* [regions + 1], NaN = not known */
    double *tensor_flops;            /* likewise */
    double *perturbation;            /* likewise */
    double ***count;                 /* [regions + 1][plan][event] */
};

struct counted {
    struct pk_store *s;
    int64_t run_id;
    const struct pk_plan *plan;
    const struct pk_counters *counters;
    const struct pk_ceilings *top;
    struct pk_arena *a;
    size_t n_regions;
    struct pk_rows samples, times;
    struct pk_counter_row *rows;
    size_t n, cap;
};

static double *nans(struct pk_arena *a, size_t n)
{
    double *v = pk_new_n(a, double, n + 1);
    for (size_t i = 0; i < n; i++)
        v[i] = NAN;
    return v;
}

static struct known nothing(const struct counted *c)
{
    const size_t places = c->n_regions + 1, plans = c->counters->n_plans;
    struct known k = {nans(c->a, places), nans(c->a, places), nans(c->a, places),
                      nans(c->a, places), nans(c->a, places), pk_new_n(c->a, double **, places)};
    for (size_t r = 0; r < places; r++) {
        k.count[r] = pk_new_n(c->a, double *, plans);
        for (size_t p = 0; p < plans; p++)
            k.count[r][p] = nans(c->a, c->counters->plans[p].n);
    }
    return k;
}

static const char *region_name(const struct counted *c, size_t r)
{
    return r < c->n_regions ? c->plan->probe->regions[r].name : iteration;
}

/* The region that a text of n bytes names; c->n_regions + 1 when it names none. */
static size_t find_region(const struct counted *c, const char *name, size_t n)
{
    size_t r = 0;
    while (r <= c->n_regions && (strlen(region_name(c, r)) != n || strncmp(region_name(c, r), name, n)))
        r++;
    return r;
}

static double real_of(const struct pk_cell *c)
{
    return c->type == PK_CELL_INT ? (double)c->i : c->type == PK_CELL_REAL ? c->f : NAN;
}

/* Time, FLOPs and bytes of the timing passes: of each region, and their sum. */
static void take_times(const struct counted *c, int64_t case_id, struct known *k)
{
    enum { CASE, METRIC, MEDIAN, FLOPS, BYTES, COLUMNS };
    const size_t whole = c->n_regions;
    for (size_t i = 0; i < c->times.n; i++) {
        const struct pk_cell *row = c->times.cells + i * COLUMNS;
        const char *metric = row[METRIC].s;
        const size_t r = find_region(c, metric, strlen(metric) - strlen("_ns"));
        if (row[CASE].i != case_id || r >= whole)
            continue;
        double *const to[] = {k->time_ns, k->flops, k->bytes};
        for (size_t f = 0; f < 3; f++) {
            to[f][r] = real_of(&row[MEDIAN + f]);
            to[f][whole] = isnan(to[f][whole]) ? to[f][r] : to[f][whole] + to[f][r];
        }
    }
}

static void take_count(const struct counted *c, const struct known *k, size_t plan, const char *metric,
                       double median)
{
    const char *dot = strchr(metric, '.');
    const size_t r = find_region(c, metric, (size_t)(dot - metric));
    const struct pk_source_plan *p = &c->counters->plans[plan];
    for (size_t e = 0; r <= c->n_regions && e < p->n; e++)
        if (!strcmp(p->events[e].name, dot + 1))
            k->count[r][plan][e] = median;
}

static void take_slowdown(const struct counted *c, struct known *k, const char *metric, double median)
{
    const size_t r = find_region(c, metric, strlen(metric) - strlen("_ns"));
    if (r < c->n_regions && k->time_ns[r] > 0)
        k->perturbation[r] = fmax(k->perturbation[r], median / k->time_ns[r] - 1); /* fmax knows NaN */
}

/* The samples of one case: rows [from, to) in the order of pass, metric and value. */
static void take_samples(const struct counted *c, size_t from, size_t to, struct known *k)
{
    enum { CASE, PASS, METRIC, VALUE, COLUMNS };
    const struct pk_cell *cells = c->samples.cells;
    for (size_t i = from, end; i < to; i = end) {
        const struct pk_cell *row = cells + i * COLUMNS;
        for (end = i; end < to && cells[end * COLUMNS + PASS].i == row[PASS].i &&
                      !strcmp(cells[end * COLUMNS + METRIC].s, row[METRIC].s);)
            end++;
        const size_t plan = (size_t)row[PASS].i - 1;
        const double low = real_of(&cells[(i + (end - i - 1) / 2) * COLUMNS + VALUE]),
                     high = real_of(&cells[(i + (end - i) / 2) * COLUMNS + VALUE]);
        if (plan >= c->counters->n_plans)
            continue;
        if (strchr(row[METRIC].s, '.'))
            take_count(c, k, plan, row[METRIC].s, (low + high) / 2);
        else
            take_slowdown(c, k, row[METRIC].s, (low + high) / 2);
    }
}

static void add_row(struct counted *c, const struct pk_counter_row *row)
{
    c->rows = pk_grow(c->a, c->rows, sizeof *c->rows, c->n, &c->cap);
    c->rows[c->n++] = *row;
}

static void add_events(struct counted *c, int64_t case_id, size_t r, const struct known *k)
{
    for (size_t p = 0; p < c->counters->n_plans; p++) {
        const struct pk_source_plan *plan = &c->counters->plans[p];
        for (size_t i = 0; i < plan->n; i++) {
            const struct pk_event *e = &plan->events[i];
            const bool known = !isnan(k->count[r][p][i]);
            add_row(c, &(struct pk_counter_row){case_id, region_name(c, r), "", e->name, e->unit,
                                                k->count[r][p][i], e->source, e->native,
                                                e->quality == PK_QUALITY_EXACT ? "exact" : "approximate",
                                                e->modes, known ? e->note : "it was not counted"});
        }
    }
}

/* "cycles" is missing, "cycles is 0" says itself. */
static const char *why_unknown(const struct counted *c, const char *missing)
{
    return strchr(missing, ' ') ? missing : pk_printf(c->a, "for want of %s", missing);
}

static void add_metrics(struct counted *c, int64_t case_id, size_t r, const struct known *k)
{
    const double given[PK_GIVENS] = {
        [PK_GIVEN_TIME_NS] = k->time_ns[r],
        [PK_GIVEN_FLOPS] = k->flops[r],
        [PK_GIVEN_BYTES] = k->bytes[r],
        [PK_GIVEN_PEAK_FLOPS_PER_S] = c->top->fp32_flops_per_s ? c->top->fp32_flops_per_s : NAN,
        [PK_GIVEN_PEAK_BYTES_PER_S] = c->top->memory_bytes_per_s ? c->top->memory_bytes_per_s : NAN,
    };
    for (size_t i = 0; i < c->counters->n_metrics; i++) {
        const struct pk_counter_metric *m = &c->counters->metrics[i];
        const char *missing = NULL;
        const double v =
            pk_counter_metric_value(m, (const double *const *)k->count[r], given, c->a, &missing);
        add_row(c,
                &(struct pk_counter_row){case_id, region_name(c, r), m->group, m->name, m->unit, v, "formula",
                                         m->formula->text, *m->apart && !isnan(v) ? "approximate" : "derived",
                                         "", isnan(v) ? why_unknown(c, missing) : m->apart});
    }
}

/* --- roofline ------------------------------------------------------------------------------------------------------- */

enum amount { FLOPS, BYTES, AMOUNTS };

/* What counts the work that a roof is about, added up; the first row of which every event is known. What a device's fp32 ceiling does
 * not bound (double precision, tensor cores) is not in it. */
static const struct {
    enum amount amount;
    const char *events[3];
    const char *native;
} work_events[] = {
    {FLOPS, {"sp_flops"}, "sp_flops"},
    {BYTES, {"dram_read_bytes", "dram_write_bytes"}, "dram_read_bytes + dram_write_bytes"},
    {BYTES, {"gpu_dram_read_bytes", "gpu_dram_write_bytes"}, "gpu_dram_read_bytes + gpu_dram_write_bytes"},
    {FLOPS, {"fake_flops"}, "fake_flops"},
    {BYTES, {"fake_bytes"}, "fake_bytes"},
};

/* Adds the event to *to; false when it was not counted at that place. */
static bool add_count(const struct counted *c, const struct known *k, size_t r, const char *name,
                      struct pk_roofline_amount *to)
{
    for (size_t p = 0; p < c->counters->n_plans; p++)
        for (size_t e = 0; e < c->counters->plans[p].n; e++) {
            const struct pk_event *event = &c->counters->plans[p].events[e];
            if (strcmp(event->name, name) != 0 || isnan(k->count[r][p][e]))
                continue;
            to->value += k->count[r][p][e];
            to->source = event->source;
            to->approximate |= event->quality != PK_QUALITY_EXACT;
            to->plan = p;
            return true;
        }
    return false;
}

static struct pk_roofline_amount amount_of(const struct counted *c, const struct known *k, size_t r,
                                           enum amount which)
{
    for (size_t i = 0; i < sizeof work_events / sizeof *work_events; i++) {
        struct pk_roofline_amount sum = {.native = work_events[i].native};
        bool all = work_events[i].amount == which && !(which == FLOPS && k->tensor_flops[r] > 0);
        for (const char *const *name = work_events[i].events; all && *name; name++)
            all = add_count(c, k, r, *name, &sum);
        if (all)
            return sum;
    }
    return (struct pk_roofline_amount){.value = which == FLOPS ? k->flops[r] : k->bytes[r],
                                       .source = "declared",
                                       .native = which == FLOPS ? "flops" : "bytes"};
}

static void add_roofline(struct counted *c, int64_t case_id, size_t r, const struct known *k)
{
    struct pk_counter_row rows[PK_ROOFLINE_ROWS];
    const struct pk_roofline_work w = {k->time_ns[r], amount_of(c, k, r, FLOPS), amount_of(c, k, r, BYTES),
                                       k->tensor_flops[r]};
    const size_t n = pk_roofline_rows(&w, c->top, case_id, region_name(c, r), rows);
    for (size_t i = 0; i < n; i++)
        add_row(c, &rows[i]);
}

/* --- cases ---------------------------------------------------------------------------------------------------------- */

static bool counted_at(const struct counted *c, size_t r, const struct known *k)
{
    for (size_t p = 0; p < c->counters->n_plans; p++)
        for (size_t e = 0; e < c->counters->plans[p].n; e++)
            if (!isnan(k->count[r][p][e]))
                return true;
    return false;
}

/* The iteration stands for itself where it is more than one region, or was counted as a whole. */
static bool stands(const struct counted *c, size_t r, const struct known *k)
{
    size_t timed = 0;
    for (size_t i = 0; i < c->n_regions; i++)
        timed += !isnan(k->time_ns[i]);
    return r < c->n_regions || timed > 1 || (timed && counted_at(c, r, k));
}

static void take_tensor_flops(const struct counted *c, const struct pk_planned *p, struct known *k)
{
    struct pk_case of = p->c;
    if (p->provider)
        of.variant = 0; /* as pk_case_works has it */
    k->tensor_flops[c->n_regions] = 0;
    for (size_t r = 0; r < c->n_regions; r++) {
        if (isnan(k->time_ns[r]))
            continue;
        k->tensor_flops[r] = c->plan->probe->work(&of, (unsigned)r).tensor_flops;
        k->tensor_flops[c->n_regions] += k->tensor_flops[r];
    }
}

static void add_case(struct counted *c, size_t i, int64_t case_id, size_t from, size_t to)
{
    struct known k = nothing(c);
    take_times(c, case_id, &k);
    take_samples(c, from, to, &k);
    take_tensor_flops(c, &c->plan->v[i], &k);
    for (size_t r = 0; r <= c->n_regions; r++) {
        if (stands(c, r, &k))
            add_roofline(c, case_id, r, &k);
        if (!counted_at(c, r, &k))
            continue;
        add_events(c, case_id, r, &k);
        add_metrics(c, case_id, r, &k);
        if (!isnan(k.perturbation[r]))
            add_row(c, &(struct pk_counter_row){case_id, region_name(c, r), "", "perturbation", "1",
                                                k.perturbation[r], "harness", "", "exact", "", ""});
    }
}

static enum pk_code read_run(struct counted *c, struct pk_err *err)
{
    static const char samples[] =
        "SELECT case_id, invocation, metric, sum(value) AS value FROM v_sample"
        " WHERE run_id = :run AND pass = 'counter' AND phase = 'steady'"
        " AND (metric LIKE '%.%' OR (unit = 'ns' AND metric LIKE '%\\_ns' ESCAPE '\\' AND metric NOT LIKE "
        "'%\\_host\\_ns' ESCAPE '\\'))"
        " GROUP BY case_id, invocation, metric, ordinal HAVING value IS NOT NULL ORDER BY 1, 2, 3, 4";
    static const char times[] =
        "SELECT s.case_id, s.metric, s.median, w.flops, w.bytes FROM v_summary s"
        " LEFT JOIN v_work w ON w.case_id = s.case_id AND w.metric = s.metric"
        " WHERE s.run_id = :run AND s.unit = 'ns' AND s.metric LIKE '%\\_ns' ESCAPE '\\'";
    const struct pk_param run = pk_param_int(":run", c->run_id);
    if (pk_store_query(c->s, samples, &run, 1, c->a, &c->samples, err))
        return err->code;
    return pk_store_query(c->s, times, &run, 1, c->a, &c->times, err);
}

/* The first row of the case, or of the next that has any: they are sorted. */
static size_t first_of(const struct pk_rows *rows, int64_t case_id)
{
    size_t low = 0, high = rows->n;
    while (low < high) {
        const size_t mid = (low + high) / 2;
        if (rows->cells[mid * rows->n_cols].i < case_id)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

enum pk_code pk_record_counters(struct pk_store *s, int64_t run_id, const struct pk_plan *plan,
                                const int64_t *case_ids, const struct pk_counters *counters,
                                const struct pk_ceilings *top, struct pk_arena *a, struct pk_err *err)
{
    struct counted c = {.s = s, .run_id = run_id, .plan = plan, .counters = counters, .top = top, .a = a};
    while (plan->probe->regions[c.n_regions].name)
        c.n_regions++;
    if (read_run(&c, err))
        return err->code;
    for (size_t i = 0; i < plan->n; i++) {
        const size_t from = first_of(&c.samples, case_ids[i]);
        add_case(&c, i, case_ids[i], from, first_of(&c.samples, case_ids[i] + 1));
    }
    return c.n ? pk_store_counters(s, c.rows, c.n, err) : PK_OK;
}
