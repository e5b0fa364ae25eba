/* Parts: what the designs of verdict share. Private to them. */
#pragma once

#include "base/arena.h"
#include "stats/infer.h"
#include "stats/verdict/verdict.h"

/* How a case is compared: by differences of logs or of figures, with margins in those units. */
struct pk_scale {
    bool logs;
    double min_effect,
        same_within; /* both 0: nothing can be said (figures not positive, and no min_change) */
    int worse;       /* 1 when a larger figure is worse, else -1 */
};
/* base may be empty; relative and min_change as in a pair series. */
struct pk_scale pk_scale_for(bool logs, bool higher_is_better, double relative, double min_change,
                             const double *base, size_t n_base, const struct pk_rule *rule);

/* The processes of pairs: base in v[0..n), new in v[n..2n), logs or figures; with the class of each. */
struct pk_processes {
    double *v;
    signed char *class;
    size_t n;
    bool logs;
    struct pk_modes modes;
};
/* Those of `screen`, and of `confirm` where that is not NULL. */
struct pk_processes pk_processes_of(const struct pk_pairs *screen, const struct pk_pairs *confirm,
                                    const struct pk_scale *s, const struct pk_rule *rule, struct pk_arena *a);

/* Differences new - base of the pairs from..until into d; returns how many. Pairs with a process that lies apart are left out, unless
 * the sides as a whole lie apart. */
size_t pk_clean_differences(const struct pk_processes *p, size_t from, size_t until, double *d);

/* --- modes.c --- */

bool pk_modes_shifted(
    const struct pk_modes *m); /* most of one side are slow, and most of the other are not */
/* The same, and a side is divided: a mean of it says nothing. */
bool pk_modes_divided(const struct pk_modes *m);
bool pk_modes_one_sided(const struct pk_modes *m); /* those that lie apart are of one side alone */
/* Whether they leave it open that the sides are the same: they are on one side alone, the new side has more slow ones, or so many fewer
 * that its share is probably smaller. */
bool pk_modes_may_differ(const struct pk_modes *m);
/* The shares of alpha: one-sided p of a gate are multiplied by these. Of each direction the test of means has a sixth, so that gates of
 * many noisy rows that do not differ are red in less than 1 %, and that of slow processes a fourth, which Fisher's test seldom uses up. */
static const double pk_mean_share = 6, pk_slow_share = 4;
/* p of the hypothesis that the new side has no more slow processes than the base (towards 1), or no fewer (-1): Fisher's, one-sided, times
 * pk_slow_share. */
double pk_modes_p(const struct pk_modes *m, int towards);
/* The same, valid if it is looked at after every pair: the inverse of the evidence of a mixture, uniform over the shares above one half of
 * slow processes that are of the new side. */
double pk_modes_p_anytime(const struct pk_modes *m);
/* The share of slow processes on the new side alone that n pairs find with this power. NaN when n are too few to find any. */
double pk_slow_found(size_t n, double alpha, double power);
/* How many more pairs would probably find the slow processes of one side; of pairs. */
size_t pk_slow_needed(const struct pk_modes *m, double alpha, double power);

/* --- parts.c --- */

/* Fills ratio, ci, absolute, p_same and sd from a test of the differences. */
void pk_report_effect(struct pk_decision *out, const struct pk_mean_test *t, const struct pk_scale *s,
                      double sd);
/* Fills slow_base, slow_new, the centres and slow_size. */
void pk_report_modes(struct pk_decision *out, const struct pk_modes *m, const struct pk_scale *s);

/* The two-sided p value that decides: of a difference, or, with `strict`, of a difference beyond the margin. */
double pk_p_shown(const struct pk_mean_test *t, const struct pk_scale *s, const struct pk_rule *rule);

/* The reason why these pairs allow no verdict; PK_REASON_PROVED if they allow one. */
enum pk_reason pk_refuse_pairs(const struct pk_decision *o, const struct pk_scale *s,
                               const struct pk_rule *rule);

/* What the tests found. */
struct pk_test_results {
    enum pk_reason refusal; /* PK_REASON_PROVED = none */
    int significant;        /* 1 worse, -1 better, 0 neither */
    int more_slow; /* slow processes: 1 significantly more of the new side, -1 significantly fewer, 0 neither */
    enum pk_reason otherwise;     /* when nothing is proved */
    const struct pk_modes *modes; /* of all pairs */
};

/* Fills verdict, reason and needed; t is the test of all differences, `alpha` the two-sided risk that further pairs are
 * asked for with. */
void pk_settle(struct pk_decision *o, const struct pk_test_results *f, const struct pk_mean_test *t,
               const struct pk_scale *s, double alpha, const struct pk_rule *rule);

/* The verdict where nothing is proved for this reason. */
enum pk_verdict pk_reason_verdict(enum pk_reason r);

/* A size in the units of differences as the decision prints it: a share, or as it is. */
double pk_as_share(double size, const struct pk_scale *s);

/* The least t of the n pairs of the screening, and of m fresh pairs of the only suspected case. */
struct pk_gate_limits {
    double screen, confirm;
};
struct pk_gate_limits pk_gate_limits(size_t n, size_t m, const struct pk_rule *rule);
