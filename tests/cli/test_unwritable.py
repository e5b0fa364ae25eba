"""A store that cannot be written, or not yet: locked by another process, read-only, in a directory that is not there, over a limit."""
import contextlib
import os
import pathlib
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

import pytest
from conftest import BINARY
from stored import query

WRITER = os.environ["PK_STORE_WRITER"]
WAITING = "waiting for the store"
SELFTEST = ("run", "selftest", "--device", "null", "--variant", "ok")


def record(path):
    subprocess.run([WRITER, str(path), "1", "1", "1", "10"], check=True, timeout=60, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def locked(path):
    """Nobody else reads or writes."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("BEGIN EXCLUSIVE")
        yield
        db.execute("ROLLBACK")


def line_of(p, word):
    """The first line on stderr that has the word; what came before is dropped."""
    for line in p.stderr:
        if word in line.decode():
            return line.decode()
    return ""


def ended(p, signals=(), seconds=10):
    """Sends the signals; (status, stderr, seconds until the end)."""
    began = time.monotonic()
    for s in signals:
        p.send_signal(s)
    _, err = p.communicate(timeout=seconds)
    return p.returncode, err.decode(), time.monotonic() - began


# --- locked --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("args", [("show",), ("db", "prune", "--keep", "9"), SELFTEST, ("exec", "--runs", "1", "--", "true")])
def test_a_wait_is_said_once_and_ends_with_the_lock(perfkit, args):
    record(perfkit.db)
    with locked(perfkit.db):
        p = perfkit.start(*args)
        said = line_of(p, WAITING)
        time.sleep(0.5)
    status, err, _ = ended(p)
    assert status == 0 and str(perfkit.db) in said and "up to 60 s; Ctrl-C to stop" in said, (said, err)
    assert WAITING not in err


def test_a_short_wait_is_not_worth_a_word(perfkit):
    record(perfkit.db)
    with locked(perfkit.db):
        p = perfkit.start("show")
        time.sleep(0.5)
    assert ended(p)[:2] == (0, "")


@pytest.mark.parametrize("args", [("show",), ("db", "prune", "--keep", "9"), SELFTEST])
def test_ctrl_c_ends_a_wait(perfkit, args):
    record(perfkit.db)
    with locked(perfkit.db):
        p = perfkit.start(*args)
        assert line_of(p, WAITING)
        status, err, took = ended(p, [signal.SIGINT])
    assert status == 130 and took < 1, (status, took, err)
    lines = err.splitlines()
    assert len(lines) == 3 and str(perfkit.db) in lines[0] and "signal ended the wait" in lines[1] and "fuser" in lines[2], err


HOLD_ON = "import pathlib, time\npathlib.Path('here').touch()\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)"


def test_a_lock_at_the_first_slice_of_exec(perfkit):
    """The command's case was recorded before it ran; the spool brings the slice."""
    p = perfkit.start("exec", "--runs", "3", "--no-counters", "--name", "held", "--", sys.executable, "-c", HOLD_ON)
    while not (perfkit.cwd / "here").exists():
        time.sleep(0.01)
    with locked(perfkit.db):
        (perfkit.cwd / "go").touch()
        assert line_of(p, WAITING)
        status, err, _ = ended(p, [signal.SIGINT])
    spool = pathlib.Path(f"{perfkit.db}.spool-1.jsonl")
    assert status == 130 and str(spool) in err and "perfkit import" in err, err
    assert query(perfkit.db, "SELECT variant, (SELECT count(*) FROM slice) FROM v_case") == [("held", 0)]
    rows = perfkit("import", spool, "--format", "json").rows("import")
    assert (rows[0]["added"], rows[0]["known"]) == (1, 0)
    assert query(perfkit.db, "SELECT variant, status, axes FROM v_case") == [("held", "ok", '{"command":"held"}')]
    assert query(perfkit.db, "SELECT count(*) FROM v_summary WHERE metric = 'wall_ns' AND median > 0") == [(1,)]
    assert perfkit("import", spool, "--format", "json").rows("import")[0]["known"] == 1
    record(perfkit.root / "other.db")
    perfkit("import", spool, "--db", perfkit.root / "other.db").refused(1, "another store")


SLOW_PEER = f"""
import json, os, pathlib, sys, time
wire = os.fdopen(int(os.environ["PERFKIT_WIRE_FD"]), "w", buffering=1)
say = lambda **m: wire.write(json.dumps(m) + "\\n")
say(type="hello", version=1, program="slow", pid=os.getpid())
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "measure":
        exec({HOLD_ON!r})
        say(type="metric", name="work_ns", unit="ns", direction="lower")
        say(type="samples", metric="work_ns", values=[5, 6, 7])
        say(type="status", id=request["id"], status="ok")
"""


def test_a_lock_at_the_first_slice_of_a_run(perfkit):
    p, _ = held_run(perfkit)
    with locked(perfkit.db):
        (perfkit.cwd / "go").touch()
        assert line_of(p, WAITING)
        status, err, _ = ended(p, [signal.SIGINT])
    spool = pathlib.Path(f"{perfkit.db}.spool-1.jsonl")
    assert status == 130 and str(spool) in err, err
    assert perfkit("import", spool).status == 0
    assert query(perfkit.db, "SELECT value FROM v_sample ORDER BY ordinal") == [(5,), (6,), (7,)]


def held_run(perfkit):
    """A run of one case that waits in its measurement, with the store as it was then."""
    peer = perfkit.root / "slow.py"
    peer.write_text(SLOW_PEER)
    p = perfkit.start("run", "selftest", "--device", "null", "--variant", "ok", "--filter", "variant!=ok", "--invocations", "1", "--peer", peer,
                      "--python", sys.executable)
    while not (perfkit.cwd / "here").exists():
        time.sleep(0.01)
    return p, perfkit.db.read_bytes()


@pytest.mark.parametrize("what", ["emptied", "cut", "overwritten"])
def test_a_store_that_is_cut_off_while_a_run_writes(perfkit, what):
    """The slice goes into the spool, and comes back when the store does: the run is then as complete as it was."""
    p, before = held_run(perfkit)
    with open(perfkit.db, "r+b") as f:
        f.truncate(0 if what == "emptied" else len(before) // 8192 * 4096)
        if what == "overwritten":
            f.write(b"x" * len(before))
    (perfkit.cwd / "go").touch()
    status, err, _ = ended(p, seconds=60)
    spool = pathlib.Path(f"{perfkit.db}.spool-1.jsonl")
    assert status == 1 and f"{spool}" in err and "perfkit import" in err, (status, err)
    perfkit.db.write_bytes(before)
    assert perfkit("import", spool).status == 0
    assert query(perfkit.db, "SELECT value FROM v_sample ORDER BY ordinal") == [(5,), (6,), (7,)]
    assert query(perfkit.db, "SELECT status, ended_ns > started_ns FROM run") == [("complete", 1)]


def test_a_store_that_another_one_is_copied_over(perfkit, tmp_path):
    """Run 1 of that one is another run, which gets nothing of this one."""
    other = tmp_path / "other.db"
    assert perfkit(*SELFTEST, db=other).status == 0
    p, before = held_run(perfkit)
    perfkit.db.write_bytes(other.read_bytes())
    (perfkit.cwd / "go").touch()
    status, err, _ = ended(p, seconds=60)
    spool = pathlib.Path(f"{perfkit.db}.spool-1.jsonl")
    assert status == 1 and "replaced the file" in err and f"they are in {spool}; when the store is in order again" in err, (status, err)
    assert query(perfkit.db, "SELECT * FROM run") == query(other, "SELECT * FROM run")
    assert query(perfkit.db, "SELECT * FROM slice") == query(other, "SELECT * FROM slice")
    perfkit.db.write_bytes(before)
    assert perfkit("import", spool).status == 0
    assert query(perfkit.db, "SELECT value FROM v_sample ORDER BY ordinal") == [(5,), (6,), (7,)]


def test_a_run_whose_slices_were_imported_is_complete(perfkit):
    """With its fits; not before all of them are there, although the end of the run fits into the store."""
    args = ("run", "selftest", "--device", "null", "-v", "ok", "-a", "busy_ns=1000,2000,4000", "--min-samples", "6000", "--max-samples", "6000")
    assert perfkit(*args).status == 0
    limit = perfkit.db.stat().st_size + 40_000
    p = perfkit.start(*args, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    status, err, _ = ended(p, seconds=60)
    spool = pathlib.Path(f"{perfkit.db}.spool-2.jsonl")
    assert status == 1 and str(spool) in err, err
    assert query(perfkit.db, "SELECT status FROM run WHERE id = 2") == [("interrupted",)]
    with contextlib.closing(sqlite3.connect(perfkit.db)) as db, db:
        db.execute("DELETE FROM fit WHERE run_id = 2")
    lines = spool.read_text(encoding="utf-8").splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if '"type":"spool"' in line)
    spool.write_text("".join(lines[:last] + lines[-1:]), encoding="utf-8")
    assert perfkit("import", spool).status == 0
    assert query(perfkit.db, "SELECT status FROM run WHERE id = 2") == [("interrupted",)]
    spool.write_text("".join(lines), encoding="utf-8")
    for _ in range(2):
        assert perfkit("import", spool).status == 0
        assert query(perfkit.db, "SELECT status FROM run WHERE id = 2") == [("complete",)]
    whole, imported = (query(perfkit.db, f"SELECT name, metric, variant, n FROM fit WHERE run_id = {run} ORDER BY 1, 2, 3") for run in (1, 2))
    assert imported == whole
    assert query(perfkit.db, "SELECT count(*) FROM v_slice WHERE run_id = 1") == query(perfkit.db, "SELECT count(*) FROM v_slice WHERE run_id = 2")
    perfkit("run", "selftest", "--device", "null", "--resume").refused(2, "no interrupted run")


# --- read-only, missing, limited -----------------------------------------------------------------------------------


def open_to_all(path):
    for d in path.parents:
        if d.stat().st_uid == os.geteuid():
            os.chmod(d, d.stat().st_mode | 0o755)


def as_nobody(perfkit, *args, db):
    if os.geteuid() != 0:
        command = [BINARY, *args]
    else:
        command = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", BINARY, *args]
    env = {"LLVM_PROFILE_FILE": "/dev/null"}  # in a build that counts lines: nobody may not write into it
    for _ in range(3):  # another pytest that starts closes the folder of all of them
        open_to_all(perfkit.root)
        done = subprocess.run(command, env=perfkit.environment(env, db), capture_output=True, text=True, cwd="/", timeout=60)
        if "config.ini" not in done.stderr:
            break
    if done.returncode in (126, 127):
        pytest.skip("nobody cannot run the program")
    return done.returncode, done.stderr


@pytest.fixture
def place(tmp_path):
    """A directory that nobody can reach and that ends writable."""
    path = tmp_path / "place"
    path.mkdir()
    open_to_all(path)
    yield path
    os.chmod(path, 0o755)


@pytest.mark.parametrize("mode_file, mode_place, word", [
    (0o444, 0o777, "the file {path} is read-only for this user"),
    (0o666, 0o555, "the directory {place}, in which its journal must be created, is read-only for this user"),
    (None, 0o555, "the directory {place}, in which its journal must be created, is read-only for this user"),
    (0o222, 0o777, "this user may not read the file"),
])
def test_permissions_are_named(perfkit, place, mode_file, mode_place, word):
    path = place / "s.db"
    if mode_file is not None:
        record(path)
        os.chmod(path, mode_file)
    os.chmod(place, mode_place)
    status, err = as_nobody(perfkit, *SELFTEST, db=path)
    assert status == 1 and word.format(path=path, place=place) in err, err
    assert "--db FILE or PERFKIT_DB" in err.splitlines()[-1] and len(err.splitlines()) == 3, err


def test_a_missing_directory_is_not_a_read_only_one(perfkit, tmp_path):
    r = perfkit(*SELFTEST, db=tmp_path / "a" / "s.db")
    r.refused(1, f"its directory {tmp_path}/a does not exist", "create the directory", "--db FILE or PERFKIT_DB")
    assert not (tmp_path / "a").exists()


def test_a_home_that_is_not_there(perfkit, tmp_path):
    """Whoever set HOME, the tree is not ours to make; below a home that is there, the store's directories are."""
    home = tmp_path / "nonexistent"
    nowhere = {"PERFKIT_DB": None, "HOME": home, "XDG_CONFIG_HOME": None}
    for data in (None, home / "data"):
        r = perfkit(*SELFTEST, env={**nowhere, "XDG_DATA_HOME": data})
        r.refused(1, f"the home directory {home} does not exist", "--db FILE or PERFKIT_DB")
        assert not home.exists()
    for n, data in enumerate((perfkit.home / "deep" / "data", tmp_path / "elsewhere" / "data")):
        assert perfkit(*SELFTEST, env={"PERFKIT_DB": None, "XDG_DATA_HOME": data}).status == 0
        assert (data / "perfkit" / "perfkit.db").exists(), n
    assert perfkit(*SELFTEST, env={"PERFKIT_DB": None, "XDG_DATA_HOME": None}).status == 0
    assert (perfkit.home / ".local" / "share" / "perfkit" / "perfkit.db").exists()


@pytest.mark.parametrize("limit", [0, 20_000, 120_000])
def test_a_limit_on_file_size_is_named(perfkit, limit):
    """ulimit -f, too small for the store's tables or for the first slices."""
    p = perfkit.start("run", "selftest", "--device", "null", "--min-samples", "5000", "--max-samples", "5000",
                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    status, err, _ = ended(p, seconds=60)
    assert status == 1 and f"files of this process are limited to {limit} bytes (ulimit -f)" in err and "disk" not in err, err


def test_a_gate_names_what_each_side_could_not_write(perfkit):
    """The store is full when both have begun: two spools, and an import brings each in."""
    sides = ("--a", "busy_ns=1000", "--b", "busy_ns=2000", "--min-samples", "6000", "--max-samples", "6000", "--budget", "1ms")
    args = ("gate", "selftest", "--device", "null", "-v", "ok", *sides)
    assert perfkit(*args).status in (0, 3, 4)
    limit = perfkit.db.stat().st_size + 40_000
    p = perfkit.start(*args, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    status, err, _ = ended(p, seconds=60)
    spools = sorted(str(f) for f in perfkit.db.parent.glob("*.spool-*.jsonl"))
    assert status == 1 and len(spools) == 2 and all(f"they are in {f}" in err for f in spools), (status, spools, err)
    assert query(perfkit.db, "SELECT status FROM run WHERE id > 2") == [("interrupted",)] * 2
    for f in spools:
        assert perfkit("import", f).status == 0
    assert query(perfkit.db, "SELECT DISTINCT status FROM run") == [("complete",)]
