"""What the base has and the new side lacks: a row in every report and exit status 5, in gate, gate --against and compare.
Programs report over the wire what a script says; nothing is timed."""
import json
import shlex
import shutil
import stat

import junit
import pytest
from conftest import Perfkit
from stored import Stored, query

GITHUB = {"GITHUB_ACTIONS": "true"}


def metric(name, value, unit="ns", direction="lower", **more):
    return [{"type": "metric", "name": name, "unit": unit, "direction": direction, **more},
            {"type": "samples", "metric": name, "values": [value]}]


def case(variant, *metrics):
    return [{"type": "case", "variant": variant, "axes": {}}, *(m for one in metrics for m in one), {"type": "status", "status": "ok", "message": ""}]


def said(messages):
    """What a shell reads to say them itself, without another program."""
    return "".join(f"printf '%s\\n' {shlex.quote(json.dumps(m))}\n" for m in messages)


def program(perfkit, name, *processes):
    """A command whose k-th process reports processes[k]; after the last, it reports them again from the first."""
    folder = perfkit.cwd / f"{name}.says"
    folder.mkdir()
    for k, messages in enumerate(processes):
        (folder / str(k)).write_text(said(messages))
    path = perfkit.cwd / name
    (perfkit.cwd / f"{name}.n").write_text("0\n")
    path.write_text(f"#!/bin/sh\nread n < {name}.n; echo $((n + 1)) > {name}.n\n"
                    f". ./{name}.says/$((n % {len(processes)})) >&$PERFKIT_WIRE_FD\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def gate(perfkit, *args, **kw):
    return perfkit("gate", "--a", "./a", "--b", "./b", "--name", "c", "--min-effect", "900%", "--max-pairs", "8", *args, **kw)


X, RATE = metric("x_ns", 100), metric("tokens_per_s", 5, "tokens/s", "higher")

# What the processes of a and of b report; the rows of the table `not_compared`: variant, metric, status.
MISSING = {
    "a case": ([case("one", X) + case("two", X)], [case("one", X)], [("two", None, "missing")]),
    "a metric": ([metric("x_ns", 100) + metric("y_ns", 50)], [X], [("c", "y_ns", "missing")]),
    "a metric of a case": ([case("one", X, metric("y_ns", 5))], [case("one", X)], [("one", "y_ns", "missing")]),
    "a renamed metric": ([X], [metric("renamed_ns", 100)], [("c", "x_ns", "missing")]),
    "a program that stops reporting": ([X], [[]], [("c", "x_ns", "missing")]),
    "a program that stops reporting its cases": ([case("one", X)], [[]], [("one", None, "missing")]),
    "a rate": ([X + RATE], [X], [("c", "tokens_per_s", "missing")]),
    "a rate that is all": ([RATE], [[]], [("c", "tokens_per_s", "missing")]),
    "a rate in another unit": ([X + RATE], [X + metric("tokens_per_s", 5, "1/s", "higher")], [("c", "tokens_per_s", "other unit")]),
    "a metric of half of the processes": ([X + metric("y_ns", 50)], [X, X + metric("y_ns", 50)], [("c", "y_ns", "partly missing")]),
    "a case of half of the processes": ([case("one", X) + case("two", X)], [case("one", X), case("one", X) + case("two", X)],
                                        [("two", "x_ns", "partly missing")]),
    "all of half of the processes": ([X], [X, []], [("c", "x_ns", "partly missing")]),
    "no number in half of the processes": ([X + RATE], [X + metric("tokens_per_s", None, "tokens/s", "higher"), X + RATE],
                                           [("c", "tokens_per_s", "partly missing")]),
}


@pytest.mark.parametrize("what", MISSING)
def test_a_gate_with_something_missing_is_not_green(perfkit, what):
    a, b, rows = MISSING[what]
    program(perfkit, "a", *a)
    program(perfkit, "b", *b)
    r = gate(perfkit, "--junit", "j.xml", "--format", "json", env=GITHUB)
    assert r.status == 5, r
    assert [(t["variant"], t["metric"], t["status"]) for t in r.rows("not_compared")] == rows and r.rows("not_compared")[0]["side"] == "b"
    assert r.rows("gate")[0]["answer"] == "not comparable" and r.rows("gate")[0]["missing"] == len(rows)
    advice = "in the same way on both sides" if rows[0][2] == "other unit" else "--allow-missing"
    assert (rows[0][1] or rows[0][0]) in r.error()["what"] and advice in r.error()["try"], r
    errors = junit.read(perfkit.cwd / "j.xml").findall("testcase/error")
    assert [e.get("type") for e in errors] == [status for _, _, status in rows]
    assert f"::error title=perfkit gate%3A b {rows[0][2]}::" in r.stderr
    again = perfkit("compare", "1", "2", "--exit-code", "--format", "json")
    assert again.status == 5, again
    if again.stdout:
        assert [(t["variant"], t["metric"], t["status"]) for t in again.rows("not_compared")] == rows


@pytest.mark.parametrize("what", MISSING)
def test_missing_work_can_be_allowed(perfkit, what):
    """It is said all the same, as what it is."""
    a, b, rows = MISSING[what]
    program(perfkit, "a", *a)
    program(perfkit, "b", *b)
    r = gate(perfkit, "--allow-missing", "--junit", "j.xml", "--format", "json", env=GITHUB)
    statuses = {t["status"] for t in r.rows("not_compared")}
    if "other unit" in statuses:  # this is not missing
        assert r.status == 5
        return
    assert r.status == (0 if "compare_ns" in r.json()["tables"] else 6), r
    assert [t["status"] for t in r.rows("not_compared")] == [f"{status} (allowed)" for _, _, status in rows]
    assert r.rows("gate")[0]["missing"] == len(rows)
    suite = junit.read(perfkit.cwd / "j.xml")
    assert int(suite.get("skipped")) == len(rows) + r.rows("gate")[0]["undecided"] and "::notice title=perfkit gate%3A b " in r.stderr
    again = perfkit("compare", "1", "2", "--exit-code", "--allow-missing")
    assert again.status == r.status, again
    if what in ("a metric", "a rate that is all"):  # 0 and 6
        (perfkit.cwd / "s.ini").write_text("[c]\ncommand = ./{side}\nallow-missing = true\nmin-effect = 900%\n")
        assert perfkit("gate", "--suite", "s.ini", "--a", "a", "--b", "b").status == r.status


@pytest.fixture(scope="module")
def stored_main(tmp_path_factory):
    """Gives a perfkit five runs of a program, with the label main; programs that say the same are run once."""
    stores = {}

    def store(perfkit, *processes):
        said = json.dumps(processes)
        if said not in stores:
            one = stores[said] = Perfkit(tmp_path_factory.mktemp("main"))
            program(one, "a", *processes)
            for _ in range(5):
                assert one("exec", "--runs", "2", "--no-counters", "--name", "c", "--label", "main", "--", "./a").status == 0
        shutil.copy(stores[said].db, perfkit.db)

    return store


# The others are of stored runs what one of these is: of a metric, a rate or a process.
@pytest.mark.parametrize("what", [what for what in MISSING if what not in ("a metric of a case", "a rate", "a case of half of the processes")])
def test_missing_work_of_stored_runs(perfkit, what, stored_main):
    a, b, rows = MISSING[what]
    stored_main(perfkit, *a)
    program(perfkit, "b", *b)
    assert perfkit("exec", "--runs", "2", "--no-counters", "--name", "c", "--", "./b").status == 0
    quiet = "--min-effect", "900%", "--format", "json"
    r = perfkit("gate", "--against", "main", *quiet, "--junit", "j.xml", env=GITHUB)
    assert r.status == 5, r
    assert [(t["variant"], t["metric"], t["status"]) for t in r.rows("not_compared")] == rows and r.rows("not_compared")[0]["side"] == "new"
    assert [e.get("type") for e in junit.read(perfkit.cwd / "j.xml").findall("testcase/error")] == [status for _, _, status in rows]
    assert f"::error title=perfkit gate --against main%3A new {rows[0][2]}::" in r.stderr
    assert perfkit("compare", "main", "@", "--exit-code", *quiet).status == 5
    if rows[0][2] != "other unit":
        for command in (("gate", "--against", "main"), ("compare", "main", "@", "--exit-code")):
            assert perfkit(*command, "--allow-missing", *quiet).status == 0
    if what == "a metric":
        assert perfkit("compare", "main", "@", *quiet).status == 0
        assert "not_compared" not in perfkit("compare", "main", "2", *quiet).json()["tables"]  # of the base itself nothing is missing


def test_a_regression_is_said_first(perfkit):
    program(perfkit, "a", metric("x_ns", 100) + metric("y_ns", 50))
    program(perfkit, "b", metric("x_ns", 5000))
    r = gate(perfkit, "--format", "json", "--junit", "j.xml")
    assert r.status == 3 and [t["metric"] for t in r.rows("not_compared")] == ["y_ns"], r
    suite = junit.read(perfkit.cwd / "j.xml")
    assert (suite.get("failures"), suite.get("errors")) == ("1", "1")


def test_wall_time_does_not_replace_a_metric_that_went_away(perfkit):
    for name, says in (("a", X), ("b", [])):
        program(perfkit, name, says)
    r = gate(perfkit, "--format", "json")
    assert "compare_ns" not in r.json()["tables"] and r.status == 5, r
    assert gate(perfkit, "-m", "wall_ns").status == 0  # this was chosen


@pytest.mark.parametrize("seed", [1, 2])  # either side may be the first that reports it
def test_a_time_in_another_unit_is_refused_in_every_order(perfkit, seed):
    program(perfkit, "a", X)
    program(perfkit, "b", metric("x_ns", 1, "s"))
    for chosen in (), ("-m", "x_ns"):
        r = gate(perfkit, "--seed", str(seed), *chosen, "--junit", "j.xml", "--summary", "s.md", "--format", "json", env=GITHUB)
        assert r.status == 5 and r.error()["what"] == "the two sides cannot be compared", r
        assert 'x_ns is in "ns" on the base side and in "s" on the new side' in r.error()["why"]
        assert [(t["side"], t["variant"], t["metric"], t["status"]) for t in r.rows("not_compared")] == [("b", "c", "x_ns", "other unit")], r
        assert r.rows("gate")[0]["answer"] == "not comparable" and "compare_ns" not in r.json()["tables"]
        error, = junit.read(perfkit.cwd / "j.xml").findall("testcase/error")
        assert error.get("type") == "other unit" and "x_ns" in (perfkit.cwd / "s.md").read_text()
        assert "b other unit::x_ns of c" in r.stderr


def test_the_tables_fit_80_columns(perfkit):
    program(perfkit, "a", X + metric("second_phase_ns", 5))
    program(perfkit, "b", X)
    r = gate(perfkit, "--width", "80")
    assert r.status == 5 and max(map(len, r.stdout.splitlines())) <= 80, r
    missing = r.stdout[r.stdout.index("Not compared"):r.stdout.index("Gate")].splitlines()
    assert "Entry" not in missing[1] and "Metric" in missing[1], r


def test_what_the_new_side_alone_has_is_named(perfkit):
    program(perfkit, "a", X)
    program(perfkit, "b", X + metric("y_ns", 5) + case("two", X))
    r = gate(perfkit)
    assert r.status == 0 and "1 metric of new unmatched: y_ns of c" in r.stdout, r
    assert "1 case of new unmatched: two" in r.stdout
    program(perfkit, "d", metric("y_ns", 5))
    r = perfkit("gate", "--a", "./a", "--b", "./d", "--name", "c")
    assert r.status == 5 and "1 metric of new unmatched: y_ns of c" in r.stdout, r


def test_a_metric_of_both_sides_that_is_not_judged_is_said(perfkit):
    for name in "a", "b":
        program(perfkit, name, X + RATE + metric("colour", 7, "1", "none"))
    r = gate(perfkit)
    assert r.status == 0 and "Metrics of both sides that are not judged: tokens_per_s" in r.stdout and "colour" not in r.stdout, r
    assert "tokens_per_s" in perfkit("compare", "1", "2").stdout
    assert "not judged:" not in gate(perfkit, "-m", "x_ns").stdout  # the others are left out by choice
    r = gate(perfkit, "-m", "x_ns", "-m", "tokens_per_s", "--format", "json")
    assert r.rows("compare_tokens_per_s")[0]["metric"] == "tokens_per_s", r


def test_a_chosen_metric_that_is_missing(perfkit):
    program(perfkit, "a", X + metric("y_ns", 5))
    program(perfkit, "b", X)
    assert gate(perfkit, "-m", "x_ns").status == 0  # the other was not chosen
    for chosen in ("-m", "y_ns"), ("-m", "y_ns", "-m", "x_ns"), ("--threshold", "y_ns=5%"):
        r = gate(perfkit, *chosen, "--format", "json")
        assert r.status == 5 and [t["metric"] for t in r.rows("not_compared")] == ["y_ns"], r


# A metric, or the metric of a threshold, that the base alone has is missing (5); one that no side has is a usage error (2).
ASKED = [
    (("-m", "nosuch_ns"), 2, "metric 'nosuch_ns' is unknown"),
    (("-m", "nosuch_ns", "-m", "y_ns"), 2, "metric 'nosuch_ns' is unknown"),
    (("--threshold", "nosuch_ns=5%"), 2, "--threshold 'nosuch_ns=5%' matches no metric"),
    (("--threshold", "y_ns=5KiB"), 2, "its unit is not the metric's"),
    (("--threshold", "y_ns=5%"), 5, "y_ns"),
    (("--threshold", "y_ns=20us", "--threshold", "*=5%"), 5, "y_ns"),
    (("-m", "y_ns"), 5, "y_ns"),
]


@pytest.mark.parametrize("new, questions", [(X, ASKED), ([], ASKED[0::2]), (metric("renamed_ns", 5), ASKED[0::2])])
def test_what_is_asked_of_a_metric_that_is_missing(perfkit, new, questions):
    program(perfkit, "a", X + metric("y_ns", 5))
    program(perfkit, "b", new)
    for asked, status, words in questions:
        r = gate(perfkit, *asked)
        assert r.status == status and words in r.stderr + r.stdout, r


@pytest.mark.parametrize("new, questions", [({"x_ns": [1e6]}, ASKED), ({"renamed_ns": [1e6]}, ASKED[0::2])])
def test_what_is_asked_of_a_metric_that_stored_runs_lack(perfkit, new, questions):
    stored = Stored(perfkit.db)
    for _ in range(5):
        stored.run([("flash", {"n": 1}, {"x_ns": [1e6], "y_ns": [1e6]})], label="main")
    stored.run([("flash", {"n": 1}, new)])
    for asked, status, words in questions:
        for command in ("gate", "--against", "main", "@"), ("compare", "main", "@", "--exit-code"):
            r = perfkit(*command, *asked)
            assert r.status == status and words in r.stderr + r.stdout, r


def test_a_metric_that_is_missing_on_both_sides_alike_is_no_finding(perfkit):
    for name in "a", "b":
        program(perfkit, name, X + metric("y_ns", 5), X)
    r = gate(perfkit, "--format", "json")
    assert r.status == 0 and "not_compared" not in r.json()["tables"], r


def test_no_fail_does_not_hide_missing_work(perfkit):
    program(perfkit, "a", X + RATE)
    program(perfkit, "b", X)
    assert gate(perfkit, "--no-fail").status == 5


def test_many_missing_rows_are_all_in_the_reports(perfkit):
    program(perfkit, "a", X + [m for i in range(30) for m in metric(f"m{i}_ns", 5)])
    program(perfkit, "b", X)
    r = gate(perfkit, "--junit", "j.xml", "--summary", "s.md", "--format", "csv", env={**GITHUB, "GITHUB_OUTPUT": perfkit.cwd / "out"})
    assert r.status == 5 and junit.read(perfkit.cwd / "j.xml").get("errors") == "30", r
    assert all(f"m{i}_ns" in r.stdout and f"m{i}_ns" in (perfkit.cwd / "s.md").read_text() for i in range(30))
    annotations = [line for line in r.stderr.splitlines() if line.startswith("::error")]
    assert len(annotations) == 10 and "30 cases or metrics" in annotations[0] and "\nmissing=30\n" in (perfkit.cwd / "out").read_text()
    assert "30 missing" in r.stderr


def test_a_longer_budget_is_advised_where_there_was_one(perfkit):
    program(perfkit, "a", X)
    program(perfkit, "b", [], X, *[[]] * 90)  # one process reports it that is judged
    r = gate(perfkit, "--allow-missing", "-m", "x_ns")
    assert r.status == 4 and "--budget" not in r.error()["try"] and "let every process of both sides report it" in r.error()["try"], r
    r = gate(perfkit, "--allow-missing", "-m", "wall_ns", "--budget", "1ns", "--min-effect", "1%")
    assert r.status == 4 and r.error()["try"] == "use a longer --budget", r


def peak(value):
    return metric("peak_bytes", value, "bytes")


def test_a_command_reports_its_own_peak(perfkit):
    """In place of the resident memory that perfkit measures; the two are not compared."""
    for name, says in (("a", peak(1000)), ("b", peak(2000)), ("d", []), ("e", [{"type": "metric", "name": "peak_bytes", "unit": "bytes"},
                                                                                *peak(1000)[1:]])):
        program(perfkit, name, says)
    r = perfkit("exec", "--runs", "2", "--no-counters", "--", "./a")
    assert r.status == 0 and query(perfkit, "SELECT median, direction, class, source FROM v_summary WHERE metric = 'peak_bytes'") == [
        (1000, "lower", "memory", "program")], r
    r = gate(perfkit, "-m", "peak_bytes", "--min-effect", "2%", "--format", "json")
    row, = r.rows("compare_bytes")
    assert r.status == 3 and (row["base_bytes"], row["new_bytes"], row["verdict"]) == (1000, 2000, "slower"), r
    sides = "--name", "c", "--min-effect", "900%", "--max-pairs", "8", "--format", "json"
    for metrics in (), ("-m", "peak_bytes"):
        r = perfkit("gate", "--a", "./a", "--b", "./d", *sides, *metrics)  # it stops reporting: resident memory is no replacement
        assert r.status == 5 and [(t["metric"], t["status"]) for t in r.rows("not_compared")] == [("peak_bytes", "missing")], r
    r = perfkit("gate", "--a", "./d", "--b", "./a", *sides)  # it begins to report
    assert r.status == 0 and "1 metric of new unmatched: peak_bytes of c" in r.stdout, r
    r = perfkit("gate", "--a", "./a", "--b", "./e", *sides, "-m", "peak_bytes", "-m", "wall_ns")  # direction and class need not be said
    assert r.status == 0 and r.rows("compare_bytes")[0]["verdict"] == "same", r


def test_stored_peaks_of_two_sources_are_not_compared(perfkit):
    for name, says in (("a", peak(1000)), ("d", [])):
        program(perfkit, name, says)
        assert perfkit("exec", "--runs", "2", "--no-counters", "--name", "c", "--label", name, "--", f"./{name}").status == 0
    r = perfkit("compare", "a", "d", "--exit-code", "--format", "json")
    assert r.status == 5 and [(t["metric"], t["status"]) for t in r.rows("not_compared")] == [("peak_bytes", "missing")], r
    r = perfkit("compare", "d", "a", "--exit-code")
    assert r.status == 4 and "1 metric of new unmatched: peak_bytes of c" in r.stdout, r  # one run a side


@pytest.fixture
def store(perfkit):
    return Stored(perfkit.db)


def demo(*variants, **metrics):
    return [(v, {"n": 1}, {"work_ns": [1e6, 1e6, 1e6], **metrics}) for v in variants]


FIGURES = [1e6, 1e6, 1e6]
# Metrics of base and of new; the arguments; which metrics of the variant have a row; whether something is left that is judged.
CHOSEN = {
    "the chosen metric": ({"x_ns": FIGURES, "p_ns": FIGURES}, {"x_ns": FIGURES}, ("-m", "p_ns"), ["p_ns"], False),
    "one of the chosen metrics": ({"x_ns": FIGURES, "p_ns": FIGURES}, {"x_ns": FIGURES}, ("-m", "p_ns", "-m", "x_ns"), ["p_ns"], True),
    "all metrics": ({"x_ns": FIGURES, "p_ns": FIGURES}, {"x2_ns": FIGURES, "p2_ns": FIGURES}, (), ["p_ns", "x_ns"], False),
    "a metric that is not a number": ({"x_ns": FIGURES, "p_ns": FIGURES}, {"x_ns": FIGURES, "p_ns": [None]}, ("-m", "p_ns"), ["p_ns"], False),
}


@pytest.mark.parametrize("what", CHOSEN)
def test_stored_runs_that_lack_what_is_compared(perfkit, store, what):
    """It has a row in every report: it is no error that ends the command before its tables."""
    base, new, chosen, missing, judged = CHOSEN[what]
    for _ in range(5):
        store.run([("flash", {"n": 1}, base)], label="main")
    store.run([("flash", {"n": 1}, new)])
    against, compare = ("gate", "--against", "main", "@"), ("compare", "main", "@")
    r = perfkit(*against, *chosen, "--format", "json", "--junit", "j.xml", "--summary", "s.md", env=GITHUB)
    rows = [("flash", m, "missing") for m in missing]
    assert r.status == 5 and [(t["variant"], t["metric"], t["status"]) for t in r.rows("not_compared")] == rows, r
    assert ("compare_ns" in r.json()["tables"]) == judged
    errors = junit.read(perfkit.cwd / "j.xml").findall("testcase/error")
    assert [(e.get("type"), m in e.text) for e, m in zip(errors, missing, strict=True)] == [("missing", True)] * len(missing)
    assert r.stderr.count("new missing::") == len(missing) and all(m in (perfkit.cwd / "s.md").read_text() for m in missing)
    r = perfkit(*compare, "--exit-code", *chosen, "--format", "json")
    assert r.status == 5 and [(t["variant"], t["metric"], t["status"]) for t in r.rows("not_compared")] == rows, r
    perfkit(*compare, *chosen).refused(5)
    for command in against, (*compare, "--exit-code"):
        r = perfkit(*command, *chosen, "--allow-missing", "--format", "json")
        assert r.status == (0 if judged else 6) and {t["status"] for t in r.rows("not_compared")} == {"missing (allowed)"}, r
        assert judged or r.error()["what"] == "nothing was compared"


def test_an_entry_of_a_suite_that_lacks_what_is_compared(perfkit):
    """The other entries are judged all the same."""
    (perfkit.cwd / "s.ini").write_text("".join(f"[{name}]\ncommand = ./{name}\nruns = 2\nmin-effect = 900%\nmetric = {metric}\n"
                                               for name, metric in (("one", "y_ns"), ("two", "x_ns"))))
    program(perfkit, "one", X + metric("y_ns", 5))
    program(perfkit, "two", X)
    for label in ["main"] * 5 + ["feature"]:
        if label == "feature":
            (perfkit.cwd / "one.says/0").write_text(said(X))
        assert perfkit("run", "--suite", "s.ini", "--label", label).status == 0
    gate = "gate", "--suite", "s.ini", "--against", "main", "feature", "--format", "json"
    r = perfkit(*gate, "--junit", "j.xml")
    assert r.status == 5 and [(t["entry"], t["metric"], t["status"]) for t in r.rows("not_compared")] == [("one", "y_ns", "missing")], r
    assert [(t["entry"], t["verdict"]) for t in r.rows("compare_ns")] == [("two", "same")] and r.error()["what"].startswith("[one]: "), r
    assert junit.read(perfkit.cwd / "j.xml").get("tests") == "2"
    assert perfkit(*gate, "--allow-missing").status == 0


def test_what_the_base_itself_gave_up_is_not_expected(perfkit, store):
    """The newest run of a base of several says what is expected: a case or a metric that is not in it was removed earlier."""
    for i in range(5):
        store.run(demo("flash", "old") if i < 4 else demo("flash"), label="main")
    store.run(demo("flash"))
    r = perfkit("gate", "--against", "main", "@")
    assert r.status == 0 and "1 case of base unmatched: old n=1" in r.stdout, r
    store.run(demo("flash", "old"), label="main")
    assert perfkit("gate", "--against", "main", "6").status == 5


def test_runs_of_different_lengths_lack_nothing(perfkit, store):
    """Fewer processes were planned; but a metric that some of them lack is partly missing."""
    store.run(demo("flash", other_ns=[5.0, 5.0, 5.0]))
    store.run([("flash", {"n": 1}, {"work_ns": [1e6], "other_ns": [5.0]})])
    store.run([("flash", {"n": 1}, {"work_ns": [1e6, 1e6], "other_ns": [5.0]})])
    assert "not_compared" not in perfkit("compare", "1", "2", "--format", "json").json()["tables"]
    row, = perfkit("compare", "1", "3", "--format", "json").rows("not_compared")
    assert (row["metric"], row["status"]) == ("other_ns", "partly missing") and "1 of 2 processes" in row["message"], row


def test_settings_bring_their_own_metrics(perfkit):
    """What a variant does not have by its plan is not missing."""
    r = perfkit("gate", "selftest", "--device", "null", "--max-samples", "5", "--min-samples", "5", "--min-time", "0",
                "--a", "variant=instances", "--b", "variant=ok", "--min-effect", "900%", "--format", "json")
    assert r.status == 0 and "not_compared" not in r.json()["tables"], r
    assert "part_ns" in r.stdout  # it is said
