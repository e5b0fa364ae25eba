/* Mpi module: the interface of perfkit-mpi.so, which makes the few blocking MPI calls of perfkit.
 *
 * mpi.h is specific to one MPI library, so only this small module (mpi_module.c) includes it. It is built for the installed MPI and
 * opened when ranks are requested. One thread makes all calls, init first and finalize last. Calls return 0 or MPI's error number, which
 * `text` translates. */
#pragma once

#include "base/err.h"

#include <stddef.h>

enum { PK_MPI_MODULE_VERSION = 2 };

#define PK_MPI_MODULE_SYMBOL "pk_mpi_module"

struct pk_mpi_module {
    int version;                             /* PK_MPI_MODULE_VERSION at its build */
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

/* Why there is no module, without opening one; NULL = there is a file. */
const char *pk_mpi_unavailable(void);
/* Opens the module beside the program, else that in perfkit's installation folder; $PERFKIT_MPI names another file. It stays open.
 * PK_E_UNAVAILABLE says what to install. */
enum pk_code pk_mpi_load(const struct pk_mpi_module **module, struct pk_err *err) PK_MUST_CHECK;
