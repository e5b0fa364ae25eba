/* Calibrate: asks a worker for the ceilings of its device, stores the answer. */
#include "bench/calibrate.h"

#include "base/clock.h"
#include "base/plural.h"
#include "bench/worker/link.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { PATIENCE_S = 120, WORKERS = 3 };

static const struct {
    const char *key, *unit;
    size_t offset;
} rows[] = {
    {"fp32_flops_per_s", "flops/s", offsetof(struct pk_ceilings, fp32_flops_per_s)},
    {"exp_per_s", "1/s", offsetof(struct pk_ceilings, exp_per_s)},
    {"memory_bytes_per_s", "bytes/s", offsetof(struct pk_ceilings, memory_bytes_per_s)},
    {"copy_bytes_per_s", "bytes/s", offsetof(struct pk_ceilings, copy_bytes_per_s)},
    {"cache_bytes", "bytes", offsetof(struct pk_ceilings, cache_bytes)},
};
enum { ROWS = sizeof rows / sizeof *rows };

static double *member(struct pk_ceilings *c, size_t row)
{
    return (double *)((char *)c + rows[row].offset);
}

const char *pk_ceilings_key(const char *device, const struct pk_device_options *opt, struct pk_arena *a)
{
    return opt->threads ? pk_printf(a, "%s %s", device, pk_plural(opt->threads, "thread", a)) : device;
}

enum pk_code pk_ceilings_stored(struct pk_store *s, const char *machine, const char *key,
                                struct pk_ceilings *out, bool *found, struct pk_err *err)
{
    *found = true;
    for (size_t i = 0; *found && i < ROWS; i++) {
        enum pk_code rc = pk_store_ceiling_get(s, machine, key, rows[i].key, member(out, i), found, err);
        if (rc)
            return rc;
    }
    return PK_OK;
}

void pk_ceilings_slice(const struct pk_ceilings *c, struct pk_arena *a, struct pk_slice *out)
{
    static const int64_t first[] = {0};
    struct pk_ceilings copy = *c;
    struct pk_metric_decl *metrics = pk_new_n(a, struct pk_metric_decl, ROWS);
    struct pk_series *series = pk_new_n(a, struct pk_series, ROWS);
    for (size_t i = 0; i < ROWS; i++) {
        double *value = pk_new(a, double);
        *value = *member(&copy, i);
        metrics[i] =
            (struct pk_metric_decl){rows[i].key, rows[i].unit, "higher", "rate", "max", "min", "formula"};
        series[i] = (struct pk_series){
            .metric = i, .phase = PK_PHASE_STEADY, .reps = 1, .n = 1, .ordinal = first, .real = value};
    }
    *out = (struct pk_slice){.pass = PK_PASS_CALIBRATION,
                             .invocation = 1,
                             .status = PK_ST_OK,
                             .message = "",
                             .metrics = metrics,
                             .n_metrics = ROWS,
                             .series = series,
                             .n_series = ROWS};
}

static enum pk_code take(const struct pk_slice *slice, struct pk_ceilings *out, struct pk_err *err)
{
    for (size_t i = 0; i < ROWS; i++) {
        *member(out, i) = 0;
        for (size_t k = 0; k < slice->n_series; k++)
            if (!strcmp(slice->metrics[slice->series[k].metric].name, rows[i].key) && slice->series[k].real)
                *member(out, i) = slice->series[k].real[0];
        if (!(*member(out, i) > 0)) {
            pk_fail(err, PK_E_INTERNAL, "the worker measured no %s", rows[i].key);
            return pk_why(err, "its answer has no positive value of it");
        }
    }
    return PK_OK;
}

static enum pk_code no_ceilings(const char *device, enum pk_answer answer, const struct pk_slice *slice,
                                struct pk_err *err)
{
    if (answer == PK_ANSWER_STOPPED) {
        pk_fail(err, PK_E_INTERRUPTED, "interrupted while the ceilings of %s were measured", device);
        pk_why(err, "a signal asked perfkit to stop; nothing else was measured yet");
        return pk_fix(err, "run it again: they are measured once and then kept");
    }
    if (answer == PK_ANSWER_LATE) {
        pk_fail(err, PK_E_TIMEOUT, "the ceilings of %s were not measured in %d s", device, PATIENCE_S);
        pk_why(err, "the machine is busy, or much slower than expected");
        return pk_fix(err, "perfkit doctor --ceilings tries again");
    }
    pk_fail(err, PK_E_UNAVAILABLE, "cannot measure the ceilings of %s: %s", device, slice->message);
    pk_why(err, "the worker that measures them said so");
    return pk_fix(err, "perfkit list devices shows what works here");
}

static enum pk_code ask(const char *device, const struct pk_device_options *opt,
                        const volatile int *stop_flag, struct pk_ceilings *out, struct pk_err *err)
{
    struct pk_link link;
    struct pk_slice *slice = NULL;
    PK_JSON_CLEANUP json_t *no_axes = json_object();
    const struct pk_request request = {.id = 1,
                                       .experiment = "ceilings",
                                       .variant = "measured",
                                       .device = device,
                                       .axes = no_axes,
                                       .pass = PK_PASS_CALIBRATION,
                                       .invocation = 1,
                                       .device_options = *opt};
    pk_link_init(&link, &pk_native_provider);
    enum pk_answer answer =
        pk_link_ask(&link, &request, pk_clock_ns() + PATIENCE_S * PK_NS_PER_S, stop_flag, &slice);
    enum pk_code rc = answer == PK_ANSWER_SLICE && slice->status == PK_ST_OK
                          ? take(slice, out, err)
                          : no_ceilings(device, answer, slice, err);
    pk_link_quit(&link);
    pk_link_free(&link);
    return rc;
}

/* The best of several workers: a ceiling is what the device can do, and a neighbour only ever takes from it. */
static enum pk_code ask_for_best(const char *device, const struct pk_device_options *opt,
                                 const volatile int *stop_flag, struct pk_ceilings *out, struct pk_err *err)
{
    enum pk_code rc = ask(device, opt, stop_flag, out, err);
    for (int again = 1; !rc && again < WORKERS; again++) {
        struct pk_ceilings c;
        rc = ask(device, opt, stop_flag, &c, err);
        for (size_t i = 0; !rc && i < ROWS; i++)
            *member(out, i) = fmax(*member(out, i), *member(&c, i));
    }
    return rc;
}

enum pk_code pk_ceilings_calibrate(struct pk_store *s, const char *machine, const char *device,
                                   const struct pk_device_options *opt, const volatile int *stop_flag,
                                   struct pk_ceilings *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *key = pk_ceilings_key(device, opt, &a);
    enum pk_code rc = ask_for_best(device, opt, stop_flag, out, err);
    for (size_t i = 0; !rc && i < ROWS; i++)
        rc = pk_store_ceiling(s, machine, key, rows[i].key, *member(out, i), err);
    return rc;
}
