/* Live: setup, body, teardown, and what teardown forgot. */
#include "bench/measure/live.h"

enum pk_code pk_live_case(struct pk_device *dev, const struct pk_case *c, uint64_t seed, pk_live_fn *body,
                          void *user, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena host = {0};
    struct pk_ctx ctx = {
        .c = c, .dev = dev, .arena = &host, .seed = seed, .dry = dev->kind == PK_DEVICE_NULL};
    uint64_t before = dev->pool.serial;
    enum pk_code rc = c->probe->setup(&ctx, err);
    if (!rc)
        rc = body(&ctx, user, err);
    c->probe->teardown(&ctx);
    size_t left = pk_pool_reclaim(&dev->pool, before);
    if (left && !rc) {
        rc = pk_fail(err, PK_E_INTERNAL, "teardown of '%s' left %zu bytes of device memory", c->probe->name,
                     left);
        pk_why(err, "everything that setup and run allocate must be freed by teardown");
    }
    return rc;
}
