/* Threshold: parsing, and finding the rows that one is for. */
#include "judge/criteria/criteria.h"

#include "base/text/units.h"
#include "base/text/words.h"

#include <math.h>
#include <string.h>

static enum pk_code wrong(const char *text, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "--threshold '%s' is invalid", text);
    pk_why(err, "%s", why);
    return pk_fix(
        err, "write --threshold forward_ns=5%%, or forward_ns=5%%,20us, or 'forward_ns[variant=flash]=5%%'");
}

/* "5%" is a share; "20us", "64KiB" and "3" are so much. */
static enum pk_code parse_size(const char *text, struct pk_threshold *t, struct pk_err *err)
{
    struct pk_err ignored;
    int64_t whole;
    size_t n = strlen(text);
    double change = 0;
    if (n && text[n - 1] == '%') {
        if (pk_parse_ratio(text, &t->min_effect, &ignored) || !(t->min_effect > 0))
            return wrong(t->text, "a relative size is a number above 0 followed by %", err);
        return PK_OK;
    }
    if (!pk_parse_real(text, &change, &ignored)) {
        t->unit = NULL;
    } else if (!pk_parse_duration(text, &whole, &ignored)) {
        change = (double)whole;
        t->unit = "ns";
    } else if (!pk_parse_size(text, &whole, &ignored)) {
        change = (double)whole;
        t->unit = "bytes";
    }
    t->min_change = change;
    return change > 0
               ? PK_OK
               : wrong(t->text, "a size is relative, such as 5%, or a positive number with or without a unit",
                       err);
}

enum pk_code pk_threshold_parse(const char *text, struct pk_arena *a, struct pk_threshold *out,
                                struct pk_err *err)
{
    const char *open = strchr(text, '['), *close = strchr(text, ']');
    const char *equals = strrchr(text, '=');
    *out = (struct pk_threshold){.text = text, .where = ""};
    if (!equals || equals == text || !equals[1])
        return wrong(text, "it is not METRIC=SIZE", err);
    if ((open || close) && !(open && close && open < close && close + 1 == equals))
        return wrong(text, "cases are given in one pair of brackets after the metric", err);
    if (open == text)
        return wrong(text, "a metric, or * for any, is required before the brackets", err);
    const char *end = open ? open : equals;
    out->metric = pk_strndup(a, text, (size_t)(end - text));
    if (open)
        out->where = pk_strndup(a, open + 1, (size_t)(close - open - 1));
    for (const char *rest = equals + 1, *part; (part = pk_next_part(&rest, ',', a));)
        if (parse_size(part, out, err))
            return err->code;
    return PK_OK;
}

/* --- rows ----------------------------------------------------------------------------------------------------------- */

/* "variant=flash" or "seq_len=1024" of a case. */
static bool matches_part(const char *part, const struct pk_figures *f, struct pk_arena *a)
{
    const char *equals = strchr(part, '=');
    const char *name = equals ? pk_strndup(a, part, (size_t)(equals - part)) : part;
    const char *value = strcmp(name, "variant") == 0 ? f->variant : pk_axis_text(f->axes, name, a);
    return equals && value && strcmp(value, equals + 1) == 0;
}

static bool is_for(const struct pk_threshold *t, const struct pk_figures *f)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (strcmp(t->metric, "*") != 0 && strcmp(t->metric, f->metric) != 0)
        return false;
    for (const char *rest = *t->where ? t->where : NULL, *part; (part = pk_next_part(&rest, ',', &a));)
        if (!matches_part(part, f, &a))
            return false;
    return true;
}

/* So much is so much in one unit: of any metric, it is of those in that one. Times and sizes are written with a unit, other metrics without
 * one: 5 is hardly meant in ns. */
static bool in_its_unit(const struct pk_threshold *t, const struct pk_figures *f)
{
    const bool has_unit = strcmp(f->unit, "ns") == 0 || strcmp(f->unit, "bytes") == 0;
    return !(t->min_change > 0) || strcmp(t->unit ? t->unit : "", has_unit ? f->unit : "") == 0;
}

/* What is near a part of `where` that no row has: a variant, an axis, or a value of one. */
static const char *nearest(const char *part, const struct pk_compared *v, size_t rows, struct pk_arena *a)
{
    const size_t length = strcspn(part, "=");
    const char *name = pk_strndup(a, part, length), *value = part[length] ? part + length + 1 : "";
    struct pk_texts words = {0}, names = {0};
    struct pk_figures *f = pk_new_n(a, struct pk_figures, rows + 1);
    for (size_t i = 0; i < rows; i++) {
        f[i] = *v[i].new_;
        const char *word = strcmp(name, "variant") == 0 ? f[i].variant : pk_axis_text(f[i].axes, name, a);
        if (word)
            pk_texts_add_new(&words, word, a);
    }
    if (words.n)
        return pk_printf(a, "%s: %s", name, pk_suggest_text(a, value, words.v, words.n));
    const char *const *axes;
    const size_t n = pk_axes_of(f, rows, a, &axes);
    pk_texts_add(&names, "variant", a);
    for (size_t i = 0; i < n; i++)
        pk_texts_add(&names, axes[i], a);
    return pk_suggest_text(a, name, names.v, names.n);
}

static enum pk_code fits_no_case(const struct pk_threshold *t, const struct pk_compared *v, size_t rows,
                                 struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    pk_fail(err, PK_E_USAGE, "--threshold '%s' matches no case", t->text);
    for (const char *rest = t->where, *part; (part = pk_next_part(&rest, ',', &a));) {
        size_t k = 0;
        while (k < rows && !matches_part(part, v[k].new_, &a))
            k++;
        if (k < rows)
            continue;
        pk_why(err, "no compared case has %s", part);
        return pk_fix(err, "%s", nearest(part, v, rows, &a));
    }
    pk_why(err, "no compared metric and case has %s", t->where);
    return pk_fix(err, "select existing cases, such as variant=%s, or an axis of %s", v[0].new_->variant,
                  pk_axes_words(v[0].new_->axes, &a));
}

static enum pk_code fits_none(const struct pk_threshold *t, const struct pk_compared *v, size_t rows,
                              const struct pk_compare_side *measured, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_texts metrics = {0};
    for (size_t i = 0; i < rows; i++)
        pk_texts_add_new(&metrics, v[i].new_->metric, &a);
    if (strcmp(t->metric, "*") == 0 || pk_texts_has(&metrics, t->metric))
        return fits_no_case(t, v, rows, err);
    const char *others = pk_suggest_text(&a, t->metric, metrics.v, metrics.n);
    const struct pk_figures *other = measured ? pk_figures_of_metric(measured, t->metric) : NULL;
    enum pk_tail tail;
    size_t length;
    bool comparable = other && pk_has_direction(other->direction);
    if (measured && !other && pk_tail_of_metric(t->metric, &tail, &length))
        comparable = pk_figures_of_metric(measured, pk_strndup(&a, t->metric, length)) != NULL;
    pk_fail(err, PK_E_USAGE, "--threshold '%s' matches no metric", t->text);
    pk_why(err, "no compared metric is %s", t->metric);
    return comparable && (!other || !pk_suggest(t->metric, metrics.v, metrics.n))
               ? pk_fix(err, "add --metric %s to compare it, or %s", t->metric, others)
               : pk_fix(err, "%s", others);
}

static enum pk_code check(const struct pk_threshold *t, const struct pk_compared *v, size_t rows,
                          const struct pk_compare_side *measured, struct pk_err *err)
{
    const char *unit = NULL; /* of a row that it would match with another one */
    for (size_t k = 0; k < rows; k++) {
        if (!is_for(t, v[k].new_))
            continue;
        if (in_its_unit(t, v[k].new_))
            return PK_OK;
        unit = v[k].new_->unit;
    }
    if (!unit)
        return fits_none(t, v, rows, measured, err);
    pk_fail(err, PK_E_USAGE, "--threshold '%s' is invalid", t->text);
    pk_why(err, "%s, which is in %s",
           t->unit ? "its unit is not the metric's" : "it has no unit, unlike the metric", unit);
    return pk_fix(err, "write a relative size such as %s=5%%, or %s", t->metric,
                  strcmp(unit, "ns") == 0      ? "a time such as 20us"
                  : strcmp(unit, "bytes") == 0 ? "a size such as 64KiB"
                                               : "a number without a unit");
}

static void check_all(const struct pk_threshold *t, size_t n, const struct pk_compared *v, size_t rows,
                      const struct pk_compare_side *measured, struct pk_errs *wrong)
{
    struct pk_err err;
    for (size_t i = 0; i < n && rows; i++) {
        if (!check(&t[i], v, rows, measured, &err))
            continue;
        if (t[i].place)
            pk_within(&err, "%s", t[i].place);
        pk_errs_add(wrong, &err);
    }
}

/* Appends the rows of a part, and those that the new side lacks. */
static void add_rows(const struct pk_expected_rows *p, struct pk_compared **v, size_t *n, size_t *cap,
                     struct pk_arena *a)
{
    for (size_t i = 0; i < p->n + p->n_missing; i++) {
        *v = pk_grow(a, *v, sizeof **v, *n, cap);
        (*v)[(*n)++] = i < p->n ? p->rows[i] : p->missing[i - p->n];
    }
}

enum pk_code pk_expected_rows_check(const struct pk_expected_rows *parts, size_t n, bool all_parts,
                                    struct pk_errs *wrong, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_compared *v = NULL;
    size_t rows = 0, cap = 0;
    for (size_t i = 0; i < n; i++) {
        const struct pk_expected_rows *p = &parts[i];
        const size_t first = rows;
        if (p->what)
            pk_compare_metrics_to_judge(p->side, p->what, p->place, &a, wrong);
        add_rows(p, &v, &rows, &cap, &a);
        if (rows > first)
            check_all(p->criteria.own, p->criteria.n_own, v + first, rows - first, p->side, wrong);
    }
    if (n && all_parts)
        check_all(parts->criteria.all, parts->criteria.n_all, v, rows, n == 1 ? parts[0].side : NULL, wrong);
    if (wrong->n)
        *err = wrong->v[wrong->n - 1];
    return wrong->n ? err->code : PK_OK;
}

/* Of rows that no earlier call found one for. `keep`: a share that a row has stays. */
static void apply(const struct pk_threshold *t, size_t n, bool keep, struct pk_compared *v, size_t rows)
{
    for (size_t k = 0; k < rows; k++)
        for (size_t i = n; i-- && !v[k].threshold;) {
            if (!in_its_unit(&t[i], v[k].new_) || !is_for(&t[i], v[k].new_))
                continue;
            v[k].threshold = &t[i];
            v[k].min_change = t[i].min_change;
            if (t[i].min_effect > 0 && !(keep && v[k].min_effect > 0))
                v[k].min_effect = t[i].min_effect;
        }
}

void pk_criteria_apply(const struct pk_criteria *criteria, struct pk_compared *v, size_t rows)
{
    for (size_t k = 0; k < rows; k++)
        v[k].min_effect = pk_figures_exact(v[k].new_) ? 0 : criteria->min_effect;
    apply(criteria->own, criteria->n_own, false, v, rows);
    apply(criteria->all, criteria->n_all, !criteria->typed, v, rows);
}

/* --- what options say ------------------------------------------------------------------------------------ */

struct pk_threshold *pk_verdict_thresholds(const struct pk_verdict_options *o, struct pk_arena *a,
                                           struct pk_errs *wrong)
{
    struct pk_threshold *v = pk_new_n(a, struct pk_threshold, o->thresholds.n + 1);
    struct pk_err err;
    for (size_t i = 0; i < o->thresholds.n; i++)
        if (pk_threshold_parse(o->thresholds.v[i], a, &v[i], &err))
            pk_errs_add(wrong, &err);
    return v;
}

struct pk_compare_options pk_verdict_what(const struct pk_verdict_options *o)
{
    return (struct pk_compare_options){.metrics = o->metrics.v,
                                       .n_metrics = o->metrics.n,
                                       .all_metrics = o->all_metrics,
                                       .allow_missing = o->allow_missing,
                                       .level = 1 - o->alpha};
}

struct pk_rule pk_verdict_rule(const struct pk_verdict_options *o)
{
    struct pk_rule r = pk_rule_default;
    r.alpha = o->alpha;
    r.min_effect = o->min_effect;
    r.strict = o->strict;
    return r;
}

void pk_verdict_hide(const struct pk_verdict_options *o, struct pk_comparison *c)
{
    for (size_t i = 0; i < c->n; i++)
        c->v[i].hidden = o->only_changed && c->v[i].judged && c->v[i].decision.verdict == PK_SAME;
}

void pk_verdict_hide_counters(const struct pk_verdict_options *o, struct pk_comparison *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_compared *row = &c->v[i];
        c->v[i].hidden = o->only_changed && (row->base->median == row->new_->median ||
                                             fabs(log(row->ratio.ratio)) <= log1p(o->min_effect));
    }
}
