/* Epoch model: a model whose parts are delays on the compute lane, for tests of the loop. */
#pragma once

#include "model/epoch/epoch.h"

enum {
    FORWARD_NS = 10000,
    LOSS_NS = 4000,
    BACKWARD_NS = 20000,
    UPDATE_NS = 6000,
    CLEAR_NS = 1000,
    ELEMENTS = 100
};

struct counted_model {
    struct pk_epoch *epoch;
    struct pk_device *dev;
    float *memory; /* device: loss, then gradients */
    unsigned forwards, kept, backwards, added, cleared, updates;
    float factors[64];
};

struct pk_epoch_model model_of_delays(struct counted_model *m);
