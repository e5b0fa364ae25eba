"""Bad luck: writers killed at random moments, many at once, a full disk, a lock that stays."""
import os
import random
import resource
import sqlite3
import subprocess
import time

import pytest

from stored import query

WRITER = os.environ["PK_STORE_WRITER"]
PERFKIT = os.environ["PERFKIT_BIN"]
KILLS = int(os.environ.get("PK_KILLS", "120"))


def writer(path, *args, **popen):
    return subprocess.Popen([WRITER, str(path), *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **popen)


def perfkit(*args):
    env = {k: v for k, v in os.environ.items() if not k.startswith("PERFKIT_")}
    return subprocess.run([PERFKIT, *map(str, args)], capture_output=True, text=True, timeout=60, env=env)


def sound(path):
    return query(path, "PRAGMA integrity_check") == [("ok",)] and query(path, "PRAGMA foreign_key_check") == []


def test_killed_at_random_moments(tmp_path):
    """kill -9, KILLS times into one file. What the writer acknowledged is there, whole; the file is sound; the run is shown as
    interrupted. Moments are spread over the writer's life by its own speed, so that kills come before, between and within commits."""
    path, rng = tmp_path / "s.db", random.Random(7)
    acknowledged = set()
    for i in range(KILLS):
        w = writer(path, 1, 4, 1000, 200)
        said = [w.stdout.readline() for _ in range(rng.choice([0, 1, 1, 2, 3, 8]))]
        time.sleep(rng.random() * 0.004)
        w.kill()
        said += w.stdout.read().splitlines(keepends=True)
        w.communicate()
        # every whole line is a promise; one that was cut short is none
        acknowledged |= {tuple(map(int, l.split())) for l in said if l.endswith("\n")}
        if i % 20 == 0:
            assert sound(path)
    assert sound(path)
    slices = dict(((c, i), n) for c, i, n in query(path, """
        SELECT l.case_id, l.invocation, count(s.ordinal) FROM slice l LEFT JOIN series e ON e.slice_id = l.id
        LEFT JOIN sample s ON s.series_id = e.id GROUP BY l.id"""))
    assert len(slices) > KILLS / 4, "slices were committed before the kills"
    assert acknowledged and acknowledged <= set(slices), sorted(acknowledged - set(slices))[:5]
    assert set(slices.values()) == {200}, "a slice is there whole or not at all"
    assert perfkit("list", "runs", "--db", path).returncode == 0
    statuses = dict(query(path, "SELECT status, count(*) FROM run GROUP BY status"))
    assert set(statuses) == {"interrupted"}, statuses
    words = dict(query(path, "SELECT status, count(*) FROM v_case GROUP BY status"))
    assert set(words) <= {"ok", "interrupted"} and words["ok"] > 0, words


def test_a_live_writer_is_not_taken_for_dead(tmp_path):
    path = tmp_path / "s.db"
    w = writer(path, 1, 1, 200, 2000)
    assert w.stdout.readline()
    listed = perfkit("list", "runs", "--db", path, "--format", "csv")
    assert "running" in listed.stdout, listed
    w.kill()
    w.communicate()


@pytest.mark.skipif(os.path.exists("/proc/self/ns/pid") is False, reason="no pid namespaces here")
def test_runs_of_other_hosts_and_containers_are_left_alone(tmp_path):
    path = tmp_path / "s.db"
    assert writer(path, 3, 1, 1, 1, "end=0").wait() == 0
    db = sqlite3.connect(path)
    db.execute("UPDATE run SET host = 'elsewhere' WHERE id = 1")
    db.execute("UPDATE run SET boot_id = substr(boot_id, 1, 37) || 'pid:[1]' WHERE id = 2")
    db.commit()
    db.close()
    assert perfkit("list", "runs", "--db", path).returncode == 0
    assert query(path, "SELECT status FROM run ORDER BY id") == [("running",), ("running",), ("interrupted",)]


def test_eight_at_once_lose_nothing(tmp_path):
    path = tmp_path / "s.db"
    n, cases, slices, samples = 8, 4, 10, 100
    writers = [writer(path, 1, cases, slices, samples) for _ in range(n)] # the file is made by whoever comes first
    promised = set()
    for w in writers:
        out, err = w.communicate(timeout=120)
        assert w.returncode == 0, err
        promised |= {tuple(map(int, l.split())) for l in out.splitlines()}
    assert len(promised) == n * cases * slices
    assert promised == set(query(path, "SELECT case_id, invocation FROM v_slice"))
    assert query(path, "SELECT count(*), sum(value) FROM v_sample") == [
        (n * cases * slices * samples, n * cases * slices * sum(1000000 + i * 7919 % 1000 for i in range(samples)))]
    assert query(path, "SELECT status, count(*) FROM run GROUP BY status") == [("complete", n)]
    assert query(path, "SELECT DISTINCT invocations, n FROM v_summary") == [(slices, slices * samples)]
    assert sound(path)


def test_a_reader_that_holds_on(tmp_path):
    """A reader in an open transaction stops every commit: what cannot be written is spooled and comes back."""
    path = tmp_path / "s.db"
    assert writer(path, 1, 2, 1, 10).wait() == 0
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM run").fetchall()
    w = writer(path, 0, 2, 2, 50, "run=1", "first=10", "patience=100")
    out, err = w.communicate(timeout=60)
    assert w.returncode == 1 and "perfkit import" in err, err
    reader.execute("COMMIT")
    reader.close()
    spool = path.with_name("s.db.spool-1.jsonl")
    assert perfkit("import", spool, "--db", path).returncode == 0
    assert query(path, "SELECT count(*) FROM v_sample") == [(2 * 10 + 2 * 2 * 50,)]
    assert sound(path)


@pytest.mark.parametrize("kind", ["link", "pipe", "hard link"])
def test_a_spool_is_a_file_of_the_user_alone(tmp_path, kind):
    """Somebody's link or pipe at its place is not written: the spool is in the temporary directory then, and nobody else reads it."""
    path, victim, tmp = tmp_path / "s.db", tmp_path / "victim", tmp_path / "tmp"
    tmp.mkdir()
    victim.write_text("precious")
    assert writer(path, 1, 2, 1, 10).wait() == 0
    spool = path.with_name("s.db.spool-1.jsonl")
    {"link": spool.symlink_to, "pipe": lambda _: os.mkfifo(spool), "hard link": spool.hardlink_to}[kind](victim)
    reader = sqlite3.connect(path, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM run").fetchall()
    w = subprocess.Popen([WRITER, path, "0", "2", "1", "5", "run=1", "first=10", "patience=100"], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True, env=os.environ | {"TMPDIR": str(tmp)})
    _, err = w.communicate(timeout=60)
    reader.close()
    assert w.returncode == 1 and victim.read_text() == "precious", err
    (written,) = tmp.glob("perfkit-spool-*.jsonl")
    assert str(written) in err and written.stat().st_mode & 0o777 == 0o600
    assert perfkit("import", written, "--db", path).returncode == 0


def full_disk(run, path):
    """What must hold when room ends: committed slices are there, the rest is told with status 1."""
    w = run()
    out, err = w.communicate(timeout=60)
    assert w.returncode == 1 and len(err.splitlines()) == 3 and any(r in err for r in ("disk is full", "No space left", "ulimit -f")), err
    promised = {tuple(map(int, l.split())) for l in out.splitlines()}
    assert promised and promised <= set(query(path, "SELECT case_id, invocation FROM v_slice"))
    assert sound(path)
    return err


def test_a_file_may_not_grow(tmp_path):
    """RLIMIT_FSIZE stops the store and every spool at the same size: some slices are in the store, some in a spool, and one is refused."""
    path = tmp_path / "s.db"
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, 300_000))
    full_disk(lambda: writer(path, 1, 2, 200, 1000, preexec_fn=limit, env={**os.environ, "TMPDIR": str(tmp_path)}), path)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small file system takes root")
def test_a_full_file_system(tmp_path):
    """The store fills a small file system; the spool goes to the temporary directory, and nothing is lost."""
    place, tmp = tmp_path / "small", tmp_path / "tmp"
    place.mkdir()
    tmp.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(place)], capture_output=True).returncode:
        pytest.skip("mounting is not allowed here")
    try:
        path = place / "s.db"
        err = full_disk(lambda: writer(path, 1, 2, 30, 1000, env={**os.environ, "TMPDIR": str(tmp)}), path)
        spools = list(tmp.glob("perfkit-spool-*.jsonl")) + list(place.glob("*.spool-*"))
        assert spools and any(str(s) in err for s in spools)
        roomy = tmp_path / "roomy.db"
        roomy.write_bytes(path.read_bytes())
        for s in spools:
            assert perfkit("import", s, "--db", roomy).returncode == 0
        assert query(roomy, "SELECT count(*) FROM v_sample") == [(2 * 30 * 1000,)]
    finally:
        subprocess.run(["umount", str(place)], check=True)
