"""`run` through the front door: tables, exact results on the null device, every way a run can end."""
import json
import os
import resource
import shutil
import signal
import sqlite3
import time

import pytest
from busy import in_time
from conftest import Perfkit, not_sanitized, on_one_cpu
from stored import query

pytestmark = pytest.mark.usefixtures("measured")
NULL = ("--device", "null")
SMALL = ("-a", "d_model=64", "-a", "seq_len=256,512,1024")


def run(perfkit, *args, **kw):
    return perfkit("run", "attention-scaling", *NULL, "--tables", "all", *args, **kw)


@pytest.fixture(scope="module")
def small(tmp_path_factory, ceilings):
    """A recorded run, and what it printed, for tests that only read: it takes 27 processes."""
    one = Perfkit(tmp_path_factory.mktemp("small"))
    shutil.copy(ceilings, one.db)
    return one, run(one, *SMALL)


@pytest.fixture
def shown(perfkit, measured, small):
    """Gives perfkit a store of its own in which that run is, and what the run printed."""
    shutil.copy(small[0].db, perfkit.db)
    return small[1]


@not_sanitized
def test_the_report_s_table(small):
    perfkit, r = small
    assert r.status == 0, r
    lines = r.stdout.splitlines()
    at = lines.index("Attention scaling, vanilla")
    assert lines[at + 1].split("  ")[0] == "d_model"
    for heading in ("seq_len", "Forward (ms)", "Backward (ms)", "Mem Before Bwd (GB)", "Peak Mem (GB)", "Status", "Fwd % floor"):
        assert heading in lines[at + 1]
    assert len({len(line.rstrip()) for line in lines[at + 3:at + 6]}) == 1, "rows are aligned"
    for title in ("Attention scaling, fused", "Attention scaling, flash", "Variants against vanilla", "Growth with seq_len", "Crossover"):
        assert title in r.stdout
    assert "on null, preset quick" in r.stderr and str(perfkit.db) in r.stderr


def test_exact_on_the_null_device(perfkit, shown):
    rows = perfkit("show", "--format", "json").rows("scaling")
    flash = {(r["variant"], r["seq_len"]): r for r in rows}["flash", 1024]
    flops = 4 * 8 * 1024 * 1024 * 64
    assert flash["forward_ns"] == flops / 1024  # the null device's rate
    assert flash["forward_ci_low_ns"] == flash["forward_ci_high_ns"] == flash["forward_ns"] and flash["forward_uncertainty"] == 0
    assert flash["forward_of_floor"] == pytest.approx(1)
    tokens = 8 * 1024 * 64 * 4
    assert flash["peak_bytes"] == flash["predicted_bytes"] == 8 * tokens + 8 * 1024 * 4
    assert flash["before_backward_bytes"] == 5 * tokens + 8 * 1024 * 4


@not_sanitized
def test_the_same_twice_on_the_null_device(perfkit, shown):
    first, second = perfkit("show", "--format", "jsonl").stdout, run(perfkit, *SMALL, "--format", "jsonl").stdout
    assert first == second and first.count("\n") > 20


def test_fitted_exponents(perfkit, shown):
    fits = perfkit("show", "--format", "json").rows("exponents")
    by = {(f["variant"], f["metric"]): f["exponent"] for f in fits}
    for variant in ("vanilla", "fused", "flash"):
        assert by[variant, "forward_ns"] == pytest.approx(2, abs=0.01)
    assert by["flash", "peak_bytes"] == pytest.approx(1, abs=0.01)
    assert by["vanilla", "peak_bytes"] > 1.6


@not_sanitized
def test_on_the_cpu_results_are_checked_and_stored(perfkit):
    r = perfkit("run", "attention-scaling", "-d", "cpu", "-a", "d_model=16", "-a", "seq_len=64,130", "-a", "causal=on,off",
                "--invocations", "2", "--min-samples", "2", "--max-samples", "2", "--min-time", "1ms", "--max-time", "1ms", "--format", "json")
    assert r.status == 0, r
    rows = r.rows("scaling")
    assert len(rows) == 12 and all(x["status"] == "OK" and x["forward_ns"] > 0 for x in rows)
    checks = query(perfkit, "SELECT json_extract(notes, '$.check') FROM v_slice WHERE invocation = 1")
    assert {c for c, in checks} == {"passed"}
    assert query(perfkit, "SELECT count(*) FROM v_sample WHERE metric = 'forward_ns' AND phase = 'first'") == [(24,)]
    keys = {k for k, in query(perfkit, "SELECT DISTINCT key FROM v_setting")}
    assert {"threads", "blas", "binding", "isa"} <= keys


@not_sanitized
def test_out_of_memory_is_a_row(perfkit):
    r = run(perfkit, "-a", "d_model=16", "-a", "seq_len=1024,16384", "--memory-limit", "1GB", "--format", "json")
    assert r.status == 0, r
    status = {(x["variant"], x["seq_len"]): x["status"] for x in r.rows("scaling")}
    assert status["vanilla", 16384] == "OOM" and status["flash", 16384] == "OK" and status["vanilla", 1024] == "OK"


def test_nothing_fits(perfkit):
    r = run(perfkit, "-a", "seq_len=16384", "-v", "vanilla", "--memory-limit", "1MB")
    assert r.status == 6 and "OOM" in r.stdout
    assert "nothing was measured" in r.error()["what"] and "--dry-run" in r.error()["try"]


def test_dry_run_measures_nothing(perfkit):
    r = run(perfkit, "--dry-run", "-a", "d_model=16,32", "-a", "seq_len=256:1024:*2", "-v", "flash", "--format", "json")
    rows = r.rows("plan")
    assert [json.loads(x["axes"])["seq_len"] if isinstance(x["axes"], str) else x["axes"]["seq_len"] for x in rows] == [256, 512, 1024] * 2
    assert query(perfkit, "SELECT count(*) FROM v_run") == [(0,)]


@pytest.mark.parametrize("args, words", [
    (("-a", "seqlen=1"), ("seqlen", "seq_len")),
    (("-a", "seq_len=0"), ("0", "1", "1048576")),
    (("-a", "seq_len="), ("seq_len",)),
    (("-a", "seq_len=256:128:*2"), ("seq_len",)),
    (("-a", "dtype=bf61"), ("dtype", "fp32")),
    (("-v", "flesh"), ("flesh", "flash")),
    (("-p", "quikc"), ("quikc", "quick")),
    (("--format", "jsno"), ("json",)),
    (("--filter", "seq_len>>1"), ("seq_len",)),
    (("--peer", "no-such-peer"), ("no-such-peer",)),
    (("--memory-limit", "3M"), ("MB", "MiB")),
    (("--tag", "novalue"), ("novalue", "=")),
    (("--label", "l\udcff"), ("--label", "UTF-8")),
    (("--max-noise", "200%"), ("200%",)),
    (("--device", "gpu"), ("gpu",)),
    (("--device", "cpu:1"), ("cpu:1", "call it 'cpu'")),
    (("-a", "seq_len=abc"), ("'abc' is not an integer", "only digits", "-a seq_len=256,1024,4096")),
    (("-a", "seq_len=1:5"), ("FIRST:LAST:*FACTOR", "-a seq_len=256:4096:*2")),
    (("-a", "batch=9:1:*2"), ("the first value of a range is not above its last", "-a batch=8:32:*2")),
    (("--filter", "seq_len==3"), ("no operator ==", "= != < <= > >=", "--filter 'seq_len=3'")),
    (("--filter", "seq_len=<3"), ("no operator =<", "--filter 'seq_len<=3'")),
    (("--filter", "variant<>flash"), ("no operator <>", "--filter 'variant!=flash'")),
    (("--filter", "seq_len"), ("= != < <= > >=", "--filter 'batch>=8'")),
    (("--budget", "0"), ("--budget", "from 1ns", "--budget 1ns or more")),
    (("--budget", "-5s"), ("--budget", "without a sign")),
    (("--timeout", "0"), ("--timeout", "from 1ms")),
    (("--memory-limit", "0"), ("--memory-limit", "--memory-limit 1 or more")),
    (("--invocations", "0"), ("--invocations", "from 1 to 1000")),
    (("--min-samples", "0"), ("--min-samples", "from 1 to 1000000")),
    (("--max-samples", "0"), ("--max-samples", "from 1 to 1000000")),
    (("--min-time", "2h"), ("--min-time", "to 1h", "1h or less")),
    (("--warmup", "-2"), ("--warmup", "from -1")),
    (("--threads", "-1"), ("--threads", "from 0")),
    (("--label", ""), ("--label ''", "it is empty")),
    (("--label", "12"), ("--label '12'", "run ids", "--label before")),
    (("--label", "@x"), ("--label '@x'", "@")),
    (("--tag", "a=1", "--tag", "a=2"), ("--tag a is given twice",)),
    (("--min-time", "2s", "--max-time", "1s"), ("--min-time 2s is more than --max-time 1s", "omit one of them")),
    (("--min-samples", "7", "--max-samples", "5"), ("--min-samples 7 is more than --max-samples 5",)),
    (("--min-time", "20m"), ("--min-time 20m cannot be reached within --timeout 10m",)),
    (("--min-time", "2s", "--timeout", "1s"), ("--min-time 2s cannot be reached within --timeout 1s",)),
    (("--no-save", "--resume"), ("--no-save and --resume cannot be combined",)),
    (("--no-save", "--label", "x"), ("--no-save and --label cannot be combined", "nothing is recorded")),
])
def test_bad_input(perfkit, args, words):
    r = run(perfkit, *args)
    assert r.status == 2, r
    text = "\n".join(r.error().values())
    for word in words:
        assert word in text, r.stderr
    assert not perfkit.db.exists() or query(perfkit, "SELECT count(*) FROM v_run") == [(0,)], "nothing was begun"


@pytest.mark.parametrize("option", [("--min-samples", "3"), ("--max-time", "1s"), ("--invocations", "2"), ("--budget", "1m"),
                                    ("--warmup", "1"), ("--resume",), ("--label", "x"), ("--tag", "k=v")])
def test_once_is_once(perfkit, option):
    run(perfkit, "--once", *option).refused(2, f"--once and {option[0]} cannot be combined", "one iteration")


def test_a_profile_is_no_measurement(perfkit):
    run(perfkit, "--profile", "3", "--max-time", "1s").refused(2, "--profile and --max-time cannot be combined", "not recorded")
    run(perfkit, "--profile", "3", "--once").refused(2, "--once and --profile cannot be combined", "--once is --profile 1")
    run(perfkit, "--profile", "0").refused(2, "--profile", "0 is out of range")


@not_sanitized
def test_threads_are_at_most_the_cpus_to_use(perfkit):
    one = ("run", "selftest", "-d", "cpu", "-v", "ok", "--max-time", "1ms", "-i", "1")
    perfkit(*one, "--threads", "2", preexec_fn=on_one_cpu).refused(
        2, "--threads 2", "allow 1 for this process", "--threads 1 or fewer")
    perfkit(*one, "--threads", "999").refused(2, "--threads 999")
    perfkit(*one, "--threads", "999", "--dry-run").refused(2, "--threads 999")
    assert perfkit(*one, "--threads", "1", preexec_fn=on_one_cpu).status == 0


@not_sanitized
def test_of_two_bounds_the_weaker_source_follows(perfkit):
    def settings():
        return query(perfkit, "SELECT settings ->> 'min_time_ns', settings ->> 'max_time_ns', settings ->> 'min_samples', "
                              "settings ->> 'max_samples' FROM run ORDER BY id DESC LIMIT 1")[0]
    one = ("run", "selftest", *NULL, "-v", "ok", "-i", "1")
    assert perfkit(*one, "--max-time", "1ms", "--min-samples", "20000").status == 0
    assert settings() == (1e6, 1e6, 20000, 20000)
    assert perfkit(*one, "--min-time", "2s", env={"PERFKIT_MAX_TIME": "1s"}).status == 0
    assert settings()[:2] == (2e9, 2e9)
    perfkit.config("[run]\nmin-time = 2s\n")
    assert perfkit(*one, "--max-time", "1s").status == 0
    assert settings()[:2] == (1e9, 1e9)
    perfkit.config("[run]\nmin-time = 2s\nmax-time = 1s\n")
    perfkit(*one).refused(2, "--min-time 2s (./.perfkit.ini:2) is more than --max-time 1s (./.perfkit.ini:3)")


@not_sanitized
def test_a_device_that_is_not_there(perfkit):
    perfkit("run", "selftest", "-d", "cuda", "-v", "ok").refused(6, "cuda", "list devices")
    assert query(perfkit, "SELECT count(*) FROM v_run") == [(0,)]
    plan = ("run", "selftest", "-d", "cuda", "-v", "ok", "--dry-run", "--format", "json")
    for limit, status, memory in ((), "measured on a machine with the device, if it fits", True), (("--memory-limit", "1GB"), "measured on a machine with the device", False):
        r = perfkit(*plan, *limit)
        notes = " ".join(r.json()["tables"]["plan"]["notes"])
        assert r.status == 0 and [case["status"] for case in r.rows("plan")] == [status], r
        assert "cuda cannot be used here: " in notes and ("The memory of cuda is not known" in notes) == memory, r
    (perfkit.cwd / "two.ini").write_text("".join("[%s]\nexperiment = selftest\nvariant = ok\ndevice = cuda\n" % name for name in "ab"))
    r = perfkit("run", "--suite", "two.ini", "--dry-run")
    assert r.stdout.count("if it fits") == 2 and r.stdout.count("cuda cannot be used here") == 1, r


def test_a_size_may_be_a_fraction_of_a_unit(perfkit):
    plan = ("run", "selftest", "-d", "null", "-v", "ok", "--dry-run", "--memory-limit")
    assert perfkit(*plan, "0.18GiB").status == 0  # no whole number of bytes
    perfkit(*plan, "0.5B").refused(2, "--memory-limit", "whole number of bytes")


@not_sanitized
def test_cpu_0_is_cpu(perfkit):
    assert perfkit("run", "selftest", "-d", "null:0", "-v", "ok").status == 0
    assert query(perfkit, "SELECT device FROM v_case") == [("null",)]


# One iteration takes minutes on any machine of today, in 0.6 GB.
HUGE = ("run", "attention-scaling", "-d", "cpu", "-v", "flash", "-a", "batch=1", "-a", "d_model=16", "-a", "seq_len=1000000")


@not_sanitized
def test_what_cannot_end_in_time_is_skipped(perfkit):
    r = perfkit(*HUGE, "--timeout", "10s", "--format", "json")
    assert r.status == 6 and "1 skipped" in r.error()["what"], r
    (status, message), = query(perfkit, "SELECT status, message FROM v_case")
    assert status == "skipped" and message.startswith("would take at least ") and message.endswith("limit --timeout 10s")
    assert perfkit(*HUGE, "--timeout", "10s", "--dry-run", "--format", "json").rows("plan")[0]["status"] == message
    grid = perfkit(*HUGE[:-1], "seq_len=64,1000000", "--timeout", "10s", "--max-time", "1ms", "-i", "1")
    assert grid.status == 0, grid
    assert query(perfkit, "SELECT status FROM v_case WHERE run_id = 2 ORDER BY ordinal") == [("ok",), ("skipped",)]


@not_sanitized
def test_a_long_case_is_announced(perfkit):
    p = perfkit.start(*HUGE, "--timeout", "8760h")
    try:
        said = next((line for line in iter(p.stderr.readline, b"") if b"one iteration" in line), b"").decode()
    finally:
        p.send_signal(signal.SIGINT)
        p.communicate(timeout=60)
    assert "one iteration of flash" in said and "seq_len=1000000" in said and "--budget" in said, said


@not_sanitized
def test_an_axis_that_changes_nothing(perfkit):
    idle = "warning: -a copies=2 changes nothing: copies applies to none of these cases, but would with busy_ns=0"
    one = ("run", "selftest", *NULL, "-v", "ok", "-a", "copies=2", "--max-time", "1ms")
    r = perfkit(*one, "-q")
    assert r.status == 0 and idle in r.stderr, r
    r = perfkit(*one, "-a", "busy_ns=0")
    assert r.status == 0 and "warning" not in r.stderr, r
    assert query(perfkit, "SELECT axes ->> 'copies' FROM v_case ORDER BY run_id") == [(None,), (2,)]


def test_unknown_experiment(perfkit):
    perfkit("run", "atention-scaling").refused(2, "atention-scaling", "did you mean 'attention-scaling'?")


def test_filter_that_leaves_nothing(perfkit):
    r = run(perfkit, "--filter", "seq_len>1000000")
    assert r.status == 6 and "seq_len>1000000" in "\n".join(r.error().values())


@not_sanitized
def test_label_tags_and_command_line_are_recorded(perfkit):
    assert run(perfkit, *SMALL, "-v", "flash", "--label", "it's", "--tag", "branch=main").status == 0
    (label, tags, line, status), = query(perfkit, "SELECT label, tags, command_line, status FROM v_run")
    assert label == "it's" and json.loads(tags) == {"branch": "main"} and status == "complete"
    assert line.endswith("--label 'it'\\''s' --tag branch=main")


@not_sanitized
def test_no_save(perfkit):
    perfkit.db.unlink()
    r = run(perfkit, *SMALL, "--no-save")
    assert r.status == 0 and "Attention scaling" in r.stdout and not perfkit.db.exists()


def test_once(perfkit):
    perfkit.db.unlink()
    r = perfkit("run", "attention-scaling", "-d", "cpu", "-a", "d_model=16", "-a", "seq_len=64", "--once", "--format", "json")
    assert r.status == 0, r
    assert {x["metric"] for x in r.rows("once")} >= {"forward_ns", "backward_ns"} and not perfkit.db.exists()


@pytest.mark.skipif(os.path.exists("/dev/nvidiactl"), reason="there is a GPU")
def test_a_gpu_by_its_uuid(perfkit):
    uuid = "MIG-41b36413-fc77-5ade-b1ed-1b3f9a1d8e2c"
    perfkit("run", "attention-scaling", "--device", f"cuda:{uuid}").refused(perfkit("run", "attention-scaling", "--device", "cuda").status, uuid)
    perfkit("run", "attention-scaling", "--device", "cuda:MIG-").refused(2, "device 'cuda:MIG-' is not known")
    plan = perfkit("run", "attention-scaling", "--device", f"cuda:{uuid}", "--dry-run", "--preset", "quick", "--memory-limit", "40GB")
    assert plan.status == 0 and f"on cuda:{uuid}" in plan.stdout + plan.stderr, plan


def test_profile(perfkit):
    """Medians of the iterations alone, without the first; the lines for profilers are a page of the program."""
    perfkit.db.unlink()
    r = perfkit("run", "selftest", *NULL, "--profile", "4", "-v", "ok", "--format", "json")
    assert r.status == 0 and not perfkit.db.exists(), r
    assert [x["unit"] for x in r.rows("profile") if x["metric"] == "work_ns"] == ["ns"] and "Medians of 4 iterations" in r.stdout
    page = perfkit("help", "profilers").stdout
    assert "--capture-range cudaProfilerApi --capture-range-end stop" in page and "--profile-from-start off" in page


def test_once_tells_how_every_case_ended(perfkit):
    r = perfkit("run", "selftest", *NULL, "--once", "-v", "ok,oom,unmarked", "--format", "json")
    assert r.status == 1 and "1 of 3 cases failed" in r.error()["what"], r
    assert {x["variant"]: x["status"] for x in r.rows("once")} == {"ok": "ok", "oom": "oom", "unmarked": "failed"}
    r = run(perfkit, "--once", "-a", "heads=3", "-a", "d_model=64", "-a", "seq_len=256", "-v", "flash")
    assert r.status == 6 and "no case ran" in r.error()["what"] and "not a multiple of heads" in r.stdout, r
    perfkit("run", "selftest", *NULL, "--once", "--peer", "numpy-attention").refused(2, "--once", "numpy-attention")


def test_once_as_a_dry_run(perfkit):
    r = perfkit("run", "selftest", *NULL, "--once", "--dry-run", "-v", "crash", "--format", "json")
    assert r.status == 0 and [x["status"] for x in r.rows("plan")] == ["measured"], r


def test_the_largest_shape_is_out_of_memory(perfkit):
    """2^66 scores: what they take does not wrap around to little."""
    huge = ("-a", "batch=65536", "-a", "heads=1024", "-a", "d_model=1024", "-a", "seq_len=1048576")
    plan = run(perfkit, *huge, "--dry-run", "--format", "json").rows("plan")
    assert {r["variant"]: r["predicted_bytes"] for r in plan} == {
        "vanilla": None, "fused": None, "flash": 9 * 2**48}
    assert {r["variant"]: "over 8 EiB, not tried" in r["status"] for r in plan} == {"vanilla": True, "fused": True, "flash": False}
    r = run(perfkit, *huge, "--invocations", "1")
    assert r.status == 6 and "3 cases out of memory" in r.error()["what"], r
    assert query(perfkit, "SELECT variant, predicted_bytes FROM v_case") == [("vanilla", None), ("fused", None), ("flash", 9 * 2**48)]
    said = "".join(x for format in ("table", "json") for x in (perfkit("show", "@", "--format", format).stdout, run(perfkit, *huge, "--dry-run").stdout))
    assert "predicted to take over 8 EiB" in said and not any(n in said for n in ("9223372036854775807", "9223372036.8", "8388608"))


def test_every_ending_is_a_row(perfkit):
    r = perfkit("run", "selftest", *NULL, "--timeout", "1s", "--format", "json")
    assert r.status == 1, r
    got = dict(query(perfkit, "SELECT variant, status FROM v_case"))
    want = {"oom": "oom", "hang": "timeout", "crash": "failed", "exit": "failed", "leak": "failed", "unmarked": "failed",
            "device-error": "failed", "ok": "ok", "drift": "ok", "outliers": "ok"}
    assert {k: got[k] for k in want} == want
    messages = dict(query(perfkit, "SELECT variant, message FROM v_case"))
    assert "signal 11" in messages["crash"] and "status 7" in messages["exit"]


def test_a_failed_check_stores_nothing(perfkit):
    r = perfkit("run", "selftest", "-d", "cpu", "-v", "check-fails", "--max-time", "10ms")
    assert r.status == 1, r
    assert query(perfkit, "SELECT status FROM v_case") == [("failed",)]
    assert query(perfkit, "SELECT count(*) FROM v_sample") == [(0,)]


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    in_time(seconds, seconds)
    return False


def slices(perfkit):
    try:
        return query(perfkit, "SELECT count(*) FROM v_slice")[0][0]
    except sqlite3.OperationalError:
        return 0


def long(least="100ms", most="120ms"):
    """Twelve slices, each of so much time."""
    return ("run", "selftest", "-d", "cpu", "-v", "ok", "-a", "busy_ns=1000000", "-a", "memory=4KiB,8KiB,16KiB,32KiB", "--min-time", least,
            "--max-time", most)


@pytest.mark.parametrize("sig", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=not_sanitized)])
def test_interrupted_then_resumed(perfkit, sig):
    p = perfkit.start(*long())
    assert wait_for(lambda: slices(perfkit) >= 2)
    p.send_signal(sig)
    out, err = p.communicate(timeout=20)
    assert p.returncode == 130, err
    assert b"--resume" in err and b"interrupted" in err
    before = slices(perfkit)
    assert 2 <= before < 12 and query(perfkit, "SELECT status FROM v_run") == [("interrupted",)]
    r = perfkit("run", "selftest", "--resume")
    assert r.status == 0, r
    assert query(perfkit, "SELECT run_id, status FROM v_run") == [(1, "complete")]
    assert slices(perfkit) == 12
    assert query(perfkit, "SELECT DISTINCT invocations FROM v_summary WHERE metric = 'work_ns'") == [(3,)]


@not_sanitized
def test_resumed_as_it_was_begun(perfkit):
    """Settings come back, a case that failed before still counts, and an invocation that waits in a spool is no obstacle."""
    p = perfkit.start(*long("100ms", "150ms"), "-v", "unmarked", "--threads", "1", "--bind", "none", "--max-noise", "7%", "--warmup", "4", "--seed", "7")
    assert wait_for(lambda: slices(perfkit) >= 10)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=20)
    with sqlite3.connect(perfkit.db) as db:
        spooled, = db.execute("SELECT case_id FROM v_slice WHERE invocation = 2 AND status = 'ok' LIMIT 1").fetchone()
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("DELETE FROM slice WHERE case_id = ? AND invocation = 1", (spooled,))
    r = perfkit("run", "selftest", "--resume", env={"PERFKIT_WARMUP": "9"})
    assert r.status == 1 and "4 of 8 cases failed" in r.error()["what"], r
    assert query(perfkit, "SELECT DISTINCT value FROM v_setting WHERE key = 'threads'") == [("1",)]
    assert query(perfkit, "SELECT DISTINCT value FROM v_setting WHERE key = 'binding'") == [("off",)]
    assert query(perfkit, "SELECT DISTINCT notes ->> 'warmup_cut' FROM v_slice WHERE status = 'ok'") == [(4,)]
    assert query(perfkit, "SELECT count(*) FROM v_slice WHERE status = 'ok'") == [(11,)]


def test_a_budget_that_fits_nothing(perfkit):
    r = perfkit("run", "selftest", *NULL, "-v", "ok", "--budget", "1ns")
    assert r.status == 6 and "--budget" in r.error()["try"], r


@not_sanitized
def test_what_a_budget_left_out_is_resumed(perfkit):
    """The run was complete as far as its budget went; who resumes it wants the rest. Then there is nothing left to resume."""
    r = perfkit("run", "selftest", *NULL, "-v", "ok", "-a", "busy_ns=1000,2000", "--budget", "1ns")
    assert r.status == 6 and "--resume continues them" in r.stderr, r
    assert query(perfkit, "SELECT status FROM v_run") == [("complete",)]
    assert query(perfkit, "SELECT DISTINCT status FROM v_case") == [("skipped",)]
    for _ in range(2):
        r = perfkit("run", "selftest", "--resume")
        assert r.status == 0, r
        assert query(perfkit, "SELECT run_id, status FROM v_run") == [(1, "complete")]
        assert query(perfkit, "SELECT status, count(*) FROM v_slice GROUP BY 1") == [("ok", 6)]
        perfkit("run", "selftest", "--resume").refused(2, "no interrupted run of selftest")
        with sqlite3.connect(perfkit.db) as db:  # the budget ended after two of three processes
            db.execute("PRAGMA foreign_keys = ON")
            db.execute("DELETE FROM slice WHERE invocation = 3")


@not_sanitized
def test_a_labelled_run_is_resumed_beside_newer_ones(perfkit):
    """Runs of one experiment that a script has begun in turn: each can be gone on with by its label."""
    grid = (*NULL, "-v", "ok", "-a", "busy_ns=1000,2000")
    for label in ("first", "second"):
        assert perfkit("run", "selftest", *grid, "--label", label, "--budget", "1ns").status == 6
    assert perfkit("run", "selftest", "--resume", "--label", "first").status == 0
    assert query(perfkit, "SELECT label, c.status FROM v_run JOIN v_case c USING (run_id) ORDER BY c.case_id") == [
        ("first", "ok"), ("first", "ok"), ("second", "skipped"), ("second", "skipped")]
    perfkit("run", "selftest", "--resume", "--label", "first").refused(2, "no interrupted run of selftest")
    perfkit("run", "selftest", "--resume", "--label", "third").refused(2, "no interrupted run of selftest")


@not_sanitized
def test_interrupted_and_not_saved(perfkit):
    """Nothing is promised that was not kept. On the null device, whose ceilings take no time: without a store none are known. The first case of this
    seed's order ends, the second one does not."""
    p = perfkit.start("run", "selftest", *NULL, "-v", "ok,hang", "--no-save", "--progress", "plain", "--timeout", "100s", "--seed", "1")
    assert any(b"[1/" in line for line in iter(p.stderr.readline, b""))
    p.send_signal(signal.SIGINT)
    out, err = p.communicate(timeout=20)
    assert p.returncode == 130 and b"saved as run" not in err and b"nothing is stored" in err, err


@not_sanitized  # coverage has a file, too
def test_spools_that_are_full_are_all_named(perfkit, tmp_path):
    """No file may grow beyond 400 KB: store, spool and the spool in TMPDIR fill up one after the other."""
    r = perfkit("run", "selftest", *NULL, "-v", "noisy", "-a", "busy_ns=1000:100000:*2", env={"TMPDIR": tmp_path},
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (400000, 400000)))
    assert r.status == 1, r
    fix = r.error()["try"]
    spools = [f"{perfkit.db}.spool-1.jsonl", *map(str, tmp_path.glob("perfkit-spool-*"))]
    assert len(spools) == 2 and all(name in fix for name in spools), fix
    assert fix.startswith("the last one is lost")
    assert [perfkit("import", name).status for name in spools] == [0, 0]


def test_nothing_to_resume(perfkit):
    perfkit("run", "selftest", "--resume").refused(2, "no interrupted run of selftest")


@not_sanitized
def test_killed_parent_leaves_no_worker_and_a_sound_store(perfkit):
    p = perfkit.start(*long())
    assert wait_for(lambda: slices(perfkit) >= 1)
    workers = [pid for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) == p.pid]
    assert workers
    p.kill()
    p.wait()
    assert wait_for(lambda: not any(os.path.exists(f"/proc/{w}/exe") for w in workers), 5)
    assert query(perfkit, "PRAGMA integrity_check") == [("ok",)]
    assert perfkit("list", "runs", "--format", "json").rows("runs")[0]["status"] == "interrupted"


def parent_of(pid):
    try:
        with open(f"/proc/{pid}/stat") as f:
            return int(f.read().rpartition(")")[2].split()[1])
    except (OSError, IndexError):
        return -1


@not_sanitized
def test_a_killed_worker_fails_one_case_only(perfkit):
    p = perfkit.start(*long())
    assert wait_for(lambda: slices(perfkit) >= 1)
    worker = next(pid for pid in os.listdir("/proc") if pid.isdigit() and parent_of(pid) == p.pid)
    os.kill(int(worker), signal.SIGKILL)
    out, err = p.communicate(timeout=60)
    assert p.returncode == 1, err
    statuses = [s for s, in query(perfkit, "SELECT status FROM v_case")]
    assert sorted(statuses) == ["failed", "ok", "ok", "ok"]
    assert "signal 9" in query(perfkit, "SELECT message FROM v_case WHERE status = 'failed'")[0][0]


@not_sanitized
def test_budget_is_kept_and_said(perfkit):
    begin = time.monotonic()
    r = perfkit("run", "selftest", "-d", "cpu", "-v", "ok", "-a", "busy_ns=50000000", "-a", "memory=4KiB:64KiB:*2", "--min-samples", "50",
                "--budget", "1s")
    assert time.monotonic() - begin < 8, r
    assert r.status in (0, 6) and "budget" in r.stderr


@not_sanitized
def test_progress_only_on_request_without_a_terminal(perfkit):
    assert "[1/" not in run(perfkit, *SMALL, "-v", "flash").stderr
    assert "[1/" in run(perfkit, *SMALL, "-v", "flash", "--progress", "plain").stderr


@not_sanitized
def test_numbers_do_not_follow_the_locale(perfkit, shown):
    here = shown.stdout
    there = run(perfkit, *SMALL, env={"LC_ALL": "fr_FR.UTF-8", "LC_NUMERIC": "fr_FR.UTF-8"}).stdout
    assert here.encode().replace(b"\xc2\xb1", b"") and there.replace("\\xc2\\xb1", "±") == here or "," not in there.split("\n")[3]


def scaling_lines(text):
    """Headings, rule and rows of the first table of times."""
    return next(part for part in text.split("\n\n") if part.startswith("Attention scaling")).splitlines()[1:]


def test_a_pipe_gets_every_column(perfkit, shown):
    heading = scaling_lines(shown.stdout)[0]
    for column in ("Fwd ± %", "Bwd ± %", "Fwd % floor", "Bwd % floor", "Predicted (GB)", "Level"):
        assert column in heading
    assert scaling_lines(perfkit("show", "--tables", "all", "--width", "0").stdout)[0] == heading


@not_sanitized
@pytest.mark.parametrize("width", [80, 120, 200])
def test_tables_fit_the_width(perfkit, shown, width):
    r = perfkit("show", "--tables", "all", "--width", width)
    assert r.status == 0 and max(len(line) for line in r.stdout.splitlines()) <= width
    headings = " ".join(" ".join(scaling_lines(r.stdout)[:3]).split())
    for word in ("d_model", "seq_len", "Forward", "Backward", "Status", "±"):
        assert word in headings
    assert ("Left out at 80 columns: " in r.stdout) == (width == 80)
    if width == 80:
        assert "Level" in " ".join(r.stdout.split()).split("Left out at 80 columns: ")[1].split(".")[0] and "All columns: perfkit show 1 --width 0" in r.stdout


@not_sanitized
def test_an_interval_is_printed_as_percent_and_as_bounds(perfkit):
    run(perfkit, *SMALL, "-v", "flash")
    with sqlite3.connect(perfkit.db) as db:
        db.execute("UPDATE summary SET ci_low = median / 4, ci_high = median * 4")
    row = perfkit("show", "--format", "json").rows("scaling")[0]
    assert row["forward_ci_low_ns"] == row["forward_ns"] / 4 and row["forward_ci_high_ns"] == 4 * row["forward_ns"]
    assert row["forward_uncertainty"] == 3  # the farther end, relative to the median
    r = perfkit("show", "--tables", "all")
    assert scaling_lines(r.stdout)[2].count(">100") == 2 and "Uncertain: the medians of 3 of 3 cases" in r.stdout
    assert "forward_ci_low_ns" in perfkit("show", "--format", "csv", "--table", "scaling").stdout.splitlines()[0]


@not_sanitized
def test_two_processes_give_no_interval(perfkit):
    r = run(perfkit, *SMALL, "-v", "flash", "--invocations", "2")
    assert "No ±" in r.stdout and "the fewest here are 2" in r.stdout
    row = perfkit("show", "--format", "json").rows("scaling")[0]
    assert row["forward_ci_low_ns"] is None and row["forward_uncertainty"] is None


@not_sanitized
def test_the_interval_of_few_processes_is_approximate(perfkit):
    for processes, level in (("3", None), ("6", 0.96875)):
        r = run(perfkit, *SMALL, "-v", "flash", "--invocations", processes)
        assert ("± is approximate" in r.stdout) == (level is None)
        said = "± is the distance from the median of the processes' medians to the farther end of its "
        said += "interval, which contains the true median with a probability of 96.9 % (6 processes)." if level else "approximate 95 % interval."
        assert said in r.stdout and said in perfkit("show", "--format", "markdown").stdout, r
        assert {v for v, in query(perfkit, "SELECT ci_level FROM v_summary WHERE run_id = (SELECT max(run_id) FROM v_run)")} == {level}


@not_sanitized
def test_small_memory_is_not_zero(perfkit):
    r = run(perfkit, "-a", "d_model=1", "-a", "seq_len=16", "-v", "flash", "--max-samples", "15")
    row = perfkit("show", "--format", "json").rows("scaling")[0]
    shown = scaling_lines(r.stdout)[2].split()
    assert 0 < row["peak_bytes"] < 500_000 and "0.000" not in shown
    assert any(abs(float(v) * 1e9 / row["peak_bytes"] - 1) < 0.005 for v in shown[2:6])


@not_sanitized
def test_people_read_axes_without_braces(perfkit):
    for how in ("--dry-run", "--once"):
        r = run(perfkit, *SMALL, "-v", "flash", how)
        assert r.status == 0 and "{" not in r.stdout and "seq_len=256" in r.stdout
        assert "all with" in r.stdout.splitlines()[0] and "d_model=64" in r.stdout.splitlines()[0]
        table = "plan" if how == "--dry-run" else "once"
        row = run(perfkit, *SMALL, "-v", "flash", how, "--format", "json").rows(table)[0]
        assert row["axes"]["seq_len"] == 256 and row["case"] == "seq_len=256"
    r = run(perfkit, *SMALL, "-a", "batch=4", "-v", "flash")
    assert "batch=4" in r.stdout and "{" not in r.stdout


@not_sanitized
def test_the_end_says_what_was_recorded(perfkit):
    r = run(perfkit, *SMALL, "-v", "flash", "--label", "mine", "--min-samples", "5", "--max-samples", "5")
    last = r.stderr.splitlines()[-1]
    (samples,) = query(perfkit, "SELECT count(*) FROM sample")[0]
    assert last.startswith(f"perfkit: run 1 mine: 3 cases measured, {samples} samples in ")
    assert "`perfkit show 1` prints it again" in last
    one = run(perfkit, "-a", "d_model=64", "-a", "seq_len=256", "-v", "flash", "--no-save", "-i", "1")
    assert "1 case x 1 process;" in one.stderr and "1 case measured" in one.stderr and "not recorded" in one.stderr
    assert run(perfkit, *SMALL, "-q").stderr == ""


@not_sanitized
def test_an_estimate_follows_stored_times(perfkit, ceilings):
    perfkit.db.unlink()
    case = ("run", "attention-scaling", "-a", "d_model=16", "-a", "seq_len=256", "-v", "flash", "--min-samples", "10",
            "--max-time", "100ms", "--min-time", "10ms")
    assert "Times can be estimated when" in perfkit(*case, "--dry-run").stdout
    shutil.copy(ceilings, perfkit.db)
    assert perfkit(*case).status == 0
    dry = perfkit(*case, "--dry-run")
    assert "1 case x 3 processes, about " in dry.stdout and "The time of 1 case is from the newest run" in dry.stdout
    before = perfkit(*case, "--dry-run", "--format", "json").rows("plan")[0]["expected_ns"]
    with sqlite3.connect(perfkit.db) as db:  # an iteration of two seconds and a bit
        db.execute("UPDATE summary SET median = 1e9 WHERE metric_id IN (SELECT id FROM metric WHERE unit = 'ns')")
    after = perfkit(*case, "--dry-run", "--format", "json").rows("plan")[0]["expected_ns"]
    assert 1e8 < before < 2e10 and after == pytest.approx(3 * 12 * 2e9 + 3 * 2e9, rel=0.02)


@not_sanitized
def test_cold_caches(perfkit):
    """Nothing is repeated within a sample, which would find its data in the caches; the record and the table say so."""
    case = ("run", "attention-scaling", "-d", "cpu", "-v", "flash", "-a", "d_model=16", "-a", "seq_len=64", "-i", "1", "--max-time", "20ms")
    warm, cold = perfkit(*case, "--tables", "all"), perfkit(*case, "--cold", "--tables", "all")
    assert warm.status == cold.status == 0, cold
    assert "Cold: " in cold.stdout and "cold caches" in cold.stderr
    assert "Cold: " not in warm.stdout and ", cold caches" not in warm.stderr
    assert query(perfkit, "SELECT value FROM v_setting WHERE key = 'caches'") == [("emptied before every sample",)]
    reps = query(perfkit, "SELECT notes ->> 'reps' FROM v_slice ORDER BY run_id")
    assert reps[1] == (1,) and len(reps) == 2
    assert "  setting cold nothing → true" in perfkit("compare", "@~1", "@", "--format", "json").json()["tables"]["runs"]["notes"]
    perfkit(*case, "--cold", "--peer", "numpy").refused(2, "--cold and --peer")
    perfkit(*case[:-4], "--cold", "--once").refused(2, "--once and --cold")


def test_a_counted_step_and_its_allocations(perfkit):
    """Each allocation and the loss after some steps, of a model that is small enough for sanitizers."""
    tiny = sum((("-a", text) for text in ("layers=2", "d_model=32", "heads=2", "d_ff=40", "vocab=50", "batch=2", "seq_len=9", "dtype=fp32")), ())
    r = perfkit("run", "mixed-precision", "--device", "cpu", *tiny, "-a", "mode=step", "--variant", "eager", "--counters", "sw", "--allocations",
                "--min-time", "0s", "--max-time", "20ms", "--min-samples", "3", "--invocations", "2", "--format", "json")
    assert r.status == 0, r
    assert {p["region"] for p in r.rows("memory_peaks")} == {"forward", "backward", "optimizer"}
    assert all(t["bytes"] > 0 for t in r.rows("memory_timeline"))
    assert query(perfkit.db, "SELECT count(*) FROM v_sample WHERE metric LIKE '%.task_clock_ns' AND value > 0")[0][0] >= 3
