"""The front door for tests: perfkit in a home of its own, with its status, output and messages at hand."""
import fcntl
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import pytest

sys.path.append(str(pathlib.Path(__file__).parents[1]))
pytest_plugins = ["busy"]  # a test that calls busy.in_time is repeated on a busy machine

BINARY = os.environ.get("PERFKIT_BIN", str(pathlib.Path(__file__).parents[2] / "build" / "perfkit"))
PASSED_ON = ("PATH", "ASAN_OPTIONS", "UBSAN_OPTIONS", "LSAN_OPTIONS", "LLVM_PROFILE_FILE")

# perfkit asks none of hwloc's plugins (lib/machine/topology.c), which load X and OpenCL, a tenth of what a short command takes.
NO_PLUGINS = "/nowhere"

# Where a test's perfkit finds NVIDIA's libraries, from its own folder. Without a GPU doctor alone opens any, which takes half a second: these
# are of another version, and refused by their names. A test of the libraries themselves has OWN_LIBRARIES.
LIBRARIES = "../libraries"
OWN_LIBRARIES = {"PERFKIT_CUDA_LIBS": None}

# Half of what doctor costs besides is a Python with NumPy and two ranks that it starts.
NO_CHILDREN = {"PERFKIT_PYTHON": "/bin/false", "PERFKIT_MPI": "/nowhere"}

# A shell without job control starts what is in the background with these ignored, and perfkit leaves ignored what it finds ignored.
for signum in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(signum) == signal.SIG_IGN:
        signal.signal(signum, signal.SIG_DFL)

# For what takes long by doing again what other tests do: under sanitizers it would take minutes and show nothing new of memory.
not_sanitized = pytest.mark.not_sanitized


def pytest_configure(config):
    config.addinivalue_line("markers", "not_sanitized: not run in a build with sanitizers")


def pytest_collection_modifyitems(config, items):
    """.ci/run sets PK_REST_SANITIZED for its plain build: there, files of which the sanitized build runs the rest keep what it leaves out."""
    if "PERFKIT_SANITIZED" in os.environ:
        for item in items:
            if item.get_closest_marker("not_sanitized"):
                item.add_marker(pytest.mark.skip(reason="sanitizers see its calls in other tests, which are shorter"))
    elif "PK_REST_SANITIZED" in os.environ and "PERFKIT_HAS_SANITIZED_TESTS" in os.environ:
        rest = [item for item in items if not item.get_closest_marker("not_sanitized")]
        items[:] = [item for item in items if item.get_closest_marker("not_sanitized")]
        config.hook.pytest_deselected(items=rest)


class Result:
    """What one call gave. Text is decoded as UTF-8."""

    def __init__(self, status, stdout, stderr):
        self.status, self.stdout, self.stderr = status, stdout, stderr

    def json(self):
        return json.loads(self.stdout)

    def rows(self, table):
        return self.json()["tables"][table]["rows"]

    def error(self):
        """The three parts of the only error on stderr, as a dict; none may be missing."""
        lines = self.stderr.splitlines()
        assert len(lines) >= 3, self.stderr
        what, why, fix = lines[-3:]
        assert what.startswith("perfkit: ") and why.startswith("  why: ") and fix.startswith("  try: "), self.stderr
        return {"what": what[9:], "why": why[7:], "try": fix[7:]}

    def refused(self, status, *words):
        """Asserts a failed call: its status, nothing on stdout, a message in three parts that has the words."""
        assert self.status == status, self
        assert self.stdout == "", self
        text = "\n".join(self.error().values())
        for word in words:
            assert word in text, self.stderr
        return self

    def __repr__(self):
        return f"status {self.status}\n--- stdout\n{self.stdout}\n--- stderr\n{self.stderr}"


def make_other_libraries(folder):
    folder.mkdir()
    for name in ("cublasLt", "cudnn", "nccl", "cupti"):
        (folder / f"lib{name}.so.0").touch()
    return folder


class Perfkit:
    """Calls perfkit with an environment that has nothing of the developer's in it."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.home, self.cwd = self.root / "home", self.root / "cwd"
        self.db = self.root / "perfkit.db"
        for d in (self.home, self.cwd):
            d.mkdir()
        make_other_libraries(self.cwd / LIBRARIES)

    def environment(self, env=None, db=None):
        """The environment of a call; env adds, and removes what is None."""
        base = {k: os.environ[k] for k in PASSED_ON if k in os.environ}
        base.update(HOME=str(self.home), XDG_CONFIG_HOME=str(self.home / "config"), XDG_DATA_HOME=str(self.home / "data"),
                    LC_ALL="C.UTF-8", TERM="dumb", PERFKIT_DB=str(db or self.db), HWLOC_PLUGINS_PATH=NO_PLUGINS,
                    PERFKIT_CUDA_LIBS=LIBRARIES)
        base.update(env or {})
        return {k: str(v) for k, v in base.items() if v is not None}

    def start(self, *args, env=None, db=None, **popen):
        """A running perfkit (subprocess.Popen), for signals and pipes."""
        popen.setdefault("stdout", subprocess.PIPE)
        popen.setdefault("stderr", subprocess.PIPE)
        popen.setdefault("cwd", self.cwd)
        return subprocess.Popen([BINARY, *map(str, args)], env=self.environment(env, db), **popen)

    def __call__(self, *args, env=None, db=None, input=None, timeout=120, **popen):
        p = self.start(*args, env=env, db=db, stdin=subprocess.DEVNULL if input is None else subprocess.PIPE, **popen)
        try:
            out, err = p.communicate(input.encode() if input is not None else None, timeout=timeout)
        except subprocess.TimeoutExpired:
            p.kill()
            raise
        return Result(p.returncode, (out or b"").decode(), (err or b"").decode())

    def config(self, text):
        (self.cwd / ".perfkit.ini").write_text(text)

    def user_config(self, text):
        path = self.home / "config" / "perfkit" / "config.ini"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def on_one_cpu():
    """For preexec_fn: the process has a single CPU to use."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


@pytest.fixture
def perfkit(tmp_path):
    return Perfkit(tmp_path)


@pytest.fixture
def counts(perfkit):
    """The kernel counts page faults for us."""
    if "not counted" in perfkit("exec", "--runs", "1", "--no-save", "--counters", "page_faults", "true").stderr:
        pytest.skip("the kernel counts no page faults for this user")


def doctor_ceilings(one, *args):
    """Of arrays that no cache holds; without a limit they would grow for seconds."""
    l3 = pathlib.Path("/sys/devices/system/cpu/cpu0/cache/index3/size")
    caches = os.cpu_count() * int(l3.read_text().rstrip("K\n")) if l3.exists() else 0
    return one("doctor", "--ceilings", "--memory-limit", f"{max(256, 6 * caches >> 10)}MiB", *args)


def confirm_ceilings(one):
    """As a repeat does: a run measures again what none confirms."""
    with sqlite3.connect(one.db) as db:
        db.execute("INSERT INTO ceiling(machine_id, device, key, value, measured_ns, evidence)"
                   " SELECT machine_id, device, key, max(value), max(measured_ns), evidence FROM ceiling GROUP BY machine_id, device, key, evidence")


def measure_ceilings(one):
    assert one("doctor", "--ceilings", "--device", "null").status == 0
    r = doctor_ceilings(one, "--device", "cpu", "--format", "json")
    assert r.status == 0, r
    confirm_ceilings(one)
    with sqlite3.connect(one.db) as db:
        db.execute("INSERT INTO ceiling(machine_id, device, key, value, measured_ns, evidence)"
                   " SELECT machine_id, 'cpu 1 thread', key, value, measured_ns, evidence FROM ceiling WHERE device = 'cpu'")
    return r.stdout


@pytest.fixture(scope="session")
def ceilings(tmp_path_factory):
    """A store in which the CPU's ceilings are, each confirmed by a repeat: no run measures them again, nor for one thread, which has those of
    all here. Files of tests of one build share it for an hour, and what doctor printed (.json beside it)."""
    binary = pathlib.Path(BINARY)
    kept = pathlib.Path(os.environ.get("PK_CEILINGS_BESIDE", binary)).parent / "ceilings-of-tests.db"
    with open(kept.with_suffix(".lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists() or kept.stat().st_mtime < max(binary.stat().st_mtime, time.time() - 3600):
            one = Perfkit(tmp_path_factory.mktemp("ceilings"))
            kept.with_suffix(".json").write_text(measure_ceilings(one))
            shutil.copy(one.db, kept)
    return kept


@pytest.fixture
def measured(perfkit, ceilings):
    """Gives perfkit a store that has no run yet and knows the CPU's ceilings: spares seconds where they are not the subject."""
    shutil.copy(ceilings, perfkit.db)
