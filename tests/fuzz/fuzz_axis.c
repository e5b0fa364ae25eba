/* "name=sweep" over a table with every type of axis: refused in three parts, or values in range, without repeats, that
 * read back from their own text. */
#include "../unit/opt/axes.h"
#include "fuzz.h"

static void check_value(const struct pk_axis *x, union pk_value v, struct pk_arena *a)
{
    union pk_value back;
    struct pk_err err;
    pk_assert(!pk_axis_value(x, pk_axis_format(x, v, a), a, &back, &err));
    pk_assert(pk_axis_same(x, v, back));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err err = {0};
    struct pk_axis_sweep given;
    if (pk_axis_assign(axes, pk_strndup(&a, (const char *)data, n), &a, &given, &err)) {
        pk_fuzz_refusal(&err);
        return 0;
    }
    const struct pk_axis *x = &axes[given.axis];
    const struct pk_sweep s = given.sweep;
    pk_assert(s.n > 0 && s.n <= PK_SWEEP_MAX);
    size_t some = s.n < 64 ? s.n : 64;
    for (size_t i = 0; i < some; i++) {
        check_value(x, s.v[i], &a);
        for (size_t k = 0; k < i; k++)
            pk_assert(!pk_axis_same(x, s.v[i], s.v[k]));
    }
    return 0;
}
