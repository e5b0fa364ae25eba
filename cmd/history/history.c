/* History: an experiment's results run by run, with change points. */
#include "judge/history/history.h"
#include "bench/probe.h"
#include "cmd/cmd.h"
#include "cmd/history/rows.h"
#include "store/store.h"

#include <stddef.h>
#include <string.h>

struct options {
    struct pk_texts metrics;
    const char *filter, *label;
    int64_t last;
    double min_effect;
    bool gates, all;
};

#define O(member) offsetof(struct options, member)

static const struct pk_opt options[] = {
    {"metric", 'm', PK_OPT_LIST, O(metrics), "NAME", .group = "What is shown",
     .help = "show this metric (default: times)"},
    {"filter", 'f', PK_OPT_TEXT, O(filter), "EXPR", .help = "cases: 'seq_len>=1024,variant=flash|fused'"},
    {"label", 0, PK_OPT_TEXT, O(label), "LABEL", .help = "only runs with this label"},
    {"last", 0, PK_OPT_INT, O(last), "N", 0, 1e6, .def = "100", .help = "only the newest N runs; 0 is all"},
    {"min-effect", 0, PK_OPT_RATIO, O(min_effect), "RATIO", 1e-6, 10, .def = "2%",
     .help = "smallest change that counts as a change point"},
    {"gates", 0, PK_OPT_FLAG, O(gates), .help = "include runs that are sides of a gate"},
    {"all", 'a', PK_OPT_FLAG, O(all), .help = "show every case, not only one screen"},
    {0},
};

static enum pk_code too_few(const struct pk_run_wanted *w, size_t n, struct pk_err *err)
{
    pk_fail(err, PK_E_NOTHING, "%s has no history yet", w->experiment);
    pk_why(err, "%s of it%s%s is complete, and a history needs two", n ? "one run" : "no run",
           w->label ? " with this label" : "", w->gates ? "" : ", without sides of gates,");
    return pk_fix(err, w->gates ? "measure it once more" : "measure it once more, or add --gates");
}

/* What there is no run of yet is named where runs record it. */
static enum pk_code first_run(const char *experiment, struct pk_err *err)
{
    return err->code == PK_E_NOTHING && pk_probe_find(experiment)
               ? pk_fix(err, "`perfkit run %s` records a first run; --db FILE names another store",
                        experiment)
               : err->code;
}

static enum pk_code read_runs(struct pk_store *s, const struct pk_run_wanted *w, struct pk_arena *a,
                              struct pk_history_run **runs, size_t *n, struct pk_err *err)
{
    int64_t *ids;
    if (pk_store_run_list(s, w, a, &ids, n, err))
        return first_run(w->experiment, err);
    if (*n < 2)
        return too_few(w, *n, err);
    *runs = pk_new_n(a, struct pk_history_run, *n);
    for (size_t i = 0; i < *n; i++) {
        struct pk_history_run *r = &(*runs)[i];
        struct pk_figures *v;
        if (pk_store_run_facts(s, ids[i], a, &r->facts, err) ||
            pk_store_figures(s, ids[i], a, &v, &r->figures.n, &r->facts.cases_ok, err))
            return err->code;
        r->figures.v = v;
    }
    return PK_OK;
}

static enum pk_code run(struct pk_app *app, struct pk_err *err)
{
    const struct options *o = app->options;
    const char *experiment = app->args.v[0];
    const struct pk_run_wanted wanted = {experiment, o->label, o->gates, o->last};
    const struct pk_history_options what = {
        .what = {.metrics = o->metrics.v, .n_metrics = o->metrics.n},
        .filter = o->filter,
        .min_effect = o->min_effect,
    };
    struct pk_store *s;
    struct pk_history_run *runs = NULL;
    struct pk_history h;
    size_t n;
    if (pk_open_store(app, NULL, PK_STORE_READ, &s, err))
        return first_run(experiment, err);
    enum pk_code rc = read_runs(s, &wanted, app->arena, &runs, &n, err);
    pk_store_close(s);
    if (rc || pk_history_make(runs, n, experiment, &what, app->arena, &h, err))
        return err->code;
    const struct pk_history_view view = {runs, experiment, o->min_effect, pk_for_people(app), o->all};
    pk_history_print(app->out, &h, &view, app->arena);
    return PK_OK;
}

const struct pk_cmd pk_cmd_history = {
    .name = "history",
    .summary = "an experiment over its runs: medians, a plot, and change points",
    .usage = "history EXPERIMENT [options]",
    .examples = "perfkit history attention-scaling\n"
                "perfkit history attention-scaling --metric forward_ns --filter seq_len=1024,variant=flash\n"
                "perfkit history exec --label nightly --last 30\n"
                "perfkit history attention-scaling --format csv -o history.csv\n",
    .options = options,
    .options_bytes = sizeof(struct options),
    .exact_args = "1",
    .run = run,
};
