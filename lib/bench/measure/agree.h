/* Agree: what ranks that measure one case together must do alike. Inner part of measure.c and of workers.
 *
 * Each rank makes the same calls in the same order; where the comm is NULL there is one process, which agrees with itself, and nothing
 * happens. Rank 0 decides what follows from times (repetitions, when to stop, what was warm-up), outside of everything that is
 * timed. A failure that one rank alone knows of, because the others are inside an all-reduce, breaks the comm: the process has to end, and
 * the launcher ends the others. */
#pragma once

#include "bench/measure/sample.h"
#include "comm/comm.h"

/* Rank 0's bytes, everywhere. */
enum pk_code pk_agree_on(struct pk_comm *comm, void *p, size_t bytes, struct pk_err *err) PK_MUST_CHECK;

/* flags[0..n): set on any rank, set on all. */
enum pk_code pk_agree_any(struct pk_comm *comm, bool *flags, size_t n, struct pk_err *err) PK_MUST_CHECK;

/* rc of what only this rank knows of: when it failed, the comm is broken. */
enum pk_code pk_alone(struct pk_comm *comm, enum pk_code rc);

/* Ranks begin each sample together, whoever else takes part in it. */
struct pk_line_up {
    struct pk_around around;
    const struct pk_around *inner;
    struct pk_comm *comm;
};
/* Of the samples that s takes from now on; once more after somebody else was attached. */
void pk_line_up(struct pk_line_up *l, struct pk_sampler *s);
