/* Rank heartbeats: each rank records its progress in shared memory. When ranks wait for each other, the one that does not respond can be
 * named.
 *
 * A page of memory that whoever starts ranks makes, and that those on its host join. A rank writes as it enters a call that waits for
 * others, ten times a second while it waits, and as it leaves: one that is stopped goes silent, one that hangs stays behind. Nobody
 * calls a library for it, which may be stuck. Of ranks on other hosts nothing is known. Where a roll may be NULL, nobody keeps one. */
#pragma once

#include "base/arena.h"

#include <stdint.h>

#define PK_ROLL_BEAT_NS 100000000u

struct pk_rank_heartbeats {
    struct pk_rank_heartbeats_page *page; /* NULL: not open, and nothing happens */
    unsigned ranks;                       /* ours: of a page that others write, only entries are believed */
    int fd;                               /* the maker's */
};

/* A roll that is not open when there is no memory for it. */
void pk_rank_heartbeats_make(struct pk_rank_heartbeats *r, unsigned ranks);
/* By which other processes of this user on this host can join as long as the maker has it open; NULL when it is not. In the arena. */
const char *pk_rank_heartbeats_path(const struct pk_rank_heartbeats *r, struct pk_arena *a);
/* Not open when nothing of the kind, for so many ranks, is there. */
void pk_rank_heartbeats_join(struct pk_rank_heartbeats *r, const char *path, unsigned ranks);
void pk_rank_heartbeats_close(struct pk_rank_heartbeats *r);

/* Nobody has said anything: for new ranks. */
void pk_rank_heartbeats_clear(struct pk_rank_heartbeats *r);

/* A rank enters a call, is still in it, has left it: each a few stores. */
void pk_rank_heartbeats_enter(struct pk_rank_heartbeats *r, unsigned rank);
void pk_rank_heartbeats_beat(struct pk_rank_heartbeats *r, unsigned rank);
void pk_rank_heartbeats_leave(struct pk_rank_heartbeats *r, unsigned rank);

/* "rank 1 did not answer: rank 0 has waited for it for 3.2 s". NULL when nobody is to blame, because all compute, or wait for each other and
 * are awake; what lasts less than a second is no reason. In the arena. */
const char *pk_rank_heartbeats_absent(const struct pk_rank_heartbeats *r, struct pk_arena *a);
