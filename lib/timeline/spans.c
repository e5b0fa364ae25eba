/* Spans: regions, pieces of work and ops of one iteration, from the arrays of the device to the note "trace". */
#include "timeline/spans.h"

#include "base/index.h"
#include "device/device.h"

#include <string.h>

enum { NONE = -1 };

/* Texts of a note, each once. */
struct texts {
    struct pk_arena *a;
    pk_region_name_fn *region;
    const void *user; /* of region */
    struct pk_index index;
    const char **v;
    size_t n, cap;
};

/* From the first to the last piece of a region. */
struct region_extent {
    uint64_t begin, end;
};

static void *copy(struct pk_arena *a, const void *rows, size_t n, size_t bytes)
{
    void *copied = pk_alloc(a, n * bytes + 1);
    if (n)
        memcpy(copied, rows, n * bytes);
    return copied;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return b && b < a ? b : a;
}

/* The time of the first of all; 0 if there is none. */
static uint64_t begin_of(const struct pk_spans *s)
{
    uint64_t first = UINT64_MAX;
    for (size_t i = 0; i < s->n_marks; i++)
        first = earlier(first, s->marks[i].begin_host_ns);
    for (size_t i = 0; i < s->n_pieces; i++)
        first = earlier(earlier(first, s->pieces[i].begin_ns), s->pieces[i].launched_ns);
    for (size_t i = 0; i < s->n_ops; i++)
        first = earlier(first, s->ops[i].begin_ns);
    return first == UINT64_MAX ? 0 : first;
}

static void keep_pieces(struct pk_spans *s, const struct pk_trace *t, struct pk_arena *a)
{
    s->n_pieces = t->n;
    s->pieces = copy(a, t->v, t->n, sizeof *t->v);
    s->launched = t->ops != NULL;
    if (!t->ops || t->ops->n + t->n + s->n_marks > PK_SPANS_NOTED)
        return;
    s->n_ops = t->ops->n;
    s->ops = copy(a, t->ops->v, t->ops->n, sizeof *t->ops->v);
}

void pk_spans_keep(struct pk_spans *s, const struct pk_trace *t, const struct pk_marks *marks,
                   struct pk_arena *a)
{
    *s = (struct pk_spans){.n_marks = marks->n, .marks = copy(a, marks->v, marks->n, sizeof *marks->v)};
    if (t)
        keep_pieces(s, t, a);
    s->begin_ns = begin_of(s);
}

static bool same_text(const void *wanted, uint32_t row)
{
    const void *const *w = wanted;
    return !strcmp(((const struct texts *)w[0])->v[row], w[1]);
}

static json_int_t text_row(struct texts *t, const char *text)
{
    const void *wanted[] = {t, text};
    const uint32_t row = pk_index_row(&t->index, pk_hash_bytes(0, text, strlen(text)), same_text,
                                      (const void *)wanted, (uint32_t)t->n);
    if (row == t->n) {
        t->v = pk_grow(t->a, t->v, sizeof *t->v, t->n, &t->cap);
        t->v[t->n++] = text;
    }
    return row;
}

static const char *lane_name(const struct pk_spans *s, uint32_t lane, bool piece, struct pk_arena *a)
{
    static const char *const names[PK_LANES] = {"compute", "comm", "copy", "host"};
    return piece && s->launched              ? pk_printf(a, "stream %u", lane)
           : s->launched || lane >= PK_LANES ? "host"
                                             : names[lane];
}

static bool within(const struct pk_mark *in, const struct pk_mark *out)
{
    const bool same = in->begin_host_ns == out->begin_host_ns && in->end_host_ns == out->end_host_ns;
    return !same && out->begin_host_ns <= in->begin_host_ns && in->end_host_ns <= out->end_host_ns;
}

/* For each mark the one that it is directly within, or NONE. The marks of a graph's replay all have the time of its launch: they are
 * within none of each other. */
static int64_t *outer_marks(const struct pk_spans *s, struct pk_arena *a)
{
    int64_t *outer = pk_new_n(a, int64_t, s->n_marks + 1), *open = pk_new_n(a, int64_t, s->n_marks + 1);
    size_t depth = 0;
    for (size_t i = 0; i < s->n_marks; i++) {
        while (depth && !within(&s->marks[i], &s->marks[open[depth - 1]]))
            depth--;
        outer[i] = depth ? open[depth - 1] : NONE;
        open[depth++] = (int64_t)i;
    }
    return outer;
}

/* When the pieces of each region ran, those of the regions within it among them. */
static struct region_extent *extents(const struct pk_spans *s, struct pk_arena *a)
{
    const int64_t *outer = outer_marks(s, a);
    struct region_extent *v = pk_new_n(a, struct region_extent, s->n_marks + 1);
    for (size_t i = 0; i < s->n_pieces; i++) {
        const struct pk_kernel *k = &s->pieces[i];
        const bool placed = k->region != PK_NO_REGION && k->occurrence < s->n_marks;
        for (int64_t m = placed ? (int64_t)k->occurrence : NONE; m != NONE; m = outer[m]) {
            v[m].begin = v[m].end ? earlier(v[m].begin, k->begin_ns) : k->begin_ns;
            v[m].end = k->end_ns > v[m].end ? k->end_ns : v[m].end;
        }
    }
    return v;
}

static json_int_t between(uint64_t from, uint64_t to)
{
    return (json_int_t)(to - from);
}

static json_t *regions_json(const struct pk_spans *s, struct texts *t)
{
    const uint64_t first = s->begin_ns;
    const struct region_extent *ran = extents(s, t->a);
    json_t *list = json_array();
    for (size_t i = 0; i < s->n_marks; i++) {
        const struct pk_mark *m = &s->marks[i];
        const json_int_t name = text_row(t, t->region(t->user, m->region));
        const json_int_t lane = text_row(t, lane_name(s, m->lane, false, t->a));
        json_t *row = json_pack("[I, I, I, I]", name, lane, between(first, m->begin_host_ns),
                                between(m->begin_host_ns, m->end_host_ns));
        if (s->launched && ran[i].end) {
            json_array_append_new(row, json_integer(between(first, ran[i].begin)));
            json_array_append_new(row, json_integer(between(ran[i].begin, ran[i].end)));
        }
        json_array_append_new(list, row);
    }
    return list;
}

static json_t *pieces_json(const struct pk_spans *s, const struct pk_kernel *v, size_t n, bool ops,
                           struct texts *t)
{
    const uint64_t first = s->begin_ns;
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        const struct pk_kernel *k = &v[i];
        const json_int_t name = text_row(t, k->name);
        const json_int_t lane = text_row(t, lane_name(s, k->lane, !ops, t->a));
        const json_int_t family = text_row(t, pk_family_names[k->family]);
        const json_int_t region =
            k->region == PK_NO_REGION ? NONE : text_row(t, t->region(t->user, k->region));
        json_t *row = json_pack("[I, I, I, I, I, I]", name, lane, family, region, between(first, k->begin_ns),
                                between(k->begin_ns, k->end_ns));
        if (s->launched && !ops && k->launched_ns)
            json_array_append_new(row, json_integer(between(first, k->launched_ns)));
        json_array_append_new(list, row);
    }
    return list;
}

/* A symbol is any bytes, and the indices of the others stay. */
static json_t *valid_string(const char *text)
{
    json_t *j = json_string(text);
    return j ? j : json_string("?");
}

json_t *pk_spans_json(const struct pk_spans *s, pk_region_name_fn *name, const void *user, struct pk_arena *a)
{
    struct texts t = {.a = a, .region = name, .user = user, .index.arena = a};
    json_t *regions = regions_json(s, &t);
    json_t *pieces = pieces_json(s, s->pieces, s->n_pieces, false, &t);
    json_t *ops = pieces_json(s, s->ops, s->n_ops, true, &t), *texts = json_array();
    for (size_t i = 0; i < t.n; i++)
        json_array_append_new(texts, valid_string(t.v[i]));
    return json_pack("{s:o, s:o, s:o, s:o}", "names", texts, "regions", regions, "pieces", pieces, "ops",
                     ops);
}
