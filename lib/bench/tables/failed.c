/* Failed: the messages of failed cases, the commonest first. */
#include "bench/tables/failed.h"

#include "store/table.h"

static const char messages[] =
    "SELECT message, count(*) FROM v_case WHERE run_id = :run AND status = 'failed'"
    " GROUP BY message ORDER BY count(*) DESC, min(ordinal)";

const char *pk_failed_text(struct pk_store *s, int64_t run_id, struct pk_arena *a)
{
    enum { MESSAGE, CASES };
    const struct pk_param run = pk_param_int(":run", run_id);
    struct pk_rows rows;
    struct pk_err ignored;
    if (pk_store_query(s, messages, &run, 1, a, &rows, &ignored) || !rows.n || !*rows.cells[MESSAGE].s)
        return "the tables' notes say of each what it was";
    if (rows.n == 1)
        return rows.cells[MESSAGE].s;
    return pk_printf(a, "%lld of them: %s; the tables' notes say of each what it was",
                     (long long)rows.cells[CASES].i, rows.cells[MESSAGE].s);
}
