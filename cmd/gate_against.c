/* gate --against: a stored run, judged by others. */
#include "cmd/answer.h"
#include "cmd/gate.h"

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
    return pk_within(err, "gate --against %s", against);
}

enum pk_code pk_gate_against(struct gate *g, struct pk_err *err)
{
    struct pk_app *app = g->app;
    struct against s = {.app = app};
    struct pk_err late;
    const struct pk_verdict_options *o = &g->o->verdict;
    const char *run = app->args.n ? app->args.v[0] : "@";
    struct pk_stored_side base;
    if (pk_stored_read(app, g->o->against, NULL, NULL, &base, err))
        return pk_gate_missing(g->o->against, err);
    if (pk_stored_compare(app, g->o->against, run, o, g->thresholds, &s.pair, err))
        return err->code;
    enum pk_code code = pk_stored_answer(&s.pair, o, app->arena, err);
    const struct pk_report r = {.comparison = &s.pair.comparison,
                                .answer = pk_answer_word(code),
                                .name = pk_printf(app->arena, "perfkit gate --against %s", g->o->against),
                                .host = "",
                                .started_at = s.pair.new_.facts[0].started_at};
    if (print_tables(&s, app->out, &late) ||
        pk_reports_write(&g->o->files, &r, print_tables, &s, app->arena, &late))
        return *err = late, late.code;
    app->parting = pk_printf(app->arena, "gate: %s", pk_answer_sentence(&s.pair.comparison, app->arena));
    return code;
}
