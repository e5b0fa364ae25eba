/* gate --against: a stored run, judged by others. */
#include "cmd/gate.h"
#include "judge/report/outcome.h"

#include <string.h>

struct against {
    struct pk_app *app;
    struct pk_stored_pair pair;
};

static enum pk_code print_tables(void *user, struct pk_out *out, struct pk_err *err)
{
    const struct against *g = user;
    pk_stored_print(&g->pair, out, g->app->arena);
    return PK_OK;
}

enum pk_code pk_gate_missing(const char *against, struct pk_err *err)
{
    if (err->code != PK_E_USAGE && err->code != PK_E_NOTHING)
        return err->code;
    err->code = PK_E_NOT_COMPARABLE;
    const bool named = strncmp(err->what, against, strlen(against)) == 0;
    return named ? pk_within(err, "gate --against") : pk_within(err, "gate --against %s", against);
}

static enum pk_code compare(struct gate *g, const char *run, struct pk_stored_pair *pair, struct pk_err *err)
{
    const struct pk_run_source from = pk_run_source(g->app);
    struct pk_stored_side base;
    if (pk_stored_base(&from, g->o->against, NULL, NULL, &base, err))
        return pk_gate_missing(g->o->against, err);
    return pk_stored_judge(g->app, g->o->against, run, &g->o->verdict, g->thresholds, pair, err);
}

enum pk_code pk_gate_against(struct gate *g, struct pk_err *err)
{
    struct pk_app *app = g->app;
    struct against s = {.app = app};
    if (compare(g, app->args.n ? app->args.v[0] : "@", &s.pair, err))
        return err->code;
    const enum pk_code code = pk_stored_answer(&s.pair, &g->o->verdict, app->arena, err);
    const struct pk_gate_said said = {.comparison = &s.pair.comparison,
                                      .failures = pk_stored_failures(&s.pair, NULL, app->arena),
                                      .n_failures = s.pair.comparison.n_unmatched,
                                      .measured = &s.pair.new_.facts[0],
                                      .print = print_tables,
                                      .user = &s};
    if (print_tables(&s, app->out, err))
        return err->code;
    app->parting = pk_printf(app->arena, "gate: %s", pk_outcome_sentence(&s.pair.comparison, app->arena));
    return pk_gate_report(g, &said, code, err);
}
