/* Agree: ranks that each did something alone go on together, or all stop with the reason of the first that could not. */
#pragma once

#include "comm/comm.h"

/* How every rank fared: rc with *err is this one's. Answers that of the first rank which failed, with its number, on all of them. Every
 * rank calls it at the same place: what one may fail at alone stands before it, what ranks do together behind. NULL: one process, which
 * agrees with itself. */
enum pk_code pk_agree(struct pk_comm *comm, enum pk_code rc, struct pk_err *err) PK_MUST_CHECK;
