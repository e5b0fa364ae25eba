/* Calibration: the noise of a machine, from equal work measured on two sides; kept for later gates (v_calibration).
 *
 * A row belongs to a case of the base run. That run gives the machine, device and settings for which it is valid; the row is removed
 * with the run. */
#pragma once

#include "stats/verdict/verdict.h"
#include "store/store.h"

struct pk_calibration_row {
    const char *experiment, *variant, *device;
    const char *axes;   /* JSON, as the case was recorded */
    const char *metric; /* its name */
    int64_t ordinal;    /* of the case, among those it was measured with */
    struct pk_pair_noise noise;
};

/* Records the noise of cases of this run that ended ok, with the noise within processes, which it computes. One transaction. */
enum pk_code pk_store_calibrate(struct pk_store *s, int64_t run_id, const struct pk_calibration_row *v,
                                size_t n, struct pk_err *err) PK_MUST_CHECK;

/* The calibrations of an experiment, the newest run first. */
struct pk_calibration {
    int64_t run_id;
    const char *measured_at;      /* UTC */
    const char *machine;          /* JSON object */
    const char *settings;         /* of the run, JSON object */
    const char *identity;         /* of the case, JSON */
    const char *unit, *direction; /* of the metric */
    int64_t revision;
    struct pk_calibration_row of;
};
enum pk_code pk_store_calibrations(struct pk_store *s, const char *experiment, struct pk_arena *a,
                                   struct pk_calibration **v, size_t *n, struct pk_err *err) PK_MUST_CHECK;
