/* Thresholds: refused in three parts, or a size that is positive, of a metric that is named; applied to a row without harm. */
#include "fuzz.h"
#include "judge/criteria/criteria.h"

#include <math.h>

static void apply(const struct pk_threshold *t)
{
    const struct pk_figures f = {
        .variant = "flash", .axes = "{\"n\":1}", .metric = "work_ns", .unit = "ns", .class = "time"};
    struct pk_compared row = {.base = &f, .new_ = &f};
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_errs wrong = {.arena = &a};
    const struct pk_expected_rows rows = {.rows = &row, .n = 1, .criteria = {.own = t, .n_own = 1}};
    pk_criteria_apply(&rows.criteria, &row, 1);
    pk_assert(!row.threshold || row.threshold == t);
    struct pk_err err = {0};
    if (pk_expected_rows_check(&rows, 1, false, &wrong, &err))
        pk_fuzz_refusal(&err);
    else
        pk_assert(row.threshold == t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_threshold t;
    if (pk_threshold_parse(pk_strndup(&a, (const char *)data, n), &a, &t, &err)) {
        pk_fuzz_refusal(&err);
        return 0;
    }
    pk_assert(*t.metric && t.where && (t.min_effect > 0 || t.min_change > 0));
    pk_assert(isfinite(t.min_effect) && isfinite(t.min_change) && t.min_effect >= 0 && t.min_change >= 0);
    apply(&t);
    return 0;
}
