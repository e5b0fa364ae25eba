/* Unmatched: cases and metrics that one side lacks: those of base that new should have, and those of new only. */
#include "judge/pair/match.h"
#include "judge/pair/pair.h"

#include "base/text/words.h"
#include "opt/opt.h"

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
    struct pk_match unfinished; /* cases of new */
    struct pk_failure *unmatched;
    size_t n_unmatched, cap;
    struct pk_compared *missing;
    size_t n_missing, missing_cap;
    struct pk_comparison *out;
};

static const char *case_key(const struct sorting *s, const struct pk_figures *f)
{
    struct pk_figures of = *f;
    of.metric = of.unit = "";
    return pk_key_of(&of, s->o, s->a);
}

/* Of a metric, independent of its unit. */
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

static bool comparable(const struct pk_figures *x, const struct pk_figures *y)
{
    return strcmp(x->unit, y->unit) == 0 && !pk_figures_opposed(x, y) && !pk_figures_other_source(x, y);
}

/* The figure of the same metric, in the same unit if there is one; NULL = none. */
static const struct pk_figures *find_metric(const struct sorting *s, const struct directory *d,
                                            const struct pk_figures *f)
{
    const char *key = metric_key(s, f);
    const struct pk_match *m = &d->match;
    const size_t first = pk_match_first(m, key);
    for (size_t i = first; i < m->n && strcmp(m->v[i].key, key) == 0; i++)
        if (comparable(f, &d->v[m->v[i].at]))
            return &d->v[m->v[i].at];
    return first < m->n ? &d->v[m->v[first].at] : NULL;
}

/* Whether it matters that the other side lacks it. A metric without direction cannot be judged: it matters only if chosen. */
static bool counts(const struct sorting *s, const struct pk_compare_side *side, const struct pk_figures *f)
{
    return pk_compare_selects(side, f, s->o, s->a) || (!s->o->n_metrics && pk_has_direction(f->direction));
}

/* --- failures ------------------------------------------------------------------------------------------------------- */

/* metric NULL: the whole case. */
static void add_failure(struct sorting *s, enum pk_failure_kind kind, const struct pk_figures *f,
                        const char *metric, const char *status, const char *message)
{
    const bool allowed = s->o->allow_missing && (kind == PK_PARTLY_MISSING || strcmp(status, "missing") == 0);
    s->unmatched = pk_grow(s->a, s->unmatched, sizeof *s->unmatched, s->n_unmatched, &s->cap);
    s->unmatched[s->n_unmatched++] =
        (struct pk_failure){.kind = kind,
                            .allowed = allowed,
                            .side = "new",
                            .experiment = f->experiment,
                            .variant = f->variant,
                            .axes = f->axes,
                            .metric = metric,
                            .status = allowed ? pk_printf(s->a, "%s (allowed)", status) : status,
                            .message = message};
}

static void add_missing(struct sorting *s, const struct pk_figures *f)
{
    s->missing = pk_grow(s->a, s->missing, sizeof *s->missing, s->n_missing, &s->missing_cap);
    s->missing[s->n_missing++] = (struct pk_compared){.base = f, .new_ = f};
}

/* Adds unfinished cases of new that base has. A run that goes on, or that was ended early, does not count for a case that another run of
 * its side measured. */
static void add_unfinished(struct sorting *s)
{
    const char **keys = pk_new_n(s->a, const char *, s->new_->n_unfinished + 1);
    for (size_t i = 0; i < s->new_->n_unfinished; i++) {
        const struct pk_unfinished_case *u = &s->new_->unfinished[i];
        const bool ended = strcmp(u->status, "interrupted") != 0 && strcmp(u->status, "running") != 0;
        keys[i] = case_key(s, &u->of);
        if (find_figure(&s->base_cases, keys[i]) && (ended || !find_figure(&s->new_cases, keys[i])))
            add_failure(s, PK_FAILED, &u->of, NULL, u->status, u->message);
    }
    s->unfinished = pk_match_make(keys, s->new_->n_unfinished, s->a);
}

/* Base's figure and that of new, which can be compared: whether new has it in a smaller share of its processes. */
static void check_processes(struct sorting *s, const struct pk_figures *f, const struct pk_figures *w)
{
    if (w->measured * f->processes >= f->measured * w->processes || !counts(s, s->base, f))
        return;
    add_failure(s, PK_PARTLY_MISSING, f, f->metric, "partly missing",
                pk_printf(s->a, "%s has a value of %s in %zu of %s, %s in %zu of %zu", s->new_->name,
                          f->metric, w->measured, pk_plural(w->processes, "process", s->a), s->base->name,
                          f->measured, f->processes));
}

/* --- base ----------------------------------------------------------------------------------------------------------- */

/* The newest run of base that has the case; 0 when base is one run. */
static int64_t newest_run(const struct sorting *s, const char *key)
{
    const struct pk_match *m = &s->base_cases.match;
    int64_t newest = 0;
    for (size_t i = pk_match_first(m, key); s->base->n_runs > 1 && i < m->n && strcmp(m->v[i].key, key) == 0;
         i++) {
        const struct pk_figures *f = &s->base->v[m->v[i].at];
        if (f->invocation[f->n - 1] > newest)
            newest = f->invocation[f->n - 1];
    }
    return newest;
}

/* The plan of the other side has another variant, or other values of axes, and so other metrics. */
static bool is_other_work(const struct sorting *s, const struct pk_figures *f, const char *key)
{
    const struct pk_figures *w = find_figure(&s->new_cases, key);
    return s->o->by_ordinal && (strcmp(f->variant, w->variant) || strcmp(f->identity, w->identity));
}

/* Why base's figure has no partner, as a status, and as a sentence; `w` is what new says of the metric, NULL = nothing. */
static const char *why_unmatched(const struct sorting *s, const struct pk_figures *f,
                                 const struct pk_figures *w, const char **sentence)
{
    const char *base = s->base->name, *new_ = s->new_->name;
    if (!w || pk_figures_other_source(f, w)) {
        *sentence = pk_printf(s->a, "%s has no value of %s, which %s has", new_, f->metric, base);
        return "missing";
    }
    if (strcmp(f->unit, w->unit) != 0) {
        *sentence = pk_printf(s->a, "%s is in \"%s\" in %s and in \"%s\" in %s", f->metric, f->unit, base,
                              w->unit, new_);
        return "other unit";
    }
    *sentence =
        pk_figures_opposed_text(f, w, pk_printf(s->a, "in %s", base), pk_printf(s->a, "in %s", new_), s->a);
    return "other direction";
}

/* A list of figures that are no failures. */
struct others {
    const struct pk_figures **v;
    size_t n;
};

/* New reports its own peak of memory, where that of base was measured: nothing is missing. */
static bool gives_own_peak(const struct pk_figures *f, const struct pk_figures *w)
{
    return w && pk_figures_other_source(f, w) && strcmp(w->source, "program") == 0;
}

static void sort_base(struct sorting *s, struct others *cases, struct others *metrics)
{
    const char *missing = NULL; /* key of the last whole case: its figures are adjacent */
    for (size_t i = 0; i < s->base->n; i++) {
        const struct pk_figures *f = &s->base->v[i], *w = find_metric(s, &s->new_metrics, f);
        const char *key, *sentence;
        if (w && comparable(f, w))
            check_processes(s, f, w);
        if (w && comparable(f, w))
            continue;
        key = case_key(s, f);
        const int64_t newest = newest_run(s, key);
        const bool counted = counts(s, s->base, f),
                   unfinished = pk_match_find(&s->unfinished, key, true) != SIZE_MAX;
        if (find_figure(&s->new_cases, key)) {
            const char *status = why_unmatched(s, f, w, &sentence);
            if (!counted || is_other_work(s, f, key) || f->invocation[f->n - 1] < newest ||
                gives_own_peak(f, w)) {
                metrics->v[metrics->n++] = f;
                continue;
            }
            add_failure(s, PK_MISSING, f, f->metric, status, sentence);
        } else if (!counted) {
            continue; /* another metric of the case is added */
        } else if (!unfinished && newest && newest < (int64_t)s->base->n_runs) {
            cases->v[cases->n++] = f;
            continue;
        } else if (!unfinished && (!missing || strcmp(missing, key) != 0)) { /* an unfinished one is added */
            missing = key;
            add_failure(
                s, PK_MISSING, f, NULL, "missing",
                pk_printf(s->a, "%s does not have this case, which %s has", s->new_->name, s->base->name));
        }
        add_missing(s, f);
    }
}

/* --- new ------------------------------------------------------------------------------------------------------------ */

static void sort_new(struct sorting *s, struct others *cases, struct others *metrics)
{
    for (size_t i = 0; i < s->new_->n; i++) {
        const struct pk_figures *f = &s->new_->v[i];
        const struct pk_figures *b = find_metric(s, &s->base_metrics, f);
        if (b && !gives_own_peak(b, f))
            continue;
        if (find_figure(&s->base_cases, case_key(s, f)))
            metrics->v[metrics->n++] = f;
        else if (counts(s, s->new_, f))
            cases->v[cases->n++] = f;
    }
}

/* With a direction, of both sides, and not compared by default; of a region that has a device time, that one is. With chosen metrics, the
 * others are left out by choice. */
static void find_not_judged(struct sorting *s)
{
    struct pk_texts names = {0}, seen = {0};
    for (size_t i = 0; i < s->base->n && !s->o->n_metrics; i++) {
        const struct pk_figures *f = &s->base->v[i];
        if (pk_texts_has(&seen, f->metric))
            continue;
        pk_texts_add(&seen, f->metric, s->a);
        if (pk_has_direction(f->direction) && !pk_compare_selects(s->base, f, s->o, s->a) &&
            !pk_is_host_twin(s->base, f->metric, s->a) && pk_figures_of_metric(s->new_, f->metric))
            pk_texts_add(&names, f->metric, s->a);
    }
    s->out->not_judged = names.v;
    s->out->n_not_judged = names.n;
}

/* --- both ----------------------------------------------------------------------------------------------------------- */

static const char *const *metric_texts(const struct others *o, struct pk_arena *a)
{
    const char **texts = pk_new_n(a, const char *, o->n + 1);
    for (size_t i = 0; i < o->n; i++)
        texts[i] = pk_printf(a, "%s of %s", o->v[i]->metric, pk_case_text(o->v[i], a));
    return texts;
}

const char *const *pk_case_texts(const struct pk_figures *const *v, size_t n, struct pk_arena *a,
                                 size_t *n_texts)
{
    const char **list = pk_new_n(a, const char *, n + 1);
    *n_texts = 0;
    for (size_t i = 0; i < n; i++)
        if (!i || strcmp(v[i - 1]->axes, v[i]->axes) != 0 || strcmp(v[i - 1]->variant, v[i]->variant) != 0)
            list[(*n_texts)++] = pk_case_text(v[i], a);
    return list;
}

/* Nearly always both sides have the same figures in one order, and no key is needed. */
static bool are_alike(struct sorting *s)
{
    if (s->base->n != s->new_->n || s->new_->n_unfinished)
        return false;
    for (size_t i = 0; i < s->base->n; i++) {
        const struct pk_figures *f = &s->base->v[i], *w = &s->new_->v[i];
        if (pk_figures_opposed(f, w) || pk_figures_other_source(f, w) ||
            (s->o->by_ordinal ? f->ordinal != w->ordinal || strcmp(f->unit, w->unit)
                              : f->revision != w->revision || strcmp(f->experiment, w->experiment) ||
                                    strcmp(f->variant, w->variant) || strcmp(f->identity, w->identity) ||
                                    strcmp(f->device, w->device) || strcmp(f->unit, w->unit)) ||
            strcmp(f->metric, w->metric))
            return false;
    }
    for (size_t i = 0; i < s->base->n; i++)
        check_processes(s, &s->base->v[i], &s->new_->v[i]);
    return true;
}

static void sort_both(struct sorting *s)
{
    struct others lists[4], *cases = lists, *metrics = lists + 2; /* of base, and of new */
    const struct pk_compare_side *sides[2] = {s->base, s->new_};
    for (int i = 0; i < 4; i++)
        lists[i] = (struct others){pk_new_n(s->a, const struct pk_figures *, sides[i % 2]->n + 1), 0};
    s->base_cases = directory(s, s->base, case_key);
    s->new_cases = directory(s, s->new_, case_key);
    s->base_metrics = directory(s, s->base, metric_key);
    s->new_metrics = directory(s, s->new_, metric_key);
    add_unfinished(s);
    sort_base(s, &cases[0], &metrics[0]);
    sort_new(s, &cases[1], &metrics[1]);
    s->out->only_base = pk_case_texts(cases[0].v, cases[0].n, s->a, &s->out->n_only_base);
    s->out->only_new = pk_case_texts(cases[1].v, cases[1].n, s->a, &s->out->n_only_new);
    s->out->metrics_base = metric_texts(&metrics[0], s->a);
    s->out->n_metrics_base = metrics[0].n;
    s->out->metrics_new = metric_texts(&metrics[1], s->a);
    s->out->n_metrics_new = metrics[1].n;
}

void pk_compare_unmatched(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                          const struct pk_compare_options *o, struct pk_arena *a, struct pk_comparison *out)
{
    struct sorting s = {.a = a, .o = o, .base = base, .new_ = new_, .out = out};
    if (!are_alike(&s))
        sort_both(&s);
    find_not_judged(&s);
    out->unmatched = s.unmatched;
    out->n_unmatched = s.n_unmatched;
    out->missing = s.missing;
    out->n_missing = s.n_missing;
}

const struct pk_failure *pk_first_unmatched(const struct pk_comparison *c, bool failed)
{
    for (size_t i = 0; i < c->n_unmatched; i++)
        if ((c->unmatched[i].kind == PK_FAILED) == failed && !c->unmatched[i].allowed)
            return &c->unmatched[i];
    return NULL;
}

size_t pk_count_missing(const struct pk_comparison *c)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_unmatched; i++)
        n += c->unmatched[i].kind != PK_FAILED;
    return n;
}
