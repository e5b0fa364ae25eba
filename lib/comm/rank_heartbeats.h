/* Rank heartbeats: each rank records its progress in shared memory. When ranks wait for each other, the one that does not respond can be
 * named.
 *
 * The process that starts the ranks creates a page of shared memory, and the ranks on its host map it. A rank writes when it enters a
 * call that waits for others, ten times a second while it waits, and when it leaves: a stopped rank stops writing, and a hanging rank
 * stays behind the others. The thread that waits writes, not one of its own: that would go on in a rank that hangs. A rank that computes
 * does not write, however long a step is; the kernel tells whether its process is stopped. No library is called for this, because it may
 * hang. Nothing is known about ranks on other hosts. Where the pointer may be NULL, there are no heartbeats. */
#pragma once

#include "base/arena.h"

#include <stdbool.h>
#include <stdint.h>

#define PK_HEARTBEAT_NS 100000000u
#define PK_HEARTBEAT_TIMEOUT_NS                                                                              \
    30000000000u /* 300 heartbeats: a machine with many more ranks than CPUs is slower by less */

/* How long a run may be stopped under this time limit. */
static inline uint64_t pk_heartbeat_timeout(int64_t timeout_ns)
{
    return timeout_ns < (int64_t)PK_HEARTBEAT_TIMEOUT_NS ? (uint64_t)timeout_ns : PK_HEARTBEAT_TIMEOUT_NS;
}

struct pk_rank_heartbeats {
    struct pk_rank_heartbeats_page *page; /* NULL: not open, and nothing happens */
    unsigned ranks; /* our own copy: other processes write to the page, so only its entries are read */
    int fd;         /* of the creator */
    int launcher;   /* before the page is joined: the process whose family the run is of; 0 = not known */
    uint64_t timeout_ns; /* the same as of the page, before it is joined */
    uint64_t stopped_ns; /* since when pk_rank_heartbeats_abandoned has found the run stopped; 0 = not */
};

/* Creates the page. Not open when there is no memory for it. run: the process that gives the ranks their requests, which the ranks do not
 * wait for once it was stopped for timeout_ns; 0 = they do, because a shell may stop and continue it with its ranks idle. */
void pk_rank_heartbeats_make(struct pk_rank_heartbeats *r, unsigned ranks, int run, uint64_t timeout_ns);
/* The path by which other processes of this user on this host can map it while the creator has it open; NULL when it is not open. In the
 * arena. */
const char *pk_rank_heartbeats_path(const struct pk_rank_heartbeats *r, struct pk_arena *a);
/* Not open when there is no such page for this number of ranks. */
void pk_rank_heartbeats_join(struct pk_rank_heartbeats *r, const char *path, unsigned ranks, unsigned rank);
void pk_rank_heartbeats_close(struct pk_rank_heartbeats *r);

/* Clears all entries, for new ranks. */
void pk_rank_heartbeats_clear(struct pk_rank_heartbeats *r);

/* A rank enters a call, is still in it, has left it: each takes a few stores. */
void pk_rank_heartbeats_enter(struct pk_rank_heartbeats *r, unsigned rank);
void pk_rank_heartbeats_beat(struct pk_rank_heartbeats *r, unsigned rank);
void pk_rank_heartbeats_leave(struct pk_rank_heartbeats *r, unsigned rank);

/* Of a rank that waits: "the run (process 12), which gives the ranks their cases, is stopped (SIGSTOP)", once it was for too long; else
 * NULL. Before the page is joined: any process of the launcher. It reads files: not ten times a second. In the arena. */
const char *pk_rank_heartbeats_abandoned(struct pk_rank_heartbeats *r, struct pk_arena *a);

/* How many calls rank 0 has entered. */
uint64_t pk_rank_heartbeats_calls(const struct pk_rank_heartbeats *r);
/* "rank 1 (process 123) is stopped (SIGSTOP)"; NULL = none is. In the arena. */
const char *pk_rank_heartbeats_stopped(const struct pk_rank_heartbeats *r, struct pk_arena *a);
/* A rank is stopped, or has given no heartbeat in its call for silent_ns. */
bool pk_rank_heartbeats_stuck(const struct pk_rank_heartbeats *r, uint64_t silent_ns);

/* "rank 1 did not answer: rank 0 has waited for it for 3.2 s". NULL when no rank is at fault: all compute, or all wait for each other
 * and respond. Waits of less than a second do not count. In the arena. */
const char *pk_rank_heartbeats_missing(const struct pk_rank_heartbeats *r, struct pk_arena *a);
