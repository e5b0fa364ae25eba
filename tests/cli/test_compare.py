"""compare: pairs, ratios and intervals from stores with known contents; refusals with their statuses."""
import csv
import io
import math
import re
import sqlite3

import junit
import pytest
from scipy import stats

from stored import Stored, query

SLOW, FAST, OTHER = [2.0e6, 2.1e6, 1.9e6], [1.0e6, 1.02e6, 0.98e6], [4.0e6, 4.1e6, 4.2e6]


def case(variant, seq_len, forward, **more):
    """forward: figures of the invocations, or a status."""
    measured = forward if isinstance(forward, str) else {"forward_ns": forward, "forward_host_ns": forward, **more}
    return variant, {"d_model": 64, "seq_len": seq_len}, measured


@pytest.fixture
def store(perfkit):
    return Stored(perfkit.db)


def two_runs(store):
    base = store.run([case("vanilla", 256, SLOW, peak_bytes=[8e6, 8e6, 8e6]), case("flash", 256, SLOW),
                      case("vanilla", 512, OTHER), case("flash", 512, "oom")], label="before")
    new = store.run([case("vanilla", 256, FAST, peak_bytes=[2e6, 2e6, 2e6]), case("flash", 256, SLOW),
                     case("vanilla", 512, OTHER), case("vanilla", 1024, OTHER)], label="after")
    return base, new


def interval(figures):
    """Of the median of three to five processes: Student on logs, around the median and within the range of the data."""
    logs, n = [math.log(v) for v in figures], len(figures)
    middle, half = sum(logs) / n, stats.t.ppf(0.975, n - 1) * stats.sem(logs)
    low, median, high = min(figures), sorted(figures)[n // 2], max(figures)
    return min(max(math.exp(middle - half), low * low / high), median), max(min(math.exp(middle + half), high * high / low), median)


def test_ratios_are_those_of_the_medians(perfkit, store):
    """A row's ratio is that of the medians beside it; its ends follow from those of both."""
    two_runs(store)
    rows = perfkit("compare", "before", "@", "--format", "json").rows("compare_ns")
    cases = [r for r in rows if r["row"] == "case"]
    assert [(r["variant"], r["axes"]["seq_len"]) for r in cases] == [("vanilla", 256), ("flash", 256), ("vanilla", 512)]
    first = cases[0]
    assert (first["base_ns"], first["new_ns"], first["metric"]) == (2.0e6, 1.0e6, "forward_ns")
    assert (first["base_invocations"], first["new_invocations"], first["verdict"]) == (3, 3, "unreplicated")
    assert first["ratio"] == 0.5 and first["speedup"] == 2 and first["p"] is None
    (base_low, base_high), (new_low, new_high) = interval(SLOW), interval(FAST)
    assert (first["ratio_low"], first["ratio_high"]) == (pytest.approx(new_low / base_high), pytest.approx(new_high / base_low))
    assert cases[1]["ratio"] == 1 and cases[1]["ratio_low"] < 1 < cases[1]["ratio_high"]
    mean, = [r for r in rows if r["row"] == "geomean"]
    for key in ("ratio", "ratio_low", "ratio_high"):
        assert mean[key] == pytest.approx(math.prod(r[key] for r in cases) ** (1 / 3)) and mean["cases"] == 3


def test_cases_of_one_side_are_named(perfkit, store):
    two_runs(store)
    json = perfkit("compare", "@~1", "@", "--format", "json").json()
    notes = " ".join(json["tables"]["compare_ns"]["notes"])
    assert "1 case of new unmatched: vanilla" in notes and "1024" in notes
    assert "of base" not in notes  # the case that ran out of memory was measured on no side


def test_people_get_a_table(perfkit, store):
    two_runs(store)
    r = perfkit("compare", "1", "2")
    assert r.status == 0 and r.stderr == ""
    lines = r.stdout.splitlines()
    header = next(line for line in lines if "New / base" in line)
    assert "Base (ms)" in header and "95 % interval" in header and "base_high" not in header
    assert any(re.search(r" 0\.[0-9]+–0\.[0-9]+  ", line) for line in lines if "seq_len=256" in line), r
    assert any("seq_len=256" in line and "2.000" in line and "1.000" in line and "0.500" in line for line in lines)
    assert any("geomean of 3 cases" in line for line in lines)
    assert "NOT THE SAME" not in r.stdout
    assert "New against base, all with d_model=64" in lines
    assert not any("d_model" in line for line in lines if "forward_ns" in line)  # all cases have the same


def test_a_narrow_table_keeps_the_ratio(perfkit, store):
    two_runs(store)
    r = perfkit("compare", "1", "2", "--width", "80")
    assert r.status == 0 and max(map(len, r.stdout.splitlines())) <= 80
    assert any("0.500" in line and "faster" in line or "unreplicated" in line for line in r.stdout.splitlines()), r
    assert "95 %" in r.stdout and "Left out at 80 columns: Base (ms)" in r.stdout, r


def test_every_format(perfkit, store):
    two_runs(store)
    for format in ("table", "markdown", "csv", "json", "jsonl"):
        assert perfkit("compare", "1", "2", "--format", format).status == 0
    text = perfkit("compare", "1", "2", "--format", "csv").stdout.split("\n\n")[1]
    rows = list(csv.DictReader(io.StringIO(text)))
    assert float(rows[0]["base_ns"]) == 2.0e6 and rows[0]["row"] == "case"


def test_metrics(perfkit, store):
    two_runs(store)
    tables = perfkit("compare", "1", "2", "--all-metrics", "--format", "json").json()["tables"]
    assert {r["metric"] for r in tables["compare_ns"]["rows"]} == {"forward_ns", "forward_host_ns"}
    row, = perfkit("compare", "1", "2", "--metric", "peak_bytes", "--format", "json").rows("compare_bytes")
    assert (row["base_bytes"], row["ratio"], row["ratio_low"]) == (8e6, 0.25, 0.25)
    perfkit("compare", "1", "2", "--metric", "peak_byte").refused(2, "'peak_byte'", "did you mean 'peak_bytes'?")
    perfkit("compare", "1", "2", "--metric", "x", "--all-metrics").refused(2, "cannot be combined")


def test_by_variant_and_by_axis(perfkit, store):
    store.run([case("vanilla", 256, OTHER), case("flash", 256, FAST), case("vanilla", 512, SLOW), case("flash", 512, FAST)])
    rows = perfkit("compare", "--by", "variant", "@", "--format", "json").rows("compare_ns")
    assert [(r["value"], r["case"]) for r in rows] == [("flash", "seq_len=256"), ("flash", "seq_len=512"), ("flash", "geomean of 2 cases")]
    assert rows[1]["ratio"] == pytest.approx(0.5, rel=0.01) and rows[1]["speedup"] == pytest.approx(2, rel=0.01)
    rows = perfkit("compare", "--by", "seq_len", "@", "--format", "json").rows("compare_ns")
    assert [(r["variant"], r["value"]) for r in rows if r["row"] == "case"] == [("vanilla", "512"), ("flash", "512")]
    perfkit("compare", "--by", "sec_len", "@").refused(2, "'sec_len'", "'seq_len'")
    perfkit("compare", "--by", "d_model", "@").refused(5, "d_model=64")
    perfkit("compare", "--by", "variant", "@", "@").refused(2, "one run")
    perfkit("compare", "@").refused(2, "two runs")


def test_unreplicated_has_no_interval(perfkit, store):
    store.run([case("vanilla", 256, [1e6])])
    store.run([case("vanilla", 256, FAST)])
    r = perfkit("compare", "1", "2", "--format", "json")
    row, = r.rows("compare_ns")
    assert r.status == 0 and row["verdict"] == "unreplicated" and row["ratio_low"] is None and row["ratio"] > 0
    assert "1 unreplicated: fewer separate runs in the baseline than a verdict needs" in " ".join(r.json()["tables"]["compare_ns"]["notes"])
    assert "1 row: 0 slower, 0 faster, 0 not told apart, 1 without an interval (it needs three processes)" in r.json()["notes"][0]


def test_first_line_counts_rows_of_every_kind(perfkit, store):
    """Rows with a verdict, too, and why a row has no interval: eight processes are enough for one, and zero has no ratio."""
    eight = [x * 1e6 for x in (1.00, 1.01, 1.02, 1.03, 1.04, 1.05, 1.06, 1.07)]
    for _ in range(2):
        run = store.run([case("a", 256, eight), case("b", 256, [0] * 8), case("c", 256, eight[:2]), case("hot", 256, eight)])
        store.db.execute("""UPDATE slice SET notes = '{"doubts":["throttled"]}' WHERE case_id IN (SELECT id FROM run_case WHERE run_id = ?
            AND variant = 'hot')""", [run])
        store.db.commit()
    assert perfkit("compare", "1", "2", "--metric", "forward_ns").stdout.startswith(
        "Stored runs, 4 rows: 0 slower, 0 faster, 1 not told apart, 1 without a ratio (a value is not positive), 1 without an interval "
        "(it needs three processes); 1 row with a verdict: 1 unstable. ")
    for cases in ([case("a", 256, eight)], [case("a", 256, eight), case("b", 256, eight)], [case("a", 256, eight), case("b", 256, eight)]):
        store.run(cases)
    assert "1 not told apart, 1 without an interval (it needs two runs of the base)" in perfkit("compare", "3,4", "5", "--metric", "forward_ns").stdout


PLAN = {"preset": "quick", "axes": ["d_model=64", "seq_len=256,512"], "variants": ["vanilla,flash"], "filter": None}


def test_two_single_runs_say_first_what_they_say_and_what_settles_it(perfkit, store):
    """The first line counts what the recordings show, says what they cannot show, and ends with the command that measures both now."""
    store.run([case("vanilla", 256, FAST), case("vanilla", 512, SLOW), case("flash", 256, FAST)], label="before", settings=PLAN)
    store.run([case("vanilla", 256, SLOW), case("vanilla", 512, FAST), case("flash", 256, FAST)], label="after", settings=PLAN)
    r = perfkit("compare", "before", "after")
    first = r.stdout.splitlines()[0]
    assert first == ("Stored runs, 3 rows: 1 slower, 1 faster, 1 not told apart. The cause cannot be "
                     "determined: that needs 5 separate runs of the base (it has 1). To decide: perfkit gate demo --a OLD/build --b NEW/build "
                     "--preset quick -a d_model=64 -a seq_len=256,512 --variant vanilla,flash"), r
    rows = [row for row in perfkit("compare", "before", "after", "--format", "json").rows("compare_ns") if row["row"] == "case"]
    assert [(row["variant"], row["axes"]["seq_len"]) for row in rows] == [("vanilla", 256), ("vanilla", 512), ("flash", 256)]  # slower, faster, the rest
    for _ in range(3):
        store.run([case("vanilla", 256, SLOW)], label="before", settings=PLAN)
    assert "(it has 1)" in perfkit("compare", "before", "after").stdout  # of flash
    cases = [case("vanilla", 256, SLOW), case("flash", 256, SLOW), case("vanilla", 512, OTHER)]
    for _ in range(4):
        store.run(cases, label="before", settings=PLAN)
    r = perfkit("compare", "before", "after")
    assert r.status == 0 and "To decide" not in r.stdout and "unreplicated" not in r.stdout


def test_of_commands_it_names_a_gate_of_commands(perfkit, store):
    for figures in (FAST, SLOW):
        store.run([("nap", {}, {"wall_ns": figures})], experiment="exec")
    assert "To decide: perfkit gate --a 'OLD COMMAND' --b 'NEW COMMAND'\n" in perfkit("compare", "1", "2").stdout


def test_missing_counterparts_are_explained_in_one_line(perfkit, store):
    """By the options that the two sides do not share."""
    store.run([case("vanilla", 256, FAST), case("flash", 256, FAST), case("flash", 512, FAST)], label="main", settings=PLAN)
    store.run([case("flash", 256, FAST)], settings={**PLAN, "axes": ["d_model=64", "seq_len=256"], "variants": ["flash"]})
    for args in (("gate", "--against", "main", "@"), ("compare", "main", "@")):
        r = perfkit(*args, "--allow-host-mismatch")
        told, = [line for line in r.stdout.splitlines() if line.startswith("Unmatched")]
        assert told == ("Unmatched: 2 cases of run main, 0 cases of run @; run main was measured with -a seq_len=256,512 "
                        "--variant vanilla,flash, run @ with -a seq_len=256 --variant flash."), r
    store.run([case("flash", 256, FAST), case("naive", 256, FAST)], settings=PLAN)
    told = perfkit("gate", "--against", "main", "@").stdout
    assert "2 cases of run main, 1 case of run @; both were measured with the same options, so the programs that measured them have other cases." in told


def test_by_and_the_tables_of_a_run_give_one_speedup(perfkit, store):
    """Two processes of six are five times slower: the medians say little, geometric means would say 1.5 times. The interval is one, too."""
    calm, struck = [1.00e6, 1.01e6, 1.02e6, 1.03e6, 1.04e6, 1.05e6], [0.99e6, 1.00e6, 1.01e6, 1.02e6, 5.0e6, 5.1e6]
    axes = {"d_model": 64, "dtype": "fp32"}
    store.run([(variant, {**axes, "seq_len": n}, {"forward_ns": v, "backward_ns": v}) for n in (256, 512) for variant, v in (("vanilla", calm), ("flash", struck))],
              experiment="attention-scaling")
    tables = {r["seq_len"]: r for r in perfkit("show", "@", "--format", "json").rows("variants") if r["variant"] == "flash"}
    by = [r for r in perfkit("compare", "--by", "variant", "@", "--metric", "forward_ns", "--format", "json").rows("compare_ns") if r["row"] == "case"]
    assert len(by) == 2
    for r in by:
        run = tables[r["axes"]["seq_len"]]
        assert run["forward_speedup"] == pytest.approx(r["speedup"]) == pytest.approx(r["base_ns"] / r["new_ns"])
        assert (run["forward_speedup_low"], run["forward_speedup_high"]) == (pytest.approx(1 / r["ratio_high"]), pytest.approx(1 / r["ratio_low"]))
        assert run["verdict"] == "not told apart"


def test_by_puts_the_gravest_first(perfkit, store):
    six = lambda x: [x * f for f in (1.00e6, 1.01e6, 1.02e6, 1.03e6, 1.04e6, 1.05e6)]
    store.run([case(variant, n, six(time)) for n, time in ((256, 0.5), (512, 1.0), (1024, 3.0), (2048, 2.0)) for variant, time in (("vanilla", 1), ("flash", time))])
    rows = [r for r in perfkit("compare", "--by", "variant", "@", "--format", "json").rows("compare_ns") if r["row"] == "case"]
    assert [(r["axes"]["seq_len"], r["verdict"]) for r in rows] == [(1024, "slower"), (2048, "slower"), (256, "faster"), (512, "same")]


def test_cases_are_said_as_people_read_them(perfkit, store):
    store.run([case("vanilla", 256, FAST, peak_bytes=[8e6, 8e6, 8e6])])
    store.run([case("vanilla", 512, FAST), ("flash", {"d_model": 64, "seq_len": 256, "causal": True}, {"forward_ns": FAST})])
    r = perfkit("compare", "1", "2").refused(5)
    assert r.error()["why"] == "cases: vanilla seq_len=256 in run 1, vanilla seq_len=512, flash causal=on seq_len=256 in run 2"
    store.run([case("vanilla", 256, FAST, peak_bytes=[4e6, 4e6, 4e6]), case("vanilla", 1024, FAST)])
    r = perfkit("compare", "1", "3", "--all-metrics", "--format", "markdown")
    assert "1 case of new unmatched: vanilla d_model=64 seq_len=1024" in r.stdout, r
    memory, times = sorted(r.stdout.split("### New against base")[1:], key=lambda table: "(ms)" in table)
    assert "| Speed-up |" in times and "| Gain |" in memory and "Speed-up" not in memory, r


def test_other_machines_and_settings_get_a_banner(perfkit, store):
    store.run([case("vanilla", 256, FAST)], machine={"cpu": "A"}, settings={"threads": 2, "seed": 1})
    store.run([case("vanilla", 256, FAST)], machine={"cpu": "B"}, settings={"threads": 4, "seed": 2})
    r = perfkit("compare", "1", "2", "--format", "json")
    notes = r.json()["tables"]["runs"]["notes"]
    assert "The setups differ" in notes[0]
    assert [n.strip() for n in notes[1:]] == ["cpu A → B", "setting threads 2 → 4",
                                              "No row is judged; --allow-host-mismatch judges the rows anyway."]
    assert r.stdout.index("setups differ") < r.stdout.index("compare_ns")


@pytest.mark.parametrize("change, words", [
    (dict(experiment="other"), "experiment: demo in run 1, other in run 2"),
    (dict(revision=2), "revision of the experiment: 1 in run 1, 2 in run 2"),
    (dict(device="cuda:0"), "device: cpu in run 1, cuda in run 2"),
])
def test_nothing_in_common(perfkit, store, change, words):
    store.run([case("vanilla", 256, FAST)])
    store.run([case("vanilla", 256, FAST)], **change)
    perfkit("compare", "1", "2").refused(5, "no case in common", words)


def test_cases_that_differ_in_their_axes_alone_are_named(perfkit, store):
    store.run([case("vanilla", 256, FAST), case("flash", 256, FAST)])
    store.run([case("vanilla", 512, FAST), case("flash", 512, FAST)])
    perfkit("compare", "1", "2").refused(5, "no case in common", "cases: vanilla seq_len=256, flash seq_len=256 in run 1, vanilla seq_len=512, flash seq_len=512 in run 2")


def test_where_a_screening_ended_is_no_condition(perfkit, store):
    for _ in range(2):
        store.run([case("vanilla", 256, FAST)], settings={"device": "cpu"})
    store.insert("setting", run_id=1, invocation=0, key="gate_screened", value="6")
    store.db.commit()
    assert "The setups differ" not in perfkit("compare", "1", "2").stdout
    store.insert("setting", run_id=2, invocation=0, key="library", value="other")
    store.db.commit()
    notes = " ".join(perfkit("compare", "1", "2", "--format", "json").json()["tables"]["runs"]["notes"])
    assert "worker library nothing → other" in notes and "screened" not in notes


GITHUB = {"GITHUB_ACTIONS": "true"}


def answered(r, status, *words):
    """What is judged is printed, and the error says why it is not accepted."""
    assert r.status == status and all(w in " ".join(r.error().values()) for w in words), r


def test_a_case_that_no_longer_ends_ok_is_no_green_gate(perfkit, store):
    for _ in range(5):
        store.run([case("vanilla", 256, FAST), case("flash", 256, FAST)], label="main")
    store.run([case("vanilla", 256, "oom"), case("flash", 256, FAST)])
    store.db.execute("UPDATE slice SET message = '5 GiB do not fit' WHERE status = 'oom'")
    store.db.commit()
    r = perfkit("gate", "--against", "main", "@", "--min-effect", "1000%", "--junit", "j.xml", "--summary", "s.md", "--format", "json", env=GITHUB)
    answered(r, 1, "the judged run (run @) ended 'oom' in vanilla d_model=64 seq_len=256", "ended ok in the base (runs main)", "5 GiB do not fit")
    trouble, = r.rows("not_compared")
    assert (trouble["side"], trouble["variant"], trouble["metric"], trouble["status"]) == ("new", "vanilla", None, "oom")
    assert "counterpart" not in r.stdout and r.rows("compare_ns")[0]["verdict"] == "same"
    tests = junit.read(perfkit.cwd / "j.xml")
    assert tests.get("errors") == "1" and "5 GiB do not fit" in tests.find("testcase/error").text
    assert "5 GiB do not fit" in (perfkit.cwd / "s.md").read_text() and "::error title=perfkit gate --against main%3A new oom::vanilla d_model=64 " in r.stderr
    assert perfkit("compare", "main", "@", "--exit-code").status == 1 and perfkit("compare", "main", "@").status == 0
    store.run([case("flash", 256, FAST)])  # the case was not in its plan
    r = perfkit("gate", "--against", "main", "@", "--format", "json")
    answered(r, 5, "vanilla d_model=64 seq_len=256 cannot be compared: missing", "does not have this case, which runs main has")
    assert [(t["variant"], t["metric"], t["status"]) for t in r.rows("not_compared")] == [("vanilla", None, "missing")]
    assert perfkit("gate", "--against", "main", "@", "--allow-missing").status == 0 == perfkit("compare", "main", "@").status
    store.run([case("vanilla", 256, "skipped")])
    r = perfkit("gate", "--against", "main", "@", "--threshold", "forward_ns=5%", "--format", "json")
    answered(r, 1, "ended 'skipped' in vanilla d_model=64 seq_len=256")
    assert [t["status"] for t in r.rows("not_compared")] == ["skipped", "missing"]
    store.run([case("blocked", 256, "oom")])
    answered(perfkit("gate", "--against", "main", "@"), 5, "has no case that ended ok: blocked d_model=64 seq_len=256", "ended 'oom'")


def test_a_metric_that_is_no_number_any_more(perfkit, store):
    for _ in range(5):
        store.run([case("vanilla", 256, FAST, other_ns=[10.0, 10.1, 9.9])], label="main")
    store.run([case("vanilla", 256, FAST, other_ns=[None], new_ns=[5.0])])
    r = perfkit("gate", "--against", "main", "@", "--junit", "j.xml", "--format", "json")
    answered(r, 5, "other_ns of vanilla d_model=64 seq_len=256", "cannot be compared: missing", "run @ has no value of other_ns, which runs main has")
    assert [(t["metric"], t["status"]) for t in r.rows("not_compared")] == [("other_ns", "missing")]
    assert "case of base unmatched" not in r.stdout and "1 metric of new unmatched: new_ns of vanilla d_model=64 seq_len=256" in r.stdout
    assert "has no value of other_ns" in (perfkit.cwd / "j.xml").read_text()
    r = perfkit("gate", "--against", "main", "@", "--metric", "other_ns", "--junit", "j.xml", env=GITHUB)
    answered(r, 5, "run @ has no value of metric 'other_ns'", "NaN does not count as a value")
    assert "has no value of other_ns" in (perfkit.cwd / "j.xml").read_text() and "::error title=perfkit gate --against main%3A new missing" in r.stderr
    assert perfkit("gate", "--against", "main", "@", "--metric", "forward_ns").status == 0
    store.run([case("vanilla", 256, SLOW)])
    answered(perfkit("gate", "--against", "main", "@"), 3)  # a regression counts all the same
    store.run([case("vanilla", 256, FAST)], label="main")  # the base itself has given it up
    store.run([case("vanilla", 256, FAST)])
    assert perfkit("gate", "--against", "main", "@").status == 0


def test_one_of_two_metrics_in_another_unit(perfkit, store):
    for _ in range(5):
        store.run([case("vanilla", 256, FAST, other_ns=[10.0, 10.1, 9.9])], label="main")
    store.run([case("vanilla", 256, FAST, other_ns=[10.0, 10.1, 9.9])])
    unit = store.insert("metric", name="other_ns", unit="us", direction="lower", combine="median", ranks="max", source="region", **{"class": "time"})
    was, = store.db.execute("SELECT id FROM metric WHERE name = 'other_ns' AND unit = 'ns'").fetchone()
    cases = "(SELECT id FROM run_case WHERE run_id = 6)"
    store.db.execute(f"UPDATE summary SET metric_id = {unit} WHERE metric_id = {was} AND case_id IN {cases}")
    store.db.execute(f"UPDATE slice_summary SET metric_id = {unit} WHERE metric_id = {was} AND slice_id IN (SELECT id FROM slice WHERE case_id IN {cases})")
    store.db.commit()
    r = perfkit("gate", "--against", "main", "@")
    answered(r, 5, "other_ns of vanilla d_model=64 seq_len=256", "other unit", 'other_ns is in "ns" in runs main and in "us" in run @')
    assert "counterpart" not in r.stdout


def test_what_cannot_be_judged_is_in_the_reports_too(perfkit, store):
    store.run([case("vanilla", 256, FAST)])
    out = perfkit.cwd / "out"
    r = perfkit("gate", "--against", "nightly", "@", "--junit", "j.xml", "--summary", "s.md", env={**GITHUB, "GITHUB_OUTPUT": out})
    r.refused(5, "gate --against nightly")
    assert junit.read(perfkit.cwd / "j.xml").get("errors") == "1" and "run 'nightly'" in (perfkit.cwd / "s.md").read_text()
    assert "::error title=perfkit gate --against nightly" in r.stderr and "verdict=not comparable\nrows=0\n" in out.read_text()


def test_one_metric_in_two_units(perfkit, store):
    store.run([case("vanilla", 256, FAST)])
    store.run([case("vanilla", 256, FAST)])
    with sqlite3.connect(perfkit.db) as db:
        db.execute("INSERT INTO metric(name, unit, direction, class, combine, ranks, source) SELECT name, 'kilo' || unit, direction, class, combine, ranks, "
                   "source FROM metric")
        other = "(SELECT b.id FROM metric a JOIN metric b ON b.name = a.name AND b.unit = 'kilo' || a.unit WHERE a.id = metric_id)"
        cases = "(SELECT id FROM run_case WHERE run_id = 2)"
        db.execute(f"UPDATE summary SET metric_id = {other} WHERE case_id IN {cases}")
        db.execute(f"UPDATE slice_summary SET metric_id = {other} WHERE slice_id IN (SELECT id FROM slice WHERE case_id IN {cases})")
    perfkit("compare", "1", "2").refused(5, "no case in common", "unit of the metrics: ns", "in run 1, kilons")


def test_runs_that_are_not_there(perfkit, store):
    store.run([case("vanilla", 256, FAST)])
    perfkit("compare", "1", "nightly").refused(2, "nightly")
    perfkit("compare", "1", "@~7").refused(2, "@~7")
    perfkit("compare", "1", "nowhere.db:@").refused(6, "nowhere.db")
    perfkit("compare", "a:label", "1").refused(2, "a:label")


def test_a_run_in_another_file(perfkit, store, tmp_path):
    store.run([case("vanilla", 256, FAST)])
    other = Stored(tmp_path / "other.db")
    other.run([case("vanilla", 256, SLOW)], label="nightly")
    other.db.close()
    before = (tmp_path / "other.db").read_bytes()
    row, = perfkit("compare", f"{tmp_path}/other.db:nightly", "@", "--format", "json").rows("compare_ns")
    assert row["base_ns"] == 2e6
    assert (tmp_path / "other.db").read_bytes() == before


def test_a_strangers_text_reaches_no_terminal(perfkit, store):
    for _ in range(2):
        store.run([("va\x1b[31mnilla", {"n": 1}, {"forward_ns": FAST})], label="x\x1b]0;owned\x07")
    r = perfkit("compare", "1", "2")
    assert r.status == 0 and "\x1b" not in r.stdout and "\x07" not in r.stdout


def test_a_run_is_not_held_against_itself(perfkit, store):
    for label in ("a", "a", "b"):
        store.run([case("vanilla", 256, FAST)], label=label)
    for base, new, name in (("1", "1", "run 1"), ("@", "3", "run @"), ("a", "a", "runs a"), ("1,2", "a", "runs 1,2"), ("b", "b", "run b")):
        perfkit("compare", base, new).refused(5, f"both sides are the same: {name}", "perfkit compare --by AXIS RUN")
        perfkit("gate", "--against", base, new).refused(5, "both sides are the same")
    r = perfkit("compare", "a", "2")
    assert r.status == 0 and [line.split()[1] for line in r.stdout.splitlines() if line.startswith(("base", "new "))][:2] == ["1", "2"], r
    perfkit("compare", "1,2", "2", "--metric", "other_ns").refused(2, "run 2 has no such metric")


def sessions(store, label, figures, **more):
    """A run per figure, with two processes each."""
    for forward in figures:
        store.run([case("vanilla", 256, [forward, forward * 1.001])], label=label, **more)


def row_of(perfkit, *args, status=0):
    r = perfkit("compare", *args, "--format", "json")
    assert r.status == status, r
    row, = r.rows("compare_ns")
    return row


def test_a_baseline_of_five_runs_gives_verdicts(perfkit, store):
    sessions(store, "main", [1.00e6, 1.01e6, 0.99e6, 1.005e6, 0.995e6])
    sessions(store, "slow", [1.2e6])
    sessions(store, "equal", [1.0e6])
    row = row_of(perfkit, "main", "slow", "--exit-code", status=3)
    assert row["verdict"] == "slower" and row["reason"] == "proved" and row["base_invocations"] == 5
    logs = [math.log(v * math.sqrt(1.001)) for v in (1.00e6, 1.01e6, 0.99e6, 1.005e6, 0.995e6)]
    mean = sum(logs) / 5
    sd = math.sqrt(sum((x - mean) ** 2 for x in logs) / 4)
    half = stats.t.ppf(0.975, 4) * sd * math.sqrt(1 + 1 / 5)  # one more run, from the spread between runs
    assert row["ratio_high"] / row["ratio"] == pytest.approx(math.exp(half)) and row["mde"] > 0.02
    row = row_of(perfkit, "main", "equal", "--exit-code")
    assert row["verdict"] == "same" or row["needed"] > 0
    assert row_of(perfkit, "1,2,3,4", "slow", "--exit-code", status=4)["verdict"] == "unreplicated"
    assert row_of(perfkit, "1,2,3,4,5", "6")["verdict"] == "slower"
    for alpha, level in ((), "95 %"), (("--alpha", "0.1%"), "99.9 %"):
        assert f"{level} interval" in perfkit("compare", "main", "slow", *alpha).stdout


def six(level, slow=0, size=1.3):
    """Figures of six processes about a level, some of them slow."""
    return [level * (1 + 0.0005 * (i - 3)) * (size if i < slow else 1) for i in range(6)]


@pytest.mark.parametrize("slow, size, verdict, status", [
    (0, 1, "same", 0),
    (1, 1.3, "undecided", 0),  # the mean of the run is within the margin, and one process of 36 proves nothing
    (1, 2, "undecided", 0),    # or far beyond it
    (3, 2, "slower-in-some", 3),
    (6, 1.3, "slower", 3),
])
def test_slow_processes_of_a_stored_run_are_not_the_same(perfkit, store, slow, size, verdict, status):
    for level in 1.00e6, 1.01e6, 0.99e6, 1.005e6, 0.995e6:
        store.run([case("vanilla", 256, six(level))], label="main")
    store.run([case("vanilla", 256, six(1e6, slow, size))], label="new")
    row = row_of(perfkit, "main", "new", "--exit-code", "--min-effect", "10%", status=status)
    assert row["verdict"] == verdict, row
    shown = perfkit("compare", "main", "new", "--min-effect", "10%").stdout
    assert (f"in {slow} of 6 processes, in the base in 0 of 30, by" in shown) == (0 < slow < 6), shown
    if verdict == "undecided":
        assert row["reason"].startswith("processes of one side alone are outliers") and row["ratio"] == pytest.approx(1, abs=0.01) and not row["needed"]
    against = perfkit("gate", "--against", "main", "new", "--min-effect", "10%")
    assert against.status == status, against


def test_failing_on_undecided_needs_no_other_option(perfkit, store):
    sessions(store, "main", [1.0e6, 1.2e6, 0.9e6, 1.1e6, 1.0e6])
    sessions(store, "new", [1.05e6])
    assert perfkit("compare", "main", "new", "--fail-on-undecided").status == 4
    assert perfkit("compare", "main", "new").status == 0 == perfkit("compare", "main", "new", "--exit-code").status


@pytest.mark.parametrize("notes", [{"class": "slowdown"}, {"doubts": ["crowded", "throttled"]}, {"doubts": ["clock-fell"]},
                                   {"doubts:gpu": ["were measured while the GPU's clocks were reduced (heat)"]}])
def test_what_was_measured_while_the_machine_throttled_is_unstable(perfkit, store, notes):
    sessions(store, "main", [1.00e6, 1.01e6, 0.99e6, 1.005e6, 0.995e6])
    run = store.run([case("vanilla", 256, [1.2e6, 1.2e6, 1.2e6])])
    store.noted(run, notes, invocations=1)
    assert row_of(perfkit, "main", "@")["verdict"] == "slower"  # one process of three
    store.noted(run, notes, invocations=2)
    row = row_of(perfkit, "main", "@", "--exit-code", status=4)
    assert row["verdict"] == "unstable" and "throttled itself or became slower" in row["reason"]


def test_most_of_a_base_has_to_be_disturbed_and_by_heat(perfkit, store):
    sessions(store, "main", [1.00e6, 1.01e6, 0.99e6, 1.005e6, 0.995e6])
    run = store.run([case("vanilla", 256, [1.2e6, 1.2e6, 1.2e6])])
    store.noted(run, {"class": "flat", "doubts": ["crowded", "noisy"]})
    assert row_of(perfkit, "main", "@")["verdict"] == "slower"
    for base in range(1, 4):
        store.noted(base, {"doubts": ["crowded", "throttled"]})
        assert row_of(perfkit, "main", "@")["verdict"] == ("unstable" if base == 3 else "slower")  # three runs of five


def test_a_baseline_does_not_hold_what_it_judges(perfkit, store):
    sessions(store, "main", [1.00e6, 1.01e6, 0.99e6, 1.005e6, 0.995e6, 2e6])
    assert row_of(perfkit, "main", "@")["base_invocations"] == 5


def test_what_is_refused_for_its_setup_is_judged_on_request(perfkit, store):
    sessions(store, "main", [1.00e6, 1.01e6, 0.99e6, 1.005e6, 0.995e6], machine={"cpu": "A"})
    sessions(store, "slow", [1.2e6], machine={"cpu": "B"})
    assert row_of(perfkit, "main", "slow")["verdict"] is None
    r = perfkit("compare", "main", "slow", "--exit-code")
    assert r.status == 5 and r.error()["why"] == "cpu A → B" and "--allow-host-mismatch" in r.error()["try"]
    assert row_of(perfkit, "main", "slow", "--allow-host-mismatch", "--exit-code", status=3)["verdict"] == "slower"


def test_exact_figures_need_no_repeats(perfkit, store):
    store.run([case("vanilla", 256, FAST)])
    two = perfkit("run", "selftest", "--device", "null", "-v", "ok", "-i", "1", "-a", "memory=4KiB")
    more = perfkit("run", "selftest", "--device", "null", "-v", "ok", "-i", "1", "-a", "memory=4KiB")
    assert two.status == more.status == 0
    row, = perfkit("compare", "@~1", "@", "-m", "peak_bytes", "--format", "json").rows("compare_bytes")
    assert (row["verdict"], row["ratio"]) == ("same", 1)


def test_by_an_axis_gives_verdicts_from_pairs(perfkit, store):
    store.run([case("vanilla", 256, [2.0e6, 2.1e6, 1.9e6, 2.0e6, 2.05e6, 1.95e6]),
               case("flash", 256, [1.0e6, 1.05e6, 0.95e6, 1.0e6, 1.025e6, 0.975e6])])
    row, = perfkit("compare", "--by", "variant", "@", "--format", "json").rows("compare_ns")
    assert row["verdict"] == "faster" and row["ratio"] == pytest.approx(0.5) and row["ratio_high"] == pytest.approx(1.05 / 1.9)


def test_by_an_axis_judges_tails(perfkit):
    """The median of the second value is the same, the p90 of each of its processes is not: made-up samples of one exec run."""
    values = ",".join(["1000000"] * 100)
    slow = ",".join(["1000000"] * 80 + ["1500000"] * 20)
    lines = "".join(f"""{{"type":"case","axes":{{"size":{size}}}}}
{{"type":"metric","name":"x_ns","unit":"ns","direction":"lower"}}
{{"type":"samples","metric":"x_ns","values":[{v}]}}
""" for size, v in ((1, values), (2, slow)))
    (perfkit.cwd / "said").write_text(lines)
    assert perfkit("exec", "--runs", "6", "--", "sh", "-c", "cat said >&$PERFKIT_WIRE_FD").status == 0
    for tail, ratio, verdict in (("", 1, "same"), (":p90", 1.5, "slower"), (":p99", 1.5, "slower")):
        r = perfkit("compare", "--by", "size", "@", "--metric", f"x_ns{tail}", "--format", "json", "--exit-code")
        row, = r.rows("compare_ns")
        assert (row["metric"], row["value"], row["verdict"]) == (f"x_ns{tail}", "2", verdict) and row["ratio"] == pytest.approx(ratio), r
        assert r.status == (3 if tail else 0)
    assert "The slow samples changed and the median did not" not in r.stdout
    perfkit("compare", "--by", "size", "@", "--metric", "x_ns:p50").refused(2, "'p50' is not a quantile")
    assert query(perfkit, "UPDATE slice_summary SET p99 = NULL") == []
    perfkit("compare", "--by", "size", "@", "--metric", "x_ns:p99").refused(5, "kept no quantiles")


def test_times_that_all_change_alike_are_pointed_out(perfkit, store):
    def notes(factors):
        def cases(scale):
            return [case("vanilla", 2**i, [1e6 * i * f for f in (scale[i], 1.002 * scale[i], 0.998 * scale[i])]) for i in range(1, 7)]
        store.run(cases([1] * 7), label="base")
        store.run(cases(factors), label="new")
        return perfkit("compare", "@~1", "@").stdout
    assert "All times changed equally (median +5.0 %)" in notes([1, 1.05, 1.051, 1.049, 1.05, 1.05, 1.05])
    assert "changed equally" not in notes([1, 1.05, 0.98, 1.049, 0.97, 1.2, 1.0])  # in both directions
    assert "changed equally" not in notes([1, 1.02, 1.4, 1.1, 1.9, 1.25, 1.05])  # each by its own factor
    assert "changed equally" not in notes([1] * 7)


def test_only_what_changed_and_the_gravest_first(perfkit, store):
    quiet = [1.0e6, 1.001e6, 0.999e6, 1.0005e6, 0.9995e6]
    for f in quiet:
        store.run([case(v, 256, [f, f]) for v in ("a", "b", "c", "d")], label="main")
    store.run([case("a", 256, [1e6]), case("b", 256, [0.8e6]), case("c", 256, [1.1e6]), case("d", 256, [1.5e6])])
    rows = [r for r in perfkit("compare", "main", "@", "--format", "json").rows("compare_ns") if r["row"] == "case"]
    assert [(r["variant"], r["verdict"]) for r in rows] == [("d", "slower"), ("c", "slower"), ("b", "faster"), ("a", "same")]
    rows = perfkit("compare", "main", "@", "--only-changed", "--format", "json").rows("compare_ns")
    assert [r["variant"] for r in rows if r["row"] == "case"] == ["d", "c", "b"]
    thresholds = ["--threshold", "forward_ns=20%", "--threshold", "forward_ns[variant=d]=60%"]
    rows = [r for r in perfkit("compare", "main", "@", *thresholds, "--format", "json").rows("compare_ns") if r["row"] == "case"]
    assert {r["variant"]: r["verdict"] for r in rows} == {"a": "same", "b": "faster", "c": "same", "d": "same"}
    rows = [r for r in perfkit("compare", "main", "@", "--threshold", "*=200us", "--format", "json").rows("compare_ns") if r["row"] == "case"]
    assert {r["variant"]: r["verdict"] for r in rows}["c"] == "same"


@pytest.mark.parametrize("threshold, words", [
    ("forward_ns", "not METRIC=SIZE"), ("=5%", "not METRIC=SIZE"), ("forward_ns=", "not METRIC=SIZE"),
    ("forward_ns=-5%", "a number above 0"), ("forward_ns=0%", "a number above 0"), ("forward_ns=fast", "a size is relative"),
    ("forward_ns[variant=a=5%", "in one pair of brackets"), ("backward_ns=5%", "is backward_ns\none of: forward_ns"),
    ("forwrd_ns=5%", "did you mean 'forward_ns'?"), ("forward_ns[variant=vanila]=5%", "variant: did you mean 'vanilla'?"),
    ("forward_ns=5KiB", "its unit is not the metric's, which is in ns"), ("forward_ns=5", "a time such as 20us"),
])
def test_thresholds_that_make_no_sense(perfkit, store, threshold, words):
    two_runs(store)
    perfkit("compare", "1", "2", "--threshold", threshold).refused(2, f"--threshold '{threshold}' ", words)


def test_values_that_have_no_ratio(perfkit, store):
    for f in (1e6, 1.01e6, 0.99e6, 1.005e6, 0.0):
        store.run([case("vanilla", 256, [f])], label="main")
    store.run([case("vanilla", 256, [9e6])])
    row = row_of(perfkit, "main", "@")
    assert row["verdict"] == "undecided" and "absolute threshold" in row["reason"] and row["ratio"] is None
    row = row_of(perfkit, "main", "@", "--threshold", "forward_ns=1ms")
    assert row["verdict"] == "slower" and row["difference"] > 8e6
    said = perfkit("compare", "main", "@", "--threshold", "forward_ns=1ms").stdout
    assert "By difference: forward_ns of vanilla" in said and "; MDE " in said
    assert re.search(r" slower, \+\d{7} ns \(\+\d{7} to \+\d{7}\)", said), said


def test_a_process_that_shows_zero(perfkit, store):
    """A run's figure is the median that is shown, not a mean that one process decides."""
    for f in (1e6, 1.01e6, 0.99e6, 1.005e6, 0.995e6):
        store.run([case("vanilla", 256, [f, f, f])], label="main")
    store.run([case("vanilla", 256, [0.0, 0.0, 4.2e6])])
    row = row_of(perfkit, "main", "@")
    assert row["new_ns"] == 0 and row["ratio"] is None and -1.1e6 < row["difference"] < -0.9e6


def test_traces_say_which_kernel_it_was(perfkit, store):
    for figures, softmax in ((FAST, 200_000), (SLOW, 1_100_000)):
        run = store.run([case("vanilla", 256, figures), case("flash", 256, FAST)])
        store.traced(run, [("forward", "gemm", "gemm", 500_000 if softmax < 10**6 else 490_000),
                           ("forward", "softmax", "softmax", softmax), ("backward", "gemm", "other", softmax)])
    told = perfkit("compare", "1", "2").stdout
    assert "forward_ns of vanilla +100.0 %: in the traces softmax took 900 us more (+450 %)." in told, told
    assert told.count("in the traces") == 1  # flash took what it did
    back = perfkit("compare", "2", "1").stdout
    assert "forward_ns of vanilla -50.0 %: in the traces softmax took 900 us less (-82 %)." in back, back
    only_one = store.run([case("vanilla", 256, SLOW)])
    assert "in the traces" not in perfkit("compare", "1", str(only_one)).stdout


def test_the_trace_of_a_base_is_not_that_of_what_is_judged(perfkit, store):
    """Which has the same label, and is the newest of them."""
    for figures, softmax in ((FAST, 200_000), (FAST, 200_000), (SLOW, 1_100_000)):
        store.traced(store.run([case("vanilla", 256, figures)], label="main"), [("forward", "softmax", "softmax", softmax)])
    assert "in the traces softmax took 900 us more" in perfkit("compare", "main", "@").stdout


def traces(perfkit, store, before, after, slower=False):
    """What compare says of two runs with these kernels of region forward."""
    for figures, kernels in ((FAST if slower else SLOW, before), (SLOW if slower else FAST, after)):
        store.traced(store.run([case("vanilla", 256, figures)]), [("forward", "other", name, ns) for name, ns in kernels.items()])
    return " ".join(perfkit("compare", "@~1", "@").stdout.split("in the traces ")[1:])


def test_a_kernel_that_is_gone_is_named(perfkit, store):
    assert traces(perfkit, store, {"gemm": 500_000, "scale": 400_000}, {"gemm": 450_000}).startswith("scale took 400 us less (gone).")
    assert traces(perfkit, store, {"gemm": 450_000}, {"gemm": 460_000, "copy": 9_000}, True).startswith("gemm took 10.0 us more (+2 %).")
    assert traces(perfkit, store, {"gemm": 450_000}, {"gemm": 460_000, "copy": 90_000}, True).startswith("copy took 90.0 us more (new).")


def test_kernels_beyond_the_list_are_not_new(perfkit, store):
    full = {f"k{i}": 100_000 for i in range(64)}  # as many as a trace tells
    without_last = {name: ns for name, ns in full.items() if name != "k63"}
    assert traces(perfkit, store, full, {**without_last, "k0": 130_000, "x": 110_000}, True).startswith("k0 took 30.0 us more (+30 %).")
    told = traces(perfkit, store, full, {**without_last, "x": 150_000}, True)
    assert told.startswith("x took at least 50.0 us more (it was not among the longest)."), told
    told = traces(perfkit, store, {**without_last, "x": 150_000}, full)
    assert told.startswith("x took at least 50.0 us less (it is no longer among the longest)."), told


def counted_run(store, figures, faults, **more):
    """Two cases with counters; what belongs to roofline and perturbation is not compared."""
    run = store.run([case("vanilla", 256, figures), case("flash", 256, FAST)], settings={"counters": "sw"}, **more)
    store.counted(run, [("forward", "", "page_faults", "1", faults), ("forward", "", "task_clock_ns", "ns", 2e6),
                        ("forward", "sw", "fault_rate", "1/s", faults / 2), ("iteration", "", "page_faults", "1", faults + 1),
                        ("forward", "", "switches", "1", None), ("forward", "", "perturbation", "1", 0.5),
                        ("forward", "roofline", "intensity", "flops/byte", 3)])
    return run


def counts_of(answer, table, variant="flash"):
    return {(r["region"], r["group"], r["counter"]): r for r in answer.rows(table) if r["variant"] == variant}


def test_counters_are_compared(perfkit, store):
    counted_run(store, FAST, 2)
    counted_run(store, SLOW, 30)
    answer = perfkit("compare", "1", "2", "--format", "json")
    plain = counts_of(answer, "counters")
    assert {k: (r["base"], r["new"], r["ratio"]) for k, r in plain.items()} == {
        ("forward", None, "page_faults"): (2, 30, pytest.approx(15)), ("iteration", None, "page_faults"): (3, 31, pytest.approx(31 / 3))}
    assert counts_of(answer, "counters_ns")["forward", None, "task_clock_ns"]["new_ns"] == 2e6
    assert counts_of(answer, "counters_1_per_s")["forward", "sw", "fault_rate"]["base_1_per_s"] == 1
    told = perfkit("compare", "1", "2").stdout
    assert "forward_ns of vanilla +100.0 %: counted page_faults 2 -> 30, fault_rate 1 -> 15." in told, told
    assert told.count(": counted ") == 1  # flash took what it did
    changed = perfkit("compare", "1", "2", "--only-changed", "--format", "json").json()["tables"]
    assert "counters_ns" not in changed and len(changed["counters"]["rows"]) == 4


@pytest.mark.parametrize("cycles, says", [
    (1003, "counted cycles +0 %: the clock changed, or the time that it waited, not the work."),
    (1990, "counted cycles +99 %: as the time, so the work changed, not the clock."),
    (1400, "counted cycles +40 %."), (None, None)])
def test_cycles_tell_the_clock_from_the_work(perfkit, store, cycles, says):
    for figures, count in ((FAST, 1000), (SLOW, cycles)):
        store.counted(store.run([case("vanilla", 256, figures)], settings={"counters": "cpu-basic"}), [("forward", "", "cycles", "1", count), ("backward", "", "cycles", "1", 7)])
    told = perfkit("compare", "1", "2").stdout
    assert f"forward_ns of vanilla +100.0 %: {says}" in told if says else ": counted" not in told, told


def test_cycles_of_a_command_explain_its_wall_time(perfkit, store):
    for wall, count in (([1e6] * 6, 1000), ([2e6] * 6, 1001)):
        store.counted(store.run([("solve", {}, {"wall_ns": wall})], settings={"counters": "cpu-basic"}), [("iteration", "", "cycles", "1", count)])
    told = perfkit("compare", "1", "2").stdout
    assert "wall_ns of solve +100.0 %: counted cycles +0 %: the clock changed" in told, told


def test_counters_of_several_runs_and_within_one(perfkit, store):
    for faults in (2, 8):
        counted_run(store, FAST, faults, label="main")
    counted_run(store, FAST, 8)
    row = counts_of(perfkit("compare", "main", "@", "--format", "json"), "counters")["forward", None, "page_faults"]
    assert (row["base"], row["new"], row["ratio"]) == (pytest.approx(5), pytest.approx(8), pytest.approx(2))  # of the geometric mean
    row = counts_of(perfkit("compare", "--by", "variant", "@", "--format", "json"), "counters")["forward", None, "page_faults"]
    assert (row["value"], row["base"], row["new"], row["ratio"]) == ("flash", 8, 8, pytest.approx(1))


def test_counters_of_one_side_are_not_compared(perfkit, store):
    counted_run(store, FAST, 2)
    store.run([case("vanilla", 256, SLOW)])
    tables = perfkit("compare", "1", "2", "--format", "json").json()["tables"]
    assert not [t for t in tables if t.startswith("counters")]


def test_what_no_one_could_see_has_no_figure(perfkit, store):
    """Of two wild pairs the smallest worsening that would be found has forty digits."""
    store.run([case("vanilla", 256, [1e6, 5e6]), case("flash", 256, [9e6, 1e6])])
    (row,) = [r for r in perfkit("compare", "@", "--by", "variant", "--format", "json").rows("compare_ns") if r["row"] == "case"]
    assert row["verdict"] == "undecided" and row["mde"] is None, row
    store.run([case("vanilla", 256, [1e6, 1.01e6, 1e6]), case("flash", 256, [1e6, 1e6, 1.01e6])])
    (row,) = [r for r in perfkit("compare", "@", "--by", "variant", "--format", "json").rows("compare_ns") if r["row"] == "case"]
    assert 0 < row["mde"] < 1, row
