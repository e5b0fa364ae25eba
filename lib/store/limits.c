/* Limits: how large the values of a file may be, and how long a statement may take. A signal ends one, too.
 *
 * They apply to every connection, because --db names files of other people, too. */
#include "store/db.h"

#include "base/clock.h"

/* A step can be a function of a text of 64 MB: the clock is read often. */
enum { STEPS_PER_CHECK = 200 };

static const struct {
    int what, limit;
} limits[] = {
    {SQLITE_LIMIT_LENGTH, 64 << 20},
    {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
    {SQLITE_LIMIT_COLUMN, 200},
    {SQLITE_LIMIT_EXPR_DEPTH, 100},
    {SQLITE_LIMIT_COMPOUND_SELECT, 60},
    {SQLITE_LIMIT_VDBE_OP, 250000},
    {SQLITE_LIMIT_FUNCTION_ARG, 20},
    {SQLITE_LIMIT_ATTACHED, 1},
    {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 200},
    {SQLITE_LIMIT_VARIABLE_NUMBER, 200},
    {SQLITE_LIMIT_TRIGGER_DEPTH, 10},
    {SQLITE_LIMIT_WORKER_THREADS, 0},
};

/* A signal does not end a transaction that records measured values. */
static int must_end(void *store)
{
    struct pk_store *s = store;
    const uint64_t now = pk_clock_ns();
    if ((!s->watch.long_task && now > s->watch.deadline_ns) ||
        (s->limited.on && now > s->limited.deadline_ns))
        s->watch.ended = PK_DB_TOO_LONG;
    else if ((s->watch.long_task || !s->transactions) && pk_grace_is_over(&s->watch.grace))
        s->watch.ended = PK_DB_STOPPED;
    return s->watch.ended;
}

void pk_db_limit(struct pk_store *s)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(s->db, limits[i].what, limits[i].limit);
    sqlite3_progress_handler(s->db, STEPS_PER_CHECK, must_end, s);
    s->watch.grace.stop_flag = s->wait.stop_flag;
}

void pk_db_watch(struct pk_store *s)
{
    s->watch.ended = PK_DB_GOES_ON;
    s->watch.deadline_ns = pk_clock_ns() + (uint64_t)s->wait.query_limit_ns;
}
