/* Case filter: filters recorded cases by axes that are read from the cases, because the experiment's axes may have changed. */
#include "judge/history/history.h"
#include "opt/axis.h"

#include <string.h>

struct pk_case_filter {
    struct pk_filter *filter; /* NULL = everything */
    struct pk_axis axes[PK_AXES_MAX + 1];
    size_t n;
};

static const char *text_of(const json_t *v, struct pk_arena *a)
{
    return json_is_string(v) ? pk_strdup(a, json_string_value(v)) : pk_json_text(a, v, PK_JSON_COMPACT);
}

/* {"seq_len": {"256": 256, "512": 512}, ...}: every value of every axis. */
static json_t *values_seen(const struct pk_figures *v, size_t n, struct pk_arena *a)
{
    json_t *seen = json_object();
    for (size_t i = 0; i < n; i++) {
        if (i && strcmp(v[i].axes, v[i - 1].axes) == 0)
            continue;
        PK_JSON_CLEANUP json_t *axes = json_loads(v[i].axes, 0, NULL);
        const char *name;
        json_t *value;
        json_object_foreach(axes, name, value)
        {
            if (!json_object_get(seen, name))
                json_object_set_new(seen, name, json_object());
            json_object_set(json_object_get(seen, name), text_of(value, a), value);
        }
    }
    return seen;
}

static enum pk_axis_type type_of(json_t *values)
{
    bool bools = true, whole = true, numbers = true;
    const char *text;
    json_t *v;
    json_object_foreach(values, text, v)
    {
        bools &= json_is_boolean(v);
        whole &= json_is_integer(v) && json_integer_value(v) >= 0;
        numbers &= json_is_number(v);
    }
    return bools ? PK_AXIS_BOOL : whole ? PK_AXIS_SIZE : numbers ? PK_AXIS_FLOAT : PK_AXIS_ENUM;
}

static struct pk_axis axis_of(const char *name, json_t *values, struct pk_arena *a)
{
    const char **choices = pk_new_n(a, const char *, json_object_size(values) + 1), *text;
    json_t *v;
    size_t n = 0;
    json_object_foreach(values, text, v) choices[n++] = pk_strdup(a, text);
    return (struct pk_axis){.name = pk_strdup(a, name),
                            .type = type_of(values),
                            .min = -1e300,
                            .max = 1e300,
                            .choices = choices,
                            .def = choices[0],
                            .born = choices[0]};
}

enum pk_code pk_case_filter_make(const char *text, const struct pk_figures *v, size_t n, struct pk_arena *a,
                                 struct pk_case_filter **out, struct pk_err *err)
{
    struct pk_case_filter *f = *out = pk_new(a, struct pk_case_filter);
    if (!text)
        return PK_OK;
    PK_JSON_CLEANUP json_t *seen = values_seen(v, n, a);
    const char *name;
    json_t *values;
    json_object_foreach(seen, name, values)
    {
        if (f->n < PK_AXES_MAX)
            f->axes[f->n++] = axis_of(name, values, a);
    }
    return pk_filter_parse(f->axes, text, a, &f->filter, err);
}

static void set_value(struct pk_point *p, size_t i, const json_t *v, struct pk_arena *a)
{
    const struct pk_axis *x = &p->axes[i];
    p->absent[i] = !v;
    if (!v)
        return;
    if (x->type == PK_AXIS_FLOAT)
        p->v[i].f = json_number_value(v);
    else if (x->type == PK_AXIS_SIZE)
        p->v[i].i = json_integer_value(v);
    else if (x->type == PK_AXIS_BOOL)
        p->v[i].i = json_is_true(v);
    else
        for (const char *text = text_of(v, a); strcmp(x->choices[p->v[i].i], text);)
            p->v[i].i++;
}

bool pk_case_wanted(const struct pk_case_filter *f, const struct pk_figures *figures, struct pk_arena *a)
{
    if (!f->filter)
        return true;
    PK_JSON_CLEANUP json_t *axes = json_loads(figures->axes, 0, NULL);
    struct pk_point p = {.axes = f->axes, .n = f->n};
    for (size_t i = 0; i < f->n; i++)
        set_value(&p, i, json_object_get(axes, f->axes[i].name), a);
    return pk_filter_match(f->filter, &p, figures->variant);
}
