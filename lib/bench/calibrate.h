/* Calibrate: the ceilings of a device, measured by a worker, kept in the store. */
#pragma once

#include "device/device.h"
#include "ops/ceilings.h"
#include "store/store.h"

/* Under which name the ceilings of a device opened this way are stored: "cpu", or "cpu 1 thread" when threads are set. */
const char *pk_ceilings_key(const char *device, const struct pk_device_options *opt, struct pk_arena *a);

/* The stored ceilings of this machine and key; *found is false when there are none. */
enum pk_code pk_ceilings_stored(struct pk_store *s, const char *machine, const char *key,
                                struct pk_ceilings *out, bool *found, struct pk_err *err) PK_MUST_CHECK;

/* Measures them in three fresh workers (about a second each) and stores the best of each. */
enum pk_code pk_ceilings_calibrate(struct pk_store *s, const char *machine, const char *device,
                                   const struct pk_device_options *opt, const volatile int *stop_flag,
                                   struct pk_ceilings *out, struct pk_err *err) PK_MUST_CHECK;

/* What a request of pass `calibration` is answered with: one value per ceiling. */
void pk_ceilings_slice(const struct pk_ceilings *c, struct pk_arena *a, struct pk_slice *out);
