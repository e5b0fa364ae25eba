/* Plan parallel: memory and time of a training step on a mesh of chips. */
#include "cmd/plan/plan.h"
#include "model/parallel/report.h"

#include <string.h>

/* Rates of runs, then those that were typed. */
static enum pk_code read_rates(struct pk_app *app, struct pk_parallel_setup *s, struct pk_err *err)
{
    const struct pk_cmd_plan_options *o = app->options;
    const char *const typed[PK_PARALLEL_RATES] = {o->parallel.compute, o->bandwidth, o->parallel.network,
                                                  o->launch};
    for (size_t i = 0; i < o->from.n; i++) {
        PK_STORE_CLEANUP struct pk_store *store = NULL;
        const bool machine = !strcmp(o->from.v[i], "machine");
        int64_t run_id;
        if (pk_open_run(app, machine ? "@" : o->from.v[i], &store, &run_id, err) ||
            (machine ? pk_parallel_rates_of_machine : pk_parallel_rates_of_run)(store, run_id, s, app->arena,
                                                                                err))
            return err->code;
    }
    for (unsigned i = 0; i < PK_PARALLEL_RATES; i++)
        if (pk_parallel_rate_typed(i, typed[i], s, app->arena, err))
            return err->code;
    return PK_OK;
}

struct parallel_tables {
    struct pk_parallel_report report;
    struct pk_arena *a;
};

static enum pk_code print_report(void *user, struct pk_out *out, struct pk_err *err)
{
    const struct parallel_tables *p = user;
    (void)err;
    pk_parallel_print(out, &p->report, p->a);
    return PK_OK;
}

enum pk_code pk_cmd_plan_parallel(struct pk_app *app, struct pk_err *err)
{
    const struct pk_cmd_plan_options *o = app->options;
    struct pk_model_shape shape;
    struct pk_parallel_setup s;
    struct pk_mesh_request request;
    struct pk_parallel_ranking ranking;
    struct pk_sweep tokens;
    if (pk_cmd_plan_shape(o, app->arena, &shape, err) ||
        pk_parallel_setup_read(&o->parallel, &shape, app->arena, &s, err) || read_rates(app, &s, err) ||
        pk_mesh_request_read(&o->parallel, app->arena, &request, &tokens, err) ||
        pk_parallel_search(&s, &request, app->arena, &ranking, err))
        return err->code;
    struct parallel_tables p = {{&s, &ranking, (size_t)o->parallel.top, &tokens, o->explain}, app->arena};
    return pk_print_tables(&(struct pk_table_source){print_report, &p, "plan parallel"}, &o->tables, app->out,
                           app->arena, err);
}
