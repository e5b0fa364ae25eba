/* Report: one self-contained HTML page of runs, with charts. */
#include "report/report.h"

#include "bench/record/runinfo.h"
#include "cmd/compare/compare.h"
#include "judge/report/outcome.h"
#include "judge/report/report.h"
#include "out/output/output.h"
#include "store/table/chart.h"

#include <string.h>

struct report_options {
    struct pk_verdict_options verdict;
};

static const struct pk_opt options[] = {
    {.rows = pk_verdict_rows, .offset = offsetof(struct report_options, verdict)},
    {0},
};

struct compared_pair {
    struct pk_stored_pair pair;
    struct pk_arena *arena;
};

static enum pk_code print_pair(void *user, struct pk_out *out, struct pk_err *err)
{
    const struct compared_pair *c = user;
    pk_stored_print(&c->pair, out, c->arena);
    return PK_OK;
}

static enum pk_code open_runs(struct pk_app *app, struct pk_page_run *runs, size_t n, struct pk_err *err)
{
    for (size_t i = 0; i < n; i++) {
        const char *ref = app->args.n ? app->args.v[i] : "@";
        if (pk_open_run(app, ref, &runs[i].store, &runs[i].run_id, err))
            return err->code;
        const char *colon = strrchr(ref, ':');
        runs[i].name =
            pk_printf(app->arena, "%.*s%lld", colon && !strchr(colon, '/') ? (int)(colon - ref + 1) : 0, ref,
                      (long long)runs[i].run_id);
    }
    return PK_OK;
}

/* The first run with the last one, unless they cannot be compared. */
static enum pk_code compare(struct pk_app *app, struct compared_pair *c, struct pk_page_options *r,
                            struct pk_err *err)
{
    struct report_options *o = app->options;
    struct pk_threshold *thresholds;
    if (pk_verdict_options_check(app, &o->verdict, &thresholds, err) || r->n < 2)
        return err->code;
    r->what = pk_verdict_what(&o->verdict);
    r->what.level = 1 - o->verdict.alpha;
    r->min_effect = o->verdict.min_effect;
    if (pk_stored_judge(app, app->args.v[0], app->args.v[r->n - 1], &o->verdict, thresholds, &c->pair, err))
        return err->code;
    r->not_comparable =
        c->pair.not_comparable.code
            ? pk_printf(app->arena, "%s: %s", c->pair.not_comparable.what, c->pair.not_comparable.why)
            : NULL;
    return PK_OK;
}

/* A page in a file of another kind would not open. */
static enum pk_code check_name(const char *name, struct pk_err *err)
{
    static const char *const others[] = {".pdf", ".png", ".svg", ".json", ".csv", ".md"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof others / sizeof *others; i++)
        if (strcmp(dot, others[i]) == 0) {
            pk_fail(err, PK_E_USAGE, "-o: '%.200s' is not the name of a report", name);
            pk_why(err, "a report is an HTML page");
            return pk_fix(err, "give a name that ends in .html; charts alone: perfkit show --plot gnuplot -o "
                               "FILE.svg, tables: perfkit show --tables all --format csv");
        }
    return PK_OK;
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    enum { ROWS = 60 };
    struct pk_chart chart;
    struct compared_pair c = {.arena = app->arena};
    const struct pk_table_source comparison = {print_pair, &c, "the comparison"};
    struct pk_page_options r = {
        .n = app->args.n ? app->args.n : 1,
        .command = pk_shell_line((const char *const *)app->argv, (size_t)app->argc, app->arena),
        .stop_flag = &pk_stop_flag};
    if (pk_opt_source_of(app->tables, "format") == PK_OPT_COMMAND_LINE) {
        pk_fail(err, PK_E_USAGE, "report has no --format %s", app->globals->format);
        pk_why(err, "it writes one page of HTML");
        return pk_fix(err, "perfkit show RUN --format %s prints the tables", app->globals->format);
    }
    struct pk_page_run *runs = pk_new_n(app->arena, struct pk_page_run, r.n);
    r.runs = runs;
    enum pk_code rc = check_name(app->globals->output, err);
    if (!rc)
        rc = open_runs(app, runs, r.n, err);
    if (!rc)
        rc = compare(app, &c, &r, err);
    if (!rc && r.n > 1 && !r.not_comparable)
        r.comparison = &comparison;
    if (!rc && r.comparison)
        rc = pk_compare_chart(&c.pair.comparison, ROWS, app->arena, &chart, err);
    if (!rc && r.comparison) {
        r.chart = &chart;
        r.outcome = pk_outcome_sentence(&c.pair.comparison, app->arena);
    }
    if (!rc)
        rc = pk_page_write(&r, app->text, app->arena, err);
    for (size_t i = 0; i < r.n; i++)
        pk_store_close(runs[i].store);
    app->closing_note = pk_printf(app->arena, "written to %s", app->globals->output);
    return rc;
}

const struct pk_cmd pk_cmd_report = {
    .name = "report",
    .summary = "one self-contained HTML page of runs, with charts",
    .usage = "report [RUN...] [-o FILE.html]",
    .examples = "perfkit report                          the newest run, into report.html\n"
                "perfkit report @~1 @ -o change.html     two runs, compared\n"
                "perfkit report colleague.db:nightly",
    .options = options,
    .options_bytes = sizeof(struct report_options),
    .exact_args = "0+",
    .output = "report.html",
    .run = run,
};
