/* Gate model: simulated machines and the gates that run on them. */
#include "gate_model.h"

#include "base/err.h"

#include <math.h>

struct row {
    double cv, ramp, wander, last; /* drift and the last process's draw */
    int slot, beat_at, slow[2];    /* slow: processes of each side in slow_size */
    bool slow_mode;
    double base[2][MOST_PAIRS], new_[2][MOST_PAIRS]; /* by stage */
    struct pk_pair_series trial;
};

static double student5(struct pk_rng *r)
{
    double squares = 0;
    for (int i = 0; i < 5; i++) {
        double z = pk_rng_normal(r);
        squares += z * z;
    }
    return pk_rng_normal(r) / sqrt(squares / 5) * sqrt(3.0 / 5); /* variance 1 */
}

static double process(const struct machine *m, struct row *w, int side, struct pk_rng *r)
{
    double keep = 0.9, fresh = m->normal ? pk_rng_normal(r) : student5(r);
    w->wander = w->slot ? keep * w->wander + sqrt(1 - keep * keep) * pk_rng_normal(r) : pk_rng_normal(r);
    w->last =
        m->memory > 0 && w->slot ? m->memory * w->last + sqrt(1 - m->memory * m->memory) * fresh : fresh;
    const double beat = w->slot % 4 == w->beat_at ? m->beat : 0;
    double x = beat + w->cv * w->last + m->drift * w->cv * (w->wander + w->ramp * w->slot++) +
               m->inside * pk_rng_normal(r);
    if (pk_rng_uniform(r) < m->disturbed)
        x -= 0.15 * log1p(-pk_rng_uniform(r));
    if (m->slow[side] > 0 && pk_rng_uniform(r) < m->slow[side]) {
        x += m->slow_size;
        w->slow[side]++;
    }
    if (w->slow_mode && pk_rng_uniform(r) < m->slow_mode)
        x += 0.15;
    return x;
}

static void measure(const struct machine *m, struct row *w, enum pk_gate_stage stage, size_t wanted,
                    double effect, struct pk_rng *r)
{
    size_t at = stage == PK_GATE_STAGE_CONFIRM;
    struct pk_pairs *p = at ? &w->trial.confirm : &w->trial.screen;
    pk_assert(p->n + wanted <= MOST_PAIRS);
    bool base_first[MOST_PAIRS];
    pk_pair_order(pk_rng_next(r), wanted, base_first);
    for (size_t k = 0; k < wanted; k++) {
        double first = process(m, w, !base_first[k], r), second = process(m, w, base_first[k], r);
        w->base[at][p->n] = 1e6 * exp(base_first[k] ? first : second);
        w->new_[at][p->n++] = 1e6 * exp((base_first[k] ? second : first) + effect);
    }
    p->base = w->base[at];
    p->new_ = w->new_[at];
}

static void set_up(const struct machine *m, struct row *w, int i, struct pk_rng *r)
{
    *w = (struct row){.cv = m->cv * exp(m->cv_spread * pk_rng_normal(r)), .slow_mode = i % 5 == 4};
    w->beat_at = m->beat > 0 ? (int)pk_rng_below(r, 4) : 0;
    w->ramp = (2 * pk_rng_uniform(r) - 1) * 4 / 40; /* +-2 of the drift's cv over twenty pairs */
}

static void one_gate(const struct machine *m, struct row *rows, size_t n, size_t affected, double effect,
                     const struct pk_rule *rule, struct pk_rng *r, struct pk_decision *out)
{
    struct pk_pair_series trials[MOST_ROWS];
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < n; i++)
            trials[i] = rows[i].trial;
        pk_decide_gate(trials, n, rule, out);
        for (size_t i = 0; i < n; i++) {
            measure(m, &rows[i], out[i].stage, out[i].wanted, i < affected ? effect : 0, r);
            more |= out[i].wanted > 0;
        }
    }
}

static bool is_red(const struct pk_decision *d)
{
    return d->verdict == PK_SLOWER || d->verdict == PK_SLOWER_IN_SOME;
}

struct tally run_gates(const struct machine *m, uint64_t seed, int gates, int rows, int affected,
                       double effect, const struct pk_rule *rule)
{
    static struct row row[MOST_ROWS];
    struct pk_decision out[MOST_ROWS];
    struct pk_rng r = {seed};
    struct tally t = {.gates = gates};
    for (int g = 0; g < gates; g++) {
        bool red = false, glad = false;
        for (int i = 0; i < rows; i++)
            set_up(m, &row[i], i, &r);
        one_gate(m, row, (size_t)rows, (size_t)affected, effect, rule, &r, out);
        for (int i = 0; i < rows; i++) {
            t.pairs += (double)(row[i].trial.screen.n + row[i].trial.confirm.n) / rows / gates;
            red |= is_red(&out[i]) && i >= affected;
            glad |= out[i].verdict == PK_FASTER && i >= affected;
            if (affected && i >= affected)
                continue;
            t.rows++;
            t.slower += is_red(&out[i]);
            t.faster += out[i].verdict == PK_FASTER;
            t.same += out[i].verdict == PK_SAME;
            t.hidden += out[i].verdict == PK_SAME && !row[i].slow[0] != !row[i].slow[1];
            t.undecided += out[i].verdict == PK_UNDECIDED;
            t.unstable += out[i].verdict == PK_UNSTABLE;
        }
        t.red += red;
        t.glad += glad;
    }
    return t;
}
