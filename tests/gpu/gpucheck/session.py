"""One call: where the program is, how long there is, how commands are run and how a run of perfkit is gone on with."""
import contextlib
import ctypes
import fcntl
import glob
import json
import os
import pathlib
import platform
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from .folder import Folder

HERE = pathlib.Path(__file__).resolve().parents[1]  # tests/gpu, or gpu/ of a bundle
STAGE_SECONDS = 460  # of a stage, at most, in one go: such a call may be allowed 8 minutes
TO_END_SECONDS = 30  # kept back of --within, or a third of it: for what is still running to end, reports, the archive
LEAST_SECONDS = 8  # with less than this left no stage begins
INTERRUPT_SECONDS = 10
PR_SET_PDEATHSIG = 1


class Skip(Exception):
    """This stage cannot run here; the text says why."""


class Failed(Exception):
    """The stage's result is not what it should be. What it measured all the same is kept."""

    def __init__(self, text, figures=()):
        super().__init__(text)
        self.figures = list(figures)


class Partial(Exception):
    """More is left to do; a later call goes on."""


def die_with_parent():
    """In the child: whatever kills this program, what it started ends as well."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def reason_in(text):
    """perfkit's error or a test's where there is one, else the last line."""
    lines = [line for line in text.splitlines() if line.strip()]
    marks = ("perfkit:", "why:", "ERROR", "[  ERROR", "[   LINE", "========= ERROR SUMMARY")
    errors = [line for line in lines if line.lstrip().startswith(marks)]
    return "; ".join(line.strip() for line in (errors or lines or ["no output"])[-3:])[:500]


def tool(name):
    """A program of NVIDIA's: in PATH, the toolkit, or a folder of its own."""
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    folders = [os.environ.get("PATH", ""), os.path.join(toolkit, "bin"), os.path.join(toolkit, "compute-sanitizer")]
    own = sorted(glob.glob("/opt/nvidia/nsight-*/*")) + sorted(glob.glob("/opt/nvidia/nsight-*/*/bin"))
    return shutil.which(name, path=os.pathsep.join(folders + own))


HELD = "held"  # in a scratch folder: locked as long as its process lives


def remove_dead_scratch():
    """The scratch folders of calls that were killed."""
    for path in glob.glob(os.path.join(tempfile.gettempdir(), "gpu-check-*")):
        with contextlib.suppress(OSError), open(os.path.join(path, HELD), encoding="utf-8") as held:  # locked: its call is running
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)


def scratch_folder():
    remove_dead_scratch()
    folder = tempfile.TemporaryDirectory(prefix="gpu-check-")
    folder.held = open(os.path.join(folder.name, HELD), "w", encoding="utf-8")
    fcntl.flock(folder.held, fcntl.LOCK_EX)
    return folder


class Session:
    def __init__(self, args):
        bundle, root = HERE.parent / "perfkit", HERE.parents[1]
        self.device, self.quick = args.device, args.quick
        self.subject = args.device + ("-quick" if args.quick else "")  # what is tiny never stands for what is not
        self.cuda = args.device.startswith("cuda")
        self.perfkit = pathlib.Path(args.perfkit or (bundle if bundle.is_file() else root / "build" / "perfkit")).resolve()
        self.tests = pathlib.Path(args.tests or (HERE if (HERE / "test-gpu-ops").exists() else root / "build" / "tests" / "gpu")).resolve()
        self.folder = Folder(pathlib.Path(args.out).resolve(), self.subject)
        self.over = time.monotonic() + (args.within or float("inf"))
        self.ends = self.over - min(TO_END_SECONDS, (args.within or 0) / 3)
        self.deadline = self.ends
        self.within = args.within
        self.found, self.kept = {}, []
        self.goes_on = False  # the stage under way was begun by an earlier call, or cut short in this one
        self.scratch = scratch_folder()
        self.env = self.environment()

    def environment(self):
        env = {k: v for k, v in os.environ.items() if not k.startswith("PERFKIT_") or k in ("PERFKIT_PYTHON", "PERFKIT_CUDA_LIBS", "PERFKIT_MPI")}
        env.update(PERFKIT_DB=str(self.folder.db), LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1")
        env.setdefault("PERFKIT_PYTHON", sys.executable)
        if env["PERFKIT_PYTHON"] == sys.executable:
            env.setdefault("VIRTUAL_ENV", sys.prefix)  # NVIDIA's libraries may be packages of this interpreter
        env.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")  # JAX would take three quarters of the GPU's memory from the others
        if (HERE.parent / "peers").is_dir():
            env["PERFKIT_PEERS"] = str(HERE.parent / "peers")
        if (HERE.parent / "mpi" / "bin").is_dir():
            env["PATH"] = "%s:%s" % (HERE.parent / "mpi" / "bin", env.get("PATH", "/usr/bin:/bin"))
        return env

    def can_run(self, stage):
        return self.cuda or stage.needs != "gpu"

    def has_time_for(self, least):
        """Whether a stage may begin; one that needs more than the whole call has begins all the same, while most of it is left."""
        return self.ends - time.monotonic() >= max(LEAST_SECONDS, min(least, 0.7 * (self.within or least)))

    def keep_driver(self):
        """Holds a GPU's file open: without persistence mode the driver would start anew in every process, for seconds."""
        for path in glob.glob("/dev/nvidia[0-9]*") if self.cuda else []:
            with contextlib.suppress(OSError):
                self.kept.append(os.open(path, os.O_RDWR))

    def facts(self):
        """Recorded with every stage: results are of a machine."""
        facts = {"host": platform.node(), "gpu": None, "memory_bytes": 0}
        if self.cuda and tool("nvidia-smi"):
            ordinal = self.device.partition(":")[2] or "0"
            p = subprocess.run([tool("nvidia-smi"), "--id=" + ordinal, "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"],
                               capture_output=True, text=True, timeout=60, check=False)
            words = p.stdout.strip().split(", ")
            if p.returncode == 0 and len(words) == 3 and words[1].isdigit():
                facts.update(gpu=words[0], memory_bytes=int(words[1]) << 20, driver=words[2])
        for f in glob.glob("/proc/driver/nvidia/gpus/*/information") if self.cuda and not facts["gpu"] else []:
            facts["gpu"] = next((line.partition(":")[2].strip() for line in pathlib.Path(f).read_text().splitlines() if line.startswith("Model:")), None)
        self.folder.machine.update(facts)

    def allow(self, seconds):
        """The stage that begins now has so long, and never more than the call has."""
        self.deadline = min(time.monotonic() + min(seconds, STAGE_SECONDS), self.ends)

    def run(self, *command, env=None, apart=False):
        """Runs a command into the log. Returns (status, output); past the stage's time it is interrupted. apart: output without what it
        wrote on standard error, which is in the log behind it."""
        words, began, late = [str(c) for c in command], time.monotonic(), False
        with tempfile.TemporaryFile("w+", errors="replace") as output, tempfile.TemporaryFile("w+", errors="replace") as errors:
            p = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=errors if apart else subprocess.STDOUT,
                                 env={**self.env, **(env or {})}, cwd=self.scratch.name, preexec_fn=die_with_parent, start_new_session=True)
            try:
                p.wait(max(1, self.deadline - began))
            except subprocess.TimeoutExpired:
                late = True
            finally:  # whatever ends the wait, nothing is left running
                end(p)
                texts = [f.seek(0) or f.read() for f in (output, errors)]
                self.folder.append(" ".join(words), "".join(texts), p.returncode, time.monotonic() - began)
        if late:
            raise Partial("%s was interrupted after %.0f s" % (pathlib.Path(words[0]).name, time.monotonic() - began))
        return p.returncode, texts[0]

    def must(self, *command, **how):
        rc, text = self.run(*command, **how)
        if rc:
            raise Failed("%s: status %d: %s" % (pathlib.Path(str(command[0])).name, rc, reason_in(text)))
        return text

    def tables(self, *command):
        """{table: rows} of a perfkit command."""
        return {name: t["rows"] for name, t in json.loads(self.must(self.perfkit, *command, "--format", "json", apart=True))["tables"].items()}

    def label(self, stage):
        return "gpu-check-%s-%s" % (stage, self.subject)

    def query(self, sql, *values):
        """Rows of the store; none where there is no store yet. Not read-only: what a kill left in the journal is rolled back first."""
        if not self.folder.db.exists():
            return []
        with contextlib.closing(sqlite3.connect("file:%s?mode=rw" % self.folder.db, uri=True)) as db:
            return db.execute(sql, values).fetchall()

    def measure(self, stage, experiment, *options):
        """A run of perfkit under the stage's label, or the rest of one that an earlier call began."""
        label = self.label(stage)
        whole = ["--budget", "%ds" % max(5, self.deadline - time.monotonic() - 10), "--progress", "none", "--width", "0"]
        rc, text = None, ""
        if self.goes_on and self.query("SELECT 1 FROM v_run WHERE label = ?", label):
            rc, text = self.run(self.perfkit, "run", experiment, "--resume", "--label", label, *whole)
            if rc == 2 and "no interrupted run" in text:
                if self.query("SELECT status FROM v_run WHERE label = ? ORDER BY run_id DESC LIMIT 1", label) == [("complete",)]:
                    return  # only what follows the run was left
                rc = None  # another machine began it, and whether it still goes on there cannot be seen here
            if rc == 5:  # of another machine
                rc = None
        if rc is None:
            rc, text = self.run(self.perfkit, "run", experiment, "--device", self.device, "--label", label, *options, *whole)
        if "--resume continues" in text:
            raise Partial("the time left cases out")
        if rc:
            raise Failed("run %s: status %d: %s" % (experiment, rc, reason_in(text)))

    def doctor(self):
        """{name: row} of perfkit doctor, once a call: its self-tests take seconds on a GPU."""
        if not self.found:
            self.found = {r["name"]: r for rows in self.tables("doctor").values() for r in rows}
        return self.found

    def peers(self, names):
        """Those whose file is here, as options."""
        folder = pathlib.Path(self.env.get("PERFKIT_PEERS", HERE.parents[1] / "probes" / "peers"))
        return [word for n in names if (folder / (n.replace("-", "_") + ".py")).exists() for word in ("--peer", n)]

    def unavailable(self):
        """Why the device cannot be used, or None."""
        p = subprocess.run([self.perfkit, "list", "devices", "--format", "json"], env=self.env, capture_output=True, text=True, check=False)
        if p.returncode:
            sys.exit("gpu-check: %s does not run here\n  why: %s\n  try: build it or its bundle on this machine or an older one (docs/gpu-status.md)"
                     % (self.perfkit, reason_in(p.stderr)))
        for row in json.loads(p.stdout)["tables"]["devices"]["rows"]:
            if row["name"] == self.device.split(":")[0]:
                return row["reason"]
        return "perfkit has no device %s" % self.device


def end(p):
    """Interrupted first, so that perfkit records what it has; then killed, with what a tool started and left running."""
    if p.poll() is None:
        p.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(INTERRUPT_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(p.pid, signal.SIGKILL)
    p.wait()
