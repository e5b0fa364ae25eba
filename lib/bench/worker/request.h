/* Request: a request to measure, from the parent to a worker, as a struct and as the protocol's measure message. */
#pragma once

#include "bench/measure/measure.h"
#include "json/json.h"

struct pk_request {
    int64_t id; /* echoed by the reply's status */
    const char *experiment, *variant, *device;
    const json_t *axes; /* object; every present axis */
    enum pk_pass pass;
    int invocation;
    bool check;
    uint64_t seed; /* the protocol carries 63 bits */
    struct pk_stop stop;
    struct pk_device_options device_options;
    const json_t *counters; /* of a counter pass: {"source": NAME, "events": [NAMES]}; NULL = none */
    const struct pk_source_plan
        *external_counters; /* the same, where the parent counts the program from outside; not sent */
    const json_t *choices;  /* object of strings: choices of this run (device/choices.h); NULL = none */
};

/* {"source": NAME, "events": [NAMES]}. New. */
json_t *pk_counters_json(const struct pk_source_plan *plan);
/* What such an object names. PK_E_USAGE when an event has no name. Names in the arena, texts stay j's. */
struct pk_counters_named {
    const struct pk_source *source; /* NULL = this build does not have it */
    const char **events;
    size_t n;
};
enum pk_code pk_counters_named(const json_t *j, struct pk_arena *a, struct pk_counters_named *out,
                               struct pk_err *err) PK_MUST_CHECK;

/* A new reference. */
json_t *pk_request_json(const struct pk_request *r);

/* From a measure message that the wire reader has accepted; missing members get their default. Texts and axes still belong to j. */
void pk_request_read(const json_t *j, struct pk_request *r);
