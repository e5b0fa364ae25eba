/* Compare, axes: reading what cases say of their axes. */
#include "judge/pair/pair.h"

#include "base/text/buf.h"
#include "json/json.h"

#include <string.h>

const char *pk_device_class(const char *device, struct pk_arena *a)
{
    return pk_strndup(a, device, strcspn(device, ":"));
}

const char *pk_axis_text(const char *axes, const char *axis, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = json_loads(axes, 0, NULL);
    const json_t *v = json_object_get(j, axis);
    return v ? pk_json_value_text(a, v) : NULL;
}

const char *pk_axes_without(const char *axes, const char *axis, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = json_loads(axes, 0, NULL);
    if (!j)
        return axes;
    json_object_del(j, axis);
    return pk_json_text(a, j, PK_JSON_CANON);
}

/* --- all rows ------------------------------------------------------------------------------------------------------- */

struct axis {
    const char *name;
    const char *first, *last; /* values, as texts */
    const char *value;        /* the last one in JSON: in a grid it is mostly the next row's, too */
    size_t value_bytes;
    bool varies;
};

struct axis_value {
    size_t axis;
    const char *text;
};

/* Values [from, from + n) are a row's. */
struct value_range {
    size_t from, n;
};

struct axis_reader {
    struct pk_arena *a;
    struct axis *axes;
    size_t n_axes, axes_cap;
    struct axis_value *values;
    size_t n_values, values_cap;
    const char *text; /* of the row read last, whose values begin at `begin` */
    size_t begin;
};

static size_t axis_of(struct axis_reader *r, const char *name, size_t bytes)
{
    size_t i = 0;
    while (i < r->n_axes && (strncmp(r->axes[i].name, name, bytes) != 0 || r->axes[i].name[bytes]))
        i++;
    if (i < r->n_axes)
        return i;
    r->axes = pk_grow(r->a, r->axes, sizeof *r->axes, r->n_axes, &r->axes_cap);
    r->axes[r->n_axes++] = (struct axis){.name = pk_strndup(r->a, name, bytes)};
    return i;
}

static const char *text_of(struct axis_reader *r, const struct pk_json_member *m)
{
    const char *json = pk_strndup(r->a, m->value, m->value_bytes);
    PK_JSON_CLEANUP json_t *v = json_loads(json, JSON_DECODE_ANY, NULL);
    return v ? pk_json_value_text(r->a, v) : json;
}

static void add_value(struct axis_reader *r, const struct pk_json_member *m)
{
    const size_t i = axis_of(r, m->name, m->name_bytes);
    struct axis *axis = &r->axes[i];
    if (!axis->value || axis->value_bytes != m->value_bytes ||
        memcmp(axis->value, m->value, m->value_bytes) != 0) {
        axis->value = m->value;
        axis->value_bytes = m->value_bytes;
        axis->last = text_of(r, m);
        axis->first = axis->first ? axis->first : axis->last;
        axis->varies |= strcmp(axis->first, axis->last) != 0;
    }
    r->values = pk_grow(r->a, r->values, sizeof *r->values, r->n_values, &r->values_cap);
    r->values[r->n_values++] = (struct axis_value){i, axis->last};
}

/* Axes that a stranger wrote. */
static void read_parsed(struct axis_reader *r, const char *axes)
{
    PK_JSON_CLEANUP json_t *j = json_loads(axes, 0, NULL);
    const char *name;
    json_t *v;
    json_object_foreach(j, name, v)
    {
        const char *value = pk_json_text(r->a, v, PK_JSON_COMPACT);
        add_value(r, &(struct pk_json_member){pk_strdup(r->a, name), value, strlen(name), strlen(value)});
    }
}

/* The metrics of one case have one text, and are read once. */
static struct value_range read_axes(struct axis_reader *r, const char *axes)
{
    struct pk_json_member m;
    const char *at = axes;
    if (axes == r->text)
        return (struct value_range){r->begin, r->n_values - r->begin};
    r->text = axes;
    r->begin = r->n_values;
    while (pk_json_next_member(&at, &m))
        add_value(r, &m);
    if (!at) {
        r->n_values = r->begin;
        read_parsed(r, axes);
    }
    return (struct value_range){r->begin, r->n_values - r->begin};
}

size_t pk_axes_of(const struct pk_figures *v, size_t n, struct pk_arena *a, const char *const **names)
{
    struct axis_reader r = {.a = a};
    for (size_t i = 0; i < n; i++)
        read_axes(&r, v[i].axes);
    const char **list = pk_new_n(a, const char *, r.n_axes + 1);
    for (size_t i = 0; i < r.n_axes; i++)
        list[i] = r.axes[i].name;
    *names = list;
    return r.n_axes;
}

/* "seq_len=256 ...": the axes of a row that vary, or that do not, except `by`. */
static const char *axes_that(bool vary, const struct axis_reader *r, struct value_range row, const char *by,
                             struct pk_buf *b, struct pk_arena *a)
{
    pk_buf_clear(b);
    for (size_t i = row.from; i < row.from + row.n; i++) {
        const struct axis *axis = &r->axes[r->values[i].axis];
        if (axis->varies != vary || (by && strcmp(axis->name, by) == 0))
            continue;
        if (b->n)
            pk_buf_char(b, ' ');
        pk_buf_str(b, axis->name);
        pk_buf_char(b, '=');
        pk_buf_str(b, r->values[i].text);
    }
    return pk_strdup(a, pk_buf_text(b));
}

const char *pk_axes_words(const char *axes, struct pk_arena *a)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    struct axis_reader r = {.a = &own};
    struct pk_buf b = {.arena = &own};
    const struct value_range row = read_axes(&r, axes);
    return axes_that(false, &r, row, NULL, &b, a);
}

/* Of figures read before, the axes in which they differ, or that some lack. */
static void mark_missing(struct axis_reader *r, size_t n)
{
    size_t *of = pk_new_n(r->a, size_t, r->n_axes + 1);
    for (size_t i = 0; i < r->n_values; i++)
        of[r->values[i].axis]++;
    for (size_t i = 0; i < r->n_axes; i++)
        r->axes[i].varies |= of[i] < n;
}

/* Texts that were read: the metrics of one case have one. */
static size_t texts_of(const struct value_range *rows, size_t n)
{
    size_t texts = 0;
    for (size_t i = 0; i < n; i++)
        texts += !i || rows[i].from != rows[i - 1].from || !rows[i].n;
    return texts;
}

const char *const *pk_axes_differing(const struct pk_figures *const *v, size_t n, struct pk_arena *a)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    struct axis_reader r = {.a = &own};
    struct pk_buf b = {.arena = &own};
    struct value_range *rows = pk_new_n(&own, struct value_range, n + 1);
    const char **words = pk_new_n(a, const char *, n + 1);
    for (size_t i = 0; i < n; i++)
        rows[i] = read_axes(&r, v[i]->axes);
    mark_missing(&r, texts_of(rows, n));
    for (size_t i = 0; i < n; i++)
        words[i] = axes_that(true, &r, rows[i], NULL, &b, a);
    return words;
}

const char *pk_compare_places(struct pk_compared *v, size_t n, const char *by, struct pk_arena *a)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    struct axis_reader r = {.a = &own};
    struct pk_buf b = {.arena = &own};
    struct value_range *rows = pk_new_n(&own, struct value_range, n);
    for (size_t i = 0; i < n; i++)
        rows[i] = read_axes(&r, v[i].new_->axes);
    for (size_t i = 0; i < n; i++)
        v[i].place = i && rows[i].from == rows[i - 1].from && rows[i].n
                         ? v[i - 1].place
                         : axes_that(true, &r, rows[i], by, &b, a);
    mark_missing(&r, texts_of(rows, n));
    return axes_that(false, &r, rows[0], by, &b, a);
}
