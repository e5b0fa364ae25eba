/* Compare: finding pairs, between two runs or across an axis within one, and their ratios. */
#include "judge/pair/pair.h"

#include "base/suggest.h"
#include "judge/pair/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A figure and the text under which it looks for its partner. */
struct keyed {
    const char *key;
    const struct pk_figures *f;
    const char *value; /* of the axis compared by */
    size_t order;
    bool paired;
};

struct pairing {
    struct pk_arena *a;
    const struct pk_compare_options *o;
    struct keyed *base, *new_;
    size_t n_base, n_new;
};

double pk_speedup(const char *direction, double ratio)
{
    if (strcmp(direction, "lower") == 0)
        return 1 / ratio;
    return strcmp(direction, "higher") == 0 ? ratio : NAN;
}

bool pk_figures_opposed(const struct pk_figures *x, const struct pk_figures *y)
{
    return strcmp(x->direction, "none") != 0 && strcmp(y->direction, "none") != 0 &&
           strcmp(x->direction, y->direction) != 0;
}

static bool positive(const struct pk_figures *f)
{
    for (size_t i = 0; i < f->n; i++) {
        if (!(f->figure[i] > 0))
            return false;
    }
    return true;
}

static bool constant(const struct pk_figures *f)
{
    for (size_t i = 1; i < f->n; i++)
        if (f->figure[i] != f->figure[0])
            return false;
    return f->n;
}

double pk_figures_centre(const struct pk_figures *f)
{
    double sum = 0;
    if (constant(f)) /* as it is: exact figures are held against each other to the last digit */
        return f->figure[0];
    if (!positive(f))
        return f->median;
    for (size_t i = 0; i < f->n; i++)
        sum += log(f->figure[i]) / (double)f->n;
    return exp(sum);
}

struct pk_compared pk_compare_figures(const struct pk_figures *b, const struct pk_figures *f, double level)
{
    struct pk_ratio r = {.ratio = NAN, .ci = {NAN, NAN}, .p = NAN, .df = NAN};
    if (positive(b) && positive(f))
        r = pk_ratio_welch(b->figure, b->n, f->figure, f->n, level);
    return (struct pk_compared){.base = b,
                                .new_ = f,
                                .ratio = r,
                                .speedup = pk_speedup(f->direction, r.ratio),
                                .unstable = b->unstable || f->unstable};
}

/* --- keys ----------------------------------------------------------------------------------------------------- */

/* The unit separator of ASCII stands in no name. Copied piece by piece: a run may have a hundred thousand cases. */
const char *pk_key_between_runs(const struct pk_figures *f, struct pk_arena *a)
{
    char revision[24];
    snprintf(revision, sizeof revision, "%" PRId64, f->revision);
    const size_t class_bytes = strcspn(f->device, ":");
    const char *const parts[] = {f->experiment, revision, f->variant, f->identity, f->metric, f->unit};
    size_t bytes = class_bytes + 1, n[sizeof parts / sizeof *parts];
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        bytes += 1 + (n[i] = strlen(parts[i]));
    char *key = pk_alloc(a, bytes), *at = key;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        memcpy(at, parts[i], n[i]);
        at[n[i]] = '\x1f';
        at += n[i] + 1;
    }
    memcpy(at, f->device, class_bytes);
    return key;
}

static bool by_variant(const struct pk_compare_options *o)
{
    return strcmp(o->by, "variant") == 0;
}

static const char *key_within_run(const struct pk_figures *f, const struct pk_compare_options *o,
                                  struct pk_arena *a)
{
    return pk_printf(a, "%s\x1f%" PRId64 "\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s", f->experiment, f->revision,
                     by_variant(o) ? "" : f->variant, f->device, pk_axes_without(f->axes, o->by, a),
                     f->metric, f->unit);
}

static int by_key(const void *x, const void *y)
{
    const struct keyed *const *a = x, *const *b = y;
    int c = strcmp((*a)->key, (*b)->key);
    return c ? c : ((*a)->order > (*b)->order) - ((*a)->order < (*b)->order);
}

/* The first figure of the sorted index under this key that has no partner yet, or any of that key when `again`. */
static struct keyed *partner(struct keyed **sorted, size_t n, const char *key, bool again)
{
    size_t lo = 0, hi = n;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (strcmp(sorted[mid]->key, key) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < n && strcmp(sorted[lo]->key, key) == 0; lo++) {
        if (again || !sorted[lo]->paired)
            return sorted[lo];
    }
    return NULL;
}

/* --- results -------------------------------------------------------------------------------------------------- */

static struct pk_unmatched_figures unpaired(const struct keyed *v, size_t n, struct pk_arena *a)
{
    struct pk_unmatched_figures alone = {NULL, 0};
    size_t cap = 0;
    for (size_t i = 0; i < n; i++) {
        if (v[i].paired)
            continue;
        alone.v = pk_grow(a, alone.v, sizeof *alone.v, alone.n, &cap);
        alone.v[alone.n++] = v[i].f;
    }
    return alone;
}

/* The metrics of one case stand together, so comparing with the last one finds repeats. */
static const char *const *cases_of(const struct pk_unmatched_figures *alone, struct pk_arena *a,
                                   size_t *found)
{
    const char **list = pk_new_n(a, const char *, alone->n + 1);
    *found = 0;
    for (size_t i = 0; i < alone->n; i++) {
        const struct pk_figures *f = alone->v[i], *last = i ? alone->v[i - 1] : NULL;
        if (!last || strcmp(last->axes, f->axes) != 0 || strcmp(last->variant, f->variant) != 0)
            list[(*found)++] = pk_case_text(f, a);
    }
    return list;
}

void pk_compare_finish(struct pk_compared *v, size_t n, const struct pk_compare_options *o,
                       struct pk_arena *a, struct pk_comparison *out)
{
    *out = (struct pk_comparison){.design = o->design, .common = "", .v = v, .n = n};
    if (!n)
        return;
    out->common = pk_compare_places(v, n, o->by, a);
    out->n_means = pk_compare_means(v, n, o->level, o->design, a, &out->means);
}

/* base, new_: the whole sides; NULL within a run. */
static void finish(const struct pairing *p, struct pk_compared *v, size_t n,
                   const struct pk_compare_side *base, const struct pk_compare_side *new_,
                   struct pk_comparison *out)
{
    struct pk_unmatched_figures of_base = unpaired(p->base, p->n_base, p->a),
                                of_new = unpaired(p->new_, p->n_new, p->a);
    pk_compare_finish(v, n, p->o, p->a, out);
    if (base)
        pk_compare_unmatched(base, new_, &of_base, &of_new, p->o, p->a, out);
    out->only_base = cases_of(&of_base, p->a, &out->n_only_base);
    out->only_new = cases_of(&of_new, p->a, &out->n_only_new);
}

/* Pairs in the order of `new`. Between runs a base serves once; within a run it is the yardstick of several. */
static size_t pair(const struct pairing *p, struct pk_compared *v)
{
    struct keyed **sorted = pk_new_n(p->a, struct keyed *, p->n_base);
    size_t n = 0;
    for (size_t i = 0; i < p->n_base; i++)
        sorted[i] = &p->base[i];
    if (p->n_base)
        qsort(sorted, p->n_base, sizeof *sorted, by_key);
    for (size_t i = 0; i < p->n_new; i++) {
        struct keyed *b = partner(sorted, p->n_base, p->new_[i].key, p->o->by != NULL);
        if (!b || pk_figures_opposed(b->f, p->new_[i].f))
            continue;
        b->paired = p->new_[i].paired = true;
        v[n] = pk_compare_figures(b->f, p->new_[i].f, p->o->level);
        v[n++].value = p->new_[i].value;
    }
    return n;
}

static const char *key_in_order(const struct pk_figures *f, struct pk_arena *a)
{
    return pk_printf(a, "%" PRId64 "\x1f%s\x1f%s", f->ordinal, f->metric, f->unit);
}

const char *pk_key_of(const struct pk_figures *f, const struct pk_compare_options *o, struct pk_arena *a)
{
    return o->by_ordinal ? key_in_order(f, a) : pk_key_between_runs(f, a);
}

static struct keyed *keyed_between_runs(const struct pk_compare_side *s, const struct pk_compare_options *o,
                                        struct pk_arena *a)
{
    struct keyed *v = pk_new_n(a, struct keyed, s->n);
    for (size_t i = 0; i < s->n; i++) {
        const struct pk_figures *f = &s->v[i];
        v[i] = (struct keyed){.key = pk_key_of(f, o, a), .f = f, .order = i};
    }
    return v;
}

static bool misses_a_case(const struct pk_comparison *c)
{
    for (size_t i = 0; i < c->n_unmatched; i++)
        if (!c->unmatched[i].metric)
            return true;
    return false;
}

enum pk_code pk_compare_runs(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                             const struct pk_compare_options *o, struct pk_arena *a,
                             struct pk_comparison *out, struct pk_err *err)
{
    struct pk_compare_side b, w;
    *out = (struct pk_comparison){0};
    if (pk_compare_check_sides(base, new_, o, a, err))
        return err->code;
    b = pk_compare_select(base, o, a);
    w = pk_compare_select(new_, o, a);
    struct pairing p = {a, o, keyed_between_runs(&b, o, a), keyed_between_runs(&w, o, a), b.n, w.n};
    struct pk_compared *v = pk_new_n(a, struct pk_compared, w.n);
    size_t n = pair(&p, v);
    finish(&p, v, n, base, new_, out);
    return n || misses_a_case(out) ? PK_OK : pk_not_comparable(&b, &w, a, err);
}

/* --- within one run ------------------------------------------------------------------------------------------- */

static enum pk_code unknown_axis(const struct pk_compare_side *run, const char *by, struct pk_arena *a,
                                 struct pk_err *err)
{
    const char *const *axes;
    size_t n = pk_axes_of(run->v, run->n, a, &axes);
    const char **names = pk_new_n(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        names[i] = axes[i];
    names[n] = "variant";
    pk_fail(err, PK_E_USAGE, "--by: '%s' is no axis of %s", by, run->name);
    pk_why(err, "its cases have %s", n ? "other axes" : "no axes");
    return pk_fix(err, "%s", pk_suggest_text(a, by, names, n + 1));
}

/* Splits figures into those at the axis's first value and the others; cases without the axis take no part. */
static void split(const struct pk_compare_side *run, struct pairing *p, const char **first)
{
    p->base = pk_new_n(p->a, struct keyed, run->n);
    p->new_ = pk_new_n(p->a, struct keyed, run->n);
    for (size_t i = 0; i < run->n; i++) {
        const struct pk_figures *f = &run->v[i];
        const char *value = by_variant(p->o) ? f->variant : pk_axis_text(f->axes, p->o->by, p->a);
        if (!value)
            continue;
        *first = *first ? *first : value;
        struct keyed k = {.key = key_within_run(f, p->o, p->a), .f = f, .value = value, .order = i};
        if (strcmp(value, *first) == 0)
            p->base[p->n_base++] = k;
        else
            p->new_[p->n_new++] = k;
    }
}

enum pk_code pk_compare_by(const struct pk_compare_side *run, const struct pk_compare_options *o,
                           struct pk_arena *a, struct pk_comparison *out, struct pk_err *err)
{
    struct pk_compare_side selected;
    struct pairing p = {.a = a, .o = o};
    const char *first = NULL;
    *out = (struct pk_comparison){0};
    if (pk_compare_check_metrics(run, o, a, err))
        return err->code;
    selected = pk_compare_select(run, o, a);
    split(&selected, &p, &first);
    if (selected.n && !first)
        return unknown_axis(run, o->by, a, err);
    struct pk_compared *v = pk_new_n(a, struct pk_compared, p.n_new);
    size_t n = pair(&p, v);
    if (n) {
        finish(&p, v, n, NULL, NULL, out);
        out->base_value = first;
        return PK_OK;
    }
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s cannot be compared by %s", run->name, o->by);
    if (!selected.n)
        pk_why(err, "it has no case that ended ok with a metric to compare");
    else if (!p.n_new)
        pk_why(err, "all its cases that ended ok have %s=%s", o->by, first);
    else
        pk_why(err, "no two cases that ended ok differ in %s only", o->by);
    return pk_fix(err, "measure several values in one run, for example with -a or --variant");
}
