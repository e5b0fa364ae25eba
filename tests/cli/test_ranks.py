"""Ranks that are processes: started by perfkit or by mpirun, one that dies, those that disagree, and what is said without an MPI."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import time
import uuid

import pytest
from conftest import BINARY
from processes import gone, marked
from stored import query

MODULE = pathlib.Path(BINARY).parent / "perfkit-mpi.so"
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # Open MPI 5
FEW = ("-i", "1", "--min-samples", "2", "--max-samples", "3", "--min-time", "1ms", "--max-time", "2ms")
TINY = ("--tensors", "two", "--compute-ms", "1")

real = pytest.mark.skipif(not MODULE.exists() or not shutil.which("mpiexec") or "PERFKIT_SANITIZED" in os.environ,
                          reason="no MPI, or one whose leaks are not ours to examine")


@pytest.fixture
def model(perfkit, measured):
    (perfkit.cwd / "two").write_text("a 30000\nb 70000\n")


def notes(perfkit):
    return [json.loads(n) for n, in query(perfkit, "SELECT notes FROM v_slice")]


@real
def test_two_ranks(perfkit, model):
    """Every rank's samples are there, of the same iterations; gradients were right on both; each has CPUs of its own."""
    r = perfkit("run", "ddp-bucket", "-d", "cpu", "--ranks", "2", *TINY, "-v", "none,naive,bucket", "--bucket-bytes", "200KB", *FEW,
                "--format", "json")
    assert r.status == 0, r
    assert "transport=mpi: implied" in r.stderr
    assert [row["status"] for row in r.rows("methods")] == ["OK"] * 3
    assert "2 ranks, fp32, mpi" in r.rows("methods")[0]["setting"]
    per_rank = {}
    for case, rank, ordinal, phase in query(perfkit, "SELECT case_id, rank, ordinal, phase FROM v_sample WHERE metric = 'step_ns'"):
        per_rank.setdefault((case, rank), set()).add((ordinal, phase))
    cases = {case for case, _ in per_rank}
    assert len(cases) == 3 and len(per_rank) == 6
    assert all(per_rank[c, 0] == per_rank[c, 1] for c in cases)
    highest = {(c, o): v for c, o, v in query(perfkit, "SELECT case_id, ordinal, max(value) FROM v_sample WHERE metric = 'step_ns' "
                                              "AND phase = 'steady' GROUP BY 1, 2")}
    for case, most in query(perfkit, "SELECT case_id, max FROM v_summary WHERE metric = 'step_ns'"):
        assert most == max(v for (c, _), v in highest.items() if c == case)  # a step ends with its slowest rank
    for n in notes(perfkit):
        assert n["check"] == "passed" and n["ranks"]["size"] == 2 and len(set(n["ranks"]["hosts"])) == 1
        if len(os.sched_getaffinity(0)) > 1:
            assert n["ranks"]["cpus"][0] != n["ranks"]["cpus"][1]


@real
def test_each_rank_is_a_process_of_a_timeline(perfkit, model):
    """The same iterations, with the regions and all-reduces of each."""
    r = perfkit("run", "ddp-bucket", "-d", "cpu", "--ranks", "2", *TINY, "-v", "naive,bucket", "--bucket-bytes", "200KB", *FEW, "--breakdown", "-q")
    assert r.status == 0, r
    events = json.loads(perfkit("export", "trace").stdout)["traceEvents"]
    processes = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert sorted(processes.values()) == ["cpu, rank 0", "cpu, rank 1"]
    first, second = ([(e["cat"], e["name"], e.get("args", {}).get("bytes")) for e in events if e["ph"] == "X" and e["cat"] != "case" and e["pid"] == pid]
                     for pid in sorted(processes, key=processes.get))
    assert sorted(map(str, first)) == sorted(map(str, second)) and sum(cat == "all-reduce" for cat, _, _ in first) == 4


@real
def test_more_ranks_than_cpus(perfkit, model):
    n = len(os.sched_getaffinity(0)) + 1
    r = perfkit("run", "ddp-bucket", "-d", "cpu", "--ranks", n, *TINY, "-v", "flat", *FEW, "--no-check")
    assert r.status == 0, r
    assert f"{n} ranks share" in r.stderr and "oversubscribe" in r.stderr
    assert query(perfkit, "SELECT count(DISTINCT rank) FROM v_sample") == [(n,)]


def rank_1(token):
    """The pid of the process that is rank 1."""
    for pid in marked(token):
        proc = pathlib.Path(f"/proc/{pid}")
        try:
            if b"OMPI_COMM_WORLD_RANK=1\0" in (proc / "environ").read_bytes():
                return pid
        except OSError:
            pass
    return None


def signalled(perfkit, token, signum, *args):
    """A run of cases that take two seconds, whose rank 1 gets the signal in the first of them: its exit status and stderr."""
    p = perfkit.start("run", "ddp-bucket", "-d", "cpu", "--tensors", "two", "-v", "none", "-i", "1", "--min-time", "2s", "--max-time", "2s",
                      "--no-check", *args, env={"MARK": token})
    end = time.monotonic() + 60
    while not rank_1(token) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1)
    os.kill(rank_1(token), signum)
    out, err = p.communicate(timeout=90)
    return p.returncode, err.decode()


@real
@pytest.mark.timed
def test_a_rank_that_dies_ends_its_case(perfkit, model):
    """The case names it, the next one has new ranks, and nothing is left behind."""
    token = str(uuid.uuid4())
    status, err = signalled(perfkit, token, signal.SIGKILL, "--ranks", "2", "--compute-ms", "20,21")
    assert status == 1, err
    rows = query(perfkit, "SELECT status, message FROM v_case ORDER BY status")
    assert [status for status, _ in rows] == ["failed", "ok"]
    assert "the worker (2 ranks) died" in rows[0][1] and "rank 1" in rows[0][1] and "signal 9 (Killed)" in rows[0][1]
    assert gone(token)


@real
@pytest.mark.timed
def test_a_rank_that_is_stopped_fails_its_case(perfkit, model):
    """When the time is up it is named, and those that waited for it are not; the next case has new ranks, and nothing is left behind."""
    token = str(uuid.uuid4())
    status, err = signalled(perfkit, token, signal.SIGSTOP, "--ranks", "3", "--compute-ms", "20,21", "--timeout", "5s")
    assert status == 1 and "1 of 2 cases failed" in err, err
    rows = query(perfkit, "SELECT status, message FROM v_case ORDER BY status")
    assert [status for status, _ in rows] == ["failed", "ok"]
    assert re.fullmatch(r"rank 1 \(process \d+\) is stopped \(SIGSTOP\); the time limit was reached; all ranks were ended", rows[0][1])
    assert rows[0][1] in err
    assert gone(token)


def mpirun(perfkit, *argv):
    return subprocess.run([shutil.which("mpirun"), *map(str, argv)], cwd=perfkit.cwd, env=perfkit.environment(AS_ROOT), timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def two_unlike(perfkit, first, second):
    """Rank 0 with other arguments than rank 1. By a shell, because Debian 13's mpirun dies of two programs with a colon between them."""
    commands = (shlex.join(map(str, ("exec", *c))) for c in (first, second))
    return mpirun(perfkit, "-n", "2", "sh", "-c", "[ $OMPI_COMM_WORLD_RANK = 1 ] || %s; %s" % tuple(commands))


@real
def test_under_mpirun_rank_0_is_the_run(perfkit, model):
    run = ("run", "ddp-bucket", "-d", "cpu", *TINY, "-v", "flat", *FEW, "-o", "table.json", "--format", "json", "-i", "3")
    r = mpirun(perfkit, "-n", "2", BINARY, *run)
    assert r.returncode == 0, r
    assert r.stderr.count("mpirun has started the ranks once") == 1
    (row,) = json.loads((perfkit.cwd / "table.json").read_text())["tables"]["methods"]["rows"]
    assert row["status"] == "OK" and "2 ranks" in row["setting"]
    assert query(perfkit, "SELECT count(DISTINCT rank), count(DISTINCT invocation) FROM v_sample") == [(2, 1)]


@real
def test_what_every_rank_meets_is_said_once(perfkit):
    r = mpirun(perfkit, "-n", "3", BINARY, "run", "ddp-bucket", "--nosuch")
    assert r.returncode == 2 and r.stderr.count("there is no option --nosuch") == 1, r


@real
def test_a_launchers_terminal_is_not_the_users(perfkit, model):
    """mpirun gives its processes a terminal of 80 columns, and its own output may be a file."""
    r = mpirun(perfkit, "-n", "2", BINARY, "run", "ddp-bucket", "-d", "cpu", *TINY, "-v", "naive,flat", *FEW)
    assert r.returncode == 0 and "Total vs naive" in r.stdout and "\x1b" not in r.stdout, r


@real
@pytest.mark.timed
def test_a_stopped_rank_under_mpirun(perfkit, model):
    """It is named, later cases say that there are no other ranks, and mpirun ends with them all."""
    token = str(uuid.uuid4())
    p = subprocess.Popen([shutil.which("mpirun"), "-n", "2", BINARY, "run", "ddp-bucket", "-d", "cpu", *TINY[:2], "--compute-ms", "20,21", "-v", "none",
                          "--min-time", "2s", "--max-time", "2s", "--no-check", "--timeout", "5s"], cwd=perfkit.cwd,
                         env=perfkit.environment(AS_ROOT | {"MARK": token}), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not rank_1(token) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1.5)
    os.kill(rank_1(token), signal.SIGSTOP)
    _, err = p.communicate(timeout=90)
    assert p.returncode == 1, err
    rows = query(perfkit, "SELECT status, message FROM v_case ORDER BY message")
    assert rows[0][0] == "failed" and re.match(r"rank 1 \(process \d+\) is stopped \(SIGSTOP\)", rows[0][1])
    assert rows[1] == ("failed", "the worker (2 ranks) ended in an earlier case: mpirun starts ranks once; try: run the remaining cases again")
    assert gone(token)


def rank_0(token, word):
    """The pid of the process of rank 0 whose command line has the word."""
    for pid in marked(token):
        proc = pathlib.Path(f"/proc/{pid}")
        try:
            if b"OMPI_COMM_WORLD_RANK=0\0" in (proc / "environ").read_bytes() and word in (proc / "cmdline").read_bytes().split(b"\0"):
                return pid
        except OSError:
            pass
    return None


@real
@pytest.mark.timed
@pytest.mark.parametrize("stage, name", [("it measures", "the run (process {})"), ("it begins", "process {} (")])
def test_a_stopped_run_under_mpirun(perfkit, model, stage, name):
    """Rank 1 waits for no further case, nor for the first one: it says why, and mpirun ends them all."""
    token = str(uuid.uuid4())
    p = subprocess.Popen([shutil.which("mpirun"), "-n", "2", BINARY, "run", "ddp-bucket", "-d", "cpu", *TINY[:2], "--compute-ms", "20,21", "-v", "none",
                          "--min-time", "1s", "--max-time", "1s", "--no-check", "--timeout", "2s"], cwd=perfkit.cwd,
                         env=perfkit.environment(AS_ROOT | {"MARK": token}), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not rank_0(token, b"--join" if stage == "it measures" else b"ddp-bucket") and time.monotonic() < end:
        time.sleep(0.01)
    time.sleep(1 if stage == "it measures" else 0)
    run = rank_0(token, b"ddp-bucket")
    os.kill(run, signal.SIGSTOP)
    began = time.monotonic()
    _, err = p.communicate(timeout=90)
    assert p.returncode != 0 and name.format(run) in err and "is stopped (SIGSTOP)" in err, err
    assert time.monotonic() - began < 1 + 2 + 5  # the case that it measures, the limit, and a few seconds to end
    assert gone(token)


@real
def test_a_stopped_mpiexec_is_named(perfkit, model):
    """Rank 0 is not to blame that it has no request."""
    token = str(uuid.uuid4())
    p = perfkit.start("run", "ddp-bucket", "-d", "cpu", *TINY, "-v", "none", "--ranks", "2", *FEW, "--no-check", "--timeout", "3s", env={"MARK": token})
    launcher = None
    while not launcher and p.poll() is None:
        for pid in marked(token):
            try:
                launcher = pid if pathlib.Path(f"/proc/{pid}/comm").read_text() in ("mpiexec\n", "mpirun\n", "orterun\n", "prterun\n") else launcher
            except OSError:
                pass
    os.kill(launcher, signal.SIGSTOP)
    began = time.monotonic()
    _, err = p.communicate(timeout=60)
    assert p.returncode == 1 and time.monotonic() - began < 3 + 5, err
    ((status, message),) = query(perfkit, "SELECT status, message FROM v_case")
    assert status == "failed" and f"process {launcher} (" in message and "is stopped (SIGSTOP)" in message, message
    assert "rank 0" not in message
    assert gone(token)


@real
def test_ranks_that_disagree(perfkit, model):
    one = ("run", "ddp-bucket", "-d", "cpu", "--tensors", "two", "-v", "flat", *FEW, "--compute-ms")
    r = two_unlike(perfkit, (BINARY, *one, "1"), (BINARY, *one, "2"))
    assert r.returncode == 1, r
    ((status, message),) = query(perfkit, "SELECT status, message FROM v_case")
    assert status == "failed"
    assert message == "rank 1: its command line does not have this case of rank 0: compute_ms=1; start every rank with the same command line"
    assert message in r.stderr


@real
@pytest.mark.parametrize("other, why", [(("env", "PERFKIT_MPI=/none"), "/none"), ((), "the simulated clock of the null device")])
def test_a_rank_without_a_case(perfkit, model, other, why):
    """It says why and ends the others, which would wait for it."""
    one = ("run", "ddp-bucket", *TINY, "-v", "flat", *FEW, "--timeout", "60s", "-d")
    began = time.monotonic()
    r = two_unlike(perfkit, (BINARY, *one, "cpu"), (*other, BINARY, *one, "cpu" if other else "null"))
    assert r.returncode == 6 and time.monotonic() - began < 50, r
    assert "rank 1 of 2 has no case to measure" in r.stderr and why in r.stderr and "with the same command line" in r.stderr, r


@real
def test_a_rank_that_never_comes(perfkit, model):
    """Rank 0 says so when its time is up, unless mpirun sees first that a rank has ended without MPI, and ends the other."""
    one = ("run", "ddp-bucket", "-d", "cpu", *TINY, "-v", "flat", *FEW, "--timeout", "2s")
    r = two_unlike(perfkit, (BINARY, *one), (BINARY, *one, "--dry-run"))
    if r.returncode == 1 and "exiting improperly" in r.stderr:
        return
    assert r.returncode == 6 and "start every rank with the same command line" in r.stderr, r
    assert "Not measured: 1 of 1 case: no result after 2s" in " ".join(r.stdout.split()), r


def planned(perfkit, *args, **env):
    (row,) = perfkit("run", "ddp-bucket", "-d", "cpu", "-v", "flat", "--compute-ms", "1", "-n", "--format", "json", *args, env=env).rows("plan")
    return row


@pytest.mark.skipif(not MODULE.exists() or not shutil.which("mpiexec"), reason="no MPI")
def test_ranks_that_share_cpus_are_told(perfkit):
    """Those of --bind are what there is, and every rank has its threads."""
    few = ("run", "ddp-bucket", "-d", "cpu", "-v", "flat", "--compute-ms", "1", "-n", "--ranks", "2")
    cpus = sorted(os.sched_getaffinity(0))
    assert "2 ranks share 1 CPU" in perfkit(*few, "--bind", cpus[0]).stderr
    many = perfkit(*few, "--threads", len(cpus)).stderr
    assert (f"2 ranks of {len(cpus)} threads share {len(cpus)} CPU" if len(cpus) > 1 else "2 ranks share 1 CPU") in many
    assert (" share " in perfkit(*few).stderr) == (len(cpus) < 2)


def test_a_link_option_means_the_link(perfkit):
    assert planned(perfkit, "--ranks", "8")["axes"]["transport"] == "mpi"
    assert planned(perfkit, "--ranks", "8", "--link-latency-us", "5")["axes"]["transport"] == "link"
    assert planned(perfkit, "--ranks", "8", "--transport", "link")["axes"]["transport"] == "link"
    assert planned(perfkit)["axes"]["transport"] == "link"


def test_without_an_mpi(perfkit, tmp_path):
    """The case is skipped with what to install; a run of nothing else has the status of a run of nothing."""
    missing = planned(perfkit, "--ranks", "2", PERFKIT_MPI="/nowhere/perfkit-mpi.so")["status"]
    assert "/nowhere/perfkit-mpi.so, which PERFKIT_MPI names, cannot be read" in missing
    if MODULE.exists():
        assert "there is no mpiexec in PATH: sudo apt-get install libopenmpi-dev openmpi-bin" in planned(perfkit, "--ranks", "2", PATH=tmp_path)["status"]
    else:
        assert "built" in planned(perfkit, "--ranks", "2")["status"]
    perfkit("run", "ddp-bucket", "-d", "null", "--ranks", "2", "-v", "flat").refused(6, "the simulated clock of the null device", "--dry-run")


@pytest.mark.skipif(not MODULE.exists() or not shutil.which("mpiexec"), reason="no MPI")
def test_more_ranks_than_there_can_be(perfkit):
    cpus = len(os.sched_getaffinity(0))
    assert f"perfkit starts at most {16 * cpus} here" in planned(perfkit, "--ranks", 16 * cpus + 1)["status"]
    three = {"OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_RANK": "0"}
    assert "2 ranks, but mpirun started 3" in planned(perfkit, "--ranks", "2", **three)["status"]
    assert planned(perfkit, **three)["axes"]["ranks"] == 3
    perfkit("run", "--suite", "nowhere.ini", env=three).refused(2, "--suite under mpirun", "ranks of one experiment")


def test_ranks_are_not_for_once(perfkit):
    r = perfkit("run", "ddp-bucket", "-d", "cpu", "--transport", "mpi", "-v", "flat", "--compute-ms", "1", "--once")
    if MODULE.exists() and shutil.which("mpiexec"):
        r.refused(2, "--once does not start the 2 ranks of flat", "ranks are separate processes", "--transport link")
    else:
        assert r.status == 6 and "ranks over MPI" in r.stdout + r.stderr and "smaller sizes" not in r.stderr, r


@real
def test_gradients_are_the_mean_over_the_batches_of_all_ranks(perfkit, measured):
    """Each rank has tokens of its own; each compares what it is left with against the gradients of both, computed by itself alone."""
    r = perfkit("run", "ddp-bucket", "-d", "cpu", "--ranks", "2", "--work", "transformer", "--seq-len", "4", "-v", "bucket", "--bucket-bytes", "4MB", *FEW,
                "--max-samples", "2", "--warmup", "1", "--format", "json")
    assert r.status == 0, r
    assert [n["check"] for n in notes(perfkit)] == ["passed"]
    assert len(r.rows("timeline")) == r.rows("buckets")[0]["buckets"]
