/* Source self-test: a worker is asked, and what became of it. */
#include "bench/client/checks.h"

#include "base/clock.h"
#include "bench/worker/answers.h"

static struct pk_source_found unavailable(const char *why, const char *fix)
{
    return (struct pk_source_found){PK_SOURCE_UNAVAILABLE, 0, why, fix};
}

static struct pk_source_found selftest_result(const struct pk_slice *s, struct pk_arena *a)
{
    if (s->status != PK_ST_OK)
        return unavailable(pk_printf(a, "its self-test failed: %s", s->message),
                           "perfkit does not use it; times are still measured");
    return pk_selftest_of_slice(s, a);
}

static enum pk_code run_selftest(struct pk_worker_client *l, const char *source, uint64_t deadline_ns,
                                 const volatile int *stop_flag, struct pk_arena *a,
                                 struct pk_source_found *out, struct pk_err *err)
{
    struct pk_slice *slice = NULL;
    const uint64_t began = pk_clock_ns();
    switch (
        pk_worker_client_question(l, PK_ASK_SELFTEST, source, "cpu", NULL, deadline_ns, stop_flag, &slice)) {
    case PK_ANSWER_SLICE:
        *out = selftest_result(slice, a);
        return PK_OK;
    case PK_ANSWER_LATE:
        *out = unavailable(pk_printf(a, "its self-test did not end in %.1f s",
                                     (double)(pk_clock_ns() - began) / (double)PK_NS_PER_S),
                           "end other programs that use or profile the device, and try again");
        return PK_OK;
    case PK_ANSWER_STOPPED:
        break;
    }
    pk_fail(err, PK_E_INTERRUPTED, "interrupted while %s was tested", source);
    pk_why(err, "a signal stopped perfkit");
    return pk_fix(err, "run it again");
}

enum pk_code pk_source_selftest(const struct pk_provider *provider, const char *source, uint64_t deadline_ns,
                                const volatile int *stop_flag, struct pk_arena *a,
                                struct pk_source_found *out, struct pk_err *err)
{
    struct pk_worker_client worker;
    pk_worker_client_init(&worker, provider);
    const enum pk_code rc = run_selftest(&worker, source, deadline_ns, stop_flag, a, out, err);
    pk_worker_client_close(&worker);
    return rc;
}
