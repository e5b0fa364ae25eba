/* Tails: rows of a quantile of a metric's samples in each process, where --metric asks for them: "forward_ns:p99". */
#include "judge/pair/pair.h"

#include "bench/probe.h"

#include <math.h>
#include <string.h>

static bool is_complete(const struct pk_figures *f, enum pk_tail t)
{
    for (size_t i = 0; i < f->n; i++)
        if (!f->tail[t] || isnan(f->tail[t][i]))
            return false;
    return true;
}

const struct pk_figures *pk_figures_tail(const struct pk_figures *f, enum pk_tail t, struct pk_arena *a)
{
    if (!is_complete(f, t))
        return NULL;
    struct pk_figures *of = pk_new(a, struct pk_figures);
    *of = *f;
    of->metric = pk_printf(a, "%s:%s", f->metric, pk_tail_kinds[t].name);
    of->figure = f->tail[t];
    of->runs = NULL;
    memset(of->tail, 0, sizeof of->tail);
    if (f->n)
        of->median = pk_figures_median(of, a);
    return of;
}

/* The tail that this name of a metric asks for; false when the side has a metric of this very name. */
static bool tail_of_name(const struct pk_compare_side *side, const char *name, enum pk_tail *t,
                         size_t *length)
{
    return pk_tail_of_metric(name, t, length) && !pk_figures_of_metric(side, name);
}

static bool has_name(const struct pk_figures *f, const char *name, size_t length)
{
    return strncmp(f->metric, name, length) == 0 && !f->metric[length];
}

bool pk_tail_selected(const struct pk_compare_side *side, const struct pk_figures *f, enum pk_tail t,
                      const struct pk_compare_options *o)
{
    enum pk_tail of;
    size_t length;
    for (size_t i = 0; i < o->n_metrics; i++)
        if (tail_of_name(side, o->metrics[i], &of, &length) && of == t && has_name(f, o->metrics[i], length))
            return true;
    return false;
}

struct pk_compare_side pk_compare_with_tails(const struct pk_compare_side *side,
                                             const struct pk_compare_options *o, struct pk_arena *a)
{
    enum pk_tail t;
    size_t length, asked = 0;
    for (size_t i = 0; i < o->n_metrics; i++)
        asked += tail_of_name(side, o->metrics[i], &t, &length);
    if (!asked)
        return *side;
    struct pk_compare_side out = *side;
    struct pk_figures *v = pk_new_n(a, struct pk_figures, side->n * (1 + PK_TAILS) + 1);
    out.v = v;
    out.n = 0;
    for (size_t i = 0; i < side->n; i++) { /* behind their metric: those of a case stand together */
        v[out.n++] = side->v[i];
        for (t = 0; t < PK_TAILS; t++) {
            const struct pk_figures *of =
                pk_tail_selected(side, &side->v[i], t, o) ? pk_figures_tail(&side->v[i], t, a) : NULL;
            if (of)
                v[out.n++] = *of;
        }
    }
    return out;
}

static enum pk_code too_few(const struct pk_compare_side *side, const struct pk_figures *f, enum pk_tail t,
                            struct pk_arena *a, struct pk_err *err)
{
    const struct pk_tail_kind *k = &pk_tail_kinds[t];
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s:%s of %s cannot be compared", f->metric, k->name,
            pk_case_text(f, a));
    if (f->samples >= k->samples) {
        pk_why(err,
               "%s was recorded by an earlier perfkit, which kept no quantiles, or imported from a file "
               "without samples",
               side->name);
        return pk_fix(err, "measure it again, or import a file that has its samples (docs/import.md)");
    }
    pk_why(err, "a %s needs %zu samples in each process, and a process of %s has %zu", k->name, k->samples,
           side->name, f->samples);
    if (pk_is_exec(f->experiment))
        return pk_fix(err, "let the program report at least %zu values of it each time it runs", k->samples);
    if (t == PK_P99 && f->samples >= pk_tail_kinds[PK_P90].samples)
        return pk_fix(err,
                      "measure more samples in each process (--min-samples %zu), or judge %s:p90, which "
                      "needs %zu",
                      k->samples, f->metric, pk_tail_kinds[PK_P90].samples);
    return pk_fix(err, "measure more samples in each process (--min-samples %zu)", k->samples);
}

enum pk_code pk_compare_check_tails(const struct pk_compare_side *side, const struct pk_compare_options *o,
                                    struct pk_arena *a, struct pk_err *err)
{
    enum pk_tail t;
    size_t length;
    for (size_t i = 0; i < o->n_metrics; i++)
        for (size_t k = 0; k < side->n && tail_of_name(side, o->metrics[i], &t, &length); k++)
            if (has_name(&side->v[k], o->metrics[i], length) && !is_complete(&side->v[k], t))
                return too_few(side, &side->v[k], t, a, err);
    return PK_OK;
}
