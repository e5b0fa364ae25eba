/* Request: the measure message, both ways. */
#include "bench/worker/request.h"

#include "base/clock.h"
#include "wire/wire.h"

static json_t *stop_json(const struct pk_stop *s)
{
    return json_pack("{s:I, s:I, s:I, s:I, s:f, s:I, s:b}", "min_samples", (json_int_t)s->min_samples,
                     "max_samples", (json_int_t)s->max_samples, "min_time_ns", (json_int_t)s->min_time_ns,
                     "max_time_ns", (json_int_t)s->max_time_ns, "max_noise", s->max_noise, "warmup",
                     (json_int_t)s->warmup, "once", (int)s->once);
}

static json_t *device_json(const struct pk_device_options *d)
{
    return json_pack("{s:i, s:b, s:s*, s:b, s:I, s:I}", "threads", (int)d->threads, "bind", !d->no_bind,
                     "cpus", d->cpus, "cold", (int)d->cold, "limit_bytes", (json_int_t)d->limit_bytes, "seed",
                     (json_int_t)(d->seed & INT64_MAX));
}

json_t *pk_request_json(const struct pk_request *r)
{
    json_t *j =
        json_pack("{s:s, s:I, s:s, s:s, s:s, s:O, s:s, s:i, s:b, s:I, s:o, s:o}", "type", "measure", "id",
                  (json_int_t)r->id, "experiment", r->experiment, "variant", r->variant, "device", r->device,
                  "axes", (json_t *)r->axes, "pass", pk_pass_name(r->pass), "invocation", r->invocation,
                  "check", (int)r->check, "seed", (json_int_t)(r->seed & INT64_MAX), "stop",
                  stop_json(&r->stop), "device_options", device_json(&r->device_options));
    if (r->choices)
        json_object_set(j, "choices", (json_t *)r->choices);
    if (r->counters)
        json_object_set(j, "counters", (json_t *)r->counters);
    return j;
}

static struct pk_stop read_stop(const json_t *j)
{
    return (struct pk_stop){
        .min_samples = pk_json_int(j, "min_samples", 15),
        .max_samples = pk_json_int(j, "max_samples", 10000),
        .min_time_ns = pk_json_int(j, "min_time_ns", 200 * PK_NS_PER_MS),
        .max_time_ns = pk_json_int(j, "max_time_ns", PK_NS_PER_S),
        .max_noise = pk_json_num(j, "max_noise", 0.005),
        .warmup = pk_json_int(j, "warmup", -1),
        .once = pk_json_bool(j, "once", false),
    };
}

static struct pk_device_options read_device(const json_t *j)
{
    return (struct pk_device_options){
        .threads = (unsigned)pk_json_int(j, "threads", 0),
        .no_bind = !pk_json_bool(j, "bind", true),
        .cpus = pk_json_str(j, "cpus", NULL),
        .cold = pk_json_bool(j, "cold", false),
        .limit_bytes = pk_json_int(j, "limit_bytes", 0),
        .seed = (uint64_t)pk_json_int(j, "seed", 0),
    };
}

void pk_request_read(const json_t *j, struct pk_request *r)
{
    *r = (struct pk_request){
        .id = pk_json_int(j, "id", 0),
        .experiment = pk_json_str(j, "experiment", ""),
        .variant = pk_json_str(j, "variant", ""),
        .device = pk_json_str(j, "device", ""),
        .axes = json_object_get(j, "axes"),
        .pass = PK_PASS_TIMING,
        .invocation = (int)pk_json_int(j, "invocation", 1),
        .check = pk_json_bool(j, "check", false),
        .seed = (uint64_t)pk_json_int(j, "seed", 1),
        .stop = read_stop(json_object_get(j, "stop")),
        .device_options = read_device(json_object_get(j, "device_options")),
        .choices = json_object_get(j, "choices"),
        .counters = json_object_get(j, "counters"),
    };
    pk_pass_parse(pk_json_str(j, "pass", "timing"), &r->pass);
}

json_t *pk_counters_json(const struct pk_source_plan *plan)
{
    json_t *events = json_array();
    for (size_t e = 0; e < plan->n; e++)
        json_array_append_new(events, json_string(plan->events[e].name));
    return json_pack("{s:s, s:o}", "source", plan->source->name, "events", events);
}

enum pk_code pk_counters_named(const json_t *j, struct pk_arena *a, struct pk_counters_named *out,
                               struct pk_err *err)
{
    const json_t *list = json_object_get(j, "events");
    *out = (struct pk_counters_named){.source = pk_source_find(pk_json_str(j, "source", "")),
                                      .n = json_array_size(list)};
    out->events = pk_new_n(a, const char *, out->n + 1);
    for (size_t i = 0; i < out->n; i++)
        if (!(out->events[i] = json_string_value(json_array_get(list, i))))
            return pk_fail(err, PK_E_USAGE, "an event to count has no name");
    return PK_OK;
}
