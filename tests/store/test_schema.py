"""Migrations: a database of every past schema version opens, is brought up to date, and keeps its rows. schema-NNNN.sql is the dump of a
store of that version, made when the version was new: tests/store/README says how."""
import os
import pathlib
import sqlite3
import subprocess

import pytest

PERFKIT = os.environ["PERFKIT_BIN"]
HERE = pathlib.Path(__file__).parent
SCHEMA = HERE.parents[1] / "schema"
NEWEST = len(list(SCHEMA.glob("[0-9]*.sql")))
DUMPS = sorted(HERE.glob("schema-*.sql"))


def perfkit(*args):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PERFKIT_")}
    return subprocess.run([PERFKIT, *map(str, args)], capture_output=True, text=True, timeout=60, env=env)


def load(dump, path):
    db = sqlite3.connect(path)
    db.executescript(dump.read_text())
    db.close()


def objects(path):
    db = sqlite3.connect(path)
    rows = dict(db.execute("SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").fetchall())
    db.close()
    return rows


def test_there_is_a_dump_of_every_version():
    assert [int(d.stem.split("-")[1]) for d in DUMPS] == list(range(1, NEWEST + 1))


@pytest.mark.parametrize("dump", DUMPS, ids=lambda d: d.stem)
def test_upgrade(tmp_path, dump):
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    load(dump, old)
    before = sqlite3.connect(old).execute("SELECT * FROM v_sample").fetchall()
    migrated = perfkit("db", "migrate", "--db", old, "--format", "csv")
    assert migrated.returncode == 0 and migrated.stdout.splitlines()[1].endswith(f",{int(dump.stem.split('-')[1])},{NEWEST}"), migrated
    assert perfkit("db", "check", "--db", old).returncode == 0
    after = sqlite3.connect(old).execute("SELECT * FROM v_sample").fetchall()
    assert before and [r[:9] for r in after] == [r[:9] for r in before]
    subprocess.run([os.environ["PK_STORE_WRITER"], new, "1", "1", "1", "1"], check=True, stdout=subprocess.DEVNULL)
    assert objects(old) == objects(new), "a migrated store is a new one"
    assert perfkit("show", f"{old}:@").returncode == 0, "also as a stranger's"


def test_versions_are_never_edited():
    """The newest dump has exactly the schema of today's files: a change of views.sql or of a migration needs a new migration."""
    db = sqlite3.connect(":memory:")
    for f in sorted(SCHEMA.glob("[0-9]*.sql")) + [SCHEMA / "views.sql"]:
        db.executescript(f.read_text())
    today = dict(db.execute("SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").fetchall())
    recorded = sqlite3.connect(":memory:")
    recorded.executescript(DUMPS[-1].read_text())
    assert dict(recorded.execute("SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'").fetchall()) == today
