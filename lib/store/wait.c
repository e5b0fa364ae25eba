/* Wait: how long and how a call waits for another process's lock, and who is told. */
#include "store/db.h"

#include "base/clock.h"

enum {
    HURRIED_PATIENCE_MS = 1000, /* after Ctrl-C */
    SILENCE_MS = 1500,          /* a wait is not worth a word before */
};

/* SQLite's own handler sleeps in steps of up to 100 ms, so that most of a lock's time nobody has it: eight writers then record a tenth
 * of what they can. Short random steps at first, long ones for a lock that stays. */
static int wait_for_lock(void *store, int tries)
{
    struct pk_store *s = store;
    uint64_t now = pk_clock_ns();
    bool stop = s->wait.stop_flag && *s->wait.stop_flag;
    if (tries == 0) {
        s->waiting.since_ns = now;
        s->waiting.told = false;
        s->waiting.hurried = stop;
    }
    s->waiting.stopped = stop;
    uint64_t waited_ms = (now - s->waiting.since_ns) / PK_NS_PER_MS;
    if (waited_ms >= (uint64_t)s->patience_ms ||
        (stop && (!s->waiting.hurried || waited_ms >= HURRIED_PATIENCE_MS)))
        return 0;
    if (s->wait.waiting && !s->waiting.told && waited_ms >= SILENCE_MS) {
        s->waiting.told = true;
        s->wait.waiting(s->wait.user, s->path, s->patience_ms);
    }
    uint64_t step = waited_ms < 1000 ? 100000 + now % 400000 : 10 * PK_NS_PER_MS;
    nanosleep(&(struct timespec){.tv_nsec = (long)step}, NULL);
    return 1;
}

void pk_store_patience(struct pk_store *s, int64_t ms)
{
    s->patience_ms = ms;
    sqlite3_busy_handler(s->db, wait_for_lock, s);
}
