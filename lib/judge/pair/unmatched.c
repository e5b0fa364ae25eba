/* Unmatched: figures without a partner, sorted into cases that the other side never had and what it should have had. */
#include "judge/pair/match.h"
#include "judge/pair/pair.h"

#include <string.h>

/* Figures by their keys. */
struct directory {
    struct pk_match match;
    const struct pk_figures *v; /* by place */
};

struct sorting {
    struct pk_arena *a;
    const struct pk_compare_options *o;
    const struct pk_compare_side *base, *new_;
    struct directory base_cases, new_cases, base_metrics, new_metrics;
    struct pk_failure *unmatched;
    size_t n_unmatched;
};

static const char *case_key(const struct sorting *s, const struct pk_figures *f)
{
    struct pk_figures of = *f;
    of.metric = of.unit = "";
    return pk_key_of(&of, s->o, s->a);
}

/* Of a metric, whatever its unit. */
static const char *metric_key(const struct sorting *s, const struct pk_figures *f)
{
    struct pk_figures of = *f;
    of.unit = "";
    return pk_key_of(&of, s->o, s->a);
}

static struct directory directory(const struct sorting *s, const struct pk_compare_side *side,
                                  const char *(*key)(const struct sorting *, const struct pk_figures *))
{
    const char **keys = pk_new_n(s->a, const char *, side->n + 1);
    for (size_t i = 0; i < side->n; i++)
        keys[i] = key(s, &side->v[i]);
    return (struct directory){pk_match_make(keys, side->n, s->a), side->v};
}

/* The first figure with this key; NULL = none. */
static const struct pk_figures *find_figure(const struct directory *d, const char *key)
{
    const size_t at = pk_match_find(&d->match, key, true);
    return at == SIZE_MAX ? NULL : &d->v[at];
}

/* --- cases ---------------------------------------------------------------------------------------------------------- */

/* metric NULL: the whole case. */
static void add_failure(struct sorting *s, const struct pk_figures *f, const char *metric, const char *status,
                        const char *message)
{
    s->unmatched[s->n_unmatched++] = (struct pk_failure){.side = "new",
                                                         .experiment = f->experiment,
                                                         .variant = f->variant,
                                                         .axes = f->axes,
                                                         .metric = metric,
                                                         .status = status,
                                                         .message = message};
}

/* Adds unfinished cases of new that base has; returns the keys of all. A run that goes on, or that was ended early, does not count for a
 * case that another run of its side measured. */
static struct pk_match add_cases(struct sorting *s)
{
    const char **keys = pk_new_n(s->a, const char *, s->new_->n_unfinished + 1);
    for (size_t i = 0; i < s->new_->n_unfinished; i++) {
        const struct pk_unfinished *u = &s->new_->unfinished[i];
        const bool ended = strcmp(u->status, "interrupted") != 0 && strcmp(u->status, "running") != 0;
        keys[i] = case_key(s, &u->of);
        if (find_figure(&s->base_cases, keys[i]) && (ended || !find_figure(&s->new_cases, keys[i])))
            add_failure(s, &u->of, NULL, u->status, u->message);
    }
    return pk_match_make(keys, s->new_->n_unfinished, s->a);
}

/* --- metrics -------------------------------------------------------------------------------------------------------- */

/* What the newest run of a base of several no longer says of a case is not expected of others. */
static bool given_up(const struct sorting *s, const struct pk_figures *f)
{
    const struct pk_match *m = &s->base_cases.match;
    const char *key = case_key(s, f);
    int64_t newest = 0;
    for (size_t i = pk_match_first(m, key); i < m->n && strcmp(m->v[i].key, key) == 0; i++) {
        const struct pk_figures *other = &s->base->v[m->v[i].at];
        if (other->invocation[other->n - 1] > newest)
            newest = other->invocation[other->n - 1];
    }
    return s->base->n_runs > 1 && f->invocation[f->n - 1] < newest;
}

/* Why base's figure has no partner, as a status, and as a sentence; `w` is what new says of the metric, NULL = nothing. */
static const char *why_unmatched(const struct sorting *s, const struct pk_figures *f,
                                 const struct pk_figures *w, const char **sentence)
{
    const char *base = s->base->name, *new_ = s->new_->name;
    if (!w) {
        *sentence = pk_printf(s->a, "%s has no value of %s, which %s has", new_, f->metric, base);
        return "no number";
    }
    if (pk_figures_opposed(f, w)) {
        *sentence = pk_printf(s->a, "%s is better when %s in %s and when %s in %s", f->metric, f->direction,
                              base, w->direction, new_);
        return "other direction";
    }
    *sentence =
        pk_printf(s->a, "%s is in \"%s\" in %s and in \"%s\" in %s", f->metric, f->unit, base, w->unit, new_);
    return "other unit";
}

static void sort_base(struct sorting *s, struct pk_unmatched_figures *alone)
{
    const struct pk_match unfinished = add_cases(s);
    size_t left = 0;
    for (size_t i = 0; i < alone->n; i++) {
        const struct pk_figures *f = alone->v[i];
        const char *key = case_key(s, f), *sentence;
        if (!find_figure(&s->new_cases, key)) {
            if (pk_match_find(&unfinished, key, true) == SIZE_MAX)
                alone->v[left++] = f;
            continue;
        }
        const char *status = why_unmatched(s, f, find_figure(&s->new_metrics, metric_key(s, f)), &sentence);
        if (!given_up(s, f))
            add_failure(s, f, f->metric, status, sentence);
    }
    alone->n = left;
}

static void sort_new(struct sorting *s, struct pk_unmatched_figures *alone, struct pk_comparison *out)
{
    const char **names = pk_new_n(s->a, const char *, alone->n + 1);
    size_t left = 0, n = 0;
    for (size_t i = 0; i < alone->n; i++) {
        const struct pk_figures *f = alone->v[i];
        if (!find_figure(&s->base_cases, case_key(s, f)))
            alone->v[left++] = f;
        else if (!find_figure(&s->base_metrics, metric_key(s, f)))
            names[n++] = pk_printf(s->a, "%s of %s", f->metric, pk_case_text(f, s->a));
    }
    alone->n = left;
    out->metrics_new = names;
    out->n_metrics_new = n;
}

void pk_compare_unmatched(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                          struct pk_unmatched_figures *of_base, struct pk_unmatched_figures *of_new,
                          const struct pk_compare_options *o, struct pk_arena *a, struct pk_comparison *out)
{
    struct sorting s = {.a = a, .o = o, .base = base, .new_ = new_};
    if (!of_base->n && !of_new->n && !new_->n_unfinished)
        return;
    s.base_cases = directory(&s, base, case_key);
    s.new_cases = directory(&s, new_, case_key);
    s.base_metrics = directory(&s, base, metric_key);
    s.new_metrics = directory(&s, new_, metric_key);
    s.unmatched = pk_new_n(a, struct pk_failure, new_->n_unfinished + of_base->n + 1);
    sort_base(&s, of_base);
    sort_new(&s, of_new, out);
    out->unmatched = s.unmatched;
    out->n_unmatched = s.n_unmatched;
}

const struct pk_failure *pk_first_unmatched(const struct pk_comparison *c, bool metric)
{
    for (size_t i = 0; i < c->n_unmatched; i++)
        if ((c->unmatched[i].metric != NULL) == metric)
            return &c->unmatched[i];
    return NULL;
}
