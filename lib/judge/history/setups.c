/* Setups: which runs were measured under the same conditions. */
#include "judge/history/parts.h"

#include <string.h>

static bool same_text(const struct pk_run_facts *x, const struct pk_run_facts *y)
{
    return !strcmp(x->machine, y->machine) && !strcmp(x->settings, y->settings) && !strcmp(x->said, y->said);
}

static bool same_setup(const struct pk_run_facts *x, const struct pk_run_facts *y, struct pk_arena *a)
{
    const char *const *differences;
    return same_text(x, y) || !pk_compare_setups(x, y, a, &differences);
}

size_t pk_history_setups(const struct pk_history_run *runs, size_t n, size_t *setup_of, struct pk_arena *a,
                         const struct pk_setup **setups)
{
    struct pk_setup *v = pk_new_n(a, struct pk_setup, n + 1);
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < found && !same_setup(&runs[v[k].first].facts, &runs[i].facts, a))
            k++;
        if (k == found) {
            v[found] = (struct pk_setup){.first = i};
            if (found)
                v[found].n_differences = pk_compare_setups(&runs[v[found - 1].first].facts, &runs[i].facts, a,
                                                           &v[found].differences);
            found++;
        }
        v[k].runs++;
        setup_of[i] = k + 1;
    }
    *setups = v;
    return found;
}
