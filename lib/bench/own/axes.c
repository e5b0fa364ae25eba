/* Axes of a descriptor: their types, ranges, choices, defaults, and where they apply. */
#include "bench/own/members.h"

#include "base/text/buf.h"

#include <math.h>
#include <string.h>

#define INTEGER_MOST 0x1p53

static const char *const types[] = {"int", "size", "float", "choice", "bool", NULL};
static const enum pk_axis_type type_of[] = {PK_AXIS_INT, PK_AXIS_SIZE, PK_AXIS_FLOAT, PK_AXIS_ENUM,
                                            PK_AXIS_BOOL};

/* One value as it would be typed. */
static enum pk_code value_text(const struct reading *r, const char *where, const struct pk_axis *x,
                               const json_t *v, const char **out)
{
    union pk_value value;
    struct pk_err bad;
    const bool fits = json_is_string(v) || (json_is_boolean(v) && x->type == PK_AXIS_BOOL) ||
                      (json_is_integer(v) && pk_axis_ordered(x)) ||
                      (json_is_real(v) && x->type == PK_AXIS_FLOAT);
    if (!fits)
        return pk_descriptor_refuse(r, where, "a value is not %s", pk_axis_takes(x, r->a));
    const char *text = json_is_string(v)    ? json_string_value(v)
                       : json_is_boolean(v) ? json_is_true(v) ? "on" : "off"
                                            : pk_json_text(r->a, v, PK_JSON_COMPACT);
    if (pk_axis_value(x, text, r->a, &value, &bad))
        return pk_descriptor_refuse(r, where, "a value is not %s", pk_axis_takes(x, r->a));
    *out = pk_axis_format(x, value, r->a);
    return PK_OK;
}

static enum pk_code read_choices(const struct reading *r, const char *where, const json_t *j,
                                 struct pk_axis *x)
{
    const json_t *list;
    if (pk_descriptor_list(r, j, "choices", PK_OWN_WORDS_MAX, &list))
        return r->err->code;
    const size_t n = json_array_size(list);
    const char **words = pk_new_n(r->a, const char *, n + 1);
    for (size_t i = 0; i < n; i++) {
        if (pk_descriptor_name(r, where, json_array_get(list, i), PK_NAME_WORD, &words[i]))
            return r->err->code;
        if (pk_descriptor_has(words, i, words[i]))
            return pk_descriptor_refuse(r, where, "the choice '%s' is given twice", words[i]);
    }
    if (!n)
        return pk_descriptor_refuse(r, where, "an axis of the type choice needs `choices`");
    x->choices = words;
    return PK_OK;
}

/* Those of a default below the usual range are meant. */
static double least_of(const json_t *v, double usual)
{
    for (size_t i = 0; i < json_array_size(v); i++)
        usual = least_of(json_array_get(v, i), usual);
    return json_is_number(v) ? fmin(usual, json_number_value(v)) : usual;
}

static enum pk_code read_range(const struct reading *r, const char *where, const json_t *j, struct pk_axis *x)
{
    const bool real = x->type == PK_AXIS_FLOAT;
    const json_t *min = json_object_get(j, "min"), *max = json_object_get(j, "max");
    const double most = real ? 1e300 : INTEGER_MOST;
    x->min = real ? -most : least_of(json_object_get(j, "default"), 1);
    x->max = most;
    if (min)
        x->min = json_number_value(min);
    if (max)
        x->max = json_number_value(max);
    if ((min && !json_is_number(min)) || (max && !json_is_number(max)) || !(x->min <= x->max) ||
        !(fabs(x->min) <= most && fabs(x->max) <= most))
        return pk_descriptor_refuse(r, where, "`min` and `max` are not a range of numbers");
    return PK_OK;
}

static enum pk_code read_default(const struct reading *r, const char *where, const json_t *j,
                                 struct pk_axis *x, bool *born)
{
    const json_t *v = json_object_get(j, "default"), *own = json_object_get(j, "born");
    struct pk_buf b = {.arena = r->a};
    const char *text;
    const size_t n = json_is_array(v) ? json_array_size(v) : v != NULL;
    if (n > PK_OWN_WORDS_MAX)
        return pk_descriptor_refuse(r, where, "%zu default values are more than %d", n, PK_OWN_WORDS_MAX);
    for (size_t i = 0; i < n; i++) {
        if (value_text(r, where, x, json_is_array(v) ? json_array_get(v, i) : v, &text))
            return r->err->code;
        pk_buf_printf(&b, "%s%s", i ? "," : "", text);
        x->born = i ? x->born : text;
    }
    if (!n) {
        const union pk_value least = x->type == PK_AXIS_FLOAT ? (union pk_value){.f = fmax(x->min, 0)}
                                     : pk_axis_ordered(x)     ? (union pk_value){.i = (int64_t)x->min}
                                                              : (union pk_value){.i = 0};
        pk_buf_str(&b, x->born = pk_axis_format(x, least, r->a));
    }
    x->def = pk_buf_text(&b);
    *born = own != NULL;
    return own ? value_text(r, where, x, own, &x->born) : PK_OK;
}

static enum pk_code read_when(const struct reading *r, const char *where, const json_t *j,
                              const struct pk_axis *axes, struct pk_axis *x)
{
    const json_t *applies = json_object_get(j, "applies"), *values = json_object_get(applies, "values");
    if (!applies)
        return PK_OK;
    const int at = pk_axis_index(axes, pk_json_str(applies, "axis", ""));
    const size_t n = json_array_size(values);
    if (at < 0 || !n || n > PK_OWN_WORDS_MAX)
        return pk_descriptor_refuse(
            r, where, "`applies` needs the `axis`, one that stands before this one, and its `values`");
    union pk_value *v = pk_new_n(r->a, union pk_value, n);
    struct pk_axis_when *when = pk_new(r->a, struct pk_axis_when);
    struct pk_err ignored;
    for (size_t i = 0; i < n; i++) {
        const char *text;
        if (value_text(r, where, &axes[at], json_array_get(values, i), &text))
            return r->err->code;
        pk_assert(!pk_axis_value(&axes[at], text, r->a, &v[i], &ignored));
    }
    *when = (struct pk_axis_when){(size_t)at, v, n};
    x->when = when;
    return PK_OK;
}

/* "seq_len" -> "seq len", where the program explains nothing. */
static const char *spelled(struct pk_arena *a, const char *name)
{
    char *s = pk_strdup(a, name);
    for (char *c = s; *c; c++)
        *c = *c == '_' ? ' ' : *c;
    return s;
}

/* axes: those before it, with nothing behind. */
static enum pk_code read_axis(const struct reading *r, const json_t *j, const struct pk_axis *axes,
                              struct pk_axis *x, bool *born)
{
    size_t type;
    const char *const where = pk_printf(r->a, "axes[%zu]", (size_t)(x - axes));
    struct pk_axis made = {0};
    if (pk_descriptor_name(r, where, json_object_get(j, "name"), PK_NAME_KEY, &made.name))
        return r->err->code;
    const char *const named = pk_printf(r->a, "axis %s", made.name);
    if (pk_axis_index(axes, made.name) >= 0)
        return pk_descriptor_refuse(r, named, "given twice");
    if (pk_descriptor_is_reserved(made.name))
        return pk_descriptor_refuse(r, named, "the name is reserved (docs/protocol.md)");
    if (pk_descriptor_word(r, j, named, "type", types, 0, &type) ||
        pk_descriptor_text(r, j, named, "unit", NULL, &made.unit) ||
        pk_descriptor_text(r, j, named, "help", spelled(r->a, made.name), &made.help))
        return r->err->code;
    made.type = type_of[type];
    if (made.type == PK_AXIS_SIZE)
        made.unit = "bytes";
    if ((made.type == PK_AXIS_ENUM && read_choices(r, named, j, &made)) ||
        (pk_axis_ordered(&made) && read_range(r, named, j, &made)) ||
        read_default(r, named, j, &made, born) || read_when(r, named, j, axes, &made))
        return r->err->code;
    *x = made;
    return PK_OK;
}

enum pk_code pk_descriptor_axes(struct reading *r, const json_t *j)
{
    const json_t *list;
    if (pk_descriptor_list(r, j, "axes", PK_AXES_MAX, &list))
        return r->err->code;
    const size_t n = json_array_size(list);
    struct pk_axis *axes = pk_new_n(r->a, struct pk_axis, n + 1);
    for (size_t i = 0; i < n; i++)
        if (read_axis(r, json_array_get(list, i), axes, &axes[i], &r->own->born[i]))
            return r->err->code;
    r->own->probe.axes = axes;
    return PK_OK;
}
