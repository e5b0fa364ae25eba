/* Rank: judged rows in the order of their importance, and counted. */
#include "judge/pair/pair.h"

#include <math.h>
#include <stdlib.h>

static int gravity(const struct pk_compared *c)
{
    static const int ranks[] = {
        [PK_SLOWER] = 0,    [PK_FASTER] = 1, [PK_UNSTABLE] = 2,
        [PK_UNDECIDED] = 3, [PK_SAME] = 4,   [PK_UNREPLICATED] = 5,
    };
    return c->judged ? ranks[c->decision.verdict] : 6;
}

/* How far from 1; cases without a verdict keep their order, which is the experiment's. */
static double size(const struct pk_compared *c)
{
    if (gravity(c) >= 4 || !(c->ratio.ratio > 0))
        return 0;
    return fabs(log(c->ratio.ratio));
}

struct placed {
    struct pk_compared row;
    size_t place;
};

static int by_gravity(const void *x, const void *y)
{
    const struct placed *a = x, *b = y;
    int d = gravity(&a->row) - gravity(&b->row);
    double s = size(&b->row) - size(&a->row);
    return d ? d : s < 0 ? -1 : s > 0 ? 1 : (a->place > b->place) - (a->place < b->place);
}

void pk_compare_sort(struct pk_compared *v, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct placed *p = pk_new_n(&a, struct placed, n + 1);
    for (size_t i = 0; i < n; i++)
        p[i] = (struct placed){v[i], i};
    if (n)
        qsort(p, n, sizeof *p, by_gravity);
    for (size_t i = 0; i < n; i++)
        v[i] = p[i].row;
}

static bool refused(const struct pk_decision *d)
{
    return d->verdict == PK_UNREPLICATED || d->verdict == PK_UNSTABLE || d->reason == PK_REASON_MORE_PAIRS ||
           d->reason == PK_REASON_NEEDS_ABSOLUTE;
}

struct pk_verdicts pk_compare_count(const struct pk_comparison *c)
{
    struct pk_verdicts v = {0};
    for (size_t i = 0; i < c->n; i++) {
        if (!c->v[i].judged)
            continue;
        v.rows++;
        v.of[c->v[i].decision.verdict]++;
        v.refused += refused(&c->v[i].decision);
    }
    return v;
}
