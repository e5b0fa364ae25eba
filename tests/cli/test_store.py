"""The store from the front door: show, export, import and db, and every way a file can be wrong.

A small program built with the tests (store-writer) records runs, so that nothing here depends on measuring."""
import contextlib
import csv
import io
import json
import os
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import time
import uuid

import pytest
from conftest import not_sanitized

WRITER = os.environ["PK_STORE_WRITER"]
NEWEST = max(int(f.name[:4]) for f in (pathlib.Path(__file__).parents[2] / "schema").glob("[0-9]*.sql"))


def record(path, runs=1, cases=2, slices=3, samples=20, *more):
    subprocess.run([WRITER, str(path), str(runs), str(cases), str(slices), str(samples), *more], check=True, timeout=60, stdout=subprocess.DEVNULL)


def views(path, sql):
    db = sqlite3.connect(path)
    try:
        return db.execute(sql).fetchall()
    finally:
        db.close()


# --- show and export ---------------------------------------------------------------------------------------------


def test_show_prints_a_saved_run(perfkit):
    record(perfkit.db)
    shown = perfkit("show")
    assert shown.status == 0 and "Times" in shown.stdout and "forward_ns" in shown.stdout
    rows = perfkit("show", "@", "--format", "json").rows("case_times")
    assert len(rows) == 2 and rows[0]["n"] == 60 and rows[0]["median_ns"] > 0


def copies(path, n):
    """Adds n copies of every run, without their samples."""
    moved = {"run": ["id"], "setting": ["run_id"], "run_case": ["id", "run_id"], "work": ["case_id"], "slice": ["id", "case_id"],
             "slice_summary": ["slice_id"], "summary": ["case_id"]}
    with sqlite3.connect(path) as db:
        db.create_function("new_uuid", 0, lambda: uuid.uuid4().hex)
        for table, keys in moved.items():
            names = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
            values = [f"{c} + k.i * 1000000" if c in keys else "new_uuid()" if c == "uuid" else c for c in names]
            db.execute(f"WITH k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i < {n})"
                       f" INSERT INTO {table}({', '.join(names)}) SELECT {', '.join(values)} FROM {table}, k")


@not_sanitized
def test_a_run_is_shown_as_fast_in_a_store_of_many(perfkit):
    """Its views are joined as if they held that run alone: three hundred others took a second and more."""
    def shown():
        begin = time.monotonic()
        r = perfkit("show", "1")
        took = time.monotonic() - begin
        assert r.status == 0 and "Crossover" in r.stdout
        return took, r.stdout

    few = ("--min-samples", "2", "--min-time", "1ms", "--max-time", "2ms", "--invocations", "1", "-a", "seq_len=128,256")
    assert perfkit("run", "attention-scaling", *few, env={"PERFKIT_DEVICE": "null"}).status == 0
    alone = [shown() for _ in range(3)]
    copies(perfkit.db, 300)
    among = [shown() for _ in range(3)]
    assert views(perfkit.db, "SELECT count(*) FROM v_run") == [(301,)]
    assert {text for _, text in alone + among} == {alone[0][1]}
    assert min(took for took, _ in among) < 3 * min(took for took, _ in alone)


def test_export_has_every_sample(perfkit):
    record(perfkit.db)
    exported = list(csv.DictReader(io.StringIO(perfkit("export", "csv").stdout)))
    stored = views(perfkit.db, "SELECT case_id, invocation, ordinal, value FROM v_sample")
    assert sorted((int(r["case_id"]), int(r["invocation"]), int(r["ordinal"]), int(r["value"])) for r in exported) == sorted(stored)
    assert len(stored) == 2 * 3 * 20


@not_sanitized
def test_export_everything_everywhere(perfkit):
    record(perfkit.db)
    for what in ("samples", "summary", "invocations", "cases", "slices", "settings", "fits", "runs"):
        for fmt in ("csv", "markdown"):
            done = perfkit("export", fmt, "@", "--what", what)
            assert done.status == 0 and "run_id" in done.stdout, done
        for line in perfkit("export", "jsonl", "--what", what).stdout.splitlines():
            json.loads(line)
        rows = perfkit("export", "json", "--what", what).rows("export_" + what)
        assert rows or what == "fits"
        if what == "cases":
            assert isinstance(rows[0]["axes"], dict)


@not_sanitized
def test_export_of_an_empty_result_has_its_header(perfkit):
    record(perfkit.db)
    fits = perfkit("export", "csv", "--what", "fits")
    assert fits.stdout.startswith("run_id,name,metric") and "run 1 has no rows of --what fits" in fits.stderr
    for what, how in (("memory", "--allocations"), ("breakdown", "--breakdown"), ("timeline", "ddp-bucket"), ("counters", "--counters")):
        done = perfkit("export", "csv", "--what", what)
        assert done.status == 0 and f"run 1 has no rows of --what {what}: " in done.stderr and how in done.stderr, done
        assert done.stdout.startswith("run_id,") and done.stdout.count("\n") == 1
    assert perfkit("export", "csv").stderr == ""


@not_sanitized
def test_wrong_words(perfkit):
    record(perfkit.db)
    perfkit("export", "xml").refused(2, "xml", "csv")
    perfkit("export", "table").refused(2, "table", "perfkit show")
    perfkit("export", "csv", "--what", "sample").refused(2, "sample")
    perfkit("show", "nightly").refused(2, "nightly", "newest runs: 1")
    perfkit("show", "@~1").refused(2, "@~1")
    perfkit("db", "chekc").refused(2, "check")
    perfkit("db", "merge").refused(2, "FILE")
    perfkit("db", "info", "x").refused(2, "too many")


# --- files that are none -------------------------------------------------------------------------------------------


def test_no_store_yet(perfkit):
    perfkit("show").refused(6, "there is no store", "perfkit run")


def test_not_a_database(perfkit):
    perfkit.db.write_bytes(b"hello, this is text, not a database" * 100)
    perfkit("show").refused(1, "not a SQLite database", "--db")


def test_another_programs_database(perfkit):
    db = sqlite3.connect(perfkit.db)
    db.execute("CREATE TABLE t(x)")
    db.close()
    perfkit("show").refused(1, "another program")
    perfkit("db", "migrate").refused(1, "another program")
    assert views(perfkit.db, "SELECT name FROM sqlite_schema") == [("t",)]


def test_a_newer_store_names_both_versions(perfkit):
    record(perfkit.db)
    db = sqlite3.connect(perfkit.db)
    db.execute("PRAGMA user_version = 999")
    db.close()
    perfkit("show").refused(1, "999", f"versions up to {NEWEST}", "newer perfkit")


def test_a_directory(perfkit, tmp_path):
    perfkit("show", "--db", tmp_path).refused(1, "directory")


def empty_database(path):
    """Has one page and no tables: what SQLite rolls back to when a process was killed while it wrote the schema."""
    db = sqlite3.connect(path)
    db.executescript("CREATE TABLE t (x); DROP TABLE t; VACUUM;")
    db.close()
    assert path.stat().st_size > 0


@pytest.mark.parametrize("make", [pathlib.Path.touch, empty_database])
def test_a_store_with_nothing_in_it(perfkit, make):
    make(perfkit.db)
    perfkit("show").refused(1, "empty", "nothing was recorded", "`perfkit run`", "--db")
    assert perfkit("exec", "-r", "1", "--no-counters", "--", "true").status == 0
    assert perfkit("db", "check").status == 0 and perfkit("show").status == 0


def test_corrupt_bytes(perfkit):
    record(perfkit.db, 1, 4, 5, 2000)
    size = perfkit.db.stat().st_size
    with open(perfkit.db, "r+b") as f:
        for at in range(4096 * 4, size, 4096):
            f.seek(at)
            f.write(b"\xff" * 64)
    for args in (("show",), ("export", "csv"), ("db", "check")):
        done = perfkit(*args)
        assert done.status == 1 and "damaged" in done.stderr + done.error()["why"], done


def test_a_truncated_file(perfkit):
    record(perfkit.db, 1, 4, 5, 2000)
    with open(perfkit.db, "r+b") as f:
        f.truncate(perfkit.db.stat().st_size // 2)
    done = perfkit("db", "check")
    assert done.status == 1
    done.error()


def as_nobody(args):
    return ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", *args] if os.geteuid() == 0 else args


def test_read_only(perfkit, tmp_path):
    """A reader needs no write permission; a writer is told."""
    place = tmp_path / "ro"
    place.mkdir()
    record(place / "s.db")
    os.chmod(place / "s.db", 0o444)
    os.chmod(place, 0o555)
    for d in [place, *place.parents][:4]:
        if d.stat().st_uid == os.geteuid() and d != place:
            os.chmod(d, d.stat().st_mode | 0o755)
    from conftest import BINARY
    if os.geteuid() == 0 and not os.access(BINARY, os.X_OK):
        pytest.skip("nobody cannot run the program")
    env = perfkit.environment(db=place / "s.db")
    shown = subprocess.run(as_nobody([BINARY, "show"]), env=env, capture_output=True, text=True, cwd="/")
    assert shown.returncode == 0 and "forward_ns" in shown.stdout, shown
    merged = subprocess.run(as_nobody([BINARY, "db", "prune"]), env=env, capture_output=True, text=True, cwd="/")
    assert merged.returncode == 1 and "read-only" in merged.stderr and "--db" in merged.stderr, merged
    os.chmod(place, 0o755)


def test_missing_directory(perfkit, tmp_path):
    done = subprocess.run([WRITER, str(tmp_path / "a" / "b.db"), "1", "1", "1", "1"], capture_output=True, text=True)
    assert done.returncode != 0 and "does not exist" in done.stderr.lower() or "No such file" in done.stderr


# --- strangers -----------------------------------------------------------------------------------------------------


def test_a_strangers_run_is_shown(perfkit, tmp_path):
    other = tmp_path / "odd %3f?#.db"
    record(other)
    before = other.read_bytes()
    shown = perfkit("show", f"{other}:@", "--format", "json")
    assert shown.status == 0 and shown.rows("case_times"), shown
    assert perfkit("show", str(other)).status == 0
    assert other.read_bytes() == before and sorted(p.name for p in tmp_path.glob("odd*")) == [other.name]


HOSTILE = {
    "view for table": "DROP TABLE run_case; CREATE VIEW run_case AS SELECT 1 AS id, 1 AS run_id",
    "generated column": "ALTER TABLE run ADD COLUMN evil TEXT AS (hex(zeroblob(100000000)))",
    "renamed column": "ALTER TABLE run RENAME COLUMN label TO tag",
    "missing table": "DROP TABLE work",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_strangers_tables_must_be_ours(perfkit, tmp_path, name):
    other = tmp_path / "other.db"
    record(other)
    db = sqlite3.connect(other)
    db.executescript("PRAGMA foreign_keys=OFF; PRAGMA legacy_alter_table=ON;" + HOSTILE[name])
    db.close()
    perfkit("show", f"{other}:@").refused(1, "refused", "not the one that perfkit creates")
    record(perfkit.db)
    perfkit("db", "merge", other).refused(1, "refused")


FOREVER = "WITH RECURSIVE t(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM t) SELECT x AS run_id FROM t"
ADDED = {
    "v_run": f"DROP VIEW v_run; CREATE VIEW v_run AS {FOREVER}",
    "mine": "CREATE VIEW mine AS SELECT load_extension('/tmp/evil') AS run_id",
    "evil": "CREATE TRIGGER evil AFTER UPDATE ON run BEGIN DELETE FROM machine; END",
    "fast": "CREATE INDEX fast ON run(hex(zeroblob(1000)))",
    "notes": "CREATE TABLE notes(x REFERENCES run(id) ON DELETE CASCADE)",
    "search": "CREATE VIRTUAL TABLE search USING fts5(x)",
}


@not_sanitized
@pytest.mark.parametrize("name", ADDED)
def test_what_perfkit_did_not_create_is_refused(perfkit, tmp_path, name):
    """In the user's own store as in a stranger's: by its name, with advice, and unchanged."""
    record(perfkit.db)
    shutil.copy(perfkit.db, tmp_path / "own.db")
    db = sqlite3.connect(perfkit.db)
    try:
        db.executescript(ADDED[name])
    except sqlite3.OperationalError as error:
        pytest.skip(str(error))
    db.close()
    before = perfkit.db.read_bytes()
    for args in (("show",), ("show", f"{perfkit.db}:@"), ("db", "check"), ("db", "migrate"), ("db", "prune", "--keep", "0"),
                 ("exec", "-r", "1", "--", "true"), ("db", "merge", perfkit.db, "--db", tmp_path / "own.db")):
        perfkit(*args, timeout=20).refused(1, "refused", f"'{name}'")
    assert perfkit.db.read_bytes() == before


def test_what_analyze_adds_is_no_strangers(perfkit):
    record(perfkit.db)
    views(perfkit.db, "ANALYZE")
    assert perfkit("show").status == 0 and perfkit("show", f"{perfkit.db}:@").status == 0


HOSTILE_TEXT = "::error title=x::@someone [x](https://evil.example)\u061c\u200b\u200f\ufeff\U000e0041\x85\n::warning::y ##[error]x ##vso[task.complete]z"


@not_sanitized
def test_no_text_of_a_store_is_obeyed(perfkit, tmp_path):
    """By GitHub, a page, a spreadsheet or a terminal: labels, variants, messages and units, in every format."""
    record(perfkit.db)
    with contextlib.closing(sqlite3.connect(perfkit.db)) as db, db:
        db.execute("UPDATE run SET label = ?", [HOSTILE_TEXT])
        db.execute("UPDATE run_case SET variant = ?, axes = ?", [HOSTILE_TEXT, json.dumps({"a": HOSTILE_TEXT})])
        db.execute("UPDATE slice SET status = 'failed', message = ? WHERE id = 1", ["=cmd|x"])
        db.execute("UPDATE metric SET unit = ?", [HOSTILE_TEXT])
    for args in (("show", f"{perfkit.db}:@"), ("list", "runs"), ("export", "csv"), ("export", "csv", "--what", "slices"), ("show", HOSTILE_TEXT), ("show", "nothing\n::error::x")):
        for form in ("table", "markdown", "csv", "json", "jsonl"):
            done = perfkit(*args, *(["--format", form] if args[0] != "export" else []))
            text = done.stdout + done.stderr
            assert text and not any(line.strip().startswith("::") for line in text.splitlines()), (args, form, done)
            assert "##[" not in text and "##vso[" not in text, (args, form)
            assert not any(c in text for c in "\u061c\u200b\u200f\ufeff\U000e0041\x85"), (args, form)
            if form == "markdown" and args[0] != "export" and done.status == 0:
                assert "@someone" not in text and "](https://" not in text
    perfkit("export", "csv", "--what", "slices", "--output", tmp_path / "o.csv")
    for text in ((tmp_path / "o.csv").read_text(), perfkit("export", "csv", "--what", "slices", "--csv-safe").stdout):
        assert ",'=cmd|x," in text
    assert ",=cmd|x," in perfkit("export", "csv", "--what", "slices").stdout


def test_a_strangers_values_of_other_types(perfkit, tmp_path):
    """Tables with our text, but rows that a STRICT table would not take: written behind SQLite's back."""
    other = tmp_path / "other.db"
    record(other)
    db = sqlite3.connect(other)
    db.execute("PRAGMA writable_schema=ON")
    strict = dict(db.execute("SELECT name, sql FROM sqlite_schema WHERE name IN ('run_case', 'summary')").fetchall())
    for name in strict:
        loose = strict[name].replace("STRICT, ", "").replace(" STRICT", "")
        db.execute("UPDATE sqlite_schema SET sql=? WHERE name=?", (loose, name))
    db.commit()
    db.close()
    db = sqlite3.connect(other)
    db.execute("PRAGMA ignore_check_constraints=ON")
    db.execute("UPDATE run_case SET axes = '{\"\x1b[2J', variant = 'a' || char(27) || '[2Jb'")
    db.execute("UPDATE summary SET median = 'many', n = x'00ff'")
    db.execute("PRAGMA writable_schema=ON")
    for name, sql in strict.items():
        db.execute("UPDATE sqlite_schema SET sql=? WHERE name=?", (sql, name))
    db.commit()
    db.close()
    for args in (("show", f"{other}:@"), ("export", "json", f"{other}:@", "--what", "summary"), ("export", "csv", f"{other}:@", "--what", "cases")):
        done = perfkit(*args)
        assert done.status in (0, 1), done
        assert "\x1b" not in done.stdout + done.stderr
    record(perfkit.db)
    before = views(perfkit.db, "SELECT count(*) FROM run")
    assert perfkit("db", "merge", other).status == 1
    assert views(perfkit.db, "SELECT count(*) FROM run") == before


NUMBERS = [-2, 99999, 2**62, -2**63]
STORED_NUMBERS = {
    "metric of a figure": "UPDATE slice_summary SET metric_id = {0} WHERE metric_id = 1",
    "metric of a summary": "UPDATE summary SET metric_id = {0} WHERE metric_id = 1",
    "metric of a series": "UPDATE series SET metric_id = {0} WHERE id = 1",
    "metric": "UPDATE metric SET id = {0} WHERE id = 1",
    "metric moved": "UPDATE metric SET id = {0} WHERE id = 1; UPDATE slice_summary SET metric_id = {0} WHERE metric_id = 1;"
                    "UPDATE summary SET metric_id = {0} WHERE metric_id = 1; UPDATE series SET metric_id = {0} WHERE metric_id = 1",
    "case": "UPDATE run_case SET id = {0} WHERE id = 1",
    "case moved": "UPDATE run_case SET id = {0} WHERE id = 1; UPDATE slice SET case_id = {0} WHERE case_id = 1;"
                  "UPDATE summary SET case_id = {0} WHERE case_id = 1",
    "case of a slice": "UPDATE slice SET case_id = {0} WHERE id = 1",
    "slice": "UPDATE slice SET id = {0} WHERE id = 1",
    "invocation": "UPDATE slice SET invocation = abs({0} / 2) + 9 WHERE id = 1",
    "machine": "UPDATE run SET machine_id = {0}",
    "run": "UPDATE run SET id = abs({0} / 2) + 3; UPDATE run_case SET run_id = abs({0} / 2) + 3",
    "ordinal": "UPDATE run_case SET ordinal = abs({0} / 2) + 5 WHERE id = 1",
    "time": "UPDATE run SET started_ns = {0}, ended_ns = {0}",
    "size": "UPDATE run_case SET predicted_bytes = abs({0} / 2)",
}
OF_SANITIZED = ("metric of a figure", "slice", "machine", "ordinal")  # the others run what these run


@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in OF_SANITIZED else not_sanitized) for name in STORED_NUMBERS])
def test_any_number_in_a_store(perfkit, tmp_path, name):
    """It is shown or refused, in the user's store as in a stranger's, and never an index."""
    record(tmp_path / "good.db")
    for number in NUMBERS if name in OF_SANITIZED else NUMBERS[1::2]:
        shutil.copy(tmp_path / "good.db", perfkit.db)
        db = sqlite3.connect(perfkit.db)
        db.executescript(STORED_NUMBERS[name].format(number if number != -2**63 else "(-9223372036854775807 - 1)"))
        db.close()
        for args in (("show",), ("show", f"{perfkit.db}:@"), ("compare", "@", f"{tmp_path / 'good.db'}:@")):
            done = perfkit(*args, timeout=20)
            assert 0 <= done.status < 10, (number, args, done)
            if done.status == 1:
                done.error()


def test_a_missing_parent_is_named(perfkit):
    for sql, words in {"UPDATE slice_summary SET metric_id = 99999 WHERE metric_id = 1": ("slice_summary", "metric", "99999"),
                       "UPDATE summary SET metric_id = -2 WHERE metric_id = 1": ("summary", "metric", "-2"),
                       "UPDATE series SET metric_id = 7777 WHERE id = 1": ("series, row 1:", "metric", "7777"),
                       "UPDATE run SET machine_id = 31": ("run, row 1:", "machine", "31")}.items():
        perfkit.db.unlink(missing_ok=True)
        record(perfkit.db)
        with contextlib.closing(sqlite3.connect(perfkit.db)) as db, db:
            db.execute(sql)
        perfkit("show", f"{perfkit.db}:@").refused(1, *words)
        if "slice_summary" in sql:
            perfkit("compare", "@", "@").refused(1, *words)
        perfkit("db", "check").refused(1, "damaged", f"table {words[0].split(':')[0]}", f"row of table {words[1]} is missing")


def test_a_stranger_in_mid_transaction_is_refused(perfkit, tmp_path):
    other = tmp_path / "other.db"
    record(other)
    shutil.copy(other, tmp_path / "saved")
    (tmp_path / "other.db-journal").write_bytes(b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + b"\0" * 504)
    perfkit("show", f"{other}:@").refused(1, "transaction", "db check")


def hot_journal(path, store, super_journal=b""):
    """A journal as a killed writer leaves it: one page as it was, and, of a transaction over several files, the name of a super-journal."""
    data, size = store.read_bytes(), 4096
    header = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7" + struct.pack(">5I", 1, 7, len(data) // size, 512, size)
    page = data[:size]
    checksum = (7 + sum(page[i] for i in range(size - 200, 0, -200))) & 0xffffffff
    tail = b""
    if super_journal:
        tail = struct.pack(">I", 262145) + super_journal + struct.pack(">2I", len(super_journal), sum(super_journal)) + header[:8]
    path.write_bytes(header.ljust(512, b"\0") + struct.pack(">I", 1) + page + struct.pack(">I", checksum) + tail)


ANY_COMMAND = [("show",), ("db", "check"), ("db", "migrate"), ("db", "prune"), ("exec", "-r", "1", "--", "true")]


@pytest.mark.parametrize("args", [*ANY_COMMAND, ("show", "{0}:@"), ("db", "merge", "{0}", "--db", "{1}")], ids=" ".join)
def test_a_journal_removes_no_other_file(perfkit, tmp_path, args):
    """SQLite removes the super-journal that a hot journal names, and that can be any file."""
    record(perfkit.db)
    record(tmp_path / "own.db")
    victim = tmp_path / "victim"
    victim.write_text("precious")
    hot_journal(pathlib.Path(f"{perfkit.db}-journal"), perfkit.db, os.fsencode(victim))
    refused = perfkit(*[a.format(perfkit.db, tmp_path / "own.db") for a in args], timeout=20).refused(1, "refused", "names another file")
    assert victim.read_text() == "precious"
    assert "sqlite3" not in refused.stderr and "db check" not in refused.stderr, "no advice that does the damage"


@pytest.mark.parametrize("suffix", ["-journal", "-wal", "-shm"])
@pytest.mark.parametrize("kind", ["link", *(pytest.param(kind, marks=not_sanitized) for kind in ("pipe", "folder"))])
def test_only_a_regular_file_is_a_journal(perfkit, tmp_path, kind, suffix):
    record(perfkit.db)
    beside, victim = pathlib.Path(f"{perfkit.db}{suffix}"), tmp_path / "victim"
    victim.write_text("precious")
    {"pipe": lambda: os.mkfifo(beside), "link": lambda: beside.symlink_to(victim), "folder": beside.mkdir}[kind]()
    for args in [*ANY_COMMAND, *([("show", f"{perfkit.db}:@")] if suffix == "-journal" else [])]:
        perfkit(*args, timeout=20).refused(1, "refused", "is not a regular file")
    assert victim.read_text() == "precious"


def test_a_killed_writers_journal_is_played_back(perfkit):
    record(perfkit.db)
    journal = pathlib.Path(f"{perfkit.db}-journal")
    hot_journal(journal, perfkit.db)
    perfkit("show", f"{perfkit.db}:@").refused(1, "transaction", "db check")
    assert perfkit("db", "check").status == 0 and perfkit("show", f"{perfkit.db}:@").status == 0
    assert not journal.exists() or journal.read_bytes()[:1] in (b"", b"\0")


@pytest.mark.skipif(os.geteuid() != 0, reason="gives files to other users")
def test_another_users_hot_journal_is_not_played_back(perfkit):
    record(perfkit.db)
    journal = pathlib.Path(f"{perfkit.db}-journal")
    hot_journal(journal, perfkit.db)
    os.chown(journal, 65534, 65534)
    before = journal.read_bytes()
    perfkit("show").refused(1, "refused", "another user")
    assert journal.read_bytes() == before
    os.chown(perfkit.db, 65534, 65534)
    assert perfkit("show").status == 0, "the owner of the store may have one"


def test_a_store_is_a_regular_file(perfkit, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        perfkit("show", "--db", path, timeout=20).refused(1, "not a regular file")
        perfkit("show", f"{path}:@", timeout=20).refused(1, "not a regular file")


def test_a_working_directory_does_not_name_the_store(perfkit, tmp_path):
    record(tmp_path / "evil.db")
    perfkit.config(f"[perfkit]\ndb = {tmp_path / 'evil.db'}\n")
    perfkit("show", env={"PERFKIT_DB": None}).refused(2, ".perfkit.ini:2: 'db' is not allowed in this file", "--db")
    (perfkit.cwd / ".perfkit.ini").unlink()
    perfkit.user_config(f"[perfkit]\ndb = {tmp_path / 'evil.db'}\n")
    assert perfkit("show", env={"PERFKIT_DB": None}).status == 0


@pytest.mark.parametrize("option", ["wire", "heartbeats"])
def test_no_file_names_what_a_worker_opens(perfkit, option):
    for config in (perfkit.config, perfkit.user_config):
        config(f"[worker]\n{option} = /tmp/x\n")
        perfkit("worker").refused(2, f"'{option}' is not allowed in this file")
        (perfkit.cwd / ".perfkit.ini").unlink(missing_ok=True)


# --- keeping -------------------------------------------------------------------------------------------------------


def test_info_check_migrate(perfkit):
    record(perfkit.db, 2, 3, 2, 10)
    info = perfkit("db", "info", "--format", "json").rows("info")[0]
    assert (info["runs"], info["cases"], info["slices"], info["samples"], info["schema_version"]) == (2, 6, 12, 120, NEWEST)
    assert info["bytes"] == perfkit.db.stat().st_size
    assert perfkit("db", "check", "--format", "json").rows("check")[0]["sound"] == "yes"
    assert perfkit("db", "migrate", "--format", "json").rows("migrate")[0]["schema_version"] == NEWEST


def test_merge_and_prune(perfkit, tmp_path):
    record(perfkit.db)
    record(tmp_path / "b.db", 3)
    assert perfkit("db", "merge", tmp_path / "b.db", "--format", "json").rows("merge")[0]["runs_added"] == 3
    assert perfkit("db", "prune", "--keep", "1", "--dry-run", "--format", "json").rows("prune")[0]["runs_removed"] == 3
    assert perfkit("db", "prune", "--keep", "1", "--format", "json").rows("prune")[0]["runs_removed"] == 3
    assert perfkit("db", "info", "--format", "json").rows("info")[0]["runs"] == 1


def test_views_work_in_any_client(perfkit):
    """The names scripts rely on, in the order documented, through the plain shell."""
    record(perfkit.db)
    promised = {
        "v_run": "run_id label started_at status machine git_commit command_line",
        "v_case": "run_id case_id experiment device variant axes status message",
        "v_summary": "run_id case_id experiment device variant axes metric unit direction n invocations median ci_low ci_high mean sd min max cv",
        "v_sample": "run_id case_id invocation rank ordinal phase metric unit value",
    }
    for view, columns in promised.items():
        out = subprocess.run(["sqlite3", "-csv", "-header", str(perfkit.db), f"SELECT * FROM {view}"], capture_output=True, text=True,
                             check=True).stdout.splitlines()
        assert out[0].split(",")[:len(columns.split())] == columns.split()
        assert len(out) > 1
    machine, axes = views(perfkit.db, "SELECT machine, axes FROM v_run JOIN v_case USING(run_id)")[0]
    assert isinstance(json.loads(machine), dict) and isinstance(json.loads(axes), dict)


# --- spools --------------------------------------------------------------------------------------------------------


def test_a_spool_comes_back(perfkit):
    """The writer meets a locked store, spools, says so with status 1, and import brings everything back, once."""
    record(perfkit.db)
    db = sqlite3.connect(perfkit.db)
    db.execute("BEGIN IMMEDIATE")
    done = subprocess.run([WRITER, str(perfkit.db), "0", "1", "2", "30", "patience=50", "run=1", "first=100"], capture_output=True, text=True)
    db.rollback()
    db.close()
    assert done.returncode == 1 and "perfkit import" in done.stderr and "another process" in done.stderr, done
    spool = perfkit.db.with_name(perfkit.db.name + ".spool-1.jsonl")
    first = perfkit("import", spool, "--format", "json").rows("import")[0]
    again = perfkit("import", spool, "--format", "json").rows("import")[0]
    assert (first["added"], first["known"]) == (2, 0) and (again["added"], again["known"]) == (0, 2)
    assert perfkit("db", "check").status == 0


def test_what_cannot_be_imported(perfkit, tmp_path):
    record(perfkit.db)
    (tmp_path / "x").write_text("hello\n")
    perfkit("import", tmp_path / "x").refused(1, "cannot import")
    perfkit("import", tmp_path / "absent").refused(1, "No such file")
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        perfkit("import", path, timeout=20).refused(1, "not a regular file")
    perfkit("import").refused(2, "FILE")


@not_sanitized
def test_a_run_of_a_process_that_nobody_waits_for_is_interrupted(perfkit):
    """A killed perfkit stays in the process table until its parent waits for it."""
    record = ("run", "attention-scaling", "--device", "null", "-a", "seq_len=16", "-a", "d_model=1", "-v", "flash", "--invocations", "1",
              "--max-samples", "15")
    assert perfkit(*record).status == 0
    dead = subprocess.Popen(["true"])
    path = pathlib.Path("/proc/%d/stat" % dead.pid)
    while path.read_text().rsplit(")", 1)[1].split()[0] != "Z":
        time.sleep(0.01)
    with contextlib.closing(sqlite3.connect(perfkit.db)) as db, db:
        db.execute("UPDATE run SET status = 'running', pid = ?, pid_start_ticks = ?",
                   (dead.pid, int(path.read_text().rsplit(")", 1)[1].split()[19])))
    assert perfkit(*record).status == 0
    with contextlib.closing(sqlite3.connect(perfkit.db)) as db:
        assert db.execute("SELECT status FROM v_run ORDER BY run_id").fetchall() == [("interrupted",), ("complete",)]
    dead.wait()
