/* Checks: a worker is started for one request, and what became of it. */
#include "bench/client/checks.h"

#include "base/clock.h"
#include "bench/worker/replies.h"
#include "bench/worker/start_ranks.h"

#include <string.h>

static struct pk_source_found unavailable(const char *why, const char *fix)
{
    return (struct pk_source_found){PK_SOURCE_UNAVAILABLE, 0, why, fix};
}

enum pk_code pk_source_selftest(const struct pk_provider *provider, const char *source, uint64_t deadline_ns,
                                const volatile int *stop_flag, struct pk_arena *a,
                                struct pk_source_found *out, struct pk_err *err)
{
    struct pk_worker_client worker;
    struct pk_slice *slice = NULL;
    const uint64_t began = pk_clock_ns();
    pk_worker_client_init(&worker, provider);
    const enum pk_reply reply = pk_worker_client_request_other(&worker, PK_REQUEST_SELFTEST, source, "cpu",
                                                               NULL, deadline_ns, stop_flag, &slice);
    const double spent_s = (double)(pk_clock_ns() - began) / (double)PK_NS_PER_S;
    if (reply == PK_REPLY_LATE)
        *out = unavailable(pk_printf(a, "its self-test did not end in %.1f s%s%s", spent_s,
                                     worker.missing ? ": " : "", worker.missing ? worker.missing : ""),
                           "end other programs that use or profile the device, and try again");
    else if (reply == PK_REPLY_SLICE && slice->status != PK_ST_OK)
        *out = unavailable(pk_printf(a, "its self-test failed: %s", slice->message),
                           "perfkit does not use it; times are still measured");
    else if (reply == PK_REPLY_SLICE)
        *out = pk_selftest_of_slice(slice, a);
    pk_worker_client_close(&worker);
    if (reply != PK_REPLY_STOPPED)
        return PK_OK;
    pk_fail(err, PK_E_INTERRUPTED, "interrupted while %s was tested", source);
    pk_why(err, "a signal stopped perfkit");
    return pk_fix(err, "run it again");
}

/* The MPI library that the ranks named. */
static const char *library_of(const struct pk_worker_client *l, struct pk_arena *a)
{
    for (size_t i = 0; i < l->n_facts; i++)
        if (!strcmp(l->facts[i].key, "library"))
            return pk_strdup(a, l->facts[i].value);
    return "an MPI without a name";
}

enum pk_code pk_mpi_check(const volatile int *stop_flag, struct pk_arena *a, struct pk_mpi_found *out,
                          struct pk_err *err)
{
    enum { TIMEOUT_S = 20 };
    static const char *const argv[] = {"/proc/self/exe", "worker", "--start", "2", NULL};
    static const struct pk_provider two = {"2 ranks", argv};
    const char *launcher = pk_launcher_of_process().by;
    struct pk_worker_client l;
    struct pk_slice *slice;
    *out = (struct pk_mpi_found){.why = launcher ? pk_printf(a, "not tried under %s", launcher)
                                                 : pk_launch_refused(2, a)};
    if (out->why)
        return PK_OK;
    pk_worker_client_init(&l, &two);
    const uint64_t began = pk_clock_ns();
    const enum pk_reply reply = pk_worker_client_request_other(
        &l, "ranks", "two", "cpu", NULL, began + TIMEOUT_S * PK_NS_PER_S, stop_flag, &slice);
    out->ns = pk_clock_ns() - began;
    if (reply == PK_REPLY_LATE)
        out->why = pk_printf(a, "two ranks did not connect within 20 s%s%s", l.missing ? ": " : "",
                             l.missing ? l.missing : "");
    else if (reply == PK_REPLY_SLICE && slice->status == PK_ST_OK)
        out->library = library_of(&l, a);
    else if (reply == PK_REPLY_SLICE)
        out->why = pk_strdup(a, slice->message);
    pk_worker_client_close(&l);
    if (reply != PK_REPLY_STOPPED)
        return PK_OK;
    pk_fail(err, PK_E_INTERRUPTED, "interrupted while two ranks were started");
    return pk_why(err, "a signal stopped perfkit");
}
