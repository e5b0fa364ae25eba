/* Mpi module: the interface of perfkit-mpi.so: the few blocking MPI calls that perfkit makes.
 *
 * MPI's headers fix the binary layout of one library, so everything that includes mpi.h is in this small module (mpi_module.c), built
 * for the MPI that was there and opened when ranks are asked for. One thread makes all calls, init first and finalize last. Calls answer
 * 0, or MPI's number of an error, for which text has words. */
#pragma once

#include "base/err.h"

#include <stddef.h>

enum { PK_MPI_MODULE_VERSION = 2 };

#define PK_MPI_MODULE_SYMBOL "pk_mpi_module"

struct pk_mpi_module {
    int version;                             /* PK_MPI_MODULE_VERSION of whoever built it */
    void (*library)(char *name, size_t cap); /* "Open MPI v4.1.4, package: ..."; before init too */
    int (*init)(int *rank, int *size);
    int (*sum)(void *data, size_t n, int bf16); /* in place, over all ranks; bf16 is rounded at every step */
    int (*barrier)(void);
    int (*bcast)(void *p, size_t bytes);       /* from rank 0 */
    int (*gather_sizes)(int mine, int *sizes); /* sizes: [ranks] on rank 0 */
    int (*gather)(const void *mine, int bytes, void *all, const int *sizes, const int *offsets);
    int (*finalize)(void);
    void (*text)(int rc, char *words, size_t cap);
};

/* Why there is none here, without opening it; NULL = there is a file. */
const char *pk_mpi_unavailable(void);
/* Beside the program, else where perfkit was installed; $PERFKIT_MPI names another. It stays open. PK_E_UNAVAILABLE says what to
 * install. */
enum pk_code pk_mpi_load(const struct pk_mpi_module **module, struct pk_err *err) PK_MUST_CHECK;
