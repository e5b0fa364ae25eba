/* Family: what all cases together suggest, when one cause would explain them. */
#include "stats/verdict/verdict.h"

#include "base/arena.h"
#include "stats/parts.h"

#include <math.h>

struct pk_family pk_look_at_family(const struct pk_decision *d, size_t n, const struct pk_rule *rule)
{
    enum { FEWEST = 5 }; /* fewer cases move together by chance */
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_family f = {.shift = NAN};
    double *logs = pk_new_n(&a, double, n + 1), *scratch = pk_new_n(&a, double, n + 1),
           margin = log1p(rule->min_effect);
    size_t m = 0, up = 0;
    for (size_t i = 0; i < n; i++) {
        f.suspected += d[i].suspected != 0;
        if (!d[i].absolute && d[i].pairs > 0) {
            up += d[i].ratio > 1;
            logs[m++] = log(d[i].ratio);
        }
    }
    f.crowded = n >= FEWEST && 10 * f.suspected > 3 * n;
    if (!m)
        return f;
    double spread = pk_mad(logs, m, scratch), median = pk_median_of(logs, m);
    bool one_way = 10 * up > 8 * m || 10 * (m - up) > 8 * m;
    f.shift = exp(median);
    f.uniform = m >= FEWEST && one_way && fabs(median) > margin / 2 && spread < margin / 4;
    return f;
}
