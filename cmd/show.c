/* Show: prints a saved run's tables again, in any format. */
#include "cmd/cmd.h"

#include "bench/tables/tables.h"
#include "judge/report/ranking.h"
#include "out/output/output.h"

struct show_options {
    struct pk_texts tables;
};

static const struct pk_opt options[] = {
    {"tables", .letter = 't', .type = PK_OPT_LIST, .offset = offsetof(struct show_options, tables),
     .arg = "TABLE", .group = "Tables", .cli_only = true, .commas = true,
     .help = "print these tables, or all; default on a screen: findings, headline table; CSV: one, or -o "
             "DIR/ for a file of each"},
    {"table", .type = PK_OPT_LIST, .offset = offsetof(struct show_options, tables), .arg = "TABLE",
     .cli_only = true, .help = "the same as --tables"},
    {0},
};

struct show_request {
    struct pk_store *s;
    int64_t run_id;
};

static enum pk_code print_run(void *user, struct pk_out *out, struct pk_err *err)
{
    const struct show_request *v = user;
    return pk_run_tables(v->s, v->run_id, out, err) ? err->code : pk_ranking_print(v->s, v->run_id, out, err);
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct show_options *o = app->options;
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    int64_t run_id;
    if (pk_open_run(app, app->args.n ? app->args.v[0] : "@", &s, &run_id, err))
        return err->code;
    struct show_request v = {s, run_id};
    const struct pk_table_source tables = {print_run, &v,
                                           pk_printf(app->arena, "run %lld", (long long)run_id)};
    return pk_print_tables(&tables, &o->tables, app->out, app->arena, err);
}

const struct pk_cmd pk_cmd_show = {
    .name = "show",
    .summary = "print the tables of a stored run again, in any format",
    .usage = "show [RUN] [options]",
    .examples = "perfkit show\n"
                "perfkit show @~1 --format markdown\n"
                "perfkit show --tables scaling,exponents\n"
                "perfkit show --tables scaling --format csv\n"
                "perfkit show colleague.db:nightly --format csv -o nightly/    a file each",
    .options = options,
    .options_bytes = sizeof(struct show_options),
    .exact_args = "0-1",
    .plots = true,
    .run = run,
};
