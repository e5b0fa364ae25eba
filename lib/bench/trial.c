/* Trial: a finding as a slice, and back. */
#include "bench/trial.h"

#include "base/clock.h"

#include <string.h>

/* Takes the value over; NULL is null. */
static struct pk_note note_of(const char *key, json_t *value, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *j = value ? value : json_null();
    return (struct pk_note){key, pk_json_text(a, j, PK_JSON_CANON)};
}

/* state is the only number; the rest are notes. */
enum pk_code pk_trial_slice(const char *source, struct pk_arena *a, struct pk_slice *out, struct pk_err *err)
{
    static const struct pk_metric_decl metric = {"state", "1", "none", "exact", "median", "max", "formula"};
    static const int64_t first[] = {0};
    const struct pk_source *s = pk_source_find(source);
    if (!s) {
        pk_fail(err, PK_E_USAGE, "this worker has no source '%.100s'", source);
        return pk_why(err, "it is another build of perfkit");
    }
    const struct pk_source_found f = (s->selftest ? s->selftest : s->check)(&pk_counter_host, a);
    int64_t *state = pk_new(a, int64_t);
    struct pk_series *series = pk_new(a, struct pk_series);
    struct pk_note *notes = pk_new_n(a, struct pk_note, 3);
    *state = f.state;
    *series =
        (struct pk_series){.phase = PK_PHASE_STEADY, .reps = 1, .n = 1, .ordinal = first, .integer = state};
    notes[0] = note_of("why", json_string(f.why), a);
    notes[1] = note_of("fix", f.fix ? json_string(f.fix) : NULL, a);
    notes[2] = note_of("error", json_integer(f.error), a);
    *out = (struct pk_slice){.pass = PK_PASS_CALIBRATION,
                             .invocation = 1,
                             .status = PK_ST_OK,
                             .message = "",
                             .metrics = &metric,
                             .n_metrics = 1,
                             .series = series,
                             .n_series = 1,
                             .notes = notes,
                             .n_notes = 3};
    return PK_OK;
}

static json_t *note(const struct pk_slice *s, const char *key)
{
    for (size_t i = 0; i < s->n_notes; i++)
        if (!strcmp(s->notes[i].key, key))
            return json_loads(s->notes[i].json, JSON_DECODE_ANY, NULL);
    return NULL;
}

static struct pk_source_found lost(const char *why, const char *fix)
{
    return (struct pk_source_found){PK_SOURCE_UNAVAILABLE, 0, why, fix};
}

static struct pk_source_found found(const struct pk_slice *s, struct pk_arena *a)
{
    PK_JSON_CLEANUP json_t *why = note(s, "why"), *fix = note(s, "fix"), *error = note(s, "error");
    if (s->status != PK_ST_OK)
        return lost(pk_printf(a, "its self-test failed: %s", s->message),
                    "perfkit does without it; timings are measured all the same");
    const int64_t state = s->series[0].integer ? s->series[0].integer[0] : PK_SOURCE_UNAVAILABLE;
    return (struct pk_source_found){
        state == PK_SOURCE_OK || state == PK_SOURCE_DEGRADED ? (enum pk_source_state)state
                                                             : PK_SOURCE_UNAVAILABLE,
        (int)json_integer_value(error), json_is_string(why) ? pk_strdup(a, json_string_value(why)) : "",
        json_is_string(fix) ? pk_strdup(a, json_string_value(fix)) : NULL};
}

static enum pk_code ask(struct pk_worker_client *l, const char *source, uint64_t deadline_ns,
                        const volatile int *stop_flag, struct pk_arena *a, struct pk_source_found *out,
                        struct pk_err *err)
{
    PK_JSON_CLEANUP json_t *no_axes = json_object();
    const struct pk_request r = {.id = 1,
                                 .experiment = PK_TRIAL,
                                 .variant = source,
                                 .device = "cpu",
                                 .axes = no_axes,
                                 .pass = PK_PASS_CALIBRATION,
                                 .invocation = 1};
    struct pk_slice *slice = NULL;
    const uint64_t began = pk_clock_ns();
    switch (pk_worker_client_ask(l, &r, deadline_ns, stop_flag, &slice)) {
    case PK_ANSWER_SLICE:
        *out = found(slice, a);
        return PK_OK;
    case PK_ANSWER_LATE:
        *out = lost(pk_printf(a, "its self-test did not end in %.1f s",
                              (double)(pk_clock_ns() - began) / (double)PK_NS_PER_S),
                    "end what else uses the device or profiles it, and look again");
        return PK_OK;
    case PK_ANSWER_STOPPED:
        break;
    }
    pk_fail(err, PK_E_INTERRUPTED, "interrupted while %s was tried", source);
    pk_why(err, "a signal asked perfkit to stop");
    return pk_fix(err, "run it again");
}

enum pk_code pk_trial_ask(const struct pk_provider *provider, const char *source, uint64_t deadline_ns,
                          const volatile int *stop_flag, struct pk_arena *a, struct pk_source_found *out,
                          struct pk_err *err)
{
    struct pk_worker_client worker;
    pk_worker_client_init(&worker, provider);
    const enum pk_code rc = ask(&worker, source, deadline_ns, stop_flag, a, out, err);
    pk_worker_client_quit(&worker);
    pk_worker_client_free(&worker);
    return rc;
}
