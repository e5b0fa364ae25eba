/* Gate samples: slices into rows of figures, and rows into what is compared. */
#include "judge/gate/gate_samples.h"

#include "bench/record/record.h"
#include "judge/pair/pair.h"
#include "stats/stats.h"
#include "wire/slice.h"

#include <string.h>

struct pk_figures pk_figures_named(const struct pk_case_info *info, const struct pk_metric_decl *m)
{
    return (struct pk_figures){.experiment = info->experiment,
                               .revision = info->revision,
                               .variant = info->variant,
                               .device = info->device,
                               .axes = info->axes,
                               .identity = info->identity,
                               .metric = m->name,
                               .unit = m->unit,
                               .direction = m->direction,
                               .class = m->class,
                               .source = m->source};
}

size_t pk_gate_samples_case(struct pk_gate_samples *l, size_t part, const struct pk_case_info *info)
{
    for (size_t i = 0; i < l->n_cases; i++) {
        const struct pk_case_info *x = &l->cases[i].info;
        if (l->cases[i].part == part && !strcmp(x->experiment, info->experiment) &&
            !strcmp(x->variant, info->variant) && !strcmp(x->device, info->device) &&
            !strcmp(x->axes, info->axes))
            return i;
    }
    struct pk_case_info copy = *info;
    copy.experiment = pk_strdup(l->arena, info->experiment);
    copy.variant = pk_strdup(l->arena, info->variant);
    copy.device = pk_strdup(l->arena, info->device);
    copy.axes = pk_strdup(l->arena, info->axes);
    copy.identity = pk_strdup(l->arena, info->identity);
    l->cases = pk_grow(l->arena, l->cases, sizeof *l->cases, l->n_cases, &l->cases_cap);
    l->cases[l->n_cases] = (struct pk_gate_case){
        .part = part, .info = copy, .identity = {copy.identity, copy.identity}, .message = {"", ""}};
    return l->n_cases++;
}

static struct pk_gate_row *row_of(struct pk_gate_samples *l, size_t c, const struct pk_metric_decl *m)
{
    for (size_t i = 0; i < l->n_rows; i++)
        if (l->rows[i].c == c && !strcmp(l->rows[i].f[PK_BASE].metric, m->name))
            return &l->rows[i];
    const struct pk_metric_decl copy = {.name = pk_strdup(l->arena, m->name),
                                        .unit = pk_strdup(l->arena, m->unit),
                                        .direction = pk_strdup(l->arena, m->direction),
                                        .class = pk_strdup(l->arena, m->class),
                                        .source = pk_strdup(l->arena, m->source)};
    struct pk_figures f = pk_figures_named(&l->cases[c].info, &copy);
    f.ordinal = (int64_t)c;
    l->rows = pk_grow(l->arena, l->rows, sizeof *l->rows, l->n_rows, &l->rows_cap);
    l->rows[l->n_rows] = (struct pk_gate_row){.c = c, .f = {f, f}};
    return &l->rows[l->n_rows++];
}

/* The direction is each side's own. Returns what the sides do not agree in; NULL = nothing. */
static const char *describe(const struct pk_gate_samples *l, struct pk_gate_row *r, int side,
                            const struct pk_metric_decl *m, const char **status)
{
    struct pk_figures *f = &r->f[side], *other = &r->f[side == PK_BASE ? PK_NEW : PK_BASE];
    const bool base = side == PK_BASE; /* either side may be the first that reports it */
    *status = "other unit";
    if (strcmp(f->unit, m->unit) != 0)
        return pk_printf(l->arena, "%s is in \"%s\" on the base side and in \"%s\" on the new side", m->name,
                         base ? m->unit : f->unit, base ? f->unit : m->unit);
    if (!f->n) {
        f->direction = pk_strdup(l->arena, m->direction);
        f->source = pk_strdup(l->arena, m->source);
    }
    *status = "other direction";
    if (other->n && pk_figures_opposed(&r->f[PK_BASE], &r->f[PK_NEW]))
        return pk_figures_opposed_text(&r->f[PK_BASE], &r->f[PK_NEW], "on the base side", "on the new side",
                                       l->arena);
    return NULL;
}

static void add_metric(struct pk_gate_samples *l, int side, size_t c, const struct pk_slice *s,
                       const struct pk_summary_row *sum)
{
    const struct pk_metric_decl *m = s->metrics;
    while (strcmp(m->name, sum->metric) != 0)
        m++;
    struct pk_gate_row *r = row_of(l, c, m);
    const char *status, *conflict = describe(l, r, side, m, &status);
    if (conflict) {
        r->conflict_status = status;
        /* Whichever side was first, what the base reports decides whether it is judged. */
        if (side == PK_BASE)
            r->f[PK_BASE].class = r->f[PK_NEW].class = pk_strdup(l->arena, m->class);
        r->conflict = conflict;
        return;
    }
    struct pk_figures *f = &r->f[side];
    f->figure = r->figure[side] =
        pk_grow(l->arena, r->figure[side], sizeof *f->figure, f->n, &r->figure_cap[side]);
    f->invocation = r->invocation[side] =
        pk_grow(l->arena, r->invocation[side], sizeof *f->invocation, f->n, &r->invocation_cap[side]);
    for (int t = 0; t < PK_TAILS; t++) {
        f->tail[t] = r->tail[side][t] =
            pk_grow(l->arena, r->tail[side][t], sizeof *f->figure, f->n, &r->tail_cap[side][t]);
        r->tail[side][t][f->n] = sum->tail[t];
    }
    if (!f->n || sum->sum.n < f->samples)
        f->samples = sum->sum.n;
    r->figure[side][f->n] = sum->figure;
    r->invocation[side][f->n++] = s->invocation;
}

void pk_gate_samples_add(struct pk_gate_samples *l, int side, size_t c, const struct pk_slice *s)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_gate_case *k = &l->cases[c];
    k->reported[side] = true;
    k->last[side] = s->status;
    if (s->status != PK_ST_OK) {
        k->message[side] = pk_strdup(l->arena, s->message);
        k->closed = true;
        return;
    }
    struct pk_summary_row *rows = pk_new_n(&a, struct pk_summary_row, s->n_metrics + 1);
    size_t n = pk_summarize_slice(s, rows);
    k->judged[side] += n > 0;
    k->unstable[side] += n > 0 && pk_slice_unstable(s);
    for (size_t i = 0; i < n; i++)
        add_metric(l, side, c, s, &rows[i]);
    for (size_t i = 0; i < s->n_series; i++) {
        const struct pk_metric_decl *m = &s->metrics[s->series[i].metric];
        size_t at = 0;
        while (at < n && strcmp(rows[at].metric, m->name) != 0)
            at++;
        if (at == n && s->series[i].phase == PK_PHASE_STEADY)
            row_of(l, c, m)->no_number[side] = true;
    }
}

/* --- what is compared -------------------------------------------------------------------------------------------- */

static bool of_part(const struct pk_gate_samples *l, const struct pk_gate_row *r, size_t part)
{
    return l->cases[r->c].part == part;
}

/* "latency_ns is not a number (NaN) on the new side"; NULL = it is one. */
static const char *no_number(const struct pk_gate_row *r, struct pk_arena *a)
{
    const bool base = r->no_number[PK_BASE] && !r->f[PK_BASE].n,
               new_ = r->no_number[PK_NEW] && !r->f[PK_NEW].n;
    if (!base && !new_)
        return NULL;
    return pk_printf(a, "%s is not a number (NaN) on %s", r->f->metric,
                     base && new_ ? "both sides"
                     : base       ? "the base side"
                                  : "the new side");
}

/* All of a part: whether a metric is selected depends on the others. */
static struct pk_compare_side figures_of(const struct pk_gate_samples *l, size_t part, int side,
                                         struct pk_arena *a)
{
    struct pk_figures *all = pk_new_n(a, struct pk_figures, l->n_rows + 1);
    struct pk_compare_side of = {.name = side == PK_BASE ? "the base side" : "the new side", .v = all};
    for (size_t i = 0; i < l->n_rows; i++)
        if (of_part(l, &l->rows[i], part))
            all[of.n++] = l->rows[i].f[side];
    return of;
}

enum pk_code pk_gate_samples_check(const struct pk_gate_samples *l, size_t part,
                                   const struct pk_compare_options *o, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_compare_side side = figures_of(l, part, PK_BASE, &a),
                                 other = figures_of(l, part, PK_NEW, &a);
    for (size_t i = 0; i < l->n_rows; i++) {
        const struct pk_gate_row *r = &l->rows[i];
        const char *why = r->conflict ? r->conflict : no_number(r, &a);
        if (!why || !of_part(l, r, part) || !pk_compare_selects(&side, r->f, o, &a))
            continue;
        pk_fail(err, PK_E_NOT_COMPARABLE, "the two sides cannot be compared");
        pk_why(err, "%s", why);
        return pk_fix(
            err, r->conflict ? "both sides must report it in the same way, or under two names"
                             : "correct the program that reports it, or choose other metrics with --metric");
    }
    return pk_compare_check_tails(&side, o, &a, err) ? err->code : pk_compare_check_tails(&other, o, &a, err);
}

size_t pk_gate_samples_most(const struct pk_gate_samples *l)
{
    return (1 + PK_TAILS) * l->n_rows + 1;
}

size_t pk_gate_samples_compared(struct pk_gate_samples *l, size_t part, const struct pk_compare_options *o,
                                bool commands, struct pk_arena *a, struct pk_compared *rows, size_t *case_of)
{
    const struct pk_compare_side side = figures_of(l, part, PK_BASE, a);
    const bool by_default = commands && !o->n_metrics && !o->all_metrics;
    bool others = false;
    size_t n = 0;
    for (size_t i = 0; i < l->n_rows; i++) {
        const struct pk_figures *f = l->rows[i].f;
        /* one that new lost is no reason to judge its wall time instead */
        others |= of_part(l, &l->rows[i], part) && f[PK_BASE].n && !pk_is_own_time(f->metric) &&
                  pk_compare_selects(&side, f, o, a);
    }
    for (size_t i = 0; i < l->n_rows; i++) {
        struct pk_figures *f = l->rows[i].f;
        const struct pk_gate_case *c = &l->cases[l->rows[i].c];
        if (c->part != part || c->closed || !f[PK_BASE].n || !f[PK_NEW].n ||
            pk_figures_other_source(&f[PK_BASE], &f[PK_NEW]))
            continue;
        for (int k = 0; k < PK_SIDES; k++) {
            f[k].median = pk_figures_median(&f[k], a);
            f[k].unstable = 2 * c->unstable[k] > c->judged[k];
        }
        const size_t first = n;
        if (pk_compare_selects(&side, f, o, a) && (!by_default || pk_own_time_counts(f->metric, others)))
            rows[n++] = pk_compare_figures(&f[PK_BASE], &f[PK_NEW], o->level);
        for (enum pk_tail t = 0; t < PK_TAILS; t++) {
            const bool selected = pk_tail_selected(&side, f, t, o);
            const struct pk_figures *base = selected ? pk_figures_tail(&f[PK_BASE], t, a) : NULL,
                                    *new_ = selected ? pk_figures_tail(&f[PK_NEW], t, a) : NULL;
            if (base && new_)
                rows[n++] = pk_compare_figures(base, new_, o->level);
        }
        for (size_t k = first; k < n; k++)
            case_of[k] = l->rows[i].c;
    }
    return n;
}

/* --- what one side has ---------------------------------------------------------------------------------------------- */

/* A command is measured whole: each of its processes that is judged could have measured every case. */
static size_t processes_of(const struct pk_gate_samples *l, const struct pk_gate_case *c, int side,
                           bool commands)
{
    size_t most = c->judged[side];
    for (size_t i = 0; commands && i < l->n_cases; i++)
        if (l->cases[i].part == c->part && l->cases[i].judged[side] > most)
            most = l->cases[i].judged[side];
    return most;
}

static struct pk_compare_side side_of(const struct pk_gate_samples *l, size_t part, int side, bool commands,
                                      const char *name, struct pk_arena *a)
{
    struct pk_figures *v = pk_new_n(a, struct pk_figures, l->n_rows + 1);
    struct pk_compare_side all = {.name = name, .v = v};
    for (size_t i = 0; i < l->n_rows; i++) {
        const struct pk_gate_row *r = &l->rows[i];
        const struct pk_gate_case *c = &l->cases[r->c];
        if (c->part != part || c->closed || !r->f[side].n || r->conflict)
            continue;
        v[all.n] = r->f[side];
        v[all.n].identity = c->identity[side];
        v[all.n].processes = processes_of(l, c, side, commands);
        v[all.n].measured = v[all.n].n;
        all.n++;
    }
    return all;
}

/* Rows on whose unit or direction the sides disagree: failures, unless other metrics are chosen. */
static void add_conflicts(const struct pk_gate_samples *l, size_t part, const struct pk_compare_options *o,
                          struct pk_arena *a, struct pk_comparison *out)
{
    struct pk_failure *v = pk_new_n(a, struct pk_failure, out->n_unmatched + l->n_rows + 1);
    const char **texts = pk_new_n(a, const char *, out->n_metrics_base + l->n_rows + 1);
    const struct pk_compare_side side = figures_of(l, part, PK_BASE, a);
    for (size_t i = 0; i < out->n_unmatched; i++)
        v[i] = out->unmatched[i];
    for (size_t i = 0; i < out->n_metrics_base; i++)
        texts[i] = out->metrics_base[i];
    for (size_t i = 0; i < l->n_rows; i++) {
        const struct pk_gate_row *r = &l->rows[i];
        const struct pk_case_info *info = &l->cases[r->c].info;
        if (!r->conflict || !of_part(l, r, part))
            continue;
        if (o->n_metrics && !pk_compare_selects(&side, r->f, o, a))
            texts[out->n_metrics_base++] =
                pk_printf(a, "%s of %s (%s)", r->f->metric, pk_case_text(r->f, a), r->conflict_status);
        else
            v[out->n_unmatched++] = (struct pk_failure){.kind = PK_MISSING,
                                                        .experiment = info->experiment,
                                                        .variant = info->variant,
                                                        .axes = info->axes,
                                                        .metric = r->f->metric,
                                                        .status = r->conflict_status,
                                                        .message = r->conflict};
    }
    out->unmatched = v;
    out->metrics_base = texts;
}

void pk_gate_samples_unmatched(const struct pk_gate_samples *l, size_t part,
                               const struct pk_compare_options *o, bool commands,
                               const char *const names[PK_SIDES], struct pk_arena *a,
                               struct pk_comparison *out)
{
    struct pk_compare_options by_place = *o;
    const struct pk_compare_side b = side_of(l, part, PK_BASE, commands, names[PK_BASE], a),
                                 w = side_of(l, part, PK_NEW, commands, names[PK_NEW], a),
                                 base = pk_compare_with_tails(&b, o, a),
                                 new_ = pk_compare_with_tails(&w, o, a);
    by_place.by_ordinal = true;
    pk_compare_unmatched(&base, &new_, &by_place, a, out);
    add_conflicts(l, part, o, a, out);
}
