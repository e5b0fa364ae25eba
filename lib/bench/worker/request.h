/* Request: a request to measure, from the parent to a worker, as a struct and as the protocol's measure message. */
#pragma once

#include "bench/measure/measure.h"
#include "json/json.h"

struct pk_request {
    int64_t id; /* echoed by the answer's status */
    const char *experiment, *variant, *device;
    const json_t *axes; /* object; every present axis */
    enum pk_pass pass;
    int invocation;
    bool check;
    uint64_t seed; /* the protocol carries 63 bits */
    struct pk_stop stop;
    struct pk_device_options device_options;
    const json_t *counters; /* of a counter pass: {"source": NAME, "events": [NAMES]}; NULL = none */
    const json_t
        *choices; /* object of strings: what this run has chosen (device/choices.h); NULL = nothing */
};

/* A new reference. */
json_t *pk_request_json(const struct pk_request *r);

/* From a measure message that the wire reader has accepted; missing members get their default. Texts and axes still belong to j. */
void pk_request_read(const json_t *j, struct pk_request *r);
