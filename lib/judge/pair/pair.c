/* Compare: finding pairs, between two runs or across an axis within one, and their ratios. */
#include "judge/pair/pair.h"

#include "base/text/words.h"
#include "judge/pair/match.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Figures of a side with the keys by which they are matched. */
struct keyed_figures {
    const struct pk_figures **f;
    const char **key, **value; /* value: of the axis compared by */
    bool *paired;
    size_t n;
};

struct pair_state {
    struct pk_arena *a;
    const struct pk_compare_options *o;
    struct keyed_figures base, new_;
};

/* --- keys ----------------------------------------------------------------------------------------------------- */

static bool by_variant(const struct pk_compare_options *o)
{
    return strcmp(o->by, "variant") == 0;
}

static struct keyed_figures keyed_of(size_t most, struct pk_arena *a)
{
    return (struct keyed_figures){.f = pk_new_n(a, const struct pk_figures *, most + 1),
                                  .key = pk_new_n(a, const char *, most + 1),
                                  .value = pk_new_n(a, const char *, most + 1),
                                  .paired = pk_new_n(a, bool, most + 1)};
}

static void add_keyed(struct keyed_figures *k, const struct pk_figures *f, const char *key, const char *value)
{
    k->f[k->n] = f;
    k->key[k->n] = key;
    k->value[k->n++] = value;
}

/* --- results -------------------------------------------------------------------------------------------------- */

static const char *const *unpaired_cases(const struct keyed_figures *k, struct pk_arena *a, size_t *n_texts)
{
    const struct pk_figures **v = pk_new_n(a, const struct pk_figures *, k->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < k->n; i++)
        if (!k->paired[i])
            v[n++] = k->f[i];
    return pk_case_texts(v, n, a, n_texts);
}

void pk_compare_finish(struct pk_compared *v, size_t n, const struct pk_compare_options *o,
                       struct pk_arena *a, struct pk_comparison *out)
{
    *out = (struct pk_comparison){.design = o->design, .level = o->level, .common = "", .v = v, .n = n};
    if (!n)
        return;
    out->common = pk_compare_places(v, n, o->by, a);
    out->n_means = pk_compare_means(v, n, o->level, o->design, a, &out->means);
}

/* base, new_: the whole sides; NULL within a run. */
static void finish(const struct pair_state *p, struct pk_compared *v, size_t n,
                   const struct pk_compare_side *base, const struct pk_compare_side *new_,
                   struct pk_comparison *out)
{
    pk_compare_finish(v, n, p->o, p->a, out);
    if (base) {
        pk_compare_unmatched(base, new_, p->o, p->a, out);
        return;
    }
    out->only_base = unpaired_cases(&p->base, p->a, &out->n_only_base);
    out->only_new = unpaired_cases(&p->new_, p->a, &out->n_only_new);
}

/* Pairs in the order of `new`. Between runs a base serves once; within a run it is the yardstick of several. */
static size_t pair(struct pair_state *p, struct pk_compared *v)
{
    struct pk_match m = pk_match_make(p->base.key, p->base.n, p->a);
    size_t n = 0;
    m.taken = p->base.paired;
    for (size_t i = 0; i < p->new_.n; i++) {
        const struct pk_figures *f = p->new_.f[i];
        const size_t at = pk_match_find(&m, p->new_.key[i], p->o->by != NULL);
        if (at == SIZE_MAX || pk_figures_opposed(p->base.f[at], f) ||
            pk_figures_other_source(p->base.f[at], f))
            continue;
        p->base.paired[at] = p->new_.paired[i] = true;
        v[n] = pk_compare_figures(p->base.f[at], f, p->o->level);
        v[n++].value = p->new_.value[i];
    }
    return n;
}

static struct keyed_figures keyed_between_runs(const struct pk_compare_side *s,
                                               const struct pk_compare_options *o, struct pk_arena *a)
{
    struct keyed_figures k = keyed_of(s->n, a);
    for (size_t i = 0; i < s->n; i++)
        add_keyed(&k, &s->v[i], pk_key_of(&s->v[i], o, a), NULL);
    return k;
}

enum pk_code pk_compare_runs(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                             const struct pk_compare_options *o, struct pk_arena *a,
                             struct pk_comparison *out, struct pk_err *err)
{
    const struct pk_compare_side base_all = pk_compare_with_tails(base, o, a),
                                 new_all = pk_compare_with_tails(new_, o, a);
    *out = (struct pk_comparison){0};
    if (pk_compare_check_tails(base, o, a, err) || pk_compare_check_tails(new_, o, a, err) ||
        pk_compare_check_known(&base_all, &new_all, o, a, err) ||
        pk_compare_check_side(&base_all, &new_all, o, err))
        return err->code;
    const struct pk_compare_side b = pk_compare_select(&base_all, o, a),
                                 w = pk_compare_select(&new_all, o, a);
    struct pair_state p = {a, o, keyed_between_runs(&b, o, a), keyed_between_runs(&w, o, a)};
    struct pk_compared *v = pk_new_n(a, struct pk_compared, w.n);
    const size_t n = pair(&p, v);
    finish(&p, v, n, &base_all, &new_all, out);
    if (pk_compare_check_side(&new_all, &base_all, o, err))
        return err->code;
    return n || pk_first_unmatched(out, true) ? PK_OK : pk_not_comparable(&b, &w, a, err);
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
    pk_fail(err, PK_E_USAGE, "--by: '%s' is not an axis of %s", by, run->name);
    pk_why(err, "its cases have %s", n ? "other axes" : "no axes");
    return pk_fix(err, "%s", pk_suggest_text(a, by, names, n + 1));
}

/* The key by which cases differ in the axis only. The variant of a command is its program, which is part of its command line. */
static const char *key_within(const struct pk_figures *f, const struct pk_compare_options *o,
                              struct pk_arena *a)
{
    const bool command = pk_figures_of_command(f);
    return pk_printf(a, "%s\x1f%" PRId64 "\x1f%s\x1f%s\x1f%s\x1f%s\x1f%s", f->experiment, f->revision,
                     by_variant(o) || command ? "" : f->variant, f->device,
                     pk_axes_without(f->axes, command ? "command" : o->by, a), f->metric, f->unit);
}

static const char *base_variant(const struct pk_compare_side *run, const struct pk_compare_options *o)
{
    for (size_t i = 0; by_variant(o) && o->base && i < run->n; i++)
        if (strcmp(run->v[i].variant, o->base) == 0)
            return o->base;
    return NULL;
}

/* Splits figures into those at the base, else the axis's first value, and the others; cases without the axis take no part. */
static void split(const struct pk_compare_side *run, struct pair_state *p, const char **first)
{
    p->base = keyed_of(run->n, p->a);
    p->new_ = keyed_of(run->n, p->a);
    for (size_t i = 0; i < run->n; i++) {
        const struct pk_figures *f = &run->v[i];
        const char *value = by_variant(p->o) ? f->variant : pk_axis_text(f->axes, p->o->by, p->a);
        if (!value)
            continue;
        *first = *first ? *first : value;
        add_keyed(strcmp(value, *first) == 0 ? &p->base : &p->new_, f, key_within(f, p->o, p->a), value);
    }
}

enum pk_code pk_compare_by(const struct pk_compare_side *run, const struct pk_compare_options *o,
                           struct pk_arena *a, struct pk_comparison *out, struct pk_err *err)
{
    struct pk_compare_side selected;
    struct pair_state p = {.a = a, .o = o};
    *out = (struct pk_comparison){0};
    const struct pk_compare_side all = pk_compare_with_tails(run, o, a);
    if (pk_compare_check_tails(run, o, a, err) || pk_compare_check_metrics(&all, o, a, err))
        return err->code;
    selected = pk_compare_select(&all, o, a);
    const char *first = base_variant(&selected, o);
    split(&selected, &p, &first);
    if (selected.n && !first)
        return unknown_axis(run, o->by, a, err);
    struct pk_compared *v = pk_new_n(a, struct pk_compared, p.new_.n);
    size_t n = pair(&p, v);
    if (n) {
        finish(&p, v, n, NULL, NULL, out);
        out->base_value = first;
        return PK_OK;
    }
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s cannot be compared by %s", run->name, o->by);
    if (!selected.n)
        pk_why(err, "it has no case that ended ok with a metric to compare");
    else if (!p.new_.n)
        pk_why(err, "all its cases that ended ok have %s=%s", o->by, first);
    else
        pk_why(err, "no two cases that ended ok differ in %s only", o->by);
    return pk_fix(err, "measure several values in one run, for example with -a or --variant");
}
