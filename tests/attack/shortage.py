"""Shortage: many writers of one store, disks and files that are full, limits on what a process may have.

Whatever perfkit cannot do it says, with a documented status; what it measured is in the store or in a spool that import takes."""
import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess

import templates
from trial import DOCUMENTED, Attack, NotPossible, check, slices

WRITERS = 32
ONE = ("run", "selftest", "-d", "null", "-v", "ok,noisy", "-a", "busy_ns=1000,2000", "-i", "2", "--max-samples", "20", "--min-time", "1ms")
EXEC = ("exec", "--runs", "2", "--no-counters", "--name", "true", "--", "true")
GATE = ("gate", "--name", "g", "--a", "true", "--b", "true", "--max-pairs", "8", "--no-fail")


def writers(trial):
    """Each adds what it alone would have added."""
    source = templates.runs(trial.setup)
    spooled = templates.spool(trial.setup)
    shutil.copy(templates.spooled_store(trial.setup), trial.db)
    expected = {"run": 8, "exec": 2}  # slices
    rows = [trial.rng.choices([("run", ONE), ("exec", EXEC), ("merge", ("db", "merge", source)), ("import", ("import", spooled)), ("show", ("show", "@"))],
                              [8, 4, 2, 2, 4])[0] for _ in range(WRITERS)]
    children = [(kind, trial.start(*args)) for kind, args in rows]
    for kind, child in children:
        r = child.result(120)
        check(r.status == 0, "a writer failed:", child.shell(), r)
    trial.nothing_lives()
    found = trial.sound()
    trial.only_store_and_spools()
    with contextlib.closing(sqlite3.connect(trial.db)) as db:
        for kind, words in (("run", "%selftest%"), ("exec", "%true%")):
            per_run = db.execute("SELECT count(*), r.status FROM v_run r LEFT JOIN v_slice s USING (run_id) WHERE r.uuid NOT IN (SELECT value FROM json_each(?))"
                                 " AND r.command_line LIKE ? GROUP BY r.run_id", (uuids(source), words)).fetchall()
            written = sum(k == kind for k, _ in rows)
            check(sorted(per_run) == [(expected[kind], "complete")] * written, "runs by %s:" % kind, per_run, "of", written)
    if any(kind == "merge" for kind, _ in rows):
        check(slices(source) <= found, "merged slices are lost")


def uuids(db):
    with contextlib.closing(sqlite3.connect(db)) as connection:
        return connection.execute("SELECT json_group_array(uuid) FROM run").fetchone()[0]


# --- full ---

# $1: where the disk is; $2: its bytes; $3: where what is on it is copied afterwards. The rest is the command.
ON_SMALL_DISK = """mkdir -p "$1" && mount -t tmpfs -o size=$2 none "$1" || exit 99
disk=$1 copy=$3; shift 3; cp -a "$copy/." "$disk/" && "$@"; status=$?; cp -a "$disk/." "$copy/"; exit $status"""
ALL_COMMANDS = [("run", ONE), ("exec", EXEC), ("gate", GATE), ("merge", ("db", "merge")), ("import", ("import",)), ("prune", ("db", "prune", "--keep", "1")),
                ("baseline", ("baseline", "save", "b", "@")), ("output", ("export", "csv", "@", "-o"))]


def can_mount():
    for way in (["unshare", "-m"], ["unshare", "-m", "--user", "--map-root-user"]):
        with contextlib.suppress(OSError):
            if subprocess.run([*way, "mount", "-t", "tmpfs", "none", "/mnt"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode == 0:
                return way
    return None


def prepared(trial, kind, args):
    """The command and whether it starts with a store; a merge reads a store that is elsewhere."""
    if kind == "import":
        shutil.copy(templates.spooled_store(trial.setup), trial.db)
        return (*args, templates.spool(trial.setup))
    if kind in ("prune", "baseline", "output"):
        shutil.copy(templates.runs(trial.setup), trial.db)
    if kind == "merge":
        return (*args, templates.runs(trial.setup))
    return args


def kept_after(trial, r, before):
    """What a command that had no room left: a sound store with all it had, and spools that import takes."""
    if not trial.db.exists() or not trial.db.stat().st_size:
        check(not before, "the store is gone", r)
        return
    after = trial.sound()
    check(before <= after, "slices are lost:", sorted(before - after)[:3], r)
    trial.only_store_and_spools()


def full_disk(trial):
    """A disk of 20 to 600 KiB; its spool is on it, or in TMPDIR where there is room."""
    way = can_mount()
    if not way:
        raise NotPossible("this user may not mount a tmpfs in a namespace")
    kind, args = trial.rng.choice(ALL_COMMANDS)
    trial.subject = kind
    args = prepared(trial, kind, args)
    before = slices(trial.db) if trial.db.exists() and kind != "prune" else frozenset()
    disk = trial.folder / "disk"
    there = trial.db.stat().st_size if trial.db.exists() else 0
    size = there + int(20000 * 30 ** trial.rng.random())
    env = {"PERFKIT_DB": disk / "perfkit.db", "TMPDIR": trial.rng.choice([disk, trial.tmp])}
    if kind == "output":
        args = (*args, disk / "out.csv")
    r = trial.call(*args, before=[*way, "sh", "-c", ON_SMALL_DISK, "sh", disk, str(size), trial.beside], env=env, seconds=90, statuses={0, 1, 6})
    check(r.status != 99, "cannot mount", r)
    trial.nothing_lives()
    out = trial.beside / "out.csv"
    if kind == "output":
        check(r.status == 0 or not out.exists(), "a part of a file was written:", r)
        out.unlink(missing_ok=True)
    kept_after(trial, r, before)


def full_file(trial):
    """No file may become larger than 1 to 400 KiB (RLIMIT_FSIZE); or the output is /dev/full."""
    if trial.rng.random() < 0.3:
        shutil.copy(templates.runs(trial.setup), trial.db)
        args = trial.rng.choice([("show", "@"), ("export", "csv", "@"), ("list", "runs"), ("doctor", ), ("run", "--help"), ("compare", "--by", "variant", "1"), GATE])
        if trial.rng.random() < 0.5 and args[-1] != "--help":
            r = trial.call(*args, "-o", "/dev/full", seconds=90)
        else:
            with open("/dev/full", "wb") as full:
                r = trial.call(*args, stdout=full, seconds=90)
        check(r.status == 1, "what was not written is not said:", " ".join(args), r)
        return
    kind, args = trial.rng.choice(ALL_COMMANDS)
    trial.subject = kind
    args = prepared(trial, kind, args)
    if kind == "output":
        args = (*args, trial.tmp / "out.csv")
    before = slices(trial.db) if trial.db.exists() and kind != "prune" else frozenset()
    limit = int(1024 * 400 ** trial.rng.random())
    r = trial.call(*args, before=["prlimit", "--fsize=%d" % limit], seconds=90, statuses={0, 1, 6})
    trial.nothing_lives()
    check(r.status == 0 or not (trial.tmp / "out.csv").exists(), "a part of a file was written:", r)
    kept_after(trial, r, before)


# --- limits ---


def limited(trial, name):
    """prlimit's argument, and which ends are no defect: the kernel's, or those of the dynamic linker."""
    r = trial.rng
    if name == "as":
        return "--as=%d" % int((16 << 20) * 64 ** r.random()), {127}
    if name == "nofile":
        return "--nofile=%d" % r.randint(3, 40), {127}
    if name == "nproc":
        return "--nproc=%d" % r.randint(1, 12), set()
    if name == "cpu":
        return "--cpu=1", {-signal.SIGXCPU, -signal.SIGKILL}
    if name == "stack":
        return "--stack=%d" % int((256 << 10) * 32 ** r.random()), set()
    return "--memlock=0", set()


def limits(trial):
    name = trial.rng.choice(["as", "as", "nofile", "nofile", "nproc", "cpu", "stack", "memlock"])
    if name == "as" and trial.setup.sanitized:
        name = "nofile"
    limit, ends = limited(trial, name)
    command = trial.rng.choice([ONE, EXEC, GATE, ("show", "@"), ("doctor",), ("export", "json", "@"), ("db", "check"), ("compare", "--by", "variant", "1")])
    if name == "cpu":
        command = ("run", "selftest", "-d", "null", "-v", "ok,noisy", "-a", "busy_ns=10:2000:+10", "-i", "9")
    if command[0] not in ("run", "exec", "gate"):
        shutil.copy(templates.runs(trial.setup), trial.db)
    before = ["prlimit", "--core=0", limit]
    trial.subject = limit
    if name == "nproc":
        before = as_other_user(trial, before)
    had = slices(trial.db) if trial.db.exists() else frozenset()
    r = trial.call(*command, before=before, seconds=60, statuses=DOCUMENTED | ends)
    check(r.status != 127 or b"shared lib" in r.err or b"cannot" in r.err, "status 127:", r)
    trial.nothing_lives()
    kept_after(trial, r, had)


def as_other_user(trial, before):
    """The limit on processes is that of a user, and root has none."""
    if os.geteuid():
        return before
    if subprocess.run(["setpriv", "--reuid", "65534", "--clear-groups", str(trial.binary), "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                      check=False).returncode:
        raise NotPossible("root has no limit on processes, and no other user may start %s" % trial.binary)
    for path in [trial.folder, *trial.folder.rglob("*")]:
        os.chown(path, 65534, 65534)
    return ["setpriv", "--reuid", "65534", "--clear-groups", *before]


ATTACKS = [
    Attack("writers", 20 * WRITERS, writers, "32 processes write one store at the same time: runs, commands, merges, imports, with readers", WRITERS),
    Attack("full disk", 150, full_disk, "a disk of 20 to 600 KiB: run, exec, gate, merge, import, prune, baseline, -o"),
    Attack("full file", 200, full_file, "RLIMIT_FSIZE of 1 to 400 KiB; output to /dev/full"),
    Attack("limits", 300, limits, "RLIMIT_AS, NOFILE, NPROC, CPU, STACK, MEMLOCK"),
]
