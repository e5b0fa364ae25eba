/* Notes: outliers, drift, autocorrelation and the class of a series. */
#include "bench/measure/stop.h"

#include "stats/stats.h"

#include <math.h>
#include <string.h>

enum { ORDINALS_SHOWN = 32 };

/* A change below a quarter of the smallest effect that gates look for (2 %) is not worth a word. */
static const double min_change = 0.005;
static const double max_p = 0.01;

void pk_note_json(struct pk_notes *notes, const char *key, json_t *stolen)
{
    PK_JSON_CLEANUP json_t *j = stolen;
    notes->v = pk_grow(notes->arena, notes->v, sizeof *notes->v, notes->n, &notes->cap);
    notes->v[notes->n++] = (struct pk_note){key, pk_json_text(notes->arena, j, PK_JSON_COMPACT)};
}

void pk_note_text(struct pk_notes *notes, const char *key, const char *text)
{
    pk_note_json(notes, key, json_string(text));
}

void pk_note_int(struct pk_notes *notes, const char *key, int64_t value)
{
    pk_note_json(notes, key, json_integer(value));
}

static void note_real(struct pk_notes *notes, const char *key, double value)
{
    pk_note_json(notes, key, pk_json_real(value));
}

static double median_of(double *v, size_t n)
{
    return pk_summarize(v, n).median;
}

/* The samples that were cut were faster than those that stayed: what looks like a warm-up is a slowdown. */
static bool cut_was_faster(const struct pk_stopper *st, const double *steady, size_t n, double *scratch)
{
    if (!st->cut || !n)
        return false;
    for (size_t i = 0; i < st->cut; i++)
        scratch[i] = st->s->iteration_ns[1 + i];
    double before = median_of(scratch, st->cut);
    memcpy(scratch, steady, n * sizeof *steady);
    return before < median_of(scratch, n) * (1 - min_change);
}

/* By how much the second half is slower than the first, relatively; 0 when the intervals of their medians overlap. Finds a
 * step, which no trend fits. */
static double shift_of_halves(const double *v, size_t n, double *scratch)
{
    memcpy(scratch, v, n * sizeof *v);
    double *late = scratch + n / 2;
    struct pk_interval a = pk_median_interval(scratch, n / 2, 0.95),
                       b = pk_median_interval(late, n - n / 2, 0.95);
    if (!(a.hi < b.lo || b.hi < a.lo))
        return 0;
    return pk_quantile(late, n - n / 2, 0.5) / pk_quantile(scratch, n / 2, 0.5) - 1;
}

static const char *class_of(const struct pk_stopper *st, const struct pk_drift *d, double shift,
                            bool faster_before)
{
    bool drifts = d->p < max_p && fabs(d->ratio) > min_change, shifts = fabs(shift) > min_change;
    if (faster_before || (drifts && d->ratio > 0) || (shifts && shift > 0))
        return "slowdown";
    if (!st->settled || drifts || shifts)
        return "no-steady";
    return st->cut ? "warmup" : "flat";
}

void pk_notes_of_samples(struct pk_notes *notes, const struct pk_stopper *st)
{
    double *v = pk_new_n(st->s->ctx->arena, double, st->s->n);
    size_t n = pk_stop_steady(st, -1, v);
    double *scratch = pk_new_n(st->s->ctx->arena, double, st->s->n);
    pk_note_int(notes, "warmup_cut", (int64_t)st->cut);
    pk_note_text(notes, "warmup_rule", st->rule->warmup < 0 ? "mser5" : "fixed");
    note_real(notes, "noise", st->noise);
    bool *flags = pk_new_n(st->s->ctx->arena, bool, n + 1);
    pk_note_int(notes, "outliers", (int64_t)pk_find_outliers(v, n, flags, scratch));
    json_t *ordinals = json_array();
    size_t steady = 0;
    for (size_t i = 0; i < st->s->n && json_array_size(ordinals) < ORDINALS_SHOWN; i++)
        if (pk_stop_phase(st, i) == PK_PHASE_STEADY && flags[steady++])
            json_array_append_new(ordinals, json_integer((json_int_t)i));
    pk_note_json(notes, "outlier_ordinals", ordinals);
    struct pk_drift d = pk_find_drift(v, n, scratch);
    note_real(notes, "drift", d.ratio);
    note_real(notes, "drift_p", d.p);
    note_real(notes, "autocorrelation", pk_autocorrelation(v, n));
    pk_note_int(notes, "disturbed", (int64_t)st->disturbed);
    if (st->kept)
        pk_note_json(notes, "disturbed_kept", json_true());
    bool faster_before = cut_was_faster(st, v, n, scratch);
    pk_note_text(notes, "class", class_of(st, &d, shift_of_halves(v, n, scratch), faster_before));
}

void pk_notes_of_repeats(struct pk_notes *notes, const struct pk_stopper *st)
{
    const struct pk_sampler *s = st->s;
    double *v = pk_new_n(s->ctx->arena, double, s->n);
    PK_JSON_CLEANUP json_t *reps = json_object(), *near = json_array();
    for (size_t r = 0; r < s->n_regions; r++) {
        const struct pk_region *region = &s->ctx->c->probe->regions[r];
        if (!region->repeatable || !region->repeatable(s->ctx->c) || !s->n_instances[r])
            continue;
        json_object_set_new(reps, region->name, json_integer(s->ctx->reps[r]));
        size_t n = pk_stop_steady(st, (int)r, v);
        if (n && median_of(v, n) <= s->unit_overhead_ns * (double)s->n_instances[r])
            json_array_append_new(near, json_string(region->name));
    }
    if (!json_object_size(reps))
        return;
    note_real(notes, "unit_overhead_ns", s->unit_overhead_ns);
    pk_note_json(notes, "region_reps", json_incref(reps));
    if (json_array_size(near))
        pk_note_json(notes, "near_overhead", json_incref(near));
}
