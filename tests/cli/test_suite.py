"""--suite: a file of what is measured and judged together; on the null device every answer is known."""
import sqlite3

import junit
import pytest
from conftest import BINARY, not_sanitized
from stored import Stored, query

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
    assert "perfkit: [slow] run 2 nightly: " in r.stderr and "perfkit: [nap] run 3 nightly: 3 processes measured\n" in r.stderr, r
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
    tests = junit.read(perfkit.cwd / "j.xml")
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


def test_compare_judges_an_entry_by_what_it_was_asked(perfkit):
    text = COMMON + "max-pairs = 8\nthreshold = *=3%\n[one]\nexperiment = selftest\nvariant = ok\na = busy_ns=100000\nb = busy_ns=105000\n"
    for own, verdict in (("", "slower"), ("threshold = work_ns=20%\n", "same"), ("min-effect = 20%\n", "same")):
        assert suite(perfkit, text + own).status == (3 if verdict == "slower" else 0)
        again = perfkit("compare", "@~1", "@", "--format", "json")
        assert [t["verdict"] for t in again.rows("compare_ns") if t["row"] == "case"] == [verdict], own


def test_the_same_case_in_two_entries(perfkit):
    text = NEUTRAL + "[again]\nexperiment = selftest\nvariant = ok\n"
    r = suite(perfkit, text, *sides(perfkit), "--junit", "j.xml", "--format", "json")
    assert r.status == 0 and [t["entry"] for t in r.rows("compare_ns") if t["row"] == "case"] == ["twice", "again"]
    assert len({t.get("classname") for t in junit.read(perfkit.cwd / "j.xml").iter("testcase")}) == 2


def test_sides_in_the_file(perfkit):
    a, b = side(perfkit, "old"), side(perfkit, "new")
    text = "[suite]\nb = new\n[solve]\ncommand = {side}/solve x\n[own]\na = ./old/solve\nb = ./new/solve\n"
    r = suite(perfkit, text, "--a", a, "--format", "json", "--max-pairs", "8", "--no-fail")  # real times: any verdict
    assert r.status == 0 and {t["variant"] for t in r.rows("compare_ns") if t["row"] == "case"} == {"solve", "own"}
    notes = " ".join(r.json()["tables"]["runs"]["notes"])
    assert "[solve] base: run 1, a = old/solve x" in notes and "[own] new: run 4, b = ./new/solve" in notes
    assert suite(perfkit, text.replace("[own]", "runs = 2\n[own]") + "runs = 2\n", command="run").status == 0  # the judged side
    assert query(perfkit, "SELECT count(*) FROM v_run WHERE settings ->> 'gate' IS NULL") == [(2,)]


def test_what_a_gate_would_measure(perfkit):
    r = suite(perfkit, TWO + "[solve]\ncommand = {side}/solve\n", *sides(perfkit), "-n", "--format", "json")
    assert [(t["entry"], t["variant"], t["a"], t["b"]) for t in r.rows("gate_plan")] == [
        ("selftest", "ok", "a", "b"), ("selftest", "ok", "a", "b"), ("slow", "slow-start", "a", "b"), ("solve", "solve", "a/solve", "b/solve")]
    assert query(perfkit, "SELECT count(*) FROM v_run") == [(0,)]


def test_what_all_rows_have_is_said_of_no_other(perfkit):
    """A command has none of the experiment's axes, and equal sides no verdict."""
    text = COMMON + "max-pairs = 8\n" + "".join(f"[{name}]\nexperiment = selftest\nvariant = ok\na = busy_ns=100000\nb = busy_ns={b}\n"
                            for name, b in (("equal", 100000), ("slow", 105000)))
    r = suite(perfkit, text)
    assert r.status == 3 and "all with input=random memory=4096" in r.stdout and r.error()["why"].startswith("1 of 1 row slower"), r
    r = suite(perfkit, text + "[nap]\ncommand = sh -c 'true {side}'\n", "--a", "x", "--b", "y")
    assert r.status == 3 and "New against base\n" in r.stdout, r


def test_a_side_that_fails_names_its_entry(perfkit):
    text = NEUTRAL + "[solve]\na = true\nb = false\n"
    r = suite(perfkit, text, *sides(perfkit), "--format", "json", "--junit", "j.xml")
    assert r.status == 1 and "[solve] the judged side (--b false) ended 'failed'" in r.error()["what"], r
    assert r.rows("not_compared")[0]["entry"] == "solve" and r.rows("gate")[0]["same"] == 1
    assert junit.read(perfkit.cwd / "j.xml").find(".//error") is not None


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
    assert junit.read(perfkit.cwd / "j.xml").get("tests") == "2"
    assert (perfkit.cwd / "out").read_text().startswith("verdict=ok\nrows=2\n")
    assert suite(perfkit, text, "--against", "main").status == 0  # the newest of each entry
    assert suite(perfkit, text, "--against", "main", "@~1").status == 4  # it is one of the five
    suite(perfkit, text, "--against", "feature").refused(5, "perf.ini:", "[one]: ", "both sides are the same: run feature")
    r = suite(perfkit, text, "--against", "feature", "@~1", "--format", "json")
    assert r.status == 4 and {t["verdict"] for t in r.rows("compare_ns") if t["row"] == "case"} == {"unreplicated"}


def written(store, label, times, ns, *entries):
    """So many runs of entries are in the store, as if they had been measured."""
    for entry in entries * times:
        run = store.run([("ok", {"busy_ns": 100000}, {"work_ns": [ns, ns]})], label=label, experiment="selftest", device="null")
        store.db.execute("UPDATE run SET tags = json_object('suite', 'perf', 'entry', ?) WHERE id = ?", [entry, run])
    store.db.commit()


@not_sanitized
def test_what_is_an_entrys_own_wins(perfkit):
    """Its thresholds, then its least effect, then what is for all rows; what is typed is stronger than the file."""
    entries = {"plain": "", "effect": "min-effect = 8%\n", "both": "min-effect = 8%\nthreshold = work_ns=3%\n",
               "case": "min-effect = 3%\nthreshold = work_ns[variant=ok]=8%\n"}
    store = Stored(perfkit.db)
    written(store, "main", 5, 100000, *entries)
    written(store, "slow", 1, 105000, *entries)

    def verdicts(*args, threshold="3%"):
        text = COMMON + f"threshold = *={threshold}\n" + "".join(
            f"[{name}]\nexperiment = selftest\nvariant = ok\naxis = busy_ns=100000\n{more}" for name, more in entries.items())
        r = suite(perfkit, text, *args, "--against", "main", "slow", "--format", "json")
        return {t["entry"]: t["verdict"] for t in r.rows("compare_ns") if t["row"] == "case"}

    assert verdicts() == {"plain": "slower", "effect": "same", "both": "slower", "case": "same"}
    assert verdicts(threshold="20%") == {"plain": "same", "effect": "same", "both": "slower", "case": "same"}
    assert set(verdicts("--threshold", "work_ns=3%").values()) == {"slower"}
    assert set(verdicts("--threshold", "work_ns=20%").values()) == {"same"}
    assert verdicts("--min-effect", "3%") == {"plain": "slower", "effect": "slower", "both": "slower", "case": "same"}


def test_a_stored_slowdown_and_its_threshold(perfkit):
    store = Stored(perfkit.db)
    written(store, "main", 5, 100000, "one")
    written(store, "slow", 1, 105000, "one")
    r = suite(perfkit, against(one=100000), "--against", "main", "slow")
    assert r.status == 3 and "suite perf is slower: [one] work_ns of ok: slower, +5.0 %" in r.error()["what"], r
    assert suite(perfkit, against(one=100000) + "threshold = work_ns=10%\n", "--against", "main", "slow").status == 0
    assert suite(perfkit, against(one=100000) + "min-effect = 10%\n", "--against", "main", "slow").status == 0
    wrong = "threshold = wark_ns=10%\nthreshold = work_ns=5KiB\n"
    r = suite(perfkit, against("threshold = nosuch=1%\n", one=100000) + wrong, "--against", "main")
    assert r.status == 2 and r.stdout == "" and r.stderr.count("\n  why: ") == 3, r
    for said in "[one]: --threshold 'wark_ns=10%'", "[one]: --threshold 'work_ns=5KiB'", "[suite]: --threshold 'nosuch=1%'":
        assert f": {said} " in r.stderr, r


def test_an_entry_without_a_base(perfkit):
    stored(perfkit, "main", 2, one=100000)
    r = suite(perfkit, against(one=100000, new=100000), "--against", "main")
    r.refused(5, "[new]: ", "no run of [new] of the suite perf", "perfkit run --suite perf.ini --label main")
    suite(perfkit, against(one=100000), "--against", "nightly").refused(5, "[one]: ", "is 'nightly'")
    suite(perfkit, "[x]\na = true\nb = false\n", "--against", "main").refused(2, "[x] has its own sides")
    (perfkit.cwd / "perf.ini").rename(perfkit.cwd / "other.ini")
    perfkit("gate", "--suite", "other.ini", "--against", "main").refused(2, "[x]")


def test_a_stored_case_that_no_longer_ends_ok(perfkit):
    store = Stored(perfkit.db)
    written(store, "main", 5, 100000, "one", "two")
    written(store, "feature", 1, 100000, "one", "two")
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE slice SET status = 'failed', message = 'it burns' WHERE case_id = (SELECT max(id) FROM run_case)")
    r = suite(perfkit, against(one=100000, two=100000), "--against", "main", "feature", "--min-effect", "1000%", "--junit", "j.xml", "--format", "json")
    assert r.status == 1 and "[two]: the judged run" in r.error()["what"] and r.error()["why"] == "it burns", r
    assert [(t["entry"], t["status"]) for t in r.rows("not_compared")] == [("two", "failed")]
    assert "it burns" in junit.read(perfkit.cwd / "j.xml").find("testcase/error").get("message")


def test_counterparts_that_an_entry_lacks_are_explained(perfkit):
    stored(perfkit, "main", one="100000,200000", two=100000)
    stored(perfkit, "feature", one=100000, two=100000)
    r = suite(perfkit, against(one=100000, two=100000), "--against", "main", "feature", "--format", "json")
    told, = [note for note in r.json()["notes"] if "Unmatched" in note]
    assert told == ("[one] Unmatched: 1 case of run main, 0 cases of run feature; run main was measured with -a busy_ns=100000,200000, "
                    "run feature with -a busy_ns=100000."), r


def test_other_settings_are_not_judged(perfkit):
    stored(perfkit, "main", 5, one=100000)
    suite(perfkit, against(one=100000).replace("[suite]", "[suite]\nwarmup = 1"), "--label", "other", "-i", "2", command="run")
    r = suite(perfkit, against(one=100000), "--against", "main", "other")
    assert r.status == 5 and "[one]: the setups of runs main and run other differ" in r.error()["what"], r
    assert suite(perfkit, against(one=100000), "--against", "main", "other", "--allow-host-mismatch").status == 0


def test_a_report_says_what_its_rows_do_not_show(perfkit):
    """Rows of one entry are red, and it is another one that ends the gate."""
    stored(perfkit, "main", 2, one=100000, two=100000)
    other = against(two=100000, one=100000) + "warmup = 1\n"
    suite(perfkit, other, "--label", "other", "-i", "2", command="run")
    r = suite(perfkit, other, "--against", "main", "other", "--junit", "j.xml")
    assert r.status == 5 and "[one]: " in r.error()["what"], r
    errors = {e.get("type"): e.get("message") for e in junit.read(perfkit.cwd / "j.xml").findall("testcase/error")}
    assert set(errors) == {"unreplicated", "not comparable"} and r.error()["what"] in errors["not comparable"], errors


# --- what is wrong is said with file and line, before anything is measured ---


@pytest.mark.parametrize("text, words", [
    ("", ("perf.ini has no entry", "[attention-scaling]")),
    ("device = null\n", ("perf.ini:1: this key is before the first section", "[suite]")),
    ("[suite]\ndevice = null\n", ("has no entry",)),
    ("[selftest]\n\n[selftest\n", ("perf.ini:3: this line is not understood", "key = value")),
    ("[selftest]\nvariant\n", ("perf.ini:2: this line is not understood",)),
    ("[selftest]\n[x]\nexperiment=selftest\n[selftest]\n", ("perf.ini:4: there is a second section [selftest]", "line 1")),
    ("[]\n", ("perf.ini:1: this section has no name",)),
    ("[selftest]\n# " + "x" * 300, ("perf.ini:2: the line is too long",)),
    ("[selftest]\nvariant = o\0k\n", ("perf.ini:2: the line is too long, or contains a NUL byte", "NUL")),
    ("[selftest]\nvarient = ok\n", ("perf.ini:2: there is no key 'varient' in [selftest]", "did you mean 'variant'?")),
    ("[selftest]\nbussy_ns = 1\n", ("perf.ini:2: there is no key 'bussy_ns'", "did you mean 'busy_ns'?")),
    ("[suite]\nthreshhold = x\n[selftest]\n", ("perf.ini:2: there is no key 'threshhold' in [suite]", "'threshold'")),
    ("[selftest]\npreset = a\npreset = b\n", ("perf.ini:3: 'preset' is given twice", "line 2")),
    ("[selftest]\nthreshold = work_ns=fast\n", ("perf.ini:2: --threshold 'work_ns=fast' is invalid",)),
    ("[suite]\nmin-effect = 0\n[selftest]\n", ("perf.ini:2: min-effect: 0 is out of range",)),
    ("[selftest]\nmax-pairs = 3\n", ("perf.ini:2: max-pairs: 3 is out of range",)),
    ("[selftest]\ninvocations = many\n", ("perf.ini:2: invocations: 'many' is not an integer",)),
    ("[selftest]\nlabel = x\n", ("perf.ini:2: 'label' is not allowed in an entry", "[suite]")),
    ("[suite]\ndry-run = true\n[selftest]\n", ("perf.ini:2: 'dry-run' is not allowed in this file", "--dry-run")),
    ("[suite]\nexperiment = selftest\n[selftest]\n", ("perf.ini:2: 'experiment' is not allowed in [suite]",)),
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


def said(r):
    """What each error says, in order."""
    return [line[len("perfkit: "):] for line in r.stderr.splitlines() if line.startswith("perfkit: ")]


def test_all_that_is_wrong_is_said_in_one_go(perfkit):
    text = """\
early = 1
[suite]
min-effect = 0
threshhold = *=3%
[selftest]
variant
bussy_ns = 1
threshold = work_ns=fast
[nothing here]
[two]
experiment = selftest
command = true
[selftest]
"""
    for command in ("run", "gate"):
        r = suite(perfkit, text, command=command)
        r.refused(2, "perf.ini:13: there is a second section [selftest]")
        assert [s.split(": ")[0] for s in said(r)] == [f"perf.ini:{line}" for line in (1, 3, 4, 6, 7, 8, 9, 10, 13)], r
        assert r.stderr.count("  why: ") == r.stderr.count("  try: ") == 9
    text = "[suite]\ndevice = null\n[one]\nexperiment = selftest\nvariant = okk\n[two]\nexperiment = selftest\nbusy_ns = a lot\n"
    for command, args in (("run", ()), ("gate", sides(perfkit))):
        r = suite(perfkit, text, *args, command=command)
        assert r.status == 2 and [s.split(": ")[:2] for s in said(r)] == [["perf.ini:3", "[one]"], ["perf.ini:6", "[two]"]], r
    r = suite(perfkit, "[one]\ncommand = {side}/x\n[two]\ncommand = {side}/y\n", *sides(perfkit))
    assert r.status == 2 and len(said(r)) == 2 and "a/y" in r.stderr and "a/x" in r.stderr, r
    assert len(said(suite(perfkit, TWO))) == 1  # that --a is missing is no mistake of each entry


@pytest.mark.parametrize("text, args, words", [
    ("[x]\ncommand = true\n", ("--a", "a", "--b", "b"), ("perf.ini:1: [x] is the same command on both sides", "{side}")),
    ("[x]\ncommand = {side}/y\n", (), ("perf.ini:1: [x]: --a is missing",)),
    ("[x]\ncommand = {side}/y\n", ("--a", "d=1", "--b", "d=2"), ("[x] is a command, and --a d=1 is a setting",)),
    ("[x]\na = true\nb = cat y | wc\n", (), ("perf.ini:1: [x]: ", "needs a shell")),
    ("[selftest]\n", ("--a", "busy_ns=1", "--b", "busy_ns=2", "-v", "ok"), ("--suite and --variant cannot be combined",)),
    ("[selftest]\ndevice=null\nvariant=ok\nthreshold=wark_ns=5%\n", ("--a", "a", "--b", "b"), ("[selftest]: --threshold 'wark_ns=5%'", "no metric")),
])
def test_sides_that_make_no_sense(perfkit, text, args, words):
    sides(perfkit)
    suite(perfkit, text, *args).refused(2, *words)


def test_all_that_is_asked_of_nothing_is_said_at_once(perfkit):
    text = ("[suite]\nthreshold = nosuch=3%\n[one]\nexperiment = selftest\nvariant = ok\nthreshold = work_ns[variant=okk]=5%\n"
            "threshold = work_ns=5KiB\nmetric = nosuch\nmetric = work_ns\n[two]\nexperiment = selftest\nvariant = ok\nthreshold = wark_ns=1%\n")
    r = suite(perfkit, text, "--a", BINARY, "--b", BINARY)
    assert r.status == 2 and r.stderr.count("\n  why: ") == 5, r
    for said in ("perf.ini:3: [one]: metric 'nosuch' is unknown", "perf.ini:6: [one]: --threshold 'work_ns[variant=okk]=5%' matches no case",
                 "perf.ini:7: [one]: --threshold 'work_ns=5KiB' is invalid", "perf.ini:13: [two]: --threshold 'wark_ns=1%' matches no metric",
                 "perf.ini:2: [suite]: --threshold 'nosuch=3%' matches no metric"):
        assert f"perfkit: {said}\n" in r.stderr, r


def test_a_threshold_of_nothing_has_its_line(perfkit):
    """Where one side is this program, before anything is measured; of commands and of other builds alone after two pairs."""
    sides(perfkit)
    ours = perfkit.cwd / "ours"
    ours.mkdir()
    (ours / "perfkit").symlink_to(BINARY)
    entry = "[one]\nexperiment = selftest\nvariant = ok\nthreshold = work_ns=5%\nthreshold = wark_ns=5%\n"
    for name, measured in (("a", 1), ("ours", 0)):
        r = suite(perfkit, COMMON + entry, "--a", name, "--b", "b")
        r.refused(2, "perf.ini:10: [one]: --threshold 'wark_ns=5%' matches no metric", "did you mean 'work_ns'?")
        assert query(perfkit, "SELECT count(*) > 0 FROM v_sample") == [(measured,)]
        perfkit.db.unlink()
    common = COMMON + "threshold = *=5%\nthreshold = work_ns[variant=okk]=5%\n" + entry.replace("wark", "work")
    r = suite(perfkit, common, "--a", "ours", "--b", "b", "--dry-run")
    r.refused(2, "perf.ini:7: [suite]: --threshold 'work_ns[variant=okk]=5%' matches no case", "variant: did you mean 'ok'?")
    r = suite(perfkit, common + "[two]\ncommand = {side}/solve\n", "--a", "ours", "--b", "b", "--dry-run")
    r.refused(2, "[two]: --a: cannot run 'ours/solve'")
    (ours / "solve").symlink_to("../a/solve")
    r = suite(perfkit, common + "[two]\ncommand = {side}/solve\n", "--a", "ours", "--b", "b", "--dry-run")
    assert r.status == 0 and "[two] --threshold and --metric are validated after the first two pairs" in r.stdout, r


def test_the_file_and_the_subject(perfkit):
    perfkit("run", "--suite", "nowhere.ini").refused(2, "nowhere.ini")
    perfkit("run").refused(2, "no experiment", "perfkit run EXPERIMENT")
    suite(perfkit, TWO, "selftest", command="run").refused(2, "--suite and the experiment selftest cannot be combined")
    suite(perfkit, TWO, "selftest", "--a", "x", "--b", "y").refused(2, "--suite and the experiment selftest cannot be combined")
    suite(perfkit, "[x]\ncommand = {side}/y\n", command="run").refused(2, "perf.ini:1: the command of [x] needs a side", "b = build")
    suite(perfkit, TWO, "--once", command="run").refused(2, "--suite and --once cannot be combined")


# --- what GitHub reads ---


def test_outputs_of_a_step(perfkit):
    output = perfkit.cwd / "output"
    output.write_text("mine=1\n")
    assert suite(perfkit, NEUTRAL, *sides(perfkit), env={"GITHUB_OUTPUT": output}).status == 0
    assert output.read_text() == "mine=1\nverdict=ok\nrows=1\nslower=0\nslower-in-some=0\nfaster=0\nsame=1\nundecided=0\nunstable=0\nunreplicated=0\nmissing=0\n"
    perfkit("gate", "selftest", "--device", "null", "-v", "ok", "--a", "busy_ns=100000", "--b", "busy_ns=105000", "--max-pairs", "8",
            env={"GITHUB_OUTPUT": output})
    assert "verdict=slower\nrows=1\nslower=1\n" in output.read_text()
    r = suite(perfkit, NEUTRAL, *sides(perfkit), env={"GITHUB_OUTPUT": "no/such/folder"})
    assert r.status == 1 and "cannot write the step's outputs to 'no/such/folder'" in r.error()["what"] and "GITHUB_OUTPUT" in r.error()["try"]
