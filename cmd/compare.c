/* Compare: what changed between two runs, or between the values of an axis within one: medians, ratios, intervals, verdicts. */
#include "bench/compare/threshold.h"
#include "cmd/answer.h"
#include "cmd/cmd.h"
#include "cmd/compare_rows.h"
#include "store/store.h"

struct options {
    const char *by;
    struct pk_texts metrics, thresholds;
    bool all_metrics, only_changed, exit_code, fail_on_undecided, allow_host_mismatch;
    double min_effect, alpha;
};

static const struct pk_opt options[] = {
    {.name = "by",
     .type = PK_OPT_TEXT,
     .offset = offsetof(struct options, by),
     .arg = "AXIS",
     .help = "compare cases of one run that differ in AXIS (or in `variant`) with those at its first value",
     .group = "What is compared"},
    {.name = "metric",
     .letter = 'm',
     .type = PK_OPT_LIST,
     .offset = offsetof(struct options, metrics),
     .arg = "NAME",
     .help = "compare this metric; without it, times"},
    {.name = "all-metrics",
     .type = PK_OPT_FLAG,
     .offset = offsetof(struct options, all_metrics),
     .help = "compare every metric"},
    {.name = "min-effect",
     .type = PK_OPT_RATIO,
     .offset = offsetof(struct options, min_effect),
     .arg = "RATIO",
     .min = 1e-6,
     .max = 10,
     .def = "2%",
     .help = "the smallest change of interest",
     .group = "The verdict"},
    {.name = "threshold",
     .type = PK_OPT_LIST,
     .offset = offsetof(struct options, thresholds),
     .arg = "METRIC=SIZE",
     .help = "another one for some: forward_ns=5%, forward_ns=5%,20us, 'forward_ns[variant=flash]=10%'"},
    {.name = "alpha",
     .type = PK_OPT_RATIO,
     .offset = offsetof(struct options, alpha),
     .arg = "RATIO",
     .min = 1e-6,
     .max = 0.5,
     .def = "5%",
     .help = "the risk that any row is falsely called faster or slower"},
    {.name = "allow-host-mismatch",
     .type = PK_OPT_FLAG,
     .offset = offsetof(struct options, allow_host_mismatch),
     .help = "give verdicts although machines or settings differ"},
    {.name = "only-changed",
     .type = PK_OPT_FLAG,
     .offset = offsetof(struct options, only_changed),
     .help = "leave out the rows that are the same",
     .group = "The answer"},
    {.name = "exit-code",
     .type = PK_OPT_FLAG,
     .offset = offsetof(struct options, exit_code),
     .help = "exit status 3 when a row is slower, 4 when nothing could be decided"},
    {.name = "fail-on-undecided",
     .type = PK_OPT_FLAG,
     .offset = offsetof(struct options, fail_on_undecided),
     .help = "with --exit-code: 4 when any row is undecided"},
    {0},
};

/* One run, read whole: its store is closed again. */
struct side {
    struct pk_run_facts facts;
    struct pk_compare_side figures;
};

static enum pk_code read_side(struct pk_app *app, const char *ref, struct side *side, struct pk_err *err)
{
    struct pk_store *s;
    struct pk_figures *v;
    int64_t run_id;
    if (pk_open_run(app, ref, &s, &run_id, err))
        return err->code;
    enum pk_code rc = pk_store_run_facts(s, run_id, app->arena, &side->facts, err);
    if (!rc)
        rc = pk_store_figures(s, run_id, app->arena, &v, &side->figures.n, err);
    pk_store_close(s);
    if (rc)
        return rc;
    side->figures.v = v;
    side->figures.name = pk_printf(app->arena, "run %s", ref);
    return PK_OK;
}

static struct pk_compare_options library_options(const struct options *o)
{
    return (struct pk_compare_options){.metrics = o->metrics.v,
                                       .n_metrics = o->metrics.n,
                                       .all_metrics = o->all_metrics,
                                       .by = o->by,
                                       .level = 1 - o->alpha};
}

static enum pk_code read_thresholds(struct pk_app *app, struct pk_threshold **t, struct pk_err *err)
{
    const struct options *o = app->options;
    *t = pk_new_n(app->arena, struct pk_threshold, o->thresholds.n + 1);
    for (size_t i = 0; i < o->thresholds.n; i++)
        if (pk_threshold_parse(o->thresholds.v[i], app->arena, &(*t)[i], err))
            return err->code;
    return PK_OK;
}

/* Verdicts, in the order of their importance between runs, in that of the axis within one. */
static enum pk_code judge(struct pk_app *app, struct pk_comparison *c, struct pk_judging *j, bool mismatch,
                          struct pk_err *err)
{
    const struct options *o = app->options;
    struct pk_threshold *t;
    if (read_thresholds(app, &t, err) || pk_thresholds_check(t, o->thresholds.n, c->v, c->n, err))
        return err->code;
    j->rule = pk_rule_default;
    j->rule.alpha = o->alpha;
    j->rule.min_effect = o->min_effect;
    pk_thresholds_apply(t, o->thresholds.n, c->v, c->n);
    for (size_t i = 0; i < c->n; i++)
        c->v[i].unstable = mismatch && !o->allow_host_mismatch;
    pk_judge(c->v, c->n, j);
    if (!o->by)
        pk_compare_sort(c->v, c->n);
    for (size_t i = 0; i < c->n; i++)
        c->v[i].hidden = o->only_changed && c->v[i].judged && c->v[i].decision.verdict == PK_SAME;
    return PK_OK;
}

static enum pk_code answer(struct pk_app *app, const struct pk_comparison *c, const char *new_name,
                           struct pk_err *err)
{
    const struct options *o = app->options;
    const struct pk_question q = {.new_name = new_name, .fail_on_undecided = o->fail_on_undecided};
    return o->exit_code ? pk_answer(c, &q, app->arena, err) : PK_OK;
}

static enum pk_code compare_within(struct pk_app *app, struct pk_err *err)
{
    const struct pk_compare_options o = library_options(app->options);
    struct side run = {0};
    struct pk_comparison c;
    if (read_side(app, app->args.v[0], &run, err) || pk_compare_by(&run.figures, &o, app->arena, &c, err))
        return err->code;
    struct pk_judging j = {.design = PK_DESIGN_PAIRS};
    if (judge(app, &c, &j, false, err))
        return err->code;
    pk_compare_print_runs(app->out, &run.facts, NULL, app->arena);
    pk_compare_print(app->out, &c, o.by, app->arena);
    return answer(app, &c, pk_printf(app->arena, "another %s", o.by), err);
}

static enum pk_code compare_runs(struct pk_app *app, struct pk_err *err)
{
    const struct pk_compare_options o = library_options(app->options);
    struct side base = {0}, new_ = {0};
    struct pk_comparison c;
    if (read_side(app, app->args.v[0], &base, err) || read_side(app, app->args.v[1], &new_, err) ||
        pk_compare_runs(&base.figures, &new_.figures, &o, app->arena, &c, err))
        return err->code;
    struct pk_judging j = {.design = PK_DESIGN_STORED};
    const char *const *differences;
    bool mismatch = pk_compare_setups(&base.facts, &new_.facts, app->arena, &differences) > 0;
    if (judge(app, &c, &j, mismatch, err))
        return err->code;
    pk_compare_print_runs(app->out, &base.facts, &new_.facts, app->arena);
    pk_compare_print(app->out, &c, NULL, app->arena);
    return answer(app, &c, new_.figures.name, err);
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct options *o = app->options;
    if (o->all_metrics && o->metrics.n) {
        pk_fail(err, PK_E_USAGE, "--metric and --all-metrics contradict each other");
        pk_why(err, "one chooses metrics, the other takes all");
        return pk_fix(err, "leave one of them out");
    }
    if ((o->by != NULL) == (app->args.n == 1))
        return o->by ? compare_within(app, err) : compare_runs(app, err);
    pk_fail(err, PK_E_USAGE, o->by ? "--by %s takes one run, not two" : "compare takes two runs, not one",
            o->by);
    pk_why(err, "--by compares within one run; without it BASE is compared with NEW");
    return pk_fix(err, o->by ? "perfkit compare --by %s @" : "perfkit compare @~1 @%s", o->by ? o->by : "");
}

const struct pk_cmd pk_cmd_compare = {
    .name = "compare",
    .summary = "two runs, or the values of an axis, side by side: medians, ratios, intervals",
    .usage = "compare BASE NEW [options] | compare --by AXIS RUN [options]",
    .examples = "perfkit compare @~1 @                   the newest run against the one before\n"
                "perfkit compare --by variant @          every variant against the first, within one run\n"
                "perfkit compare other.db:nightly @      against a run in another file\n"
                "perfkit compare --metric peak_bytes 3 4\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .exact_args = "1-2",
    .run = run,
};
