/* Compare: what changed between runs, or between the values of an axis within one: medians, ratios, intervals, verdicts. */
#include "cmd/compare/compare.h"
#include "judge/report/outcome.h"

#include <stddef.h>
#include <string.h>

struct compare_options {
    const char *by;
    struct pk_verdict_options verdict;
    bool exit_code;
};

static const struct pk_opt options[] = {
    {"by", .type = PK_OPT_TEXT, .offset = offsetof(struct compare_options, by), .arg = "AXIS",
     .group = "What is compared",
     .help =
         "compare the cases of one run that differ in AXIS (or in `variant`) with those of its first value "
         "(the yardstick, if the experiment names one)"},
    {.rows = pk_verdict_rows, .offset = offsetof(struct compare_options, verdict)},
    {"exit-code", .type = PK_OPT_FLAG, .offset = offsetof(struct compare_options, exit_code),
     .help = "exit status 1 when a case of base failed in new, 3 when a row is slower, 4 when no row could "
             "be judged, 5 when the sides cannot be compared or new lacks what base has; implied by "
             "--fail-on-undecided"},
    {0},
};

/* For an exit status; one for undecided rows is one. */
static bool wants_exit_status(const struct compare_options *o)
{
    return o->exit_code || o->verdict.fail_on_undecided;
}

/* Processes that measured both are pairs. */
static enum pk_code compare_within(struct pk_app *app, const struct pk_threshold *thresholds,
                                   struct pk_err *err)
{
    const struct compare_options *o = app->options;
    struct pk_compare_options what = pk_verdict_what(&o->verdict);
    const bool in_turns = strcmp(o->by, "command") == 0; /* of exec, which prints the judged ratios */
    const struct pk_judging j = {.rule = pk_verdict_rule(&o->verdict),
                                 .design = in_turns ? PK_DESIGN_PAIRS : PK_DESIGN_WITHIN};
    const struct pk_outcome_options q = {.new_name = pk_printf(app->arena, "another %s", o->by),
                                         .fail_on_undecided = o->verdict.fail_on_undecided};
    const struct pk_run_source from = pk_run_source(app);
    struct pk_stored_side run;
    struct pk_comparison c, counters;
    what.by = o->by;
    what.design = j.design;
    if (pk_stored_read(&from, app->args.v[0], NULL, NULL, &run, err))
        return err->code;
    what.base = run.yardstick;
    if (pk_compare_by(&run.figures, &what, app->arena, &c, err))
        return err->code;
    const struct pk_expected_rows rows = {.side = &run.figures,
                                          .rows = c.v,
                                          .n = c.n,
                                          .criteria = {.all = thresholds, .n_all = o->verdict.thresholds.n}};
    struct pk_errs wrong = {.arena = app->arena};
    if (pk_expected_rows_check(&rows, 1, true, &wrong, err))
        return pk_all_errors(&wrong, err);
    pk_criteria_apply(&rows.criteria, c.v, c.n);
    pk_judge(c.v, c.n, &j);
    pk_compare_sort(c.v, c.n);
    pk_verdict_hide(&o->verdict, &c);
    pk_compare_counters(&run.counters, NULL, &what, app->arena, &counters);
    pk_verdict_hide_counters(&o->verdict, &counters);
    pk_compare_summary(app->out, &c, app->arena);
    pk_run_states_noise(app->out, run.states, 1, app->arena);
    pk_out_detail(app->out, true);
    pk_compare_begin_runs(app->out);
    pk_compare_run_row(app->out, "both", &run.facts[0]);
    pk_compare_print(app->out, &c, o->by, app->arena);
    pk_compare_note_unmatched(app->out, &c, o->by, app->arena);
    pk_compare_print_counters(app->out, &counters, o->by, app->arena);
    run.states[0].side = "both";
    pk_run_states_print(app->out, run.states, 1, app->arena);
    if (pk_compare_plot(app->out, &c, app->arena, err))
        return err->code;
    return wants_exit_status(o) ? pk_outcome(&c, &q, app->arena, err) : PK_OK;
}

static enum pk_code compare_runs(struct pk_app *app, const struct pk_threshold *thresholds,
                                 struct pk_err *err)
{
    const struct compare_options *o = app->options;
    struct pk_stored_pair p;
    if (pk_stored_judge(app, app->args.v[0], app->args.v[1], &o->verdict, thresholds, &p, err))
        return err->code;
    if (p.not_comparable.code && !wants_exit_status(o))
        return *err = p.not_comparable, err->code;
    pk_stored_print(&p, app->out, app->arena);
    if (pk_compare_plot(app->out, &p.comparison, app->arena, err))
        return err->code;
    return wants_exit_status(o) ? pk_stored_outcome(&p, &o->verdict, app->arena, err) : PK_OK;
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    struct compare_options *o = app->options;
    struct pk_threshold *thresholds;
    if (pk_verdict_options_check(app, &o->verdict, &thresholds, err))
        return err->code;
    if ((o->by != NULL) == (app->args.n == 1))
        return o->by ? compare_within(app, thresholds, err) : compare_runs(app, thresholds, err);
    pk_fail(err, PK_E_USAGE,
            o->by ? "--by %s needs one run, but two are given" : "compare needs two runs, but one is given",
            o->by);
    pk_why(err, "--by compares within one run; without it, BASE is compared with NEW");
    return pk_fix(err, o->by ? "perfkit compare --by %s @" : "perfkit compare @~1 @%s", o->by ? o->by : "");
}

const struct pk_cmd pk_cmd_compare = {
    .name = "compare",
    .summary = "compare two runs, or the values of an axis: ratios, verdicts",
    .usage = "compare BASE NEW | compare --by AXIS RUN",
    .examples = "perfkit compare @~1 @                   the newest run with the one before\n"
                "perfkit compare main @ --exit-code      with all runs labelled main\n"
                "perfkit compare --by variant @          every variant with the first\n"
                "perfkit compare other.db:nightly @      with a label in another file\n"
                "perfkit compare --metric peak_bytes 3 4\n",
    .options = options,
    .options_bytes = sizeof(struct compare_options),
    .exact_args = "1-2",
    .plots = true,
    .run = run,
};
