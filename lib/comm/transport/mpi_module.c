/* Mpi module: perfkit-mpi.so, the only code that knows mpi.h. */
#include "comm/transport/mpi_module.h"

#include "ops/dtype.h"

#include <mpi.h>
#include <stdio.h>
#include <time.h>

/* MPI counts in int: longer arrays go in parts. */
enum { PART = 1 << 30 };

static MPI_Op sum_bf16;

static void library(char *name, size_t cap)
{
    char whole[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n;
    MPI_Get_library_version(whole, &n);
    snprintf(name, cap, "%s", whole);
}

static void add_bf16(void *in, void *inout, int *n, MPI_Datatype *type)
{
    const uint16_t *a = in;
    uint16_t *b = inout;
    (void)type;
    for (int i = 0; i < *n; i++)
        b[i] = pk_bf16_of_float(pk_bf16_to_float(a[i]) + pk_bf16_to_float(b[i]));
}

static int init(int *rank, int *size)
{
    int level, rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    if (!rc)
        rc = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!rc)
        rc = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    if (!rc)
        rc = MPI_Comm_size(MPI_COMM_WORLD, size);
    return rc ? rc : MPI_Op_create(add_bf16, 1, &sum_bf16);
}

static int sum(void *data, size_t n, int bf16)
{
    const size_t bytes = bf16 ? sizeof(uint16_t) : sizeof(float);
    size_t done = 0;
    int rc = 0;
    do { /* once at least: an empty array is a message too */
        const int part = n - done < PART ? (int)(n - done) : PART;
        rc = MPI_Allreduce(MPI_IN_PLACE, (char *)data + done * bytes, part, bf16 ? MPI_UINT16_T : MPI_FLOAT,
                           bf16 ? sum_bf16 : MPI_SUM, MPI_COMM_WORLD);
        done += (size_t)part;
    } while (!rc && done < n);
    return rc;
}

static int barrier(void)
{
    return MPI_Barrier(MPI_COMM_WORLD);
}

/* MPI libraries wait by polling; a rank that waits for its next case instead leaves the core to others. */
static int bcast(void *p, size_t bytes)
{
    enum { BUSY = 2000 };
    int rc = 0;
    for (size_t done = 0; !rc && done < bytes; done += PART) {
        MPI_Request request;
        int over = 0;
        rc = MPI_Ibcast((char *)p + done, bytes - done < PART ? (int)(bytes - done) : PART, MPI_BYTE, 0,
                        MPI_COMM_WORLD, &request);
        for (int looks = 0; !rc && !over; looks++) {
            if (looks > BUSY)
                nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
            rc = MPI_Test(&request, &over, MPI_STATUS_IGNORE);
        }
    }
    return rc;
}

static int gather_sizes(int mine, int *sizes)
{
    return MPI_Gather(&mine, 1, MPI_INT, sizes, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

static int gather(const void *mine, int bytes, void *all, const int *sizes, const int *offsets)
{
    return MPI_Gatherv(mine, bytes, MPI_BYTE, all, sizes, offsets, MPI_BYTE, 0, MPI_COMM_WORLD);
}

static int finalize(void)
{
    MPI_Op_free(&sum_bf16);
    return MPI_Finalize();
}

static void text(int rc, char *words, size_t cap)
{
    char whole[MPI_MAX_ERROR_STRING] = "";
    int n;
    MPI_Error_string(rc, whole, &n);
    snprintf(words, cap, "%s", whole);
}

__attribute__((visibility("default"))) const struct pk_mpi_module pk_mpi_module = {
    .version = PK_MPI_MODULE_VERSION,
    .library = library,
    .init = init,
    .sum = sum,
    .barrier = barrier,
    .bcast = bcast,
    .gather_sizes = gather_sizes,
    .gather = gather,
    .finalize = finalize,
    .text = text,
};
