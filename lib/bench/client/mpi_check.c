/* MPI check: a worker that is two ranks, asked whether it is there. */
#include "bench/client/checks.h"

#include "base/clock.h"
#include "bench/client/worker_client.h"
#include "bench/worker/launch.h"

#include <string.h>

#define PATIENCE_NS (20 * PK_NS_PER_S)

static const char *fact(const struct pk_worker_client *l, const char *key, struct pk_arena *a)
{
    for (size_t i = 0; i < l->n_facts; i++)
        if (!strcmp(l->facts[i].key, key))
            return pk_strdup(a, l->facts[i].value);
    return "an MPI without a name";
}

static enum pk_code start_two_ranks(struct pk_worker_client *l, const volatile int *stop_flag,
                                    struct pk_arena *a, struct pk_mpi_found *out, struct pk_err *err)
{
    struct pk_slice *slice;
    const uint64_t began = pk_clock_ns();
    switch (
        pk_worker_client_question(l, "ranks", "two", "cpu", NULL, began + PATIENCE_NS, stop_flag, &slice)) {
    case PK_ANSWER_STOPPED:
        pk_fail(err, PK_E_INTERRUPTED, "interrupted while two ranks were started");
        return pk_why(err, "a signal stopped perfkit");
    case PK_ANSWER_LATE:
        out->why = "two ranks did not connect within 20 s";
        return PK_OK;
    case PK_ANSWER_SLICE:
        break;
    }
    out->ns = pk_clock_ns() - began;
    if (slice->status == PK_ST_OK)
        out->library = fact(l, "library", a);
    else
        out->why = pk_strdup(a, slice->message);
    return PK_OK;
}

enum pk_code pk_mpi_check(const volatile int *stop_flag, struct pk_arena *a, struct pk_mpi_found *out,
                          struct pk_err *err)
{
    static const char *const argv[] = {"/proc/self/exe", "worker", "--start", "2", NULL};
    static const struct pk_provider two = {"2 ranks", argv};
    struct pk_worker_client l;
    *out = (struct pk_mpi_found){.why = pk_launched().by ? NULL : pk_launch_refused(2, a)};
    if (pk_launched().by)
        out->why = pk_printf(a, "not tried under %s", pk_launched().by);
    if (out->why)
        return PK_OK;
    pk_worker_client_init(&l, &two);
    enum pk_code rc = start_two_ranks(&l, stop_flag, a, out, err);
    pk_worker_client_close(&l);
    return rc;
}
