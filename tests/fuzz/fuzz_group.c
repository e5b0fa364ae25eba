/* Groups of counters: refused in three parts, or metrics that have a finite value or say why they have none. */
#include "counter/group.h"
#include "fuzz.h"

#include <math.h>

/* Every name 0, then every one another number, then the first not known. */
static void evaluate(const struct pk_formula *f, struct pk_arena *a)
{
    double *values = pk_new_n(a, double, f->n_names + 1);
    for (int round = 0; round < 3; round++) {
        const char *missing;
        for (size_t i = 0; i < f->n_names; i++)
            values[i] = round == 0 ? 0 : round == 2 && i == 0 ? NAN : (double)(i + 1);
        const double v = pk_formula_value(f, values, a, &missing);
        pk_assert(missing ? isnan(v) && *missing : isfinite(v));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_group g;
    if (pk_group_parse("g", pk_strndup(&a, (const char *)data, n), &a, &g, &err)) {
        pk_fuzz_refusal(&err);
        return 0;
    }
    pk_assert(g.title && g.n_required && g.n_required <= g.n_events);
    for (size_t i = 0; i < g.n_metrics; i++)
        evaluate(g.metrics[i].formula, &a);
    return 0;
}
