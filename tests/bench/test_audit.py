"""audit.py: its bounds are exact, it says which promise is broken, and a short run of it breaks none."""
import os
import pathlib

import audit
import pytest

PERFKIT = os.environ.get("PERFKIT_BIN", str(pathlib.Path(__file__).parents[2] / "build" / "perfkit"))


@pytest.mark.parametrize("k, n, low, high", [(0, 300, 0, 0.012221), (5, 10, 0.187086, 0.812914), (3, 20, 0.032071, 0.378927),
                                             (20, 20, 0.831567, 1)])
def test_bounds_are_those_of_clopper_and_pearson(k, n, low, high):
    """Against SciPy's binomtest(k, n).proportion_ci(0.95, "exact")."""
    assert audit.bounds(k, n) == pytest.approx((low, high), abs=1e-6)


def test_a_promise_is_broken_when_the_bounds_exclude_it():
    r = audit.Report()
    r.at_most("red", 0.01, 4, 300)
    r.at_least("found", 0.95, 93, 100)
    r.never("green", 0, 10)
    assert not r.broken
    r.at_most("red", 0.01, 9, 300)
    r.at_least("found", 0.95, 88, 100)
    r.never("green", 1, 10)
    assert [x.split(":")[0] for x in r.broken] == ["red", "found", "green"]


def test_profiles_have_the_noise_of_their_names():
    r = audit.random.Random(1)
    n = 20000
    for name, sd in (("normal, 1 %", 0.01), ("1 %, neighbours correlated 0.6", 0.01), ("normal 1 % and a drift of 1 % (AR(1), 0.9)", 0.01414),
                     ("Student's t with 5 degrees of freedom, 1 %", 0.01), ("exponential tail of 3 %", 0.03)):
        x = audit.PROFILES[name](r, n)
        mean = sum(x) / n
        assert sum((v - mean) ** 2 for v in x) / n == pytest.approx(sd * sd, rel=0.1), name
    x = audit.PROFILES["1 %, neighbours correlated 0.6"](r, n)
    assert sum(a * b for a, b in zip(x, x[1:])) / sum(a * a for a in x) == pytest.approx(0.6, abs=0.03)
    assert sum(v > 0.07 for v in audit.PROFILES["normal 1 %, 30 % of processes + 15 %"](r, n)) / n == pytest.approx(0.3, abs=0.02)


def test_a_short_run_breaks_no_promise(capsys, monkeypatch):
    """One noise, one share of slow processes, and of what can be missing three: tests/cli/test_missing.py has them all."""
    monkeypatch.setattr(audit, "PARTS", (0.2,))
    monkeypatch.setattr(audit, "MISSING", {what: audit.MISSING[what] for what in (audit.NOTHING, "a case", "everything, from the eleventh process on")})
    status = audit.main([PERFKIT, "--gates", "1", "--seed", "1", "--noise", "normal, 1 %"])
    out = capsys.readouterr().out
    assert status == 0 and out.endswith("Promises broken: 0\n"), out
    normal = [line.split(" | ") for line in out.splitlines() if line.startswith("| normal, 1 %")]
    assert [x.split()[0] for x in normal[1][3:5]] == ["100.0", "100.0"], out  # + 5 % and + 10 % are found
