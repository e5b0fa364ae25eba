/* Events: slices to lanes, and each event as a line of JSON. */
#include "timeline/events.h"

#include "out/text.h"

#include <string.h>

struct pk_event_process {
    const char *name;
};

/* Open slices, the innermost last; of what ended only the time is kept at which the last of it did. */
struct lane {
    int tid;
    size_t depth;
    int64_t ended;
    struct {
        int64_t begin, end;
    } open[PK_EVENTS_DEPTH_MAX];
};

struct pk_track {
    int process;
    const char *name;
    enum pk_nesting nesting;
    struct lane **lanes;
    size_t n_lanes, cap_lanes;
};

static int put(const char *bytes, size_t n, void *f)
{
    return fwrite(bytes, 1, n, f) == n ? 0 : -1;
}

/* Stolen. Memory alone can refuse an event: its texts are valid. */
static void write_event(struct pk_events *e, json_t *event)
{
    PK_JSON_CLEANUP json_t *j = event;
    pk_assert(j);
    fputs(e->begun ? ",\n" : "\n", e->f);
    e->begun = true;
    json_dump_callback(j, put, e->f, JSON_COMPACT | JSON_REAL_PRECISION(15));
}

static const char *safe(struct pk_events *e, const char *text)
{
    pk_buf_clear(e->text);
    pk_text_safe(e->text, text);
    return pk_buf_text(e->text);
}

static double microseconds(int64_t ns)
{
    return (double)ns / 1e3;
}

static bool fits(int64_t ns)
{
    return ns >= 0 && ns <= PK_EVENTS_TIME_MAX;
}

static int pid_of(int process)
{
    return process + 1; /* 0 is the kernel's */
}

/* Perfetto takes a thread for that of another process when a process has the same number, and counters for those of the thread that has it. */
enum { FIRST_TID = 10 * PK_EVENTS_PROCESSES_MAX };

/* Names of processes and threads, and their places. */
static void write_name(struct pk_events *e, const char *what, int pid, int tid, const char *name)
{
    write_event(e, json_pack("{s:s, s:s, s:i, s:i, s:{s:s}}", "ph", "M", "name", what, "pid", pid, "tid", tid,
                             "args", "name", name));
}

static void write_place(struct pk_events *e, const char *what, int pid, int tid, int place)
{
    write_event(e, json_pack("{s:s, s:s, s:i, s:i, s:{s:i}}", "ph", "M", "name", what, "pid", pid, "tid", tid,
                             "args", "sort_index", place));
}

void pk_events_open(struct pk_events *e, FILE *f, json_t *about, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = about;
    *e = (struct pk_events){.f = f, .arena = a, .text = pk_new(a, struct pk_buf)};
    e->text->arena = a;
    fputs("{\"otherData\":", f);
    json_dump_callback(j, put, f, JSON_COMPACT);
    fputs(",\"traceEvents\":[", f);
}

void pk_events_close(struct pk_events *e)
{
    fputs("\n]}", e->f); /* Perfetto takes a line's end behind it, in a block of its own, for an error */
}

int pk_events_process(struct pk_events *e, const char *name)
{
    const char *text = safe(e, name);
    size_t i = 0;
    while (i < e->n_processes && strcmp(e->processes[i].name, text) != 0)
        i++;
    if (i < e->n_processes)
        return (int)i;
    if (i == PK_EVENTS_PROCESSES_MAX)
        return -1;
    e->processes = pk_grow(e->arena, e->processes, sizeof *e->processes, e->n_processes, &e->cap_processes);
    e->processes[e->n_processes++] = (struct pk_event_process){pk_strdup(e->arena, text)};
    write_name(e, "process_name", pid_of((int)i), pid_of((int)i), text);
    write_place(e, "process_sort_index", pid_of((int)i), pid_of((int)i), (int)i);
    return (int)i;
}

/* Another lane, whose thread has the name of the track. */
static struct lane *add_lane(struct pk_events *e, struct pk_track *t)
{
    if (t->n_lanes == PK_EVENTS_LANES_MAX)
        return NULL;
    struct lane *lane = pk_new(e->arena, struct lane);
    lane->tid = FIRST_TID + ++e->tids;
    t->lanes = pk_grow(e->arena, t->lanes, sizeof *t->lanes, t->n_lanes, &t->cap_lanes);
    t->lanes[t->n_lanes++] = lane;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    write_name(e, "thread_name", pid_of(t->process), lane->tid,
               t->n_lanes == 1 ? t->name : pk_printf(&a, "%s #%zu", t->name, t->n_lanes));
    write_place(e, "thread_sort_index", pid_of(t->process), lane->tid,
                (int)((t - e->tracks) * PK_EVENTS_LANES_MAX + (ptrdiff_t)t->n_lanes));
    return lane;
}

struct pk_track *pk_events_track(struct pk_events *e, int process, const char *name, enum pk_nesting nesting)
{
    const char *text = safe(e, name);
    for (size_t i = 0; i < e->n_tracks; i++)
        if (e->tracks[i].process == process && strcmp(e->tracks[i].name, text) == 0)
            return &e->tracks[i];
    if (process < 0 || e->n_tracks == PK_EVENTS_TRACKS_MAX)
        return NULL;
    e->tracks = pk_grow(e->arena, e->tracks, sizeof *e->tracks, e->n_tracks, &e->cap_tracks);
    struct pk_track *t = &e->tracks[e->n_tracks++];
    *t = (struct pk_track){.process = process, .name = pk_strdup(e->arena, text), .nesting = nesting};
    add_lane(e, t);
    return t;
}

/* Whether the slice goes into a lane: behind all that ended, and within what is open. */
static bool takes(struct lane *l, enum pk_nesting nesting, int64_t begin, int64_t end)
{
    while (l->depth && l->open[l->depth - 1].end <= begin) {
        const int64_t ended = l->open[--l->depth].end;
        l->ended = ended > l->ended ? ended : l->ended;
    }
    if (begin < l->ended || l->depth == (nesting == PK_FLAT ? 1 : PK_EVENTS_DEPTH_MAX))
        return false;
    return !l->depth || (begin >= l->open[l->depth - 1].begin && end <= l->open[l->depth - 1].end);
}

static struct lane *lane_for(struct pk_events *e, struct pk_track *t, int64_t begin, int64_t end)
{
    struct lane *l = NULL;
    for (size_t i = 0; i < t->n_lanes && !l; i++)
        l = takes(t->lanes[i], t->nesting, begin, end) ? t->lanes[i] : NULL;
    if (!l)
        l = add_lane(e, t);
    if (!l)
        return NULL;
    l->open[l->depth].begin = begin;
    l->open[l->depth++].end = end;
    return l;
}

int pk_events_slice(struct pk_events *e, struct pk_track *t, const struct pk_event_slice *s, json_t *args)
{
    const bool fit = t && fits(s->begin_ns) && fits(s->length_ns);
    const struct lane *l = fit ? lane_for(e, t, s->begin_ns, s->begin_ns + s->length_ns) : NULL;
    if (!l) {
        e->left_out++;
        json_decref(args);
        return 0;
    }
    e->slices++;
    json_t *j = json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:f}", "ph", "X", "name", safe(e, s->name), "cat",
                          s->category, "pid", pid_of(t->process), "tid", l->tid, "ts",
                          microseconds(s->begin_ns), "dur", microseconds(s->length_ns));
    if (args)
        json_object_set_new(j, "args", args);
    write_event(e, j);
    return l->tid;
}

void pk_events_instant(struct pk_events *e, const struct pk_track *t, const char *name, int64_t at_ns,
                       json_t *args)
{
    if (!t || !fits(at_ns)) {
        e->left_out++;
        json_decref(args);
        return;
    }
    write_event(e, json_pack("{s:s, s:s, s:s, s:i, s:i, s:f, s:o}", "ph", "i", "s", "t", "name",
                             safe(e, name), "pid", pid_of(t->process), "tid", t->lanes[0]->tid, "ts",
                             microseconds(at_ns), "args", args));
}

void pk_events_counter(struct pk_events *e, int process, const char *name, int64_t at_ns, json_t *args)
{
    if (process < 0 || !fits(at_ns) || !json_object_size(args)) {
        e->left_out++;
        json_decref(args);
        return;
    }
    e->counters++;
    write_event(e, json_pack("{s:s, s:s, s:i, s:f, s:o}", "ph", "C", "name", safe(e, name), "pid",
                             pid_of(process), "ts", microseconds(at_ns), "args", args));
}

static void write_flow(struct pk_events *e, const char *phase, int pid, int tid, int64_t at_ns)
{
    json_t *j =
        json_pack("{s:s, s:s, s:s, s:I, s:i, s:i, s:f}", "ph", phase, "name", "launch", "cat", "launch", "id",
                  (json_int_t)e->flows, "pid", pid, "tid", tid, "ts", microseconds(at_ns));
    if (*phase == 'f')
        json_object_set_new(j, "bp", json_string("e"));
    write_event(e, j);
}

void pk_events_flow(struct pk_events *e, const struct pk_track *from, int64_t from_ns, int process,
                    int thread, int64_t to_ns)
{
    if (!from || !fits(from_ns) || !fits(to_ns)) {
        e->left_out++;
        return;
    }
    e->flows++;
    write_flow(e, "s", pid_of(from->process), from->lanes[0]->tid, from_ns);
    write_flow(e, "f", pid_of(process), thread, to_ns);
}
