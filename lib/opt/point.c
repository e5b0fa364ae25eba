/* Point: one value for each axis of an experiment; its text and JSON; and the grid of points that blocks of sweeps span. */
#include "base/err.h"
#include "base/index.h"
#include "base/text/buf.h"
#include "base/text/words.h"
#include "opt/axis.h"

#include <string.h>

/* The text that composite axis `c` sets for axis `name` at its value; NULL when it does not set it. */
static const char *set_by(const struct pk_axis *c, union pk_value v, const char *name, struct pk_arena *a)
{
    size_t n = strlen(name);
    for (const char *rest = c->sets[v.i], *part; (part = pk_next_part(&rest, ' ', a));)
        if (!strncmp(part, name, n) && part[n] == '=')
            return part + n + 1;
    return NULL;
}

/* The sweep of axis i at a point that leaves it out, given the axes above it: what a composite sets, else its default. */
static enum pk_code default_sweep(const struct pk_axis *axes, size_t i, const struct pk_point *p,
                                  struct pk_arena *a, struct pk_sweep *out, struct pk_err *err)
{
    const char *text = axes[i].def, *set;
    for (size_t k = 0; k < i; k++)
        if (axes[k].sets && !p->absent[k] && (set = set_by(&axes[k], p->v[k], axes[i].name, a)))
            text = set;
    return pk_sweep_parse(&axes[i], text, a, out, err);
}

static json_t *value_json(const struct pk_axis *x, union pk_value v)
{
    switch (x->type) {
    case PK_AXIS_INT:
    case PK_AXIS_SIZE:
    case PK_AXIS_RATE:
        return json_integer(v.i);
    case PK_AXIS_FLOAT:
        return pk_json_real(v.f);
    case PK_AXIS_ENUM:
        return json_string(x->choices[v.i]);
    case PK_AXIS_BOOL:
        return json_boolean(v.i);
    case PK_AXIS_FILE:
        return json_string(v.s);
    }
    pk_assert(!"axis type");
}

bool pk_axis_applies(const struct pk_point *p, size_t i)
{
    const struct pk_axis *x = &p->axes[i];
    const struct pk_axis_when *w = x->when;
    if ((x->applies && !x->applies(p)) || (w && p->absent[w->axis]))
        return false;
    for (size_t k = 0; w && k < w->n; k++)
        if (pk_axis_same(&p->axes[w->axis], p->v[w->axis], w->v[k]))
            return true;
    return !w;
}

static bool is_born_value(const struct pk_axis *x, union pk_value v)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    union pk_value born;
    struct pk_err err;
    pk_assert(!pk_axis_value(x, x->born, &a, &born, &err));
    return pk_axis_same(x, v, born);
}

const char *pk_point_json(const struct pk_point *p, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *obj = json_object();
    for (size_t i = 0; i < p->n; i++)
        if (pk_point_has(p, i))
            pk_assert(!json_object_set_new(obj, p->axes[i].name, value_json(&p->axes[i], p->v[i])));
    return pk_json_text(a, obj, PK_JSON_CANON);
}

const char *pk_point_identity(const struct pk_point *p, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *obj = json_object();
    for (size_t i = 0; i < p->n; i++)
        if (pk_point_has(p, i) && !is_born_value(&p->axes[i], p->v[i]))
            pk_assert(!json_object_set_new(obj, p->axes[i].name,
                                           p->axes[i].type == PK_AXIS_FILE
                                               ? json_string(pk_axis_file_name(p->v[i]))
                                               : value_json(&p->axes[i], p->v[i])));
    return pk_json_text(a, obj, PK_JSON_CANON);
}

const char *pk_point_text(const struct pk_point *p, const bool *which, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    for (size_t i = 0; i < p->n; i++)
        if (pk_point_has(p, i) && (which ? which[i] : !is_born_value(&p->axes[i], p->v[i])))
            pk_buf_printf(&b, "%s%s=%s", b.n ? " " : "", p->axes[i].name,
                          pk_axis_format(&p->axes[i], p->v[i], a));
    return pk_buf_text(&b);
}

static bool same_at(const struct pk_point *p, const struct pk_point *q, size_t axis)
{
    if (!pk_point_has(p, axis) || !pk_point_has(q, axis))
        return pk_point_has(p, axis) == pk_point_has(q, axis);
    return pk_axis_same(&p->axes[axis], p->v[axis], q->v[axis]);
}

void pk_points_differ(const struct pk_point *const *points, size_t n, bool *differ)
{
    for (size_t i = 0; n && i < points[0]->n; i++) {
        differ[i] = false;
        for (size_t k = 1; k < n; k++)
            differ[i] = differ[i] || !same_at(points[0], points[k], i);
    }
}

/* The value as text and through pk_axis_value, so that range and choices are checked in one place. */
static enum pk_code value_from_json(const struct pk_axis *x, const json_t *j, struct pk_arena *a,
                                    union pk_value *v, struct pk_err *err)
{
    const char *text = json_is_string(j) ? json_string_value(j) : pk_json_text(a, j, PK_JSON_COMPACT);
    const bool fits = x->type == PK_AXIS_FLOAT  ? json_is_number(j)
                      : pk_axis_ordered(x)      ? json_is_integer(j)
                      : x->type == PK_AXIS_BOOL ? json_is_boolean(j)
                                                : json_is_string(j);
    if (fits)
        return pk_axis_value(x, x->type == PK_AXIS_RATE ? pk_printf(a, "%sB", text) : text, a, v, err);
    pk_fail(err, PK_E_USAGE, "axis %s: %.100s has the wrong JSON type", x->name, text);
    pk_why(err, "integers, sizes and rates are JSON integers, choices and files strings, switches booleans");
    return pk_fix(err, "send what `perfkit run --dry-run --format json` prints");
}

static enum pk_code point_axis_from_json(size_t i, const json_t *j, struct pk_arena *a, struct pk_point *p,
                                         struct pk_err *err)
{
    const struct pk_axis *x = &p->axes[i];
    p->absent[i] = !pk_axis_applies(p, i);
    if (p->absent[i] && j) {
        pk_fail(err, PK_E_USAGE, "axis %s does not apply to this case", x->name);
        pk_why(err, "another axis of the case disables it");
        return pk_fix(err, "leave it out");
    }
    if (j)
        return value_from_json(x, j, a, &p->v[i], err);
    struct pk_sweep s;
    if (p->absent[i])
        return PK_OK;
    if (default_sweep(p->axes, i, p, a, &s, err))
        return err->code;
    p->v[i] = s.v[0];
    return PK_OK;
}

enum pk_code pk_point_from_json(const struct pk_axis *axes, const json_t *obj, struct pk_arena *a,
                                struct pk_point *p, struct pk_err *err)
{
    *p = (struct pk_point){.axes = axes, .n = pk_axes_count(axes)};
    if (!json_is_object(obj)) {
        pk_fail(err, PK_E_USAGE, "the axes of a case are not a JSON object");
        pk_why(err, "axes are sent as {\"name\": value, ...}");
        return pk_fix(err, "send what `perfkit run --dry-run --format json` prints");
    }
    for (void *it = json_object_iter((json_t *)obj); it; it = json_object_iter_next((json_t *)obj, it)) {
        size_t i;
        if (pk_axis_find(axes, json_object_iter_key(it), &i, err))
            return err->code;
    }
    for (size_t i = 0; i < p->n; i++)
        if (point_axis_from_json(i, json_object_get(obj, axes[i].name), a, p, err))
            return err->code;
    return PK_OK;
}

/* --- the grid -------------------------------------------------------------------------------------------- */

/* What the recursion over axes carries. */
struct expansion {
    const struct pk_grid *grid;
    const struct pk_sweep *block;
    struct pk_arena *arena;
    struct pk_point at;                    /* axes below the current one are not set yet */
    bool composites;                       /* some axis sets others' defaults: they depend on the point */
    struct pk_sweep defaults[PK_AXES_MAX]; /* parsed once when they do not */
    struct pk_point *points;
    size_t n, cap;
    size_t *slots, n_slots; /* hash table of points: index + 1, 0 = free; n_slots a power of two */
    struct pk_err *err;
};

static bool same_point(const struct pk_point *p, const struct pk_point *q)
{
    size_t i = 0;
    while (i < p->n && same_at(p, q, i))
        i++;
    return i == p->n;
}

static size_t *slot_of(const struct expansion *x, const struct pk_point *p)
{
    /* Over the bits of the values, or what counts of a file. */
    uint64_t h = PK_FNV1A_EMPTY;
    for (size_t i = 0; i < p->n; i++) {
        if (!pk_point_has(p, i))
            continue;
        const char *file = p->axes[i].type == PK_AXIS_FILE ? pk_axis_file_name(p->v[i]) : NULL;
        h = file ? pk_fnv1a(h, file, strlen(file)) : pk_fnv1a(h, &p->v[i], sizeof p->v[i]);
    }
    size_t k = h & (x->n_slots - 1);
    while (x->slots[k] && !same_point(&x->points[x->slots[k] - 1], p))
        k = (k + 1) & (x->n_slots - 1);
    return &x->slots[k];
}

static enum pk_code add_point(struct expansion *x)
{
    if (x->n * 2 >= x->n_slots) {
        x->n_slots = x->n_slots ? x->n_slots * 4 : 64;
        x->slots = pk_new_n(x->arena, size_t, x->n_slots);
        for (size_t i = 0; i < x->n; i++)
            *slot_of(x, &x->points[i]) = i + 1;
    }
    size_t *slot = slot_of(x, &x->at);
    if (*slot)
        return PK_OK;
    if (x->n == PK_POINTS_MAX) {
        pk_fail(x->err, PK_E_USAGE, "the sweeps span more than %d points", PK_POINTS_MAX);
        pk_why(x->err, "a run measures every combination of the values of all axes");
        return pk_fix(x->err, "sweep fewer axes, or in larger steps");
    }
    x->points = pk_grow(x->arena, x->points, sizeof *x->points, x->n, &x->cap);
    x->points[x->n++] = x->at;
    *slot = x->n;
    return PK_OK;
}

static enum pk_code expand_axis(struct expansion *x, size_t i)
{
    const struct pk_axis *axes = x->grid->axes;
    if (i == x->grid->n_axes)
        return add_point(x);
    x->at.v[i] = (union pk_value){0};
    x->at.absent[i] = !pk_axis_applies(&x->at, i);
    if (x->at.absent[i])
        return expand_axis(x, i + 1);
    struct pk_sweep s = x->block[i];
    if (!s.n && (x->composites || !x->defaults[i].n) &&
        default_sweep(axes, i, &x->at, x->arena, &x->defaults[i], x->err))
        return x->err->code;
    s = s.n ? s : x->defaults[i];
    for (size_t k = 0; k < s.n; k++) {
        x->at.v[i] = s.v[k];
        if (expand_axis(x, i + 1))
            return x->err->code;
    }
    return PK_OK;
}

enum pk_code pk_grid_expand(const struct pk_grid *g, struct pk_arena *a, struct pk_point **points, size_t *n,
                            struct pk_err *err)
{
    pk_assert(g->n_axes == pk_axes_count(g->axes));
    struct expansion x = {.grid = g, .arena = a, .at = {.axes = g->axes, .n = g->n_axes}, .err = err};
    for (size_t i = 0; i < g->n_axes; i++)
        x.composites |= g->axes[i].sets != NULL;
    for (size_t b = 0; b < g->n_blocks; b++) {
        x.block = g->sweeps[b];
        if (expand_axis(&x, 0))
            return err->code;
    }
    *points = x.points;
    *n = x.n;
    return PK_OK;
}
