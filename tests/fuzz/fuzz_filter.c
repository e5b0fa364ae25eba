/* Filters: refused in three parts, or an answer for any point. */
#include "../unit/opt/axes.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_JSON_CLEANUP json_t *none = json_object();
    struct pk_err err = {0};
    struct pk_filter *f;
    struct pk_point p;
    if (pk_filter_parse(axes, pk_strndup(&a, (const char *)data, n), &a, &f, &err)) {
        pk_fuzz_refusal(&err);
        return 0;
    }
    pk_assert(!pk_point_from_json(axes, none, &a, &p, &err));
    pk_filter_match(f, &p, "flash");
    return 0;
}
