/* Show: prints a saved run's tables again, in any format. */
#include "cmd/cmd.h"

#include "bench/tables/tables.h"
#include "judge/report/ranking.h"

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    int64_t run_id;
    return pk_open_run(app, app->args.n ? app->args.v[0] : "@", &s, &run_id, err) ||
                   pk_run_tables(s, run_id, app->out, err)
               ? err->code
               : pk_ranking_print(s, run_id, app->out, err);
}

const struct pk_cmd pk_cmd_show = {
    .name = "show",
    .summary = "print the tables of a stored run again, in any format",
    .usage = "show [RUN] [options]",
    .examples = "perfkit show\n"
                "perfkit show @~1 --format markdown\n"
                "perfkit show colleague.db:nightly --format csv -o nightly.csv",
    .exact_args = "0-1",
    .run = run,
};
