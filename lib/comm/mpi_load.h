/* Mpi load: finding and opening perfkit-mpi.so. Inside lib/comm only. */
#pragma once

#include "base/err.h"
#include "comm/mpi_module.h"

/* Why there is none here, without opening it; NULL = there is a file. */
const char *pk_mpi_absent(void);
/* Beside the program, else where perfkit was installed; $PERFKIT_MPI names another. It stays open. PK_E_UNAVAILABLE says what to
 * install. */
enum pk_code pk_mpi_load(const struct pk_mpi_module **module, struct pk_err *err) PK_MUST_CHECK;
