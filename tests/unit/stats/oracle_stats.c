/* Oracle of stats.h: summaries, intervals, warm-up, fits, ratios. */
#include "oracle.h"

#include "stats/stats.h"

static double scratch[2 * MOST];

static void say_interval(struct pk_interval i)
{
    say(i.lo);
    say(i.hi);
}

static void say_fit(struct pk_fit f)
{
    say(f.slope);
    say(f.intercept);
    say(f.r2);
    say_interval(f.slope_ci);
    say_interval(f.intercept_ci);
}

static void say_ratio(struct pk_ratio r)
{
    say(r.ratio);
    say_interval(r.ci);
    say(r.p);
    say(r.df);
}

static void quantile(double *v, size_t n)
{
    say(pk_quantile(v + 1, n - 1, v[0]));
}

static void summarize(double *v, size_t n)
{
    double r = pk_autocorrelation(v, n), mad = pk_mad(v, n, scratch);
    struct pk_summary s = pk_summarize(v, n);
    const double all[] = {s.median, s.mean, s.sd, s.min, s.max, s.cv, mad, r};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        say(all[i]);
}

static void median_interval(double *v, size_t n)
{
    say_interval(pk_median_interval(v + 1, n - 1, v[0]));
}

static void invocations_interval(double *v, size_t n)
{
    say_interval(pk_invocations_interval(v + 1, n - 1, v[0]));
    say(pk_invocations_level(n - 1, v[0]));
}

static void warmup(double *v, size_t n)
{
    struct pk_warmup w = pk_find_warmup(v, n, scratch);
    say((double)w.cut);
    say(w.settled);
}

static void drift(double *v, size_t n)
{
    struct pk_drift d = pk_find_drift(v, n, scratch);
    say(d.ratio);
    say(d.p);
}

static void outliers(double *v, size_t n)
{
    static bool flags[MOST];
    say((double)pk_find_outliers(v, n, flags, scratch));
    for (size_t i = 0; i < n; i++)
        say(flags[i]);
}

/* Two vectors of equal length, one after the other. */
static void line(double *v, size_t n)
{
    say_fit(pk_fit_line(v, v + n / 2, n / 2));
}

static void power(double *v, size_t n)
{
    say_fit(pk_fit_power(v, v + n / 2, n / 2, scratch));
}

static void paired(double *v, size_t n)
{
    say_ratio(pk_ratio_paired(v, v + n / 2, n / 2, 0.95));
}

/* The length of the first, then both. */
static void welch(double *v, size_t n)
{
    size_t first = (size_t)v[0];
    say_ratio(pk_ratio_welch(v + 1, first, v + 1 + first, n - 1 - first, 0.95));
}

const struct question stats_questions[] = {
    {"quantile", quantile},
    {"summarize", summarize},
    {"median_interval", median_interval},
    {"invocations_interval", invocations_interval},
    {"warmup", warmup},
    {"drift", drift},
    {"outliers", outliers},
    {"line", line},
    {"power", power},
    {"paired", paired},
    {"welch", welch},
    {NULL, NULL},
};
