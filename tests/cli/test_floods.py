"""Programs that write without end, in small pieces, or not at all, and those that are stopped: the time limit holds, memory has a bound, and
what happened is named."""
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
from busy import in_time
from conftest import Result
from processes import gone, marked
from stored import query

BAD = pathlib.Path(__file__).parent / "bad_worker.py"
LIMIT = 0.4  # seconds: each is a flood on all processors until then
SHOWN = "400ms"
MORE = 5  # seconds after the limit
MIB = 1 << 20


def measured_call(perfkit, *args, env=None):
    """A call, its time and the largest memory of perfkit and of what it waited for."""
    out, err = perfkit.root / "out", perfkit.root / "err"
    began = time.monotonic()
    with open(out, "wb") as o, open(err, "wb") as e:
        p = perfkit.start(*args, env=env, stdout=o, stderr=e, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    memory = 0 if "PERFKIT_SANITIZED" in os.environ else usage.ru_maxrss * 1024
    return Result(p.returncode, out.read_text(errors="replace"), err.read_text(errors="replace")), seconds, memory


# Ended at the limit or, where a reply has one, at the limit of the reply; what the largest memory may be, in MiB.
LATE = ("timeout", f"no result after {SHOWN}; the worker and its processes were ended")
PEERS = [
    ("flood-unknown", *LATE, 100),
    ("flood-blank", *LATE, 100),
    ("drip", *LATE, 100),
    ("loud", *LATE, 100),
    ("flood-stdin", *LATE, 100),
    ("closes-all", *LATE, 100),
    ("stopped", "failed", "(python3) is stopped (SIGSTOP); the time limit was reached; the worker and its processes were ended", 100),
    ("endless-line", "failed", "a line longer than 8 MiB", 100),
    ("nested", "failed", "a line with more than 262144 lists and objects", 150),
    ("flood-settings", "failed", "more than 4096 settings in one reply", 100),
    ("flood-metrics", "failed", "more than 1024 metrics for one case", 100),
]


@pytest.mark.parametrize("mode, status, message, memory", PEERS)
def test_a_peer_without_end(perfkit, mode, status, message, memory):
    token = uuid.uuid4().hex
    r, seconds, used = measured_call(
        perfkit, "run", "selftest", "--device", "null", "--variant", "ok", "-i", "1", "--peer", BAD, "--python", sys.executable,
        "--timeout", SHOWN, "--peer-startup", "0s" if status == "timeout" else "1s" if mode == "stopped" else "30s",
        env={"BAD_WORKER": mode, "TOKEN": token})
    ((got, said),) = query(perfkit, "SELECT status, message FROM v_case WHERE variant <> 'ok'")
    assert got == status and re.sub(r"\(python3[.0-9]*\)", "(python3)", said).endswith(message), said
    assert query(perfkit, "SELECT status FROM v_case WHERE variant = 'ok'") == [("ok",)]
    assert r.status == (1 if status == "failed" else 0), r
    assert used < memory * MIB, used / MIB
    assert gone(token)
    in_time(seconds, (LIMIT if status == "timeout" else 30) + MORE)


def test_samples_without_end(perfkit):
    r, _, used = measured_call(perfkit, "run", "selftest", "--device", "null", "--variant", "ok", "-i", "1", "--peer", BAD, "--python",
                               sys.executable, "--timeout", "60s", env={"BAD_WORKER": "flood-series"})
    ((_, said),) = query(perfkit, "SELECT status, message FROM v_case WHERE variant <> 'ok'")
    assert r.status == 1 and said.endswith("more than 131072 series in one reply"), said
    assert used < 700 * MIB, used / MIB


def test_a_peer_that_reads_no_request(perfkit):
    """Its choices make the second request longer than a socket holds."""
    r, seconds, _ = measured_call(perfkit, "run", "selftest", "--device", "null", "--variant", "ok", "-i", "1", "-a", "busy_ns=1000,2000", "--peer",
                                  BAD, "--python", sys.executable, "--timeout", "3s", "--peer-startup", "0s", env={"BAD_WORKER": "deaf"})
    rows = query(perfkit, "SELECT status, message FROM v_case WHERE variant <> 'ok' ORDER BY status")
    assert r.status == 0, r
    assert rows == [("ok", ""), ("timeout", "no result after 3s; the worker and its processes were ended")]
    in_time(seconds, 3 * 2 + MORE)


SAY = """import json, os, sys, time
wire = int(os.environ["PERFKIT_WIRE_FD"])
def line(**m): return (json.dumps(m, separators=(",", ":")) + "\\n").encode()
def repeat(data, fd=wire):
    for _ in range(3 if len(data) <= 4096 else 0):
        if os.fork() == 0: break
    data *= max(1, 4096 // len(data))
    while True: os.write(fd, data)
def write(data):
    data = memoryview(data)
    while data: data = data[os.write(wire, data):]
METRIC = line(type="metric", name="step_ns", unit="ns")
"""
VIOLATED = "the command violated the protocol: "
ENDLESS = [
    ("repeat(b'garbage\\n')", f"and {VIOLATED}no JSON: garbage"),
    ("repeat(b'x')", f"and {VIOLATED}a line longer than 8 MiB"),
    ("repeat(b'loud\\n', 2)", f"no end after {SHOWN}; the command and its processes were ended"),
    ("repeat(line(type='from-the-future', value=[{}] * 1000))", f"no end after {SHOWN}; the command and its processes were ended"),
    # Each of these takes long to find, so that the pipe is never empty.
    ("cases = [line(type='case', axes={'n': i}) for i in range(4000)]\nos.write(wire, b''.join(cases))\nrepeat(b''.join(cases[-80:]))",
     f"no end after {SHOWN}; the command and its processes were ended"),
    ("os.kill(os.getpid(), 19)", "is stopped (SIGSTOP); the command and its processes were ended"),
]


@pytest.mark.timed  # it has begun when the limit is reached
@pytest.mark.parametrize("program, message", ENDLESS)
def test_a_command_without_end(perfkit, program, message):
    token = uuid.uuid4().hex
    r, seconds, used = measured_call(perfkit, "exec", "--timeout", SHOWN, "--no-counters", "--", sys.executable, "-c", SAY + program,
                                     env={"TOKEN": token})
    why = r.error()["why"]
    assert r.status == 6 and why.startswith(f"no end after {SHOWN}") and message in why, r
    assert used < 150 * MIB, used / MIB
    assert gone(token)
    in_time(seconds, LIMIT + MORE)


LIMITS = [
    ("write(line(type='setting', key='k', value='v') * 4097)", "more than 4096 settings in one reply", 100),
    ("for i in range(34): write(line(type='status', status='ok', message='m' * 1000000))", "more than 32 MiB of axes and messages of its cases", 150),
    ("for i in range(34): write(line(type='case', axes={'n': i, 'x': 'x' * 1000000}))", "more than 32 MiB of axes and messages of its cases", 250),
    ("write(b''.join(line(type='case', axes={'n': i}) + METRIC + line(type='samples', metric='step_ns', values=[1]) for i in range(4097)))",
     "more than 4096 cases", 150),
]


@pytest.mark.parametrize("program, message, memory", LIMITS)
def test_what_a_command_may_report(perfkit, program, message, memory):
    """Just more than that. What follows is read and dropped."""
    r, _, used = measured_call(perfkit, "exec", "--runs", "1", "--timeout", "60s", "--no-counters", "--", sys.executable, "-c",
                               SAY + program + "\nwrite(b'garbage\\n' * 100000)")
    assert r.status == 1 and r.error()["why"].endswith(VIOLATED + message), r
    assert used < memory * MIB, used / MIB
    assert query(perfkit, "SELECT count(*) FROM v_sample") == [(0,)]


def test_a_command_that_fills_its_answer(perfkit):
    """Two cases have all the values of a reply, and perfkit's own six do not fit."""
    text = SAY + """for i in range(2):
    write(line(type='case', axes={'n': i}) + METRIC + line(type='samples', metric='step_ns', values=[1] * (1 << 20)) * 8)"""
    r, _, used = measured_call(perfkit, "exec", "--runs", "1", "--timeout", "60s", "--no-counters", "--", sys.executable, "-c", text)
    assert r.status == 1 and r.error()["why"].endswith(VIOLATED + "more than 16777216 values in one reply"), r
    assert used < 700 * MIB, used / MIB


def cases_of(perfkit):
    try:
        return query(perfkit, "SELECT count(*) FROM v_case")[0][0]
    except sqlite3.Error:  # not yet there, or being written
        return 0


def test_a_signal_while_many_cases_are_recorded(perfkit):
    """Each takes two transactions, so that all of them take longer than a user waits."""
    text = SAY + """write(b''.join(line(type='case', axes={'n': i}) + METRIC + line(type='samples', metric='step_ns', values=[1]) for i in range(4000)))"""
    p = perfkit.start("exec", "--runs", "1", "--no-counters", "--", sys.executable, "-c", text)
    while p.poll() is None and not cases_of(perfkit):
        time.sleep(0.01)
    p.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = p.communicate(timeout=120)
    seconds = time.monotonic() - began
    assert p.returncode == 130, err
    assert query(perfkit, "SELECT status FROM run") == [("interrupted",)]
    assert 0 < cases_of(perfkit) < 4000
    in_time(seconds, 4)


def test_a_command_that_leaves_a_flood_behind(perfkit):
    """It has ended, and is measured; what it left writes on, and ends with the measurement."""
    token = uuid.uuid4().hex
    script = """for i in 1 2 3; do yes '' >&$PERFKIT_WIRE_FD & done; exit 0"""
    r, seconds, _ = measured_call(perfkit, "exec", "--runs", "2", "--no-counters", "--timeout", "20s", "--", "sh", "-c", script, env={"TOKEN": token})
    assert r.status == 0, r
    assert gone(token)
    in_time(seconds, 20)


def test_what_a_command_inherits(perfkit):
    """The socket on which the spawner answers is none of it."""
    listed = perfkit.cwd / "fds"
    script = f"for fd in /proc/$$/fd/*; do echo ${{fd##*/}} $(readlink $fd); done > {listed}"
    assert perfkit("exec", "--runs", "1", "--no-counters", "--", "sh", "-c", script).status == 0
    fds = dict(line.split(" ", 1) for line in listed.read_text().splitlines() if "pipe" in line or "socket" in line or "/dev" in line)
    assert "socket" not in str(fds) and set(fds) >= {"0", "2", "3"}, fds


def worker_of(token, run):
    """The first process beside the run that was started with it."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        for pid in marked(token):
            try:
                if pid != run.pid and b"worker" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                    return pid
            except OSError:
                pass
        time.sleep(0.005)
    raise AssertionError("no worker was started")


@pytest.mark.timed
def test_a_stopped_worker_of_the_ceilings(perfkit):
    """They do not have the run's time limit for themselves: a note, and the run goes on without them."""
    token = uuid.uuid4().hex
    began = time.monotonic()
    p = perfkit.start("run", "attention-scaling", "--device", "cpu", "--variant", "vanilla", "-a", "d_model=8", "-a", "seq_len=16", "-i", "1",
                      "--max-time", "10ms", "--min-time", "1ms", "--timeout", "2s", env={"TOKEN": token})
    os.kill(worker_of(token, p), signal.SIGSTOP)
    _, err = p.communicate(timeout=60)
    assert p.returncode == 0 and re.search(r"no % of floor: the ceilings of cpu were not measured in 2s: process \d+ \(\S+\) is stopped \(SIGSTOP\)",
                                           err.decode()), err.decode()
    seconds = time.monotonic() - began
    assert gone(token)
    in_time(seconds, 2 * 2 + MORE)
