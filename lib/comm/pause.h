/* Pause: waits without using a core, like a host whose GPU computes. */
#pragma once

#include "device/device.h"

/* Returns when the device's clock reaches that time, or at once when it has passed. On the CPU the thread sleeps until shortly before
 * and spins the rest; on the null device exactly that time passes. Not on a GPU, whose lanes have pk_device_delay. */
void pk_pause_until(struct pk_device *dev, uint64_t ns);
