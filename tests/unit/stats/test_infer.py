"""Distributions, tests, trends, changes and power of lib/stats against the reference vectors (1e-12), SciPy, and counting."""
import fractions
import itertools
import json
import math
import pathlib
import random
import shutil
import subprocess

import numpy as np
import pytest
from scipy import special, stats

VECTORS = json.loads((pathlib.Path(__file__).parent / "vectors.json").read_text())
DATA = VECTORS["data"]
A8, B8, TIED_A, TIED_B = DATA["A8"], DATA["B8"], DATA["Aties"], DATA["Bties"]
D8 = VECTORS["paired"]["A8_B8"]["d_log_ratio"]


def near(x, rel=1e-12, abs=1e-300):
    return pytest.approx(x, rel=rel, abs=abs)


def gauss(seed, n, digits=None):
    r = random.Random(seed)
    v = [r.gauss(0.3, 1) for _ in range(n)]
    return v if digits is None else [round(x, digits) for x in v]


def all_nan(answer):
    return bool(answer) and all(map(math.isnan, answer))


# --- distributions ---


def test_distributions_of_the_vectors(ask):
    d = VECTORS["distributions"]
    for p, z in d["norm_ppf"].items():
        assert ask("normal_quantile", p) == near([z])
    for z, p in d["norm_cdf"].items():
        assert ask("normal_below", z) == near([p])
    for key, p in d["t_cdf"].items():
        t, df = (float(part.split("=")[1]) for part in key.split(","))
        assert ask("t_above", -t, df) == near([p])
    assert ask("binomial", 2, 10, 0.5) == near([d["binom_cdf_2_10_0.5"]])
    assert ask("beta_inc", 0.4, 2, 3)[0] == near(d["betainc_2_3_0.4"])
    f = 2.5 * 4 / (12 + 2.5 * 4)  # F and chi-squared are the same function
    assert ask("beta_inc", f, 2, 6)[0] == near(d["f_cdf_2.5_4_12"])


def test_beta_of_scipy(ask):
    for a in (0.5, 1, 3.7, 49.9, 50.1, 400, 3000):
        for b in (0.5, 2, 60, 900):
            for x in (1e-9, 0.01, 0.3, 0.5, 0.9, 0.999999):
                value, rest = ask("beta_inc", x, a, b)
                assert value == near(special.betainc(a, b, x), 1e-12 if a < 3000 else 1e-11, 1e-280)  # SciPy's is off there: see R's
                assert value + rest == near(1)


def test_beta_with_a_closed_form(ask):
    """I_x(a, 1) = x^a, and I_x(a, b) of whole a and b is a binomial sum, taken in rational numbers."""
    for a in (0.5, 7, 49.5, 51, 2500):
        assert ask("beta_inc", 0.99, a, 1)[0] == near(0.99**a)
    for a, b, x in ((3, 9, "1/8"), (60, 70, "7/16"), (300, 280, "1/2"), (900, 40, "31/32")):
        x = fractions.Fraction(x)
        exact = sum(math.comb(a + b - 1, k) * x**k * (1 - x) ** (a + b - 1 - k) for k in range(a, a + b))
        assert ask("beta_inc", float(x), a, b)[0] == near(float(exact))


def test_normal_quantile_inverts(ask):
    for p in (1e-300, 1e-12, 0.001, 0.2, 0.3, 0.499, 0.5001, 0.75, 0.99):
        (z,) = ask("normal_quantile", p)
        assert z == near(special.ndtri(p), 1e-12, 1e-15)


def test_binomial_and_fisher_of_scipy(ask):
    r = random.Random(8)
    for _ in range(60):
        n = r.randrange(1, 200)
        k, p = r.randrange(0, n + 1), r.random()
        assert ask("binomial", k, n, p) == near([stats.binom.cdf(k, n, p)])
        table = [r.randrange(0, 25) for _ in range(4)]
        expected = stats.fisher_exact([table[:2], table[2:]], alternative="greater")[1]
        assert ask("fisher", *table) == near([expected])
    assert ask("fisher", 0, 0, 4, 7) == [1] and ask("fisher", 0, 0, 0, 0) == [1]


# --- means ---


def test_student_of_the_vectors(ask):
    d = VECTORS["paired"]["A8_B8"]
    for level in (90, 95, 99):
        estimate, _, df, t, p, low, high = ask("mean", level / 100, *D8)
        assert [estimate, df, t, p] == near([d["mean_log_ratio"], 7, d["t"], d["p_t_two_sided"]])
        assert [low, high] == near(d["t_ci_log_%d" % level])
    assert ask("within", -1, 0, *D8)[1] == near(d["p_t_greater"])


def test_welch_of_the_vectors(ask):
    d = VECTORS["two_sample"]["A8_B8"]
    for a, b, key, ci in ((A8, B8, "welch_raw", "ci95_diff"), (np.log(A8), np.log(B8), "welch_log", "ci95_log")):
        _, _, df, t, p, low, high = ask("welch_test", 8, *a, *b)
        assert [t, df, p] == near([d[key]["t"], d[key]["df"], d[key]["p_two_sided"]])
        assert [low, high] == near(d[key][ci])


def test_means_of_scipy(ask):
    for seed in range(20):
        a, b = gauss(seed, 2 + seed % 5), gauss(seed + 100, 2 + seed % 11)
        expected = stats.ttest_ind(b, a, equal_var=False)
        assert ask("welch_test", len(a), *a, *b)[3:5] == near([expected.statistic, expected.pvalue])
        expected = stats.ttest_1samp(a, 0)
        assert ask("mean", 0.95, *a)[3:5] == near([expected.statistic, expected.pvalue])


def test_means_of_too_little(ask):
    estimate, *rest = ask("mean", 0.95, 4)
    assert estimate == 4 and all_nan(rest[2:])
    assert all_nan(ask("mean", 0.95))
    assert all_nan(ask("welch_test", 1, 5, 6, 7)[3:])


def test_means_of_constant_and_huge_values(ask):
    assert ask("mean", 0.95, 7.3, 7.3, 7.3) == [7.3, 0, 2, math.inf, 0, 7.3, 7.3]
    assert ask("mean", 0.95, 0, 0, 0)[3:] == [0, 1, 0, 0]
    assert ask("within", 1, 2, 1.5, 1.5, 1.5) == [0, 1] and ask("within", 1, 2, 2.5, 2.5) == [1, 0]
    v = [1e140, 1.1e140, 1.3e140]
    assert ask("mean", 0.95, *v)[3:5] == near(list(ask("mean", 0.95, 1, 1.1, 1.3)[3:5]))
    offset = [1e9 + x for x in (0, 1, 2, 4)]
    assert ask("mean", 0.95, *offset)[1] == near(ask("mean", 0.95, 0, 1, 2, 4)[1])
    small = [x * 1e-90 for x in (1, 2, 4)]
    assert ask("welch_test", 3, *small, *[2 * x for x in small])[2] == near(ask("welch_test", 3, 1, 2, 4, 2, 4, 8)[2])


def test_equivalence(ask):
    d = VECTORS["tost"]["A8_B8_margin_5pct"]
    m = d["margin_log"]
    assert ask("within", -m, m, *D8)[0] == near(d["p_tost"])
    for seed in range(10):
        v = gauss(seed, 9)
        low, high = stats.ttest_1samp(v, -1, alternative="greater").pvalue, stats.ttest_1samp(v, 1, alternative="less").pvalue
        assert ask("within", -1, 1, *v)[0] == near(max(low, high))


def test_anytime_intervals_of_the_vectors(ask):
    for n, low, high in VECTORS["t_confidence_sequence"]["A8_B8_alpha.05_c2_1"]:
        answer = ask("anytime", 0.95, *D8[:n])
        assert answer == ([-math.inf, math.inf] if low == "-inf" else near([low, high]))
    assert all_nan(ask("anytime", 0.95, 1))


# --- ranks ---


def test_mann_whitney_of_the_vectors(ask):
    d = VECTORS["mann_whitney"]["A8_B8"]
    expected = [d["U_B"], d["p_exact_two_sided"], d["p_exact_A_greater_B"], d["p_exact_A_less_B"], 1]
    assert ask("mann_whitney", 8, *A8, *B8) == near(expected)
    assert d["U_B"] / 64 == d["vargha_delaney_A_BgtA"]
    for n, p in VECTORS["mann_whitney"]["min_two_sided_p_equal_n"].items():
        n = int(n)
        assert ask("mann_whitney", n, *range(2 * n))[1] == near(p)
    counts = VECTORS["mann_whitney"]["exact_cdf_counts_n1_5_n2_5"]["counts"]
    for u in range(26):  # 5 and 5 values with that U: p_less counts all up to it
        b = split_with(u, 5)
        a = [x for x in range(10) if x not in b]
        answer = ask("mann_whitney", 5, *a, *b)
        assert answer[0] == u and answer[2] == near(sum(counts[: u + 1]) / 252)


def split_with(u, n):
    """n ranks of 0 .. 2n-1 whose U is u."""
    b = list(range(n))
    for i in reversed(range(n)):
        step = min(u, n)
        b[i] += step
        u -= step
    return b


def test_mann_whitney_with_ties(ask):
    """U 14, exact mid-rank p .0315918974742902 for 8 and 9 tied integers."""
    u, p, *_ = ask("mann_whitney", 8, *TIED_A, *TIED_B)
    assert 72 - u == 14 and p == near(0.031591937474290, 1e-12)
    for seed in range(12):
        a, b = gauss(seed, 2 + seed % 4, 0), gauss(seed + 50, 1 + seed % 6, 0)
        ranks = stats.rankdata(a + b)
        sums = [sum(ranks[list(c)]) for c in itertools.combinations(range(len(ranks)), len(b))]
        seen = sum(ranks[len(a):])
        less, greater = np.mean([s <= seen for s in sums]), np.mean([s >= seen for s in sums])
        answer = ask("mann_whitney", len(a), *a, *b)
        far = np.mean([abs(s - np.mean(sums)) >= abs(seen - np.mean(sums)) - 1e-9 for s in sums])
        assert answer[1:] == near([far, less, greater, 1])
        assert answer[0] == near(sum((y > x) + 0.5 * (y == x) for x in a for y in b))


def test_mann_whitney_of_scipy(ask):
    for seed in range(20):
        a, b = gauss(seed, 1 + seed), gauss(seed + 200, 3 + seed // 2)
        expected = stats.mannwhitneyu(b, a, method="exact")
        assert ask("mann_whitney", len(a), *a, *b)[:2] == near([expected.statistic, expected.pvalue])
    for digits in (None, 1, 0):
        a, b = gauss(1, 70, digits), gauss(2, 45, digits)
        for alternative, at in (("two-sided", 1), ("less", 2), ("greater", 3)):
            answer = ask("mann_whitney", 70, *a, *b)
            expected = stats.mannwhitneyu(b, a, method="asymptotic", alternative=alternative)
            assert answer[4] == 0 and answer[at] == near(expected.pvalue)


def test_ranks_of_too_little(ask):
    assert all_nan(ask("mann_whitney", 0, 1, 2)[:4])
    assert ask("mann_whitney", 1, 5, 5)[1:4] == [1, 1, 1]
    assert ask("mann_whitney", 40, *[3] * 80)[1] == 1


# --- many questions ---


def test_adjusted_p_of_the_vectors(ask):
    d = VECTORS["multiplicity"]
    order = list(range(len(DATA["pvals"])))
    random.Random(1).shuffle(order)
    p = [DATA["pvals"][i] for i in order]
    assert ask("holm", *p) == near([d["holm"][i] for i in order])


def test_adjusted_p_without_answers(ask):
    answer = ask("holm", 0.01, math.nan, 0.04)
    assert math.isnan(answer[1]) and [answer[0], answer[2]] == near([0.02, 0.04])
    assert ask("holm", 0.3) == [0.3] and ask("holm", 1, 1) == [1, 1] and ask("holm", 0.02, 0.02) == near([0.04, 0.04])


# --- trends and changes ---


def test_theil_sen(ask):
    d = VECTORS["regression"]["trend_theil_sen_scipy"]
    answer = ask("theil_sen", *DATA["trend_x"], *DATA["trend_y"])
    assert answer == near([d["slope"], d["intercept_median_y_minus_slope_median_x"], d["lo95"], d["hi95"]])
    for seed in range(15):
        x, y = gauss(seed, 4 + seed, 0 if seed % 2 else None), gauss(seed + 70, 4 + seed, 1)
        e = stats.theilslopes(y, x)
        assert ask("theil_sen", *x, *y) == near([e.slope, e.intercept, e.low_slope, e.high_slope], 1e-12, 1e-14)
    assert all_nan(ask("theil_sen", 1, 1, 1, 2, 3, 4)) and all_nan(ask("theil_sen", 1, 1))
    assert ask("theil_sen", 1, 2, 3, 5, 5, 5)[0] == 0


def test_mann_kendall(ask):
    d = VECTORS["regression"]["trend_kendall_mann"]
    s, z, p = ask("mann_kendall", *DATA["trend_y"])
    assert [s, z, p] == near([d["S"], d["mk_z_cc"], 2 * stats.norm.sf(d["mk_z_cc"])])
    assert ask("mann_kendall", *reversed(DATA["trend_y"])) == near([-s, -z, p])
    assert ask("mann_kendall", 3, 3, 3, 3) == [0, 0, 1] and ask("mann_kendall", 2) == [0, 0, 1] == ask("mann_kendall")


def best_pieces(v, penalty, least):
    """The same optimum by trying every start of every last piece."""
    v, n = np.array(v) - np.median(v), len(v)
    floor = 1e-6 * np.var(v)

    def cost(a, b):
        spread = np.sum((v[a:b] - v[a:b].mean()) ** 2)
        variance = max(spread / (b - a), floor)
        return (b - a) * math.log(variance) + spread / variance

    best, origin = {0: -penalty}, {}
    for t in range(least, n + 1):
        best[t], origin[t] = min((best[s] + cost(s, t) + penalty, s) for s in best if t - s >= least)
    starts, t = [], n
    while t > 0:
        t = origin[t]
        starts.insert(0, t)
    return starts


def test_changes_are_optimal(ask):
    r = random.Random(21)
    for trial in range(25):
        n, v, level, sd = r.randrange(4, 110), [], 0, 1
        while len(v) < n:
            if r.random() < 0.06:
                level, sd = r.gauss(0, 4), r.choice((0.3, 1, 3))
            v.append(level + r.gauss(0, sd))
        least, penalty = r.choice((2, 3, 5)), r.choice((4, 15, 3 * math.log(n)))
        expected = best_pieces(v, penalty, least) if n >= 2 * least else [0]
        assert ask("changes", penalty, least, *v) == expected, trial


def test_changes_of_odd_series(ask):
    assert ask("changes", 10, 2) == [] and ask("changes", 10, 2, 5) == [0]
    assert ask("changes", 10, 5, *[3] * 50) == [0]
    assert ask("changes", 10, 5, *[3] * 25, *[4] * 25) == [0, 25]
    assert ask("changes", 10, 5, *[1e9 + x for x in [3] * 25 + [4] * 25]) == [0, 25]


# --- power ---


@pytest.mark.parametrize("case", VECTORS["power_paired_t"]["cases"], ids=lambda c: "%d-%g" % (c["n"], c["sd"]))
def test_smallest_effect_of_the_vectors(ask, case):
    """Beside the exact one of the noncentral t: within 2 % from five pairs on, as the header says."""
    (quick,) = ask("effect_found", case["n"], case["sd"], 0.05, 0.8)
    assert quick == near(case["effect80_approx"])
    assert case["n"] < 5 or quick == pytest.approx(case["effect80_exact"], rel=0.02)


def quick(n, p, q):
    return (stats.t.ppf(p, n - 1) + stats.t.ppf(q, n - 1)) / math.sqrt(n)


def test_pairs_needed(ask):
    """A table of sample sizes, and every answer is the first that suffices."""
    table = {0.014: [18, 7, 4, 3, 3], 0.028: [65, 18, 10, 5, 3], 0.042: [142, 38, 18, 8, 4]}
    for sd, row in table.items():
        found = [ask("pairs", sd, e, 0.05, 0.8)[0] for e in (0.01, 0.02, 0.03, 0.05, 0.1)]
        assert all(abs(f - e) <= max(1, 0.02 * e) for f, e in zip(found, row)), (sd, found)
    for sd in (0.3, 1, 4, 50):
        detect, prove = map(int, ask("pairs", sd, 1, 0.05, 0.8))
        for n, p, q in ((detect, 0.975, 0.8), (prove, 0.95, 0.9)):
            assert sd * quick(n, p, q) <= 1 + 1e-9 and (n == 3 or sd * quick(n - 1, p, q) > 1 - 1e-9)
    assert ask("pairs", 0, 1, 0.05, 0.8) == [3, 3]
    assert min(ask("pairs", 1, 0, 0.05, 0.8)) > 1e15 and min(ask("pairs", math.nan, 1, 0.05, 0.8)) > 1e15


# --- R, where it is installed ---

no_r = pytest.mark.skipif(not shutil.which("Rscript"), reason="R is not installed")


def r_says(script):
    """What an R expression per line gives, all in one list."""
    lines = "".join(f'cat(sprintf("%.17g\\n", c({line})))\n' for line in script)
    said = subprocess.run(["Rscript", "-"], input=lines, capture_output=True, text=True, check=True, timeout=60).stdout
    return list(map(float, said.split()))


def c(v):
    return "c(%s)" % ",".join(map(repr, map(float, v)))


@no_r
def test_distributions_of_r(ask):
    points = [(x, a, b) for a in (0.5, 3.7, 50.1, 400, 3000) for b in (0.5, 2, 60, 900) for x in (1e-9, 0.3, 0.5, 0.9, 0.999999)]
    for (x, a, b), expected in zip(points, r_says(f"pbeta({x!r}, {a}, {b})" for x, a, b in points)):
        assert ask("beta_inc", x, a, b)[0] == near(expected, 1e-12, 1e-280), (x, a, b)
    points = [(t, df) for df in (1, 2.5, 7, 40, 4000) for t in (1e-8, 0.3, 2.2, 9, 60)]
    for (t, df), expected in zip(points, r_says(f"2 * pt(-{t!r}, {df})" for t, df in points)):
        assert ask("t_two_sided", t, df) == near([expected]), (t, df)
    points = [(p, df) for df in (1, 3.7, 5, 29, 1000) for p in (0.51, 0.6, 0.9, 0.995, 1 - 1e-6)]
    for (p, df), expected in zip(points, r_says(f"qt({p!r}, {df})" for p, df in points)):
        assert ask("t_quantile", p, df) == near([expected], 1e-11 if p < 0.6 else 1e-12), (p, df)  # p - 1/2 is rounded
    assert [ask("normal_quantile", 0.01)[0], ask("binomial", 7, 20, 0.3)[0]] == near(r_says(["qnorm(0.01), pbinom(7, 20, 0.3)"]))


@no_r
def test_two_sets_of_r(ask):
    sets = [(gauss(seed, 5 + seed), gauss(seed + 40, 9)) for seed in range(8)]
    script = []
    for a, b in sets:
        script.append(f"wilcox.test({c(b)}, {c(a)})$p.value")
        script.append(f"(t <- t.test({c(b)}, {c(a)}))$p.value, t$conf.int, t$parameter, (m <- t.test({c(a)}))$p.value, m$conf.int")
    answers = []
    for a, b in sets:
        rank = ask("mann_whitney", len(a), *a, *b)
        _, _, df, _, p, low, high = ask("welch_test", len(a), *a, *b)
        answers += [rank[1], p, low, high, df, *ask("mean", 0.95, *a)[4:]]
    assert answers == near(r_says(script), 1e-12, 1e-14)


@no_r
def test_ties_tiny_constant_and_huge_values_of_r(ask):
    """R counts ties by the normal distribution: these are sets so large that lib/stats does, too."""
    script, answers = [], []
    for seed in range(4):
        a, b = gauss(seed, 70, 0), gauss(seed + 9, 60, 0)
        script.append(f"suppressWarnings(wilcox.test({c(b)}, {c(a)}))$p.value")
        answers.append(ask("mann_whitney", len(a), *a, *b)[1])
        x, y = gauss(seed, 2), gauss(seed + 5, 3)
        for scale in (1e-90, 1, 1e140):  # of which R's own arithmetic takes the middle one alone
            script.append(f"(t <- t.test({c(y)}, {c(x)}))$p.value, t$parameter, t$statistic")
            _, _, df, t, p, _, _ = ask("welch_test", 2, *(v * scale for v in (*x, *y)))
            answers += [p, df, t]
    script.append(f"(t <- t.test({c([5, 6, 7.5])}, {c([4, 4, 4])}))$p.value, t$parameter")  # one side constant
    _, _, df, _, p, _, _ = ask("welch_test", 3, 4, 4, 4, 5, 6, 7.5)
    assert [*answers, p, df] == near(r_says(script), 1e-12, 1e-300)


@no_r
def test_the_rest_of_r(ask):
    p, script, answers = [0.001, 0.02, 0.02, 0.2, 0.9], [], []
    script.append(f"p.adjust({c(p)}, 'holm')")
    answers += ask("holm", *p)
    for seed in range(6):
        a, b = gauss(seed, 6 + seed), gauss(seed + 70, 11)
        k, y = [round(abs(10 * x)) for x in (*a[:2], *b[:2])], [*a, *a[:3]]
        script.append(f"fisher.test(matrix({c(k)}, 2), alternative = 'greater')$p.value, quantile({c(a)}, c(0.1, 0.5, 0.99))")
        answers += [*ask("fisher", k[0], k[2], k[1], k[3]), *(ask("quantile", q, *sorted(a))[0] for q in (0.1, 0.5, 0.99))]
        script.append(f"mad({c(y)}, constant = 1.482602218505602), median({c(y)}), sd({c(y)})")
        summary, line = ask("summarize", *y), ask("line", *range(1, len(a) + 1), *a)
        answers += [summary[6], summary[0], summary[2]]
        script.append(f"coef(f <- lm(y ~ x, list(y = {c(a)}, x = 1:{len(a)})))[2:1], summary(f)$r.squared, confint(f)[2, ]")
        answers += line[:5]
        script.append(f"suppressWarnings(cor.test(1:11, {c(b)}, method = 'kendall', exact = FALSE, continuity = TRUE))$p.value")
        answers.append(ask("mann_kendall", *b)[2])
    assert answers == near(r_says(script), 1e-12, 1e-13)
