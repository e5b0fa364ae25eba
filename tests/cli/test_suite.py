"""--suite: a file of what is measured and judged together; on the null device every answer is known."""
import sqlite3
import xml.etree.ElementTree as xml

import pytest
from conftest import BINARY

COMMON = """\
[suite]
device = null
min-time = 0
min-samples = 5
max-samples = 5
"""
TWO = COMMON + """
[selftest]
variant = ok
busy_ns = 1000,2000

[slow]
experiment = selftest
variant = slow-start
axis = busy_ns=1000
invocations = 2
"""
NEUTRAL = COMMON + "[twice]\nexperiment = selftest\nvariant = ok\n"


def suite(perfkit, text, *args, command="gate", **kw):
    (perfkit.cwd / "perf.ini").write_text(text)
    return perfkit(command, "--suite", "perf.ini", *args, **kw)


def query(perfkit, sql):
    with sqlite3.connect(perfkit.db) as db:
        return db.execute(sql).fetchall()


def side(perfkit, name, seconds="0.002"):
    """A folder that has a perfkit, which is a file of its own, and a command."""
    folder = perfkit.cwd / name
    folder.mkdir(exist_ok=True)
    for program, does in (("perfkit", f'exec {BINARY} "$@"'), ("solve", f"sleep {seconds}")):
        (folder / program).write_text(f"#!/bin/sh\n# {name}\n{does}\n")
        (folder / program).chmod(0o755)
    return name


def sides(perfkit):
    return "--a", side(perfkit, "a"), "--b", side(perfkit, "b")


# --- run ---


def test_every_entry_is_a_run_of_its_own(perfkit):
    r = suite(perfkit, TWO + "[nap]\ncommand = sleep 0.001\nruns = 3\nno-counters = true\n", "--label", "nightly", "--format", "json",
              command="run")
    assert r.status == 0, r
    assert [(t["entry"], t["experiment"], t["run_id"], t["answer"]) for t in r.rows("suite")] == [
        ("selftest", "selftest", 1, "ok"), ("slow", "selftest", 2, "ok"), ("nap", "exec", 3, "ok")]
    assert query(perfkit, "SELECT label, tags ->> 'suite', tags ->> 'entry', status FROM v_run ORDER BY run_id") == [
        ("nightly", "perf", name, "complete") for name in ("selftest", "slow", "nap")]
    assert query(perfkit, "SELECT v_case.run_id, variant, axes ->> 'busy_ns', max(invocation) FROM v_case JOIN v_slice USING (case_id)"
                          " WHERE v_case.run_id < 3 GROUP BY case_id") == [(1, "ok", 1000, 3), (1, "ok", 2000, 3), (2, "slow-start", 1000, 2)]
    assert query(perfkit, "SELECT variant, count(*) FROM v_case JOIN v_slice USING (case_id) WHERE v_case.run_id = 3") == [("nap", 3)]


def test_what_it_would_measure(perfkit):
    r = suite(perfkit, TWO + "[nap]\ncommand = no-such-file-yet/../true\nruns = 3\n", "--dry-run", command="run")
    r.refused(2, "perf.ini:16: [nap]: cannot run 'no-such-file-yet/../true'")  # as every mistake, before anything is measured
    r = suite(perfkit, TWO + "[nap]\ncommand = true\n", "--dry-run", "--format", "json", command="run")
    assert [(t["entry"], t["variant"], (t["axes"] or {}).get("busy_ns")) for t in r.rows("suite_plan")] == [
        ("selftest", "ok", 1000), ("selftest", "ok", 2000), ("slow", "slow-start", 1000), ("nap", "nap", None)]
    assert query(perfkit, "SELECT count(*) FROM v_run") == [(0,)]


def test_an_entry_that_fails_does_not_end_the_others(perfkit):
    r = suite(perfkit, COMMON + "[bad]\nexperiment = selftest\nvariant = exit\n[selftest]\nvariant = ok\n", "--format", "json", command="run")
    assert r.status == 1 and "[bad]: 1 of 1 case failed" in r.error()["what"], r
    assert [(t["entry"], t["answer"]) for t in r.rows("suite")] == [("bad", "failed"), ("selftest", "ok")]


def test_options_are_stronger_than_the_file_and_the_file_than_config(perfkit):
    (perfkit.cwd / ".perfkit.ini").write_text("[run]\ninvocations = 5\nmax-samples = 9\n")
    suite(perfkit, TWO, command="run")
    assert query(perfkit, "SELECT settings ->> 'invocations', settings ->> 'max_samples' FROM v_run") == [(5, 5), (2, 5)]
    suite(perfkit, TWO, "-i", "1", command="run")
    assert query(perfkit, "SELECT settings ->> 'invocations' FROM v_run WHERE run_id > 2") == [(1,), (1,)]


def test_a_budget_is_shared_out(perfkit):
    r = suite(perfkit, TWO, "--budget", "10s", command="run")
    budgets = [b for b, in query(perfkit, "SELECT settings ->> 'budget_ns' FROM v_run ORDER BY run_id")]
    assert r.status == 0 and 4e9 < budgets[0] <= 5e9 and 5e9 < budgets[1] <= 10e9


# --- gate ---


def test_all_entries_are_one_family(perfkit):
    text = TWO + "[two settings]\nexperiment = selftest\nvariant = ok\na = busy_ns=100000\nb = busy_ns=105000\n" \
                 "[solve]\ncommand = {side}/solve\ntimeout = 10s\n"
    r = suite(perfkit, text, *sides(perfkit), "--max-pairs", "8", "--label", "x", "--junit", "j.xml", "--format", "json")
    assert r.status == 3, r
    rows = [t for t in r.rows("compare_ns") if t["row"] == "case"]
    assert rows[0]["entry"] == "two settings" and rows[0]["verdict"] == "slower" and rows[0]["base_invocations"] == 8
    assert sorted(t["entry"] for t in rows) == ["selftest", "selftest", "slow", "solve", "two settings"]
    assert {t["verdict"] for t in rows if t["experiment"] == "selftest"} == {"slower", "same"}
    assert "suite perf is slower: [two settings] work_ns of ok: slower, +5.0 %" in r.error()["what"]
    assert query(perfkit, "SELECT label, tags ->> 'entry', settings ->> '$.gate.side' FROM v_run ORDER BY run_id LIMIT 4") == [
        ("x-a", "selftest", "base"), ("x-b", "selftest", "new"), ("x-a", "slow", "base"), ("x-b", "slow", "new")]
    tests, = xml.parse(perfkit.cwd / "j.xml").getroot().iter("testsuite")
    assert tests.get("name") == "perfkit gate perf" and (tests.get("tests"), tests.get("failures")) == ("5", "1")
    names = [(t.get("classname"), t.get("name")) for t in tests.iter("testcase")]
    assert len(set(names)) == 5 and ("perfkit.two settings.work_ns", "ok") in names


def test_thresholds_pairs_and_least_effects_are_of_their_entry(perfkit):
    text = COMMON + "max-pairs = 9\n" + "".join(f"[{name}]\nexperiment = selftest\nvariant = ok\na = busy_ns=100000\nb = busy_ns=105000\n{more}\n" for name, more in (
        ("plain", ""), ("loose", "threshold = work_ns=10%"), ("large", "min-effect = 8%"), ("short", "max-pairs = 8")))
    r = suite(perfkit, text, "--format", "json")
    rows = {t["entry"]: t for t in r.rows("compare_ns") if t["row"] == "case"}
    assert {k: v["verdict"] for k, v in rows.items()} == {"plain": "slower", "loose": "same", "large": "same", "short": "slower"}
    assert (rows["plain"]["base_invocations"], rows["short"]["base_invocations"]) == (9, 8)
    text = text[:text.index("[large]")]
    assert suite(perfkit, text.replace("[suite]", "[suite]\nthreshold = *=20%"), "--format", "json").rows("gate")[0]["slower"] == 0
    assert suite(perfkit, text, "--threshold", "*=20%").status == 0  # the command line is stronger than any entry


def test_the_same_case_in_two_entries(perfkit):
    text = NEUTRAL + "[again]\nexperiment = selftest\nvariant = ok\n"
    r = suite(perfkit, text, *sides(perfkit), "--junit", "j.xml", "--format", "json")
    assert r.status == 0 and [t["entry"] for t in r.rows("compare_ns") if t["row"] == "case"] == ["twice", "again"]
    assert len({t.get("classname") for t in xml.parse(perfkit.cwd / "j.xml").iter("testcase")}) == 2


def test_sides_in_the_file(perfkit):
    a, b = side(perfkit, "old"), side(perfkit, "new")
    text = "[suite]\nb = new\n[solve]\ncommand = {side}/solve x\n[own]\na = ./old/solve\nb = ./new/solve\n"
    r = suite(perfkit, text, "--a", a, "--format", "json", "--max-pairs", "8")
    assert r.status in (0, 4) and {t["variant"] for t in r.rows("compare_ns") if t["row"] == "case"} == {"solve", "own"}
    notes = " ".join(r.json()["tables"]["runs"]["notes"])
    assert "[solve] base: run 1, a = old/solve x" in notes and "[own] new: run 4, b = ./new/solve" in notes
    assert suite(perfkit, text + "runs = 2\n", command="run").status == 0  # what is judged
    assert query(perfkit, "SELECT count(*) FROM v_run WHERE settings ->> 'gate' IS NULL") == [(2,)]


def test_what_a_gate_would_measure(perfkit):
    r = suite(perfkit, TWO + "[solve]\ncommand = {side}/solve\n", *sides(perfkit), "-n", "--format", "json")
    assert [(t["entry"], t["variant"], t["a"], t["b"]) for t in r.rows("gate_plan")] == [
        ("selftest", "ok", "a", "b"), ("selftest", "ok", "a", "b"), ("slow", "slow-start", "a", "b"), ("solve", "solve", "a/solve", "b/solve")]
    assert query(perfkit, "SELECT count(*) FROM v_run") == [(0,)]


def test_a_side_that_fails_names_its_entry(perfkit):
    text = NEUTRAL + "[solve]\na = true\nb = false\n"
    r = suite(perfkit, text, *sides(perfkit), "--format", "json", "--junit", "j.xml")
    assert r.status == 1 and "[solve] what is judged (--b false) ended 'failed'" in r.error()["what"], r
    assert r.rows("not_compared")[0]["entry"] == "solve" and r.rows("gate")[0]["same"] == 1
    assert xml.parse(perfkit.cwd / "j.xml").find(".//error") is not None


# --- gate --against ---


def stored(perfkit, label, times=1, **busy):
    """Runs of the suite, with how long its entries take."""
    for _ in range(times):
        assert suite(perfkit, against(**busy), "--label", label, "-i", "2", command="run").status == 0


def against(more="", **busy):
    return COMMON + more + "".join(f"[{name}]\nexperiment = selftest\nvariant = ok\nbusy_ns = 100000\naxis = busy_ns={ns}\n".replace(
        "busy_ns = 100000\n", "") for name, ns in busy.items())


def test_stored_runs_are_one_family(perfkit):
    stored(perfkit, "main", 5, one=100000, two=200000)
    stored(perfkit, "feature", one=100000, two=200000)
    text = against(one=100000, two=200000)
    r = suite(perfkit, text, "--against", "main", "feature", "--junit", "j.xml", "--format", "json", env={"GITHUB_OUTPUT": perfkit.cwd / "out"})
    assert r.status == 0, r
    assert [(t["entry"], t["verdict"], t["base_invocations"]) for t in r.rows("compare_ns") if t["row"] == "case"] == [
        ("one", "same", 5), ("two", "same", 5)]
    assert [(t["side"], t["entry"]) for t in r.rows("runs")][4:7] == [("base", "one"), ("new", "one"), ("base", "two")]
    assert xml.parse(perfkit.cwd / "j.xml").find("testsuite").get("tests") == "2"
    assert (perfkit.cwd / "out").read_text().startswith("verdict=ok\nrows=2\n")
    assert suite(perfkit, text, "--against", "main").status == 0  # the newest of each entry
    assert suite(perfkit, text, "--against", "main", "@~1").status == 4  # it is one of the five
    r = suite(perfkit, text, "--against", "feature", "--format", "json")
    assert r.status == 4 and {t["verdict"] for t in r.rows("compare_ns") if t["row"] == "case"} == {"unreplicated"}


def test_a_stored_slowdown_and_its_threshold(perfkit):
    stored(perfkit, "main", 5, one=100000)
    with sqlite3.connect(perfkit.db) as db:  # as if it had taken 5 % more
        suite(perfkit, against(one=100000), "--label", "slow", "-i", "2", command="run")
        newest, = db.execute("SELECT max(id) FROM run").fetchone()
        db.execute("UPDATE slice_summary SET figure = figure * 1.05 WHERE slice_id IN (SELECT s.id FROM slice s JOIN run_case c"
                   " ON c.id = s.case_id WHERE c.run_id = ?)", [newest])
    r = suite(perfkit, against(one=100000), "--against", "main", "slow")
    assert r.status == 3 and "suite perf is slower: [one] work_ns of ok: slower, +5.0 %" in r.error()["what"], r
    assert suite(perfkit, against(one=100000) + "threshold = work_ns=10%\n", "--against", "main", "slow").status == 0
    assert suite(perfkit, against(one=100000) + "min-effect = 10%\n", "--against", "main", "slow").status == 0
    suite(perfkit, against(one=100000) + "threshold = wark_ns=10%\n", "--against", "main").refused(2, "[one]: --threshold 'wark_ns=10%'")


def test_an_entry_without_a_base(perfkit):
    stored(perfkit, "main", 1, one=100000)
    r = suite(perfkit, against(one=100000, new=100000), "--against", "main")
    r.refused(5, "[new]: ", "no run of [new] of the suite perf", "perfkit run --suite perf.ini --label main")
    suite(perfkit, against(one=100000), "--against", "nightly").refused(5, "[one]: ", "is 'nightly'")
    suite(perfkit, "[x]\na = true\nb = false\n", "--against", "main").refused(2, "[x] has sides of its own")
    (perfkit.cwd / "perf.ini").rename(perfkit.cwd / "other.ini")
    perfkit("gate", "--suite", "other.ini", "--against", "main").refused(2, "[x]")


def test_other_settings_are_not_judged(perfkit):
    stored(perfkit, "main", 5, one=100000)
    suite(perfkit, against(one=100000).replace("[suite]", "[suite]\nwarmup = 1"), "--label", "other", "-i", "2", command="run")
    r = suite(perfkit, against(one=100000), "--against", "main", "other")
    assert r.status == 5 and "[one]: runs main and run other were not measured under the same conditions" in r.error()["what"], r
    assert suite(perfkit, against(one=100000), "--against", "main", "other", "--allow-host-mismatch").status == 0


# --- what is wrong is said with file and line, before anything is measured ---


@pytest.mark.parametrize("text, words", [
    ("", ("perf.ini has no entry", "[attention-scaling]")),
    ("device = null\n", ("perf.ini:1: this key stands before any section", "[suite]")),
    ("[suite]\ndevice = null\n", ("has no entry",)),
    ("[selftest]\n\n[selftest\n", ("perf.ini:3: this line is not understood", "key = value")),
    ("[selftest]\nvariant\n", ("perf.ini:2: this line is not understood",)),
    ("[selftest]\n[x]\nexperiment=selftest\n[selftest]\n", ("perf.ini:4: there is a second section [selftest]", "line 1")),
    ("[]\n", ("perf.ini:1: this section has no name",)),
    ("[selftest]\n# " + "x" * 300, ("perf.ini:2: the line is too long",)),
    ("[selftest]\nvariant = o\0k\n", ("perf.ini:2: the line is too long, or no text", "NUL")),
    ("[selftest]\nvarient = ok\n", ("perf.ini:2: there is no key 'varient' in [selftest]", "did you mean 'variant'?")),
    ("[selftest]\nbussy_ns = 1\n", ("perf.ini:2: there is no key 'bussy_ns'", "did you mean 'busy_ns'?")),
    ("[suite]\nthreshhold = x\n[selftest]\n", ("perf.ini:2: there is no key 'threshhold' in [suite]", "'threshold'")),
    ("[selftest]\npreset = a\npreset = b\n", ("perf.ini:3: 'preset' is given twice", "line 2")),
    ("[selftest]\nthreshold = work_ns=fast\n", ("perf.ini:2: --threshold 'work_ns=fast' makes no sense",)),
    ("[suite]\nmin-effect = 0\n[selftest]\n", ("perf.ini:2: min-effect: 0 is out of range",)),
    ("[selftest]\nmax-pairs = 3\n", ("perf.ini:2: max-pairs: 3 is out of range",)),
    ("[selftest]\ninvocations = many\n", ("perf.ini:2: invocations: 'many' is not an integer",)),
    ("[selftest]\nlabel = x\n", ("perf.ini:2: 'label' cannot stand in an entry", "[suite]")),
    ("[suite]\ndry-run = true\n[selftest]\n", ("perf.ini:2: 'dry-run' cannot stand in this file", "--dry-run")),
    ("[suite]\nexperiment = selftest\n[selftest]\n", ("perf.ini:2: 'experiment' cannot stand in [suite]",)),
    ("[selftest]\noutput = x\n", ("'output'",)),
    ("[selftets]\n", ("perf.ini:1: [selftets] does not say what it measures", "experiment = ...")),
    ("[x]\nexperiment = atention-scaling\n", ("perf.ini:1: [x]: there is no experiment 'atention-scaling'", "attention-scaling")),
    ("[x]\nexperiment = selftest\ncommand = true\n", ("perf.ini:1: [x] has both experiment and command",)),
    ("[x]\nexperiment = selftest\na = true\n", ("perf.ini:1: [x] has one of the two sides",)),
    ("[selftest]\nvariant = okk\n", ("perf.ini:1: [selftest]: ", "okk", "'ok'")),
    ("[selftest]\nbusy_ns = a lot\n", ("perf.ini:1: [selftest]: ", "busy_ns")),
])
def test_a_corrupt_file(perfkit, text, words):
    for command in ("run", "gate"):
        r = suite(perfkit, text, *([] if command == "run" else [*sides(perfkit)]), command=command)
        r.refused(2, *words)
    assert not perfkit.db.exists() or query(perfkit, "SELECT count(*) FROM v_run") == [(0,)]


@pytest.mark.parametrize("text, args, words", [
    ("[x]\ncommand = true\n", ("--a", "a", "--b", "b"), ("perf.ini:1: [x] is the same command on both sides", "{side}")),
    ("[x]\ncommand = {side}/y\n", (), ("perf.ini:1: [x]: --a is missing",)),
    ("[x]\ncommand = {side}/y\n", ("--a", "d=1", "--b", "d=2"), ("[x] is a command, and --a d=1 is a setting",)),
    ("[x]\na = true\nb = cat y | wc\n", (), ("perf.ini:1: [x]: ", "needs a shell")),
    ("[selftest]\n", ("--a", "busy_ns=1", "--b", "busy_ns=2", "-v", "ok"), ("--suite and --variant do not go together",)),
    ("[selftest]\ndevice=null\nvariant=ok\nthreshold=wark_ns=5%\n", ("--a", "a", "--b", "b"), ("[selftest]: --threshold 'wark_ns=5%'", "no metric")),
])
def test_sides_that_make_no_sense(perfkit, text, args, words):
    sides(perfkit)
    suite(perfkit, text, *args).refused(2, *words)


def test_the_file_and_the_subject(perfkit):
    perfkit("run", "--suite", "nowhere.ini").refused(2, "nowhere.ini")
    perfkit("run").refused(2, "no experiment", "perfkit run EXPERIMENT")
    suite(perfkit, TWO, "selftest", command="run").refused(2, "--suite and the experiment selftest do not go together")
    suite(perfkit, TWO, "selftest", "--a", "x", "--b", "y").refused(2, "--suite and the experiment selftest do not go together")
    suite(perfkit, "[x]\ncommand = {side}/y\n", command="run").refused(2, "perf.ini:1: the command of [x] needs a side", "b = build")
    suite(perfkit, TWO, "--once", command="run").refused(2, "--suite and --once do not go together")


# --- what GitHub reads ---


def test_outputs_of_a_step(perfkit):
    output = perfkit.cwd / "output"
    output.write_text("mine=1\n")
    assert suite(perfkit, NEUTRAL, *sides(perfkit), env={"GITHUB_OUTPUT": output}).status == 0
    assert output.read_text() == "mine=1\nverdict=ok\nrows=1\nslower=0\nfaster=0\nsame=1\nundecided=0\nunstable=0\nunreplicated=0\n"
    perfkit("gate", "selftest", "--device", "null", "-v", "ok", "--a", "busy_ns=100000", "--b", "busy_ns=105000", "--max-pairs", "8",
            env={"GITHUB_OUTPUT": output})
    assert "verdict=slower\nrows=1\nslower=1\n" in output.read_text()
    r = suite(perfkit, NEUTRAL, *sides(perfkit), env={"GITHUB_OUTPUT": "no/such/folder"})
    assert r.status == 1 and "cannot write the step's outputs to 'no/such/folder'" in r.error()["what"] and "GITHUB_OUTPUT" in r.error()["try"]
