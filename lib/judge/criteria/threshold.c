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

/* Times and sizes are written with a unit, other metrics without one: what 5 is of ns is hardly meant. */
static const char *written_in(const struct pk_threshold *t)
{
    return t->unit ? t->unit : "";
}

static const char *needed_by(const char *unit)
{
    return strcmp(unit, "ns") == 0 || strcmp(unit, "bytes") == 0 ? unit : "";
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

/* So much is so much in one unit: of any metric, it is of those in that one. */
static bool in_its_unit(const struct pk_threshold *t, const struct pk_figures *f)
{
    return !(t->min_change > 0) || strcmp(written_in(t), needed_by(f->unit)) == 0;
}

static bool matches_metric(const struct pk_threshold *t, const struct pk_figures *f)
{
    return in_its_unit(t, f) && is_for(t, f);
}

/* Whether some row is of its metric. */
static bool is_measured(const struct pk_threshold *t, const struct pk_compared *v, size_t rows)
{
    for (size_t k = 0; k < rows; k++)
        if (strcmp(t->metric, "*") == 0 || strcmp(t->metric, v[k].new_->metric) == 0)
            return true;
    return false;
}

static size_t metrics_of(const struct pk_compared *v, size_t rows, const char **names)
{
    size_t n = 0;
    for (size_t i = 0; i < rows; i++) {
        size_t k = 0;
        while (k < n && strcmp(names[k], v[i].new_->metric) != 0)
            k++;
        names[k] = v[i].new_->metric;
        n += k == n;
    }
    return n;
}

/* The values of an axis, or of `variant`, in all rows, each once. */
static size_t words_of(const struct pk_compared *v, size_t rows, const char *name, struct pk_arena *a,
                       const char **words)
{
    size_t n = 0;
    for (size_t i = 0; i < rows; i++) {
        const struct pk_figures *f = v[i].new_;
        const char *word = strcmp(name, "variant") == 0 ? f->variant : pk_axis_text(f->axes, name, a);
        size_t k = 0;
        while (word && k < n && strcmp(words[k], word) != 0)
            k++;
        if (word && k == n)
            words[n++] = word;
    }
    return n;
}

/* What is near a part of `where` that no row has: a variant, an axis, or a value of one. */
static const char *nearest(const char *part, const struct pk_compared *v, size_t rows, struct pk_arena *a)
{
    const size_t length = strcspn(part, "=");
    const char *name = pk_strndup(a, part, length), *value = part[length] ? part + length + 1 : "";
    const char **words = pk_new_n(a, const char *, rows + 1);
    size_t n = words_of(v, rows, name, a, words);
    if (n)
        return pk_printf(a, "%s: %s", name, pk_suggest_text(a, value, words, n));
    struct pk_figures *f = pk_new_n(a, struct pk_figures, rows + 1);
    for (size_t i = 0; i < rows; i++)
        f[i] = *v[i].new_;
    const char *const *axes;
    n = pk_axes_of(f, rows, a, &axes);
    const char **names = pk_new_n(a, const char *, n + 1);
    names[0] = "variant";
    for (size_t i = 0; i < n; i++)
        names[i + 1] = axes[i];
    return pk_suggest_text(a, name, names, n + 1);
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

/* Whether it is only a matter of asking for the metric. */
static bool can_be_compared(const char *metric, const struct pk_compare_side *measured)
{
    for (size_t i = 0; measured && i < measured->n; i++)
        if (strcmp(measured->v[i].metric, metric) == 0 && strcmp(measured->v[i].direction, "none") != 0)
            return true;
    return false;
}

static enum pk_code fits_none(const struct pk_threshold *t, const struct pk_compared *v, size_t rows,
                              const struct pk_compare_side *measured, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char **names = pk_new_n(&a, const char *, rows + 1);
    const size_t n = metrics_of(v, rows, names);
    const char *others = pk_suggest_text(&a, t->metric, names, n);
    if (is_measured(t, v, rows))
        return fits_no_case(t, v, rows, err);
    pk_fail(err, PK_E_USAGE, "--threshold '%s' matches no metric", t->text);
    pk_why(err, "no compared metric and case is %s", t->metric);
    return !pk_suggest(t->metric, names, n) && can_be_compared(t->metric, measured)
               ? pk_fix(err, "add --metric %s to compare it, or %s", t->metric, others)
               : pk_fix(err, "%s", others);
}

static enum pk_code wrong_unit(const struct pk_threshold *t, const char *unit, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "--threshold '%s' is invalid", t->text);
    pk_why(err, "%s, which is in %s",
           t->unit ? "its unit is not the metric's" : "it has no unit, unlike the metric", unit);
    return pk_fix(err, "write a relative size such as %s=5%%, or %s", t->metric,
                  strcmp(unit, "ns") == 0      ? "a time such as 20us"
                  : strcmp(unit, "bytes") == 0 ? "a size such as 64KiB"
                                               : "a number without a unit");
}

static enum pk_code check(const struct pk_threshold *t, const struct pk_compared *v, size_t rows,
                          const struct pk_compare_side *measured, struct pk_err *err)
{
    const struct pk_figures *of_another_unit = NULL;
    for (size_t k = 0; k < rows; k++) {
        if (!is_for(t, v[k].new_))
            continue;
        if (in_its_unit(t, v[k].new_))
            return PK_OK;
        of_another_unit = v[k].new_;
    }
    return of_another_unit ? wrong_unit(t, of_another_unit->unit, err) : fits_none(t, v, rows, measured, err);
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

/* The rows of all parts. */
static struct pk_compared *all_rows(const struct pk_expected_rows *parts, size_t n, struct pk_arena *a,
                                    size_t *rows)
{
    struct pk_compared *v = NULL;
    size_t cap = 0;
    *rows = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < parts[i].n; k++) {
            v = pk_grow(a, v, sizeof *v, *rows, &cap);
            v[(*rows)++] = parts[i].rows[k];
        }
    return v;
}

enum pk_code pk_expected_rows_check(const struct pk_expected_rows *parts, size_t n, bool all_parts,
                                    struct pk_errs *wrong, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (size_t i = 0; i < n; i++) {
        const struct pk_expected_rows *p = &parts[i];
        if (p->what)
            pk_compare_metrics_to_judge(p->side, p->what, p->place, &a, wrong);
        check_all(p->criteria.own, p->criteria.n_own, p->rows, p->n, p->side, wrong);
    }
    if (n && all_parts) {
        size_t rows;
        const struct pk_compared *v = all_rows(parts, n, &a, &rows);
        check_all(parts->criteria.all, parts->criteria.n_all, v, rows, n == 1 ? parts[0].side : NULL, wrong);
    }
    if (wrong->n)
        *err = wrong->v[wrong->n - 1];
    return wrong->n ? err->code : PK_OK;
}

/* Of rows that no earlier call found one for. `keep`: a share that a row has stays. */
static void apply(const struct pk_threshold *t, size_t n, bool keep, struct pk_compared *v, size_t rows)
{
    for (size_t k = 0; k < rows; k++)
        for (size_t i = n; i-- && !v[k].threshold;) {
            if (!matches_metric(&t[i], v[k].new_))
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
