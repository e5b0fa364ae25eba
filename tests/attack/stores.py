"""Stores of strangers: values, structure and bytes of a store are changed, then every command that reads one is pointed at it.

A view may refuse with a message; it may not crash, hang, take much memory, or write to another file. The copy of a store that
FILE.db:RUN and `db merge` read may not be changed at all."""
import contextlib
import functools
import os
import random
import shutil
import sqlite3
import struct

import templates
from trial import Attack, check, content

WITHIN = 10
MOST_BYTES = 1 << 30
NUMBERS = [-1, -2, 0, 1, 3, 99999, 1 << 31, -(1 << 31), (1 << 32) + 1, (1 << 63) - 1, -(1 << 63), 1e308, -1e308, float("inf"), 0.1, 5e-324]
TEXTS = ["", "x", "\x1b]0;title\x07", "::error::text", "a\nb\r\nc", "x" * 100000, "\u202e\u200b\ufeff", "{}", "[]", "null", "{\"a\":", "[" * 2000, "-9223372036854775809",
         "'; DROP TABLE run; --", "=cmd|' /C calc'!A0", "%s%s%n", "../../../../etc/passwd", "complete", "running", "ok", "failed", "selftest", "exec"]
BLOBS = [b"", b"\0", b"\xff\xfe", b"\x80" * 5000]
EXPORTS = ["samples", "summary", "invocations", "cases", "slices", "settings", "fits", "counters", "roofline", "states", "doubts", "breakdown", "kernels", "memory",
           "timeline", "topology", "runs"]
FORMATS = ["table", "markdown", "csv", "json", "jsonl"]


def tables(db):
    return [name for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")]


def columns(db, table):
    return [row[1] for row in db.execute("PRAGMA table_info(%s)" % table)]


def any_value(rng):
    return rng.choice([rng.choice(NUMBERS), rng.choice(NUMBERS), rng.choice(TEXTS), None, rng.choice(BLOBS), rng.randint(-5, 50)])


def change_values(rng, path):
    """Values of any kind in any column, rows that are gone or there twice, parents that do not exist, cycles: without constraints."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA foreign_keys = OFF")
        db.execute("PRAGMA ignore_check_constraints = ON")
        for name, in db.execute("SELECT name FROM sqlite_schema WHERE type = 'trigger'").fetchall() if rng.random() < 0.1 else ():
            db.execute('DROP TRIGGER "%s"' % name)
        for _ in range(rng.choice([1, 1, 2, 3, 8])):
            table = rng.choice(tables(db))
            names = columns(db, table)
            column, other = rng.choice(names), rng.choice(names)
            with contextlib.suppress(sqlite3.Error, OverflowError):
                rng.choice([
                    lambda: db.execute('UPDATE "%s" SET "%s" = ? WHERE rowid %% ? = 0' % (table, column), (any_value(rng), rng.randint(1, 5))),
                    lambda: db.execute('UPDATE "%s" SET "%s" = ?' % (table, column), (any_value(rng),)),
                    lambda: db.execute('UPDATE "%s" SET "%s" = "%s"' % (table, column, other)),
                    lambda: db.execute('UPDATE "%s" SET "%s" = "%s" * ?' % (table, column, column), (rng.choice([-1, 1000000, 1 << 40]),)),
                    lambda: db.execute('DELETE FROM "%s" WHERE rowid %% ? = 0' % table, (rng.randint(1, 3),)),
                    lambda: db.execute('INSERT INTO "%s" SELECT * FROM "%s" LIMIT 5' % (table, table)),
                ])()


HOSTILE_OBJECTS = [
    "CREATE VIEW v_a AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) AS run_id FROM c",
    "CREATE VIEW \"v_a;ATTACH 'W' AS w;--\" AS SELECT 1",
    "CREATE TRIGGER t_a AFTER UPDATE ON run BEGIN UPDATE run SET label = label || 'x'; END",
    "CREATE TRIGGER t_b AFTER INSERT ON run BEGIN DELETE FROM run; END",
    "CREATE TABLE other(a, b DEFAULT (randomblob(100000000)))",
    "CREATE INDEX i_a ON run(abs(started_ns))",
    "CREATE UNIQUE INDEX i_b ON run_case(run_id)",
    "CREATE VIRTUAL TABLE f USING fts5(a)",
    "CREATE VIEW v_b AS SELECT load_extension('W'), readfile('/etc/passwd'), writefile('W', 'x'), edit('x', 'touch W')",
]


def change_structure(rng, path):
    """Tables, views, triggers and indices that perfkit did not make, or made otherwise; pragmas that the file itself holds."""
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        objects = db.execute("SELECT type, name, sql FROM sqlite_schema WHERE sql IS NOT NULL").fetchall()
        kind, name, sql = rng.choice(objects)

        def rewrite(new):
            db.execute("PRAGMA writable_schema = ON")
            db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (new, name))
            db.execute("PRAGMA writable_schema = RESET")

        def swap():
            db.execute("PRAGMA writable_schema = ON")
            db.execute("UPDATE sqlite_schema SET rootpage = ? WHERE name = ?", (rng.choice([0, 1, 2, 3, 99999, -1]), name))

        def strange_view():
            views = [n for k, n, _ in objects if k == "view"]
            which = rng.choice(views)
            db.execute('DROP VIEW "%s"' % which)
            db.execute('CREATE VIEW "%s" AS %s' % (which, rng.choice([
                "SELECT 1 AS run_id", "SELECT * FROM run", 'SELECT * FROM "%s"' % which, "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x AS run_id FROM c",
                "SELECT zeroblob(500000000) AS run_id", "SELECT load_extension('W') AS run_id"])))

        words = sql.split(" ")
        with contextlib.suppress(sqlite3.Error):
            rng.choice([
                lambda: db.execute(rng.choice(HOSTILE_OBJECTS)),
                lambda: db.execute('DROP %s "%s"' % (kind, name)),
                lambda: rewrite(sql.replace("STRICT", "")),
                lambda: rewrite(sql.replace(rng.choice(words), rng.choice(words), 1)),
                lambda: rewrite(sql[:rng.randint(0, len(sql))]),
                lambda: rewrite(sql.replace("INTEGER", rng.choice(["TEXT", "BLOB", "ANY"]), rng.randint(1, 3))),
                swap,
                strange_view,
                lambda: db.execute("PRAGMA user_version = %d" % rng.choice([0, 1, 9, 10, 15, 17, 99, -1, (1 << 31) - 1])),
                lambda: db.execute("PRAGMA application_id = %d" % rng.randint(-100, 100)),
                lambda: db.execute("PRAGMA journal_mode = WAL"),
                lambda: db.executescript("PRAGMA page_size = %d; VACUUM" % rng.choice([512, 65536])),
                lambda: db.execute('ALTER TABLE "%s" RENAME TO renamed' % rng.choice(tables(db))),
            ])()
    if rng.random() < 0.3:
        with contextlib.suppress(sqlite3.DatabaseError):  # where there are still tables to change
            change_values(rng, path)


def journal(rng, data):
    """A journal with the right magic number and a page count, sectors and pages of any kind; sometimes it names a super-journal."""
    pages = rng.choice([0, 1, 3, 1 << 31, 0xffffffff])
    head = struct.pack(">8s5I", b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7", pages, rng.getrandbits(32), rng.choice([0, 1, len(data) // 4096, 1 << 31]), rng.choice([0, 512, 4096, 1 << 30]), rng.choice([0, 512, 4096, 65536, 77]))
    body = head.ljust(512, b"\0") + b"".join(struct.pack(">I", rng.choice([1, 2, 99999])) + rng.randbytes(4096) + rng.randbytes(4) for _ in range(rng.randint(0, 3)))
    name = b"canaries/one"
    return body + (struct.pack(">I", 262145) + name + struct.pack(">2I", len(name), sum(name)) + head[:8] if rng.random() < 0.4 else b"")


def change_bytes(rng, path):
    """Bits, words, pages, the length; and files beside it that SQLite would read."""
    data = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 2, 4, 16, 64])):
        at = rng.choice([rng.randrange(100), rng.randrange(len(data)), rng.randrange(len(data)), 4096 * rng.randrange(max(1, len(data) // 4096)) + rng.randrange(12)])
        at = min(at, len(data) - 1)
        how = rng.random()
        if how < 0.5:
            data[at] ^= 1 << rng.randrange(8)
        elif how < 0.7:
            data[at:at + 4] = struct.pack(">I", rng.choice([0, 1, 0x7fffffff, 0xffffffff, rng.getrandbits(32)]))
        elif how < 0.8:
            data[at:at + 9] = b"\xff" * 9
        elif how < 0.9:
            one, two = (4096 * rng.randrange(len(data) // 4096) for _ in range(2))
            data[one:one + 4096], data[two:two + 4096] = data[two:two + 4096], data[one:one + 4096]
        else:
            data[at:at + 64] = rng.randbytes(64)
    how = rng.random()
    if how < 0.15:
        del data[rng.randrange(len(data)):]
    elif how < 0.2:
        data += rng.randbytes(rng.randint(1, 20000))
    path.write_bytes(data)
    if rng.random() < 0.15:
        beside = path.with_name(path.name + rng.choice(["-journal", "-journal", "-wal", "-shm"]))
        rng.choice([lambda: beside.write_bytes(journal(rng, data)), lambda: beside.write_bytes(rng.randbytes(rng.randint(0, 9000))), lambda: os.mkfifo(beside),
                    beside.mkdir, lambda: beside.symlink_to("canaries/one")])()


def views(rng, evil, own):
    """Arguments that read the store as a stranger's, and those that make it the store."""
    at = "%s:%s" % (evil, rng.choice(["@", "1", "second", "@~1"]))
    style = ("--format", rng.choice(FORMATS))
    mine = ("--db", own)
    strange = [("show", at, *mine, *style), ("compare", at, "%s:2" % evil, *mine, *style), ("compare", "1", at, *mine, "--all-metrics"), ("compare", "--by", "variant", at, *mine),
               ("export", rng.choice(FORMATS[1:]), at, "--what", rng.choice(EXPORTS), *mine), ("db", "merge", evil, *mine),
               ("gate", "--against", at, "1", *mine, "--no-save"), ("plan", "bucket", "--from", at, *mine)]
    as_own = [("show", "@", "--db", evil, *style), ("list", "runs", "--db", evil, *style), ("history", "selftest", "--db", evil, *style), ("db", "check", "--db", evil),
              ("db", "info", "--db", evil), ("export", "csv", "@", "--what", rng.choice(EXPORTS), "--db", evil), ("baseline", "list", "--db", evil),
              ("compare", "1", "2", "--db", evil), ("db", "prune", "--keep", "1", "--dry-run", "--db", evil), ("db", "migrate", "--db", evil)]
    return rng.sample(strange, 5), rng.sample(as_own, 5)


def open_changed(change, trial):
    rng = random.Random(trial.rng.random())
    trial.binary = trial.setup.asan or trial.binary
    evil_folder = trial.folder / "evil"
    evil_folder.mkdir()
    canaries = trial.cwd / "canaries"
    canaries.mkdir()
    for name in ("one", "two"):
        (canaries / name).write_text(name)
    evil = evil_folder / "evil.db"
    shutil.copy(templates.runs(trial.setup), evil)
    shutil.copy(templates.runs(trial.setup), trial.db)
    change(rng, evil)
    strange, as_own = views(rng, evil, trial.db)
    trial.tries = 0
    for of_stranger, commands in ((True, strange), (False, as_own)):
        evil_before = content(evil_folder)
        others_before = content(trial.cwd), content(trial.home)
        for command in commands:
            trial.tries += 1
            child = trial.start(*command)
            child.result(WITHIN)
            check(child.peak_bytes < MOST_BYTES, "took %d bytes:" % child.peak_bytes, child.shell())
            check((content(trial.cwd), content(trial.home)) == others_before, "another file was changed by", child.shell())
            check(not of_stranger or content(evil_folder) == evil_before, "a store of a stranger was changed by", child.shell())
    stray = [p.name for p in evil_folder.iterdir() if not p.name.startswith("evil.db")]
    check(not stray, "files were written:", stray)
    trial.sound()


VIEWS = 10
ATTACKS = [
    Attack("store: values", 3500, functools.partial(open_changed, change_values), "views of a store with changed values, ids, foreign keys, rows", VIEWS),
    Attack("store: structure", 3500, functools.partial(open_changed, change_structure), "views of a store with changed tables, views, triggers, indices, pragmas", VIEWS),
    Attack("store: bytes", 3500, functools.partial(open_changed, change_bytes), "views of a store with changed bytes, pages, length, journals", VIEWS),
]
