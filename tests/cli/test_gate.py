"""gate: two sides in turns, through the front door; what is measured is made up, so that every outcome is known."""
import json
import math
import os
import random
import re
import shlex
import shutil
import signal
import sqlite3
import stat
import sys
import time

import junit
import pytest
from conftest import BINARY, not_sanitized
from stored import Stored, query

NULL = ("--device", "null", "--variant", "ok", "--max-samples", "5", "--min-samples", "5", "--min-time", "0")
SLOWER = ("--a", "busy_ns=100000", "--b", "busy_ns=105000")
BRIEF = (*SLOWER, "--max-pairs", "8")  # where it matters that the gate is red, and not how it became so
EQUAL = ("--a", "busy_ns=100000 memory=4KiB", "--b", "busy_ns=100000 memory=8KiB")  # in time


def selftest(perfkit, *args, **kw):
    return perfkit("gate", "selftest", *NULL, *args, **kw)


def script(perfkit, name, text):
    path = perfkit.cwd / name
    path.write_text("#!/bin/sh\n" + text)
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def reporter(perfkit, name, values, unit="ns", direction="lower", metric="made_up_ns"):
    """A command that reports the next of some values each time it runs, by what a shell does itself: no other program is started."""
    folder = perfkit.cwd / f"{name}.values"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for n, v in enumerate(values):
        (folder / str(n)).write_text(f"v={shlex.quote(str(v))}\n")
    (perfkit.cwd / f"{name}.n").write_text("0\n")
    return script(perfkit, name, f"""
read n < {name}.n; echo $((n + 1)) > {name}.n
[ ! -e {name}.values/$n ] || . ./{name}.values/$n
echo '{{"type":"metric","name":"{metric}","unit":"{unit}","direction":"{direction}","class":"time"}}' >&$PERFKIT_WIRE_FD
echo '{{"type":"samples","metric":"{metric}","phase":"steady","ordinal":0,"values":['$v']}}' >&$PERFKIT_WIRE_FD
""")


def noisy(seed, centre, cv=0.01, n=60):
    r = random.Random(seed)
    return [round(centre * math.exp(r.gauss(0, cv))) for _ in range(n)]


def commands(perfkit, a, b, *args, **kw):
    return perfkit("gate", "--a", f"./{a.name}", "--b", f"./{b.name}", *args, **kw)


def sampler(perfkit, name, slow, cv=0.01, samples=200, processes=60, seed=1):
    """A command that reports so many samples each time it runs, about 1 ms; each twentieth takes `slow` times as long."""
    r, values = random.Random(f"{name} {seed}"), []
    for _ in range(processes):
        level = 1e6 * math.exp(r.gauss(0, cv))
        values.append(",".join(str(round(level * math.exp(r.gauss(0, 0.005)) * (1 if i % 20 else slow))) for i in range(samples)))
    return reporter(perfkit, name, values)


# --- outcomes ---


@not_sanitized
def test_an_injected_slowdown_is_red_and_equal_sides_are_green(perfkit):
    r = selftest(perfkit, *SLOWER, "--format", "json")
    assert r.status == 3, r
    row, = r.rows("compare_ns")
    assert row["verdict"] == "slower" and row["ratio"] == pytest.approx(1.05, abs=1e-3) and row["base_invocations"] == 20
    assert "busy_ns" not in row["axes"]  # what the sides set is said of the sides
    gate, = r.rows("gate")
    assert (gate["answer"], gate["rows"], gate["slower"], gate["pairs"]) == ("slower", 1, 1, 20)
    assert "is slower: work_ns of ok: slower, +5.0 %" in r.error()["what"] and "perfkit compare 1 2" in r.error()["try"]
    line, = [line for line in perfkit("show", "@").stdout.splitlines() if " slower" in line and line.strip().startswith("1")]
    assert " <0.0001 " in line, line  # a small p is short
    row, = perfkit("show", "@", "--format", "json").rows("verdicts")
    assert 0 <= row["p_adjusted"] < 1e-4
    r = selftest(perfkit, *EQUAL, "--format", "json")
    assert r.status == 0 and r.rows("compare_ns")[0]["verdict"] == "same" and r.rows("gate")[0]["pairs"] == 6
    assert "gate: 1 row: 1 same; 6 pairs" in r.stderr


@not_sanitized
def test_noise_of_one_percent(perfkit):
    base = reporter(perfkit, "base.sh", noisy(1, 1e6))
    for name, seed, factor, status, verdicts in (("equal.sh", 2, 1, 0, ("same", "undecided")), ("slow.sh", 3, 1.06, 3, ("slower",)),
                                                 ("fast.sh", 4, 0.94, 0, ("faster",))):
        new = reporter(perfkit, name, noisy(seed, factor * 1e6))
        r = commands(perfkit, base, new, "--format", "json")
        row, = r.rows("compare_ns")
        assert r.status == status and row["verdict"] in verdicts and row["metric"] == "made_up_ns", r
        assert row["ratio_low"] < factor < row["ratio_high"] and 0 < row["mde"] < 0.06
        (perfkit.cwd / "base.sh.n").unlink()


@not_sanitized
def test_a_slowdown_of_some_processes_is_red(perfkit):
    """The typical process is the same; of the new side every second one takes twice as long."""
    base = reporter(perfkit, "base.sh", noisy(1, 1e6, 0.003))
    new = reporter(perfkit, "new.sh", [x * (1 + i % 2) for i, x in enumerate(noisy(2, 1e6, 0.003))])
    r = commands(perfkit, base, new, "--label", "x", "--format", "json", "--junit", "j.xml")
    row, = r.rows("compare_ns")
    gate, = r.rows("gate")
    assert r.status == 3 and row["verdict"] == "slower-in-some" and (gate["slower"], gate["slower_in_some"]) == (0, 1), r
    assert row["slow_base"] == 0 and row["slow_new"] >= 8 and row["slow_size"] == pytest.approx(2, rel=0.02)
    assert 0.2 < row["slow_found"] < 0.4 and row["ratio"] == pytest.approx(1, abs=0.01)
    counts = r"slower in \d+ of \d+ processes, in the base in 0, by \+\d+\.\d %"
    power = r" \(\d+ pairs find a share of \d+ % 8 times in 10\)"
    text = counts + r": [\d.]+ ms, others [\d.]+ [mµu]s" + power
    assert "slower in some processes" in r.error()["what"] and re.search(text, r.error()["what"])
    case = junit.read(perfkit.cwd / "j.xml").find("testcase/failure")
    assert case.get("type") == "slower-in-some" and re.search(text, case.get("message"))
    assert query(perfkit, "SELECT verdict, slow_base, slow_new FROM v_verdict") == [("slower-in-some", 0, row["slow_new"])]
    again = perfkit("compare", "x-a", "x-b", "--exit-code", "--format", "json")
    assert again.status == 3 and again.rows("compare_ns")[0]["verdict"] == "slower-in-some"
    assert "slower-in-some" in perfkit("show", "x-b").stdout and re.search(counts + power, perfkit("compare", "x-a", "x-b").stdout)


@not_sanitized
def test_two_modes_of_both_sides_are_named(perfkit):
    """Where one side is slow, the other is fast, so no pair is without a slow process."""
    base = reporter(perfkit, "base.sh", [x * (1 + i % 2) for i, x in enumerate(noisy(1, 1e6, 0.003))])
    new = reporter(perfkit, "new.sh", [x * (2 - i % 2) for i, x in enumerate(noisy(2, 1e6, 0.003))])
    r = commands(perfkit, base, new, "--junit", "j.xml")
    assert r.status == 4 and "unstable" in r.stdout, r
    modes = r"slow in (\d+) of (\d+) processes, in the base in (\d+), by \+\d+\.\d %: [12]\.\d+ ms, others \d+\.?\d* [mµu]s"
    for text in (r.stdout, (perfkit.cwd / "j.xml").read_text()):
        slow, n, slow_base = map(int, re.search(modes, text).groups())
        assert 0 < slow < n and 0 < slow_base < n
    assert all(word in r.error()["try"] for word in ("pin threads", "randomise", "--max-pairs")) and "quiet" not in r.error()["try"]



@not_sanitized
def test_slow_processes_on_one_side_are_never_the_same(perfkit):
    base = reporter(perfkit, "base.sh", noisy(1, 1e6, 0.003))
    figures = noisy(2, 1e6, 0.003)
    figures[3] *= 2  # seen while all rows are screened
    r = commands(perfkit, base, reporter(perfkit, "new.sh", figures), "--format", "json")
    row, = r.rows("compare_ns")
    assert r.status == 0 and row["verdict"] == "undecided" and "processes of one side alone are outliers" in row["reason"], r
    assert r.rows("gate")[0]["pairs"] == 20 and (row["slow_base"], row["slow_new"]) == (0, 1) and row["needed"] > 20


@not_sanitized
def test_both_sides_are_runs_and_compare_judges_them_as_the_gate_did(perfkit):
    r = selftest(perfkit, *SLOWER, "--label", "x", "--max-pairs", "12", "--format", "json")
    assert r.rows("gate")[0]["pairs"] == 12 and "fresh pair" not in r.stdout
    assert query(perfkit, "SELECT label, status, settings ->> '$.gate.side' FROM v_run") == [
        ("x-a", "complete", "base"), ("x-b", "complete", "new")]
    assert len(query(perfkit, "SELECT DISTINCT settings ->> '$.gate.id' FROM v_run")) == 1
    assert query(perfkit, "SELECT axes ->> 'busy_ns', count(*) FROM v_case JOIN v_slice USING (case_id) GROUP BY 1") == [
        (100000, 13), (105000, 13)]  # of each side the first process is the warm-up
    again = perfkit("compare", "x-a", "x-b", "--exit-code", "--format", "json")
    first, second = r.rows("compare_ns")[0], again.rows("compare_ns")[0]
    assert again.status == 3
    for key in ("verdict", "ratio", "ratio_low", "p", "p_adjusted", "mde", "base_invocations"):
        assert first[key] == second[key], key
    assert "ok" in perfkit("show", "x-b").stdout and perfkit("run", "selftest", "--resume").status == 2


def test_verdicts_are_kept_and_printed_again(perfkit):
    """show and compare print what the gate concluded; other criteria judge the samples again."""
    first, = selftest(perfkit, *BRIEF, "--threshold", "work_ns=3%", "--format", "json").rows("compare_ns")
    row, = query(perfkit, """SELECT base_run_id, run_id, base_axes ->> 'busy_ns', axes ->> 'busy_ns', metric, verdict, reason, ratio, ratio_low,
        p_adjusted, mde, margin, criteria ->> 'alpha', criteria ->> 'threshold' FROM v_verdict""")
    assert row == (1, 2, 100000, 105000, "work_ns", "slower", "proved", first["ratio"], first["ratio_low"], first["p_adjusted"], first["mde"],
                   0.03, 0.05, "work_ns=3%")
    shown, = perfkit("show", "2", "--format", "json").rows("verdicts")
    assert (shown["base_run_id"], shown["run_id"], shown["verdict"], shown["ratio"]) == (1, 2, "slower", first["ratio"])
    judged = perfkit("compare", "1", "2", "--exit-code", "--format", "json")
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE verdict SET verdict = 'undecided', reason = 'unconfirmed', ratio = 1.25")
    kept = perfkit("compare", "1", "2", "--exit-code", "--format", "json")
    row, = kept.rows("compare_ns")
    assert kept.status == 0 and (row["verdict"], row["ratio"]) == ("undecided", 1.25) and "not confirmed" in row["reason"]
    for other in (("--threshold", "work_ns=3%"), ("--alpha", "5%"), ("-m", "work_ns")):
        row, = perfkit("compare", "1", "2", *other, "--format", "json").rows("compare_ns")
        assert (row["verdict"], row["ratio"]) == ("slower", first["ratio"]), other
    with sqlite3.connect(perfkit.db) as db:
        db.execute("DELETE FROM verdict")
    again = perfkit("compare", "1", "2", "--exit-code", "--format", "json")  # of a gate before verdicts were kept
    assert again.status == judged.status == 3 and again.stdout == judged.stdout


@not_sanitized
def test_a_red_gate_is_red_in_show_compare_and_history(perfkit):
    """All print the row that the gate stored: a row that is changed there changes in all of them."""
    base, new = reporter(perfkit, "base.sh", noisy(1, 1e6)), reporter(perfkit, "slow.sh", noisy(3, 1.06e6))
    first, = commands(perfkit, base, new, "--format", "json").rows("compare_ns")

    def printed():
        history = perfkit("history", "exec", "--gates", "-m", "made_up_ns", "--format", "json").rows("history_ns")
        assert [row["run_id"] for row in history] == [1, 2] and history[0]["verdict"] is None
        return [row["verdict"] for row in (perfkit("show", "2", "--format", "json").rows("verdicts")[0],
                                           perfkit("compare", "1", "2", "--format", "json").rows("compare_ns")[0], history[1])]

    assert first["verdict"] == "slower" and printed() == ["slower"] * 3
    assert perfkit("compare", "1", "2", "--exit-code").status == 3
    assert " slower " in perfkit("history", "exec", "--gates", "-m", "made_up_ns", "--width", "0").stdout
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE verdict SET verdict = 'undecided', reason = 'unconfirmed'")
    assert printed() == ["undecided"] * 3
    plain = perfkit("history", "exec", "-m", "made_up_ns", "--format", "json")
    assert plain.status == 6  # without --gates sides of gates are no history


@not_sanitized
def test_verdicts_go_with_their_runs(perfkit):
    selftest(perfkit, *EQUAL, "--no-save")
    selftest(perfkit, "--a", "busy_ns=100000", "--b", "busy_ns=100000")  # a calibration: nothing is judged
    assert query(perfkit, "SELECT count(*) FROM v_verdict") == [(0,)]
    selftest(perfkit, *BRIEF)
    other = str(perfkit.cwd / "other.db")
    assert perfkit("run", "selftest", *NULL, "--db", other).status == 0 == perfkit("db", "merge", str(perfkit.db), "--db", other).status
    with sqlite3.connect(other) as db:
        assert db.execute("SELECT verdict, base_variant, variant, count(*) FROM v_verdict").fetchall() == [("slower", "ok", "ok", 1)]
    perfkit("run", "selftest", *NULL)
    assert perfkit("db", "prune", "--keep", "2").status == 0
    assert query(perfkit, "SELECT count(*) FROM v_run") == [(2,)] and query(perfkit, "SELECT count(*) FROM v_verdict") == [(0,)]


@not_sanitized
@pytest.mark.parametrize("asked", [("--threshold", "work_ns=10%"), ("-m", "work_ns", "-m", "peak_bytes", "--threshold", "*=10%"), ("--all-metrics",)])
def test_compare_judges_by_what_the_gate_was_asked(perfkit, asked):
    """Its metrics and thresholds, unless there are others now."""
    def rows(r):
        return [(t["metric"], t["verdict"]) for name in r.json()["tables"] if name.startswith("compare_")
                for t in r.rows(name) if t.get("row") == "case"]
    r = selftest(perfkit, *BRIEF, *asked, "--format", "json")
    again = perfkit("compare", "1", "2", "--format", "json")
    assert sorted(rows(r)) == sorted(rows(again)) and ("work_ns", "slower" if "--all-metrics" in asked else "same") in rows(again), again
    now = perfkit("compare", "1", "2", "-m", "work_ns", "--threshold", "work_ns=3%", "--format", "json")
    assert rows(now) == [("work_ns", "slower")], now


def order_of(perfkit, gate):
    """Of the processes of the store's n-th gate: "abBAABBA..."; small letters are processes of the warm-up."""
    return "".join(s for s, in query(perfkit, f"""SELECT CASE WHEN EXISTS (SELECT 1 FROM v_sample s WHERE s.case_id = l.case_id
        AND s.invocation = l.invocation AND s.phase = 'steady') THEN upper(x) ELSE x END
        FROM (SELECT run_id, CASE settings ->> '$.gate.side' WHEN 'base' THEN 'a' ELSE 'b' END AS x FROM v_run) JOIN v_slice l USING (run_id)
        WHERE run_id IN ({2 * gate - 1}, {2 * gate}) ORDER BY l.started_ns"""))


@not_sanitized
def test_pairs_run_in_turns_in_an_order_that_a_seed_repeats(perfkit):
    seeds = []
    for gate in (1, 2):
        r = selftest(perfkit, *EQUAL, "--format", "json")
        seeds.append(r.rows("gate")[0]["seed"])
        order = order_of(perfkit, gate)
        assert len(order) == 14 and order[:4] in ("abBA", "baAB") and all(order[i:i + 4] in ("ABBA", "BAAB") for i in range(2, 14, 4))
        assert r.rows("gate")[0]["pairs"] == 6 and r.rows("gate")[0]["warmup_pairs"] == 1
        assert query(perfkit, f"SELECT value FROM v_setting WHERE key = 'order_seed' AND run_id = {2 * gate}") == [(str(seeds[-1]),)]
        assert f"order seed {seeds[-1]}" in perfkit("show", 2 * gate, "--tables", "all").stdout
        assert f"--seed {seeds[-1]} repeats it" in r.stdout
    assert len(set(seeds)) == 2
    selftest(perfkit, *EQUAL, "--seed", seeds[0])
    assert order_of(perfkit, 3) == order_of(perfkit, 1)
    runs = 3
    while len({order_of(perfkit, 1 + n) for n in range(runs)}) == 1:  # four blocks in turn: a gate in sixteen has the same order
        assert runs < 13 and selftest(perfkit, *EQUAL).status == 0
        runs += 1


def test_a_seed_is_checked(perfkit):
    for seed, why in (("-1", "from 0 to 9007199254740992"), ("1e17", "not an integer"), ("x", "not an integer"), ("", "--seed"),
                      ("9007199254740993000", "from 0 to")):
        selftest(perfkit, *EQUAL, "--seed", seed).refused(2, why)
    perfkit("gate", "--against", "main", "--seed", "3").refused(2, "--seed", "nothing is measured")


@not_sanitized
def test_the_first_process_of_a_side_is_not_judged(perfkit):
    """A cold first process, of both sides or of the base alone, changes no verdict, no ratio and no count."""
    for seed, factor, status in ((2, 1, 0), (3, 1.06, 3)):
        rows = []
        for cold in ((1, 1), (1.3, 1.3), (1.3, 1)):
            base, new = (reporter(perfkit, name, [values[0] * first] + values[1:])
                         for name, values, first in zip(("base.sh", "new.sh"), (noisy(1, 1e6), noisy(seed, factor * 1e6)), cold))
            r = commands(perfkit, base, new, "--seed", "7", "--format", "json")
            assert r.status == status, r
            rows.append({k: v for k, v in r.rows("compare_ns")[0].items() if k != "run_id"})
        assert rows[0] == rows[1] == rows[2]
        assert rows[0]["base_invocations"] == rows[0]["new_invocations"] == r.rows("gate")[0]["pairs"]
    runs, = query(perfkit, "SELECT max(run_id) FROM v_run")
    assert query(perfkit, f"SELECT DISTINCT phase FROM v_sample WHERE run_id = {runs[0]} AND invocation = 1") == [("warmup",)]
    assert query(perfkit, f"SELECT min(invocation) FROM v_invocation WHERE run_id = {runs[0]}") == [(2,)]


def test_two_builds(perfkit):
    build = perfkit.cwd / "build"
    build.mkdir()
    shutil.copy(BINARY, build / "perfkit")
    r = selftest(perfkit, "--a", "build", "--b", BINARY, "-a", "busy_ns=50000,100000", "--format", "json")
    assert r.status == 0 and {row["verdict"] for row in r.rows("compare_ns") if row["row"] == "case"} == {"same"}
    mean, = (row for row in r.rows("compare_ns") if row["row"] == "geomean")
    assert (mean["ratio"], mean["ratio_low"], mean["ratio_high"], mean["cases"]) == (1, 1, 1, 2)


@not_sanitized
def test_no_fail_is_a_gate_whose_verdicts_fail_nothing(perfkit):
    r = selftest(perfkit, *BRIEF, "--no-fail", "--format", "json")
    row, = r.rows("compare_ns")
    gate, = r.rows("gate")
    assert r.status == 0 and row["verdict"] == "slower" and row["ratio"] == pytest.approx(1.05, rel=1e-3) and gate["answer"] == "slower"
    b = reporter(perfkit, "b", noisy(2, 1000000))
    r = commands(perfkit, reporter(perfkit, "a", noisy(1, 1000000)), b, "--no-fail", "--format", "json")
    assert r.status == 0 and r.rows("compare_ns")[0]["verdict"] in ("same", "undecided")
    r = perfkit("gate", "--no-fail", "--a", "true", "--b", "false")
    assert r.status == 1 and "(--b false) ended 'failed'" in r.error()["what"] and "exit status 1" in r.error()["why"]
    perfkit("gate", "--no-fail", "--b", "true").refused(2, "--a is missing")
    perfkit("gate", "--no-fail", "--fail-on-undecided", "--a", "true", "--b", "true").refused(2, "--no-fail")
    perfkit("compare", "--a", "true", "--b", "false").refused(2, "--a")


@not_sanitized
def test_variants_are_settings(perfkit):
    r = perfkit("gate", "selftest", "--device", "null", "--max-samples", "5", "--a", "variant=ok", "--b", "variant=slow-start",
                "--warmup", "0", "--max-pairs", "8", "--format", "json")
    row, = r.rows("compare_ns")
    assert r.status == 3 and row["variant"] == "ok -> slow-start" and row["ratio"] == pytest.approx(2, rel=0.01)


def test_partners_are_equal_in_all_that_no_side_says(perfkit):
    """One variant has an axis that the other has not, and so more cases: they are not paired by their places."""
    def plan(*args):
        r = perfkit("gate", *args, "--dry-run", "--format", "json")
        assert r.status == 0, r
        return [(row["variant"], row["axes"]) for row in r.rows("gate_plan")]
    cases = plan("ddp-bucket", "--preset", "quick", "--a", "variant=naive", "--b", "variant=bucket")
    assert [(v, x["compute_ms"], x["bucket_bytes"]) for v, x in cases] == [("naive -> bucket", ms, 65536) for ms in (4, 20)]
    cases = plan("mixed-precision", "--preset", "quick", "--a", "model=tiny", "--b", "model=small")
    assert cases and all(v in ("eager", "compiled") and "layers" not in x and "mode" in x for v, x in cases)


@pytest.mark.parametrize("a, b, words", [
    ("dtype=fp32", "dtype=fp32 variant=flash", ("--b sets variant=flash, and --a has several values of variant", "--a 'dtype=fp32 variant=flash'")),
    ("seq_len=256", "dtype=bf16", ("--a sets seq_len=256, and --b has several values of seq_len", "--b 'dtype=bf16 seq_len=256'"))])
def test_what_one_side_says_is_no_sweep_on_the_other(perfkit, a, b, words):
    perfkit("gate", "attention-scaling", "--a", a, "--b", b, "--dry-run").refused(2, *words)


@not_sanitized
def test_a_program_may_name_many_cases(perfkit):
    """More than were known when its first pair began."""
    (perfkit.cwd / "lines").write_text("".join(
        '{"type":"case","axes":{"i":%d}}\n{"type":"metric","name":"x_ns","unit":"ns","direction":"lower"}\n'
        '{"type":"samples","metric":"x_ns","values":[100]}\n' % i for i in range(600)))
    script(perfkit, "many", "exec cat lines >&$PERFKIT_WIRE_FD\n")
    r = perfkit("gate", "--no-save", "--max-pairs", "8", "--a", "./many", "--b", "./many b", "--name", "c", "--format", "json")
    assert r.status == 0 and r.rows("gate")[0]["rows"] == r.rows("gate")[0]["same"] == 600, r


@not_sanitized
def test_few_fresh_pairs_are_said_to_see_little(perfkit):
    r = selftest(perfkit, *SLOWER, "--max-pairs", "8")
    assert "--max-pairs 8 leaves 2 fresh pairs" in r.stdout and "--max-pairs 12 leaves 6" in r.stdout, r
    help = selftest(perfkit, "--help").stdout
    assert help.index("Report files") < help.index("  --junit") < help.index("The record")


@not_sanitized
def test_until_clear_stops_early(perfkit):
    r = selftest(perfkit, *SLOWER, "--until-clear", "--format", "json")
    assert r.status == 3 and r.rows("gate")[0]["pairs"] <= 8
    assert perfkit("compare", "1", "2", "--exit-code").status == 3


def test_exact_metrics_take_two_pairs(perfkit):
    more = ("--a", "memory=4KiB", "--b", "memory=8KiB", "--metric", "peak_bytes", "--format", "json")
    r = selftest(perfkit, *more)
    row, = r.rows("compare_bytes")
    assert r.status == 3 and (row["verdict"], row["ratio"], row["p"]) == ("slower", 2, None) and r.rows("gate")[0]["pairs"] == 2
    assert "--threshold peak_bytes=105% accepts this one" in r.error()["try"] and "min-effect" not in r.error()["try"]
    assert selftest(perfkit, *more, "--threshold", "peak_bytes=105%").status == 0


@not_sanitized
def test_equal_sides_are_green_whatever_is_known_of_their_noise(perfkit):
    """An exact metric has none."""
    for more in ("--metric", "peak_bytes"), ("--budget", "1ms"):
        r = selftest(perfkit, "--a", "busy_ns=1000", "--b", "busy_ns=1000", *more, "--format", "json")
        assert r.status == 0 and r.rows("gate")[0]["answer"] == "equal", r


@not_sanitized
def test_undecided_fails_on_request_only(perfkit):
    r = random.Random(5)
    a = reporter(perfkit, "a.sh", [round(1e6 * r.uniform(0.8, 1.25)) for _ in range(60)])
    b = reporter(perfkit, "b.sh", [round(1e6 * r.uniform(0.8, 1.25)) for _ in range(60)])
    r = commands(perfkit, a, b, "--format", "json")
    row, = r.rows("compare_ns")
    assert r.status == 0 and "no row is decided: with --fail-on-undecided" in r.stderr, r
    assert row["verdict"] == "undecided" and row["needed"] > 0 and row["mde"] > 0.1
    r = perfkit("compare", "1", "2", "--exit-code", "--fail-on-undecided")
    assert r.status == 4 and "some rows are not decided" in r.error()["what"] and "--max-pairs" not in r.error()["try"]


def test_a_budget_ends_it(perfkit):
    a = script(perfkit, "a.sh", "sleep 0.1\n")
    began = time.monotonic()
    r = perfkit("gate", "--a", "./a.sh", "--b", "./a.sh b", "--budget", "500ms", "--format", "json")
    assert time.monotonic() - began < 5
    assert r.status == 4 and "no row could be judged" in r.error()["what"]
    row, = r.rows("compare_ns")
    assert row["metric"] == "wall_ns" and row["reason"] == "fewer pairs were measured than a verdict needs" and 1 <= row["base_invocations"] <= 3

REPORTS = """import json, os, sys
wire = open(int(os.environ["PERFKIT_WIRE_FD"]), "w")
def say(**m): print(json.dumps(m), file=wire, flush=True)
say(type="case", variant="##[v ##vso[w", axes={"n": 1})
say(type="metric", name="x_ns", unit="ns", direction="lower")
say(type="samples", metric="x_ns", values=[1, 2, 3])
say(type="status", status=sys.argv[1], message="x\\n::error::y\\n  ::z")
"""


@pytest.mark.parametrize("new", ["ok", "failed"])
def test_no_text_in_a_report_is_a_command_of_a_ci_system(perfkit, new):
    """Its file may be printed into a log, or be /dev/stdout."""
    (perfkit.cwd / "reports.py").write_text(REPORTS)
    side = f"{sys.executable} -S -E reports.py "
    files = {"--junit": "j.xml", "--summary": "s.md", "--json": "j.json", "--gab": "g.json"}
    perfkit("gate", "--name", "g", "--a", side + "ok", "--b", side + new, "--max-pairs", "8", "--no-fail", *sum(files.items(), ()))
    texts = {name: (perfkit.cwd / name).read_text() for name in files.values() if (perfkit.cwd / name).exists()}
    assert "j.xml" in texts and ("x\n" in texts["j.xml"] or new == "ok") and ("g.json" in texts or new == "failed")
    for name, text in texts.items():
        assert not re.search(r"^\s*::", text, re.M) and "##[" not in text and "##vso[" not in text, (name, text)
    junit.read(perfkit.cwd / "j.xml")


def test_ctrl_c_keeps_what_was_measured(perfkit):
    script(perfkit, "a.sh", "sleep 0.1\n")
    p = perfkit.start("gate", "--a", "./a.sh", "--b", "./a.sh b", "--format", "json", "--progress", "plain", "--junit", "int.xml")
    for line in p.stderr:
        if b"[3/" in line:  # the warm-up is the first
            break
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20)
    assert p.returncode == 130 and b"interrupted after" in err, err
    assert {s for s, in query(perfkit, "SELECT status FROM v_run")} == {"interrupted"}
    assert json.loads(out)["tables"]["compare_ns"]["rows"][0]["base_invocations"] >= 2
    suite = junit.read(perfkit.cwd / "int.xml")
    assert suite.get("errors") == "1" and "interrupted after" in suite.find("testcase/error[@type='interrupted']").get("message")
    assert "1 undecided: fewer pairs were measured than a verdict needs." in json.loads(out)["tables"]["compare_ns"]["notes"], out
    assert perfkit("compare", "1", "2").status == 0


@not_sanitized
@pytest.mark.parametrize("option", [(), ("--no-save",)])
def test_ctrl_c_before_a_pair_says_where_the_values_are(perfkit, option):
    """Nothing was compared, and what the base measured is stored, unless --no-save keeps it from that."""
    script(perfkit, "a.sh", "[ -z $1 ] || { touch began; sleep 30; }\n")
    p = perfkit.start("gate", "--a", "./a.sh", "--b", "./a.sh b", *option, "--progress", "none")
    for _ in range(200):
        if (perfkit.cwd / "began").exists():
            break
        time.sleep(0.05)
    p.send_signal(signal.SIGINT)
    err = p.communicate(timeout=20)[1].decode()
    assert p.returncode == 130 and "interrupted after 0 pairs" in err, err
    assert "without --no-save, measured values are kept" in err if option else "stored: `perfkit show 1`, `perfkit show 2`" in err, err


@not_sanitized
def test_no_save(perfkit):
    assert selftest(perfkit, *BRIEF, "--no-save").status == 3
    assert not perfkit.db.exists() or query(perfkit, "SELECT count(*) FROM v_run") == [(0,)]


@not_sanitized
def test_against_the_store(perfkit):
    for _ in range(5):
        perfkit("run", "selftest", *NULL, "-i", "2", "--label", "main")
    perfkit("run", "selftest", *NULL, "-i", "2")
    assert perfkit("gate", "--against", "main").status == 0
    r = perfkit("gate", "--against", "main", "@", "--junit", "j.xml", "--format", "json")
    assert r.rows("compare_ns")[0]["verdict"] == "same" and junit.read(perfkit.cwd / "j.xml").get("hostname") == os.uname().nodename
    perfkit("gate", "--against", "nightly").refused(5, "gate --against nightly", "run 'nightly' is not in")
    perfkit("gate", "--against", "main", "nightly").refused(2, "run 'nightly'")
    perfkit("gate", "--against", "main", "--a", "x").refused(2, "--against and --a cannot be combined")
    assert perfkit("gate", "--against", "1", "@").status == 4


def test_verdicts_against_the_store_are_kept(perfkit):
    """With the judged run, by the name of the base; show and history print the rows that are stored."""
    base, slow = reporter(perfkit, "base.sh", [1000000] * 99), reporter(perfkit, "slow.sh", [1060000] * 99)
    store = Stored(perfkit.db)
    for i in range(6):
        figure, label = (1e6, "main") if i < 5 else (1.06e6, "new")
        store.run([("c", {}, {"made_up_ns": [figure, figure]})], label=label, experiment="exec")
    store.db.close()
    stored = "SELECT run_id, base_run_id, base, base_runs, variant, metric, verdict, ratio, margin, criteria ->> 'threshold' FROM v_verdict"
    commands(perfkit, base, slow, "--name", "c", "--max-pairs", "8")  # 7 and 8: a gate that measured both keeps its own rows
    asked = "--against", "main", "new", "-m", "made_up_ns"
    assert perfkit("gate", *asked, "--no-save").status == 3 == perfkit("compare", *asked[1:], "--exit-code").status
    assert query(perfkit, stored + " WHERE base IS NOT NULL") == []
    r = perfkit("gate", *asked, "--threshold", "made_up_ns=3%", "--format", "json")
    first, = r.rows("compare_ns")
    row, = query(perfkit, stored + " WHERE base IS NOT NULL")
    assert r.status == 3 and row == (6, None, "main", "1,2,3,4,5", "c", "made_up_ns", "slower", first["ratio"], 0.03, "made_up_ns=3%"), r
    show = perfkit("show", "6")
    shown, = perfkit("show", "6", "--format", "json").rows("verdicts")
    assert (shown["base"], shown["base_runs"], shown["verdict"], shown["ratio"]) == ("main", "1,2,3,4,5", "slower", first["ratio"])
    assert "perfkit gate --against main 6" in show.stdout, show

    def verdicts():
        rows = perfkit("history", "exec", "--gates", "-m", "made_up_ns", "--format", "json").rows("history_ns")
        return {row["run_id"]: row["verdict"] for row in rows}

    assert verdicts()[6] == verdicts()[8] == "slower"
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE baseline_verdict SET verdict = 'undecided'")
    assert verdicts()[6] == "undecided"
    perfkit("gate", *asked, "--min-effect", "50%")  # replaces them
    perfkit("gate", "--against", "1,2,3,4,5", *asked[2:])  # another base by its name
    assert query(perfkit, "SELECT base, verdict FROM v_verdict WHERE base IS NOT NULL ORDER BY base") == [
        ("1,2,3,4,5", "slower"), ("main", "same")]
    perfkit("gate", "--against", "7", "8")  # two sides of one gate have their rows
    assert query(perfkit, "SELECT count(*) FROM v_verdict") == [(3,)]


def stored_runs(path, *labels):
    """Runs of selftest that took the same time, five of the base and one that is judged, or those of the labels."""
    store = Stored(path)
    for label in labels or ["main"] * 5 + ["new"]:
        store.run([("ok", {"busy_ns": 100000}, {"work_ns": [1e5, 1e5]})], label=label or None, experiment="selftest", device="null")
    store.db.close()


@not_sanitized
def test_verdicts_against_the_store_stay_in_the_own_store(perfkit):
    other = perfkit.cwd / "other.db"
    stored_runs(other)
    before = other.read_bytes()
    r = perfkit("gate", "--against", f"{other}:main", f"{other}:new")
    assert r.status == 0 and other.read_bytes() == before and not perfkit.db.exists(), r
    stored_runs(perfkit.db, "")
    assert perfkit("gate", "--against", f"{other}:main", "@").status == 0
    assert query(perfkit, "SELECT run_id, base, base_runs FROM v_verdict") == [(1, f"{other}:main", "1,2,3,4,5")]
    assert perfkit("db", "merge", str(perfkit.db), "--db", other).status == 0
    assert query(other, "SELECT run_id, base, verdict FROM v_verdict") == [(7, f"{other}:main", "same")]
    assert perfkit("run", "selftest", *NULL).status == 0 == perfkit("db", "prune", "--keep", "1").status
    assert query(perfkit, "SELECT count(*) FROM baseline_verdict") == [(0,)]
    (perfkit.cwd / "s.ini").write_text("[selftest]\nvariant = ok\ndevice = null\nmax-samples = 5\nmin-time = 0\n")
    stored_runs(perfkit.db)
    query(perfkit, "UPDATE run SET tags = json_object('suite', 's', 'entry', 'selftest') WHERE label IN ('main', 'new')")
    assert perfkit("gate", "--suite", "s.ini", "--against", "main", "new").status == 0
    assert query(perfkit, "SELECT base, verdict FROM v_verdict") == [("main", "same")]


@not_sanitized
def test_verdicts_that_cannot_be_kept_are_a_warning(perfkit):
    stored_runs(perfkit.db)
    perfkit.db.chmod(0o444)
    perfkit.db.parent.chmod(0o555)
    r = perfkit("gate", "--against", "main", "new", "--db", perfkit.db)
    perfkit.db.parent.chmod(0o755)
    assert r.status == 0 and (os.getuid() == 0 or "the verdicts are not recorded" in r.stderr), r


@not_sanitized
@pytest.mark.parametrize("base", [("one",), ("main", "main", "main")])
def test_few_runs_have_the_stored_ratio_that_was_printed(perfkit, base):
    """Without a verdict of their own: the ratio and its interval are those of the figures."""
    store, figures = Stored(perfkit.db), [1.0e6, 1.3e6, 1.1e6, 2.9e6]
    for i, label in enumerate((*base, "new")):
        store.run([("c", {}, {"made_up_ns": [x * (1 + 0.3 * i) for x in figures]})], label=label, experiment="exec")
    store.db.close()
    r = perfkit("gate", "--against", base[0], "new", "-m", "made_up_ns", "--format", "json")
    row, = r.rows("compare_ns")
    printed = row["ratio"], row["ratio_low"], row["ratio_high"], row["p"]
    assert row["verdict"] == "unreplicated" and None not in printed[:3], r
    assert query(perfkit, "SELECT ratio, ratio_low, ratio_high, p FROM v_verdict") == [printed]
    shown, = perfkit("show", "new", "--format", "json").rows("verdicts")
    assert (shown["ratio"], shown["ratio_low"], shown["ratio_high"]) == printed[:3]


@not_sanitized
def test_a_stored_ratio_without_interval_is_printed_by_compare(perfkit):
    """Of one pair."""
    base, new = reporter(perfkit, "base.sh", [5, 7, "", "", ""]), reporter(perfkit, "new.sh", [5, 9, "", "", ""])
    row, = commands(perfkit, base, new, "--format", "json").rows("compare_ns")
    stored = query(perfkit, "SELECT ratio, ratio_low, verdict FROM v_verdict")
    assert stored == [(row["ratio"], row["ratio_low"], row["verdict"])] and row["ratio"] == pytest.approx(9 / 7)
    query(perfkit, "UPDATE verdict SET ratio = 1.25")
    again, = perfkit("compare", "1", "2", "--format", "json").rows("compare_ns")
    assert again["ratio"] == 1.25


@not_sanitized
def test_metrics_that_a_gate_refused_are_not_applied_to_its_runs(perfkit):
    """What a command reports is known after its first pairs, when the runs of the gate are stored."""
    script(perfkit, "a.sh", "sleep 0.002\n")
    perfkit("gate", "--a", "./a.sh", "--b", "./a.sh b", "--metric", "bogus").refused(2, "bogus")
    for args in (("compare", "1", "2"), ("gate", "--against", "1", "2", "--no-fail")):
        r = perfkit(*args)
        assert r.status == 0 and "--metric bogus of the gate is not applied: no case has such a metric." in r.stdout, r
        assert [row["metric"] for row in perfkit(*args, "--format", "json").rows("compare_ns")] == ["wall_ns"]
    assert perfkit("report", "1", "2").status == 0
    perfkit("compare", "1", "2", "--metric", "bogus").refused(2, "bogus")


def test_a_merge_maps_the_runs_of_a_base(perfkit):
    """A run of the base that this store has keeps the id that it has here; one that neither store has says so."""
    other, third, plain = perfkit.cwd / "other.db", perfkit.cwd / "third.db", perfkit.cwd / "plain"
    for path in (other, third, plain):
        stored_runs(path)
    for base in ("main", "1,2,3,4,5", "4,main", f"{third}:main", "plain:main"):
        assert perfkit("gate", "--against", base, "new", db=other).status == 0, base
    query(other, "UPDATE run SET label = 'old/1:rc' WHERE id = 3")
    assert perfkit("gate", "--against", "old/1:rc", "new", "--no-fail", db=other).status == 0
    query(other, "UPDATE run SET label = NULL WHERE id = 5")
    with sqlite3.connect(other) as db:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("DELETE FROM run WHERE id = 4")
    stored_runs(perfkit.db, "x", "y")
    (uuid,), = query(other, "SELECT uuid FROM run WHERE id = 2")
    query(perfkit, "UPDATE run SET uuid = ? WHERE id = 1", uuid)
    assert perfkit("db", "merge", other).status == 0
    assert query(perfkit, "SELECT id FROM run ORDER BY id") == [(i,) for i in range(1, 7)]
    assert query(perfkit, "SELECT base, base_runs FROM v_verdict WHERE run_id = 6 ORDER BY length(base), base") == [
        ("main", "3,1,4,?4,5"), ("?4,main", "?4,3,1,4,5"), ("old/1:rc", "4"), ("3,1,4,?4,5", "3,1,4,?4,5"), ("plain:main", "1,2,3,4,5"),
        (f"{third}:main", "1,2,3,4,5")]
    notes = perfkit("show", "6").stdout
    assert "`perfkit gate --against main 6`" in notes and "--against ?4" not in notes and "--against 3,1,4" not in notes
    again = perfkit.cwd / "again.db"
    stored_runs(again, "z")
    assert perfkit("db", "merge", perfkit.db, "--db", again).status == 0
    assert query(again, "SELECT base_runs FROM v_verdict WHERE base = 'main'") == [("4,2,5,?4,6",)]


@not_sanitized
def test_show_keeps_the_judgements_of_a_run_apart(perfkit):
    """The gate that measured it, then each base: with headings of their own, and reasons in the words of compare."""
    base, new = reporter(perfkit, "a.sh", [0] * 99), reporter(perfkit, "b.sh", [0] * 99)
    perfkit("exec", "--runs", "3", "--no-counters", "--name", "b.sh", "--label", "old", "--", "./a.sh")
    commands(perfkit, base, new, "--name", "b.sh", "-m", "made_up_ns", "-m", "wall_ns", "--no-fail")
    perfkit("gate", "--against", "old", "3", "-m", "made_up_ns", "--allow-host-mismatch", "--no-fail")
    r = perfkit("show", "3", "--tables", "verdicts", "--width", "0")
    rows = perfkit("show", "3", "--format", "json").rows("verdicts")
    assert [(row["base"], row["metric"]) for row in rows] == [(None, "made_up_ns"), (None, "wall_ns"), ("old", "made_up_ns")], r
    assert (rows[0]["difference"], rows[0]["unit"]) == (0, "ns") and rows[1]["unit"] is None and rows[2]["reason"] == "few-runs", rows
    assert "Base run" in r.stdout and "Against" in r.stdout and "few-runs" not in r.stdout, r
    assert "Against old: 1 unreplicated: fewer separate runs in the baseline than a verdict needs." in r.stdout, r


@not_sanitized
def test_exact_figures_of_stored_runs_are_equal_to_the_last_digit(perfkit):
    """A run of several processes is one figure, which is theirs where they agree: their mean was a digit off."""
    for label in ["main"] * 5 + ["new"]:
        perfkit("run", "selftest", *NULL, "-i", "3", "-a", "memory=4KiB,5KiB,7KiB", "--label", label)
    r = perfkit("gate", "--against", "main", "new", "-m", "peak_bytes", "--format", "json")
    assert r.status == 0 and [row["verdict"] for row in r.rows("compare_bytes") if row["row"] == "case"] == ["same"] * 3, r


@not_sanitized
def test_compare_of_two_commands_has_the_rows_of_their_gate(perfkit):
    script(perfkit, "c.sh", "sleep 0.002\n")
    reporter(perfkit, "d.sh", [5] * 99)
    for name, metric in (("c.sh", "wall_ns"), ("d.sh", "made_up_ns")):
        r = perfkit("gate", "--a", f"./{name}", "--b", f"./{name} b", "--min-effect", "900%", "--format", "json")
        assert [t["metric"] for t in r.rows("compare_ns")] == [metric], r
        for again in (("compare", "@~1", "@"), ("gate", "--against", "@~1", "@")):
            assert [t["metric"] for t in perfkit(*again, "--format", "json").rows("compare_ns")] == [metric]
    metrics = {t["metric"] for t in perfkit("compare", "@~1", "@", "--all-metrics", "--format", "json").rows("compare_ns")}
    assert {"wall_ns", "user_ns", "made_up_ns"} <= metrics


@not_sanitized
def test_a_side_of_a_gate_is_compared_with_what_exec_measured(perfkit):
    reporter(perfkit, "a.sh", [5] * 99)
    assert perfkit("gate", "--a", "./a.sh", "--b", "./a.sh b", "--metric", "made_up_ns").status == 0
    assert perfkit("exec", "--runs", "5", "--no-counters", "--name", "a.sh", "--", "./a.sh").status == 0
    for pair in (("2", "3"), ("3", "2")):
        r = perfkit("compare", *pair, "--metric", "made_up_ns", "--format", "json")
        assert r.status == 0 and "setups differ" not in r.stdout, r
        assert r.rows("compare_ns")[0]["verdict"] == "unreplicated"


# --- for others ---


@not_sanitized
def test_reports(perfkit):
    r = perfkit("gate", "selftest", "--device", "null", "--max-samples", "5", "--min-time", "0", "-v", "ok,instances,exit", *BRIEF,
                "--junit", "j.xml", "--summary", "s.md", "--json", "j.json", "--gab", "g.json", "--gab-bigger", "none.json",
                env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": perfkit.cwd / "step.md"})
    assert r.status == 1, r
    suite = junit.read(perfkit.cwd / "j.xml")
    assert {k: suite.get(k) for k in ("tests", "failures", "errors", "skipped")} == {
        "tests": "5", "failures": "3", "errors": "2", "skipped": "0"}
    assert suite.get("hostname") == os.uname().nodename and float(suite.get("time")) > 0
    with sqlite3.connect(perfkit.db) as db:
        assert db.execute("SELECT substr(started_at, 1, 19) FROM v_run ORDER BY run_id DESC").fetchone() == (suite.get("timestamp"),)
    names = [(t.get("classname"), t.get("name")) for t in suite.iter("testcase")]
    assert len(set(names)) == 5 and ("perfkit.selftest.part_ns", "instances") in names
    failure = suite.find("testcase/failure")
    assert failure.get("type") == "slower" and "+5.0 %" in failure.get("message") and "proved" not in failure.get("message")
    assert "exit status 7" in suite.find("testcase/error").get("message")
    assert "| Verdict |" in (perfkit.cwd / "s.md").read_text() == (perfkit.cwd / "step.md").read_text()
    assert json.loads((perfkit.cwd / "j.json").read_text())["tables"]["gate"]["rows"][0]["slower"] == 3
    figures = json.loads((perfkit.cwd / "g.json").read_text())
    assert {f["name"] for f in figures} == {"work_ns ok", "work_ns instances", "part_ns instances"}
    assert all(f["unit"] == "ns" and f["value"] > 0 for f in figures) and not (perfkit.cwd / "none.json").exists()
    assert "--gab-bigger: no compared metric has the direction of this format: 'none.json' is not written" in r.stderr
    annotations = [line for line in r.stderr.splitlines() if line.startswith("::")]
    assert annotations[0] == "::error title=perfkit gate selftest%3A slower::3 rows slower" and len(annotations) == 6
    assert "+5.0 %25" in annotations[1]


def test_a_report_that_cannot_be_written_is_said_before_measuring(perfkit):
    selftest(perfkit, *SLOWER, "--junit", "no/such/folder/j.xml").refused(1, "no/such/folder/j.xml", "create its directory")
    selftest(perfkit, *SLOWER, "--junit", "x", "--json", "./x").refused(2, "--junit and --json name the same file './x'")
    selftest(perfkit, *SLOWER, "--gab", "x", "-o", f"{perfkit.cwd}/x").refused(2, "-o and --gab name the same file 'x'")
    assert not perfkit.db.exists()


@not_sanitized
def test_a_report_that_turns_out_not_to_be_writable_hides_nothing(perfkit):
    full = ("--json", "/dev/full", "--junit", "/dev/full", "--gab", "g.json", "--summary", "/dev/full")
    r = selftest(perfkit, *BRIEF, *full, "--no-save")
    assert r.status == 3 and "b (busy_ns=" in r.error()["what"], r
    for option in "--json", "--junit", "--summary":
        assert f"perfkit: {option}: cannot write the file '/dev/full'\n  why: No space left on device\n" in r.stderr, r
    assert json.loads((perfkit.cwd / "g.json").read_text())
    r = selftest(perfkit, *SLOWER, "--min-effect", "50%", "--no-save", *full[2:4])
    assert r.status == 1 and r.error()["what"] == "--junit: cannot write the file '/dev/full'", r
    r = perfkit("gate", "--against", "nightly", *full[:2], "--db", "none.db")
    assert r.status == 5 and "--json: cannot write the file '/dev/full'" in r.stderr, r


ENDS = [
    (("selftets", "--a", "x", "--b", "y"), 2, "error", "selftets"),
    (("selftest", "--a", "busy_ns=1"), 2, "error", "--b is missing: "),
    (("selftest", *SLOWER, "--prepare", "x"), 2, "error", "--prepare has no effect here: "),
    (("--a", "true", "--b", "no-such-program"), 2, "error", "--b: cannot run 'no-such-program': "),
    (("selftest", *NULL, *SLOWER, "--threshold", "work_ns"), 2, "error", "--threshold 'work_ns' is invalid: "),
    (("selftest", *NULL, *SLOWER, "--threshold", "wark_ns=5%"), 2, "error", "--threshold 'wark_ns=5%' matches no metric: "),
    (("--a", "true", "--b", "sh -c true", "--threshold", "wark_ns=5%"), 2, "error", "--threshold 'wark_ns=5%' matches no metric: "),
    (("selftest", *NULL, *SLOWER, "--filter", "busy_ns=7"), 6, "nothing judged", "the filter 'busy_ns=7' matches no case: "),
    (("selftest", *NULL, *SLOWER, "--db", "."), 1, "error", "store .: cannot open it: "),
    (("--suite", "none.ini", "--a", "x", "--b", "y"), 2, "error", "none.ini"),
    (("--suite", "s.ini", "--a", "x", "--b", "y"), 2, "error", "s.ini:2: there is no key 'thershold' in [selftest]: "),
    (("--suite", "s.ini", "--against", "main"), 2, "error", "s.ini:2: "),
    (("--against", "nightly"), 5, "not comparable", "gate --against nightly: "),
    (("self\udcfftest", "--a", "x", "--b", "y"), 2, "error", "self?test"),
    (("selftest", *NULL, *SLOWER, "--json", "no/such/j.json"), 1, "error", "--json: cannot write "),
    (("selftest", *NULL, *SLOWER, "--gab", "j.xml"), 2, "error", "--junit and --gab name the same file"),
]


@pytest.mark.parametrize("args, status, word, says", ENDS)
def test_an_end_without_a_verdict_is_red_in_reports(perfkit, args, status, word, says):
    (perfkit.cwd / "s.ini").write_text("[selftest]\nthershold = x\n")
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": perfkit.cwd / "step.md", "GITHUB_OUTPUT": perfkit.cwd / "out"}
    r = perfkit("gate", *args, "--junit", "j.xml", "--summary", "s.md", env=env)
    assert r.status == status and r.stdout == "", r
    suite = junit.read(perfkit.cwd / "j.xml")
    error, = suite.findall("testcase/error")
    assert suite.get("tests") == "1" and error.get("type") == word and says in error.get("message"), error.attrib
    summary = (perfkit.cwd / "s.md").read_text()
    assert says.replace("?", "\ufffd") in re.sub(r"\\([][_*])", r"\1", summary)  # as markdown shows it
    assert summary == (perfkit.cwd / "step.md").read_text()
    assert (perfkit.cwd / "out").read_text().startswith(f"verdict={word}\nrows=0\n"), r
    annotation, = [line for line in r.stderr.splitlines() if line.startswith("::")]
    assert annotation.startswith("::error title=perfkit gate") and f": {word}::" in annotation.replace("%3A", ":"), annotation


@not_sanitized
def test_no_fail_reports_errors_all_the_same(perfkit):
    r = perfkit("gate", "--no-fail", "--a", "true", "--b", "sh -c true", "--threshold", "wark_ns=5%", "--junit", "j.xml")
    assert r.status == 2 and "wark_ns" in junit.read(perfkit.cwd / "j.xml").find("testcase/error").get("message"), r
    r = selftest(perfkit, *BRIEF, "--no-fail", "--junit", "/dev/full", "--no-save")  # slower, which is no failure here
    assert r.status == 1 and r.error()["what"] == "--junit: cannot write the file '/dev/full'", r


def test_cases_in_reports_are_named_as_tables_name_them(perfkit):
    r = perfkit("gate", "selftest", "--device", "null", "-v", "exit", *SLOWER, "--junit", "j.xml", env={"GITHUB_ACTIONS": "true"})
    assert r.status == 1 and "ended 'failed' in exit input=random memory=4096" in r.error()["what"], r
    annotations = [line for line in r.stderr.splitlines() if line.startswith("::")]
    assert len(annotations) == 2 and all("::exit input=random memory=4096: " in line for line in annotations), annotations


# --- what goes wrong ---


@pytest.mark.parametrize("args, status, words", [
    ((), 2, ("--a is missing", "two sides")),
    (("--a", "true"), 2, ("--b is missing",)),
    (("--a", "", "--b", "true"), 2, ("--a is missing",)),
    (("--a", "no-such-program", "--b", "true"), 2, ("--a: cannot run 'no-such-program'", "PATH")),
    (("--a", "true", "--b", "cat x | wc"), 2, ("--b", "needs a shell", "'|'", "sh -c")),
    (("--a", "true", "--b", "cat x|wc"), 2, ("--b", "needs a shell", "'|'")),
    (("--a", "true", "--b", "echo $HOME"), 2, ("needs a shell", "only a shell understands '$HOME'", "single quotes")),
    (("--a", "true", "--b", 'echo "a ${X} b"'), 2, ("needs a shell", "'${X}'")),
    (("--a", "true", "--b", "ls *"), 2, ("needs a shell", "'*'")),
    (("--a", "true", "--b", "ls ~/x"), 2, ("needs a shell", "'~'")),
    (("--a", "true", "--b", "X=1 true"), 2, ("only a shell would set the variable 'X=1'", "--b 'env X=1 true'")),
    (("--a", "true 'x", "--b", "true"), 2, ("--a", "a quote is not closed")),
    (("--a", "true", "--b", "true", "--variant", "ok"), 2, ("--variant has no effect here", "none is given")),
    (("selftest", "--a", "busy_ns=1", "--b", "busy_ns=2", "--name", "x"), 2, ("--name has no effect here", "is an experiment")),
    (("selftest", "--a", "bussy_ns=1", "--b", "busy_ns=2"), 2, ("--a: ", "'bussy_ns'", "busy_ns")),
    (("selftest", "--a", "busy_ns=1", "--b", "busy_ns=1,2"), 2, ("--b busy_ns=1,2 has several values",)),
    (("selftest", "--a", "busy_ns=1", "--b", "true"), 2, ("not of the same kind",)),
    (("selftest", "--a", "nowhere/build", "--b", "nowhere"), 2, ("--a: cannot run 'nowhere/build'", "a build of perfkit")),
    (("selftets", "--a", "x", "--b", "y"), 2, ("selftets",)),
    (("--a", "true", "--b", "true", "--min-effect", "0"), 2, ("--min-effect",)),
    (("--a", "true", "--b", "true", "--alpha", "60%"), 2, ("--alpha",)),
    (("--a", "true", "--b", "true", "--min-effect", "100000%"), 2, ("from 0.0001% to 1000%", "--min-effect 1000% or less")),
    (("--a", "true", "--b", "true", "--alpha", "0"), 2, ("0 is out of range", "% or more")),
    (("--a", "true", "--b", "true", "--min-effect", "2"), 2, ("'2' means 2 times as much, not 2 %", "write 2%, or 200%")),
    (("--a", "true", "--b", "true", "--threshold", "wall_ns=5"), 2, ("--threshold 'wall_ns=5' is invalid", "no unit", "20us")),
    (("--a", "true", "--b", "true", "--max-pairs", "3"), 2, ("--max-pairs",)),
    (("--a", "true", "--b", "true", "--threshold", "wall_ns=fast"), 2, ("--threshold 'wall_ns=fast'",)),
    (("--a", "true", "--b", "true", "--threshold", "wall_ns=20us,fast"), 2, ("--threshold 'wall_ns=20us,fast'", "a positive number")),
    (("--a", "true", "--b", "true", "--threshold", "[n=1]=5%"), 2, ("--threshold '[n=1]=5%'", "is required before the brackets")),
    (("--a", "true", "--b", "true", "--threshold", "wal_ns=5%"), 2, ("--threshold 'wal_ns=5%'", "no compared metric is wal_ns")),
    (("--a", "true", "--b", "true", "--metric", "wal_ns"), 2, ("'wal_ns'", "'wall_ns'")),
    (("selftest", "--device", "null", "--a", "variant=ok", "--b", "variant=nokk"), 2, ("nokk",)),
])
def test_bad_input(perfkit, args, status, words):
    perfkit("gate", *args).refused(status, *words)


@not_sanitized
@pytest.mark.parametrize("option, asked, words", [
    ("--threshold", "wark_ns=5%", ("matches no metric", "did you mean 'work_ns'?")),
    ("--threshold", "work_host_ns=5%", ("matches no metric", "add --metric work_host_ns to compare it, or one of: work_ns")),
    ("--threshold", "nosuch=5%", ("matches no metric", "is nosuch\none of: work_ns")),
    ("--threshold", "work_ns[variant=okk]=5%", ("matches no case", "no compared case has variant=okk", "variant: did you mean 'ok'?")),
    ("--threshold", "work_ns[variant=ok,inputs=zero]=5%", ("matches no case", "no compared case has inputs=zero", "did you mean 'input'?")),
    ("--threshold", "work_ns[input=randm]=5%", ("matches no case", "input: did you mean 'random'?")),
    ("--threshold", "work_ns=5KiB", ("its unit is not the metric's",)),
    ("--metric", "wark_ns", ("metric 'wark_ns' is unknown", "selftest has no such metric", "'work_ns'")),
])
def test_what_is_asked_of_nothing_is_refused_before_measuring(perfkit, option, asked, words):
    """An experiment's metrics and cases are known: with --dry-run, too."""
    for more in (), ("--dry-run",):
        selftest(perfkit, *SLOWER, option, asked, *more).refused(2, f"{option[2:]}", *words)
    with sqlite3.connect(perfkit.db) as db:
        assert db.execute("SELECT count(*) FROM v_run").fetchone() == (0,)


@pytest.mark.parametrize("wrong", [("wark_ns=5%", "work_ns[variant=okk]=5%", "work_ns=5KiB"), ("work_ns", "work_ns=fast")])
def test_every_wrong_threshold_is_said(perfkit, wrong):
    r = selftest(perfkit, *SLOWER, *(word for text in wrong for word in ("--threshold", text)))
    assert r.status == 2 and all(f"--threshold '{text}' " in r.stderr for text in wrong), r


@not_sanitized
def test_every_wrong_thing_asked_of_commands_is_said(perfkit):
    """After two pairs, when it is known what they report."""
    thresholds = "wal_ns=5%", "wall_ns=5KiB", "*[variant=x]=1%"
    asked = [word for text in thresholds for word in ("--threshold", text)]
    r = perfkit("gate", "--a", "true", "--b", "sh -c true", *asked)
    assert r.status == 2 and r.stdout == "" and r.stderr.count("\n  why: ") == 3, r
    assert all(f"--threshold '{text}' " in r.stderr for text in thresholds), r
    r = perfkit("gate", "--a", "true", "--b", "sh -c true", "-m", "one", "-m", "wall_ns", "-m", "two", *asked[:2])
    assert r.status == 2 and r.stderr.count("\n  why: ") == 3 and "'one' is unknown" in r.stderr and "'two' is unknown" in r.stderr, r


@not_sanitized
def test_a_case_that_fails_is_said_before_what_is_asked_of_it(perfkit):
    r = selftest(perfkit, "-v", "ok,crash", *SLOWER, "--threshold", "work_ns[variant=crash]=5%")
    assert r.status == 1 and "ended 'failed' in crash" in r.error()["what"], r


@not_sanitized
def test_so_much_of_any_metric_is_in_one_unit(perfkit):
    """20 us are no 20000 bytes."""
    twice = "--a", "busy_ns=100000 memory=4KiB", "--b", "busy_ns=101000 memory=8KiB", "-m", "work_ns", "-m", "peak_bytes"
    for threshold in "*=20us", "*=5%,20us":
        r = selftest(perfkit, *twice, "--threshold", threshold, "--min-effect", "0.5%", "--format", "json", "--no-save")
        assert r.status == 3 and r.rows("compare_bytes")[0]["verdict"] == "slower" and r.rows("compare_ns")[0]["verdict"] == "same", r
    selftest(perfkit, *twice[:4], "-m", "peak_bytes", "--threshold", "*=20us").refused(2, "its unit is not the metric's, which is in bytes")


@pytest.mark.parametrize("options, heading, pairs, turns", [
    ((), "Pairs", (6, 14), "a new seed, of the id of the base run."),
    (("--max-pairs", "60", "--seed", "7"), "Pairs", (18, 42), "--seed 7."),
    (("--until-clear",), "Pairs at most", (30, None), "a new seed"),
])
def test_a_dry_run_says_what_would_be_measured(perfkit, options, heading, pairs, turns):
    r = selftest(perfkit, *SLOWER, *options, "--dry-run")
    assert r.status == 0 and heading in r.stdout and "Before them one pair for warm-up, which is not judged." in r.stdout, r
    assert f"Order of turns: {turns}" in r.stdout, r
    row, = selftest(perfkit, *SLOWER, *options, "--dry-run", "--format", "json").rows("gate_plan")
    assert (row["pairs"], row["confirm_pairs"]) == pairs
    row, = selftest(perfkit, "--a", SLOWER[1], "--b", SLOWER[1], "--dry-run", "--format", "json").rows("gate_plan")
    assert (row["pairs"], row["confirm_pairs"]) == (6, None), "both sides are equal"


def test_a_gate_is_read_in_80_columns(perfkit):
    """Its one row is lines of key and value: nothing is left out, and no cell is cut."""
    values = noisy(3, 1e6)
    base, slow = reporter(perfkit, "base.sh", values), reporter(perfkit, "slow.sh", [v * 2 if i % 2 else v for i, v in enumerate(values)])
    r = commands(perfkit, base, slow, "--width", "80")
    assert r.status == 3 and "slower-in-some" in r.stdout and all(len(line) <= 80 for line in r.stdout.splitlines()), r
    gate = r.stdout.split("\nGate\n")[1]
    for key in ("Outcome +slower", "Slower in some +1", "Unstable +0", "Seed +[0-9]+"):
        assert re.search(key, gate), r


def test_what_a_command_will_report_is_not_known(perfkit):
    sides = ("--a", "true", "--b", "sh -c true")
    said = "--threshold and --metric are validated after the first two pairs"
    r = perfkit("gate", *sides, "--threshold", "wal_ns=5%", "--dry-run")
    assert r.status == 0 and said in r.stdout, r
    assert said not in perfkit("gate", *sides, "--dry-run").stdout
    assert said not in selftest(perfkit, *SLOWER, "--threshold", "work_ns=5%", "--dry-run").stdout


@not_sanitized
def test_a_command_that_fails_on_one_side(perfkit):
    good = script(perfkit, "good.sh", "sleep 0.01\n")
    bad = script(perfkit, "bad.sh", "echo the disk is on fire >&2; exit 3\n")
    r = commands(perfkit, good, bad)
    assert r.status == 1 and "the judged side (--b ./bad.sh) ended 'failed'" in r.error()["what"], r
    assert "again:" not in r.stderr and "calibrate" not in r.stdout
    assert "exit status 3" in r.error()["why"] and "the disk is on fire" in r.error()["why"]
    r = commands(perfkit, bad, good, "--format", "json")
    assert r.status == 1 and "the base (--a ./bad.sh)" in r.error()["what"]
    assert [(t["side"], t["status"]) for t in r.rows("not_compared")] == [("a", "failed")]


def test_a_side_that_is_no_command_is_named_once(perfkit):
    assert perfkit("gate", "--a", "true", "--b", "echo $HOME").error()["what"] == "--b 'echo $HOME' needs a shell"
    assert perfkit("gate", "--a", "x 'y", "--b", "true").error()["what"] == "--a 'x 'y' is not a command"


def test_words_of_a_command(perfkit):
    script(perfkit, "words.sh", 'for w; do printf "<%s>" "$w" >&2; done; exit 3\n')
    r = perfkit("gate", "--a", "true", "--b", """./words.sh "" a\\ b 'c | $d' "\\$HOME *" e"f"'g' \\|""")
    assert r.status == 1 and r.error()["why"].endswith("last output: <><a b><c | $d><$HOME *><efg><|>"), r


@not_sanitized
def test_a_side_that_fails_is_the_test_that_its_row_was(perfkit):
    for b in ("./good.sh b", "./bad.sh"):
        script(perfkit, "good.sh", "sleep 0.01\n")
        script(perfkit, "bad.sh", "exit 3\n")
        perfkit("gate", "--a", "./good.sh", "--b", b, "--name", "c", "--min-effect", "900%", "--junit", f"{len(b)}.xml")
    names = [junit.read(perfkit.cwd / f"{n}.xml").find("testcase").attrib for n in (len("./good.sh b"), len("./bad.sh"))]
    assert [n["name"] for n in names] == ["c", "c"]
    assert [n["classname"] for n in names] == ["perfkit.exec.wall_ns", "perfkit.exec.side.b"]


@not_sanitized
def test_a_report_is_red_when_nothing_is_decided(perfkit):
    script(perfkit, "a.sh", "sleep 0.02\n")
    assert perfkit("gate", "--a", "./a.sh", "--b", "./a.sh b", "--budget", "1ms", "--junit", "j.xml").status == 4
    suite = junit.read(perfkit.cwd / "j.xml")
    assert suite.get("errors") == "1" and "no row could be judged" in suite.find("testcase/error[@type='undecided']").get("message")


def test_a_command_that_fails_without_a_word(perfkit):
    bad = script(perfkit, "bad.sh", "echo FAILED: assertion 7; exit 3\n")
    r = perfkit("gate", "--a", "true", "--b", f"./{bad.name}")
    assert r.status == 1 and "it wrote nothing to stderr, and its stdout is not kept" in r.error()["try"], r


def test_a_command_that_never_ends(perfkit):
    good, endless = script(perfkit, "good.sh", "true\n"), script(perfkit, "endless.sh", "sleep 1000\n")
    r = commands(perfkit, good, endless, "--timeout", "200ms")
    assert r.status == 1 and "--b ./endless.sh" in r.error()["what"] and "'timeout'" in r.error()["what"]
    assert "--timeout" in r.error()["try"]


def test_a_build_that_crashes(perfkit):
    bad = script(perfkit, "bad", "echo no such kernel >&2; exit 9\n")
    r = selftest(perfkit, "--a", BINARY, "--b", f"./{bad.name}")
    assert r.status == 1 and "the judged side (--b ./bad)" in r.error()["what"] and "no such kernel" in r.error()["why"]
    r = perfkit("gate", "selftest", "--device", "null", "-v", "crash", *SLOWER, "--no-save")
    assert r.status == 1 and "signal 11" in r.error()["why"]


def test_units_that_differ(perfkit):
    a = reporter(perfkit, "a.sh", [5] * 9, unit="ns", metric="latency")
    b = reporter(perfkit, "b.sh", [5] * 9, unit="us", metric="latency")
    r = commands(perfkit, a, b)
    assert r.status == 5 and 'latency is in "' in r.error()["why"], r
    for n in "a.sh.n", "b.sh.n":
        (perfkit.cwd / n).unlink()
    r = commands(perfkit, a, b, "--metric", "wall_ns", "--min-effect", "900%", "--max-pairs", "8")
    assert r.status in (0, 4) and re.search(r"unmatched: latency of .* \(other unit\)", r.stdout), r  # another one is chosen


@not_sanitized
def test_directions_that_are_opposite(perfkit):
    """Whatever is measured, nobody can say which side is better: neither now nor from the store."""
    a = reporter(perfkit, "a.sh", [5] * 9, direction="lower", metric="m")
    b = reporter(perfkit, "b.sh", [5] * 9, direction="higher", metric="m")
    for one, other in (a, b), (b, a):
        r = commands(perfkit, one, other, "--metric", "m", "--no-save", "--format", "json")
        assert r.status == 5 and "m is better when " in r.error()["why"] and "under two names" in r.error()["try"], r
        assert [(t["metric"], t["status"]) for t in r.rows("not_compared")] == [("m", "other direction")], r
    for name in "a.sh", "b.sh":
        assert perfkit("exec", "--runs", "2", "--no-counters", "--name", "c", "--label", name[0], "--", f"./{name}").status == 0
    perfkit("compare", "a", "b", "--metric", "m").refused(5, "have no case in common", "direction of the metrics: lower in ")
    r = perfkit("compare", "a", "b", "--metric", "m", "--exit-code", "--format", "json")
    assert r.status == 5 and [(t["metric"], t["status"]) for t in r.rows("not_compared")] == [("m", "other direction")], r
    r = perfkit("compare", "a", "b", "--all-metrics", "--format", "json")
    assert [(t["metric"], t["status"]) for t in r.rows("not_compared")] == [("m", "other direction")], r
    assert "m is better when lower in " in r.rows("not_compared")[0]["message"]


@not_sanitized
def test_a_direction_that_went_away(perfkit):
    """What the base judges, the new side reports without direction: it would not be judged, and the gate green."""
    a = reporter(perfkit, "a.sh", [5] * 9, direction="lower", metric="m_ns")
    b = reporter(perfkit, "b.sh", [50] * 9, direction="none", metric="m_ns")
    for more in ((), ("--allow-missing",)):
        for n in "a.sh.n", "b.sh.n":
            (perfkit.cwd / n).unlink(missing_ok=True)
        r = commands(perfkit, a, b, "--format", "json", "--junit", "j.xml", *more)
        assert r.status == 5 and [(t["metric"], t["status"]) for t in r.rows("not_compared")] == [("m_ns", "other direction")], r
        assert "m_ns is better when lower on the base side and has no direction on the new side" in r.stderr, r
        assert "<error" in (perfkit.cwd / "j.xml").read_text()
    for name in "a.sh", "b.sh":
        assert perfkit("exec", "--runs", "2", "--no-counters", "--name", "c", "--label", name[0], "--", f"./{name}").status == 0
    r = perfkit("compare", "a", "b", "--exit-code", "--format", "json")
    assert r.status == 5 and ("m_ns", "other direction") in [(t["metric"], t["status"]) for t in r.rows("not_compared")], r
    r = perfkit("compare", "b", "a", "--exit-code", "--format", "json")  # it gained one
    assert "other direction" not in r.stdout, r


def test_a_metric_without_direction(perfkit):
    a = reporter(perfkit, "a.sh", [5] * 9, direction="none", metric="colour")
    r = commands(perfkit, a, a, "--metric", "colour")
    assert r.status == 2 and "metric 'colour' cannot be judged" in r.error()["what"] and "direction" in r.error()["why"]


@not_sanitized
def test_huge_figures_have_an_exponent(perfkit):
    """In tables, in sentences and in what is for others: nobody reads 300 digits."""
    a, b = reporter(perfkit, "a.sh", [1] * 9), reporter(perfkit, "b.sh", ["1e300"] * 9)
    r = commands(perfkit, a, b, "--max-pairs", "8", "--summary", "s.md")
    assert r.status == 3 and "slower, +1e+302 % (+1e+302 to +1e+302 %)" in r.error()["what"], r
    said = [r, perfkit("show", "@"), perfkit("compare", "@~1", "@"), perfkit("history", "exec", "--gates", "--metric", "made_up_ns")]
    texts = [s.stdout + s.stderr for s in said] + [(perfkit.cwd / "s.md").read_text()]
    assert all(" 1e+29" in text and not re.search(r"\d{20}", text) for text in texts), texts


@not_sanitized
def test_a_gate_that_judges_nothing_is_not_green(perfkit):
    a = reporter(perfkit, "a.sh", [1000] * 9, direction="none", metric="x_ns")
    b = reporter(perfkit, "b.sh", [1050] * 9, direction="none", metric="x_ns")
    r = commands(perfkit, a, b, "--junit", "j.xml", "--format", "json")
    assert r.status == 6 and "nothing was judged: x_ns has no direction" in r.error()["what"] and "--metric" in r.error()["try"]
    assert r.rows("gate")[0]["answer"] == "nothing judged"
    assert perfkit("compare", "1", "2", "--metric", "x_ns", "--exit-code").status == 6
    (perfkit.cwd / "s.ini").write_text("[one]\ncommand = ./{side}.sh\n[two]\ncommand = env X={side} sleep 0.001\n")
    r = perfkit("gate", "--suite", "s.ini", "--a", "a", "--b", "b", "--min-effect", "900%")
    assert r.status == 6 and "[one] nothing was judged: x_ns" in r.error()["what"], r


@not_sanitized
@pytest.mark.parametrize("values, status, reason", [
    ([0] * 40, 4, "absolute threshold"), ([-5] * 40, 4, "absolute threshold")])
def test_values_that_are_no_times(perfkit, values, status, reason):
    reporter(perfkit, "a.sh", values)
    sides = "--a", "./a.sh", "--b", "./a.sh b", "--metric", "made_up_ns"
    r = perfkit("gate", *sides, "--format", "json")
    assert r.status == status, r
    row, = r.rows("compare_ns")
    assert reason in row["reason"] and row["ratio"] is None and "--threshold made_up_ns=20us" in r.error()["try"]
    assert perfkit("gate", *sides, "--threshold", "made_up_ns=3ns").status == 0


@not_sanitized
def test_values_that_are_no_numbers(perfkit):
    """They are said to be that, and no other metric is judged in their place."""
    good, bad = reporter(perfkit, "good.sh", [5] * 20), reporter(perfkit, "bad.sh", ["NaN"] * 20)
    r = commands(perfkit, good, bad, "--format", "json")
    assert r.status == 5 and "made_up_ns is not a number (NaN) on the new side" in r.error()["why"] and "--metric" in r.error()["try"], r
    assert [(t["metric"], t["status"]) for t in r.rows("not_compared")] == [("made_up_ns", "missing")] and "compare_ns" not in r.json()["tables"], r
    commands(perfkit, bad, good).refused(5, "made_up_ns is not a number (NaN) on the base side")
    perfkit("gate", "--a", "./bad.sh", "--b", "./bad.sh b", "--metric", "made_up_ns").refused(5, "(NaN) on both sides")
    assert commands(perfkit, good, bad, "--metric", "wall_ns").status in (0, 3, 4)


# --- quantiles of the samples of a process ---


P99 = ("--metric", "made_up_ns:p99")


@not_sanitized
def test_a_tail_that_moved_is_said_and_can_be_a_row(perfkit):
    """The median is the same, the p99 of each process is 1.5 times as long: a note, and red as a row of its own."""
    base, new = sampler(perfkit, "base.sh", 1.4), sampler(perfkit, "new.sh", 2.1)
    note = re.compile(r"The slow samples changed and the median did not: made_up_ns of [^:]*: median (same|undecided), p99 \+(4|5)\d\.\d % "
                      r"\(.*\); --metric made_up_ns:p99 judges it\.")
    r = commands(perfkit, base, new)
    assert r.status == 0 and note.search(r.stdout), r
    again = perfkit("compare", "1", "2")
    assert note.search(again.stdout), again
    r = commands(perfkit, base, new, *P99, "--metric", "made_up_ns", "--format", "json")
    rows = {row["metric"]: row for row in r.rows("compare_ns")}
    assert r.status == 3 and sorted(rows) == ["made_up_ns", "made_up_ns:p99"], r
    assert rows["made_up_ns:p99"]["verdict"] == "slower" and rows["made_up_ns:p99"]["ratio"] == pytest.approx(1.5, abs=0.03)
    assert rows["made_up_ns:p99"]["base_ns"] == pytest.approx(1.4e6, rel=0.03) and rows["made_up_ns"]["verdict"] in ("same", "undecided")
    assert "slow samples" not in r.stdout  # the row says it
    assert sorted(query(perfkit, "SELECT metric, verdict FROM v_verdict WHERE metric GLOB '*:*'")) == [("made_up_ns:p99", "slower")]
    assert ("made_up_ns:p99", "slower") in [(row["metric"], row["verdict"]) for row in perfkit("show", "4", "--format", "json").rows("verdicts")]
    kept = perfkit("compare", "3", "4", "--exit-code", "--format", "json")
    assert kept.status == 3 and {row["metric"]: row["verdict"] for row in kept.rows("compare_ns")}["made_up_ns:p99"] == "slower"
    history = perfkit("history", "exec", "--gates", *P99, "--format", "json").rows("history_ns")
    assert [(row["run_id"], row["verdict"]) for row in history] == [(1, None), (2, None), (3, None), (4, "slower")]
    stored = query(perfkit, "SELECT p90, p99, median FROM v_invocation WHERE run_id = 2 AND metric = 'made_up_ns'")
    assert len(stored) >= 6 and all(p90 < 1.1 * median and p99 > 1.9 * median for p90, p99, median in stored)


@not_sanitized
def test_the_threshold_of_a_tail_is_its_own(perfkit):
    base, new = (sampler(perfkit, name, slow, processes=90) for name, slow in (("base.sh", 1.4), ("new.sh", 1.6)))  # + 14 %
    for size, status in (("10%", 3), ("40%", 0)):
        r = commands(perfkit, base, new, *P99, "--threshold", f"made_up_ns:p99={size}")
        assert r.status == status, r
    again = "compare", "1", "2", "--exit-code", *P99
    assert perfkit(*again, "--threshold", "made_up_ns:p99=900us").status == 0
    assert perfkit(*again, "-m", "made_up_ns", "--threshold", "made_up_ns=40%").status == 3  # that of the median is not that of the p99
    commands(perfkit, base, new, "--threshold", "made_up_ns:p99=5%").refused(2, "matches no metric", "add --metric made_up_ns:p99")
    commands(perfkit, base, new, *P99, "--threshold", "made_up_ns:p98=5%").refused(2, "matches no metric", "made_up_ns:p99")


@not_sanitized
@pytest.mark.parametrize("samples, refused", [
    (200, {"made_up_ns:p50x": (2, "'p50x' is not a quantile", "made_up_ns:p90 or made_up_ns:p99"),
           "made_up_ns:p101": (2, "'p101' is not a quantile"),
           "made_up_ns:": (2, "'' is not a quantile"),
           "nothing_ns:p99": (2, "metric 'nothing_ns:p99' is unknown", "made_up_ns"),
           ":p99": (2, "metric ':p99' is unknown"),
           "wall_ns:p90": (5, "a p90 needs 10 samples", "has 1")}),
    (99, {"made_up_ns:p99": (5, "a p99 needs 100 samples in each process", "has 99", "report at least 100 values")}),
    (9, {"made_up_ns:p90": (5, "a p90 needs 10 samples", "has 9")}),
])
def test_tails_that_cannot_be_judged(perfkit, samples, refused):
    base, new = (sampler(perfkit, name, 1.4, samples=samples, processes=9) for name in ("base.sh", "new.sh"))
    for metric, (status, *words) in refused.items():
        commands(perfkit, base, new, "--metric", metric).refused(status, *words)
        for side in base, new:
            (perfkit.cwd / f"{side.name}.n").unlink()
    commands(perfkit, base, new, "--max-pairs", "8")
    for metric, (status, *words) in refused.items():
        perfkit("compare", "@~1", "@", "--metric", metric).refused(status, *words[:max(1, len(words) - 1)])


@not_sanitized
def test_tails_of_an_experiment(perfkit):
    """What an experiment has is known: a wrong name is refused before anything is measured."""
    many = ("--max-samples", "100", "--min-samples", "100")
    for metric, words in (("work_ns:p50", "'p50' is not a quantile"), ("wark_ns:p99", "unknown")):
        selftest(perfkit, *SLOWER, "--metric", metric, "--dry-run").refused(2, words)
    selftest(perfkit, *BRIEF, "--metric", "work_ns:p99").refused(5, "a p99 needs 100 samples in each process", "--min-samples 100")
    r = selftest(perfkit, *BRIEF, *many, "--metric", "work_ns:p99", "--format", "json")
    row, = r.rows("compare_ns")
    assert r.status == 3 and (row["metric"], row["verdict"]) == ("work_ns:p99", "slower")
    r = selftest(perfkit, *BRIEF, *many, "--metric", "work_ns:p90", "--threshold", "work_ns:p90=10%")
    assert r.status == 0, r


@not_sanitized
def test_tails_against_stored_runs(perfkit):
    """Runs of a label are one side; each gives the p99 of its processes. What was recorded without quantiles is said."""
    many = ("--max-samples", "100", "--min-samples", "100", "--invocations", "3")
    for busy in (100000,) * 5 + (106000,):
        assert perfkit("run", "selftest", *NULL, *many, "-a", f"busy_ns={busy}", "-l", "old" if busy == 100000 else "new").status == 0
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE run_case SET identity = '{}', axes = '{}'")
    for command in (("gate", "--against", "old", "new"), ("compare", "old", "new", "--exit-code")):
        r = perfkit(*command, "--metric", "work_ns:p99", "--format", "json")
        row, = r.rows("compare_ns")
        assert r.status == 3 and (row["metric"], row["verdict"]) == ("work_ns:p99", "slower"), r
        assert perfkit(*command, "--metric", "work_ns:p99", "--threshold", "work_ns:p99=10%").status == 0
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE slice_summary SET p99 = NULL")
    perfkit("compare", "old", "new", "--metric", "work_ns:p99").refused(5, "earlier perfkit, which kept no quantiles", "measure it again")
