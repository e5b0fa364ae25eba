/* Breakdown: kernels to regions, then sums, unions and gaps of their intervals. */
#include "counter/breakdown.h"

#include "base/err.h"
#include "device/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of sums: the total, the regions of the marks, what is of none. */
enum { TOTAL = 0, FIRST_REGION = 1, NONE = FIRST_REGION + PK_REGIONS_MAX, ROWS };

static int by_launch(const void *a, const void *b)
{
    const struct pk_kernel *x = a, *y = b;
    return (x->launched_ns > y->launched_ns) - (x->launched_ns < y->launched_ns);
}

/* Marks are in the order they began. The stack holds those that may still be open; one that ended below another that did not is
 * passed over, and dropped when it comes to the top. */
void pk_breakdown_regions(struct pk_kernel *v, size_t n, const struct pk_marks *marks)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    uint32_t *stack = pk_new_n(&a, uint32_t, marks->n + 1);
    size_t depth = 0, next = 0;
    qsort(v, n, sizeof *v, by_launch);
    for (size_t i = 0; i < n; i++) {
        const uint64_t t = v[i].launched_ns;
        if (v[i].placed)
            continue;
        v[i].region = PK_NO_REGION;
        v[i].occurrence = 0;
        while (t && next < marks->n && marks->v[next].begin_host_ns <= t)
            stack[depth++] = (uint32_t)next++;
        while (depth && marks->v[stack[depth - 1]].end_host_ns <= t)
            depth--;
        if (t && depth) { /* the top is open, and began last */
            v[i].region = marks->v[stack[depth - 1]].region;
            v[i].occurrence = stack[depth - 1];
        }
    }
}

/* Ops do not overlap: only the one that began last can contain the launch. A replay has length 0 and contains none. */
void pk_breakdown_families(struct pk_kernel *v, size_t n, const struct pk_trace *ops)
{
    size_t next = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t t = v[i].launched_ns;
        while (next < ops->n && ops->v[next].begin_ns <= t)
            next++;
        if (t && next && t < ops->v[next - 1].end_ns)
            v[i].family = ops->v[next - 1].family;
    }
}

static size_t row_of(int region)
{
    pk_assert(region >= PK_NO_REGION && region < PK_REGIONS_MAX);
    return region == PK_NO_REGION ? NONE : FIRST_REGION + (size_t)region;
}

/* By region, then occurrence, then time: an occurrence's kernels are adjacent. */
static int by_occurrence(const void *a, const void *b)
{
    const struct pk_kernel *x = *(const struct pk_kernel *const *)a, *y = *(const struct pk_kernel *const *)b;
    if (x->region != y->region)
        return (x->region > y->region) - (x->region < y->region);
    if (x->occurrence != y->occurrence)
        return (x->occurrence > y->occurrence) - (x->occurrence < y->occurrence);
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

static int by_begin(const void *a, const void *b)
{
    const struct pk_kernel *x = *(const struct pk_kernel *const *)a, *y = *(const struct pk_kernel *const *)b;
    return (x->begin_ns > y->begin_ns) - (x->begin_ns < y->begin_ns);
}

/* Adds union and gaps of kernels that are sorted by begin: one occurrence, or the whole iteration. */
static void add_union(struct pk_region_time *r, const struct pk_kernel *const *v, size_t n)
{
    uint64_t until = v[0]->begin_ns;
    for (size_t i = 0; i < n; i++) {
        const uint64_t begin = v[i]->begin_ns > until ? v[i]->begin_ns : until;
        const uint64_t launched = v[i]->launched_ns;
        r->gap_ns += begin - until;
        if (launched) {
            const uint64_t asked = launched < until ? until : launched > begin ? begin : launched;
            r->host_ns += asked - until;
            r->launch_ns += begin - asked;
        }
        if (v[i]->end_ns > begin) {
            r->busy_ns += v[i]->end_ns - begin;
            until = v[i]->end_ns;
        } else {
            until = begin;
        }
    }
    r->occurrences++;
}

static void add_unions(struct pk_region_time *rows, const struct pk_trace *t, struct pk_arena *a)
{
    const struct pk_kernel **v = pk_new_n(a, const struct pk_kernel *, t->n + 1);
    for (size_t i = 0; i < t->n; i++)
        v[i] = &t->v[i];
    qsort(v, t->n, sizeof *v, by_begin);
    if (t->n)
        add_union(&rows[TOTAL], v, t->n);
    qsort(v, t->n, sizeof *v, by_occurrence);
    for (size_t i = 0, end; i < t->n; i = end) {
        for (end = i + 1;
             end < t->n && v[end]->region == v[i]->region && v[end]->occurrence == v[i]->occurrence;)
            end++;
        add_union(&rows[row_of(v[i]->region)], v + i, end - i);
    }
}

static uint64_t length_ns(const struct pk_kernel *k)
{
    return k->end_ns > k->begin_ns ? k->end_ns - k->begin_ns : 0;
}

static void add_kernel(struct pk_region_time *r, const struct pk_kernel *k)
{
    r->calls += !k->continued;
    r->time_ns += length_ns(k);
    r->copied_bytes += k->copied_bytes;
}

static void add_to_family(struct pk_family_time *f, const struct pk_kernel *k)
{
    f[k->family].calls += !k->continued;
    f[k->family].time_ns += length_ns(k);
}

static int longest_first(const void *a, const void *b)
{
    const struct pk_family_time *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
    return (int)x->family - (int)y->family;
}

static bool declares(struct pk_declared d)
{
    return d.flops > 0 || d.bytes > 0;
}

static void add_declared(struct pk_declared *to, struct pk_declared d)
{
    to->flops += d.flops;
    to->bytes += d.bytes;
}

/* Adds declared work to the rows of the kernels. Returns whether attention's products were folded into gemm. */
static bool declare(const struct pk_trace *ops, struct pk_family_time (*sums)[PK_FAMILIES])
{
    bool folded = false;
    for (size_t i = 0; i < ops->n; i++)
        add_declared(&sums[row_of(ops->v[i].region)][ops->v[i].family].declared, ops->v[i].declared);
    for (size_t row = FIRST_REGION; row < ROWS; row++) {
        struct pk_family_time *products = &sums[row][PK_FAMILY_ATTENTION_MATMUL];
        struct pk_family_time *gemm = &sums[row][PK_FAMILY_GEMM];
        /* Where no kernel is known as one of attention's products, those of gemm are theirs, too. */
        if (!products->calls && gemm->calls && declares(products->declared)) {
            add_declared(&gemm->declared, products->declared);
            products->declared = (struct pk_declared){0};
            folded = true;
        }
        for (int k = 0; k < PK_FAMILIES; k++)
            add_declared(&sums[TOTAL][k].declared, sums[row][k].declared);
    }
    return folded;
}

/* Copies the families with calls or declared work to out. Returns how many. */
static size_t take_families(struct pk_family_time *f, const struct pk_region_time *r,
                            struct pk_family_time *out)
{
    size_t n = 0;
    for (int k = 0; k < PK_FAMILIES; k++)
        if (f[k].calls || declares(f[k].declared)) {
            out[n] = f[k];
            out[n].region = r->region;
            out[n].family = (enum pk_kernel_family)k;
            out[n++].share = r->time_ns ? (double)f[k].time_ns / (double)r->time_ns : 0;
        }
    qsort(out, n, sizeof *out, longest_first);
    return n;
}

void pk_breakdown_make(const struct pk_trace *t, struct pk_arena *a, struct pk_breakdown *out)
{
    struct pk_family_time(*sums)[PK_FAMILIES] = pk_alloc_n(a, ROWS, sizeof *sums);
    struct pk_region_time *rows = pk_new_n(a, struct pk_region_time, ROWS);
    struct pk_family_time *families = pk_new_n(a, struct pk_family_time, ROWS * PK_FAMILIES);
    for (size_t i = 0; i < t->n; i++) {
        const size_t row = row_of(t->v[i].region);
        add_to_family(sums[TOTAL], &t->v[i]);
        add_to_family(sums[row], &t->v[i]);
        add_kernel(&rows[TOTAL], &t->v[i]);
        add_kernel(&rows[row], &t->v[i]);
    }
    add_unions(rows, t, a);
    *out = (struct pk_breakdown){.families = families,
                                 .regions = rows,
                                 .whole = t->dropped == 0 && (!t->ops || t->ops->dropped == 0),
                                 .launched = t->ops != NULL,
                                 .folded = declare(t->ops ? t->ops : t, sums)};
    memcpy(out->overhead, t->overhead, sizeof out->overhead);
    for (size_t row = 0; row < ROWS; row++) {
        rows[row].region = row == TOTAL ? PK_WHOLE : row == NONE ? PK_NO_REGION : (int)(row - FIRST_REGION);
        const size_t n = take_families(sums[row], &rows[row], families + out->n_families);
        if (!n)
            continue;
        out->n_families += n;
        rows[out->n_regions++] = rows[row];
    }
}

/* Kernels are sorted by launch time; occurrences of a region do not overlap. */
struct pk_region_time pk_breakdown_within(const struct pk_trace *t, const struct pk_marks *marks,
                                          unsigned region)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_kernel **v = pk_new_n(&a, const struct pk_kernel *, t->n + 1);
    struct pk_region_time sum = {.region = (int)region};
    size_t next = 0;
    for (size_t i = 0; i < marks->n; i++) {
        const struct pk_mark *m = &marks->v[i];
        size_t n = 0;
        for (; m->region == region && next < t->n && t->v[next].launched_ns < m->end_host_ns; next++)
            if (t->v[next].launched_ns && t->v[next].launched_ns >= m->begin_host_ns) {
                add_kernel(&sum, &t->v[next]);
                v[n++] = &t->v[next];
            }
        qsort(v, n, sizeof *v, by_begin);
        if (n)
            add_union(&sum, v, n);
    }
    return sum;
}

/* --- kernels of captured graphs: to the regions marked in them, by where both lie on the lane ------------------------- */

static const double DRIFT_MAX = 100e-6; /* of a computer's clock and a GPU's */

/* On the lane, from where the first of them begins. */
struct lane_span {
    double begin_ns, end_ns;
};

static bool launched(const struct pk_kernel *k, const struct pk_mark *m)
{
    return k->launched_ns >= m->begin_host_ns && k->launched_ns < m->end_host_ns;
}

/* Converts a time of the kernels' clock to a position on the lane. */
struct scale {
    double first_ns; /* when the first kernel began */
    double before;   /* its place */
    double stretch;
};

/* The clocks have different origins, and one may be faster. A difference between the spans of marks and kernels is drift, up to the
 * largest drift of clocks; the rest of the marks' span is divided equally before and after the kernels. */
static struct scale scale_of(const struct pk_kernel *v, size_t n, const struct pk_mark *m,
                             const struct lane_span *s, size_t n_spans)
{
    double first = 0, last = 0, end = 0;
    bool any = false;
    for (size_t i = 0; i < n; i++)
        if (launched(&v[i], m)) {
            first = !any || (double)v[i].begin_ns < first ? (double)v[i].begin_ns : first;
            last = (double)v[i].end_ns > last ? (double)v[i].end_ns : last;
            any = true;
        }
    for (size_t i = 0; i < n_spans; i++)
        end = s[i].end_ns > end ? s[i].end_ns : end;
    const double span = last - first, beyond = end - span;
    const double drift = fmin(fmax(beyond, -DRIFT_MAX * span), DRIFT_MAX * span);
    return (struct scale){first, fmax(beyond - drift, 0) / 2, span > 0 ? 1 + drift / span : 1};
}

void pk_breakdown_replayed(struct pk_kernel *v, size_t n, struct pk_device *dev)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_mark *m = dev->marks.v;
    size_t n_spans = 0;
    while (n_spans < dev->marks.n && m->begin_host_ns == m[n_spans].begin_host_ns &&
           m->end_host_ns == m[n_spans].end_host_ns)
        n_spans++;
    if (n_spans < 2 || !dev->ops->elapsed_ns)
        return;
    struct lane_span *s = pk_new_n(&a, struct lane_span, n_spans);
    for (size_t i = 0; i < n_spans; i++) {
        s[i].begin_ns = i ? (double)dev->ops->elapsed_ns(dev, m->begin_slot, m[i].begin_slot) : 0;
        s[i].end_ns = (double)dev->ops->elapsed_ns(dev, m->begin_slot, m[i].end_slot);
    }
    const struct scale scale = scale_of(v, n, m, s, n_spans);
    for (size_t i = 0; i < n; i++) {
        const double middle = ((double)v[i].begin_ns + (double)v[i].end_ns) / 2;
        const double at = scale.before + (middle - scale.first_ns) * scale.stretch;
        for (size_t k = n_spans; launched(&v[i], m) && k-- > 0;)
            if (at >= s[k].begin_ns && at < s[k].end_ns) {
                v[i].region = m[k].region;
                v[i].occurrence = (uint32_t)k;
                break;
            }
    }
}
