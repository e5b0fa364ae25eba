/* Rank heartbeats: an entry a rank, in memory that processes share. */
#include "comm/rank_heartbeats.h"

#include "base/clock.h"
#include "base/text/buf.h"
#include "base/text/words.h"
#include "machine/machine.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x6c6c6f72 };
#define TIMEOUT_NS PK_NS_PER_S

struct heartbeat {
    _Atomic uint64_t calls;    /* calls that it entered; 0 = no heartbeat yet */
    _Atomic uint64_t since_ns; /* when it entered the current call; 0 = in none */
    _Atomic uint64_t seen_ns;  /* time of its last heartbeat */
    _Atomic int pid;           /* 0 = it has not joined */
};

struct pk_rank_heartbeats_page {
    _Atomic uint64_t magic, timeout_ns;
    _Atomic int run; /* see pk_rank_heartbeats_make */
    struct heartbeat v[];
};

/* --- open and close --- */

static size_t bytes_of(unsigned ranks)
{
    return sizeof(struct pk_rank_heartbeats_page) + ranks * sizeof(struct heartbeat);
}

static void map(struct pk_rank_heartbeats *r, int fd, unsigned ranks)
{
    void *page = mmap(NULL, bytes_of(ranks), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    *r = (struct pk_rank_heartbeats){.page = page == MAP_FAILED ? NULL : page, .ranks = ranks, .fd = -1};
}

void pk_rank_heartbeats_make(struct pk_rank_heartbeats *r, unsigned ranks, int run, uint64_t timeout_ns)
{
    const int fd = memfd_create("heartbeats", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    *r = (struct pk_rank_heartbeats){0};
    if (fd < 0)
        return;
    /* sealed: the memory cannot be shrunk while it is mapped */
    if (!ftruncate(fd, (off_t)bytes_of(ranks)) && !fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW))
        map(r, fd, ranks);
    if (!r->page) {
        close(fd);
        return;
    }
    r->page->magic = MAGIC;
    r->page->run = run;
    r->page->timeout_ns = timeout_ns;
    r->fd = fd;
}

const char *pk_rank_heartbeats_path(const struct pk_rank_heartbeats *r, struct pk_arena *a)
{
    return r->page ? pk_printf(a, "/proc/%d/fd/%d", (int)getpid(), r->fd) : NULL;
}

void pk_rank_heartbeats_join(struct pk_rank_heartbeats *r, const char *path, unsigned ranks, unsigned rank)
{
    struct stat s;
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    *r = (struct pk_rank_heartbeats){0};
    if (fd < 0)
        return;
    if (!fstat(fd, &s) && S_ISREG(s.st_mode) && s.st_size == (off_t)bytes_of(ranks))
        map(r, fd, ranks);
    close(fd);
    if (r->page && r->page->magic != MAGIC)
        pk_rank_heartbeats_close(r);
    if (r->page && rank < ranks)
        r->page->v[rank].pid = (int)getpid();
}

void pk_rank_heartbeats_close(struct pk_rank_heartbeats *r)
{
    if (!r->page)
        return;
    munmap(r->page, bytes_of(r->ranks));
    if (r->fd >= 0)
        close(r->fd);
    *r = (struct pk_rank_heartbeats){0};
}

void pk_rank_heartbeats_clear(struct pk_rank_heartbeats *r)
{
    if (r->page)
        memset(r->page->v, 0, r->ranks * sizeof *r->page->v);
}

/* --- what a rank says --- */

void pk_rank_heartbeats_enter(struct pk_rank_heartbeats *r, unsigned rank)
{
    if (!r || !r->page)
        return;
    struct heartbeat *e = &r->page->v[rank];
    const uint64_t now = pk_clock_ns();
    atomic_store(&e->seen_ns, now);
    atomic_store(&e->since_ns, now);
    atomic_store(&e->calls, e->calls + 1);
}

void pk_rank_heartbeats_beat(struct pk_rank_heartbeats *r, unsigned rank)
{
    if (r && r->page)
        atomic_store_explicit(&r->page->v[rank].seen_ns, pk_clock_ns(), memory_order_relaxed);
}

void pk_rank_heartbeats_leave(struct pk_rank_heartbeats *r, unsigned rank)
{
    if (r && r->page)
        atomic_store(&r->page->v[rank].since_ns, 0);
}

/* --- who is not there --- */

/* A moment of an entry; times of others may be a little after ours. */
struct heartbeat_copy {
    uint64_t calls, waited_ns, silent_ns;
    bool waits;
};

static struct heartbeat_copy read_heartbeat(const struct pk_rank_heartbeats *r, unsigned rank,
                                            uint64_t now_ns)
{
    const struct heartbeat *e = &r->page->v[rank];
    const uint64_t since_ns = e->since_ns, seen_ns = e->seen_ns;
    return (struct heartbeat_copy){.calls = e->calls,
                                   .waits = since_ns != 0,
                                   .waited_ns = since_ns && since_ns < now_ns ? now_ns - since_ns : 0,
                                   .silent_ns = seen_ns < now_ns ? now_ns - seen_ns : 0};
}

static bool waits_awake(const struct heartbeat_copy *s)
{
    return s->waits && s->silent_ns < TIMEOUT_NS;
}

uint64_t pk_rank_heartbeats_calls(const struct pk_rank_heartbeats *r)
{
    return r->page ? r->page->v[0].calls : 0;
}

const char *pk_rank_heartbeats_stopped(const struct pk_rank_heartbeats *r, struct pk_arena *a)
{
    struct pk_buf names = {.arena = a};
    for (unsigned i = 0; r->page && i < r->ranks; i++) {
        const int pid = r->page->v[i].pid;
        const char *how = pk_machine_stop_reason(pid);
        if (how)
            pk_buf_printf(&names, "%srank %u (process %d) is %s", names.n ? ", " : "", i, pid, how);
    }
    return names.n ? pk_buf_text(&names) : NULL;
}

bool pk_rank_heartbeats_stuck(const struct pk_rank_heartbeats *r, uint64_t silent_ns)
{
    const uint64_t now_ns = pk_clock_ns();
    for (unsigned i = 0; r->page && i < r->ranks; i++) {
        const struct heartbeat_copy s = read_heartbeat(r, i, now_ns);
        if ((s.waits && s.silent_ns >= silent_ns) || pk_machine_stop_reason(r->page->v[i].pid))
            return true;
    }
    return false;
}

const char *pk_rank_heartbeats_abandoned(struct pk_rank_heartbeats *r, struct pk_arena *a)
{
    const uint64_t now_ns = pk_clock_ns();
    if (!r || !(r->page || r->launcher))
        return NULL;
    const int run = r->page ? r->page->run : 0;
    const char *how = r->page ? pk_machine_stop_reason(run) : pk_machine_family_stop_reason(r->launcher, a);
    if (!how)
        r->stopped_ns = 0;
    else if (!r->stopped_ns)
        r->stopped_ns = now_ns;
    if (!how || now_ns - r->stopped_ns < (r->page ? r->page->timeout_ns : r->timeout_ns))
        return NULL;
    return run ? pk_printf(a, "the run (process %d), which gives the ranks their cases, is %s", run, how)
               : how;
}

const char *pk_rank_heartbeats_missing(const struct pk_rank_heartbeats *r, struct pk_arena *a)
{
    const uint64_t now_ns = pk_clock_ns();
    struct pk_buf names = {.arena = a};
    unsigned missing = 0;
    if (!r || !r->page)
        return NULL;
    /* Of those that wait, and say so, the one that has done so for longest; -1 = none for long enough. */
    int waiting = -1;
    struct heartbeat_copy witness = {.waited_ns = TIMEOUT_NS};
    for (unsigned i = 0; i < r->ranks; i++) {
        const struct heartbeat_copy s = read_heartbeat(r, i, now_ns);
        if (waits_awake(&s) && s.waited_ns >= witness.waited_ns) {
            waiting = (int)i;
            witness = s;
        }
    }
    for (unsigned i = 0; i < r->ranks; i++) {
        const struct heartbeat_copy s = read_heartbeat(r, i, now_ns);
        /* It went silent in a call, or others are further than it is. */
        if (s.calls && (s.waits ? !waits_awake(&s) : waiting >= 0 && s.calls < witness.calls))
            pk_buf_printf(&names, "%s%u", missing++ ? ", " : "", i);
    }
    if (!missing)
        return NULL;
    const char *who =
        pk_printf(a, "%s %s did not answer", pk_plural_noun(missing, "rank", a), pk_buf_text(&names));
    return waiting < 0 ? who
                       : pk_printf(a, "%s: rank %d has waited for %s for %.1f s", who, waiting,
                                   missing > 1 ? "them" : "it", (double)witness.waited_ns / 1e9);
}
