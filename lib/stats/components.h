/* Components: how much of the noise lies between processes and how much inside them, and what follows for measuring. */
#pragma once

#include "stats/stats.h"

/* One-way random effects (Fisher; unequal groups as in Searle 1971): v = the values of group 0, then of group 1 ...,
 * counts[g] >= 1 each. `between` is 0 where the estimate is negative. Interval of the mean by Student over the groups'
 * means, df = groups - 1. NaN: ms_between, between, icc, se, ci under two groups; ms_within, within, between, icc when no
 * group has two values. */
struct pk_components {
    double mean; /* of the groups' means */
    double ms_between, ms_within;
    double between, within; /* variances */
    double icc;             /* between / (between + within) */
    double se;
    struct pk_interval ci;
};
struct pk_components pk_variance_components(const double *v, const size_t *counts, size_t groups,
                                            double level);

/* What follows, from variances between and within, the lag-1 correlation rho in [0, 1) inside a process, and m iterations
 * in each: by how much treating iterations as independent understates the variance of a mean (Kish's design effect), */
double pk_design_effect(double between, double within, double rho, double m);
/* the share of comparisons of a thing with itself that an interval at 1 - alpha over pooled iterations then calls
 * changed, */
double pk_pooled_false_alarm(double design_effect, double alpha);
/* and how many iterations a process should run when starting one costs as much as `launch` of them (Kalibera and Jones
 * 2013); infinite when nothing lies between processes. */
double pk_iterations_worth(double between, double within, double rho, double launch);
