/* History: an experiment's results run by run, with change points. */
#include "judge/history/history.h"
#include "bench/probe.h"
#include "cmd/cmd.h"
#include "store/store.h"

#include <stddef.h>

/* --- the command ----------------------------------------------------------------------------------------- */

struct history_options {
    struct pk_texts metrics;
    const char *filter, *label;
    int64_t last;
    double min_effect;
    bool gates, all;
};

#define O(member) offsetof(struct history_options, member)

static const struct pk_opt options[] = {
    {"metric", .letter = 'm', .type = PK_OPT_LIST, .offset = O(metrics), .arg = "METRIC", .commas = true,
     .group = "What is shown",
     .help = "show this metric (default: times); forward_ns:p90 and :p99 are quantiles of its samples"},
    {"filter", .letter = 'f', .type = PK_OPT_TEXT, .offset = O(filter), .arg = "EXPR",
     .help = "cases: 'seq_len>=1024,variant=flash|fused'"},
    {"label", .type = PK_OPT_TEXT, .offset = O(label), .arg = "LABEL", .help = "only runs with this label"},
    {"last", .type = PK_OPT_INT, .offset = O(last), .arg = "N", .max = 1e6, .def = "100",
     .help = "only the newest N runs; 0 is all"},
    {"min-effect", .type = PK_OPT_RATIO, .offset = O(min_effect), .arg = "RATIO", .min = 1e-6, .max = 10,
     .def = "2%", .help = "smallest change that counts as a change point"},
    {"gates", .type = PK_OPT_FLAG, .offset = O(gates), .help = "include runs that are sides of a gate"},
    {"all", .letter = 'a', .type = PK_OPT_FLAG, .offset = O(all),
     .help = "show every case, not only one screen"},
    {0},
};

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct history_options *o = app->options;
    const char *experiment = app->args.v[0];
    const struct pk_run_wanted wanted = {experiment, o->label, o->gates, o->last};
    const struct pk_history_options what = {
        .what = {.metrics = o->metrics.v, .n_metrics = o->metrics.n},
        .filter = o->filter,
        .min_effect = o->min_effect,
    };
    PK_STORE_CLEANUP struct pk_store *s = NULL;
    struct pk_history_run *runs = NULL;
    struct pk_history h;
    size_t n;
    int64_t *ids;
    if (pk_open_store(app, NULL, PK_STORE_READ, &s, err) ||
        pk_store_run_list(s, &wanted, app->arena, &ids, &n, err))
        return err->code == PK_E_NOTHING && pk_probe_find(experiment)
                   ? pk_fix(err, "`perfkit run %s` records a first run; --db FILE names another store",
                            experiment)
                   : err->code;
    if (pk_history_read(s, &wanted, ids, n, app->arena, &runs, err) ||
        pk_history_make(runs, n, experiment, &what, app->arena, &h, err))
        return err->code;
    const struct pk_history_view view = {
        runs, experiment, o->min_effect, pk_for_people(app), pk_out_on_screen(app->out), o->all, o->gates};
    pk_history_print(app->out, &h, &view, app->arena);
    return pk_history_plot(app->out, &h, &view, app->arena, err);
}

const struct pk_cmd pk_cmd_history = {
    .name = "history",
    .summary = "an experiment over its runs: medians, plots, change points",
    .usage = "history EXPERIMENT|exec [options]",
    .examples = "perfkit history attention-scaling\n"
                "perfkit history attention-scaling -m forward_ns --filter variant=flash\n"
                "perfkit history exec --label nightly --last 30\n"
                "perfkit history attention-scaling --format csv -o history.csv\n",
    .options = options,
    .options_bytes = sizeof(struct history_options),
    .exact_args = "1",
    .plots = true,
    .run = run,
};
