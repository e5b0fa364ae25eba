/* Fake MPI: a module of two ranks, of which the other has the same data. FAKE_MPI says what is otherwise: hang, slow, fail,
 * refuse; unable: the other rank says so; late: init takes longer than a test waits; add: the other rank's numbers are 1 more. */
#include "comm/transport/mpi_module.h"

#include "ops/dtype.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OTHER_THREAD = 99, REFUSED = 5, FAILED = 6, RANKS = 2 };

/* Who called init: MPI_THREAD_FUNNELED. The thread of a comm that was given up may still run when the next one calls it. */
static _Atomic pthread_t owner;

static int mode(const char *name)
{
    const char *m = getenv("FAKE_MPI");
    return m && !strcmp(m, name);
}

static int by_owner(void)
{
    return pthread_equal(owner, pthread_self()) ? 0 : OTHER_THREAD;
}

static void library(char *name, size_t cap)
{
    snprintf(name, cap, "Fake MPI");
}

static int init(int *rank, int *size)
{
    owner = pthread_self();
    if (mode("late"))
        usleep(400000);
    *rank = 0;
    *size = RANKS;
    return mode("refuse") ? REFUSED : 0;
}

static int sum(void *data, size_t n, int bf16)
{
    const float more = mode("add") ? 1 : 0;
    if (mode("hang"))
        sleep(2);
    if (mode("slow"))
        usleep(50000);
    for (size_t i = 0; i < n; i++) {
        if (bf16)
            ((uint16_t *)data)[i] = pk_bf16_of_float(2 * pk_bf16_to_float(((uint16_t *)data)[i]) + more);
        else
            ((float *)data)[i] = 2 * ((float *)data)[i] + more;
    }
    return mode("fail") ? FAILED : by_owner();
}

static int barrier(void)
{
    return by_owner();
}

static int bcast(void *p, size_t bytes)
{
    return by_owner();
}

/* As comm/comm.c has it. */
static const char unable[] = "-9\x1fno library\x1fnone here\x1finstall it";

static int gather_sizes(int mine, int *sizes)
{
    sizes[0] = mine;
    sizes[1] = mode("unable") ? (int)strlen(unable) : mine;
    return by_owner();
}

static int gather(const void *mine, int bytes, void *all, const int *sizes, const int *offsets)
{
    memcpy((char *)all + offsets[0], mine, (size_t)sizes[0]);
    memcpy((char *)all + offsets[1], mode("unable") ? unable : mine, (size_t)sizes[1]);
    return by_owner();
}

static int finalize(void)
{
    return by_owner();
}

static void text(int rc, char *words, size_t cap)
{
    snprintf(words, cap,
             rc == REFUSED  ? "no daemon"
             : rc == FAILED ? "the network is gone"
                            : "another thread");
}

extern const struct pk_mpi_module pk_mpi_module;
const struct pk_mpi_module pk_mpi_module = {PK_MPI_MODULE_VERSION, library, init,     sum, barrier, bcast,
                                            gather_sizes,          gather,  finalize, text};
