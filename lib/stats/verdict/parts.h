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

/* Differences new - base of the undisturbed pairs into d[0..n); returns how many, adding to the counts in *out. `refused` is
 * set when pairs were disturbed that could not be left out. */
size_t pk_clean_differences(const struct pk_pairs *p, bool logs, const struct pk_rule *rule, double *d,
                            struct pk_decision *out, bool *refused);

/* Fills ratio, ci, absolute, p_same and sd from a test of the differences. */
void pk_report_effect(struct pk_decision *out, const struct pk_mean_test *t, const struct pk_scale *s,
                      double sd);

/* The two-sided p value that decides: of a difference, or, with `strict`, of a difference beyond the margin. */
double pk_p_shown(const struct pk_mean_test *t, const struct pk_scale *s, const struct pk_rule *rule);

/* The reason why these pairs allow no verdict; PK_REASON_PROVED if they allow one. */
enum pk_reason pk_refuse_pairs(const struct pk_decision *o, bool refused, const struct pk_scale *s,
                               const struct pk_rule *rule);

/* What the tests found. */
struct pk_test_results {
    enum pk_reason refusal;   /* PK_REASON_PROVED = none */
    int significant;          /* 1 worse, -1 better, 0 neither */
    enum pk_reason otherwise; /* when nothing is proved */
};

/* Fills verdict, reason and needed; t is the test of all differences, `alpha` the two-sided risk that further pairs are
 * asked for with. */
void pk_settle(struct pk_decision *o, const struct pk_test_results *f, const struct pk_mean_test *t,
               const struct pk_scale *s, double alpha, const struct pk_rule *rule);

/* The verdict where nothing is proved for this reason. */
enum pk_verdict pk_reason_verdict(enum pk_reason r);

/* A size in the units of differences as the decision prints it: a share, or as it is. */
double pk_as_share(double size, const struct pk_scale *s);

/* In units of differences: the smallest worsening that is suspected after n pairs, confirmed by m fresh ones and as large as the
 * margin, each with the rule's power. NaN under two of either. */
double pk_gate_reach(size_t n, size_t m, double sd, double margin, const struct pk_rule *rule);
