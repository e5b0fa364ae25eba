/* Series: columns of the sampler, split by phase. */
#include "bench/measure/stop.h"

/* The samples of one phase. */
struct phase_rows {
    size_t n;
    size_t *row;
    int64_t *ordinal;
};

struct packer {
    const struct pk_sampler *s;
    struct pk_arena *a;
    struct phase_rows phase[PK_PHASES];
    struct pk_series *v;
    size_t n;
};

static int64_t *add_series(struct packer *k, size_t metric, int instance, enum pk_phase phase, int64_t reps,
                           size_t n, const int64_t *ordinal)
{
    int64_t *values = pk_new_n(k->a, int64_t, n);
    k->v[k->n++] = (struct pk_series){.metric = metric,
                                      .instance = instance,
                                      .phase = phase,
                                      .reps = reps,
                                      .n = n,
                                      .ordinal = ordinal,
                                      .integer = values};
    return values;
}

/* Both times of one instance: metrics `metric` and the next. */
static void pack_times(struct packer *k, size_t metric, int instance, size_t column)
{
    for (unsigned p = 0; p < PK_PHASES; p++) {
        const struct phase_rows *rows = &k->phase[p];
        if (!rows->n)
            continue;
        int64_t reps = pk_sample_reps(k->s, rows->row[0], column);
        int64_t *lane = add_series(k, metric, instance, p, reps, rows->n, rows->ordinal);
        int64_t *host = add_series(k, metric + 1, instance, p, reps, rows->n, rows->ordinal);
        for (size_t i = 0; i < rows->n; i++) {
            const struct pk_times *t = &k->s->times[rows->row[i] * k->s->n_columns + column];
            lane[i] = (int64_t)t->lane_ns;
            host[i] = (int64_t)t->host_ns;
        }
    }
}

static void pack_gauge(struct packer *k, size_t metric, size_t column)
{
    for (unsigned p = 0; p < PK_PHASES; p++) {
        const struct phase_rows *rows = &k->phase[p];
        int64_t *v = rows->n ? add_series(k, metric, 0, p, 1, rows->n, rows->ordinal) : NULL;
        for (size_t i = 0; i < rows->n; i++)
            v[i] = k->s->bytes[rows->row[i] * k->s->n_gauges + column];
    }
}

void pk_series_pack(const struct pk_stopper *st, size_t peak_bytes, struct pk_arena *a, struct pk_slice *out)
{
    static const int64_t once[] = {0};
    const struct pk_sampler *s = st->s;
    const struct pk_probe *probe = s->ctx->c->probe;
    struct pk_metric_decl *metrics;
    out->n_metrics = pk_probe_metrics(probe, a, &metrics);
    out->metrics = metrics;
    struct packer k = {.s = s, .a = a};
    k.v = pk_new_n(a, struct pk_series, PK_PHASES * (2 * s->n_columns + out->n_metrics));
    for (unsigned p = 0; p < PK_PHASES; p++)
        k.phase[p] = (struct phase_rows){.row = pk_new_n(k.a, size_t, k.s->n),
                                         .ordinal = pk_new_n(k.a, int64_t, k.s->n)};
    for (size_t i = 0; i < k.s->n; i++) {
        struct phase_rows *rows = &k.phase[pk_stop_phase(st, i)];
        rows->row[rows->n] = i;
        rows->ordinal[rows->n++] = (int64_t)i;
    }
    for (size_t r = 0; r < s->n_regions; r++)
        for (size_t i = 0; i < s->n_instances[r]; i++)
            pack_times(&k, 2 * r, (int)i, s->first_column[r] + i);
    for (size_t m = 0, at = 2 * s->n_regions; at + m + 1 < out->n_metrics; m++)
        for (size_t g = 0; g < s->n_gauges; g++) /* one that the case never sets has no values */
            if (s->gauge[g] == probe->metrics[m].gauge)
                pack_gauge(&k, at + m, g);
    *add_series(&k, out->n_metrics - 1, 0, PK_PHASE_STEADY, 1, 1, once) = (int64_t)peak_bytes;
    out->series = k.v;
    out->n_series = k.n;
}
