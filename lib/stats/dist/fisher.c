/* Fisher: the exact test of a two by two table, from the hypergeometric distribution. */
#include "stats/dist/dist.h"

#include <math.h>

/* ln of n over k, through the beta function: no cancellation of large factorials. */
static double log_choose(double n, double k)
{
    return k == 0 || k == n ? 0 : -log(n + 1) - pk_log_beta(n - k + 1, k + 1);
}

double pk_fisher_exact(size_t a, size_t b, size_t c, size_t d)
{
    double row = (double)(a + b), other = (double)(c + d), column = (double)(a + c);
    double total = log_choose(row + other, column);
    double least = column > other ? column - other : 0, most = column < row ? column : row;
    double observed = log_choose(row, (double)a) + log_choose(other, (double)c) - total;
    double p = 0;
    for (double k = least; k <= most; k++) {
        double likelihood = log_choose(row, k) + log_choose(other, column - k) - total;
        if (likelihood <= observed + 1e-7) /* as likely, but for rounding: R and SciPy grant the same */
            p += exp(likelihood);
    }
    return p < 1 ? p : 1;
}
