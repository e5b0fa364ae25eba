/* Rank group: workers that measure together. Rank 0 receives the parent's requests and answers them; the others receive them from rank 0
 * and answer through it. */
#pragma once

#include "comm/comm.h"
#include "machine/bind.h"
#include "wire/wire.h"

struct pk_rank_group {
    struct pk_comm comm; /* processes; dev is the worker's */
    struct pk_arena arena;
    const char **given; /* [size] "HOST 0-3": where each is, and the CPUs that it was given */
    const char *bind;   /* a list of CPUs that was asked for; NULL = none */
    bool no_bind;
    struct pk_rank_heartbeats roll;   /* the parent's, which reads it */
    int answers_fd;                   /* rank 0: -1. Others: where they write what rank 0 is to have */
    struct pk_collector **collectors; /* [size], on rank 0 */
};

/* Joins the ranks that a launcher has started. dev may be opened later. roll: on rank 0, the path of its parent's (comm/rank_heartbeats.h); NULL = none. */
enum pk_code pk_rank_group_open(struct pk_rank_group *r, struct pk_device *dev, const char *roll,
                                struct pk_err *err) PK_MUST_CHECK;
void pk_rank_group_close(struct pk_rank_group *r);

/* Rank 0's text on every rank, in the arena: NULL where rank 0 has none, which means that it is over. Waits without limit. */
enum pk_code pk_rank_group_hear(struct pk_rank_group *r, const char *mine, struct pk_arena *a,
                                const char **text, struct pk_err *err) PK_MUST_CHECK;

/* The CPUs of a rank. Ranks on one host that were given the same ones divide them, or those that r->bind names: even shares in order; where there
 * are fewer CPUs than ranks, one for each, in turn. */
void pk_rank_group_share(const struct pk_rank_group *r, unsigned rank, struct pk_cpus *out);

/* How many ranks before this one are on its host. */
unsigned pk_rank_group_turn(const struct pk_rank_group *r);

/* What every rank measured, in one slice. Rank 0: adds the others' samples to *slice, with their ranks, and the note "ranks": {"size": 2, "hosts": ["n1", "n1"], "cpus": ["0", "1"]}; one that failed
 * fails it. Others: sends what they have written to answers_fd. Arrays in the arena or r's, until the next call. */
enum pk_code pk_rank_group_collect(struct pk_rank_group *r, struct pk_arena *a, struct pk_slice *slice,
                                   struct pk_err *err) PK_MUST_CHECK;
