/* Ceilings store: requests the ceilings of a device from a worker and stores them. */
#include "bench/client/ceilings_store.h"

#include "base/text/units.h"
#include "base/text/words.h"
#include "bench/client/worker_client.h"
#include "bench/worker/replies.h"
#include "device/device.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REPEATS = 3, REPEATS_MOST = 9, REPEATS_S = 3, FRESH_S = 24 * 60 * 60 };

const char *pk_ceilings_key(const char *device, const struct pk_device_options *opt, struct pk_arena *a)
{
    if (opt->threads)
        device = pk_printf(a, "%s %s", device, pk_plural(opt->threads, "thread", a));
    return opt->cpus ? pk_printf(a, "%s on CPUs %s", device, opt->cpus) : device;
}

enum pk_code pk_ceilings_stored(struct pk_store *s, const char *machine, const char *key,
                                struct pk_stored_ceilings *out, struct pk_err *err)
{
    *out = (struct pk_stored_ceilings){.found = true, .newest_ns = INT64_MAX, .evidence = PK_EVIDENCE_FLAT};
    for (size_t i = 0; i < PK_CEILING_ROWS; i++) {
        struct pk_ceiling c;
        if (pk_store_ceiling(s, machine, key, pk_ceiling_rows[i].key, &c, err))
            return err->code;
        if (pk_ceiling_rows[i].of_some && !c.repeats)
            continue;
        *pk_ceiling(&out->top, i) = c.value;
        if (pk_ceiling_rows[i].of_level)
            continue;
        if (pk_ceiling_rows[i].of_curve && c.repeats && c.evidence < out->evidence)
            out->evidence = c.evidence;
        out->found &= c.repeats > 0;
        out->newest_ns = c.newest_ns < out->newest_ns ? c.newest_ns : out->newest_ns;
        const size_t n = strlen(out->doubtful);
        if (!c.confirmed)
            snprintf(out->doubtful + n, sizeof out->doubtful - n, "%s%s", n ? ", " : "",
                     pk_ceiling_rows[i].key);
    }
    return PK_OK;
}

bool pk_ceilings_wanting(const struct pk_stored_ceilings *stored, int64_t now_ns)
{
    return *stored->doubtful || stored->evidence == PK_EVIDENCE_ONE_SIZE ||
           now_ns - stored->newest_ns > (int64_t)(FRESH_S * PK_NS_PER_S);
}

/* One repeat: how it is measured. */
struct ceiling_repeat {
    const char *device;
    const struct pk_device_options *opt;
    bool one_lane;
    uint64_t limit_ns, deadline_ns;
    const volatile int *stop_flag;
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static enum pk_code no_ceilings(const struct ceiling_repeat *w, enum pk_reply reply,
                                const struct pk_worker_client *worker, const struct pk_slice *slice,
                                struct pk_err *err)
{
    char limit[32];
    if (reply == PK_REPLY_STOPPED) {
        pk_fail(err, PK_E_INTERRUPTED, "interrupted while measuring the ceilings of %s", w->device);
        pk_why(err, "a signal stopped perfkit; nothing else was measured yet");
        return pk_fix(err, "run it again");
    }
    if (reply == PK_REPLY_LATE) {
        pk_fail(err, PK_E_TIMEOUT, "the ceilings of %s were not measured in %s%s%s", w->device,
                pk_format_duration_exact((int64_t)w->limit_ns, limit, sizeof limit),
                worker->missing ? ": " : "", worker->missing ? worker->missing : "");
        pk_why(err, "the machine is busy, or much slower than expected, or a process was stopped");
        return pk_fix(err, "perfkit doctor --ceilings tries again");
    }
    pk_fail(err, PK_E_UNAVAILABLE, "cannot measure the ceilings of %s: %s", w->device, slice->message);
    pk_why(err, "the worker that measures them reported this error");
    return pk_fix(err, "perfkit list devices shows what works here");
}

/* One repeat: what the worker answered. */
struct repeat {
    struct pk_ceilings top, sheet; /* sheet: what the vendor states */
    struct pk_curves curves;
};

static enum pk_code measure_in_worker(const struct ceiling_repeat *w, struct repeat *out, struct pk_err *err)
{
    const size_t prefix = strlen(PK_SHEET_PREFIX);
    struct pk_worker_client worker;
    struct pk_slice *slice = NULL;
    *out = (struct repeat){0};
    pk_worker_client_init(&worker, &pk_native_provider);
    const enum pk_reply reply =
        pk_worker_client_request_other(&worker, "ceilings", w->one_lane ? PK_REQUEST_ONE_LANE : "measured",
                                       w->device, w->opt, w->deadline_ns, w->stop_flag, &slice);
    enum pk_code rc = reply == PK_REPLY_SLICE && slice->status == PK_ST_OK
                          ? pk_ceilings_of_slice(slice, &out->top, &out->curves, err)
                          : no_ceilings(w, reply, &worker, slice, err);
    for (size_t f = 0; f < worker.n_facts; f++) /* the sheet is among the facts about its device */
        for (size_t i = 0; i < PK_CEILING_ROWS; i++)
            if (!strncmp(worker.facts[f].key, PK_SHEET_PREFIX, prefix) &&
                !strcmp(worker.facts[f].key + prefix, pk_ceiling_rows[i].key))
                *pk_ceiling(&out->sheet, i) = strtod(worker.facts[f].value, NULL);
    pk_worker_client_close(&worker);
    return rc;
}

static void add_curve(struct pk_ceiling_repeat *r, struct pk_curve_row *rows, const struct pk_curve *c)
{
    for (size_t i = 0; i < c->n; i++) {
        const struct pk_curve_point *p = &c->points[i];
        rows[r->n_curve] = (struct pk_curve_row){.lanes = c->lanes,
                                                 .bytes = (int64_t)p->bytes,
                                                 .level = pk_level_names[p->level],
                                                 .stop = i + 1 == c->n ? pk_curve_stops[c->stop] : NULL};
        memcpy(rows[r->n_curve++].rate, p->rate, sizeof p->rate);
    }
}

/* A device whose rates are declared has no curve: its memory has one rate. */
static enum pk_evidence evidence_of(const struct pk_ceiling_row *row, const struct pk_curves *curves)
{
    const struct pk_curve *c = &curves->v[0];
    if (!row->of_curve && !row->of_level)
        return PK_EVIDENCE_ONE_SIZE;
    if (!row->of_curve || !curves->n || c->stop == PK_CURVE_FLAT)
        return PK_EVIDENCE_FLAT;
    return c->n ? (enum pk_evidence)ilogb((double)c->points[c->n - 1].bytes) : PK_EVIDENCE_LIMITED;
}

static enum pk_code store_repeat(struct pk_store *s, const char *machine, const char *key,
                                 struct repeat *measured, struct pk_err *err)
{
    struct pk_ceiling_value values[PK_CEILING_ROWS];
    struct pk_curve_row curve[2 * PK_CURVE_POINTS];
    struct pk_ceiling_repeat r = {.machine = machine, .device = key, .values = values, .curve = curve};
    const struct pk_curves *curves = &measured->curves;
    for (size_t i = 0; i < PK_CEILING_ROWS; i++)
        if (*pk_ceiling(&measured->top, i) > 0)
            values[r.n_values++] =
                (struct pk_ceiling_value){pk_ceiling_rows[i].key, *pk_ceiling(&measured->top, i),
                                          evidence_of(&pk_ceiling_rows[i], curves)};
    for (size_t i = 0; i < curves->n; i++)
        add_curve(&r, curve, &curves->v[i]);
    return pk_store_ceilings(s, &r, err);
}

enum pk_code pk_ceilings_repeat(struct pk_store *s, const char *machine, const char *device,
                                const struct pk_device_options *opt, uint64_t limit_ns,
                                const volatile int *stop_flag, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct ceiling_repeat w = {device, opt, false, least(limit_ns, PK_CEILINGS_LIMIT_NS), 0, stop_flag};
    struct repeat measured;
    w.deadline_ns = pk_clock_ns() + w.limit_ns;
    if (measure_in_worker(&w, &measured, err))
        return err->code;
    return store_repeat(s, machine, pk_ceilings_key(device, opt, &a), &measured, err);
}

enum pk_code pk_ceilings_refresh(struct pk_store *s, const char *machine, const char *device,
                                 const struct pk_device_options *opt, uint64_t limit_ns,
                                 const volatile int *stop_flag, struct pk_stored_ceilings *out,
                                 struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char *key = pk_ceilings_key(device, opt, &a);
    const uint64_t begin = pk_clock_ns();
    struct ceiling_repeat w = {device, opt, true, least(limit_ns, PK_CEILINGS_LIMIT_NS), 0, stop_flag};
    struct repeat measured = {0};
    enum pk_code rc = PK_OK;
    bool enough = false;
    w.deadline_ns = begin + w.limit_ns;
    for (size_t n = 1; !rc && !enough; n++) {
        w.one_lane = n == 1;
        if (n == 1 || measured.curves.n) /* declared rates are the same each time */
            rc = measure_in_worker(&w, &measured, err);
        if (!rc)
            rc = store_repeat(s, machine, key, &measured, err);
        if (!rc)
            rc = pk_ceilings_stored(s, machine, key, out, err);
        const uint64_t spent = pk_clock_ns() - begin; /* and one more would take spent / n */
        const bool may = n < REPEATS_MOST && spent + spent / n <= REPEATS_S * PK_NS_PER_S;
        enough = n >= REPEATS && !(*out->doubtful && may);
    }
    struct pk_err unread;
    if (rc == PK_E_TIMEOUT && !pk_ceilings_stored(s, machine, key, out, &unread) && out->found) {
        out->late = true;
        rc = PK_OK;
    }
    out->sheet = measured.sheet;
    return rc;
}
