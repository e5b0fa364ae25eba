/* Allocation log: the allocations of one iteration, and their summary by intervals. */
#include "bench/measure/steps.h"
#include "timeline/spans.h"

#include <string.h>

enum { ENTRIES_MOST = 1 << 20, OUTSIDE = -1 };

struct allocation {
    uint64_t at_ns;
    int64_t bytes;  /* < 0: freed */
    uint32_t begun; /* marks that had begun by then */
    int16_t region;
    uint8_t tag;
};

/* A moment: live bytes by tag. */
struct log_moment {
    uint64_t at_ns;
    int64_t bytes, of[PK_TAGS];
    int region;
};

struct log {
    struct pk_device *dev;
    struct pk_arena *a;
    const struct pk_sampler *s;
    struct pk_observer observer;
    struct allocation *v;
    size_t n, left_out;
    int64_t start[PK_TAGS];                  /* live bytes before the first entry */
    struct log_moment found[PK_REGIONS_MAX]; /* the most live where a region without others in it began */
    struct pk_spans spans;
    bool written;
};

static void log_allocation(void *user, int64_t bytes, enum pk_tag tag, size_t current)
{
    struct log *l = user;
    if (l->n == ENTRIES_MOST) {
        l->left_out++;
        return;
    }
    const struct pk_marks *m = &l->dev->marks;
    int region = OUTSIDE; /* the innermost one that is open */
    for (size_t i = m->n; i-- > 0 && m->n_open && region == OUTSIDE;)
        region = m->v[i].open ? m->v[i].region : OUTSIDE;
    l->v[l->n++] =
        (struct allocation){pk_device_now_ns(l->dev), bytes, (uint32_t)m->n, (int16_t)region, (uint8_t)tag};
}

static struct log_moment beginning(const struct log *l)
{
    struct log_moment m = {.region = OUTSIDE};
    for (size_t t = 0; t < PK_TAGS; t++)
        m.bytes += m.of[t] = l->start[t];
    return m;
}

static void advance(struct log_moment *m, const struct allocation *e)
{
    m->at_ns = e->at_ns;
    m->bytes += e->bytes;
    m->of[e->tag] += e->bytes;
    m->region = e->region;
}

static void keep_higher(struct log_moment *highest, const struct log_moment *now)
{
    if (now->bytes > highest->bytes)
        *highest = *now;
}

static enum pk_code write_down(struct log *l, struct pk_sampler *s, struct pk_err *err)
{
    struct pk_pool *pool = &l->dev->pool;
    for (size_t t = 0; t < PK_TAGS; t++)
        l->start[t] = (int64_t)pool->tag_current[t];
    pk_marks_clear(&l->dev->marks);
    pool->observer = log_allocation;
    pool->observer_user = l;
    enum pk_code rc = s->ctx->c->probe->run(s->ctx, err);
    pool->observer = NULL;
    l->written = true;
    /* A region that takes nothing has a peak too: what it found. */
    const struct pk_marks *m = &l->dev->marks;
    struct log_moment now = beginning(l);
    for (size_t i = 0, e = 0; i < m->n; i++) {
        while (e < l->n && l->v[e].begun <= i)
            advance(&now, &l->v[e++]);
        now.region = m->v[i].region;
        if (!(i + 1 < m->n && m->v[i + 1].begin_host_ns < m->v[i].end_host_ns))
            keep_higher(&l->found[now.region], &now);
    }
    pk_spans_keep(&l->spans, NULL, m, l->a);
    return rc ? rc : pk_device_sync(l->dev, err);
}

static enum pk_code sample(void *user, struct pk_sampler *s, pk_iterate_fn *iterate, struct pk_err *err)
{
    struct log *l = user;
    enum pk_code rc = l->written ? PK_OK : write_down(l, s, err);
    if (!rc && s->ctx->c->probe->reset)
        s->ctx->c->probe->reset(s->ctx);
    return rc ? rc : iterate(s, err);
}

static void attach_sampler(void *user, struct pk_sampler *s)
{
    ((struct log *)user)->s = s;
}

static const char *region_name(const void *log, int region)
{
    const struct log *l = log;
    return region == OUTSIDE ? "outside" : l->s->ctx->c->probe->regions[region].name;
}

static json_t *moment_json(const struct log *l, const struct log_moment *m)
{
    json_t *j = json_pack("{s:s, s:I}", "region", region_name(l, m->region), "bytes", (json_int_t)m->bytes);
    for (size_t t = 0; t < PK_TAGS; t++)
        if (m->of[t])
            json_object_set_new(j, pk_tag_name((enum pk_tag)t), json_integer(m->of[t]));
    return j;
}

/* Goes on to the end of stretch `at` of `of`; *i is the next entry. Returns its highest moment. */
static struct log_moment highest_of_stretch(const struct log *l, size_t at, size_t of, size_t *i,
                                            struct log_moment *now)
{
    struct log_moment highest = {.bytes = -1};
    for (; *i < l->n * (at + 1) / of; ++*i) {
        advance(now, &l->v[*i]);
        keep_higher(&highest, now);
    }
    return highest;
}

static size_t stretches(const struct log *l, size_t most)
{
    return l->n < most ? l->n : most;
}

static json_t *timeline(const struct log *l)
{
    const size_t points = stretches(l, PK_LOG_POINTS);
    struct log_moment now = beginning(l);
    json_t *list = json_array();
    for (size_t p = 0, i = 0; p < points; p++) {
        const struct log_moment highest = highest_of_stretch(l, p, points, &i, &now);
        json_array_append_new(list, moment_json(l, &highest));
    }
    return list;
}

/* Every tag that has bytes at any time, also where it has none. */
static json_t *point_json(const struct log *l, const struct log_moment *m, const bool *used)
{
    const uint64_t first = l->spans.begin_ns;
    json_t *j = json_pack("{s:I, s:I}", "at_ns", m->at_ns > first ? (json_int_t)(m->at_ns - first) : 0,
                          "bytes", (json_int_t)m->bytes);
    for (size_t t = 0; t < PK_TAGS; t++)
        if (used[t])
            json_object_set_new(j, pk_tag_name((enum pk_tag)t), json_integer(m->of[t]));
    return j;
}

/* The same with times, in more stretches, behind the beginning and before the end. */
static json_t *memory_trace(struct log *l)
{
    const size_t points = stretches(l, PK_LOG_TRACE_POINTS);
    struct log_moment now = beginning(l);
    bool used[PK_TAGS];
    if (l->n && (!l->spans.begin_ns || l->v[0].at_ns < l->spans.begin_ns))
        l->spans.begin_ns = l->v[0].at_ns;
    for (size_t t = 0; t < PK_TAGS; t++)
        used[t] = l->start[t] != 0;
    for (size_t i = 0; i < l->n; i++)
        used[l->v[i].tag] = true;
    json_t *list = json_array(), *trace;
    json_array_append_new(list, point_json(l, &now, used));
    for (size_t p = 0, i = 0; p < points; p++) {
        const struct log_moment highest = highest_of_stretch(l, p, points, &i, &now);
        json_array_append_new(list, point_json(l, &highest, used));
    }
    json_array_append_new(list, point_json(l, &now, used));
    trace = pk_spans_json(&l->spans, region_name, l, l->a);
    json_object_set_new(trace, "memory", list);
    return trace;
}

static json_t *peaks(const struct log *l)
{
    struct log_moment highest[PK_REGIONS_MAX + 1] = {0}; /* OUTSIDE first */
    struct log_moment now = beginning(l);
    json_t *list = json_array();
    memcpy(highest + 1, l->found, sizeof l->found);
    for (size_t i = 0; i < l->n; i++) {
        now.region = l->v[i].region; /* which has what it finds, too: the most, if it only frees */
        keep_higher(&highest[now.region + 1], &now);
        advance(&now, &l->v[i]);
        keep_higher(&highest[now.region + 1], &now);
    }
    for (size_t r = 0; r < PK_REGIONS_MAX + 1; r++)
        if (highest[r].bytes)
            json_array_append_new(list, moment_json(l, &highest[r]));
    return list;
}

static void pack(void *user, const struct pk_stopper *st, struct pk_notes *notes, struct pk_slice *out)
{
    struct log *l = user;
    pk_note_json(notes, "memory",
                 json_pack("{s:b, s:I, s:I, s:o, s:o}", "whole", (int)!l->left_out, "start_bytes",
                           (json_int_t)beginning(l).bytes, "allocations", (json_int_t)l->n, "regions",
                           peaks(l), "timeline", timeline(l)));
    pk_note_json(notes, "trace", memory_trace(l));
}

const struct pk_observer *pk_allocation_log_open(struct pk_device *dev, struct pk_arena *a)
{
    struct log *l = pk_new(a, struct log);
    *l = (struct log){.dev = dev,
                      .a = a,
                      .v = pk_new_n(a, struct allocation, ENTRIES_MOST), /* room for one iteration */
                      .observer = {.sample = sample, .attach = attach_sampler, .pack = pack, .user = l}};
    return &l->observer;
}
