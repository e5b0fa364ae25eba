/* Descriptions of own experiments: refused in three parts, or a probe whose axes read their own texts, that follows itself, and whose tables
 * are sound SQL, whatever the names are. */
#include "bench/own/descriptor.h"
#include "fuzz.h"
#include "store/store.h"
#include "store/table/table.h"

static struct pk_store *empty_store(void)
{
    static struct pk_store *s; /* of the process: opening one takes longer than reading a description */
    struct pk_err err;
    pk_assert(s || !pk_store_open(":memory:", PK_STORE_WRITE, NULL, &s, &err));
    return s;
}

static void check_axes(const struct pk_own *own, struct pk_arena *a)
{
    struct pk_err err;
    struct pk_sweep s;
    union pk_value v;
    for (const struct pk_axis *x = own->probe.axes; x->name; x++)
        pk_assert(!pk_sweep_parse(x, x->def, a, &s, &err) && !pk_axis_value(x, x->born, a, &v, &err));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    PK_JSON_CLEANUP json_t *j = json_loadb((const char *)data, n, 0, NULL);
    struct pk_err err = {0};
    struct pk_own *own, *again;
    if (!json_is_object(j))
        return 0;
    if (pk_descriptor_read(j, "it", &a, &own, &err)) {
        pk_fuzz_refusal(&err);
        return 0;
    }
    check_axes(own, &a);
    PK_JSON_CLEANUP json_t *stored = json_loads(own->json, 0, NULL);
    pk_assert(!pk_descriptor_read(stored, "the store", &a, &again, &err));
    pk_assert(!pk_descriptor_check_changes(own, again, "the store", &a, &err));
    if (*own->probe.sql && pk_limited_check(empty_store(), own->probe.sql, &err)) {
        pk_assert(own->has_sql);
        pk_fuzz_refusal(&err);
    }
    return 0;
}
