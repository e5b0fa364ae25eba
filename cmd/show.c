/* Show: a saved run's tables again, in any format. */
#include "cmd/cmd.h"
#include "cmd/saved.h"

#include "bench/tables.h"

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    struct pk_saved saved;
    if (pk_saved_open(app, app->args.n ? app->args.v[0] : "@", &saved, err))
        return err->code;
    enum pk_code rc = pk_run_tables(saved.store, saved.run_id, app->out, err);
    pk_store_close(saved.store);
    return rc;
}

const struct pk_cmd pk_cmd_show = {
    .name = "show",
    .summary = "the tables of a saved run again, in any format",
    .usage = "show [RUN] [options]",
    .examples = "perfkit show\n"
                "perfkit show @~1 --format markdown\n"
                "perfkit show colleague.db:nightly -f csv -o nightly.csv",
    .exact_args = "0-1",
    .run = run,
};
