"""Migrations: a database of every past schema version opens, is brought up to date, and keeps its rows. schema-NNNN.sql is the dump of a
store of that version, made when the version was new: tests/store/README says how. perfkit-next knows one version more (next.sql), so that
the way from a version to the next is tested also while there is only one."""
import functools
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile

import pytest

from stored import query

PERFKIT, PERFKIT_NEXT = os.environ["PERFKIT_BIN"], os.environ["PERFKIT_NEXT_BIN"]
WRITER, WRITER_NEXT = os.environ["PK_STORE_WRITER"], os.environ["PK_STORE_WRITER_NEXT"]
HERE = pathlib.Path(__file__).parent
SCHEMA = HERE.parents[1] / "schema"
MIGRATIONS = sorted(SCHEMA.glob("[0-9]*.sql"))
VERSIONS = [int(f.name[:4]) for f in MIGRATIONS]
FIRST, NEWEST, NEXT = VERSIONS[0], VERSIONS[-1], 9999
DUMPS = sorted(HERE.glob("schema-*.sql"))
REFUSED = HERE / "refused-0009.sql"


ENV = {k: v for k, v in os.environ.items() if not k.startswith("PERFKIT_")}


def run(program, *args):
    return subprocess.run([program, *map(str, args)], capture_output=True, text=True, timeout=60, env=ENV)


def load(dump, path):
    db = sqlite3.connect(path)
    db.executescript(dump.read_text())
    db.close()


def version(path):
    return query(path, "PRAGMA user_version")[0][0]


def objects(path):
    return dict(query(path, "SELECT type || ' ' || name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%'"))


def test_there_is_a_dump_of_every_version():
    assert VERSIONS == list(range(FIRST, NEWEST + 1))
    assert [int(d.stem.split("-")[1]) for d in DUMPS] == VERSIONS


@functools.lru_cache(None)
def objects_of_a_new_store(writer):
    with tempfile.TemporaryDirectory() as folder:
        new = pathlib.Path(folder) / "new.db"
        subprocess.run([writer, new, "1", "1", "1", "1"], check=True, stdout=subprocess.DEVNULL)
        return version(new), objects(new)


UPGRADES = [pytest.param(dump, PERFKIT, WRITER, NEWEST, id=f"{dump.stem}-newest") for dump in DUMPS] + [
    pytest.param(dump, PERFKIT_NEXT, WRITER_NEXT, NEXT, id=f"{dump.stem}-next") for dump in (DUMPS[0], DUMPS[-1])]


@pytest.mark.parametrize("dump, program, writer, to", UPGRADES)
def test_upgrade(tmp_path, dump, program, writer, to):
    old = tmp_path / "old.db"
    load(dump, old)
    before = query(old, "SELECT * FROM v_sample")
    traces = version(old) < 17
    if traces:  # notes then; those of the second slice are no JSON
        query(old, """UPDATE slice SET notes = '{"trace":{"names":["a",1.50]},"class":null,"trace:3":{},"trace:x":{}}' WHERE id = 1""")
        query(old, "UPDATE slice SET notes = '{x}' WHERE id = 2")
    migrated = run(program, "db", "migrate", "--db", old, "--format", "csv")
    assert migrated.returncode == 0 and migrated.stdout.splitlines()[1].endswith(f",{int(dump.stem.split('-')[1])},{to}"), migrated
    assert version(old) == to
    assert run(program, "db", "check", "--db", old).returncode == 0
    after = query(old, "SELECT * FROM v_sample")
    if traces:
        assert query(old, "SELECT slice_id, rank, trace FROM v_trace ORDER BY rank") == [(1, 0, '{"names":["a",1.50]}'), (1, 3, "{}")]
        assert query(old, "SELECT notes FROM slice WHERE id < 3") == [('{"class":null,"trace:x":{}}',), ("{x}",)]
        query(old, "UPDATE slice SET notes = '{}' WHERE id = 2")
    assert before and [r[:9] for r in after] == [r[:9] for r in before]
    assert objects_of_a_new_store(writer) == (to, objects(old)), "a migrated store is a new one"
    assert run(program, "show", f"{old}:@").returncode == 0, "also as a stranger's"


def test_a_migration_sees_the_rows_and_replaces_the_views(tmp_path):
    store = tmp_path / "s.db"
    load(DUMPS[-1], store)
    query(store, "DROP VIEW v_run")
    query(store, "CREATE VIEW v_run AS SELECT 1 AS of_before")
    runs = query(store, "SELECT id FROM run ORDER BY id")
    assert run(PERFKIT_NEXT, "db", "migrate", "--db", store).returncode == 0
    assert query(store, "SELECT run_id, rain FROM forecast ORDER BY run_id") == [(r, 0.5) for r, in runs]
    assert "of_before" not in objects(store)["view v_run"]
    assert "view v_of_before" not in objects(store)


def test_a_migration_that_fails_changes_nothing(tmp_path):
    store = tmp_path / "s.db"
    load(DUMPS[-1], store)
    query(store, "UPDATE run SET label = 'no forecast' WHERE id = (SELECT max(id) FROM run)")
    before = objects(store)
    failed = run(PERFKIT_NEXT, "db", "migrate", "--db", store)
    assert failed.returncode == 1 and "forecast.rain" in failed.stderr, failed
    assert version(store) == NEWEST and objects(store) == before
    assert run(PERFKIT, "show", "--db", store).returncode == 0


def test_four_migrate_at_once(tmp_path):
    store = tmp_path / "s.db"
    load(DUMPS[0], store)
    started = [subprocess.Popen([PERFKIT_NEXT, "db", "migrate", "--db", store], stdout=subprocess.DEVNULL, env=ENV) for _ in range(4)]
    assert [p.wait(60) for p in started] == [0] * 4
    assert version(store) == NEXT and len(query(store, "SELECT * FROM forecast")) == len(query(store, "SELECT * FROM run"))


def test_an_older_store_that_may_not_be_changed(tmp_path):
    """A reader of another's file migrates nothing: it says what to do, and that works."""
    old, copy = tmp_path / "old.db", tmp_path / "copy.db"
    load(DUMPS[-1], old)
    refused = run(PERFKIT_NEXT, "show", f"{old}:@")
    assert refused.returncode == 1 and f"version {NEWEST}" in refused.stderr and "perfkit db migrate --db COPY" in refused.stderr, refused
    shutil.copy(old, copy)
    assert run(PERFKIT_NEXT, "db", "migrate", "--db", copy).returncode == 0
    assert run(PERFKIT_NEXT, "show", f"{copy}:@").returncode == 0


def test_only_the_store_at_the_default_place_is_migrated_unasked(tmp_path):
    """Any other may be anybody's: the message names the command."""
    own, other = tmp_path / "perfkit" / "perfkit.db", tmp_path / "other.db"
    own.parent.mkdir()
    for store in (own, other):
        load(DUMPS[0], store)
    before = other.read_bytes()
    env = ENV | {"XDG_DATA_HOME": str(tmp_path)}
    for args in (("show",), ("db", "info"), ("db", "prune"), ("exec", "-r", "1", "--", "true")):
        refused = run(PERFKIT, *args[:1], "--db", other, *args[1:])
        assert refused.returncode == 1 and f"`perfkit db migrate --db {other}`" in refused.stderr, refused
    assert other.read_bytes() == before
    assert subprocess.run([PERFKIT, "show"], env=env, stdout=subprocess.DEVNULL, timeout=60).returncode == 0 and version(own) == NEWEST


HOSTILE_NAMES = {
    "writes a file": "v_a;COMMIT;VACUUM INTO '{0}/W';BEGIN;--",
    "changes another database": "v_a;COMMIT;ATTACH '{0}/W' AS w;CREATE TABLE w.x(y);BEGIN;--",
    "quoted": 'v_a";COMMIT;VACUUM INTO \'{0}/W\';BEGIN;--',
}


@pytest.mark.parametrize("dump, text", [(DUMPS[0], text) for text in HOSTILE_NAMES.values()] + [(DUMPS[-1], HOSTILE_NAMES["quoted"])],
                         ids=[*HOSTILE_NAMES, "newest"])
def test_a_name_in_a_file_is_never_run(tmp_path, dump, text):
    """At the default place and by `db migrate`, which may migrate it, and everywhere else."""
    store = tmp_path / "perfkit" / "perfkit.db"
    store.parent.mkdir()
    load(dump, store)
    name = text.format(tmp_path)
    query(store, 'CREATE VIEW "' + name.replace('"', '""') + '" AS SELECT 1 AS run_id')
    query(store, "CREATE VIEW v_a AS SELECT 1")
    before = objects(store)
    for args in (("db", "migrate"), ("show",), ("list", "runs"), ("exec", "-r", "1", "--", "true"), ("db", "prune")):
        refused = subprocess.run([PERFKIT, *args], capture_output=True, text=True, timeout=60, env=ENV | {"XDG_DATA_HOME": str(tmp_path)})
        assert refused.returncode == 1 and "was not created by perfkit" in refused.stderr and "v_a" in refused.stderr, refused
        assert not (tmp_path / "W").exists() and objects(store) == before
    refused = run(PERFKIT, "show", f"{store}:@")
    assert refused.returncode == 1 and not (tmp_path / "W").exists(), refused


def exported_as_advised(stderr, store):
    """The rows that the command in the message prints for the store."""
    command = re.search(r"`sqlite3 -safe -readonly -header -csv FILE '([^']*)'`", stderr)
    assert command, stderr
    return query(store, command[1])


@pytest.mark.parametrize("args", [("show",), ("db", "migrate"), ("db", "check"), ("exec", "-r", "1", "--", "true")], ids=" ".join)
def test_versions_before_the_first_are_refused(tmp_path, args):
    store = tmp_path / "s.db"
    load(REFUSED, store)
    before = store.read_bytes()
    refused = run(PERFKIT, *args[:1], "--db", store, *args[1:])
    assert refused.returncode == 1 and "version 9, from before the first release" in refused.stderr, refused
    assert f"versions from {FIRST} on" in refused.stderr, refused
    assert len(exported_as_advised(refused.stderr, store)) == 24
    assert store.read_bytes() == before


def test_versions_before_the_first_are_refused_as_strangers(tmp_path):
    store, own = tmp_path / "s.db", tmp_path / "own.db"
    load(REFUSED, store)
    assert "version 9, from before the first release" in run(PERFKIT, "show", f"{store}:@", "--db", own).stderr
    subprocess.run([WRITER, own, "1", "1", "1", "1"], check=True, stdout=subprocess.DEVNULL)
    merged = run(PERFKIT, "db", "merge", store, "--db", own)
    assert merged.returncode == 1 and "version 9, from before the first release" in merged.stderr, merged


def test_a_newer_version_is_refused(tmp_path):
    store = tmp_path / "s.db"
    subprocess.run([WRITER_NEXT, store, "2", "2", "2", "3"], check=True, stdout=subprocess.DEVNULL)
    refused = run(PERFKIT, "show", "--db", store)
    assert refused.returncode == 1 and f"version {NEXT}, from a newer perfkit; this perfkit supports versions up to {NEWEST}" in refused.stderr, refused
    assert len(exported_as_advised(refused.stderr, store)) == 24


def test_versions_are_never_edited(tmp_path):
    """The newest dump has exactly the schema of today's files: a change of views.sql or of a migration needs a new migration."""
    today, recorded = tmp_path / "today.db", tmp_path / "recorded.db"
    for f in [*MIGRATIONS, SCHEMA / "views.sql"]:
        load(f, today)
    load(DUMPS[-1], recorded)
    assert objects(recorded) == objects(today)
