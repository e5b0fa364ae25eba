/* Stranger: what a connection may not do while it reads a file that nobody vouches for. */
#include "store/db.h"

#include "base/clock.h"
#include "base/text/buf.h"

#include <string.h>

enum { STEPS_PER_CHECK = 100000 };

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

/* Ends a statement that runs past the deadline: a table of a made-up file can be as large as its author
 * likes. */
static int too_long(void *store)
{
    const struct pk_store *s = store;
    return s->deadline_ns && pk_clock_ns() > s->deadline_ns;
}

enum pk_code pk_db_restrain(struct pk_store *s, struct pk_err *err)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(s->db, limits[i].what, limits[i].limit);
    sqlite3_progress_handler(s->db, STEPS_PER_CHECK, too_long, s);
    return pk_db_script(s, "PRAGMA cell_size_check = ON", err);
}

const char *pk_db_stranger_uri(struct pk_arena *a, const char *path)
{
    struct pk_buf b = {.arena = a};
    pk_buf_str(&b, "file:");
    for (const char *p = path; *p; p++)
        if (strchr("%?#", *p))
            pk_buf_printf(&b, "%%%02X", *p);
        else
            pk_buf_char(&b, *p);
    pk_buf_str(&b, "?mode=ro&immutable=1");
    return pk_buf_text(&b);
}
