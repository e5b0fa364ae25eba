"""Workers and peers that hang, crash, lie and talk garbage; signals at any moment. The peer is bad_worker.py."""
import os
import pathlib
import random
import signal
import sqlite3
import sys
import time
import uuid

import pytest
from processes import gone, marked
from stored import query

pytestmark = pytest.mark.usefixtures("measured")

BAD = pathlib.Path(__file__).parent / "bad_worker.py"
NUMPY = ("run", "attention-scaling", "--variant", "vanilla", "--peer", "numpy-attention", "--python", sys.executable,
         "-a", "d_model=8", "-a", "batch=1", "--device", "cpu", "--invocations", "1", "--max-time", "20ms", "--min-time", "5ms")


def selftest(*more):
    """One honest native case and one of the bad peer."""
    return ("run", "selftest", "--device", "null", "--variant", "ok", "--invocations", "2", "--peer", str(BAD),
            "--python", sys.executable, *more)


def values(perfkit):
    return [v for v, in query(perfkit, "SELECT DISTINCT value FROM v_sample WHERE metric = 'step_ns' ORDER BY value")]


def test_what_a_run_chose_is_handed_on(perfkit):
    """A peer that measures its choice: equal in every process of a run, in one that goes on as well, another in the next run."""
    env = {"BAD_WORKER": "choosing"}
    assert perfkit(*selftest(), env=env).status == 0
    (first,) = values(perfkit)
    assert query(perfkit, "SELECT key, value FROM v_setting WHERE key LIKE '%choice%'") == [("bad-worker.choice:way", str(int(first)))]
    with sqlite3.connect(perfkit.db) as db:
        db.execute("PRAGMA foreign_keys = ON")
        db.execute("DELETE FROM slice WHERE invocation = 2")
        db.execute("UPDATE run SET status = 'interrupted'")
    assert perfkit("run", "selftest", "--resume", env=env).status == 0
    assert query(perfkit, "SELECT DISTINCT invocation FROM v_sample WHERE metric = 'step_ns' ORDER BY 1") == [(1,), (2,)]
    assert values(perfkit) == [first]
    assert perfkit(*selftest(), env=env).status == 0
    assert len(values(perfkit)) == 2
    compared = perfkit("compare", "@~1", "@")
    assert "choice" not in compared.stdout + compared.stderr


def peer_case(perfkit):
    return query(perfkit, "SELECT status, message FROM v_case WHERE variant <> 'ok'")[0]


def bad_peer(perfkit, modes, *more):
    """The status of a run in which the bad peer has a case of each mode, and (status, message) of each; its neighbours are measured."""
    token = uuid.uuid4().hex
    r = perfkit(*selftest("--peer-startup", "0s", "-a", "busy_ns=" + ",".join(f"{i}00000" for i in range(1, len(modes) + 1)), *more),
                env={"BAD_WORKER": ",".join(modes), "TOKEN": token})
    cases = query(perfkit, "SELECT status, message, case_id FROM v_case WHERE variant <> 'ok' ORDER BY axes ->> 'busy_ns'")
    assert [status for status, in query(perfkit, "SELECT status FROM v_case WHERE variant = 'ok'")] == ["ok"] * len(modes), r
    assert query(perfkit, "SELECT DISTINCT invocations FROM v_summary WHERE variant = 'ok'") == [(2,)]
    with_samples = query(perfkit, "SELECT DISTINCT case_id FROM v_sample JOIN v_case USING(case_id) WHERE variant <> 'ok'")
    assert set(with_samples) == {(case,) for status, _, case in cases if status == "ok"}
    assert gone(token)
    return r.status, [case[:2] for case in cases]


def test_what_a_bad_peer_gets(perfkit):
    told = {
        "crash": "ended by signal 11 (Segmentation fault); last output: ; about to crash",
        "leave": "exit status 3; last output: ; cannot find my keys",
        "garbage": "violated the protocol: no JSON: Hello, is this the printer?",
        "undeclared": "samples of the metric \"made_up_ns\", which was not declared",
        "wrong-unit": "it reports the metric \"work_ns\" in \"us\", which has the unit \"ns\"",
        "wrong-id": "it answered request",
        "own-case": "it named a case other than the requested one",
        "empty": "it reported ok without a sample",
        "huge-line": "a line longer than 8 MiB",
        "truncated": "died: exit status 0",
        "failing": "element 7 is 3, should be 4",
        "good": "",
        "noisy": "",
        "not-a-number": "",
    }
    status, cases = bad_peer(perfkit, told, "--timeout", "60s")
    assert status == 1 and len(cases) == len(told)
    for (mode, message), case in zip(told.items(), cases):
        assert case[0] == ("failed" if message else "ok") and all(part in case[1] for part in message.split("; ")), (mode, case)


def test_a_peer_that_hangs(perfkit):
    status, cases = bad_peer(perfkit, ["hang"], "--timeout", "1s")
    assert (status, cases) == (0, [("timeout", "no result after 1s; the worker and its processes were ended")])


@pytest.mark.parametrize("startup, seconds, state", [([], 300, "ok"), (["--peer-startup", "0s"], 0, "timeout")])
def test_a_peer_has_time_to_start(perfkit, startup, seconds, state):
    r = perfkit(*selftest("--timeout", "1s", *startup), env={"BAD_WORKER": "slow"})
    assert r.status == 0 and peer_case(perfkit)[0] == state, r
    told = "took 0.4 s to start and at most 1.1 s to compile a case; its times leave that out."
    assert (told in perfkit("show", "--tables", "all").stdout) == (state == "ok"), r
    assert query(perfkit, "SELECT settings ->> 'peer_startup_ns' FROM v_run") == [(seconds * 10**9,)]


def test_what_compiles_nothing_has_no_time_for_it(perfkit):
    r = perfkit(*selftest(), env={"BAD_WORKER": "slow", "BAD_TASTE": "interprets"})
    assert "took 0.4 s to start; its times leave that out." in perfkit("show", "--tables", "all").stdout, r


def test_a_worker_that_says_bye_is_replaced(perfkit):
    r = perfkit(*selftest("--timeout", "5s", "-a", "busy_ns=1000,2000"), env={"BAD_WORKER": "leaving"})
    assert r.status == 0, r
    assert query(perfkit, "SELECT DISTINCT status FROM v_case") == [("ok",)]


def test_warnings_and_settings_of_a_peer(perfkit):
    r = perfkit(*selftest(), env={"BAD_WORKER": "settings"})
    assert r.stderr.count("a slow BLAS is in use") == 1
    assert ("bad-worker.clock", "steady") in query(perfkit, "SELECT key, value FROM v_setting WHERE invocation = 2")


def test_that_a_peer_is_not_counted_is_said(perfkit):
    r = perfkit(*selftest("--counters", "fake"), env={"BAD_WORKER": "choosing"})
    assert r.status == 0 and f"{BAD} is not counted: it is a peer" in r.stderr, r
    shown = perfkit("show", "--tables", "all").stdout
    assert f"Not counted: {BAD}, it is a peer." in shown and "cases were not counted" not in shown, shown
    assert perfkit(*selftest(), env={"BAD_WORKER": "choosing"}).status == 0
    assert "not_counted" not in perfkit("compare", "@~1", "@").stdout


def test_an_unknown_peer(perfkit):
    r = perfkit("run", "selftest", "--device", "null", "--peer", "numpy-atention")
    r.refused(2, "there is no peer 'numpy-atention'", "numpy-attention")
    listed = perfkit("run", "selftest", "--device", "null", "--peer", "x").error()["why"].removeprefix("one of: ").split(", ")
    assert len(listed) > 5 and listed == sorted(listed)
    perfkit("run", "selftest", "--device", "null", "--peer", "./nowhere.py").refused(2, "./nowhere.py", "docs/protocol.md")


def test_a_list_of_peers(perfkit):
    """With commas as variants have, or one by one; one that is named again is the same."""
    plan = ("run", "selftest", "--device", "null", "--variant", "ok", "--dry-run", "--format", "json")
    for args in (("--peer", "numpy-attention,torch-eager"), ("--peer", "numpy-attention, torch-eager", "--peer", "numpy-attention")):
        assert [case["variant"] for case in perfkit(*plan, *args).rows("plan")] == ["ok", "numpy-attention", "torch-eager"]
    perfkit(*plan, "--peer", "numpy-attention,numpy-atention").refused(2, "there is no peer 'numpy-atention'")


def test_an_interpreter_that_is_not_there(perfkit):
    r = perfkit("run", "selftest", "--device", "null", "--variant", "ok", "--peer", str(BAD), "--python", "/no/python")
    assert r.status == 1
    assert peer_case(perfkit) == ("failed", "cannot start '/no/python': No such file or directory; try: install it, or give its path")


# --- the NumPy peer ----------------------------------------------------------------------------------------------------


def test_numpy_beside_native(perfkit):
    r = perfkit(*NUMPY, "-a", "seq_len=16,33", "-a", "causal=off,on")
    assert r.status == 0, r
    rows = query(perfkit, "SELECT variant, status, count(*) FROM v_case GROUP BY 1, 2 ORDER BY 1")
    assert rows == [("numpy-attention", "ok", 4), ("vanilla", "ok", 4)]
    for variant in ("vanilla", "numpy-attention"):
        got = query(perfkit, f"SELECT DISTINCT metric, unit, direction, class FROM v_summary WHERE variant = '{variant}'")
        assert sorted(got) == sorted([("forward_ns", "ns", "lower", "time"), ("forward_host_ns", "ns", "lower", "time"),
                                      ("backward_ns", "ns", "lower", "time"), ("backward_host_ns", "ns", "lower", "time"),
                                      ("before_backward_bytes", "bytes", "lower", "memory"),
                                      ("peak_bytes", "bytes", "lower", "memory")])
    assert "numpy-attention" in r.stdout


def test_numpy_runs_out_of_memory(perfkit, measured):
    r = perfkit(*NUMPY, "-a", "seq_len=8192", "--memory-limit", "200MB", "--no-check")
    assert query(perfkit, "SELECT status FROM v_case WHERE variant = 'numpy-attention'") == [("oom",)], r


def test_numpy_says_what_it_does_not_do(perfkit):
    r = perfkit("run", "selftest", "--device", "null", "--variant", "ok", "--peer", "numpy-attention", "--python", sys.executable)
    assert r.status == 1
    assert peer_case(perfkit) == ("failed", "this peer measures attention-scaling, not selftest")


def test_without_numpy(perfkit):
    blocker = perfkit.cwd / "numpy.py"
    blocker.write_text("raise ImportError('blocked by the test')")
    r = perfkit(*NUMPY, "-a", "seq_len=16", env={"PYTHONPATH": str(perfkit.cwd)})
    status, message = query(perfkit, "SELECT status, message FROM v_case WHERE variant = 'numpy-attention'")[0]
    assert (r.status, status) == (0, "skipped") and "numpy is not installed" in message and "--python" in message


# --- bad luck ----------------------------------------------------------------------------------------------------------


def slow_run(perfkit, token):
    """A run of a few seconds with two workers, whose cases wait for timers."""
    (perfkit.cwd / "one").write_text("a 1000\n")
    return perfkit.start("run", "ddp-bucket", "-d", "cpu", "--tensors", "one", "--variant", "none", "--peer", BAD, "--python", sys.executable,
                         "--compute-ms", "10,11,12,13,14,15,16", "--bucket-bytes", "1MB", "--invocations", "2", "--min-time", "60ms",
                         "--max-time", "100ms", env={"TOKEN": token, "BAD_WORKER": "slow", "BAD_NAP": "0.1"})


def check_store(perfkit, status):
    if not perfkit.db.exists():
        return
    assert query(perfkit, "PRAGMA integrity_check") == [("ok",)]
    for found, in query(perfkit, "SELECT status FROM v_run"):
        assert found in status
    half = query(perfkit, "SELECT count(*) FROM v_slice WHERE status = 'ok' AND slice_id NOT IN (SELECT slice_id FROM series)")
    assert half == [(0,)]


@pytest.mark.parametrize("sig, fixture", [(signal.SIGINT, "measured"), (signal.SIGTERM, "perfkit")])
def test_a_signal_at_any_moment(perfkit, sig, fixture, request):
    """While cases are measured, or the ceilings before them."""
    request.getfixturevalue(fixture)
    random.seed(sig)
    reached = 0
    for _ in range(5):
        token = uuid.uuid4().hex
        p = slow_run(perfkit, token)
        time.sleep(random.uniform(0.02, 0.8))
        p.send_signal(sig)
        out, err = p.communicate(timeout=30)
        assert p.returncode in (130, 0, -sig), err.decode()
        reached += p.returncode == 130
        assert gone(token)
        check_store(perfkit, ("interrupted", "complete"))
    assert reached >= 3


def test_kill_9_leaves_no_worker(perfkit, measured):
    random.seed(9)
    for _ in range(4):
        token = uuid.uuid4().hex
        p = slow_run(perfkit, token)
        time.sleep(random.uniform(0.1, 0.8))
        p.kill()
        p.communicate(timeout=30)
        assert gone(token)
        check_store(perfkit, ("running", "interrupted", "complete"))


def test_a_killed_worker_is_replaced(perfkit, measured):
    token = uuid.uuid4().hex
    p = slow_run(perfkit, token)
    killed, end = 0, time.monotonic() + 60
    while p.poll() is None and time.monotonic() < end:
        for pid in marked(token):
            if pid != p.pid and killed < 3 and random.random() < 0.3:
                try:
                    os.kill(pid, signal.SIGKILL)
                    killed += 1
                except ProcessLookupError:
                    pass
        time.sleep(0.2)
    out, err = p.communicate(timeout=30)
    assert killed and p.returncode in (0, 1), err.decode()
    check_store(perfkit, ("complete",))
    rows = query(perfkit, "SELECT status, message FROM v_case")
    assert {status for status, _ in rows} <= {"ok", "failed"}
    for status, message in rows:
        assert status == "ok" or "ended by signal 9 (Killed)" in message
    assert sum(status == "ok" for status, _ in rows) >= len(rows) - killed
