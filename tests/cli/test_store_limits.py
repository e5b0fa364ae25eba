"""Stores that would keep perfkit busy, and signals while it reads or prints: how long a command may take. The time of a test is that of a
hang or none."""
import contextlib
import json
import os
import pathlib
import resource
import shutil
import signal
import sqlite3
import subprocess
import time

import pytest
from busy import in_time
from conftest import not_sanitized
from stored import Stored, query

WRITER = os.environ["PK_STORE_WRITER"]
ENDS_S = 2  # after a signal
TIMER_S = 1.4  # from here on a timer may have ended it, which says nothing


def record(path, *numbers):
    subprocess.run([WRITER, str(path), *map(str, numbers)], check=True, timeout=60, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def changed(path):
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        yield db


def wait_until(condition):
    began = time.monotonic()
    while not condition():
        in_time(time.monotonic() - began, 30)
        assert time.monotonic() < began + 120
        time.sleep(0.02)


def cpu_s(p):
    """What the process has used: more than a start takes, so that it is in the query."""
    fields = pathlib.Path(f"/proc/{p.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def waits(p):
    """In poll(): perfkit waits for nothing else here."""
    return pathlib.Path(f"/proc/{p.pid}/syscall").read_text(encoding="utf-8").split()[0] in POLL


POLL = {"x86_64": ("7", "271"), "aarch64": ("73",)}.get(os.uname().machine, ())


@pytest.fixture
def endless(perfkit):
    """A store whose trace has 30,000 regions of one name: a query of its tables pairs each with each."""
    record(perfkit.db, 1, 1, 1, 1)
    part = json.dumps({"region": "forward", "family": "gemm", "calls": 1, "time_ns": 1, "busy_ns": 1, "gap_ns": 1})
    many = "[" + ",".join([part] * 30000) + "]"
    with changed(perfkit.db) as db:
        db.execute("INSERT INTO slice(case_id, invocation, pass, status, message, started_ns, elapsed_ns, notes)"
                   " SELECT id, 1, 'trace', 'ok', '', 1, 1, ? FROM run_case", ['{"breakdown":{"whole":true,"regions":%s,"families":%s}}' % (many, many)])
    return perfkit


@pytest.mark.parametrize("stranger", [False, True])
@pytest.mark.parametrize("args", [("show",), ("export", "csv", "--what", "breakdown")])
def test_an_endless_query_ends(endless, args, stranger):
    """In the store of --db as in that of FILE.db:RUN, after the time that the user gives."""
    run = [f"{endless.db}:@"] if stranger else ["@"]
    args = [args[0], *run] if args[0] == "show" else [*args[:2], *run, *args[2:]]
    began = time.monotonic()
    done = endless(*args, "--db-limit", "100ms", timeout=30, stdout=subprocess.DEVNULL)
    if args[0] == "show":
        assert done.status == 1 and "gave no row for 0.1 s" in done.stderr and "--db-limit" in done.stderr, done
    in_time(time.monotonic() - began, 20)


def test_a_signal_ends_a_query(endless):
    p = endless.start("show")
    wait_until(lambda: cpu_s(p) > 0.2)
    began = time.monotonic()
    p.send_signal(signal.SIGINT)
    _, err = p.communicate(timeout=20)
    took = time.monotonic() - began
    assert p.returncode == 130 and ("a signal ended it" in err.decode() or took > TIMER_S), err
    in_time(took, ENDS_S)


def fill(fd):
    os.set_blocking(fd, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(fd, b"x" * 4096)
    os.set_blocking(fd, True)


@pytest.mark.parametrize("errors_too", [False, True])
@pytest.mark.parametrize("args", [("export", "csv"), ("show",), ("list", "runs"), ("export", "json", "--what", "summary"),
                                  ("gate", "--against", "1", "2")])
def test_a_signal_ends_a_write_that_nobody_reads(perfkit, args, errors_too):
    """The pipe is full before perfkit begins, and its messages may go into the same one."""
    record(perfkit.db, 2, 3, 3, 200)
    reader, writer = os.pipe()
    fill(writer)
    p = perfkit.start(*args, stdout=writer, stderr=writer if errors_too else subprocess.PIPE)
    wait_until(lambda: waits(p))
    began = time.monotonic()
    p.send_signal(signal.SIGTERM)
    assert p.wait(timeout=20) == 130
    in_time(time.monotonic() - began, ENDS_S)
    os.close(reader)
    os.close(writer)
    if not errors_too:
        assert "a signal ended it" in p.stderr.read().decode()
        p.stderr.close()


@pytest.mark.parametrize("option", ["--junit", "--json", "--summary", "--gab"])
def test_a_signal_ends_a_report_that_nobody_reads(perfkit, option):
    record(perfkit.db, 2, 3, 3, 200)
    os.mkfifo(perfkit.cwd / "report")
    nobody = os.open(perfkit.cwd / "report", os.O_RDWR)
    fill(nobody)
    p = perfkit.start("gate", "--against", "1", "2", option, "report", stdout=subprocess.DEVNULL)
    wait_until(lambda: waits(p))
    began = time.monotonic()
    p.send_signal(signal.SIGTERM)
    _, err = p.communicate(timeout=20)
    os.close(nobody)
    assert p.returncode == 130 and b"a signal ended it" in err, (p.returncode, err)
    assert time.monotonic() - began < ENDS_S


def test_an_interrupted_export_leaves_no_file(endless, tmp_path):
    out = tmp_path / "out.csv"
    p = endless.start("export", "csv", "--what", "breakdown", "-o", out)
    wait_until(lambda: cpu_s(p) > 0.2)
    p.send_signal(signal.SIGINT)
    p.communicate(timeout=20)
    assert p.returncode == 130 and list(tmp_path.glob("out*")) == []


def of_equal_cases(path, n):
    """A run of n cases of one long name, of which the library finds those of another run."""
    s = Stored(path)
    run = s.run([("plain" * 400, {}, {"forward_ns": [1000]})])
    case, metric = s.db.execute("SELECT case_id, metric_id FROM summary").fetchone()
    k = f"WITH k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < {n})"
    s.db.execute(f"{k} INSERT INTO run_case SELECT id + i, run_id, i, experiment, revision, variant, device, axes, identity, NULL FROM run_case, k")
    s.db.execute(f"{k} INSERT INTO slice SELECT id + i, case_id + i, 1, pass, status, message, 1, 1, notes FROM slice, k")
    s.db.execute(f"{k} INSERT INTO slice_summary(slice_id, metric_id, n, figure, median) SELECT slice_id + i, metric_id, n, figure, median FROM slice_summary, k")
    s.db.execute(f"{k} INSERT INTO summary(case_id, metric_id, n, invocations, median) SELECT case_id + i, metric_id, n, invocations, median FROM summary, k")
    s.db.commit()
    s.db.close()
    assert (run, case, metric) == (1, 1, 1)


@not_sanitized
def test_a_signal_ends_what_the_library_computes(perfkit, tmp_path):
    """No loop of a command that only reads takes longer, whatever it computes."""
    of_equal_cases(tmp_path / "a.db", 15000)  # half a second to read them, five to match them
    shutil.copy(tmp_path / "a.db", tmp_path / "b.db")
    query(tmp_path / "b.db", "UPDATE run SET uuid = 'b'")
    p = perfkit.start("compare", f"{tmp_path}/a.db:1", f"{tmp_path}/b.db:1", stdout=subprocess.DEVNULL)
    wait_until(lambda: cpu_s(p) > 0.8)
    began = time.monotonic()
    p.send_signal(signal.SIGTERM)
    p.communicate(timeout=60)
    assert p.returncode == 130
    in_time(time.monotonic() - began, ENDS_S + 1)


# --- hundreds of cases ----------------------------------------------------------------------------------------------------


def cpu_of(perfkit, *args):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = perfkit(*args, timeout=300)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


FEW = ("--min-samples", "2", "--max-samples", "2", "--min-time", "1us", "--max-time", "1ms", "--warmup", "0", "--invocations", "1", "--device", "null", "--no-check")
HUNDREDS = {
    "attention-scaling": ("-a", "seq_len=128,256"),
    "mixed-precision": ("--breakdown", "-a", "model=tiny", "-a", "mode=step", "-a", "dtype=fp32,bf16"),
    "tree-patch": ("-a", "model=2L-256H"),
    "ddp-bucket": ("-a", "bucket_bytes=1MB,4MB", "-a", "compute_ms=0.1,0.2"),
}


@not_sanitized
@pytest.mark.parametrize("experiment", HUNDREDS)
def test_hundreds_of_cases_are_shown_in_seconds(perfkit, experiment):
    """Of the processor, for all tables together: views are computed once for a run, not for each table, column and note."""
    assert perfkit("run", experiment, *FEW, *HUNDREDS[experiment], timeout=300).status == 0
    with changed(perfkit.db) as db:
        n = db.execute("SELECT count(*) FROM run_case").fetchone()[0]
        for table, key in (("run_case", "id"), ("work", "case_id"), ("slice", "case_id"), ("summary", "case_id"), ("counter", "case_id")):
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            values = [f"{c} + k.i * 1000000" if c in ("id", "case_id") else f"{c} + k.i * {n}" if c == "ordinal"
                      else f"json_set({c}, '$.copy', k.i)" if c in ("axes", "identity") else c for c in names]
            db.execute(f"WITH k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < {500 // n}) INSERT INTO {table}({', '.join(names)})"
                       f" SELECT {', '.join(values)} FROM {table}, k")
    done, used = cpu_of(perfkit, "show", "--tables", "all")
    assert done.status == 0 and done.stdout.count("\n") > 500
    in_time(used, 1.5 * ENDS_S)


@not_sanitized
def test_a_timeline_of_108_cases_is_shown_in_two_seconds(perfkit):
    """A table for each case; it took minutes."""
    s = Stored(perfkit.db)
    run = s.run([("eager", {"batch": b, "dtype": d}, {"step_ns": [1000]}) for b in range(54) for d in ("fp32", "bf16")], experiment="mixed-precision")
    moment = {"region": "forward", "bytes": 10**9, "parameters": 10**8, "activations": 9 * 10**8}
    for case, in s.db.execute("SELECT id FROM run_case WHERE run_id = ?", [run]).fetchall():
        s.insert("slice", case_id=case, invocation=1, status="ok", message="", started_ns=1, elapsed_ns=1, **{"pass": "memory"},
                 notes=json.dumps({"memory": {"whole": 1, "regions": [moment], "timeline": [moment] * 60}}))
    s.db.commit()
    done, used = cpu_of(perfkit, "show", "--tables", "memory_timeline")
    assert done.status == 0 and done.stdout.count("Memory over one iteration, eager batch=") == 108
    in_time(used, ENDS_S)


# --- pages in a circle ---------------------------------------------------------------------------------------------------


def root_of(path, table):
    return query(path, f"SELECT rootpage FROM sqlite_schema WHERE name = '{table}'")[0][0]


def in_a_circle(path, table):
    """Every page that the table's root names becomes one of ten levels that all name the next one alone: a scan visits 100^10 leaves."""
    image = bytearray(path.read_bytes())
    size, first = int.from_bytes(image[16:18], "big"), len(image) // int.from_bytes(image[16:18], "big") + 1
    leaf = first + 10
    for level in range(11):
        page = bytearray(size)
        if level < 10:
            n, child = 100, first + level + 1
            page[0:1] = b"\x05"
            page[3:5] = n.to_bytes(2, "big")
            page[5:7] = (size - 5 * n).to_bytes(2, "big")
            page[8:12] = child.to_bytes(4, "big")
            for i in range(n):
                at = size - 5 * (i + 1)
                page[12 + 2 * i:14 + 2 * i] = at.to_bytes(2, "big")
                page[at:at + 5] = child.to_bytes(4, "big") + b"\x01"
        else:
            page[0:1], page[5:7] = b"\x0d", size.to_bytes(2, "big")
        if level == 0:
            root = root_of(path, table)
            image[(root - 1) * size:root * size] = page
        image += page
    assert leaf == len(image) // size
    image[28:32] = (len(image) // size).to_bytes(4, "big")
    path.write_bytes(image)


@pytest.mark.parametrize("args", [("show",), ("list", "runs"), ("export", "csv", "--what", "summary"), ("db", "check"), ("db", "info"),
                                  ("db", "prune", "--keep", "0"), ("history", "--metric", "forward_ns", "demo"), ("compare", "@~1", "@")])
@pytest.mark.parametrize("table", ["run", "run_case", "slice", "summary"])
def test_pages_in_a_circle_do_not_hang(perfkit, table, args):
    record(perfkit.db, 2, 2, 2, 2)
    in_a_circle(perfkit.db, table)
    began = time.monotonic()
    done = perfkit(*args, "--db-limit", "200ms", timeout=60)
    assert done.status != 0 or args[0] in ("list", "export", "history", "compare", "show", "db"), done
    in_time(time.monotonic() - began, 20)


@pytest.mark.parametrize("args", [("show",), ("list", "runs"), ("db", "check"), ("db", "info")])
@pytest.mark.parametrize("pages", [None, 2**28 - 1])
def test_a_sparse_terabyte(perfkit, args, pages):
    """Its header may say that it has all these pages."""
    record(perfkit.db, 1, 1, 1, 1)
    try:
        os.truncate(perfkit.db, 2**40)
    except OSError as e:
        pytest.skip(str(e))
    if pages:
        with open(perfkit.db, "r+b") as f:
            f.seek(28)
            f.write(pages.to_bytes(4, "big"))
    began = time.monotonic()
    perfkit(*args, timeout=60)
    in_time(time.monotonic() - began, 30)


@pytest.mark.parametrize("table", ["run", "slice", "summary"])
def test_damaged_pages_are_not_merged(perfkit, tmp_path, table):
    other = tmp_path / "other.db"
    record(perfkit.db, 1, 1, 1, 1)
    record(other, 1, 2, 2, 2)
    in_a_circle(other, table)
    began = time.monotonic()
    perfkit("db", "merge", other, "--db-limit", "200ms", timeout=60).refused(1, "store")
    seconds = time.monotonic() - began
    assert query(perfkit.db, "SELECT count(*) FROM run") == [(1,)]
    in_time(seconds, 20)
