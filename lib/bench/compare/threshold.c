/* Threshold: parsing, and finding the rows that one is for. */
#include "bench/compare/threshold.h"

#include "base/split.h"
#include "base/units.h"
#include "bench/compare/parts.h"

#include <string.h>

static enum pk_code wrong(const char *text, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "--threshold '%s' makes no sense", text);
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
    if (n && text[n - 1] == '%') {
        if (pk_parse_ratio(text, &t->min_effect, &ignored) || !(t->min_effect > 0))
            return wrong(t->text, "a share is a number above 0 with a % behind it", err);
        return PK_OK;
    }
    if (!pk_parse_real(text, &t->min_change, &ignored)) {
        t->unit = NULL;
    } else if (!pk_parse_duration(text, &whole, &ignored)) {
        t->min_change = (double)whole;
        t->unit = "ns";
    } else if (!pk_parse_size(text, &whole, &ignored)) {
        t->min_change = (double)whole;
        t->unit = "bytes";
    }
    return t->min_change > 0
               ? PK_OK
               : wrong(t->text, "a size is a share such as 5%, or a positive number with or without a unit",
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
        return wrong(text, "cases stand in one pair of brackets behind the metric", err);
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
static bool holds(const char *part, const struct pk_figures *f, struct pk_arena *a)
{
    const char *equals = strchr(part, '=');
    const char *name = equals ? pk_strndup(a, part, (size_t)(equals - part)) : part;
    const char *value = strcmp(name, "variant") == 0 ? f->variant : pk_axis_text(f->axes, name, a);
    return equals && value && strcmp(value, equals + 1) == 0;
}

static bool fits(const struct pk_threshold *t, const struct pk_figures *f)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    if (strcmp(t->metric, "*") != 0 && strcmp(t->metric, f->metric) != 0)
        return false;
    for (const char *rest = *t->where ? t->where : NULL, *part; (part = pk_next_part(&rest, ',', &a));)
        if (!holds(part, f, &a))
            return false;
    return true;
}

enum pk_code pk_thresholds_check(const struct pk_threshold *t, size_t n, const struct pk_compared *v,
                                 size_t rows, struct pk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < rows && !fits(&t[i], v[k].new_))
            k++;
        if (k == rows)
            return wrong(t[i].text, "no metric and case that is compared fits it", err);
        if (t[i].unit && strcmp(t[i].unit, v[k].new_->unit) != 0)
            return wrong(t[i].text, "its unit is not the metric's", err);
    }
    return PK_OK;
}

void pk_thresholds_apply(const struct pk_threshold *t, size_t n, struct pk_compared *v, size_t rows)
{
    for (size_t k = 0; k < rows; k++)
        for (size_t i = n; i-- && !v[k].threshold;) {
            if (!fits(&t[i], v[k].new_))
                continue;
            v[k].threshold = &t[i];
            v[k].min_effect = t[i].min_effect > 0 ? t[i].min_effect : v[k].min_effect;
            v[k].min_change = t[i].min_change;
        }
}
