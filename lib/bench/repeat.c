/* Repeat: one loop around a unit of work, and what the loop itself costs. */
#include "bench/repeat.h"

#include "device/null.h"

enum { TRIES = 64, TRY_REPS = 10000 };

/* The empty assembly may have changed the function and what it reads, so that no call is inlined, moved out or left out. */
static __attribute__((noinline)) void call(pk_unit_fn *unit, void *user, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        __asm__ volatile("" : "+r"(unit), "+r"(user) : : "memory");
        unit(user);
    }
    __asm__ volatile("" : : : "memory");
}

void pk_repeat(struct pk_ctx *ctx, unsigned region, pk_unit_fn *unit, void *user)
{
    uint32_t n = ctx->reps[region] ? ctx->reps[region] : 1;
    pk_mark_begin(ctx->dev, region, PK_LANE_HOST);
    call(unit, user, ctx->dry ? 1 : n);
    if (ctx->dry) {
        /* A probe's work may need its own memory to be counted; with a simulated clock there is no wait. */
        const bool timed = pk_timed_region(false);
        const struct pk_work w = ctx->c->probe->work(ctx->c, region);
        pk_timed_region(timed);
        pk_null_work(ctx->dev, n * w.flops, n * w.bytes, n * w.exps);
    }
    pk_mark_end_n(ctx->dev, region, PK_LANE_HOST, n);
}

static void empty_call(void *user)
{
}

double pk_unit_overhead_ns(struct pk_device *dev)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < TRIES && least > 0; i++) { /* a simulated clock stands still */
        uint64_t began = pk_device_now_ns(dev);
        call(empty_call, NULL, TRY_REPS);
        uint64_t ns = pk_device_now_ns(dev) - began;
        least = ns < least ? ns : least;
    }
    return (double)least / TRY_REPS;
}
