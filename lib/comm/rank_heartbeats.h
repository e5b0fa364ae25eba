/* Rank heartbeats: each rank records its progress in shared memory. When ranks wait for each other, the one that does not respond can be
 * named.
 *
 * The process that starts the ranks creates a page of shared memory, and the ranks on its host map it. A rank writes when it enters a
 * call that waits for others, ten times a second while it waits, and when it leaves: a stopped rank stops writing, and a hanging rank
 * stays behind the others. No library is called for this, because it may hang. Nothing is known about ranks on other hosts. Where the
 * pointer may be NULL, there are no heartbeats. */
#pragma once

#include "base/arena.h"

#include <stdint.h>

#define PK_HEARTBEAT_NS 100000000u

struct pk_rank_heartbeats {
    struct pk_rank_heartbeats_page *page; /* NULL: not open, and nothing happens */
    unsigned ranks; /* our own copy: other processes write to the page, so only its entries are read */
    int fd;         /* of the creator */
};

/* Creates the page. Not open when there is no memory for it. */
void pk_rank_heartbeats_make(struct pk_rank_heartbeats *r, unsigned ranks);
/* The path by which other processes of this user on this host can map it while the creator has it open; NULL when it is not open. In the
 * arena. */
const char *pk_rank_heartbeats_path(const struct pk_rank_heartbeats *r, struct pk_arena *a);
/* Not open when there is no such page for this number of ranks. */
void pk_rank_heartbeats_join(struct pk_rank_heartbeats *r, const char *path, unsigned ranks);
void pk_rank_heartbeats_close(struct pk_rank_heartbeats *r);

/* Clears all entries, for new ranks. */
void pk_rank_heartbeats_clear(struct pk_rank_heartbeats *r);

/* A rank enters a call, is still in it, has left it: each takes a few stores. */
void pk_rank_heartbeats_enter(struct pk_rank_heartbeats *r, unsigned rank);
void pk_rank_heartbeats_beat(struct pk_rank_heartbeats *r, unsigned rank);
void pk_rank_heartbeats_leave(struct pk_rank_heartbeats *r, unsigned rank);

/* "rank 1 did not answer: rank 0 has waited for it for 3.2 s". NULL when no rank is at fault: all compute, or all wait for each other
 * and respond. Waits of less than a second do not count. In the arena. */
const char *pk_rank_heartbeats_missing(const struct pk_rank_heartbeats *r, struct pk_arena *a);
