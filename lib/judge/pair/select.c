/* Compare, selection: which metrics are compared. */
#include "base/text/words.h"
#include "judge/pair/pair.h"
#include "opt/opt.h"

#include <string.h>

const struct pk_figures *pk_figures_of_metric(const struct pk_compare_side *side, const char *metric)
{
    for (size_t i = 0; i < side->n; i++)
        if (strcmp(side->v[i].metric, metric) == 0)
            return &side->v[i];
    return NULL;
}

/* A region gives two metrics, X_ns on its lane and X_host_ns (DESIGN 7): the second is compared on request. */
bool pk_is_host_twin(const struct pk_compare_side *side, const char *metric, struct pk_arena *a)
{
    static const char tail[] = "_host_ns";
    size_t n = strlen(metric), t = sizeof tail - 1;
    return n > t && strcmp(metric + n - t, tail) == 0 &&
           pk_figures_of_metric(side, pk_printf(a, "%.*s_ns", (int)(n - t), metric));
}

bool pk_compare_selects(const struct pk_compare_side *side, const struct pk_figures *f,
                        const struct pk_compare_options *o, struct pk_arena *a)
{
    for (size_t i = 0; i < o->n_metrics && !o->all_metrics; i++)
        if (strcmp(f->metric, o->metrics[i]) == 0)
            return true;
    return o->all_metrics ||
           (!o->n_metrics && strcmp(f->class, "time") == 0 && !pk_is_host_twin(side, f->metric, a));
}

/* PK_OK for an unknown name that is none of a quantile, such as "forward_ns:p50x". */
static enum pk_code refuse_quantile(const struct pk_compare_side *side, const char *metric,
                                    struct pk_arena *a, struct pk_err *err)
{
    const char *colon = strrchr(metric, ':');
    const char *name = colon ? pk_strndup(a, metric, (size_t)(colon - metric)) : "";
    if (!pk_figures_of_metric(side, name))
        return PK_OK;
    pk_fail(err, PK_E_USAGE, "metric '%s' is unknown", metric);
    pk_why(err, "%s has %s, and '%s' is not a quantile that a row can have", side->name, name, colon + 1);
    return pk_fix(err, "write %s:p90 or %s:p99; %s alone is its median", name, name, name);
}

static enum pk_code unknown_metric(const struct pk_compare_side *side, const char *metric, struct pk_arena *a,
                                   struct pk_err *err)
{
    struct pk_texts names = {0};
    if (refuse_quantile(side, metric, a, err))
        return err->code;
    for (size_t i = 0; i < side->n; i++)
        pk_texts_add_new(&names, side->v[i].metric, a);
    pk_fail(err, PK_E_USAGE, "metric '%s' is unknown", metric);
    pk_why(err, "%s has no such metric", side->name);
    return pk_fix(err, "%s", pk_suggest_text(a, metric, names.v, names.n));
}

enum pk_code pk_compare_check_metrics(const struct pk_compare_side *side, const struct pk_compare_options *o,
                                      struct pk_arena *a, struct pk_err *err)
{
    for (size_t i = 0; i < o->n_metrics && side->n; i++)
        if (!pk_figures_of_metric(side, o->metrics[i]))
            return unknown_metric(side, o->metrics[i], a, err);
    return PK_OK;
}

static enum pk_code check_to_judge(const struct pk_compare_side *side, const char *metric, struct pk_arena *a,
                                   struct pk_err *err)
{
    const struct pk_figures *f = pk_figures_of_metric(side, metric);
    if (!f || pk_has_direction(f->direction))
        return f || !side->n ? PK_OK : unknown_metric(side, metric, a, err);
    pk_fail(err, PK_E_USAGE, "metric '%s' cannot be judged", metric);
    pk_why(err, "it has no direction: neither a lower nor a higher value is better");
    return pk_fix(err, "omit it, or let the program that reports it give a direction");
}

struct pk_compare_options pk_compare_metrics_to_judge(const struct pk_compare_side *side,
                                                      const struct pk_compare_options *o, const char *place,
                                                      struct pk_arena *a, struct pk_errs *wrong)
{
    struct pk_compare_options what = *o;
    const char **left = pk_new_n(a, const char *, o->n_metrics + 1);
    struct pk_err err;
    what.metrics = left;
    what.n_metrics = 0;
    for (size_t i = 0; i < o->n_metrics; i++) {
        if (!check_to_judge(side, o->metrics[i], a, &err)) {
            left[what.n_metrics++] = o->metrics[i];
            continue;
        }
        if (place)
            pk_within(&err, "%s", place);
        pk_errs_add(wrong, &err);
    }
    return what;
}

enum pk_code pk_compare_check_known(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                                    const struct pk_compare_options *o, struct pk_arena *a,
                                    struct pk_err *err)
{
    for (size_t i = 0; i < o->n_metrics && base->n && new_->n; i++)
        if (!pk_figures_of_metric(base, o->metrics[i]) && !pk_figures_of_metric(new_, o->metrics[i]))
            return unknown_metric(new_, o->metrics[i], a, err);
    return PK_OK;
}

enum pk_code pk_compare_check_side(const struct pk_compare_side *side, const struct pk_compare_side *other,
                                   const struct pk_compare_options *o, struct pk_err *err)
{
    for (size_t i = 0; i < o->n_metrics && side->n && other->n; i++) {
        const char *metric = o->metrics[i];
        if (pk_figures_of_metric(side, metric) || !pk_figures_of_metric(other, metric))
            continue;
        pk_fail(err, PK_E_NOT_COMPARABLE, "%s has no value of metric '%s'", side->name, metric);
        pk_why(err, "%s has one; NaN does not count as a value", other->name);
        return pk_fix(err,
                      "`perfkit show RUN` prints the values of a run; omit the metric, or measure it again");
    }
    return PK_OK;
}

struct pk_compare_side pk_compare_select(const struct pk_compare_side *side,
                                         const struct pk_compare_options *o, struct pk_arena *a)
{
    struct pk_figures *v = pk_new_n(a, struct pk_figures, side->n);
    struct pk_compare_side out = *side;
    out.v = v;
    out.n = 0;
    for (size_t i = 0; i < side->n; i++)
        if (pk_compare_selects(side, &side->v[i], o, a))
            v[out.n++] = side->v[i];
    return out;
}

/* --- times of commands ---------------------------------------------------------------------------------------------- */

static const char *const own_times[] = {"wall_ns", "user_ns", "system_ns"};

bool pk_is_own_time(const char *metric)
{
    for (size_t i = 0; i < sizeof own_times / sizeof *own_times; i++)
        if (strcmp(metric, own_times[i]) == 0)
            return true;
    return false;
}

bool pk_own_time_counts(const char *metric, bool others)
{
    return !pk_is_own_time(metric) || (!others && strcmp(metric, own_times[0]) == 0);
}

/* Instructions, leaves, bytes of perfkit's own pool: they repeat, and any difference is one. */
bool pk_figures_exact(const struct pk_figures *f)
{
    return strcmp(f->class, "exact") == 0 ||
           (strcmp(f->class, "memory") == 0 && strcmp(f->source, "allocator") == 0);
}
