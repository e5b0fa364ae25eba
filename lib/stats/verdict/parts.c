/* Parts: scales, effects and sizes that the designs of verdict share. */
#include "stats/verdict/parts.h"

#include "stats/infer.h"
#include "stats/stats.h"

#include <math.h>
#include <string.h>

struct pk_scale pk_scale_for(bool logs, bool higher_is_better, double relative, double min_change,
                             const double *base, size_t n_base, const struct pk_rule *rule)
{
    struct pk_scale s = {.logs = logs, .worse = higher_is_better ? -1 : 1};
    double within = rule->same_within > 0 ? rule->same_within : relative > 0 ? relative : rule->min_effect;
    if (!logs) {
        s.min_effect = s.same_within = min_change;
        return s;
    }
    PK_ARENA_CLEANUP struct pk_arena a = {0};
    double *scratch = pk_new_n(&a, double, n_base + 1);
    double least = min_change > 0 && n_base ? log1p(min_change / pk_median_copy(base, n_base, scratch)) : 0;
    s.min_effect = fmax(log1p(relative > 0 ? relative : rule->min_effect), least);
    s.same_within = fmax(log1p(within), least);
    return s;
}

struct pk_processes pk_processes_of(const struct pk_pairs *screen, const struct pk_pairs *confirm,
                                    const struct pk_scale *s, const struct pk_rule *rule, struct pk_arena *a)
{
    const size_t n_screen = screen->n, n_confirm = confirm ? confirm->n : 0, n = n_screen + n_confirm;
    struct pk_processes p = {
        .v = pk_new_n(a, double, 2 * n + 1), .class = pk_new_n(a, signed char, 2 * n + 1), .n = n};
    for (size_t i = 0; i < n; i++) {
        const struct pk_pairs *from = i < n_screen ? screen : confirm;
        const size_t at = i < n_screen ? i : i - n_screen;
        p.v[i] = s->logs ? log(from->base[at]) : from->base[at];
        p.v[n + i] = s->logs ? log(from->new_[at]) : from->new_[at];
    }
    p.modes = pk_find_modes(p.v, n, n, s->min_effect, s->worse, rule, p.class);
    return p;
}

size_t pk_clean_differences(const struct pk_processes *p, size_t from, size_t until, double *d)
{
    const bool all = pk_modes_shifted(&p->modes);
    size_t n = 0;
    for (size_t i = from; i < until; i++)
        if (all || (!p->class[i] && !p->class[p->n + i]))
            d[n++] = p->v[p->n + i] - p->v[i];
    return n;
}

void pk_report_modes(struct pk_decision *out, const struct pk_modes *m, const struct pk_scale *s)
{
    if (!m->apart || (pk_modes_shifted(m) && !pk_modes_divided(m)))
        return;
    out->slow_base = m->slow_base;
    out->slow_new = m->slow_new;
    out->of_base = m->n_base;
    out->of_new = m->n_new;
    out->slow_centre = s->logs ? exp(m->slow) : m->slow;
    out->other_centre = s->logs ? exp(m->fast) : m->fast;
    out->slow_size = s->logs ? exp(fabs(m->slow - m->fast)) : fabs(m->slow - m->fast);
}

void pk_report_effect(struct pk_decision *out, const struct pk_mean_test *t, const struct pk_scale *s,
                      double sd)
{
    out->absolute = !s->logs;
    out->ratio = s->logs ? exp(t->estimate) : t->estimate;
    out->ci = s->logs ? (struct pk_interval){exp(t->ci.lo), exp(t->ci.hi)} : t->ci;
    out->sd = sd;
    out->p_same = pk_test_within(t, -s->same_within, s->same_within);
}

/* True when the estimate is beyond the margin, in the direction `towards`: 1 worse, -1 better. */
static bool beyond(const struct pk_mean_test *t, int towards, const struct pk_scale *s)
{
    static const double rounding = 1e-12; /* 2 % of 100 is 102, whatever the logarithms say */
    return towards * s->worse * t->estimate >= s->min_effect * (1 - rounding);
}

/* More pairs than `have` that would probably settle a case whose effect is the estimate. */
static size_t needed(double estimate, double sd, size_t have, const struct pk_scale *s, double alpha,
                     const struct pk_rule *rule)
{
    double size = fabs(estimate);
    size_t n;
    if (size >= s->min_effect) {
        n = pk_pairs_to_detect(sd, rule->strict ? size - s->min_effect : size, alpha, rule->power);
    } else {
        size_t centred = pk_pairs_to_prove(sd, s->same_within, rule->alpha, rule->power);
        n = pk_pairs_to_detect(sd, s->same_within - size, 2 * rule->alpha, rule->power);
        n = n > centred ? n : centred;
    }
    return n == PK_PAIRS_NEVER ? n : n > have ? n - have : 1;
}

double pk_p_shown(const struct pk_mean_test *t, const struct pk_scale *s, const struct pk_rule *rule)
{
    if (!rule->strict)
        return t->p;
    struct pk_mean_test sized = *t;
    sized.estimate = fabs(t->estimate);
    return fmin(1, 2 * pk_test_above(&sized, s->min_effect));
}

enum pk_reason pk_refuse_pairs(const struct pk_decision *o, const struct pk_scale *s,
                               const struct pk_rule *rule)
{
    const size_t all = o->pairs + o->disturbed;
    if (all < 2)
        return PK_REASON_FEW_PAIRS;
    if (o->pairs < 2 || (double)o->disturbed > rule->most_disturbed * (double)all)
        return PK_REASON_DISTURBED;
    return s->min_effect > 0 ? PK_REASON_PROVED : PK_REASON_NEEDS_ABSOLUTE;
}

static enum pk_reason nothing_proved(const struct pk_test_results *f)
{
    return f->significant                 ? PK_REASON_BETWEEN
           : pk_modes_one_sided(f->modes) ? PK_REASON_ONE_SIDED
           : f->modes->apart              ? PK_REASON_MODES
                                          : f->otherwise;
}

void pk_settle(struct pk_decision *o, const struct pk_test_results *f, const struct pk_mean_test *t,
               const struct pk_scale *s, double alpha, const struct pk_rule *rule)
{
    const bool tested = f->refusal == PK_REASON_PROVED,
               certain = tested && f->significant && beyond(t, f->significant, s);
    o->reason = PK_REASON_PROVED;
    if (certain && f->significant > 0)
        o->verdict = PK_SLOWER;
    else if (f->more_slow > 0 && (tested || f->refusal == PK_REASON_DISTURBED))
        o->verdict = pk_modes_shifted(f->modes) ? PK_SLOWER : PK_SLOWER_IN_SOME;
    else if (certain || (tested && f->more_slow < 0 && pk_modes_shifted(f->modes)))
        o->verdict = PK_FASTER;
    else if (tested && o->p_same < rule->alpha && !pk_modes_may_differ(f->modes))
        o->verdict = PK_SAME;
    else {
        o->reason = tested ? nothing_proved(f) : f->refusal;
        o->verdict = pk_reason_verdict(o->reason);
    }
    if (o->verdict == PK_UNDECIDED && o->reason != PK_REASON_MORE_PAIRS && s->min_effect > 0 && o->pairs > 1)
        o->needed = o->reason == PK_REASON_ONE_SIDED
                        ? pk_slow_needed(f->modes, alpha / pk_slow_share, rule->power)
                        : needed(t->estimate, o->sd, o->pairs, s, alpha, rule);
}

double pk_as_share(double size, const struct pk_scale *s)
{
    return s->logs ? expm1(size) : size;
}
