"""Templates: stores and spools that attacks begin with, made once by the perfkit under attack. Each function answers the file."""
import contextlib
import fcntl
import functools
import shutil
import signal
import sqlite3
import time

from trial import Trial, check

# Quick, with a case that fails and one that is out of memory, each in two processes.
SMALL = ("run", "selftest", "-d", "null", "-v", "ok,noisy,oom,check-fails", "-a", "busy_ns=1000,8000", "-i", "2", "--max-samples", "20", "--min-time", "1ms")


def template(make):
    """The file make(trial, path) writes, made by the first who asks."""
    @functools.wraps(make)
    def file_of(setup):
        folder = setup.folder / "templates"
        folder.mkdir(exist_ok=True)
        path = folder / make.__name__
        with open(folder / (make.__name__ + ".lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                work = folder / (make.__name__ + ".folder")
                shutil.rmtree(work, ignore_errors=True)
                trial = Trial(setup, "template " + make.__name__, 0, work)
                make(trial, path)
        return path
    return file_of


@template
def ceilings(trial, path):
    """A store with the CPU's ceilings, each confirmed: no run measures them again."""
    r = trial.call("doctor", "--ceilings", "--device", "cpu", seconds=300)
    check(r.status == 0, "doctor --ceilings:", r)
    with contextlib.closing(sqlite3.connect(trial.db)) as db, db:
        db.execute("INSERT INTO ceiling(machine_id, device, key, value, measured_ns, evidence)"
                   " SELECT machine_id, device, key, max(value), max(measured_ns), evidence FROM ceiling GROUP BY machine_id, device, key, evidence")
    shutil.copy(trial.db, path)


@template
def runs(trial, path):
    """A store with one of everything that views show: runs, counters, a breakdown, memory, both sides of a gate, a baseline."""
    for more in ((), ("--label", "second", "--tag", "k=v"), ("--counters", "sw", "--breakdown", "--allocations", "-v", "ok")):
        r = trial.call(*SMALL, *more, seconds=120)
        check(r.status in (0, 1), "template:", r)
    for command in (("exec", "--runs", "3", "--name", "true", "--", "true"),
                    ("gate", "--name", "g", "--a", "true", "--b", "true", "--max-pairs", "8", "--no-fail"),
                    ("baseline", "save", "main", "second"),
                    ("run", "attention-scaling", "-d", "null", "-a", "seq_len=64,128", "-a", "d_model=16", "-i", "1", "--max-samples", "16"),
                    ("run", "ddp-bucket", "-d", "null", "-a", "bucket_bytes=1MiB", "-i", "1", "--min-samples", "2", "--max-samples", "3", "--max-time", "30ms", "--min-time", "1ms")):
        r = trial.call(*command, seconds=120)
        check(r.status in (0, 4), "template:", " ".join(command), r)
    shutil.copy(trial.db, path)


@template
def samples(trial, path):
    """A store whose tables and samples fill any pipe: 200 cases, and some 30,000 samples."""
    for cases in ("ok,noisy", "ok,noisy,outliers,repeated"):
        r = trial.call("run", "selftest", "-d", "null", "-v", cases, "-a", "busy_ns=1000:50000:+1000", "-i", "3", "--min-samples", "40", "--max-samples", "50",
                       "--min-time", "1ms", seconds=300)
        check(r.status == 0, "template:", r)
    shutil.copy(trial.db, path)


def spool_of(trial):
    """The spool of a run whose store another process locked in the middle of it."""
    with contextlib.closing(sqlite3.connect(trial.db, isolation_level=None, timeout=30)) as db:
        p = trial.start("exec", "--runs", "30", "--no-counters", "--name", "held", "--", "sleep", "0.02")
        end = time.monotonic() + 30
        while time.monotonic() < end and not trial_has_run(trial):
            time.sleep(0.01)
        db.execute("BEGIN EXCLUSIVE")
        while b"waiting for the store" not in p.files[1].read_bytes() and time.monotonic() < end and not p.ended(0.05):
            pass
        p.send(signal.SIGINT)
        p.result(10)
        db.execute("ROLLBACK")
    check(trial.spools(), "no spool was written")
    return trial.spools()[0]


def trial_has_run(trial):
    with contextlib.closing(sqlite3.connect(trial.db, timeout=30)) as db:
        try:
            return db.execute("SELECT count(*) FROM run_case").fetchone()[0] > 0
        except sqlite3.OperationalError:
            return False


@template
def spool(trial, path):
    shutil.copy(spool_of(trial), path)
    shutil.copy(trial.db, path.with_name("spooled-store"))


def spooled_store(setup):
    """The store that the spool belongs to, without its slices."""
    return spool(setup).with_name("spooled-store")
