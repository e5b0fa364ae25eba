/* Counters: rows of events, metrics, perturbation and roofline from the counter inputs of a case. */
#include "bench/record/counters.h"

#include <math.h>
#include <string.h>

struct counter_rows {
    struct pk_counter_inputs_run run;
    const struct pk_ceilings *top;
    struct pk_arena *a;
    struct pk_counter_row *rows;
    size_t n, cap;
};

static void add_row(struct counter_rows *c, const struct pk_counter_row *row)
{
    c->rows = pk_grow(c->a, c->rows, sizeof *c->rows, c->n, &c->cap);
    c->rows[c->n++] = *row;
}

/* --- events --------------------------------------------------------------------------------------------------------- */

static const char *scaled(const struct counter_rows *c, double from)
{
    return pk_printf(c->a, "scaled from %.0f %% of the time", 100 * from);
}

/* What is to be known of the event, and of how it was counted. */
static const char *note_of(const struct counter_rows *c, const struct pk_event *e,
                           const struct pk_event_quality *how, bool counted)
{
    if (!counted)
        return how->why ? how->why : "it was not counted";
    return how->scaled_from < 1
               ? pk_printf(c->a, "%s%s%s", scaled(c, how->scaled_from), *e->note ? "; " : "", e->note)
               : e->note;
}

static void add_events(struct counter_rows *c, int64_t case_id, size_t r, const struct pk_counter_inputs *k)
{
    const struct pk_counters *counters = c->run.counters;
    for (size_t p = 0; p < counters->n_plans; p++)
        for (size_t i = 0; i < counters->plans[p].n; i++) {
            const struct pk_event *e = &counters->plans[p].events[i];
            const struct pk_event_quality *how = &k->quality[p][i];
            const double value = k->at[r].count[p][i];
            const bool exact = e->quality == PK_QUALITY_EXACT && !(how->scaled_from < 1);
            add_row(c, &(struct pk_counter_row){case_id, pk_counter_inputs_name(&c->run, r), "", e->name,
                                                e->unit, value, e->source, e->native,
                                                exact ? "exact" : "approximate", e->modes,
                                                note_of(c, e, how, !isnan(value))});
        }
}

/* --- metrics -------------------------------------------------------------------------------------------------------- */

/* Counts that ran for different shares of the time are not of the same work, so nothing is made of them; NULL = they are. */
static const char *unequal(const struct counter_rows *c, const struct pk_counter_metric *m,
                           const struct pk_counter_inputs *k, double *share)
{
    const char *first = NULL;
    *share = 1;
    for (size_t i = 0; i < m->formula->n_names; i++) {
        const struct pk_metric_input *in = &m->inputs[i];
        if (in->kind != PK_INPUT_COUNT)
            continue;
        const double s = k->quality[in->plan][in->event].scaled_from;
        if (first && fabs(s - *share) > 0.01)
            return pk_printf(c->a, "%s was counted %.0f %% of the time, %s %.0f %%", first, 100 * *share,
                             m->formula->names[i], 100 * s);
        first = first ? first : m->formula->names[i];
        *share = s;
    }
    return NULL;
}

/* Of the pass that counted what the metric is made of; where that were several, it says so itself. */
static double pass_ns(const struct pk_counter_metric *m, const struct pk_counter_place *at)
{
    for (size_t i = 0; i < m->formula->n_names; i++)
        if (m->inputs[i].kind == PK_INPUT_COUNT)
            return at->pass_ns[m->inputs[i].plan];
    return NAN;
}

static void add_metric(struct counter_rows *c, int64_t case_id, size_t r, const struct pk_counter_inputs *k,
                       const struct pk_counter_metric *m)
{
    const struct pk_counter_place *at = &k->at[r];
    const double given[PK_GIVENS] = {
        [PK_GIVEN_TIME_NS] = at->time_ns,
        [PK_GIVEN_PASS_NS] = pass_ns(m, at),
        [PK_GIVEN_FLOPS] = at->flops,
        [PK_GIVEN_BYTES] = at->bytes,
        [PK_GIVEN_PEAK_FLOPS_PER_S] = c->top->fp32_flops_per_s ? c->top->fp32_flops_per_s : NAN,
        [PK_GIVEN_PEAK_BYTES_PER_S] = c->top->memory_bytes_per_s ? c->top->memory_bytes_per_s : NAN,
    };
    const char *missing = NULL;
    double share, v = pk_counter_metric_value(m, (const double *const *)at->count, given, c->a, &missing);
    const char *apart = unequal(c, m, k, &share), *doubt = share < 1 ? scaled(c, share) : m->apart;
    const char *unknown = apart;
    if (apart)
        v = NAN;
    else if (isnan(v)) /* "cycles" needs " is missing"; "cycles is 0" is complete */
        unknown = strchr(missing, ' ') ? missing : pk_printf(c->a, "missing: %s", missing);
    add_row(c, &(struct pk_counter_row){case_id, pk_counter_inputs_name(&c->run, r), m->group, m->name,
                                        m->unit, v, "formula", m->formula->text,
                                        *doubt && !isnan(v) ? "approximate" : "derived", "",
                                        isnan(v) ? unknown : doubt});
}

/* --- perturbation --------------------------------------------------------------------------------------------------- */

/* By how much the slowest counter pass was slower than the timing passes. Processes differ without any counting: a pass that is not
 * farther from the slowest than that is from the fastest says nothing. */
static void add_perturbation(struct counter_rows *c, int64_t case_id, size_t r,
                             const struct pk_counter_place *at)
{
    double slowest = NAN;
    const char *source = "";
    for (size_t p = 0; p < c->run.counters->n_plans; p++)
        if (!isnan(at->pass_ns[p]) && !(at->pass_ns[p] <= slowest)) {
            slowest = at->pass_ns[p];
            source = c->run.counters->plans[p].source->name;
        }
    if (isnan(slowest) || !(at->time_ns > 0))
        return;
    const bool several = at->processes > 1;
    const bool usual = slowest <= at->slowest_ns + (at->slowest_ns - at->fastest_ns);
    add_row(c, &(struct pk_counter_row){
                   case_id, pk_counter_inputs_name(&c->run, r), "", "perturbation", "1",
                   slowest / at->time_ns - 1, "harness", source, "exact", "",
                   !several ? "one process was timed: the difference between processes is not known"
                   : usual  ? "within the difference between processes without counters"
                            : ""});
}

/* --- roofline ------------------------------------------------------------------------------------------------------- */

enum amount { FLOPS, BYTES };

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
static bool add_count(const struct counter_rows *c, const struct pk_counter_inputs *k, size_t r,
                      const char *name, struct pk_roofline_amount *to)
{
    for (size_t p = 0; p < c->run.counters->n_plans; p++)
        for (size_t e = 0; e < c->run.counters->plans[p].n; e++) {
            const struct pk_event *event = &c->run.counters->plans[p].events[e];
            if (strcmp(event->name, name) != 0 || isnan(k->at[r].count[p][e]))
                continue;
            to->value += k->at[r].count[p][e];
            to->source = event->source;
            to->approximate |= event->quality != PK_QUALITY_EXACT || k->quality[p][e].scaled_from < 1;
            to->plan = p;
            return true;
        }
    return false;
}

static struct pk_roofline_amount amount_of(const struct counter_rows *c, const struct pk_counter_inputs *k,
                                           size_t r, enum amount which)
{
    const struct pk_counter_place *at = &k->at[r];
    for (size_t i = 0; i < sizeof work_events / sizeof *work_events; i++) {
        struct pk_roofline_amount sum = {.native = work_events[i].native};
        bool all = work_events[i].amount == which && !(which == FLOPS && at->tensor_flops > 0);
        for (const char *const *name = work_events[i].events; all && *name; name++)
            all = add_count(c, k, r, *name, &sum);
        if (all)
            return sum;
    }
    return (struct pk_roofline_amount){.value = which == FLOPS ? at->flops : at->bytes,
                                       .source = "declared",
                                       .native = which == FLOPS ? "flops" : "bytes"};
}

static void add_roofline(struct counter_rows *c, int64_t case_id, size_t r, const struct pk_counter_inputs *k)
{
    struct pk_counter_row rows[PK_ROOFLINE_ROWS];
    const struct pk_roofline_work w = {.time_ns = k->at[r].time_ns,
                                       .flops = amount_of(c, k, r, FLOPS),
                                       .bytes = amount_of(c, k, r, BYTES),
                                       .bandwidth = k->at[r].bandwidth,
                                       .tensor_flops = k->at[r].tensor_flops};
    const size_t n = pk_roofline_rows(&w, c->top, case_id, pk_counter_inputs_name(&c->run, r), rows);
    for (size_t i = 0; i < n; i++)
        add_row(c, &rows[i]);
}

/* --- cases ---------------------------------------------------------------------------------------------------------- */

static bool counted_at(const struct counter_rows *c, size_t r, const struct pk_counter_inputs *k)
{
    for (size_t p = 0; p < c->run.counters->n_plans; p++)
        for (size_t e = 0; e < c->run.counters->plans[p].n; e++)
            if (!isnan(k->at[r].count[p][e]))
                return true;
    return false;
}

enum pk_code pk_record_command_counters(struct pk_store *s, int64_t case_id,
                                        const struct pk_counters *counters,
                                        const struct pk_counter_inputs *inputs, struct pk_arena *a,
                                        struct pk_err *err)
{
    static const struct pk_ceilings unknown;
    struct counter_rows c = {.run = {.counters = counters, .n_places = 1}, .top = &unknown, .a = a};
    add_events(&c, case_id, 0, inputs);
    for (size_t m = 0; m < counters->n_metrics; m++)
        add_metric(&c, case_id, 0, inputs, &counters->metrics[m]);
    add_perturbation(&c, case_id, 0, &inputs->at[0]);
    return pk_store_counters(s, c.rows, c.n, err);
}

enum pk_code pk_record_counters(struct pk_store *s, int64_t run_id, const struct pk_case_plan *plan,
                                const int64_t *case_ids, const struct pk_counters *counters,
                                const struct pk_ceilings *top, struct pk_arena *a, struct pk_err *err)
{
    struct counter_rows c = {.top = top, .a = a};
    if (pk_counter_inputs_read(&c.run, s, run_id, plan, counters, a, err))
        return err->code;
    for (size_t i = 0; i < plan->n; i++) {
        const struct pk_counter_inputs k = pk_counter_inputs_case(&c.run, i, case_ids[i]);
        size_t timed = 0;
        for (size_t r = 0; r + 1 < c.run.n_places; r++)
            timed += !isnan(k.at[r].time_ns);
        for (size_t r = 0; r < c.run.n_places; r++) {
            const bool counted = counted_at(&c, r, &k);
            /* The iteration has its own row if it has more than one region or was counted as a whole. */
            if (r + 1 < c.run.n_places || timed > 1 || (timed && counted))
                add_roofline(&c, case_ids[i], r, &k);
            if (!counted)
                continue;
            add_events(&c, case_ids[i], r, &k);
            for (size_t m = 0; m < c.run.counters->n_metrics; m++)
                add_metric(&c, case_ids[i], r, &k, &c.run.counters->metrics[m]);
            if (r + 1 < c.run.n_places)
                add_perturbation(&c, case_ids[i], r, &k.at[r]);
        }
    }
    return c.n ? pk_store_counters(s, c.rows, c.n, err) : PK_OK;
}
