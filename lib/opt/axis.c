/* Axis: one row of an experiment's table of parameters, and one value of it as text. */
#include "opt/axis.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "opt/axis_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const words_of_bool[] = {"off", "on", "false", "true", "no", "yes", "0", "1"};

size_t pk_axes_count(const struct pk_axis *axes)
{
    size_t n = 0;
    while (axes[n].name)
        n++;
    pk_assert(n <= PK_AXES_MAX);
    return n;
}

int pk_axis_index(const struct pk_axis *axes, const char *name)
{
    for (int i = 0; axes[i].name; i++)
        if (!strcmp(axes[i].name, name))
            return i;
    return -1;
}

enum pk_code pk_axis_find(const struct pk_axis *axes, const char *name, size_t *index, struct pk_err *err)
{
    int i = pk_axis_index(axes, name);
    if (i >= 0) {
        *index = (size_t)i;
        return PK_OK;
    }
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_buf all = {.arena = &a};
    const char *names[PK_AXES_MAX], *also[PK_AXES_MAX];
    size_t n = pk_axes_count(axes);
    for (size_t k = 0; k < n; k++) {
        names[k] = axes[k].name;
        also[k] = axes[k].also;
        pk_buf_printf(&all, "%s%s", k ? ", " : "", names[k]);
    }
    pk_fail(err, PK_E_USAGE, "there is no axis '%.100s'", name);
    pk_why(err, n ? "the axes here are %s" : "nothing can be swept here%s", pk_buf_text(&all));
    const char *near = pk_suggest_also(name, names, also, n);
    return near ? pk_fix(err, "did you mean '%s'?", near) : pk_fix(err, "use one of these names");
}

bool pk_axis_same(const struct pk_axis *axis, union pk_value a, union pk_value b)
{
    if (axis->type == PK_AXIS_FILE)
        return !strcmp(pk_axis_file_name(a), pk_axis_file_name(b));
    return axis->type == PK_AXIS_FLOAT ? a.f == b.f : a.i == b.i;
}

static bool in_bytes(const struct pk_axis *x)
{
    return x->type == PK_AXIS_SIZE || x->type == PK_AXIS_RATE;
}

const char *pk_axis_takes(const struct pk_axis *x, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    char lo[32], hi[32];
    switch (x->type) {
    case PK_AXIS_INT:
        pk_buf_printf(&b, "an integer from %.0f to %.0f", x->min, x->max);
        break;
    case PK_AXIS_SIZE:
        pk_buf_printf(&b, "a size from %s to %s", pk_format_size_exact((int64_t)x->min, lo, sizeof lo),
                      pk_format_size_exact((int64_t)x->max, hi, sizeof hi));
        break;
    case PK_AXIS_RATE:
        pk_buf_printf(&b, "a bandwidth from %s to %s in a second",
                      pk_format_rate_exact((int64_t)x->min, lo, sizeof lo),
                      pk_format_rate_exact((int64_t)x->max, hi, sizeof hi));
        break;
    case PK_AXIS_FLOAT:
        pk_buf_printf(&b, "a number from %g to %g", x->min, x->max);
        break;
    case PK_AXIS_ENUM:
        pk_buf_str(&b, "one of ");
        for (size_t i = 0; x->choices[i]; i++)
            pk_buf_printf(&b, "%s%s", i ? ", " : "", x->choices[i]);
        break;
    case PK_AXIS_BOOL:
        pk_buf_str(&b, "on or off");
        break;
    case PK_AXIS_FILE:
        pk_buf_printf(&b, "the path of a %sfile, or the word %s", x->data ? "" : "text ", x->def);
        break;
    }
    if (x->unit && !in_bytes(x))
        pk_buf_printf(&b, " (%s)", x->unit);
    return pk_buf_text(&b);
}

static enum pk_code refuse(const struct pk_axis *x, const char *text, const char *problem, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    pk_fail(err, PK_E_USAGE, "axis %s: '%.100s' %s", x->name, text, problem);
    pk_why(err, "%s is %s", x->name, pk_axis_takes(x, &a));
    return pk_fix(err, "-a %s=%s", x->name, x->def);
}

static size_t count(const char *const *words)
{
    size_t n = 0;
    while (words[n])
        n++;
    return n;
}

static enum pk_code find_choice(const struct pk_axis *x, const char *text, union pk_value *v,
                                struct pk_err *err)
{
    for (size_t i = 0; x->choices[i]; i++)
        if (!strcmp(x->choices[i], text)) {
            v->i = (int64_t)i;
            return PK_OK;
        }
    refuse(x, text, "is not one of its values", err);
    const char *near = pk_suggest_also(text, x->choices, x->choices_also, count(x->choices));
    return near ? pk_fix(err, "did you mean -a %s=%s?", x->name, near) : err->code;
}

static enum pk_code find_bool(const struct pk_axis *x, const char *text, union pk_value *v,
                              struct pk_err *err)
{
    for (size_t i = 0; i < sizeof words_of_bool / sizeof *words_of_bool; i++)
        if (!strcmp(words_of_bool[i], text)) {
            v->i = i % 2;
            return PK_OK;
        }
    return refuse(x, text, "is neither on nor off", err);
}

/* A number was read: is it in range? */
static enum pk_code check_range(const struct pk_axis *x, const char *text, double value, struct pk_err *err)
{
    return value >= x->min && value <= x->max ? PK_OK : refuse(x, text, "is out of range", err);
}

static enum pk_code parse_number(const struct pk_axis *x, const char *text, union pk_value *v,
                                 struct pk_err *err)
{
    union pk_value got = {0};
    struct pk_err unread;
    enum pk_code rc = x->type == PK_AXIS_INT    ? pk_parse_int(text, &got.i, &unread)
                      : x->type == PK_AXIS_SIZE ? pk_parse_size(text, &got.i, &unread)
                      : x->type == PK_AXIS_RATE ? pk_parse_rate(text, &got.i, &unread)
                                                : pk_parse_real(text, &got.f, &unread);
    if (rc && !*text)
        return refuse(x, text, "is empty", err);
    if (rc) {
        *err = unread;
        pk_within(err, "axis %s", x->name);
        return in_bytes(x) ? err->code : pk_fix(err, "-a %s=%s", x->name, x->def);
    }
    if (check_range(x, text, x->type == PK_AXIS_FLOAT ? got.f : (double)got.i, err))
        return err->code;
    if (x->type == PK_AXIS_FLOAT && got.f == 0)
        got.f = 0; /* one zero, not two */
    *v = got;
    return PK_OK;
}

enum pk_code pk_axis_value(const struct pk_axis *axis, const char *text, struct pk_arena *a,
                           union pk_value *v, struct pk_err *err)
{
    switch (axis->type) {
    case PK_AXIS_INT:
    case PK_AXIS_SIZE:
    case PK_AXIS_RATE:
    case PK_AXIS_FLOAT:
        return parse_number(axis, text, v, err);
    case PK_AXIS_ENUM:
        return find_choice(axis, text, v, err);
    case PK_AXIS_BOOL:
        return find_bool(axis, text, v, err);
    case PK_AXIS_FILE:
        return pk_axis_read_file(axis, text, a, v, err);
    }
    pk_assert(!"axis type");
}

static const char *shortest_real(double f, struct pk_arena *a)
{
    char buf[32];
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(buf, sizeof buf, "%.*g", digits, f);
        if (strtod(buf, NULL) == f)
            break;
    }
    return pk_strdup(a, buf);
}

const char *pk_axis_format(const struct pk_axis *axis, union pk_value v, struct pk_arena *a)
{
    char buf[32];
    switch (axis->type) {
    case PK_AXIS_INT:
        return pk_printf(a, "%lld", (long long)v.i);
    case PK_AXIS_SIZE:
        return pk_strdup(a, pk_format_size_exact(v.i, buf, sizeof buf));
    case PK_AXIS_RATE:
        return pk_strdup(a, pk_format_rate_exact(v.i, buf, sizeof buf));
    case PK_AXIS_FLOAT:
        return shortest_real(v.f, a);
    case PK_AXIS_ENUM:
        return axis->choices[v.i];
    case PK_AXIS_BOOL:
        return words_of_bool[v.i];
    case PK_AXIS_FILE:
        return v.s;
    }
    pk_assert(!"axis type");
}
