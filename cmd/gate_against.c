/* gate --against: a stored run, judged by others. */
#include "base/clock.h"
#include "cmd/answer.h"
#include "cmd/gate.h"

#include <string.h>
#include <time.h>

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

static const char *now(struct pk_arena *a)
{
    char text[24];
    const time_t t = (time_t)(pk_wall_ns() / PK_NS_PER_S);
    struct tm utc;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    return pk_strdup(a, text);
}

double pk_gate_seconds(const struct gate *g)
{
    return (double)(pk_clock_ns() - g->began_ns) / PK_NS_PER_S;
}

static enum pk_code print_trouble(void *user, struct pk_out *out, struct pk_err *err)
{
    pk_troubles_print(user, 1, out);
    return PK_OK;
}

enum pk_code pk_gate_against_refused(const struct gate *g, const char *name, struct pk_err *err)
{
    struct pk_arena *a = g->app->arena;
    const struct pk_comparison none = {0};
    struct pk_trouble t = {.side = "both",
                           .status = pk_answer_word(err->code),
                           .message = pk_printf(a, "%s: %s", err->what, err->why)};
    const struct pk_report r = {.comparison = &none,
                                .problems = pk_troubles_report(&t, 1, a),
                                .n_problems = 1,
                                .answer = t.status,
                                .name = name,
                                .host = "",
                                .started_at = now(a),
                                .seconds = pk_gate_seconds(g)};
    return err->code == PK_E_NOT_COMPARABLE
               ? pk_reports_write(g->app, &g->o->files, &r, print_trouble, &t, err->code, err)
               : err->code;
}

static enum pk_code compare(struct gate *g, const char *run, struct pk_stored_pair *pair, struct pk_err *err)
{
    struct pk_stored_side base;
    if (pk_stored_base(g->app, g->o->against, NULL, NULL, &base, err))
        return pk_gate_missing(g->o->against, err);
    return pk_stored_compare(g->app, g->o->against, run, &g->o->verdict, g->thresholds, pair, err);
}

enum pk_code pk_gate_against(struct gate *g, struct pk_err *err)
{
    struct pk_app *app = g->app;
    struct against s = {.app = app};
    const char *name = pk_printf(app->arena, "perfkit gate --against %s", g->o->against);
    const struct pk_verdict_options *o = &g->o->verdict;
    const char *run = app->args.n ? app->args.v[0] : "@";
    if (compare(g, run, &s.pair, err))
        return pk_gate_against_refused(g, name, err);
    const struct pk_trouble *troubles = pk_stored_troubles(&s.pair, NULL, app->arena);
    const size_t n = s.pair.comparison.n_lost;
    enum pk_code code = pk_stored_answer(&s.pair, o, app->arena, err);
    const struct pk_report r = {.comparison = &s.pair.comparison,
                                .problems = pk_troubles_report(troubles, n, app->arena),
                                .n_problems = n,
                                .answer = pk_answer_word(code),
                                .name = name,
                                .host = pk_reports_host(&s.pair.new_.facts[0], app->arena),
                                .started_at = s.pair.new_.facts[0].started_at,
                                .seconds = pk_gate_seconds(g)};
    if (print_tables(&s, app->out, err))
        return err->code;
    app->parting = pk_printf(app->arena, "gate: %s", pk_answer_sentence(&s.pair.comparison, app->arena));
    return pk_reports_write(app, &g->o->files, &r, print_tables, &s, code, err);
}
