"""How fast: recording and exporting. The store lies in memory (/dev/shm) where there is one, so that the figures are perfkit's work and
not the disk's; a figure that other load on the machine spoils is tried again, and the best try counts."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import time

import busy
import pytest

WRITER = os.environ["PK_STORE_WRITER"]
PERFKIT = os.environ["PERFKIT_BIN"]
TRIES = 8
SAMPLES = ("SELECT s.*, c.experiment, c.variant, c.device, c.axes ->> 'n' AS n FROM v_sample s JOIN run_case c ON c.id = s.case_id"
           " WHERE s.run_id = 1")
pytestmark = pytest.mark.skipif("PERFKIT_SANITIZED" in os.environ, reason="a sanitized build is slow")


@pytest.fixture
def place(tmp_path):
    if not os.access("/dev/shm", os.W_OK):
        yield tmp_path
        return
    path = pathlib.Path(tempfile.mkdtemp(prefix="perfkit-", dir="/dev/shm"))
    yield path
    shutil.rmtree(path)


def environment():
    return {k: v for k, v in os.environ.items() if not k.startswith("PERFKIT_")}


def writer(path, *args):
    out = subprocess.run([WRITER, str(path), *map(str, args), "time=1"], check=True, capture_output=True, text=True, timeout=300)
    words = out.stdout.splitlines()[-1].split()
    path.unlink()
    return float(words[1]), float(words[3])


def until(reached, measure):
    figures = []
    while len(figures) < TRIES:
        figures.append(measure())
        if reached(figures[-1]):
            return
    raise busy.Late(f"never reached: {figures}")


@pytest.mark.parametrize("samples", [1000, 10000])
def test_samples_per_second(place, samples):
    until(lambda rate: rate >= 500_000, lambda: writer(place / "s.db", 1, 4, 10, samples)[0])


def test_a_slice_of_300(place):
    until(lambda ms: ms <= 2, lambda: writer(place / "s.db", 1, 4, 20, 300)[1])


def test_eight_parents(place):
    path, n, cases, slices, samples = place / "s.db", 8, 4, 10, 1000

    def rate():
        subprocess.run([WRITER, str(path), "1", "1", "1", "1"], check=True, stdout=subprocess.DEVNULL)
        begin = time.monotonic()
        writers = [subprocess.Popen([WRITER, str(path), "1", str(cases), str(slices), str(samples)], stdout=subprocess.DEVNULL) for _ in range(n)]
        assert [w.wait(120) for w in writers] == [0] * n
        took = time.monotonic() - begin
        path.unlink()
        return n * cases * slices * samples / took

    until(lambda r: r >= 100_000, rate)


def test_export_of_a_million_samples(place):
    """Against the sqlite3 shell with the same view and what a case is; user time, since that is what either works, the two one after the other."""
    if not shutil.which("sqlite3"):
        pytest.skip("there is no sqlite3 shell to compare with")
    path, ours, theirs = place / "s.db", place / "a.csv", place / "b.csv"
    subprocess.run([WRITER, str(path), "1", "100", "1", "10000"], check=True, stdout=subprocess.DEVNULL)

    def seconds(args, out):
        with open(out, "w") as f:
            before = os.times().children_user
            subprocess.run(args, check=True, stdout=f, env=environment(), timeout=300)
            return os.times().children_user - before

    def ratio():
        return (seconds([PERFKIT, "export", "csv", "--db", path], ours) /
                seconds(["sqlite3", "-csv", "-header", path, SAMPLES], theirs))

    until(lambda r: r <= 0.8, ratio)
    assert ours.read_bytes() == theirs.read_bytes()
