/* Search: goes through the axes one after the other, each open one over the values that those before it leave. */
#include "model/parallel/search.h"

#include "base/text/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct divisors {
    int32_t *v;
    size_t n;
};

struct mesh_search {
    const struct pk_parallel_setup *s;
    const struct pk_mesh_request *r;
    int64_t chips;
    struct divisors divisors[3]; /* of the chips, the batch, the blocks */
    struct pk_mesh mesh;
    struct pk_arena *a;
    struct pk_parallel_candidate *found;
    size_t n, cap;
    bool first_fit, done; /* stop at the first mesh that fits; it was found, or there are too many */
    struct pk_mesh refused;
    const char *why;
};
enum { OF_CHIPS, OF_BATCH, OF_LAYERS };

static struct divisors divisors_of(int64_t of, struct pk_arena *a)
{
    struct divisors d = {0};
    size_t cap = 0;
    for (int64_t v = 1; v <= of && v <= 1 << 20; v++) {
        if (of % v)
            continue;
        if (d.n == cap)
            d.v = pk_grow(a, d.v, sizeof *d.v, d.n, &cap);
        d.v[d.n++] = (int32_t)v;
    }
    return d;
}

/* The values of an open axis: those of the list that divide `of`. */
struct open {
    const int32_t *v;
    size_t n;
    int64_t of; /* 0: all of them */
};

static struct open open_axis(const struct mesh_search *w, size_t axis, int64_t left)
{
    static const int32_t one[] = {1}, stages[] = {1, 2, 3}, full[] = {3}, off[] = {0}, on[] = {1};
    static const int32_t kinds[] = {PK_RECOMPUTE_NONE, PK_RECOMPUTE_BLOCK, PK_RECOMPUTE_SELECTIVE};
    const struct pk_mesh *m = &w->mesh;
    const struct divisors *d = w->divisors;
    switch (axis) {
    case PK_MESH_micro:
        if (w->chips)
            return (struct open){d[OF_BATCH].v, d[OF_BATCH].n, w->s->batch / ((int64_t)m->dp * m->fsdp)};
        break;
    case PK_MESH_interleave:
        if (w->chips && m->pp > 1 && w->s->shape.layers % m->pp == 0 && m->micro % m->pp == 0)
            return (struct open){d[OF_LAYERS].v, d[OF_LAYERS].n, w->s->shape.layers / m->pp};
        break;
    case PK_MESH_zero:
        return w->chips ? (struct open){stages, 3, 0} : (struct open){full, 1, 0};
    case PK_MESH_sp:
        return (struct open){m->tp > 1 ? on : off, 1, 0};
    case PK_MESH_recompute: /* an ffn has no norms and no scores */
        return (struct open){kinds, !w->chips ? 1 : w->s->shape.heads ? 3 : 2, 0};
    default:
        if (w->chips)
            return (struct open){d[OF_CHIPS].v, d[OF_CHIPS].n, left};
    }
    return (struct open){one, 1, 0};
}

/* The reason of the first mesh that is refused is kept. */
static bool refused(struct mesh_search *w, const struct pk_mesh *m)
{
    const char *why = pk_mesh_problem(w->s, m, NULL);
    if (why && !w->why)
        w->refused = *m, w->why = pk_mesh_problem(w->s, m, w->a);
    return why;
}

static void add(struct mesh_search *w)
{
    struct pk_parallel_values time, memory;
    pk_parallel_mesh(w->s, &w->mesh, &time, &memory);
    if (w->first_fit && memory.memory_bytes > w->s->memory_bytes)
        return;
    w->done = w->first_fit || w->n == PK_PARALLEL_CANDIDATES_MAX;
    if (w->n == w->cap)
        w->found = pk_grow(w->a, w->found, sizeof *w->found, w->n, &w->cap);
    w->found[w->n++] = (struct pk_parallel_candidate){w->mesh, time.step_ns, memory.memory_bytes};
}

/* Whatever open axes choose, the chips are arranged in a way that does not suit the model. */
static bool mesh_is_unsuitable(struct mesh_search *w)
{
    struct pk_mesh m = w->mesh;
    m.micro = m.interleave = 1, m.zero = 3, m.sp = 0, m.recompute = 0;
    return refused(w, &m);
}

static void walk_axis(struct mesh_search *w, size_t axis, int64_t left);

static void take(struct mesh_search *w, size_t axis, int64_t left, int64_t v)
{
    const bool factor = w->chips && axis < PK_MESH_PRODUCT_AXES;
    if (factor && left % v)
        return;
    *pk_mesh_value(&w->mesh, axis) = (int32_t)v;
    walk_axis(w, axis + 1, factor ? left / v : left);
}

static void walk_axis(struct mesh_search *w, size_t axis, int64_t left)
{
    if (axis == PK_MESH_AXES_N) {
        add(w);
        return;
    }
    if (axis == PK_MESH_PRODUCT_AXES && ((w->chips && left != 1) || mesh_is_unsuitable(w)))
        return;
    /* What is recomputed suits every mesh: the others are decided. */
    if (axis == PK_MESH_recompute) {
        w->mesh.recompute = PK_RECOMPUTE_NONE;
        if (refused(w, &w->mesh))
            return;
    }
    /* Nothing is divided among one shard: of the stages the first stands for all. */
    const bool same = axis == PK_MESH_zero && w->mesh.fsdp * w->mesh.cp == 1;
    const struct pk_sweep *given = &w->r->axis[axis];
    for (size_t i = 0; i < given->n && !w->done && !(same && i); i++)
        take(w, axis, left, given->v[i].i);
    if (given->n)
        return;
    const struct open o = open_axis(w, axis, left);
    for (size_t i = 0; i < o.n && !w->done && !(same && i); i++)
        if (!o.of || o.of % o.v[i] == 0)
            take(w, axis, left, o.v[i]);
}

static void walk(struct mesh_search *w, int64_t chips)
{
    w->chips = chips;
    w->divisors[OF_CHIPS] = divisors_of(chips, w->a);
    walk_axis(w, 0, chips);
}

static int by_number(double a, double b)
{
    return (a > b) - (a < b);
}

/* qsort has no argument for the limit: candidates that do not fit have a negative time while they are sorted. */
static int by_rank(const void *a, const void *b)
{
    const struct pk_parallel_candidate *x = a, *y = b;
    const bool misfit = x->step_ns < 0;
    if (misfit != (y->step_ns < 0))
        return misfit ? 1 : -1;
    const int time = misfit ? 0 : by_number(x->step_ns, y->step_ns);
    const int memory = time ? time : by_number(x->memory_bytes, y->memory_bytes);
    return memory ? memory : memcmp(&x->mesh, &y->mesh, sizeof x->mesh);
}

static void rank(struct mesh_search *w, struct pk_parallel_ranking *out)
{
    *out = (struct pk_parallel_ranking){.v = w->found, .n = w->n};
    for (size_t i = 0; i < w->n; i++) {
        if (w->found[i].memory_bytes > w->s->memory_bytes)
            w->found[i].step_ns *= -1;
        else
            out->fitting++;
    }
    qsort(w->found, w->n, sizeof *w->found, by_rank);
    for (size_t i = out->fitting; i < w->n; i++)
        w->found[i].step_ns *= -1;
}

static enum pk_code no_mesh(const struct mesh_search *w, struct pk_err *err)
{
    if (w->n > PK_PARALLEL_CANDIDATES_MAX) {
        pk_fail(err, PK_E_USAGE, "%lld chips have more than %d meshes", (long long)w->chips,
                PK_PARALLEL_CANDIDATES_MAX);
        pk_why(err, "every combination of the axes that are left open is a mesh");
        return pk_fix(err, "leave fewer open: --zero 3 --recompute none --tp 1,2,4,8");
    }
    if (w->chips)
        pk_fail(err, PK_E_USAGE, "no mesh of %lld chips has these axes", (long long)w->chips);
    else
        pk_fail(err, PK_E_USAGE, "the mesh does not suit the model or the batch");
    if (!w->why) {
        pk_why(err, "the values of dp, fsdp, tp, cp and pp do not multiply to %lld", (long long)w->chips);
        return pk_fix(err, "leave one of these axes out, or choose --chips as a multiple of their product");
    }
    pk_why(err, "for example %s: %s", pk_mesh_text(&w->refused, w->a), w->why);
    return pk_fix(err, "choose other axes, another --batch or --seq, or another number of chips");
}

/* The least number of chips with a mesh that fits, beyond those that were tried. */
static enum pk_code nothing_fits(struct mesh_search *w, struct pk_err *err)
{
    char need[32], limit[32];
    const struct pk_parallel_candidate best = w->found[0];
    struct mesh_search more = {.s = w->s, .r = w->r, .a = w->a, .first_fit = true};
    memcpy(more.divisors, w->divisors, sizeof more.divisors);
    int64_t chips = w->chips;
    while (!more.n && chips < PK_PARALLEL_CHIPS_MAX) {
        more.done = false;
        walk(&more, ++chips);
    }
    pk_fail(err, PK_E_NOTHING, "no mesh of %lld chips fits in %s", (long long)w->chips,
            pk_format_bytes((int64_t)w->s->memory_bytes, limit, sizeof limit));
    pk_why(err, "the smallest needs %s a chip: %s",
           pk_format_bytes((int64_t)fmin(best.memory_bytes, 0x1p62), need, sizeof need),
           pk_mesh_text(&best.mesh, w->a));
    if (!more.n)
        return pk_fix(
            err, "more memory, a smaller --batch or --seq, or fewer fixed axes: up to %d chips do not fit",
            PK_PARALLEL_CHIPS_MAX);
    return pk_fix(err, "--chips %lld, the least that fits (%s)", (long long)chips,
                  pk_mesh_text(&more.found[0].mesh, w->a));
}

static enum pk_code search(const struct pk_parallel_setup *s, const struct pk_mesh_request *r,
                           struct pk_arena *a, struct pk_parallel_ranking *out, struct pk_err *err)
{
    struct mesh_search w = {.s = s, .r = r, .a = a};
    w.divisors[OF_BATCH] = divisors_of(s->batch, a);
    w.divisors[OF_LAYERS] = divisors_of(s->shape.layers, a);
    walk(&w, r->chips);
    if (!w.n || w.n > PK_PARALLEL_CANDIDATES_MAX)
        return no_mesh(&w, err);
    rank(&w, out);
    return r->chips && !out->fitting ? nothing_fits(&w, err) : PK_OK;
}

static bool is_open(const struct pk_mesh_request *r)
{
    size_t given = r->chips > 0;
    for (size_t i = 0; i < PK_MESH_AXES_N; i++)
        given += r->axis[i].n;
    return !given;
}

enum pk_code pk_parallel_search(const struct pk_parallel_setup *s, const struct pk_mesh_request *r,
                                struct pk_arena *a, struct pk_parallel_ranking *out, struct pk_err *err)
{
    const struct pk_mesh_request more = {.chips = PK_PARALLEL_CHIPS_DEFAULT};
    struct pk_parallel_ranking of_more;
    struct pk_err none;
    enum pk_code rc = search(s, r, a, out, err);
    if (rc || out->fitting || !is_open(r))
        return rc;
    if (search(s, &more, a, &of_more, &none)) {
        out->note = pk_printf(a, "A step does not fit on one chip, and %s: %s. Try %s.", none.what, none.why,
                              none.fix);
        return PK_OK;
    }
    *out = of_more;
    out->note = pk_printf(
        a, "A step does not fit on one chip: these are the meshes of %d (--chips N: of another number).",
        PK_PARALLEL_CHIPS_DEFAULT);
    return PK_OK;
}

struct pk_interval pk_parallel_ratio(const struct pk_parallel_setup *s, const struct pk_mesh *m,
                                     const struct pk_mesh *than)
{
    struct pk_parallel_values a, b;
    struct pk_interval ratio = {INFINITY, 0};
    for (unsigned c = 0; c < PK_PARALLEL_CORNERS; c++) {
        if (pk_parallel_corner_repeats(s, c))
            continue;
        pk_parallel_corner(s, m, c, &a);
        pk_parallel_corner(s, than, c, &b);
        ratio.lo = fmin(ratio.lo, a.step_ns / b.step_ns);
        ratio.hi = fmax(ratio.hi, a.step_ns / b.step_ns);
    }
    return ratio;
}
