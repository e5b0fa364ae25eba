/* Words: what a series did, as a person would say it. */
#include "judge/history/history.h"

#include "base/buf.h"
#include "base/units.h"
#include "judge/pair/parts.h"

#include <inttypes.h>
#include <math.h>

static const struct pk_run_facts *run_at(const struct pk_history_series *s, const struct pk_history_run *runs,
                                         size_t point)
{
    return &runs[s->points[point].run].facts;
}

static void name_run(struct pk_buf *b, const struct pk_run_facts *r)
{
    pk_buf_printf(b, "run %" PRId64, r->run_id);
    if (r->git_commit)
        pk_buf_printf(b, " (commit %s)", r->git_commit);
}

/* "+7.2 %, worse", or the two levels where a change has no ratio. */
static void say_change(struct pk_buf *b, const struct pk_history_series *s, const struct pk_step *step)
{
    if (isnan(step->change)) {
        pk_buf_printf(b, "%.6g to %.6g", step->before, step->after);
        return;
    }
    char percent[32];
    double gain = pk_speedup(s->newest->direction, 1 + step->change);
    pk_buf_printf(b, "%s %%%s", pk_format_percent(step->change, percent, sizeof percent),
                  isnan(gain) ? ""
                  : gain > 1  ? ", better"
                              : ", worse");
}

static void say_last_level(struct pk_buf *b, const struct pk_history_series *s)
{
    char percent[32];
    if (s->creep != 0)
        pk_buf_printf(b, "since then creeping, %s %%", pk_format_percent(s->creep, percent, sizeof percent));
    else
        pk_buf_str(b, "since then stable");
}

static const char *without_steps(const struct pk_history_series *s, double min_effect, struct pk_arena *a)
{
    char percent[32];
    if (s->creep != 0)
        return pk_printf(a, "no step, but creeping: %s %% over %zu runs",
                         pk_format_percent(s->creep, percent, sizeof percent), s->n);
    if (s->exact)
        return pk_printf(a, "no change in %zu runs", s->n);
    if (s->n < PK_STEPS_RUNS)
        return pk_printf(a, "%zu runs: too few to tell a lasting change, it takes %d", s->n, PK_STEPS_RUNS);
    return pk_printf(a, "no lasting change of %g %% or more in %zu runs", 100 * min_effect, s->n);
}

const char *pk_history_words(const struct pk_history_series *s, const struct pk_history_run *runs,
                             double min_effect, struct pk_arena *a)
{
    struct pk_buf b = {.arena = a};
    if (!s->n_steps)
        return without_steps(s, min_effect, a);
    for (size_t i = 0; i < s->n_steps; i++) {
        const struct pk_step *step = &s->steps[i];
        pk_buf_str(&b, i ? "; " : "");
        name_run(&b, run_at(s, runs, step->at));
        pk_buf_str(&b, ": ");
        say_change(&b, s, step);
        pk_buf_str(&b, ", ");
        if (step->until == s->n)
            say_last_level(&b, s);
        else
            pk_buf_printf(&b, "until run %" PRId64, run_at(s, runs, step->until - 1)->run_id);
    }
    return pk_buf_text(&b);
}
