/* Timeline: the notes and samples of a run's slices, to events. */
#include "timeline/timeline.h"

#include "base/err.h"
#include "out/text.h"
#include "shard/codec.h"
#include "store/table/table.h"
#include "timeline/events.h"

#include <errno.h>
#include <string.h>

enum { GAP_NS = 10000 }; /* between the iterations of two slices; a tenth of the first is more */

struct writing {
    struct pk_store *s;
    struct pk_events e;
    const struct pk_timeline_options *o;
    int64_t run, next_ns; /* where the next slice's iteration begins */
    FILE *f;
};

/* The slice that is being written. */
struct slice {
    struct writing *w;
    struct pk_param id;
    const char *label, *pass, *device;
    int64_t invocation, ranks;
    int64_t begin_ns, end_ns; /* in the file: where it begins, and the end of the last event so far */
    int process;              /* of the rank whose events are written */
    struct pk_rows names;     /* of the note that is being written */
};

/* --- values of a file that may be anything --- */

/* A time of the slice's, or -1, which no event takes. */
static int64_t time_of(const struct pk_cell *c)
{
    return c->type == PK_CELL_INT && c->i >= 0 && c->i <= PK_EVENTS_TIME_MAX ? c->i : -1;
}

static int64_t at(const struct slice *s, const struct pk_cell *c)
{
    return time_of(c) < 0 ? -1 : s->begin_ns + c->i;
}

static const char *name_of(const struct slice *s, const struct pk_cell *c)
{
    const bool known = c->type == PK_CELL_INT && c->i >= 0 && (uint64_t)c->i < s->names.n;
    const char *name = known ? pk_cell_string(&s->names.cells[c->i]) : "";
    return *name ? name : "?";
}

static json_t *number(const struct pk_cell *c)
{
    return c->type == PK_CELL_INT ? json_integer(c->i) : pk_json_real(pk_cell_number(c));
}

/* A text that is valid in JSON whatever it was. */
static json_t *text(struct slice *s, const char *any)
{
    pk_buf_clear(s->w->e.text);
    pk_text_safe(s->w->e.text, any);
    return json_string(pk_buf_text(s->w->e.text));
}

static enum pk_code cannot_write(int reason, struct pk_err *err)
{
    pk_fail(err, PK_E_IO, "the timeline cannot be written");
    pk_why_errno(err, reason);
    return pk_fix(err, "free space on that disk, or write elsewhere with -o FILE");
}

/* Every row ends here: a reader that left, or a disk that is full, ends the writing. */
static enum pk_code go_on(struct writing *w, struct pk_err *err)
{
    return ferror(w->f) ? cannot_write(errno, err) : PK_OK;
}

/* A device, or one of several ranks on it. */
static int process_of(const struct slice *s, int64_t rank)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    return pk_events_process(&s->w->e, s->ranks > 1 || rank
                                           ? pk_printf(&a, "%s, rank %lld", s->device, (long long)rank)
                                           : s->device);
}

static int add_slice(struct slice *s, struct pk_track *t, const struct pk_event_slice *v, json_t *args)
{
    const int thread = pk_events_slice(&s->w->e, t, v, args);
    if (thread && v->begin_ns + v->length_ns > s->end_ns)
        s->end_ns = v->begin_ns + v->length_ns;
    return thread;
}

/* What the events after it are of: on the host, where launches find it, if nothing else. */
static enum pk_code add_label(struct slice *s, const char *query, const struct pk_param *params, size_t n,
                              struct pk_arena *a, struct pk_err *err)
{
    struct pk_rows rows;
    if (pk_query(s->w->s, query, params, n, a, &rows, err))
        return err->code;
    const struct pk_event_slice v = {s->label, "case", s->begin_ns, rows.n ? time_of(&rows.cells[0]) : -1};
    struct pk_track *host = pk_events_track(&s->w->e, s->process, "host", PK_NESTED);
    add_slice(s, host, &v,
              json_pack("{s:o, s:I}", "pass", text(s, s->pass), "invocation", (json_int_t)s->invocation));
    return PK_OK;
}

/* --- iterations: traces --- */

enum { REGION, RAN, PIECE, OP, KINDS };

static struct pk_track *track_of_span(const struct slice *s, int64_t kind, const char *lane)
{
    const enum pk_nesting nesting =
        kind == PIECE && !strncmp(lane, "stream", strlen("stream")) ? PK_FLAT : PK_NESTED;
    return pk_events_track(&s->w->e, s->process, kind == RAN ? "regions" : lane, nesting);
}

/* kind, name, lane, family, region, begin, length, launched */
static enum pk_code add_span(void *slice, const struct pk_cell *c, struct pk_err *err)
{
    static const char *const categories[KINDS] = {"region", "region of pieces", "piece", "launch"};
    struct slice *s = slice;
    struct pk_events *e = &s->w->e;
    const int64_t kind = c[0].i;
    struct pk_track *t = track_of_span(s, kind, name_of(s, &c[2]));
    const struct pk_event_slice v = {name_of(s, &c[1]), categories[kind], at(s, &c[5]), time_of(&c[6])};
    json_t *args = kind < PIECE ? NULL : json_pack("{s:o}", "family", text(s, name_of(s, &c[3])));
    if (args && c[4].type == PK_CELL_INT && c[4].i >= 0)
        json_object_set_new(args, "region", text(s, name_of(s, &c[4])));
    const int thread = add_slice(s, t, &v, args);
    if (thread && c[7].type != PK_CELL_NULL)
        pk_events_flow(e, pk_events_track(e, s->process, "host", PK_NESTED), at(s, &c[7]), s->process, thread,
                       v.begin_ns);
    return go_on(s->w, err);
}

/* at, bytes, tags */
static enum pk_code add_memory(void *slice, const struct pk_cell *c, struct pk_err *err)
{
    struct slice *s = slice;
    json_t *tags = c[2].type == PK_CELL_TEXT ? json_loads(c[2].s, 0, NULL) : NULL;
    pk_events_counter(&s->w->e, s->process, "memory", at(s, &c[0]),
                      json_pack("{s:o}", "bytes", number(&c[1])));
    pk_events_counter(&s->w->e, s->process, "memory by tag", at(s, &c[0]), tags);
    s->end_ns = at(s, &c[0]) > s->end_ns ? at(s, &c[0]) : s->end_ns;
    return go_on(s->w, err);
}

static enum pk_code add_iteration(struct slice *s, int64_t rank, struct pk_arena *a, struct pk_err *err)
{
    const struct pk_param params[] = {s->id, pk_param_int(":rank", rank)};
    enum pk_code rc = pk_query(s->w->s, "timeline_names", PK_PARAMS(params), a, &s->names, err);
    if (!rc)
        rc = add_label(s, "timeline_length", PK_PARAMS(params), a, err);
    if (!rc)
        rc = pk_query_each(s->w->s, "timeline_spans", PK_PARAMS(params), add_span, s, err);
    return rc ? rc : pk_query_each(s->w->s, "timeline_memory", PK_PARAMS(params), add_memory, s, err);
}

/* --- all-reduces: the notes "timeline" --- */

/* kind, bucket, bytes, begin, end, ready */
static enum pk_code add_reduce(void *slice, const struct pk_cell *c, struct pk_err *err)
{
    enum { BACKWARD, REDUCE };
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct slice *s = slice;
    struct pk_events *e = &s->w->e;
    const bool reduce = c[0].i == REDUCE;
    struct pk_track *t = pk_events_track(e, s->process, reduce ? "comm" : "compute", PK_NESTED);
    struct pk_event_slice v = {"backward", "region", at(s, &c[3]), time_of(&c[4]) - time_of(&c[3])};
    if (c[0].i > REDUCE) {
        pk_events_instant(e, t, "gradient complete", v.begin_ns,
                          json_pack("{s:o, s:o}", "tensor", number(&c[1]), "bytes", number(&c[2])));
        return go_on(s->w, err);
    }
    if (time_of(&c[3]) < 0 || time_of(&c[4]) < 0)
        v.length_ns = -1;
    v.name = reduce ? pk_printf(&a, "all-reduce %lld", (long long)c[1].i) : v.name;
    v.category = reduce ? "all-reduce" : v.category;
    add_slice(s, t, &v,
              reduce ? json_pack("{s:o, s:o}", "bytes", number(&c[2]), "ready_ns", number(&c[5])) : NULL);
    return go_on(s->w, err);
}

static enum pk_code add_reduces(struct slice *s, const char *path, struct pk_arena *a, struct pk_err *err)
{
    const struct pk_param params[] = {s->id, pk_param_text(":backward", pk_printf(a, "%s.backward_ns", path)),
                                      pk_param_text(":reduces", pk_printf(a, "%s.reduces", path)),
                                      pk_param_text(":tensors", pk_printf(a, "%s.tensors", path))};
    if (add_label(s, "timeline_reduces_length", PK_PARAMS(params), a, err))
        return err->code;
    return pk_query_each(s->w->s, "timeline_reduces", PK_PARAMS(params), add_reduce, s, err);
}

/* --- beside them: the state of the machine, samples --- */

/* counter, unit, before, after */
static enum pk_code add_state(void *slice, const struct pk_cell *c, struct pk_err *err)
{
    struct slice *s = slice;
    const int64_t when[] = {s->begin_ns, s->end_ns};
    s->process = process_of(s, 0);
    for (size_t i = 0; i < 2; i++)
        if (c[2 + i].type == PK_CELL_INT || c[2 + i].type == PK_CELL_REAL)
            pk_events_counter(&s->w->e, s->process, pk_cell_string(&c[0]), when[i],
                              json_pack("{s:o}", pk_cell_string(&c[1]), number(&c[2 + i])));
    return go_on(s->w, err);
}

struct samples {
    struct slice *s;
    struct pk_track *track;
    struct pk_buf name; /* of the track */
    int64_t at_ns;
};

/* ordinal, phase, value */
static enum pk_code add_sample(void *samples, const struct pk_cell *c, struct pk_err *err)
{
    struct samples *m = samples;
    struct pk_events *e = &m->s->w->e;
    const double ns = pk_cell_number(&c[2]);
    const struct pk_event_slice v = {pk_cell_string(&c[1]), "sample", m->at_ns,
                                     ns >= 0 && ns <= (double)PK_EVENTS_TIME_MAX ? (int64_t)ns : -1};
    if (pk_events_slice(e, m->track, &v, json_pack("{s:o}", "ordinal", number(&c[0]))))
        m->at_ns += v.length_ns;
    return go_on(m->s->w, err);
}

/* metric, rank, first: the samples of a block follow those of the block before */
static enum pk_code add_samples(void *samples, const struct pk_cell *c, struct pk_err *err)
{
    struct samples *m = samples;
    struct pk_events *e = &m->s->w->e;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *metric = pk_cell_string(&c[0]);
    const char *name = c[1].i ? pk_printf(&a, "%s, rank %lld", metric, (long long)c[1].i) : metric;
    if (strcmp(name, pk_buf_text(&m->name)) != 0) {
        pk_buf_clear(&m->name);
        pk_buf_str(&m->name, name);
        m->at_ns = m->s->begin_ns;
    }
    m->track = pk_events_track(e, pk_events_process(e, "measurement"), name, PK_FLAT);
    const struct pk_param params[] = {m->s->id, pk_param_text(":metric", metric),
                                      pk_param_int(":rank", c[1].i), pk_param_int(":first", c[2].i)};
    return pk_query_each(m->s->w->s, "timeline_samples", PK_PARAMS(params), add_sample, m, err);
}

/* --- slices --- */

/* is_trace, rank */
static enum pk_code add_part(void *slice, const struct pk_cell *c, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct slice *s = slice;
    const int64_t rank = c[1].i;
    s->process = process_of(s, rank);
    if (c[0].i)
        return add_iteration(s, rank, &a, err);
    return add_reduces(s, rank ? pk_printf(&a, "$.\"timeline:%lld\"", (long long)rank) : "$.timeline", &a,
                       err);
}

static enum pk_code add_phases(struct slice *s, const char *status, const struct pk_cell *elapsed,
                               struct pk_arena *a, struct pk_err *err)
{
    struct pk_events *e = &s->w->e;
    struct samples m = {.s = s, .name = {.arena = a}};
    const struct pk_event_slice v = {s->label, "slice", s->begin_ns, time_of(elapsed)};
    pk_events_slice(e, pk_events_track(e, pk_events_process(e, "measurement"), "slices", PK_FLAT), &v,
                    json_pack("{s:o, s:I, s:o}", "pass", text(s, s->pass), "invocation",
                              (json_int_t)s->invocation, "status", text(s, status)));
    return pk_query_each(s->w->s, "timeline_blocks", &s->id, 1, add_samples, &m, err);
}

/* id, pass, invocation, status, started_ns, elapsed_ns, device, variant, axes, ranks */
static enum pk_code add_one(void *writing, const struct pk_cell *c, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct writing *w = writing;
    struct slice s = {
        .w = w, .id = pk_param_int(":slice", c[0].i), .begin_ns = w->o->phases ? time_of(&c[4]) : w->next_ns};
    const char *axes = pk_cell_string(&c[8]);
    s.device = pk_cell_string(&c[6]);
    s.ranks = c[9].type == PK_CELL_INT ? c[9].i : 0;
    s.pass = pk_cell_string(&c[1]);
    s.invocation = c[2].i;
    s.label = pk_printf(&a, "%s%s%s", pk_cell_string(&c[7]), *axes ? " " : "", axes);
    s.end_ns = s.begin_ns;
    if (s.begin_ns < 0) {
        w->e.left_out++;
        return PK_OK;
    }
    enum pk_code rc = w->o->phases ? add_phases(&s, pk_cell_string(&c[3]), &c[5], &a, err) : PK_OK;
    if (!rc)
        rc = pk_query_each(w->s, "timeline_parts", &s.id, 1, add_part, &s, err);
    if (!rc)
        rc = pk_query_each(w->s, "timeline_states", &s.id, 1, add_state, &s, err);
    const int64_t length = s.end_ns - s.begin_ns;
    w->next_ns = s.end_ns + (length / 10 > GAP_NS ? length / 10 : GAP_NS);
    return rc ? rc : go_on(w, err);
}

static json_t *about(struct pk_arena *a, const struct pk_rows *run)
{
    json_t *j = json_object();
    for (size_t i = 0; i < run->n_cols; i++)
        if (strncmp(run->names[i], "has_", strlen("has_")) != 0 && run->cells[i].type != PK_CELL_NULL) {
            struct pk_buf safe = {.arena = a};
            pk_text_safe(&safe, pk_cell_string(&run->cells[i]));
            json_object_set_new(j, run->names[i],
                                run->cells[i].type == PK_CELL_TEXT ? json_string(pk_buf_text(&safe))
                                                                   : number(&run->cells[i]));
        }
    return j;
}

static enum pk_code no_timeline(int64_t run, bool has_passes, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "run %lld has no timeline", (long long)run);
    pk_why(err, "%s",
           has_passes ? "an older perfkit recorded it, which kept no times of single kernels"
                      : "a run records one with --breakdown or --allocations, and ddp-bucket always");
    return pk_fix(
        err, "perfkit run EXPERIMENT --breakdown --allocations; or add --phases: the samples of any run");
}

static enum pk_code write_run(struct writing *w, const struct pk_rows *run, const struct pk_param *params,
                              size_t n_params, struct pk_arena *a, struct pk_err *err)
{
    pk_events_open(&w->e, w->f, about(a, run), a);
    const enum pk_code rc = pk_query_each(w->s, "timeline_slices", params, n_params, add_one, w, err);
    if (rc)
        return rc;
    pk_events_close(&w->e);
    fflush(w->f);
    return go_on(w, err);
}

static const char *summary_of(const struct pk_events *e, struct pk_arena *a)
{
    const char *left_out =
        e->left_out ? pk_printf(a, "; %llu were left out: their times are out of range, or too many overlap",
                                (unsigned long long)e->left_out)
                    : "";
    return pk_printf(a, "the timeline has %llu slices, %llu arrows, %llu values of counters%s",
                     (unsigned long long)e->slices, (unsigned long long)e->flows,
                     (unsigned long long)e->counters, left_out);
}

enum pk_code pk_timeline_write(struct pk_store *s, int64_t run, const struct pk_timeline_options *o, FILE *f,
                               struct pk_arena *a, const char **summary, struct pk_err *err)
{
    const struct pk_param params[] = {pk_param_int(":run", run), pk_param_int(":phases", o->phases)};
    struct writing w = {.s = s, .o = o, .f = f};
    const char *suffix = o->file ? strrchr(o->file, '.') : NULL;
    const bool gzip = suffix && !strcmp(suffix, ".gz");
    struct pk_rows row;
    if (pk_query(s, "timeline_run", PK_PARAMS(params), a, &row, err))
        return err->code;
    if (!row.n || !pk_rows_cell(&row, 0, "has_timeline")->i)
        return no_timeline(run, row.n && pk_rows_cell(&row, 0, "has_passes")->i, err);
    if (gzip && pk_gzip_stream(f, a, &w.f, err)) {
        pk_within(err, "a file that ends in .gz");
        return pk_fix(err, "name a file that does not: -o run.json; gzip run.json compresses it");
    }
    enum pk_code rc = write_run(&w, &row, PK_PARAMS(params), a, err);
    if (gzip && fclose(w.f) && !rc)
        rc = cannot_write(errno, err);
    *summary = summary_of(&w.e, a);
    return rc == PK_E_IO && err->number == EPIPE ? PK_OK : rc;
}
