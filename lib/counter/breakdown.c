/* Breakdown: kernels to regions, then sums, unions and gaps of their intervals. */
#include "counter/breakdown.h"

#include "base/assert.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows of sums: the total, the regions of the marks, what is of none. */
enum { TOTAL = 0, FIRST_REGION = 1, NONE = FIRST_REGION + PK_REGIONS_MAX, ROWS };

static int by_asked(const void *a, const void *b)
{
    const struct pk_kernel *x = a, *y = b;
    return (x->asked_ns > y->asked_ns) - (x->asked_ns < y->asked_ns);
}

/* Marks are in the order they began. The stack holds those that may still be open; one that ended below another that did not is
 * passed over, and dropped when it comes to the top. */
void pk_breakdown_regions(struct pk_kernel *v, size_t n, const struct pk_marks *marks)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    uint32_t *stack = pk_new_n(&a, uint32_t, marks->n + 1);
    size_t depth = 0, next = 0;
    qsort(v, n, sizeof *v, by_asked);
    for (size_t i = 0; i < n; i++) {
        const uint64_t t = v[i].asked_ns;
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

static size_t row_of(int region)
{
    pk_assert(region >= PK_NO_REGION && region < PK_REGIONS_MAX);
    return region == PK_NO_REGION ? NONE : FIRST_REGION + (size_t)region;
}

static int region_of(size_t row)
{
    return row == TOTAL ? PK_WHOLE : row == NONE ? PK_NO_REGION : (int)(row - FIRST_REGION);
}

/* By region, then occurrence, then time: an occurrence's kernels lie together. */
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
        r->gap_ns += begin - until;
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

static void add_kernel(struct pk_family_time *f, struct pk_region_time *r, const struct pk_kernel *k)
{
    const uint64_t ns = k->end_ns > k->begin_ns ? k->end_ns - k->begin_ns : 0;
    f[k->family].calls++;
    f[k->family].time_ns += ns;
    f[k->family].bytes += k->bytes;
    r->calls++;
    r->time_ns += ns;
}

static int longest_first(const void *a, const void *b)
{
    const struct pk_family_time *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return (x->time_ns < y->time_ns) - (x->time_ns > y->time_ns);
    return (int)x->family - (int)y->family;
}

/* Moves the families that were called to out, and says how many they are. */
static size_t take_families(struct pk_family_time *f, const struct pk_region_time *r,
                            struct pk_family_time *out)
{
    size_t n = 0;
    for (int k = 0; k < PK_FAMILIES; k++)
        if (f[k].calls) {
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
        add_kernel(sums[TOTAL], &rows[TOTAL], &t->v[i]);
        add_kernel(sums[row], &rows[row], &t->v[i]);
    }
    add_unions(rows, t, a);
    *out = (struct pk_breakdown){.families = families, .regions = rows, .whole = t->dropped == 0};
    for (size_t row = 0; row < ROWS; row++) {
        if (!rows[row].calls)
            continue;
        rows[row].region = region_of(row);
        out->n_families += take_families(sums[row], &rows[row], families + out->n_families);
        rows[out->n_regions++] = rows[row];
    }
}

double pk_breakdown_off(const struct pk_region_time *r, double timed_ns)
{
    return timed_ns > 0 ? ((double)r->busy_ns + (double)r->gap_ns) / timed_ns - 1 : NAN;
}
