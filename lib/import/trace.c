/* Trace: from spans of a file to cases with regions, pieces and their breakdown. */
#include "import/trace.h"

#include "base/index.h"
#include "device/device.h"
#include "out/text.h"
#include "timeline/breakdown_note.h"

#include <stdlib.h>
#include <string.h>

/* Times of notes begin here: 0 means that a time is not known. */
static const int64_t ORIGIN_NS = 1000000000;

#define TIME_MOST (INT64_C(1) << 60)

enum { DEVICES_MAX = 64, WHOLE = 0 /* the region of the step, or of the whole trace */ };

struct region {
    const char *name;
    int64_t total_ns;
};

struct building {
    struct pk_import_trace *t;
    struct pk_arena *a;       /* until the case is there */
    int64_t begin_ns, end_ns; /* of the step that is described, or of everything */
    bool stepped;
    struct region *regions;
    size_t n_regions;
};

/* --- collecting -------------------------------------------------------------------------------------------------------- */

struct pk_import_trace *pk_import_trace_new(struct pk_import_reader *r)
{
    struct pk_import_trace *t = pk_new(r->a, struct pk_import_trace);
    *t = (struct pk_import_trace){.r = r, .index = pk_new(r->a, struct pk_index)};
    *t->index = (struct pk_index){.arena = r->a};
    return t;
}

static bool same_name(const void *wanted, uint32_t row)
{
    const void *const *w = wanted;
    return !strcmp(((const struct pk_import_trace *)w[0])->names[row], w[1]);
}

const char *pk_import_trace_name(struct pk_import_trace *t, const char *text, uint32_t *row)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    struct pk_buf safe = {.arena = &own};
    pk_text_safe(&safe, text);
    if (safe.n > PK_IMPORT_TEXT_MAX) {
        for (safe.n = PK_IMPORT_TEXT_MAX; (safe.s[safe.n] & 0xc0) == 0x80;)
            safe.n--;
        safe.s[safe.n] = '\0';
    }
    const char *name = pk_buf_text(&safe);
    const void *wanted[] = {t, name};
    const uint32_t at = pk_index_row(t->index, pk_hash_bytes(0, name, strlen(name)), same_name,
                                     (const void *)wanted, (uint32_t)t->n_names);
    if (at == t->n_names) {
        t->names = pk_grow(t->r->a, t->names, sizeof *t->names, t->n_names, &t->names_cap);
        t->names[t->n_names++] = pk_strdup(t->r->a, name);
    }
    if (row)
        *row = at;
    return t->names[at];
}

void pk_import_trace_add(struct pk_import_trace *t, enum pk_import_trace_kind kind,
                         const struct pk_import_trace_span *s)
{
    struct pk_import_trace_spans *to = &t->of[kind];
    size_t all = 0;
    for (int k = 0; k < PK_IMPORT_TRACE_KINDS; k++)
        all += t->of[k].n;
    if (all == PK_IMPORT_TRACE_MAX)
        pk_import_problem(t->r, "more than %d events", PK_IMPORT_TRACE_MAX);
    if (s->begin_ns < -TIME_MOST || s->end_ns < s->begin_ns || s->end_ns > TIME_MOST)
        pk_import_problem(t->r, "'%.100s' has no valid times", s->name);
    if (t->r->failed)
        return;
    to->v = pk_grow(t->r->a, to->v, sizeof *to->v, to->n, &to->cap);
    to->v[to->n++] = *s;
}

enum pk_kernel_family pk_import_trace_op_family(const char *name)
{
    static const struct {
        const char *op;
        enum pk_kernel_family family;
    } ops[] = {{"mm", PK_FAMILY_GEMM},
               {"addmm", PK_FAMILY_GEMM},
               {"bmm", PK_FAMILY_GEMM},
               {"baddbmm", PK_FAMILY_GEMM},
               {"linear", PK_FAMILY_GEMM},
               {"matmul", PK_FAMILY_GEMM},
               {"mkldnn_linear", PK_FAMILY_GEMM},
               {"add", PK_FAMILY_ELEMENTWISE},
               {"add_", PK_FAMILY_ELEMENTWISE},
               {"sub", PK_FAMILY_ELEMENTWISE},
               {"mul", PK_FAMILY_ELEMENTWISE},
               {"mul_", PK_FAMILY_ELEMENTWISE},
               {"div", PK_FAMILY_ELEMENTWISE},
               {"div_", PK_FAMILY_ELEMENTWISE},
               {"pow", PK_FAMILY_ELEMENTWISE},
               {"gelu", PK_FAMILY_ELEMENTWISE},
               {"silu", PK_FAMILY_ELEMENTWISE},
               {"relu", PK_FAMILY_ELEMENTWISE},
               {"clamp_min", PK_FAMILY_ELEMENTWISE},
               {"tanh", PK_FAMILY_ELEMENTWISE},
               {"sigmoid", PK_FAMILY_ELEMENTWISE},
               {"threshold_backward", PK_FAMILY_ELEMENTWISE},
               {"fill_", PK_FAMILY_ELEMENTWISE},
               {"zero_", PK_FAMILY_ELEMENTWISE},
               {"cat", PK_FAMILY_COPY},
               {"clone", PK_FAMILY_COPY},
               {"to", PK_FAMILY_COPY},
               {"contiguous", PK_FAMILY_COPY}};
    static const char prefix[] = "aten::";
    const bool aten = strncmp(name, prefix, sizeof prefix - 1) == 0;
    for (size_t i = 0; aten && i < sizeof ops / sizeof *ops; i++)
        if (strcmp(name + sizeof prefix - 1, ops[i].op) == 0)
            return ops[i].family;
    return aten && strcmp(name, "aten::transpose") == 0 ? PK_FAMILY_OTHER /* of PyTorch it moves nothing */
                                                        : pk_kernel_family_of(name);
}

/* --- order ------------------------------------------------------------------------------------------------------------- */

#define COMPARE(x, y) (((x) > (y)) - ((x) < (y)))

/* What contains others comes before them. */
static int by_begin(const void *a, const void *b)
{
    const struct pk_import_trace_span *x = a, *y = b;
    return x->begin_ns != y->begin_ns ? COMPARE(x->begin_ns, y->begin_ns) : COMPARE(y->end_ns, x->end_ns);
}

static int by_thread(const void *a, const void *b)
{
    const struct pk_import_trace_span *x = a, *y = b;
    return x->lane != y->lane ? COMPARE(x->lane, y->lane) : by_begin(a, b);
}

static int by_length(const void *a, const void *b)
{
    const struct pk_import_trace_span *x = a, *y = b;
    return COMPARE(x->end_ns - x->begin_ns, y->end_ns - y->begin_ns);
}

static int by_launch(const void *a, const void *b)
{
    const struct pk_import_trace_span *x = a, *y = b;
    return COMPARE(x->launch, y->launch);
}

static void sort(struct pk_import_trace_spans *s, int (*order)(const void *, const void *))
{
    if (s->n)
        qsort(s->v, s->n, sizeof *s->v, order);
}

/* --- what is described: a step, or everything --------------------------------------------------------------------------- */

static void choose_window(struct building *b)
{
    struct pk_import_trace_spans *steps = &b->t->of[PK_IMPORT_TRACE_STEP];
    b->stepped = steps->n > 0;
    if (b->stepped) {
        sort(steps, by_length);
        b->begin_ns = steps->v[steps->n / 2].begin_ns;
        b->end_ns = steps->v[steps->n / 2].end_ns;
        sort(steps, by_begin);
        return;
    }
    b->begin_ns = INT64_MAX;
    b->end_ns = INT64_MIN;
    for (int k = 0; k < PK_IMPORT_TRACE_KINDS; k++)
        for (size_t i = 0; i < b->t->of[k].n; i++) {
            const struct pk_import_trace_span *s = &b->t->of[k].v[i];
            b->begin_ns = s->begin_ns < b->begin_ns ? s->begin_ns : b->begin_ns;
            b->end_ns = s->end_ns > b->end_ns ? s->end_ns : b->end_ns;
        }
}

static bool within(const struct building *b, int64_t begin_ns)
{
    return begin_ns >= b->begin_ns && (begin_ns < b->end_ns || !b->stepped);
}

static uint64_t noted(const struct building *b, int64_t ns)
{
    return (uint64_t)(ns - b->begin_ns + ORIGIN_NS);
}

static int longest_region(const void *a, const void *b)
{
    const struct region *x = a, *y = b;
    return x->total_ns != y->total_ns ? COMPARE(y->total_ns, x->total_ns) : strcmp(x->name, y->name);
}

/* The step or the whole, and the ranges that took longest, by their names. */
static void choose_regions(struct building *b)
{
    struct pk_import_trace *t = b->t;
    const struct pk_import_trace_spans *ranges = &t->of[PK_IMPORT_TRACE_RANGE];
    struct region *all = pk_new_n(b->a, struct region, t->n_names + 1);
    size_t n = 0;
    for (size_t i = 0; i < ranges->n; i++) {
        uint32_t row;
        pk_import_trace_name(t, ranges->v[i].name, &row);
        all[row].name = ranges->v[i].name;
        all[row].total_ns += ranges->v[i].end_ns - ranges->v[i].begin_ns;
    }
    for (size_t i = 0; i < t->n_names; i++)
        if (all[i].name)
            all[n++] = all[i];
    if (n)
        qsort(all, n, sizeof *all, longest_region);
    n = n < PK_REGIONS_MAX - 1 ? n : PK_REGIONS_MAX - 1;
    b->regions = pk_new_n(b->a, struct region, n + 1);
    b->regions[WHOLE].name = b->stepped ? "step" : "trace";
    memcpy(b->regions + 1, all, n * sizeof *all);
    b->n_regions = n + 1;
}

/* WHOLE: it is none. Names are equal where their addresses are. */
static size_t region_of(const struct building *b, const char *name)
{
    size_t at = b->n_regions - 1;
    while (at > WHOLE && b->regions[at].name != name)
        at--;
    return at;
}

static const char *region_name(const void *building, int region)
{
    const struct building *b = building;
    return b->regions[region].name;
}

/* The step itself, then the ranges in it. */
static void make_marks(struct building *b, struct pk_marks *m)
{
    const struct pk_import_trace_spans *ranges = &b->t->of[PK_IMPORT_TRACE_RANGE];
    *m = (struct pk_marks){.v = pk_new_n(b->a, struct pk_mark, ranges->n + 1)};
    m->v[m->n++] = (struct pk_mark){.lane = PK_LANE_HOST,
                                    .region = WHOLE,
                                    .begin_host_ns = noted(b, b->begin_ns),
                                    .end_host_ns = noted(b, b->end_ns)};
    for (size_t i = 0; i < ranges->n && m->n < PK_SPANS_NOTED; i++) {
        const size_t region = region_of(b, ranges->v[i].name);
        if (region != WHOLE && within(b, ranges->v[i].begin_ns))
            m->v[m->n++] = (struct pk_mark){.lane = PK_LANE_HOST,
                                            .region = (uint16_t)region,
                                            .begin_host_ns = noted(b, ranges->v[i].begin_ns),
                                            .end_host_ns = noted(b, ranges->v[i].end_ns)};
    }
}

/* --- pieces ------------------------------------------------------------------------------------------------------------ */

static struct pk_kernel kernel_of(const struct building *b, const struct pk_import_trace_span *s,
                                  int64_t launched)
{
    return (struct pk_kernel){.name = s->name,
                              .family = s->family,
                              .region = PK_NO_REGION,
                              .lane = s->lane,
                              .launched_ns = launched < 0 ? 0 : noted(b, launched),
                              .begin_ns = noted(b, s->begin_ns),
                              .end_ns = noted(b, s->end_ns),
                              .copied_bytes = s->copied_bytes};
}

/* When the host launched a piece; -1: it is not known. */
static int64_t launched(const struct building *b, const struct pk_import_trace_span *piece)
{
    const struct pk_import_trace_spans *launches = &b->t->of[PK_IMPORT_TRACE_LAUNCH];
    const struct pk_import_trace_span *found =
        piece->launch && launches->n
            ? bsearch(piece, launches->v, launches->n, sizeof *launches->v, by_launch)
            : NULL;
    return found ? found->begin_ns : -1;
}

/* Whether a piece is of the device and the step; *at is when it was launched, -1 = not known. */
static bool is_piece(const struct building *b, const struct pk_import_trace_span *s, int64_t device,
                     int64_t *at)
{
    *at = launched(b, s);
    return s->device == device && within(b, *at < 0 ? s->begin_ns : *at);
}

/* Pieces of a device, those whose launch is known first: how many. The region of the others is the one that was open when they began. */
static size_t take_pieces(struct building *b, int64_t device, const struct pk_marks *marks,
                          struct pk_trace *out)
{
    const struct pk_import_trace_spans *pieces = &b->t->of[PK_IMPORT_TRACE_PIECE];
    size_t n = 0, known = 0;
    int64_t at;
    for (size_t i = 0; i < pieces->n; i++)
        n += is_piece(b, &pieces->v[i], device, &at);
    *out = (struct pk_trace){.v = pk_new_n(b->a, struct pk_kernel, n + 1)};
    for (int with_launch = 1; with_launch >= 0; with_launch--) {
        known = out->n;
        for (size_t i = 0; i < pieces->n; i++)
            if (is_piece(b, &pieces->v[i], device, &at) && (at >= 0) == with_launch)
                out->v[out->n++] = kernel_of(b, &pieces->v[i], with_launch ? at : pieces->v[i].begin_ns);
        pk_breakdown_regions(out->v + known, out->n - known, marks);
    }
    for (size_t i = known; i < out->n; i++)
        out->v[i].launched_ns = 0;
    return known;
}

/* Operators of one thread that are open, each within the one below it. */
struct open_op {
    const struct pk_import_trace_span *op;
    int64_t end_ns;
    bool counted;
};

static void add_part(struct building *b, struct open_op *o, int64_t from, int64_t to, struct pk_trace *out,
                     size_t *cap)
{
    struct pk_import_trace_span part = *o->op;
    if (to <= from && o->counted)
        return;
    part.begin_ns = from;
    part.end_ns = to > from ? to : from;
    out->v = pk_grow(b->a, out->v, sizeof *out->v, out->n, cap);
    out->v[out->n] = kernel_of(b, &part, from);
    out->v[out->n++].continued = o->counted;
    o->counted = true;
}

/* Operators without the time of those within them: what is left of each, in parts. */
static void take_own_times(struct building *b, const struct pk_marks *marks, struct pk_trace *out)
{
    struct pk_import_trace_spans *ops = &b->t->of[PK_IMPORT_TRACE_OP];
    struct open_op *open = pk_new_n(b->a, struct open_op, ops->n + 1);
    size_t depth = 0, cap = 1;
    int64_t until = INT64_MIN;
    *out = (struct pk_trace){.v = pk_new(b->a, struct pk_kernel)};
    sort(ops, by_thread);
    for (size_t i = 0; i <= ops->n; i++) {
        const struct pk_import_trace_span *op = i < ops->n ? &ops->v[i] : NULL;
        if (op && !within(b, op->begin_ns))
            continue;
        while (depth &&
               (!op || op->lane != open[depth - 1].op->lane || op->begin_ns >= open[depth - 1].end_ns)) {
            add_part(b, &open[depth - 1], until, open[depth - 1].end_ns, out, &cap);
            until = open[--depth].end_ns;
        }
        if (!op)
            break;
        if (depth)
            add_part(b, &open[depth - 1], until, op->begin_ns, out, &cap);
        const int64_t limit = depth ? open[depth - 1].end_ns : op->end_ns;
        open[depth++] = (struct open_op){op, op->end_ns < limit ? op->end_ns : limit, false};
        until = op->begin_ns;
    }
    pk_breakdown_regions(out->v, out->n, marks);
}

/* Operators as they were, for the timeline. */
static void take_ops(struct building *b, struct pk_kernel **v, size_t *n)
{
    struct pk_import_trace_spans *ops = &b->t->of[PK_IMPORT_TRACE_OP];
    *v = pk_new_n(b->a, struct pk_kernel, ops->n + 1);
    sort(ops, by_begin);
    for (size_t i = 0; i < ops->n && *n < PK_SPANS_NOTED; i++)
        if (within(b, ops->v[i].begin_ns)) {
            (*v)[*n] = kernel_of(b, &ops->v[i], ops->v[i].begin_ns);
            (*v)[(*n)++].lane = PK_LANE_HOST;
        }
}

/* --- cases ------------------------------------------------------------------------------------------------------------- */

/* Regions by their names: a sample for each occurrence, on the host. */
static void add_samples(struct building *b, struct pk_imported_case *c)
{
    struct pk_import_reader *r = b->t->r;
    const struct pk_import_trace_spans *steps = &b->t->of[PK_IMPORT_TRACE_STEP],
                                       *ranges = &b->t->of[PK_IMPORT_TRACE_RANGE];
    const struct pk_import_trace_span whole = {.begin_ns = b->begin_ns, .end_ns = b->end_ns};
    struct pk_imported_metric *m[PK_REGIONS_MAX];
    size_t n = 0;
    for (size_t i = 0; i < b->n_regions; i++) {
        const bool taken = i != WHOLE && strcmp(b->regions[i].name, b->regions[WHOLE].name) == 0;
        const struct pk_metric_decl decl =
            PK_IMPORT_TIME(pk_printf(r->a, "%s%s_ns", b->regions[i].name, taken ? " range" : ""), "median");
        pk_import_metric(r, c, &decl);
    }
    for (size_t i = 0; i < b->n_regions && !r->failed; i++)
        m[i] = &c->metrics[i];
    for (size_t i = 0; i < (b->stepped ? steps->n : 1) && !r->failed; i++) {
        const struct pk_import_trace_span *s = b->stepped ? &steps->v[i] : &whole;
        pk_import_sample(r, m[WHOLE], (int64_t)i, (double)(s->end_ns - s->begin_ns));
    }
    for (size_t i = 0; i < ranges->n && !r->failed; i++)
        if ((n = region_of(b, ranges->v[i].name)) != WHOLE)
            pk_import_sample(r, m[n], (int64_t)m[n]->n,
                             (double)(ranges->v[i].end_ns - ranges->v[i].begin_ns));
}

static void add_notes(struct building *b, struct pk_imported_case *c, const struct pk_trace *pieces,
                      struct pk_spans *spans)
{
    struct pk_arena *a = b->t->r->a;
    struct pk_breakdown breakdown;
    struct pk_named_kernels named;
    struct pk_note *notes = pk_new_n(a, struct pk_note, 2);
    pk_breakdown_make(pieces, b->a, &breakdown);
    pk_kernels_by_name(pieces, b->a, &named);
    PK_JSON_CLEANUP json_t *sums = pk_breakdown_json(&breakdown, &named, region_name, b);
    PK_JSON_CLEANUP json_t *times = pk_spans_json(spans, region_name, b, b->a);
    notes[0] = (struct pk_note){"breakdown", pk_json_text(a, sums, PK_JSON_COMPACT)};
    notes[1] = (struct pk_note){"trace", pk_json_text(a, times, PK_JSON_COMPACT)};
    c->trace = notes;
    c->n_trace = 2;
}

/* Of a device; -1: of the host. */
static void add_case(struct pk_import_trace *t, const json_t *axes, int64_t device)
{
    PK_ARENA_CLEANUP struct pk_arena own = {0};
    struct building b = {.t = t, .a = &own};
    struct pk_marks marks;
    struct pk_trace pieces, calls = {0}; /* operators declare no work */
    struct pk_imported_case *c = pk_import_new_case(
        t->r, "trace", device < 0 ? "cpu" : pk_printf(t->r->a, "cuda:%lld", (long long)device), axes);
    choose_window(&b);
    choose_regions(&b);
    make_marks(&b, &marks);
    if (device < 0)
        take_own_times(&b, &marks, &pieces);
    else if (take_pieces(&b, device, &marks, &pieces))
        pieces.ops = &calls; /* gaps are split at the launches */
    struct pk_spans spans = {.marks = marks.v, .n_marks = marks.n, .begin_ns = (uint64_t)ORIGIN_NS};
    spans.launched = device >= 0;
    spans.pieces = pieces.v;
    spans.n_pieces = pieces.n < PK_SPANS_NOTED ? pieces.n : PK_SPANS_NOTED;
    if (device < 0) {
        spans.n_pieces = 0;
        take_ops(&b, &spans.pieces, &spans.n_pieces);
    } else if (spans.n_pieces + t->of[PK_IMPORT_TRACE_OP].n < PK_SPANS_NOTED)
        take_ops(&b, &spans.ops, &spans.n_ops);
    if (t->r->failed)
        return;
    add_samples(&b, c);
    add_notes(&b, c, &pieces, &spans);
}

void pk_import_trace_finish(struct pk_import_trace *t, const json_t *axes)
{
    int64_t devices[DEVICES_MAX];
    size_t n = 0;
    const struct pk_import_trace_spans *pieces = &t->of[PK_IMPORT_TRACE_PIECE];
    if (!t->r->failed && !pieces->n && !t->of[PK_IMPORT_TRACE_OP].n)
        pk_import_problem(t->r, "there is no kernel and no operator in it");
    for (size_t i = 0; i < pieces->n && !t->r->failed; i++) {
        size_t at = 0;
        while (at < n && devices[at] != pieces->v[i].device)
            at++;
        if (at == DEVICES_MAX)
            pk_import_problem(t->r, "more than %d devices", DEVICES_MAX);
        else if (at == n)
            devices[n++] = pieces->v[i].device;
    }
    sort(&t->of[PK_IMPORT_TRACE_LAUNCH], by_launch);
    sort(&t->of[PK_IMPORT_TRACE_RANGE], by_begin);
    for (size_t i = 0; i < n && !t->r->failed; i++) {
        PK_JSON_CLEANUP json_t *own = axes ? json_deep_copy(axes) : json_object();
        if (n > 1)
            json_object_set_new(own, "gpu", json_integer(devices[i]));
        add_case(t, own, devices[i]);
    }
    if (!n && !t->r->failed)
        add_case(t, axes, -1);
}
