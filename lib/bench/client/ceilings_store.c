/* Ceilings store: requests the ceilings of a device from a worker and stores them. */
#include "bench/client/ceilings_store.h"

#include "base/clock.h"
#include "base/text/words.h"
#include "bench/client/worker_client.h"
#include "bench/worker/answers.h"
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

enum { PATIENCE_S = 120, REPEATS = 3, REPEATS_MOST = 9, CALIBRATE_S = 3, FRESH_S = 24 * 60 * 60 };

const char *pk_ceilings_key(const char *device, const struct pk_device_options *opt, struct pk_arena *a)
{
    if (opt->threads)
        device = pk_printf(a, "%s %s", device, pk_plural(opt->threads, "thread", a));
    return opt->cpus ? pk_printf(a, "%s on CPUs %s", device, opt->cpus) : device;
}

enum pk_code pk_ceilings_stored(struct pk_store *s, const char *machine, const char *key,
                                struct pk_stored_ceilings *out, struct pk_err *err)
{
    *out = (struct pk_stored_ceilings){.found = true, .newest_ns = INT64_MAX};
    for (size_t i = 0; i < PK_CEILING_ROWS; i++) {
        struct pk_ceiling c;
        if (pk_store_ceiling(s, machine, key, pk_ceiling_rows[i].key, &c, err))
            return err->code;
        if (pk_ceiling_rows[i].of_some && !c.repeats)
            continue;
        *pk_ceiling(&out->top, i) = c.value;
        out->found &= c.repeats > 0;
        out->newest_ns = c.newest_ns < out->newest_ns ? c.newest_ns : out->newest_ns;
        if (!c.confirmed && !out->doubtful)
            out->doubtful = pk_ceiling_rows[i].key;
    }
    return PK_OK;
}

bool pk_ceilings_wanting(const struct pk_stored_ceilings *stored, int64_t now_ns)
{
    return stored->doubtful || now_ns - stored->newest_ns > (int64_t)(FRESH_S * PK_NS_PER_S);
}

static enum pk_code no_ceilings(const char *device, enum pk_reply answer, const struct pk_slice *slice,
                                struct pk_err *err)
{
    if (answer == PK_REPLY_STOPPED) {
        pk_fail(err, PK_E_INTERRUPTED, "interrupted while measuring the ceilings of %s", device);
        pk_why(err, "a signal stopped perfkit; nothing else was measured yet");
        return pk_fix(err, "run it again");
    }
    if (answer == PK_REPLY_LATE) {
        pk_fail(err, PK_E_TIMEOUT, "the ceilings of %s were not measured in %d s", device, PATIENCE_S);
        pk_why(err, "the machine is busy, or much slower than expected");
        return pk_fix(err, "perfkit doctor --ceilings tries again");
    }
    pk_fail(err, PK_E_UNAVAILABLE, "cannot measure the ceilings of %s: %s", device, slice->message);
    pk_why(err, "the worker that measures them reported this error");
    return pk_fix(err, "perfkit list devices shows what works here");
}

static enum pk_code measure_in_worker(const char *device, const struct pk_device_options *opt,
                                      const volatile int *stop_flag, struct pk_ceilings *out,
                                      struct pk_ceilings *sheet, struct pk_err *err)
{
    struct pk_worker_client worker;
    struct pk_slice *slice = NULL;
    pk_worker_client_init(&worker, &pk_native_provider);
    const enum pk_reply answer =
        pk_worker_client_question(&worker, "ceilings", "measured", device, opt,
                                  pk_clock_ns() + PATIENCE_S * PK_NS_PER_S, stop_flag, &slice);
    enum pk_code rc = answer == PK_REPLY_SLICE && slice->status == PK_ST_OK
                          ? pk_ceilings_of_slice(slice, out, err)
                          : no_ceilings(device, answer, slice, err);
    if (sheet) { /* among the facts about its device */
        const size_t prefix = strlen(PK_SHEET_PREFIX);
        *sheet = (struct pk_ceilings){0};
        for (size_t f = 0; f < worker.n_facts; f++)
            for (size_t i = 0; i < PK_CEILING_ROWS; i++)
                if (!strncmp(worker.facts[f].key, PK_SHEET_PREFIX, prefix) &&
                    !strcmp(worker.facts[f].key + prefix, pk_ceiling_rows[i].key))
                    *pk_ceiling(sheet, i) = strtod(worker.facts[f].value, NULL);
    }
    pk_worker_client_close(&worker);
    return rc;
}

enum pk_code pk_ceilings_repeat(struct pk_store *s, const char *machine, const char *device,
                                const struct pk_device_options *opt, const volatile int *stop_flag,
                                struct pk_ceilings *sheet, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_ceilings c;
    struct pk_ceiling_value values[PK_CEILING_ROWS];
    if (measure_in_worker(device, opt, stop_flag, &c, sheet, err))
        return err->code;
    size_t n = 0;
    for (size_t i = 0; i < PK_CEILING_ROWS; i++)
        if (*pk_ceiling(&c, i) > 0)
            values[n++] = (struct pk_ceiling_value){pk_ceiling_rows[i].key, *pk_ceiling(&c, i)};
    return pk_store_ceilings(s, machine, pk_ceilings_key(device, opt, &a), values, n, err);
}

enum pk_code pk_ceilings_calibrate(struct pk_store *s, const char *machine, const char *device,
                                   const struct pk_device_options *opt, const volatile int *stop_flag,
                                   struct pk_stored_ceilings *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *key = pk_ceilings_key(device, opt, &a);
    const uint64_t begin = pk_clock_ns();
    struct pk_ceilings sheet;
    enum pk_code rc = PK_OK;
    bool enough = false;
    for (size_t n = 1; !rc && !enough; n++) {
        rc = pk_ceilings_repeat(s, machine, device, opt, stop_flag, &sheet, err);
        if (!rc)
            rc = pk_ceilings_stored(s, machine, key, out, err);
        const uint64_t spent = pk_clock_ns() - begin; /* and one more would take spent / n */
        const bool may = n < REPEATS_MOST && spent + spent / n <= CALIBRATE_S * PK_NS_PER_S;
        enough = n >= REPEATS && !(out->doubtful && may);
    }
    out->sheet = sheet;
    return rc;
}
