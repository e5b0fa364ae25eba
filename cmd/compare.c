/* Compare: what changed between two runs, or between the values of an axis within one: medians, ratios, intervals. */
#include "bench/compare/compare.h"
#include "cmd/cmd.h"
#include "cmd/compare_rows.h"
#include "store/store.h"

struct options {
    const char *by;
    struct pk_texts metrics;
    bool all_metrics;
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
    {0},
};

static const double level = 0.95;

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
                                       .level = level};
}

static enum pk_code compare_within(struct pk_app *app, struct pk_err *err)
{
    const struct pk_compare_options o = library_options(app->options);
    struct side run = {0};
    struct pk_comparison c;
    if (read_side(app, app->args.v[0], &run, err) || pk_compare_by(&run.figures, &o, app->arena, &c, err))
        return err->code;
    pk_compare_print_runs(app->out, &run.facts, NULL, app->arena);
    pk_compare_print(app->out, &c, o.by, app->arena);
    return PK_OK;
}

static enum pk_code compare_runs(struct pk_app *app, struct pk_err *err)
{
    const struct pk_compare_options o = library_options(app->options);
    struct side base = {0}, new_ = {0};
    struct pk_comparison c;
    if (read_side(app, app->args.v[0], &base, err) || read_side(app, app->args.v[1], &new_, err) ||
        pk_compare_runs(&base.figures, &new_.figures, &o, app->arena, &c, err))
        return err->code;
    pk_compare_print_runs(app->out, &base.facts, &new_.facts, app->arena);
    pk_compare_print(app->out, &c, NULL, app->arena);
    return PK_OK;
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
