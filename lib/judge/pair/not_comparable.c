/* Compare, reason: why two sides have nothing in common. */
#include "base/text/words.h"
#include "judge/pair/pair.h"
#include "opt/opt.h"

#include <inttypes.h>
#include <string.h>

/* The first of them of which two sides have nothing in common is the reason. */
static const char *const parts[] = {
    "experiment",          "revision of the experiment", "device", "variant", "metric",
    "unit of the metrics", "direction of the metrics"};
enum { N_PARTS = sizeof parts / sizeof *parts, MOST_SHOWN = 5 };

static const char *part_text(const struct pk_figures *f, size_t part, struct pk_arena *a)
{
    const char *const texts[N_PARTS] = {f->experiment,
                                        pk_printf(a, "%" PRId64, f->revision),
                                        pk_device_class(f->device, a),
                                        f->variant,
                                        f->metric,
                                        f->unit,
                                        f->direction};
    return texts[part];
}

/* Distinct values in order of appearance: "vanilla, flash". */
static const char *listed(const struct pk_texts *v, struct pk_arena *a)
{
    return pk_printf(a, "%s%s", pk_list(v->v, v->n < MOST_SHOWN ? v->n : MOST_SHOWN, ", ", a),
                     v->n > MOST_SHOWN ? " ..." : "");
}

/* Whether the texts of the rows, base's first, have nothing in common; then they are the reason. */
static bool are_apart(const char *word, const char *const *texts, const struct pk_compare_side *base,
                      const struct pk_compare_side *new_, struct pk_arena *a, struct pk_err *err)
{
    struct pk_texts x = {0}, y = {0};
    for (size_t i = 0; i < base->n + new_->n; i++)
        pk_texts_add_new(i < base->n ? &x : &y, texts[i], a);
    for (size_t i = 0; i < x.n; i++)
        if (pk_texts_has(&y, x.v[i]))
            return false;
    pk_why(err, "%s: %s in %s, %s in %s", word, listed(&x, a), base->name, listed(&y, a), new_->name);
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
    const size_t n = base->n + new_->n;
    const struct pk_figures **all = pk_new_n(a, const struct pk_figures *, n + 1);
    const char **texts = pk_new_n(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        all[i] = i < base->n ? &base->v[i] : &new_->v[i - base->n];
    for (size_t p = 0; p < N_PARTS; p++) {
        for (size_t i = 0; i < n; i++)
            texts[i] = part_text(all[i], p, a);
        if (are_apart(parts[p], texts, base, new_, a, err))
            return err->code;
    }
    const char *const *axes = pk_axes_differing(all, n, a);
    for (size_t i = 0; i < n; i++)
        texts[i] = *axes[i] ? pk_printf(a, "%s %s", all[i]->variant, axes[i]) : all[i]->variant;
    if (are_apart("cases", texts, base, new_, a, err))
        return err->code;
    return pk_why(err, "no case of one has the same device, variant, axes and metric as a case of the other");
}
