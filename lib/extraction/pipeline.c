/* Pipeline: opened, a pass over all batches, closed. */
#include "extraction/pipeline.h"

#include "base/err.h"
#include "base/rng.h"
#include "device/cpu/cpu.h"
#include "device/null.h"
#include "stats/stats.h"
#include "stats/trend.h"

#include <math.h>
#include <string.h>

/* What a call of the host in the copy lane hands to the writer. */
struct pk_extraction_ticket {
    struct pk_extraction *x;
    size_t slot;
    uint64_t first, n;
};

/* --- batches ------------------------------------------------------------------------------------------------------- */

static uint64_t samples_of(const struct pk_extraction *x, size_t b)
{
    const uint64_t left = x->o.shards.samples - b * x->o.shards.batch;
    return left < x->o.shards.batch ? left : x->o.shards.batch;
}

static size_t element_bytes(const struct pk_extraction *x)
{
    return pk_dtype_bytes(x->o.model.dtype);
}

/* Bytes of a layer in a slot or a staging, and of a hidden state of the batch that runs. */
static size_t layer_bytes(const struct pk_extraction *x)
{
    return (size_t)(x->o.shards.batch * x->o.shards.length * x->o.shards.width) * element_bytes(x);
}

/* The first use of the libraries and kernels that a forward pass needs, so that no later time has it. */
static enum pk_code load_modules(struct pk_extraction *x, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_transformer_config c = x->o.model;
    struct pk_transformer t = {0};
    c.layers = 1, c.batch = 1, c.vocab = 2;
    const int32_t *tokens = pk_new_n(&a, int32_t, c.seq);
    enum pk_code rc = pk_transformer_open(&t, x->dev, &c, PK_NEEDS_WEIGHTS, &a, err);
    if (!rc && !x->o.dry)
        rc = pk_transformer_fill(&t, &(struct pk_origin){.seed = x->o.seed}, err);
    if (!rc)
        rc = pk_transformer_batch(&t, tokens, NULL, err);
    if (!rc)
        rc = pk_transformer_forward(&t, false, err);
    if (!rc)
        rc = pk_device_sync(x->dev, err);
    pk_transformer_close(&t);
    pk_pool_trim(&x->dev->pool);
    return rc;
}

/* The padding of the last batch is token 0. */
static void draw_tokens(struct pk_extraction *x)
{
    const struct pk_transformer_config *m = &x->o.model;
    memset(x->tokens, 0, x->batches * pk_transformer_tokens(m) * sizeof *x->tokens);
    for (size_t i = 0; i < x->o.shards.samples; i++) {
        struct pk_rng rng = {pk_rng_mix(x->o.seed + x->o.first_sample + i + 1)};
        for (size_t k = 0; k < m->seq; k++)
            x->tokens[i * m->seq + k] = (int32_t)(pk_rng_uniform(&rng) * (double)m->vocab);
    }
}

/* --- plans --------------------------------------------------------------------------------------------------------- */

/* For batches of this number of sequences. */
static enum pk_code plan(struct pk_extraction *x, size_t batch, struct pk_err *err)
{
    x->t.c.batch = batch;
    if (x->planned_batch == batch)
        return PK_OK;
    x->facts.plans++;
    x->facts.replans += x->current > 0;
    x->planned_batch = batch;
    return pk_transformer_plan(&x->t, x->rope_table, err);
}

/* Nothing that was planned before is kept: neither the tables of a shape nor the memory of its activations. */
static enum pk_code plan_anew(struct pk_extraction *x, size_t batch, struct pk_err *err)
{
    pk_mark_begin(x->dev, PK_EXTRACTING_PLAN, PK_LANE_HOST);
    x->planned_batch = 0;
    enum pk_code rc = pk_device_sync(x->dev, err);
    if (!rc) {
        pk_pool_trim(&x->dev->pool);
        rc = plan(x, batch, err);
    }
    pk_mark_end(x->dev, PK_EXTRACTING_PLAN, PK_LANE_HOST);
    return rc;
}

/* --- the stages of a batch ------------------------------------------------------------------------------------------ */

struct gather_target {
    struct pk_extraction *x;
    char *to;
    bool marked;
};

/* The hook behind each block. */
static enum pk_code gather(void *user, size_t layer, const void *state, const void *delta, struct pk_err *err)
{
    const struct gather_target *g = user;
    struct pk_extraction *x = g->x;
    if (x->place[layer] == SIZE_MAX)
        return PK_OK;
    const size_t n = pk_transformer_tokens(&x->t.c) * x->o.model.width;
    char *to = g->to + x->place[layer] * layer_bytes(x);
    if (g->marked)
        pk_mark_begin(x->dev, PK_EXTRACTING_GATHER, PK_LANE_COMPUTE);
    enum pk_code rc = delta ? pk_op_map(x->dev, PK_MAP_ADD, x->o.model.dtype, state, delta, to, n, err)
                            : pk_op_scale(x->dev, x->o.model.dtype, 1, state, to, n, err);
    if (g->marked)
        pk_mark_end(x->dev, PK_EXTRACTING_GATHER, PK_LANE_COMPUTE);
    return rc;
}

static enum pk_code forward(struct pk_extraction *x, size_t b, char *to, bool marked, struct pk_err *err)
{
    struct gather_target g = {x, to, marked};
    const size_t tokens = x->o.model.seq;
    enum pk_code rc = pk_device_copy(x->dev, PK_LANE_COMPUTE, PK_COPY_HOST_TO_DEVICE, x->t.tokens,
                                     x->tokens + b * x->o.shards.batch * tokens,
                                     x->t.c.batch * tokens * sizeof *x->tokens, err);
    if (rc)
        return rc;
    x->t.block_hook = (struct pk_block_hook){gather, &g};
    if (marked)
        pk_mark_begin(x->dev, PK_EXTRACTING_FORWARD, PK_LANE_COMPUTE);
    rc = pk_transformer_forward(&x->t, false, err);
    if (marked)
        pk_mark_end(x->dev, PK_EXTRACTING_FORWARD, PK_LANE_COMPUTE);
    x->t.block_hook = (struct pk_block_hook){0};
    return rc;
}

enum pk_code pk_extraction_stage(struct pk_extraction *x, size_t b, struct pk_err *err)
{
    enum pk_code rc = plan(x, x->o.model.batch, err);
    if (!rc)
        rc = forward(x, b, x->staging[0], false, err);
    return rc ? rc : pk_device_sync(x->dev, err);
}

/* The host waits for the forward pass, and for the copy of each layer. */
static enum pk_code copy_waiting(struct pk_extraction *x, size_t slot, struct pk_err *err)
{
    const size_t bytes = layer_bytes(x);
    enum pk_code rc = pk_device_sync(x->dev, err);
    pk_mark_begin(x->dev, PK_EXTRACTING_D2H, PK_LANE_COMPUTE);
    for (size_t i = 0; !rc && i < x->o.shards.n_layers; i++)
        rc = pk_device_copy_now(x->dev, PK_COPY_DEVICE_TO_HOST, (char *)x->slots[slot] + i * bytes,
                                x->staging[0] + i * bytes, bytes, err);
    pk_mark_end(x->dev, PK_EXTRACTING_D2H, PK_LANE_COMPUTE);
    return rc;
}

/* Behind the forward pass, on the copy lane; the staging is free again when copied[k] has passed. */
static enum pk_code copy_behind(struct pk_extraction *x, size_t k, size_t slot, struct pk_err *err)
{
    enum pk_code rc = pk_lane_event_record(x->dev, PK_LANE_COMPUTE, &x->made, err);
    if (rc || (rc = pk_lane_await(x->dev, PK_LANE_COPY, &x->made, err)))
        return rc;
    pk_mark_begin(x->dev, PK_EXTRACTING_D2H, PK_LANE_COPY);
    rc = pk_device_copy(x->dev, PK_LANE_COPY, PK_COPY_DEVICE_TO_HOST, x->slots[slot], x->staging[k],
                        x->o.shards.n_layers * layer_bytes(x), err);
    pk_mark_end(x->dev, PK_EXTRACTING_D2H, PK_LANE_COPY);
    return rc ? rc : pk_lane_event_record(x->dev, PK_LANE_COPY, &x->copied[k], err);
}

/* --- where a batch goes --------------------------------------------------------------------------------------------- */

static void advance_to(struct pk_extraction *x, uint64_t ns)
{
    const uint64_t now = pk_device_now_ns(x->dev);
    if (ns > now)
        pk_null_advance(x->dev, ns - now);
}

static enum pk_code take_slot(struct pk_extraction *x, size_t *slot, struct pk_err *err)
{
    if (!x->o.dry)
        return pk_shard_writer_slot(x->writer, slot, err);
    *slot = x->store.n % x->store.slots;
    advance_to(x, pk_simulated_free_at(&x->store));
    return PK_OK;
}

static void submit(void *user)
{
    const struct pk_extraction_ticket *t = user;
    pk_shard_writer_submit(t->x->writer, t->slot, t->first, t->n);
}

static enum pk_code store(struct pk_extraction *x, size_t b, size_t slot, struct pk_err *err)
{
    struct pk_extraction_ticket *t = &x->tickets[b];
    *t = (struct pk_extraction_ticket){x, slot, b * x->o.shards.batch, samples_of(x, b)};
    if (x->o.dry)
        pk_simulated_submit(&x->store, pk_device_now_ns(x->dev));
    else if (pk_lanes_queue(x->dev) && x->o.way == PK_EXTRACT_PIPELINED)
        return pk_lane_call(x->dev, PK_LANE_COPY, submit, t, err);
    else
        submit(t);
    return PK_OK;
}

static enum pk_code drain(struct pk_extraction *x, struct pk_err *err)
{
    enum pk_code rc = pk_device_sync(x->dev, err);
    if (rc)
        return rc;
    if (!x->o.dry)
        return pk_shard_writer_drain(x->writer, err);
    advance_to(x, x->store.last);
    return PK_OK;
}

static enum pk_code run_batch(struct pk_extraction *x, size_t b, size_t slot, struct pk_err *err)
{
    const bool pipelined = x->o.way == PK_EXTRACT_PIPELINED;
    const size_t k = pipelined ? b % PK_STAGINGS : 0;
    const size_t batch = x->o.ragged ? (size_t)samples_of(x, b) : x->o.model.batch;
    enum pk_code rc = (x->o.way == PK_EXTRACT_REPLANNED ? plan_anew : plan)(x, batch, err);
    if (!rc && pipelined)
        rc = pk_lane_await(x->dev, PK_LANE_COMPUTE, &x->copied[k], err);
    if (!rc)
        rc = forward(x, b, x->staging[k], true, err);
    if (!rc)
        rc = pipelined ? copy_behind(x, k, slot, err) : copy_waiting(x, slot, err);
    if (!rc)
        rc = store(x, b, slot, err);
    return rc || pipelined ? rc : drain(x, err);
}

static size_t first_batch(const struct pk_extraction *x)
{
    return x->writer
               ? (size_t)((pk_shard_writer_first(x->writer) + x->o.shards.batch - 1) / x->o.shards.batch)
               : 0;
}

/* A batch lasts from its free slot to that of the next one. */
static void note_batch(struct pk_extraction *x, size_t b, uint64_t *began)
{
    const uint64_t now = pk_device_now_ns(x->dev);
    x->batch_ns[b] = now - *began;
    *began = now;
}

/* The stages' times, of a pass that began then. */
static void note_stages(struct pk_extraction *x, uint64_t began, size_t first_mark)
{
    const uint64_t ended = pk_device_now_ns(x->dev);
    if (x->writer)
        pk_shard_writer_facts(x->writer, &x->facts.stored);
    if (x->o.dry)
        x->facts.stored.stage[PK_STAGE_COMPRESS] =
            (struct pk_stage_time){.count = x->store.n,
                                   .elapsed_ns = x->store.n * x->store.store_ns * x->o.threads,
                                   .began_ns = x->store.began,
                                   .ended_ns = x->store.last};
    if (x->o.way != PK_EXTRACT_PIPELINED)
        return;
    const struct pk_stage_span s = pk_extraction_slowest(x, began, first_mark);
    x->facts.bound_ns = s.busy_ns;
    x->facts.fill_ns = s.began_ns > began ? s.began_ns - began : 0;
    x->facts.drain_ns = ended > s.ended_ns ? ended - s.ended_ns : 0;
}

enum pk_code pk_extraction_pass(struct pk_extraction *x, struct pk_err *err)
{
    const size_t first = first_batch(x), first_mark = x->dev->marks.n;
    if (x->broken.code)
        return *err = x->broken, err->code;
    size_t slot = 0;
    x->facts.plans = x->facts.replans = x->facts.samples = 0;
    x->facts.batches = x->batches - first;
    x->facts.slot_samples = x->o.ragged ? 0 : x->facts.batches * x->o.shards.batch;
    uint64_t began = pk_device_now_ns(x->dev);
    const uint64_t pass_began = began;
    pk_mark_begin(x->dev, PK_EXTRACTING, PK_LANE_HOST);
    enum pk_code rc = pk_lane_event_record(x->dev, PK_LANE_COMPUTE, &x->started, err);
    for (size_t b = first; !rc && b < x->batches; b++) {
        x->current = b;
        pk_mark_begin(x->dev, PK_EXTRACTING_BATCH, PK_LANE_HOST);
        rc = b == first ? take_slot(x, &slot, err) : PK_OK;
        if (!rc)
            rc = run_batch(x, b, slot, err);
        if (!rc)
            rc = b + 1 < x->batches ? take_slot(x, &slot, err) : drain(x, err);
        pk_mark_end(x->dev, PK_EXTRACTING_BATCH, PK_LANE_HOST);
        note_batch(x, b, &began);
        x->facts.samples += samples_of(x, b);
    }
    pk_mark_end(x->dev, PK_EXTRACTING, PK_LANE_HOST);
    if (x->o.ragged)
        x->facts.slot_samples = x->facts.samples;
    if (!rc)
        note_stages(x, pass_began, first_mark);
    return rc;
}

struct pk_steady pk_extraction_steady(const struct pk_extraction *x)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const size_t all = x->batches, n = all > 1 ? all - 1 : all;
    double *ns = pk_new_n(&a, double, n), *logs = pk_new_n(&a, double, n);
    size_t *starts = pk_new_n(&a, size_t, n + 1);
    for (size_t i = 0; i < n; i++)
        ns[i] = (double)x->batch_ns[i], logs[i] = log(fmax(ns[i], 1));
    const size_t pieces = pk_find_changes(logs, n, 3 * log((double)n), 2, starts);
    struct pk_steady s = {.first = pieces > 1 && 2 * starts[1] <= n ? starts[1] : 0};
    s.n = n - s.first;
    s.median_ns = s.n ? (uint64_t)pk_median_of(ns + s.first, s.n) : 0;
    return s;
}

/* --- opened and closed ---------------------------------------------------------------------------------------------- */

static void *pin(struct pk_extraction *x, size_t bytes)
{
    return pk_lanes_queue(x->dev) ? pk_lanes_pin(x->dev, bytes) : pk_alloc(x->arena, bytes);
}

static enum pk_code not_pinned(size_t bytes, struct pk_err *err)
{
    pk_fail(err, PK_E_OOM, "no pinned memory of %zu bytes", bytes);
    pk_why(err, "the driver refused it");
    return pk_fix(err, "use fewer slots, or a smaller batch");
}

static enum pk_code take_memory(struct pk_extraction *x, struct pk_err *err)
{
    const struct pk_transformer_config *m = &x->o.model;
    const size_t slot = pk_shard_batch_bytes(&x->o.shards);
    const size_t tokens = x->batches * pk_transformer_tokens(m) * sizeof *x->tokens;
    x->rope_table = pin(x, m->seq * (m->width / m->heads) * sizeof *x->rope_table);
    x->tokens = pin(x, tokens);
    if (!x->rope_table || !x->tokens)
        return not_pinned(tokens, err);
    x->slots = pk_new_n(x->arena, void *, x->o.slots);
    for (size_t k = 0; k < PK_STAGINGS; k++)
        if (!(x->staging[k] = pk_device_alloc(x->dev, slot, PK_TAG_ACTIVATIONS)))
            return pk_device_oom(x->dev, err);
    for (size_t i = 0; i < x->o.slots; i++) {
        x->slots[i] = x->o.dry ? x->staging[0] : pin(x, slot); /* dry: an address that nothing reads */
        if (!x->slots[i])
            return not_pinned(slot, err);
        if (!x->o.dry)
            memset(x->slots[i], 0, slot); /* every page is there */
    }
    enum pk_code rc = pk_lane_event_make(x->dev, &x->made, err);
    if (!rc)
        rc = pk_lane_event_make(x->dev, &x->started, err);
    for (size_t k = 0; !rc && k < PK_STAGINGS; k++)
        rc = pk_lane_event_make(x->dev, &x->copied[k], err);
    return rc;
}

static void choose_layers(struct pk_extraction *x)
{
    x->place = pk_new_n(x->arena, size_t, x->o.model.layers);
    memset(x->place, 0xff, x->o.model.layers * sizeof *x->place);
    for (size_t i = 0; i < x->o.shards.n_layers; i++)
        x->place[x->o.shards.layers[i]] = i;
}

static uint64_t since(struct pk_extraction *x, uint64_t *at)
{
    const uint64_t now = pk_device_now_ns(x->dev), ns = now - *at;
    *at = now;
    return ns;
}

enum pk_code pk_extraction_open(struct pk_extraction *x, struct pk_device *dev,
                                const struct pk_extraction_options *o, struct pk_arena *a, struct pk_err *err)
{
    *x = (struct pk_extraction){.o = *o, .dev = dev, .arena = a, .batches = pk_extraction_batches(o)};
    uint64_t at = pk_device_now_ns(dev);
    x->batch_ns = pk_new_n(a, uint64_t, x->batches);
    x->tickets = pk_new_n(a, struct pk_extraction_ticket, x->batches);
    choose_layers(x);
    enum pk_code rc = load_modules(x, err);
    x->warm_up.module_ns = since(x, &at);
    if (!rc)
        rc = pk_transformer_open(&x->t, dev, &o->model, PK_NEEDS_WEIGHTS, a, err);
    if (rc || (rc = take_memory(x, err)))
        return rc;
    x->warm_up.allocation_ns = since(x, &at);
    draw_tokens(x);
    if (!o->dry && (rc = pk_transformer_fill(&x->t, &(struct pk_origin){.seed = o->seed}, err)))
        return rc;
    x->warm_up.weights_ns = since(x, &at);
    rc = plan(x, o->model.batch, err);
    if (!rc)
        rc = pk_device_sync(dev, err);
    x->warm_up.plan_ns = since(x, &at);
    if (!rc)
        rc = plan(x, o->model.batch, err);
    x->warm_up.plan_warm_ns = since(x, &at);
    return rc;
}

enum pk_code pk_extraction_begin(struct pk_extraction *x, bool restart, struct pk_err *err)
{
    const struct pk_extraction_options *o = &x->o;
    if (pk_extraction_end(x, err) || pk_device_sync(x->dev, err) || pk_lanes_anchor(x->dev, err))
        return err->code;
    if (o->dry) {
        const double bytes = (double)pk_shard_batch_bytes(&o->shards);
        x->store = (struct pk_simulated_store){
            .store_ns = (uint64_t)(bytes / PK_SIMULATED_BYTES_PER_NS / o->threads), .slots = o->slots};
        return PK_OK;
    }
    struct pk_cpus cpus;
    pk_cpu_unused_cpus(x->dev, &cpus);
    const struct pk_shard_writer_options w = {.config = &o->shards,
                                              .folder = o->folder,
                                              .restart = restart,
                                              .threads = o->threads,
                                              .cpus = cpus.n ? &cpus : NULL,
                                              .slots = x->slots,
                                              .n_slots = o->slots};
    return pk_shard_writer_open(&x->writer, &w, err);
}

enum pk_code pk_extraction_end(struct pk_extraction *x, struct pk_err *err)
{
    struct pk_shard_writer *w = x->writer;
    x->writer = NULL;
    return w ? pk_shard_writer_close(w, &x->facts.stored, err) : PK_OK;
}

void pk_extraction_close(struct pk_extraction *x)
{
    struct pk_err ignored;
    if (!x->dev)
        return;
    if (pk_device_sync(x->dev, &ignored) || pk_extraction_end(x, &ignored))
        (void)0; /* the pass returned the error */
    for (size_t k = 0; k < PK_STAGINGS; k++) {
        pk_device_free(x->dev, x->staging[k]);
        pk_lane_event_drop(x->dev, &x->copied[k]);
    }
    pk_lane_event_drop(x->dev, &x->made);
    pk_lane_event_drop(x->dev, &x->started);
    if (pk_lanes_queue(x->dev)) {
        for (size_t i = 0; x->slots && !x->o.dry && i < x->o.slots; i++)
            pk_lanes_unpin(x->dev, x->slots[i]);
        pk_lanes_unpin(x->dev, x->tokens);
        pk_lanes_unpin(x->dev, x->rope_table);
    }
    pk_transformer_close(&x->t);
    *x = (struct pk_extraction){0};
}
