/* Compare, reason: why two sides have nothing in common. */
#include "base/text/buf.h"
#include "judge/pair/pair.h"

#include <inttypes.h>
#include <string.h>

static const char *experiment(const struct pk_figures *f, struct pk_arena *a)
{
    return f->experiment;
}

static const char *revision(const struct pk_figures *f, struct pk_arena *a)
{
    return pk_printf(a, "%" PRId64, f->revision);
}

static const char *device(const struct pk_figures *f, struct pk_arena *a)
{
    return pk_device_class(f->device, a);
}

static const char *variant(const struct pk_figures *f, struct pk_arena *a)
{
    return f->variant;
}

static const char *metric(const struct pk_figures *f, struct pk_arena *a)
{
    return f->metric;
}

static const char *unit(const struct pk_figures *f, struct pk_arena *a)
{
    return f->unit;
}

static const char *direction(const struct pk_figures *f, struct pk_arena *a)
{
    return f->direction;
}

/* The first of them of which two sides have nothing in common is the reason. */
static const struct {
    const char *word;
    const char *(*get)(const struct pk_figures *f, struct pk_arena *a);
} parts[] = {
    {"experiment", experiment},
    {"revision of the experiment", revision},
    {"device", device},
    {"variant", variant},
    {"metric", metric},
    {"unit of the metrics", unit},
    {"direction of the metrics", direction},
};

enum { MOST_SHOWN = 5 };

static const char **column(const struct pk_compare_side *s, size_t part, struct pk_arena *a)
{
    const char **v = pk_new_n(a, const char *, s->n);
    for (size_t i = 0; i < s->n; i++)
        v[i] = parts[part].get(&s->v[i], a);
    return v;
}

static bool contains(const char *const *v, size_t n, const char *text)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(v[i], text) == 0)
            return true;
    }
    return false;
}

/* Distinct values in order of appearance: "vanilla, flash". */
static const char *listed(const char *const *v, size_t n, struct pk_arena *a)
{
    size_t shown = 0;
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < n; i++) {
        if (contains(v, i, v[i]))
            continue;
        if (shown++ == MOST_SHOWN) {
            pk_buf_str(&b, " ...");
            break;
        }
        pk_buf_printf(&b, "%s%s", b.n ? ", " : "", v[i]);
    }
    return pk_buf_text(&b);
}

static bool any_common(const char *const *x, size_t n, const char *const *y, size_t m)
{
    for (size_t i = 0; i < n; i++)
        if (contains(y, m, x[i]))
            return true;
    return false;
}

static enum pk_code say_apart(const char *word, const struct pk_compare_side *base, const char *const *x,
                              const struct pk_compare_side *new_, const char *const *y, struct pk_arena *a,
                              struct pk_err *err)
{
    return pk_why(err, "%s: %s in %s, %s in %s", word, listed(x, base->n, a), base->name,
                  listed(y, new_->n, a), new_->name);
}

/* No case of one is a case of the other: said, by what distinguishes them. */
static bool cases_differ(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                         struct pk_arena *a, struct pk_err *err)
{
    const size_t n = base->n + new_->n;
    const struct pk_figures **all = pk_new_n(a, const struct pk_figures *, n + 1);
    for (size_t i = 0; i < n; i++)
        all[i] = i < base->n ? &base->v[i] : &new_->v[i - base->n];
    const char *const *axes = pk_axes_differing(all, n, a);
    const char **words = pk_new_n(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        words[i] = *axes[i] ? pk_printf(a, "%s %s", all[i]->variant, axes[i]) : all[i]->variant;
    if (any_common(words, base->n, words + base->n, new_->n))
        return false;
    say_apart("cases", base, words, new_, words + base->n, a, err);
    return true;
}

enum pk_code pk_not_comparable(const struct pk_compare_side *base, const struct pk_compare_side *new_,
                               struct pk_arena *a, struct pk_err *err)
{
    pk_fail(err, PK_E_NOT_COMPARABLE, "%s and %s have no case in common", base->name, new_->name);
    pk_fix(err, "`perfkit show RUN` prints the values of a run");
    for (int i = 0; i < 2; i++) {
        const struct pk_compare_side *s = i ? new_ : base;
        if (!s->n && s->n_unfinished)
            return pk_why(err, "%s has no case that ended ok: %s ended '%s'%s%s", s->name,
                          pk_case_text(&s->unfinished->of, a), s->unfinished->status,
                          *s->unfinished->message ? ": " : "", s->unfinished->message);
        if (!s->n)
            return pk_why(err, "%s has no case that ended ok with a metric to compare", s->name);
    }
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        const char **x = column(base, p, a), **y = column(new_, p, a);
        if (!any_common(x, base->n, y, new_->n))
            return say_apart(parts[p].word, base, x, new_, y, a, err);
    }
    if (cases_differ(base, new_, a, err))
        return err->code;
    return pk_why(err, "no case of one has the same device, variant, axes and metric as a case of the other");
}
