/* Gate, report: JUnit, summary and annotations of a gate, also when it ended with an error. */
#include "cmd/gate/gate.h"

#include "base/clock.h"
#include "cmd/compare/rows.h"
#include "judge/report/outcome.h"

#include <time.h>

/* "perfkit gate selftest", "perfkit gate perf --against main" */
static const char *name_of(const struct gate *g)
{
    struct pk_arena *a = g->app->arena;
    const char *of = NULL, *against = g->o->against;
    if (g->o->run.suite)
        of = g->list.name ? g->list.name : g->o->run.suite;
    else if (!against && g->app->args.n)
        of = g->app->args.v[0];
    return pk_printf(a, "perfkit gate%s%s%s%s", of ? " " : "", of ? of : "", against ? " --against " : "",
                     against ? against : "");
}

static const char *now(struct pk_arena *a)
{
    char text[24];
    const time_t t = (time_t)(pk_wall_ns() / PK_NS_PER_S);
    struct tm utc;
    strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&t, &utc));
    return pk_strdup(a, text);
}

/* Those of verdicts: what failed or could not be compared at all has no verdict. */
static enum pk_code status_of(const struct gate *g, enum pk_code answer)
{
    return g->o->no_fail && (answer == PK_E_REGRESSION || answer == PK_E_UNDECIDED) ? PK_OK : answer;
}

enum pk_code pk_gate_report(struct gate *g, const struct pk_gate_said *said, enum pk_code answer,
                            struct pk_err *err)
{
    struct pk_arena *a = g->app->arena;
    const struct pk_report r = {
        .comparison = said->comparison,
        .failures = said->failures,
        .n_failures = said->n_failures,
        .outcome = said->word ? said->word : pk_outcome_word(answer),
        .name = name_of(g),
        .host = said->measured ? pk_reports_host(said->measured, a) : "",
        .started_at = said->measured ? said->measured->started_at : now(a),
        .seconds = (double)(pk_clock_ns() - g->began_ns) / PK_NS_PER_S,
    };
    g->reported = true;
    return pk_reports_write(g->app, &g->o->files, &r, said->print, said->user,
                            said->measured ? status_of(g, answer) : answer, err);
}

/* --- no answer -------------------------------------------------------------------------------------------------------- */

static enum pk_code print_trouble(void *user, struct pk_out *out, struct pk_err *err)
{
    pk_failures_print(user, 1, out);
    return PK_OK;
}

enum pk_code pk_gate_report_error(struct gate *g, struct pk_err *err)
{
    const struct pk_comparison none = {0};
    struct pk_failure t = {.side = "both",
                           .status = pk_outcome_word(err->code),
                           .message = pk_printf(g->app->arena, "%s: %s", err->what, err->why)};
    const struct pk_gate_said said = {.comparison = &none, .print = print_trouble, .user = &t};
    return pk_gate_report(g, &said, err->code, err);
}
