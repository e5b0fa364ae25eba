/* Given: the device that a GPU test is told to run on: `test-gpu-ops [DEVICE [tiny|large]]`, cuda when none is named. */
#pragma once

#include "device/device.h"

#include <stdbool.h>

struct given {
    const char *device;
    bool tiny;  /* the smallest sizes: under a sanitizer everything takes a hundred times as long */
    bool large; /* on a CPU too: the sizes that a GPU is given */
};

/* Ends the process with status 77 and the reason where that device cannot be used, with 2 for words nobody knows. */
struct given given_device(int argc, char **argv);
void given_open(struct pk_device *dev, const struct given *g, const struct pk_device_options *opt);
/* Also after a test that failed and left memory behind: the next one shall run. */
void given_close(struct pk_device *dev);
