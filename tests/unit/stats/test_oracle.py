"""lib/stats against the reference vectors (R, mpmath) and against SciPy."""
import json
import math
import pathlib
import random

import numpy as np
import pytest
from scipy import stats

VECTORS = json.loads((pathlib.Path(__file__).parent / "vectors.json").read_text())
A8, B8 = VECTORS["data"]["A8"], VECTORS["data"]["B8"]


def near(x, rel=1e-12):
    return pytest.approx(x, rel=rel, abs=1e-15)


def t_of(ask, level, df):
    """Tested by itself; SciPy's is off by 2e-10."""
    return ask("t_quantile", 0.5 + level / 2, df)[0]


def lag1(v):
    d = np.array(v) - np.mean(v)
    return float((d[1:] * d[:-1]).sum() / (d * d).sum())


def test_t_quantiles_of_mpmath(ask):
    d = VECTORS["distributions"]
    for p, column in ((0.975, "t_ppf_0.975"), (0.95, "t_ppf_0.95")):
        for df, expected in d[column].items():
            assert ask("t_quantile", p, df) == near([expected])
    assert ask("t_quantile", 0.975, 7.35) == near([d["t_ppf_0.975_df_7.35"]])


def test_t_quantile_inverts_the_distribution(ask):
    """SciPy's own ppf is off by 2e-10; its distribution function is not."""
    for df in (0.7, 1, 1.5, 2, 3, 9.9, 30, 99, 101, 1e3, 1e5, 1e7):
        for tail in (1e-9, 1e-4, 0.005, 0.025, 0.2, 0.4, 0.49, 0.4999):
            (t,) = ask("t_quantile", 1 - tail, df)
            assert ask("t_quantile", tail, df) == near([-t], 1e-7)  # 1 - tail is rounded, tail is not
            off = (stats.t.sf(t, df) - (1 - (1 - tail))) / stats.t.pdf(t, df)
            assert abs(off) < 1e-10 * t


def test_t_quantile_near_the_middle(ask):
    for df in (1, 2, 5, 29):
        for p in (0.5001, 0.51, 0.6):
            (t,) = ask("t_quantile", p, df)
            closed = {1: lambda: math.tan(math.pi * (p - 0.5)), 2: lambda: (2 * p - 1) * math.sqrt(2 / (4 * p * (1 - p)))}
            expected = closed[df]() if df in closed else stats.t.ppf(p, df)
            assert t == pytest.approx(expected, rel=1e-11 if df in closed else 1e-7)  # p near 1/2 is rounded; SciPy's is worse
    assert ask("t_quantile", 0.5, 3) == [0]


def test_t_tails(ask):
    for df in (1, 2.5, 7, 40, 400, 1e6):
        for t in (0, 1e-8, 0.3, 1, 2.2, 9, 60, 1e6):
            worst = 1e-12 if df < 5000 else 1e-10  # dist.h: parameters up to a few thousand
            assert ask("t_two_sided", t, df) == near([2 * stats.t.sf(t, df)], worst)
            assert ask("t_two_sided", -t, df) == ask("t_two_sided", t, df)
    assert ask("t_two_sided", math.inf, 3) == [0]
    assert math.isnan(ask("t_two_sided", math.nan, 3)[0])


@pytest.mark.parametrize("name", ["A8", "B8", "X11", "trend_y"])
def test_summaries(ask, name):
    v, d = VECTORS["data"][name], VECTORS["descriptive"][name]
    keys = ["median", "mean", "sd_ddof1", "min", "max", "cv"]
    answer = ask("summarize", *v)
    assert answer[:6] == near([d[k] for k in keys])
    assert answer[6] == near(d["mad_scaled_1.4826022"])
    assert answer[7] == near(d["lag1_autocorr"])
    for p, key in ((0.25, "q25_type7"), (0.75, "q75_type7"), (0.9, "p90_type7"), (0.99, "p99_type7")):
        assert ask("quantile", p, *sorted(v)) == near([d[key]])


def test_quantile_of_numpy(ask):
    r = random.Random(5)
    for n in (1, 2, 3, 10, 57):
        v = sorted(r.gauss(0, 1) for _ in range(n))
        for p in (0, 0.1, 0.5, 0.77, 1):
            assert ask("quantile", p, *v) == near([np.quantile(v, p)])


def test_single_value(ask):
    median, mean, sd, low, high, cv, _, _ = ask("summarize", 4)
    assert (median, mean, low, high) == (4, 4, 4, 4) and math.isnan(sd) and math.isnan(cv)


@pytest.mark.parametrize("n", [n for n in VECTORS["median_ci_ranks_95"]])
def test_ranks_of_the_median_interval(ask, n):
    """Alternating order keeps the autocorrelation negative, so nothing is stretched."""
    low, high, _ = VECTORS["median_ci_ranks_95"][n]
    n = int(n)
    order = [x for pair in zip(range(1, n + 1), range(n, 0, -1)) for x in pair][:n]
    answer = ask("median_interval", 0.95, *order)
    if n < 6:
        assert all(map(math.isnan, answer))
    else:
        assert answer == [low, high]


def test_median_interval_stretches_with_autocorrelation(ask):
    v = list(range(1, 21))
    r = lag1(v)
    low, high = ask("median_interval", 0.95, *v)
    stretch = math.sqrt((1 + r) / (1 - r))
    assert [low, high] == near([10.5 - stretch * 4.5, 10.5 + stretch * 4.5])


def test_invocations_interval(ask):
    v = [10.1, 10.4, 9.9, 10.2]
    logs = np.log(v)
    half = t_of(ask, 0.95, 3) * stats.sem(logs)
    low, high, level = ask("invocations_interval", 0.95, *v)
    assert [low, high] == near([math.exp(logs.mean() - half), math.exp(logs.mean() + half)]) and math.isnan(level)
    w = [-1, 0.5, 2]
    low, high, level = ask("invocations_interval", 0.95, *w)
    half = t_of(ask, 0.95, 2) * stats.sem(w)
    assert [low, high] == near([np.mean(w) - half, np.mean(w) + half]) and math.isnan(level)
    low, high, level = ask("invocations_interval", 0.95, 8, 1, 1)  # Student's, 2 exp(+-2.98), goes farther
    assert [low, high] == near([1 / 8, 2 * math.exp(t_of(ask, 0.95, 2) * stats.sem(np.log([1, 1, 8])))])
    assert all(map(math.isnan, ask("invocations_interval", 0.95, 1, 2)))


@pytest.mark.parametrize("n", [6, 7, 10, 30, 100, 499])
def test_invocations_interval_of_ranks(ask, n):
    v = np.random.default_rng(n).permutation(n) + 1.0
    low, high, level = ask("invocations_interval", 0.95, *v)
    rank = int(stats.binom.ppf(0.025, n, 0.5))
    while stats.binom.cdf(rank - 1, n, 0.5) > 0.025:
        rank -= 1
    assert [low, high] == [rank, n + 1 - rank]
    assert level == near(stats.binom.cdf(n - rank, n, 0.5) - stats.binom.cdf(rank - 1, n, 0.5)) and level >= 0.95


def test_welch_ratio(ask):
    d = VECTORS["two_sample"]["A8_B8"]["welch_log"]
    ratio, low, high, p, df = ask("welch", 8, *A8, *B8)
    assert [p, df] == near([d["p_two_sided"], d["df"]])
    assert [math.log(low), math.log(high)] == near(d["ci95_log"])
    assert ratio == near(stats.gmean(B8) / stats.gmean(A8))
    uneven = ask("welch", 3, *A8[:3], *B8)
    t = stats.ttest_ind(np.log(B8), np.log(A8[:3]), equal_var=False)
    assert uneven[3] == near(t.pvalue)


def test_paired_ratio(ask):
    d = VECTORS["paired"]["A8_B8"]
    ratio, low, high, p, df = ask("paired", *A8, *B8)
    assert [ratio, p, df] == near([d["geomean_ratio"], d["p_t_two_sided"], 7])
    assert [math.log(low), math.log(high)] == near(d["t_ci_log_95"])


def test_ratios_without_replication(ask):
    ratio, *rest = ask("welch", 1, 10, 12, 12.1)
    assert ratio == near(math.sqrt(12 * 12.1) / 10) and all(map(math.isnan, rest))
    ratio, *rest = ask("paired", 10, 12)
    assert ratio == near(1.2) and all(map(math.isnan, rest))


def test_ratios_without_variance(ask):
    assert ask("welch", 2, 4, 4, 8, 8) == near([2, 2, 2, 0, 2])
    assert ask("paired", 4, 4, 4, 4) == near([1, 1, 1, 1, 1])


@pytest.mark.parametrize("name", ["trend", "roof"])
def test_lines(ask, name):
    x, y = VECTORS["data"][name + "_x"], VECTORS["data"][name + "_y"]
    d = VECTORS["regression"]["trend_ols" if name == "trend" else "roofline_ols"]
    slope, intercept, r2, low, high, ilow, ihigh = ask("line", *x, *y)
    assert [slope, intercept, r2] == near([d["slope"], d["intercept"], d["r2"]])
    assert [low, high] == near(d["slope_ci95"])
    t = t_of(ask, 0.95, len(x) - 2)
    assert [ilow, ihigh] == near([intercept - t * d["intercept_se"], intercept + t * d["intercept_se"]])


def test_lines_with_too_little(ask):
    assert ask("line", 1, 2, 10, 30)[:3] == near([20, -10, 1])
    assert all(map(math.isnan, ask("line", 1, 2, 10, 30)[3:]))
    assert all(map(math.isnan, ask("line", 3, 3, 3, 1, 2, 3)))
    assert all(map(math.isnan, ask("line", 3, 1)))
    slope, intercept, r2, *_ = ask("line", 1, 2, 3, 5, 5, 5)
    assert (slope, intercept) == (0, 5) and math.isnan(r2)


def test_powers(ask):
    x = [256, 1024, 4096, 8192]
    y = [3e-4 * v**1.9 for v in x]
    slope, intercept, r2, low, high, *_ = ask("power", *x, *y)
    assert [slope, intercept, r2] == near([1.9, math.log(3e-4), 1])
    assert low <= 1.9 + 1e-9 and high >= 1.9 - 1e-9
    noisy = [v * f for v, f in zip(y, (1.02, 0.97, 1.01, 1.0))]
    expected = stats.linregress(np.log(x), np.log(noisy))
    assert ask("power", *x, *noisy)[:3] == near([expected.slope, expected.intercept, expected.rvalue**2])
    assert all(map(math.isnan, ask("power", 1, 2, 3, 1, 0, 3)))


def test_mser_vector(ask):
    """Under 40 samples a batch is one sample; the values are logs, so they come in as exponentials."""
    d = VECTORS["mser"]
    assert ask("warmup", *np.exp(d["series"])) == [d["argmin_k"], 1]


def mann_kendall(v):
    n = len(v)
    s = sum(np.sign(v[j] - v[i]) for i in range(n) for j in range(i + 1, n))
    ties = sum(t * (t - 1) * (2 * t + 5) for t in (v.count(x) for x in set(v)))
    z = (abs(s) - 1) / math.sqrt((n * (n - 1) * (2 * n + 5) - ties) / 18)
    return 2 * stats.norm.sf(z) if s else 1


def test_drift(ask):
    """Noise on a ramp: the blocks, their medians and slopes are taken again by SciPy."""
    r = random.Random(11)
    for n in (12, 60, 400, 1000):
        series = [round(100 + 3 * i / n + r.gauss(0, 0.5), 1) for i in range(n)]
        trend = np.polyval(np.polyfit(range(n), series, 1), range(n))
        rho = max(lag1(list(np.array(series) - trend)), 0)
        block = max(math.ceil(2 * (1 + rho) / (1 - rho)), math.ceil(n / 30))
        medians = [float(np.median(series[i : i + block])) for i in range(0, n - block + 1, block)]
        ratio, p = ask("drift", *series)
        if len(medians) < 6:
            assert math.isnan(ratio) and math.isnan(p)
            continue
        slope = stats.theilslopes(medians)[0]
        assert ratio == near(slope * (len(medians) - 1) / np.median(series))
        assert p == near(mann_kendall(medians))
    assert all(map(math.isnan, ask("drift", 1, 2, 3)))
    assert ask("drift", *[7] * 100) == [0, 1]


def test_mann_kendall_of_the_vector():
    assert mann_kendall(VECTORS["data"]["trend_y"]) == near(
        2 * stats.norm.sf(VECTORS["regression"]["trend_kendall_mann"]["mk_z_cc"]))


def test_outliers(ask):
    r = random.Random(3)
    v = [10 * math.exp(r.gauss(0, 0.004)) for _ in range(60)]
    assert ask("outliers", *v)[0] == 0
    v[0] *= 1.5
    v[30] *= 1.2
    v[59] *= 0.5
    answer = ask("outliers", *v)
    assert answer[0] == 3 and [i for i, f in enumerate(answer[1:]) if f] == [0, 30, 59]
    ticks = [100000.0 + (i % 7 == 0) for i in range(50)]
    assert ask("outliers", *ticks)[0] == 0
