"""Hostile files: for every option and argument that names a file to read or to write, files of any content and of any kind.

perfkit ends in time with a documented status and changes no other file; what it cannot read it refuses."""
import os
import shutil
import signal

import templates
from trial import DOCUMENTED, Attack, check, content

WITHIN = 10
MOST_BYTES = 1 << 30
LINES_BYTES = 64 << 20  # of many lines, which may be whole stores
DRY = ("-d", "null", "--dry-run")
ONE = ("-d", "null", "-i", "1", "--max-samples", "16", "--min-samples", "2", "--max-time", "10ms", "--min-time", "1ms", "--timeout", "2s")

# What reads a file: a good one, and the command, in which FILE stands for it.
TENSORS = b"a.weight 30000\nb.bias 70\n"
TREE = b"layers.0.attention.query.weight 64x64\nlayers.0.attention.query.bias 64\nlayers.1.attention.query.weight 64x64\n"
PLAN = b"*.query = column\n*.output = row\n"
SUITE = b"[one]\nexperiment = selftest\nvariant = ok\ndevice = null\n\n[two]\ncommand = true\nruns = 2\n"
GATES = b"[one]\na = true\nb = true\nmax-pairs = 8\n"
CONFIG = b"[perfkit]\nformat = json\n\n[run]\nmax-time = 2s\ntag = a=b\n"
SAFETENSORS = (b'{"w":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}' + b" " * 7).ljust(72)
SAFETENSORS = len(SAFETENSORS).to_bytes(8, "little") + SAFETENSORS + bytes(16)

READERS = [
    ("--suite", SUITE, ("run", "--suite", "FILE", "--dry-run")),
    ("--suite of gate", GATES, ("gate", "--suite", "FILE", "--dry-run")),
    ("input of selftest", b"bytes", ("run", "selftest", "-v", "ok", *ONE, "-a", "input=FILE")),
    ("tensors of ddp-bucket", TENSORS, ("run", "ddp-bucket", "-v", "flat", *ONE, "-a", "tensors=FILE")),
    ("--tensors of plan", TENSORS, ("plan", "bucket", "--tensors", "FILE")),
    ("tree of tree-patch", TREE, ("run", "tree-patch", "-v", "grouped", *ONE, "-a", "tree=FILE")),
    ("plan of tree-patch", PLAN, ("run", "tree-patch", "-v", "grouped", *ONE, "-a", "layers=2", "-a", "plan=FILE")),
    ("weights of mixed-precision", SAFETENSORS, ("run", "mixed-precision", "-v", "eager", *ONE, "--no-check", "-a", "mode=forward", "-a", "layers=1", "-a", "weights=FILE")),
    ("./.perfkit.ini", CONFIG, ("list", "experiments")),
    ("config.ini", CONFIG, ("list", "experiments")),
    ("import", None, ("import", "FILE")),
    ("db merge", None, ("db", "merge", "FILE")),
    ("FILE.db:RUN", None, ("show", "FILE:@")),
    ("--db", None, ("list", "runs", "--db", "FILE")),
    ("--db of run", None, ("run", "selftest", "-v", "ok", *ONE, "--db", "FILE")),
    ("--peer", b"import sys\nsys.exit(0)\n", ("run", "selftest", "-v", "ok", *ONE, "--peer-startup", "1s", "--peer", "FILE")),
    ("--python", b"#!/bin/sh\nexit 0\n", ("run", "selftest", "-v", "ok", *ONE, "--peer-startup", "1s", "--peer", "numpy-attention", "--python", "FILE")),
    ("exec", b"#!/bin/sh\nexit 0\n", ("exec", "--runs", "1", "--no-counters", "--timeout", "2s", "--", "FILE")),
    ("--a", b"#!/bin/sh\nexit 0\n", ("gate", "--name", "g", "--a", "FILE", "--b", "FILE", "--max-pairs", "8", "--timeout", "2s")),
    ("-o", b"", ("list", "experiments", "-o", "FILE")),
    ("--junit", b"", ("gate", "--name", "g", "--a", "true", "--b", "true", "--max-pairs", "8", "--junit", "FILE")),
    ("--json", b"", ("gate", "--name", "g", "--a", "true", "--b", "true", "--max-pairs", "8", "--json", "FILE")),
    ("--summary", b"", ("gate", "--name", "g", "--a", "true", "--b", "true", "--max-pairs", "8", "--summary", "FILE")),
    ("--gab", b"", ("gate", "--name", "g", "--a", "true", "--b", "true", "--max-pairs", "8", "--gab", "FILE")),
]
STORES = ("db merge", "FILE.db:RUN", "--db", "--db of run")
# What is written may be any file, which `-o` replaces or writes to; a device or pipe without an end is the user's.
WRITERS = ("-o", "--junit", "--json", "--summary", "--gab")


def mutated(rng, data):
    """Bytes of a good file changed, doubled, cut."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 3, 10])):
        at = rng.randrange(len(data) + 1)
        how = rng.randrange(6)
        if how == 0 and data:
            data[at % len(data)] = rng.choice(b"\0\n\xff=[]{}:,\"'\\-9xe ")
        elif how == 1:
            data[at:at] = rng.choice([b"\0", b"\n" * 50, b"[", b"\xff\xfe", b"9" * 40, b"-1", b"1e999", b"nan", b"\xe2\x80\xae", b"x" * 5000, b"=", b"%n", b"::error::"])
        elif how == 2:
            del data[at:at + rng.randint(1, 8)]
        elif how == 3:
            data[at:at] = data[:at]
        elif how == 4:
            del data[at:]
        else:
            lines = data.split(b"\n")
            rng.shuffle(lines)
            data = bytearray(b"\n".join(lines))
    return bytes(data)


def many_lines(rng, good):
    line = rng.choice([b"\n", b"a 1\n", b"x\n", b"[a]\n", b"a.b 1x1\n", good])
    return line * min(rng.choice([1000, 200000]), LINES_BYTES // max(1, len(line)))


def regular(make):
    def write(rng, path, good):
        path.write_bytes(make(rng, good))
    return write


def sparse(rng, path, good):
    path.write_bytes(good)
    os.truncate(path, rng.choice([64 << 20, 1 << 32, 1 << 40]))


def locked(rng, path, good):
    path.write_bytes(good)
    path.chmod(rng.choice([0, 0o200, 0o111, 0o4755, 0o666]))


def link_to(target):
    return lambda rng, path, good: path.symlink_to(target)


def loop(rng, path, good):
    path.with_name("other").symlink_to(path.name)
    path.symlink_to("other")


def dangling_into(rng, path, good):
    path.symlink_to("no/such/folder/file")


def folder(rng, path, good):
    path.mkdir()
    (path / "inside").write_bytes(good)


def socket_file(rng, path, good):
    os.mknod(path, 0o140600)


KINDS = [
    ("mutated", 10, regular(mutated)),
    ("random", 3, regular(lambda rng, good: rng.randbytes(rng.choice([1, 100, 5000, 100000])))),
    ("empty", 1, regular(lambda rng, good: b"")),
    ("good", 1, regular(lambda rng, good: good)),
    ("one line", 2, regular(lambda rng, good: rng.choice([b"x", b"[", b"1 ", b"a.b ", b"=", good[:20]]) * rng.choice([1000, 3000000]))),
    ("many lines", 2, regular(many_lines)),
    ("numbered lines", 2, regular(lambda rng, good: b"".join(rng.choice([b"a.b%d 8\n", b"l.%d.w 4x4\n", b"[s%d]\nexperiment = selftest\n", b"p%d = row\n"]) % i for i in range(rng.choice([100, 20000]))))),
    ("sparse", 2, sparse),
    ("mode", 2, locked),
    ("fifo", 1, lambda rng, path, good: os.mkfifo(path)),
    ("/dev/zero", 1, link_to("/dev/zero")), ("/dev/full", 1, link_to("/dev/full")), ("/dev/null", 1, link_to("/dev/null")), ("/dev/urandom", 1, link_to("/dev/urandom")),
    ("/proc/self/mem", 1, link_to("/proc/self/mem")), ("/proc/self/exe", 1, link_to("/proc/self/exe")), ("/dev/stdin", 1, link_to("/dev/stdin")),
    ("folder", 1, folder), ("loop of links", 1, loop), ("link to nothing", 1, dangling_into), ("socket", 1, socket_file), ("link to itself", 1, link_to("hostile")),
]


def hostile_file(trial):
    name, good, command = trial.rng.choice(READERS)
    kind, _, make = trial.rng.choices(KINDS, [k[1] for k in KINDS])[0]
    if name in WRITERS and kind == "/proc/self/exe":  # who names it gets a perfkit that is a table
        kind, make = "good", regular(lambda rng, good: good)
    trial.subject = "%s, %s" % (name, kind)
    here = trial.folder / "files"
    here.mkdir()
    path = {"./.perfkit.ini": trial.cwd / ".perfkit.ini", "config.ini": trial.home / "config" / "perfkit" / "config.ini"}.get(name, here / "hostile")
    path.parent.mkdir(parents=True, exist_ok=True)
    if name in STORES:
        good = templates.runs(trial.setup).read_bytes()
    elif name == "import":
        good = templates.spool(trial.setup).read_bytes()
        shutil.copy(templates.spooled_store(trial.setup), trial.db)
    make(trial.rng, path, good)
    canary = here / "canary"
    canary.write_text("sings")
    before = content(trial.home) if kind != "fifo" else None
    child = trial.start(*(str(a).replace("FILE", str(path)) for a in command))
    in_time = child.ended(WITHIN)
    if not in_time and (kind == "fifo" or name in WRITERS):
        child.send(signal.SIGINT)  # it waits for the other end; a signal ends that
        child.result(2, {0, 130})
        return
    ends = {127, 126} if name in ("exec", "--a", "--python") else set()
    check(in_time, "did not end within %g s:" % WITHIN, child.shell())
    child.result(0.1, DOCUMENTED | ends)
    check(child.peak_bytes < MOST_BYTES, "took %d bytes of a file of the kind %s:" % (child.peak_bytes, kind), child.shell())
    check(canary.read_text() == "sings", "another file was changed by", child.shell())
    check(before is None or content(trial.home) == before, "the home directory was changed by", child.shell())


ATTACKS = [Attack("hostile file", 1200, hostile_file, "%d options and arguments that name a file, %d kinds of files" % (len(READERS), len(KINDS)))]
