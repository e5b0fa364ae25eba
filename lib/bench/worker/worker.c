/* Worker: answers measure requests, one case at a time, until its input ends. */
#include "bench/worker/worker.h"

#include "base/clock.h"
#include "base/file.h"
#include "bench/repeat.h"
#include "bench/worker/environment.h"
#include "bench/worker/rank_group.h"
#include "bench/worker/replies.h"
#include "bench/worker/request.h"
#include "build_config.h"
#include "comm/comm.h"
#include "counter/source.h"
#include "counter/tracing.h"
#include "device/choices.h"
#include "device/cpu/cpu.h"
#include "machine/bind.h"
#include "machine/machine.h"
#include "wire/wire.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CPUS_MAX = PK_CPUS_MAX };

struct worker {
    const struct pk_worker_io *io;
    int wire_fd;                /* of a rank but 0, what rank 0 is to have */
    struct pk_rank_group group; /* where io->join */
    struct pk_device dev;
    char device[64]; /* the name that dev was opened by; "" = not open */
    double unit_overhead_ns;
    struct pk_startup_times started;
    unsigned cpus[CPUS_MAX], n_cpus;
    uint64_t steal_ns;
    struct pk_environment around;
    struct pk_gpu_environment gpu;
    struct pk_arena of_others; /* environment of a case that a peer measures, from before it to after */
};

/* Time that the hypervisor took from our cores since the last call. Context switches are no indication, because the thread pool's threads
 * sleep. */
static bool disturbed(void *user)
{
    struct worker *w = user;
    uint64_t steal_ns;
    if (!pk_machine_steal(w->cpus, w->n_cpus, &steal_ns))
        return false;
    bool more = steal_ns > w->steal_ns;
    w->steal_ns = steal_ns;
    return more;
}

struct fact_writer {
    int fd;
    enum pk_code rc;
    struct pk_err *err;
};

static void write_fact(void *user, const char *key, const char *value)
{
    struct fact_writer *f = user;
    if (!f->rc)
        f->rc = pk_wire_setting(f->fd, key, value, f->err);
}

/* The CPUs that measure: of the CPU device those that its threads are bound to; of a GPU those that the thread that feeds it may use. */
static void learn_cpus(struct worker *w, const struct pk_device_options *opt)
{
    struct pk_cpus named;
    if (w->dev.kind == PK_DEVICE_CUDA)
        w->n_cpus = pk_machine_cpus(w->cpus, CPUS_MAX);
    if (w->dev.kind != PK_DEVICE_CPU || opt->no_bind)
        return;
    if (opt->cpus && pk_cpus_read(opt->cpus, &named)) {
        w->n_cpus = named.n;
        memcpy(w->cpus, named.v, named.n * sizeof *w->cpus);
    }
    if (pk_cpu_threads(&w->dev) < w->n_cpus)
        w->n_cpus = pk_cpu_threads(&w->dev);
}

/* Rank 0, or the only process: the one that is connected to the parent. */
static bool is_first(const struct worker *w)
{
    return !w->io->join || w->group.comm.rank == 0;
}

/* Ranks divide the CPUs, the thread that communicates included, and the GPUs. */
static void take_share(struct worker *w, const char *device, struct pk_device_options *o, struct pk_arena *a)
{
    struct pk_cpus share;
    if (!w->io->join)
        return;
    o->local_rank = strchr(device, ':') ? 0 : pk_rank_group_local_rank(&w->group);
    w->group.no_bind = o->no_bind;
    w->group.bind = o->cpus ? pk_strdup(&w->group.arena, o->cpus) : NULL;
    if (o->no_bind)
        return;
    pk_rank_group_share(&w->group, w->group.comm.rank, &share);
    pk_bind_process(getpid(), &share);
    o->cpus = pk_cpus_text(&share, a);
}

static enum pk_code open_device(struct worker *w, const struct pk_request *r, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_device_options options = r->device_options;
    if (!strcmp(w->device, r->device))
        return PK_OK;
    if (*w->device) {
        pk_fail(err, PK_E_USAGE, "device %s: this worker has opened %s", r->device, w->device);
        return pk_why(err, "a worker keeps the device of its first request");
    }
    take_share(w, r->device, &options, &a);
    const uint64_t began_ns = pk_clock_ns();
    if (pk_device_open(&w->dev, r->device, &options, err))
        return err->code;
    w->started.device_ns = pk_clock_ns() - began_ns;
    snprintf(w->device, sizeof w->device, "%s", r->device);
    w->unit_overhead_ns = pk_unit_overhead_ns(&w->dev);
    learn_cpus(w, &options);
    struct fact_writer f = {.fd = w->wire_fd, .err = err};
    pk_device_facts(&w->dev, write_fact, &f);
    return f.rc;
}

/* The case of a request, which is not trusted and fully checked. */
static enum pk_code find_case(const struct pk_request *r, struct pk_arena *a, struct pk_case *c,
                              struct pk_err *err)
{
    c->probe = pk_probe_find(r->experiment);
    if (!c->probe)
        return pk_fail(err, PK_E_USAGE, "this worker does not know the experiment '%s'", r->experiment);
    const struct pk_variant *variants = c->probe->variants;
    for (c->variant = 0; variants[c->variant].name; ++c->variant)
        if (!strcmp(variants[c->variant].name, r->variant))
            return pk_point_from_json(c->probe->axes, r->axes, a, &c->at, err);
    return pk_fail(err, PK_E_USAGE, "experiment %s has no variant '%s'", r->experiment, r->variant);
}

static enum pk_code reply_failed(struct worker *w, const struct pk_request *r, const struct pk_err *cause,
                                 struct pk_err *err)
{
    if (!is_first(w)) /* all of them know, and one says it */
        return PK_OK;
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_slice s = {
        .pass = r->pass,
        .invocation = r->invocation,
        .status = cause->code == PK_E_OOM ? PK_ST_OOM : PK_ST_FAILED,
        .message = pk_printf(&a, "%s%s%s", cause->what, *cause->why ? ": " : "", cause->why),
    };
    return pk_wire_slice(w->wire_fd, r->id, &s, err);
}

/* The reply to a request besides cases. */
static enum pk_code other_slice(struct worker *w, const struct pk_request *r, struct pk_arena *a,
                                struct pk_slice *out, struct pk_err *err)
{
    struct pk_ceilings ceilings;
    struct pk_curves curves;
    if (!strcmp(r->experiment, PK_REQUEST_SELFTEST))
        return pk_selftest_slice(r->variant, a, out, err); /* it opens what it needs */
    if (open_device(w, r, err))
        return err->code;
    if (!strcmp(r->experiment, PK_REQUEST_ENVIRONMENT)) {
        /* Around a case that a peer measures: this worker is idle meanwhile. */
        bool before = !strcmp(r->variant, "before");
        if (before)
            pk_arena_free(&w->of_others);
        *out = pk_number_slice("read", 1, &w->of_others);
        if (before) {
            pk_environment_before(&w->around, &w->dev, r->stop.max_time_ns, &w->of_others);
            pk_gpu_environment_before(&w->gpu, &w->dev);
        } else {
            pk_gpu_environment_after(&w->gpu, &w->dev, &w->of_others, out);
            pk_environment_after(&w->around, &w->dev, &w->of_others, out);
        }
        return PK_OK;
    }
    if (pk_ceilings_measure(&w->dev, !strcmp(r->variant, PK_REQUEST_ONE_LANE), &ceilings, &curves, err))
        return err->code;
    pk_ceilings_slice(&ceilings, &curves, a, out);
    return PK_OK;
}

/* Of a worker that is no rank. */
static enum pk_code reply_other(struct worker *w, const struct pk_request *r, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_err cause;
    struct pk_slice slice;
    if (other_slice(w, r, &a, &slice, &cause))
        return reply_failed(w, r, &cause, err);
    return pk_wire_slice(w->wire_fd, r->id, &slice, err);
}

/* Besides cases, ranks answer only the request whether they respond. */
static enum pk_code reply_together(struct worker *w, const struct pk_request *r, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const struct pk_slice slice = pk_number_slice("read", 1, &a);
    enum pk_code rc = pk_comm_barrier(&w->group.comm, err);
    if (rc || !is_first(w))
        return rc;
    rc = pk_wire_setting(w->wire_fd, "library", w->group.comm.library, err);
    return rc ? rc : pk_wire_slice(w->wire_fd, r->id, &slice, err);
}

/* What a counter pass counts, planned as the parent planned it; *plan is NULL in other passes. */
static enum pk_code find_counters(const struct worker *w, const struct pk_request *r, struct pk_arena *a,
                                  const struct pk_source_plan **plan, struct pk_err *err)
{
    struct pk_counter_env env = pk_counter_host;
    env.gpu = w->dev.ordinal;
    *plan = NULL;
    if (r->pass != PK_PASS_COUNTER)
        return PK_OK;
    struct pk_counters_named named;
    if (pk_counters_named(r->counters, a, &named, err))
        return err->code;
    if (!named.source || !named.n)
        return pk_fail(err, PK_E_USAGE, "this worker cannot count events of '%.100s'",
                       pk_json_str(r->counters, "source", ""));
    size_t n_plans;
    if (named.source->plan(named.source, &env, named.events, named.n, a, plan, &n_plans, err))
        return err->code;
    return n_plans == 1 ? PK_OK
                        : pk_fail(err, PK_E_USAGE, "%zu events of %s cannot be counted at once", named.n,
                                  named.source->name);
}

static enum pk_code send_slice(struct worker *w, const struct pk_request *r, struct pk_slice *slice,
                               struct pk_arena *a, struct pk_err *err)
{
    if (!w->io->join)
        return pk_wire_slice(w->wire_fd, r->id, slice, err);
    if (w->group.comm.broken || pk_device_broken(&w->dev))
        /* Only this rank knows what went wrong: the others are waiting for it, and end with it. */
        return pk_fail(err, PK_E_IO, "rank %u of %u: %s", w->group.comm.rank, w->group.comm.size,
                       *slice->message ? slice->message : "its device no longer works");
    if (!is_first(w) && pk_wire_slice(w->wire_fd, r->id, slice, err))
        return err->code;
    enum pk_code rc = pk_rank_group_collect(&w->group, a, slice, err);
    return rc || !is_first(w) ? rc : pk_wire_slice(w->wire_fd, r->id, slice, err);
}

static enum pk_code reply(struct worker *w, const struct pk_request *r, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_case c = {0};
    struct pk_err cause;
    struct pk_slice slice;
    const struct pk_source_plan *plan;
    if (r->pass == PK_PASS_OTHER)
        return w->io->join ? reply_together(w, r, err) : reply_other(w, r, err);
    enum pk_code rc = open_device(w, r, &cause);
    if (!rc)
        rc = find_case(r, &a, &c, &cause);
    if (!rc)
        rc = w->io->expects ? w->io->expects(w->io->user, r, &c, &a, &cause) : PK_OK;
    if (pk_agree(w->io->join ? &w->group.comm : NULL, rc ? rc : find_counters(w, r, &a, &plan, &cause),
                 &cause))
        return reply_failed(w, r, &cause, err);
    c.threads = w->dev.kind == PK_DEVICE_CPU ? pk_cpu_threads(&w->dev) : 0;
    const struct pk_measure m = {
        .c = &c,
        .dev = &w->dev,
        .comm = w->io->join ? &w->group.comm : NULL,
        .pass = r->pass,
        .invocation = r->invocation,
        .check = r->check,
        .seed = r->seed,
        .counters = plan,
        .counter_env = &pk_counter_host,
        .started = w->started,
        .unit_overhead_ns = w->unit_overhead_ns,
        .stop = r->stop,
        .disturbed = disturbed,
        .disturbed_user = w,
    };
    /* The run's choices so far; values that are not strings are ignored. */
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)r->choices, key, value) if (json_is_string(value))
        pk_choice_give(&w->dev, key, json_string_value(value));
    pk_environment_before(&w->around, &w->dev, r->stop.max_time_ns, &a);
    pk_gpu_environment_before(&w->gpu, &w->dev);
    disturbed(w); /* what was before does not count */
    pk_measure_case(&m, &a, &slice);
    pk_gpu_environment_after(&w->gpu, &w->dev, &a, &slice);
    pk_environment_after(&w->around, &w->dev, &a, &slice);
    struct fact_writer f = {.fd = w->wire_fd, .err = err};
    pk_choices_report(&w->dev, write_fact, &f);
    if (f.rc)
        return err->code;
    if (pk_device_broken(&w->dev) && pk_wire_bye(w->wire_fd, err))
        return err->code;
    return send_slice(w, r, &slice, &a, err);
}

/* Rank 0 does not wait for a run that is stopped. */
static enum pk_code await_request(struct worker *w, struct pk_err *err)
{
    enum { LOOK_MS = 2000 };
    struct pollfd in = {w->io->in_fd, POLLIN, 0};
    while (w->io->join && poll(&in, 1, LOOK_MS) == 0)
        if (pk_comm_abandoned(&w->group.comm, err))
            return err->code;
    return PK_OK;
}

/* The next request; NULL when there will be none. The object is the caller's. */
static enum pk_code read_request(struct worker *w, struct pk_wire_reader *reader, json_t **out,
                                 struct pk_err *err)
{
    struct pk_wire_msg msg;
    struct pk_err ended;
    *out = NULL;
    if (await_request(w, err))
        return err->code;
    while (!pk_wire_read(reader, w->io->in_fd, &msg, &ended) && msg.type != PK_WIRE_QUIT) {
        if (msg.type == PK_WIRE_GARBAGE) {
            pk_fail(err, PK_E_USAGE, "a request that cannot be read");
            return pk_why(err, "%s", msg.problem);
        }
        if (msg.type == PK_WIRE_MEASURE) {
            *out = json_incref(msg.json);
            return PK_OK;
        }
    }
    return PK_OK;
}

/* Rank 0 reads it, all of them have it. */
static enum pk_code next_request(struct worker *w, struct pk_wire_reader *reader, json_t **out,
                                 struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *text;
    enum pk_code rc = is_first(w) ? read_request(w, reader, out, err) : PK_OK;
    if (rc || !w->io->join)
        return rc;
    const char *mine = is_first(w) && *out ? pk_json_text(&a, *out, PK_JSON_COMPACT) : NULL;
    rc = pk_rank_group_receive(&w->group, mine, &a, &text, err);
    if (!is_first(w))
        *out = text && !rc ? json_loads(text, 0, NULL) : NULL;
    return rc;
}

static enum pk_code serve(struct worker *w, struct pk_wire_reader *reader, struct pk_err *err)
{
    enum pk_code rc = is_first(w) ? pk_wire_hello(w->wire_fd, "perfkit " PK_VERSION, err) : PK_OK;
    bool more = true;
    while (!rc && more) {
        PK_JSON_CLEANUP json_t *request = NULL;
        struct pk_request r;
        rc = next_request(w, reader, &request, err);
        if (rc || !request)
            break;
        pk_request_read(request, &r);
        rc = reply(w, &r, err);
        more = !*w->device || !pk_device_broken(&w->dev);
    }
    return rc;
}

/* Since this process was started; 0 = unknown. */
static uint64_t age_ns(void)
{
    enum { START_FIELD = 20 }; /* behind the name, which may have any character */
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct timespec now;
    const char *text = pk_file_text(NULL, "proc/self/stat", &a);
    text = text ? strrchr(text, ')') : NULL;
    for (int i = 0; text && i < START_FIELD; i++)
        text = strchr(text + 1, ' ');
    if (!text || clock_gettime(CLOCK_BOOTTIME, &now))
        return 0;
    const uint64_t start_ns = strtoull(text, NULL, 10) * (PK_NS_PER_S / (uint64_t)sysconf(_SC_CLK_TCK));
    const uint64_t now_ns = (uint64_t)now.tv_sec * PK_NS_PER_S + (uint64_t)now.tv_nsec;
    return now_ns > start_ns ? now_ns - start_ns : 0;
}

enum pk_code pk_worker_serve(const struct pk_worker_io *io, struct pk_err *err)
{
    struct worker w = {.io = io, .wire_fd = io->wire_fd, .started.load_ns = age_ns()};
    const uint64_t began_ns = pk_clock_ns();
    w.n_cpus = pk_machine_cpus(w.cpus, CPUS_MAX); /* before the device binds this thread */
    w.around = (struct pk_environment){.cpus = w.cpus, .n_cpus = &w.n_cpus};
    if (io->join && pk_rank_group_open(&w.group, &w.dev, io->heartbeats, io->timeout_ns, err))
        return err->code;
    w.started.group_ns = io->join ? pk_clock_ns() - began_ns : 0;
    if (!is_first(&w))
        w.wire_fd = w.group.replies_fd;
    struct pk_wire_reader *reader = pk_wire_reader_new();
    enum pk_code rc = serve(&w, reader, err);
    pk_wire_reader_free(reader);
    pk_gpu_environment_end(&w.gpu);
    pk_arena_free(&w.of_others);
    if (io->join) { /* before the device, of which it may have memory */
        w.group.comm.broken |= rc != PK_OK;
        pk_rank_group_close(&w.group);
    }
    if (*w.device && !(io->join && rc)) { /* a call that is stuck still writes there; the process ends */
        if (!pk_device_broken(&w.dev))
            pk_tracing_end();
        pk_device_close(&w.dev);
    }
    return rc;
}
