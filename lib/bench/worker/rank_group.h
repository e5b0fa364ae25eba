/* Rank group: workers that measure together. Rank 0 receives the parent's requests and replies to them; the others receive them from rank 0
 * and reply through it. */
#pragma once

#include "comm/comm.h"
#include "machine/bind.h"
#include "wire/wire.h"

struct pk_rank_group {
    struct pk_comm comm; /* processes; dev is the worker's */
    struct pk_arena arena;
    const char **given; /* [size] "HOST 0-3": where each is, and the CPUs that it was given */
    const char *bind;   /* the requested list of CPUs; NULL = none */
    bool no_bind;
    struct pk_rank_heartbeats heartbeats; /* the page of the parent, which reads it */
    int replies_fd;                       /* rank 0: -1. Others: where they write their results for rank 0 */
    struct pk_collector **collectors;     /* [size], on rank 0 */
};

/* Joins the ranks that a launcher has started. dev may be opened later. heartbeats: on rank 0, the path of its parent's page
 * (comm/rank_heartbeats.h); NULL = none. timeout_ns: how long it waits for rank 0 while a process of its launcher is stopped; 0 = as long
 * as rank 0 takes. */
enum pk_code pk_rank_group_open(struct pk_rank_group *r, struct pk_device *dev, const char *heartbeats,
                                uint64_t timeout_ns, struct pk_err *err) PK_MUST_CHECK;
void pk_rank_group_close(struct pk_rank_group *r);

/* Rank 0's text on every rank, in the arena: NULL when rank 0 has none, which means the end. Waits without limit. */
enum pk_code pk_rank_group_receive(struct pk_rank_group *r, const char *mine, struct pk_arena *a,
                                   const char **text, struct pk_err *err) PK_MUST_CHECK;

/* The CPUs of a rank. Ranks on one host with the same CPUs divide them, or those of r->bind, into equal shares in order; with fewer CPUs
 * than ranks, each gets one, in turn. */
void pk_rank_group_share(const struct pk_rank_group *r, unsigned rank, struct pk_cpus *out);

/* The number of lower ranks on its host. */
unsigned pk_rank_group_local_rank(const struct pk_rank_group *r);

/* The results of all ranks in one slice. Rank 0: adds the others' samples to *slice, with their ranks, and the note "ranks": {"size": 2,
 * "hosts": ["n1", "n1"], "cpus": ["0", "1"]}; a rank that failed fails the slice. Others: send what they have written to replies_fd.
 * Arrays in the arena or r's, until the next call. */
enum pk_code pk_rank_group_collect(struct pk_rank_group *r, struct pk_arena *a, struct pk_slice *slice,
                                   struct pk_err *err) PK_MUST_CHECK;
