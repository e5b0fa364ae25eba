/* Request: the measure message, both ways. */
#include "bench/worker/request.h"

#include "base/clock.h"
#include "wire/wire.h"

json_t *pk_request_json(const struct pk_request *r)
{
    json_t *j = json_pack(
        "{s:s, s:I, s:s, s:s, s:s, s:O, s:s, s:i, s:b, s:I, s:o, s:o}", "type", "measure", "id",
        (json_int_t)r->id, "experiment", r->experiment, "variant", r->variant, "device", r->device, "axes",
        (json_t *)r->axes, "pass", pk_pass_name(r->pass), "invocation", r->invocation, "check", (int)r->check,
        "seed", (json_int_t)(r->seed & INT64_MAX), "stop",
        json_pack("{s:I, s:I, s:I, s:I, s:f, s:I, s:b}", "min_samples", (json_int_t)r->stop.min_samples,
                  "max_samples", (json_int_t)r->stop.max_samples, "min_time_ns",
                  (json_int_t)r->stop.min_time_ns, "max_time_ns", (json_int_t)r->stop.max_time_ns,
                  "max_noise", r->stop.max_noise, "warmup", (json_int_t)r->stop.warmup, "once",
                  r->stop.profile > 0),
        "device_options",
        json_pack("{s:i, s:b, s:s*, s:b, s:I, s:I}", "threads", (int)r->device_options.threads, "bind",
                  !r->device_options.no_bind, "cpus", r->device_options.cpus, "cold",
                  (int)r->device_options.cold, "limit_bytes", (json_int_t)r->device_options.limit_bytes,
                  "seed", (json_int_t)(r->device_options.seed & INT64_MAX)));
    if (r->choices)
        json_object_set(j, "choices", (json_t *)r->choices);
    if (r->counters)
        json_object_set(j, "counters", (json_t *)r->counters);
    return j;
}

void pk_request_read(const json_t *j, struct pk_request *r)
{
    const json_t *stop = json_object_get(j, "stop"), *device = json_object_get(j, "device_options");
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
        .stop = {.min_samples = pk_json_int(stop, "min_samples", 15),
                 .max_samples = pk_json_int(stop, "max_samples", 10000),
                 .min_time_ns = pk_json_int(stop, "min_time_ns", 200 * PK_NS_PER_MS),
                 .max_time_ns = pk_json_int(stop, "max_time_ns", PK_NS_PER_S),
                 .max_noise = pk_json_num(stop, "max_noise", 0.005),
                 .warmup = pk_json_int(stop, "warmup", -1),
                 .profile = pk_json_bool(stop, "once", false)},
        .device_options = {.threads = (unsigned)pk_json_int(device, "threads", 0),
                           .no_bind = !pk_json_bool(device, "bind", true),
                           .cpus = pk_json_str(device, "cpus", NULL),
                           .cold = pk_json_bool(device, "cold", false),
                           .limit_bytes = pk_json_int(device, "limit_bytes", 0),
                           .seed = (uint64_t)pk_json_int(device, "seed", 0)},
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
