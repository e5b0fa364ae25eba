/* Transports: the rows of pk_comm_kinds. Inside lib/comm only. */
#pragma once

#include "comm/comm.h"

extern const struct pk_comm_ops pk_comm_self; /* one rank: the mean is what is there already */
extern const struct pk_comm_ops pk_comm_link; /* virtual ranks that all have what this process has */
extern const struct pk_comm_ops pk_comm_mpi;  /* processes */
extern const struct pk_comm_ops pk_comm_nccl; /* processes with a GPU each; in builds with CUDA */
