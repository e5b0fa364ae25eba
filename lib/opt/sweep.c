/* Sweep: the values written for one axis, "256,1024" or "256:16384:*2", made into a list without repeats. */
#include "base/text/buf.h"
#include "base/text/units.h"
#include "base/text/words.h"
#include "opt/axis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A sweep being built. */
struct sweep_builder {
    const struct pk_axis *axis;
    struct pk_arena *arena;
    union pk_value *v;
    size_t n, cap;
};

static enum pk_code refuse(const struct pk_axis *x, const char *text, const char *why, struct pk_err *err)
{
    pk_fail(err, PK_E_USAGE, "axis %s: '%.200s' is not a sweep", x->name, text);
    pk_why(err, "%s", why);
    return pk_fix(err, "-a %s=%s", x->name, x->def);
}

static enum pk_code add(struct sweep_builder *g, union pk_value v, struct pk_err *err)
{
    for (size_t i = 0; i < g->n; i++)
        if (pk_axis_same(g->axis, g->v[i], v))
            return PK_OK;
    if (g->n == PK_SWEEP_MAX) {
        pk_fail(err, PK_E_USAGE, "axis %s: more than %d values", g->axis->name, PK_SWEEP_MAX);
        pk_why(err, "every value is a case to be measured");
        return pk_fix(err, "take larger steps, for example first:last:*2");
    }
    g->v = pk_grow(g->arena, g->v, sizeof *g->v, g->n, &g->cap);
    g->v[g->n++] = v;
    return PK_OK;
}

/* How a range goes on: from `v` to v * by or v + by. */
struct step {
    bool multiply;
    union pk_value by;
};

static bool is_real(const struct pk_axis *x)
{
    return x->type == PK_AXIS_FLOAT;
}

/* A range that this axis takes: from its default's first value to its last, or to four times the first. The default is taken
 * apart by hand: it may be the very sweep that is refused. */
static const char *example_range(const struct pk_axis *x, struct pk_arena *a)
{
    const char *comma = strrchr(x->def, ',');
    union pk_value first, last;
    struct pk_err err;
    if (pk_axis_value(x, pk_strndup(a, x->def, strcspn(x->def, ",:")), a, &first, &err))
        return x->def;
    const double most = 4 * (is_real(x) ? first.f : (double)first.i);
    if (!comma || pk_axis_value(x, comma + 1, a, &last, &err) ||
        (is_real(x) ? last.f <= first.f : last.i <= first.i))
        last = most > x->max ? first
               : is_real(x)  ? (union pk_value){.f = most}
                             : (union pk_value){.i = (int64_t)most};
    const char *step = most > 0 ? "*2" : x->type == PK_AXIS_SIZE ? "+1KiB" : "+1";
    return pk_printf(a, "%s:%s:%s", pk_axis_format(x, first, a), pk_axis_format(x, last, a), step);
}

static enum pk_code refuse_range(const struct pk_axis *x, const char *text, const char *why,
                                 struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    refuse(x, text, why, err);
    return pk_fix(err, "-a %s=%s", x->name, example_range(x, &a));
}

/* "*2" or "+10". Steps of sizes are sizes, of rates rates, factors of integers are integers. */
static enum pk_code parse_step(const struct pk_axis *x, const char *text, struct step *s, struct pk_err *err)
{
    if (*text != '*' && *text != '+')
        return refuse_range(x, text, "the step of a range is *FACTOR or +DISTANCE", err);
    s->multiply = *text == '*';
    const enum pk_axis_type type = s->multiply && !is_real(x) ? PK_AXIS_INT : x->type;
    struct pk_err inner = {0};
    enum pk_code rc = type == PK_AXIS_FLOAT  ? pk_parse_real(text + 1, &s->by.f, &inner)
                      : type == PK_AXIS_SIZE ? pk_parse_size(text + 1, &s->by.i, &inner)
                      : type == PK_AXIS_RATE ? pk_parse_rate(text + 1, &s->by.i, &inner)
                                             : pk_parse_int(text + 1, &s->by.i, &inner);
    return rc ? refuse_range(x, text, inner.why, err) : PK_OK;
}

/* The value after v; false when there is none: it does not fit, or is no larger. */
static bool next_value(const struct pk_axis *x, const struct step *s, union pk_value *v)
{
    union pk_value old = *v;
    if (is_real(x)) {
        /* Steps of reals carry rounding: three steps of 0.1 are 0.3, and reach it. */
        char buf[32];
        snprintf(buf, sizeof buf, "%.12g", s->multiply ? old.f * s->by.f : old.f + s->by.f);
        v->f = strtod(buf, NULL);
        return v->f > old.f;
    }
    bool overflow = s->multiply ? __builtin_mul_overflow(old.i, s->by.i, &v->i)
                                : __builtin_add_overflow(old.i, s->by.i, &v->i);
    return !overflow && v->i > old.i;
}

static enum pk_code parse_range(struct sweep_builder *g, const char *text, struct pk_err *err)
{
    const struct pk_axis *x = g->axis;
    const char *part[4] = {0}, *rest = text;
    for (size_t i = 0; i < 4 && rest; i++)
        part[i] = pk_next_part(&rest, ':', g->arena);
    if (!part[2] || part[3])
        return refuse_range(x, text, "a range is FIRST:LAST:*FACTOR or FIRST:LAST:+DISTANCE", err);
    union pk_value first, last;
    struct step s;
    if (pk_axis_value(x, part[0], g->arena, &first, err) || pk_axis_value(x, part[1], g->arena, &last, err) ||
        parse_step(x, part[2], &s, err))
        return err->code;
    if (is_real(x) ? first.f > last.f : first.i > last.i)
        return refuse_range(x, text, "the first value of a range is not above its last", err);
    union pk_value second = first;
    if (!next_value(x, &s, &second))
        return refuse_range(
            x, text, "this range never advances: its step must give a value larger than the first", err);
    union pk_value v = first;
    do {
        if (is_real(x) ? v.f > last.f : v.i > last.i)
            break;
        if (add(g, v, err))
            return err->code;
    } while (next_value(x, &s, &v));
    return PK_OK;
}

enum pk_code pk_sweep_parse(const struct pk_axis *axis, const char *text, struct pk_arena *a,
                            struct pk_sweep *out, struct pk_err *err)
{
    struct sweep_builder g = {.axis = axis, .arena = a};
    bool ranges = pk_axis_ordered(axis);
    for (const char *rest = text, *part; (part = pk_next_part(&rest, ',', a));) {
        union pk_value v;
        if (!*part)
            return refuse(axis, text, *text ? "a value between two commas is missing" : "there is no value",
                          err);
        if (ranges && strchr(part, ':')) {
            if (parse_range(&g, part, err))
                return err->code;
        } else if (pk_axis_value(axis, part, a, &v, err) || add(&g, v, err)) {
            return err->code;
        }
    }
    *out = (struct pk_sweep){g.v, g.n};
    return PK_OK;
}

const char *pk_sweep_text(const struct pk_axis *axis, const struct pk_sweep *s, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < s->n; i++)
        pk_buf_printf(&b, "%s%s", i ? "," : "", pk_axis_format(axis, s->v[i], a));
    return pk_buf_text(&b);
}

enum pk_code pk_axis_assign(const struct pk_axis *axes, const char *text, struct pk_arena *a,
                            struct pk_axis_sweep *out, struct pk_err *err)
{
    const char *eq = strchr(text, '=');
    if (!eq || eq == text) {
        pk_fail(err, PK_E_USAGE, "'%.200s' does not set an axis", text);
        pk_why(err, "an axis is set by NAME=VALUES");
        return pk_fix(err, "write for example -a NAME=1,2,4");
    }
    out->text = text;
    if (pk_axis_find(axes, pk_strndup(a, text, (size_t)(eq - text)), &out->axis, err))
        return err->code;
    return pk_sweep_parse(&axes[out->axis], eq + 1, a, &out->sweep, err);
}

enum pk_code pk_sweeps_add(const struct pk_axis *axes, const struct pk_axis_sweep *s, struct pk_sweep *sweeps,
                           struct pk_err *err)
{
    if (sweeps[s->axis].n) {
        pk_fail(err, PK_E_USAGE, "axis %s is given twice", axes[s->axis].name);
        pk_why(err, "%s adds values to those given before", s->text);
        return pk_fix(err, "write all values together, separated by commas: %s=A,B", axes[s->axis].name);
    }
    sweeps[s->axis] = s->sweep;
    return PK_OK;
}

enum pk_code pk_sweeps_assign_all(const struct pk_axis *axes, const char *text, struct pk_arena *a,
                                  struct pk_sweep *sweeps, struct pk_err *err)
{
    for (const char *at = text + strspn(text, " "); *at; at += strspn(at, " ")) {
        const size_t len = strcspn(at, " ");
        struct pk_axis_sweep s;
        if (pk_axis_assign(axes, pk_strndup(a, at, len), a, &s, err) || pk_sweeps_add(axes, &s, sweeps, err))
            return err->code;
        at += len;
    }
    return PK_OK;
}
