/* Plan bucket: the best bucket size of a data-parallel step. */
#include "cmd/plan/plan.h"

#include "bench/probe.h"
#include "comm/allreduce_fit.h"
#include "model/bucket/bucket_advice.h"
#include "json/json.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* --- the model and the link --- */

static enum pk_code find_gradients(const struct pk_cmd_plan_options *o, struct pk_arena *a,
                                   struct pk_gradients *g, struct pk_err *err)
{
    struct pk_model_shape shape;
    if (o->bucket.tensors)
        return pk_gradients_read(o->bucket.tensors, a, g, err);
    if (pk_cmd_plan_shape(o, a, &shape, err))
        return err->code;
    return pk_gradients_of_shape(&shape, a, g, err);
}

/* As the run's user would write it; as it is where today's ddp-bucket has no such axes. */
static const char *setting_text(const char *json, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *axes = json_loads(json, 0, NULL);
    struct pk_point at;
    struct pk_err err;
    bool which[PK_AXES_MAX] = {0};
    const struct pk_axis *rows = pk_probe_find("ddp-bucket")->axes;
    if (!axes || pk_point_from_json(rows, axes, a, &at, &err))
        return json;
    for (size_t i = 0; rows[i].name; i++)
        which[i] = json_object_get(axes, rows[i].name);
    return pk_point_text(&at, which, a);
}

/* What --launch and --bandwidth say, or a run measured. */
static enum pk_code find_link(struct pk_app *app, struct pk_virtual_link *link, struct pk_err *err)
{
    const struct pk_cmd_plan_options *o = app->options;
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    struct pk_link_cost cost;
    struct pk_parallel_setup typed = {0};
    int64_t run_id;
    if (pk_parallel_rate_typed(PK_RATE_LAUNCH, o->launch ? o->launch : "20us", &typed, app->arena, err) ||
        pk_parallel_rate_typed(PK_RATE_LINK, o->bandwidth ? o->bandwidth : "10GB", &typed, app->arena, err))
        return err->code;
    *link = (struct pk_virtual_link){.latency_ns = (uint64_t)typed.rate[PK_RATE_LAUNCH].value,
                                     .bytes_per_s = typed.rate[PK_RATE_LINK].value};
    if (!o->from.n)
        return PK_OK;
    if (o->from.n > 1) {
        pk_fail(err, PK_E_USAGE, "--from: %zu runs", o->from.n);
        pk_why(err, "the cost of an all-reduce is taken from one run of ddp-bucket");
        return pk_fix(err, "--from %s", o->from.v[0]);
    }
    if (pk_opt_exclusive(&app->tables[1], "from", (const char *const[]){"launch", "bandwidth", NULL},
                         "it gives the cost of an all-reduce", err))
        return err->code;
    enum pk_code rc = pk_open_run(app, o->from.v[0], &s, &run_id, err);
    if (rc == PK_E_NOTHING)
        return pk_fix(err, "`" PK_LINK_COST_COMMAND "` records the values for --from");
    if (rc || pk_link_cost_of_run(s, run_id, app->arena, &cost, err))
        return err->code;
    link->latency_ns = (uint64_t)llround(cost.launch_ns);
    link->bytes_per_s = cost.bus_bytes_per_s;
    pk_print_note(
        app,
        "run %lld: launch cost of an all-reduce %.2f us, bandwidth of a link %.3f GB/s (from %lld sizes)",
        (long long)run_id, cost.launch_ns / 1e3, cost.bus_bytes_per_s / 1e9, (long long)cost.sizes);
    if (cost.settings > 1)
        pk_print_note(app, "it has %zu settings; the first of those with most sizes is used: %s",
                      cost.settings, setting_text(cost.setting, app->arena));
    return PK_OK;
}

struct bucket_tables {
    const struct pk_bucket_inputs *q;
    const struct pk_bucket_advice *v;
    size_t n;
    bool explain;
    struct pk_arena *a;
};

static enum pk_code print_buckets(void *user, struct pk_out *out, struct pk_err *err)
{
    const struct bucket_tables *p = user;
    (void)err;
    pk_bucket_print(out, p->q, p->v, p->n, p->explain, p->a);
    return PK_OK;
}

static enum pk_code advise(struct pk_app *app, const struct pk_gradients *g, const struct pk_sweep *ranks,
                           struct pk_err *err)
{
    const size_t n = ranks->n;
    const struct pk_cmd_plan_options *o = app->options;
    struct pk_bucket_inputs *q = pk_new_n(app->arena, struct pk_bucket_inputs, n);
    struct pk_bucket_advice *v = pk_new_n(app->arena, struct pk_bucket_advice, n);
    struct pk_virtual_link link;
    if (find_link(app, &link, err))
        return err->code;
    for (size_t i = 0; i < n; i++) {
        q[i] = (struct pk_bucket_inputs){.gradients = g,
                                         .type = !strcmp(o->bucket.dtype, "bf16") ? PK_BF16 : PK_FP32,
                                         .backward_ns = (uint64_t)o->bucket.backward_ns,
                                         .ranks = (unsigned)ranks->v[i].i,
                                         .link = link};
        q[i].link.latency_ns += 2 * ((uint64_t)ranks->v[i].i - 1) * (uint64_t)o->bucket.hop_ns;
        if (pk_bucket_advise(&q[i], app->arena, &v[i], err))
            return err->code;
    }
    struct bucket_tables p = {q, v, n, o->explain, app->arena};
    return pk_print_tables(&(struct pk_table_source){print_buckets, &p, "plan bucket"}, &o->tables, app->out,
                           app->arena, err);
}

enum pk_code pk_cmd_plan_bucket(struct pk_app *app, struct pk_err *err)
{
    const struct pk_cmd_plan_options *o = app->options;
    struct pk_gradients g;
    struct pk_sweep ranks;
    if (pk_opt_exclusive(&app->tables[1], "tensors", (const char *const[]){"model", "config", NULL},
                         "the file defines the model", err) ||
        find_gradients(o, app->arena, &g, err))
        return err->code;
    return pk_bucket_ranks(&o->bucket, app->arena, &ranks, err) ? err->code : advise(app, &g, &ranks, err);
}
