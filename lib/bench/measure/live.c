/* Live: setup, body, teardown, and what teardown forgot. */
#include "bench/measure/live.h"

#include "bench/measure/agree.h"
#include "device/range.h"

/* For profilers: the case as one range, its regions as ranges within. */
static uint64_t name_ranges(struct pk_ctx *ctx)
{
    const struct pk_probe *p = ctx->c->probe;
    const char **names = pk_new_n(ctx->arena, const char *, PK_REGIONS_MAX);
    for (size_t r = 0; r < PK_REGIONS_MAX && p->regions[r].name; r++)
        names[r] = p->regions[r].name;
    ctx->dev->marks.names = names;
    return pk_range_begin(pk_printf(ctx->arena, "%s %s", p->name, p->variants[ctx->c->variant].name));
}

enum pk_code pk_live_case(const struct pk_measure *m, const struct pk_case *c, pk_live_fn *body, void *user,
                          struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena host = {0};
    struct pk_device *dev = m->dev;
    struct pk_ctx ctx = {.c = c,
                         .dev = dev,
                         .arena = &host,
                         .comm = m->comm,
                         .seed = m->seed,
                         .dry = dev->kind == PK_DEVICE_NULL};
    uint64_t before = dev->pool.serial;
    const uint64_t range = name_ranges(&ctx);
    enum pk_code rc = pk_agree(ctx.comm, c->probe->setup(&ctx, err), err);
    if (!rc)
        rc = body(&ctx, user, err);
    c->probe->teardown(&ctx);
    json_decref(ctx.found);
    pk_range_end(range);
    dev->marks.names = NULL;
    size_t left = pk_pool_reclaim(&dev->pool, before);
    if (left && !rc) {
        rc = pk_fail(err, PK_E_INTERNAL, "teardown of '%s' left %zu bytes of device memory", c->probe->name,
                     left);
        pk_why(err, "everything that setup and run allocate must be freed by teardown");
    }
    return rc;
}
