/* Import: records the slices of a spool, which perfkit writes when a store cannot be written. */
#include "cmd/cmd.h"

#include "bench/record/spool.h"
#include "store/store.h"

static const struct pk_column columns[] = {
    {.key = "file", .heading = "File", .left = true},
    {.key = "added", .heading = "Added", .decimals = -1},
    {.key = "known", .heading = "There already", .decimals = -1},
};

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const char *file = app->args.v[0];
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    struct pk_spool_result r;
    if (pk_open_store(app, NULL, PK_STORE_UPDATE, &s, err) || pk_spool_import(s, file, &r, err))
        return err->code;
    pk_out_table(app->out, "import", "Slices", PK_COLUMNS(columns));
    struct pk_row *row = pk_row_begin(app->out);
    pk_put_text(row, "file", file);
    pk_put_int(row, "added", (int64_t)r.added);
    pk_put_int(row, "known", (int64_t)r.known);
    pk_row_end(row);
    pk_note(app, "all of %s is in %s: it can be removed", file, pk_store_file(s));
    return PK_OK;
}

const struct pk_cmd pk_cmd_import = {
    .name = "import",
    .summary = "import the slices of runs whose store could not be written",
    .usage = "import FILE [options]",
    .examples = "perfkit import perfkit.db.spool-12.jsonl",
    .exact_args = "1",
    .run = run,
};
