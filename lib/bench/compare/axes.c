/* Compare, axes: reading what cases say of their axes. */
#include "bench/compare/parts.h"

#include "base/buf.h"
#include "json/json.h"

#include <string.h>

const char *pk_device_class(const char *device, struct pk_arena *a)
{
    return pk_strndup(a, device, strcspn(device, ":"));
}

static const char *value_text(const json_t *v, struct pk_arena *a)
{
    if (json_is_string(v))
        return pk_strdup(a, json_string_value(v));
    if (json_is_boolean(v))
        return json_is_true(v) ? "on" : "off";
    return pk_json_text(a, v, PK_JSON_COMPACT | JSON_REAL_PRECISION(6));
}

const char *pk_axis_text(const char *axes, const char *axis, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = json_loads(axes, 0, NULL);
    const json_t *v = json_object_get(j, axis);
    return v ? value_text(v, a) : NULL;
}

const char *pk_axes_without(const char *axes, const char *axis, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = json_loads(axes, 0, NULL);
    if (!j)
        return axes;
    json_object_del(j, axis);
    return pk_json_text(a, j, PK_JSON_CANON);
}

/* For every axis: its first value, and whether another one was seen. */
static void note_axes(json_t *seen, const char *axes)
{
    PK_JSON_CLEANUP json_t *j = json_loads(axes, 0, NULL);
    const char *name;
    json_t *v;
    json_object_foreach(j, name, v)
    {
        json_t *first = json_object_get(seen, name);
        if (!first)
            json_object_set_new(seen, name, json_pack("[O, b]", v, 0));
        else if (!json_equal(json_array_get(first, 0), v))
            json_array_set_new(first, 1, json_true());
    }
}

size_t pk_axes_of(const struct pk_figures *v, size_t n, struct pk_arena *a, const char *const **names)
{
    PK_JSON_CLEANUP json_t *seen = json_object();
    const char **list = NULL, *name;
    json_t *ignored;
    size_t found = 0, cap = 0;
    for (size_t i = 0; i < n; i++)
        note_axes(seen, v[i].axes);
    json_object_foreach(seen, name, ignored)
    {
        list = pk_grow(a, list, sizeof *list, found, &cap);
        list[found++] = pk_strdup(a, name);
    }
    *names = list;
    return found;
}

/* "seq_len=256 ...": the axes of which it was seen that they vary, or that they do not, but for `by`. */
static const char *axes_that(bool vary, const json_t *seen, const char *axes, const char *by,
                             struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = json_loads(axes, 0, NULL);
    struct pk_buf b = {.arena = a};
    const char *name;
    json_t *v;
    json_object_foreach(j, name, v)
    {
        bool varies = json_is_true(json_array_get(json_object_get(seen, name), 1));
        if (varies == vary && !(by && strcmp(name, by) == 0))
            pk_buf_printf(&b, "%s%s=%s", b.n ? " " : "", name, value_text(v, a));
    }
    return pk_buf_text(&b);
}

const char *pk_compare_places(struct pk_compared *v, size_t n, const char *by, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *seen = json_object();
    for (size_t i = 0; i < n; i++)
        note_axes(seen, v[i].new_->axes);
    for (size_t i = 0; i < n; i++)
        v[i].place = axes_that(true, seen, v[i].new_->axes, by, a);
    return axes_that(false, seen, v[0].new_->axes, by, a);
}
