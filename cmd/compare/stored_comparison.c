/* Stored comparison: checks the verdict options and prints the comparison of two stored sides. */
#include "cmd/compare/compare.h"

#include "base/text/units.h"

#include <math.h>
#include <string.h>

#define AT(member) offsetof(struct pk_verdict_options, member)

const struct pk_opt pk_verdict_rows[] = {
    {"metric", .letter = 'm', .type = PK_OPT_LIST, .offset = AT(metrics), .arg = "METRIC", .commas = true,
     .group = "The verdict",
     .help = "judge this metric (default: times); forward_ns:p90 and :p99 are quantiles of its samples"},
    {"all-metrics", .type = PK_OPT_FLAG, .offset = AT(all_metrics), .help = "judge every metric"},
    {"min-effect", .type = PK_OPT_RATIO, .offset = AT(min_effect), .arg = "RATIO", .min = 1e-6, .max = 10,
     .def = "2%", .help = "the smallest change of interest"},
    {"threshold", .type = PK_OPT_LIST, .offset = AT(thresholds), .arg = "METRIC=SIZE",
     .help = "a different threshold for some rows: forward_ns=5%, forward_ns=5%,20us, "
             "'forward_ns[variant=flash]=10%'"},
    {"alpha", .type = PK_OPT_RATIO, .offset = AT(alpha), .arg = "RATIO", .min = 1e-6, .max = 0.5, .def = "5%",
     .help = "probability of a false alarm, over all rows"},
    {"strict", .type = PK_OPT_FLAG, .offset = AT(strict),
     .help = "slower only when the whole interval, not only the estimate, is beyond --min-effect"},
    {"allow-host-mismatch", .type = PK_OPT_FLAG, .offset = AT(allow_host_mismatch),
     .help = "judge stored runs even if their machines or settings differ"},
    {"allow-missing", .type = PK_OPT_FLAG, .offset = AT(allow_missing),
     .help = "no error when a case or metric of the base is missing in the judged side"},
    {"fail-on-undecided", .type = PK_OPT_FLAG, .offset = AT(fail_on_undecided),
     .help = "exit status 4 when any row is undecided"},
    {"only-changed", .type = PK_OPT_FLAG, .offset = AT(only_changed),
     .help = "omit rows with the verdict `same`"},
    {0},
};

enum pk_code pk_metric_options_check(const struct pk_opt_table *table, struct pk_err *err)
{
    static const char *const one_by_one[] = {"metric", NULL};
    return pk_opt_exclusive(table, "all-metrics", one_by_one,
                            "the first selects metrics, the second takes all", err);
}

enum pk_code pk_verdict_options_check(const struct pk_app *app, struct pk_verdict_options *o,
                                      struct pk_threshold **thresholds, struct pk_err *err)
{
    struct pk_errs wrong = {.arena = app->arena};
    const struct pk_opt_table *table = &app->tables[1];
    o->given =
        (struct pk_verdict_given){.min_effect = pk_opt_source_of(table, "min-effect") != PK_OPT_DEFAULT,
                                  .alpha = pk_opt_source_of(table, "alpha") != PK_OPT_DEFAULT,
                                  .strict = pk_opt_source_of(table, "strict") != PK_OPT_DEFAULT,
                                  .thresholds = pk_opt_source_of(table, "threshold") != PK_OPT_DEFAULT};
    if (pk_metric_options_check(table, err))
        return err->code;
    *thresholds = pk_verdict_thresholds(o, app->arena, &wrong);
    return pk_all_errors(&wrong, err);
}

struct pk_run_source pk_run_source(struct pk_app *app)
{
    return (struct pk_run_source){pk_open_runs, app, app->arena};
}

enum pk_code pk_stored_judge(struct pk_app *app, const char *base, const char *new_,
                             const struct pk_verdict_options *o, const struct pk_threshold *thresholds,
                             struct pk_stored_pair *out, struct pk_err *err)
{
    const struct pk_run_source from = pk_run_source(app);
    const enum pk_code rc = pk_stored_compare(&from, base, new_, o, thresholds, out, err);
    return rc && out->wrong.n ? pk_all_errors(&out->wrong, err) : rc;
}

/* --- tables --------------------------------------------------------------------------------------------------------- */

/* Of times that look changed, proved or not: the causes that traces and counter passes of both sides show. */
static void print_reasons(const struct pk_stored_pair *p, struct pk_out *out, struct pk_arena *a)
{
    enum { MOST_PRINTED = 8 };
    char percent[32];
    size_t printed = 0;
    for (size_t i = 0; i < p->comparison.n && printed < MOST_PRINTED; i++) {
        const struct pk_compared *row = &p->comparison.v[i];
        if (row->hidden || (row->judged && row->decision.verdict == PK_SAME) ||
            !(fabs(row->ratio.ratio - 1) > pk_rule_default.min_effect))
            continue;
        const char *kernel = pk_compare_kernel(row, &p->base.kernels, &p->new_.kernels, a);
        const char *counts = pk_compare_counts(row, &p->counters, a);
        if (!kernel && !counts)
            continue;
        pk_out_note(out, pk_printf(a, "%s of %s%s%s %s %%: %s%s%s%s.", row->new_->metric, row->new_->variant,
                                   *row->place ? " " : "", row->place,
                                   pk_format_percent(row->ratio.ratio - 1, percent, sizeof percent),
                                   kernel ? "in the traces " : "", kernel ? kernel : "",
                                   kernel && counts ? "; " : "", counts ? counts : ""));
        printed++;
    }
}

void pk_stored_run_rows(const struct pk_stored_pair *p, struct pk_out *out)
{
    for (size_t i = 0; i < p->base.n_runs; i++)
        pk_compare_run_row(out, "base", &p->base.facts[i]);
    for (size_t i = 0; i < p->new_.n_runs; i++)
        pk_compare_run_row(out, "new", &p->new_.facts[i]);
}

void pk_stored_print(const struct pk_stored_pair *p, struct pk_out *out, struct pk_arena *a)
{
    const char *limits = pk_stored_advice(p, a), *unmatched = pk_stored_unmatched(p, a);
    const size_t n = p->base.n_runs + p->new_.n_runs;
    struct pk_run_state *states = pk_new_n(a, struct pk_run_state, n);
    for (size_t i = 0; i < n; i++) {
        const bool is_base = i < p->base.n_runs;
        states[i] = is_base ? p->base.states[i] : p->new_.states[i - p->base.n_runs];
        states[i].side = is_base ? "base" : "new";
    }
    if (limits)
        pk_out_note(out, limits);
    else
        pk_compare_summary(out, &p->comparison, a);
    if (unmatched)
        pk_out_note(out, unmatched);
    pk_run_states_noise(out, states, n, a);
    pk_out_detail(out, true);
    pk_compare_begin_runs(out);
    pk_stored_run_rows(p, out);
    pk_out_detail(out, false);
    if (p->base.instead)
        pk_out_note(out, p->base.instead);
    if (p->unknown_metrics)
        pk_out_note(out, p->unknown_metrics);
    pk_compare_print_differences(out, p->differences, p->n_differences, p->refused, a);
    pk_compare_print(out, &p->comparison, NULL, a);
    pk_compare_note_unmatched(out, &p->comparison, NULL, a);
    if (p->equal)
        pk_out_note(out, "equal: both sides of the gate were the same program with the same arguments, or "
                         "settings that give the same cases. Differences are noise, and nothing is judged.");
    print_reasons(p, out, a);
    pk_failures_print(p->comparison.unmatched, p->comparison.n_unmatched, out);
    pk_out_detail(out, true);
    pk_compare_print_counters(out, &p->counters, NULL, a);
    pk_run_states_print(out, states, n, a);
}
