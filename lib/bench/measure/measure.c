/* Measure: the order of things for one case, from its checks to its slice. */
#include "bench/measure/measure.h"

#include "base/clock.h"
#include "base/text/words.h"
#include "bench/measure/steps.h"
#include "comm/comm.h"
#include "device/mark.h"

enum { DISTURBANCE_EVERY_MS = 10 };

struct measurement {
    const struct pk_measure *m;
    struct pk_arena *a;
    struct pk_slice *out;
    struct pk_notes notes;
    struct pk_sampler sampler;
    struct pk_stopper stopper;
    const struct pk_observer *observer; /* of a counter, trace or memory pass */
    struct pk_sample_barrier barrier;   /* where m->comm */
    uint64_t polled_ns;
    size_t polled_n;
};

/* What was disturbed since the last poll is not known to the sample: all samples since then are marked. */
static void poll_disturbance(struct measurement *j, uint64_t now_ns)
{
    if (j->m->disturbed && j->m->disturbed(j->m->disturbed_user))
        for (size_t i = j->polled_n; i < j->sampler.n; i++)
            j->sampler.disturbed[i] = true;
    j->polled_ns = now_ns;
    j->polled_n = j->sampler.n;
}

/* What sample n left. */
static enum pk_code inspect(struct measurement *j, size_t n, struct pk_err *err)
{
    struct pk_ctx *ctx = j->sampler.ctx;
    if (!ctx->c->probe->inspect || !ctx->c->probe->inspect(ctx, false, err))
        return PK_OK;
    return n ? pk_within(err, "after sample %zu", n) : pk_within(err, "in the first iteration");
}

typedef enum pk_code stop_fn(struct measurement *j, uint64_t now_ns, bool *stop, struct pk_err *err);

static enum pk_code stop_alone(struct measurement *j, uint64_t now_ns, bool *stop, struct pk_err *err)
{
    *stop = pk_stop_now(&j->stopper, now_ns);
    return PK_OK;
}

static enum pk_code stop_together(struct measurement *j, uint64_t now_ns, bool *stop, struct pk_err *err)
{
    *stop = j->m->comm->rank == 0 && pk_stop_now(&j->stopper, now_ns);
    return pk_agree_on(j->m->comm, stop, sizeof *stop, err);
}

/* Inlined without an observer, so that no test is made then. */
static inline __attribute__((always_inline)) enum pk_code sample_until(struct measurement *j,
                                                                       stop_fn *stop_now, struct pk_err *err)
{
    struct pk_device *dev = j->m->dev;
    bool stop = false;
    enum pk_code rc;
    uint64_t now = pk_device_now_ns(dev);
    pk_stopper_init(&j->stopper, &j->m->stop, &j->sampler, now);
    j->polled_n = j->sampler.n; /* the first poll forgets what came before */
    poll_disturbance(j, now);
    do {
        rc = pk_sample_take(&j->sampler, err);
        if (rc || (rc = inspect(j, j->sampler.n, err)))
            return rc;
        j->sampler.n++;
        now = pk_device_now_ns(dev);
        if (now - j->polled_ns >= DISTURBANCE_EVERY_MS * PK_NS_PER_MS)
            poll_disturbance(j, now);
        rc = stop_now(j, now, &stop, err);
    } while (!rc && !stop);
    poll_disturbance(j, now);
    pk_stop_recount(&j->stopper);
    return rc;
}

/* The phase of a sample is that of all ranks: rank 0 found the warm-up, and what disturbed one rank disturbed the sample. */
static enum pk_code sample_until_stop(struct measurement *j, struct pk_err *err)
{
    struct pk_stopper *st = &j->stopper;
    if (!j->m->comm)
        return sample_until(j, stop_alone, err);
    if (sample_until(j, stop_together, err) || pk_agree_on(j->m->comm, &st->cut, sizeof st->cut, err) ||
        pk_agree_any(j->m->comm, j->sampler.disturbed, j->sampler.n, err))
        return err->code;
    st->reason = st->reason ? st->reason : "rank 0";
    pk_stop_recount(st);
    return PK_OK;
}

/* What takes part in the samples of counter, trace and memory passes. */
static enum pk_code open_observer(struct measurement *j, struct pk_device *dev, struct pk_err *err)
{
    const struct pk_measure *m = j->m;
    if (m->counters)
        return pk_counts_open(m->counter_env, m->counters, dev, j->a, &j->observer, err);
    if (m->pass == PK_PASS_MEMORY)
        j->observer = pk_allocation_log_open(dev, j->a);
    return m->pass == PK_PASS_TRACE ? pk_trace_observer_open(m->counter_env, dev, j->a, &j->observer, err)
                                    : PK_OK;
}

/* A trace is of one iteration: nothing is repeated. */
static enum pk_code take_case_samples(struct measurement *j, struct pk_err *err)
{
    int64_t runs = 0;
    pk_sample_barrier_attach(&j->barrier, &j->sampler);
    enum pk_code rc = j->m->pass == PK_PASS_TRACE
                          ? PK_OK
                          : pk_sampler_choose_reps(&j->sampler, j->m->unit_overhead_ns, &runs, err);
    if (!rc) {
        if (j->observer)
            pk_sampler_observe(&j->sampler, j->observer);
        pk_sample_barrier_attach(&j->barrier, &j->sampler);
        rc = sample_until_stop(j, err);
    }
    if (rc)
        return rc;
    pk_note_int(&j->notes, "calibration_runs", runs);
    pk_notes_of_samples(&j->notes, &j->stopper);
    pk_notes_of_repeats(&j->notes, &j->stopper);
    return PK_OK;
}

/* NULL when results are to be compared, else the reason not to. */
static const char *unchecked(const struct pk_measure *m)
{
    if (m->stop.profile)
        return "not with --profile";
    if (!m->c->probe->check)
        return "this experiment computes nothing";
    if (m->dev->kind == PK_DEVICE_NULL)
        return "this device computes nothing";
    return m->check ? NULL : "not in this invocation";
}

/* What is compared is what will be measured: of a captured variant, a replay. */
static enum pk_code first_iterations(struct measurement *j, struct pk_ctx *ctx, struct pk_err *err)
{
    const struct pk_stop *s = &j->m->stop;
    const size_t samples = (size_t)s->max_samples + (size_t)(s->warmup < 0 ? s->max_samples : s->warmup);
    enum pk_code rc = ctx->comm ? pk_comm_barrier(ctx->comm, err) : PK_OK;
    if (!rc)
        rc = pk_sampler_first(&j->sampler, ctx, s->profile ? 2 + (size_t)s->profile : 2 + samples, err);
    if (!rc)
        rc = inspect(j, 0, err);
    if (rc || !j->sampler.captured)
        return rc;
    pk_note_text(&j->notes, "graph", "captured");
    return pk_sample_take(&j->sampler, err);
}

/* The range of a profiler outside has these iterations and nothing else; it ends where one fails, too. */
static enum pk_code profile(struct measurement *j, struct pk_err *err)
{
    struct pk_device *dev = j->m->dev;
    struct pk_err ending;
    pk_stopper_init(&j->stopper, &j->m->stop, &j->sampler, pk_device_now_ns(dev));
    j->stopper.reason = "profile";
    enum pk_code rc = pk_device_profiler(dev, true, err);
    for (int64_t i = 0; !rc && i < j->m->stop.profile && j->sampler.n < j->sampler.cap; i++) {
        rc = pk_sample_take(&j->sampler, err);
        if (!rc && !(rc = inspect(j, j->sampler.n, err)))
            j->sampler.n++;
    }
    if (pk_device_profiler(dev, false, &ending) && !rc) {
        *err = ending;
        rc = ending.code;
    }
    return rc;
}

/* What the probe made known since the last time. */
static void take_notes(struct measurement *j, struct pk_ctx *ctx)
{
    const char *key;
    json_t *value;
    json_object_foreach(ctx->notes, key, value)
        pk_note_json(&j->notes, pk_strdup(j->a, key), json_incref(value));
    json_object_clear(ctx->notes);
}

/* The peak is the case's own: what the check allocates is left out. */
static enum pk_code sample_and_check(struct pk_ctx *ctx, struct measurement *j, struct pk_err *err)
{
    struct pk_pool *pool = &j->m->dev->pool;
    enum pk_code rc = pk_comm_break_on_error(ctx->comm, first_iterations(j, ctx, err));
    size_t peak = pool->peak;
    if (!rc && !unchecked(j->m))
        rc = pk_agree(ctx->comm, ctx->c->probe->check(ctx, false, err), err);
    take_notes(j, ctx);
    pk_pool_reset_peak(pool);
    if (!rc)
        rc = pk_comm_break_on_error(ctx->comm,
                                    j->m->stop.profile ? profile(j, err) : take_case_samples(j, err));
    if (!rc && ctx->c->probe->inspect)
        rc = pk_comm_break_on_error(ctx->comm, ctx->c->probe->inspect(ctx, true, err));
    if (rc)
        return rc;
    pk_note_text(&j->notes, "stop", j->stopper.reason);
    pk_note_int(&j->notes, "reps", j->sampler.reps);
    take_notes(j, ctx);
    pk_series_pack(&j->stopper, pool->peak > peak ? pool->peak : peak, j->a, j->out);
    if (j->sampler.observer && j->observer && j->observer->pack)
        j->observer->pack(j->observer->user, &j->stopper, &j->notes, j->out);
    return PK_OK;
}

typedef enum pk_code live_fn(struct pk_ctx *ctx, struct measurement *j, struct pk_err *err);

/* Sets the case c up, the one to measure or a check point of it, calls body, tears it down. Teardown follows a failed setup or body too. Memory
 * that teardown left is given back to the pool, and is an error of its own unless there was one before. */
static enum pk_code with_case(struct measurement *j, const struct pk_case *c, live_fn *body,
                              struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena host = {0};
    const struct pk_measure *m = j->m;
    struct pk_device *dev = m->dev;
    struct pk_ctx ctx = {.c = c,
                         .dev = dev,
                         .arena = &host,
                         .comm = m->comm,
                         .seed = m->seed,
                         .started = m->started,
                         .dry = dev->kind == PK_DEVICE_NULL};
    uint64_t before = dev->pool.serial;
    /* For profilers: the case as one range, its regions as ranges within. */
    const struct pk_probe *p = ctx.c->probe;
    const char **names = pk_new_n(ctx.arena, const char *, PK_REGIONS_MAX);
    for (size_t r = 0; r < PK_REGIONS_MAX && p->regions[r].name; r++)
        names[r] = p->regions[r].name;
    ctx.dev->marks.names = names;
    const uint64_t range =
        pk_range_begin(pk_printf(ctx.arena, "%s %s", p->name, p->variants[ctx.c->variant].name));
    enum pk_code rc = pk_agree(ctx.comm, c->probe->setup(&ctx, err), err);
    if (!rc)
        rc = body(&ctx, j, err);
    if (c->probe->teardown)
        c->probe->teardown(&ctx);
    json_decref(ctx.notes);
    pk_range_end(range);
    dev->marks.names = NULL;
    size_t left = pk_pool_reclaim(&dev->pool, before);
    if (!left || rc || !c->probe->teardown)
        return rc;
    pk_fail(err, PK_E_INTERNAL, "teardown of '%s' left %zu bytes of device memory", c->probe->name, left);
    return pk_why(err, "everything that setup and run allocate must be freed by teardown");
}

/* One run, compared fully. */
static enum pk_code check_live(struct pk_ctx *ctx, struct measurement *j, struct pk_err *err)
{
    pk_marks_clear(&ctx->dev->marks);
    enum pk_code rc = ctx->c->probe->run(ctx, err);
    if (!rc)
        rc = pk_device_sync(ctx->dev, err);
    return pk_comm_break_on_error(ctx->comm, rc)
               ? rc
               : pk_agree(ctx->comm, ctx->c->probe->check(ctx, true, err), err);
}

/* The probe's check points. Those that it skips on this device are left out. Errors say which point. */
static enum pk_code check_points(struct measurement *j, struct pk_err *err)
{
    const struct pk_case *c = j->m->c;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    for (const char *const *point = c->probe->check_points; point && *point; point++) {
        struct pk_case at;
        enum pk_code rc = pk_check_case(c, *point, &a, &at, err);
        if (!rc && (!c->probe->skip || !c->probe->skip(&at, j->m->dev->kind)))
            rc = with_case(j, &at, check_live, err);
        if (rc)
            return pk_within(err, "check at %s", *point);
    }
    return PK_OK;
}

static enum pk_code measure_live(struct pk_ctx *ctx, struct measurement *j, struct pk_err *err)
{
    enum pk_code rc = pk_agree(ctx->comm, open_observer(j, ctx->dev, err), err);
    if (!rc)
        rc = sample_and_check(ctx, j, err);
    if (j->observer && j->observer->close)
        j->observer->close(j->observer->user);
    pk_sampler_end(&j->sampler);
    return rc;
}

static enum pk_code measure(struct measurement *j, struct pk_err *err)
{
    const struct pk_measure *m = j->m;
    const char *why_unchecked = unchecked(m);
    const struct pk_variant *v = &m->c->probe->variants[m->c->variant];
    const char *reason = v->unavailable ? v->unavailable(m->dev->kind) : NULL;
    if (!reason && m->c->probe->skip)
        reason = m->c->probe->skip(m->c, m->dev->kind);
    enum pk_code rc = reason ? pk_fail(err, PK_E_SKIPPED, "%s", reason) : PK_OK;
    if (!rc && !why_unchecked)
        rc = check_points(j, err);
    if (rc)
        return rc;
    pk_pool_trim(&m->dev->pool); /* every case starts cold, independent of earlier cases */
    pk_pool_reset_peak(&m->dev->pool);
    rc = with_case(j, m->c, measure_live, err);
    if (!rc)
        pk_note_text(&j->notes, "check", why_unchecked ? why_unchecked : "passed");
    return rc;
}

/* Note "largest": {"batch": 140, "limit_bytes": 16777216}, of what is predicted to fit. Nothing where a case did not fit that was predicted to. */
static void note_largest(struct measurement *j, bool fitted)
{
    const struct pk_measure *m = j->m;
    const char *shrink = m->c->probe->shrink;
    const size_t limit = m->dev->pool.limit;
    if (!shrink || m->stop.profile || m->pass != PK_PASS_TIMING || (fitted && m->invocation > 1) || !limit ||
        limit > INT64_MAX)
        return;
    const int64_t most = pk_probe_largest(m->c, m->dev->kind, (int64_t)limit);
    if (fitted || most < pk_case_int(m->c, (unsigned)pk_axis_index(m->c->probe->axes, shrink)))
        pk_note_json(&j->notes, "largest",
                     json_pack("{s:I, s:I}", shrink, (json_int_t)most, "limit_bytes", (json_int_t)limit));
}

static enum pk_status status_of(enum pk_code rc)
{
    return rc == PK_OK                                    ? PK_ST_OK
           : rc == PK_E_OOM                               ? PK_ST_OOM
           : rc == PK_E_TIMEOUT                           ? PK_ST_TIMEOUT
           : rc == PK_E_SKIPPED || rc == PK_E_UNAVAILABLE ? PK_ST_SKIPPED
           : rc == PK_E_INTERRUPTED                       ? PK_ST_INTERRUPTED
                                                          : PK_ST_FAILED;
}

void pk_measure_case(const struct pk_measure *m, struct pk_arena *a, struct pk_slice *out)
{
    struct pk_err err = {0};
    struct measurement j = {.m = m, .a = a, .out = out, .notes.arena = a};
    uint64_t began = pk_device_now_ns(m->dev);
    *out = (struct pk_slice){
        .pass = m->pass, .invocation = m->invocation, .message = "", .started_wall_ns = pk_wall_ns()};
    enum pk_code rc = measure(&j, &err);
    out->status = status_of(rc);
    if (rc) {
        if (out->status != PK_ST_FAILED) /* of others the fix is reported elsewhere */
            *err.fix = '\0';
        out->message = pk_error_line(&err, a);
        out->n_metrics = out->n_series = 0; /* what was measured before it went wrong is not a result */
        j.notes.n = 0;
    }
    if (!rc || rc == PK_E_OOM)
        note_largest(&j, !rc);
    out->notes = j.notes.v;
    out->n_notes = j.notes.n;
    pk_pool_trim(&m->dev->pool);
    out->elapsed_ns = pk_device_now_ns(m->dev) - began;
}
