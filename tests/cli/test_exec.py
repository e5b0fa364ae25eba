"""exec: any command, measured from outside, and what it says itself."""
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import time
import uuid

import pytest
from conftest import not_sanitized
from processes import gone, marked
from stored import query

DOCS = pathlib.Path(__file__).parents[2] / "docs"
QUICK = ("--min-runs", "3", "--min-time", "1ms")


def program(perfkit, text):
    """A Python program under exec; `say` writes a message of the protocol."""
    path = perfkit.cwd / "program.py"
    path.write_text(
        "import json, os, sys, time\n"
        "wire = open(int(os.environ['PERFKIT_WIRE_FD']), 'w')\n"
        "def say(**m): print(json.dumps(m), file=wire, flush=True)\n" + text)
    return ("--", sys.executable, str(path))


@not_sanitized
def test_table_and_store(perfkit):
    r = perfkit("exec", "--runs", "5", "--label", "nap", "--format", "json", "--", "sleep", "0.02")
    assert r.status == 0, r
    row = r.rows("commands")[0] if "tables" in r.json() else r.json()["rows"][0]
    assert row["command"] == "sleep 0.02" and row["runs"] == 5
    assert 20e6 <= row["min_ns"] <= row["median_ns"] <= row["max_ns"] < 2e9
    assert row["min_ns"] <= row["mean_ns"] <= row["max_ns"] and row["cv"] == pytest.approx(row["sd_ns"] / row["mean_ns"])
    assert 100_000 < row["peak_bytes"] < 64e6
    assert query(perfkit, "SELECT experiment, variant, status FROM v_case") == [("exec", "sleep", "ok")]
    assert query(perfkit, "SELECT invocations, n FROM v_summary WHERE metric = 'wall_ns'") == [(5, 5)]
    assert query(perfkit, "SELECT count(*) FROM v_sample WHERE metric = 'wall_ns' AND phase = 'steady'") == [(5,)]
    assert {"user_ns", "system_ns", "page_faults", "context_switches"} < {
        m for m, in query(perfkit, "SELECT metric FROM v_summary")}


@not_sanitized
@pytest.mark.parametrize("width", [80, 120])
def test_eight_lines(perfkit, width):
    r = perfkit("exec", "--runs", "12", "--width", width, "--", "sleep", "0.01")
    lines = r.stdout.splitlines()
    assert r.status == 0 and len(lines) <= 8 and max(map(len, lines)) <= width, r
    for word in ("Median", "± %", "Mean", "User", "System", "Peak", "Runs", "sleep 0.01", "perfkit show 1 --details"):
        assert word in r.stdout, r
    assert len(perfkit("show", "--details", "--width", width).stdout.splitlines()) > 12
    lines = perfkit("exec", "--runs", "12", "--width", width, "--no-save", "--", "sleep", "0.01").stdout.splitlines()
    assert len(lines) <= 8 and lines[0].startswith("Not kept, ") and lines[-1].endswith(": --details"), lines
    r = perfkit("exec", "--runs", "2", "--no-save", "--", "sh", "-c", "exit 3")
    assert "Median" not in r.stdout and r.status == 6


@not_sanitized
def test_runs_until_both_minimums(perfkit):
    perfkit("exec", "--min-runs", "4", "--min-time", "1ms", "--", "sleep", "0.02")
    assert query(perfkit, "SELECT n FROM v_summary WHERE metric = 'wall_ns'") == [(4,)]
    began = time.monotonic()
    perfkit("exec", "--min-runs", "2", "--min-time", "300ms", "--", "sleep", "0.02")
    n, = query(perfkit, "SELECT n FROM v_summary WHERE metric = 'wall_ns' AND run_id = 2")[0]
    assert 2 <= n <= 15 and time.monotonic() - began >= 0.3  # on a busy machine two runs take as long
    perfkit("exec", "--max-runs", "2", "--min-runs", "1", "--", "true")
    assert query(perfkit, "SELECT n FROM v_summary WHERE metric = 'wall_ns' AND run_id = 3") == [(2,)]


def test_warmup_and_prepare(perfkit):
    r = perfkit("exec", "--runs", "3", "--warmup", "2", "--prepare", "echo p >> prepared", "--", "sh", "-c", "echo r >> ran")
    assert r.status == 0, r
    assert (perfkit.cwd / "ran").read_text() == "r\n" * 6  # the last one is counted
    assert (perfkit.cwd / "prepared").read_text() == "p\n" * 6
    assert query(perfkit, "SELECT n FROM v_summary WHERE metric = 'wall_ns'") == [(3,)]


@not_sanitized
def test_prepare_is_not_timed(perfkit):
    perfkit("exec", "--runs", "3", "--prepare", "sleep 0.3", "--", "true")
    assert query(perfkit, "SELECT max FROM v_summary WHERE metric = 'wall_ns'")[0][0] < 0.25e9


def test_prepare_fails(perfkit):
    r = perfkit("exec", *QUICK, "--prepare", "echo no paper >&2; exit 4", "--", "true")
    assert r.status == 6
    assert r.error()["why"] == "the command of --prepare failed: exit status 4; last output: no paper"


def test_a_command_that_fails(perfkit):
    r = perfkit("exec", *QUICK, "--", "sh", "-c", "echo one >&2; echo two >&2; exit 3")
    assert r.status == 6 and r.error()["what"] == "nothing was measured: 'sh' failed"
    assert r.error()["why"] == "the command failed: exit status 3; last output: one | two"
    assert "--ignore-failure" in r.error()["try"]
    assert query(perfkit, "SELECT status, message FROM v_case") == [("failed", r.error()["why"])]
    assert query(perfkit, "SELECT count(*) FROM v_sample") == [(0,)]


def test_a_command_that_crashes(perfkit):
    r = perfkit("exec", *QUICK, "--", "sh", "-c", "kill -SEGV $$")
    assert (r.status, r.error()["why"]) == (6, "the command failed: ended by signal 11 (Segmentation fault)")


def test_a_command_that_fails_after_a_while(perfkit):
    """Runs were measured, so it is not 'nothing', and not a success either."""
    r = perfkit("exec", *QUICK, "--", "sh", "-c", "echo r >> ran; test $(wc -l < ran) -lt 3 || exit 3")
    assert r.status == 1 and r.error()["what"] == "run 3 of 'sh' failed, after 2 that were measured", r
    assert query(perfkit, "SELECT status FROM v_slice ORDER BY invocation") == [("ok",), ("ok",), ("failed",)]
    r = perfkit("exec", *QUICK, "--timeout", "300ms", "--", "sh", "-c", "echo r >> late; test $(wc -l < late) -lt 2 || sleep 9")
    assert r.status == 1 and r.error()["what"] == "run 2 of 'sh' did not end in time, after 1 that were measured", r


def test_ignored_signals(perfkit):
    assert perfkit("exec", "--runs", "2", "-i", "--", "sh", "-c", "kill -KILL $$").status == 0
    assert query(perfkit, "SELECT json_extract(notes, '$.exit_status') FROM v_slice WHERE pass = 'timing'") == [(137,)] * 2


def test_a_timeout_is_not_ignored(perfkit):
    r = perfkit("exec", "-i", "--timeout", "200ms", "--", "sleep", "9")
    assert r.status == 6 and r.error()["what"] == "nothing was measured: 'sleep' did not end in time", r


def test_ignore_failure(perfkit):
    r = perfkit("exec", "--runs", "3", "-i", "--", "sh", "-c", "exit 3")
    assert r.status == 0, r
    assert query(perfkit, "SELECT json_extract(notes, '$.exit_status') FROM v_slice WHERE pass = 'timing'") == [(3,)] * 3


@pytest.mark.parametrize("command, why, fix", [
    ("no-such-command", "no folder in PATH", "spelling"),
    ("sleep 1", "no folder in PATH", "perfkit exec -- sh -c 'sleep 1'"),
    ("/etc/passwd", "not an executable file", "path"),
    ("/no/such/file", "No such file", "path"),
])
def test_a_command_that_is_not_there(perfkit, command, why, fix):
    perfkit("exec", "--", command).refused(2, f"cannot run '{command}'", why, fix)
    assert not perfkit.db.exists()


@pytest.mark.parametrize("options, words", [
    (("--runs", "5", "--min-runs", "2"), ("--runs and --min-runs cannot be combined", "exactly")),
    (("--runs", "5", "--min-time", "2s"), ("--runs and --min-time cannot be combined",)),
    (("--min-runs", "5", "--max-runs", "2"), ("--min-runs 5 is more than --max-runs 2",)),
    (("--no-save", "--tag", "a=b"), ("--no-save and --tag cannot be combined",)),
    (("--runs", "0"), ("--runs", "from 1 to 1000000", "--runs 1 or more")),
    (("--max-runs", "-1"), ("--max-runs", "from 1")),
    (("--warmup", "-1"), ("--warmup", "from 0")),
    (("--min-time", "2h"), ("--min-time", "to 1h")),
    (("--timeout", "0"), ("--timeout", "from 1ms")),
    (("--name", ""), ("--name ''", "empty")),
    (("--label", "7"), ("--label '7'", "run ids")),
    (("--tag", "a=1", "--tag", "a=2"), ("--tag a is given twice",)),
])
def test_bad_options(perfkit, options, words):
    perfkit("exec", *options, "--", "touch", "ran").refused(2, *words)
    assert not (perfkit.cwd / "ran").exists()


def test_most_runs_below_the_least(perfkit):
    assert perfkit("exec", "--max-runs", "2", "--min-time", "0", "--", "true").status == 0
    assert query(perfkit, "SELECT n FROM v_summary WHERE metric = 'wall_ns'") == [(2,)]


def test_timeout_ends_the_children_too(perfkit):
    token = uuid.uuid4().hex
    r = perfkit("exec", "--timeout", "300ms", "--", "sh", "-c", "sleep 100 & sleep 100", env={"TOKEN": token})
    assert r.status == 6
    assert r.error()["why"] == "no end after 300ms; the command and its processes were ended"
    assert query(perfkit, "SELECT status FROM v_case") == [("timeout",)]
    assert gone(token)


@not_sanitized
def test_peak_memory_of_a_small_command_under_a_large_parent(perfkit):
    large = "import subprocess, sys; ballast = bytearray(b'x') * (100 << 20); sys.exit(subprocess.run(sys.argv[1:]).returncode)"
    from conftest import BINARY
    done = subprocess.run([sys.executable, "-c", large, BINARY, "exec", "--runs", "3", "--", "true"],
                          env=perfkit.environment(), cwd=perfkit.cwd, capture_output=True, timeout=120)
    assert done.returncode == 0, done
    assert query(perfkit, "SELECT max FROM v_summary WHERE metric = 'peak_bytes'")[0][0] < 30e6


@not_sanitized
def test_peak_memory_of_a_large_command(perfkit):
    perfkit("exec", "--runs", "2", "--", sys.executable, "-c", "b = bytearray(b'x') * (100 << 20)")
    low, high = query(perfkit, "SELECT min, max FROM v_summary WHERE metric = 'peak_bytes'")[0]
    assert 100 << 20 < low <= high < 200 << 20


@not_sanitized
def test_cpu_time(perfkit):
    perfkit("exec", "--runs", "2", "--", sys.executable, "-c", "import time\nwhile time.process_time() < 0.1: pass")
    least, = query(perfkit, "SELECT sum(min) FROM v_summary WHERE metric IN ('user_ns', 'system_ns')")[0]  # the least of each, of two runs
    assert 0.05e9 < least < 3e9


@not_sanitized
def test_noise_on_stdout_and_stderr(perfkit):
    r = perfkit("exec", "--runs", "2", "--format", "csv", "--", "sh", "-c", "yes | head -c 1000000; yes | head -c 1000000 >&2")
    assert r.status == 0, r
    assert "y\ny" not in r.stdout + r.stderr


@not_sanitized
def test_equal_names_make_equal_cases(perfkit):
    perfkit("exec", "--runs", "2", "--name", "nap", "--", "sleep", "0.01")
    perfkit("exec", "--runs", "2", "--name", "nap", "--", "sleep", "0.02")
    assert query(perfkit, "SELECT DISTINCT variant, axes FROM v_case") == [("nap", '{"command":"nap"}')]


# --- programs that report their own samples ---------------------------------------------------------------------------


def example():
    """The ten lines of the documentation."""
    text = (DOCS / "protocol.md").read_text().split("```python\n")[1].split("```")[0]
    assert len(text.splitlines()) <= 12
    return text


@not_sanitized
def test_the_example_of_the_documentation(perfkit):
    path = perfkit.cwd / "report.py"
    path.write_text(example())
    r = perfkit("exec", "--runs", "3", "--", sys.executable, "report.py")
    assert r.status == 0, r
    assert query(perfkit, "SELECT n, invocations FROM v_summary WHERE metric = 'sum_ns'") == [(51, 3)]
    assert query(perfkit, "SELECT phase, count(*) FROM v_sample WHERE metric = 'sum_ns' GROUP BY phase ORDER BY phase") == [
        ("steady", 51), ("warmup", 9)]
    assert "sum_ns" in r.stdout
    assert subprocess.run([sys.executable, str(path)], env={"PATH": os.environ["PATH"]}, timeout=60).returncode == 0


def test_cases_of_its_own(perfkit):
    run = program(perfkit, """
say(type="hello", version=1, program="test")
for n in (1, 2):
    say(type="case", experiment="sums", variant="builtin", axes={"n": n})
    say(type="metric", name="sum_ns", unit="ns", direction="lower")
    say(type="samples", metric="sum_ns", values=[n * 10, n * 10])
    say(type="note", key="why", value={"n": n})
say(type="case", experiment="sums", variant="builtin", axes={"n": 3})
say(type="status", status="skipped", message="three is too many")
""")
    r = perfkit("exec", "--runs", "3", *run)
    assert r.status == 0, r
    assert query(perfkit, "SELECT experiment, variant, axes, status, message FROM v_case ORDER BY ordinal")[1:] == [
        ("sums", "builtin", '{"n":1}', "ok", ""), ("sums", "builtin", '{"n":2}', "ok", ""),
        ("sums", "builtin", '{"n":3}', "skipped", "three is too many")]
    assert query(perfkit, "SELECT median, n, invocations FROM v_summary WHERE metric = 'sum_ns' ORDER BY axes") == [
        (10, 6, 3), (20, 6, 3)]


def test_negative_values_have_positive_spreads(perfkit):
    (perfkit.cwd / "delta.sh").write_text("""n=$(($(cat n 2>/dev/null || echo 0) + 1)); echo $n > n
echo '{"type":"metric","name":"delta_ns","unit":"ns","direction":"lower","class":"time"}' >&$PERFKIT_WIRE_FD
echo '{"type":"samples","metric":"delta_ns","phase":"steady","ordinal":0,"values":[-'$((100 + 10 * n))']}' >&$PERFKIT_WIRE_FD
""")
    r = perfkit("exec", "--runs", "4", "--warmup", "0", "--no-counters", "--format", "json", "--", "sh", "delta.sh")
    row, = r.rows("case_times")
    assert row["median_ns"] == -125 and row["cv"] > 0 and row["uncertainty"] > 0, r
    assert perfkit("exec", "--runs", "4", "--warmup", "0", "--no-counters", "--", "sh", "delta.sh").status == 0
    rows = perfkit("history", "exec", "-m", "delta_ns", "--format", "json").rows("history_ns")
    assert [t["median_ns"] for t in rows] == [-125, -165] and all(t["uncertainty"] > 0 for t in rows), rows


@pytest.mark.parametrize("text, why", [
    ("wire.write('ceci est une pipe\\n')", "the command violated the protocol: no JSON: ceci est une pipe"),
    ("say(type='samples', metric='x_ns', values=[1])", "\"x_ns\", which was not declared"),
    ("say(type='hello', version=2)", "it uses version 2 of the wire protocol, this perfkit version 1"),
    ("say(type='metric', name='wall_ns', unit='ns')", "wall_ns, which is perfkit's own metric"),
    ("say(type='metric', name='peak_bytes', unit='MB')", "peak_bytes is in another unit than bytes"),
    ("say(type='status', status='failed', message='my result is wrong')", "my result is wrong"),
])
def test_a_program_that_talks_nonsense(perfkit, text, why):
    r = perfkit("exec", "--runs", "2", *program(perfkit, text))
    assert r.status == 1 and why in r.error()["why"], r
    assert query(perfkit, "SELECT status FROM v_case") == [("failed",)]
    assert query(perfkit, "SELECT count(*) FROM v_sample") == [(0,)]


@not_sanitized
def test_not_a_number_and_a_line_cut_short(perfkit):
    run = program(perfkit, """
say(type="metric", name="x_ns", unit="ns", direction="lower")
say(type="samples", metric="x_ns", values=[1.0, float("nan"), 3.0])
wire.write('{"type":"samples","metric":"x_ns","val')
""")
    assert perfkit("exec", "--runs", "2", *run).status == 0
    assert query(perfkit, "SELECT value FROM v_sample WHERE metric = 'x_ns' AND invocation = 1") == [(1,), (None,), (3,)]


# --- CPU events ---------------------------------------------------------------------------------------------------------

TOUCH = "import mmap; m = mmap.mmap(-1, {0} << 12); m.madvise(mmap.MADV_NOHUGEPAGE); [m.write_byte(1) or m.seek(4095, 1) for _ in range({0} - 1)]"


def counted(perfkit, pages):
    """What one more run of a shell counts, whose child touches so many pages."""
    r = perfkit("exec", "--runs", "1", "--format", "json", "--", "sh", "-c", f"{sys.executable} -c '{TOUCH.format(pages)}'; true")
    assert r.status == 0, r
    return r.rows("counters")[0]


@not_sanitized
def test_events_are_inherited_by_children(perfkit):
    few, many = counted(perfkit, 1000), counted(perfkit, 21000)
    assert 20_000 <= many["page_faults"] - few["page_faults"] < 21_000
    assert many["task_clock_ns"] > 1e6


@not_sanitized
def test_the_counter_pass_is_apart(perfkit):
    assert perfkit("exec", "--runs", "4", "--", "sleep", "0.01").status == 0
    assert perfkit("exec", "--runs", "4", "--no-counters", "--", "sleep", "0.01").status == 0
    summaries = "SELECT metric, n, invocations FROM v_summary WHERE run_id = %d ORDER BY metric"
    assert query(perfkit, summaries % 1) == query(perfkit, summaries % 2)
    assert query(perfkit, "SELECT run_id, pass, count(*) FROM v_slice GROUP BY 1, 2 ORDER BY 1, 2") == [
        (1, "counter", 1), (1, "timing", 4), (2, "timing", 4)]
    assert {"task_clock_ns", "page_faults"} <= {
        m for m, in query(perfkit, "SELECT metric FROM v_sample WHERE pass = 'counter' AND run_id = 1")}
    assert query(perfkit, "SELECT count(*) FROM v_sample WHERE pass = 'counter' AND metric = 'wall_ns'") == [(0,)]
    assert "CPU events of" in perfkit("show", "@~1", "--details").stdout
    assert "CPU events of" not in perfkit("show", "@", "--details").stdout


def test_events_are_in_v_counter_too(perfkit):
    assert perfkit("exec", "--runs", "2", "--name", "a", "--", "true").status == 0
    samples = dict(query(perfkit, "SELECT metric, value FROM v_sample WHERE pass = 'counter'"))
    rows = query(perfkit, "SELECT name, value, region, unit, source, quality FROM v_counter WHERE group_name = '' AND name <> 'perturbation'")
    assert {r[0]: r[1] for r in rows} == samples and {r[2] for r in rows} == {"iteration"}
    by_name = {r[0]: r for r in rows}
    assert by_name["task_clock_ns"][3:] == ("ns", "sw-events", "exact")
    rate, = query(perfkit, "SELECT value FROM v_counter WHERE group_name = 'sw' AND name = 'fault_rate'")
    assert rate[0] == pytest.approx(1e9 * samples["page_faults"] / samples["task_clock_ns"])
    assert perfkit("exec", "--runs", "2", "--name", "a", "--", "true").status == 0
    compared = perfkit("compare", "1", "2", "--format", "json").json()["tables"]
    # a user may be denied the events of the kernel
    assert {r["counter"] for r in compared["counters"]["rows"]} >= {"page_faults"} | {"context_switches"} & set(samples)
    assert perfkit("show", "1", "--details").stdout.count("CPU events") == 1 and "Counters" not in perfkit("show", "1", "--details").stdout


@not_sanitized
def test_what_is_counted_can_be_chosen(perfkit):
    r = perfkit("exec", "--runs", "2", "--counters", "sw,user_ns", "--", "true")
    if not query(perfkit, "SELECT count(*) FROM v_counter")[0][0]:
        pytest.skip("no software events here")
    assert r.status == 0 and "warning: user_ns is not counted: for a command, exec measures user_ns" in r.stderr, r
    table = perfkit("show", "--format", "json").json()["tables"]
    assert "counters" not in table
    row, = table["counted"]["rows"]
    assert row["region"] == "iteration" and 0 < row["cpus_used"] and row["page_faults"] > 10 and "perturbation" in row
    metrics = {name: (value, native) for name, value, native in query(perfkit, "SELECT name, value, native FROM v_counter WHERE group_name = 'sw'")}
    faults, clock = (query(perfkit, f"SELECT value FROM v_counter WHERE name = '{n}'")[0][0] for n in ("page_faults", "task_clock_ns"))
    assert metrics["fault_rate"][0] == pytest.approx(1e9 * faults / clock)
    assert re.search(r"Not counted here: .*user_ns \(for a command", perfkit("show").stdout)  # of counters that were named
    assert query(perfkit, "SELECT count(*) FROM v_slice WHERE pass = 'counter'") == [(1,)]
    perfkit("exec", "--counters", "swx", "--", "true").refused(2, "unknown group or event 'swx'", "did you mean 'sw'?")
    perfkit("exec", "--counters", "sw", "--no-counters", "--", "true").refused(2, "--no-counters and --counters cannot be combined")


def test_names_that_share_a_source_take_turns(perfkit):
    r = perfkit("exec", "--runs", "1", "--counters", "sw,page_faults,cpu_migrations", "--", "sh", "-c", "echo r >> ran")
    assert r.status == 0, r
    turns, = query(perfkit, "SELECT count(*) FROM v_slice WHERE pass = 'counter'")
    assert (perfkit.cwd / "ran").read_text() == "r\n" * (1 + turns[0]) and turns[0] in (0, 2)


EVENTS = {"task_clock_ns", "page_faults", "context_switches", "cpu_migrations", "cycles", "instructions", "branches",
          "branch_misses"}


@not_sanitized
def test_what_is_not_counted_is_said_once(perfkit):
    r = perfkit("exec", "--runs", "2", "--details", "--", "true")
    absent = {row["name"] for row in perfkit("list", "counters", "--format", "json").rows("counters")
              if row["available"] == "no" and row["name"] in EVENTS}
    note = [line for line in r.stdout.splitlines() if line.startswith("Not counted: ")]
    spell = "did not change" in r.stdout  # as counters of a guest do at times
    assert len(note) == (1 if absent or spell else 0) and all(name in note[0] for name in absent), r
    assert query(perfkit, "SELECT count(*) FROM v_sample WHERE pass = 'counter' AND value IS NULL") == [(0,)]


def test_the_counted_run_fails_alone(perfkit):
    once = "test ! -e ran || exit 3; touch ran"
    r = perfkit("exec", "--runs", "1", "--", "sh", "-c", once)
    assert r.status == 0 and "no CPU events were counted: the command failed: exit status 3" in r.stderr, r
    assert query(perfkit, "SELECT status FROM v_case") == [("ok",)]
    assert query(perfkit, "SELECT pass, status FROM v_slice ORDER BY pass") == [("counter", "failed"), ("timing", "ok")]


def test_nothing_is_counted_after_a_failure(perfkit):
    perfkit("exec", *QUICK, "--", "sh", "-c", "echo r >> ran; exit 3")
    assert (perfkit.cwd / "ran").read_text() == "r\n"


@not_sanitized
def test_what_is_said_in_the_counted_run_is_not_heard(perfkit):
    run = program(perfkit, """
say(type="metric", name="x_ns", unit="ns", direction="lower")
say(type="samples", metric="x_ns", values=[1, 2])
""")
    assert perfkit("exec", "--runs", "3", *run).status == 0
    assert query(perfkit, "SELECT n FROM v_summary WHERE metric = 'x_ns'") == [(6,)]
    assert query(perfkit, "SELECT DISTINCT pass FROM v_sample WHERE metric = 'x_ns'") == [("timing",)]


@not_sanitized
def test_what_an_earlier_run_left_behind_reports_nothing(perfkit):
    """A process of the first run writes while the second one, which waits for that, runs."""
    run = program(perfkit, """
def until(name):
    end = time.monotonic() + 20
    while not os.path.exists(name) and time.monotonic() < end: time.sleep(0.01)
def report(value):
    say(type="metric", name="x_ns", unit="ns", direction="lower")
    say(type="samples", metric="x_ns", values=[value])
if not os.path.exists("first"):
    open("first", "w")
    report(1)
    if os.fork() == 0:
        os.setsid()
        until("second")
        try: report(1000)
        except BrokenPipeError: pass
        open("written", "w")
        os._exit(0)
elif not os.path.exists("second"):
    open("second", "w")
    until("written")
    report(2)
else:
    report(3)
""")
    assert perfkit("exec", "--runs", "3", "--no-counters", *run).status == 0
    assert (perfkit.cwd / "written").exists()
    assert query(perfkit, "SELECT value FROM v_sample WHERE metric = 'x_ns' ORDER BY invocation") == [(1,), (2,), (3,)]


# --- bad luck ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sig, delay", [(signal.SIGINT, 0.05), (signal.SIGINT, 0.2), (signal.SIGINT, 0.45), (signal.SIGTERM, 0.2)])
def test_interrupted(perfkit, sig, delay):
    token = uuid.uuid4().hex
    p = perfkit.start("exec", "--runs", "1000", "--", "sleep", "0.03", env={"TOKEN": token})
    time.sleep(delay)
    p.send_signal(sig)
    out, err = p.communicate(timeout=20)
    if p.returncode == -sig:
        assert delay < 0.1  # before the handlers were there
    else:
        assert p.returncode == 130, err
        assert query(perfkit, "SELECT status FROM v_run") == [("interrupted",)]
    assert gone(token)
    assert not perfkit.db.exists() or query(perfkit, "PRAGMA integrity_check") == [("ok",)]


def test_killed(perfkit):
    token = uuid.uuid4().hex
    p = perfkit.start("exec", "--", "sleep", "100", env={"TOKEN": token})
    end = time.monotonic() + 20
    while len(marked(token)) < 4 and time.monotonic() < end:
        time.sleep(0.02)
    assert len(marked(token)) == 4  # perfkit, the keeper, the spawner, the command
    p.kill()
    p.wait()
    assert gone(token)


@pytest.mark.parametrize("option, text", [("--name", b"n\xff"), ("--prepare", b"true \xff"), ("--label", b"l\xff"), ("--tag", b"k=\xff")])
def test_recorded_text_is_utf_8(perfkit, option, text):
    perfkit("exec", "-r", "1", option, os.fsdecode(text), "--", "true").refused(2, f"{option} is not UTF-8")
    if perfkit.db.exists():
        with sqlite3.connect(perfkit.db) as db:
            assert db.execute("SELECT count(*) FROM run").fetchone() == (0,)
