"""What an experiment says of its cases before they are measured, and regions too short for the clock: with selftest."""
import json
import sqlite3

import pytest

from stored import query

pytestmark = pytest.mark.usefixtures("measured")


def selftest(perfkit, *args, device="null", variant="ok", **kw):
    short = () if "--once" in args else ("--invocations", "1", "--max-samples", "50")
    return perfkit("run", "selftest", "--device", device, "--variant", variant, *short, *args, **kw)


WARNING = "busy_ns=7 is shorter than a look at the clock"


def test_a_case_that_cannot_be_measured_refuses_the_run(perfkit):
    for more in ([], ["--dry-run"], ["--once"], ["--no-save"]):
        selftest(perfkit, "-a", "busy_ns=5,13", *more).refused(2, "busy_ns=13 cannot be measured", "use any other value")
    assert query(perfkit, "SELECT count(*) FROM v_run") == [(0,)]


def test_a_warning_is_shown_once_and_recorded(perfkit):
    r = selftest(perfkit, "-a", "busy_ns=5,7", "-a", "memory=4,8", "--quiet")
    assert r.status == 0 and r.stderr.count(WARNING) == 1, r
    assert query(perfkit, "SELECT value FROM v_setting WHERE key = 'plan_warning'") == [(WARNING,)]
    r = selftest(perfkit, "-a", "busy_ns=7", "--dry-run")
    assert r.status == 0 and WARNING in r.stderr
    assert WARNING in selftest(perfkit, "-a", "busy_ns=7", "--once").stderr
    assert "plan_warning" not in selftest(perfkit, "--format", "json").stdout


def ticks(perfkit):
    """Of the newest slice: (reps, value) of the steady samples of tick_ns, and the notes."""
    rows = query(perfkit, "SELECT reps, value FROM v_sample WHERE metric = 'tick_ns' AND phase = 'steady'")
    return rows, json.loads(query(perfkit, "SELECT notes FROM slice ORDER BY id DESC LIMIT 1")[0][0])


def test_short_regions_are_repeated_exactly(perfkit):
    assert selftest(perfkit, variant="repeated").status == 0
    rows, notes = ticks(perfkit)
    # 16 bytes at 1024 a nanosecond: 20000 repetitions, the most there are, take 312.5 ns, which counts as 313
    assert set(rows) == {(20000, 313 / 20000)}
    assert notes["region_reps"] == {"tick": 20000} and notes["unit_overhead_ns"] == 0
    assert query(perfkit, "SELECT median FROM v_summary WHERE metric = 'tick_ns'") == [(pytest.approx(313 / 20000),)]
    assert query(perfkit, "SELECT reps FROM v_sample WHERE metric = 'tick_ns' AND phase = 'first'") == [(1,)]
    assert {r for r, in query(perfkit, "SELECT reps FROM v_sample WHERE metric = 'work_ns'")} == {1}


def test_short_regions_on_the_cpu(perfkit):
    assert selftest(perfkit, "--max-time", "50ms", device="cpu", variant="repeated").status == 0
    rows, notes = ticks(perfkit)
    reps = notes["region_reps"]["tick"]
    assert reps > 100 and {r for r, _ in rows} == {reps}
    assert 0 < notes["unit_overhead_ns"] < 100
    assert 0 <= min(v for _, v in rows) < 1000


def test_once_repeats_nothing(perfkit):
    r = selftest(perfkit, "--once", "--format", "json", variant="repeated")
    assert r.status == 0 and [x["value"] for x in r.rows("once") if x["metric"] == "tick_ns"] == [1]


# Axes that are files: of selftest, `input`.


def digest(text):
    h = 0xCBF29CE484222325
    for byte in text.encode():
        h = (h ^ byte) * 0x100000001B3 % 2**64
    return f"{(h ^ h >> 32) % 2**32:08x}"


def put(perfkit, name, text):
    path = perfkit.cwd / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
    return f"{path.name}#{digest(text)}"


def test_a_file_is_read_in_the_worker_and_recorded(perfkit):
    name = put(perfkit, "sub/bytes.txt", "abc\n")
    r = selftest(perfkit, "-a", "input=random,sub/bytes.txt", device="cpu")
    assert r.status == 0, r
    assert query(perfkit, "SELECT axes ->> 'input', identity ->> 'input', status FROM v_case ORDER BY ordinal") == [
        ("random", None, "ok"), ("sub/" + name, name, "ok")]
    r = selftest(perfkit, "-a", "input=random,sub/bytes.txt", "--filter", "input!=random", "--dry-run", "--format", "json")
    assert [x["axes"]["input"] for x in r.rows("plan")] == ["sub/" + name]


@pytest.mark.parametrize("text, words", [
    ("randon", ["cannot read randon", "No such file", "did you mean -a input=random?"]),
    (".", ["'.' is not a file", "a directory"]),
    ("/dev/null", ["not a regular file"]),
    ("nul", ["'nul' is not a text file"]),
    ("bytes.txt#00000000", ["bytes.txt has changed since the run was planned", "start a new run"]),
    ("", ["there is no value"]),
])
def test_files_that_are_refused(perfkit, text, words):
    put(perfkit, "bytes.txt", "abc\n")
    put(perfkit, "nul", "a\0b")
    selftest(perfkit, "-a", "input=" + text).refused(2, *words)


def test_a_file_that_changed_is_not_gone_on_with(perfkit):
    put(perfkit, "bytes.txt", "abc\n")
    more = ("--device", "cpu", "-a", "input=bytes.txt", "-a", "memory=4:4096:*2", "--budget", "300ms")
    perfkit("run", "selftest", "-v", "ok", *more, "-a", "busy_ns=50000000")
    assert query(perfkit, "SELECT status FROM v_run") == [("complete",)]
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE run SET status = 'interrupted'")
    put(perfkit, "bytes.txt", "abd\n")
    perfkit("run", "selftest", "--resume").refused(2, "bytes.txt has changed since the run was planned", digest("abc\n"), digest("abd\n"))


def test_describe_names_files(perfkit):
    axes = {x["name"]: x for x in perfkit("list", "experiments", "selftest", "--format", "json").rows("axes")}
    assert axes["input"]["type"] == "file" and axes["input"]["takes"] == "the path of a text file, or the word random"
