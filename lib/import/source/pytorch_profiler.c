/* PyTorch profiler: `prof.export_chrome_trace(FILE)`, which Kineto writes: kernels, copies and calls of CUDA, operators, and ranges
 * (record_function). Steps are those of a profiler with a schedule, "ProfilerStep#3". Times are microseconds with three decimals. */
#include "import/trace.h"

#include <math.h>
#include <string.h>

#define US_TO_NS 1e3

static const char step[] = "ProfilerStep#";

static const struct category {
    const char *name;
    enum pk_import_trace_kind kind;
} categories[] = {
    {"kernel", PK_IMPORT_TRACE_PIECE},          {"gpu_memcpy", PK_IMPORT_TRACE_PIECE},
    {"gpu_memset", PK_IMPORT_TRACE_PIECE},      {"cuda_runtime", PK_IMPORT_TRACE_LAUNCH},
    {"cuda_driver", PK_IMPORT_TRACE_LAUNCH},    {"cpu_op", PK_IMPORT_TRACE_OP},
    {"user_annotation", PK_IMPORT_TRACE_RANGE},
};

/* What others add to a trace (Python functions, overheads, memory) is left out. */
static const struct category *category_of(const json_t *j)
{
    const char *name = pk_json_str(j, "cat", "");
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (strcmp(name, categories[i].name) == 0)
            return &categories[i];
    return NULL;
}

static void take_piece(struct pk_import_reader *r, const struct category *c, const json_t *args,
                       struct pk_import_trace_span *s)
{
    s->family = strcmp(c->name, "kernel") == 0 ? pk_kernel_family_of(s->name) : PK_FAMILY_COPY;
    s->device = pk_json_int(args, "device", 0);
    s->lane = (uint32_t)pk_json_int(args, "stream", 0);
    s->copied_bytes = pk_json_int(args, "bytes", 0);
    if (s->device < 0 || s->device > 1 << 20)
        pk_import_problem(r, "'device' is none");
}

static uint32_t thread_of(struct pk_import_trace *t, const json_t *j)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    const json_t *tid = json_object_get(j, "tid");
    uint32_t row = 0;
    if (tid)
        pk_import_trace_name(t, pk_printf(&own, "thread %s", pk_json_text(&own, tid, PK_JSON_COMPACT)), &row);
    return row;
}

static void event(struct pk_import_reader *r, const json_t *j)
{
    const struct category *c = strcmp(pk_json_str(j, "ph", ""), "X") == 0 ? category_of(j) : NULL;
    struct pk_import_trace *t = r->user ? r->user : pk_import_trace_new(r);
    r->user = t;
    if (!json_is_object(j))
        pk_import_problem(r, "not an object");
    if (!c || r->failed)
        return;
    const json_t *args = pk_field_object(r, j, "args", false), *text = json_object_get(j, "name");
    const double begin = pk_field_time(r, j, "ts", US_TO_NS), length = pk_field_time(r, j, "dur", US_TO_NS);
    if (!json_is_string(text))
        pk_import_problem(r, "there is no 'name'");
    if (r->failed)
        return;
    const bool is_step =
        c->kind == PK_IMPORT_TRACE_RANGE && strncmp(json_string_value(text), step, sizeof step - 1) == 0;
    struct pk_import_trace_span s = {.name = is_step ? step
                                                     : pk_import_trace_name(t, json_string_value(text), NULL),
                                     .begin_ns = llround(begin),
                                     .launch = pk_json_int(args, "correlation", 0)};
    s.end_ns = s.begin_ns + llround(length);
    if (c->kind == PK_IMPORT_TRACE_PIECE)
        take_piece(r, c, args, &s);
    else if (c->kind == PK_IMPORT_TRACE_OP) {
        s.family = pk_import_trace_op_family(s.name);
        s.lane = thread_of(t, j);
    }
    if (c->kind == PK_IMPORT_TRACE_LAUNCH && !s.launch)
        return;
    pk_import_trace_add(t, is_step ? PK_IMPORT_TRACE_STEP : c->kind, &s);
}

/* The date, where the file says what its times count from. */
static int64_t started(const struct pk_import_trace *t, const json_t *j)
{
    const int64_t base = pk_json_int(j, "baseTimeNanoseconds", 0);
    int64_t first = INT64_MAX;
    for (int k = 0; k < PK_IMPORT_TRACE_KINDS; k++)
        for (size_t i = 0; i < t->of[k].n; i++)
            first = t->of[k].v[i].begin_ns < first ? t->of[k].v[i].begin_ns : first;
    return base > 0 && first < INT64_MAX - base ? base + first : 0;
}

static void rest(struct pk_import_reader *r, const json_t *j)
{
    const json_t *devices = pk_field_array(r, j, "deviceProperties", false),
                 *world = pk_field_object(r, j, "distributedInfo", false);
    const json_t *first = json_array_get(devices, 0);
    const char *host = pk_field_text_or(r, j, "host_name", "");
    struct pk_import_trace *t = r->user ? r->user : pk_import_trace_new(r);
    PK_JSON_CLEANUP json_t *axes = json_object();
    PK_JSON_CLEANUP json_t *machine = json_object();
    if (!r->failed && pk_json_int(j, "schemaVersion", 0) != 1)
        pk_import_version(r, "this version of the trace (schemaVersion)", "version 1");
    if (r->failed)
        return;
    if (world)
        json_object_set_new(axes, "rank", json_integer(pk_field_count(r, world, "rank", 0)));
    json_object_set_new(machine, "host", json_string(host));
    pk_import_machine(r, machine);
    pk_import_setting(r, "gpu", first ? pk_field_text_or(r, first, "name", NULL) : NULL);
    r->out->started_ns = started(t, j);
    pk_import_trace_finish(t, axes);
}

const struct pk_import_source pk_import_pytorch_profiler = {
    .name = "pytorch-profiler",
    .files = "prof.export_chrome_trace(FILE)",
    .keys = {"schemaVersion", "traceEvents"},
    .list = "traceEvents",
    .element = event,
    .rest = rest,
};
