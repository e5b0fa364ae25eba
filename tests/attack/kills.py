"""Kills: a signal to the parent, a worker, a rank or a launcher at a random moment.

Afterwards the store is sound, has every slice that it had before, nothing lives on, no file is left that import does not take, and
--resume completes the run."""
import contextlib
import fcntl
import json
import os
import shutil
import signal
import sqlite3
import time

import processes
import templates
from trial import AS_ROOT, SIGNALS, Attack, NotPossible, check, slices

HANDLED_AFTER = 0.5  # seconds: by then a program has its handlers
ENDS_WITHIN = 5
CASES = ("-d", "null", "-v", "ok,noisy,repeated", "-a", "busy_ns=1000:64000:*2", "-i", "3", "--max-time", "20ms", "--min-time", "1ms")
LEAVES_CHILDREN = "(setsid sleep 300 &) ; (sleep 300 &) ; sleep 0.02"


def nothing(trial):
    return ()


def other_store(trial):
    shutil.copy(templates.runs(trial.setup), trial.db)
    return (templates.samples(trial.setup),)


def spool(trial):
    shutil.copy(templates.spooled_store(trial.setup), trial.db)
    return (templates.spool(trial.setup),)


def many(trial):
    shutil.copy(templates.samples(trial.setup), trial.db)
    return ()


# Name, weight, what is prepared (its answer ends the command), the command.
COMMANDS = [
    ("run", 4, nothing, ("run", "selftest", *CASES)),
    ("counted run", 1, nothing, ("run", "selftest", *CASES, "-v", "ok", "--counters", "sw", "--allocations")),
    ("exec", 2, nothing, ("exec", "--runs", "20", "--no-counters", "--", "sleep", "0.01")),
    ("exec with children", 2, nothing, ("exec", "--runs", "20", "--no-counters", "--prepare", "(sleep 300 &)", "--", "sh", "-c", LEAVES_CHILDREN)),
    ("gate of commands", 2, nothing, ("gate", "--name", "g", "--a", "sleep 0.001", "--b", "sleep 0.001", "--max-pairs", "8", "--no-fail")),
    ("gate", 1, nothing, ("gate", "selftest", "-d", "null", "-v", "ok", "--a", "busy_ns=1000", "--b", "busy_ns=1001", "--max-pairs", "8", "--no-fail",
                       "--max-time", "5ms", "--min-time", "1ms")),
    ("db merge", 2, other_store, ("db", "merge")),
    ("import", 1, spool, ("import",)),
    ("db prune", 1, many, ("db", "prune", "--keep", "0")),
]


def duration(setup, name, measure):
    """Seconds that the command takes when it is left alone, measured once."""
    path = setup.folder / "templates" / "durations.json"
    path.parent.mkdir(exist_ok=True)
    with open(path, "a+", encoding="utf-8") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        f.seek(0)
        known = json.loads(f.read() or "{}")
        if name not in known:
            known[name] = measure()
            f.seek(0)
            f.truncate()
            f.write(json.dumps(known))
        return known[name]


def takes(trial, name, command):
    def measure():
        took = trial.call(*command, seconds=120).seconds
        for path in trial.beside.iterdir():
            path.unlink()
        return max(took, 0.02)
    return duration(trial.setup, name, measure)


def random_moment(trial, child, longest):
    """Waits: for a random time; or until a transaction is open, and a little more. Answers the slices that were in the store before."""
    share, in_transaction, after = 0.9 * trial.rng.random() ** 1.5, trial.rng.random() < 0.4, trial.rng.random() ** 4 * 0.02
    child.ended(share * longest, step=0.01)
    before = slices_now(trial)
    end = time.monotonic() + 0.2 * longest
    while in_transaction and time.monotonic() < end and child.process.poll() is None:
        if transaction_is_open(trial):
            time.sleep(after)
            break
        time.sleep(0.0005)
    return before


def transaction_is_open(trial):
    """Between transactions the journal's header is zeros."""
    with contextlib.suppress(OSError), open(trial.beside / "perfkit.db-journal", "rb") as journal:
        return journal.read(1) == b"\xd9"
    return False


def slices_now(trial):
    """The slices that a reader sees now; none where the store cannot be read without a change to it."""
    with contextlib.suppress(sqlite3.Error):
        if trial.db.exists():
            return slices(trial.db)
    return frozenset()


def nothing_was_recorded(db):
    """No file, or an empty database: SQLite has one after a kill while the schema was written, when it has rolled that back."""
    if not db.exists():
        return True
    with contextlib.closing(sqlite3.connect(db, timeout=30)) as connection:
        return connection.execute("SELECT count(*) FROM sqlite_schema").fetchone() == (0,)


def store_after(trial, before, resumes, prunes=False):
    """What holds of the store when those who wrote it were killed. What prunes removes whole runs."""
    if nothing_was_recorded(trial.db):
        check(not before, "the store is gone")
        r = trial.call("exec", "--runs", "1", "--no-counters", "--", "true")
        check(r.status == 0, "the next run fails:", r)
    after = trial.sound()
    trial.only_store_and_spools()
    after |= slices(trial.db)
    if prunes:
        kept = {run for run, *_ in after}
        before = {s for s in before if s[0] in kept}
    check(before <= after, "slices are lost:", sorted(before - after)[:3])
    if resumes and trial.rng.random() < 0.3:
        r = trial.call("run", "selftest", "--resume", seconds=60)
        check(r.status in (0, 2), "--resume:", r)
        check(r.status == 0 or b"no interrupted run" in r.err, "--resume:", r)
        resumed = trial.sound()
        check(after <= resumed, "--resume lost slices:", sorted(after - resumed)[:3])
        if r.status == 0:
            with contextlib.closing(sqlite3.connect(trial.db)) as db:
                found = db.execute("SELECT DISTINCT status FROM v_run UNION SELECT DISTINCT 'case ' || status FROM v_case").fetchall()
            check(set(found) <= {("complete",), ("case ok",)}, "--resume did not complete the run:", found)


def parent(trial):
    name, _, prepare, command = trial.rng.choices(COMMANDS, [row[1] for row in COMMANDS])[0]
    signum = trial.rng.choice([signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT])
    again = trial.rng.random() < 0.15
    trial.subject = "%s, %s" % (name, SIGNALS[signum])
    longest = takes(trial, name, (*command, *prepare(trial)))
    child = trial.start(*command, *prepare(trial))
    before = random_moment(trial, child, longest)
    handled = child.catches(signum)
    at = child.seconds() - child.delay()
    trial.tries = int(child.process.poll() is None)  # only a signal that arrives is a try
    child.send(signum)
    if again:
        child.ended(trial.rng.random() * 0.05, step=0.001)
        child.send(signum)
    early = at < HANDLED_AFTER and not handled
    child.result(ENDS_WITHIN, {-signum, 0, 4, 130} if signum == signal.SIGKILL or early or again else {0, 4, 130})
    trial.nothing_lives()
    store_after(trial, before, name == "run", name == "db prune")


def victims(trial, child, chosen):
    """Not the keepers: a program whose keeper was killed may leave processes (docs/security.md)."""
    return [pid for pid in processes.marked(trial.token) if pid != child.pid and processes.read(pid, "comm") != b"pk-keeper\n" and chosen(pid)]


def worker(trial):
    """Kills up to three processes of a run; one that replaces another is killed as well."""
    device = trial.rng.choice(["null", "cpu", "peer", "exec"])
    shutil.copy(templates.ceilings(trial.setup), trial.db)
    timed = ("--timeout", "2s", "--peer-startup", "2s")
    trial.subject = device
    command = {
        "null": ("run", "selftest", *CASES, *timed),
        "cpu": ("run", "selftest", "-d", "cpu", "-v", "ok,repeated", "-a", "busy_ns=1000:8000:*2", "-i", "3", "--max-time", "40ms", "--min-time", "20ms", *timed),
        "peer": ("run", "selftest", "-d", "null", "-v", "ok", "-a", "busy_ns=1000,2000,3000", "-i", "3", "--peer", str(trial.setup.sources / "hostile.py"), *timed),
        "exec": ("exec", "--runs", "30", "--no-counters", "--timeout", "2s", "--", "sleep", "0.02"),
    }[device]
    child = trial.start(*command, env={"HOSTILE": "slow good"})
    left, before, trial.tries = trial.rng.randint(1, 3), frozenset(), 0
    while left and not child.ended(trial.rng.random() * 0.3, step=0.02):
        found = victims(trial, child, lambda pid: True)
        before |= slices_now(trial)
        if found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(trial.rng.choice(found), trial.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM, signal.SIGSTOP]))
                trial.tries += 1
            left -= 1
    child.result(40, {0, 1, 6, 130})
    trial.nothing_lives()
    store_after(trial, before, False)


def is_rank(pid):
    return b"OMPI_COMM_WORLD_RANK=" in processes.read(pid, "environ")


def is_launcher(pid):
    return os.path.basename(processes.command_line(pid).split(" ")[0]) in ("mpiexec", "mpirun", "orterun", "prterun", "orted", "prted")


def among_ranks(trial, chosen):
    if not trial.setup.mpi:
        raise NotPossible("no MPI, or perfkit was built without it")
    shutil.copy(templates.ceilings(trial.setup), trial.db)
    (trial.cwd / "two").write_text("a 3000\nb 7000\n")
    child = trial.start("run", "ddp-bucket", "-d", "cpu", "--ranks", "2", "--tensors", "two", "-v", "none,flat", "--compute-ms", "2", "-i", "1", "--min-time", "500ms",
                        "--max-time", "700ms", "--no-check", "--timeout", "4s", env=AS_ROOT)
    share, signum = trial.rng.random(), trial.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV, signal.SIGSTOP])
    end = time.monotonic() + 30
    while not (found := victims(trial, child, chosen)) and child.process.poll() is None and time.monotonic() < end:
        time.sleep(0.02)
    child.ended(share * 1.0)
    found = victims(trial, child, chosen) or found
    before, trial.tries = slices_now(trial), 0
    if found:
        with contextlib.suppress(ProcessLookupError):
            os.kill(trial.rng.choice(sorted(found)), signum)
            trial.tries = 1
    child.result(40, {0, 1, 6})
    trial.nothing_lives()
    store_after(trial, before, False)


def rank(trial):
    among_ranks(trial, is_rank)


def launcher(trial):
    among_ranks(trial, is_launcher)


ATTACKS = [
    Attack("kill parent", 1000, parent, "run, exec, gate, db merge, import, prune: " + ", ".join(SIGNALS.values())),
    Attack("kill worker", 500, worker, "workers, peers, spawners and commands of a run, up to three of them; SIGSTOP among the signals", 2),
    Attack("kill rank", 60, rank, "one of two ranks over MPI"),
    Attack("kill launcher", 40, launcher, "mpiexec and what it starts ranks with"),
]
