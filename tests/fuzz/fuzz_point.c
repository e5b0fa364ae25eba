/* Axes of a case as JSON, as a worker or a peer is sent them: refused in three parts, or a point whose own JSON reads back. */
#include "../unit/opt/axes.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_JSON_CLEANUP json_t *obj = json_loadb((const char *)data, n, JSON_DECODE_ANY, NULL);
    struct pk_err err = {0};
    struct pk_point p, q;
    if (!obj)
        return 0;
    if (pk_point_from_json(axes, obj, &a, &p, &err)) {
        pk_fuzz_refusal(&err);
        return 0;
    }
    const char *text = pk_point_json(&p, &a);
    PK_JSON_CLEANUP json_t *again = json_loads(text, 0, NULL);
    pk_assert(again && !pk_point_from_json(axes, again, &a, &q, &err));
    pk_assert(!strcmp(pk_point_json(&q, &a), text));
    return 0;
}
