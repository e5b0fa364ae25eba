/* Counter inputs: three queries, and their rows sorted into places, plans and events. */
#include "bench/record/counters.h"

#include "bench/plan/declared_work.h"

#include <math.h>
#include <string.h>

static const char iteration[] = "iteration";

static double *nans(struct pk_arena *a, size_t n)
{
    double *v = pk_new_n(a, double, n + 1);
    for (size_t i = 0; i < n; i++)
        v[i] = NAN;
    return v;
}

struct pk_counter_inputs pk_counter_inputs_empty(const struct pk_counters *counters, size_t n_places,
                                                 struct pk_arena *a)
{
    const size_t plans = counters->n_plans;
    struct pk_counter_inputs inputs = {pk_new_n(a, struct pk_counter_place, n_places),
                                       pk_new_n(a, struct pk_event_quality *, plans + 1)};
    for (size_t r = 0; r < n_places; r++) {
        struct pk_counter_place *at = &inputs.at[r];
        *at = (struct pk_counter_place){.time_ns = NAN,
                                        .fastest_ns = NAN,
                                        .slowest_ns = NAN,
                                        .flops = NAN,
                                        .bytes = NAN,
                                        .tensor_flops = NAN,
                                        .bandwidth = NAN,
                                        .pass_ns = nans(a, plans),
                                        .count = pk_new_n(a, double *, plans + 1)};
        for (size_t p = 0; p < plans; p++)
            at->count[p] = nans(a, counters->plans[p].n);
    }
    for (size_t p = 0; p < plans; p++) {
        inputs.quality[p] = pk_new_n(a, struct pk_event_quality, counters->plans[p].n);
        for (size_t e = 0; e < counters->plans[p].n; e++)
            inputs.quality[p][e] = (struct pk_event_quality){.scaled_from = 1};
    }
    return inputs;
}

const char *pk_counter_inputs_name(const struct pk_counter_inputs_run *k, size_t place)
{
    return place + 1 < k->n_places ? k->plan->probe->regions[place].name : iteration;
}

/* The place that a text of n bytes names; n_places when it names none. */
static size_t find_place(const struct pk_counter_inputs_run *k, const char *name, size_t n)
{
    size_t r = 0;
    while (r < k->n_places &&
           (strlen(pk_counter_inputs_name(k, r)) != n || strncmp(pk_counter_inputs_name(k, r), name, n)))
        r++;
    return r;
}

static size_t find_event(const struct pk_source_plan *p, const char *name)
{
    size_t e = 0;
    while (e < p->n && strcmp(p->events[e].name, name) != 0)
        e++;
    return e;
}

/* The first row of the case, or of the next that has any: rows are sorted by it. */
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

static void take_times(const struct pk_counter_inputs_run *k, int64_t case_id,
                       struct pk_counter_inputs *inputs)
{
    enum { CASE, METRIC, MEDIAN, FASTEST, SLOWEST, FLOPS, BYTES, PROCESSES, BANDWIDTH, COLUMNS };
    for (size_t i = first_of(&k->times, case_id); i < first_of(&k->times, case_id + 1); i++) {
        const struct pk_cell *row = k->times.cells + i * COLUMNS;
        const size_t r = find_place(k, row[METRIC].s, strlen(row[METRIC].s) - strlen("_ns"));
        if (r + 1 >= k->n_places)
            continue;
        struct pk_counter_place *at = &inputs->at[r];
        at->processes = row[PROCESSES].i;
        at->bandwidth = inputs->at[k->n_places - 1].bandwidth = pk_cell_number(&row[BANDWIDTH]);
        double *const to[] = {&at->time_ns, &at->fastest_ns, &at->slowest_ns, &at->flops, &at->bytes};
        for (size_t f = 0; f < sizeof to / sizeof *to; f++)
            *to[f] = pk_cell_number(&row[MEDIAN + f]);
    }
}

/* The samples of one metric of one pass, sorted by value. */
static void take_series(const struct pk_counter_inputs_run *k, struct pk_counter_inputs *inputs, size_t plan,
                        const char *metric, const struct pk_cell *values, size_t stride, size_t n)
{
    const double median =
        (pk_cell_number(&values[(n - 1) / 2 * stride]) + pk_cell_number(&values[n / 2 * stride])) / 2;
    int64_t bits = 0;
    const char *dot = strchr(metric, '.');
    const size_t length = dot ? (size_t)(dot - metric) : strlen(metric) - strlen("_ns");
    const size_t r = find_place(k, metric, length);
    if (r == k->n_places)
        return;
    if (!dot) {
        inputs->at[r].pass_ns[plan] = median;
        return;
    }
    const struct pk_source_plan *p = &k->counters->plans[plan];
    const size_t e = find_event(p, dot + 1);
    if (e == p->n)
        return;
    for (size_t i = 0; p->events[e].kind == PK_EVENT_BITS && i < n; i++)
        bits |= (int64_t)pk_cell_number(&values[i * stride]);
    inputs->at[r].count[plan][e] = p->events[e].kind == PK_EVENT_BITS ? (double)bits : median;
}

static void take_samples(const struct pk_counter_inputs_run *k, int64_t case_id,
                         struct pk_counter_inputs *inputs)
{
    enum { CASE, PASS, METRIC, VALUE, COLUMNS };
    const struct pk_cell *cells = k->samples.cells;
    const size_t to = first_of(&k->samples, case_id + 1);
    for (size_t i = first_of(&k->samples, case_id), end; i < to; i = end) {
        const struct pk_cell *row = cells + i * COLUMNS;
        for (end = i; end < to && cells[end * COLUMNS + PASS].i == row[PASS].i &&
                      !strcmp(cells[end * COLUMNS + METRIC].s, row[METRIC].s);)
            end++;
        if ((size_t)row[PASS].i - 1 < k->counters->n_plans)
            take_series(k, inputs, (size_t)row[PASS].i - 1, row[METRIC].s, row + VALUE, COLUMNS, end - i);
    }
}

static void take_quality(const struct pk_counter_inputs_run *k, int64_t case_id,
                         struct pk_counter_inputs *inputs)
{
    enum { CASE, PASS, EVENT, SCALED_FROM, WHY, COLUMNS };
    for (size_t i = first_of(&k->quality, case_id); i < first_of(&k->quality, case_id + 1); i++) {
        const struct pk_cell *row = k->quality.cells + i * COLUMNS;
        const size_t plan = (size_t)row[PASS].i - 1;
        if (plan >= k->counters->n_plans)
            continue;
        const struct pk_source_plan *p = &k->counters->plans[plan];
        const size_t e = find_event(p, row[EVENT].s);
        if (e == p->n)
            continue;
        if (row[SCALED_FROM].type == PK_CELL_REAL)
            inputs->quality[plan][e].scaled_from = row[SCALED_FROM].f;
        inputs->quality[plan][e].why = row[WHY].type == PK_CELL_TEXT ? row[WHY].s : NULL;
    }
}

static void add_to(double *sum, double more)
{
    *sum = isnan(*sum) ? more : *sum + more;
}

/* The iteration's are those of its outermost regions, which have those of the others in them. */
static void add_up(const struct pk_counter_inputs_run *k, const struct pk_case *c,
                   struct pk_counter_inputs *inputs)
{
    struct pk_counter_place *whole = &inputs->at[k->n_places - 1];
    for (size_t r = 0; r + 1 < k->n_places; r++) {
        const struct pk_counter_place *at = &inputs->at[r];
        int around = pk_region_around(c, (unsigned)r); /* a peer may time parts alone */
        while (around >= 0 && isnan(inputs->at[around].time_ns))
            around = pk_region_around(c, (unsigned)around);
        if (isnan(at->time_ns) || around >= 0)
            continue;
        add_to(&whole->time_ns, at->time_ns);
        add_to(&whole->fastest_ns, at->fastest_ns);
        add_to(&whole->slowest_ns, at->slowest_ns);
        add_to(&whole->flops, at->flops);
        add_to(&whole->bytes, at->bytes);
        add_to(&whole->tensor_flops, at->tensor_flops);
        for (size_t p = 0; p < k->counters->n_plans; p++)
            add_to(&whole->pass_ns[p], at->pass_ns[p]);
    }
}

struct pk_counter_inputs pk_counter_inputs_case(const struct pk_counter_inputs_run *k, size_t i,
                                                int64_t case_id)
{
    struct pk_counter_inputs inputs = pk_counter_inputs_empty(k->counters, k->n_places, k->arena);
    const struct pk_case c = pk_planned_case_of(&k->plan->v[i]);
    take_times(k, case_id, &inputs);
    take_samples(k, case_id, &inputs);
    take_quality(k, case_id, &inputs);
    for (size_t r = 0; r + 1 < k->n_places; r++)
        if (!isnan(inputs.at[r].time_ns))
            inputs.at[r].tensor_flops = k->plan->probe->work(&c, (unsigned)r).tensor_flops;
    add_up(k, &c, &inputs);
    return inputs;
}

enum pk_code pk_counter_inputs_read(struct pk_counter_inputs_run *k, struct pk_store *s, int64_t run_id,
                                    const struct pk_case_plan *plan, const struct pk_counters *counters,
                                    struct pk_arena *a, struct pk_err *err)
{
    const struct pk_param run = pk_param_int(":run", run_id);
    *k = (struct pk_counter_inputs_run){.plan = plan, .counters = counters, .arena = a, .n_places = 1};
    while (plan->probe->regions[k->n_places - 1].name)
        k->n_places++;
    if (pk_query(s, "counter_samples", &run, 1, a, &k->samples, err) ||
        pk_query(s, "case_times", &run, 1, a, &k->times, err))
        return err->code;
    return pk_query(s, "event_quality", &run, 1, a, &k->quality, err);
}
