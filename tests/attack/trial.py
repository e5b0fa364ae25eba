"""A trial: one attempt at breaking perfkit, in a folder of its own, and what has to hold during and after it.

An attack is a function that is called with a Trial. It calls perfkit with Trial.call or Trial.start, and check() raises Failure for what
does not hold. Everything random comes from Trial.rng, which only the attack's name and the trial's seed determine."""
import contextlib
import dataclasses
import hashlib
import os
import pathlib
import random
import re
import select
import shutil
import signal
import sqlite3
import subprocess
import time
import typing

import processes

DOCUMENTED = frozenset((0, 1, 2, 3, 4, 5, 6, 130))  # docs/command-line.md, "Exit status"
EXPLAINED = (1, 2)  # with these an error of three lines is on stderr
SANITIZER = re.compile(rb"AddressSanitizer|LeakSanitizer|ThreadSanitizer|runtime error:")
PASSED_ON = ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS")
TOKEN = "perfkit-attack-%d-"  # of all trials of one job
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe"}  # Open MPI 5


class Failure(Exception):
    """A promise that was not kept."""


class NotPossible(Exception):
    """This machine does not permit the attack; the reason."""


@dataclasses.dataclass(frozen=True)
class Attack:
    """One row of the table: `hourly` tries in an hour. An attack that counts views has several tries in one trial."""
    name: str
    hourly: int
    run: typing.Callable
    meaning: str
    per_trial: int = 1  # tries that one trial makes, about


@dataclasses.dataclass(frozen=True)
class Setup:
    """What all trials share."""
    binary: pathlib.Path
    asan: typing.Optional[pathlib.Path]
    folder: pathlib.Path
    mpi: bool
    sanitized: bool
    sources: pathlib.Path


@dataclasses.dataclass
class Result:
    status: int
    out: bytes
    err: bytes
    seconds: float  # without the time for which perfkit waited for a processor

    def __str__(self):
        return "status %d after %.2f s: %s" % (self.status, self.seconds, self.err.decode(errors="replace")[-600:].strip() or "nothing on stderr")


def check(holds, text, *details):
    if not holds:
        raise Failure(" ".join([text, *map(str, details)]))


class Child:
    """A running perfkit. Its output is in files, so that nobody has to read it."""

    def __init__(self, trial, args, env, popen):
        self.trial, self.args = trial, args
        self.files = [trial.folder / ("%s.%d" % (name, len(trial.children))) for name in ("stdout", "stderr")]
        streams = [popen.pop(name, None) or open(path, "wb") for name, path in zip(("stdout", "stderr"), self.files)]
        self.began = time.monotonic()
        self.waited_for_cpu = {}
        self.peak_bytes = 0
        self.process = subprocess.Popen([str(a) if isinstance(a, pathlib.Path) else a for a in args], env=env, cwd=trial.cwd, stdin=popen.pop("stdin", subprocess.DEVNULL),
                                        stdout=streams[0], stderr=streams[1], **popen)
        for stream in streams:
            if hasattr(stream, "close"):
                stream.close()
        self.pid = self.process.pid
        trial.children.append(self)

    def observe(self):
        """Notes how long perfkit and its descendants waited for a processor so far, and the memory of the largest that is perfkit itself."""
        for pid in processes.descendants(self.pid):
            self.waited_for_cpu[pid] = max(self.waited_for_cpu.get(pid, 0), processes.run_delay(pid))
            if processes.is_perfkit(pid, self.trial.binary):
                self.peak_bytes = max(self.peak_bytes, processes.peak_bytes(pid))

    def delay(self):
        return sum(self.waited_for_cpu.values())

    def seconds(self):
        return time.monotonic() - self.began

    def ended(self, seconds, step=0.05):
        """True when it ends within `seconds` from now, to which is added what it waited for a processor meanwhile."""
        began, before = time.monotonic(), self.delay()
        ready = select.poll()
        try:
            fd = os.pidfd_open(self.pid)
        except ProcessLookupError:
            return True
        try:
            ready.register(fd, select.POLLIN)
            while not ready.poll(step * 1000):
                self.observe()
                if time.monotonic() - began > seconds + self.delay() - before:
                    return False
        finally:
            os.close(fd)
        return True

    def result(self, seconds, statuses=DOCUMENTED):
        """Waits for the end and checks what every end promises."""
        in_time = self.ended(seconds)
        check(in_time, "did not end within %g s:" % seconds, self.shell(), self.tail())
        status = self.process.wait()
        err = self.files[1].read_bytes() if self.files[1].exists() else b""
        out = self.files[0].read_bytes() if self.files[0].exists() else b""
        r = Result(status, out, err, self.seconds() - self.delay())
        check(not SANITIZER.search(err), "a sanitizer reports:", self.shell(), r)
        check(status in statuses, "exit status %d:" % status, self.shell(), r)
        if status in EXPLAINED and err:
            plain = re.sub(rb"\x1b\[[0-9;]*m", b"", err)  # --color always
            check(re.search(rb"^perfkit: .*\n  why: .*\n  try: ", plain, re.M | re.S), "no error of three lines:", self.shell(), r)
        return r

    def send(self, signum):
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signum)

    def catches(self, signum):
        """True when its handler is installed."""
        with contextlib.suppress(OSError, AttributeError):
            text = pathlib.Path("/proc/%d/status" % self.pid).read_text()
            return bool(int(re.search(r"^SigCgt:\s*(\w+)", text, re.M).group(1), 16) >> (signum - 1) & 1)
        return False

    def tail(self):
        return self.files[1].read_bytes()[-400:].decode(errors="replace") if self.files[1].exists() else ""

    def shell(self):
        return " ".join(repr(str(a))[:120] if re.search(r"[^\w./=:,@%+-]", str(a)) else str(a) for a in self.args)


class Trial:
    """A folder with a home, a working directory and a store, a seed, and a token by which every process of the trial is known."""

    def __init__(self, setup, attack, seed, folder):
        self.setup, self.attack, self.seed, self.folder = setup, attack, seed, folder
        self.rng = random.Random("%s %d" % (attack, seed))
        self.binary = setup.binary
        self.token = "%s%s-%d" % (TOKEN % os.getpid(), attack.replace(" ", "-"), seed)
        self.children = []
        self.tries = 1
        self.subject = ""  # what the attack has chosen, for the message of a failure
        self.home, self.cwd, self.tmp = folder / "home", folder / "cwd", folder / "tmp"
        self.beside = folder / "store"
        for d in (self.home, self.cwd, self.tmp, self.beside):
            d.mkdir(parents=True)
        self.db = self.beside / "perfkit.db"

    def environment(self, env=None):
        base = {k: os.environ[k] for k in PASSED_ON if k in os.environ}
        base.update(HOME=str(self.home), XDG_CONFIG_HOME=str(self.home / "config"), XDG_DATA_HOME=str(self.home / "data"), TMPDIR=str(self.tmp),
                    LC_ALL="C.UTF-8", TERM="dumb", PERFKIT_DB=str(self.db), ATTACK_MARK=self.token, PYTHONDONTWRITEBYTECODE="1")
        base.update(env or {})
        return {k: v if isinstance(v, bytes) else str(v) for k, v in base.items() if v is not None}

    def start(self, *args, env=None, before=(), **popen):
        """A running perfkit; `before` is a program that starts it, with its arguments."""
        return Child(self, [*before, self.binary, *args], self.environment(env), popen)

    def call(self, *args, seconds=30, statuses=DOCUMENTED, **options):
        return self.start(*args, **options).result(seconds, statuses)

    # --- what has to hold ---

    def nothing_lives(self, seconds=5):
        """No process of the trial is left; what is left is ended here, so that it disturbs no other trial."""
        left = processes.left_alive(self.token, seconds)
        if left:
            names = ["%d (%s)" % (pid, processes.command_line(pid)[:80]) for pid in left]
            processes.end(left)
            raise Failure("%d processes live on: %s" % (len(left), ", ".join(names)))

    def sound(self, db=None):
        """The store passes `db check` and SQLite's own; returns its slices."""
        db = db or self.db
        r = self.call("db", "check", "--db", db)
        check(r.status == 0, "db check:", r)
        with contextlib.closing(sqlite3.connect(db, timeout=30)) as connection:
            found = connection.execute("PRAGMA integrity_check").fetchall()
        check(found == [("ok",)], "integrity_check:", found)
        return slices(db)

    def spools(self):
        return sorted([*self.beside.glob("*.spool-*.jsonl"), *self.tmp.glob("perfkit-spool-*.jsonl")])

    def only_store_and_spools(self):
        """Beside the store is nothing but it, and spools that import takes. A journal that a killed writer left is removed by the next one."""
        if self.db.with_name(self.db.name + "-journal").exists():
            r = self.call("exec", "--runs", "1", "--no-counters", "--", "true")
            check(r.status == 0, "the next writer fails:", r)
        known = {self.db, *self.spools()}
        left = [p.name for p in self.beside.iterdir() if p not in known]
        check(not left, "files left beside the store:", left)
        for spool in self.spools():
            r = self.call("import", spool)
            check(r.status == 0, "import refuses %s:" % spool.name, r)
            spool.unlink()


def slices(db):
    """The slices of a store: by run, case, pass and invocation, the number of samples and their sum."""
    with contextlib.closing(sqlite3.connect("file:%s?mode=ro" % db, uri=True, timeout=30)) as connection:
        try:
            rows = connection.execute(
                "SELECT r.uuid, c.ordinal, l.pass, l.invocation, l.status, s.n, s.total FROM v_slice l JOIN v_run r USING (run_id) JOIN v_case c USING (case_id)"
                " LEFT JOIN (SELECT case_id, pass, invocation, count(*) AS n, total(value) AS total FROM v_sample GROUP BY 1, 2, 3) s"
                " USING (case_id, pass, invocation)").fetchall()
        except sqlite3.OperationalError as e:
            if "no such table" in str(e):  # killed before there was a schema
                return frozenset()
            raise
    return frozenset(rows)


def content(folder):
    """What is in a folder: by path, mode and content of each file; of those that are long, the size and when it was changed."""
    found = {}
    for path in sorted(folder.rglob("*")):
        s = path.lstat()
        data = None
        if path.is_file() and not path.is_symlink():
            data = hashlib.sha256(path.read_bytes()).hexdigest() if s.st_size < 1 << 24 else (s.st_size, s.st_mtime_ns)
        found[str(path.relative_to(folder))] = (s.st_mode, data)
    return found


# --- one trial from its begin to its end ---


def perform(setup, attack, seed):
    """(tries, failure or None, reason why not possible or None). The folder of a failed trial stays."""
    folder = setup.folder / ("%s-%d" % (attack.name.replace(" ", "-"), seed))
    shutil.rmtree(folder, ignore_errors=True)
    trial, failure = Trial(setup, attack.name, seed, folder), None
    trial.tries = attack.per_trial
    try:
        attack.run(trial)
    except NotPossible as e:
        return 0, None, str(e)
    except Failure as e:
        failure = str(e)
    except Exception as e:  # the attack's own defect is a failure, too: it has not shown what it has to
        at = e.__traceback__
        while at.tb_next and "attack" in at.tb_next.tb_frame.f_code.co_filename:
            at = at.tb_next
        failure = "%s: %s (%s:%d)" % (type(e).__name__, e, pathlib.Path(at.tb_frame.f_code.co_filename).name, at.tb_lineno)
    finally:
        processes.end([c.pid for c in trial.children if c.process.poll() is None and c.ended(0.05) is False])
        try:
            trial.nothing_lives()
        except Failure as e:
            failure = "%s; %s" % (failure, e) if failure else str(e)
        for c in trial.children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                c.process.wait(1)
        if not failure:
            shutil.rmtree(folder, ignore_errors=True)
    return trial.tries, "%s: %s" % (trial.subject, failure) if failure and trial.subject else failure, None


SIGNALS = {s: signal.Signals(s).name for s in (signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT)}
