/* Ceilings store: the measured peak rates of a device, kept in the store; a worker measures them. */
#pragma once

#include "base/clock.h"
#include "device/device.h"
#include "ops/ceilings/ceilings.h"
#include "store/store.h"

/* The name under which the ceilings of a device opened in this way are stored: "cpu", or "cpu 1 thread" when threads are set. */
const char *pk_ceilings_key(const char *device, const struct pk_device_options *opt, struct pk_arena *a);

/* The stored ceilings of this machine and key: the highest of all repetitions of each rate. */
struct pk_stored_ceilings {
    struct pk_ceilings top;
    bool found;         /* every rate was measured at least once */
    char doubtful[160]; /* the rates that no second repeat confirmed within 5 %: "a, b"; "" = none */
    bool late; /* of pk_ceilings_refresh: the time limit was reached; these are the ones that the store has */
    int64_t newest_ns; /* wall clock: since when some rate was not measured again */
    enum pk_evidence
        evidence; /* of the rates of memory; PK_EVIDENCE_ONE_SIZE: from before the size was grown */
    struct pk_ceilings sheet; /* what the vendor states, from pk_ceilings_refresh alone; 0 = not known */
};
enum pk_code pk_ceilings_stored(struct pk_store *s, const char *machine, const char *key,
                                struct pk_stored_ceilings *out, struct pk_err *err) PK_MUST_CHECK;

/* Another repetition is needed: a value is doubtful, a day old, or of one size. */
bool pk_ceilings_wanting(const struct pk_stored_ceilings *stored, int64_t now_ns);

/* A worker that measures ceilings for this long is stuck: it takes one to two seconds where the machine is idle. */
#define PK_CEILINGS_LIMIT_NS (120 * PK_NS_PER_S)

/* Measures and stores one repeat, in a fresh worker. PK_E_TIMEOUT after limit_ns, which is at most PK_CEILINGS_LIMIT_NS. */
enum pk_code pk_ceilings_repeat(struct pk_store *s, const char *machine, const char *device,
                                const struct pk_device_options *opt, uint64_t limit_ns,
                                const volatile int *stop_flag, struct pk_err *err) PK_MUST_CHECK;

/* Three repeats, the first also with one lane, and up to nine within three seconds while something is doubtful; *out is then what is
 * stored. limit_ns is for all of them; PK_E_TIMEOUT when it is reached and the store has no ceilings. */
enum pk_code pk_ceilings_refresh(struct pk_store *s, const char *machine, const char *device,
                                 const struct pk_device_options *opt, uint64_t limit_ns,
                                 const volatile int *stop_flag, struct pk_stored_ceilings *out,
                                 struct pk_err *err) PK_MUST_CHECK;
