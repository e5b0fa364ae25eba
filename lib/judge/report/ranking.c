/* Ranking: chooses the fastest command, compares the others with it, and says it in sentences. */
#include "judge/report/ranking.h"

#include "out/out.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool is_wall_time(const struct pk_figures *f)
{
    return pk_figures_of_command(f) && strcmp(f->metric, "wall_ns") == 0;
}

/* Each with the first, of k commands. */
static bool compare(const struct pk_figures *v, size_t k, struct pk_arena *a, struct pk_comparison *out)
{
    struct pk_judging j = {.rule = pk_rule_default, .design = PK_DESIGN_PAIRS};
    struct pk_err ignored;
    j.rule.alpha /= (double)(k * (k - 1) / 2);
    static const char *const metrics[] = {"wall_ns"};
    const struct pk_compare_options o = {
        .metrics = metrics, .n_metrics = 1, .by = "command", .level = 1 - j.rule.alpha, .design = j.design};
    const struct pk_compare_side side = {.name = "the run", .v = v, .n = k};
    if (pk_compare_by(&side, &o, a, out, &ignored))
        return false;
    pk_judge(out->v, out->n, &j);
    return true;
}

static int by_ratio(const void *x, const void *y)
{
    const double a = ((const struct pk_compared *)x)->ratio.ratio,
                 b = ((const struct pk_compared *)y)->ratio.ratio;
    return (a > b) - (a < b);
}

/* Puts the fastest first: that with the smallest ratio to the first one, if it is below 1. */
static bool choose_fastest(struct pk_figures *v, size_t k, struct pk_arena *a)
{
    struct pk_comparison c;
    if (!compare(v, k, a, &c))
        return false;
    qsort(c.v, c.n, sizeof *c.v, by_ratio);
    for (size_t i = 1; i < k && c.v[0].ratio.ratio < 1; i++)
        if (strcmp(c.v[0].new_->axes, v[i].axes) == 0) {
            const struct pk_figures fastest = v[i];
            v[i] = v[0];
            v[0] = fastest;
            break;
        }
    return true;
}

/* So many decimals that an interval without 1 is printed without 1. */
static int decimals_of(const struct pk_ratio *r, bool told_apart)
{
    const double nearest = fabs(r->ci.lo - 1) < fabs(r->ci.hi - 1) ? r->ci.lo : r->ci.hi;
    int decimals = r->ratio < 100 ? 2 : 0;
    for (double step = 0.005; told_apart && decimals < 6 && fabs(nearest - 1) < step; step /= 10)
        decimals++;
    return decimals;
}

static const char *sentence(const struct pk_ranked *x, struct pk_arena *a)
{
    struct pk_ratio r = x->row->ratio;
    if (isnan(r.ci.lo))
        return pk_printf(a, "%s took %.3g × the time of %s; one run of each gives no interval", x->command,
                         r.ratio, x->fastest);
    const bool slower = r.ratio >= 1 || !x->told_apart;
    if (!slower)
        r = (struct pk_ratio){.ratio = 1 / r.ratio, .ci = {1 / r.ci.hi, 1 / r.ci.lo}};
    const int d = decimals_of(&r, x->told_apart);
    const char *figures = pk_printf(a, "%.*f × (%.*f–%.*f)", d, r.ratio, d, r.ci.lo, d, r.ci.hi);
    return x->told_apart ? pk_printf(a, "%s is %s %s than %s", x->command, figures,
                                     slower ? "slower" : "faster", x->fastest)
                         : pk_printf(a, "%s is not told apart from %s: %s", x->command, x->fastest, figures);
}

size_t pk_rank(const struct pk_figures *v, size_t n, struct pk_arena *a, struct pk_ranked **ranked)
{
    struct pk_figures *commands = pk_new_n(a, struct pk_figures, n + 1);
    struct pk_comparison c;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        if (is_wall_time(&v[i]))
            commands[k++] = v[i];
    if (k < 2 || !choose_fastest(commands, k, a) || !compare(commands, k, a, &c))
        return 0;
    qsort(c.v, c.n, sizeof *c.v, by_ratio);
    *ranked = pk_new_n(a, struct pk_ranked, c.n);
    for (size_t i = 0; i < c.n; i++) {
        struct pk_ranked *x = &(*ranked)[i];
        const struct pk_ratio *r = &c.v[i].ratio;
        *x = (struct pk_ranked){.command = c.v[i].value,
                                .fastest = c.base_value,
                                .row = &c.v[i],
                                .told_apart = r->ci.lo > 1 || r->ci.hi < 1};
        x->sentence = sentence(x, a);
    }
    return c.n;
}

static const struct pk_column columns[] = {
    {.key = "sentence", .heading = "The fastest first", .left = true},
    {.key = "command", .heading = "Command", .left = true, .machine = true},
    {.key = "fastest", .heading = "Fastest", .left = true, .machine = true},
    {.key = "ratio", .heading = "Ratio", .decimals = 3, .machine = true},
    {.key = "ratio_low", .heading = "from", .decimals = 3, .machine = true},
    {.key = "ratio_high", .heading = "to", .decimals = 3, .machine = true},
    {.key = "level", .heading = "Level", .decimals = 4, .machine = true},
    {.key = "told_apart", .heading = "Told apart", .decimals = -1, .machine = true},
    {.key = "rounds", .heading = "Rounds", .decimals = -1, .machine = true},
    {.key = "disturbed", .heading = "Disturbed", .decimals = -1, .machine = true},
};

enum pk_code pk_ranking_print(struct pk_store *s, int64_t run_id, struct pk_out *out, struct pk_err *err)
{
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    struct pk_figures *v;
    struct pk_ranked *ranked;
    size_t n;
    int64_t cases;
    if (pk_store_figures(s, run_id, &a, &v, &n, &cases, err))
        return err->code;
    n = pk_rank(v, n, &a, &ranked);
    if (!n)
        return PK_OK;
    const double level = 1 - pk_rule_default.alpha / (double)((n + 1) * n / 2);
    pk_out_table(out, "ranking", NULL, PK_COLUMNS(columns));
    for (size_t i = 0; i < n; i++) {
        const struct pk_compared *c = ranked[i].row;
        struct pk_row *row = pk_row_begin(out);
        pk_put_text(row, "sentence", ranked[i].sentence);
        pk_put_text(row, "command", ranked[i].command);
        pk_put_text(row, "fastest", ranked[i].fastest);
        pk_put_real(row, "ratio", c->ratio.ratio);
        pk_put_real(row, "ratio_low", c->ratio.ci.lo);
        pk_put_real(row, "ratio_high", c->ratio.ci.hi);
        pk_put_real(row, "level", level);
        pk_put_int(row, "told_apart", ranked[i].told_apart);
        pk_put_int(row, "rounds", (int64_t)c->decision.pairs);
        pk_put_int(row, "disturbed", (int64_t)c->decision.disturbed);
        pk_row_end(row);
    }
    pk_out_detail(out, true);
    pk_out_note(
        out,
        pk_printf(
            &a,
            "Wall times of rounds in which each command ran once, in random order: geometric means of the "
            "ratios, outlier rounds left out, with intervals that hold%s with 95 %%.",
            n > 1 ? " together" : ""));
    pk_out_detail(out, false);
    return PK_OK;
}
