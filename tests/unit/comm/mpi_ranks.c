/* Ranks over a real MPI: every way of averaging is right on each of them. Started by mpiexec; prints the first thing that is wrong. */
#include "model/averaging.h"

#include <stdio.h>

static const struct pk_gradient three[] = {{"c", 50000, 0.5}, {"b", 3, 0}, {"a", 200000, 0.5}};
static const struct pk_gradients model = {3, 250003, three};

static enum pk_code average(struct pk_device *dev, struct pk_comm *comm, enum pk_averaging_way way, int kind,
                            struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_averaging v;
    const struct pk_averaging_options o = {.way = way,
                                           .type = kind & 1 ? PK_BF16 : PK_FP32,
                                           .copy = (kind & 2) && pk_averaging_contiguous(way),
                                           .cap = 60000,
                                           .backward_ns = 1000000};
    pk_marks_clear(&dev->marks);
    enum pk_code rc = pk_averaging_new(dev, comm, &o, &model, false, &a, &v, err);
    if (!rc)
        rc = pk_averaging_step(&v, err);
    if (!rc)
        rc = pk_averaging_check(&v, true, 1, &a, err);
    pk_averaging_free(&v);
    return rc;
}

static enum pk_code lines(struct pk_comm *comm, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    const char **all = pk_new_n(&a, const char *, comm->size);
    if (pk_comm_gather(comm, pk_printf(&a, "%*u", 1 + (int)comm->rank, comm->rank), &a, all, err))
        return err->code;
    for (unsigned i = 0; comm->rank == 0 && i < comm->size; i++)
        if (!all[i] || strcmp(all[i], pk_printf(&a, "%*u", 1 + (int)i, i)))
            return pk_fail(err, PK_E_CHECK, "the line of rank %u is '%s'", i, all[i] ? all[i] : "absent");
    unsigned seven = comm->rank ? 0 : 7;
    if (pk_comm_bcast(comm, &seven, sizeof seven, err))
        return err->code;
    return seven == 7 ? PK_OK : pk_fail(err, PK_E_CHECK, "rank %u was told %u", comm->rank, seven);
}

/* It ends nobody: a rank that aborts has yet to say why. Here nothing is wrong, and the ranks go on. */
static void abort_returns(struct pk_comm *comm)
{
    pk_comm_abort(comm);
    comm->broken = false;
}

static enum pk_code all(struct pk_device *dev, struct pk_comm *comm, struct pk_err *err)
{
    enum pk_code rc = comm->size == 2 ? lines(comm, err) : pk_fail(err, PK_E_CHECK, "%u ranks", comm->size);
    for (int way = 0; !rc && way < PK_AVERAGING_WAYS; way++)
        for (int kind = 0; !rc && kind < 4; kind++)
            rc = average(dev, comm, way, kind, err);
    abort_returns(comm);
    return rc ? rc : pk_comm_barrier(comm, err);
}

int main(void)
{
    const struct pk_device_options how = {.threads = 1, .no_bind = true};
    struct pk_device dev;
    struct pk_comm comm = {0};
    struct pk_err err = {0};
    enum pk_code rc = pk_device_open(&dev, "cpu", &how, &err);
    if (!rc)
        rc = pk_comm_open(&comm, PK_COMM_MPI, &dev, &(struct pk_comm_options){0}, &err);
    if (!rc)
        rc = all(&dev, &comm, &err);
    if (rc)
        printf("%s: %s\n", err.what, err.why);
    pk_comm_close(&comm);
    return rc != PK_OK;
}
