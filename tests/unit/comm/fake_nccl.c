/* Fake NCCL: a library that is opened as libnccl.so.2 is. Ranks have equal data, so a mean leaves it alone; what was asked for is
 * remembered, and goes wrong as the test says. */
#include "fake_nccl.h"

#include "base/clock.h"
#include "comm/transport/nccl_api.h"

#include <stdlib.h>

struct fake_nccl fake_nccl;

struct pk_nccl_comm {
    int left; /* polls until what was asked for is over */
    uint64_t busy_until_ns;
};

static struct pk_nccl_comm only;
static size_t group_bytes;
static struct CUstream_st *group_stream;

static int pending(int rc)
{
    only.left = fake_nccl.in_progress;
    return rc ? rc : only.left ? PK_NCCL_IN_PROGRESS : PK_NCCL_SUCCESS;
}

int ncclGetVersion(int *version)
{
    *version = 22807;
    return PK_NCCL_SUCCESS;
}

int ncclGetUniqueId(struct pk_nccl_id *id)
{
    fake_nccl.ids++;
    id->bytes[0] = 7;
    return fake_nccl.id_rc;
}

int ncclCommInitRankConfig(struct pk_nccl_comm **comm, int ranks, struct pk_nccl_id id, int rank,
                           struct pk_nccl_config *config)
{
    if (config->magic != PK_NCCL_CONFIG_MAGIC || config->size != sizeof *config)
        return PK_NCCL_INVALID_ARGUMENT;
    fake_nccl.inits++;
    fake_nccl.comms++;
    fake_nccl.ranks = ranks;
    fake_nccl.rank = rank;
    fake_nccl.blocking = config->blocking;
    fake_nccl.id = id.bytes[0];
    *comm = &only;
    return pending(fake_nccl.init_rc);
}

int ncclCommGetAsyncError(struct pk_nccl_comm *comm, int *rc)
{
    const int left = comm->left || pk_clock_ns() < comm->busy_until_ns;
    comm->left -= comm->left > 0;
    fake_nccl.polls++;
    *rc = left ? PK_NCCL_IN_PROGRESS : fake_nccl.async_rc;
    return PK_NCCL_SUCCESS;
}

int ncclCommFinalize(struct pk_nccl_comm *comm)
{
    fake_nccl.finalized++;
    return pending(0);
}

int ncclCommDestroy(struct pk_nccl_comm *comm)
{
    fake_nccl.destroyed++;
    fake_nccl.comms--;
    return PK_NCCL_SUCCESS;
}

int ncclCommAbort(struct pk_nccl_comm *comm)
{
    fake_nccl.aborts++;
    fake_nccl.comms--;
    if (fake_nccl.aborted)
        fake_nccl.aborted();
    return PK_NCCL_SUCCESS;
}

const char *ncclGetErrorString(int rc)
{
    return rc == PK_NCCL_INVALID_USAGE ? "invalid usage" : rc == PK_NCCL_REMOTE_ERROR ? "remote" : "other";
}

const char *ncclGetLastError(struct pk_nccl_comm *comm)
{
    return fake_nccl.last_error;
}

int ncclGroupStart(void)
{
    fake_nccl.nested++;
    group_bytes = 0;
    return PK_NCCL_SUCCESS;
}

int ncclAllReduce(const void *from, void *to, size_t n, int type, int op, struct pk_nccl_comm *comm,
                  struct CUstream_st *stream)
{
    fake_nccl.reduces++;
    fake_nccl.outside += fake_nccl.nested != 1 || from != to;
    fake_nccl.type = type;
    fake_nccl.op = op;
    fake_nccl.elements += n;
    group_bytes += n * (type == PK_NCCL_BFLOAT16 ? 2 : 4);
    group_stream = stream;
    return PK_NCCL_SUCCESS;
}

int ncclGroupEnd(void)
{
    fake_nccl.nested--;
    fake_nccl.groups++;
    if (fake_nccl.group_rc)
        return fake_nccl.group_rc;
    if (fake_nccl.work)
        fake_nccl.work(group_stream, FAKE_NCCL_LATENCY_NS + group_bytes + fake_nccl.hang_ns);
    if (fake_nccl.ranks < 2)
        return pending(0);
    only.busy_until_ns = pk_clock_ns() + FAKE_NCCL_GROUP_NS;
    pending(0);
    return PK_NCCL_IN_PROGRESS;
}
